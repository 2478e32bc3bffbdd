"""Photographs of cards laid out on a table, taken by the film renderer, with every card's place known."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.cards import Pile
from vision.films.arms import Light
from vision.films.artwork import DeckArt
from vision.films.camera import Camera
from vision.films.conditions import CONDITIONS, Condition
from vision.films.ground import Ground
from vision.films.render import Renderer
from vision.films.script import CARD_THICKNESS_MM, Lying, PileChange, Script
from vision.films.sensor import Sensor

Picture = NDArray[np.uint8]
Quad = NDArray[np.float64]
Rng = np.random.Generator

CELL_MM = 138.0
"""A card turned anyhow takes 108 mm: in cells of this side cards never touch."""


@dataclass(frozen=True, slots=True)
class PhotoLight:
    """What light photographs are taken in.

    condition: the film's, for level, noise and glare. rgb: the lamp's colour in linear light, as the camera's white
    balance leaves it. slope: how much brighter the lamp's side of the table is.
    """

    condition: Condition
    rgb: tuple[float, float, float] = (1.0, 1.0, 1.0)
    slope: float = 0.16


_CLEAN = replace(CONDITIONS["clean"], noise=2.0)

LIGHTS: Mapping[str, PhotoLight] = {
    "lamp": PhotoLight(_CLEAN, (1.0, 0.95, 0.86)),
    "window": PhotoLight(_CLEAN, (0.94, 0.98, 1.0), slope=0.6),
    "dim": PhotoLight(replace(CONDITIONS["dim"]), (1.0, 0.86, 0.68)),
    "warm": PhotoLight(_CLEAN, (1.0, 0.74, 0.45)),
    "cold": PhotoLight(_CLEAN, (0.68, 0.86, 1.0)),
    "glare": PhotoLight(replace(CONDITIONS["glare"], noise=2.0)),
}
"""Six lights; warm is an incandescent bulb that the white balance has only half taken out, cold a shaded sky."""


@dataclass(frozen=True, slots=True, eq=False)
class Photo:
    """image: (h, w, 3) uint8 BGR. cards: (name, (4, 2) px quad from the card's own top left clockwise)."""

    image: Picture
    cards: tuple[tuple[str, Quad], ...]

    def only(self, names: Collection[str]) -> Photo:
        """The same, as if only these cards counted."""
        return Photo(self.image, tuple((name, quad) for name, quad in self.cards if name in names))


def photographs(
    deck: DeckArt,
    layouts: Sequence[Sequence[str]],
    light: PhotoLight,
    rng: Rng,
    *,
    size_px: tuple[int, int] = (1280, 720),
    cells: tuple[int, int] = (5, 3),
    tilt_deg: tuple[float, float] = (0.0, 32.0),
    cell_mm: float = CELL_MM,
    fill: tuple[float, float] = (0.9, 1.05),
) -> Iterator[Photo]:
    """A photograph of each layout: all on one table and by one camera, every card anywhere and turned anyhow.

    layouts: the names of the cards that lie there, at most one a cell. fill: the share of the picture's width or
    height that the table takes; above 1 its edges are out of sight.
    """
    columns, rows = cells
    table_mm = (columns * cell_mm, rows * cell_mm)
    condition = light.condition
    camera = Camera.over(
        table_mm,
        size_px,
        tilt_deg=float(rng.uniform(*tilt_deg)),
        turn_deg=float(rng.normal(0, 4)),
        distance_mm=float(rng.uniform(500, 1300)),
        fill=float(rng.uniform(*fill)),
    )
    changes = []
    laid = [_laid(names, cells, cell_mm, rng) for names in layouts]
    for number, cards in enumerate(laid):
        before = laid[number - 1] if number else ()
        # Each card is a pile of its own; those of the layout before are taken away.
        piles = range(max(len(cards), len(before)))
        changes += [PileChange(float(number), Pile("lies", 0, i), cards[i : i + 1]) for i in piles]
    script = Script("", (), table_mm, float(len(layouts)), tuple(changes), (), (), (), {}, (), (), ())
    middles = [(card.x_mm, card.y_mm, 60.0) for cards in laid[:1] for card in cards]
    ground = Ground(
        str(rng.choice(condition.tops)),
        table_mm,
        1.1 * camera.px_per_mm((table_mm[0] / 2, table_mm[1])),
        size_px,
        rng,
        slope=light.slope,
        glare=condition.glare,
        keep_clear=middles,
    )
    renderer = Renderer(script, [(0.0, camera)], deck, ground, lamp=Light())
    sensor = Sensor(camera, condition, float(len(layouts)), rng)
    for number, cards in enumerate(laid):
        flat = sensor.expose(_lit(renderer.frame(float(number)), light.rgb), float(number))
        seen = np.asarray(cv2.cvtColor(flat, cv2.COLOR_YUV2BGR_I420), np.uint8)
        quads = tuple((card.card, renderer.card_quad(card, CARD_THICKNESS_MM)) for card in cards)
        yield Photo(_taken(seen, rng), quads)


def _laid(names: Sequence[str], cells: tuple[int, int], cell_mm: float, rng: Rng) -> tuple[Lying, ...]:
    places = rng.permutation(cells[0] * cells[1])[: len(names)]
    loose = 0.09 * cell_mm
    return tuple(
        Lying(
            name,
            True,
            (place % cells[0] + 0.5) * cell_mm + float(rng.uniform(-loose, loose)),
            (place // cells[0] + 0.5) * cell_mm + float(rng.uniform(-loose, loose)),
            float(rng.uniform(-np.pi, np.pi)),
        )
        for name, place in zip(names, places.tolist(), strict=True)
    )


def _lit(picture: Picture, rgb: tuple[float, float, float]) -> Picture:
    """The lamp's colour on everything; the renderer lays it on the table and the arms only."""
    steps = np.arange(256, dtype=np.float64)[:, None] * np.array(rgb[::-1]) ** (1 / 2.2)
    return np.asarray(cv2.LUT(picture, steps.round().astype(np.uint8)[None]), np.uint8)


def _taken(picture: Picture, rng: Rng) -> Picture:
    """A hand-held photo: a little out of focus or shaken, and packed as JPEG."""
    blur = abs(float(rng.normal(0, 0.7)))
    if blur > 0.25:
        picture = np.asarray(cv2.GaussianBlur(picture, (0, 0), blur), np.uint8)
    quality = int(rng.integers(60, 95))
    packed = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR), np.uint8)
