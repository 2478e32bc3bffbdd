"""`palmreader read` as a user runs it: many photos at once, bad ones among them, drawings, decks by name."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vision.cards.deck import Deck
from vision.cards.photo import open_photo
from vision.cards.read import CardReader
from vision.cards.seen import SeenCard
from web.cli import main
from web.commands.read import bar, shown_paths


class Reader:
    """Says that a red 4 lies in every photo."""

    deck: Deck | None = None

    def read(self, image: np.ndarray, card_side_px: float | None = None) -> tuple[SeenCard, ...]:
        quad = np.array([[5, 5], [40, 5], [40, 60], [5, 60]], np.float32)
        return (SeenCard("red 4", "up", 0.97, quad, (("red 4", 0.97),)),)


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    told = Reader()

    def shipped(backend: str | None = None, deck: Deck | None = None) -> Reader:
        told.deck = deck
        return told

    monkeypatch.setattr(CardReader, "shipped", shipped)
    return told


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a/one.png", "a/two.jpg", "b/one.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (64, 80), (90, 120, 90)).save(tmp_path / name)
    (tmp_path / "a" / "broken.jpg").write_bytes(b"no")
    return tmp_path


def test_a_bad_photo_among_many_is_named_at_the_end(
    reader: Reader, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["read", str(folder / "a"), str(folder / "b" / "one.png"), "--json"]) == 2
    told = capsys.readouterr()
    lines = [json.loads(line) for line in told.out.splitlines()]
    assert [Path(line["photo"]).name for line in lines] == ["one.png", "two.jpg", "one.png"]
    assert all(line["cards"][0]["card"] == "red 4" for line in lines)
    assert told.err.count("\n") == 1
    assert "broken.jpg" in told.err


def test_csv_is_one_line_a_card(reader: Reader, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", str(folder / "b"), "--csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["card"], row["face"], row["x2"]) == ("red 4", "up", "40.0")


def test_drawings_of_photos_of_one_name_don_t_overwrite_each_other(reader: Reader, folder: Path) -> None:
    photos = [folder / "a" / "one.png", folder / "b" / "one.png", folder / "a" / "two.jpg"]
    assert main(["read", *map(str, photos), "--show", str(folder / "seen.png")]) == 0
    assert sorted(path.name for path in folder.glob("*.png")) == ["seen-one-2.png", "seen-one.png", "seen-two.png"]
    assert shown_paths(Path("out.jpg"), photos[:1]) == {photos[0]: Path("out.jpg")}


def test_a_score_of_hit_the_deck_needs_no_deck_named(
    reader: Reader, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["read", str(folder / "b"), "--score", "hit-the-deck"]) == 0
    assert "red 4; 4 points (H20)" in capsys.readouterr().out
    assert reader.deck is not None
    assert reader.deck.name == "hit-the-deck"


def test_a_deck_is_found_by_its_name(reader: Reader, folder: Path) -> None:
    assert main(["read", str(folder / "b"), "--deck", "snap-pictures"]) == 0
    assert reader.deck is not None
    assert "red star" in reader.deck.cards


def test_what_read_can_not_do_at_once_is_refused(
    reader: Reader, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["read", str(folder / "b"), "--csv", "--score", "snap"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_a_heic_photo_is_seen_as_its_phone_was_held(tmp_path: Path, orientation: int) -> None:
    import pillow_heif
    from PIL import ImageOps

    pillow_heif.register_heif_opener()
    rgb = np.zeros((64, 96, 3), np.uint8)
    rgb[:32, :48] = (220, 30, 30)
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(rgb).save(tmp_path / "held.heic", exif=exif.tobytes(), quality=95)
    plain = Image.fromarray(rgb)
    plain.getexif()[0x0112] = orientation
    expected = np.asarray(ImageOps.exif_transpose(plain))[..., ::-1].astype(int)
    photo = open_photo(tmp_path / "held.heic")
    assert photo.shape == expected.shape
    assert np.abs(photo.astype(int) - expected).mean() < 6


@pytest.mark.parametrize(("done", "of", "drawn"), [(0, 4, "[>   ] 0/4"), (2, 4, "[==> ] 2/4"), (4, 4, "[====] 4/4")])
def test_the_bar_is_as_full_as_the_work_is_done(done: int, of: int, drawn: str) -> None:
    assert bar(done, of, width=4) == drawn
