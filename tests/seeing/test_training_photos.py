"""Labelled photographs for training: quads from loose labels, mirrored pictures told."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from vision.benches.labelled import Kind, Label
from vision.detections import CARD_FACE, Detections
from vision.training.cards_art import BACK, CARDS, JOKER
from vision.training.photos import (
    Labeller,
    PhotoCard,
    class_of,
    held_out,
    in_a_corner,
    in_a_mirror,
    matched,
    upright_by_corners,
)

TALL = np.array([[40, 30], [103, 30], [103, 118], [40, 118]], np.float32)


def table_with(quad: np.ndarray) -> np.ndarray:
    picture = np.full((240, 240, 3), 40, np.uint8)
    cv2.fillConvexPoly(picture, quad.astype(np.int32), (250, 250, 250))
    return picture


def found(*quads: np.ndarray) -> Detections:
    return Detections(np.array(quads), np.full(len(quads), CARD_FACE), np.ones(len(quads), np.float32))


@pytest.mark.parametrize(
    ("story", "label", "matches"),
    [
        ("a close box", Label("7h", Kind.WHOLE, np.array([[41, 31, 102, 117]], np.float32)), True),
        ("a box of half the card", Label("7h", Kind.WHOLE, np.array([[41, 31, 102, 70]], np.float32)), False),
        (
            "both index corners",
            Label("7h", Kind.CORNERS, np.array([[42, 33, 52, 53], [92, 95, 101, 115]], np.float32)),
            True,
        ),
        (
            "a corner and a middle",
            Label("7h", Kind.CORNERS, np.array([[42, 33, 52, 53], [65, 65, 75, 80]], np.float32)),
            False,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_label_is_given_the_quad_that_fits_it(story: str, label: Label, matches: bool) -> None:
    cards = matched([label], found(TALL), table_with(TALL))
    assert [card.label for card in cards] == (["7h"] if matches else []), story


def test_a_quad_that_two_labels_claim_is_given_to_neither() -> None:
    label = Label("7h", Kind.WHOLE, np.array([[41, 31, 102, 117]], np.float32))
    other = Label("8h", Kind.WHOLE, np.array([[40, 30, 103, 118]], np.float32))
    assert matched([label, other], found(TALL), table_with(TALL)) == ()


def test_corner_thirds() -> None:
    assert in_a_corner(TALL, np.array([45, 40], np.float32))
    assert in_a_corner(TALL, np.array([98, 110], np.float32))
    assert not in_a_corner(TALL, np.array([71, 74], np.float32))
    assert not in_a_corner(TALL, np.array([200, 200], np.float32))


@pytest.mark.parametrize(
    ("label", "number"),
    [("Ac", 0), ("Ks", 51), ("joker red", JOKER), ("back", BACK), ("K", None), ("*h", None)],
)
def test_labels_become_classes(label: str, number: int | None) -> None:
    assert class_of(label) == number


class SeesLeftAndRight:
    """A reader that names a crop by the side on which it is dark: 7h left, 2c right."""

    crop_size_px = (96, 136)

    def probabilities(self, crops: np.ndarray) -> np.ndarray:
        out = np.full((len(crops), 55), 1e-3, np.float32)
        for row, crop in zip(out, crops, strict=True):
            dark_left = crop[:, :48].mean() < crop[:, 48:].mean()
            row[CARDS.index("7h" if dark_left else "2c")] = 0.9
        return out


@pytest.mark.parametrize(("dark", "mirrored"), [("left", False), ("right", True)])
def test_a_flipped_picture_is_told_by_its_cards(dark: str, mirrored: bool) -> None:
    """Cards that read as labelled only in a mirror mean that the photograph was flipped."""
    picture = table_with(TALL)
    columns = slice(40, 70) if dark == "left" else slice(73, 103)
    picture[30:118, columns] = 60
    labeller = Labeller(None, SeesLeftAndRight())  # type: ignore[arg-type]  # only the reader is asked
    assert (labeller.upright_gain(picture, [PhotoCard("7h", TALL)]) < 0) is mirrored
    back, cards = in_a_mirror(picture, [PhotoCard("7h", TALL)])
    assert (labeller.upright_gain(back, cards) < 0) is not mirrored


def test_of_a_picture_without_known_cards_it_cannot_be_told() -> None:
    labeller = Labeller(None, SeesLeftAndRight())  # type: ignore[arg-type]  # only the reader is asked
    assert labeller.upright_gain(table_with(TALL), [PhotoCard("K", TALL)]) == 0


def test_one_picture_in_eight_is_kept_for_validation_and_stays_so() -> None:
    kept = [held_out(Path(f"IMG_{number}.jpg")) for number in range(2000)]
    assert 0.09 < np.mean(kept) < 0.16
    assert held_out(Path("a/IMG_7.jpg")) == held_out(Path("b/IMG_7.jpg"))


def test_a_mirrored_quad_is_still_clockwise_with_a_short_side_first() -> None:
    picture, (card,) = in_a_mirror(table_with(TALL), [PhotoCard("7h", TALL)])
    assert cv2.contourArea(card.quad, oriented=True) > 0
    assert np.linalg.norm(card.quad[0] - card.quad[1]) < np.linalg.norm(card.quad[1] - card.quad[2])
    x, y = card.quad.mean(axis=0).astype(int)
    assert picture[y, x].min() > 200


@pytest.mark.parametrize(("mirrored", "sign"), [(False, 1), (True, -1)])
def test_corner_labels_tell_a_mirrored_picture(mirrored: bool, sign: int) -> None:
    """An index stands at the left of a card's upper end and at the right of its lower one."""
    boxes = np.array([[42, 33, 52, 53], [92, 95, 101, 115]], np.float32)
    if mirrored:
        boxes[:, [0, 2]] = 143 - boxes[:, [2, 0]]
    label = Label("7h", Kind.CORNERS, boxes)
    assert upright_by_corners([label], [PhotoCard("7h", TALL)]) == sign * 6
    assert upright_by_corners([Label("7h", Kind.WHOLE, boxes[:1])], [PhotoCard("7h", TALL)]) == 0
