"""Finds a table in a clip for which nobody wrote a table file: its scale, piles and seats."""
