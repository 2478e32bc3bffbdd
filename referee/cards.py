"""Cards, decks and the places where cards lie, each with a notation that parses back."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from referee.bad_input import BadInput

RANKS = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")
SUITS = ("c", "d", "h", "s")

#: A player's side of the table, counted from 0 clockwise seen from above, in the order of ``--players``.
Seat = int

_STANDARD = re.compile(r"(10|[2-9ajqk])([cdhs])", re.IGNORECASE)
_NAMED = re.compile(r"[a-z0-9]+(?:[ '-][a-z0-9]+)*")
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True, order=True)
class Card:
    """What is printed on a card: ``7h``, ``joker``, ``red 4``, ``hit colour blue``.

    Two cards printed alike are equal: a deck with four red 4s holds the same ``Card`` four times.
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name != _normal_name(self.name):
            raise BadInput.of("card", "a card's own notation, like '7h' or 'red 4'", repr(self.name)[:60])

    @classmethod
    def parse(cls, text: str) -> Card:
        """Read a card's notation; upper and lower case and doubled spaces don't matter."""
        normal = _normal_name(text)
        if normal is None:
            raise BadInput.of("card", "rank and suit, like '7h', or a deck's own name, like 'red 4'", repr(text)[:60])
        return cls(normal)

    @classmethod
    def standard(cls, rank: str, suit: str) -> Card:
        """The standard card of a rank (``A 2 … 10 J Q K``) and a suit (``c d h s``)."""
        return cls(rank + suit)

    @property
    def rank(self) -> str | None:
        """``A 2 … 10 J Q K`` of a standard card, else None."""
        return self.name[:-1] if _STANDARD.fullmatch(self.name) else None

    @property
    def suit(self) -> str | None:
        """``c d h s`` of a standard card, else None."""
        return self.name[-1] if _STANDARD.fullmatch(self.name) else None

    @property
    def is_joker(self) -> bool:
        """Whether this is a joker, of whatever colour."""
        return self.name.split(" ")[-1] == "joker"

    def __str__(self) -> str:
        return self.name


def _normal_name(text: str) -> str | None:
    if not isinstance(text, str) or len(text) > _LONGEST_NAME:
        return None
    words = " ".join(text.split())
    if match := _STANDARD.fullmatch(words):
        return match[1].upper() + match[2].lower()
    words = words.lower()
    return words if _NAMED.fullmatch(words) else None


@dataclass(frozen=True, slots=True, order=True)
class Pile:
    """A place where cards lie: ``draw``, ``up:2`` (of seat 2), ``place:0:7`` (place 7 of seat 0's layout)."""

    kind: str
    seat: Seat | None = None
    place: int | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z]{1,12}", self.kind) or (self.place is not None and self.seat is None):
            raise BadInput.of("pile", "a notation like 'draw', 'up:2' or 'place:0:7'", repr(str(self.kind))[:60])

    @classmethod
    def parse(cls, text: str) -> Pile:
        """Read a pile's notation."""
        match = re.fullmatch(r"([a-z]{1,12})(?::(\d{1,2}))?(?::(\d{1,2}))?", text) if isinstance(text, str) else None
        if match is None:
            raise BadInput.of("pile", "a notation like 'draw', 'up:2' or 'place:0:7'", repr(text)[:60])
        kind, seat, place = match.groups()
        return cls(kind, None if seat is None else int(seat), None if place is None else int(place))

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.kind, self.seat, self.place) if part is not None)


@dataclass(frozen=True, slots=True)
class Audit:
    """What a laid-out deck lacks, holds too often, or should not hold at all."""

    missing: tuple[tuple[Card, int], ...]
    doubled: tuple[tuple[Card, int], ...]
    foreign: tuple[tuple[Card, int], ...]

    @property
    def complete(self) -> bool:
        """Whether exactly the deck's cards lie there."""
        return not (self.missing or self.doubled or self.foreign)


@dataclass(frozen=True, slots=True)
class Deck:
    """A deck as its file describes it: how many of each card, and what each card *is* to a game.

    ``traits`` names for each card what games ask about it (``colour``, ``number``, ``word``, ``pair``…);
    a standard card's rank and suit need no entry.
    """

    name: str
    edition: str
    counts: Mapping[Card, int]
    traits: Mapping[Card, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, *, source: str = "deck") -> Deck:
        """Read a deck's TOML: ``name``, ``edition``, and ``[[cards]]`` tables with ``name``, ``count``, traits."""
        try:
            raw = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise BadInput.of(source, "a deck in TOML", str(error)) from error
        counts: dict[Card, int] = {}
        traits: dict[Card, Mapping[str, str]] = {}
        rows = raw.get("cards")
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            raise BadInput.of(f"{source}: cards", "[[cards]] tables with a name and a count", repr(rows)[:60])
        for row in rows:
            card = Card.parse(row.get("name", ""))
            count = row.get("count", 1)
            if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= 200:
                raise BadInput.of(f"{source}: count of {card}", "a number from 1 to 200", repr(count)[:60])
            if card in counts:
                raise BadInput.of(f"{source}: {card}", "each card once, with its count", "it named twice")
            counts[card] = count
            traits[card] = {key: str(value) for key, value in row.items() if key not in ("name", "count")}
        return cls(str(raw.get("name", source)), str(raw.get("edition", "")), counts, traits)

    @property
    def size(self) -> int:
        """How many cards there are in all."""
        return sum(self.counts.values())

    def cards(self) -> tuple[Card, ...]:
        """Every card, a doubled one as often as it is there, in the file's order."""
        return tuple(card for card, count in self.counts.items() for _ in range(count))

    def trait(self, card: Card, name: str) -> str | None:
        """What the card is to a game, None where its deck doesn't say."""
        return self.traits.get(card, {}).get(name)

    def audit(self, seen: Iterable[Card]) -> Audit:
        """Compare the cards laid out with what the deck should hold."""
        found = Counter(seen)
        missing = tuple((card, count - found[card]) for card, count in self.counts.items() if found[card] < count)
        doubled = tuple((card, found[card] - n) for card, n in self.counts.items() if found[card] > n)
        foreign = tuple(sorted((card, n) for card, n in found.items() if card not in self.counts))
        return Audit(missing, doubled, foreign)


@cache
def shipped_deck(name: str) -> Deck:
    """A deck that comes with the referee, by its file's name: ``standard52``."""
    folder = resources.files("referee") / "decks"
    known = sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))
    if name not in known:
        raise BadInput.of("deck", " or ".join(known), repr(name)[:60])
    return Deck.parse((folder / f"{name}.toml").read_text(encoding="utf-8"), source=name)
