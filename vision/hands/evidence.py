"""What a slap's instants rest on, as pictures and numbers: lane over time, frames around contact, what was heard."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import signal  # type: ignore[import-untyped]  # scipy ships no types

from referee.cards import Pile, Seat
from referee.events import Slap
from referee.instant import Instant
from vision.ear import Ear
from vision.frame import Frame
from vision.hands.layers import Layers, Overlap
from vision.hands.news import Contact, HandNews, HandSeen
from vision.hands.pixels import Array, Image
from vision.hands.timing import Look, Shutter
from vision.hands.watcher import HandWatcher
from vision.sources.pieces import Piece, Sound
from vision.table import Table

#: The strip's lane reaches so far beyond the pile's middle and so far back towards the player.
_BEYOND_MM, _BACK_MM = 60.0, 260.0
#: A lane is averaged over this width: two fingers.
_LANE_MM = 30.0
#: Pictures shown around a contact, and how long the strip is before and after it.
_AROUND = (-3, -2, -1, 0, 1, 2)
_BEFORE_NS, _AFTER_NS = 220_000_000, 200_000_000
#: Sound kept around a contact: beside the strip's time, what sound and picture may be apart.
_HEARD_NS = 400_000_000
#: An envelope has one value for so long.
STEP_NS = 500_000
#: A slap told belongs to the hand of its seat whose contact lies nearest, and no farther than this.
_SAME_NS = 700_000_000
_JPEG_QUALITY = 85


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """One picture of the evidence, a JPEG file, and when it was taken."""

    at_ns: int
    jpeg: bytes
    size_px: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Heard:
    """What was heard about a contact, on the sound's own clock.

    ``loud``: (n,) highest amplitude above the voices in each `STEP_NS`, the first of which begins at
    ``starts_ns``, a multiple of it. ``struck``: the onsets.
    """

    starts_ns: int
    loud: Array
    struck: tuple[Instant, ...]


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
    fitted: bool = False
    """Whether a stop was fitted to the track."""
    likeness: float = 0.0
    speed_mps: float = 0.0
    heard: Heard | None = None
    hand: int = -1
    rest_ns: int = 0
    """Which contact of which hand this is, as the watcher told it."""

    def strip_over_time(self, from_ns: int, to_ns: int, px_per_ms: float) -> tuple[Image, int, int]:
        """(lane, width, 3) uint8 BGR, and from when to when: the strip with time to the right, the pile's side up.

        Each picture is as wide as it was the latest; only the part between two moments for which there are some.
        """
        if len(self.strip_ns) < 2:
            return np.zeros((self.strip.shape[1], 0, 3), np.uint8), from_ns, from_ns
        half = float(np.median(np.diff(self.strip_ns))) / 2
        first = max(from_ns, round(self.strip_ns[0] - half))
        last = min(to_ns, round(self.strip_ns[-1] + half))
        width = max(0, round((last - first) / 1e6 * px_per_ms))
        at = first + (np.arange(width) + 0.5) * (last - first) / max(width, 1)
        rows = np.searchsorted((self.strip_ns[1:] + self.strip_ns[:-1]) / 2, at)
        return np.ascontiguousarray(self.strip[rows].transpose(1, 0, 2)[::-1]), first, max(first, last)


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
        fitted=timed is not None and timed.kink is not None,
        likeness=0.0 if timed is None else timed.likeness,
        speed_mps=contact.speed_mps,
        hand=contact.hand,
        rest_ns=contact.rest_ns,
    )


class Witness:
    """Watches hands as its watcher does, and keeps what each measured contact rests on, pictures and sound.

    Safe to be asked from another thread than the one that watches.
    """

    def __init__(self, watcher: HandWatcher, *, most: int = 2_000) -> None:
        """``most``: hands that are kept, the newest, about 100 kB each."""
        self._watcher = watcher
        self._ear = Ear()
        self._due: list[Contact] = []
        self._unheard: list[HandEvidence] = []
        self._kept: deque[HandEvidence] = deque(maxlen=most)
        self._lock = threading.Lock()
        self._layers = Layers(watcher.table)
        self._overlaps: deque[Overlap] = deque(maxlen=most)
        self._stamps: deque[int] = deque(maxlen=240)
        self._steps_ns: list[int] = []

    @property
    def hands(self) -> tuple[HandSeen, ...]:
        """Those over the table in the latest frame."""
        return self._watcher.hands

    @property
    def table(self) -> Table:
        """The table as it is watched."""
        return self._watcher.table

    @property
    def shutter(self) -> Shutter | None:
        """What is taken for known of a rolling shutter."""
        return self._watcher.shutter

    @property
    def has_sound(self) -> bool:
        """Whether any sound came."""
        return self._ear.until_ns is not None

    @property
    def fps(self) -> float:
        """Pictures a second as their stamps say, by the usual step between them; 0 before there are two."""
        return 1e9 / float(np.median(self._steps_ns)) if self._steps_ns else 0.0

    def pieces(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """The same pieces of a source, listened to; after the last one all that is kept is complete."""
        for piece in pieces:
            if isinstance(piece, Sound):
                self._ear.hear(piece)
            yield piece
        self.finish()

    def watch(self, frame: Frame) -> tuple[HandNews | Overlap, ...]:
        """Take the next frame; what became known with it, who lies on whom too."""
        if self._stamps and len(self._steps_ns) < 2_000 and frame.at_ns > self._stamps[-1]:
            self._steps_ns.append(frame.at_ns - self._stamps[-1])
        self._stamps.append(frame.at_ns)
        news = self._watcher.watch(frame)
        self._due += [
            each for each in news if isinstance(each, Contact) and (each.hand, each.rest_ns) in self._watcher.measured
        ]
        for contact in news:
            if isinstance(contact, Contact) and contact.instead_of is not None:
                self._take_back(contact.hand, contact.instead_of)
        for contact in [each for each in self._due if frame.at_ns >= each.at.at_ns + _AFTER_NS]:
            self._take(contact)
        until = self._ear.until_ns
        for found in self._unheard if until is not None else ():
            if until is not None and until >= found.at.at_ns + _HEARD_NS:
                self._listen(found)
        looks = self._watcher.looks
        overlaps = self._layers.watch(looks[-1], self._watcher.mask, self._watcher.hands, news) if looks else ()
        with self._lock:
            self._overlaps += overlaps
        return (*news, *overlaps)

    def finish(self) -> None:
        """Nothing more comes: complete what waits for later pictures or sound."""
        for contact in list(self._due):
            self._take(contact)
        for found in list(self._unheard):
            self._listen(found)

    def of(self, slap: Slap) -> HandEvidence | None:
        """What a slap that was told rests on; None where nothing is kept of it."""
        with self._lock:
            own = [kept for kept in self._kept if kept.seat == slap.seat]
        near = [kept for kept in own if abs(kept.at.at_ns - slap.at.at_ns) <= _SAME_NS]
        return min(near, key=lambda kept: abs(kept.at.at_ns - slap.at.at_ns), default=None)

    def overlaps(self, pile: Pile, from_ns: int, to_ns: int) -> tuple[Overlap, ...]:
        """Who lies on whom at a pile, as told within some time: the last word on each two hands."""
        with self._lock:
            told = [each for each in self._overlaps if each.pile == pile and from_ns <= each.at_ns <= to_ns]
        return tuple({(each.below, each.above): each for each in told}.values())

    def _take_back(self, hand: int, rest_ns: int) -> None:
        """Nothing is kept of a contact that is told otherwise now."""
        self._due = [each for each in self._due if (each.hand, each.rest_ns) != (hand, rest_ns)]
        self._unheard = [each for each in self._unheard if (each.hand, each.rest_ns) != (hand, rest_ns)]
        self._watcher.measured.pop((hand, rest_ns), None)
        with self._lock:
            others = [each for each in self._kept if (each.hand, each.rest_ns) != (hand, rest_ns)]
            self._kept = deque(others, maxlen=self._kept.maxlen)

    def _take(self, contact: Contact) -> None:
        self._due.remove(contact)
        found = hand_evidence(self._watcher, contact)
        self._watcher.measured.pop((contact.hand, contact.rest_ns), None)
        with self._lock:
            self._kept.append(found)
        self._unheard.append(found)

    def _listen(self, found: HandEvidence) -> None:
        """Add what was heard about it."""
        self._unheard = [each for each in self._unheard if each is not found]
        heard = heard_about(self._ear, found.at.at_ns - _HEARD_NS, found.at.at_ns + _HEARD_NS)
        if heard is None:
            return
        with self._lock:
            places = [i for i, kept in enumerate(self._kept) if kept is found]
            for place in places:
                self._kept[place] = replace(found, heard=heard)


def heard_about(ear: Ear, from_ns: int, to_ns: int) -> Heard | None:
    """What an ear still has of a stretch; None where it has nothing."""
    sound = ear.sound(from_ns, to_ns)
    if sound is None:
        return None
    first = max(from_ns, sound.at_ns) // STEP_NS
    last = min(to_ns, sound.end_ns) // STEP_NS
    if last - first < 2:
        return None
    high = _above_voices(sound.samples, sound.rate_hz)
    edges = ((np.arange(first, last + 1) * STEP_NS - sound.at_ns) * sound.rate_hz / 1e9).astype(np.int64)
    edges = np.clip(edges, 0, len(high) - 1)
    return Heard(int(first) * STEP_NS, np.maximum.reduceat(high, edges)[:-1], ear.struck(from_ns, to_ns))


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
            cut = picture[top : round(y + reach), left : round(x + reach)]
            if cut.size:
                out.append(Shown(looks[k + step].at_ns, _as_jpeg(cut), (cut.shape[1], cut.shape[0])))
    return tuple(out)


def _as_jpeg(picture: Image) -> bytes:
    good, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
    if not good:
        raise ValueError(f"picture: expected one that can be a JPEG, got {picture.shape}")
    return bytes(data)


def _above_voices(sound: NDArray[np.float32], rate_hz: int) -> Array:
    """(n,) amplitude of what lies above most of speech: slaps stand out there."""
    sos = signal.butter(2, min(800.0, 0.3 * rate_hz), "highpass", fs=rate_hz, output="sos")
    return np.asarray(np.abs(signal.sosfilt(sos, sound)), dtype=np.float64)
