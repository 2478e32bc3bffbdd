"""What a camera makes of a painted slap: where it looks, through what lens, how it exposes, and its grain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.films.slap_spec import SlapSpec

Picture = NDArray[np.uint8]
Field = NDArray[np.float32]

GRAIN_ROOM_PX = 96
"""The banks of grain are so much larger than the picture: each frame is cut from another place."""
MAINS_HZ = (100.0, 120.0)
"""Lamps brighten twice a period of the mains."""
JOLT_HZ, JOLT_S = 13.0, 0.09
"""A stand that a table shakes: how it rings, and how soon it is quiet again."""
LINE_UNIT = 128
"""What stands for a gain of 1 in the eight bits of a flicker's lines."""
NO_MAP: Any = None
"""`cv2.remap` has both coordinates in its first map; its stubs know nothing of that."""


class Aim:
    """Where the camera looks from frame to frame, and through what lens."""

    def __init__(self, spec: SlapSpec, rng: np.random.Generator, lands: Sequence[tuple[float, float]]) -> None:
        """`lands`: when hands land, and how hard, 0 to 1."""
        self._spec = spec
        hz = np.exp(rng.uniform(math.log(0.4), math.log(7.0), (2, 5)))
        weight = 1 / np.sqrt(hz)
        # A sine of that height has half of its square as variance.
        self._high = spec.shake_px * weight * np.sqrt(2 / (weight**2).sum(axis=1, keepdims=True))
        self._turn, self._phase = 2 * np.pi * hz, rng.uniform(0, 2 * np.pi, (2, 5))
        ways = rng.uniform(0, 2 * np.pi, len(lands))
        self._jolts = [
            (at_s, spec.jolt_px * hard * np.array([math.cos(way), math.sin(way)]))
            for (at_s, hard), way in zip(lands, ways, strict=True)
        ]
        self.moves = spec.shake_px > 0 or spec.jolt_px > 0
        self._lens = _lens_map(spec.size_px, spec.lens_k1) if spec.lens_k1 else None
        self.margin_px = self._margin_px()

    def _margin_px(self) -> int:
        """How much more than the picture must be painted on each side."""
        if not self.moves and self._lens is None:
            return 0
        most = float(self._high.sum(axis=1).max()) + self._spec.jolt_px * len(self._jolts)
        if self._lens is not None:
            past = self._lens.reshape(-1, 2) - (np.array(self._spec.size_px) - 1)
            most += max(0.0, float(past.max()), -float(self._lens.min()))
        return math.ceil(most) + 2

    def shift_px(self, at_s: float) -> tuple[float, float]:
        """How far the camera is off its usual aim, in pixels."""
        off = (self._high * np.sin(self._turn * at_s + self._phase)).sum(axis=1)
        for start_s, high in self._jolts:
            since = at_s - start_s
            if since > 0:
                off = off + high * math.exp(-since / JOLT_S) * math.sin(2 * math.pi * JOLT_HZ * since)
        return float(off[0]), float(off[1])

    def seen(self, canvas: Picture, at_s: float) -> Picture:
        """(h, w, 3): the part of a painted picture that falls on the sensor."""
        if not self.margin_px:
            return canvas
        dx, dy = self.shift_px(at_s) if self.moves else (0.0, 0.0)
        if self._lens is None:
            move = np.array([[1, 0, self.margin_px + dx], [0, 1, self.margin_px + dy]])
            flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
            return np.asarray(cv2.warpAffine(canvas, move, self._spec.size_px, flags=flags), np.uint8)
        where = self._lens + np.array([self.margin_px + dx, self.margin_px + dy], np.float32)
        return np.asarray(cv2.remap(canvas, where, NO_MAP, cv2.INTER_LINEAR), np.uint8)


def _lens_map(size_px: tuple[int, int], k1: float) -> Field:
    """(h, w, 2) px: where a pinhole has what the lens draws at each pixel; `Camera.distort` the other way."""
    width, height = size_px
    ideal = np.linspace(0.0, 1.5, 1501)
    drawn = ideal * (1 + k1 * ideal * ideal)
    middle, half = np.array([(width - 1) / 2, (height - 1) / 2]), 0.5 * math.hypot(width, height)
    x, y = np.meshgrid((np.arange(width) - middle[0]) / half, (np.arange(height) - middle[1]) / half)
    r = np.hypot(x, y)
    grows = np.interp(r, drawn, ideal) / np.maximum(r, 1e-9)
    return np.stack([x * grows * half + middle[0], y * grows * half + middle[1]], axis=-1).astype(np.float32)


class Exposure:
    """How bright the picture is made: automatic exposure and white balance that change, and a lamp's flicker."""

    def __init__(self, spec: SlapSpec, rng: np.random.Generator, duration_s: float) -> None:
        """Draw when the exposure changes and how the lamp flickers."""
        self._spec = spec
        depth = spec.exposure_steps
        self._steps = [
            (
                float(rng.uniform(0.1, duration_s)),
                # A webcam jumps, a phone glides.
                float(rng.uniform(0.05, 0.4)) if rng.random() < 0.7 else 0.001,
                (1 + float(rng.uniform(-depth, depth))) * (1 + rng.uniform(-depth, depth, 3) * (0.3, 0.0, 0.3)),
            )
            for _ in range(1 + int(rng.integers(3)))
        ]
        self._steps.sort(key=lambda step: step[0])
        hz = float(rng.choice(MAINS_HZ)) * (1 + float(rng.normal(0, 0.001)))
        # The exposure evens out what of the flicker falls into it.
        part = math.pi * hz * spec.shutter_s
        self._depth = spec.flicker * math.sin(part) / part
        self._turn, self._phase = 2 * math.pi * hz, float(rng.uniform(0, 2 * math.pi))
        width, height = spec.size_px
        lines = width if spec.read_out.along_x else height
        share = (np.arange(lines) - (lines - 1) / 2) / lines
        self._delays_s = (-share if spec.read_out.backwards else share) * spec.read_out_s

    def gains(self, at_s: float) -> NDArray[np.float64]:
        """(3,) blue, green, red: brightness beside a well-exposed picture, without the flicker."""
        gains = np.full(3, self._spec.level)
        if self._spec.exposure_steps <= 0:
            return gains
        now = np.ones(3)
        for start_s, glide_s, goal in self._steps:
            if at_s > start_s:
                now = now + min(1.0, (at_s - start_s) / glide_s) * (goal - now)
        return gains * now

    def flicker(self, at_s: float) -> NDArray[np.float64]:
        """(lines,): how bright the lamp is while each line is exposed."""
        return 1 + self._depth * np.sin(self._turn * (at_s + self._delays_s) + self._phase)

    def exposed(self, picture: Picture, at_s: float) -> Picture:
        """(h, w, 3) as bright as the sensor makes it."""
        gains = self.gains(at_s)
        flickers = self._spec.flicker > 0
        lamp = self.flicker(at_s) if flickers else np.ones(1)
        if flickers and self._spec.read_out_s == 0:
            gains = gains * lamp[0]
        if np.any(gains != 1.0):
            if gains[0] == gains[1] == gains[2]:
                picture = np.asarray(cv2.convertScaleAbs(picture, alpha=float(gains[0])), np.uint8)
            else:
                table = np.arange(256)[:, None] * gains
                lut = table.round().clip(0, 255).astype(np.uint8).reshape(1, 256, 3)
                picture = np.asarray(cv2.LUT(picture, lut), np.uint8)
        if flickers and self._spec.read_out_s > 0:
            lines = (lamp * LINE_UNIT).round().clip(0, 255).astype(np.uint8)
            row = lines[None, :] if self._spec.read_out.along_x else lines[:, None]
            field = cv2.resize(row, self._spec.size_px, interpolation=cv2.INTER_NEAREST)
            by = cv2.cvtColor(field, cv2.COLOR_GRAY2BGR)
            picture = np.asarray(cv2.multiply(picture, by, scale=1 / LINE_UNIT), np.uint8)
        return picture


@lru_cache(maxsize=2)
def _grain(width: int, height: int) -> tuple[Field, Picture]:
    """Two (height + 96, width + 96, 3) banks, the same for all clips: grain of unit spread, and numbers 0 to 254."""
    rng = np.random.default_rng(5)
    shape = (height + GRAIN_ROOM_PX, width + GRAIN_ROOM_PX, 3)
    # Cameras smooth their grain a little.
    bank = np.asarray(cv2.GaussianBlur(rng.standard_normal(shape, dtype=np.float32), (0, 0), 0.45), np.float32)
    return bank / np.float32(bank.std()), rng.integers(0, 255, shape, dtype=np.uint8)


class Grain:
    """The sensor's grain, after the exposure: its variance grows with the light, as photons' does.

    One grain is everywhere; another is added where the picture is brighter than a number drawn for each pixel, so
    that its share, and with it the variance, is as the brightness. All of it in eight bits, for speed.
    """

    def __init__(self, spec: SlapSpec, rng: np.random.Generator) -> None:
        """`rng` says from where in the banks each frame's grain is cut."""
        self._rng, self._size = rng, spec.size_px
        bank, self._thresholds = _grain(*spec.size_px)
        # At mid grey (128) the variances add up to noise²; rounding adds a twelfth to each.
        dark, light = 0.35 * spec.noise**2 - 1 / 12, 0.65 * 255 / 128 * spec.noise**2 - 1 / 12
        self._ever, self._lit = (_both_ways(bank, math.sqrt(max(each, 0.0))) for each in (dark, light))
        self._mask: Any = np.empty((spec.size_px[1], spec.size_px[0], 3), np.uint8)

    def _cut(self, bank: Picture, at: tuple[int, int]) -> Picture:
        (x, y), (width, height) = at, self._size
        return bank[y : y + height, x : x + width]

    def on(self, clean: Picture) -> Picture:
        """(h, w, 3) uint8: the picture with grain; it is left as it is."""
        ever, lit, drawn = ((int(x), int(y)) for x, y in self._rng.integers(0, GRAIN_ROOM_PX, (3, 2)))
        bright = cv2.compare(clean, self._cut(self._thresholds, drawn), cv2.CMP_GT)
        out = cv2.add(clean, self._cut(self._ever[0], ever))
        cv2.subtract(out, self._cut(self._ever[1], ever), dst=out)
        cv2.add(out, cv2.bitwise_and(bright, self._cut(self._lit[0], lit), dst=self._mask), dst=out)
        cv2.subtract(out, cv2.bitwise_and(bright, self._cut(self._lit[1], lit), dst=self._mask), dst=out)
        return np.asarray(out, np.uint8)


def _both_ways(bank: Field, spread: float) -> tuple[Picture, Picture]:
    """What a grain adds and what it takes away, eight bits each."""
    up, down = (cv2.multiply(bank, np.full(4, way * spread), dtype=cv2.CV_8U) for way in (1, -1))
    return np.asarray(up, np.uint8), np.asarray(down, np.uint8)
