"""Which pixels belong to which arm: from the mask of what is not table to arms that come in over its edge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.hands.pixels import Array, Image, Mask

#: Less than this is no hand: two fingertips are 500 mm².
_SMALLEST_MM2 = 450.0
#: Gaps in an arm's crossing of the edge (folds of a sleeve in the table's colour) up to this are one arm.
_ENTRY_GAP_MM = 35.0
#: What reaches less far from the edge than this is no hand yet: a sleeve, a belly, a table cloth's hem.
_SHORTEST_MM = 25.0
#: What is not joined to the edge must be this big to be a hand whose sleeve can't be seen.
_FLOATING_MM2 = 2500.0

#: More than this of the edge is crossed by several arms.
_WIDEST_ARM_MM = 170.0
#: Hands on a pile lie within this of its middle; a lane is occupied where this share of its part before the pile
#: is; an arm lies within so much of its lane's axis; nearer than the last the hands lie mixed.
_AT_PILE_MM, _OCCUPIED, _LANE_MM, _MIXED_MM = 45.0, 0.4, 85.0, 42.0
#: A point nearer to one arm's axis than to any other's by less than this is nobody's.
_DOUBTFUL_MM = 8.0


@dataclass(frozen=True, slots=True, eq=False)
class ArmShape:
    """One arm in one mask, in its pixels: ``mask`` its own part, ``entry`` and ``tip`` (x, y)."""

    mask: Mask
    entry: Array
    tip: Array
    joined: bool
    """Whether it is joined to the table's edge."""
    shared: bool
    """Whether another arm touches it in the picture."""
    area_px: int
    seat: int | None = None
    """Whose it is where that was told by the lane that it lies in."""

    @property
    def inward(self) -> Array:
        """Unit vector from the edge to the tip."""
        along = self.tip - self.entry
        return np.asarray(along / max(float(np.hypot(*along)), 1e-6))

    def reaching(self, now: ArmShape, change: Image, px_per_mm: float) -> ArmShape:
        """The same arm in the next picture, where it touches others and its farthest pixel may be theirs.

        How far it reaches changes only as far as pixels near its own axis changed (``change``: grey levels).
        """
        length = float(np.hypot(*(self.tip - self.entry)))
        inward = self.inward
        ys, xs = np.nonzero((now.mask > 0) & (change > _CHANGED))
        along = (xs - now.entry[0]) * inward[0] + (ys - now.entry[1]) * inward[1]
        aside = np.abs((ys - now.entry[1]) * inward[0] - (xs - now.entry[0]) * inward[1])
        along = along[(aside < _AXIS_MM * px_per_mm) & (np.abs(along - length) < _STEP_MM * px_per_mm)]
        if len(along) > 12:
            length = min(float(np.percentile(along, 97)), length + _STEP_MM * px_per_mm)
        tip = now.entry + inward * length
        ys, xs = np.nonzero(now.mask)
        beyond = (xs - tip[0]) * inward[0] + (ys - tip[1]) * inward[1] > _PAST_TIP_MM * px_per_mm
        mask = now.mask.copy()
        mask[ys[beyond], xs[beyond]] = 0
        return ArmShape(mask, now.entry, tip, now.joined, True, cv2.countNonZero(mask))


#: In a picture where arms touch: what counts as changed (grey levels), how wide an arm's axis is taken to be, how
#: far a hand can get from one picture to the next (5 m/s at 30 a second), and what lies beyond its tip.
_CHANGED, _AXIS_MM, _STEP_MM, _PAST_TIP_MM = 14, 45.0, 160.0, 20.0


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """The way of one seat's arms to one pile, in pixels: from the pile's middle to where it leaves the table."""

    seat: int
    pile: int
    """Number of the pile: lanes to one pile share it."""
    middle: Array
    edge: Array

    @property
    def outward(self) -> Array:
        """Unit vector from the pile to the seat."""
        way = self.edge - self.middle
        return np.asarray(way / max(float(np.hypot(*way)), 1e-6))


class ArmFinder:
    """Splits masks of one size into arms; knows the table's edge in it, and the lanes from seats to piles."""

    def __init__(
        self,
        size_px: tuple[int, int],
        corners_px: Sequence[tuple[float, float]],
        px_per_mm: float,
        lanes: Sequence[Lane] = (),
    ) -> None:
        """``corners_px``: the table's corners at this size; they may lie outside of the picture."""
        self._lanes = tuple(lanes)
        width, height = size_px
        domain = np.zeros((height, width), np.uint8)
        cv2.fillConvexPoly(domain, np.array(corners_px, dtype=np.float64).round().astype(np.int32), 255)
        if cv2.countNonZero(domain) < 0.05 * width * height:
            domain[:] = 255
        self.domain: Mask = domain
        inner = cv2.copyMakeBorder(domain, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
        band = max(2, round(6 * px_per_mm))
        inner = cv2.erode(inner, np.ones((3, 3), np.uint8), iterations=band)[1:-1, 1:-1]
        self.rim: Mask = cv2.subtract(domain, inner)
        self._px_per_mm = px_per_mm
        self._to_rim = cv2.distanceTransform(inner, cv2.DIST_L2, 3)

    def find(self, mask: Mask, hints: Sequence[tuple[Array, Array]] = ()) -> list[ArmShape]:
        """The arms in a mask; ``hints``: (entry, tip) of the arms in the picture before, for arms that touch."""
        mask = cv2.bitwise_and(mask, self.domain)
        scale = self._px_per_mm**2
        count, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
        arms: list[ArmShape] = []
        for label in range(1, count):
            left, top, width, height, area = (int(v) for v in stats[label])
            if area < _SMALLEST_MM2 * scale:
                continue
            window = (slice(top, top + height), slice(left, left + width))
            part = labels[window] == label
            ys, xs = np.nonzero(part)
            points = np.column_stack([xs + left, ys + top]).astype(np.float64)
            entries = self._entries(part & (self.rim[window] > 0), left, top)
            if not entries:
                if area < _FLOATING_MM2 * scale:
                    continue
                distance = self._to_rim[window][part]
                entries = [points[distance <= distance.min() + 2].mean(axis=0)]
                joined = False
            else:
                joined = True
            if len(entries) > 1 or self._is_wide(part & (self.rim[window] > 0)):
                split = self._by_lanes(points, entries, mask.shape, joined)
                if split:
                    arms += split
                    continue
            if len(entries) == 1:
                arm = self._arm(points, entries[0], mask.shape, joined, False)
                if arm is not None:
                    arms.append(arm)
                continue
            owner = self._owners(points, entries, hints)
            for i, entry in enumerate(entries):
                own = points[owner == i]
                if len(own) * 1.0 < 0.5 * _SMALLEST_MM2 * scale:
                    continue
                arm = self._arm(own, entry, mask.shape, joined, True)
                if arm is not None:
                    arms.append(arm)
        return arms

    def _entries(self, crossing: NDArray[np.bool_], left: int, top: int) -> list[Array]:
        """Middles of where a component crosses the edge, one for each arm."""
        count, labels, stats, centres = cv2.connectedComponentsWithStats(crossing.astype(np.uint8), connectivity=8)
        runs = [
            (centres[i] + (left, top), int(stats[i, cv2.CC_STAT_AREA]), labels == i)
            for i in range(1, count)
            if stats[i, cv2.CC_STAT_AREA] >= 3
        ]
        merged: list[tuple[Array, int, NDArray[np.bool_]]] = []
        for centre, area, where in runs:
            for j, (other, other_area, other_where) in enumerate(merged):
                if _gap(where, other_where) < _ENTRY_GAP_MM * self._px_per_mm:
                    middle = (centre * area + other * other_area) / (area + other_area)
                    merged[j] = (middle, area + other_area, where | other_where)
                    break
            else:
                merged.append((centre, area, where))
        return [centre for centre, _, _ in merged]

    def _is_wide(self, crossing: NDArray[np.bool_]) -> bool:
        """Whether more crosses the edge than one arm does."""
        ys, xs = np.nonzero(crossing)
        return len(xs) > 0 and math.hypot(np.ptp(xs), np.ptp(ys)) > _WIDEST_ARM_MM * self._px_per_mm

    def _by_lanes(self, points: Array, entries: list[Array], shape: tuple[int, ...], joined: bool) -> list[ArmShape]:
        """Arms that touch at a pile, told apart by the seats' lanes to it; none where they meet elsewhere."""
        scale = self._px_per_mm
        best: list[Lane] = []
        for pile in sorted({lane.pile for lane in self._lanes}):
            lanes = [lane for lane in self._lanes if lane.pile == pile]
            middle = lanes[0].middle
            reach = np.hypot(*(points - middle).T) / scale
            if (reach < _AT_PILE_MM).sum() < 0.25 * math.pi * (_AT_PILE_MM * scale) ** 2:
                continue
            distance = self._from_axes(points, lanes)
            nearest = np.argmin(distance, axis=0)
            there = []
            for i, lane in enumerate(lanes):
                along = (points - middle) @ lane.outward / scale
                core = (nearest == i) & (along > 25) & (along < 115) & (distance[i] < 42)
                if core.sum() > _OCCUPIED * 90 * 84 * scale**2:
                    there.append(lane)
            if len(there) > len(best):
                best = there
        if not best:
            return []
        distance = self._from_axes(points, best)
        nearest = np.argmin(distance, axis=0)
        reach = np.hypot(*(points - best[0].middle).T) / scale
        arms = []
        for i, lane in enumerate(best):
            own = (nearest == i) & (distance[i] < _LANE_MM)
            if len(best) > 1:
                own &= reach > _MIXED_MM
                # What lies between two arms may be either's.
                others = np.delete(distance, i, axis=0).min(axis=0)
                own &= others > distance[i] + _DOUBTFUL_MM
            if own.sum() < 0.5 * _SMALLEST_MM2 * scale**2:
                continue
            far = points[own]
            outermost = far[reach[own] > np.percentile(reach[own], 90)].mean(axis=0)
            mask = np.zeros(shape[:2], np.uint8)
            whole = far.astype(np.intp)
            mask[whole[:, 1], whole[:, 0]] = 255
            arms.append(ArmShape(mask, outermost, lane.middle.copy(), joined, True, len(far), lane.seat))
        return arms

    def _from_axes(self, points: Array, lanes: Sequence[Lane]) -> Array:
        """(lanes, n) mm of each point from each arm's axis: the lane, turned and moved to where its pixels lie."""
        scale = self._px_per_mm
        along = np.stack([(points - lane.middle) @ lane.outward for lane in lanes]) / scale
        aside = (
            np.stack([(points - lane.middle) @ np.array([-lane.outward[1], lane.outward[0]]) for lane in lanes]) / scale
        )
        away = np.hypot(aside, np.minimum(along, 0))
        axes = np.zeros((len(lanes), 2))
        for _ in range(4):
            distance = np.hypot(aside - axes[:, :1] - axes[:, 1:] * along, np.minimum(along, 0))
            nearest = np.argmin(distance, axis=0)
            for i in range(len(lanes)):
                own = (nearest == i) & (along[i] > 50) & (along[i] < 260) & (away[i] < 130)
                if own.sum() < 30:
                    continue
                x, y = along[i, own], aside[i, own]
                # Ridge towards the lane itself: hands land within 15 mm of the middle and 0.25 rad of their lane.
                basis = np.column_stack([np.ones_like(x), x])
                normal = basis.T @ basis / 30.0**2 * 30 / len(x) + np.diag([15.0**-2, 0.25**-2])
                axes[i] = np.linalg.solve(normal, basis.T @ y / 30.0**2 * 30 / len(x))
        return np.asarray(np.hypot(aside - axes[:, :1] - axes[:, 1:] * along, np.minimum(along, 0)))

    def _owners(self, points: Array, entries: list[Array], hints: Sequence[tuple[Array, Array]]) -> NDArray[np.intp]:
        """(n,) for each point the arm whose axis is nearest."""
        distances = []
        for entry in entries:
            known = [tip for at, tip in hints if float(np.hypot(*(at - entry))) < 60 * self._px_per_mm]
            # New and touching already: it points to the middle of the whole.
            tip = known[0] if known else entry + 0.8 * (points.mean(axis=0) - entry)
            distances.append(_to_segment(points, entry, tip))
        return np.asarray(np.argmin(np.stack(distances), axis=0), dtype=np.intp)

    def _arm(self, points: Array, entry: Array, shape: tuple[int, ...], joined: bool, shared: bool) -> ArmShape | None:
        reach = np.hypot(*(points - entry).T)
        far = reach >= np.partition(reach, -max(4, len(reach) // 50))[-max(4, len(reach) // 50)]
        tip = points[far].mean(axis=0)
        if float(np.hypot(*(tip - entry))) < _SHORTEST_MM * self._px_per_mm:
            return None
        mask = np.zeros(shape[:2], np.uint8)
        whole = points.astype(np.intp)
        mask[whole[:, 1], whole[:, 0]] = 255
        return ArmShape(mask, entry, tip, joined, shared, len(points))


def _gap(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    a, b = np.argwhere(one).astype(np.float64), np.argwhere(other).astype(np.float64)
    a, b = a[:: max(1, len(a) // 30)], b[:: max(1, len(b) // 30)]
    return float(np.sqrt(((a[:, None] - b[None]) ** 2).sum(axis=2)).min())


def _to_segment(points: Array, start: Array, end: Array) -> Array:
    along = end - start
    length = max(float(along @ along), 1e-9)
    share = np.clip(((points - start) @ along) / length, 0.0, 1.0)
    return np.asarray(np.hypot(*(points - start - share[:, None] * along).T))


def nearest_seat(entry_mm: Array, seats: Sequence[tuple[int, tuple[float, float]]], middle_mm: Array) -> int | None:
    """The seat from whose side an arm comes: the nearest in direction from the table's middle, then in distance."""
    if not seats:
        return None
    way = math.atan2(entry_mm[1] - middle_mm[1], entry_mm[0] - middle_mm[0])

    def away(seat: tuple[int, tuple[float, float]]) -> float:
        x, y = seat[1]
        turn = math.atan2(y - middle_mm[1], x - middle_mm[0]) - way
        turn = abs(math.atan2(math.sin(turn), math.cos(turn)))
        return 0.5 * turn * 300 + math.dist((x, y), (float(entry_mm[0]), float(entry_mm[1])))

    return min(seats, key=away)[0]
