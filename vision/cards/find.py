"""Finds the quads of cards in a picture of any size, looking again at the scale that the detector knows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vision.cards.quads import CARDS, iou, without_duplicates
from vision.detections import CARD_BACK, CARD_FACE, CORNER, Detections, Detector
from vision.weights import Weights

#: A card between these shares of the trained size is found nearly as well as at it: measured on
#: ``poker_cards/valid`` and ``ranks_on_carpet/train``, recall within 0.02 from 110 to 200 px for 150 px.
SIZE_IS_RIGHT = (0.72, 1.35)

#: A look's longer side, in pixels of the network's input; larger pictures are cut into tiles.
LOOK_AT_MOST_PX = 960

#: In tiles, the share of a card's size by which neighbours overlap: a card on a cut is whole in one of them.
TILES_OVERLAP_CARDS = 1.2

#: Nothing found at the first scale: cards may fill the picture, or be small on a large table.
OTHER_LOOKS = (0.4, 2.0)

#: A detector's score above which a find of the first look tells how large cards are.
SURE_SCORE = 0.4


#: A look takes at most so many tiles: with cards so small that more are needed, print was taken for cards.
TILES_AT_MOST = 12

#: Index corners are looked for in the picture enlarged by no more than this: beyond it there is nothing new to see.
LARGER_AT_MOST = 2.0

#: An outline that agrees with a find by this much is the same card, and fits it more closely than a box.
SAME_CARD_IOU = 0.6


class ScalableDetector(Protocol):
    """A detector that can be told how large it shall look at a picture."""

    weights: Weights

    def detect_at(self, image: NDArray[np.uint8], scale: float) -> Detections:
        """What is in ``image``, looked at ``scale`` times its size, in the pixels of ``image``."""
        ...


class CardFinder:
    """Looks at the whole picture, learns from it how large a card is, and looks again at the right scale."""

    def __init__(
        self,
        detector: ScalableDetector,
        outlines: Detector | None = None,
        corner_detector: ScalableDetector | None = None,
    ) -> None:
        """Find with ``detector``, which can be told its scale, and by ``outlines`` what it does not know.

        corner_detector: finds the index corners of cards that are mostly covered.
        """
        self._detector = detector
        self._outlines = outlines
        self._corner_detector = corner_detector

    def detect(self, image: NDArray[np.uint8], card_side_px: float | None = None) -> Detections:
        """Cards (and what else the detector knows) in ``image``, (h, w, 3) uint8 BGR.

        card_side_px: a card's longer side in the picture, where the table's millimetres tell it.
        """
        found = self._trained(image, card_side_px)
        return found if self._outlines is None else with_outlines(found, self._outlines.detect(image))

    def corners(self, image: NDArray[np.uint8], card_side_px: float | None) -> Detections:
        """Index corners in ``image``: a closer look, so that the print on them is large enough.

        card_side_px: a card's longer side in the picture; the whole picture's look is taken when None.
        """
        detector = self._corner_detector
        if detector is None:
            return Detections.none()
        weights = detector.weights
        side = card_side_px or weights.card_side_px / (weights.input_side_px / max(image.shape[:2]))
        scale = min(weights.corner_card_side_px / side, LARGER_AT_MOST, _most_scale(image))
        found = self._look(image, scale, side, detector).labelled(CORNER)
        return without_duplicates(found, iou_above=0.25, inside_above=0.6)

    def _trained(self, image: NDArray[np.uint8], card_side_px: float | None) -> Detections:
        """What the detector finds, at the scale that it was trained at: cards (and what else it knows)."""
        wanted = self._detector.weights.card_side_px
        longest = max(image.shape[:2])
        if card_side_px is not None:
            return without_duplicates(self._look(image, wanted / card_side_px, card_side_px))
        scale = self._detector.weights.input_side_px / longest
        found = self._detector.detect_at(image, scale)
        side = _typical_side_px(found)
        for factor in OTHER_LOOKS if side is None else ():
            if scale * factor <= 1:  # more than the picture has can't be seen
                tried = self._look(image, scale * factor, wanted / (scale * factor))
                side = _typical_side_px(tried)
                found = Detections.joined(found, tried)
                if side is not None:
                    scale *= factor
                    break
        if side is not None and not SIZE_IS_RIGHT[0] < side * scale / wanted < SIZE_IS_RIGHT[1]:
            again = self._look(image, min(wanted / side, max(_most_scale(image), scale)), side)
            found = again if len(again) else found
        return without_duplicates(found)

    def _look(
        self,
        image: NDArray[np.uint8],
        scale: float,
        card_side_px: float,
        detector: ScalableDetector | None = None,
    ) -> Detections:
        """Look at one scale, in tiles where the picture is too large for one look."""
        detector = detector or self._detector
        parts = []
        for left, top, right, bottom in tiles(
            image.shape[1], image.shape[0], LOOK_AT_MOST_PX / scale, TILES_OVERLAP_CARDS * card_side_px
        ):
            found = detector.detect_at(image[top:bottom, left:right], scale)
            whole = _not_cut(found, (left, top, right, bottom), (image.shape[1], image.shape[0]))
            parts.append(found.where(whole).moved(1.0, left, top))
        return Detections.joined(*parts)


def _most_scale(image: NDArray[np.uint8]) -> float:
    """The largest scale at which the picture is looked at in no more tiles than are affordable."""
    # Tiles overlap by about a quarter: a picture of n tiles has n / 1.3² of their area.
    return math.sqrt(TILES_AT_MOST * LOOK_AT_MOST_PX**2 / (image.shape[0] * image.shape[1])) / 1.3


def with_outlines(found: Detections, outlines: Detections) -> Detections:
    """Cards, fitted to the outline that agrees with them best, and then the outlines that agree with none."""
    quads = found.quads.copy()
    alone = np.ones(len(outlines), np.bool_)
    for i in np.flatnonzero(np.isin(found.labels, CARDS)):
        agree = [iou(found.quads[i], outline) for outline in outlines.quads]
        best = int(np.argmax(agree)) if agree else 0
        if agree and agree[best] > SAME_CARD_IOU:
            quads[i], alone[best] = outlines.quads[best], False
    return Detections.joined(Detections(quads, found.labels, found.scores), outlines.where(alone))


def tiles(width: int, height: int, side: float, overlap: float) -> Iterator[tuple[int, int, int, int]]:
    """Left, top, right, bottom of tiles of at most ``side`` that cover a picture and overlap, all in pixels."""
    overlap = min(overlap, side / 2)

    def cuts(length: int) -> list[tuple[int, int]]:
        count = 1 if length <= side else math.ceil((length - overlap) / (side - overlap))
        if count == 1:
            return [(0, length)]
        step = (length - side) / (count - 1)
        return [(round(i * step), min(length, round(i * step + side))) for i in range(count)]

    for top, bottom in cuts(height):
        for left, right in cuts(width):
            yield left, top, right, bottom


def _not_cut(found: Detections, tile: tuple[int, int, int, int], size_px: tuple[int, int]) -> NDArray[np.bool_]:
    """Which finds don't touch a cut of the tile inside the picture: a neighbour has them whole."""
    left, top, right, bottom = tile
    boxes = found.boxes()
    margin = 2.0
    return np.asarray(
        ((boxes[:, 0] > margin) | (left == 0))
        & ((boxes[:, 1] > margin) | (top == 0))
        & ((boxes[:, 2] < right - left - margin) | (right == size_px[0]))
        & ((boxes[:, 3] < bottom - top - margin) | (bottom == size_px[1])),
        np.bool_,
    )


def _typical_side_px(found: Detections) -> float | None:
    sure = found.labelled(CARD_FACE, CARD_BACK)
    sure = sure.where(sure.scores >= SURE_SCORE)
    return float(np.median(sure.long_sides_px())) if len(sure) else None
