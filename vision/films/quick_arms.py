"""Arms painted fast, for whole games: eight-bit sprites, and shadows at a quarter of the picture's size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.films.arms import (
    ArmLook,
    ArmPlaces,
    ArmSprite,
    Light,
    Matrix,
    Part,
    Pose,
    draw_arm,
    forearm_frames,
    hand_frames,
    shadow_layers,
)
from vision.films.sprites import over

Picture = NDArray[np.uint8]

UPPER_ARM_MM = 260.0
"""How far an arm is drawn on past the elbow, so that it never ends within the picture."""
COARSE = 4
"""Shadows are painted so many times smaller: they are softer than that."""


@dataclass(frozen=True, slots=True, eq=False)
class QuickArm:
    """A lit arm with its pictures in eight bits: (h, w, 4) premultiplied blue green red alpha."""

    sprite: ArmSprite
    hand: Picture
    forearm: Picture

    @classmethod
    def draw(cls, look: ArmLook, pose: Pose, px_per_mm: float, lamp: Light, heading_rad: float) -> QuickArm:
        """An arm lit as it is when it points along `heading_rad`, drawn on past the elbow."""
        drawn = draw_arm(look, pose, px_per_mm, lamp, heading_rad)
        drawn = replace(drawn, forearm=_longer(drawn.forearm, round(UPPER_ARM_MM * px_per_mm)))
        return cls(drawn, _eight_bits(drawn.hand), _eight_bits(drawn.forearm))

    def paint(self, canvas: Picture, places: ArmPlaces, projection: Matrix) -> None:
        """Lay the arm over a canvas, averaged over its places (n,); `projection` is to the canvas's pixels."""
        parts = (
            (self.hand, hand_frames(self.sprite.look, places), self.sprite.hand.to_mm),
            (self.forearm, forearm_frames(self.sprite.look, places), self.sprite.forearm.to_mm),
        )
        for picture, frames, to_mm in reversed(parts) if self.sprite.hand_over else parts:
            _lay(canvas, picture, projection @ frames @ to_mm)

    def coverage(self, size_px: tuple[int, int], places: ArmPlaces, projection: Matrix) -> tuple[Picture, Picture]:
        """(h, w) uint8 both: how much the whole arm covers of each pixel, and the part from the wrist on alone."""
        made = []
        for picture, frames, to_mm in (
            (self.hand, hand_frames(self.sprite.look, places), self.sprite.hand.to_mm),
            (self.forearm, forearm_frames(self.sprite.look, places), self.sprite.forearm.to_mm),
        ):
            ink = np.full_like(picture, 0)
            ink[..., 0] = ink[..., 3] = picture[..., 3]
            canvas = np.zeros((size_px[1], size_px[0], 3), np.uint8)
            _lay(canvas, ink, projection @ frames @ to_mm)
            made.append(np.ascontiguousarray(canvas[..., 0]))
        return np.asarray(cv2.max(made[0], made[1]), np.uint8), made[0]


def paint_shadows(canvas: Picture, arms: Sequence[tuple[QuickArm, ArmPlaces]], projection: Matrix, lamp: Light) -> None:
    """Darken a canvas under all those arms at once."""
    height, width = canvas.shape[:2]
    small = (-(-width // COARSE), -(-height // COARSE))
    # A coarse pixel's middle lies between the fine ones': (c + 0.5) · COARSE - 0.5.
    shift = (0.5 / COARSE) - 0.5
    shrink = np.array([[1 / COARSE, 0, shift], [0, 1 / COARSE, shift], [0, 0, 1.0]])
    keep = np.ones((small[1], small[0]), np.float32)
    for arm, places in arms:
        for layer in shadow_layers(small, arm.sprite, places, shrink @ projection, lamp):
            x, y, wide, high = layer.rect
            keep[y : y + high, x : x + wide] *= layer.keep[..., 0]
    grown = cv2.resize(
        (keep * 255).astype(np.uint8), (small[0] * COARSE, small[1] * COARSE), interpolation=cv2.INTER_LINEAR
    )[:height, :width]
    canvas[...] = cv2.multiply(canvas, cv2.merge([grown, grown, grown]), scale=1 / 255)


def _lay(canvas: Picture, picture: Picture, matrices: Matrix) -> None:
    height, width = picture.shape[:2]
    corners = np.array([[0, 0, 1], [width - 1, 0, 1], [width - 1, height - 1, 1], [0, height - 1, 1.0]])
    seen = corners @ np.swapaxes(matrices, -1, -2)
    px = seen[..., :2] / seen[..., 2:]
    low = np.floor(px.min(axis=(0, 1))).astype(int) - 1
    high = np.ceil(px.max(axis=(0, 1))).astype(int) + 2
    x0, y0 = max(0, int(low[0])), max(0, int(low[1]))
    x1, y1 = min(canvas.shape[1], int(high[0])), min(canvas.shape[0], int(high[1]))
    if x1 <= x0 or y1 <= y0:
        return
    move = np.array([[1.0, 0, -x0], [0, 1.0, -y0], [0, 0, 1.0]])
    size = (x1 - x0, y1 - y0)
    if len(matrices) == 1:
        laid = cv2.warpPerspective(picture, move @ matrices[0], size, flags=cv2.INTER_LINEAR)
    else:
        total = np.zeros((size[1], size[0], 4), np.float32)
        for matrix in matrices:
            cv2.accumulate(cv2.warpPerspective(picture, move @ matrix, size, flags=cv2.INTER_LINEAR), total)
        laid = cv2.convertScaleAbs(total, alpha=1 / len(matrices))
    over(canvas[y0:y1, x0:x1], np.asarray(laid, np.uint8))


def _eight_bits(part: Part) -> Picture:
    """(h, w, 4) uint8 of a part's float picture, whose alpha is 0 to 1."""
    picture = part.picture.copy()
    picture[..., 3] *= 255
    return np.asarray(picture.round().clip(0, 255), np.float32).astype(np.uint8)


def _longer(forearm: Part, by_px: int) -> Part:
    """The same forearm, its sleeve or skin going on past the elbow."""
    picture = cv2.copyMakeBorder(forearm.picture, 0, 0, by_px, 0, cv2.BORDER_REPLICATE)
    shift = np.array([[1.0, 0, -by_px], [0, 1.0, 0], [0, 0, 1.0]])
    return replace(forearm, picture=np.asarray(picture, np.float32), to_mm=forearm.to_mm @ shift)
