"""A detector that runs a YOLO network with oriented boxes or four corners from its .onnx file."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from vision.cards.quads import clockwise_from_a_short_side, without_duplicates
from vision.detections import Detections
from vision.network import Network, open_network
from vision.weights import Weights

#: Of the raw anchors no more than this many, best first, are compared for duplicates: a table of 110 cards
#: has some ten anchors a card that pass the threshold.
ANCHORS_KEPT = 1500

#: What YOLO pads with, in training too.
PADDING_GREY = 114


class OnnxDetector:
    """Looks at a whole picture once, at one scale.

    The picture is scaled so that its longer side is ``input_side_px`` (or by ``scale`` where given), padded
    to the network's stride, never enlarged beyond what the caller asks for.
    """

    def __init__(self, weights: Weights, network: Network, min_confidence: float | None = None) -> None:
        """Serve ``weights`` through ``network``."""
        if weights.layout not in DECODERS:
            raise BadInput.of(f"{weights.name}: layout", " or ".join(DECODERS), repr(weights.layout))
        self.weights = weights
        self._network = network
        self._decode = DECODERS[weights.layout]
        self._min_confidence = weights.min_confidence if min_confidence is None else min_confidence

    @classmethod
    def shipped(cls, name: str = "card-detector", backend: str | None = None) -> OnnxDetector:
        """The detector that ships with the project."""
        weights = Weights.shipped(name)
        return cls(weights, open_network(weights.path, backend))

    def detect(self, image: NDArray[np.uint8]) -> Detections:
        """What is in ``image``, (height, width, 3) uint8 BGR; at the first look's scale."""
        return self.detect_at(image, self.weights.input_side_px / max(image.shape[:2]))

    def detect_at(self, image: NDArray[np.uint8], scale: float) -> Detections:
        """What is in ``image`` when it is looked at ``scale`` times its size."""
        batch, scale_x, scale_y = letterboxed(image, scale, self.weights)
        output = self._network(batch)
        found = self._decode(output[0], self.weights.classes, self._min_confidence)
        found = without_duplicates(found)
        quads = np.asarray(found.quads / np.array([scale_x, scale_y], np.float32), np.float32)
        return Detections(clockwise_from_a_short_side(quads), found.labels, found.scores)


def letterboxed(image: NDArray[np.uint8], scale: float, weights: Weights) -> tuple[NDArray[np.float32], float, float]:
    """The network's input (1, 3, h, w) float32 at a scale, and the scales in x and y that it really has."""
    height, width = image.shape[:2]
    to_width, to_height = max(1, round(width * scale)), max(1, round(height * scale))
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    small = cv2.resize(image, (to_width, to_height), interpolation=how)
    stride = weights.stride_px
    padded = np.full((-(-to_height // stride) * stride, -(-to_width // stride) * stride, 3), PADDING_GREY, np.uint8)
    padded[:to_height, :to_width] = small
    chw = padded[..., ::-1].transpose(2, 0, 1)[None]
    batch = (chw.astype(np.float32) / np.float32(255) - np.float32(weights.mean)) / np.float32(weights.std)
    return np.ascontiguousarray(batch), to_width / width, to_height / height


def decoded_oriented_boxes(output: NDArray[np.float32], classes: tuple[str, ...], min_confidence: float) -> Detections:
    """Decode a YOLO OBB head's raw output, (4 + classes + 1, anchors): x, y, w, h, class scores, angle."""
    expected = 4 + len(classes) + 1
    if output.ndim != 2 or output.shape[0] != expected:
        raise BadInput.of("oriented boxes", f"({expected}, anchors) numbers", output.shape)
    label, score, rows = _confident(output, classes, min_confidence)
    x, y, w, h = rows[:4]
    angle = rows[-1]
    cos, sin = np.cos(angle), np.sin(angle)
    half_w = np.stack([cos * w, sin * w], axis=1) / 2
    half_h = np.stack([-sin * h, cos * h], axis=1) / 2
    centre = np.stack([x, y], axis=1)
    quads = np.stack(
        [centre - half_w - half_h, centre + half_w - half_h, centre + half_w + half_h, centre - half_w + half_h],
        axis=1,
    )
    return Detections(np.asarray(quads, np.float32), label, score)


def decoded_corners(output: NDArray[np.float32], classes: tuple[str, ...], min_confidence: float) -> Detections:
    """Decode a YOLO pose head with four keypoints: x, y, w, h, class scores, then x, y (, seen) a corner."""
    per_corner = (output.shape[0] - 4 - len(classes)) / 4
    if output.ndim != 2 or per_corner not in (2, 3):
        expected = f"({4 + len(classes) + 8} or {4 + len(classes) + 12}, anchors) numbers"
        raise BadInput.of("four corners", expected, output.shape)
    label, score, rows = _confident(output, classes, min_confidence)
    points = rows[4 + len(classes) :].reshape(4, int(per_corner), -1)[:, :2]
    return Detections(points.transpose(2, 0, 1), label, score)


def _confident(
    output: NDArray[np.float32], classes: tuple[str, ...], min_confidence: float
) -> tuple[NDArray[np.str_], NDArray[np.float32], NDArray[np.float32]]:
    """Labels, scores and columns of the anchors above the threshold, the best first."""
    by_class = output[4 : 4 + len(classes)]
    best = by_class.argmax(axis=0)
    score = by_class.max(axis=0)
    chosen = np.flatnonzero((score >= min_confidence) & np.isfinite(output).all(axis=0))
    chosen = chosen[np.argsort(-score[chosen], kind="stable")][:ANCHORS_KEPT]
    return np.asarray(classes, np.str_)[best[chosen]], score[chosen].clip(0, 1), output[:, chosen]


Decoder = Callable[[NDArray[np.float32], tuple[str, ...], float], Detections]

DECODERS: dict[str, Decoder] = {"yolo-obb": decoded_oriented_boxes, "yolo-corners": decoded_corners}
