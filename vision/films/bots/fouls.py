"""When players of a film break a rule: a share of the occasions, drawn from a stream of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from referee.bad_input import BadInput


class Fouls:
    """Fouls of one film; the chances of a legal film (`share` 0) are drawn too, so nothing else shifts."""

    def __init__(self, rng: np.random.Generator, share: float, kinds: Sequence[str]) -> None:
        """`share` of the turns go wrong in one of `kinds`, and so do as many of the other occasions."""
        if not 0 <= share <= 1:
            raise BadInput.of("fouls", "a share from 0 to 1", f"{share:g}")
        self._rng, self._share, self._kinds = rng, share, tuple(kinds)
        self._due: str | None = None

    def turn_begins(self) -> None:
        """Decide whether something goes wrong in this turn, if nothing is due that had no occasion yet."""
        goes_wrong, kind = self._rng.random() < self._share, int(self._rng.integers(len(self._kinds)))
        if goes_wrong and self._due is None:
            self._due = self._kinds[kind]

    def is_due(self, kind: str) -> bool:
        """Whether this kind of foul is to happen as soon as it can."""
        return self._due == kind

    def done(self) -> None:
        """The foul that was due has happened."""
        self._due = None

    def happens(self) -> bool:
        """Whether an occasion outside the turns (a race, a penalty, a count) goes wrong."""
        return bool(self._rng.random() < self._share)

    def choice(self, among: Sequence[int]) -> int:
        """One of several seats or places."""
        return int(self._rng.choice(among))

    def card(self, among: Sequence[str]) -> str:
        """One of several cards."""
        return str(self._rng.choice(among))
