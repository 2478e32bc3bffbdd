"""Names printed index corners, for cards of which little more shows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from vision.cards.fans import INDEX_GROWN, INDEX_SIZE_PX, index_crop
from vision.cards.reader import CROPS_AT_ONCE, NOTHING, softmax
from vision.network import Network, open_network
from vision.weights import Weights

#: A corner is read as it is found and from a larger crop, and both count: some prints stand further from the rank.
GROWN = (INDEX_GROWN, 1.45)


class IndexReader:
    """Reads index corners; an index upside down is nothing to it, so that it tells which end of a box is the rank."""

    def __init__(self, weights: Weights, network: Network) -> None:
        """Serve ``weights`` through ``network``."""
        size = (weights.input_width_px, weights.input_height_px)
        if weights.layout != "logits" or size != INDEX_SIZE_PX or NOTHING not in weights.classes:
            raise BadInput.of(weights.name, f"logits for crops of {INDEX_SIZE_PX}, with {NOTHING!r}", size)
        self.weights = weights
        self._network = network

    @classmethod
    def shipped(cls, name: str = "card-index", backend: str | None = None) -> IndexReader:
        """The reader that ships with the project."""
        weights = Weights.shipped(name)
        return cls(weights, open_network(weights.path, backend))

    def read(
        self, image: NDArray[np.uint8], corners: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """For corner boxes (n, 4, 2): probabilities (n, classes), and the boxes with the side above the rank first."""
        classes = self.weights.classes
        if not len(corners):
            return np.zeros((0, len(classes)), np.float32), corners
        sides = np.linalg.norm(corners - np.roll(corners, -1, axis=1), axis=2)
        lying = sides[:, 0] + sides[:, 2] > sides[:, 1] + sides[:, 3]
        upright = np.where(lying[:, None, None], np.roll(corners, -1, axis=1), corners).astype(np.float32)
        both = np.concatenate([upright, np.roll(upright, 2, axis=1)])
        crops = np.stack([index_crop(image, box, grown) for grown in GROWN for box in both])
        rgb = crops[..., ::-1].transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255)
        told = np.ascontiguousarray((rgb - np.float32(self.weights.mean)) / np.float32(self.weights.std))
        parts = [self._network(told[i : i + CROPS_AT_ONCE]) for i in range(0, len(told), CROPS_AT_ONCE)]
        logits = np.concatenate(parts).reshape(len(GROWN), len(both), -1).mean(axis=0)
        each_way = softmax(logits, self.weights.temperature).reshape(2, len(corners), -1)
        way = each_way[..., classes.index(NOTHING)].argmin(axis=0)
        rows = np.arange(len(corners))
        return each_way[way, rows], both.reshape(2, len(corners), 4, 2)[way, rows]
