"""The lane as the landing network sees it, and what is made of its output."""

import math
from dataclasses import replace

import cv2
import numpy as np
import pytest

from referee.cards import Pile
from referee.instant import Instant
from vision.hands.kink import Kink
from vision.hands.landing import (
    PICTURES,
    PILE_AT_PX,
    SIZE_PX,
    Landing,
    LaneView,
    chosen,
    landing_of,
    row_times,
    times_of,
)
from vision.hands.timing import Shutter, Timed
from vision.hands.touchdown import DISAGREE, HELD, by_both, is_sure
from vision.hands.watcher import _gentle, _Told, _told_anew
from vision.table import PileSpot, SeatSpot, Table

MS = 1_000_000
SIZE = (640, 400)
PILE_MM, SEAT_MM = (400.0, 250.0), (400.0, 500.0)


def _table() -> Table:
    width, height = SIZE
    corners = ((0.0, 0.0), (width, 0.0), (width, height), (0.0, height))
    return Table(corners, (800.0, 500.0), SIZE, (SeatSpot(0, SEAT_MM),), (PileSpot(Pile("pot"), PILE_MM, 60.0),))


def _dot(at_mm: tuple[float, float]) -> np.ndarray:
    picture = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
    x, y = _table().to_px([at_mm])[0]
    cv2.circle(picture, (round(float(x)), round(float(y))), 7, (255, 255, 255), -1)
    return picture


@pytest.mark.parametrize(
    ("at_mm", "along_mm", "across_mm"),
    [(PILE_MM, 0, 0), ((400.0, 370.0), -120, 0), ((400.0, 190.0), 60, 0), ((450.0, 250.0), 0, 50)],
    ids=["the pile", "nearer to the seat", "beyond the pile", "to the right of one who sits there"],
)
def test_the_lane_comes_in_from_the_left_whatever_side_the_seat_is_on(
    at_mm: tuple[float, float], along_mm: float, across_mm: float
) -> None:
    view = LaneView(_table(), PILE_MM, SEAT_MM)
    lane = view.grey(_dot(at_mm))
    assert lane.shape == (SIZE_PX[1], SIZE_PX[0])
    ys, xs = np.nonzero(lane > 100)
    assert xs.mean() == pytest.approx(PILE_AT_PX[0] + along_mm / 3, abs=0.7)
    assert ys.mean() == pytest.approx(PILE_AT_PX[1] + across_mm / 3, abs=0.7)
    half = cv2.resize(_dot(at_mm)[..., 0], None, fx=0.25, fy=0.25, interpolation=cv2.INTER_AREA)
    ys, xs = np.nonzero(view.mask(half) > 100)
    assert xs.mean() == pytest.approx(PILE_AT_PX[0] + along_mm / 3, abs=1.5)
    assert ys.mean() == pytest.approx(PILE_AT_PX[1] + across_mm / 3, abs=1.5)


def test_of_a_quick_camera_as_many_pictures_are_taken_as_of_a_slow_one() -> None:
    slow = [k * 33 * MS for k in range(20)]
    assert chosen(slow, 15) == list(range(16))
    quick = [k * 1000 * MS // 240 for k in range(200)]
    taken = chosen(quick, 199)
    assert len(taken) == PICTURES
    assert taken[-1] == 199
    assert set(np.diff(taken)) == {4}


def test_lines_that_follow_each_other_along_the_lane_are_told_along_it() -> None:
    view = LaneView(_table(), PILE_MM, SEAT_MM)
    (along, across), delay_ns = row_times(view, Shutter(0.020, 0.0, (0.0, 1.0)), SIZE)
    # 100 mm are 80 of 400 lines, and the lane goes up the picture.
    assert along == pytest.approx(-4.0, abs=0.01)
    assert across == pytest.approx(0.0, abs=0.01)
    assert delay_ns == pytest.approx(0, abs=1000)
    assert row_times(view, None, SIZE) == ((0.0, 0.0), 0)


def test_times_of_fewer_pictures_stand_at_the_end() -> None:
    told = times_of([0.0, 20e6, 40e6], 60e6)
    assert told[:-3, 0].sum() == 0
    assert told[-3:, 0].tolist() == [1, 1, 1]
    assert told[-3:, 1] == pytest.approx([1.2, 1.2, 1.2], abs=0.01)
    assert told[-1, 2] == pytest.approx(-0.1)


def _output(k: int, offset: float, sd_ms: float, none: float = -20.0) -> np.ndarray:
    out = np.zeros(3 * PICTURES + 1, np.float32)
    out[:PICTURES] = -20
    out[k] = 5
    out[PICTURES + k], out[2 * PICTURES + k] = offset, math.log(sd_ms)
    out[-1] = none
    return out


def test_the_output_is_an_instant_between_two_pictures() -> None:
    stamps = [100e6 + k * 20e6 for k in range(PICTURES)]
    landing = landing_of(_output(10, 0.25, 3.0), stamps)
    assert landing.absent < 1e-6
    at = landing.instant()
    assert at.at_ns == pytest.approx(305 * MS, abs=0.1 * MS)
    assert at.sd_ns == pytest.approx(3 * MS, rel=0.02)
    assert landing.within(299e6, 311e6) == pytest.approx(0.9545, abs=0.002)


def test_the_same_output_of_few_pictures_is_read_from_its_end() -> None:
    landing = landing_of(_output(PICTURES - 2, 0.5, 2.0), [0.0, 20e6, 40e6])
    assert landing.instant().at_ns == pytest.approx(30 * MS, abs=0.1 * MS)


def test_what_did_not_land_is_said_so() -> None:
    landing = landing_of(_output(5, 0.5, 2.0, none=12.0), [k * 20e6 for k in range(PICTURES)])
    assert landing.absent > 0.99
    assert not is_sure(landing)


def test_two_readings_that_disagree_make_a_doubt_as_wide_as_both() -> None:
    stamps = [k * 20e6 for k in range(PICTURES)]
    one, other = landing_of(_output(5, 0.0, 2.0), stamps), landing_of(_output(8, 0.0, 2.0), stamps)
    same = Landing.of_both(one, one).instant()
    assert same.sd_ns == pytest.approx(2 * MS, rel=0.02)
    apart = Landing.of_both(one, other).instant()
    assert apart.sd_ns > 15 * MS
    assert not is_sure(Landing.of_both(one, other))


def _followed(at_ms: float) -> Timed:
    still = np.zeros(0)
    kink = Kink(0.0, 0.003, still, still, 4.0, 0.1, still, 0.2, still)
    return Timed(Instant(round(at_ms * MS), 4 * MS), True, "", kink, np.zeros(0, np.int64), np.zeros((0, 4)), 1500.0)


def _landed(at_ms: float, sd_ms: float, absent: float = 0.0, from_ms: float = 100.0) -> Landing:
    middle, sd, weight = np.array([at_ms * 1e6]), np.array([sd_ms * 1e6]), np.array([1.0])
    return Landing(absent, middle, sd, weight, from_ms * 1e6, 16.7e6)


def test_a_hand_that_did_not_land_is_not_trusted_however_well_it_was_followed() -> None:
    told = by_both(_followed(400.0), _landed(400.0, 2.0, absent=0.9))
    assert not told.trusted
    assert told.reason == HELD
    assert told.at.sd_ns >= 40 * MS


def test_where_an_arm_that_failed_its_check_is_another_one_the_lane_decides() -> None:
    told = by_both(replace(_followed(480.0), trusted=False), _landed(400.0, 3.0))
    assert told.trusted
    assert told.kink is None
    assert told.at.at_ns == pytest.approx(400 * MS, abs=MS)
    assert 2.9 * MS <= told.at.sd_ns < 4 * MS


def test_where_lane_and_arm_are_both_sure_and_disagree_neither_is_believed() -> None:
    told = by_both(_followed(480.0), _landed(400.0, 3.0))
    assert not told.trusted
    assert told.reason == DISAGREE
    assert told.at.sd_ns >= 39 * MS


def test_where_lane_and_arm_agree_both_make_it_surer() -> None:
    told = by_both(_followed(402.0), _landed(400.0, 6.0))
    assert told.trusted
    assert 400 * MS < told.at.at_ns < 402 * MS
    assert told.at.sd_ns < 5 * MS


def test_a_hand_that_may_not_have_landed_yet_is_doubted_by_that() -> None:
    told = by_both(_followed(400.0), _landed(400.0, 3.0, absent=0.2))
    assert not told.trusted
    assert told.at.sd_ns > 40 * MS


def test_a_lane_that_is_not_sure_trusts_nothing_that_disagrees_with_it() -> None:
    told = by_both(_followed(480.0), _landed(400.0, 25.0))
    assert not told.trusted
    assert abs(told.at.at_ns - 480 * MS) < 2.5 * told.at.sd_ns


def test_without_a_lane_what_was_followed_stands() -> None:
    followed = _followed(400.0)
    assert by_both(followed, None).at == followed.at
    assert by_both(followed, None).trusted
    # What failed its check is rough at best.
    assert by_both(replace(followed, trusted=False), None).at.sd_ns == 40 * MS


def test_of_slower_pictures_than_it_was_trained_on_it_is_less_sure() -> None:
    slow = replace(_landed(400.0, 3.0), step_ns=66e6)
    assert by_both(replace(_followed(400.0), kink=None), slow).at.sd_ns > 15 * MS


def _told(at_ms: float, sd_ms: float, rest_ms: float, absent: float = 0.0, from_ms: float = 100.0) -> _Told:
    followed = replace(_followed(at_ms), trusted=False, kink=None)
    landing = _landed(at_ms, sd_ms, absent, from_ms)
    return _Told(0, by_both(followed, landing), round(rest_ms * MS), followed, landing)


def test_a_hand_told_as_held_has_landed_when_it_comes_down() -> None:
    before = _told(300.0, 3.0, 380.0, absent=0.9)
    now = _told(700.0, 3.0, 780.0, from_ms=400.0)
    assert _told_anew(now, before) is now


def test_a_sure_landing_is_not_spoilt_by_pictures_that_hardly_show_it() -> None:
    before = _told(400.0, 3.0, 480.0)
    assert _told_anew(_told(410.0, 100.0, 790.0, absent=0.4, from_ms=395.0), before) is None
    # Nor by the hand's leaving, which is not clear.
    assert _told_anew(_told(900.0, 120.0, 1100.0, from_ms=720.0), before) is None


def test_a_hand_that_lands_twice_is_told_with_both_in_its_doubt_and_stays_so() -> None:
    before = _told(400.0, 3.0, 480.0)
    twice = _told_anew(_told(900.0, 3.0, 980.0, from_ms=600.0), before)
    assert twice is not None
    assert not twice.timed.trusted
    assert abs(twice.timed.at.at_ns - 400 * MS) <= twice.timed.at.sd_ns
    assert abs(twice.timed.at.at_ns - 900 * MS) <= twice.timed.at.sd_ns
    assert _told_anew(_told(900.0, 3.0, 1130.0, from_ms=750.0), twice) is None


def test_where_both_stops_were_seen_and_the_first_was_none_the_second_counts() -> None:
    before = _told(400.0, 3.0, 480.0)
    now = _told(520.0, 3.0, 600.0, from_ms=220.0)
    assert _told_anew(now, before) is now


def test_two_readings_of_one_stop_that_are_at_odds_make_it_doubtful() -> None:
    before = _told(400.0, 4.0, 480.0)
    odd = _told_anew(_told(378.0, 4.0, 560.0, from_ms=180.0), before)
    assert odd is not None
    assert odd.timed.at.sd_ns > 9 * MS
    assert _told_anew(_told(401.0, 4.0, 560.0, from_ms=180.0), before) is None


def test_what_landed_was_stopped_by_something() -> None:
    smooth = Kink(0.0, 0.003, np.zeros(0), np.zeros(0), 20.0, 0.95, np.zeros(0), 0.2, np.zeros(0))
    followed = replace(_followed(400.0), kink=smooth)
    for landing, gentle in (
        (_landed(400.0, 3.0), 0.5),
        (_landed(400.0, 60.0, absent=0.1), 0.5),
        (_landed(400.0, 3.0, absent=0.9), 0.95),
    ):
        assert _gentle(by_both(followed, landing), followed, landing) == gentle
    # What is held there was stopped by nothing, however hard the fit saw it stop.
    hard, held = _followed(400.0), _landed(400.0, 3.0, absent=0.9)
    assert _gentle(by_both(hard, held), hard, held) == 0.9
