"""A picture deck for Snap of this project's own: thirteen things in four colours, drawn from a few shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from referee.cards import Card, Deck
from vision.films.artwork import CARD_MM
from vision.films.shapes import INKS, WHITE, Point, Polygon, Rgb, Shape, capsule, circle, rounded, star

DARK: Rgb = (40, 40, 48)
LEAF: Rgb = (60, 140, 70)


def ellipse(middle: Point, wide: float, high: float, ink: Rgb) -> Polygon:
    """An ellipse by its half axes."""
    steps = [2 * math.pi * i / 40 for i in range(40)]
    return Polygon(tuple((middle[0] + wide * math.cos(a), middle[1] + high * math.sin(a)) for a in steps), ink)


def half_disc(middle: Point, radius: float, ink: Rgb) -> Polygon:
    """The upper half of a disc."""
    steps = [math.pi + math.pi * i / 24 for i in range(25)]
    return Polygon(tuple((middle[0] + radius * math.cos(a), middle[1] + radius * math.sin(a)) for a in steps), ink)


def moved(shapes: Sequence[Shape], to: Point, scale: float, *, upside_down: bool = False) -> list[Shape]:
    """Polygons drawn around (0, 0), put somewhere else in another size."""
    sign = -scale if upside_down else scale
    return [
        Polygon(tuple((to[0] + sign * x, to[1] + sign * y) for x, y in shape.points), shape.ink)
        for shape in shapes
        if isinstance(shape, Polygon)
    ]


# Each is drawn in a box of about 40 by 40 mm around (0, 0).


def _anchor(ink: Rgb) -> list[Shape]:
    arms = [(20 * math.cos(a), 2 + 18 * math.sin(a)) for a in (math.pi * i / 20 for i in range(21))]
    inner = [(14 * math.cos(a), 2 + 12 * math.sin(a)) for a in (math.pi * i / 20 for i in range(20, -1, -1))]
    return [
        Polygon(tuple(arms + inner), ink),
        rounded(-3, -12, 6, 31, 2, ink),
        rounded(-11, -9, 22, 5, 2, ink),
        circle((0, -15), 6, ink),
        circle((0, -15), 2.6, WHITE, 24),
    ]


def _apple(ink: Rgb) -> list[Shape]:
    return [
        ellipse((-6, 3), 11, 15, ink),
        ellipse((6, 3), 11, 15, ink),
        capsule((0, -8), (2, -18), 1.4, DARK),
        ellipse((8, -15), 6, 3, LEAF),
    ]


def _bell(ink: Rgb) -> list[Shape]:
    return [
        circle((0, 15), 4.5, DARK, 24),
        half_disc((0, -3), 12, ink),
        Polygon(((-12, -4), (12, -4), (17, 12), (-17, 12)), ink),
        rounded(-19, 10, 38, 5, 2, ink),
        circle((0, -16), 3, ink, 24),
    ]


def _boat(ink: Rgb) -> list[Shape]:
    return [
        Polygon(((-20, 6), (20, 6), (13, 18), (-13, 18)), ink),
        rounded(-1.2, -19, 2.4, 25, 0.8, DARK),
        Polygon(((2.5, -18), (2.5, 3), (17, 3)), ink),
        Polygon(((-2.5, -12), (-2.5, 3), (-14, 3)), DARK),
    ]


def _crown(ink: Rgb) -> list[Shape]:
    points = ((-19, -10), (-9, 2), (0, -16), (9, 2), (19, -10), (15, 12), (-15, 12))
    return [Polygon(points, ink), *(circle((x, y), 3, ink, 24) for x, y in ((-19, -11), (0, -17), (19, -11))),
            rounded(-15, 12, 30, 4, 1, DARK)]  # fmt: skip


def _fish(ink: Rgb) -> list[Shape]:
    return [
        Polygon(((8, 0), (21, -12), (17, 0), (21, 12)), ink),
        ellipse((-3, 0), 17, 11, ink),
        circle((-12, -3), 2.8, WHITE, 24),
        circle((-12, -3), 1.4, DARK, 20),
        Polygon(((-4, -9), (6, -17), (7, -6)), ink),
    ]


def _flower(ink: Rgb) -> list[Shape]:
    petals: list[Shape] = [capsule((0, 4), (0, 20), 1.3, LEAF), ellipse((6, 14), 6, 2.6, LEAF)]
    for i in range(6):
        a = math.pi * i / 3
        petals.append(circle((9 * math.cos(a), -4 + 9 * math.sin(a)), 6, ink, 28))
    return [*petals, circle((0, -4), 5, DARK, 28)]


def _ghost(ink: Rgb) -> list[Shape]:
    wave = [(15 - i * 30 / 6, 18 if i % 2 == 0 else 12) for i in range(7)]
    return [
        half_disc((0, -4), 15, ink),
        Polygon(((15, -5), *wave, (-15, -5)), ink),
        ellipse((-5.5, -5), 3, 4.4, WHITE),
        ellipse((5.5, -5), 3, 4.4, WHITE),
        circle((-5, -4), 1.6, DARK, 20),
        circle((6, -4), 1.6, DARK, 20),
    ]


def _key(ink: Rgb) -> list[Shape]:
    return [
        circle((0, -11), 9, ink),
        circle((0, -11), 4, WHITE, 28),
        rounded(-2.2, -3, 4.4, 23, 1, ink),
        rounded(1, 9, 9, 3.6, 0.8, ink),
        rounded(1, 15.5, 7, 3.6, 0.8, ink),
    ]


def _moon(ink: Rgb) -> list[Shape]:
    outer = [(17 * math.cos(a), 17 * math.sin(a)) for a in (math.radians(d) for d in range(50, 311, 10))]
    inner = [(8 + 13 * math.cos(a), 13 * math.sin(a)) for a in (math.radians(d) for d in range(290, 69, -10))]
    return [Polygon(tuple(outer + inner), ink), star((10, -9), 4, 1.8, 5, DARK)]


def _owl(ink: Rgb) -> list[Shape]:
    return [
        ellipse((0, 3), 14, 16, ink),
        Polygon(((-14, -18), (-2, -12), (-13, -3)), ink),
        Polygon(((14, -18), (2, -12), (13, -3)), ink),
        ellipse((0, 9), 8, 9, WHITE),
        *(circle((x, -4), 5.4, WHITE, 28) for x in (-6, 6)),
        *(circle((x, -4), 2.4, DARK, 20) for x in (-6, 6)),
        Polygon(((-2, -1), (2, -1), (0, 4)), DARK),
    ]


def _star(ink: Rgb) -> list[Shape]:
    return [star((0, 1), 20, 8.5, 5, ink)]


def _umbrella(ink: Rgb) -> list[Shape]:
    shapes: list[Shape] = [capsule((0, -18), (0, 15), 1.2, DARK), capsule((0, 15), (5, 17), 1.2, DARK)]
    shapes.append(half_disc((0, 0), 19, ink))
    return [*shapes, *(half_disc((x, 0.2), 3.2, WHITE) for x in (-12.7, -6.3, 0.0, 6.3, 12.7))]


THINGS: dict[str, Callable[[Rgb], list[Shape]]] = {
    "anchor": _anchor,
    "apple": _apple,
    "bell": _bell,
    "boat": _boat,
    "crown": _crown,
    "fish": _fish,
    "flower": _flower,
    "ghost": _ghost,
    "key": _key,
    "moon": _moon,
    "owl": _owl,
    "star": _star,
    "umbrella": _umbrella,
}
"""What is on the cards, by the deck's own names."""


def snap_picture_card(deck: Deck, card: Card) -> list[Shape]:
    """One card: the thing in the middle, and small in two corners."""
    thing = deck.trait(card, "pair") or ""
    shapes = THINGS[thing](INKS[card.name.split(" ")[0]])
    width, height = CARD_MM
    return [
        *moved(shapes, (width / 2, height / 2), 1.15),
        *moved(shapes, (8.5, 9.5), 0.24),
        *moved(shapes, (width - 8.5, height - 9.5), 0.24, upside_down=True),
    ]
