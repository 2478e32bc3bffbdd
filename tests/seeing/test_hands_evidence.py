"""What a slap's instants rest on can be shown: strip, frames, sound."""

import numpy as np
import pytest
from numpy.typing import NDArray

from referee.cards import Pile
from referee.events import Slap
from referee.instant import Instant
from vision.ear import Ear
from vision.frame import Frame
from vision.hands.evidence import STEP_NS, HandEvidence, Witness, heard_about, lane_strip
from vision.hands.news import Contact, HandNews
from vision.hands.timing import Look, _lost
from vision.sources.pieces import Sound
from vision.table import PileSpot, SeatSpot, Table

SPOT = Pile("spot")
MS = 1_000_000


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


def test_over_time_each_picture_of_a_strip_is_as_wide_as_it_was_the_latest() -> None:
    """Pictures of a phone come unevenly: a long wait makes a wide column."""
    stamps = np.array([10, 20, 50, 60], np.int64) * MS
    strip = np.stack([np.full((100, 3), 50 * (i + 1), np.uint8) for i in range(4)])
    strip[:, :50] = 0
    found = _evidence(strip, stamps)
    drawn, first_ns, last_ns = found.strip_over_time(8 * MS, 80 * MS, 1.0)
    assert (first_ns, last_ns) == (8 * MS, 65 * MS)
    assert drawn.shape == (100, 57, 3)
    assert not drawn[50:].any()  # the player's side is below
    widths = [int((drawn[0, :, 0] == 50 * (i + 1)).sum()) for i in range(4)]
    assert widths == pytest.approx([7, 20, 20, 10], abs=1)


def test_what_was_heard_peaks_where_something_was_struck() -> None:
    rate = 8000
    sound = np.random.default_rng(1).normal(0, 0.001, 2 * rate).astype(np.float32)
    sound[4000:4040] += np.sin(np.arange(40) * 2.0).astype(np.float32)
    ear = Ear()
    ear.hear(Sound(1_000 * MS, rate, sound))
    heard = heard_about(ear, 1_200 * MS, 1_900 * MS)
    assert heard is not None
    peak_ns = heard.starts_ns + int(heard.loud.argmax()) * STEP_NS
    assert abs(peak_ns - 1_502 * MS) < 5 * MS
    assert [round(at.at_ns / MS) for at in heard.struck] == [1_500]
    assert heard_about(Ear(), 0, MS) is None


def test_a_witness_keeps_what_each_measured_contact_rests_on_with_its_sound() -> None:
    """The contact is told before the strip's last pictures have come, and before its sound has."""
    table = _table()
    witness = Witness(_Told(table, told_at=20))  # type: ignore[arg-type]
    picture = np.full((480, 640, 3), 90, np.uint8)
    step = 16 * MS
    pieces = [Frame(k * step, 0, picture, k) for k in range(60)]
    pieces.insert(30, Sound(0, 8000, np.zeros(8000, np.float32)))  # type: ignore[arg-type]
    for piece in witness.pieces(pieces):
        if isinstance(piece, Frame):
            witness.watch(piece)
    found = witness.of(Slap(at=Instant(17 * step), seat=0, pile=SPOT))
    assert found is not None
    assert found.strip_ns[-1] >= found.at.at_ns + 180 * MS
    assert found.heard is not None
    assert found.frames[0].jpeg[:2] == b"\xff\xd8"
    assert witness.fps == pytest.approx(62.5)
    assert witness.of(Slap(at=Instant(17 * step), seat=1, pile=SPOT)) is None
    assert witness.of(Slap(at=Instant(117 * step), seat=0, pile=SPOT)) is None


class _Told:
    """Stands for a hand watcher that tells one contact, measured, at a given picture."""

    def __init__(self, table: Table, told_at: int) -> None:
        self.table, self.hands, self.looks, self.shutter, self.mask = table, (), [], None, None
        contact = _contact(16 * 16 * MS)
        self.measured = {(contact.hand, contact.rest_ns): _lost(contact.rest_ns, "not followed")}
        self._contact, self._left = contact, told_at

    def watch(self, frame: Frame) -> tuple[HandNews, ...]:
        self.looks.append(Look(frame.at_ns, 0, frame.image))
        self._left -= 1
        return (self._contact,) if self._left == 0 else ()


def _evidence(strip: NDArray[np.uint8], stamps: NDArray[np.int64]) -> HandEvidence:
    return HandEvidence(
        seat=0, pile=SPOT, at=Instant(25 * MS, 2 * MS), trusted=True, reason="",
        strip=strip, strip_ns=stamps, lane_mm=(-260.0, 60.0), frames=(),
        track_ns=np.zeros(0, np.int64), track_mm=np.zeros((0, 4)),
    )  # fmt: skip
