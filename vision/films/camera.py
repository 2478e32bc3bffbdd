"""The camera that looks at a rendered table: a pinhole, from straight above to 45° aslant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float64]

MAX_TILT_DEG = 60.0
"""Beyond this the far side of a table is a sliver that no set-up would use."""


@dataclass(frozen=True, slots=True)
class Camera:
    """A pinhole camera over a table.

    Table coordinates are millimetres: origin in the table's top-left corner as the camera sees it,
    x right, y down, height up from the table top. Pixels: x right, y down, (0, 0) is the centre of the
    first pixel.
    """

    width_px: int
    height_px: int
    focal_px: float
    centre_px: tuple[float, float]
    looks_at_mm: tuple[float, float]
    """The point of the table top on the optical axis."""
    distance_mm: float
    """From the lens to that point."""
    tilt_deg: float = 0.0
    """0 looks straight down; 45 stands at the lower edge's side and looks aslant."""
    turn_deg: float = 0.0
    """How far the camera is turned about its own axis, clockwise in the picture."""
    k1: float = 0.0
    """Radial distortion (Brown): negative is a barrel."""
    k2: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a camera that can't be."""
        if self.width_px < 16 or self.height_px < 16:
            raise ValueError(f"expected a picture of at least 16x16 px, got {self.width_px}x{self.height_px}")
        if not 0 <= self.tilt_deg <= MAX_TILT_DEG:
            raise ValueError(f"expected a tilt of 0 to {MAX_TILT_DEG:.0f} degrees, got {self.tilt_deg}")
        if self.distance_mm <= 0 or self.focal_px <= 0:
            raise ValueError("expected a distance and a focal length above 0")

    @classmethod
    def over(
        cls,
        table_mm: tuple[float, float],
        size_px: tuple[int, int],
        *,
        tilt_deg: float = 0.0,
        turn_deg: float = 0.0,
        distance_mm: float = 1400.0,
        fill: float = 0.96,
        k1: float = 0.0,
        k2: float = 0.0,
    ) -> Camera:
        """A camera framing a table of `table_mm` (width, height) so that it takes `fill` of the picture."""
        width, height = size_px
        middle = (table_mm[0] / 2, table_mm[1] / 2)
        trial = cls(width, height, 1000.0, (0.0, 0.0), middle, distance_mm, tilt_deg=tilt_deg, turn_deg=turn_deg)
        corners = trial.project([(0, 0), (table_mm[0], 0), table_mm, (0, table_mm[1])])
        low, high = corners.min(axis=0), corners.max(axis=0)
        scale = fill * min(width / (high[0] - low[0]), height / (high[1] - low[1]))
        centre = np.array([(width - 1) / 2, (height - 1) / 2]) - scale * (low + high) / 2
        return cls(
            width,
            height,
            1000.0 * float(scale),
            (float(centre[0]), float(centre[1])),
            middle,
            distance_mm,
            tilt_deg=tilt_deg,
            turn_deg=turn_deg,
            k1=k1,
            k2=k2,
        )

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of the picture in pixels."""
        return self.width_px, self.height_px

    @property
    def position_mm(self) -> tuple[float, float, float]:
        """Where the lens is: x, y, height above the table top."""
        tilt = math.radians(self.tilt_deg)
        return (
            self.looks_at_mm[0],
            self.looks_at_mm[1] + self.distance_mm * math.sin(tilt),
            self.distance_mm * math.cos(tilt),
        )

    def _projection(self) -> Matrix:
        """(3, 4) float64: (x, y, depth below the table top, 1) in mm to homogeneous pixels."""
        return _projection_of(self)

    def _pinhole(self) -> Matrix:
        tilt, turn = math.radians(self.tilt_deg), math.radians(self.turn_deg)
        c, s = math.cos(tilt), math.sin(tilt)
        lean = np.array([[1.0, 0.0, 0.0], [0.0, c, s], [0.0, -s, c]])
        ct, st = math.cos(turn), math.sin(turn)
        roll = np.array([[ct, -st, 0.0], [st, ct, 0.0], [0.0, 0.0, 1.0]])
        lens = np.array(
            [
                [self.focal_px, 0.0, self.centre_px[0]],
                [0.0, self.focal_px, self.centre_px[1]],
                [0.0, 0.0, 1.0],
            ]
        )
        turned = roll @ lean
        x, y, height = self.position_mm
        shift = -turned @ np.array([x, y, -height])
        return np.asarray(lens @ np.column_stack([turned, shift]), dtype=np.float64)

    def homography_at(self, height_mm: float) -> Matrix:
        """(3, 3) float64: plane millimetres, lifted to `height_mm`, to pixels (lens distortion left out)."""
        p = self._projection()
        lifted = np.column_stack([p[:, 0], p[:, 1], p[:, 3] - height_mm * p[:, 2]])
        return np.asarray(lifted / lifted[2, 2], dtype=np.float64)

    def project(self, points_mm: ArrayLike, height_mm: ArrayLike = 0.0) -> Matrix:
        """(n, 2) float64 pixels of (n, 2) mm points at one height or at (n,) heights, distortion included."""
        points = np.asarray(points_mm, dtype=np.float64).reshape(-1, 2)
        p = self._projection()
        # A lone height is folded into the last column: films ask for four corners thousands of times.
        if isinstance(height_mm, float | int):
            lifted = points @ p[:, :2].T + (p[:, 3] - height_mm * p[:, 2])
        else:
            heights = np.asarray(height_mm, dtype=np.float64).reshape(-1, 1)
            lifted = points @ p[:, :2].T + (p[:, 3] - heights * p[:, 2])
        return self.distort(lifted[:, :2] / lifted[:, 2:])

    def distort(self, pixels: ArrayLike) -> Matrix:
        """(n, 2) pixels of a perfect pinhole to where this lens draws them."""
        ideal = np.asarray(pixels, dtype=np.float64).reshape(-1, 2)
        if self.k1 == 0.0 and self.k2 == 0.0:
            return ideal
        middle = np.array([(self.width_px - 1) / 2, (self.height_px - 1) / 2])
        out = (ideal - middle) / self._half_diagonal
        r2 = (out * out).sum(axis=1, keepdims=True)
        return np.asarray(middle + out * (1 + self.k1 * r2 + self.k2 * r2 * r2) * self._half_diagonal)

    @property
    def _half_diagonal(self) -> float:
        return 0.5 * math.hypot(self.width_px, self.height_px)

    def lens_map(self) -> NDArray[np.float32]:
        """(height, width, 2) float32: where the pinhole's picture has what this lens draws at each pixel."""
        xs, ys = np.meshgrid(np.arange(self.width_px), np.arange(self.height_px))
        drawn = np.column_stack([xs.ravel(), ys.ravel()]).astype(np.float64)
        ideal = drawn.copy()
        for _ in range(8):  # fixed point: |k| < 0.3 shrinks the error at least threefold a step
            ideal += drawn - self.distort(ideal)
        return ideal.reshape(self.height_px, self.width_px, 2).astype(np.float32)

    def px_per_mm(self, point_mm: tuple[float, float], height_mm: float = 0.0) -> float:
        """The picture's scale near a point: pixels per millimetre, across the view."""
        x, y = point_mm
        pair = self.project([(x - 0.5, y), (x + 0.5, y)], height_mm)
        return float(np.hypot(*(pair[1] - pair[0])))


@lru_cache(maxsize=64)
def _projection_of(camera: Camera) -> Matrix:
    """The camera's projection, worked out once."""
    return camera._pinhole()
