"""A picture that was squeezed, or seen aslant: its cards tell, and the quads come back to where they were."""

import numpy as np
import pytest

from vision.cards.fans import ASPECT
from vision.cards.stretch import Stretch

SIZE = (640, 640)


def cards(linear: np.ndarray, count: int = 6, loose: float = 0.0, seed: int = 3) -> list[np.ndarray]:
    """Cards lying anyhow, (4, 2) pixels each, seen through a (2, 2) map; ``loose``: corners off, in pixels."""
    rng = np.random.default_rng(seed)
    card = np.array([[-ASPECT, -1], [ASPECT, -1], [ASPECT, 1], [-ASPECT, 1]]) * 60
    quads = []
    for _ in range(count):
        turn = rng.uniform(0, 2 * np.pi)
        cos, sin = np.cos(turn), np.sin(turn)
        laid = card @ np.array([[cos, sin], [-sin, cos]]) + rng.uniform(100, 540, 2)
        quads.append((laid @ linear.T + rng.normal(0, loose, (4, 2))).astype(np.float32))
    return quads


@pytest.mark.parametrize(("across", "by"), [(9 / 16, 16 / 9), (3 / 4, 4 / 3)])
def test_a_file_squeezed_to_be_square_is_told_by_its_cards(across: float, by: float) -> None:
    told = Stretch.told_by(cards(np.diag([across, 1.0]), loose=1.0), SIZE)
    assert told is not None
    assert told.by == pytest.approx(by, rel=0.03)
    assert told.size_px[0] == pytest.approx(640 * by, rel=0.04)
    assert told.size_px[1] == pytest.approx(640, rel=0.04)


def test_one_card_that_is_read_wrongly_does_not_turn_the_others() -> None:
    quads = [*cards(np.diag([0.6, 1.0]), count=7), np.array([[0, 0], [200, 0], [200, 60], [0, 60]], np.float32)]
    told = Stretch.told_by(quads, SIZE)
    assert told is not None
    assert told.by == pytest.approx(1 / 0.6, rel=0.06)


def test_seen_from_above_nothing_is_stretched() -> None:
    assert Stretch.told_by(cards(np.eye(2), loose=1.0), SIZE) is None


def test_cards_that_disagree_or_are_too_few_tell_nothing() -> None:
    assert Stretch.told_by(cards(np.diag([0.6, 1.0]), count=1), SIZE) is None
    rng = np.random.default_rng(1)
    anyhow = [rng.uniform(0, 640, (4, 2)).astype(np.float32) for _ in range(6)]
    assert Stretch.told_by(anyhow, SIZE) is None


def test_quads_found_with_the_stretch_undone_go_back_to_where_they_were() -> None:
    quads = cards(np.array([[0.8, 0.15], [0.15, 0.7]]))
    told = Stretch.told_by(quads, SIZE)
    assert told is not None
    moved = quads[0] @ told.matrix[:, :2].T + told.matrix[:, 2]
    np.testing.assert_allclose(told.back(moved.astype(np.float32)), quads[0], atol=0.01)
    sides = np.linalg.norm(moved - np.roll(moved, -1, axis=0), axis=1)
    assert sides[0] / sides[1] == pytest.approx(ASPECT, rel=0.02)


def test_only_square_files_are_taken_to_be_squeezed() -> None:
    assert Stretch.of_square_files((1920, 1080)) == []
    assert [round(one.by, 2) for one in Stretch.of_square_files((416, 416))] == [1.33, 1.78]
    wide = Stretch.of_square_files((416, 416))[1]
    assert wide.undone(np.zeros((416, 416, 3), np.uint8)).shape == (416, 740, 3)


def test_a_large_photograph_grows_no_larger() -> None:
    told = Stretch.told_by([quad * 10 for quad in cards(np.diag([0.6, 1.0]))], (8000, 6000))
    assert told is not None
    assert told.size_px[0] * told.size_px[1] <= 8000 * 6000 * 1.001
