"""Paints the frames of a slap: each hand where it is while the shutter is open, line by line where it rolls."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vision.films.arms import ArmSprite, Layer, Light, arm_layers, projection_of, shadow_layers
from vision.films.camera import Camera
from vision.films.kinematics import Motion
from vision.films.slap_spec import SlapSpec

Canvas = NDArray[np.float32]

PX_AN_EXPOSURE = 3.0
"""A moving hand is painted once for every so many pixels that it moves while the shutter is open."""
MOST_EXPOSURES = 10


@dataclass(frozen=True, slots=True)
class Visitor:
    """A hand with its looks and its way."""

    motion: Motion
    sprite: ArmSprite


class Painter:
    """Paints what has changed since the frame before; hands at rest are kept as they were painted."""

    def __init__(
        self, base: Canvas, camera: Camera, light: Light, visitors: tuple[Visitor, ...], spec: SlapSpec
    ) -> None:
        """`base` is the table without hands; visitors lie on each other in the order given, lowest first."""
        self._base, self._light, self._visitors, self._spec = base, light, visitors, spec
        self._projection = projection_of(camera)
        self._size = (base.shape[1], base.shape[0])
        self._at_rest: dict[int, list[Layer]] = {}
        self._under: tuple[tuple[int, ...], Canvas] = ((), base)
        self._delays = spec.read_out.delays(self._size) * spec.read_out_s
        self._rolling = spec.read_out_s > 0

    def at(self, at_s: float) -> Canvas:
        """(h, w, 3) float32 picture whose middle line's exposure has its middle at `at_s`; not to be changed."""
        reach = (self._spec.shutter_s + self._spec.read_out_s) / 2
        present = [
            (number, visitor, visitor.motion.still(at_s - reach, at_s + reach))
            for number, visitor in enumerate(self._visitors)
            if visitor.motion.starts_s < at_s + reach and visitor.motion.ends_s > at_s - reach
        ]
        # Hands at rest under everything that moves are one picture already.
        resting = 0
        while resting < len(present) and present[resting][2]:
            resting += 1
        key = tuple(number for number, _, _ in present[:resting])
        if self._under[0] != key:
            canvas = self._base.copy()
            for number, visitor, _ in present[:resting]:
                self._lay_resting(canvas, number, visitor, at_s)
            self._under = (key, canvas)
        if resting == len(present):
            return self._under[1]
        canvas = self._under[1].copy()
        for number, visitor, still in present[resting:]:
            if still:
                self._lay_resting(canvas, number, visitor, at_s)
                continue
            for layer in self._layers(visitor, at_s):
                layer.lay(canvas)
        return canvas

    def _lay_resting(self, canvas: Canvas, number: int, visitor: Visitor, at_s: float) -> None:
        if number not in self._at_rest:
            self._at_rest[number] = self._layers(visitor, at_s)
        for layer in self._at_rest[number]:
            layer.lay(canvas)

    def _layers(self, visitor: Visitor, at_s: float) -> list[Layer]:
        """The hand's shadow and the hand, averaged over the exposure."""
        motion, spec = visitor.motion, self._spec
        delays = self._delays[None, :] if self._rolling else np.zeros((1, 1))
        count = self._exposures(motion, at_s)
        offsets = ((np.arange(count) + 0.5) / count - 0.5) * spec.shutter_s
        places = motion.places(at_s + offsets[:, None] + delays)
        read_out = spec.read_out if self._rolling else None
        shadow = shadow_layers(self._size, visitor.sprite, places, self._projection, self._light, read_out=read_out)
        return shadow + arm_layers(self._size, visitor.sprite, places, self._projection, read_out)

    def _exposures(self, motion: Motion, at_s: float) -> int:
        """How often the hand is painted: as often as its fastest motion in the exposure asks for."""
        half = self._spec.shutter_s / 2
        wide = half + self._spec.read_out_s / 2
        places = motion.places(at_s + np.linspace(-wide, wide, 7))
        along = np.hypot(np.diff(places.tip_x_mm), np.diff(places.tip_y_mm))
        # A hand that comes nearer grows: a millimetre down moves its outline by about a tenth of one.
        down = np.abs(np.diff(places.tip_height_mm)) * 0.3
        fastest = float((along + down).max()) / (wide / 3) if wide > 0 else 0.0
        moved_px = fastest * 2 * half * self._spec.px_per_mm
        return int(min(MOST_EXPOSURES, max(1, math.ceil(moved_px / PX_AN_EXPOSURE))))
