"""Table tops for films, drawn from noise or photographs: wood, cloth, a patterned cloth, and the floor around them."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from vision.weights import data_folder

Picture = NDArray[np.uint8]
Field = NDArray[np.float32]


def _noise(rng: np.random.Generator, height: int, width: int, cell_y: float, cell_x: float) -> Field:
    """(height, width) float32, about -1 to 1: smooth noise whose blobs are cell_y by cell_x pixels."""
    rows, columns = max(2, int(height / cell_y) + 2), max(2, int(width / cell_x) + 2)
    coarse = rng.normal(0, 0.5, (rows, columns)).astype(np.float32)
    return np.asarray(cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC), np.float32)


def _tint(tone: Field, dark: tuple[int, int, int], light: tuple[int, int, int]) -> Picture:
    """Map 0..1 to a colour between two BGR colours."""
    share = np.clip(tone, 0, 1)[..., None]
    low, high = np.array(dark, np.float32), np.array(light, np.float32)
    return np.asarray(low + (high - low) * share, np.float32).astype(np.uint8)


WOODS: dict[str, tuple[tuple[int, int, int], tuple[int, int, int]]] = {
    "oak": ((70, 108, 150), (118, 164, 204)),
    "walnut": ((32, 48, 74), (66, 94, 130)),
    "pine": ((110, 158, 196), (150, 196, 226)),
    "cherry": ((40, 62, 118), (72, 104, 168)),
}


def wood(rng: np.random.Generator, height: int, width: int, px_per_mm: float, kind: str = "oak") -> Picture:
    """Planks with grain along x, knots left to the imagination."""
    plank_px = max(8, int(rng.uniform(85, 130) * px_per_mm))
    tone = np.zeros((height, width), np.float32)
    for top in range(0, height, plank_px):
        rows = min(plank_px, height - top)
        bend = _noise(rng, rows, width, 40 * px_per_mm, 260 * px_per_mm) * 14 * px_per_mm
        ys = np.arange(rows, dtype=np.float32)[:, None] + bend + rng.uniform(0, 400)
        rings = np.sin(ys / px_per_mm * rng.uniform(0.28, 0.5) + 2.2 * _noise(rng, rows, width, 14, 180))
        fine = _noise(rng, rows, width, 1.1 * px_per_mm, 46 * px_per_mm)
        finer = _noise(rng, rows, width, 0.7 * px_per_mm, 14 * px_per_mm)
        plank = 0.5 + 0.13 * rings + 0.2 * fine + 0.08 * finer + rng.uniform(-0.14, 0.14)
        plank[: max(1, round(0.8 * px_per_mm))] -= 0.45
        tone[top : top + rows] = plank
    return _tint(tone, *WOODS[kind])


CLOTHS: dict[str, tuple[int, int, int]] = {
    "green": (62, 104, 38),
    "blue": (120, 74, 34),
    "red": (38, 32, 122),
    "grey": (112, 112, 110),
    "white": (214, 222, 226),
}


def cloth(rng: np.random.Generator, height: int, width: int, px_per_mm: float, kind: str = "green") -> Picture:
    """A woven or felted cloth with a few soft folds."""
    fibre = _noise(rng, height, width, 1.2 * px_per_mm, 1.2 * px_per_mm)
    cloudy = _noise(rng, height, width, 60 * px_per_mm, 60 * px_per_mm)
    folds = _noise(rng, height, width, 500 * px_per_mm, 90 * px_per_mm)
    xs = np.arange(width, dtype=np.float32) * (2 * np.pi / (2.6 * px_per_mm))
    ys = np.arange(height, dtype=np.float32)[:, None] * (2 * np.pi / (2.6 * px_per_mm))
    weave = np.sin(xs) * np.sin(ys)
    gain = 1 + 0.09 * fibre + 0.05 * cloudy + 0.05 * folds + 0.03 * weave
    lit = np.array(CLOTHS[kind], np.float32) * gain[..., None]
    return np.asarray(np.clip(lit, 0, 255), np.float32).astype(np.uint8)


def patterned(rng: np.random.Generator, height: int, width: int, px_per_mm: float) -> Picture:
    """A chequered kitchen cloth: lines that a card finder may stumble over."""
    ground = cloth(rng, height, width, px_per_mm, "white").astype(np.float32)
    pitch = rng.uniform(36, 60) * px_per_mm
    stripes_x = ((np.arange(width) / pitch) % 1 < 0.5).astype(np.float32)
    stripes_y = ((np.arange(height) / pitch) % 1 < 0.5).astype(np.float32)
    share = 0.32 * (stripes_x[None, :] + stripes_y[:, None])[..., None]
    ink = np.array(((150, 70, 40), (50, 40, 160), (60, 120, 60))[int(rng.integers(3))], np.float32)
    return np.asarray(ground * (1 - share) + ink * share, np.float32).astype(np.uint8)


def table_top(name: str, rng: np.random.Generator, height: int, width: int, px_per_mm: float) -> Picture:
    """(height, width, 3) uint8 BGR: the table top of that name, one of `TOPS`."""
    if name == "patterned":
        return patterned(rng, height, width, px_per_mm)
    if name in PHOTO_TOPS:
        return photographed(rng, height, width, name.removeprefix(_PHOTO))
    if name in WOODS:
        return wood(rng, height, width, px_per_mm, name)
    return cloth(rng, height, width, px_per_mm, name.removeprefix("cloth-"))


def photograph(name: str) -> Picture:
    """(height, width, 3) uint8 BGR: one of the photographs that ship with the project."""
    path = data_folder("datasets") / "films" / "photos" / f"{name}.jpg"
    image = cv2.imread(str(path), cv2.IMREAD_COLOR) if path.is_file() else None
    if image is None:
        raise BadInput.of(str(path), "a photograph, as this project ships it", "nothing that can be read")
    return np.asarray(image, np.uint8)


def photographed(rng: np.random.Generator, height: int, width: int, name: str) -> Picture:
    """Most of a photograph as the table top: flat on it, from whichever side."""
    image = photograph(name)
    tall, wide = image.shape[:2]
    scale = float(rng.uniform(0.72, 0.98)) * min(tall / height, wide / width)
    rows, columns = int(height * scale), int(width * scale)
    top, left = int(rng.integers(tall - rows + 1)), int(rng.integers(wide - columns + 1))
    part = image[top : top + rows, left : left + columns]
    if rng.random() < 0.5:
        part = part[::-1, ::-1]
    return np.asarray(cv2.resize(part, (width, height), interpolation=cv2.INTER_CUBIC), np.uint8)


_PHOTO = "photo-"
PHOTO_TOPS = tuple(_PHOTO + name for name in ("planks", "grass", "concrete", "dandelion", "brushes"))
TOPS = (*WOODS, *(f"cloth-{kind}" for kind in CLOTHS), "patterned", *PHOTO_TOPS)
"""What a table top may be made of."""
FLOORS = ("dark", "room")
"""What may be around the table: nothing that can be made out, or a photographed room."""
ROOM_BLUR = 1 / 160
"""One standard deviation of the lens's blur past the table, as a share of the picture's width: the room is far."""


def floor(rng: np.random.Generator, height: int, width: int, kind: str = "dark") -> Picture:
    """What is seen past the table's edge: out of focus, and dark unless it is a room."""
    if kind == "room":
        return np.asarray(cv2.GaussianBlur(photographed(rng, height, width, kind), (0, 0), ROOM_BLUR * width), np.uint8)
    tone = 0.5 + 0.4 * _noise(rng, height, width, height / 3, width / 5)
    return _tint(tone, (26, 30, 34), (62, 66, 72))


def light_gain(
    rng: np.random.Generator, height: int, width: int, *, vignette: float = 0.12, slope: float = 0.18
) -> Field:
    """(height, width) float32 gain: a lamp on one side and the lens's vignette, 1 at the middle."""
    ys, xs = np.mgrid[0:height, 0:width].astype(np.float32)
    u, v = xs / max(width, 1) - 0.5, ys / max(height, 1) - 0.5
    side = rng.uniform(0, 2 * np.pi)
    lamp = slope * (u * np.cos(side) + v * np.sin(side))
    gain = (1 + lamp) * (1 - vignette * (u * u + v * v) * 4)
    return np.asarray(gain / gain[height // 2, width // 2], np.float32)
