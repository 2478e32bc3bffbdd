"""Who lies on whom: what of a hand that was seen lying is covered when another has come."""

import math

import numpy as np
import pytest

from referee.cards import Pile
from referee.instant import Instant
from vision.benches.layers import ClipVerdict, measure, report
from vision.hands.layers import COVERED, Layers, Overlap, with_layers
from vision.hands.news import Contact, HandSeen
from vision.hands.order import joined
from vision.hands.timing import Look
from vision.table import PileSpot, SeatSpot, Table

MS = 1_000_000
SPOT = Pile("spot")
SIZE = (280, 240)
#: Grey levels of the table, of the first hand, of the second.
TABLE, ONE, OTHER = 60, 120, 190


def _table() -> Table:
    width, height = SIZE
    corners = ((0.0, 0.0), (width, 0.0), (width, height), (0.0, height))
    seats = (SeatSpot(0, (0.0, 120.0)), SeatSpot(1, (140.0, 240.0)))
    return Table(corners, (width, height), SIZE, seats, (PileSpot(SPOT, (170.0, 110.0), 60.0),))


def _seen(hand: int, at_ns: int, tip: tuple[float, float]) -> HandSeen:
    entry = (0.0, tip[1]) if hand == 0 else (tip[0], 240.0)
    return HandSeen(
        hand=hand, seat=hand, at=Instant(at_ns), tip_mm=tip, entry_mm=entry, speed_mps=0.0, over=(SPOT,),
        at_pile=SPOT, outline_px=(0, 0, 1, 1),
    )  # fmt: skip


def _contact(hand: int, at_ns: int) -> Contact:
    return Contact(
        hand=hand, seat=hand, pile=SPOT, at=Instant(at_ns, 3 * MS), speed_mps=2.0, gentle=0.0, trusted=True,
        reason="", rest_ns=at_ns + 60 * MS,
    )  # fmt: skip


def _told(*, second_lies_above: bool, reaches: float = 60.0) -> list[Overlap]:
    """A hand comes from the left and lies; 100 ms later one comes up from below, to ``reaches`` mm from the top.

    The two cross where x is 145 to 195 and y is 85 to 135.
    """
    layers, told = Layers(_table()), []
    rng = np.random.default_rng(3)
    for k in range(24):
        at_ns = k * 16 * MS
        # The first lands in picture 4, the second in picture 10; each moved 40 mm a picture before.
        tip_one = (220.0 - 40 * max(0, 4 - k), 110.0)
        tip_other = (170.0, reaches + 40 * max(0, 10 - k))
        arms = [(ONE, (slice(85, 135), slice(0, max(0, round(tip_one[0])))))]
        if tip_other[1] < 240:
            arms.append((OTHER, (slice(max(0, round(tip_other[1])), 240), slice(145, 195))))
        picture = np.full((*SIZE[::-1], 3), TABLE, np.uint8)
        for level, where in arms if second_lies_above else arms[::-1]:
            picture[where] = level
        mask = np.where(picture[..., 0] > TABLE, 255, 0).astype(np.uint8)
        picture = np.clip(picture + rng.normal(0, 1.5, picture.shape), 0, 255).astype(np.uint8)
        hands = [_seen(0, at_ns, tip_one)] + ([_seen(1, at_ns, tip_other)] if tip_other[1] < 240 else [])
        news = [_contact(0, 4 * 16 * MS)] if k == 8 else [_contact(1, 10 * 16 * MS)] if k == 14 else []
        told += layers.watch(Look(at_ns, 0, picture), mask, hands, news)
    return told


def test_a_hand_that_was_seen_lying_and_then_covered_lies_below() -> None:
    (overlap,) = _told(second_lies_above=True)
    assert (overlap.below_seat, overlap.above_seat) == (0, 1)
    assert overlap.probability == pytest.approx(0.9)


def test_a_hand_that_pushes_under_another_is_not_taken_for_lying_on_it() -> None:
    assert _told(second_lies_above=False) == []


def test_hands_that_end_short_of_each_other_say_nothing() -> None:
    assert _told(second_lies_above=True, reaches=150.0) == []


def test_layers_settle_an_order_that_the_instants_leave_open() -> None:
    open_yet = joined({0: Instant(0, 40 * MS), 1: Instant(0, 40 * MS), 2: Instant(900 * MS, 5 * MS)})
    weighed = with_layers(open_yet, {(0, 1): COVERED})
    assert weighed.first()[0] == pytest.approx(0.9, abs=0.01)
    assert weighed.last()[2] == pytest.approx(1.0, abs=1e-3)
    assert sum(p for _, p in weighed.orders) == pytest.approx(1.0)
    assert with_layers(open_yet, {}) is open_yet


def test_a_clear_timing_is_never_overruled_by_layers() -> None:
    clear = joined({0: Instant(0, 3 * MS), 1: Instant(15 * MS, 3 * MS)})
    against = with_layers(clear, {(1, 0): COVERED})
    assert clear.before(0, 1) > 0.999
    assert against.before(0, 1) > 0.99


def test_layers_of_hands_that_are_in_no_order_change_nothing() -> None:
    both = joined({0: Instant(0, 9 * MS), 1: Instant(5 * MS, 9 * MS)})
    again = with_layers(both, {(0, 7): COVERED, (8, 9): -math.log(9)})
    assert again.before(0, 1) == pytest.approx(both.before(0, 1))


def test_the_bench_counts_what_was_told_of_true_overlaps_only() -> None:
    figures = report(
        [
            ClipVerdict(1, "A", True, True, (True, None), (20.0, 5.0), 0),
            ClipVerdict(2, "D", False, False, (False,), (60.0,), 1),
        ]
    )
    assert (figures["lies_told"], figures["lies_told_n"]) == (0.6667, 3)
    assert (figures["lies_right"], figures["lies_right_n"]) == (0.5, 2)
    assert figures["wrong_of_decided"] == 0.0
    assert figures["by_grade"]["A"] == {"slaps": 1, "first_right": 1}  # type: ignore[index]


def test_the_bench_measures_one_rendered_clip() -> None:
    result = measure(5, hands=2)
    assert len(result.lies) == len(result.gaps_ms) <= 1
    assert result.grade in ("A", "B", "C", "D", "none")
