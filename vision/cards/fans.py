"""Reads cards of which little more than an index corner shows: in fans, stacks and rows laid overlapping."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cards.reader import rectified
from vision.cards.seen import SeenCard

#: Where the printed index (rank above suit) lies on a card of the usual print, in shares of its width and height:
#: left, top, right, bottom. The training labels of ``corner`` are drawn to the same.
INDEX = (0.015, 0.022, 0.168, 0.268)

#: A poker card's width to its height, in mm.
ASPECT = 63.0 / 88.0

#: An index whose centre lies in this corner of a card may be that card's own.
CORNER_SHARE = 1 / 3

#: A corner box on a card's long side measured against what the named cards say of the size: further off it is
#: no index of a card at that place.
SIZE_OFF = 1.8


#: Width and height of the crop from which an index is read, and how much of what is around it is shown.
INDEX_SIZE_PX, INDEX_GROWN = (48, 80), 1.2


def index_crop(image: NDArray[np.uint8], corner: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The crop (80, 48, 3) of an index in ``corner`` (4, 2), its first side above the rank."""
    middle = corner.mean(axis=0)
    return rectified(image, np.asarray(middle + (corner - middle) * INDEX_GROWN, np.float32), INDEX_SIZE_PX)


def card_side_px(seen: Sequence[SeenCard]) -> float | None:
    """The typical longer side of the cards that were named, in pixels; None where none was."""
    sides = [_long_side(one.quad) for one in seen if one.card is not None]
    return float(np.median(sides)) if sides else None


def in_a_corner(corner: NDArray[np.float32], quad: NDArray[np.float32]) -> bool:
    """Whether an index (4, 2) lies where a card's quad (4, 2) has its indices."""
    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    onto = cv2.getPerspectiveTransform(quad.astype(np.float32), unit)
    at = cv2.perspectiveTransform(corner.mean(axis=0)[None, None].astype(np.float32), onto)[0, 0]
    from_edge = np.minimum(at, 1 - at)
    return bool((from_edge >= -0.04).all() and (from_edge <= CORNER_SHARE).all())


def cards_at(corner: NDArray[np.float32], side_px: float | None) -> NDArray[np.float32]:
    """The two quads (2, 4, 2) of a card of which ``corner`` (4, 2) may be the left or the right index.

    The box gives place and direction; a card's size is better known from the cards around.

    corner: its first side above the rank. side_px: a card's longer side in pixels; from the box itself when None.
    """
    down = ((corner[3] - corner[0]) + (corner[2] - corner[1])) / 2
    across = ((corner[1] - corner[0]) + (corner[2] - corner[3])) / 2
    left, top, right, bottom = INDEX
    tall, wide = max(float(np.linalg.norm(down)), 1e-6), max(float(np.linalg.norm(across)), 1e-6)
    height = tall / (bottom - top) if side_px is None else side_px
    # Seen obliquely the box is narrowed as the card is; without more to go by, not beyond what cards can be.
    narrowed = float(np.clip(wide / tall / (ASPECT * (right - left) / (bottom - top)), 0.8, 1.25))
    unit_down, unit_across = down / tall * height, across / wide * height * ASPECT * narrowed
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    quads = []
    for x in ((left + right) / 2, 1 - (left + right) / 2):
        shares = corners - np.array([x, (top + bottom) / 2], np.float32)
        quads.append(corner.mean(axis=0) + shares[:, :1] * unit_across + shares[:, 1:] * unit_down)
    return np.asarray(np.stack(quads), np.float32)


def is_of_size(corner: NDArray[np.float32], side_px: float) -> bool:
    """Whether a corner box is as large as an index of a card whose longer side is ``side_px`` can be."""
    told = _long_side(corner) / (INDEX[3] - INDEX[1])
    return bool(side_px / SIZE_OFF < told < side_px * SIZE_OFF)


def _long_side(quad: NDArray[np.float32]) -> float:
    sides = np.linalg.norm(quad - np.roll(quad, -1, axis=0), axis=1)
    return float(max(sides[0] + sides[2], sides[1] + sides[3])) / 2
