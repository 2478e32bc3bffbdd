"""The table's plane from the cards that lie on it: where a camera must be for all of them to be of a card's size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import optimize  # type: ignore[import-untyped]  # scipy ships no types

from vision.table import Matrix, Point, apply

#: Cameras over tables look down: tilt, one standard deviation, either way; cards that say otherwise must be many.
_TILT_RAD = 0.35
#: Focal length in longer sides of the picture: a phone's main camera has 0.75, its telephoto lens 2 to 3.
_FOCAL, _FOCAL_SPREAD = 1.1, 0.5
#: Looks whose scale is so far (logarithm) from the others' are of something else.
_SAME_SCALE = 0.4
#: Cards of one size are cut to this, and lie as much nearer to the camera on a pile (as a share).
_DEFINED = 0.012
#: An arm between wrist and elbow with its sleeve is about so wide, give or take this share.
ARM_WIDE_MM, ARM_DOUBT = 80.0, 0.25


@dataclass(frozen=True, slots=True, eq=False)
class CardLook:
    """A card or a heap of them as seen in one picture.

    quad: (4, 2) pixels, corners in turn. doubt: of its size, as a share, one standard deviation. ``whole``: it is
    one card, else a heap, and the quad is what one card of it should measure.
    """

    quad: NDArray[np.float64]
    doubt: float
    whole: bool

    def scale(self, card_mm: Point) -> float:
        """Pixels per mm if it is a card seen from above."""
        short, long = _sides(self.quad)
        return math.sqrt(short * long / (card_mm[0] * card_mm[1]))


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """The table top: pixels to millimetres, some point of it being 0, 0, x to the right.

    mm_from_px: (3, 3). doubt: of the scale, as a share, one standard deviation. source: what it rests on.
    tilt_deg: how far from straight above the camera looks.
    """

    mm_from_px: Matrix
    doubt: float
    source: str
    tilt_deg: float = 0.0

    @property
    def px_from_mm(self) -> Matrix:
        """(3, 3): millimetres to pixels."""
        return np.asarray(np.linalg.inv(self.mm_from_px), np.float64)

    def px_per_mm(self, at_px: Point) -> float:
        """The picture's scale at one of its points."""
        x, y = at_px
        corner, right, down = apply(self.mm_from_px, [(x, y), (x + 1, y), (x, y + 1)])
        (a, b), (c, d) = right - corner, down - corner
        return 1 / math.sqrt(max(abs(a * d - b * c), 1e-12))


def plane_of_cards(cards: Sequence[CardLook], size_px: tuple[int, int], card_mm: Point) -> Plane | None:
    """The plane on which looks at cards are of a card's size; None where there are none of a card's shape.

    A pinhole camera with its centre in the picture's middle; scale, tilt both ways and focal length by least
    squares over all corners, each card laid where it fits best, outliers weighed down.
    """
    if not cards:
        return None
    # Seen from above first: the median card tells the scale, and odd ones drop out.
    scales = np.array([math.log(card.scale(card_mm)) for card in cards])
    weights = np.array([1 / card.doubt**2 for card in cards])
    order = np.argsort(scales)
    middle = int(np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2))
    start = float(scales[order][min(middle, len(cards) - 1)])
    chosen = [card for card, at in zip(cards, scales, strict=True) if abs(at - start) < _SAME_SCALE]

    def off(values: NDArray[np.float64]) -> NDArray[np.float64]:
        matrix = _mm_from_px(values, size_px)
        residuals = [_card_off(card, matrix, card_mm) for card in chosen]
        prior = [values[1] / _TILT_RAD, values[2] / _TILT_RAD, (values[3] - math.log(_FOCAL)) / _FOCAL_SPREAD]
        return np.concatenate([*residuals, np.array(prior)])

    solved = optimize.least_squares(
        off,
        np.array([start, 0.0, 0.0, math.log(_FOCAL)]),
        loss="soft_l1",
        bounds=([-9, -1.1, -1.1, -1.2], [9, 1.1, 1.1, 2.2]),
    )
    matrix = _mm_from_px(solved.x, size_px)
    tilt = math.degrees(math.acos(math.cos(solved.x[1]) * math.cos(solved.x[2])))
    doubt = math.hypot(_DEFINED, min(card.doubt for card in chosen))
    what = "a card" if any(card.whole for card in chosen) else "a heap of cards"
    return Plane(matrix, doubt, f"{what} of {card_mm[0]:g}×{card_mm[1]:g} mm", tilt)


def plane_of_arms(widths_px: Sequence[float], size_px: tuple[int, int]) -> Plane | None:
    """The plane seen from above at which arms are as wide as arms are: rough."""
    if not widths_px:
        return None
    scale = float(np.median(widths_px)) / ARM_WIDE_MM
    matrix = np.array(
        [[1 / scale, 0.0, -size_px[0] / 2 / scale], [0.0, 1 / scale, -size_px[1] / 2 / scale], [0.0, 0.0, 1.0]]
    )
    return Plane(matrix, ARM_DOUBT, f"arms, taken to be {ARM_WIDE_MM:g} mm wide")


def _sides(quad: NDArray[np.float64]) -> tuple[float, float]:
    lengths = np.linalg.norm(quad - np.roll(quad, -1, axis=0), axis=1)
    one, other = float(lengths[0] + lengths[2]) / 2, float(lengths[1] + lengths[3]) / 2
    return min(one, other), max(one, other, 1e-6)


def _mm_from_px(values: NDArray[np.float64], size_px: tuple[int, int]) -> Matrix:
    """Pixels to mm for log of px per mm in the picture's middle, tilt about x and y, log of the focal length."""
    width, height = size_px
    focal = math.exp(values[3]) * max(width, height)
    scale = math.exp(values[0])
    sx, cx, sy, cy = math.sin(values[1]), math.cos(values[1]), math.sin(values[2]), math.cos(values[2])
    turn = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]]) @ np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    # The plane's point in the picture's middle lies focal / scale away; its axes are the first two of the turn.
    away = focal / scale
    plane = np.column_stack([turn[:, 0], turn[:, 1], [0.0, 0.0, away]])
    camera = np.array([[focal, 0, (width - 1) / 2], [0, focal, (height - 1) / 2], [0, 0, 1.0]])
    return np.asarray(np.linalg.inv(camera @ plane))


def _card_off(look: CardLook, matrix: Matrix, card_mm: Point) -> NDArray[np.float64]:
    """(8,) how far a look's corners are from a card laid where it fits best, in units of its doubt."""
    lies = apply(matrix, look.quad)
    best: NDArray[np.float64] | None = None
    for width, height in (card_mm, card_mm[::-1]):
        card = np.array([[-width, -height], [width, -height], [width, height], [-width, height]]) / 2
        off = _laid_off(card, lies)
        if best is None or (off**2).sum() < (best**2).sum():
            best = off
    assert best is not None
    return np.asarray((best / (look.doubt * math.hypot(*card_mm) / 2)).ravel())


def _laid_off(card: Matrix, lies: Matrix) -> Matrix:
    """(4, 2) mm from corners to those of the card, turned and moved to where it fits best (Procrustes)."""
    middle = lies.mean(axis=0)
    about = lies - middle
    turn = math.atan2(float((card[:, 0] * about[:, 1] - card[:, 1] * about[:, 0]).sum()), float((card * about).sum()))
    cos, sin = math.cos(turn), math.sin(turn)
    return np.asarray(about - card @ np.array([[cos, sin], [-sin, cos]]))


def edges_of_table(empty: NDArray[np.uint8], at: Point) -> NDArray[np.float64] | None:
    """(4, 2) pixels of the table's corners in a picture of it without hands; None where its edges aren't seen.

    ``at``: a point of the table. What looks like the table around it, and is joined to it, must be a quadrangle.
    """
    height, width = empty.shape[:2]
    lab = cv2.cvtColor(cv2.GaussianBlur(empty, (0, 0), 1.5), cv2.COLOR_BGR2LAB).astype(np.float32)
    ys, xs = np.mgrid[:height, :width]
    near = np.hypot(xs - at[0], ys - at[1]) < 0.28 * min(width, height)
    colour = np.median(lab[near], axis=0)
    off = np.linalg.norm((lab - colour) * np.array([0.7, 1.0, 1.0], np.float32), axis=2)
    level, _ = cv2.threshold(np.clip(off, 0, 255).astype(np.uint8), 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    alike = cv2.morphologyEx((off <= level).astype(np.uint8), cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(alike, connectivity=4)
    if count < 2:
        return None
    label = 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))
    contours, _ = cv2.findContours((labels == label).astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    hull = cv2.convexHull(max(contours, key=cv2.contourArea))
    filled = cv2.contourArea(max(contours, key=cv2.contourArea))
    area = float(cv2.contourArea(hull))
    if not 0.25 * width * height < area < 0.97 * width * height or filled < 0.93 * area:
        return None
    length = cv2.arcLength(hull, True)
    for share in np.linspace(0.01, 0.08, 15):
        quad = cv2.approxPolyDP(hull, share * length, True)
        if len(quad) <= 4:
            break
    if len(quad) != 4:
        return None
    corners = quad.reshape(4, 2).astype(np.float64)
    rim = 0.008 * max(width, height)
    inside = (
        (corners > rim).all() and (corners[:, 0] < width - 1 - rim).all() and (corners[:, 1] < height - 1 - rim).all()
    )
    if not inside or float(cv2.contourArea(corners.astype(np.float32))) < 0.95 * area:
        return None
    # Clockwise as seen, from the corner that is nearest to the picture's top left.
    x, y = corners.T
    if float((x * np.roll(y, -1) - np.roll(x, -1) * y).sum()) < 0:
        corners = corners[::-1]
    first = int(np.argmin(corners.sum(axis=1)))
    return np.asarray(np.roll(corners, -first, axis=0), np.float64)
