"""What the referee says: a clause, a verdict, whom it touches, what follows, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from referee.cards import Card, Pile, Seat


class Verdict(StrEnum):
    """What kind of ruling it is."""

    NOTE = "note"
    """Something that the rules order next, without fault: a pile turned over, a turn that passes."""
    WON = "won"
    """A race, a pile, a hand or the game is won."""
    LOST = "lost"
    """Somebody was last, or is out."""
    FAULT = "fault"
    """A rule was broken; the effects say what puts it right."""
    TIE = "tie"
    """The rules' own tie clause applies."""
    TOO_CLOSE = "too close"
    """Can't be told apart within the stated doubt, and the game's clause for that applies."""
    ASK = "ask"
    """The referee asks a person."""


# --- effects: what a ruling does at the table -----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Draw:
    """The seat draws so many cards."""

    seat: Seat
    count: int


@dataclass(frozen=True, slots=True)
class Give:
    """The seat gives so many cards (from its own pile's top) to another."""

    seat: Seat
    to: Seat
    count: int = 1


@dataclass(frozen=True, slots=True)
class WinPiles:
    """The seat takes these piles."""

    seat: Seat
    piles: tuple[Pile, ...]


@dataclass(frozen=True, slots=True)
class PutTogether:
    """These piles go together onto ``target``."""

    piles: tuple[Pile, ...]
    target: Pile


@dataclass(frozen=True, slots=True)
class TakeBack:
    """The seat takes the card back."""

    seat: Seat
    card: Card | None


@dataclass(frozen=True, slots=True)
class Score:
    """The seat's score changes by so many points."""

    seat: Seat
    points: int


@dataclass(frozen=True, slots=True)
class NextTurn:
    """The turn goes to the seat."""

    seat: Seat


Effect: TypeAlias = Draw | Give | WinPiles | PutTogether | TakeBack | Score | NextTurn

#: Every effect by its name in a recording.
EFFECTS: dict[str, type[Effect]] = {
    "draw": Draw,
    "give": Give,
    "win_piles": WinPiles,
    "put_together": PutTogether,
    "take_back": TakeBack,
    "score": Score,
    "next_turn": NextTurn,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """One decision of the referee. It carries no prose: words come from the message catalogue.

    ``what`` names the case within the clause (``out_of_turn``); the catalogue knows it as
    ``<game>.<clause>.<what>``. ``because`` are the ids of the events that it rests on.
    ``question`` names the decision for `Answer` and `Overrule`; ``choices`` are what may be said to it.
    ``about`` are details for the words: (name, notation) pairs, such as ``("card", "7h")``.
    ``id`` is 0 until a match has taken the ruling down.
    """

    clause: str
    verdict: Verdict
    what: str
    seat: Seat | None = None
    effects: tuple[Effect, ...] = ()
    probability: float = 1.0
    because: tuple[int, ...] = ()
    question: str | None = None
    choices: tuple[str, ...] = ()
    about: tuple[tuple[str, str], ...] = field(default=())
    id: int = 0
