"""Enrolment: any deck from one look at each card, its file, its open set, and what is said of cards that look alike."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import cv2
import numpy as np
import pytest

from referee.bad_input import BadInput
from vision.cards.deck import Deck, DeckNamer
from vision.cards.embed import varied
from vision.cards.enrol import enrolled, listed, main_quad
from vision.cards.find import with_outlines
from vision.cards.outlines import OutlineDetector
from vision.cards.photo import open_photo
from vision.cards.quads import iou
from vision.cards.read import CardReader
from vision.cards.reader import NOTHING
from vision.detections import CARD_BACK, CARD_OUTLINE, CORNER, Detections
from vision.detectors.ultralytics import as_detections
from web.cli import main

SHAPES = ("disc", "bar", "ring", "cross")
COLOURS = {"red": (40, 40, 200), "blue": (190, 90, 30), "green": (60, 150, 50)}


def drawn(shape: str, colour: str, paper: int = 240) -> np.ndarray:
    """A card of a deck that no network has seen."""
    card = np.full((136, 96, 3), paper, np.uint8)
    ink = COLOURS[colour]
    if shape == "disc":
        cv2.circle(card, (48, 60), 26, ink, -1)
    elif shape == "bar":
        cv2.rectangle(card, (20, 55), (76, 80), ink, -1)
    elif shape == "ring":
        cv2.circle(card, (48, 70), 28, ink, 8)
    else:
        cv2.line(card, (20, 30), (76, 110), ink, 10)
        cv2.line(card, (76, 30), (20, 110), ink, 10)
    cv2.rectangle(card, (6, 6), (16, 24), ink, -1)
    return card


NAMES = tuple(f"{colour} {shape}" for shape in SHAPES for colour in COLOURS)
CROPS = np.stack([drawn(shape, colour) for shape in SHAPES for colour in COLOURS])


@pytest.fixture(scope="module")
def namer() -> DeckNamer:
    return DeckNamer(Deck("shapes", NAMES, CROPS))


def test_every_card_is_named_in_other_light_and_upside_down(namer: DeckNamer) -> None:
    rng = np.random.default_rng(7)
    views = np.stack([varied(crop, rng)[:: 1 if i % 2 else -1, :: 1 if i % 2 else -1] for i, crop in enumerate(CROPS)])
    told = namer.probabilities(views)
    assert told.shape == (len(NAMES), len(NAMES) + 1)
    assert np.allclose(told.sum(axis=1), 1, atol=1e-5)
    named = [namer.classes[i] for i in told.argmax(axis=1)]
    assert all(name in (card, NOTHING) for name, card in zip(named, NAMES, strict=True))
    assert named.count(NOTHING) <= 1


@pytest.mark.parametrize("lamp", [(0.7, 0.9, 1.1), (1.1, 1.0, 0.75)], ids=["warm", "cold"])
def test_colours_hold_under_warm_and_cold_light(namer: DeckNamer, lamp: tuple[float, float, float]) -> None:
    lit = (CROPS * np.array(lamp)).clip(0, 255).astype(np.uint8)
    assert [namer.classes[i] for i in namer.probabilities(lit).argmax(axis=1)] == list(NAMES)


def test_what_is_no_card_of_the_deck_is_called_nothing(namer: DeckNamer) -> None:
    rng = np.random.default_rng(3)
    noise = cv2.GaussianBlur(rng.integers(0, 255, (136, 96, 3), np.uint8), (0, 0), 3)
    text = np.full((136, 96, 3), 230, np.uint8)
    for y in range(10, 130, 8):
        cv2.line(text, (6, y), (90, y), (30, 30, 30), 2)
    told = namer.probabilities(np.stack([noise, text]))
    assert [namer.classes[i] for i in told.argmax(axis=1)] == [NOTHING, NOTHING]


def test_cards_that_look_alike_are_reported_and_others_are_not(namer: DeckNamer) -> None:
    twin = drawn("disc", "red")
    twin[60:64, 46:50] = (60, 60, 190)
    alike = DeckNamer(Deck("twins", (*NAMES, "twin"), np.concatenate([CROPS, twin[None]]))).alike()
    assert {alike[0].first, alike[0].second} == {"red disc", "twin"}
    assert namer.alike() == ()


def test_a_deck_file_reads_back_exactly(tmp_path: Path) -> None:
    deck = Deck("shapes", NAMES, CROPS)
    deck.save(tmp_path / "shapes.deck")
    again = Deck.load(tmp_path / "shapes.deck")
    assert (again.name, again.cards) == (deck.name, deck.cards)
    assert np.array_equal(again.crops, deck.crops)


def pickled(path: Path) -> None:
    path.write_bytes(b"\x80\x04\x95cos\nsystem\n.")


def another_format(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("deck.json", json.dumps({"format": "other", "cards": []}))


def bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("deck.json", "0" * 50_000_000)


def crop_missing(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("deck.json", json.dumps({"format": "palmreader deck 1", "name": "x", "cards": ["a"]}))


@pytest.mark.parametrize("make", [pickled, another_format, bomb, crop_missing])
def test_a_file_that_is_no_deck_is_refused_in_one_line(tmp_path: Path, make: object) -> None:
    path = tmp_path / "bad.deck"
    make(path)  # type: ignore[operator]
    with pytest.raises(BadInput, match=r"bad\.deck"):
        Deck.load(path)


def table_with(card: np.ndarray, table: int) -> tuple[np.ndarray, np.ndarray]:
    """A photo of one card, seen a little from the side; and its true quad."""
    photo = np.full((400, 480, 3), table, np.uint8)
    quad = np.array([[170, 90], [300, 105], [315, 300], [160, 290]], np.float32)
    corners = np.array([[0, 0], [96, 0], [96, 136], [0, 136]], np.float32)
    onto = cv2.getPerspectiveTransform(corners, quad)
    cv2.warpPerspective(card, onto, (480, 400), dst=photo, borderMode=cv2.BORDER_TRANSPARENT)
    noisy = photo + np.random.default_rng(1).normal(0, 3, photo.shape)
    return noisy.clip(0, 255).astype(np.uint8), quad


@pytest.mark.parametrize(("paper", "table"), [(240, 70), (25, 200)], ids=["white on dark", "black on bright"])
def test_a_card_of_any_design_is_found_by_its_outline(paper: int, table: int) -> None:
    photo, truth = table_with(drawn("cross", "red", paper), table)
    found = OutlineDetector().detect(photo)
    assert max(iou(quad, truth) for quad in found.quads) > 0.93


def test_an_empty_table_has_no_outlines() -> None:
    assert len(OutlineDetector().detect(np.full((200, 300, 3), 90, np.uint8))) == 0


class OutlinesOnly:
    def detect(self, image: np.ndarray, card_side_px: float | None = None) -> Detections:
        return OutlineDetector().detect(image)

    def corners(self, image: np.ndarray, card_side_px: float | None) -> Detections:
        return Detections.none()


def test_a_deck_is_enrolled_from_photos_and_then_read(tmp_path: Path, namer: DeckNamer) -> None:
    for name, crop in zip(NAMES, CROPS, strict=True):
        cv2.imwrite(str(tmp_path / f"{name}.png"), table_with(crop, 70)[0])
    (tmp_path / "broken.jpg").write_bytes(b"no")
    deck, wrong = enrolled("shapes", listed([tmp_path]), CardReader(OutlinesOnly(), namer))
    assert set(deck.cards) == set(NAMES)
    assert len(wrong) == 1
    assert "broken.jpg" in wrong[0]
    reader = CardReader(OutlinesOnly(), DeckNamer(deck))
    for name in NAMES[:4]:
        seen = reader.read(open_photo(tmp_path / f"{name}.png"))
        assert [one.card for one in seen] == [name]


def test_a_card_that_cannot_be_named_surely_is_seen_and_a_box_is_not() -> None:
    """Found by its outline alone it was dropped, as a box or a book is, and a table seemed to hold no card."""
    smudged = CROPS[0].copy()
    smudged[92:97, 22:74] = 130
    reader = CardReader(OutlinesOnly(), DeckNamer(Deck("shapes", NAMES, CROPS)))
    (seen,) = reader.read(table_with(smudged, 70)[0])
    assert (seen.card, seen.face) == (None, "up")
    assert seen.or_cards[0] == NAMES[0]
    assert seen.alternatives[0][0] == NOTHING
    assert seen.confidence == dict(seen.alternatives)[NAMES[0]], "that it may be no card is no belief in this one"
    box = np.full((136, 96, 3), 200, np.uint8)
    cv2.putText(box, "TEA", (10, 70), cv2.FONT_HERSHEY_SIMPLEX, 1.2, (30, 30, 30), 3)
    assert len(OutlineDetector().detect(table_with(box, 70)[0])) == 1
    assert reader.read(table_with(box, 70)[0]) == ()


def test_a_box_askew_over_the_card_is_not_enrolled_for_it() -> None:
    """Cards of a strange design are found again as boxes askew, or as the table; a larger one was enrolled."""
    photo, truth = table_with(CROPS[4], 70)
    middle = truth.mean(axis=0)
    turned = np.array([[0.8, -0.6], [0.6, 0.8]], np.float32)
    askew = (middle + 1.05 * (truth - middle) @ turned.T).astype(np.float32)
    table = np.array([[-40, -20], [470, 10], [440, 390], [-60, 370]], np.float32)
    found = Detections(np.stack([askew, table, truth]), np.full(3, CARD_BACK), np.array([0.9, 0.5, 0.4], np.float32))
    quad = main_quad(photo, found)
    assert quad is not None
    assert iou(quad, truth) > 0.93


def test_an_outline_is_not_given_to_an_index_corner_that_is_as_large() -> None:
    """A corner's box over a whole card took the card's outline, and no card was found there."""
    quad = np.array([[10, 10], [70, 10], [70, 95], [10, 95]], np.float32)[None]
    corner = Detections(quad + 1, np.array([CORNER]), np.array([0.3], np.float32))
    outline = Detections(quad, np.array([CARD_OUTLINE]), np.array([0.9], np.float32))
    assert list(with_outlines(corner, outline).labels) == [CORNER, CARD_OUTLINE]


@pytest.mark.parametrize(
    ("text", "said"),
    [("card,picture\nAs\n", "none in line 2"), ("", "no lines"), (None, "No such file")],
    ids=["a line without a picture", "empty", "missing"],
)
def test_a_bad_list_of_cards_is_refused(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "list.csv"
    if text is not None:
        path.write_text(text, "utf-8")
    with pytest.raises(BadInput, match=said):
        listed([path])


def test_enrolling_nothing_is_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["enrol", str(tmp_path), "--out", str(tmp_path / "x.deck")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_results_of_ultralytics_become_detections() -> None:
    class Boxes:
        xyxyxyxy = np.array([[[60, 90], [60, 0], [0, 0], [0, 90]]], np.float32)
        cls = np.array([1.0])
        conf = np.array([0.8])

    class Told:
        obb = Boxes()
        names = {0: "card_face", 1: "card_back"}  # noqa: RUF012 - as the library has it

    found = as_detections(Told())
    assert found.labels.tolist() == ["card back"]
    assert found.boxes()[0].tolist() == [0, 0, 60, 90]
    with pytest.raises(BadInput, match="expected oriented boxes or four keypoints"):
        as_detections(object())
