"""Reads cards of which little more than an index corner shows: in fans, stacks and rows laid overlapping."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cards.seen import SeenCard

#: Where the printed index (rank above suit) lies on a card of the usual print, in shares of its width and height:
#: left, top, right, bottom. The training labels of ``corner`` are drawn to the same.
INDEX = (0.015, 0.022, 0.168, 0.268)

#: A poker card's width to its height, in mm.
ASPECT = 63.0 / 88.0

#: An index whose centre lies in this corner of a named card is that card's own.
CORNER_SHARE = 1 / 3

#: A corner box on a card's long side measured against what the named cards say of the size: further off it is
#: no index of a card at that place.
SIZE_OFF = 1.8


def card_side_px(seen: Sequence[SeenCard]) -> float | None:
    """The typical longer side of the cards that were named, in pixels; None where none was."""
    sides = [_long_side(one.quad) for one in seen if one.card is not None]
    return float(np.median(sides)) if sides else None


def explained(corner: NDArray[np.float32], named: Sequence[SeenCard]) -> bool:
    """Whether an index corner (4, 2) is one of a card that was named already."""
    middle = corner.mean(axis=0)[None, None].astype(np.float32)
    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    for one in named:
        onto = cv2.getPerspectiveTransform(one.quad.astype(np.float32), unit)
        at = cv2.perspectiveTransform(middle, onto)[0, 0]
        from_edge = np.minimum(at, 1 - at)
        if (from_edge >= -0.02).all() and (from_edge <= CORNER_SHARE).all():
            return True
    return False


def cards_at(corner: NDArray[np.float32], side_px: float | None) -> NDArray[np.float32]:
    """The four quads (4, 4, 2) of a card of which ``corner`` (4, 2) may be an index.

    Either end of the box may be the rank, and the index may be the left or (on four-index decks) the right one.
    The box gives place and direction; a card's size is better known from the cards around.

    side_px: a card's longer side in pixels; from the box itself when None.
    """
    sides = np.linalg.norm(corner - np.roll(corner, -1, axis=0), axis=1)
    box = corner if sides[0] + sides[2] <= sides[1] + sides[3] else np.roll(corner, -1, axis=0)
    down = ((box[3] - box[0]) + (box[2] - box[1])) / 2
    across = ((box[1] - box[0]) + (box[2] - box[3])) / 2
    left, top, right, bottom = INDEX
    by_box = float(np.linalg.norm(down)) / (bottom - top)
    height = by_box if side_px is None else side_px
    shape = float(np.linalg.norm(across)) / max(float(np.linalg.norm(down)), 1e-6)
    # Seen obliquely the box is narrowed as the card is; without more to go by, not beyond what cards can be.
    narrowed = float(np.clip(shape / (ASPECT * (right - left) / (bottom - top)), 0.7, 1.3))
    unit_down = down / max(float(np.linalg.norm(down)), 1e-6) * height
    unit_across = across / max(float(np.linalg.norm(across)), 1e-6) * height * ASPECT * narrowed
    middle = box.mean(axis=0)
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    quads = []
    for x, y in (
        ((left + right) / 2, (top + bottom) / 2),
        (1 - (left + right) / 2, (top + bottom) / 2),
        (1 - (left + right) / 2, 1 - (top + bottom) / 2),
        ((left + right) / 2, 1 - (top + bottom) / 2),
    ):
        shares = corners - np.array([x, y], np.float32)
        quads.append(middle + shares[:, :1] * unit_across + shares[:, 1:] * unit_down)
    return np.asarray(np.stack(quads), np.float32)


def is_of_size(corner: NDArray[np.float32], side_px: float) -> bool:
    """Whether a corner box is as large as an index of a card whose longer side is ``side_px`` can be."""
    told = _long_side(corner) / (INDEX[3] - INDEX[1])
    return bool(side_px / SIZE_OFF < told < side_px * SIZE_OFF)


def _long_side(quad: NDArray[np.float32]) -> float:
    sides = np.linalg.norm(quad - np.roll(quad, -1, axis=0), axis=1)
    return float(max(sides[0] + sides[2], sides[1] + sides[3])) / 2
