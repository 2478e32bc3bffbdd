"""An independent second opinion on every ruling, written from the rules' text by someone who has not read the games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from referee.cards import Deck, Seat
from referee.events import Event

#: An effect as a plain tuple: its name and its values, piles and cards by their notation:
#: ``("win_piles", 2, ("up:1", "up:2"))``, ``("give", 0, 1, 1)``.
PlainEffect = tuple[object, ...]


@dataclass(frozen=True, slots=True, order=True)
class Opinion:
    """What a ruling comes to, without its words: clause, kind of verdict, whom it touches, what follows."""

    clause: str
    verdict: str
    seat: Seat | None
    effects: tuple[PlainEffect, ...]


@dataclass(frozen=True, slots=True)
class Sitting:
    """Who plays with what, in plain values."""

    players: int
    dealer: Seat
    deck: Deck
    options: Mapping[str, str | int | float | bool]


class Oracle(Protocol):
    """Judges a whole course, corrections carried out: for each event the opinions that it leads to."""

    def judge(self, sitting: Sitting, course: Sequence[Event]) -> list[list[Opinion]]:
        """One list of opinions an event; their order within an event doesn't matter."""
        ...
