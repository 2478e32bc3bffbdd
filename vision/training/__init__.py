"""Datasets in, weights out."""
