"""A stream's stamps: taken exactly where they are good, doubted where they are not, refused where there is no clock."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.bad_input import BadInput
from vision.sources.stamps import StampReader, to_ns

MS = 1_000_000
TICK = Fraction(1, 1000)


@given(pts=st.integers(-(10**9), 10**12), num=st.integers(1, 1001), den=st.integers(1, 200_000))
def test_nanoseconds_are_pts_times_time_base_to_the_nearest(pts: int, num: int, den: int) -> None:
    exact = Fraction(pts * num * 10**9, den)
    assert abs(to_ns(pts, Fraction(num, den)) - exact) <= Fraction(1, 2)


def test_good_stamps_are_taken_as_they_are() -> None:
    reader = StampReader(TICK, 33 * MS)
    times = [reader.read(pts)[0] for pts in (250, 283, 317, 350, 900)]
    assert times == [250 * MS, 283 * MS, 317 * MS, 350 * MS, 900 * MS]
    assert reader.faulty == 0


def test_a_coarse_clock_is_doubted_by_its_step() -> None:
    """Matroska counts whole milliseconds: 1 ms ÷ √12 of doubt."""
    assert StampReader(TICK, 33 * MS).read(7)[1] == 288_676


@pytest.mark.parametrize(
    ("stamps", "where"),
    [
        pytest.param([0, 33, None, 100], 66, id="a missing stamp lies where the next picture would"),
        pytest.param([0, 33, 33, 67], 49, id="a repeated stamp lies before the next one"),
        pytest.param([0, 33, 20, 67], 49, id="a stamp that runs backward lies after the last one"),
    ],
)
def test_a_faulty_stamp_is_put_in_its_place_with_doubt(stamps: list[int | None], where: int) -> None:
    reader = StampReader(TICK, 33 * MS)
    read = [reader.read(stamp) for stamp in stamps]
    times = [at for at, _ in read]
    assert times == sorted(set(times))
    assert abs(times[2] - where * MS) <= MS
    assert read[2][1] >= 32 * MS
    assert read[3] == (stamps[3] * MS, 288_676)
    assert reader.faulty == 1


def test_a_clip_without_a_clock_is_refused() -> None:
    reader = StampReader(TICK, 33 * MS, name="a.mp4")
    for _ in range(10):
        reader.read(None)
    with pytest.raises(BadInput, match=r"a.mp4: times: expected pictures that say when they were taken, got 11 of 11"):
        reader.read(None)


def test_two_recordings_glued_together_are_refused() -> None:
    reader = StampReader(TICK, 33 * MS)
    reader.read(90_000)
    with pytest.raises(BadInput, match="expected times that go on, got a jump back by 89"):
        reader.read(33)


@given(st.lists(st.one_of(st.none(), st.integers(0, 900)), min_size=1, max_size=9))
def test_times_never_run_backward(stamps: list[int | None]) -> None:
    reader = StampReader(TICK, 33 * MS)
    times: list[int] = []
    for stamp in stamps:
        try:
            times.append(reader.read(stamp)[0])
        except BadInput:
            break  # a jump back of a second and more is refused: missing stamps before it had moved time on
    assert times == sorted(set(times))
