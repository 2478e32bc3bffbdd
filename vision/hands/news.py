"""What the hand watcher tells: a hand reached a pile, touched down, lifted, left the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from referee.cards import Pile, Seat
from referee.instant import Instant

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class HandSeen:
    """A hand over the table in one picture.

    ``hand`` is its number for as long as it stays over the table. ``tip_mm``: how far it reaches, on the table;
    ``over``: the piles that its arm hides at least in part; ``at_pile``: the pile that its tip is at.
    """

    hand: int
    seat: Seat | None
    at: Instant
    tip_mm: Point
    entry_mm: Point
    speed_mps: float
    over: tuple[Pile, ...]
    at_pile: Pile | None
    outline_px: tuple[int, int, int, int]
    """Left, top, right, bottom in pixels of the picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A hand came over a pile."""

    hand: int
    seat: Seat | None
    pile: Pile
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """A hand came to rest at a pile; ``at`` is the instant of first contact with its whole doubt.

    ``trusted``: the measurement passed its self-check; else ``at`` is rough, its doubt wide, and ``reason``
    says why. ``gentle``: the probability that nothing hard stopped the hand (laid down, or held in the air).
    ``speed_mps``: in the picture, just before. ``rest_ns``: the picture in which it was seen to lie still.
    ``instead_of``: the ``rest_ns`` of this hand's contact before, which is taken back: it had only been held there,
    or more has been seen of it since.
    """

    hand: int
    seat: Seat | None
    pile: Pile
    at: Instant
    speed_mps: float
    gentle: float
    trusted: bool
    reason: str
    rest_ns: int
    instead_of: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """A hand that had come to rest at a pile moved away from it."""

    hand: int
    seat: Seat | None
    pile: Pile
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """A hand left the table."""

    hand: int
    seat: Seat | None
    at: Instant


HandNews: TypeAlias = Reached | Contact | Lift | Gone
