"""Plugs that find cards and hands in a picture: one file each."""
