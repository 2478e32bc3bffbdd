"""What happened at the table, and what a person says of it: a closed union."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from referee.cards import Card, Pile, Seat
from referee.instant import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What rides on every event.

    ``id`` is 0 until a match has taken the event into its log; from then on it never changes.
    ``seat`` is who did it, None where nobody did or it isn't known.
    ``provisional``: seen at its start, but what it was is not known yet; a `Confirm` or `Amend` follows.
    ``evidence`` says where to look, like ``frames 1510-1544``.
    """

    at: Instant
    seat: Seat | None = None
    confidence: float = 1.0
    provisional: bool = False
    evidence: str | None = None
    id: int = 0


# --- what is seen and heard -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown(Told):
    """A card came to lie face up on a pile; ``card`` is None where it can't be read.

    ``source`` is the pile it came from where that is known (a cut shows a card of the draw pile);
    ``or_cards`` are what else it may be.
    """

    card: Card | None
    pile: Pile
    source: Pile | None = None
    or_cards: tuple[Card, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken(Told):
    """Cards were taken from a pile into the seat's hand, unseen."""

    pile: Pile
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved(Told):
    """Cards went from one pile to another as they lay; ``count`` None: the whole pile."""

    source: Pile
    target: Pile
    count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned(Told):
    """A whole pile was turned over and put at ``target``; ``card`` is the card then on top, if face up and read."""

    source: Pile
    target: Pile
    card: Card | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Peeked(Told):
    """A face-down card was lifted and put back."""

    pile: Pile


@dataclass(frozen=True, slots=True, kw_only=True)
class Slap(Told):
    """A hand came down on a pile, or on the hands there; ``at`` is the first contact.

    ``layer`` counts hands from the pile up, 0 the lowest, where that could be seen.
    """

    pile: Pile
    layer: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifted(Told):
    """The seat's hand left the pile."""

    pile: Pile


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish(Told):
    """In which order hands landed on a pile, as all witnesses together say: picture, layers and sound jointly.

    ``orders`` holds (seats first to last, probability), adding up to 1. Where it is told it stands in
    for the order that the slaps' own instants would give.
    """

    pile: Pile
    orders: tuple[tuple[tuple[Seat, ...], float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shout(Told):
    """One of the game's phrases was called, by the seat if that is known; ``at`` is when it began."""

    phrase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted(Told):
    """The seat laid out the cards it holds at the end of a hand."""

    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dealt(Told):
    """A new hand was dealt; ``seat`` is the dealer, None: the one whose turn it is to deal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick(Told):
    """Nothing more happened up to now: lets time run out."""


# --- what a person says -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined(Told):
    """A player sits down at ``seat`` between hands."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Left(Told):
    """The player of ``seat`` leaves the game."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended(Told):
    """The host ends the game here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjusted(Told):
    """The host adds points to (or takes them from) the seat's score, with a reason."""

    points: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Told):
    """A person answers what the referee asked; ``says`` is one of the question's choices."""

    question: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm(Told):
    """The provisional event ``of`` was what it seemed."""

    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Amend(Told):
    """The earlier event ``of`` was really ``becomes``; None: it did not happen."""

    of: int
    becomes: Event | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert(Told):
    """Something that nobody told happened right after event ``after`` (0: at the very start)."""

    after: int
    happened: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrule(Told):
    """A person decides the ruling ``of`` otherwise; ``says`` is one of its choices."""

    of: int
    says: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo(Told):
    """The earlier event ``of``, a correction included, is taken back; it stays in the log."""

    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Redo(Told):
    """What was undone, event ``of``, holds again."""

    of: int


Event: TypeAlias = (
    Shown
    | Taken
    | Moved
    | Turned
    | Peeked
    | Slap
    | Lifted
    | Finish
    | Shout
    | Counted
    | Dealt
    | Tick
    | Joined
    | Left
    | Ended
    | Adjusted
    | Answer
    | Confirm
    | Amend
    | Insert
    | Overrule
    | Undo
    | Redo
)

#: Corrections are about the log itself: the match carries them out, a game never sees them.
CORRECTIONS = (Confirm, Amend, Insert, Overrule, Undo, Redo)

#: Every kind by its name in a recording.
KINDS: dict[str, type[Event]] = {
    kind.__name__.lower(): kind
    for kind in (
        Shown, Taken, Moved, Turned, Peeked, Slap, Lifted, Finish, Shout, Counted, Dealt, Tick,
        Joined, Left, Ended, Adjusted, Answer, Confirm, Amend, Insert, Overrule, Undo, Redo,
    )
}  # fmt: skip
