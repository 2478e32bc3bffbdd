"""What the dashboard's tests share: seeded snap events as anybody might tell them, right and wrong ones."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from referee.cards import Card, Pile
from referee.events import Dealt, Event, Shown, Slap, Tick
from referee.instant import Instant
from referee.match import Match
from web.config import Chosen, choose
from web.games import game_named


@pytest.fixture
def snap() -> Chosen:
    return choose(game_named("snap"), ("Ana", "Ben", "Cleo"))


class Teller:
    """Tells a match whatever comes into its head."""

    def __init__(self, chosen: Chosen, seed: int) -> None:
        self.chosen = chosen
        self.draw = random.Random(seed)
        self.cards = sorted(chosen.setup.deck.counts)

    def events(self, match: Match, count: int) -> Iterator[Event]:
        """Events for this match as it stands at each."""
        for _ in range(count):
            at = Instant(max((event.at.at_ns for event in match.course[-1:]), default=0) + 400_000_000)
            board = match.board
            if board.over:
                yield Dealt(at=at)
            elif self.draw.random() < 0.3:
                slap_at = Instant(at.at_ns, 2_000_000)
                yield Slap(at=slap_at, seat=self.draw.randrange(3), pile=Pile("spot"))
            else:
                yield Shown(at=at, seat=board.turn, card=self.draw.choice(self.cards), pile=Pile("up", board.turn))


@pytest.fixture
def teller(snap: Chosen) -> Teller:
    return Teller(snap, seed=7)


@pytest.fixture
def race(snap: Chosen) -> list[Event]:
    """Ben and Cleo race for two sevens; Ana then snaps at nothing."""

    def shown(at_ms: int, seat: int, card: str) -> Event:
        return Shown(at=Instant(at_ms * 1_000_000), seat=seat, card=Card(card), pile=Pile("up", seat))

    def slap(at_ms: int, seat: int) -> Event:
        return Slap(at=Instant(at_ms * 1_000_000, 3_000_000), seat=seat, pile=Pile("spot"))

    return [
        shown(0, 1, "7h"),
        shown(2000, 2, "7s"),
        slap(2300, 1),
        slap(2380, 2),
        shown(4000, 0, "2c"),
        slap(4300, 0),
        Tick(at=Instant(6_000_000_000)),
    ]
