"""The camera's sensor: brightness, colour, flicker, lens and noise, from a painted picture to what is encoded."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.films.camera import Camera
from vision.films.conditions import Condition

Picture = NDArray[np.uint8]

_BANK = 12
"""Noise pictures kept: taken in random order and shifted, so that no eye or codec finds them again."""
_MARGIN = 64
BALANCE_GLIDE_S = 0.6
"""White balance glides over more slowly than exposure does."""
MAINS_HZ = 100.0
"""Lamps on 50 Hz mains brighten twice a period."""


class Sensor:
    """Turns painted BGR pictures into noisy I420 ones, moment by moment."""

    def __init__(self, camera: Camera, condition: Condition, seconds: float, rng: np.random.Generator) -> None:
        """Draw noise, exposure steps and the passing shadow once."""
        self._rng, self._condition = rng, condition
        width, height = camera.size_px
        self._size = (width, height)
        self._lens = None
        if camera.k1 or camera.k2:
            across, down = cv2.split(camera.lens_map())
            self._lens = cv2.convertMaps(across, down, cv2.CV_16SC2)
        self._noise = self._noise_bank()
        self._steps = self._exposure_steps(seconds)
        self.balances = self._balance_steps(seconds)
        ways = rng.uniform(0, 2 * math.pi, 3)
        self._shadow_phase = (float(ways[0]), float(ways[1]), float(ways[2]))
        self._blob = self._soft_blob() if condition.passing_shadow > 0 else None

    def _noise_bank(self) -> list[tuple[Picture, int]]:
        width, height = self._size
        sd = self._condition.noise
        if sd <= 0:
            return []
        middle = min(120, math.ceil(3.5 * sd))
        bank = []
        for _ in range(_BANK):
            field = self._rng.normal(middle, sd, (height * 3 // 2 + _MARGIN, width))
            field[height + _MARGIN // 2 :] = middle + 0.45 * (field[height + _MARGIN // 2 :] - middle)
            bank.append((field.round().clip(0, 255).astype(np.uint8), middle))
        return bank

    def _exposure_steps(self, seconds: float) -> list[tuple[float, float]]:
        """(when, gain from then on): a new exposure every five to twelve seconds."""
        if self._condition.exposure_steps <= 0:
            return []
        steps, at_s = [], 0.0
        while at_s < seconds:
            at_s += float(self._rng.uniform(5, 12))
            depth = self._condition.exposure_steps
            steps.append((at_s, float(self._rng.uniform(1 - depth, 1 + depth))))
        return steps

    def _balance_steps(self, seconds: float) -> list[tuple[float, float]]:
        """(when, how warm from then on): now too warm, now too cool, every three to eight seconds."""
        depth = self._condition.balance_steps
        if depth <= 0:
            return []
        steps, at_s, side = [], 0.0, 1.0 if self._rng.random() < 0.5 else -1.0
        while at_s < seconds:
            at_s += float(self._rng.uniform(3, 8))
            steps.append((at_s, side * float(self._rng.uniform(0.5 * depth, depth))))
            side = -side if self._rng.random() < 0.8 else side
        return steps

    def warmth(self, at_s: float) -> float:
        """How much more red and less blue the picture is at that moment than a well-balanced one, as a share."""
        warm = 0.0
        for start_s, step in self.balances:
            if at_s < start_s:
                break
            warm += min(1.0, (at_s - start_s) / BALANCE_GLIDE_S) * (step - warm)
        return warm

    def gain(self, at_s: float) -> float:
        """How bright the picture is at that moment beside a well-exposed one."""
        gain = self._condition.level
        before = 1.0
        for start_s, step in self._steps:
            if at_s < start_s:
                break
            share = min(1.0, (at_s - start_s) / 0.25)  # phones glide over about a quarter of a second
            before = before + share * (step - before)
        if self._condition.flicker:
            gain *= 1 + self._condition.flicker * math.sin(2 * math.pi * MAINS_HZ * 1.002 * at_s)
        return gain * before

    def _soft_blob(self) -> NDArray[np.float32]:
        width, height = self._size
        blob = np.zeros((height, 2 * width), np.float32)
        cv2.ellipse(blob, (width, height // 2), (width // 4, height // 3), 25, 0, 360, 1.0, -1)
        return np.asarray(cv2.GaussianBlur(blob, (0, 0), width / 22), np.float32)

    def shadow(self, at_s: float) -> NDArray[np.float32] | None:
        """(height, width) float32: how much light the passing shadow takes away, None where there is none."""
        if self._blob is None:
            return None
        width, height = self._size
        a, b, c = self._shadow_phase
        sway_x = 0.33 * math.sin(0.45 * at_s + a) + 0.12 * math.sin(1.3 * at_s + b)
        sway_y = 0.25 * math.sin(0.31 * at_s + c)
        move = np.array([[1, 0, sway_x * width - width / 2], [0, 1, sway_y * height]], np.float32)
        return np.asarray(cv2.warpAffine(self._blob, move, (width, height)), np.float32)

    def expose(self, picture: Picture, at_s: float) -> Picture:
        """(height·3/2, width) uint8 I420 of a (height, width, 3) BGR picture taken at `at_s`."""
        dark = self.shadow(at_s)
        if dark is not None:
            keep = (255 - 255 * self._condition.passing_shadow * dark).astype(np.uint8)
            picture = np.asarray(cv2.multiply(picture, cv2.merge([keep, keep, keep]), scale=1 / 255), np.uint8)
        gain, warm = self.gain(at_s), self.warmth(at_s)
        if abs(gain - 1) > 1e-3 or warm:
            gains = gain * np.array((1 - warm, 1.0, 1 + warm) if warm else (1.0,))
            steps = np.arange(256, dtype=np.float32)[:, None] * gains
            knee = np.where(steps > 225, 225 + 30 * (1 - np.exp(-(steps - 225) / 30)), steps)
            curve = knee.clip(0, 255).astype(np.uint8).reshape(1, 256, -1)
            picture = np.asarray(cv2.LUT(picture, curve), np.uint8)
        if self._lens is not None:
            picture = np.asarray(
                cv2.remap(picture, self._lens[0], self._lens[1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE),
                np.uint8,
            )
        flat = np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2YUV_I420), np.uint8)
        if not self._noise:
            return flat
        field, middle = self._noise[int(self._rng.integers(_BANK))]
        shift = int(self._rng.integers(_MARGIN // 2))
        noisy = cv2.add(flat, field[shift : shift + len(flat)])
        return np.asarray(cv2.subtract(noisy, np.full(4, middle, np.float64)), np.uint8)
