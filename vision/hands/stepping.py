"""The first picture in which an arm lies where it rests, from its own pixels: what stepping by eye looks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.hands.pixels import Array, Grey, Image, Mask

#: Windows of so many pixels (of the shrunk picture) are compared, so far apart, so many at most.
_WINDOW, _APART, _MOST = 7, 2, 400
#: Fewer windows with texture than this say nothing.
_FEWEST, _FEWEST_NEAR = 25, 60
#: A window is in place where it is displaced by less than this (pixels of its size of picture) and correlates so well.
_IN_PLACE_PX, _ALIKE = 0.9, 0.55
#: How much of its slopes' power across a window must have along, to show movement either way.
_LESSER = 0.08


@dataclass(frozen=True, slots=True)
class Stepped:
    """When an arm's pixels came to where they rest.

    ``at_ns``: the mean of the two pictures in which most were first there. ``before_ns``: the picture before, in
    which few were; ``after_ns``: the later of the two. ``share``: of all windows that moved, those that came then; 1 is
    an arm that stopped at once and is seen whole. ``spread_ns``: between the quartiles of all that came from then on.
    ``near_ns``, ``far_ns``: the same of being within a centimetre, which one that slides on after contact is long
    before it rests, and a slow one before contact. ``step_ns``: between two pictures.
    """

    at_ns: int
    before_ns: int
    after_ns: int
    share: float
    spread_ns: int
    near_ns: int
    far_ns: int
    step_ns: int
    windows: int


def stepped(pictures: Sequence[Image], at_ns: Sequence[int], mask: Mask, noise: float) -> Stepped | None:
    """When an arm came to where it lies in the last of the pictures; None where that can't be told.

    ``mask``: the arm's own pixels there. ``noise``: of the pictures, grey levels. Shadows that pass over the arm,
    and other arms, change nothing about when its windows were first in place.
    """
    first = _first_there(pictures, mask, noise, 1, _IN_PLACE_PX)
    if len(first) < _FEWEST:
        return None
    k, later, share = _most(first, len(pictures))
    mean = at_ns[k] + later * (at_ns[k + 1] - at_ns[k])
    stamps = np.array([at_ns[i] for i in first if i >= k], dtype=np.int64)
    low, high = np.percentile(stamps, (25, 75))
    nearing = _first_there(pictures, mask, noise, 2, _FOLLOWS_PX)
    near, share_near = k, later
    if len(nearing) >= _FEWEST_NEAR:
        near, share_near, _ = _most(nearing, len(pictures))
        near = min(near, k)
    step_ns = at_ns[k + 1] - at_ns[k]
    return Stepped(
        at_ns=round(mean),
        before_ns=at_ns[max(k - 1 + int(later > _NONE_BEFORE), 0)],
        after_ns=at_ns[k + 1],
        share=share,
        spread_ns=int(high - low),
        near_ns=min(at_ns[near] + round(share_near * step_ns), round(mean)),
        far_ns=at_ns[max(near - 1 + int(share_near > _NONE_BEFORE), 0)],
        step_ns=step_ns,
        windows=len(first),
    )


#: Where more than this share came in the later of two pictures, none was there in the earlier.
_NONE_BEFORE = 0.8


def _most(first: NDArray[np.intp], pictures: int) -> tuple[int, float, float]:
    """The two pictures in a row in which most windows came: the former, the latter's share of them, theirs of all.

    Those of other arms that lie on it come later: the earliest two that have nearly as many as any count.
    """
    arrived = np.bincount(first, minlength=pictures).astype(np.float64)
    both = arrived[:-1] + arrived[1:]
    k = int(np.argmax(both >= _EARLIEST * both.max()))
    if k + 1 < len(both) and both[k + 1] > both[k] and arrived[k] < 0.5 * arrived[k + 1]:
        k += 1
    return k, float(arrived[k + 1] / both[k]), float(both[k] / len(first))


def _first_there(
    pictures: Sequence[Image], mask: Mask, noise: float, halvings: int, within_px: float
) -> NDArray[np.intp]:
    """(n,) for each window that moved, the first picture from which it lay within so much of its rest."""
    window = _around(mask)
    if window is None:
        return np.zeros(0, np.intp)
    rest = _Rest.of(_shrunk(pictures[-1][window], halvings), _shrunk_mask(mask[window], halvings), noise)
    if rest is None:
        return np.zeros(0, np.intp)
    there = np.stack([rest.there(_shrunk(picture[window], halvings), within_px) for picture in pictures], axis=1)
    # Twice in a row: once may be chance.
    there[:, :-1] &= there[:, 1:]
    first = np.argmax(there, axis=1)
    return np.asarray(first[first > 0], dtype=np.intp)


#: So far (pixels) a window's displacement can be worked out in one step.
_FOLLOWS_PX = 2.2
#: The earliest two pictures in which this share of the most came at once are when the arm came.
_EARLIEST = 0.6


def _around(mask: Mask) -> tuple[slice, slice] | None:
    x, y, width, height = cv2.boundingRect(mask)
    if width < 16 or height < 16:
        return None
    return slice(max(y - 8, 0), y + height + 8), slice(max(x - 8, 0), x + width + 8)


@dataclass(frozen=True, slots=True, eq=False)
class _Rest:
    """The arm at rest, and what is needed to tell how far a window of another picture is displaced against it.

    One step of Lucas and Kanade's, against the mean of each window, so that shadows don't matter.
    """

    high: Grey
    slope: tuple[Grey, Grey]
    power: Array
    """(n,) of each window."""
    normal: Array
    """(n, 3) the sums of xx, xy and yy of the slopes."""
    at: tuple[NDArray[np.intp], NDArray[np.intp]]

    @classmethod
    def of(cls, picture: Grey, mask: Mask, noise: float) -> _Rest | None:
        high = picture - _mean(picture)
        across = cv2.Scharr(picture, cv2.CV_32F, 1, 0, scale=1 / 32)
        down = cv2.Scharr(picture, cv2.CV_32F, 0, 1, scale=1 / 32)
        power = _mean(high * high)
        inside = cv2.erode(mask, np.ones((3, 3), np.uint8)) > 0
        grid = np.zeros(mask.shape, bool)
        grid[::_APART, ::_APART] = True
        xx, xy, yy = _mean(across * across), _mean(across * down), _mean(down * down)
        # A stripe doesn't show how far it moved along itself: the lesser eigenvalue must count too.
        spread = np.sqrt((xx - yy) ** 2 + 4 * xy * xy)
        both_ways = xx + yy - spread > _LESSER * (xx + yy + spread)
        ys, xs = np.nonzero(inside & grid & both_ways & (power > (0.8 + 0.4 * noise) ** 2))
        if len(ys) < _FEWEST:
            return None
        if len(ys) > _MOST:
            strongest = np.argsort(-power[ys, xs])[:_MOST]
            ys, xs = ys[strongest], xs[strongest]
        sums = [each[ys, xs] for each in (xx, xy, yy)]
        damp = 0.01 * noise**2
        normal = np.stack([sums[0] + damp, sums[1], sums[2] + damp], axis=1).astype(np.float64)
        return cls(high, (across, down), power[ys, xs].astype(np.float64), normal, (ys, xs))

    def there(self, picture: Grey, within_px: float) -> NDArray[np.bool_]:
        """(n,) which windows lie in this picture as they do at rest, or nearer to that than so many pixels."""
        moved, alike = self.moved(picture)
        return np.asarray((np.hypot(*moved.T) < within_px) & (alike > _ALIKE))

    def moved(self, picture: Grey) -> tuple[Array, Array]:
        """(n, 2) how far each window lies from its rest in this picture, x and y, and (n,) how alike the two are.

        Good for displacements of up to two pixels or so.
        """
        high = picture - _mean(picture)
        off = high - self.high
        at = self.at
        power = _mean(high * high)[at]
        alike = _mean(high * self.high)[at] / np.sqrt(power * self.power + 1e-3)
        right_x, right_y = (_mean(slope * off)[at].astype(np.float64) for slope in self.slope)
        xx, xy, yy = self.normal.T
        det = xx * yy - xy * xy
        moved = -np.stack([(yy * right_x - xy * right_y) / det, (xx * right_y - xy * right_x) / det], axis=1)
        return moved, np.asarray(alike, dtype=np.float64)


def _mean(values: Grey) -> Grey:
    return cv2.blur(values, (_WINDOW, _WINDOW))


def _shrunk(picture: Image, halvings: int) -> Grey:
    grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
    scale = 0.5**halvings
    small = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return cv2.GaussianBlur(small.astype(np.float32), (0, 0), 0.8)


def _shrunk_mask(mask: Mask, halvings: int) -> Mask:
    scale = 0.5**halvings
    return np.asarray(cv2.resize(mask, None, fx=scale, fy=scale, interpolation=cv2.INTER_NEAREST), dtype=np.uint8)
