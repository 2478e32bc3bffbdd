"""From a source's frames to what can be told of the table: the watchers and the narrator, in one stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from referee.bad_input import BadInput
from referee.cards import Card, Pile
from referee.game import Expectation, Layout
from referee.instant import Instant
from vision.ear import Ear
from vision.frame import Frame
from vision.hands.layers import Overlap
from vision.hands.news import HandNews, HandSeen
from vision.narrator import SPOT_KIND, Narrator, Telling, places_of
from vision.observation import Top
from vision.piles import PileWatcher, Reader
from vision.sources.pieces import Piece, Sound
from vision.table import Table


class Hands(Protocol):
    """Watches hands; `vision.hands.watcher.HandWatcher` is one."""

    @property
    def hands(self) -> tuple[HandSeen, ...]:
        """Those over the table in the latest frame."""
        ...

    def watch(self, frame: Frame) -> tuple[HandNews | Overlap, ...]:
        """Take the next frame; what became known with it."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """What is known after one more frame.

    tops: what lies on each pile. hands: the arms over the table. tellings: what can be told now.
    told_until_ns: nothing that happened up to then will be told any more, but late (see `Telling`).
    frame None: after the last one, when all that was held back is told.
    """

    frame: Frame | None
    hands: tuple[HandSeen, ...]
    tops: Mapping[Pile, Top]
    tellings: tuple[Telling, ...]
    told_until_ns: int


class Pipeline:
    """One table watched: built once for a match, fed with a source's pieces."""

    def __init__(
        self,
        table: Table,
        layout: Layout,
        reader: Reader,
        hands: Hands,
        *,
        slapped: frozenset[Pile] = frozenset(),
        counts: Mapping[Card, int] | None = None,
    ) -> None:
        """``slapped``: piles on which hands may come down; ``counts``: how often each card is in the deck."""
        fits(table, layout)
        self.table = table
        self.piles = PileWatcher(
            table,
            reader,
            unread=frozenset(spot.pile for spot in table.piles if spot.pile.kind == SPOT_KIND),
            deck=frozenset(counts or ()),
        )
        self.hands = hands
        self._ear = Ear()
        self.narrator = Narrator(places_of(layout, slapped, counts), table, self._heard)

    def watch(self, pieces: Iterable[Piece], expects: Callable[[], Expectation] | None = None) -> Iterator[Looked]:
        """Look at every frame; ``expects`` tells what the rules wait for. The last `Looked` has no frame."""
        until = 0
        for piece in pieces:
            if isinstance(piece, Sound):
                self._ear.hear(piece)
                continue
            if expects is not None:
                self.narrator.expect(expects())
            looked = self.look(piece)
            until = looked.told_until_ns
            yield looked
        tellings = tuple(self.narrator.finish())
        last = max([until, *(t.event.at.at_ns for t in tellings if t.event is not None)])
        yield Looked(None, (), self.piles.tops, tellings, last)

    def _heard(self, from_ns: int, to_ns: int) -> tuple[Instant, ...] | None:
        until = self._ear.until_ns
        if until is None:
            return ()
        return None if until < to_ns else self._ear.struck(from_ns, to_ns)

    def look(self, frame: Frame) -> Looked:
        """Take one frame."""
        for news in self.hands.watch(frame):
            self.narrator.hear(news)
        hands = self.hands.hands
        for change in self.piles.watch(frame, hands):
            self.narrator.hear(change)
        undecided = self.piles.undecided_since_ns()
        tellings = tuple(self.narrator.tell(frame.at_ns, hands=hands, undecided_since_ns=undecided))
        until = self.narrator.told_until(hands=hands, undecided_since_ns=undecided)
        return Looked(frame, hands, self.piles.tops, tellings, until)


def fits(table: Table, layout: Layout) -> None:
    """`BadInput` where the table lacks a seat or a pile of the game."""
    wrong = []
    seats = {place.seat for place in layout.seats}
    if {spot.seat for spot in table.seats} != seats:
        wrong.append(f"seats: expected {len(seats)}, one a player, got {len(table.seats)}")
    missing = [str(place.pile) for place in layout.piles if not table.has_pile(place.pile)]
    if missing:
        wrong.append(f"piles: expected {', '.join(missing)} too, got {', '.join(str(s.pile) for s in table.piles)}")
    if wrong:
        raise BadInput("table: " + "; ".join(wrong))
