"""The read-out of a rolling shutter: as a table file has it, and the doubt where nothing says it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from referee.bad_input import BadInput
from referee.cards import Pile
from referee.instant import Instant
from vision.frame import Frame
from vision.hands.news import Contact, HandSeen
from vision.hands.readout import RowDoubt, shutter_of
from vision.hands.timing import Shutter
from vision.table import PileSpot, ReadOut, SeatSpot, Table

SIZE = (640, 360)
MS = 1_000_000


TABLE = Table(
    ((0.0, 0.0), (640.0, 0.0), (640.0, 360.0), (0.0, 360.0)),
    (640.0, 360.0),
    SIZE,
    (SeatSpot(0, (320.0, 360.0)), SeatSpot(1, (320.0, 0.0))),
    (PileSpot(Pile("pile"), (320.0, 180.0)),),
)


def test_a_table_file_may_state_the_read_out() -> None:
    table = replace(TABLE, camera=ReadOut(11.0, "up"))
    assert Table.parse(table.to_toml()) == table
    assert shutter_of(table) == Shutter(0.011, 0.0, (0.0, -1.0))
    assert table.scaled_to((1280, 720)).camera == table.camera
    assert shutter_of(TABLE) is None


@pytest.mark.parametrize(
    ("camera", "says"),
    [
        ("readout_ms = 90", "camera.readout_ms: expected 0 to 60, got 90"),
        ('readout_ms = 9\nlines = "sideways"', "camera.lines: expected down or up or right or left"),
        ('readout_ms = "fast"', "camera.readout_ms: expected a number"),
        ("read_out = 3", "camera: expected readout_ms, lines, got read_out"),
    ],
)
def test_a_read_out_that_no_camera_has_is_refused_by_name(camera: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        Table.parse(f"{TABLE.to_toml()}\n[camera]\n{camera}\n")


class Told:
    """Hands that are told once, in the way of a watcher."""

    def __init__(self, entry_y: float) -> None:
        self.hands = (
            HandSeen(
                hand=3,
                seat=0,
                at=Instant(0),
                tip_mm=(320.0, 180.0),
                entry_mm=(320.0, entry_y),
                speed_mps=0.0,
                over=(),
                at_pile=Pile("pile"),
                outline_px=(0, 0, 1, 1),
            ),
        )

    def watch(self, frame: Frame) -> tuple[Contact, ...]:
        at = Instant(100 * MS, 3 * MS)
        return (Contact(hand=3, seat=0, pile=Pile("pile"), at=at, speed_mps=1.0, gentle=0.0, trusted=True, reason="",
                        rest_ns=0),)  # fmt: skip


@pytest.mark.parametrize(
    ("shutter", "entry_y", "sd_ms"),
    [
        # Half the way to the edge is a quarter of the picture: a quarter of 20 ms ÷ √3, beside 3 ms.
        pytest.param(None, 360.0, math.hypot(3.0, 0.25 * 20 / math.sqrt(3)), id="nothing known"),
        pytest.param(None, 180.0, 3.0, id="an arm on the pile's own lines"),
        pytest.param(Shutter(0.011, 0.002, (0.0, 1.0)), 360.0, math.hypot(3.0, 0.25 * 2), id="estimated"),
        pytest.param(Shutter(0.011), 360.0, 3.0, id="known"),
    ],
)
def test_what_the_read_out_leaves_open_is_counted_in(shutter: Shutter | None, entry_y: float, sd_ms: float) -> None:
    hands = RowDoubt(Told(entry_y), TABLE, shutter)
    (news,) = hands.watch(Frame(0, 0, np.zeros((360, 640, 3), np.uint8), 0))
    assert isinstance(news, Contact)
    assert news.at.at_ns == 100 * MS
    assert news.at.sd_ns / 1e6 == pytest.approx(sd_ms, abs=0.02)
