"""Decks drawn here: indices in many fonts around pips and courts that other decks lend."""

import subprocess
from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

from vision.training.artwork import HEIGHT, RANKS, SUITS, WIDTH, Deck, Image

# Where pips lie in the pip area, as shares of its width and height: the layout of every Anglo-American deck.
_L, _C, _R = 0.0, 0.5, 1.0
PIPS: dict[str, tuple[tuple[float, float], ...]] = {
    "A": ((_C, 0.5),),
    "2": ((_C, 0.0), (_C, 1.0)),
    "3": ((_C, 0.0), (_C, 0.5), (_C, 1.0)),
    "4": ((_L, 0.0), (_R, 0.0), (_L, 1.0), (_R, 1.0)),
    "5": ((_L, 0.0), (_R, 0.0), (_C, 0.5), (_L, 1.0), (_R, 1.0)),
    "6": ((_L, 0.0), (_R, 0.0), (_L, 0.5), (_R, 0.5), (_L, 1.0), (_R, 1.0)),
    "7": ((_L, 0.0), (_R, 0.0), (_C, 0.25), (_L, 0.5), (_R, 0.5), (_L, 1.0), (_R, 1.0)),
    "8": ((_L, 0.0), (_R, 0.0), (_C, 0.25), (_L, 0.5), (_R, 0.5), (_C, 0.75), (_L, 1.0), (_R, 1.0)),
    "9": (
        (_L, 0.0), (_R, 0.0), (_L, 1 / 3), (_R, 1 / 3), (_C, 0.5), (_L, 2 / 3), (_R, 2 / 3), (_L, 1.0), (_R, 1.0),
    ),
    "10": (
        (_L, 0.0), (_R, 0.0), (_C, 1 / 6), (_L, 1 / 3), (_R, 1 / 3),
        (_L, 2 / 3), (_R, 2 / 3), (_C, 5 / 6), (_L, 1.0), (_R, 1.0),
    ),
}  # fmt: skip
# Two to one, everyday colours against four-colour decks (clubs green, diamonds blue).
_INKS = (
    {"c": (20, 20, 20), "d": (30, 25, 200), "h": (30, 25, 200), "s": (20, 20, 20)},
    {"c": (45, 35, 30), "d": (50, 40, 225), "h": (50, 40, 225), "s": (45, 35, 30)},
    {"c": (30, 110, 30), "d": (190, 80, 20), "h": (30, 25, 200), "s": (20, 20, 20)},
)


def font_file(name: str) -> str:
    """The file of a font by its fontconfig name."""
    return subprocess.run(["fc-match", "-f", "%{file}", name], capture_output=True, text=True, check=True).stdout


def draw_deck(font: str, lenders: Sequence[Deck], seed: int) -> dict[str, Image]:
    """A deck of 52 faces, HEIGHT × WIDTH × 4 uint8 BGRA, with indices in `font`."""
    rng = np.random.default_rng(seed)
    file = font_file(font)
    lender = lenders[int(rng.integers(len(lenders)))]
    ink = _INKS[seed % 3]
    paper = np.array([255, 255, 255]) - rng.integers(0, 14, 3) * int(rng.integers(2))
    size = int(rng.integers(38, 78))
    squeeze = float(rng.uniform(0.62, 1.0))
    corners = 4 if seed % 3 == 1 else 2
    suit_scale = float(rng.uniform(0.6, 1.0))
    pip_size = int(rng.integers(40, 62))
    edge = int(rng.integers(6, 13))
    pips = {suit: _pip(suit, ink[suit]) for suit in SUITS}
    faces: dict[str, Image] = {}
    for suit in SUITS:
        for rank in RANKS:
            face = np.empty((HEIGHT, WIDTH, 3), np.uint8)
            face[:] = paper
            index = _index(rank, pips[suit], file, size, squeeze, suit_scale, ink[suit])
            tall, wide = index.shape[:2]
            if rank in PIPS:
                big = pip_size if rank != "A" else int(pip_size * rng.uniform(1.0, 2.6))
                left, top = edge + wide + big // 2 + 4, edge + big // 2 + 14
                if corners == 4:
                    top += 12
                for x, y in PIPS[rank]:
                    stamp = _pip(suit, ink[suit], big)
                    if y > 0.5:
                        stamp = stamp[::-1, ::-1]
                    centre = (round(left + x * (WIDTH - 2 * left)), round(top + y * (HEIGHT - 2 * top)))
                    _stamp(face, stamp, centre[0] - big // 2, centre[1] - big // 2)
            else:
                art = lender.picture(rank + suit)
                inner = art[40:-40, 44:-44]
                margin = edge + wide + 2
                court = np.asarray(
                    cv2.resize(inner, (WIDTH - 2 * margin, HEIGHT - 2 * 24), interpolation=cv2.INTER_AREA), np.uint8
                )
                _stamp(face, court, margin, 24)
                cv2.rectangle(face, (margin, 24), (WIDTH - margin, HEIGHT - 24), ink[suit], 1)
            places = [(edge, edge + 4, False)]
            if corners == 4:
                places.append((WIDTH - edge - wide, edge + 4, False))
            for x_px, y_px, _ in places:
                _stamp(face, index, x_px, y_px)
                _stamp(face, index[::-1, ::-1], WIDTH - x_px - wide, HEIGHT - y_px - tall)
            faces[rank + suit] = np.dstack([face, _rounded(14)])
    return faces


def _index(
    rank: str, pip: Image, file: str, size: int, squeeze: float, suit_scale: float, ink: tuple[int, int, int]
) -> Image:
    """The rank above its suit, BGRA, cut close."""
    type_face = ImageFont.truetype(file, size)
    canvas = Pillow.new("L", (size * 3, size * 2), 0)
    ImageDraw.Draw(canvas).text((size, size // 3), rank, fill=255, font=type_face)
    mask = np.asarray(canvas)
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    mask = mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    narrow = squeeze * (0.72 if rank == "10" else 1.0)
    mask = np.asarray(cv2.resize(mask, None, fx=narrow, fy=1.0, interpolation=cv2.INTER_AREA), np.uint8)
    side = max(14, int(size * 0.62 * suit_scale))
    small = np.asarray(cv2.resize(pip, (side, side), interpolation=cv2.INTER_AREA), np.uint8)
    wide, tall = max(mask.shape[1], side), mask.shape[0] + side + max(3, size // 10)
    out = np.zeros((tall, wide, 4), np.uint8)
    x = (wide - mask.shape[1]) // 2
    out[: mask.shape[0], x : x + mask.shape[1], :3] = ink
    out[: mask.shape[0], x : x + mask.shape[1], 3] = mask
    x = (wide - side) // 2
    out[tall - side :, x : x + side] = small
    return out


def _pip(suit: str, ink: tuple[int, int, int], side: int = 160) -> Image:
    """A suit's sign, side × side × 4 uint8 BGRA, drawn from curves."""
    large = 320
    mask = np.zeros((large, large), np.uint8)
    points = np.linspace(0, 2 * np.pi, 200)
    if suit == "d":
        curve = 1.0 - 0.12 * np.abs(np.sin(2 * points))
        x = 0.40 * np.sign(np.cos(points)) * np.abs(np.cos(points)) ** 1.5 * curve
        y = 0.49 * np.sign(np.sin(points)) * np.abs(np.sin(points)) ** 1.5 * curve
        _fill(mask, x + 0.5, y + 0.5)
    elif suit == "h":
        _fill(mask, *_heart(points))
    elif suit == "s":
        x, y = _heart(points)
        _fill(mask, x, 0.90 - 0.92 * y + 0.0)
        _stem(mask)
    else:
        for centre in ((0.5, 0.24), (0.26, 0.56), (0.74, 0.56)):
            cv2.circle(mask, (int(centre[0] * large), int(centre[1] * large)), int(0.215 * large), 255, -1)
        cv2.rectangle(mask, (int(0.40 * large), int(0.38 * large)), (int(0.60 * large), int(0.6 * large)), 255, -1)
        _stem(mask)
    out = np.zeros((large, large, 4), np.uint8)
    out[:, :, :3] = ink
    out[:, :, 3] = mask
    return np.asarray(cv2.resize(out, (side, side), interpolation=cv2.INTER_AREA), np.uint8)


def _heart(points: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    x = 16 * np.sin(points) ** 3
    y = 13 * np.cos(points) - 5 * np.cos(2 * points) - 2 * np.cos(3 * points) - np.cos(4 * points)
    return 0.5 + x / 36, 0.44 - y / 34


def _stem(mask: Image) -> None:
    large = mask.shape[0]
    shape = np.array([[0.47, 0.5], [0.53, 0.5], [0.55, 0.80], [0.66, 0.97], [0.34, 0.97], [0.45, 0.80]])
    cv2.fillPoly(mask, [(shape * large).astype(np.int32)], 255)


def _fill(mask: Image, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> None:
    cv2.fillPoly(mask, [(np.stack([x, y], axis=1) * mask.shape[0]).astype(np.int32)], 255)


def _stamp(face: Image, stamp: Image, x: int, y: int) -> None:
    tall, wide = stamp.shape[:2]
    x0, y0, x1, y1 = max(x, 0), max(y, 0), min(x + wide, face.shape[1]), min(y + tall, face.shape[0])
    if x1 <= x0 or y1 <= y0:
        return
    part = stamp[y0 - y : y1 - y, x0 - x : x1 - x]
    alpha = part[:, :, 3:].astype(np.float32) / 255
    under = face[y0:y1, x0:x1].astype(np.float32)
    face[y0:y1, x0:x1] = (part[:, :, :3] * alpha + under * (1 - alpha)).astype(np.uint8)


def _rounded(radius: int) -> Image:
    mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    cv2.rectangle(mask, (radius, 0), (WIDTH - 1 - radius, HEIGHT - 1), 255, -1)
    cv2.rectangle(mask, (0, radius), (WIDTH - 1, HEIGHT - 1 - radius), 255, -1)
    for x in (radius, WIDTH - 1 - radius):
        for y in (radius, HEIGHT - 1 - radius):
            cv2.circle(mask, (x, y), radius, 255, -1)
    return mask
