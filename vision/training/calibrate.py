"""How good and how sure a reader is on crops that it has not seen: temperature, threshold, what it confuses."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vision.cards.reader import softmax
from vision.training.cards_art import CLASSES, NOTHING

#: Temperatures that are tried: from twice as sure to three times less.
TEMPERATURES = np.geomspace(0.4, 3.0, 40)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader makes of crops, both ways up meaned.

    named, truth: (n,) classes; confidence: (n,) of the class that is named.
    """

    named: npt.NDArray[np.int64]
    truth: npt.NDArray[np.int64]
    confidence: npt.NDArray[np.float64]

    @classmethod
    def of(cls, logits: npt.NDArray[np.float32], truth: npt.NDArray[np.integer], temperature: float) -> Reading:
        """From logits of both ways up, (2, n, classes)."""
        chances = softmax(logits, temperature).mean(axis=0)
        named = chances.argmax(axis=1)
        return cls(named, truth.astype(np.int64), chances.max(axis=1).astype(np.float64))

    @property
    def right(self) -> npt.NDArray[np.bool_]:
        """Which are named rightly."""
        return np.asarray(self.named == self.truth, np.bool_)

    def shares(self, least: float) -> tuple[float, float, float]:
        """Right, wrong and abstained when only confidences of at least `least` are spoken; nothing is no name."""
        spoken = (self.confidence >= least) & (self.named != NOTHING)
        cards = self.truth != NOTHING
        count = max(1, int(cards.sum()))
        right = int((spoken & self.right & cards).sum())
        wrong = int((spoken & ~self.right & cards).sum())
        return right / count, wrong / count, 1 - (right + wrong) / count

    def confusions(self, most: int = 12) -> list[tuple[str, int]]:
        """The commonest wrong namings, as `7h for 2h`."""
        missed = zip(self.named[~self.right], self.truth[~self.right], strict=True)
        pairs = Counter(f"{CLASSES[named]} for {CLASSES[truth]}" for named, truth in missed)
        return pairs.most_common(most)


def best_temperature(logits: npt.NDArray[np.float32], truth: npt.NDArray[np.integer]) -> float:
    """The temperature under which the truth is likeliest, for both ways up meaned; logits (2, n, classes)."""
    rows = np.arange(len(truth))

    def surprise(temperature: float) -> float:
        chances = softmax(logits, temperature).mean(axis=0)[rows, truth]
        return float(-np.log(np.maximum(chances, 1e-6)).mean())

    return float(min(TEMPERATURES, key=surprise))
