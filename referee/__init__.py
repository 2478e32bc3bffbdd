"""Rules, rulings and scores: pure, standard library only."""
