"""Cards of which an index shows are laid where it says: by the shape of others, by edges, by all their indices."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from vision.cards.edges import fitted_at_index
from vision.cards.fans import INDEX, Corner, belongs, cards_at
from vision.cards.looks import Look
from vision.cards.placing import Placing, pulled
from vision.cards.quads import iou
from vision.cards.shape import ASPECT, Shape
from vision.cards.stretch import Stretch

SIDE = 140.0
NOTHING_SEEN = np.zeros((500, 500, 3), np.uint8)


def laid(turn: float = 0.0, at: tuple[float, float] = (250, 250), linear: np.ndarray | None = None) -> np.ndarray:
    """A card's quad (4, 2), turned by degrees, seen through a (2, 2) map."""
    card = np.array([[-ASPECT, -1], [ASPECT, -1], [ASPECT, 1], [-ASPECT, 1]]) * SIDE / 2
    cos, sin = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    turned = card @ np.array([[cos, sin], [-sin, cos]])
    return np.asarray(turned @ (np.eye(2) if linear is None else linear).T + at, np.float32)


def index_of(quad: np.ndarray, right: bool = False, far: bool = False, told: tuple[float, ...] = (1, 0, 0)) -> Corner:
    """The left or right index at a card's near or far end."""
    left, top, end, bottom = INDEX
    box = np.array([[left, top], [end, top], [end, bottom], [left, bottom]], np.float32)
    if right:
        box[:, 0] += 1 - left - end
    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    onto = cv2.getPerspectiveTransform(unit, quad.astype(np.float32))
    return Corner(cv2.perspectiveTransform((1 - box if far else box)[None], onto)[0], np.array(told, np.float32), 0.9)


def painted(quad: np.ndarray, covered: np.ndarray | None = None) -> np.ndarray:
    """A grey table with a white card on it, and perhaps a dark one on that."""
    picture = np.full((500, 500, 3), 100, np.uint8)
    cv2.fillConvexPoly(picture, np.round(quad).astype(np.int32), (240, 240, 240))
    if covered is not None:
        cv2.fillConvexPoly(picture, np.round(covered).astype(np.int32), (40, 60, 40))
    return picture


@pytest.mark.parametrize("right", [False, True])
def test_a_card_is_fitted_to_the_edges_beside_its_index_when_others_are_covered(right: bool) -> None:
    card = laid(20)
    picture = painted(card, laid(20, (238, 285)))  # its lower two thirds are covered
    loose = laid(14, (256, 254))
    fitted, seen = fitted_at_index(picture, loose, right)
    assert iou(loose, card) < 0.86
    assert iou(fitted, card) > 0.93
    assert seen > 0.9


def test_without_edges_a_quad_stays() -> None:
    quad = laid(14)
    fitted, seen = fitted_at_index(NOTHING_SEEN, quad, at_right=False)
    assert np.array_equal(fitted, quad)
    assert seen == 0


@pytest.mark.parametrize("right", [False, True])
def test_the_edges_tell_on_which_side_of_its_card_an_index_is(right: bool) -> None:
    card = laid(-25)
    corner = index_of(card, right)
    told = Placing(painted(card), [corner], [], SIDE, None).at(corner, [])
    assert iou(told, card) > 0.9


def test_where_no_edge_shows_an_index_is_the_left_one() -> None:
    card = laid(-25)
    corner = index_of(card)
    assert iou(Placing(NOTHING_SEEN, [corner], [], SIDE, None).at(corner, []), card) > 0.95


OBLIQUE = np.array([[1.0, 0.35], [0.1, 0.7]])


def test_cards_found_whole_tell_how_one_is_foreshortened_of_which_only_an_index_shows() -> None:
    whole = [laid(turn, linear=OBLIQUE) for turn in (10, 100, 200)]
    card = laid(65, linear=OBLIQUE)
    shape = Shape.told_by(whole)
    assert iou(cards_at(index_of(card).box, SIDE, shape)[0], card) > 0.97
    assert iou(cards_at(index_of(card).box, SIDE)[0], card) < 0.8


def test_one_card_of_another_size_does_not_change_the_shape() -> None:
    whole = [laid(10), laid(100), np.asarray(laid(30) * 3, np.float32)]
    shape = Shape.told_by(whole)
    assert shape is not None
    across, down = shape.sides(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    assert np.linalg.norm(down) == pytest.approx(SIDE, rel=0.01)
    assert across == pytest.approx([SIDE * ASPECT, 0], abs=0.5)
    assert Shape.told_by([]) is None


ENDS = [(False, False), (False, True), (True, False), (True, True)]


@pytest.mark.parametrize(
    ("count", "loose"),
    [
        (1, laid(0, (259, 250))),
        (2, laid(6, (253, 252))),
        (3, laid(0, linear=np.array([[1.08, 0.06], [0.0, 0.93]]))),
        (4, laid(0) + np.array([[-11, -6], [6, 3], [-6, 8], [5, -5]], np.float32)),
    ],
    ids=["one moves it", "two turn it", "three shear it", "four tell it"],
)
def test_a_loose_quad_is_moved_to_where_its_indices_are(count: int, loose: np.ndarray) -> None:
    card = laid(0)
    indices = [index_of(card, right, far) for right, far in ENDS[:count]]
    assert iou(loose, card) < 0.91
    assert iou(pulled(indices, loose), card) > 0.97


def test_an_index_of_another_card_moves_nothing() -> None:
    card = laid(0)
    other = index_of(laid(0, (290, 250)))
    assert belongs(other, card) > 1
    assert np.array_equal(pulled([other], card), card)


def look(corners: list[Corner], stretch: Stretch | None = None, side_px: float | None = None) -> Look:
    return Look(NOTHING_SEEN, stretch, (), tuple(corners), side_px, ())


def test_a_print_that_two_looks_read_unsurely_is_surer() -> None:
    """Seen squeezed it may be a nine, seen right rather a four; both looks say that it is no seven."""
    stretch = Stretch.of_square_files((500, 500))[0]
    card = laid(0)
    plain = index_of(card, told=(0.6, 0.35, 0.05))
    undone = index_of(stretch.onto(card), told=(0.6, 0.05, 0.35))
    (corner,) = look([undone], stretch).with_corners_of([look([plain])])
    assert corner.probabilities.argmax() == 0
    assert corner.probabilities[0] > 0.65
    np.testing.assert_allclose(corner.box, undone.box)


def test_what_only_another_look_shows_is_brought_to_its_place() -> None:
    stretch = Stretch.of_square_files((500, 500))[0]
    card = laid(0)
    (corner,) = look([], stretch).with_corners_of([look([index_of(card)])])
    np.testing.assert_allclose(corner.box, stretch.onto(index_of(card).box), atol=1e-3)
    assert look([], stretch, side_px=4 * SIDE).with_corners_of([look([index_of(card)])]) == ()
    two = look([index_of(card)]).with_corners_of([look([index_of(laid(0, (290, 250)))])])
    assert len(two) == 2
    unsure = index_of(card, told=(0.8, 0.15, 0.05))
    assert look([], stretch).with_corners_of([look([unsure])]) == ()
