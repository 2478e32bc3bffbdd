"""Players for films: seeded, mostly legal, now and then not."""
