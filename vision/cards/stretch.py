"""How a picture is stretched, told by the cards in it: seen aslant, or squeezed into a file of another shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cards.shape import ASPECT

#: So many cards at least must tell of a stretch: one alone may be bent, cut off or of another shape.
FEWEST = 2

#: Stretches below the first are not worth a second look; beyond the second, cards are too narrow to be read at all.
WORTH, AT_MOST = 1.12, 2.6

#: Disagreement (of the cosine of a card's corner, or of its sides' ratio) beyond which a card counts little, and the
#: most that the typical card may disagree with what all tell together.
DISAGREES, UNTOLD = 0.08, 0.12

ROUNDS = 12

#: Pictures of fewer pixels may grow to as many.
LARGE_PX = 4_000_000

#: Cameras' pictures are so much wider than tall.
SQUEEZED = (4 / 3, 16 / 9)


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """What must be done to a picture for its cards to have a card's shape.

    matrix: (2, 3), pixels of the picture to those of the picture with the stretch undone. size_px: its width, height.
    by: how much longer it becomes along the one direction in which it is too short. told: by its cards, not guessed.
    """

    matrix: NDArray[np.float64]
    size_px: tuple[int, int]
    by: float
    told: bool

    @classmethod
    def told_by(cls, quads: Sequence[NDArray[np.float32]], size_px: tuple[int, int]) -> Stretch | None:
        """The stretch of a picture of `size_px` (width, height) by its cards; None where they tell of none.

        quads: (4, 2) pixels each, fitted to a card's edges, a short side of the card first.
        """
        metric = _metric(quads)
        if metric is None:
            return None
        values, vectors = np.linalg.eigh(metric)
        by = float(np.sqrt(values[1] / values[0]))
        if not WORTH < by < AT_MOST:
            return None
        linear = vectors @ np.diag([1.0, by]) @ vectors.T
        return cls._by(linear, by, size_px, told=True)

    @classmethod
    def of_square_files(cls, size_px: tuple[int, int]) -> list[Stretch]:
        """What may have been done to a square picture: no camera takes one, but files are squeezed to be square."""
        if size_px[0] != size_px[1]:
            return []
        return [cls._by(np.diag([by, 1.0]), by, size_px, told=False) for by in SQUEEZED]

    @classmethod
    def _by(cls, linear: NDArray[np.float64], by: float, size_px: tuple[int, int], *, told: bool) -> Stretch:
        width, height = size_px
        corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float64) @ linear.T
        low, high = corners.min(axis=0), corners.max(axis=0)
        # Large photographs grow no larger than they are.
        smaller = min(1.0, math.sqrt(max(width * height, LARGE_PX) / np.prod(high - low)))
        linear, low, high = linear * smaller, low * smaller, high * smaller
        wide, tall = np.ceil(high - low).astype(int)
        return cls(np.concatenate([linear, -low[:, None]], axis=1), (int(wide), int(tall)), by, told)

    def undone(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The picture with the stretch undone; what lies outside the old one is as its border."""
        return np.asarray(
            cv2.warpAffine(image, self.matrix, self.size_px, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE),
            np.uint8,
        )

    def onto(self, quad: NDArray[np.float32]) -> NDArray[np.float32]:
        """A quad (4, 2) of the picture as it was, in the picture with the stretch undone."""
        return np.asarray(quad @ self.matrix[:, :2].T + self.matrix[:, 2], np.float32)

    def back(self, quad: NDArray[np.float32]) -> NDArray[np.float32]:
        """A quad (4, 2) of the picture with the stretch undone, in the picture as it was."""
        return np.asarray((quad - self.matrix[:, 2]) @ np.linalg.inv(self.matrix[:, :2]).T, np.float32)


def _metric(quads: Sequence[NDArray[np.float32]]) -> NDArray[np.float64] | None:
    """The symmetric (2, 2) matrix M by which sides are perpendicular and as a card's: u·Mv = 0, u·Mu (88/63)² = v·Mv.

    Least squares over all cards, each equation divided by the lengths in it, outliers weighed down (Cauchy) as they
    disagree with the others; None where they don't agree.
    """
    if len(quads) < FEWEST:
        return None
    across = np.stack([(quad[1] - quad[0] + quad[2] - quad[3]) / 2 for quad in quads]).astype(np.float64)
    down = np.stack([(quad[3] - quad[0] + quad[2] - quad[1]) / 2 for quad in quads]).astype(np.float64)
    across /= ASPECT
    rows = np.concatenate([_products(across, down), (_products(across, across) - _products(down, down)) / 2])
    weights = np.ones(len(rows))
    m = np.array([1.0, 0.0, 1.0])
    for _ in range(ROUNDS):
        metric = np.array([[m[0], m[1]], [m[1], m[2]]])
        if np.linalg.det(metric) <= 0 or m[0] <= 0:
            return None
        lengths = [np.sqrt(np.einsum("ni,ij,nj->n", sides, metric, sides)) for sides in (across, down)]
        scaled = rows / np.tile(lengths[0] * lengths[1], 2)[:, None]
        off = scaled @ m
        each = np.hypot(*off.reshape(2, -1))
        weights = np.tile(1 / (1 + (each / DISAGREES) ** 2), 2)
        _, _, vectors = np.linalg.svd(scaled * np.sqrt(weights)[:, None])
        m = vectors[-1] * np.sign(vectors[-1][0] + vectors[-1][2])
    return metric if float(np.median(each)) < UNTOLD else None


def _products(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """The coefficients (n, 3) of M's entries (xx, xy, yy) in a·Mb, for vectors (n, 2)."""
    return np.stack([a[:, 0] * b[:, 0], a[:, 0] * b[:, 1] + a[:, 1] * b[:, 0], a[:, 1] * b[:, 1]], axis=1)
