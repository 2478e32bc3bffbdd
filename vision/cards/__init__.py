"""Finding cards and reading what is printed on them."""
