"""What the referee of Hit the Deck knows at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from referee.cards import Card, Deck, Pile, Seat
from referee.events import Event, Slap
from referee.game import Question, Setup
from referee.instant import Instant

DRAW = Pile("draw")
DISCARD = Pile("discard")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Face:
    """What a card is to this game: a coloured number, a coloured word (cut, flip), or a "Hit the Deck" card.

    ``word`` is ``number``, ``cut``, ``flip``, ``hit number``, ``hit colour`` or ``hit hand``; ``says`` is the
    number or colour that a decree asks for.
    """

    word: str
    colour: str | None = None
    number: str | None = None
    says: str | None = None

    @property
    def hits(self) -> bool:
        """Whether it is one of the "Hit the Deck with…" cards."""
        return self.word.startswith("hit")

    @property
    def points(self) -> int:
        """H20: a number card its number, every other card 10."""
        return int(self.number) if self.number is not None else 10


@dataclass(frozen=True, slots=True)
class House:
    """The deck and the house rules of one match, read once."""

    deck: Deck
    faces: Mapping[Card, Face]
    confidence: float
    first_decree: bool
    symbols_match: bool
    cut_skips: bool
    last_by: str
    false_slap_on_decree: bool
    tie: str
    decree_chain: bool
    slap_window_ns: int
    close_call: str
    exposed_acts: bool
    call_grace_ns: int
    announce: str
    illegal_play: str


@dataclass(frozen=True, slots=True)
class Duty:
    """What somebody has to do before play goes on: ``cut``, ``flip``, or ``bury`` the card on top.

    ``by`` is who played (or exposed) the card; ``turned`` are the piles turned over so far.
    """

    what: str
    seat: Seat
    by: Seat
    clause: str
    turned: frozenset[Pile] = frozenset()
    moved: Pile | None = None
    blamed: bool = False


@dataclass(frozen=True, slots=True)
class Debt:
    """Cards that a seat owes to draw: under which clause, how many, how many it has taken."""

    seat: Seat
    clause: str
    count: int
    event: int
    taken: int = 0
    flagged: bool = False


@dataclass(frozen=True, slots=True)
class Landing:
    """A hand on the pile."""

    seat: Seat
    at: Instant
    event: int
    layer: int | None = None
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Race:
    """The slaps at one "Hit the Deck with a hand": who takes part, who has landed, whether it was called.

    ``doubtful`` have a hand near the pile of which nobody knows yet what it is (a provisional slap).
    """

    card: int
    at: Instant
    discarder: Seat
    racers: tuple[Seat, ...]
    landings: tuple[Landing, ...] = ()
    doubtful: frozenset[Seat] = frozenset()
    call: tuple[Instant, int, float] | None = None
    orders: tuple[tuple[tuple[Seat, ...], float], ...] = ()
    closed: bool = False


@dataclass(frozen=True, slots=True)
class HitTheDeckState:
    """A whole match at one moment.

    ``hands`` counts the cards held by seat, ``draw`` and ``discards`` those of the piles; hidden cards have
    no names here. ``races`` are not decided yet, the newest last; ``waiting`` are events held back until
    the question about the first of them is answered; ``early`` are slaps that may prove to be faults.
    """

    setup: Setup
    house: House
    names: tuple[str, ...]
    standing: tuple[str, ...]
    scores: tuple[int, ...]
    hands: tuple[int, ...]
    draw: int
    discards: int
    dealer: Seat
    turn: Seat
    phase: str = "deal"
    hand: int = 1
    direction: int = 1
    drew: int = 0
    drew_event: int = 0
    top: Card | None = None
    top_sure: float = 1.0
    decree: tuple[str, str, str] | None = None
    duty: Duty | None = None
    last_player: Seat | None = None
    back: int = 0
    stray: bool = False
    debts: tuple[Debt, ...] = ()
    races: tuple[Race, ...] = ()
    free: bool = False
    freed_until: Instant | None = None
    early: tuple[Slap, ...] = ()
    down: frozenset[Seat] = frozenset()
    laying: Seat | None = None
    lifts: bool = False
    shout: tuple[Seat | None, Instant, int, float] | None = None
    counted: tuple[tuple[Card, ...] | None, ...] = ()
    winner: Seat | None = None
    begun: bool = False
    hands_known: bool = True
    answers: Mapping[str, str] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    waiting: tuple[Event, ...] = ()
    winners: tuple[Seat, ...] = ()

    @property
    def playing(self) -> tuple[Seat, ...]:
        """The seats that take part, in seat order."""
        return tuple(seat for seat, standing in enumerate(self.standing) if standing == "in")

    def next_seat(self, seat: Seat, step: int | None = None) -> Seat:
        """The next player in the direction of play (or by ``step``: 1 is clockwise)."""
        step = step or self.direction
        count = len(self.standing)
        around = ((seat + step * i) % count for i in range(1, count + 1))
        return next((other for other in around if self.standing[other] == "in"), seat)


def put(items: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    """The same items, but for one."""
    return (*items[:at], value, *items[at + 1 :])
