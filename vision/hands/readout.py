"""The doubt that a rolling shutter leaves in instants: hands whose lines were read at times that aren't known well."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from referee.instant import Instant
from vision.frame import Frame
from vision.hands.layers import Overlap
from vision.hands.news import Contact, HandNews, HandSeen
from vision.hands.timing import Shutter
from vision.pipeline import Hands
from vision.table import LINES, Table

#: Where nothing is known: a camera that reads within this, from either side (facts: 2.4 to 15 ms at 1080p60).
UNKNOWN_S = 0.020
#: In words, where nothing is known of the camera.
ALLOWED_FOR = f"read-out of a rolling shutter unknown: 0 to {1000 * UNKNOWN_S:.0f} ms allowed for"


def shutter_of(table: Table) -> Shutter | None:
    """What a table file says of the camera; None where it says nothing."""
    if table.camera is None:
        return None
    return Shutter(table.camera.readout_ms / 1000, 0.0, LINES[table.camera.lines])


class RowDoubt:
    """Hands as another watcher tells them, their instants widened by what the read-out leaves open.

    An instant counts beside others' at the same pile, so only how far apart the lines of arm and pile lie matters:
    that share of the picture times the read-out's own doubt. Where nothing is known the read-out is anything up to
    `UNKNOWN_S`, from either side: uniform over twice that.
    """

    def __init__(self, hands: Hands, table: Table, shutter: Shutter | None) -> None:
        """``table`` as the pictures of ``hands`` show it."""
        self._hands, self._table = hands, table
        width, height = table.image_size_px
        # Lines run along a sensor's longer side, however the phone was held.
        axis = (0.0, 1.0) if width >= height else (1.0, 0.0)
        self._shutter = shutter or Shutter(0.0, UNKNOWN_S / math.sqrt(3), axis)

    @property
    def hands(self) -> tuple[HandSeen, ...]:
        """Those over the table in the latest frame."""
        return self._hands.hands

    def watch(self, frame: Frame) -> tuple[HandNews | Overlap, ...]:
        """Take the next frame; what became known with it."""
        told: tuple[HandNews | Overlap, ...] = self._hands.watch(frame)
        return tuple(self._widened(news) if isinstance(news, Contact) else news for news in told)

    def _widened(self, contact: Contact) -> Contact:
        hand = next((hand for hand in self._hands.hands if hand.hand == contact.hand), None)
        if hand is None or self._shutter.sd_s <= 0:
            return contact
        arm_mm = (hand.tip_mm[0] + hand.entry_mm[0]) / 2, (hand.tip_mm[1] + hand.entry_mm[1]) / 2
        apart = self._share(arm_mm) - self._share(self._table.pile(contact.pile).at_mm)
        sd_ns = round(math.hypot(contact.at.sd_ns, 1e9 * self._shutter.sd_s * apart))
        return replace(contact, at=Instant(contact.at.at_ns, sd_ns))

    def _share(self, at_mm: tuple[float, float]) -> float:
        return float(self._shutter.share(np.asarray(self._table.to_px([at_mm])[0]), self._table.image_size_px))
