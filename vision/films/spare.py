"""A card that nobody plays with, lying half off the table's edge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from vision.films.artwork import CARD_MM
from vision.films.camera import Camera
from vision.films.print_deck import picture
from vision.films.script import CARD_THICKNESS_MM, Lying, Script
from vision.films.shapes import DARK, INKS, Polygon, Shape, Text, both_ways, circle, star
from vision.films.sprites import Quad, card_corners

Picture = NDArray[np.uint8]
Points = NDArray[np.float64]

JOKER = "joker"
CLEAR_MM = 115.0
"""From middle to middle: two cards that are further apart never touch."""
IN_PICTURE_PX = 3.0
TRIES = 600


@dataclass(frozen=True, slots=True, eq=False)
class HalfOff:
    """The card, and which share of it is beyond the table's edge."""

    card: Lying
    off: float

    def told(self, camera: Camera) -> dict[str, Any]:
        """As the truth has it: mm, degrees, and its corners in pixels of that camera."""
        card = self.card
        return {
            "card": card.card,
            "face": "up" if card.face_up else "down",
            "at_mm": [round(card.x_mm, 2), round(card.y_mm, 2)],
            "turn_deg": round(math.degrees(card.turn), 2),
            "off": round(self.off, 3),
            "quad": camera.project(corners_of(card), CARD_THICKNESS_MM).round(2).tolist(),
        }


def joker() -> Picture:
    """(252, 180, 3) uint8 BGR: this project's own joker."""
    x, y = CARD_MM[0] / 2, CARD_MM[1] / 2
    shapes: list[Shape] = [star((x, y), 22, 12, 9, INKS["red"]), circle((x, y), 9, INKS["yellow"])]
    for side in (-1, 1):
        shapes.append(Polygon(((x + side * 2, y - 5), (x + side * 6, y - 5), (x + side * 4, y - 1)), DARK))
        shapes.append(circle((x + side * 22, y - side * 30), 3, INKS["blue"]))
    shapes += [*both_ways((x, 9), 7, "JOKER", DARK), Text((x, y + 4), 4, "HA", DARK)]
    return picture(shapes)


def corners_of(card: Lying) -> Quad:
    """(4, 2) mm: a lying card's corners, from its own top left clockwise."""
    c, s = math.cos(card.turn), math.sin(card.turn)
    return np.asarray(card_corners() @ np.array([[c, s], [-s, c]]) + (card.x_mm, card.y_mm), np.float64)


def half_off(
    script: Script, camera: Camera, rng: np.random.Generator, keep_clear: Sequence[tuple[float, float]] = ()
) -> HalfOff:
    """A place on the edge, in the picture, where no card of the game ever comes; up to half of it hangs over.

    `keep_clear`: mm, the middles of other things that lie about.
    """
    width, height = script.table_mm
    lie = {(card.x_mm, card.y_mm) for change in script.piles for card in change.stack}
    taken = np.array([*lie, *keep_clear], np.float64).reshape(-1, 2)
    name, up = JOKER, bool(rng.random() < 0.5)
    best: tuple[float, HalfOff] | None = None
    for _ in range(TRIES):
        side, along, hold = int(rng.integers(4)), float(rng.uniform(0.1, 0.9)), float(rng.uniform(1.5, 10))
        x, y = ((along * width, hold), (width - hold, along * height), (along * width, height - hold),
                (hold, along * height))[side]  # fmt: skip
        card = Lying(name, up, x, y, float(rng.uniform(0, 2 * math.pi)))
        seen = camera.project(corners_of(card), CARD_THICKNESS_MM)
        room = np.array(camera.size_px) - 1 - IN_PICTURE_PX
        if seen.min() < IN_PICTURE_PX or (seen > room).any():
            continue
        clear = float(np.hypot(*(taken - (x, y)).T).min(initial=math.inf))
        if best is None or clear > best[0]:
            best = (clear, HalfOff(card, _off(corners_of(card), script.table_mm)))
        if clear >= CLEAR_MM:
            break
    if best is None:
        raise BadInput.of("half-off", "a picture that shows the table's edge", f"one of {camera.size_px}")
    return best[1]


def _off(corners: Points, table_mm: tuple[float, float]) -> float:
    """Which share of a quad is beyond the table's edge."""
    width, height = table_mm
    table = np.array([(0, 0), (width, 0), (width, height), (0, height)], np.float32)
    inside, _ = cv2.intersectConvexConvex(corners.astype(np.float32), table)
    return 1 - float(inside) / (CARD_MM[0] * CARD_MM[1])
