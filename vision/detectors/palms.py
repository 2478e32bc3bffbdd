"""Finds hands with MediaPipe's palm detector and hand landmarks: palms at several scales, then each hand's 21 points.

The slow path: a tenth of a second and more a picture. Anchors, decoding, weighted suppression, the turned square
around a hand and every threshold are those of MediaPipe 0.10.14 (its graphs `palm_detection_cpu`,
`palm_detection_detection_to_roi` and `hand_landmark_cpu`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from vision.cards.quads import clockwise_from_a_short_side
from vision.detections import HAND, Detections
from vision.network import Network, open_network
from vision.weights import Weights

Floats = NDArray[np.float32]

#: Of the network's grids: cells a side of a picture of 192 pixels, and anchors in each (strides 8, 16, 16, 16, and
#: two anchors a layer; all of size 1, so that only their middles count).
_GRIDS = ((24, 2), (12, 6))
#: Raw scores are cut here before the logistic function.
_SCORE_CLIP = 100.0
#: Palms that overlap so much are one.
_SAME_PALM_IOU = 0.3
#: Hands that overlap so much are one (`AssociationNormRectCalculator`).
_SAME_HAND_IOU = 0.5
#: A palm's points: the wrist and the middle finger's knuckle give its way.
_PALM_WRIST, _PALM_MIDDLE = 0, 2
#: The square around a hand: the palm's longer side so many times, moved towards the fingers by half a palm.
_ROI_SCALE, _ROI_SHIFT = 2.6, 0.5

#: Palms of a tenth of what is looked at are found, smaller ones seldom: besides the whole picture, squares of three
#: eighths of its longer side are looked at (six of 1280×720), overlapping by a sixth of theirs.
_TILE, _OVERLAP = 0.375, 1 / 6

#: The 21 points (`HandLandmark`): wrist, then four of the thumb and of each finger from the root to the tip.
WRIST, THUMB, INDEX, MIDDLE, RING, PINKY = 0, 1, 5, 9, 13, 17
POINTS = 21
#: The points lie on the bones; skin is half a finger's breadth further out: 9 of the 95 mm from wrist to knuckle.
_FLESH = 0.095


@dataclass(frozen=True, slots=True, eq=False)
class Palms:
    """Palms in one picture, as parallel arrays.

    boxes: (n, 4) float32 left, top, right, bottom in pixels. points: (n, 7, 2) float32 pixels: wrist, the knuckles of
    index, middle, ring and little finger, the thumb's root and its knuckle. scores: (n,) float32, 0 to 1.
    """

    boxes: Floats
    points: Floats
    scores: Floats

    @classmethod
    def joined(cls, parts: Sequence[Palms]) -> Palms:
        """All of several (one at least), in their order."""
        return cls(
            np.concatenate([part.boxes for part in parts]),
            np.concatenate([part.points for part in parts]),
            np.concatenate([part.scores for part in parts]),
        )

    def __len__(self) -> int:
        """How many."""
        return len(self.scores)

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> Palms:
        """Those that a mask (n,) or indices choose."""
        return Palms(self.boxes[chosen], self.points[chosen], self.scores[chosen])


@dataclass(frozen=True, slots=True, eq=False)
class Hand:
    """One hand.

    points: (21, 2) float32 pixels of the picture. world_m: (21, 3) float32 metres about the hand's middle, x and y
    along the turned square, z away from the camera: estimated from the picture alone. presence: that there is a hand,
    0 to 1; score: the palm's.
    """

    points: Floats
    world_m: Floats
    presence: float
    score: float

    def box(self) -> Floats:
        """The whole hand up to the wrist, fingers and flesh included: left, top, right, bottom in pixels, (4,)."""
        length = float(np.linalg.norm(self.points[MIDDLE] - self.points[WRIST]))
        breadth = float(np.linalg.norm(self.points[INDEX] - self.points[PINKY]))
        # Seen along its length a hand is short; its knuckles are then as wide as ever: 60 mm of 95.
        flesh = _FLESH * max(length, breadth * 95 / 60)
        return np.concatenate([self.points.min(axis=0) - flesh, self.points.max(axis=0) + flesh]).astype(np.float32)


class PalmDetector:
    """Hands by palm and landmarks; a `vision.detections.Detector` of hands."""

    def __init__(self, palms: Weights, palm_network: Network, landmarks: Weights, landmark_network: Network) -> None:
        """Serve both networks."""
        for weights, layout in ((palms, "palm-anchors"), (landmarks, "hand-landmarks")):
            if weights.layout != layout:
                raise BadInput.of(f"{weights.name}: layout", layout, repr(weights.layout))
        self._palms, self._palm_network = palms, palm_network
        self._landmarks, self._landmark_network = landmarks, landmark_network

    @classmethod
    def shipped(cls, backend: str | None = None) -> PalmDetector:
        """The networks that ship with the project."""
        palms, landmarks = Weights.shipped("palm-detector"), Weights.shipped("hand-landmarks")
        return cls(palms, open_network(palms.path, backend), landmarks, open_network(landmarks.path, backend))

    def detect(self, image: NDArray[np.uint8]) -> Detections:
        """The hands in ``image``, (height, width, 3) uint8 BGR: upright boxes, best first."""
        hands = self.hands(image)
        if not hands:
            return Detections.none()
        height, width = image.shape[:2]
        left, top, right, bottom = np.stack([hand.box() for hand in hands]).T
        x, y = (np.clip([low, high], 0, size) for low, high, size in ((left, right, width), (top, bottom, height)))
        quads = np.stack([np.stack([x[i], y[j]], axis=1) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))], axis=1).astype(
            np.float32
        )
        scores = np.array([hand.score for hand in hands], np.float32)
        return Detections(clockwise_from_a_short_side(quads), np.full(len(hands), HAND), scores)

    def hands(self, image: NDArray[np.uint8], *, tiled: bool = True) -> list[Hand]:
        """The hands in ``image``, best palm first; as a whole only where not ``tiled``."""
        found = [self.hand_at(image, *roi_of(palms)) for palms in _one_by_one(self.palms(image, tiled=tiled))]
        return _without_doubles([hand for hand in found if hand.presence >= self._landmarks.min_confidence])

    def palms(self, image: NDArray[np.uint8], *, tiled: bool = True) -> Palms:
        """The palms in ``image`` as a whole and, where ``tiled``, in its tiles."""
        height, width = image.shape[:2]
        views = [(0, 0, width, height)]
        if tiled:
            views += tiles(width, height, self._palms.input_side_px)
        side = self._palms.input_side_px
        batch = np.stack([_letterboxed(image[top:bottom, left:right], side) for left, top, right, bottom in views])
        parts = []
        for view, output in zip(views, self._palm_network(batch), strict=True):
            found = decoded(output, self._palms.min_confidence)
            parts.append(_whole_in(view, _unboxed(found, view), width, height))
        return weighted(Palms.joined(parts))

    def hand_at(self, image: NDArray[np.uint8], middle: Floats, side: float, turn: float, score: float) -> Hand:
        """The hand in a square of ``image``: its middle (2,) and side in pixels, turned clockwise by ``turn``."""
        size = self._landmarks.input_width_px
        crop, to_picture = _turned_crop(image, middle, side, turn, size)
        output = self._landmark_network(_channels_first(crop)[None])[0]
        flat = output[: 3 * POINTS].reshape(POINTS, 3)[:, :2]
        points = flat @ to_picture[:, :2].T + to_picture[:, 2]
        presence, world = float(output[3 * POINTS]), output[3 * POINTS + 2 :].reshape(POINTS, 3)
        return Hand(points.astype(np.float32), world.astype(np.float32), presence, score)


def anchors() -> Floats:
    """Middles of the network's anchors, (2016, 2) float32 x, y as shares of the input, row by row."""
    layers = []
    for cells, each in _GRIDS:
        middles = (np.arange(cells) + 0.5) / cells
        y, x = np.meshgrid(middles, middles, indexing="ij")
        layers.append(np.repeat(np.stack([x, y], axis=-1).reshape(-1, 2), each, axis=0))
    return np.concatenate(layers).astype(np.float32)


_ANCHORS = anchors()


def decoded(output: Floats, min_confidence: float, side: float = 192.0) -> Palms:
    """Palms of the raw output, (2016, 19): middle, size and seven points from the anchor in pixels, score.

    Boxes and points are shares of the input, before any suppression.
    """
    if output.shape != (len(_ANCHORS), 19):
        raise BadInput.of("palms", f"({len(_ANCHORS)}, 19) numbers", output.shape)
    scores = 1 / (1 + np.exp(-np.clip(output[:, 18].astype(np.float64), -_SCORE_CLIP, _SCORE_CLIP)))
    chosen = np.flatnonzero((scores >= min_confidence) & np.isfinite(output).all(axis=1))
    rows, at = output[chosen, :18] / np.float32(side), _ANCHORS[chosen]
    middle, half = rows[:, :2] + at, rows[:, 2:4] / 2
    points = rows[:, 4:].reshape(-1, 7, 2) + at[:, None]
    return Palms(np.concatenate([middle - half, middle + half], axis=1), points, scores[chosen].astype(np.float32))


def weighted(palms: Palms) -> Palms:
    """One palm for all that overlap: the mean by score of boxes and points, with the best score; best first."""
    left = palms.where(np.argsort(-palms.scores, kind="stable"))
    kept = []
    while len(left):
        same = _iou(left.boxes[0], left.boxes) > _SAME_PALM_IOU
        same[0] = True
        share = left.scores[same] / left.scores[same].sum()
        box = (left.boxes[same] * share[:, None]).sum(axis=0)
        points = (left.points[same] * share[:, None, None]).sum(axis=0)
        kept.append(Palms(box[None], points[None], left.scores[:1]))
        left = left.where(~same)
    return Palms.joined(kept) if kept else palms


def tiles(width: int, height: int, input_side_px: int) -> list[tuple[int, int, int, int]]:
    """Overlapping squares (left, top, right, bottom) that cover a picture; none where they would show no more."""
    side = round(_TILE * max(width, height))
    if side < input_side_px:
        return []
    lefts, tops = (_starts(length, side) for length in (width, height))
    return [(x, y, min(x + side, width), min(y + side, height)) for y in tops for x in lefts]


def _starts(length: int, side: int) -> list[int]:
    count = 1 + math.ceil(max(0, length - side) / (side * (1 - _OVERLAP)))
    return [round(start) for start in np.linspace(0, max(0, length - side), count).tolist()]


def roi_of(palm: Palms) -> tuple[Floats, float, float, float]:
    """The square around one palm's hand: its middle (2,), its side, how far it is turned clockwise, the score."""
    box, points = palm.boxes[0], palm.points[0]
    along_x, along_y = points[_PALM_MIDDLE] - points[_PALM_WRIST]
    turn = math.pi / 2 - math.atan2(-along_y, along_x)
    width, height = box[2:] - box[:2]
    fingers = np.array([math.sin(turn), -math.cos(turn)], np.float32)
    middle = (box[:2] + box[2:]) / 2 + _ROI_SHIFT * height * fingers
    return middle, _ROI_SCALE * float(max(width, height)), turn, float(palm.scores[0])


def _one_by_one(palms: Palms) -> list[Palms]:
    return [palms.where(np.array([k])) for k in range(len(palms))]


def _without_doubles(hands: Sequence[Hand]) -> list[Hand]:
    """Of hands that are one and the same, the first."""
    kept: list[Hand] = []
    for hand in hands:
        if not kept or _iou(hand.box(), np.stack([other.box() for other in kept])).max() <= _SAME_HAND_IOU:
            kept.append(hand)
    return kept


def _iou(box: Floats, boxes: Floats) -> Floats:
    """Intersection over union of a box (4,) with boxes (n, 4)."""
    shared = np.maximum(np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2]), 0).prod(axis=1)
    area, areas = (box[2:] - box[:2]).prod(), (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    return np.asarray(shared / np.maximum(area + areas - shared, 1e-6), np.float32)


def _letterboxed(image: NDArray[np.uint8], side: int) -> Floats:
    """A picture in the middle of a black square, (3, side, side) float32 RGB 0 to 1."""
    height, width = image.shape[:2]
    scale = side / max(height, width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    square = np.zeros((side, side, 3), np.uint8)
    left, top = (side - size[0]) // 2, (side - size[1]) // 2
    square[top : top + size[1], left : left + size[0]] = small
    return _channels_first(square)


def _channels_first(image: NDArray[np.uint8]) -> Floats:
    return np.ascontiguousarray(image[..., ::-1].transpose(2, 0, 1), np.float32) / np.float32(255)


def _unboxed(palms: Palms, view: tuple[int, int, int, int]) -> Palms:
    """Shares of a letterboxed view as pixels of the picture."""
    left, top, right, bottom = view
    side = max(right - left, bottom - top)
    origin = np.array([left - (side - (right - left)) / 2, top - (side - (bottom - top)) / 2], np.float32)
    return Palms(palms.boxes * side + np.tile(origin, 2), palms.points * side + origin, palms.scores)


def _whole_in(view: tuple[int, int, int, int], palms: Palms, width: int, height: int) -> Palms:
    """Without those that a tile's edge cuts, for a neighbour or the whole picture has them whole."""
    left, top, right, bottom = view
    boxes = palms.boxes
    cut = (boxes[:, 0] < left) & (left > 0) | (boxes[:, 2] > right) & (right < width)
    cut |= (boxes[:, 1] < top) & (top > 0) | (boxes[:, 3] > bottom) & (bottom < height)
    return palms.where(~cut)


def _turned_crop(
    image: NDArray[np.uint8], middle: Floats, side: float, turn: float, size: int
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """A turned square as (size, size, 3) uint8, edges repeated, and the (2, 3) map from its pixels to the picture."""
    scale = side / size
    cos, sin = math.cos(turn) * scale, math.sin(turn) * scale
    turned = np.array([[cos, -sin], [sin, cos]])
    shift = np.asarray(middle, np.float64) - turned @ np.full(2, size / 2)
    to_picture = np.column_stack([turned, shift])
    # A big hand is shrunk by area first: bilinear sampling alone would skip pixels.
    shrink = min(1.0, 1.5 / scale)
    small = image if shrink == 1 else cv2.resize(image, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
    crop = cv2.warpAffine(
        small,
        to_picture * shrink,
        (size, size),
        flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return np.asarray(crop, np.uint8), to_picture
