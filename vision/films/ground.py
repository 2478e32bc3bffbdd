"""The empty table with what stands about on it, as any camera sees it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.films import tables
from vision.films.camera import Camera

Picture = NDArray[np.uint8]
Field = NDArray[np.float32]
Rgb = tuple[float, float, float]

GLARE_RADIUS_MM = 120.0
"""One standard deviation of the lamp's reflection on glossy cards."""
GLARE_ON_TABLE = 0.25
"""A table top reflects so much of it."""


class Ground:
    """A table top, the floor around it, and things that are no cards: drawn once, seen from anywhere."""

    def __init__(
        self,
        top: str,
        table_mm: tuple[float, float],
        px_per_mm: float,
        size_px: tuple[int, int],
        rng: np.random.Generator,
        *,
        lamp_rgb: Rgb = (1.0, 1.0, 1.0),
        vignette: float = 0.12,
        slope: float = 0.16,
        glare: float = 0.0,
        clutter: int = 0,
        keep_clear: Sequence[tuple[float, float, float]] = (),
        floor: str = "dark",
    ) -> None:
        """`keep_clear`: (x, y, radius) mm where nothing may stand, because cards will lie there."""
        width_mm, height_mm = table_mm
        self._table_mm, self._scale = table_mm, px_per_mm
        self._board = tables.table_top(top, rng, round(height_mm * px_per_mm), round(width_mm * px_per_mm), px_per_mm)
        width, height = size_px
        self._floor = tables.floor(rng, height, width, floor)
        self.gain = tables.light_gain(rng, height, width, vignette=vignette, slope=slope)
        self._tint = np.array(lamp_rgb[::-1], np.float32) ** (1 / 2.2)
        self._glare = glare
        self.glare_at_mm = (width_mm * float(rng.uniform(0.3, 0.7)), height_mm * float(rng.uniform(0.3, 0.7)))
        if keep_clear:  # glare that meets no card would be none
            x, y, _ = keep_clear[int(rng.integers(len(keep_clear)))]
            self.glare_at_mm = (x + float(rng.normal(0, 40)), y + float(rng.normal(0, 40)))
        self.things: list[tuple[str, float, float]] = []
        for _ in range(clutter):
            self._put_something(rng, keep_clear)

    def seen_by(self, camera: Camera) -> tuple[Picture, Picture | None]:
        """(height, width, 3) uint8: the empty table; and (height, width) uint8: the glare on cards, if any."""
        width_mm, height_mm = self._table_mm
        width, height = camera.size_px
        to_px = camera.homography_at(0.0) @ np.diag([1 / self._scale, 1 / self._scale, 1.0])
        edge = camera.project([(0, 0), (width_mm, 0), (width_mm, height_mm), (0, height_mm)])
        dark = np.zeros((height, width), np.uint8)
        cv2.fillConvexPoly(dark, (edge + np.array([6.0, 10.0])).round().astype(np.int32), 255)
        dark = np.asarray(cv2.GaussianBlur(dark, (0, 0), 9), np.uint8)
        around = self._floor * (1 - 0.55 * dark[..., None] / 255)
        laid = cv2.warpPerspective(self._board, to_px, (width, height), flags=cv2.INTER_LINEAR)
        inside = np.zeros((height, width), np.uint8)
        cv2.fillConvexPoly(inside, (edge * 16).round().astype(np.int32), 255, cv2.LINE_AA, 4)
        share = inside[..., None].astype(np.float32) / 255
        rim = np.zeros((height, width), np.uint8)
        cv2.polylines(rim, [(edge * 16).round().astype(np.int32)], True, 255, 3, cv2.LINE_AA, 4)
        lit = laid.astype(np.float32) * (1 - 0.35 * rim[..., None] / 255)
        flat = (around * (1 - share) + lit * share) * self.gain[..., None] * self._tint
        glare = self._glare_seen_by(camera)
        if glare is not None:
            flat += GLARE_ON_TABLE * glare[..., None] * share
        return np.asarray(flat.clip(0, 255), np.float32).astype(np.uint8), glare

    def _glare_seen_by(self, camera: Camera) -> Picture | None:
        if self._glare <= 0:
            return None
        x, y = camera.project([self.glare_at_mm])[0]
        radius = GLARE_RADIUS_MM * camera.px_per_mm(self.glare_at_mm)
        ys, xs = np.mgrid[0 : camera.height_px, 0 : camera.width_px].astype(np.float32)
        bell = np.exp(-0.5 * ((xs - x) ** 2 + (ys - y) ** 2) / radius**2)
        return np.asarray((self._glare * bell).clip(0, 255), np.float32).astype(np.uint8)

    # --- things that are no cards ------------------------------------------------------------------

    def _put_something(self, rng: np.random.Generator, keep_clear: Sequence[tuple[float, float, float]]) -> None:
        kind = ("phone", "paper", "book", "glass", "chips", "coaster")[int(rng.integers(6))]
        size = {"phone": 85.0, "paper": 115.0, "book": 120.0, "glass": 45.0, "chips": 50.0, "coaster": 55.0}[kind]
        width_mm, height_mm = self._table_mm
        for _ in range(60):
            x, y = float(rng.uniform(20, width_mm - 20)), float(rng.uniform(20, height_mm - 20))
            if all(math.dist((x, y), (cx, cy)) > radius + size for cx, cy, radius in keep_clear) and all(
                math.dist((x, y), (ox, oy)) > 110 for _, ox, oy in self.things
            ):
                self.things.append((kind, x, y))
                self._draw(kind, x, y, float(rng.uniform(0, math.pi)), rng)
                return

    def _draw(self, kind: str, x: float, y: float, turn: float, rng: np.random.Generator) -> None:
        k = self._scale
        at = (x * k, y * k)
        match kind:
            case "phone":
                self._slab(at, (72, 150), turn, (28, 26, 24), 8)
                self._slab(at, (66, 140), turn, (52, 44, 38), 6, shadow=False)
            case "paper":
                self._slab(at, (105, 148), turn, (236, 240, 242), 1)
                for line in np.linspace(-55, 55, 12):
                    self._stroke(
                        at, turn, (-42, float(line)), (float(rng.uniform(5, 42)), float(line)), (150, 120, 110)
                    )
            case "book":
                colours = ((60, 50, 130), (110, 80, 40), (60, 110, 90), (40, 90, 160))
                self._slab(at, (118, 178), turn, colours[int(rng.integers(4))], 3)
                self._slab(at, (84, 40), turn, (215, 222, 228), 2, shadow=False)
            case "glass":
                centre = (round(at[0]), round(at[1]))
                self._shade(at, 42 * k)
                for radius, colour in ((34, (196, 200, 196)), (31, (150, 158, 150)), (24, (120, 150, 176))):
                    cv2.circle(self._board, centre, round(radius * k), colour, -1, cv2.LINE_AA)
                spark = (centre[0] - round(12 * k), centre[1] - round(12 * k))
                cv2.circle(self._board, spark, round(5 * k), (250, 250, 250), -1, cv2.LINE_AA)
            case "chips":
                for _ in range(5):
                    dx, dy = rng.normal(0, 20, 2)
                    centre = (round(at[0] + dx * k), round(at[1] + dy * k))
                    colour = ((40, 40, 190), (160, 90, 30), (60, 130, 50), (30, 30, 30))[int(rng.integers(4))]
                    self._shade(centre, 22 * k)
                    cv2.circle(self._board, centre, round(19 * k), colour, -1, cv2.LINE_AA)
                    for a in range(0, 360, 60):
                        axes = (round(17 * k), round(17 * k))
                        cv2.ellipse(self._board, centre, axes, 0, a, a + 25, (235, 235, 235), round(4 * k), cv2.LINE_AA)
            case _:
                self._slab(at, (95, 95), turn, (90, 120, 150), 10)

    def _shade(self, at: tuple[float, float], radius: float) -> None:
        mask = np.zeros(self._board.shape[:2], np.uint8)
        cv2.circle(mask, (round(at[0] + 0.18 * radius), round(at[1] + 0.25 * radius)), round(radius), 255, -1)
        soft = cv2.GaussianBlur(mask, (0, 0), 0.2 * radius)[..., None].astype(np.float32) / 255
        self._board[...] = (self._board * (1 - 0.45 * soft)).astype(np.uint8)

    def _corners(self, at: tuple[float, float], size_mm: tuple[float, float], turn: float) -> NDArray[np.float64]:
        w, h = size_mm[0] / 2 * self._scale, size_mm[1] / 2 * self._scale
        c, s = math.cos(turn), math.sin(turn)
        turned = np.array([(-w, -h), (w, -h), (w, h), (-w, h)]) @ np.array([[c, s], [-s, c]]) + at
        return np.asarray(turned, np.float64)

    def _slab(
        self,
        at: tuple[float, float],
        size_mm: tuple[float, float],
        turn: float,
        colour: tuple[int, int, int],
        high_mm: float,
        *,
        shadow: bool = True,
    ) -> None:
        quad = self._corners(at, size_mm, turn)
        if shadow:
            mask = np.zeros(self._board.shape[:2], np.uint8)
            moved = quad + 0.5 * (2 + high_mm) * self._scale
            cv2.fillConvexPoly(mask, moved.round().astype(np.int32), 255)
            soft = cv2.GaussianBlur(mask, (0, 0), (1.5 + 0.3 * high_mm) * self._scale)
            keep = 1 - 0.4 * soft[..., None].astype(np.float32) / 255
            self._board[...] = (self._board * keep).astype(np.uint8)
        cv2.fillConvexPoly(self._board, (quad * 16).round().astype(np.int32), colour, cv2.LINE_AA, 4)

    def _stroke(
        self,
        at: tuple[float, float],
        turn: float,
        start: tuple[float, float],
        end: tuple[float, float],
        colour: tuple[int, int, int],
    ) -> None:
        c, s = math.cos(turn), math.sin(turn)
        ends = np.array([start, end]) * self._scale @ np.array([[c, s], [-s, c]]) + at
        first, last = ends.round().astype(int).tolist()
        cv2.line(self._board, first, last, colour, max(1, round(self._scale)), cv2.LINE_AA)
