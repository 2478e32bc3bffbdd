"""A deck enrolled from a video in which its cards are shown one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest

from vision.cards.deck import Deck
from vision.cards.read import CardReader
from vision.cards.sweep import showings
from vision.films.encode import CLOCK, Encoding, write_film
from vision.frame import Frame
from web.cli import main
from web.commands.enrol import listed_names

SIZE_PX = (480, 400)
STEP_S = 0.1


def card(number: int, paper: int = 235) -> np.ndarray:
    face = np.full((150, 106, 3), paper, np.uint8)
    cv2.rectangle(face, (0, 0), (105, 149), (90, 90, 90), 1)
    for i in range(number):
        cv2.circle(face, (30 + 46 * (i % 2), 28 + 44 * (i // 2)), 12, (40, 40, 190), -1)
    return face


def table(face: np.ndarray | None, at: tuple[int, int] = (190, 120), hand_x: int | None = None) -> np.ndarray:
    picture = np.full((SIZE_PX[1], SIZE_PX[0], 3), (70, 92, 60), np.uint8)
    if face is not None:
        picture[at[1] : at[1] + face.shape[0], at[0] : at[0] + face.shape[1]] = face
    if hand_x is not None:
        cv2.ellipse(picture, (hand_x, 330), (48, 150), 0, 0, 360, (120, 150, 205), -1)
    return picture


def played(parts: Sequence[tuple[np.ndarray | None, tuple[int, int], int]]) -> Iterator[np.ndarray]:
    """Each card for so many steps, and between two of them a hand that comes and goes; camera noise on all."""
    rng = np.random.default_rng(5)
    for face, at, steps in parts:
        for hand_x in (40, 120, 200, 250):
            yield noisy(table(face, at, hand_x), rng)
        for _ in range(steps):
            yield noisy(table(face, at), rng)


def noisy(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (picture + rng.normal(0, 2.5, picture.shape)).clip(0, 255).astype(np.uint8)


def frames(parts: Sequence[tuple[np.ndarray | None, tuple[int, int], int]]) -> list[Frame]:
    return [Frame(round(i * STEP_S * 1e9), 0, image, i) for i, image in enumerate(played(parts))]


HERE, THERE = (190, 120), (60, 40)


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        pytest.param([(card(1), HERE, 6), (card(4), THERE, 6), (card(2), HERE, 6)], 3, id="three cards"),
        pytest.param([(card(4), HERE, 6), (card(5), HERE, 6)], 2, id="a card laid exactly on one that is like it"),
        pytest.param([(card(4), HERE, 6), (card(4), HERE, 6)], 1, id="a hand passed over the same card"),
        pytest.param([(card(4), HERE, 6), (None, HERE, 8), (card(1), HERE, 6)], 2, id="the empty table between"),
        pytest.param([(card(4), HERE, 6), (card(1), THERE, 1), (card(2), HERE, 6)], 2, id="a pause too short to show"),
        pytest.param([(card(3, 30), HERE, 6), (card(5, 30), THERE, 6)], 2, id="dark cards"),
        pytest.param([(None, HERE, 8)], 0, id="nothing"),
    ],
)
def test_each_card_at_rest_is_shown_once(
    parts: list[tuple[np.ndarray | None, tuple[int, int], int]], shown: int, outline_reader: CardReader
) -> None:
    found = list(showings(frames(parts), outline_reader))
    assert len(found) == shown
    assert [one.at_ns for one in found] == sorted(one.at_ns for one in found)


def test_the_sharpest_frame_of_a_rest_is_taken(outline_reader: CardReader) -> None:
    told = frames([(card(4), HERE, 7)])
    for i, frame in enumerate(told):
        if i != 7:
            frame.image[...] = cv2.GaussianBlur(frame.image, (0, 0), 0.8)
    (one,) = showings(told, outline_reader)
    assert one.at_ns == told[7].at_ns


def film(path: Path, parts: Sequence[tuple[np.ndarray | None, tuple[int, int], int]]) -> None:
    pictures = (
        (round(i * STEP_S * CLOCK), np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420), np.uint8))
        for i, image in enumerate(played(parts))
    )
    write_film(path, pictures, SIZE_PX, 1 / STEP_S, None, Encoding())


def test_a_video_and_a_list_of_names_make_a_deck(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    film(tmp_path / "sweep.mp4", [(card(1), HERE, 6), (card(4), THERE, 6), (card(5), HERE, 6)])
    (tmp_path / "names.txt").write_text("# in order\none\nfour\n\nfive\n", "utf-8")
    asked = ["enrol", "--video", str(tmp_path / "sweep.mp4"), "--names", str(tmp_path / "names.txt")]
    assert main([*asked, "--out", str(tmp_path / "dots.deck")]) == 0
    assert "3 cards" in capsys.readouterr().out
    assert list(dict.fromkeys(Deck.load(tmp_path / "dots.deck").cards)) == ["one", "four", "five"]
    (tmp_path / "names.txt").write_text("one\nfour\n", "utf-8")
    assert main([*asked, "--out", str(tmp_path / "other.deck")]) == 2
    told = capsys.readouterr().err
    assert "expected 2 cards, one at each rest, got 3, at 0:00" in told
    assert told.count("\n") == 1
    assert not (tmp_path / "other.deck").exists()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--video", "s.mp4", "--out", "a.deck"], "--video with --names, got --video\n"),
        (["a.jpg", "--video", "s.mp4", "--names", "n.txt", "--out", "a.deck"], "got photos and --video and --names\n"),
        (["--out", "a.deck"], "photos, or --video with --names, got neither\n"),
        (["a.jpg", "--out", "a.zip"], "ends in .deck"),
    ],
)
def test_what_enrol_can_not_do_is_said_before_any_work(
    asked: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["enrol", *asked]) == 2
    assert said in capsys.readouterr().err


def test_names_are_the_cards_own_notation(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("10H\nRed  4\n", "utf-8")
    assert listed_names(tmp_path / "names.txt") == ["10h", "red 4"]
