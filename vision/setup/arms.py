"""Where arms come into the picture and how far they reach, before anything of the table is known."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.frame import Image
from vision.hands.background import Background
from vision.setup.pictures import FirstLook

Array = NDArray[np.float64]
Mask = NDArray[np.uint8]
Grey = NDArray[np.float32]

#: Less than this share of the picture is no arm; gaps in its crossing of the border up to this share are one arm.
_LEAST_SHARE, _GAP_SHARE = 0.003, 0.012
#: A crossing of more than this share of the picture's shorter side is several arms, or somebody leaning in.
_WIDEST_SHARE = 0.5
CELL = 4
#: An arm that is seen for less of its length than this share of the shorter side tells no direction.
_SHORTEST_SHARE = 0.12
#: What is darker than this share of the empty table and no arm for sure is a shadow, or a dark arm on a dark table.
_DARK = 0.8
_SUM = np.ones((1, 3), np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Crossing:
    """One arm over the picture's border in one picture.

    ``entry``: (x, y) pixels of the clip, the middle of where it crosses. ``wide_px``: straight from end to end there.
    ``tip``: its farthest point; None where it touches another arm or is too short. ``arm_wide_px``: area over length.
    """

    picture: int
    at_ns: int
    entry: Array
    wide_px: float
    tip: Array | None
    arm_wide_px: float
    cover: NDArray[np.bool_]
    """(h, w) where it and what touches it lies, a cell for `CELL` small pixels each way."""
    dark: bool = False
    """It is only darker than the table: a shadow, or a dark arm."""


@dataclass(frozen=True, slots=True, eq=False)
class ArmsSeen:
    """All crossings of a clip, and where arms were.

    ``met``: (h, w) how often, and how deep inside, small pixels lay in arms that touch each other.
    """

    crossings: tuple[Crossing, ...]
    met: NDArray[np.float32]
    scale: float
    """Small pixels for one of the clip's."""


def arms_in(look: FirstLook) -> ArmsSeen:
    """The arms in every small picture: what differs from the empty table and is joined to the picture's border.

    What is only darker than the table is told apart, as ``dark``: shadows, and dark arms on a dark table.
    """
    empty = look.empty()
    background = Background(empty.astype(np.float32), look.noise())
    bare = _light(empty)
    height, width = look.small.shape[1:3]
    around = _border(width, height)
    crossings: list[Crossing] = []
    met = np.zeros((height, width), np.float32)
    for number, (picture, at_ns) in enumerate(zip(look.small, look.at_ns, strict=True)):
        mask = background.difference(picture)
        count, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
        for label in range(1, count):
            if stats[label, cv2.CC_STAT_AREA] < _LEAST_SHARE * width * height:
                continue
            part = labels == label
            runs = _runs(part[around[:, 1], around[:, 0]], round(_GAP_SHARE * len(around)))
            runs = [(middle, wide) for middle, wide in runs if wide >= 3]
            if len(runs) > 1:
                # Where arms lie on each other there is most around.
                deep = cv2.distanceTransform(part.astype(np.uint8), cv2.DIST_L2, 3)
                met += (deep / max(float(deep.max()), 1e-6)) ** 2
            cover = cv2.dilate(part.astype(np.uint8), np.ones((CELL, CELL), np.uint8))[::CELL, ::CELL] > 0
            for middle, wide in runs:
                entry = around[middle].astype(np.float64)
                across = _across(around, middle, wide)
                tip, arm_wide = None, 0.0
                if len(runs) == 1 and across < _WIDEST_SHARE * min(width, height):
                    tip, arm_wide = _reach(part, entry, _SHORTEST_SHARE * min(width, height))
                crossings.append(
                    Crossing(
                        number,
                        int(at_ns),
                        (entry + 0.5) / look.scale - 0.5,
                        across / look.scale,
                        None if tip is None else (tip + 0.5) / look.scale - 0.5,
                        arm_wide / look.scale,
                        cover,
                    )
                )
        crossings += _dark_crossings(picture, mask, bare, around, (number, int(at_ns), look.scale))
    return ArmsSeen(tuple(crossings), met, look.scale)


def _dark_crossings(
    picture: Image, sure: Mask, bare: Grey, around: NDArray[np.intp], when: tuple[int, int, float]
) -> list[Crossing]:
    """What is darker than the bare table, no arm for sure, and joined to the border. ``when``: number, ns, scale."""
    number, at_ns, scale = when
    dark = (_light(picture) < _DARK * bare).astype(np.uint8)
    dark[cv2.dilate(sure, np.ones((3, 3), np.uint8)) > 0] = 0
    # Specks of a dark arm are sure; they are no holes in it.
    whole = cv2.morphologyEx(dark, cv2.MORPH_CLOSE, np.ones((7, 7), np.uint8))
    whole = cv2.morphologyEx(whole, cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(whole, connectivity=8)
    height, width = dark.shape
    crossings = []
    for label in range(1, count):
        if stats[label, cv2.CC_STAT_AREA] < 3 * _LEAST_SHARE * width * height:
            continue
        part = labels == label
        runs = _runs(part[around[:, 1], around[:, 0]], round(_GAP_SHARE * len(around)))
        cover = cv2.dilate(part.astype(np.uint8), np.ones((CELL, CELL), np.uint8))[::CELL, ::CELL] > 0
        for middle, wide in runs:
            entry = around[middle].astype(np.float64)
            if wide < 3 or _reach(part, entry, _SHORTEST_SHARE * min(width, height))[0] is None:
                continue
            across = _across(around, middle, wide) / scale
            crossings.append(Crossing(number, at_ns, (entry + 0.5) / scale - 0.5, across, None, 0.0, cover, dark=True))
    return crossings


def _light(picture: Image) -> Grey:
    """(h, w) float32: three channels' sum, a little above 0."""
    return np.asarray(cv2.transform(cv2.blur(picture, (3, 3)).astype(np.float32), _SUM) + 3, np.float32)


def _reach(part: NDArray[np.bool_], entry: Array, shortest: float) -> tuple[Array | None, float]:
    """The farthest end of an arm, and how wide it is on average."""
    ys, xs = np.nonzero(part)
    away = np.hypot(xs - entry[0], ys - entry[1])
    far = away >= np.percentile(away, 98)
    tip = np.array([xs[far].mean(), ys[far].mean()])
    length = float(np.hypot(*(tip - entry)))
    return (None, 0.0) if length < shortest else (tip, len(xs) / length)


def _border(width: int, height: int) -> NDArray[np.intp]:
    """(n, 2) the border's pixels (x, y), one further in than the last, clockwise from the top left."""
    left, top, right, bottom = 1, 1, width - 2, height - 2
    xs, ys = np.arange(left, right), np.arange(top, bottom)
    return np.concatenate(
        [
            np.column_stack([xs, np.full(len(xs), top)]),
            np.column_stack([np.full(len(ys), right), ys]),
            np.column_stack([xs[::-1] + 1, np.full(len(xs), bottom)]),
            np.column_stack([np.full(len(ys), left), ys[::-1] + 1]),
        ]
    ).astype(np.intp)


def _across(around: NDArray[np.intp], middle: int, wide: int) -> float:
    """Straight from end to end of a stretch of the border: it turns a corner under an arm that comes in there."""
    ends = around[(middle - wide // 2) % len(around)], around[(middle + wide // 2) % len(around)]
    return float(np.hypot(*(ends[0] - ends[1])))


def _runs(covered: NDArray[np.bool_], gap: int) -> list[tuple[int, int]]:
    """Middles and lengths of the covered stretches of a closed line; small gaps are bridged."""
    n = len(covered)
    on = np.flatnonzero(covered)
    if len(on) == 0:
        return []
    if len(on) == n:
        return [(0, n)]
    breaks = np.flatnonzero(np.diff(on) > gap + 1)
    starts = on[np.concatenate([[0], breaks + 1])]
    ends = on[np.concatenate([breaks, [len(on) - 1]])]
    runs = list(zip(starts.tolist(), ends.tolist(), strict=True))
    if len(runs) > 1 and runs[0][0] + n - runs[-1][1] <= gap + 1:
        first, last = runs.pop(0), runs.pop()
        runs.append((last[0], first[1] + n))
    return [(((start + end) // 2) % n, end - start + 1) for start, end in runs]
