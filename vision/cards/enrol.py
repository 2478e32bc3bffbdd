"""Makes a deck from photographs that each show one card."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from vision.cards.deck import Deck
from vision.cards.embed import CROP_SIZE_PX
from vision.cards.photo import open_photo, photos_in
from vision.cards.quads import area, iou, is_nearly_square
from vision.cards.read import CardReader
from vision.cards.reader import rectified
from vision.cards.refine import refined
from vision.detections import CARD_BACK, CARD_FACE, CARD_OUTLINE, Detections

#: What the name of a photo may end in when a card has several: ``red 4 (2).jpg``, ``red 4~b.jpg``.
_REPEAT = re.compile(r"\s*(\(\d+\)|~\w+)$")

#: What fits a card's edges less than this beside another find is none: boxes larger than the card, on a table of wood,
#: fit by 0 to 0.26 of what the card itself does.
FITS_AT_ALL = 0.5

#: Quads that agree with the worthiest by this much are of the same card: boxes askew over one agree by 0.5 to 0.6.
SAME_PLACE_IOU = 0.4

#: Of these one fits as well as another by this much: on rendered photos of one card, boxes askew are at most 0.85 of a
#: tight one, and the frame printed on a card fits as well as the card.
FITS_AS_WELL = 0.87


@dataclass(frozen=True, slots=True)
class Shown:
    """A photo and the card that it shows."""

    card: str
    photo: Path


def listed(paths: Iterable[Path]) -> list[Shown]:
    """What is to be enrolled: photos named for their card, folders of them, or CSV files ``card,picture``."""
    shown: list[Shown] = []
    for path in paths:
        if path.suffix.lower() == ".csv":
            shown += _from_csv(path)
        else:
            shown += [Shown(_REPEAT.sub("", photo.stem.replace("_", " ")), photo) for photo in photos_in([path])]
    return shown


def _from_csv(path: Path) -> list[Shown]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except OSError as error:
        raise BadInput.of(str(path), "a list of cards", error.strerror or type(error).__name__) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput.of(str(path), "a list of cards as CSV", error) from None
    bad = [number for number, row in enumerate(rows, 2) if not row.get("card") or not row.get("picture")]
    if bad or not rows:
        raise BadInput.of(str(path), "lines with card,picture", f"none in line {bad[0]}" if bad else "no lines")
    return [Shown(row["card"].strip(), path.parent / row["picture"].strip()) for row in rows]


def main_quad(image: NDArray[np.uint8], found: Detections) -> NDArray[np.float32] | None:
    """The quad (4, 2) of the card that a photo is about: large and in the middle; None when there is none.

    A face of a design that the detector never saw is often taken for a back, and found again as boxes that lie askew
    over it: what has no edges along its sides doesn't count.
    """
    cards = found.labelled(CARD_FACE, CARD_BACK, CARD_OUTLINE)
    if not len(cards):
        return None
    height, width = image.shape[:2]
    middle = np.array([width / 2, height / 2])
    worth = np.array(
        [
            area(quad) / (width * height) - 0.7 * float(np.linalg.norm(quad.mean(axis=0) - middle)) / max(width, height)
            for quad in cards.quads
        ]
    )
    fits = np.array([_fits(image, quad) for quad in cards.quads])
    likely = np.flatnonzero(fits >= FITS_AT_ALL * fits.max())
    worthiest = cards.quads[max(likely, key=lambda i: worth[i])]
    here = [i for i in likely if iou(cards.quads[i], worthiest) > SAME_PLACE_IOU]
    fitting = [i for i in here if fits[i] >= FITS_AS_WELL * fits[here].max()]
    return np.asarray(cards.quads[max(fitting, key=lambda i: worth[i])], np.float32)


def _fits(image: NDArray[np.uint8], quad: NDArray[np.float32]) -> float:
    """How well a quad lies on a card's edges: how well they are seen, and how near to them it is."""
    fitted, support = refined(image, quad)
    return support * iou(fitted, quad)


def enrolled(name: str, shown: Iterable[Shown], reader: CardReader) -> tuple[Deck, list[str]]:
    """The deck, and what was wrong: photos that can't be opened, photos in which no card is found."""
    unopened: list[str] = []

    def looks() -> Iterator[tuple[str, NDArray[np.uint8]]]:
        for one in shown:
            try:
                yield one.card, open_photo(one.photo)
            except BadInput as error:
                unopened.append(str(error))

    deck, wrong = enrolled_from(name, looks(), reader)
    return deck, unopened + wrong


def enrolled_from(
    name: str, looks: Iterable[tuple[str, NDArray[np.uint8]]], reader: CardReader
) -> tuple[Deck, list[str]]:
    """The deck from pictures (h, w, 3) uint8 BGR that each show one card, and of which cards none was found."""
    cards: list[str] = []
    crops: list[NDArray[np.uint8]] = []
    wrong: list[str] = []
    for card, image in looks:
        quad = main_quad(image, reader.find(image))
        if quad is None:
            wrong.append(f"{card}: expected one card that stands out from the table, got none")
            continue
        for crop in crops_of(image, quad):
            cards.append(card)
            crops.append(crop)
    if not crops:
        raise BadInput.of(f"deck {name}", "photos of cards", "; ".join(wrong) or "none")
    return Deck(name, tuple(cards), np.stack(crops)), wrong


def crops_of(image: NDArray[np.uint8], quad: NDArray[np.float32]) -> list[NDArray[np.uint8]]:
    """A card's crop; two where its quad is so nearly square that either side may be the short one."""
    crops = [rectified(image, quad, CROP_SIZE_PX)]
    if is_nearly_square(quad):
        crops.append(rectified(image, np.roll(quad, 1, axis=0), CROP_SIZE_PX))
    return crops
