"""What a game is to everybody else: a pure function from event to rulings, and its declarations as data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, TypeVar

from referee.bad_input import BadInput
from referee.cards import Card, Deck, Pile, Seat
from referee.events import Event
from referee.instant import Instant
from referee.ruling import Ruling

OptionValue: TypeAlias = str | int | float | bool


class NotInThisGame(ValueError):
    """The event can't happen in this game at all (a pile or a seat it doesn't have); the state is as it was.

    A player's foul is never this: a foul is a ruling.
    """


@dataclass(frozen=True, slots=True)
class Option:
    """A house rule: its name, what it is by default, what else it may be, and the clause it stands in.

    ``choices`` lists the allowed values; empty: any number from ``low`` to ``high``.
    """

    name: str
    default: OptionValue
    clause: str
    choices: tuple[OptionValue, ...] = ()
    low: float = 0.0
    high: float = math.inf

    def check(self, value: object) -> OptionValue:
        """The value if it is allowed, else `BadInput` naming the option."""
        if self.choices:
            for choice in self.choices:
                if type(value) is type(choice) and value == choice:
                    return choice
            raise BadInput.of(f"option {self.name}", " or ".join(map(_toml, self.choices)), repr(value)[:60])
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.low <= value <= self.high:
            raise BadInput.of(f"option {self.name}", f"a number from {self.low} to {self.high}", repr(value)[:60])
        return float(value) if isinstance(self.default, float) else value


#: How sure the referee must be before it decides by itself; every game has it.
CONFIDENCE = Option("confidence", 0.99, "", low=0.5, high=0.999999)


def _toml(value: OptionValue) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


@dataclass(frozen=True, slots=True)
class SeatPlace:
    """Where a player sits: a point on the table's edge, and the direction to the table's middle.

    ``x``, ``y``: fractions of the table's width and height from its top-left corner as the camera sees
    it. Seat 0 sits at the bottom edge; the others follow clockwise seen from above.
    """

    seat: Seat
    x: float
    y: float

    @property
    def angle(self) -> float:
        """Turn of the seat's own view from the camera's, radians, clockwise as seen in the picture."""
        return math.atan2(0.5 - self.x, self.y - 0.5)


@dataclass(frozen=True, slots=True)
class PilePlace:
    """Where a pile lies: its middle in fractions of the table's size, and its turn (radians, clockwise)."""

    pile: Pile
    x: float
    y: float
    angle: float = 0.0


@dataclass(frozen=True, slots=True)
class Layout:
    """Seats and piles of a game on a table; what vision, the films and the mat are laid out by."""

    seats: tuple[SeatPlace, ...]
    piles: tuple[PilePlace, ...]


def seats_around(players: int) -> tuple[SeatPlace, ...]:
    """Players evenly around an ellipse inscribed in the table, seat 0 at the bottom, clockwise from above."""
    turns = [2 * math.pi * seat / players for seat in range(players)]
    return tuple(SeatPlace(i, 0.5 - 0.5 * math.sin(t), 0.5 + 0.5 * math.cos(t)) for i, t in enumerate(turns))


def before_seat(place: SeatPlace, pile: Pile, *, inward: float, right: float) -> PilePlace:
    """A pile in front of a seat: ``inward`` 0 at the edge, 1 at the middle; ``right`` as that player sees it."""
    toward_x, toward_y = 0.5 - place.x, 0.5 - place.y
    length = math.hypot(toward_x, toward_y)
    # A player's right hand, seen from above with y down: the inward direction turned clockwise.
    right_x, right_y = -toward_y / length, toward_x / length
    return PilePlace(
        pile,
        place.x + inward * toward_x + right * right_x,
        place.y + inward * toward_y + right * right_y,
        place.angle,
    )


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the rules are waiting for: vision listens and looks by it, and doubts what it can't explain.

    ``seats`` may act; ``piles`` may change; ``slaps``: piles on which hands may come down now;
    ``phrases`` may be called; ``cards`` may be shown (empty: any). ``until`` None: until something happens.
    """

    seats: frozenset[Seat] = frozenset()
    piles: frozenset[Pile] = frozenset()
    slaps: frozenset[Pile] = frozenset()
    phrases: frozenset[str] = frozenset()
    cards: frozenset[Card] = frozenset()
    until: Instant | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What the referee wants to know from a person."""

    key: str
    choices: tuple[str, ...]
    clause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The state of play for people: whose turn, who holds how many, what lies on top, the scores.

    ``counts`` and ``tops`` are by pile; ``scores`` and ``standing`` by seat (``standing``: in, out, left).
    ``names`` are by seat where players may join; empty: as the match was set up.
    """

    turn: Seat | None
    phase: str
    hand: int
    dealer: Seat | None
    scores: tuple[int, ...]
    standing: tuple[str, ...]
    counts: Mapping[Pile, int] = field(default_factory=dict)
    tops: Mapping[Pile, Card | None] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    winners: tuple[Seat, ...] = ()
    over: bool = False
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Setup:
    """Who plays with which deck under which house rules."""

    players: tuple[str, ...]
    deck: Deck
    dealer: Seat = 0
    options: Mapping[str, OptionValue] = field(default_factory=dict)


S = TypeVar("S")


class Game(Protocol[S]):
    """A game: its rules as a pure function, and as data what the others need to know of it.

    ``rule`` has no clock, no I/O, no randomness. It raises nothing but `NotInThisGame`.
    """

    @property
    def name(self) -> str:
        """As on the command line: ``snap``."""
        ...

    @property
    def players(self) -> range:
        """How many may play."""
        ...

    @property
    def deck(self) -> str:
        """The shipped deck that it is played with unless another is named."""
        ...

    @property
    def options(self) -> tuple[Option, ...]:
        """House rules, `CONFIDENCE` among them."""
        ...

    @property
    def clauses(self) -> Mapping[str, str]:
        """Every clause's number with a few words that say what it is about."""
        ...

    @property
    def phrases(self) -> tuple[str, ...]:
        """What players may call out."""
        ...

    def layout(self, players: int) -> Layout:
        """Where the seats and piles are."""
        ...

    def start(self, setup: Setup) -> S:
        """The state before the first event."""
        ...

    def rule(self, state: S, event: Event) -> tuple[S, tuple[Ruling, ...]]:
        """Judge one event."""
        ...

    def expects(self, state: S) -> Expectation:
        """What may come next."""
        ...

    def board(self, state: S) -> Board:
        """The state of play for people."""
        ...


def set_up(
    game: Game[S],
    players: tuple[str, ...],
    deck: Deck,
    *,
    dealer: Seat = 0,
    options: Mapping[str, object] | None = None,
) -> Setup:
    """Check names, number of players, dealer and house rules, and fill in the defaults; says all that is wrong."""
    wrong: list[str] = []
    if len(players) not in game.players:
        expected = f"{game.players.start} to {game.players.stop - 1} names"
        wrong.append(f"players: expected {expected} for {game.name}, got {len(players)}")
    if len(set(players)) != len(players) or not all(name.strip() and len(name) <= 40 for name in players):
        wrong.append("players: expected different names of 1 to 40 letters, got " + ", ".join(players)[:80])
    if not 0 <= dealer < max(len(players), 1):
        wrong.append(f"dealer: expected a seat from 0 to {len(players) - 1}, got {dealer}")
    given = dict(options or {})
    chosen: dict[str, OptionValue] = {}
    for option in game.options:
        try:
            chosen[option.name] = option.check(given.pop(option.name, option.default))
        except BadInput as bad:
            wrong.append(str(bad))
    if given:
        known = ", ".join(option.name for option in game.options)
        wrong.append(f"options: expected {known}, got {', '.join(map(str, given))[:80]}")
    if wrong:
        raise BadInput("; ".join(wrong))
    return Setup(players, deck, dealer, chosen)
