"""Cards that only an index corner names: joined with the quads that were found, added where none was."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from vision.cards.fans import INDEX_SIZE_PX, Corner, belongs, cards_at, is_of_size, joint, quad_of, together
from vision.cards.index import IndexReader
from vision.cards.quads import iou
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


class FirstLook(Found):
    """A finder whose first look shows a card, and an index corner here or there; counts the closer looks."""

    looked_closer = 0

    def detect(self, image: np.ndarray, card_side_px: float | None = None) -> Detections:
        return Detections.joined(labelled(self._quads, CARD_FACE), labelled(self._corners, CORNER))

    def corners(self, image: np.ndarray, card_side_px: float | None) -> Detections:
        self.looked_closer += 1
        return labelled(self._corners, CORNER)


class Four(Unread):
    """A namer that is sure."""

    def probabilities(self, crops: np.ndarray) -> np.ndarray:
        return np.tile(np.array([0.99, 0.01, 0.0], np.float32), (len(crops), 1))


@pytest.mark.parametrize(("away", "cards", "closer"), [(110, ["4c", "7h"], 1), (0, ["4c"], 0)])
def test_a_stray_index_calls_for_a_closer_look_though_all_that_was_found_is_read(
    away: int, cards: list[str], closer: int
) -> None:
    """One card in full sight was read, and five that show no more than an index were never looked for."""
    finder = FirstLook([QUAD + np.array([away, 0], np.float32)], [INDEX])
    seen = CardReader(finder, Four(), IndexReader(WEIGHTS, BrightTop())).read(table())
    assert [one.card for one in seen] == cards
    assert finder.looked_closer == closer


TURNED = np.array([[100, 100], [163, 110], [150, 198], [87, 188]], np.float32)


def index_of(quad: np.ndarray, upside_down: bool = False) -> np.ndarray:
    """The index corner's box of a card's quad; upside down: the one at its other end."""
    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    box = np.array([[0.015, 0.022], [0.168, 0.022], [0.168, 0.268], [0.015, 0.268]], np.float32)
    onto = cv2.getPerspectiveTransform(unit, quad)
    moved = cv2.perspectiveTransform((1 - box if upside_down else box)[None], onto)
    return np.asarray(moved[0], np.float32)


def corner(quad: np.ndarray, upside_down: bool = False, told: tuple[float, ...] = (0.1, 0.85, 0.05)) -> Corner:
    return Corner(index_of(quad, upside_down), np.array(told, np.float32), 0.9)


@pytest.mark.parametrize("upside_down", [False, True])
def test_one_of_the_two_cards_at_an_index_is_the_card(upside_down: bool) -> None:
    box = index_of(TURNED, upside_down)
    side = float(np.linalg.norm(TURNED[3] - TURNED[0]))
    assert max(iou(candidate, TURNED) for candidate in cards_at(box, side)) > 0.95
    assert is_of_size(box, side)
    assert not is_of_size(box, 3 * side)


@pytest.mark.parametrize("upside_down", [False, True])
def test_an_index_belongs_to_its_card_and_not_to_the_next_in_the_fan(upside_down: bool) -> None:
    assert belongs(corner(QUAD, upside_down), QUAD) < 0.2
    assert belongs(corner(QUAD, upside_down), QUAD + np.array([12, 0], np.float32)) > 1
    across = np.roll(QUAD, 1, axis=0)  # the same place, but lying on its side
    assert belongs(corner(QUAD, upside_down), across) > 1


def test_the_two_indices_of_a_card_are_one_card_and_tell_its_quad() -> None:
    ends = [corner(TURNED), corner(TURNED, upside_down=True)]
    assert [sorted(group) for group in together(ends, None)] == [[0, 1]]
    told = quad_of(ends, None)
    assert told is not None
    assert iou(told, TURNED) > 0.9
    assert quad_of(ends[:1], None) is None
    assert joint(ends)[1] > 0.85


def test_indices_of_two_cards_are_two_cards() -> None:
    other = TURNED + np.array([25, 4], np.float32)
    assert len(together([corner(TURNED), corner(other, upside_down=True)], 89.0)) == 2
    named_otherwise = corner(TURNED, upside_down=True, told=(0.9, 0.05, 0.05))
    assert len(together([corner(TURNED), named_otherwise], 89.0)) == 2
