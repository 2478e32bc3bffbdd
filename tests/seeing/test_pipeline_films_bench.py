"""The bench of whole films counts what differs, and nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from referee.cards import Card, Pile
from referee.events import Event, Moved, Shown, Slap
from referee.instant import Instant
from referee.ruling import Ruling, Verdict
from vision.benches.films import Tally, compare
from vision.benches.wilson import wilson

MS = 1_000_000
SPOT = Pile("spot")


def slap(number: int, seat: int, at_ms: int, sd_ms: int = 0) -> Slap:
    return Slap(id=number, at=Instant(at_ms * MS, sd_ms * MS), seat=seat, pile=SPOT)


TRUE: list[Event | Ruling] = [
    Shown(id=1, at=Instant(1000 * MS), seat=0, card=Card("7h"), pile=Pile("up", 0)),
    Shown(id=2, at=Instant(3000 * MS), seat=1, card=Card("7d"), pile=Pile("up", 1)),
    slap(3, 0, 3400),
    slap(4, 1, 3460),
    Ruling(clause="S5", verdict=Verdict.WON, what="won_race", seat=0, because=(2, 3, 4)),
    Moved(id=5, at=Instant(5000 * MS), seat=0, source=Pile("up", 1), target=Pile("down", 0)),
]


def test_the_truth_agrees_with_itself() -> None:
    figures = compare(TRUE, TRUE, 2).figures()
    assert figures["event_recall"] == figures["event_precision"] == figures["rulings_right"] == 1
    assert figures["clear_first_right"] == 1
    assert figures["rulings_invented"] == figures["false_slaps"] == 0


def changed(number: int, becomes: Event | Ruling | None) -> list[Event | Ruling]:
    at = next(i for i, item in enumerate(TRUE) if not isinstance(item, Ruling) and item.id == number)
    return [*TRUE[:at], *([] if becomes is None else [becomes]), *TRUE[at + 1 :]]


RULED = TRUE[4]
assert isinstance(RULED, Ruling)


@pytest.mark.parametrize(
    ("seen", "counts"),
    [
        pytest.param(changed(1, None), {"matched": 4, "events_seen": 4}, id="a card missed"),
        pytest.param(
            changed(1, replace(TRUE[0], card=Card("8h"))), {"matched": 4, "events_seen": 5}, id="a card misread"
        ),
        pytest.param(
            changed(1, replace(TRUE[0], at=Instant(1600 * MS))), {"matched": 4, "events_seen": 5}, id="told too late"
        ),
        pytest.param(changed(3, slap(3, 0, 3470)), {"clear_first_right": 0, "clear_races": 1}, id="the wrong first"),
        pytest.param([*TRUE, slap(9, 1, 9000)], {"false_slaps": 1}, id="a slap out of nothing"),
        pytest.param(
            [*TRUE[:4], replace(RULED, seat=1), TRUE[5]], {"rulings_right": 0, "rulings_wrong": 1}, id="another winner"
        ),
        pytest.param(
            [*TRUE[:4], replace(RULED, verdict=Verdict.ASK, what="who_first", seat=None), TRUE[5]],
            {"asked": 1, "rulings_wrong": 0, "rulings_invented": 0},
            id="left to a person",
        ),
        pytest.param([*TRUE[:4], TRUE[5]], {"rulings_missed": 1}, id="not judged"),
        pytest.param(
            [*TRUE, Ruling(clause="S9", verdict=Verdict.FAULT, what="wrong_snap", seat=1, because=(5,))],
            {"rulings_invented": 1, "rulings_right": 1},
            id="a fault out of nothing",
        ),
    ],
)
def test_every_difference_is_counted_for_what_it_is(seen: list[Event | Ruling], counts: dict[str, int]) -> None:
    tally = compare(TRUE, seen, 2)
    assert {name: tally.counts[name] for name in counts} == counts


def test_close_hands_are_right_when_the_truth_lies_in_the_stated_interval() -> None:
    true = changed(4, slap(4, 1, 3410))
    inside = changed(4, slap(4, 1, 3425, 8))
    outside = changed(4, slap(4, 1, 3425, 2))
    assert compare(true, inside, 2).counts["close_in_interval"] == 1
    assert compare(true, outside, 2).counts["close_in_interval"] == 0


def test_the_interval_of_a_share_is_wilsons() -> None:
    low, high = wilson(9, 10)
    assert low == pytest.approx(0.5958, abs=1e-3)
    assert high == pytest.approx(0.9821, abs=1e-3)
    assert wilson(0, 0) == (0.0, 1.0)
    nothing = Tally(Counter(films=1)).figures()
    assert (nothing["slaps_found"], nothing["slaps_found_low"]) == (None, None)
