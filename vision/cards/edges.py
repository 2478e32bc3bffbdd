"""Fits a card of which an index shows to the two edges that meet beside it."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cards.fans import INDEX
from vision.cards.reader import rectified

#: The card becomes this size in the working picture, with a margin.
WIDTH_PX, HEIGHT_PX, MARGIN_PX = 96, 134, 16

#: How far an edge may lie from where the quad has it, in working pixels, and by how many degrees it may be turned. On
#: rendered tables of held-out decks (498 indices), cards so laid agree with the true ones by IoU 0.85 in the middle,
#: 0.76 before.
REACH_PX, TURNED = 10, 12

#: Contrast, of 255, above which an edge is as good as any; places along an edge that are looked at, and the share of
#: its ends that is left out: corners are rounded.
ENOUGH_CONTRAST, SAMPLES, ENDS_LEFT_OUT = 16.0, 48, 0.04

#: What the furthest place and the strongest turn cost, against one full edge.
FAR_COSTS = 0.1

#: Support of both edges together below which the quad is kept, and of one below which that one doesn't count.
ENOUGH_SUPPORT, ENOUGH_OF_ONE = 0.9, 0.45


def fitted_at_index(
    image: NDArray[np.uint8], quad: NDArray[np.float32], at_right: bool
) -> tuple[NDArray[np.float32], float]:
    """A quad (4, 2) moved and turned to the edges above and beside its index, and how well they are seen, 0 to 2.

    The card keeps its size: other cards may cover its other edges. Those two are seen where the index is, as far as
    nothing lies on them.

    quad: upright as the index is. at_right: the index that is seen is the right one.
    """
    above, beside = _contrast(image, quad)
    offsets = np.arange(-REACH_PX, REACH_PX + 1)
    turns = np.tan(np.radians(np.arange(-TURNED, TURNED + 1)))
    left, top, right, bottom = INDEX
    pivot = np.array([(left + right) / 2 * WIDTH_PX, (top + bottom) / 2 * HEIGHT_PX])
    if at_right:
        pivot[0] = WIDTH_PX - pivot[0]
    along = np.linspace(ENDS_LEFT_OUT, 1 - ENDS_LEFT_OUT, SAMPLES)
    x, y = along * WIDTH_PX, along * HEIGHT_PX
    tops = offsets[None, :, None] + (x - pivot[0]) * turns[:, None, None]
    sides = offsets[None, :, None] - (y - pivot[1]) * turns[:, None, None] + (WIDTH_PX if at_right else 0)
    # (turns, offsets): how much of each line is an edge.
    told_above = above[_pixels(tops, above.shape[0]), _pixels(x, above.shape[1])].mean(axis=2)
    told_beside = beside[_pixels(y, beside.shape[0]), _pixels(sides, beside.shape[1])].mean(axis=2)
    far = FAR_COSTS * np.abs(offsets) / REACH_PX
    best_above, best_beside = (told_above - far).argmax(axis=1), (told_beside - far).argmax(axis=1)
    rows = np.arange(len(turns))
    support = np.stack([told_above[rows, best_above], told_beside[rows, best_beside]])
    costs = far[best_above] + far[best_beside] + FAR_COSTS * np.abs(turns) / turns.max()
    k = int((support.sum(axis=0) - costs).argmax())
    seen = float(support[:, k].sum())
    if seen < ENOUGH_SUPPORT:
        return quad, seen
    moved = [float(offsets[best_beside[k]]), float(offsets[best_above[k]])]
    for axis, one in ((0, support[1, k]), (1, support[0, k])):
        if one < ENOUGH_OF_ONE:
            moved[axis] = 0.0
    unit = np.array([[0, 0], [WIDTH_PX, 0], [WIDTH_PX, HEIGHT_PX], [0, HEIGHT_PX]], np.float64)
    away = unit - pivot
    turned = pivot + away + turns[k] * np.stack([-away[:, 1], away[:, 0]], axis=1) + moved
    return _at(quad, turned / (WIDTH_PX, HEIGHT_PX)), seen


def _contrast(image: NDArray[np.uint8], quad: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """How much each pixel around the card is an edge along its short sides, and along its long ones; 0 to 1."""
    x, y = MARGIN_PX / WIDTH_PX, MARGIN_PX / HEIGHT_PX
    around = np.array([[-x, -y], [1 + x, -y], [1 + x, 1 + y], [-x, 1 + y]])
    size = (WIDTH_PX + 2 * MARGIN_PX, HEIGHT_PX + 2 * MARGIN_PX)
    work = np.asarray(cv2.GaussianBlur(rectified(image, _at(quad, around), size), (0, 0), 1.0), np.float32)
    along_short, along_long = np.zeros(work.shape[:2], np.float32), np.zeros(work.shape[:2], np.float32)
    along_short[1:-1] = np.abs(work[2:] - work[:-2]).max(axis=2)
    along_long[:, 1:-1] = np.abs(work[:, 2:] - work[:, :-2]).max(axis=2)
    return [
        np.asarray(np.minimum(edge, ENOUGH_CONTRAST) / ENOUGH_CONTRAST, np.float32)
        for edge in (along_short, along_long)
    ]


def _at(quad: NDArray[np.float32], shares: NDArray[np.float64]) -> NDArray[np.float32]:
    """Places (n, 2), in shares of a card, in pixels."""
    return np.asarray(quad[0] + shares[:, :1] * (quad[1] - quad[0]) + shares[:, 1:] * (quad[3] - quad[0]), np.float32)


def _pixels(at: NDArray[np.float64], length: int) -> NDArray[np.intp]:
    return np.rint(MARGIN_PX + at).astype(np.intp).clip(0, length - 1)
