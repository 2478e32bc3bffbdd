"""`palmreader read`: photos as phones write them, the JSON line, bad photos; and what a reading says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from referee.bad_input import BadInput
from referee.cards import Card
from vision.cards.photo import open_photo
from vision.cards.read import CardReader
from vision.cards.reader import rectified
from vision.cards.seen import SeenCard
from vision.cards.settle import settled
from vision.detections import CARD_BACK, CARD_FACE, Detections
from vision.detectors.recorded import RecordedDetector
from web.cli import main
from web.commands.audit import as_json as audit_json
from web.commands.audit import in_lines, should_be
from web.commands.read import as_json, as_rows, in_score, in_words

SHARED = Path(__file__).resolve().parents[2].parent / "shared"


class Finder:
    """A finder that repeats what was recorded."""

    def __init__(self, *found: Detections) -> None:
        self._recorded = RecordedDetector(found)

    def detect(self, image: np.ndarray, card_side_px: float | None = None) -> Detections:
        return self._recorded.detect(image)

    def corners(self, image: np.ndarray, card_side_px: float | None) -> Detections:
        return Detections.none()


class Namer:
    """Names a crop by its mean brightness: dark is 7c, middling unsure between 7c and 7s, bright 7s."""

    classes = ("7c", "7s", "nothing")
    min_confidence = 0.8
    crop_size_px = (12, 17)

    def probabilities(self, crops: np.ndarray) -> np.ndarray:
        bright = crops.reshape(len(crops), -1).mean(axis=1) / 255
        return np.stack([1 - bright, bright, 0 * bright], axis=1).astype(np.float32)


def picture_with_cards(*levels: int) -> tuple[np.ndarray, Detections]:
    picture = np.zeros((100, 60 * len(levels), 3), np.uint8)
    quads = []
    for i, level in enumerate(levels):
        picture[5:95, 60 * i + 5 : 60 * i + 55] = level
        quads.append([[60 * i + 5, 5], [60 * i + 55, 5], [60 * i + 55, 95], [60 * i + 5, 95]])
    n = len(levels)
    return picture, Detections(np.array(quads, np.float32), np.full(n, CARD_FACE), np.full(n, 0.9, np.float32))


def test_a_clear_card_is_named_and_a_doubtful_one_says_what_it_is_unsure_between() -> None:
    picture, found = picture_with_cards(0, 120, 255)
    first, doubtful, last = CardReader(Finder(found), Namer()).read(picture)
    assert (first.card, last.card) == ("7c", "7s")
    assert doubtful.card is None
    assert set(doubtful.or_cards) == {"7c", "7s"}
    assert in_words([first, doubtful, last]) == "7c, 7s, unsure: 7c or 7s"


def test_a_back_is_face_down_and_has_no_name_unless_it_can_be_read() -> None:
    """A face under glare is often found as a back; what reads clearly is a face."""
    picture, found = picture_with_cards(0, 127, 255)
    found = Detections(found.quads, np.array([CARD_FACE, CARD_BACK, CARD_BACK]), found.scores)
    seen = CardReader(Finder(found), Namer()).read(picture)
    assert [(one.card, one.face) for one in seen] == [("7c", "up"), (None, "down"), ("7s", "up")]


def at(x: float, card: str | None, confidence: float, face: str = "up") -> SeenCard:
    quad = np.array([[x, 0], [x + 60, 0], [x + 60, 90], [x, 90]], np.float32)
    return SeenCard(card, face, confidence, quad, ((card or "Qc", confidence),), 0.9)


@pytest.mark.parametrize(
    ("seen", "kept"),
    [
        pytest.param(
            [at(0, "4c", 0.99), at(62, "Ac", 0.98), at(30, None, 0.6)], [0, 1], id="between two cards is none"
        ),
        pytest.param([at(0, "4c", 0.99), at(20, "5c", 0.9)], [0, 1], id="both cards of a fan stand"),
        pytest.param([at(0, "4c", 0.9), at(20, "4c", 0.99)], [1], id="one card named twice is one"),
        pytest.param([at(0, "4c", 0.9), at(55, "4c", 0.99)], [0, 1], id="two like cards side by side are two"),
        pytest.param([at(0, "4c", 0.9), at(10, None, 0.7, "down")], [0], id="a back over a face that reads is none"),
        pytest.param([at(0, None, 0.3)], [0], id="a doubtful card by itself stays"),
    ],
)
def test_quads_that_claim_one_place(seen: list[SeenCard], kept: list[int]) -> None:
    assert settled(seen) == tuple(seen[i] for i in kept)


def test_a_find_that_neither_detector_nor_reader_believe_in_is_no_card() -> None:
    picture, found = picture_with_cards(127)
    weak = Detections(found.quads, found.labels, np.array([0.3], np.float32))

    class Undecided(Namer):
        def probabilities(self, crops: np.ndarray) -> np.ndarray:
            return np.full((len(crops), 3), 1 / 3, np.float32)

    assert CardReader(Finder(weak), Undecided()).read(picture) == ()
    assert len(CardReader(Finder(found), Undecided()).read(picture)) == 1


def test_known_quads_are_read_in_their_order_without_a_finder() -> None:
    picture, found = picture_with_cards(255, 0)
    seen = CardReader(Finder(), Namer()).read_quads(picture, found.quads[::-1])
    assert [one.card for one in seen] == ["7c", "7s"]


def test_json_has_the_documented_keys() -> None:
    picture, found = picture_with_cards(0, 120)
    told = json.loads(as_json(Path("a.jpg"), CardReader(Finder(found), Namer()).read(picture)))
    assert told["photo"] == "a.jpg"
    assert [card["card"] for card in told["cards"]] == ["7c", None]
    assert all(card["face"] == "up" and 0 <= card["confidence"] <= 1 for card in told["cards"])
    assert told["cards"][0]["quad"] == [[5.0, 5.0], [55.0, 5.0], [55.0, 95.0], [5.0, 95.0]]


def test_a_large_card_is_averaged_into_its_crop_and_not_sampled() -> None:
    stripes = np.zeros((1360, 960, 3), np.uint8)
    stripes[:, ::2] = 200
    quad = np.array([[0, 0], [960, 0], [960, 1360], [0, 1360]], np.float32)
    crop = rectified(stripes, quad, (96, 136))
    assert crop.shape == (136, 96, 3)
    assert abs(int(crop[5:-5, 5:-5].min()) - 100) <= 2
    assert abs(int(crop[5:-5, 5:-5].max()) - 100) <= 2


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photo_is_seen_as_its_camera_was_held(tmp_path: Path, orientation: int) -> None:
    """Every EXIF orientation gives the same picture as Pillow's own transposition."""
    from PIL import ImageOps

    rgb = np.zeros((40, 60, 3), np.uint8)
    rgb[:20, :30] = (255, 0, 0)
    rgb[20:, :30] = (0, 255, 0)
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(rgb).save(tmp_path / "held.png", exif=exif)
    with Image.open(tmp_path / "held.png") as held:
        expected = np.asarray(ImageOps.exif_transpose(held))[..., ::-1]
    assert np.array_equal(open_photo(tmp_path / "held.png"), expected)


def test_heic_photos_open(tmp_path: Path) -> None:
    import pillow_heif

    pillow_heif.register_heif_opener()
    Image.new("RGB", (64, 48), (200, 30, 30)).save(tmp_path / "phone.heic")
    photo = open_photo(tmp_path / "phone.heic")
    assert photo.shape == (48, 64, 3)
    assert abs(int(photo[20, 20, 2]) - 200) < 12


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        pytest.param("empty.jpg", b"", "expected a photo, got an empty file", id="zero bytes"),
        pytest.param("text.jpg", b"not a picture", "expected a photo .*, got something else", id="text"),
        pytest.param("missing.jpg", None, "expected a photo, got no such file", id="missing"),
        pytest.param("cut.png", "cut", "expected a whole photo", id="truncated"),
    ],
)
def test_a_bad_photo_is_one_line_and_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes | str | None, said: str
) -> None:
    path = tmp_path / name
    if content == "cut":
        Image.fromarray(np.random.default_rng(1).integers(0, 255, (80, 80, 3), np.uint8)).save(path)
        path.write_bytes(path.read_bytes()[:4000])
    elif isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(BadInput, match=said):
        open_photo(path)
    assert main(["read", str(path)]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert name in told


def test_a_real_photo_is_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    photo = SHARED / "data" / "poker_cards" / "valid" / "images" / "IMG_20220316_161435.jpg"
    if not photo.is_file():
        pytest.skip("needs the real photos, which are not shipped")
    assert main(["read", str(photo), "--json", "--show", str(tmp_path / "seen.png")]) == 0
    cards = json.loads(capsys.readouterr().out)["cards"]
    assert {card["card"] for card in cards} == {"9h", "10h", "Jh", "Qh", "Kh"}
    assert open_photo(tmp_path / "seen.png").shape == open_photo(photo).shape


@pytest.mark.parametrize(
    ("game", "cards", "said"),
    [
        ("hit-the-deck", ["red 4", "hit hand", None], "14 points (H20), 1 not read"),
        ("snap", ["7c", "7s"], "2 cards (S20)"),
        ("trash", ["Ac", "Ah", "10s", "Kd", "Qc"], "3 of 10 places (T4, 1 by kings)"),
    ],
)
def test_what_lies_there_is_added_up_by_the_games_rules(game: str, cards: list[str | None], said: str) -> None:
    seen = [at(70.0 * i, card, 0.99) for i, card in enumerate(cards)]
    assert in_score(game, seen) == said


def test_an_audit_says_what_is_missing_doubled_and_foreign(tmp_path: Path) -> None:
    deck = should_be("standard52", None)
    cards = [card for card in deck.cards() if str(card) not in ("7h", "As")] + [Card.parse("2c"), Card.parse("joker")]
    told = json.loads(audit_json(deck.audit(cards), cards, []))
    assert told["missing"] == {"As": 1, "7h": 1}
    assert told["doubled"] == {"2c": 1}
    assert told["foreign"] == {"joker": 1}
    assert not told["complete"]
    assert "missing: 7h, As" in in_lines(deck, deck.audit(cards), cards, ["a.jpg: unsure: 7c or 7s"])


def test_an_audit_with_a_card_that_was_not_read_is_not_plainly_complete() -> None:
    """People were told "complete" where programs were told that it isn't."""
    deck = should_be("standard52", None)
    cards = deck.cards()
    unread = ["a.jpg: unsure: 7c or 7s"]
    assert not json.loads(audit_json(deck.audit(cards), cards, unread))["complete"]
    assert "complete" not in in_lines(deck, deck.audit(cards), cards, unread).splitlines()
    assert "complete" in in_lines(deck, deck.audit(cards), cards, []).splitlines()


def test_csv_has_a_row_for_each_card(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    Image.new("RGB", (300, 200), (90, 90, 90)).save(tmp_path / "empty.png")
    assert main(["read", str(tmp_path), "--csv"]) == 0
    assert capsys.readouterr().out == "photo,card,face,confidence,x0,y0,x1,y1,x2,y2,x3,y3\n"
    (row,) = as_rows(Path("a.jpg"), [at(0, "7c", 0.9)])
    assert row[:4] == ["a.jpg", "7c", "up", "0.9000"]
