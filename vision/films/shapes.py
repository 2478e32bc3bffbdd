"""The few shapes that this project's own cards are drawn from, in mm from a card's top left."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vision.films.artwork import CARD_MM

Rgb = tuple[int, int, int]
Point = tuple[float, float]

WHITE: Rgb = (253, 253, 250)
DARK: Rgb = (38, 36, 46)
INKS: dict[str, Rgb] = {
    "red": (206, 45, 52),
    "yellow": (240, 182, 28),
    "green": (42, 142, 78),
    "blue": (36, 98, 184),
}


@dataclass(frozen=True, slots=True)
class Polygon:
    """A filled shape; points in mm from the card's top left."""

    points: tuple[Point, ...]
    ink: Rgb


@dataclass(frozen=True, slots=True)
class Text:
    """One line of capitals and digits, its middle at a point; `upside_down` for the other player."""

    middle: Point
    size_mm: float
    words: str
    ink: Rgb
    upside_down: bool = False


Shape = Polygon | Text


def circle(middle: Point, radius: float, ink: Rgb, corners: int = 48) -> Polygon:
    """A disc, as a polygon."""
    steps = [2 * math.pi * i / corners for i in range(corners)]
    return Polygon(tuple((middle[0] + radius * math.cos(a), middle[1] + radius * math.sin(a)) for a in steps), ink)


def rounded(x: float, y: float, width: float, height: float, radius: float, ink: Rgb) -> Polygon:
    """A rectangle with rounded corners."""
    points: list[Point] = []
    for cx, cy, start in (
        (x + width - radius, y + radius, -90),
        (x + width - radius, y + height - radius, 0),
        (x + radius, y + height - radius, 90),
        (x + radius, y + radius, 180),
    ):
        for step in range(0, 91, 15):
            a = math.radians(start + step)
            points.append((cx + radius * math.cos(a), cy + radius * math.sin(a)))
    return Polygon(tuple(points), ink)


def star(middle: Point, outer: float, inner: float, rays: int, ink: Rgb) -> Polygon:
    """A burst."""
    points = []
    for i in range(2 * rays):
        radius, a = (outer if i % 2 == 0 else inner), math.pi * i / rays - math.pi / 2
        points.append((middle[0] + radius * math.cos(a), middle[1] + radius * math.sin(a)))
    return Polygon(tuple(points), ink)


def capsule(start: Point, end: Point, radius: float, ink: Rgb) -> Polygon:
    """A finger: a line with round ends."""
    way = math.atan2(end[1] - start[1], end[0] - start[0])
    points = []
    for (cx, cy), first in ((end, way - math.pi / 2), (start, way + math.pi / 2)):
        for step in range(9):
            a = first + math.pi * step / 8
            points.append((cx + radius * math.cos(a), cy + radius * math.sin(a)))
    return Polygon(tuple(points), ink)


def hand(middle: Point, size: float, ink: Rgb) -> list[Shape]:
    """An open hand seen from its back."""
    x, y = middle
    shapes: list[Shape] = [rounded(x - 0.42 * size, y - 0.1 * size, 0.84 * size, 0.9 * size, 0.3 * size, ink)]
    for offset, reach, lean in ((-0.31, 0.78, -0.12), (-0.1, 0.98, -0.03), (0.11, 0.93, 0.04), (0.32, 0.7, 0.14)):
        foot = (x + offset * size, y)
        shapes.append(capsule(foot, (foot[0] + lean * size, y - reach * size), 0.115 * size, ink))
    shapes.append(capsule((x - 0.3 * size, y + 0.5 * size), (x - 0.78 * size, y + 0.02 * size), 0.13 * size, ink))
    return shapes


def both_ways(middle: Point, size: float, words: str, ink: Rgb) -> list[Shape]:
    """A corner's sign and its twin in the corner across, upside down."""
    width, height = CARD_MM
    return [
        Text(middle, size, words, ink),
        Text((width - middle[0], height - middle[1]), size, words, ink, upside_down=True),
    ]
