"""Whether a hand is over a card in a photograph: drawn cards and fingers, and real photos where they are at hand."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from vision.hands.over_card import Over, hand_over_card

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
QUAD = np.array([[240, 110], [380, 110], [380, 306], [240, 306]], np.float32)


def _photo(finger: tuple[int, int] | None, rng: np.random.Generator) -> np.ndarray:
    """A red seven on green cloth under warm light, with a finger that reaches from the right to a point."""
    photo = np.full((480, 640, 3), (45, 90, 40), np.float32)
    cv2.fillConvexPoly(photo, QUAD.astype(np.int32), (225, 228, 230))
    for x in (280, 340):
        for y in (150, 208, 266):
            cv2.circle(photo, (x, y), 13, (40, 35, 190), -1)
    if finger is not None:
        cv2.line(photo, (700, 420), finger, (120, 145, 195), 34)
    photo = photo * np.array([0.8, 0.95, 1.05]) + rng.normal(0, 3, photo.shape)
    return np.clip(photo, 0, 255).astype(np.uint8)


@pytest.mark.parametrize(
    ("finger", "state"),
    [
        pytest.param(None, Over.ABSENT, id="printed red is no hand"),
        pytest.param((330, 230), Over.OVER, id="a finger on the card"),
        pytest.param((470, 330), Over.NEAR, id="a finger beside the card"),
    ],
)
def test_a_finger_is_told_from_print(finger: tuple[int, int] | None, state: Over) -> None:
    assert hand_over_card(_photo(finger, np.random.default_rng(4)), QUAD).state == state


def test_without_a_card_nothing_is_claimed_over_it() -> None:
    assert hand_over_card(_photo((330, 230), np.random.default_rng(4)), None).state in (Over.UNSURE, Over.NEAR)


@pytest.mark.skipif(not (SHARED / "data/hand_over_card").is_dir(), reason="the real photographs are not at hand")
def test_real_photographs_of_an_empty_cloth_and_of_a_hand() -> None:
    """Pictures outside the labelled folders: a card alone, and two fingers across its middle."""
    folder = SHARED / "data/hand_over_card/hearts_4"
    alone = cv2.imread(str(folder / "img2.jpg"))
    fingers = cv2.imread(str(folder / "img22.jpg"))
    assert alone is not None
    assert fingers is not None
    outline = np.array([[690, 90], [1110, 110], [1090, 610], [680, 600]], np.float32)
    assert hand_over_card(alone, outline).state == Over.ABSENT
    across = np.array([[430, 350], [720, 160], [880, 420], [580, 610]], np.float32)
    assert hand_over_card(fingers, across).state == Over.OVER
