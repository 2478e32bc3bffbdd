"""Deck files: those that ship, those that are hostile, and what a deck does with a card that it lacks."""

from __future__ import annotations

import io
import json
import struct
import tomllib
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from referee.bad_input import BadInput
from referee.cards import shipped_deck
from vision.cards.compare import Look, apart
from vision.cards.deck import Deck, DeckNamer, shipped_deck_of, shipped_decks
from vision.cards.embed import varied
from vision.cards.reader import BACK, NOTHING, rectified
from vision.films.print_deck import enrolled
from web.cli import main
from web.commands.audit import should_be

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["hit-the-deck", "snap-pictures"])
def test_a_deck_of_ours_ships_as_it_looks(name: str) -> None:
    path = shipped_decks()[name]
    assert path.stat().st_size < 2_000_000
    deck = Deck.named(name)
    assert set(deck.cards) == {card.name for card in shipped_deck(name).counts} | {BACK}
    assert np.array_equal(deck.crops, enrolled(name).crops), "made again by `palmreader deck NAME --enrolled FILE.deck`"
    found = shipped_deck_of({card.name for card in shipped_deck(name).counts})
    assert found is not None
    assert found.name == name


def test_an_install_carries_the_decks() -> None:
    carried = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["data-files"]
    assert carried["share/palmreader/datasets/decks"] == ["datasets/decks/*"]


def test_no_shipped_deck_stands_in_for_standard_cards() -> None:
    assert shipped_deck_of({card.name for card in shipped_deck("standard52").counts}) is None


def test_a_deck_is_written_only_under_a_name_that_reads_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a.pdf"
    assert main(["deck", "snap-pictures", "--out", str(out), "--enrolled", str(tmp_path / "a.zip")]) == 2
    assert "--enrolled: expected a name that ends in .deck, got a.zip" in capsys.readouterr().err
    assert not out.exists()


def test_an_audit_of_a_shipped_deck_knows_how_often_each_card_is_there() -> None:
    assert should_be("hit-the-deck", Deck.named("hit-the-deck")).size == 110


def test_an_unknown_deck_is_refused_with_the_names_that_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.png").write_bytes(cv2.imencode(".png", np.zeros((60, 60, 3), np.uint8))[1].tobytes())
    assert main(["read", str(tmp_path / "a.png"), "--deck", "tarot"]) == 2
    told = capsys.readouterr().err
    assert "hit-the-deck, snap-pictures" in told
    assert told.count("\n") == 1


GOOD = {"format": "palmreader deck 1", "name": "x", "cards": ["a"]}


def packed(path: Path, told: object = GOOD, **members: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("deck.json", told if isinstance(told, str) else json.dumps(told))
        for name, data in members.items():
            file.writestr(name.replace("_", "."), data)


def png(width: int, height: int, rows: int | None = None) -> bytes:
    """A PNG that says that it is so large, of few bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    body = zlib.compress(b"\0" * (1 + 3 * min(width, 96)) * (rows or 1))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def noise_png() -> bytes:
    noise = np.random.default_rng(1).integers(0, 255, (136, 96, 3), np.uint8)
    return cv2.imencode(".png", noise)[1].tobytes()


def lying_size(path: Path) -> None:
    """The directory says 10 bytes; 50 MB come out."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("deck.json", b"0" * 50_000_000)
    data = bytearray(buffer.getvalue())
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.index(signature)
        data[at + offset : at + offset + 4] = struct.pack("<I", 10)
    path.write_bytes(data)


def broken_stream(path: Path) -> None:
    packed(path, {**GOOD, "cards": ["a"] * 20})
    data = bytearray(path.read_bytes())
    at = data.index(b"deck.json") + len("deck.json") + 4
    data[at : at + 12] = b"\xff" * 12
    path.write_bytes(data)


HOSTILE: dict[str, Callable[[Path], None]] = {
    "a picture that says it is 60,000 pixels wide": lambda path: packed(path, **{"0000_png": png(60000, 60000)}),
    "a picture of another size": lambda path: packed(path, **{"0000_png": png(97, 136)}),
    "a picture that is cut off": lambda path: packed(path, **{"0000_png": noise_png()[:4000]}),
    "a picture that is none": lambda path: packed(path, **{"0000_png": b"GIF89a"}),
    "cards that are a number": lambda path: packed(path, {**GOOD, "cards": 5}),
    "cards that are numbers": lambda path: packed(path, {**GOOD, "cards": [1]}),
    "cards that are one word": lambda path: packed(path, {**GOOD, "cards": "abc"}),
    "no cards": lambda path: packed(path, {**GOOD, "cards": []}),
    "a name that writes to the terminal": lambda path: packed(
        path, {**GOOD, "cards": ["\x1b[2Ja"]}, **{"0000_png": png(96, 136, 136)}
    ),
    "a deck's name of a list": lambda path: packed(path, {**GOOD, "name": ["x"]}),
    "JSON nested without end": lambda path: packed(path, "[" * 100_000),
    "JSON of a number": lambda path: packed(path, 7),
    "a member outside the file": lambda path: packed(path, {**GOOD, "cards": ["../../etc/passwd"] * 3}),
    "a size that lies": lying_size,
    "a broken stream": broken_stream,
    "not a zip": lambda path: path.write_bytes(b"PK\x03\x04" + b"\0" * 100),
    "a folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_deck_file_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], None]
) -> None:
    path = tmp_path / "bad.deck"
    make(path)
    with pytest.raises(BadInput) as refused:
        Deck.load(path)
    assert "\n" not in str(refused.value)
    assert str(refused.value).isprintable()
    assert list(tmp_path.iterdir()) == [path], "nothing is unpacked"


def test_members_that_climb_out_are_never_unpacked(tmp_path: Path) -> None:
    """Only what the deck's own list calls for is read, in memory."""
    inside = tmp_path / "inside"
    inside.mkdir()
    deck = Deck("x", ("a",), np.full((1, 136, 96, 3), 200, np.uint8))
    deck.save(inside / "x.deck")
    with zipfile.ZipFile(inside / "x.deck", "a") as file:
        file.writestr("../../climbed.txt", "no")
    assert Deck.load(inside / "x.deck").cards == ("a",)
    assert [path.name for path in tmp_path.rglob("*")] == ["inside", "x.deck"]


@pytest.fixture(scope="module")
def numbers() -> DeckNamer:
    """A deck of near-duplicates without three of its cards."""
    return DeckNamer(enrolled("hit-the-deck").without({"red 2", "hit number 3", "yellow flip"}))


@pytest.mark.parametrize("card", ["red 2", "hit number 3", "yellow flip"])
def test_a_card_that_the_deck_lacks_is_not_named_as_the_next(numbers: DeckNamer, card: str) -> None:
    whole = enrolled("hit-the-deck")
    rng = np.random.default_rng(4)
    crop = whole.crops[whole.cards.index(card)]
    told = numbers.probabilities(np.stack([crop, *(varied(crop, rng, 0.5) for _ in range(5))]))
    named = [numbers.classes[row.argmax()] for row in told if row.max() >= numbers.min_confidence]
    assert set(named) <= {NOTHING}


@pytest.mark.parametrize("lamp", [(0.45, 0.8, 1.0), (1.0, 0.86, 0.7)], ids=["warm", "cold"])
def test_red_yellow_green_and_blue_hold_under_any_lamp(numbers: DeckNamer, lamp: tuple[float, float, float]) -> None:
    names = ["red 4", "yellow 4", "green 4", "blue 4", "hit colour red", "hit colour yellow", "hit colour green"]
    crops = np.stack([numbers.deck.crops[numbers.deck.cards.index(name)] for name in names])
    lit = (crops * np.array(lamp)).astype(np.uint8)
    told = numbers.probabilities(lit)
    assert [numbers.classes[i] for i in told.argmax(axis=1)] == names
    assert (told.max(axis=1) >= numbers.min_confidence).all()


@pytest.fixture(scope="module")
def whole() -> DeckNamer:
    return DeckNamer(enrolled("hit-the-deck"))


@pytest.mark.parametrize("card", ["blue cut", "red 5", "yellow 2"])
def test_colours_hold_where_glare_cuts_them_off(whole: DeckNamer, card: str) -> None:
    """Blue turned to cyan, and was neither: one card in fourteen was abstained from in glare."""
    crop = whole.deck.crops[whole.deck.cards.index(card)]
    told = whole.probabilities((crop + 140.0).clip(0, 255).astype(np.uint8)[None])[0]
    assert whole.classes[told.argmax()] == card
    assert told.max() >= whole.min_confidence


@pytest.mark.parametrize("corner", range(4))
def test_a_quad_with_one_corner_off_is_laid_by_the_cards_print(corner: int) -> None:
    """An ace in a quad of which one corner was off by a twelfth of the card was none of its deck."""
    deck = enrolled("snap-pictures")
    namer = DeckNamer(deck)
    truth = np.array([[60, 50], [180, 50], [180, 220], [60, 220]], np.float32)
    photo = np.full((280, 240, 3), 70, np.uint8)
    photo[50:220, 60:180] = cv2.resize(deck.crops[0], (120, 170))
    loose = truth.copy()
    loose[corner] += 0.08 * (truth.mean(axis=0) - truth[corner])
    laid = namer.laid(photo, loose)
    assert laid is not None
    assert np.abs(laid - truth).max() < 0.5 * np.abs(loose - truth).max()
    turned = namer.laid(photo[::-1, ::-1], (np.array([239, 279], np.float32) - loose))
    assert turned is not None
    assert np.abs(np.array([239, 279]) - turned - truth).max() < 0.5 * np.abs(loose - truth).max()
    told = namer.probabilities(rectified(photo, laid, namer.crop_size_px)[None])[0]
    assert namer.classes[told.argmax()] == deck.cards[0]


def test_a_card_is_compared_with_itself_beside_others_whatever_the_light() -> None:
    deck = enrolled("snap-pictures")
    first, second = (deck.crops[deck.cards.index(name)] for name in ("red star", "blue star"))
    shaded = (first * np.linspace(0.4, 0.9, 96)[None, :, None]).astype(np.uint8)
    shifted = np.roll(shaded, 3, axis=1)
    own, other = apart(Look.of(first), Look.of(shifted)), apart(Look.of(second), Look.of(shifted))
    assert own.sum() < 0.4 * other.sum()
