"""Reads cards of which little more than an index corner shows: in fans, stacks and rows laid overlapping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cards.reader import rectified
from vision.cards.seen import SeenCard
from vision.cards.shape import ASPECT, Shape

#: Where the printed index (rank above suit) lies on a card of the usual print, in shares of its width and height:
#: left, top, right, bottom. The training labels of ``corner`` are drawn to the same.
INDEX = (0.015, 0.022, 0.168, 0.268)

#: A corner box on a card's long side measured against what the named cards say of the size: further off it is
#: no index of a card at that place.
SIZE_OFF = 1.8

#: How far an index may lie from where a card has it, in shares of the card's width and height.
PLACE_OFF = 0.09

#: Two indices of one card point the same way or opposite ways, and lie apart as printed, in shares of its height;
#: an index and the quad of its card agree in direction; cosines.
PAIR_OFF, PAIR_TURNED, QUAD_TURNED = 0.13, 0.95, 0.9

#: How much prints of one card repeat each other's mistakes: they are different ones, though in one light.
PRINTS_REPEAT = 0.5

#: Width and height of the crop from which an index is read, and how much of what is around it is shown.
INDEX_SIZE_PX, INDEX_GROWN = (48, 80), 1.2


def index_crop(image: NDArray[np.uint8], corner: NDArray[np.float32], grown: float = INDEX_GROWN) -> NDArray[np.uint8]:
    """The crop (80, 48, 3) of an index in ``corner`` (4, 2), its first side above the rank, grown about its middle."""
    middle = corner.mean(axis=0)
    return rectified(image, np.asarray(middle + (corner - middle) * grown, np.float32), INDEX_SIZE_PX)


@dataclass(frozen=True, slots=True, eq=False)
class Corner:
    """A printed index that was found.

    box: (4, 2) float32 pixels, its first side above the rank. probabilities: (classes,) float32, of the cards and of
    no index. score: the detector's own, 0 to 1.
    """

    box: NDArray[np.float32]
    probabilities: NDArray[np.float32]
    score: float

    @property
    def middle(self) -> NDArray[np.float32]:
        """The box's centre, (2,) pixels."""
        return np.asarray(self.box.mean(axis=0), np.float32)

    @property
    def width_px(self) -> float:
        """The box's width, along the rank."""
        return float(np.linalg.norm(self.box[1] - self.box[0] + self.box[2] - self.box[3])) / 2

    @property
    def down(self) -> NDArray[np.float32]:
        """The direction from the rank to the suit, (2,), of length 1."""
        return _unit(self.box[3] - self.box[0] + self.box[2] - self.box[1])

    @property
    def right(self) -> NDArray[np.float32]:
        """The direction along the rank, (2,), of length 1."""
        return _unit(self.box[1] - self.box[0] + self.box[2] - self.box[3])


def together(corners: Sequence[Corner], side_px: float | None) -> list[list[int]]:
    """Which corners are indices of one card: lists of their places, those alone included.

    side_px: a card's longer side; from the boxes when None.
    """
    groups = [[i] for i in range(len(corners))]
    for i, one in enumerate(corners):
        for j in range(i):
            other = corners[j]
            if _of_one_card(one, other, side_px) and _alike(one.probabilities, other.probabilities):
                a = next(group for group in groups if i in group)
                b = next(group for group in groups if j in group)
                if a is not b and len(a) + len(b) <= 4:
                    a.extend(b)
                    groups.remove(b)
    return groups


def _of_one_card(one: Corner, other: Corner, side_px: float | None) -> bool:
    height = _height(one, side_px)
    if not 1 / SIZE_OFF < _height(one, None) / _height(other, None) < SIZE_OFF:
        return False
    facing = float(one.down @ other.down)
    if abs(facing) < PAIR_TURNED:
        return False
    left, top, right, bottom = INDEX
    across, along = (1 - left - right) * ASPECT, 1 - top - bottom
    apart = (other.middle - one.middle) / height
    told = np.array([float(apart @ one.right), float(apart @ one.down)])
    # Opposite ends: diagonal as on every deck, or on the same side; at one end: beside each other.
    places = [(across, along), (-across, along), (0.0, along)] if facing < 0 else [(across, 0.0), (-across, 0.0)]
    return any(float(np.hypot(*(told - place))) < PAIR_OFF for place in places)


def _alike(a: NDArray[np.float32], b: NDArray[np.float32]) -> bool:
    """Whether two readings (the last class: no index) may be of one card."""
    return bool(a[:-1].argmax() == b[:-1].argmax() and min(a[:-1].max(), b[:-1].max()) > 0.2)


def joint(corners: Sequence[Corner], repeats: float = PRINTS_REPEAT) -> NDArray[np.float32]:
    """What several readings of one card say together, (classes,).

    repeats: how much they repeat each other's mistakes, from 0 (independent, so that their probabilities multiply) to
    1 (so that their logarithms' mean counts).
    """
    logs = np.log(np.stack([corner.probabilities for corner in corners]) + 1e-4)
    weights = np.full(len(corners), len(corners) ** -repeats, np.float32)
    told = np.exp((weights[:, None] * logs).sum(axis=0))
    return np.asarray(told / told.sum(), np.float32)


def belongs(corner: Corner, quad: NDArray[np.float32]) -> float:
    """How far an index lies from where the card in ``quad`` (4, 2) prints one, in units of what is tolerated.

    1 and more: it isn't that card's. Both ends and both sides count, and directions must agree.
    """
    at = on_card(corner, quad)
    if at is None:
        return np.inf
    left, top, right, bottom = INDEX
    place = np.array([(left + right) / 2, (top + bottom) / 2])
    off = np.array([min(abs(at[0] - place[0]), abs(1 - at[0] - place[0])), abs(at[1] - place[1])]) / PLACE_OFF
    return float(np.hypot(*off) / np.sqrt(2))


def on_card(corner: Corner, quad: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """Where on the card in ``quad``, seen with this index upright, it lies, in shares; None where it is turned."""
    down = _unit(quad[3] - quad[0] + quad[2] - quad[1])
    if abs(float(corner.down @ down)) < QUAD_TURNED:
        return None
    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    onto = cv2.getPerspectiveTransform(quad.astype(np.float32), unit)
    at = cv2.perspectiveTransform(corner.middle[None, None], onto)[0, 0]
    return np.asarray(1 - at if float(corner.down @ down) < 0 else at, np.float32)


def quad_of(corners: Sequence[Corner], side_px: float | None) -> NDArray[np.float32] | None:
    """The quad (4, 2) of the card of which two of these are indices at opposite corners; None where none are.

    Two at the same side of a card leave open which side it is.
    """
    left, top, right, bottom = INDEX
    for one in corners:
        for other in corners:
            apart = other.middle - one.middle
            along, sideways = float(apart @ one.down), float(apart @ one.right)
            height, width = along / (1 - top - bottom), abs(sideways) / (1 - left - right)
            if float(one.down @ other.down) > 0 or along < 0.3 * _height(one, side_px) or width < 0.4 * height:
                continue
            middle = (one.middle + other.middle) / 2
            down, across = one.down * height / 2, one.right * width / 2
            quad = [middle - across - down, middle + across - down, middle + across + down, middle - across + down]
            return np.asarray(np.stack(quad), np.float32)
    return None


def _height(corner: Corner, side_px: float | None) -> float:
    """A card's longer side by this index's print, or as it is known, in pixels."""
    return side_px if side_px is not None else max(_long_side(corner.box) / (INDEX[3] - INDEX[1]), 1e-6)


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-6), np.float32)


def card_side_px(seen: Sequence[SeenCard]) -> float | None:
    """The typical longer side of the cards that were named, in pixels; None where none was."""
    sides = [_long_side(one.quad) for one in seen if one.card is not None]
    return float(np.median(sides)) if sides else None


def cards_at(corner: NDArray[np.float32], side_px: float | None, shape: Shape | None = None) -> NDArray[np.float32]:
    """The two quads (2, 4, 2) of a card of which ``corner`` (4, 2) may be the left or the right index.

    The box gives place and direction; a card's size and shape are better known from the cards around.

    corner: its first side above the rank. side_px: a card's longer side in pixels; from the box itself when None.
    shape: what cards look like here, where that is known.
    """
    down = ((corner[3] - corner[0]) + (corner[2] - corner[1])) / 2
    across = ((corner[1] - corner[0]) + (corner[2] - corner[3])) / 2
    left, top, right, bottom = INDEX
    if shape is None:
        tall, wide = max(float(np.linalg.norm(down)), 1e-6), max(float(np.linalg.norm(across)), 1e-6)
        height = tall / (bottom - top) if side_px is None else side_px
        # Seen obliquely the box is narrowed as the card is; without more to go by, not beyond what cards can be.
        narrowed = float(np.clip(wide / tall / (ASPECT * (right - left) / (bottom - top)), 0.8, 1.25))
        unit_down, unit_across = down / tall * height, across / wide * height * ASPECT * narrowed
    else:
        unit_across, unit_down = shape.sides(_unit(down), across)
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
