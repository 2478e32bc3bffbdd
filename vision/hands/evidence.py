"""What a slap's instants rest on, as pictures and numbers: lane over time, frames around contact, what was heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import signal  # type: ignore[import-untyped]  # scipy ships no types

from referee.cards import Pile, Seat
from referee.instant import Instant
from vision.hands.news import Contact
from vision.hands.pixels import Array, Image
from vision.hands.timing import Look
from vision.hands.watcher import HandWatcher
from vision.table import Table

#: The strip's lane reaches so far beyond the pile's middle and so far back towards the player.
_BEYOND_MM, _BACK_MM = 60.0, 260.0
#: A lane is averaged over this width: two fingers.
_LANE_MM = 30.0
#: Pictures shown around a contact, and how long the strip is before and after it.
_AROUND = (-3, -2, -1, 0, 1, 2)
_BEFORE_NS, _AFTER_NS = 200_000_000, 120_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """One picture of the evidence, and when it was taken."""

    at_ns: int
    image: Image


@dataclass(frozen=True, slots=True, eq=False)
class HandEvidence:
    """What one hand's instant rests on.

    ``strip``: (rows, lane, 3) uint8 BGR, one row a picture, time downwards, the player's side left, the pile
    right; ``strip_ns``: (rows,) their times; ``lane_mm``: how far the strip's left and right ends are from the
    pile's middle. ``track_ns``, ``track_mm``: how the arm was followed, along, across, turn and size.
    """

    seat: Seat | None
    pile: Pile
    at: Instant
    trusted: bool
    reason: str
    strip: Image
    strip_ns: NDArray[np.int64]
    lane_mm: tuple[float, float]
    frames: tuple[Shown, ...]
    track_ns: NDArray[np.int64]
    track_mm: Array

    def strip_picture(self, width_px: int = 480, row_px: int = 6) -> Image:
        """The strip drawn big, with the instant as a line and its 95 % interval as a band."""
        rows = len(self.strip_ns)
        if rows == 0:
            return np.zeros((row_px, width_px, 3), np.uint8)
        big = cv2.resize(self.strip, (width_px, rows * row_px), interpolation=cv2.INTER_NEAREST)
        low, high = (self._row(self.at.at_ns + sign * 1.96 * self.at.sd_ns) * row_px for sign in (-1, 1))
        band = big[max(0, round(low)) : max(0, round(high)) + 1]
        band[:] = (0.65 * band + 0.35 * np.array([60, 200, 255])).astype(np.uint8)
        middle = round(self._row(self.at.at_ns) * row_px)
        cv2.line(big, (0, middle), (width_px - 1, middle), (0, 0, 255), 1)
        return np.asarray(big, dtype=np.uint8)

    def _row(self, at_ns: float) -> float:
        """Where a time lies between the strip's rows; the middle of a row is its picture's time."""
        return float(np.interp(at_ns, self.strip_ns, np.arange(len(self.strip_ns)) + 0.5))


def hand_evidence(watcher: HandWatcher, contact: Contact) -> HandEvidence:
    """Keep what a contact rests on; call it when the contact is told, while its pictures are still held."""
    looks = [
        look for look in watcher.looks if contact.at.at_ns - _BEFORE_NS <= look.at_ns <= contact.at.at_ns + _AFTER_NS
    ]
    timed = watcher.measured.get((contact.hand, contact.rest_ns))
    strip, times = lane_strip(looks, watcher.table, contact)
    return HandEvidence(
        seat=contact.seat,
        pile=contact.pile,
        at=contact.at,
        trusted=contact.trusted,
        reason=contact.reason,
        strip=strip,
        strip_ns=times,
        lane_mm=(-_BACK_MM, _BEYOND_MM),
        frames=_around(looks, watcher.table, contact),
        track_ns=np.zeros(0, np.int64) if timed is None else timed.followed,
        track_mm=np.zeros((0, 4)) if timed is None else timed.moved_mm,
    )


def lane_strip(looks: Sequence[Look], table: Table, contact: Contact) -> tuple[Image, NDArray[np.int64]]:
    """The lane of a hand in every picture, stacked over time like a photo-finish picture."""
    width = round(_BACK_MM + _BEYOND_MM)
    times = np.array([look.at_ns for look in looks], dtype=np.int64)
    if not looks:
        return np.zeros((0, width, 3), np.uint8), times
    size = looks[0].picture.shape[1], looks[0].picture.shape[0]
    here = table.scaled_to(size)
    middle = np.array(here.pile(contact.pile).at_mm)
    inward = _inward(here, contact, middle)
    across = np.array([-inward[1], inward[0]])
    along = np.arange(-_BACK_MM, _BEYOND_MM)
    aside = np.linspace(-_LANE_MM / 2, _LANE_MM / 2, 7)
    points = middle + along[None, :, None] * inward + aside[:, None, None] * across
    pixels = here.to_px(points.reshape(-1, 2)).reshape(len(aside), width, 2).astype(np.float32)
    rows = [
        cv2.remap(look.picture, pixels[..., 0], pixels[..., 1], cv2.INTER_LINEAR).mean(axis=0).round() for look in looks
    ]
    return np.stack(rows).astype(np.uint8), times


def _inward(table: Table, contact: Contact, middle: Array) -> Array:
    """Unit vector of the way from the player to the pile."""
    if contact.seat is None or all(spot.seat != contact.seat for spot in table.seats):
        return np.array([0.0, -1.0])
    way = middle - np.array(table.seat(contact.seat).at_mm)
    return np.asarray(way / max(float(np.hypot(*way)), 1e-6))


def _around(looks: Sequence[Look], table: Table, contact: Contact) -> tuple[Shown, ...]:
    """The pictures around a contact, cut out around the pile."""
    if not looks:
        return ()
    k = int(np.argmin([abs(look.at_ns - contact.at.at_ns) for look in looks]))
    here = table.scaled_to((looks[0].picture.shape[1], looks[0].picture.shape[0]))
    spot = here.pile(contact.pile)
    x, y = here.to_px([spot.at_mm])[0]
    reach = 190 * here.px_per_mm(spot.at_mm)
    out = []
    for step in _AROUND:
        if 0 <= k + step < len(looks):
            picture = looks[k + step].picture
            top, left = max(0, round(y - reach)), max(0, round(x - reach))
            out.append(Shown(looks[k + step].at_ns, picture[top : round(y + reach), left : round(x + reach)].copy()))
    return tuple(out)


def sound_envelope(
    sound: NDArray[np.float32], rate_hz: int, starts_ns: int, from_ns: int, to_ns: int, points: int = 600
) -> tuple[NDArray[np.int64], Array]:
    """Times in ns and loudness (0 to 1, square root of the peak) of a stretch of sound, for drawing."""
    first = max(0, int((from_ns - starts_ns) * rate_hz / 1e9))
    last = min(len(sound), int((to_ns - starts_ns) * rate_hz / 1e9))
    if last - first < points:
        return np.zeros(0, np.int64), np.zeros(0)
    sos = signal.butter(2, min(800.0, 0.3 * rate_hz), "highpass", fs=rate_hz, output="sos")
    part = np.abs(signal.sosfilt(sos, sound[first:last]))
    edges = np.linspace(0, len(part), points + 1).astype(int)
    loud = np.sqrt(np.maximum.reduceat(part, edges[:-1]))
    times = starts_ns + ((first + (edges[:-1] + edges[1:]) / 2) / rate_hz * 1e9).astype(np.int64)
    return times, np.asarray(loud / max(float(loud.max()), 1e-9))
