"""Labelled photographs of cards: finds out how a folder is labelled, and reads its labels."""

from __future__ import annotations

import csv
import re
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from vision.cards.photo import SUFFIXES

RANKS = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")
SUITS = "cdhs"
BACK = "back"

#: YOLO class order of sets without a labels.toml: the order of Roboflow's "poker-cards" (by rank's name).
ALPHABETIC_CLASSES = tuple(
    f"{rank}{suit}" for rank in ("10", "2", "3", "4", "5", "6", "7", "8", "9", "A", "J", "K", "Q") for suit in SUITS
)


class Kind(Enum):
    """What a label's outline encloses."""

    WHOLE = "whole card"
    CORNERS = "corner indices"
    NO_PLACE = "no place: only that the card is in the picture"


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """A card that a person labelled.

    card: as in the project's notation; ``K`` (rank only), ``*h`` (suit only), ``back``, ``joker``.
    boxes: (n, 4) float32, left, top, right, bottom in pixels: one for a whole card, one for each corner
        index that shows; none where the place is not labelled.
    may_be_hidden: a hand may cover it: counted when found, not missed when not.
    """

    card: str
    kind: Kind
    boxes: NDArray[np.float32]
    may_be_hidden: bool = False

    def fits(self, card: str | None) -> bool:
        """Whether a reading agrees with as much as the label says."""
        if card is None:
            return False
        if self.card.startswith("*"):
            return card.endswith(self.card[1:])
        if self.card in RANKS:
            return card[:-1] == self.card
        return card.split(" ")[0] == self.card.split(" ")[0] if self.card.startswith("joker") else card == self.card


@dataclass(frozen=True, slots=True)
class LabelledPhoto:
    """One picture's labels, made for its size when it is opened."""

    path: Path
    labels: tuple[Label, ...]
    size_px: tuple[int, int]  # width, height that the labels' pixels are of
    backs_labelled: bool
    all_labelled: bool = True


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A folder of labelled pictures."""

    folder: Path
    kind: str
    pictures: tuple[Path, ...]
    labels_toml: Path | None = None

    def __iter__(self) -> Iterator[LabelledPhoto]:
        """The pictures with their labels, in the order of their names."""
        classes, indices, backs = _yolo_classes(self.labels_toml) if self.kind == "yolo" else ((), False, False)
        hands = _hands_labelled(self.folder.parent / "labels.csv") if self.kind == "one card" else {}
        for path in self.pictures:
            match self.kind:
                case "yolo":
                    yield _yolo(path, classes, indices, backs)
                case "voc":
                    yield _voc(path)
                case "one card":
                    yield _one_card(path, hands)
                case _:
                    yield _one_suit(path)


def open_set(folder: Path) -> list[LabelledSet]:
    """The labelled sets in a folder: usually one; a folder of folders named for a card gives each of them."""
    if not folder.is_dir():
        raise BadInput.of(str(folder), "a folder of labelled photos", "no such folder")
    if (folder / "images").is_dir() and (folder / "labels").is_dir():
        pictures = _pictures(folder / "images")
        return [LabelledSet(folder, "yolo", pictures, _labels_toml(folder))]
    pictures = _pictures(folder)
    if pictures and all(path.with_suffix(".xml").is_file() for path in pictures):
        return [LabelledSet(folder, "voc", pictures)]
    if pictures and _card_of_folder(folder.name):
        return [LabelledSet(folder, "one card", pictures)]
    suited = tuple(path for path in pictures if _suit_of_file(path) is not None)
    if suited:
        return [LabelledSet(folder, "one suit", suited)]
    inside = [child for child in sorted(folder.iterdir()) if child.is_dir() and _card_of_folder(child.name)]
    if inside:
        return [found for child in inside for found in open_set(child)]
    expected = "images/ beside labels/, VOC .xml beside pictures, or pictures named for cards"
    raise BadInput.of(str(folder), expected, "none")


def _pictures(folder: Path) -> tuple[Path, ...]:
    inside = [path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES]
    return tuple(sorted(inside, key=lambda path: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", path.name)]))


def _labels_toml(folder: Path) -> Path | None:
    for place in (folder, folder.parent):
        if (place / "labels.toml").is_file():
            return place / "labels.toml"
    return None


def _yolo_classes(described: Path | None) -> tuple[tuple[str, ...], bool, bool]:
    """Class names, whether a box encloses a corner index, whether backs are labelled."""
    if described is None:
        return ALPHABETIC_CLASSES, False, False
    told = tomllib.loads(described.read_text("utf-8"))
    classes = tuple(str(name) for name in told["classes"])
    return classes, "corner" in str(told.get("kind", "")), BACK in classes


def parse_yolo(
    text: str, size_px: tuple[int, int], classes: tuple[str, ...], name: str = "labels"
) -> list[tuple[str, NDArray[np.float32]]]:
    """Class and box (4,) pixels of each line: ``class x y w h``, or ``class x1 y1 x2 y2 …`` for a polygon."""
    width, height = size_px
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        try:
            card = classes[int(words[0])]
            values = np.array([float(word) for word in words[1:]], np.float32)
        except (ValueError, IndexError):
            expected = f"a class below {len(classes)} and numbers"
            raise BadInput.of(f"{name}, line {number}", expected, line[:60]) from None
        if len(values) == 4:
            x, y, w, h = values
            box = np.array([x - w / 2, y - h / 2, x + w / 2, y + h / 2], np.float32)
        elif len(values) >= 6 and len(values) % 2 == 0:
            points = values.reshape(-1, 2)
            box = np.concatenate([points.min(axis=0), points.max(axis=0)])
        else:
            raise BadInput.of(f"{name}, line {number}", "4 numbers or a polygon", f"{len(values)} numbers")
        found.append((card, box * np.array([width, height, width, height], np.float32)))
    return found


def _yolo(path: Path, classes: tuple[str, ...], indices: bool, backs: bool) -> LabelledPhoto:
    size_px = _size_px(path)
    text_file = path.parent.parent / "labels" / (path.stem + ".txt")
    lines = parse_yolo(text_file.read_text("utf-8"), size_px, classes, str(text_file)) if text_file.is_file() else []
    labels: list[Label] = []
    by_card: dict[str, list[NDArray[np.float32]]] = {}
    for card, box in lines:
        if indices and card != BACK:
            by_card.setdefault(card, []).append(box)
        else:
            labels.append(Label(card, Kind.WHOLE, box[None]))
    labels += [Label(card, Kind.CORNERS, np.stack(boxes)) for card, boxes in by_card.items()]
    return LabelledPhoto(path, tuple(labels), size_px, backs)


_VOC_RANKS = {"ace": "A", "king": "K", "queen": "Q", "jack": "J", "ten": "10", "nine": "9"}


def _voc(path: Path) -> LabelledPhoto:
    described = path.with_suffix(".xml")
    try:
        root = ET.parse(described).getroot()
        size_px = (int(root.findtext("size/width", "0")), int(root.findtext("size/height", "0")))
        labels = []
        for thing in root.iter("object"):
            word = thing.findtext("name", "").strip()
            sides = [float(thing.findtext(f"bndbox/{side}", "nan")) for side in ("xmin", "ymin", "xmax", "ymax")]
            labels.append(Label(_VOC_RANKS.get(word, word), Kind.WHOLE, np.array([sides], np.float32)))
    except (ET.ParseError, ValueError) as error:
        raise BadInput.of(str(described), "VOC XML", error) from None
    return LabelledPhoto(path, tuple(labels), size_px, backs_labelled=False)


def _card_of_folder(name: str) -> str | None:
    """``hearts_king`` -> ``Kh``."""
    suit, _, rank = name.partition("_")
    ranks = {"ace": "A", "king": "K", "queen": "Q", "jack": "J"}
    rank = ranks.get(rank, rank)
    return f"{rank}{suit[0]}" if suit in ("clubs", "diamonds", "hearts", "spades") and rank in RANKS else None


def _hands_labelled(labels_csv: Path) -> dict[str, str]:
    if not labels_csv.is_file():
        return {}
    with labels_csv.open(encoding="utf-8", newline="") as lines:
        return {row["picture"]: row["hand"] for row in csv.DictReader(lines)}


def _one_card(path: Path, hands: dict[str, str]) -> LabelledPhoto:
    hand = hands.get(f"{path.parent.name}/{path.name}", "unsure")
    card = _card_of_folder(path.parent.name) or ""
    label = Label(card, Kind.NO_PLACE, np.zeros((0, 4), np.float32), may_be_hidden=hand not in ("none", "near"))
    return LabelledPhoto(path, (label,), _size_px(path), backs_labelled=False)


def _suit_of_file(path: Path) -> str | None:
    """``heart3.jpg`` -> ``h``; ``chips1`` and ``surface2`` show no card: an empty string."""
    word = re.match(r"(club|diamond|heart|spade|chips|surface)s?\d*$", path.stem)
    if word is None:
        return None
    return "" if word[1] in ("chips", "surface") else word[1][0]


def _one_suit(path: Path) -> LabelledPhoto:
    suit = _suit_of_file(path)
    nowhere = np.zeros((0, 4), np.float32)
    labels = tuple(Label(f"*{suit}", Kind.NO_PLACE, nowhere) for _ in range(13)) if suit else ()
    return LabelledPhoto(path, labels, _size_px(path), backs_labelled=False)


def _size_px(path: Path) -> tuple[int, int]:
    from PIL import Image

    with Image.open(path) as picture:
        turned = picture.getexif().get(0x0112, 1) > 4
        return (picture.height, picture.width) if turned else picture.size
