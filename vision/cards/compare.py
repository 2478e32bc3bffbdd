"""Compares a seen card with an enrolled one, place by place, after fitting one onto the other."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

Plane = NDArray[np.float32]

#: Cards are compared at half the crops' size: a photo of a card 100 pixels long tells no more.
SIZE_PX = (48, 68)

#: A crop's corners in these pixels, clockwise from the top left.
CORNERS_PX = np.array([[0, 0], [SIZE_PX[0], 0], SIZE_PX, [0, SIZE_PX[1]]], np.float32) - np.float32(0.5)

#: Rows and columns at the rim that don't count: quads are never exact, and the table shows there.
RIM_PX = 2

#: How far the fit may move, in pixels, and stretch or turn, as a share, and how far it may move a single corner: quads
#: are wrong by no more.
MOST_MOVED_PX, MOST_TURNED, MOST_CORNER_MOVED_PX = 6.0, 0.15, 12.0

#: Iterations of the fit; it starts within a few pixels of where it ends.
FIT_ITERATIONS = 12

#: Prints agree or not within windows of this sigma; contrast below this share of the card's own is blank paper.
WINDOW_PX, BLANK = 2.0, 0.02

#: The places that differ most count by themselves: cards may differ by one pip only, which covers so many pixels.
WORST_PX = 40

#: What brightness, of 1, is dark: there a sensor's colours are noise.
DARK = 0.12

#: Colours that glare has paled further than this share of their own are not trusted.
MOST_PALE = 0.4

#: Within such a window all colours pale alike; where there is less colour than this, squared, nothing is told by it.
PALE_WINDOW_PX, LEAST_HUE = 8.0, 0.02

#: More white than this, of 1, is not believed to have been added: under it all colours would be alike.
MOST_ADDED = 0.6

#: What is measured: how unlike the print is, on the whole and where it is most unlike; how unlike the colours are.
MEASURES = 4


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """One crop, made ready to be compared.

    colours: (68, 48, 3) float32 BGR of 1. print_: (68, 48) its brightness, of mean 0 and deviation 1; smooth: blurred.
    paper: where it is bright and without colour, (68, 48) bool.
    """

    colours: Plane
    print_: Plane
    smooth: Plane
    paper: NDArray[np.bool_]

    @classmethod
    def of(cls, crop: NDArray[np.uint8]) -> Look:
        """From a crop (136, 96, 3) uint8 BGR."""
        small = cv2.resize(cv2.GaussianBlur(crop, (0, 0), 0.8), SIZE_PX, interpolation=cv2.INTER_AREA)
        colours = np.asarray(small.astype(np.float32) / 255, np.float32)
        print_ = _print(colours)
        bright = colours.mean(axis=2)
        grey = colours.max(axis=2) - colours.min(axis=2)
        paper = bright > 0.85 * np.percentile(bright, 90)
        paper &= grey <= np.percentile(grey[paper], 60)
        return cls(colours, print_, np.asarray(cv2.GaussianBlur(print_, (0, 0), 1.0), np.float32), paper)

    def turned(self) -> Look:
        """The same upside down."""
        return Look(
            np.ascontiguousarray(self.colours[::-1, ::-1]),
            np.ascontiguousarray(self.print_[::-1, ::-1]),
            np.ascontiguousarray(self.smooth[::-1, ::-1]),
            np.ascontiguousarray(self.paper[::-1, ::-1]),
        )


def apart(told: Look, seen: Look) -> NDArray[np.float32]:
    """(4,) how unlike a seen card is to an enrolled one, 0 for the same.

    Print on the whole, print where it is most unlike, colour on the whole, colour where it is most unlike.
    Light, shade and the lamp's colour don't count: print is compared within windows, colours by the paper's own.
    """
    _, colours, unlike = _laid_on(told, seen)
    return np.array([*unlike, *_colours_apart(told, colours)], np.float32)


def _colours_apart(told: Look, seen: Plane) -> tuple[float, float]:
    """How unlike colours are, where they lie on each other: on the whole, and where they are most unlike.

    Glare is white light over all colours. Where a sensor still tells them apart they pale together, and which they are
    is told by what is left; where it is full, the brightest channels are cut off and blue turns to cyan: there they are
    compared with what the enrolled ones would be under so much white. The nearer of the two counts.
    """
    inner = np.s_[RIM_PX:-RIM_PX, RIM_PX:-RIM_PX]
    plain_1, plain_2 = _by_paper(told.colours, told.paper)[inner], _by_paper(seen, told.paper)[inner]
    hue_1, hue_2 = _hues(plain_1), _hues(plain_2)
    paled = np.linalg.norm(hue_2 / _left(hue_2, hue_1)[..., None] - hue_1, axis=2)
    # The darkest channel is cut off last: how much was added is seen in it, most surely where there was least.
    darkest = plain_1.argmin(axis=2)[..., None]
    was, is_ = (np.take_along_axis(plain, darkest, 2)[..., 0] for plain in (plain_1, plain_2))
    counts = (1 - was).clip(0) ** 2 + np.float32(1e-3)
    added = _wide((is_ - was) * counts) / _wide(counts)
    glared = _hues(np.minimum(plain_1 + added.clip(0, MOST_ADDED)[..., None], 1).astype(np.float32))
    full = _hues(np.minimum(plain_2, 1).astype(np.float32))
    cut_off = np.linalg.norm(full - glared, axis=2) / _left(glared, hue_1)
    either = [(float(hue.mean()), float(np.percentile(hue, 92))) for hue in (paled, cut_off)]
    return min(either, key=sum)


def _left(hue: Plane, own: Plane) -> Plane:
    """What share of their own colours places have left, about: (h, w), at least `MOST_PALE`."""
    along, whole = _wide((hue * own).sum(axis=2)), _wide((own * own).sum(axis=2))
    return np.asarray(((along + LEAST_HUE) / (whole + LEAST_HUE)).clip(MOST_PALE, 1.0), np.float32)


def _prints_apart(first: Plane, second: Plane) -> tuple[float, float]:
    """How unlike two prints are, as they lie: on the whole, and where they are most unlike."""
    mean_1, mean_2 = _window(first), _window(second)
    var_1, var_2 = _window(first * first) - mean_1 * mean_1, _window(second * second) - mean_2 * mean_2
    both = _window(first * second) - mean_1 * mean_2
    agree = both / np.sqrt((np.maximum(var_1, 0) + BLANK) * (np.maximum(var_2, 0) + BLANK))
    weight = np.maximum(np.maximum(var_1, var_2), 0)
    weight[:RIM_PX], weight[-RIM_PX:], weight[:, :RIM_PX], weight[:, -RIM_PX:] = 0, 0, 0, 0
    unlike = weight * (1 - agree)
    total = float(weight.sum()) + 1e-6
    local = cv2.GaussianBlur(unlike, (0, 0), WINDOW_PX).ravel()
    worst = float(np.partition(local, -WORST_PX)[-WORST_PX:].mean()) / (total / weight.size)
    return float(unlike.sum()) / total, worst


def onto(told: Look, seen: Look) -> NDArray[np.float32] | None:
    """The homography (3, 3) from an enrolled card's pixels to where a seen one shows them; None where none is found."""
    return _laid_on(told, seen)[0]


def _laid_on(told: Look, seen: Look) -> tuple[NDArray[np.float32] | None, Plane, tuple[float, float]]:
    """The move by which a seen card's print lies best on the enrolled one's, its colours so moved, how unlike they are.

    A quad's corners are wrong each by itself, and a card of few pips shows it; but where most of a card is blank,
    moving each corner by itself leads astray, so what moves the card as a whole is tried too.
    """
    tried = []
    for move in _moves(told, seen):
        moved = cv2.warpPerspective(
            seen.colours, move, SIZE_PX, flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, borderMode=cv2.BORDER_REPLICATE
        )
        colours = np.asarray(moved, np.float32)
        tried.append((move, colours, _prints_apart(told.print_, _print(colours))))
    if not tried:  # the two have nothing in common: they are compared as they lie
        return None, seen.colours, _prints_apart(told.print_, seen.print_)
    return min(tried, key=lambda one: sum(one[2]))


def _moves(told: Look, seen: Look) -> list[NDArray[np.float32]]:
    """The fit as a whole, and from there that of each corner by itself; neither further off than quads are."""
    ends = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, FIT_ITERATIONS, 1e-3)
    everywhere = np.ones(told.smooth.shape, np.uint8)
    start, moves = np.eye(3, dtype=np.float32), []
    try:
        _, affine = cv2.findTransformECC(
            told.smooth, seen.smooth, start[:2].copy(), cv2.MOTION_AFFINE, ends, everywhere, 1
        )
        off = np.abs(affine - np.eye(2, 3))
        if np.isfinite(off).all() and off[:, 2].max() <= MOST_MOVED_PX and off[:, :2].max() <= MOST_TURNED:
            start[:2] = affine
            moves.append(start.copy())
        _, each = cv2.findTransformECC(told.smooth, seen.smooth, start, cv2.MOTION_HOMOGRAPHY, ends, everywhere, 1)
        off = cv2.perspectiveTransform(CORNERS_PX[None], each)[0] - CORNERS_PX
        if np.isfinite(off).all() and np.abs(off).max() <= MOST_CORNER_MOVED_PX:
            moves.append(np.asarray(each, np.float32))
    except cv2.error:
        pass
    return moves


def _print(colours: Plane) -> Plane:
    grey = colours.mean(axis=2)
    return np.asarray((grey - grey.mean()) / (grey.std() + 0.02), np.float32)


def _window(plane: NDArray[np.float32]) -> Plane:
    return np.asarray(cv2.GaussianBlur(plane, (0, 0), WINDOW_PX), np.float32)


def _wide(plane: NDArray[np.float32]) -> Plane:
    return np.asarray(cv2.GaussianBlur(plane, (0, 0), PALE_WINDOW_PX), np.float32)


def _by_paper(colours: Plane, paper: NDArray[np.bool_]) -> Plane:
    """Colours (68, 48, 3) as shares of what is at the enrolled card's paper, smoothed."""
    white = np.asarray(np.maximum(np.median(colours[paper], axis=0), 0.05), np.float32)
    return np.asarray(cv2.GaussianBlur(np.asarray(colours / white, np.float32), (0, 0), 1.5), np.float32)


def _hues(plain: Plane) -> Plane:
    """(h, w, 2): red against green and blue against yellow."""
    blue, green, red = (plain[..., i] for i in range(3))
    bright = plain.mean(axis=2) + DARK
    told = np.stack([(red - green) / bright, (blue - (red + green) / 2) / bright], axis=2)
    return np.asarray(told.clip(-1.5, 1.5), np.float32)
