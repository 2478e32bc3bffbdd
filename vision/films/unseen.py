"""Cards that nobody has seen yet: each gets its name when a written game shows it, and only then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from referee.cards import Deck


@dataclass(slots=True)
class _Hidden:
    """One card between two shuffles. `pool`: the cards as they were before the shuffle, one of which it is."""

    name: str | None = None
    pool: list[_Hidden] | None = None


class Unseen:
    """A deck whose cards go by numbers (``#17``) until they are known.

    A shuffle gives its cards new numbers, since from then on anyone of them may be any of them.
    """

    def __init__(self, deck: Deck) -> None:
        """No card of the deck has been seen."""
        self._left = Counter({card.name: count for card, count in deck.counts.items()})
        self._cards: list[_Hidden] = [_Hidden() for _ in range(deck.size)]

    def shuffled(self, numbers: Sequence[str] | None = None) -> list[str]:
        """New numbers for these cards; None: the whole deck as it comes from its box."""
        if numbers is None:
            return [_number(i) for i in range(len(self._cards))]
        pool = [self._card(number) for number in numbers]
        self._cards += [_Hidden(pool=pool) for _ in numbers]
        return [_number(i) for i in range(len(self._cards) - len(numbers), len(self._cards))]

    def show(self, number: str, name: str) -> bool:
        """The card of that number is seen to be that card; False: it can't be, the deck has no such card left."""
        return self._show(self._card(number), name)

    def known(self, number: str) -> str | None:
        """What the card is, where it has been seen since the last shuffle."""
        return self._card(number).name

    def _show(self, card: _Hidden, name: str) -> bool:
        if card.name is not None:
            return card.name == name
        if card.pool is None:
            if self._left[name] < 1:
                return False
            self._left[name] -= 1
        else:
            was = next((other for other in card.pool if other.name == name), None)
            if was is None:
                was = next((other for other in card.pool if other.name is None and self._show(other, name)), None)
            if was is None:
                return False
            card.pool.remove(was)
        card.name = name
        return True

    def names(self, rng: np.random.Generator) -> Mapping[str, str]:
        """Every number's name in the end; what was never seen is drawn."""
        left = [str(name) for name in rng.permutation(sorted(self._left.elements()))]
        for card in self._cards:
            if card.name is None and card.pool is None:
                card.name = left.pop()
            elif card.name is None and card.pool is not None:
                card.name = card.pool.pop(int(rng.integers(len(card.pool)))).name
        return {_number(i): str(card.name) for i, card in enumerate(self._cards)}

    def _card(self, number: str) -> _Hidden:
        return self._cards[int(number[1:])]


def _number(i: int) -> str:
    return f"#{i}"
