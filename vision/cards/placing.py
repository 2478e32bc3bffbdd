"""Lays a card where its printed indices are seen: on which side of it each is, and how the card lies."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cards.edges import fitted_at_index
from vision.cards.fans import INDEX, Corner, belongs, cards_at, on_card, quad_of
from vision.cards.quads import iou
from vision.cards.reader import rectified
from vision.cards.shape import Shape

#: How far beside an index its card's edge may be, in widths of the index; the strip is looked at so large, in pixels
#: for the index's width; an edge of so many levels counts in full.
BESIDE, STRIP_PX, EDGE = 0.45, 24, 24.0

#: A deck prints four indices if of those seen on whole cards this share, and two at least, are right ones.
FOUR = 0.25

#: By how much (IoU) the card of a right index must agree better with what was found than that of a left one: most
#: decks print the left one only (and its like at the other end). An edge seen beside the index counts so much.
RIGHT_INDEX_AGREES, EDGE_COUNTS = 0.15, 0.35

#: Indices no further than this from where a card prints them lie well on it, and one that is alone (decks differ, and
#: edges tell more surely); a quad that is moved more than this (IoU) to lie where they say is another's.
WELL_ON, ALONE_WELL_ON, STILL_THERE = 0.3, 0.6, 0.6


class Placing:
    """Where the cards of one picture lie, as their indices tell."""

    def __init__(
        self,
        image: NDArray[np.uint8],
        corners: Sequence[Corner],
        whole: Sequence[NDArray[np.float32]],
        side_px: float | None,
        shape: Shape | None,
    ) -> None:
        """Of `image` with these `corners`; whole: quads (4, 2) of cards that are surely read.

        side_px: a card's longer side. shape: what cards look like here. Both where they are known.
        """
        self._image, self._side_px, self._shape = image, side_px, shape
        self._to_be_right = preference(corners, whole)
        self._offers: dict[int, list[tuple[NDArray[np.float32], float]]] = {}

    def exact(self, corners: Sequence[Corner]) -> NDArray[np.float32] | None:
        """The quad (4, 2) of the card of which two of these are indices at opposite corners; None where none are."""
        return quad_of(corners, self._side_px)

    def offered(self, corner: Corner) -> list[tuple[NDArray[np.float32], float]]:
        """The two quads of a card of which this may be the left or the right index, and the credit of each (IoU)."""
        known = self._offers.get(id(corner))
        if known is None:
            left, right = cards_at(corner.box, self._side_px, self._shape)
            left, by_left = fitted_at_index(self._image, left, at_right=False)
            right, by_right = fitted_at_index(self._image, right, at_right=True)
            seen = _side_of(self._image, corner) + by_right - by_left
            known = self._offers[id(corner)] = [(left, 0.0), (right, EDGE_COUNTS * seen - self._to_be_right)]
        return known

    def at(self, corner: Corner, cards: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """The quad of the card that a single corner shows, which may be its left or its right index: as others agree.

        cards: quads of what else is known.
        """
        either = self.offered(corner)
        agrees = [max((iou(quad, one) for one in cards), default=0.0) + credit for quad, credit in either]
        return either[int(np.argmax(agrees))][0]

    def placed(self, corners: Sequence[Corner], quad: NDArray[np.float32]) -> NDArray[np.float32]:
        """The quad (4, 2) of a card that prints these indices: `quad` itself where they agree with it.

        A quad around what can be seen of a card is not the card's; then it is the one on which most of the indices lie
        where a card prints them, and of several the one that agrees with `quad` best.
        """

        def away(candidate: NDArray[np.float32]) -> int:
            return sum(belongs(corner, candidate) >= 1 for corner in corners)

        if not away(quad):
            return quad
        exact = self.exact(corners)
        either = [] if exact is None else [(exact, 0.0)]
        for corner in corners:
            either += self.offered(corner)
        best, _ = min(either, key=lambda one: (away(one[0]), -iou(one[0], quad) - one[1]))
        return best if away(best) < away(quad) else quad


def preference(corners: Sequence[Corner], quads: Sequence[NDArray[np.float32]]) -> float:
    """How much better (IoU) a right index must agree than a left one in this picture.

    Most decks print the left one only; where cards that were found whole show right ones too, either is as likely.

    quads: of cards that are surely read.
    """
    sides = [
        float(at[0]) > 0.5
        for corner in corners
        for quad in quads
        if belongs(corner, quad) < 1 and (at := on_card(corner, quad)) is not None
    ]
    return 0.0 if sum(sides) >= max(2, FOUR * len(sides)) else RIGHT_INDEX_AGREES


def _side_of(image: NDArray[np.uint8], corner: Corner) -> float:
    """On which side of its card an index is printed, as the picture shows: above 0 the right, below the left.

    The card ends just beside its index: there a straight edge runs along it, as long as the index. From −1 to 1.
    """
    wide = corner.width_px
    tall = float(np.linalg.norm(corner.box[3] - corner.box[0] + corner.box[2] - corner.box[1])) / 2
    if min(wide, tall) < 2:
        return 0.0
    reach = np.array([-1.0 * BESIDE - 0.5, 1.0 * BESIDE + 0.5]) * wide
    ends = [(x, y) for y in (-tall / 2, tall / 2) for x in reach]
    order = [ends[0], ends[1], ends[3], ends[2]]
    around = np.array([corner.middle + x * corner.right + y * corner.down for x, y in order], np.float32)
    size = (round(STRIP_PX * (1 + 2 * BESIDE)), 2 * STRIP_PX)
    strip = np.asarray(rectified(image, around, size), np.float32)
    edge = np.abs(np.diff(strip, axis=1)).max(axis=2)  # (tall, wide − 1)
    # All along the index, wherever exactly: a pip or a figure has no such edge, and most of it must be seen.
    straight = np.minimum(edge, EDGE).mean(axis=0) / EDGE
    beside = round(STRIP_PX * BESIDE)
    left, right = float(straight[:beside].max()), float(straight[-beside:].max())
    return right - left


def pulled(corners: Sequence[Corner], quad: NDArray[np.float32]) -> NDArray[np.float32]:
    """The quad (4, 2), moved so that a card in it prints indices where these are; as it is, where they lie well on it.

    Only corners that may be its own count. One moves the quad, two also turn and scale it, three shear it, four tell
    it altogether.
    """
    own = [corner for corner in corners if belongs(corner, quad) < 1]
    places: dict[tuple[int, int], list[NDArray[np.float32]]] = {}
    for corner in own:
        at = on_card(corner, quad)
        down = quad[3] - quad[0] + quad[2] - quad[1]
        if at is not None:
            place = (int(at[0] > 0.5), 0)
            if float(corner.down @ down) < 0:
                place = (1 - place[0], 1)
            places.setdefault(place, []).append(corner.middle)
    furthest = max((belongs(corner, quad) for corner in own), default=0.0)
    if furthest < (WELL_ON if len(places) > 1 else ALONE_WELL_ON):
        return quad
    left, top, right, bottom = INDEX
    x, y = (left + right) / 2, (top + bottom) / 2
    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    printed = np.array([[(x, 1 - x)[i], (y, 1 - y)[j]] for i, j in places], np.float32)
    told = np.array([np.mean(middles, axis=0) for middles in places.values()], np.float32)
    there = cv2.perspectiveTransform(printed[None], cv2.getPerspectiveTransform(unit, quad.astype(np.float32)))[0]
    if len(places) == 1:
        moved = quad + told - there
    elif len(places) == 2:
        (a, b), (c, d) = (there[:, 0] + 1j * there[:, 1]), (told[:, 0] + 1j * told[:, 1])
        turned = c + (quad[:, 0] + 1j * quad[:, 1] - a) * (d - c) / (b - a)
        moved = np.stack([turned.real, turned.imag], axis=1)
    elif len(places) == 3:
        linear = cv2.getAffineTransform(there, told)
        moved = quad @ linear[:, :2].T + linear[:, 2]
    else:
        moved = cv2.perspectiveTransform(quad[None].astype(np.float32), cv2.getPerspectiveTransform(there, told))[0]
    moved = np.asarray(moved, np.float32)
    return moved if cv2.isContourConvex(moved) and iou(moved, quad) > STILL_THERE else quad
