"""A table of Snap players: who slaps, how soon and how hard, after a card is turned up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from referee.cards import Card, Deck, Seat
from vision.films.kinematics import Family, Strike

SHORT_RANKS = ("5", "9", "J", "K")
"""A 16-card Snap: four ranks that look nothing like each other, so that a race comes every few turns."""


def short_deck() -> Deck:
    """The 16 cards of a short game."""
    cards = {Card.standard(rank, suit): 1 for rank in SHORT_RANKS for suit in "cdhs"}
    return Deck("short16", "1", cards)


_STRIKES = {Strike.SIDEWAYS: 0.4, Strike.OBLIQUE: 0.37, Strike.DOWN: 0.18, Strike.FLICK: 0.05}
"""How people slap a spot that they must reach for: mostly in one sweep, seldom from the wrist."""
_FAMILIES = (Family.STRAIGHT, Family.STRAIGHT, Family.CURVED, Family.BRAKING)


@dataclass(frozen=True, slots=True)
class SlapPlan:
    """One hand that will come down on the spot: when after the card shows, how, and how long it stays."""

    seat: Seat
    after_s: float
    how: Strike
    family: Family
    stays_s: float


@dataclass(frozen=True, slots=True)
class Temper:
    """How a table of players behaves."""

    reaction_s: float = 0.42
    """Median time from the card's face to the first hand's contact: 300 to 600 ms for a choice reaction."""
    tie_share: float = 0.08
    """Races in which the first two hands come down at the same instant."""
    least_margin_s: float = 0.015
    """No other race is closer: under that, people at a table call it a tie themselves."""
    most_margin_s: float = 0.120
    joins: float = 0.75
    """Chance that each further player's hand comes down too."""
    misses: float = 0.06
    """Matches that nobody sees."""
    false_slaps: float = 0.05
    """Chance that somebody slaps though nothing matches."""
    feints: float = 0.06
    """Chance that somebody's hand starts, and is taken back before it touches."""
    out_of_turn: float = 0.012
    """Chance a turn that somebody else turns a card first."""
    two_cards: float = 0.008
    """Chance that who has just played plays again."""
    rests: float = 0.0
    """Chance a turn that somebody lays their other hand on the table's edge for a while."""


class SnapTable:
    """The players round one table, drawing all their decisions from one stream."""

    def __init__(
        self,
        players: int,
        rng: np.random.Generator,
        fouls: np.random.Generator,
        temper: Temper | None = None,
    ) -> None:
        """`rng` decides who slaps, `fouls` who plays when it is not their turn."""
        self._players, self._rng, self._fouls = players, rng, fouls
        self._temper = temper or Temper()

    def race(self, eligible: tuple[Seat, ...]) -> tuple[SlapPlan, ...]:
        """Hands for a match, first to last; none where nobody saw it."""
        temper, rng = self._temper, self._rng
        if not eligible or rng.random() < temper.misses:
            return ()
        order = [int(seat) for seat in rng.permutation(eligible)]
        first_s = float(np.clip(rng.lognormal(np.log(temper.reaction_s), 0.16), 0.30, 0.85))
        plans = [self._plan(order[0], first_s)]
        at_s = first_s
        for place, seat in enumerate(order[1:]):
            if place > 0 and rng.random() > temper.joins:
                continue
            tie = place == 0 and rng.random() < temper.tie_share
            margin = 0.0 if tie else float(rng.uniform(temper.least_margin_s, temper.most_margin_s))
            at_s += margin
            plans.append(self._plan(seat, at_s))
        return tuple(plans)

    def error(self, eligible: tuple[Seat, ...]) -> tuple[SlapPlan, ...]:
        """A hand though nothing matches, rarely."""
        if not eligible or self._rng.random() >= self._temper.false_slaps:
            return ()
        seat = int(self._rng.choice(eligible))
        return (self._plan(seat, float(self._rng.uniform(0.38, 0.75))),)

    def feint(self, eligible: tuple[Seat, ...]) -> Seat | None:
        """Who starts and takes it back, if anybody does."""
        if not eligible or self._rng.random() >= self._temper.feints:
            return None
        return int(self._rng.choice(eligible))

    def out_of_turn(self, others: tuple[Seat, ...]) -> Seat | None:
        """Who turns a card though it is somebody else's turn, if anybody does."""
        if self._fouls.random() >= self._temper.out_of_turn or not others:
            return None
        return int(self._fouls.choice(others))

    def plays_again(self) -> bool:
        """Whether who has just played plays again."""
        return bool(self._fouls.random() < self._temper.two_cards)

    def rests(self, seats: tuple[Seat, ...]) -> tuple[Seat, float] | None:
        """Whose other hand comes to rest on the table's edge, and for how many seconds, if anybody's does."""
        if self._temper.rests <= 0 or not seats or self._fouls.random() >= self._temper.rests:
            return None
        return int(self._fouls.choice(seats)), float(self._fouls.uniform(3, 12))

    def pause_s(self) -> float:
        """How long until the next player moves, once the card lies."""
        return float(self._rng.uniform(0.30, 0.75))

    def _plan(self, seat: Seat, after_s: float) -> SlapPlan:
        how = list(_STRIKES)[int(self._rng.choice(len(_STRIKES), p=list(_STRIKES.values())))]
        family = _FAMILIES[int(self._rng.integers(len(_FAMILIES)))]
        return SlapPlan(seat, after_s, how, family, float(self._rng.uniform(0.45, 1.0)))
