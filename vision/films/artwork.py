"""Deck artwork for films: the sheets that ship with the project, and decks found on this machine."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from vision.weights import data_folder

Picture = NDArray[np.uint8]

CARD_MM = (63.0, 88.0)
"""Width and height of a poker card."""
CARD_PX = (180, 252)
"""Width and height of a card on a sheet: enough for a close-up, small enough to ship."""
CORNER_MM = 3.4
"""Radius of a poker card's rounded corners."""

SUITS = "cdhs"
RANKS = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")


def datasets_folder() -> Path:
    """Where the project's data lies: the checkout's `datasets`, or what the wheel installed."""
    return data_folder("datasets")


@dataclass(frozen=True, slots=True, eq=False)
class DeckArt:
    """A deck's pictures: faces by the card's notation, and the back. Each (252, 180, 3) uint8, BGR."""

    name: str
    faces: dict[str, Picture]
    back: Picture

    def side(self, card: str | None) -> Picture:
        """The picture of a card's face, or of the back when the card is not shown."""
        return self.back if card is None else self.faces[card]


def corner_mask(size_px: tuple[int, int] = CARD_PX) -> Picture:
    """(height, width) uint8: 255 on the card, smooth to 0 over its rounded corners."""
    times = 4
    width, height = size_px[0] * times, size_px[1] * times
    radius = round(CORNER_MM / CARD_MM[0] * width)
    mask = np.zeros((height, width), np.uint8)
    cv2.rectangle(mask, (radius, 0), (width - radius - 1, height - 1), 255, -1)
    cv2.rectangle(mask, (0, radius), (width - 1, height - radius - 1), 255, -1)
    for x in (radius, width - radius - 1):
        for y in (radius, height - radius - 1):
            cv2.circle(mask, (x, y), radius, 255, -1)
    return np.asarray(cv2.resize(mask, size_px, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def lattice_back(ink: tuple[int, int, int] = (150, 60, 30)) -> Picture:
    """A card back of this project's own: a white rim round a diamond lattice. `ink` is BGR."""
    times = 4
    width, height = CARD_PX[0] * times, CARD_PX[1] * times
    back = np.full((height, width, 3), 250, np.uint8)
    rim = round(width * 0.075)
    back[rim:-rim, rim:-rim] = ink
    inner = rim + round(width * 0.022)
    cv2.rectangle(back, (inner, inner), (width - inner, height - inner), (245, 245, 245), round(width * 0.008))
    ys, xs = np.mgrid[0:height, 0:width].astype(np.float64)
    pitch = width / 14
    u = (xs - width / 2 + ys - height / 2) / pitch
    v = (xs - width / 2 - ys + height / 2) / pitch
    lines = (np.abs(u - np.round(u)) < 0.09) | (np.abs(v - np.round(v)) < 0.09)
    dots = np.hypot(u - np.floor(u) - 0.5, v - np.floor(v) - 0.5) < 0.2
    pad = inner + round(width * 0.02)
    inside = np.zeros((height, width), bool)
    inside[pad:-pad, pad:-pad] = True
    back[(lines | dots) & inside] = (243, 240, 238)
    ring = np.hypot(xs - width / 2, (ys - height / 2)) / (width * 0.2)
    back[(ring < 1) & inside] = ink
    petals = np.abs(np.cos(4 * np.arctan2(ys - height / 2, xs - width / 2)))
    back[(ring < 0.3 + 0.55 * petals) & inside] = (243, 240, 238)
    back[ring < 0.22] = ink
    return np.asarray(cv2.resize(back, CARD_PX, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def spot_card() -> Picture:
    """The index card that says Snap!, this project's own: black letters on yellow, to be read from both sides."""
    times = 4
    width, height = CARD_PX[0] * times, CARD_PX[1] * times
    art = np.full((height, width, 3), (60, 205, 250), np.uint8)
    cv2.rectangle(art, (30, 30), (width - 31, height - 31), (40, 60, 190), 14)
    text, font, scale, thick = "SNAP!", cv2.FONT_HERSHEY_DUPLEX, 7.2, 26
    (wide, _), _ = cv2.getTextSize(text, font, scale, thick)
    scale *= (width - 150) / wide
    (wide, _), _ = cv2.getTextSize(text, font, scale, thick)
    half = np.zeros((height, width), np.uint8)
    cv2.putText(half, text, ((width - wide) // 2, height // 2 - 70), font, scale, 255, thick, cv2.LINE_AA)
    both = cv2.max(half, cv2.rotate(half, cv2.ROTATE_180))
    share = both[..., None].astype(np.float32) / 255
    inked = art * (1 - share) + np.array((35, 30, 30), np.float32) * share
    return np.asarray(cv2.resize(inked.astype(np.uint8), CARD_PX, interpolation=cv2.INTER_AREA), np.uint8)


def write_sheet(faces: dict[str, Picture], path: Path, quality: int = 80) -> None:
    """Lay 52 faces (rows c d h s, columns A to K) on one sheet and write it as WebP."""
    rows = [np.hstack([faces[rank + suit] for rank in RANKS]) for suit in SUITS]
    if not cv2.imwrite(str(path), np.vstack(rows), [cv2.IMWRITE_WEBP_QUALITY, quality]):
        raise OSError(f"expected to write {path}, but the encoder refused")


def _cut(sheet: Picture) -> dict[str, Picture]:
    width, height = CARD_PX
    return {
        rank + suit: np.ascontiguousarray(
            sheet[row * height : (row + 1) * height, column * width : (column + 1) * width]
        )
        for row, suit in enumerate(SUITS)
        for column, rank in enumerate(RANKS)
    }


INKS = {"blue": (150, 60, 30), "red": (45, 35, 175), "green": (70, 105, 25), "black": (45, 40, 40)}
"""BGR inks of the back."""


@lru_cache(maxsize=4)
def standard_deck(ink: str = "blue") -> DeckArt:
    """The deck that ships with the project."""
    path = datasets_folder() / "films" / "standard" / "faces.webp"
    sheet = cv2.imread(str(path), cv2.IMREAD_COLOR)
    expected = (CARD_PX[1] * len(SUITS), CARD_PX[0] * len(RANKS), 3)
    if sheet is None or sheet.shape != expected:
        raise BadInput.of(str(path), f"a sheet of cards {expected}", None if sheet is None else sheet.shape)
    return DeckArt(f"standard-{ink}", _cut(np.asarray(sheet, np.uint8)), lattice_back(INKS[ink]))


def sheet_from_svgs(folder: Path, path: Path) -> None:
    """Make the shipped sheet again from a folder of SVG files named `1c.svg` to `13s.svg` (needs rsvg-convert)."""
    names = {1: "A", 11: "J", 12: "Q", 13: "K"}
    inner = (round(CARD_PX[0] * 0.956), round(CARD_PX[1] * 0.956))
    left, top = (CARD_PX[0] - inner[0]) // 2, (CARD_PX[1] - inner[1]) // 2
    faces = {}
    for suit in SUITS:
        for number in range(1, 14):
            source = folder / f"{number}{suit}.svg"
            asked = ["rsvg-convert", "-w", str(CARD_PX[0]), "-h", str(CARD_PX[1]), str(source)]
            data = subprocess.run(asked, capture_output=True, check=True, timeout=60).stdout
            drawn = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
            if drawn is None:
                raise BadInput.of(str(source), "a picture of a card", "nothing that can be read")
            face = np.full((CARD_PX[1], CARD_PX[0], 3), 253, np.uint8)
            small = cv2.resize(drawn, inner, interpolation=cv2.INTER_AREA)
            face[top : top + inner[1], left : left + inner[0]] = small
            faces[names.get(number, str(number)) + suit] = face
    write_sheet(faces, path)


if __name__ == "__main__":
    sheet_from_svgs(Path(sys.argv[1]), Path(sys.argv[2]))
