"""Pixels in, table events out."""
