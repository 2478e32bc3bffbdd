"""What the watchers say they saw, in millimetres and with doubt: the narrator makes events of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from referee.cards import Card, Pile, Seat
from referee.instant import Instant
from vision.hands.layers import Overlap
from vision.hands.news import HandNews
from vision.table import Point


class Lies(StrEnum):
    """What lies on top of a pile."""

    NOTHING = "nothing"
    FACE = "face"
    BACK = "back"
    UNKNOWN = "unknown"
    """Something covers it, or it can't be told."""


@dataclass(frozen=True, slots=True, eq=False)
class Top:
    """What lies on top of a pile, by vote over frames.

    card: None where it lies face down or can't be read. ``or_cards``: what else it may be.
    confidence: that the card is right, else that it lies as ``lies`` says.
    quad_mm: (4, 2) float64 corners on the table in mm, None where no card was found.
    """

    lies: Lies
    card: Card | None = None
    confidence: float = 1.0
    or_cards: tuple[Card, ...] = ()
    quad_mm: NDArray[np.float64] | None = None

    @property
    def middle_mm(self) -> Point | None:
        """The card's middle."""
        if self.quad_mm is None:
            return None
        x, y = self.quad_mm.mean(axis=0)
        return float(x), float(y)

    def __str__(self) -> str:
        """In words: ``7h``, ``back``, ``nothing``."""
        return str(self.card) if self.card is not None else str(self.lies)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PileChanged:
    """A pile was disturbed and came to rest again.

    at: when what lies there now came to lie so. ``began_ns``: when the pile was first disturbed;
    ``settled_ns``: the frame that showed it at rest. ``visitors``: the seats whose arms were over it
    meanwhile, the longest stay first. ``at_hand``: those whose arms were over it at that moment, the one whose
    fingertips were nearest first.
    """

    pile: Pile
    at: Instant
    began_ns: int
    settled_ns: int
    before: Top
    after: Top
    visitors: tuple[Seat, ...] = ()
    at_hand: tuple[Seat, ...] = ()


Observation: TypeAlias = PileChanged | HandNews | Overlap
"""What the narrator is told: of piles by the pile watcher, of hands by the hand watcher."""
