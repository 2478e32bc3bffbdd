"""What a slap's instants rest on can be shown: strip, frames, sound."""

import numpy as np
import pytest

from referee.cards import Pile
from referee.instant import Instant
from vision.hands.evidence import HandEvidence, lane_strip, sound_envelope
from vision.hands.news import Contact
from vision.hands.timing import Look
from vision.table import PileSpot, SeatSpot, Table

SPOT = Pile("spot")


def _table() -> Table:
    return Table(
        ((0.0, 0.0), (640.0, 0.0), (640.0, 480.0), (0.0, 480.0)),
        (640.0, 480.0),
        (640, 480),
        (SeatSpot(0, (320.0, 480.0)),),
        (PileSpot(SPOT, (320.0, 200.0), 60.0),),
    )


def _contact(at_ns: int) -> Contact:
    return Contact(
        hand=0, seat=0, pile=SPOT, at=Instant(at_ns, 4_000_000), speed_mps=2.0, gentle=0.0, trusted=True, reason="",
        rest_ns=at_ns + 60_000_000,
    )  # fmt: skip


def test_the_strip_shows_a_hand_reaching_down_its_lane() -> None:
    """A bright bar comes up the lane 20 mm a picture: in the strip its edge runs right from row to row."""
    looks = []
    for k in range(8):
        picture = np.full((480, 640, 3), 40, np.uint8)
        picture[440 - 20 * k :, 290:350] = 200
        looks.append(Look(k * 16_000_000, 0, picture))
    strip, times = lane_strip(looks, _table(), _contact(64_000_000))
    assert strip.shape[0] == len(times) == 8
    edges = [int((row[:, 0] > 120).sum()) for row in strip]
    assert np.diff(edges) == pytest.approx(20, abs=2)


def test_the_strip_picture_marks_the_instant_between_two_rows() -> None:
    evidence = HandEvidence(
        seat=0, pile=SPOT, at=Instant(25_000_000, 2_000_000), trusted=True, reason="",
        strip=np.zeros((5, 100, 3), np.uint8), strip_ns=np.arange(5) * 10_000_000, lane_mm=(-260.0, 60.0), frames=(),
        track_ns=np.zeros(0, np.int64), track_mm=np.zeros((0, 4)),
    )  # fmt: skip
    picture = evidence.strip_picture(200, row_px=10)
    assert picture.shape == (50, 200, 3)
    red = np.flatnonzero((picture[:, 100] == (0, 0, 255)).all(axis=1))
    # 25 ms lies half way between the third row's and the fourth row's middles.
    assert red.tolist() == [30]


def test_the_sound_envelope_peaks_where_something_was_struck() -> None:
    rate = 8000
    sound = np.random.default_rng(1).normal(0, 0.001, rate).astype(np.float32)
    sound[4000:4040] += np.sin(np.arange(40) * 2.0).astype(np.float32)
    times, loud = sound_envelope(sound, rate, 1_000_000_000, 1_200_000_000, 1_900_000_000, points=100)
    assert loud.max() == pytest.approx(1.0)
    assert abs(int(times[loud.argmax()]) - 1_502_000_000) < 10_000_000
