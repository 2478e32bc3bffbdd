"""Rendered games with exact truth, and the bots that play them."""
