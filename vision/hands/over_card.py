"""Whether a hand is over a card in one photograph: by skin, with the card's own paper as the measure of white."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import cv2
import numpy as np
from numpy.typing import ArrayLike

from vision.hands.pixels import Grey, Image, Mask

_WIDTH_PX = 480
"""Photographs are looked at in this width: a fingertip on a card is then 10 px or more."""

#: Skin beside white paper under the same light: red over green, green over blue. Printed red is far redder; tables
#: of wood come near, which is why what looks like the rest of the table is left out.
_RED_OVER_GREEN = (1.10, 2.3)
_RED_OVER_BLUE = (1.12, 3.2)
_DARKEST = 14.0
#: Shares of the card's area: less than the first of skin on it is none, more than the second is a hand over it.
_NOT_OVER, _OVER = 0.0015, 0.004
#: A poker card's long side in short ones, and the shapes that no whole card has, even aslant or loosely outlined.
_ASPECT, _TOO_SQUARE, _TOO_LONG = 1.4, 1.22, 1.65
#: Share of the picture that a hand beside the card takes at least.
_NEAR, _ABSENT = 0.004, 0.0012


class Over(StrEnum):
    """Where the hand is."""

    OVER = "over"
    NEAR = "near"
    ABSENT = "none"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class HandOverCard:
    """What was found: ``covered`` is the share of the card under skin, ``beside`` the share of the picture."""

    state: Over
    covered: float
    beside: float


def hand_over_card(image: Image, quad_px: ArrayLike | None) -> HandOverCard:
    """Look for a hand over or beside the card.

    image: (h, w, 3) uint8 BGR. quad_px: (4, 2) the card's corners in pixels, None where no card was found:
    then only "none" or "unsure" can be said, or "near" where a hand is plain to see.
    """
    scale = min(1.0, _WIDTH_PX / image.shape[1])
    small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    height, width = small.shape[:2]
    card = np.zeros((height, width), np.uint8)
    if quad_px is not None:
        quad = np.asarray(quad_px, dtype=np.float64).reshape(4, 2) * scale
        cv2.fillConvexPoly(card, cv2.convexHull(quad.round().astype(np.int32)), 255)
    here = cv2.GaussianBlur(small, (3, 3), 0).astype(np.float32) + 1
    white = _paper(here, card)
    skin = _skin(here, white, card)
    card = _whole_card(here, white, card)
    area = cv2.countNonZero(card)
    completed = _completed(card, skin)
    if area == 0:
        beside = cv2.countNonZero(skin) / skin.size
        state = Over.ABSENT if beside < _ABSENT else Over.UNSURE
        return HandOverCard(state, 0.0, beside)
    reach = max(1, round(0.015 * area**0.5))
    inner = cv2.erode(card, np.ones((2 * reach + 1, 2 * reach + 1), np.uint8))
    outer = cv2.dilate(card, np.ones((2 * reach + 1, 2 * reach + 1), np.uint8))
    covered = beside = 0.0
    count, labels, stats, _ = cv2.connectedComponentsWithStats(skin, connectivity=8)
    for label in range(1, count):
        size = int(stats[label, cv2.CC_STAT_AREA])
        part = labels == label
        outside = int((part & (outer == 0)).sum())
        # What lies wholly on the card is printed there: a queen's face is skin too.
        if outside < max(0.03 * size, 0.0004 * skin.size):
            continue
        hidden = (part & (inner > 0)).sum() + (part & (completed > card)).sum()
        covered += float(hidden) / area
        beside += outside / skin.size
    if covered >= _OVER:
        state = Over.OVER
    elif covered > _NOT_OVER:
        state = Over.UNSURE
    elif beside >= _NEAR:
        state = Over.NEAR
    elif beside > _ABSENT:
        state = Over.UNSURE
    else:
        state = Over.ABSENT
    return HandOverCard(state, covered, beside)


def _whole_card(here: Grey, white: Grey, card: Mask) -> Mask:
    """The card with what of it the finder left out: all the paper that hangs together with it, made convex.

    A finder sees a card that is half covered as a smaller one; its paper shows how far it reaches.
    """
    paper = here / white
    light = paper.max(axis=2)
    area = cv2.countNonZero(card)
    known = light[card > 0] if area else light
    bright = np.percentile(known, 60 if area else 97)
    plain = (paper.min(axis=2) > 0.8 * light) & (light > 0.5 * bright) & (light > 2 * _DARKEST)
    mask = cv2.morphologyEx(plain.astype(np.uint8) * 255, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    mask = cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask)
    if count < 2:
        return card
    inside = np.bincount(labels[card > 0] if area else labels.ravel(), minlength=count)
    inside[0] = 0
    label = int(inside.argmax())
    size = int(stats[label, cv2.CC_STAT_AREA])
    # Nothing near as plain as paper, or far more of it than a card has: the finder's own outline stands.
    if inside[label] < max(0.1 * area, 0.003 * mask.size) or size > (1.8 * area if area else 0.3 * mask.size):
        return card
    ys, xs = np.nonzero(labels == label)
    whole = np.zeros_like(card)
    hull = cv2.convexHull(np.column_stack([xs, ys]).astype(np.int32))
    (_, (one, other), _) = cv2.minAreaRect(hull)
    # A card's sides are as 1 to 1.4, seen a little aslant; a hand taken along makes another shape.
    if area and (cv2.contourArea(hull) > 1.35 * area or max(one, other) > 1.75 * max(min(one, other), 1)):
        return card
    cv2.fillConvexPoly(whole, hull, 255)
    return whole


def _completed(card: Mask, skin: Mask) -> Mask:
    """The card made whole where its shape says that a part is missing, on the sides where skin begins.

    A finder that sees a card cut off by a hand gives a square or a strip.
    """
    if not cv2.countNonZero(card):
        return card
    ys, xs = np.nonzero(card)
    middle, (width, height), turn = cv2.minAreaRect(np.column_stack([xs, ys]).astype(np.int32))
    long, short = max(width, height), max(min(width, height), 1.0)
    if _TOO_SQUARE < long / short < _TOO_LONG:
        return card
    if long / short <= _TOO_SQUARE:
        grown = (_ASPECT * short, short) if width >= height else (short, _ASPECT * short)
    else:
        grown = (long, long / _ASPECT) if width >= height else (long / _ASPECT, long)
    # Twice what is missing, since it may lie on either side; only skin is added.
    both = (2 * grown[0] - width, 2 * grown[1] - height)
    box = np.zeros_like(card)
    cv2.fillConvexPoly(box, cv2.boxPoints((middle, both, turn)).round().astype(np.int32), 255)
    touching = cv2.dilate(card, np.ones((7, 7), np.uint8)) & skin
    if not cv2.countNonZero(touching):
        return card
    return np.asarray(card | (box & skin), dtype=np.uint8)


def _skin(here: Grey, white: Grey, card: Mask) -> Mask:
    """Where skin is: its colour beside white paper, and unlike the table's."""
    blue, green, red = (here[..., i] / white[i] for i in range(3))
    light = here.max(axis=2)
    red_green, red_blue = red / green, red / blue
    like_skin = (
        (red_green > _RED_OVER_GREEN[0])
        & (red_green < _RED_OVER_GREEN[1])
        & (red_blue > _RED_OVER_BLUE[0])
        & (red_blue < _RED_OVER_BLUE[1])
        & (light > _DARKEST)
    )
    table = _table(np.log(red_green), np.log(red_blue), card)
    if table is not None:
        off = np.hypot(np.log(red_green) - table[0], np.log(red_blue) - table[1])
        like_skin &= off > 0.12
    mask = like_skin.astype(np.uint8) * 255
    reach = max(3, round(0.02 * here.shape[1]) | 1)
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (reach, reach))
    # Rims of printed hearts pass through skin's colour; they are thinner than any finger.
    mask = cv2.morphologyEx(mask, cv2.MORPH_OPEN, disc)
    return cv2.morphologyEx(mask, cv2.MORPH_CLOSE, disc)


def _paper(here: Grey, card: Mask) -> Grey:
    """(3,) blue, green, red of white paper: the card's brightest, or the picture's."""
    pixels = here[card > 0] if cv2.countNonZero(card) > 50 else here.reshape(-1, 3)
    light = pixels.min(axis=1)
    brightest = pixels[light >= np.percentile(light, 70)]
    white = np.median(brightest, axis=0)
    return np.asarray(white / white.mean())


def _table(red_green: Grey, red_blue: Grey, card: Mask) -> tuple[float, float] | None:
    """The commonest colour beside the card, in logarithms of red over green and red over blue."""
    free = card == 0
    if free.sum() < 200:
        return None
    counts, x_edges, y_edges = np.histogram2d(
        red_green[free], red_blue[free], bins=60, range=[(-1.8, 1.8), (-1.8, 1.8)]
    )
    i, j = np.unravel_index(int(counts.argmax()), counts.shape)
    return float(x_edges[i] + x_edges[i + 1]) / 2, float(y_edges[j] + y_edges[j + 1]) / 2
