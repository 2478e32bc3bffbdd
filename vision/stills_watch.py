"""Separate photographs of one table: which card lies there, and whether a hand is over it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from vision.cards.seen import SeenCard
from vision.frame import Frame
from vision.hands.over_card import Over, hand_over_card
from vision.piles import Reader


@dataclass(frozen=True, slots=True, eq=False)
class StillSeen:
    """What one picture shows.

    card: the card that lies there, remembered from earlier pictures where a hand hides it now; ``seen``: the
    cards found in this very picture. hand: whether one is over the card, only near, or not there.
    """

    frame: Frame
    card: str | None
    hand: Over
    seen: tuple[SeenCard, ...]


class StillsWatcher:
    """Reads cards and looks for hands in pictures that need not follow one another closely."""

    def __init__(self, reader: Reader) -> None:
        """Read cards with ``reader``."""
        self._reader = reader
        self._last: str | None = None

    def watch(self, frames: Iterable[Frame]) -> Iterator[StillSeen]:
        """What each picture shows."""
        return map(self.look, frames)

    def look(self, frame: Frame) -> StillSeen:
        """What one picture shows."""
        seen = self._reader.read(frame.image)
        named = [card for card in seen if card.card is not None]
        if named:
            self._last = max(named, key=lambda card: card.confidence).card
        if not seen:
            found = hand_over_card(frame.image, None)
            # A card lay there before and none is to be seen: what is plainly a hand hides it.
            hides = found.state is not Over.ABSENT and self._last is not None
            return StillSeen(frame, self._last, Over.OVER if hides else found.state, seen)
        states = [hand_over_card(frame.image, card.quad).state for card in seen]
        state = next((s for s in (Over.OVER, Over.UNSURE, Over.NEAR) if s in states), Over.ABSENT)
        return StillSeen(frame, self._last, state, seen)
