"""Paints the frames of a slap: each hand where it is while the shutter is open, line by line where it rolls."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.films.arms import (
    SHADOW_BEYOND_MM,
    SHADOW_BLURS_MM,
    ArmPlaces,
    ArmSprite,
    Light,
    Matrix,
    Part,
    Rect,
    bands,
    forearm_frames,
    hand_frames,
    projection_of,
    shadow_terms,
)
from vision.films.camera import Camera
from vision.films.kinematics import Motion
from vision.films.slap_sensor import NO_MAP
from vision.films.slap_spec import SlapSpec

Canvas = NDArray[np.uint8]

PX_AN_EXPOSURE = 3.0
"""A moving hand is painted once for every so many pixels that it moves while the shutter is open."""
MOST_EXPOSURES = 14
SPEED_STEP_S = 0.001
KNOT_PX = 8
"""A rolling shutter's placements are worked out for every eighth line: between them the arrest of the fastest hand
(2 ms, read out in 30 ms) bends by a tenth of a millimetre."""
GRID_PX = 16
"""Along a line they are worked out so often: perspective bends them by under 0.02 px between."""
SHADOW_BORDER = 2.6
"""A shadow is painted so many of its own spreads around what casts it."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A part of an arm ready to be painted: (h, w, 4) uint8, premultiplied blue green red alpha."""

    part: Part
    picture: Canvas
    from_mm: Matrix
    """(3, 3): mm of its plane to the picture's pixels; and the same for each shadow."""
    shadows_from_mm: tuple[Matrix, ...]

    @classmethod
    def of(cls, part: Part) -> Sheet:
        """Cropped, and rounded to eight bits: a quarter of the memory to move."""
        cropped = part.cropped()
        ways = (_inverses(way) for way in cropped.shadow_to_mm)
        return cls(cropped, cropped.eight_bits(), _inverses(cropped.to_mm), tuple(ways))


@dataclass(frozen=True, slots=True)
class Visitor:
    """A hand with its looks and its way."""

    motion: Motion
    sprite: ArmSprite
    hand: Sheet = field(init=False, repr=False)
    forearm: Sheet = field(init=False, repr=False)
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
        object.__setattr__(self, "hand", Sheet.of(self.sprite.hand))
        object.__setattr__(self, "forearm", Sheet.of(self.sprite.forearm))

    def fastest_mm_s(self, from_s: NDArray[np.float64], until_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) the greatest speed within each span."""
        last = len(self.speeds_mm_s)
        first = np.clip(((from_s - self.motion.starts_s) / SPEED_STEP_S).astype(np.int64), 0, last - 1)
        end = np.clip(((until_s - self.motion.starts_s) / SPEED_STEP_S).astype(np.int64) + 1, first + 1, last)
        return np.array([self.speeds_mm_s[a:b].max() for a, b in zip(first, end, strict=True)])


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


def _inverses(m: Matrix) -> Matrix:
    """(..., 3, 3): the inverses of as many matrices, by their cofactors, scaled to 1 in their corner."""
    out = np.empty_like(m)
    for row, (a, b) in enumerate(((1, 2), (2, 0), (0, 1))):
        for column, (c, d) in enumerate(((1, 2), (2, 0), (0, 1))):
            out[..., column, row] = m[..., a, c] * m[..., b, d] - m[..., a, d] * m[..., b, c]
    out /= out[..., 2:, 2:].copy()
    return out


class _Lines:
    """Which lines of the picture a rolling shutter reads when; one line stands for all of a global one."""

    def __init__(self, spec: SlapSpec, size_px: tuple[int, int], margin_px: int) -> None:
        """`size_px` is the painted picture's, which goes on by a margin on each side of what the sensor reads."""
        self.rolling = spec.read_out_s > 0
        self.along_x = spec.read_out.along_x
        lines = size_px[0] if self.along_x else size_px[1]
        # The middle between lines 3 and 4 of each eight, and one before and after: where `cv2.resize` has its own.
        count = -(-lines // GRID_PX) * GRID_PX // KNOT_PX
        self.knots_px = np.arange(-1, count + 1) * KNOT_PX + (KNOT_PX - 1) / 2
        share = (self.knots_px - (lines - 1) / 2) / (lines - 2 * margin_px)
        delays = (-share if spec.read_out.backwards else share) * spec.read_out_s
        self.delays_s = delays if self.rolling else np.zeros(1)

    def maps(self, back: Matrix, rect: Rect, scaled: Matrix, coarse: int = 1) -> Iterator[NDArray[np.float32]]:
        """For each exposure (height, width, 2): where each pixel of `rect`, shrunk `coarse` times, comes from.

        back: (exposures, knots, 3, 3) picture px to mm; scaled: mm to pixels of what is painted.
        The rectangle begins at multiples of eight.
        """
        x, y, width, height = rect
        start, length = (x, width) if self.along_x else (y, height)
        other, across = (y, height) if self.along_x else (x, width)
        first, count = start // KNOT_PX, -(-length // KNOT_PX)
        cells = -(-across // GRID_PX)
        knots = back[:, first : first + count + 2]
        line = self.knots_px[first : first + count + 2]
        run = other + np.arange(-1, cells + 1) * GRID_PX + (GRID_PX - 1) / 2
        along, aside = (0, 1) if self.along_x else (1, 0)
        base = knots[..., along] * line[:, None] + knots[..., 2]
        seen = base[..., None] + knots[..., aside][..., None] * run  # (exposures, knots, 3, cells)
        over = 1.0 / seen[:, :, 2]
        planes = [
            (seen[:, :, axis] * over * scaled[axis, axis] + scaled[axis, 2]).astype(np.float32) for axis in (0, 1)
        ]
        grids = np.stack(planes, axis=-1)
        if self.along_x:
            grids = grids.swapaxes(1, 2)
        knot, cell = KNOT_PX // coarse, GRID_PX // coarse
        by_y, by_x = (cell, knot) if self.along_x else (knot, cell)
        wide, high = -(-width // coarse), -(-height // coarse)
        for grid in grids:
            full = cv2.resize(
                np.ascontiguousarray(grid),
                (grid.shape[1] * by_x, grid.shape[0] * by_y),
                interpolation=cv2.INTER_LINEAR,
            )
            yield np.asarray(full[by_y : by_y + high, by_x : by_x + wide], np.float32)


@dataclass(frozen=True, slots=True)
class _Reach:
    """A part of an arm through some frames: (exposures, knots, 3, 3) and what it covers.

    back: picture px to mm of its plane; corners: (exposures, corners, 2) px of the outline.
    """

    back: Matrix
    corners: NDArray[np.float64]

    @classmethod
    def of(cls, forward: Matrix, box_mm: tuple[float, float, float, float]) -> _Reach:
        """forward: (exposures, knots, 3, 3), mm of the plane to px; box_mm: u from, u to, v from, v to."""
        u0, u1, v0, v1 = box_mm
        corners = np.array([(u0, v0, 1), (u1, v0, 1), (u1, v1, 1), (u0, v1, 1.0)])
        some = forward[:, :: max(1, (forward.shape[1] - 1) // 4)]  # the lines between lie between
        at = some.reshape(len(some), -1, 3) @ corners.T
        at = at.reshape(len(some), -1, 3, 4)
        px = at[:, :, :2] / at[:, :, 2:]
        return cls(_inverses(forward), px.swapaxes(2, 3).reshape(len(some), -1, 2))


class _Way:
    """A visitor through some frames: where its parts and their shadows are seen, worked out for all at once."""

    def __init__(
        self, visitor: Visitor, spec: SlapSpec, lines: _Lines, projection: Matrix, light: Light, times_s: Matrix
    ) -> None:
        wide = (spec.shutter_s + spec.read_out_s) / 2 + SPEED_STEP_S
        moved_px = visitor.fastest_mm_s(times_s - wide, times_s + wide) * spec.shutter_s * spec.px_per_mm
        self.moved_px = moved_px
        counts = np.clip(np.ceil(moved_px / PX_AN_EXPOSURE), 1, MOST_EXPOSURES).astype(np.int64)
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        frame = np.repeat(np.arange(len(counts)), counts)
        number = np.arange(len(frame)) - self.starts[:-1][frame]
        exposed = times_s[frame] + ((number + 0.5) / counts[frame] - 0.5) * spec.shutter_s
        places = visitor.motion.places(exposed[:, None] + lines.delays_s)
        look = visitor.motion.look
        hand, forearm = hand_frames(look, places), forearm_frames(look, places)
        boxes = [_box(sheet.part) for sheet in (visitor.hand, visitor.forearm)]
        self.parts = [_Reach.of(projection @ frames, box) for frames, box in zip((hand, forearm), boxes, strict=True)]
        casts = []
        for along_x, along_y in (light.shift_per_mm, (0.0, 0.0)):
            cast = np.diag([1.0, 1.0, 0.0, 1.0])
            cast[:2, 2] = along_x, along_y
            casts.append(projection @ cast)
        far = boxes[1]
        shadow_boxes = (boxes[0], (far[0] - SHADOW_BEYOND_MM, *far[1:]))
        self.shadows = [
            [_Reach.of(cast @ frames, box) for cast in casts]
            for frames, box in zip((hand, forearm), shadow_boxes, strict=True)
        ]
        self.over_mm = [self._over(frame, places, which) for which in (0, 1)]

    @staticmethod
    def _over(frame: NDArray[np.int64], places: ArmPlaces, which: int) -> NDArray[np.float64]:
        """(frames,) how high the hand (0) or the forearm (1) is over the table, in the middle of each frame."""
        if which == 0:
            heights = (places.tip_height_mm + places.wrist_height_mm) / 2
        else:
            heights = (places.wrist_height_mm + places.elbow_height_mm) / 2
        mean = heights.mean(axis=1)
        return np.asarray(np.bincount(frame, mean) / np.bincount(frame) + 6.0)


def _box(part: Part) -> tuple[float, float, float, float]:
    height, width = part.picture.shape[:2]
    (u0, v0, _), (u1, v1, _) = part.to_mm @ (0, 0, 1.0), part.to_mm @ (width - 1, height - 1, 1.0)
    return float(u0), float(u1), float(v0), float(v1)


class Painter:
    """Paints what has changed since the frame before; hands at rest are kept as they were painted."""

    def __init__(
        self,
        base: Canvas,
        camera: Camera,
        light: Light,
        visitors: tuple[Visitor, ...],
        spec: SlapSpec,
        margin_px: int = 0,
    ) -> None:
        """`base` is the table without hands; visitors lie on each other in the order given, lowest first.

        The sensor reads all of the picture but for a margin.
        """
        self._base, self._light, self._visitors, self._spec = base, light, visitors, spec
        self._projection = projection_of(camera)
        self._size = (base.shape[1], base.shape[0])
        self._at_rest: dict[int, list[Patch]] = {}
        self._under: tuple[tuple[int, ...], Canvas] = ((), base)
        self._lines = _Lines(spec, self._size, margin_px)

    def pictures(self, times_s: Sequence[float]) -> Iterator[Canvas]:
        """(h, w, 3) uint8 pictures whose middle lines' exposures have their middles at these times; not to be changed.

        The times rise.
        """
        at = np.asarray(times_s, dtype=np.float64)
        reach = (self._spec.shutter_s + self._spec.read_out_s) / 2
        stages = [_stage(visitor.motion, at, reach) for visitor in self._visitors]
        ways = {
            number: (self._way(self._visitors[number], at[stage == _MOVES]), np.cumsum(stage == _MOVES) - 1)
            for number, stage in enumerate(stages)
            if np.any(stage == _MOVES)
        }
        for index in range(len(at)):
            present = [number for number in range(len(stages)) if stages[number][index] != _AWAY]
            # Hands at rest under everything that moves are one picture already.
            moving = {number for number in present if stages[number][index] == _MOVES}
            lowest = min(moving, default=len(stages))
            resting = tuple(number for number in present if number < lowest)
            if self._under[0] != resting:
                canvas = self._base.copy()
                for number in resting:
                    self._lay_resting(canvas, number, at[index])
                self._under = (resting, canvas)
            canvas = self._under[1]
            if moving:
                canvas = canvas.copy()
                for number in present[len(resting) :]:
                    if number not in moving:
                        self._lay_resting(canvas, number, at[index])
                        continue
                    way, place = ways[number]
                    for patch in self._patches_of(self._visitors[number], way, int(place[index])):
                        patch.lay(canvas)
            yield canvas

    def _way(self, visitor: Visitor, times_s: NDArray[np.float64]) -> _Way:
        return _Way(visitor, self._spec, self._lines, self._projection, self._light, times_s)

    def _lay_resting(self, canvas: Canvas, number: int, at_s: float) -> None:
        if number not in self._at_rest:
            visitor = self._visitors[number]
            way = self._way(visitor, np.array([at_s]))
            self._at_rest[number] = list(self._patches_of(visitor, way, 0))
        for patch in self._at_rest[number]:
            patch.lay(canvas)

    def _patches_of(self, visitor: Visitor, way: _Way, frame: int) -> Iterator[Patch]:
        """The hand's shadow and the hand, averaged over the exposure."""
        shadow = self._shadow(visitor, way, frame)
        if shadow is not None:
            yield shadow
        exposures = slice(way.starts[frame], way.starts[frame + 1])
        parts = list(zip((visitor.hand, visitor.forearm), way.parts, strict=True))
        for sheet, reach in reversed(parts) if visitor.sprite.hand_over else parts:
            yield from self._painted(sheet, reach, exposures)

    def _painted(self, sheet: Sheet, reach: _Reach, exposures: slice) -> Iterator[Patch]:
        points = reach.corners[exposures].reshape(-1, 2)
        rects = bands(points.astype(np.float32), self._size)
        if not rects:
            return
        back = reach.back[exposures]
        scaled = sheet.from_mm
        if self._lines.rolling:
            whole = _around(rects, KNOT_PX)
            maps = list(self._lines.maps(back, whole, scaled))
        for rect in rects:
            x, y, width, height = rect
            seen: Any = None
            for number in range(len(back)):
                if self._lines.rolling:
                    left, top = x - whole[0], y - whole[1]
                    here = maps[number][top : top + height, left : left + width]
                    one = cv2.remap(sheet.picture, here, NO_MAP, cv2.INTER_LINEAR)
                else:
                    matrix = scaled @ back[number, 0] @ np.array([[1, 0, x], [0, 1, y], [0, 0, 1.0]])
                    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
                    one = cv2.warpPerspective(sheet.picture, matrix, (width, height), flags=flags)
                # The mean so far; each weighs as much as any other.
                share = 1.0 / (number + 1)
                seen = one if seen is None else cv2.addWeighted(seen, 1 - share, one, share, 0.0)
            if seen is None:
                return
            keep = np.asarray(cv2.bitwise_not(cv2.extractChannel(seen, 3)), dtype=np.uint8)
            yield Patch(rect, _three(keep), np.asarray(cv2.cvtColor(seen, cv2.COLOR_BGRA2BGR), np.uint8))

    def _shadow(self, visitor: Visitor, way: _Way, frame: int) -> Patch | None:
        """What the arm keeps of the light, worked out on a coarse picture, for it is soft."""
        cast: list[tuple[NDArray[np.float32], Matrix, Matrix, float, float, NDArray[np.float64]]] = []
        count = int(way.starts[frame + 1] - way.starts[frame])
        finest = len(SHADOW_BLURS_MM)
        for sheet, reaches, over in zip((visitor.hand, visitor.forearm), way.shadows, way.over_mm, strict=True):
            for depth, level, (along_x, along_y) in shadow_terms(self._light, float(over[frame])):
                blur_px = SHADOW_BLURS_MM[level] * self._spec.px_per_mm
                # Spots nearer than one and a half of their spreads run into one.
                some = min(count, max(1, math.ceil(way.moved_px[frame] / (1.5 * blur_px))))
                first = int(way.starts[frame])
                picked = first + ((np.arange(some) + 0.5) * count / some).astype(np.int64)
                reach = reaches[0 if along_x or along_y else 1]
                cast.append(
                    (
                        sheet.part.shadows[level],
                        sheet.shadows_from_mm[level],
                        reach.back[picked],
                        depth,
                        SHADOW_BORDER * blur_px,
                        reach.corners[picked].reshape(-1, 2),
                    )
                )
                finest = min(finest, level)
        coarse = 2 if finest == 0 else 4
        dark = []
        for plane, scaled, back, depth, border, points in cast:
            rect = self._coarse_rect(points, border)
            if rect[2]:
                dark.append((rect, self._dark(plane, scaled, back, depth, rect, coarse)))
        if not dark:
            return None
        whole = _around([rect for rect, _ in dark], GRID_PX)
        keep = np.ones((whole[3] // coarse, whole[2] // coarse), np.float32)
        for rect, amount in dark:
            x, y = (rect[0] - whole[0]) // coarse, (rect[1] - whole[1]) // coarse
            keep[y : y + amount.shape[0], x : x + amount.shape[1]] *= amount
        # Half of the light taken away is less than half as dark on a screen: the power is 1 / 2.2.
        soft = cv2.convertScaleAbs(cv2.pow(keep, 1 / 2.2), alpha=255.0)
        full = cv2.resize(soft, whole[2:], interpolation=cv2.INTER_LINEAR)
        width, height = min(whole[2], self._size[0] - whole[0]), min(whole[3], self._size[1] - whole[1])
        return Patch((whole[0], whole[1], width, height), _three(np.ascontiguousarray(full[:height, :width])))

    def _coarse_rect(self, points: NDArray[np.float64], border: float) -> Rect:
        """Around the points and a border, on the picture, from and to multiples of 16."""
        low, high = points.min(axis=0) - border, points.max(axis=0) + border
        left, top = (max(0, math.floor(float(v) / GRID_PX) * GRID_PX) for v in low)
        right, bottom = (
            min(-(-size // GRID_PX), math.ceil(float(v) / GRID_PX)) * GRID_PX
            for v, size in zip(high, self._size, strict=True)
        )
        return (left, top, right - left, bottom - top) if right > left and bottom > top else (0, 0, 0, 0)

    def _dark(
        self, plane: NDArray[np.float32], scaled: Matrix, back: Matrix, depth: float, rect: Rect, coarse: int
    ) -> NDArray[np.float32]:
        """What one shadow leaves of the light in a rectangle of the coarse picture."""
        x, y, width, height = rect
        size = (width // coarse, height // coarse)
        total = np.zeros((size[1], size[0]), np.float32)
        if self._lines.rolling:
            for here in self._lines.maps(back, rect, scaled, coarse):
                total += cv2.remap(plane, here, NO_MAP, cv2.INTER_LINEAR)
        else:
            # A coarse pixel p covers fine ones from coarse·p on, whose middle is half of (coarse - 1) further.
            middle = (coarse - 1) / 2
            fine = np.array([[coarse, 0, x + middle], [0, coarse, y + middle], [0, 0, 1.0]])
            for one in back:
                flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
                total += cv2.warpPerspective(plane, scaled @ one[0] @ fine, size, flags=flags)
        return np.asarray(1.0 - total * (depth / len(back)), np.float32)


_AWAY, _RESTS, _MOVES = 0, 1, 2


def _stage(motion: Motion, at_s: NDArray[np.float64], reach_s: float) -> NDArray[np.int64]:
    """Whether a hand is away, at rest or moving in the frames around those times."""
    present = (motion.starts_s < at_s + reach_s) & (motion.ends_s > at_s - reach_s)
    rests = (at_s - reach_s >= motion.settles_s) & (at_s + reach_s <= motion.lifts_s)
    return np.where(present, np.where(rests, _RESTS, _MOVES), _AWAY)


def _around(rects: Sequence[Rect], step: int) -> Rect:
    """The smallest rectangle around all of them that begins and ends at multiples of `step`."""
    left, top = (min(rect[axis] for rect in rects) // step * step for axis in (0, 1))
    right, bottom = (-(-max(rect[axis] + rect[axis + 2] for rect in rects) // step) * step for axis in (0, 1))
    return left, top, right - left, bottom - top
