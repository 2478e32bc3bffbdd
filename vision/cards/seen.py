"""A card seen in one picture, with its doubt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: The readers' class for what is no card: never a possibility that a person is told of.
NO_CARD = "nothing"

#: A card that is listed as a possibility has at least this probability.
WORTH_NAMING = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class SeenCard:
    """What lies at a place of a picture, and how sure that is.

    card: in the project's notation (``10h``, ``joker``, or a name from an enrolled deck); None when face
        down, and when the reader abstains.
    face: ``up`` or ``down``.
    confidence: that the first of the alternatives that is a card is right (face down: that it is a card's back).
    quad: (4, 2) float32, pixels of the picture, clockwise, from the index corner at the reading's upright.
    alternatives: cards and their probabilities, the likeliest first; what it is unsure between.
    score: the detector's own, 0 to 1.
    """

    card: str | None
    face: str
    confidence: float
    quad: NDArray[np.float32]
    alternatives: tuple[tuple[str, float], ...] = ()
    score: float = 1.0

    @property
    def or_cards(self) -> tuple[str, ...]:
        """The cards that it may be: one when sure, several when not."""
        if self.card is not None:
            return (self.card,)
        return tuple(card for card, _ in self.alternatives if card != NO_CARD)

    def __str__(self) -> str:
        """In words: ``10h``, ``face down``, ``7c or 7s?``."""
        if self.face == "down":
            return "face down"
        return self.card or (" or ".join(self.or_cards[:3]) + "?" if self.or_cards else "unreadable")


def likeliest(
    classes: tuple[str, ...], probabilities: NDArray[np.float32], at_most: int = 5
) -> tuple[tuple[str, float], ...]:
    """The likeliest classes with their probabilities, those worth naming."""
    order = np.argsort(-probabilities, kind="stable")[:at_most]
    return tuple(
        (classes[i], float(probabilities[i])) for k, i in enumerate(order) if k == 0 or probabilities[i] >= WORTH_NAMING
    )
