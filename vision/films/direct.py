"""What directing any game's film needs: a match that judges while the stage acts, and one log of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np

from referee.cards import Deck, Seat, shipped_deck
from referee.events import Answer, Event
from referee.game import Game, set_up
from referee.instant import Instant
from referee.match import Match
from referee.recording import Header
from referee.ruling import Ruling
from vision.films.arm_looks import ArmLook
from vision.films.script import Script
from vision.films.stage import Stage
from vision.films.unseen import Unseen

S = TypeVar("S")

LAST_DEAL_S = 14.0
"""With less time left than this, no further hand is dealt: it could not be played."""
QUIET_S = 1.4
"""The empty table is seen for so long before the first hand comes: time to learn what it looks like."""

NAMES = ("Anna", "Bert", "Cleo", "Dana", "Egon", "Fria", "Gus", "Hana", "Ivo", "Jana", "Karl", "Lea")


def at(seconds: float) -> Instant:
    """An exact moment of the film."""
    return Instant(round(seconds * 1e9))


def players_arms(players: int, rng: np.random.Generator, *, mesh: bool = False) -> dict[Seat, ArmLook]:
    """An arm for each seat; `mesh`: with hands from the sheet of mesh hands instead of drawn ones."""
    looks = (ArmLook.seeded(rng, left=False) for _ in range(players))
    return {seat: replace(look, mesh=mesh) for seat, look in enumerate(looks)}


_HOST_SAYS = ("take_back", "stands", "drawn")


class Direction(Generic[S]):
    """One game on one stage: events are told to the rules as they happen, and kept with what was ruled."""

    def __init__(
        self,
        game: Game[S],
        looks: Mapping[Seat, ArmLook],
        table_mm: tuple[float, float],
        rng: np.random.Generator,
        *,
        deck: Deck | None = None,
        dealer: Seat = 0,
        options: Mapping[str, object] | None = None,
        written: bool = False,
    ) -> None:
        """Seat the players, whose arms are `looks`; `rng` decides everything.

        `written`: not which cards come, those are named as a written game shows them.
        """
        players = len(looks)
        self.rng = rng
        self.deck = deck or shipped_deck(game.deck)
        self.unseen = Unseen(self.deck) if written else None
        self.setup = set_up(game, NAMES[:players], self.deck, dealer=dealer, options=options)
        self.match: Match[S] = Match(game, self.setup)
        self.judged: dict[int, list[Ruling]] = {}
        self.layout = game.layout(players)
        self.stage = Stage(game.name, self.setup.players, self.layout, table_mm, looks, rng)

    @property
    def header(self) -> Header:
        """The recording's first line."""
        setup = self.setup
        return Header(self.stage.game, setup.players, setup.dealer, self.deck.name, setup.options)

    def shuffled(self) -> list[str]:
        """The deck's cards in random order, by name."""
        if self.unseen is not None:
            lying = [card.card for stack in self.stage.stacks.values() for card in stack if card.card[0] == "#"]
            return self.unseen.shuffled(lying or None)
        cards = self.deck.cards()
        return [cards[i].name for i in self.rng.permutation(len(cards))]

    def mixed(self, names: Sequence[str]) -> list[str]:
        """These cards of a pile in another order."""
        if self.unseen is not None:
            return self.unseen.shuffled(names)
        return [names[i] for i in self.rng.permutation(len(names))]

    def tell(self, event: Event) -> tuple[Ruling, ...]:
        """Something happened: it goes into the truth, and the rules judge it."""
        judged = self.match.tell(event)
        self.stage.events.append(judged.event)
        self.judged.setdefault(judged.event.id, []).extend(judged.given)
        return judged.given + self._answers(event)

    def _answers(self, event: Event) -> tuple[Ruling, ...]:
        """The host knows what the film shows: a fault stands, a card goes back where a person may choose."""
        given: list[Ruling] = []
        while self.match.board.questions:
            question = self.match.board.questions[0]
            says = next((choice for choice in _HOST_SAYS if choice in question.choices), "")
            if not says:
                break
            judged = self.match.tell(Answer(at=event.at, question=question.key, says=says))
            self.stage.events.append(judged.event)
            self.judged.setdefault(judged.event.id, []).extend(judged.given)
            given += judged.given
            if any(still.key == question.key for still in self.match.board.questions):
                break
        return tuple(given)

    def tell_in_order(self, events: Sequence[Event]) -> list[Ruling]:
        """Several things happened; they are told in the order of their time."""
        rulings: list[Ruling] = []
        for event in sorted(events, key=lambda event: event.at.at_ns):
            rulings += self.tell(event)
        return rulings

    def pace(self) -> float:
        """How briskly the next thing is done."""
        return float(self.rng.uniform(0.85, 1.3))

    def end(self, now: float) -> Script:
        """Let the last hand leave the table."""
        hands = self.stage.hands.values()
        keyed = [hand.keys[-1].at_s for hand in hands if hand.keys]
        return self.stage.finish(max([now, *keyed, *(hand.busy_s for hand in hands)]) + 0.8)
