"""Fits a loose quad to the four edges of the card that it shows."""

from __future__ import annotations

from itertools import product

import cv2
import numpy as np
from numpy.typing import NDArray

#: The loose quad becomes this size in the working picture, with a margin for edges outside it: large enough
#: that an edge is found to a hundredth of the card, small enough that print blurs away.
WIDTH_PX, HEIGHT_PX, MARGIN_PX = 96, 136, 40

#: How far, in working pixels, the ends of an edge may lie outside and inside the loose quad's edge, and the
#: step. Oriented boxes on obliquely seen cards are wrong by up to a quarter of the card.
OUTSIDE_PX, INSIDE_PX, STEP_PX = 20, 28, 2

#: Places along an edge that are looked at; rounded corners and neighbours' shadows at the ends are left out.
SAMPLES = 40
ENDS_LEFT_OUT = 0.07

#: Contrast, of 255, above which an edge is as good as any: hard print must not outdo a white card's edge on a
#: white table, which shows by a few levels only.
ENOUGH_CONTRAST = 8.0

#: Lines kept of each side; all their combinations are compared.
LINES_KEPT = 5

#: Weights of unlike colours inside the edges, and of distance from the loose quad, each against one full edge.
#: Within a factor of two they give the same on ``poker_cards/valid`` and ``ranks_on_carpet/train``.
UNLIKE_COSTS, FAR_COSTS = 0.3, 0.6

#: Mean support of the four edges below which the loose quad is kept.
ENOUGH_SUPPORT = 0.35


def refined(image: NDArray[np.uint8], quad: NDArray[np.float32]) -> tuple[NDArray[np.float32], float]:
    """The quad (4, 2) fitted to the card's edges, and how well they are seen, 0 to 1; else the same quad and 0.

    Each side is the line with most contrast along it; of their combinations the one wins in which the colour
    just inside is the same all round (a card's border, not its picture's frame, nor a neighbour's edge).
    """
    size = (WIDTH_PX + 2 * MARGIN_PX, HEIGHT_PX + 2 * MARGIN_PX)
    inner = np.array([[0, 0], [WIDTH_PX, 0], [WIDTH_PX, HEIGHT_PX], [0, HEIGHT_PX]], np.float32) + MARGIN_PX
    onto = np.asarray(cv2.getPerspectiveTransform(quad.astype(np.float32), inner), np.float64)
    sides_px = np.linalg.norm(quad - np.roll(quad, -1, axis=0), axis=1)
    part, onto = _shrunk(image, quad, onto, float(sides_px.max()) / HEIGHT_PX)
    if part.size == 0:
        return quad, 0.0
    warped = cv2.warpPerspective(part, onto, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    work = np.asarray(cv2.GaussianBlur(warped, (0, 0), 1.2), np.float32)
    across = {side: np.zeros(size[::-1], np.float32) for side in (0, 1)}
    across[0][1:-1] = np.abs(work[2:] - work[:-2]).max(axis=2)
    across[1][:, 1:-1] = np.abs(work[:, 2:] - work[:, :-2]).max(axis=2)
    lines = [_lines(side, across[side % 2].astype(np.float32), work) for side in range(4)]
    choices = np.array(list(product(*(range(len(kept)) for kept in lines))), np.intp).reshape(-1, 4)
    support = np.mean([np.array([line[2] for line in lines[i]])[choices[:, i]] for i in range(4)], axis=0)
    away = [np.array([abs(line[0]) + abs(line[1]) for line in lines[i]])[choices[:, i]] for i in range(4)]
    far = np.mean(away, axis=0) / (2 * INSIDE_PX)
    colours = np.stack([np.stack([line[3] for line in lines[side]])[choices[:, side]] for side in range(4)])
    unlike = np.abs(colours - np.median(colours, axis=0)).mean(axis=(0, 2)) / 64
    best = int(np.argmax(support - UNLIKE_COSTS * unlike - FAR_COSTS * far))
    picked = [lines[side][choices[best, side]] for side in range(4)]
    corners = _corners([_ends(side, picked[side][0], picked[side][1]) for side in range(4)])
    if support[best] < ENOUGH_SUPPORT or corners is None or not cv2.isContourConvex(corners):
        return quad, 0.0
    back = np.linalg.inv(cv2.getPerspectiveTransform(quad.astype(np.float32), inner))
    return np.asarray(cv2.perspectiveTransform(corners[None], back)[0], np.float32), float(support[best])


def _shrunk(
    image: NDArray[np.uint8], quad: NDArray[np.float32], onto: NDArray[np.float64], factor: float
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """The picture around the quad, made smaller by averaging where a card is large, and its homography."""
    middle, reach = quad.mean(axis=0), np.abs(quad - quad.mean(axis=0)).max() * 1.9
    left, top = np.maximum(np.floor(middle - reach).astype(int), 0)
    right, bottom = np.ceil(middle + reach).astype(int) + 1
    part = image[top:bottom, left:right]
    shift = np.array([[1, 0, left], [0, 1, top], [0, 0, 1]], np.float64)
    if factor > 1.5 and part.size:
        small = (max(1, round(part.shape[1] / factor)), max(1, round(part.shape[0] / factor)))
        scale = np.diag([part.shape[1] / small[0], part.shape[0] / small[1], 1.0])
        part = cv2.resize(part, small, interpolation=cv2.INTER_AREA).astype(np.uint8)
        shift = shift @ scale
    return part, np.asarray(onto @ shift, np.float64)


Line = tuple[float, float, float, NDArray[np.float32]]
"""Of one side: how far its two ends lie outside the loose edge (working pixels), support, colour inside."""


def _ends(side: int, first: float, second: float) -> NDArray[np.float32]:
    """The two ends (2, 2) of a side's line, x and y; sides: top, right, bottom, left."""
    left, top = float(MARGIN_PX), float(MARGIN_PX)
    right, bottom = left + WIDTH_PX, top + HEIGHT_PX
    ends = {
        0: [[left, top - first], [right, top - second]],
        1: [[right + first, top], [right + second, bottom]],
        2: [[right, bottom + first], [left, bottom + second]],
        3: [[left - first, bottom], [left - second, top]],
    }
    return np.array(ends[side], np.float32)


def _lines(side: int, contrast: NDArray[np.float32], work: NDArray[np.float32]) -> list[Line]:
    """The best lines of one side, no two of them nearly the same."""
    offsets = np.arange(-INSIDE_PX, OUTSIDE_PX + 1, STEP_PX, dtype=np.float32)
    first, second = (grid.ravel() for grid in np.meshgrid(offsets, offsets, indexing="ij"))
    along = np.linspace(ENDS_LEFT_OUT, 1 - ENDS_LEFT_OUT, SAMPLES, dtype=np.float32)
    out = first[:, None] * (1 - along) + second[:, None] * along
    x, y = _points(side, along, out)
    seen = contrast[y, x]
    support = np.minimum(seen, ENOUGH_CONTRAST).mean(axis=1) / ENOUGH_CONTRAST
    order = np.argsort(-support, kind="stable")
    kept: list[Line] = []
    for i in order:
        if all(abs(first[i] - a) + abs(second[i] - b) > 3 * STEP_PX for a, b, *_ in kept):
            inside_x, inside_y = _points(side, along, out[i : i + 1] - 4)
            colour = np.median(work[inside_y[0], inside_x[0]], axis=0)
            kept.append((float(first[i]), float(second[i]), float(support[i]), colour))
            if len(kept) == LINES_KEPT:
                break
    return kept


def _points(
    side: int, along: NDArray[np.float32], out: NDArray[np.float32]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pixels (x, y) at shares along a side, so far outside its loose edge."""
    run = along[None] + 0 * out
    left, top, right, bottom = MARGIN_PX, MARGIN_PX, MARGIN_PX + WIDTH_PX, MARGIN_PX + HEIGHT_PX
    if side == 0:
        x, y = left + run * WIDTH_PX, top - out
    elif side == 1:
        x, y = right + out, top + run * HEIGHT_PX
    elif side == 2:
        x, y = right - run * WIDTH_PX, bottom + out
    else:
        x, y = left - out, bottom - run * HEIGHT_PX
    wide, high = WIDTH_PX + 2 * MARGIN_PX - 1, HEIGHT_PX + 2 * MARGIN_PX - 1
    return np.rint(x).clip(0, wide).astype(np.intp), np.rint(y).clip(0, high).astype(np.intp)


def _corners(lines: list[NDArray[np.float32]]) -> NDArray[np.float32] | None:
    """Where neighbouring lines meet: top left, top right, bottom right, bottom left."""
    crossed = []
    for before, line in ((3, 0), (0, 1), (1, 2), (2, 3)):
        a, b = lines[before], lines[line]
        (x1, y1), (x2, y2), (x3, y3), (x4, y4) = a[0], a[1], b[0], b[1]
        d = (x1 - x2) * (y3 - y4) - (y1 - y2) * (x3 - x4)
        if abs(d) < 1e-6:
            return None
        p, q = x1 * y2 - y1 * x2, x3 * y4 - y3 * x4
        crossed.append([(p * (x3 - x4) - (x1 - x2) * q) / d, (p * (y3 - y4) - (y1 - y2) * q) / d])
    return np.array(crossed, np.float32)
