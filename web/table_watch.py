"""A table watched and judged: wires source, watchers, narrator and match; used by review, demo and play alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from referee.cards import Deck
from referee.events import Amend, Confirm, Event, Insert, Slap, Tick
from referee.game import Expectation, Game, NotInThisGame, Setup
from referee.instant import Instant
from referee.match import Judgement
from vision.cards.deck import SUFFIX, shipped_deck_of
from vision.cards.deck import Deck as EnrolledDeck
from vision.cards.read import CardReader
from vision.hands.watcher import HandWatcher
from vision.narrator import Telling
from vision.piles import Reader
from vision.pipeline import Hands, Looked, Pipeline
from vision.sources.pieces import Piece
from vision.table import Table

#: After a slap a tick lets the rules' time run out: they wait a quarter of a second for other claims.
TICK_AFTER_NS = 300_000_000


class Judge(Protocol):
    """Where events are told: a `referee.match.Match`, or one that pages follow."""

    @property
    def expects(self) -> Expectation:
        """What the rules wait for."""
        ...

    def tell(self, event: Event) -> Judgement:
        """Judge one event."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """One frame looked at, and what it led to; ``refused``: events that can't be in this game, with the reason."""

    looked: Looked
    judgements: tuple[Judgement, ...]
    refused: tuple[tuple[Event, str], ...] = ()


def pipeline_for(
    game: Game[Any],
    setup: Setup,
    table: Table,
    *,
    reader: Reader | None = None,
    hands: Hands | None = None,
) -> Pipeline:
    """The pipeline for a game on a table, with the shipped reader unless another is given."""
    slapped = game.expects(game.start(setup)).slaps
    return Pipeline(
        table,
        game.layout(len(setup.players)),
        reader or reader_for(setup.deck),
        hands or HandWatcher(table, timed=slapped),
        slapped=slapped,
        counts=setup.deck.counts,
    )


def reader_for(deck: Deck) -> CardReader:
    """The shipped reader, of standard cards or of the shipped enrolled deck that shows all the cards of ``deck``."""
    return CardReader.shipped(deck=shipped_deck_of({card.name for card in deck.counts}))


def rules_deck(text: str) -> str:
    """The rules' deck that ``--deck`` asks for; empty, the game's own, where it names a file of how cards look."""
    return "" if text.endswith(SUFFIX) else text


def enrolled_reader(text: str) -> CardReader | None:
    """The reader of the enrolled deck's file that ``--deck`` names; None where it names a deck of the rules."""
    return CardReader.shipped(deck=EnrolledDeck.load(Path(text))) if text.endswith(SUFFIX) else None


def watch(pieces: Iterable[Piece], pipeline: Pipeline, judge: Judge) -> Iterator[Watched]:
    """Look at every piece of a source, tell the judge what is seen, and give it all on."""
    teller = _Teller(judge)
    for looked in pipeline.watch(pieces, lambda: judge.expects):
        judgements, refused = teller.take(looked)
        yield Watched(looked, judgements, refused)


class _Teller:
    """Tells tellings to a judge: numbers them, and turns later words on them into corrections."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._ids: dict[int, int] = {}
        self._events: dict[int, Event] = {}
        self._tick_due_ns: int | None = None

    def take(self, looked: Looked) -> tuple[tuple[Judgement, ...], tuple[tuple[Event, str], ...]]:
        judgements: list[Judgement] = []
        refused: list[tuple[Event, str]] = []
        for telling in looked.tellings:
            event = self._event(telling)
            if event is None:
                continue
            due = self._tick_due_ns
            if due is not None and event.at.at_ns > due and not isinstance(event, Amend | Confirm | Insert):
                judgements.append(self._judge.tell(Tick(at=Instant(due))))
                self._tick_due_ns = None
            try:
                judgement = self._judge.tell(event)
            except NotInThisGame as error:
                refused.append((event, str(error)))
                continue
            judgements.append(judgement)
            if telling.key not in self._ids:
                self._ids[telling.key] = judgement.event.id
            if telling.event is not None:
                self._events[telling.key] = telling.event
            if isinstance(event, Slap):
                self._tick_due_ns = event.at.at_ns + TICK_AFTER_NS
        if self._tick_due_ns is not None and looked.told_until_ns >= self._tick_due_ns:
            judgements.append(self._judge.tell(Tick(at=Instant(self._tick_due_ns))))
            self._tick_due_ns = None
        return tuple(judgements), tuple(refused)

    def _event(self, telling: Telling) -> Event | None:
        """What is to be told: the event itself, or a correction of what was told under its key."""
        if telling.key not in self._ids:
            if telling.event is None:
                return None
            if telling.late:
                after = self._ids.get(telling.after, 0)
                return Insert(at=telling.event.at, after=after, happened=telling.event)
            return telling.event
        number, before = self._ids[telling.key], self._events.get(telling.key)
        if telling.event is None:
            at = before.at if before is not None else Instant(0)
            return Amend(at=at, of=number, becomes=None)
        if before is not None and before.provisional and _same_but_provisional(before, telling.event):
            return Confirm(at=telling.event.at, of=number)
        return Amend(at=telling.event.at, of=number, becomes=telling.event)


def _same_but_provisional(before: Event, after: Event) -> bool:
    return replace(before, provisional=False) == after
