"""Names rectified crops of cards: a probability for each card, both ways up."""

from __future__ import annotations

from typing import Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from vision.cards.seen import NO_CARD
from vision.network import Network, open_network
from vision.weights import Weights

#: Crops that a network takes at a time: memory stays small however many cards lie there.
CROPS_AT_ONCE = 32

#: A class of readers for what is no card at all, and one for backs.
NOTHING, BACK = NO_CARD, "back"


class Namer(Protocol):
    """Says what is printed on crops."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The cards that it knows."""
        ...

    @property
    def min_confidence(self) -> float:
        """The probability below which it abstains."""
        ...

    @property
    def crop_size_px(self) -> tuple[int, int]:
        """Width and height of the crops that it wants."""
        ...

    def probabilities(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        """For (n, height, width, 3) uint8 BGR crops, (n, classes) float32 that add up to 1."""
        ...


def rectified(image: NDArray[np.uint8], quad: NDArray[np.float32], size_px: tuple[int, int]) -> NDArray[np.uint8]:
    """The card in ``quad`` (4, 2) as an upright crop of width and height ``size_px``, from the picture's own pixels.

    What is larger than the crop is first made smaller by averaging, so that no pixel is skipped.
    """
    width, height = size_px
    side_px = max(
        (np.linalg.norm(quad[1] - quad[2]) + np.linalg.norm(quad[3] - quad[0])) / 2 / height,
        (np.linalg.norm(quad[0] - quad[1]) + np.linalg.norm(quad[2] - quad[3])) / 2 / width,
    )
    left, top = np.maximum(np.floor(quad.min(axis=0)).astype(int) - 2, 0)
    right, bottom = np.ceil(quad.max(axis=0)).astype(int) + 3
    part = image[top:bottom, left:right]
    if part.size == 0:
        return np.full((height, width, 3), 114, np.uint8)
    corners = quad - np.array([left, top], np.float32)
    if side_px > 1.5:
        small_w, small_h = max(1, round(part.shape[1] / side_px)), max(1, round(part.shape[0] / side_px))
        corners = (corners + 0.5) * np.array([small_w / part.shape[1], small_h / part.shape[0]], np.float32) - 0.5
        part = cv2.resize(part, (small_w, small_h), interpolation=cv2.INTER_AREA).astype(np.uint8)
    to = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32) - np.float32(0.5)
    homography = cv2.getPerspectiveTransform(corners.astype(np.float32), to)
    crop = cv2.warpPerspective(part, homography, size_px, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(crop, np.uint8)


class FaceReader:
    """The shipped reader of standard cards: a network on the crop, upright and upside down."""

    def __init__(self, weights: Weights, network: Network) -> None:
        """Serve ``weights`` through ``network``."""
        if weights.kind != "reader" or weights.layout != "logits":
            raise BadInput.of(weights.name, "a reader that gives logits", f"{weights.kind}, {weights.layout}")
        self.weights = weights
        self.network = network

    @classmethod
    def shipped(cls, name: str = "card-reader", backend: str | None = None) -> FaceReader:
        """The reader that ships with the project."""
        weights = Weights.shipped(name)
        return cls(weights, open_network(weights.path, backend))

    @property
    def classes(self) -> tuple[str, ...]:
        """The cards that it knows."""
        return self.weights.classes

    @property
    def min_confidence(self) -> float:
        """The probability below which it abstains."""
        return self.weights.min_confidence

    @property
    def crop_size_px(self) -> tuple[int, int]:
        """Width and height of the crops that it wants."""
        return self.weights.input_width_px, self.weights.input_height_px

    def probabilities(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(n, classes) float32 for (n, height, width, 3) uint8 BGR crops; the mean of both ways up."""
        answers = [
            self._both_ways_up(crops[start : start + CROPS_AT_ONCE]) for start in range(0, len(crops), CROPS_AT_ONCE)
        ]
        return np.concatenate(answers) if answers else np.zeros((0, len(self.classes)), np.float32)

    def _both_ways_up(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        rgb = crops[..., ::-1].transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255)
        upright = (rgb - np.float32(self.weights.mean)) / np.float32(self.weights.std)
        both = np.concatenate([upright, upright[:, :, ::-1, ::-1]])
        logits = self.network(np.ascontiguousarray(both))
        if logits.shape != (len(both), len(self.classes)):
            raise BadInput.of(self.weights.name, f"{len(self.classes)} numbers a crop", logits.shape)
        each_way = softmax(logits, self.weights.temperature).reshape(2, len(crops), -1)
        return np.asarray(each_way.mean(axis=0), np.float32)


def softmax(logits: NDArray[np.float32], temperature: float = 1.0) -> NDArray[np.float32]:
    """Probabilities of rows of logits."""
    scaled = logits / np.float32(temperature)
    powers = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True), np.float32)
