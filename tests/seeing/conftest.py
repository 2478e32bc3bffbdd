"""What several tests of seeing begin from."""

from __future__ import annotations

import numpy as np
import pytest

from vision.cards.outlines import OutlineDetector
from vision.cards.read import CardReader
from vision.detections import Detections


class OutlinesOnly:
    def detect(self, image: np.ndarray, card_side_px: float | None = None) -> Detections:
        return OutlineDetector().detect(image)

    def corners(self, image: np.ndarray, card_side_px: float | None) -> Detections:
        return Detections.none()


class Unnamed:
    classes = ("nothing",)
    min_confidence = 0.9
    crop_size_px = (96, 136)

    def probabilities(self, crops: np.ndarray) -> np.ndarray:
        return np.ones((len(crops), 1), np.float32)


@pytest.fixture
def outline_reader() -> CardReader:
    """A reader that finds cards by their outlines, without any network, and can name none."""
    return CardReader(OutlinesOnly(), Unnamed())
