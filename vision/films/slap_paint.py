"""Paints the frames of a slap: each hand where it is while the shutter is open, line by line where it rolls."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.films.arms import (
    ArmSprite,
    Light,
    Matrix,
    Part,
    ReadOut,
    Rect,
    forearm_frames,
    hand_frames,
    inverses,
    pieces,
    projection_of,
    shadow_gain,
    warped,
)
from vision.films.camera import Camera
from vision.films.kinematics import Motion
from vision.films.slap_spec import SlapSpec

Canvas = NDArray[np.uint8]

PX_AN_EXPOSURE = 3.0
"""A moving hand is painted once for every so many pixels that it moves while the shutter is open."""
MOST_EXPOSURES = 10
SPEED_STEP_S = 0.001


@dataclass(frozen=True, slots=True)
class Visitor:
    """A hand with its looks and its way."""

    motion: Motion
    sprite: ArmSprite
    hand: Canvas = field(init=False, repr=False)
    forearm: Canvas = field(init=False, repr=False)
    """(h, w, 4) premultiplied blue green red alpha, eight bits: a quarter of the memory to move."""

    speeds_mm_s: NDArray[np.float64] = field(init=False, repr=False)
    """How fast its outline moves, each `SPEED_STEP_S` from its start on."""

    def __post_init__(self) -> None:
        """Round the sprite's pictures to eight bits, and see how fast it moves when."""
        at = np.arange(self.motion.starts_s, self.motion.ends_s + SPEED_STEP_S, SPEED_STEP_S)
        places = self.motion.places(at)
        along = np.hypot(np.diff(places.tip_x_mm), np.diff(places.tip_y_mm))
        # A hand that comes nearer grows: a millimetre down moves its outline by about a third of one at most.
        down = 0.3 * np.abs(np.diff(places.tip_height_mm))
        object.__setattr__(self, "speeds_mm_s", (along + down) / SPEED_STEP_S)
        object.__setattr__(self, "hand", _eight_bits(self.sprite.hand))
        object.__setattr__(self, "forearm", _eight_bits(self.sprite.forearm))


def _eight_bits(part: Part) -> Canvas:
    return np.asarray(cv2.convertScaleAbs(part.picture * np.array([1, 1, 1, 255], dtype=np.float32)), dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class Patch:
    """A rectangle of picture to be multiplied by `keep` / 255 and added to: (height, width, 3) uint8 both."""

    rect: Rect
    keep: Canvas
    colour: Canvas | None = None

    def lay(self, canvas: Canvas) -> None:
        """Change the canvas in place."""
        x, y, width, height = self.rect
        region = canvas[y : y + height, x : x + width]
        mixed = cv2.multiply(region, self.keep, scale=1 / 255)
        region[...] = mixed if self.colour is None else cv2.add(mixed, self.colour, dst=mixed)


def _three(plane: Canvas) -> Canvas:
    return np.asarray(cv2.cvtColor(plane, cv2.COLOR_GRAY2BGR), dtype=np.uint8)


class Painter:
    """Paints what has changed since the frame before; hands at rest are kept as they were painted."""

    def __init__(
        self, base: Canvas, camera: Camera, light: Light, visitors: tuple[Visitor, ...], spec: SlapSpec
    ) -> None:
        """`base` is the table without hands; visitors lie on each other in the order given, lowest first."""
        self._base, self._light, self._visitors, self._spec = base, light, visitors, spec
        self._projection = projection_of(camera)
        self._size = (base.shape[1], base.shape[0])
        self._at_rest: dict[int, list[Patch]] = {}
        self._under: tuple[tuple[int, ...], Canvas] = ((), base)
        self._delays = spec.read_out.delays(self._size) * spec.read_out_s
        self._rolling = spec.read_out_s > 0

    def at(self, at_s: float) -> Canvas:
        """(h, w, 3) uint8 picture whose middle line's exposure has its middle at `at_s`; not to be changed."""
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
            for patch in self._patches_of(visitor, at_s):
                patch.lay(canvas)
        return canvas

    def _lay_resting(self, canvas: Canvas, number: int, visitor: Visitor, at_s: float) -> None:
        if number not in self._at_rest:
            self._at_rest[number] = self._patches_of(visitor, at_s)
        for patch in self._at_rest[number]:
            patch.lay(canvas)

    def _patches_of(self, visitor: Visitor, at_s: float) -> list[Patch]:
        """The hand's shadow and the hand, averaged over the exposure."""
        motion, spec = visitor.motion, self._spec
        delays = self._delays[None, :] if self._rolling else np.zeros((1, 1))
        count = self._exposures(visitor, at_s)
        offsets = ((np.arange(count) + 0.5) / count - 0.5) * spec.shutter_s
        places = motion.places(at_s + offsets[:, None] + delays)
        read_out = spec.read_out if self._rolling else None
        rect, gain = shadow_gain(self._size, visitor.sprite, places, self._projection, self._light, read_out=read_out)
        patches = [Patch(rect, _three(np.asarray(cv2.convertScaleAbs(gain, alpha=255.0), np.uint8)))] if rect[2] else []
        parts = [
            (visitor.hand, hand_frames(motion.look, places) @ visitor.sprite.hand.to_mm),
            (visitor.forearm, forearm_frames(motion.look, places) @ visitor.sprite.forearm.to_mm),
        ]
        for picture, frames in reversed(parts) if visitor.sprite.hand_over else parts:
            patches += self._patches(picture, self._projection @ frames, read_out)
        return patches

    def _patches(self, picture: Canvas, matrices: Matrix, read_out: ReadOut | None) -> list[Patch]:
        rects = pieces(matrices, (picture.shape[1], picture.shape[0]), self._size)
        back = inverses(matrices) if rects else matrices
        made = []
        for rect in rects:
            seen = warped(picture, back, rect, read_out)
            keep = np.asarray(cv2.bitwise_not(cv2.extractChannel(seen, 3)), dtype=np.uint8)
            made.append(Patch(rect, _three(keep), np.asarray(cv2.cvtColor(seen, cv2.COLOR_BGRA2BGR), np.uint8)))
        return made

    def _exposures(self, visitor: Visitor, at_s: float) -> int:
        """How often the hand is painted: as often as its fastest motion in the exposure asks for."""
        wide = (self._spec.shutter_s + self._spec.read_out_s) / 2 + SPEED_STEP_S
        first, last = (int((at_s + way * wide - visitor.motion.starts_s) / SPEED_STEP_S) for way in (-1, 1))
        fastest = float(visitor.speeds_mm_s[max(first, 0) : max(last, 0) + 1].max(initial=0.0))
        moved_px = fastest * self._spec.shutter_s * self._spec.px_per_mm
        return int(min(MOST_EXPOSURES, max(1, math.ceil(moved_px / PX_AN_EXPOSURE))))
