"""Where a patch of one picture lies in another, to a fraction of a pixel: masked, robust, coarse to fine."""

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
#: More pixels than this add nothing to the precision that the model's own error allows.
_MOST_PIXELS = 1800
#: So many pixels are compared in a scan over shifts.
_SCANNED_PIXELS = 220
#: How much an arm can have turned and changed its size before it came to rest, one standard deviation: it swings
#: in by some degrees, and 100 mm higher is 7 to 11 % bigger under a camera at 900 to 1600 mm.
_TURN_SD, _SIZE_SD = 0.13, 0.06


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Where the patch was found.

    ``warp``: (2, 3) from template pixels to picture pixels. ``covariance``: (4, 4) of size, turn (both in pixels
    at the patch's reach) and shift x, y (pixels) at the patch's middle. ``likeness``: correlation of the two, 1 at
    best. ``seen``: share of the patch that lies within the picture.
    """

    warp: Affine
    covariance: Array
    residual: float
    likeness: float
    seen: float


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    scale: float
    points: Grey
    """(n, 2) template coordinates at this level."""
    values: Grey
    weights: Grey
    steepest: Grey
    """(n, 6): how the patch's grey levels answer to size, turn, shift x, shift y, gain and offset."""


class Patch:
    """A patch to be found again, shifted, turned and a little bigger: its grey levels where it has weight."""

    def __init__(self, picture: Grey, weights: Grey, levels: int = 3) -> None:
        """Take the patch from a picture; ``weights``: (height, width), 0 to 1."""
        ys, xs = np.nonzero(weights > 0.02)
        if len(xs) < _FEWEST_PIXELS:
            raise ValueError(f"expected a patch of {_FEWEST_PIXELS} pixels or more, got {len(xs)}")
        self.middle = np.array([np.average(xs), np.average(ys)])
        self.reach = float(max(np.hypot(xs - self.middle[0], ys - self.middle[1]).max(), 1.0))
        self.axis = _longest(xs, ys)
        self._levels = [self._level(picture, weights, k) for k in range(levels)]
        self._levels = [level for level in self._levels if len(level.values) >= _FEWEST_PIXELS] or self._levels[:1]

    @property
    def coarsest(self) -> int:
        """The number of the coarsest level: 0 is the picture itself, each further one half as fine."""
        return len(self._levels) - 1

    def _level(self, picture: Grey, weights: Grey, k: int) -> _Level:
        scale = 0.5**k
        soft = cv2.GaussianBlur(shrink(picture, k), (0, 0), 0.8)
        mask = shrink(weights, k)
        gx = cv2.Scharr(soft, cv2.CV_32F, 1, 0, scale=1 / 32)
        gy = cv2.Scharr(soft, cv2.CV_32F, 0, 1, scale=1 / 32)
        ys, xs = np.nonzero(mask > 0.3)
        if len(xs) > _MOST_PIXELS:
            keep = slice(None, None, len(xs) // _MOST_PIXELS + 1)
            ys, xs = ys[keep], xs[keep]
        values = soft[ys, xs]
        middle = (self.middle + 0.5) * scale - 0.5
        u, v = (xs - middle[0]) / (self.reach * scale), (ys - middle[1]) / (self.reach * scale)
        dx, dy = gx[ys, xs], gy[ys, xs]
        spread = float(values.std()) or 1.0
        steepest = np.column_stack(
            [dx * u + dy * v, dy * u - dx * v, dx, dy, (values - values.mean()) / spread, np.ones_like(values)]
        )
        points = np.column_stack([xs, ys]).astype(np.float32)
        return _Level(scale, points, values, mask[ys, xs], steepest.astype(np.float32))

    def scan(self, pictures: Sequence[Grey], warp: Affine, shifts: Array) -> Array:
        """(n,) how like the patch is to the coarsest picture with the warp moved by each of (n, 2) shifts in pixels."""
        top = min(self.coarsest, len(pictures) - 1)
        level, picture = self._levels[top], pictures[top]
        keep = slice(None, None, max(1, len(level.points) // _SCANNED_PIXELS))
        at = _apply(warp, level.points[keep], level.scale)
        want, weight = level.values[keep], level.weights[keep]
        moved = at[None] + (shifts * level.scale).astype(np.float32)[:, None]
        height, width = picture.shape
        inside = (moved[..., 0] >= 0) & (moved[..., 0] <= width - 1) & (moved[..., 1] >= 0)
        inside &= moved[..., 1] <= height - 1
        got = cv2.remap(picture, moved[..., 0], moved[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return _likeness(got, want[None], weight[None] * inside)

    def find(
        self,
        pictures: Sequence[Grey],
        starts: Sequence[Affine],
        *,
        finest: int = 0,
        rounds: int = 8,
    ) -> Placed:
        """Find the patch from several starts; the likest at the coarsest level is followed to the finest.

        ``pictures``: the picture, and each further one half as fine.
        """
        top = min(self.coarsest, len(pictures) - 1)
        tried = [self._descend(self._levels[top], pictures[top], start, rounds) for start in starts]
        best = max(tried, key=lambda placed: placed.likeness * min(1.0, placed.seen / 0.3))
        for k in range(top - 1, finest - 1, -1):
            best = self._descend(self._levels[k], pictures[k], best.warp, rounds)
        return best

    def _descend(self, level: _Level, picture: Grey, start: Affine, rounds: int) -> Placed:
        s = level.scale
        warp = start.copy()
        height, width = picture.shape
        base = level.weights
        normal = np.eye(6)
        residual, seen = np.inf, 0.0
        likeness = -1.0
        lever = self.reach * s
        for _ in range(rounds):
            at = _apply(warp, level.points, s)
            inside = (at[:, 0] >= 0) & (at[:, 0] <= width - 1) & (at[:, 1] >= 0) & (at[:, 1] <= height - 1)
            seen = float((base * inside).sum() / base.sum())
            if seen < 0.08:
                return Placed(warp, np.eye(4) * 1e6, np.inf, -1.0, seen)
            xs, ys = at[None, :, 0], at[None, :, 1]
            got = cv2.remap(picture, xs, ys, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)[0]
            trust = base * inside
            # Light on the hand changes as it moves: match mean and spread first, then robustly.
            error = _levelled(got, level.values, trust) - level.values
            residual = 1.4826 * float(np.median(np.abs(error[inside]))) + 0.05
            size = np.abs(error) / residual
            trust = trust * np.where(size > _HUBER, _HUBER / np.maximum(size, 1e-9), 1.0)
            weighted = level.steepest * trust[:, None]
            normal = (weighted.T @ level.steepest).astype(np.float64)
            right = (weighted.T @ error).astype(np.float64)
            # What arms do beforehand; counted as a few dozen pixels' worth, since pixels share their errors.
            now_size, now_turn = _size_turn(warp)
            prior = residual**2 * _PIXELS_A_FACT * np.array([1 / (_SIZE_SD * lever) ** 2, 1 / (_TURN_SD * lever) ** 2])
            normal[0, 0] += prior[0]
            normal[1, 1] += prior[1]
            right[0] += prior[0] * (now_size - 1) * lever
            right[1] += prior[1] * now_turn * lever
            normal[np.diag_indices(6)] += 1e-9 * np.trace(normal) + 1e-9
            step = np.linalg.solve(normal, right)
            warp = _compose(warp, self._step(step[:4], s))
            likeness = float(_likeness(got[None], level.values[None], (base * inside)[None])[0])
            if float(np.abs(step[:4]).max()) < 0.02:
                break
        # Neighbouring pixels share their noise after the blur: about four to one independent one.
        covariance = np.linalg.inv(normal)[:4, :4] * residual**2 * 4 / s**2
        return Placed(warp, np.asarray(covariance, dtype=np.float64), residual, likeness, seen)

    def _step(self, numbers: Array, scale: float) -> Affine:
        """The inverse of the small warp that the solved numbers stand for, in template pixels."""
        size, turn, tx, ty = numbers
        # Size and turn are displacements in level pixels at the patch's reach.
        linear = np.eye(2) + np.array([[size, -turn], [turn, size]]) / (self.reach * scale)
        shift = np.array([tx, ty]) / scale
        inverse = np.linalg.inv(linear)
        return np.column_stack([inverse, self.middle - inverse @ (self.middle + shift)])


#: So many neighbouring pixels err together that a prior counts as much as that many of them.
_PIXELS_A_FACT = 25.0


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
    out = [picture]
    for _ in range(levels - 1):
        out.append(shrink(out[-1], 1))
    return [cv2.GaussianBlur(each, (0, 0), 0.8) for each in out]


def _longest(xs: NDArray[np.intp], ys: NDArray[np.intp]) -> Array:
    """Unit vector along the longest extent of some pixels."""
    spread = np.cov(np.stack([xs, ys]).astype(np.float64))
    return np.asarray(np.linalg.eigh(spread)[1][:, 1])


def _size_turn(warp: Affine) -> tuple[float, float]:
    size = float(np.sqrt(max(np.linalg.det(warp[:, :2]), 1e-6)))
    return size, float(np.arctan2(warp[1, 0] - warp[0, 1], warp[0, 0] + warp[1, 1]))


def _apply(warp: Affine, points: Grey, scale: float) -> Grey:
    # Level pixels' centres: template x at level k is (x + 0.5) / 2**k - 0.5.
    full = (points + 0.5) / scale - 0.5
    at = full @ warp[:, :2].T.astype(np.float32) + warp[:, 2].astype(np.float32)
    return np.ascontiguousarray((at + 0.5) * scale - 0.5, dtype=np.float32)


def _compose(outer: Affine, inner: Affine) -> Affine:
    return np.column_stack([outer[:, :2] @ inner[:, :2], outer[:, :2] @ inner[:, 2] + outer[:, 2]])


def _likeness(got: Grey, want: Grey, weight: Grey) -> Array:
    """(n,) weighted correlation of (n, pixels) with what is wanted."""
    total = weight.sum(axis=1, keepdims=True) + 1e-6
    off_got = got - (got * weight).sum(axis=1, keepdims=True) / total
    off_want = want - (want * weight).sum(axis=1, keepdims=True) / total
    power = (off_got**2 * weight).sum(axis=1) * (off_want**2 * weight).sum(axis=1)
    return np.asarray((off_got * off_want * weight).sum(axis=1) / np.sqrt(power + 1e-3), dtype=np.float64)


def _levelled(got: Grey, want: Grey, trust: Grey) -> Grey:
    total = float(trust.sum()) + 1e-9
    mean_got, mean_want = float((got * trust).sum()) / total, float((want * trust).sum()) / total
    var_got = float(((got - mean_got) ** 2 * trust).sum()) / total
    var_want = float(((want - mean_want) ** 2 * trust).sum()) / total
    cov = float(((got - mean_got) * (want - mean_want) * trust).sum()) / total
    # A blurred patch is flatter: stretch it, but never more than half as much again, and never turn it over.
    gain = float(np.clip(np.sqrt(var_want / max(var_got, 1e-6)), 0.67, 1.5)) if cov > 0 else 1.0
    return np.asarray((got - mean_got) * gain + mean_want, dtype=np.float32)
