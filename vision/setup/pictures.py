"""A first look over a clip: small pictures all along it, sharp ones where it was still, and the table without hands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.frame import Frame, Image

Grey = NDArray[np.float32]

#: The longer side of the small pictures: an arm is 25 px wide where the picture shows 80 cm.
SMALL_SIDE_PX = 256
#: Small pictures are at least so far apart, and no more than so many are kept of a clip of any length (66 MB).
_STEP_NS, _MOST_SMALL = 30_000_000, 600
#: A picture counts as still when fewer than this share of the pixels changed for so long; so many are kept.
_MOVING_SHARE, _STILL_FOR_NS, _MOST_STILLS = 0.004, 90_000_000, 8
_STILLS_APART_NS = 700_000_000
#: Grey levels by which a pixel of two stills differs when something lies there in one of them.
_DIFFERS = 16.0
#: Of two pictures the one with this much weaker edges around a difference shows nothing there.
_WEAKER = 0.85


@dataclass(frozen=True, slots=True, eq=False)
class FirstLook:
    """What a first pass over a clip kept.

    small: (n, h, w, 3) uint8 BGR, ``at_ns`` (n,) their times. stills: pictures at full size in which nothing
    moved, the clip's first one before them. size_px: width and height of the clip. rate_hz: pictures a second.
    """

    small: NDArray[np.uint8]
    at_ns: NDArray[np.int64]
    stills: tuple[Image, ...]
    size_px: tuple[int, int]
    rate_hz: float

    @property
    def scale(self) -> float:
        """Pixels of a small picture for one of the clip's."""
        return float(self.small.shape[2] / self.size_px[0])

    def noise(self) -> float:
        """Grey levels, one standard deviation of a small picture's pixel."""
        if len(self.small) < 2:
            return 1.5
        steps = np.abs(np.diff(self.small[:40, ::2, ::2].astype(np.int16), axis=0))
        # The median magnitude of a difference of two is 0.954 standard deviations of one.
        return float(np.clip(np.median(steps) / 0.954, 0.6, 12.0))

    def empty(self) -> Image:
        """(h, w, 3) uint8: the small picture of the table with nothing over it, put together from the stills.

        Where two stills differ, something lies there in one of them, and that one has edges around the place.
        """
        height, width = self.small.shape[1:3]
        stills = [small_of(still, (width, height)) for still in self.stills]
        table = stills[0].copy()
        for still in stills[1:]:
            off = cv2.absdiff(cv2.blur(still, (3, 3)), cv2.blur(table, (3, 3))).max(axis=2)
            differs = (off > _DIFFERS).astype(np.uint8)
            differs = cv2.morphologyEx(differs, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
            count, labels, stats, _ = cv2.connectedComponentsWithStats(differs, connectivity=8)
            there, then = _edges(still), _edges(table)
            for label in range(1, count):
                if stats[label, cv2.CC_STAT_AREA] < 40:
                    continue
                place = (labels == label).astype(np.uint8)
                rim = cv2.dilate(place, np.ones((5, 5), np.uint8)) - cv2.erode(place, np.ones((3, 3), np.uint8))
                if float(there[rim > 0].mean()) < _WEAKER * float(then[rim > 0].mean()):
                    wide = cv2.dilate(place, np.ones((7, 7), np.uint8)) > 0
                    table[wide] = still[wide]
        return table


def look_over(frames: Iterable[Frame]) -> FirstLook:
    """Take in a clip of any length in bounded memory; at least one frame."""
    small: list[tuple[int, Image]] = []
    stills: list[tuple[int, Image]] = []
    step_ns, last_ns, since_ns = _STEP_NS, -(1 << 60), 0
    size: tuple[int, int] | None = None
    latest: Image | None = None
    first_ns = end_ns = count = 0
    for frame in frames:
        if size is None:
            width, height = frame.size_px
            share = min(1.0, SMALL_SIDE_PX / max(width, height))
            size = max(8, round(width * share)), max(8, round(height * share))
            full, first_ns = frame.size_px, frame.at_ns
        count, end_ns = count + 1, frame.at_ns
        if frame.at_ns - last_ns < 0.9 * _STEP_NS:
            continue
        picture = small_of(frame.image, size)
        if not stills:
            stills.append((frame.at_ns, frame.image))
        if latest is not None and _moved(picture, latest):
            since_ns = frame.at_ns
        elif frame.at_ns - since_ns >= _STILL_FOR_NS and (
            since_ns > stills[-1][0] or frame.at_ns - stills[-1][0] > _STILLS_APART_NS
        ):
            stills.append((frame.at_ns, frame.image))
            if len(stills) > _MOST_STILLS:
                # The one that lies closest to its neighbours in time tells least; the first stays.
                gaps = [stills[i + 1][0] - stills[i - 1][0] for i in range(1, len(stills) - 1)]
                del stills[1 + int(np.argmin(gaps))]
        latest, last_ns = picture, frame.at_ns
        if not small or frame.at_ns - small[-1][0] >= 0.9 * step_ns:
            small.append((frame.at_ns, picture))
        if len(small) > _MOST_SMALL:
            small, step_ns = small[::2], 2 * step_ns
    if size is None:
        raise ValueError("expected at least one picture")
    rate = (count - 1) / ((end_ns - first_ns) / 1e9) if end_ns > first_ns else 0.0
    return FirstLook(
        np.stack([picture for _, picture in small]),
        np.array([at for at, _ in small], np.int64),
        tuple(picture for _, picture in stills),
        full,
        rate,
    )


def small_of(image: Image, size_px: tuple[int, int]) -> Image:
    """The picture at a smaller size, averaged."""
    return np.asarray(cv2.resize(image, size_px, interpolation=cv2.INTER_AREA), np.uint8)


def _moved(picture: Image, before: Image) -> bool:
    off = cv2.absdiff(cv2.blur(picture, (3, 3)), cv2.blur(before, (3, 3))).max(axis=2)
    level = 8.0 + 3.0 * float(np.median(off))
    return float((off > level).mean()) > _MOVING_SHARE


def _edges(picture: Image) -> Grey:
    grey = cv2.GaussianBlur(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), (0, 0), 0.8)
    return np.asarray(cv2.magnitude(cv2.Scharr(grey, cv2.CV_32F, 1, 0), cv2.Scharr(grey, cv2.CV_32F, 0, 1)), np.float32)
