"""A player's evening in figures."""

from __future__ import annotations

from referee.cards import Card, Pile, shipped_deck
from referee.events import Shown, Slap, Tick
from referee.game import set_up
from referee.games.snap import GAME, SPOT
from referee.instant import Instant
from referee.match import Match
from referee.statistics import evenings


def test_first_last_faults_and_reaction_times_are_counted_from_what_stands() -> None:
    match = Match(GAME, set_up(GAME, ("ana", "ben", "cleo"), shipped_deck("standard52")))
    ms = 1_000_000
    for event in (
        Shown(at=Instant(0), seat=1, pile=Pile("up", 1), card=Card("7h")),
        Shown(at=Instant(1000 * ms, 3 * ms), seat=2, pile=Pile("up", 2), card=Card("7s")),
        Slap(at=Instant(1400 * ms, 4 * ms), seat=0, pile=SPOT),
        Slap(at=Instant(1500 * ms, 4 * ms), seat=1, pile=SPOT),
        Slap(at=Instant(1502 * ms, 4 * ms), seat=2, pile=SPOT),
        Shown(at=Instant(3000 * ms), seat=0, pile=Pile("up", 0), card=Card("9s")),
        Slap(at=Instant(3400 * ms, 4 * ms), seat=1, pile=SPOT),
        Tick(at=Instant(5000 * ms)),
    ):
        match.tell(event)
    ana, ben, cleo = evenings(3, match.course, match.rulings)
    assert (ana.wins, ana.faults, ana.races, ana.first, ana.last) == (1, 0, 1, 1, 0)
    assert (ben.faults, ben.first, ben.last) == (1, 0, 0), "2 ms apart: nobody was surely last"
    assert cleo.races == 1
    assert ana.median_reaction == Instant(400 * ms, 5 * ms)
    assert evenings(3, (), ())[0].median_reaction is None
