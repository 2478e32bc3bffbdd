"""How we know it works: one file a benchmark."""
