"""How large a card is in the picture: from the outline of one, or of a heap, that stands off from the table."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cards.refine import refined
from vision.frame import Image
from vision.setup.plane import CardLook
from vision.table import Matrix, Point

#: The table around a find is looked at within so many times its size.
_AROUND = 1.9
#: What stands off must be about as large as the find (the find may be the frame printed inside a back's border).
_AREA = (0.78, 1.75)
#: A find that its outline fills by this much is one card; a heap's corners show the table.
WHOLE_FILLS = 0.965
#: Grey levels by which a card must stand off from the table, and the share of the find that must.
_STANDS_OFF = 12.0
_LARGEST_SIDE_PX = 160.0
#: Doubt of a card's size (share) from its outline, from a find fitted to its edges with so much support, and from a
#: heap, whose cards are shifted so that it reaches so much farther than one (9 rendered heaps: 1.08 to 1.15).
_WHOLE_DOUBT, _FITTED_DOUBT, _FITTED, _HEAP_DOUBT, _HEAP_REACHES = 0.025, 0.05, 0.9, 0.06, 1.13


def outline_of(image: Image, quad: NDArray[np.float32]) -> NDArray[np.float64] | None:
    """(n, 2) pixels of the convex outline of what a find (4, 2) is part of; None where it can't be told from the table.

    The table's colour is taken from around the find; what differs from it and is joined to the find counts.
    """
    middle = quad.mean(axis=0)
    wide = middle + (quad - middle) * _AROUND
    low = np.maximum(np.floor(wide.min(axis=0)).astype(int), 0)
    high = np.minimum(np.ceil(wide.max(axis=0)).astype(int) + 1, np.array(image.shape[1::-1]))
    part = image[low[1] : high[1], low[0] : high[0]]
    if part.shape[0] < 12 or part.shape[1] < 12:
        return None
    share = min(1.0, 2 * _LARGEST_SIDE_PX / max(part.shape[:2]))
    small = cv2.resize(part, None, fx=share, fy=share, interpolation=cv2.INTER_AREA)
    scale = np.array([small.shape[1] / part.shape[1], small.shape[0] / part.shape[0]])
    inside = np.zeros(small.shape[:2], np.uint8)
    cv2.fillConvexPoly(inside, np.round((quad - low) * scale).astype(np.int32), (1,))
    beside = np.zeros_like(inside)
    cv2.fillConvexPoly(beside, np.round((middle + (quad - middle) * 1.35 - low) * scale).astype(np.int32), (1,))
    lab = cv2.cvtColor(cv2.GaussianBlur(small, (0, 0), 0.7), cv2.COLOR_BGR2LAB).astype(np.float32)
    table = np.median(lab[beside == 0], axis=0) if (beside == 0).sum() > 50 else None
    if table is None:
        return None
    off = np.linalg.norm(lab - table, axis=2)
    spread = float(np.median(off[beside == 0]))
    level = max(_STANDS_OFF, 3.5 * spread, 0.4 * float(np.median(off[inside > 0])))
    stands = cv2.morphologyEx((off > level).astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    count, labels = cv2.connectedComponents(stands, connectivity=4)
    own = np.bincount(labels[inside > 0], minlength=count)
    own[0] = 0
    chosen = np.isin(labels, np.flatnonzero(own > 0.02 * inside.sum())) & (labels > 0)
    if not chosen.any():
        return None
    if chosen[[0, -1], :].any() or chosen[:, [0, -1]].any():
        return None  # it runs on: another card, an arm, the table's edge
    points = np.argwhere(chosen)[:, ::-1].astype(np.float32)
    hull = cv2.convexHull(points).reshape(-1, 2)
    # From the pixels' middles to their outer edges.
    ratio = (cv2.contourArea(hull) + cv2.arcLength(hull, True) / 2 + 0.8) / max(float(inside.sum()), 1.0)
    if not _AREA[0] < ratio < _AREA[1]:
        return None
    centre = hull.mean(axis=0)
    out = np.maximum(np.linalg.norm(hull - centre, axis=1, keepdims=True), 1e-6)
    hull = hull + (hull - centre) / out * 0.5
    return np.asarray((hull + 0.5) / scale - 0.5 + low, np.float64)


def widest(points: Matrix) -> float:
    """The largest distance between two of the points (n, 2): a card's diagonal, however a heap is turned."""
    apart = points[:, None] - points[None]
    return float(np.sqrt((apart**2).sum(axis=2).max()))


def look_at_card(image: Image, quad: NDArray[np.float32], card_mm: Point) -> CardLook | None:
    """What a find (4, 2) tells of a card's size in the picture; None where it has no card's shape."""
    outline = outline_of(image, quad)
    if outline is None:
        closer, support = refined(image, quad)
        fitted = np.array(closer, np.float64)
        return CardLook(fitted, _FITTED_DOUBT, True) if support > _FITTED and _is_shaped(fitted, card_mm) else None
    flat = outline.astype(np.float32)
    box = cv2.minAreaRect(flat)
    corners = np.asarray(cv2.boxPoints(box), np.float64)
    if cv2.contourArea(cv2.convexHull(flat)) > WHOLE_FILLS * box[1][0] * box[1][1] and _is_shaped(corners, card_mm):
        return CardLook(corners, _WHOLE_DOUBT, True)
    # A heap's widest reach is a card's diagonal, however its cards are turned, and what they are shifted.
    share = widest(outline) / _HEAP_REACHES / math.hypot(*card_mm)
    along = corners[1] - corners[0] if box[1][0] < box[1][1] else corners[2] - corners[1]
    along = along / max(float(np.hypot(*along)), 1e-6)
    turned = np.array([along, [-along[1], along[0]]])
    card = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * np.array(card_mm) / 2
    return CardLook(outline.mean(axis=0) + share * card @ turned, _HEAP_DOUBT, False)


def _is_shaped(quad: NDArray[np.float64], card_mm: Point) -> bool:
    lengths = np.linalg.norm(quad - np.roll(quad, -1, axis=0), axis=1)
    sides = sorted([(lengths[0] + lengths[2]) / 2, (lengths[1] + lengths[3]) / 2])
    shape = sides[1] / max(sides[0], 1e-6) / (max(card_mm) / min(card_mm))
    # Obliquely seen, a card is foreshortened one way or the other.
    return bool(0.72 < shape < 1.4)
