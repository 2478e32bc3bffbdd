"""The card benchmark: labels of every kind are read, matching is one to one, the figures are sane."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from referee.bad_input import BadInput
from vision.benches.cards import Tally, confusion, count, expected_calibration_error, matched
from vision.benches.labelled import ALPHABETIC_CLASSES, Kind, Label, LabelledPhoto, open_set, parse_yolo
from vision.benches.wilson import wilson
from vision.cards.seen import SeenCard
from web.cli import main

SHARED = Path(__file__).resolve().parents[2].parent / "shared"


def seen(card: str | None, x: float, y: float, confidence: float = 0.9, face: str = "up") -> SeenCard:
    quad = np.array([[x, y], [x + 60, y], [x + 60, y + 90], [x, y + 90]], np.float32)
    return SeenCard(card, face, confidence, quad, ((card or "2c", confidence),) if face == "up" else ())


def whole(card: str, x: float, y: float) -> Label:
    return Label(card, Kind.WHOLE, np.array([[x, y, x + 60, y + 90]], np.float32))


def corners(card: str, *centres: tuple[float, float]) -> Label:
    return Label(card, Kind.CORNERS, np.array([[x - 5, y - 8, x + 5, y + 8] for x, y in centres], np.float32))


def test_yolo_lines_are_boxes_or_polygons_in_pixels() -> None:
    text = "0 0.5 0.5 0.2 0.4\n51 0.1 0.1 0.3 0.1 0.3 0.5"
    (ten, first), (queen, second) = parse_yolo(text, (100, 200), ALPHABETIC_CLASSES)
    assert (ten, queen) == ("10c", "Qs")
    assert first == pytest.approx([40, 60, 60, 140])
    assert second == pytest.approx([10, 20, 30, 100])


@pytest.mark.parametrize("line", ["52 0.5 0.5 0.1 0.1", "ace 0.5 0.5 0.1 0.1", "3 0.5 0.5 0.1", "3 0.5 x 0.1 0.1"])
def test_a_bad_label_line_is_named(line: str) -> None:
    with pytest.raises(BadInput, match="labels, line 2"):
        parse_yolo("0 0.5 0.5 0.2 0.4\n" + line, (100, 100), ALPHABETIC_CLASSES)


def test_labels_of_one_class_in_a_corner_set_are_one_card_and_backs_are_whole(tmp_path: Path) -> None:
    for part in ("images", "labels"):
        (tmp_path / "set" / part).mkdir(parents=True)
    (tmp_path / "labels.toml").write_text('kind = "corner index"\nclasses = ["As", "back"]\n', "utf-8")
    Image.new("RGB", (100, 100)).save(tmp_path / "set/images/a.jpg")
    lines = "0 0.1 0.1 0.1 0.1\n0 0.5 0.5 0.1 0.1\n1 0.8 0.8 0.2 0.2\n1 0.3 0.8 0.2 0.2"
    (tmp_path / "set/labels/a.txt").write_text(lines, "utf-8")
    ((photo,),) = [list(one) for one in open_set(tmp_path / "set")]
    assert [(label.card, label.kind, len(label.boxes)) for label in photo.labels] == [
        ("back", Kind.WHOLE, 1),
        ("back", Kind.WHOLE, 1),
        ("As", Kind.CORNERS, 2),
    ]
    assert photo.backs_labelled


def test_voc_labels_are_ranks(tmp_path: Path) -> None:
    Image.new("RGB", (50, 40)).save(tmp_path / "a.jpg")
    (tmp_path / "a.xml").write_text(
        "<annotation><size><width>50</width><height>40</height></size><object><name>king</name><bndbox>"
        "<xmin>1</xmin><ymin>2</ymin><xmax>30</xmax><ymax>39</ymax></bndbox></object></annotation>",
        "utf-8",
    )
    ((photo,),) = [list(one) for one in open_set(tmp_path)]
    assert photo.labels[0].card == "K"
    assert photo.labels[0].fits("Kd")
    assert not photo.labels[0].fits("Qd")
    assert not photo.labels[0].fits(None)


@pytest.mark.parametrize(
    ("labels", "found", "pairs"),
    [
        pytest.param([whole("As", 0, 0)], [seen("As", 5, 5)], {0: 0}, id="a card where its box is"),
        pytest.param([whole("As", 0, 0)], [seen("As", 40, 60)], {}, id="a card that is elsewhere"),
        pytest.param([whole("As", 0, 0), whole("2c", 9, 0)], [seen("As", 4, 0)], {0: 0}, id="one quad is one card"),
        pytest.param([corners("As", (6, 9), (54, 81))], [seen("As", 0, 0)], {0: 0}, id="both indices in corners"),
        pytest.param([corners("As", (6, 9), (90, 81))], [seen("As", 0, 0)], {}, id="an index outside the quad"),
        pytest.param([corners("As", (30, 45))], [seen("As", 0, 0)], {}, id="an index in the quad's middle"),
    ],
)
def test_matching(labels: list[Label], found: list[SeenCard], pairs: dict[int, int]) -> None:
    assert matched(labels, found, (500, 500)) == pairs


def test_a_picture_is_counted() -> None:
    labels = (whole("As", 0, 0), whole("2c", 100, 0), whole("3d", 200, 0), whole("4h", 300, 0))
    found = [
        seen("As", 0, 0),
        seen("2s", 100, 0),
        seen(None, 200, 0, 0.4),
        seen("Kh", 0, 200),
        seen(None, 99, 200, face="down"),
    ]
    tally = Tally()
    story = count(tally, LabelledPhoto(Path("a.jpg"), labels, (500, 500), backs_labelled=False), found, (500, 500))
    figures = tally.figures()
    assert figures["cards_found"] == 0.75
    assert (figures["read_right"], figures["read_wrong"], figures["abstained"]) == (0.3333, 0.3333, 0.3333)
    assert figures["cards_false"] == 1
    assert tally.confusions() == {"suit of the same colour": 1}
    assert story == "2c read as 2s, 3d read as 2c?, 4h not found, nothing read as Kh"


def test_the_interval_and_the_calibration_error_are_the_known_ones() -> None:
    assert wilson(9, 10) == pytest.approx((0.5958, 0.9821), abs=1e-4)
    assert expected_calibration_error(np.array([0.95, 0.95, 0.55, 0.55]), np.array([1.0, 1.0, 1.0, 0.0])) == 0.05


@pytest.mark.parametrize(
    ("label", "card", "kind"),
    [
        ("7h", "7s", "red for black"),
        ("7c", "7s", "suit of the same colour"),
        ("9h", "6h", "6 for 9"),
        ("10", "7h", "10 for 7"),
        ("K", "Qd", "another rank"),
        ("Kh", "2s", "another rank and suit"),
    ],
)
def test_confusions_are_told_apart(label: str, card: str, kind: str) -> None:
    assert confusion(label, card) == kind


def test_the_bench_runs_and_its_figures_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    folder = SHARED / "data" / "hand_over_card" / "hearts_king"
    if not folder.is_dir():
        pytest.skip("needs the real photos, which are not shipped")
    assert main(["bench", "cards", "--quick", str(folder)]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["read_right"] + figures["read_wrong"] + figures["abstained"] == pytest.approx(1, abs=2e-4)
    assert figures["cards_found_low"] <= figures["cards_found"] <= figures["cards_found_high"]
    assert figures["cards_found"] > 0.8
    assert figures["read_wrong"] < 0.1
