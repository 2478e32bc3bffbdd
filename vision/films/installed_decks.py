"""Deck artwork of packages installed on this machine: Debian's gnome-cards-data and aisleriot, by the design's name."""

from __future__ import annotations

import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np

from referee.bad_input import BadInput
from vision.films.artwork import CARD_PX, RANKS, SUITS, DeckArt, Picture

FOLDERS = (Path("/usr/share/aisleriot/cards"), Path("/usr/share/gnome-games-common/cards"))
"""Where those packages put their sheets: SVG, 13 columns A to K, rows c d h s, then two jokers and the back."""
DESIGNS = (
    "anglo", "anglo_bitmap", "anglo_modern", "anglo_poker", "bonded", "gnomangelo", "gnomangelo_bitmap",
    "dondorf", "guyenne-classic", "neoclassical", "ornamental", "paris", "simplistic", "tango", "tango_nuevo",
)  # fmt: skip
"""Designs with the ranks' usual letters; their licence is the GPL, version 3 or later."""
_BACK_COLUMN = 2
EDGE_PX = 3


def installed() -> tuple[str, ...]:
    """The designs that can be used here; none where the packages or rsvg-convert are missing."""
    if shutil.which("rsvg-convert") is None:
        return ()
    return tuple(name for name in DESIGNS if _sheet_of(name) is not None)


def _sheet_of(name: str) -> Path | None:
    places = (folder / f"{name}{ending}" for folder in FOLDERS for ending in (".svgz", ".svg"))
    return next((path for path in places if path.is_file()), None)


@lru_cache(maxsize=4)
def installed_deck(name: str) -> DeckArt:
    """A design as artwork for films: rasterised once and cut."""
    path = _sheet_of(name)
    if path is None or name not in DESIGNS:
        raise BadInput.of("deck", f"a design installed here ({', '.join(installed()) or 'there is none'})", name)
    width, height = CARD_PX[0] * len(RANKS), CARD_PX[1] * (len(SUITS) + 1)
    asked = ["rsvg-convert", "-w", str(width), "-h", str(height), "--unlimited", str(path)]
    made = subprocess.run(asked, capture_output=True, check=False, timeout=120)
    sheet = cv2.imdecode(np.frombuffer(made.stdout, np.uint8), cv2.IMREAD_UNCHANGED) if made.stdout else None
    if sheet is None or sheet.shape != (height, width, 4):
        reason = made.stderr.decode(errors="replace").strip()[:80]
        raise BadInput.of(str(path), "a sheet of 13 by 5 cards", reason or "none")
    alpha = sheet[..., 3:].astype(np.float32) / 255
    flat = (sheet[..., :3] * alpha + 252 * (1 - alpha)).astype(np.uint8)
    wide, high = CARD_PX

    def cut(row: int, column: int) -> Picture:
        # The outline that screens need is left out: printed cards have none.
        inner = flat[
            row * high + EDGE_PX : (row + 1) * high - EDGE_PX, column * wide + EDGE_PX : (column + 1) * wide - EDGE_PX
        ]
        return np.asarray(cv2.resize(inner, CARD_PX, interpolation=cv2.INTER_LINEAR), np.uint8)

    faces = {rank + suit: cut(row, column) for row, suit in enumerate(SUITS) for column, rank in enumerate(RANKS)}
    return DeckArt(name, faces, cut(len(SUITS), _BACK_COLUMN))
