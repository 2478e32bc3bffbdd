"""Arms by seat, and the instant a hand touches the table."""
