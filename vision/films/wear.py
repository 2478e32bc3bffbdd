"""Cards as a game leaves them: rubbed and dirty edges, smudges, and corners that were bent."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.films.artwork import CARD_MM, CARD_PX, corner_mask

Picture = NDArray[np.uint8]
Field = NDArray[np.float32]

FIBRE = (214, 224, 228)
"""BGR of the card's own paper where ink is rubbed off."""
DIRT = (62, 84, 98)
"""BGR of what fingers leave along the edges."""
CREASE = np.float32(138)
"""A crease catches dirt: grey on a white face, paler than the ink of a back."""
BENT_SHARE = 0.45
"""So many cards of a worn deck have a bent corner; one in three of these has two."""
PX_PER_MM = CARD_PX[0] / CARD_MM[0]


@dataclass(frozen=True, slots=True)
class Bend:
    """A bent corner: which (clockwise from the face's own top left), how deep, how steep."""

    corner: int
    depth_mm: float
    """From the crease's middle to the corner."""
    skew_rad: float
    """How far the crease is turned off the corner's own diagonal."""
    angle_deg: float
    """How far the corner stands up when the face is up."""


class Wear:
    """How worn each card of one deck is: the same card always in the same way."""

    def __init__(self, seed: int, share: float = 1.0) -> None:
        """`share`: 1 is a deck that has been played with for years; 0 a new one."""
        self._seed, self._share = seed, share

    def _rng(self, card: str) -> np.random.Generator:
        return np.random.default_rng([self._seed, 0x3EA2, zlib.crc32(card.encode())])

    def bends(self, card: str) -> tuple[Bend, ...]:
        """The card's bent corners."""
        rng = self._rng(card)
        if rng.random() > BENT_SHARE * self._share:
            return ()
        corners = rng.permutation(4)[: 1 + int(rng.random() < 1 / 3)]
        return tuple(
            Bend(int(corner), float(rng.uniform(6, 13)), float(rng.normal(0, 0.16)), float(rng.uniform(28, 58)))
            for corner in corners
        )

    def told(self, cards: Iterable[str]) -> dict[str, list[list[float]]]:
        """Of the cards that have bent corners: which (clockwise from the face's top left), mm deep, degrees steep."""
        found = {card: self.bends(card) for card in cards}
        return {
            card: [[bend.corner, round(bend.depth_mm, 1), round(bend.angle_deg)] for bend in bends]
            for card, bends in found.items()
            if bends
        }

    def worn(self, art: Picture, card: str, *, face_up: bool) -> tuple[Picture, Picture]:
        """(252, 180, 3) uint8 BGR and (252, 180) uint8 coverage of a side as it has become."""
        rng = np.random.default_rng([self._seed, 0xED6E, int(face_up), zlib.crc32(card.encode())])
        colour, mask = art.astype(np.float32), corner_mask()
        inside = (mask > 127).astype(np.uint8)
        to_edge = cv2.distanceTransform(cv2.copyMakeBorder(inside, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0), 2, 5)
        edge_mm = np.asarray(to_edge[1:-1, 1:-1] / PX_PER_MM, np.float32)
        corner_mm = self._from_corners()
        # Corners rub off first; along an edge some places are rubbed through and others hardly touched.
        reach = (0.35 + 1.1 * np.abs(_cloud(rng, 14)) + 1.3 * np.exp(-corner_mm / 5)) * self._share
        rubbed = np.clip(1.4 - edge_mm / np.maximum(reach, 0.05), 0, 1) * np.clip(0.65 + 0.7 * _cloud(rng, 4), 0, 1)
        colour += rubbed[..., None] * (np.array(FIBRE, np.float32) - colour)
        depth = (0.5 + 1.2 * np.abs(_cloud(rng, 22))) * self._share
        dirty = 0.62 * np.exp(-edge_mm / np.maximum(depth, 0.05)) * np.clip(0.45 + 0.9 * _cloud(rng, 9), 0, 1)
        smudge = 0.22 * np.clip(_cloud(rng, 60) + 0.25 * _cloud(rng, 12) - 0.15, 0, 1) * self._share
        dark = np.clip(dirty + smudge, 0, 0.8)[..., None]
        colour += dark * (np.array(DIRT, np.float32) - colour)
        colour *= 1 - self._share * np.array((0.075, 0.035, 0.02), np.float32)  # paper yellows
        for bend in self.bends(card):
            colour, mask = _bent(colour, mask, bend, face_up=face_up)
        return colour.clip(0, 255).astype(np.uint8), mask

    @staticmethod
    def _from_corners() -> Field:
        """(252, 180) float32: mm to the nearest corner."""
        xs = np.arange(CARD_PX[0], dtype=np.float32) / PX_PER_MM
        ys = np.arange(CARD_PX[1], dtype=np.float32)[:, None] / PX_PER_MM
        across, down = np.minimum(xs, CARD_MM[0] - xs), np.minimum(ys, CARD_MM[1] - ys)
        return np.asarray(np.hypot(across, down), np.float32)


def _cloud(rng: np.random.Generator, cell_px: float) -> Field:
    """(252, 180) float32 of about -1 to 1, its blobs `cell_px` across."""
    coarse = rng.normal(0, 0.5, (int(CARD_PX[1] / cell_px) + 3, int(CARD_PX[0] / cell_px) + 3)).astype(np.float32)
    return np.asarray(cv2.resize(coarse, CARD_PX, interpolation=cv2.INTER_CUBIC), np.float32)


def _bent(colour: Field, mask: Picture, bend: Bend, *, face_up: bool) -> tuple[Field, Picture]:
    """A side with that corner turned up (or away, when the face is down), as seen from straight above.

    What stands at an angle is seen shorter, so the outline loses its tip; it is lit otherwise than the rest;
    and the crease's own fibres show.
    """
    width, height = CARD_PX
    corner = bend.corner if face_up else (1, 0, 3, 2)[bend.corner]
    tip = np.array([(-0.5, -0.5), (width - 0.5, -0.5), (width - 0.5, height - 0.5), (-0.5, height - 0.5)][corner])
    inward = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)][corner]) / math.sqrt(2)
    turn = bend.skew_rad if face_up else -bend.skew_rad
    c, s = math.cos(turn), math.sin(turn)
    outward = -np.array([c * inward[0] - s * inward[1], s * inward[0] + c * inward[1]])
    crease = tip - outward * bend.depth_mm * PX_PER_MM
    ys, xs = np.mgrid[0:height, 0:width].astype(np.float32)
    beyond = (xs - crease[0]) * outward[0] + (ys - crease[1]) * outward[1]
    over = beyond > 0
    # Paper does not fold sharply: the slope grows over the first 2 mm.
    slope = np.clip(beyond / (2 * PX_PER_MM), 0, 1)
    stretch = np.where(over, beyond * (1 / math.cos(math.radians(bend.angle_deg)) - 1) * slope, 0)
    map_x = (xs + stretch * outward[0]).astype(np.float32)
    map_y = (ys + stretch * outward[1]).astype(np.float32)
    seen = cv2.remap(colour, map_x, map_y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    outline = cv2.remap(mask, map_x, map_y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=0)
    # Which way the lamp stands is the film's; a corner up in the lower right is lit from the upper left less.
    shade = 1 + (0.26 if (corner in (0, 1)) == face_up else -0.34) * slope * math.sin(math.radians(bend.angle_deg))
    fibres = np.exp(-0.5 * (beyond / (0.35 * PX_PER_MM)) ** 2)[..., None]
    lit = seen * shade[..., None]
    lit = lit + 0.55 * fibres * (CREASE - lit)
    return np.asarray(lit, np.float32), np.asarray(outline, np.uint8)
