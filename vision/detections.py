"""What a detector found in one picture, and the one-method protocol of detectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

CARD_FACE = "card face"
CARD_BACK = "card back"
#: Four sides that stand out: a card of any design, or a box, a book, a mat.
CARD_OUTLINE = "card outline"
HAND = "hand"
#: The printed index of a face: rank above suit.
CORNER = "corner"


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """Things found in one picture, as parallel arrays.

    quads: (n, 4, 2) float32, pixels (x, y) of the picture, clockwise as seen, from the index corner; where
        which corner that is can't be told, the side from the first corner to the second is a short one.
    labels: (n,) str, what it is: ``card face``, ``card back``, ``hand``, ``corner``.
    scores: (n,) float32, 0 to 1, the detector's own.
    """

    quads: NDArray[np.float32]
    labels: NDArray[np.str_]
    scores: NDArray[np.float32]

    def __post_init__(self) -> None:
        """Validate the arrays together, and say all that is wrong."""
        object.__setattr__(self, "quads", np.ascontiguousarray(self.quads, np.float32))
        object.__setattr__(self, "labels", np.asarray(self.labels, np.str_))
        object.__setattr__(self, "scores", np.ascontiguousarray(self.scores, np.float32))
        n = len(self.scores)
        wrong = [
            f"{name}: expected {shape}, got {got}"
            for name, shape, got in [
                ("quads", (n, 4, 2), self.quads.shape),
                ("labels", (n,), self.labels.shape),
                ("scores", (n,), self.scores.shape),
            ]
            if shape != got
        ]
        if not np.isfinite(self.quads).all():
            wrong.append("quads: expected finite pixels, got NaN or infinity")
        if n and not ((self.scores >= 0) & (self.scores <= 1)).all():
            wrong.append(f"scores: expected 0 to 1, got {self.scores.min():g} to {self.scores.max():g}")
        if wrong:
            raise ValueError("; ".join(wrong))

    @classmethod
    def none(cls) -> Detections:
        """Nothing was found."""
        return cls(np.zeros((0, 4, 2), np.float32), np.zeros(0, np.str_), np.zeros(0, np.float32))

    @classmethod
    def joined(cls, *parts: Detections) -> Detections:
        """All of several, in their order."""
        if not parts:
            return cls.none()
        return cls(
            np.concatenate([part.quads for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.scores for part in parts]),
        )

    def __len__(self) -> int:
        """How many."""
        return len(self.scores)

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> Detections:
        """Those that a mask (n,) or indices choose: ``found.where(found.scores > 0.5)``."""
        return Detections(self.quads[chosen], self.labels[chosen], self.scores[chosen])

    def labelled(self, *labels: str) -> Detections:
        """Those with one of the labels."""
        return self.where(np.isin(self.labels, labels))

    def moved(self, scale: float, dx: float = 0.0, dy: float = 0.0) -> Detections:
        """The same in another picture's pixels: scaled, then shifted."""
        shift = np.array([dx, dy], np.float32)
        return Detections(self.quads * np.float32(scale) + shift, self.labels, self.scores)

    def boxes(self) -> NDArray[np.float32]:
        """Axis-aligned boxes, (n, 4) float32: left, top, right, bottom in pixels."""
        if not len(self):
            return np.zeros((0, 4), np.float32)
        return np.concatenate([self.quads.min(axis=1), self.quads.max(axis=1)], axis=1)

    def long_sides_px(self) -> NDArray[np.float32]:
        """The longer side of each quad, (n,) float32 pixels."""
        sides = np.linalg.norm(self.quads - np.roll(self.quads, -1, axis=1), axis=2)
        pairs = (sides[:, :2] + sides[:, 2:]) / 2
        return np.asarray(pairs.max(axis=1, initial=0.0), np.float32)


class Detector(Protocol):
    """Finds things in a picture; one method."""

    def detect(self, image: NDArray[np.uint8]) -> Detections:
        """What is in ``image``, (height, width, 3) uint8 BGR, in its pixels."""
        ...
