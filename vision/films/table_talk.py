"""What else is heard in a room where cards are played: people talking, chairs moved, in seconds of the film."""

from __future__ import annotations

import numpy as np

from vision.films.script import Sound

SENTENCES = (
    "Whose turn is it?",
    "Could somebody pass the water, please?",
    "I told you that it would rain today.",
    "No, that was last week.",
    "Wait, let me see that again.",
    "She said she would come after dinner.",
    "Did you lock the car?",
    "That's the third time in a row!",
    "I'll put the kettle on in a minute.",
    "He never shuffles them properly.",
    "What time does the last train leave?",
    "You were sleeping, admit it.",
    "The dog wants to go out.",
    "We should do this more often.",
    "My hands are cold.",
    "Oh, come on!",
    "Have you seen my glasses anywhere?",
    "It's only a game, you know.",
    "The neighbours are having a party again.",
    "One more round and then we go home.",
    "Nice one.",
    "I thought it was a seven.",
    "Mind the cup.",
    "There is some cake left in the kitchen.",
    "How is your sister getting on?",
    "Ha ha, very funny.",
    "Stop stacking the deck.",
    "The window is open, isn't it?",
    "I can't see anything from here.",
    "Twenty past nine, I think.",
)
"""None holds a game's phrase, so whatever a listener takes for a call is a mistake."""


def talk(seconds: float, players: int, loudness: float, rng: np.random.Generator) -> list[Sound]:
    """Sentences one after another, now and then two at once; `loudness` beside a good slap.

    Two more people than play have their say: those in the room who only watch.
    """
    sounds: list[Sound] = []
    at_s, last = float(rng.uniform(0.2, 1.5)), -1
    order: list[int] = []
    while at_s < seconds:
        if not order:
            order = [int(i) for i in rng.permutation(len(SENTENCES))]
        words = SENTENCES[order.pop()]
        speaker = int(rng.choice([seat for seat in range(players + 2) if seat != last]))
        gain = loudness * float(rng.uniform(0.6, 1.4))
        sounds.append(Sound(at_s, "talk", gain, 0.0, words, speaker))
        last = speaker
        length_s = 0.065 * len(words)
        overlaps = rng.random() < 0.15
        at_s += length_s * (0.5 if overlaps else 1.0) + (0.0 if overlaps else float(rng.exponential(0.7)))
    return sounds


def chairs(seconds: float, loudness: float, rng: np.random.Generator) -> list[Sound]:
    """A chair scraped, creaking, or knocked against the table, about every four seconds."""
    sounds: list[Sound] = []
    at_s = float(rng.uniform(0.5, 3.0))
    while at_s < seconds:
        kind = ("scrape", "scrape", "creak", "knock")[int(rng.integers(4))]
        sounds.append(Sound(at_s, kind, loudness * float(rng.uniform(0.5, 1.5)), 0.0))
        at_s += float(rng.uniform(1.5, 6.5))
    return sounds
