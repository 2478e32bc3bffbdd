"""Cards that only an index corner names: joined with the quads that were found, added where none was."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vision.cards.fans import INDEX_SIZE_PX
from vision.cards.index import IndexReader
from vision.cards.read import CardReader
from vision.detections import CARD_FACE, CORNER, Detections
from vision.weights import Weights

QUAD = np.array([[100, 100], [163, 100], [163, 188], [100, 188]], np.float32)
INDEX = np.array([[101, 102], [110.5, 102], [110.5, 123.5], [101, 123.5]], np.float32)
WEIGHTS = Weights(
    "index",
    Path("index.onnx"),
    "index reader",
    "logits",
    ("4c", "7h", "nothing"),
    mean=0.5,
    std=0.25,
    input_width_px=INDEX_SIZE_PX[0],
    input_height_px=INDEX_SIZE_PX[1],
    min_confidence=0.85,
)


class BrightTop:
    """Says 7h of a crop that is bright above and dark below, nothing of one that is the other way up."""

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        above, below = batch[:, :, :30].mean(axis=(1, 2, 3)), batch[:, :, -30:].mean(axis=(1, 2, 3))
        seven = (above > below) * 9.0
        return np.stack([0 * seven, seven, 9 - seven], axis=1).astype(np.float32)


class Unread:
    """A namer that can't tell any card."""

    classes = ("4c", "7h", "nothing")
    min_confidence = 0.8
    crop_size_px = (12, 17)

    def probabilities(self, crops: np.ndarray) -> np.ndarray:
        return np.tile(np.array([0.5, 0.5, 0.0], np.float32), (len(crops), 1))


class Found:
    """A finder with a card (or none) and index corners."""

    def __init__(self, quads: list[np.ndarray], corners: list[np.ndarray]) -> None:
        self._quads, self._corners = quads, corners

    def detect(self, image: np.ndarray, card_side_px: float | None = None) -> Detections:
        return labelled(self._quads, CARD_FACE)

    def corners(self, image: np.ndarray, card_side_px: float | None) -> Detections:
        return labelled(self._corners, CORNER)


def labelled(quads: list[np.ndarray], label: str) -> Detections:
    n = len(quads)
    return Detections(np.array(quads, np.float32).reshape(-1, 4, 2), np.full(n, label), np.full(n, 0.9, np.float32))


def table(upside_down: bool = False) -> np.ndarray:
    picture = np.full((300, 300, 3), 128, np.uint8)
    picture[95:113, 95:118] = 20 if upside_down else 250
    picture[113:130, 95:118] = 250 if upside_down else 20
    return picture


def read(image: np.ndarray, found: Found) -> list[tuple[str | None, tuple[float, ...]]]:
    reader = CardReader(found, Unread(), IndexReader(WEIGHTS, BrightTop()))
    return [(one.card, tuple(one.quad.mean(axis=0).round())) for one in reader.read(image)]


def test_a_quad_that_could_not_be_read_is_named_by_its_index() -> None:
    assert read(table(), Found([QUAD], [INDEX])) == [("7h", (132.0, 144.0))]


def test_an_index_without_a_quad_adds_the_card_that_it_belongs_to() -> None:
    ((card, middle),) = read(table(), Found([], [INDEX]))
    assert card == "7h"
    assert np.abs(np.array(middle) - QUAD.mean(axis=0)).max() < 6


def test_an_index_at_the_far_end_is_read_upside_down() -> None:
    """The card's other index has its rank below: the card then lies above and to the left of it."""
    ((card, middle),) = read(table(upside_down=True), Found([], [INDEX]))
    assert card == "7h"
    assert middle[1] < 113


def test_a_box_of_another_size_than_an_index_of_these_cards_names_nothing() -> None:
    small = INDEX.mean(axis=0) + (INDEX - INDEX.mean(axis=0)) * 0.4
    reader = CardReader(Found([QUAD], [small]), Unread(), IndexReader(WEIGHTS, BrightTop()))
    seen = reader.read(table(), card_side_px=88.0)
    assert [one.card for one in seen] == [None]
