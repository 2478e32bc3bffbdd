"""Where a patch of one picture lies in another, to a fraction of a pixel: masked, robust, affine, coarse to fine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.hands.pixels import Array, Grey

Affine = NDArray[np.float64]
"""(2, 3) float64: template pixels (x, y, 1) to picture pixels."""

#: A patch smaller than this has too little to hold on to (about a fingertip at 1 px/mm).
_FEWEST_PIXELS = 120
#: Residuals beyond this many robust standard deviations are half trusted: the usual constant of Huber's.
_HUBER = 1.35


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Where the patch was found.

    ``warp``: (2, 3) from template pixels to picture pixels. ``covariance``: (6, 6) of the warp's six numbers,
    row by row, for coordinates taken from the patch's own middle. ``residual``: robust standard deviation of
    the grey levels that the warp leaves unexplained. ``seen``: share of the patch that lies within the picture.
    """

    warp: Affine
    covariance: Array
    residual: float
    seen: float


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    scale: float
    points: Grey
    """(n, 2) template coordinates at this level."""
    values: Grey
    weights: Grey
    steepest: Grey
    """(n, 8): how the patch's grey levels answer to the six affine numbers, to gain and to offset."""


class Patch:
    """A patch to be found again: its grey levels where ``weights`` are above 0."""

    def __init__(self, picture: Grey, weights: Grey, levels: int = 3) -> None:
        """Take the patch from a picture; ``weights``: (height, width), 0 to 1."""
        ys, xs = np.nonzero(weights > 0.02)
        if len(xs) < _FEWEST_PIXELS:
            raise ValueError(f"expected a patch of {_FEWEST_PIXELS} pixels or more, got {len(xs)}")
        self.middle = np.array([np.average(xs), np.average(ys)])
        self.reach = max(float(np.ptp(xs)), float(np.ptp(ys)), 1.0)
        self._levels = [self._level(picture, weights, k) for k in range(levels)]
        self._levels = [level for level in self._levels if len(level.values) >= _FEWEST_PIXELS] or self._levels[:1]

    @property
    def coarsest(self) -> int:
        """The number of the coarsest level: 0 is the picture itself, each further one half as fine."""
        return len(self._levels) - 1

    def _level(self, picture: Grey, weights: Grey, k: int) -> _Level:
        scale = 0.5**k
        small = shrink(picture, k)
        mask = shrink(weights, k)
        soft = cv2.GaussianBlur(small, (0, 0), 0.8)
        gx = cv2.Scharr(soft, cv2.CV_32F, 1, 0, scale=1 / 32)
        gy = cv2.Scharr(soft, cv2.CV_32F, 0, 1, scale=1 / 32)
        ys, xs = np.nonzero(mask > 0.3)
        if len(xs) > 6000:  # more than this adds nothing to the precision that the model's own error allows
            keep = slice(None, None, len(xs) // 6000 + 1)
            ys, xs = ys[keep], xs[keep]
        values = soft[ys, xs]
        middle = self.middle * scale
        u, v = (xs - middle[0]) / (self.reach * scale), (ys - middle[1]) / (self.reach * scale)
        dx, dy = gx[ys, xs], gy[ys, xs]
        spread = float(values.std()) or 1.0
        steepest = np.column_stack(
            [dx * u, dx * v, dx, dy * u, dy * v, dy, (values - values.mean()) / spread, np.ones_like(values)]
        )
        points = np.column_stack([xs, ys]).astype(np.float32)
        return _Level(scale, points, values, mask[ys, xs], steepest.astype(np.float32))

    def find(
        self,
        pyramid: Sequence[Grey],
        starts: Sequence[Affine],
        *,
        finest: int = 0,
        rounds: int = 12,
        rigid: bool = False,
    ) -> Placed:
        """Find the patch from several starts; the best of them at the coarsest level is followed to the finest.

        ``pyramid``: the picture, and each level half as fine. ``rigid`` allows only shift, turn and size.
        """
        top = min(self.coarsest, len(pyramid) - 1)
        tried = [self._descend(self._levels[top], pyramid[top], start, rounds, rigid) for start in starts]
        best = min(tried, key=lambda placed: placed.residual / max(placed.seen, 0.05) ** 0.5)
        for k in range(top - 1, finest - 1, -1):
            best = self._descend(self._levels[k], pyramid[k], best.warp, rounds, rigid)
        return best

    def _descend(self, level: _Level, picture: Grey, start: Affine, rounds: int, rigid: bool) -> Placed:
        s = level.scale
        warp = start.copy()
        height, width = picture.shape
        base = level.weights
        damping = np.array([2.0, 2.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0]) * len(base) * 1e-4
        normal = np.eye(8)
        residual, seen = np.inf, 0.0
        for _ in range(rounds):
            at = _apply(warp, level.points, s)
            inside = (at[:, 0] >= 0) & (at[:, 0] <= width - 1) & (at[:, 1] >= 0) & (at[:, 1] <= height - 1)
            seen = float((base * inside).sum() / base.sum())
            if seen < 0.08:
                return Placed(warp, np.eye(6) * 1e6, np.inf, seen)
            got = cv2.remap(picture, at[None, :, 0], at[None, :, 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)[
                0
            ]
            trust = base * inside
            # Light on the hand changes as it moves: match mean and spread first, then robustly.
            error = _levelled(got, level.values, trust) - level.values
            residual = 1.4826 * float(np.median(np.abs(error[inside]))) + 1e-6
            size = np.abs(error) / residual
            trust = trust * np.where(size > _HUBER, _HUBER / np.maximum(size, 1e-9), 1.0)
            steepest = level.steepest
            if rigid:
                steepest = steepest @ _RIGID
            weighted = steepest * trust[:, None]
            normal = (weighted.T @ steepest).astype(np.float64)
            if not rigid:
                normal[np.diag_indices(8)] += damping
            normal[np.diag_indices(len(normal))] += 1e-9 * np.trace(normal) + 1e-9
            step = np.linalg.solve(normal, (weighted.T @ error).astype(np.float64))
            if rigid:
                step = _RIGID @ step
            moved = self._step(step[:6], s)
            warp = _compose(warp, moved)
            if float(np.abs(step[:6]).max()) < 0.01:
                break
        inverse = np.linalg.inv(normal)
        if rigid:
            inverse = _RIGID @ inverse @ _RIGID.T
        # Neighbouring pixels share their noise after the blur: about four to one independent one.
        covariance = inverse[:6, :6] * residual**2 * 4 / s**2
        return Placed(warp, np.asarray(covariance, dtype=np.float64), residual, seen)

    def _step(self, numbers: Array, scale: float) -> Affine:
        """The inverse of the small warp that the solved numbers stand for, in template pixels."""
        a, b, tx, c, d, ty = numbers
        reach, (mx, my) = self.reach, self.middle
        # The numbers are displacements in level pixels at the patch's rim.
        linear = np.eye(2) + np.array([[a, b], [c, d]]) / (reach * scale)
        shift = np.array([tx, ty]) / scale
        inverse = np.linalg.inv(linear)
        middle = np.array([mx, my])
        return np.column_stack([inverse, middle - inverse @ (middle + shift)])

    def moved(self, placed: Placed, points: Array) -> tuple[Array, Array]:
        """Where template points went: (n, 2) pixels, and (2n, 2n) their covariance."""
        at = points @ placed.warp[:, :2].T + placed.warp[:, 2]
        u = (points - self.middle) / self.reach
        rows = np.zeros((2 * len(points), 6))
        rows[0::2, 0], rows[0::2, 1], rows[0::2, 2] = u[:, 0], u[:, 1], 1
        rows[1::2, 3], rows[1::2, 4], rows[1::2, 5] = u[:, 0], u[:, 1], 1
        return at, rows @ placed.covariance @ rows.T


#: Columns: size, turn, shift x, shift y, gain, offset; rows: the eight numbers of the affine model.
_RIGID = np.array(
    [
        [1, 0, 0, 0, 0, 0],
        [0, -1, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0],
        [0, 1, 0, 0, 0, 0],
        [1, 0, 0, 0, 0, 0],
        [0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0, 1],
    ],
    dtype=np.float32,
)


def identity() -> Affine:
    """The warp that moves nothing."""
    return np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def shifted(warp: Affine, by: Array | tuple[float, float]) -> Affine:
    """The same warp, its target moved by so many pixels."""
    out = warp.copy()
    out[:, 2] += by
    return out


def shrink(picture: Grey, k: int) -> Grey:
    """Halve a picture k times."""
    for _ in range(k):
        picture = cv2.resize(picture, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    return picture


def pyramid(picture: Grey, levels: int = 3) -> list[Grey]:
    """A picture and its halvings, each a little smoothed so that noise does not decide."""
    return [cv2.GaussianBlur(shrink(picture, k), (0, 0), 0.8) for k in range(levels)]


def _apply(warp: Affine, points: Grey, scale: float) -> Grey:
    # Level pixels' centres: template x at level k is (x + 0.5) / 2**k - 0.5.
    full = (points + 0.5) / scale - 0.5
    at = full @ warp[:, :2].T.astype(np.float32) + warp[:, 2].astype(np.float32)
    return np.ascontiguousarray((at + 0.5) * scale - 0.5, dtype=np.float32)


def _compose(outer: Affine, inner: Affine) -> Affine:
    return np.column_stack([outer[:, :2] @ inner[:, :2], outer[:, :2] @ inner[:, 2] + outer[:, 2]])


def _levelled(got: Grey, want: Grey, trust: Grey) -> Grey:
    total = float(trust.sum()) + 1e-9
    mean_got, mean_want = float((got * trust).sum()) / total, float((want * trust).sum()) / total
    var_got = float(((got - mean_got) ** 2 * trust).sum()) / total
    var_want = float(((want - mean_want) ** 2 * trust).sum()) / total
    cov = float(((got - mean_got) * (want - mean_want) * trust).sum()) / total
    # A blurred patch is flatter: stretch it, but never more than half as much again, and never turn it over.
    gain = float(np.clip(np.sqrt(var_want / max(var_got, 1e-6)), 0.67, 1.5)) if cov > 0 else 1.0
    return np.asarray((got - mean_got) * gain + mean_want, dtype=np.float32)
