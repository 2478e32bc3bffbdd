"""Arms over a table: lit sprites of hands and forearms, laid on slanted planes and painted as a camera sees them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from vision.films.arm_looks import FOREARM_MM, ArmLook, Pattern, Pose, Rgb, Sleeve
from vision.films.arm_relief import BEHIND_MM, Relief, arm_relief, hand_relief
from vision.films.hand_sheet import mesh_hand_relief

__all__ = [
    "ArmLook",
    "ArmPlaces",
    "ArmSprite",
    "Light",
    "Part",
    "Pattern",
    "Pose",
    "ReadOut",
    "Rgb",
    "Sleeve",
    "draw_arm",
    "light_arm",
    "paint_arm",
    "paint_shadow",
    "projection_of",
]

Matrix = NDArray[np.float64]
Picture = NDArray[Any]
Rect = tuple[int, int, int, int]
"""x, y, width, height in pixels; width 0 where nothing was touched."""

NOWHERE: Rect = (0, 0, 0, 0)

SHADOW_BLURS_MM = (1.5, 4.0, 9.0, 18.0, 32.0)
"""Spread (one standard deviation) of the shadow sprites; the one that fits the height is painted."""

SHADOW_BEYOND_MM = 250.0
"""A forearm's shadow is drawn on so far beyond its sprite: a slanting lamp brings it into the picture."""

BAND_PX = 64
"""An arm that lies aslant is painted in bands of so many rows, for its bounding box is mostly empty."""

KNOT_PX = 8
"""A rolling shutter's placements are worked out every so many rows and interpolated: at 4 m/s and 30 ms
the placement bends by under 0.01 px between knots."""


class LiftedPlanes(Protocol):
    """What arms need of a camera."""

    def homography_at(self, height_mm: float) -> Matrix:
        """(3, 3): plane millimetres lifted to `height_mm`, to pixels."""


@dataclass(frozen=True, slots=True)
class Light:
    """One lamp or window and what the room gives back.

    `towards`: a vector to the lamp in table coordinates (x right, y down, height up); any length.
    """

    towards: tuple[float, float, float] = (-0.5, -0.6, 1.0)
    ambient: float = 0.45
    """Share of the light that comes from everywhere."""
    breadth: float = 0.18
    """Half the lamp's angular width, radians: how fast a shadow softens with height."""
    colour: Rgb = (1.0, 1.0, 1.0)
    strength: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a lamp under the table."""
        if self.towards[2] <= 0:
            raise ValueError(f"expected the light to come from above the table, got {self.towards}")
        if not 0 <= self.ambient <= 1:
            raise ValueError(f"expected an ambient share of 0 to 1, got {self.ambient}")

    @property
    def shift_per_mm(self) -> tuple[float, float]:
        """How far a point's shadow falls from below it, per millimetre of height."""
        x, y, up = self.towards
        return -x / up, -y / up


@dataclass(frozen=True, slots=True)
class Part:
    """A lit sprite in its own plane.

    picture: (h, w, 4) float32, premultiplied blue green red alpha, colours 0 to 255, alpha 0 to 1.
    shadows: one (h', w') float32 alpha for each of `SHADOW_BLURS_MM`, the softer the coarser.
    to_mm: (3, 3): sprite pixels to (u, v) millimetres; shadow_to_mm the same for each of the shadows.
    """

    picture: NDArray[np.float32]
    shadows: tuple[NDArray[np.float32], ...]
    to_mm: Matrix
    shadow_to_mm: tuple[Matrix, ...]

    def cropped(self) -> Part:
        """The same without the empty margins of its picture."""
        seen = self.picture[..., 3] > 0
        rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
        if not len(rows):
            return self
        # One empty pixel stays around what is seen: interpolation fades into it.
        top, bottom = max(int(rows[0]) - 1, 0), int(rows[-1]) + 2
        left, right = max(int(columns[0]) - 1, 0), int(columns[-1]) + 2
        shift = np.array([[1.0, 0, left], [0, 1.0, top], [0, 0, 1.0]])
        picture = np.ascontiguousarray(self.picture[top:bottom, left:right])
        return replace(self, picture=picture, to_mm=self.to_mm @ shift)

    def eight_bits(self) -> Picture:
        """(h, w, 4) uint8 of the picture, alpha 0 to 255 too."""
        *colours, alpha = cv2.split(self.picture)
        planes = [*colours, alpha * np.float32(255.0)]
        return np.asarray(cv2.merge([cv2.convertScaleAbs(plane) for plane in planes]), dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class ArmSprite:
    """A whole arm, lit: the hand and the forearm, each to be laid on its own plane."""

    look: ArmLook
    hand: Part
    forearm: Part

    @property
    def hand_over(self) -> bool:
        """A glove's cuff lies over a bare wrist; anything else grows out from under the forearm's sprite."""
        return self.look.glove is not None and (self.look.sleeve is None or self.look.sleeve.cuff_mm > 20)


@dataclass(frozen=True, slots=True)
class ArmPlaces:
    """Where an arm is, at one or many moments: parallel arrays of one shape, (exposures, knots) at most.

    Heights are those of the hand's underside plane over the table top; the fingertips' height is that of the
    middle finger's tip.
    """

    tip_x_mm: NDArray[np.float64]
    tip_y_mm: NDArray[np.float64]
    heading_rad: NDArray[np.float64]
    """The way the fingers point: 0 along x, a quarter turn along y (down the picture)."""
    tip_height_mm: NDArray[np.float64]
    wrist_height_mm: NDArray[np.float64]
    elbow_height_mm: NDArray[np.float64]
    bend_rad: NDArray[np.float64]
    """How far the forearm's direction is turned from the hand's, at the wrist."""
    roll_rad: NDArray[np.float64]
    """The hand tilted about its length: positive lifts the side on the right of its heading."""

    def __post_init__(self) -> None:
        """All eight must be of one shape."""
        shapes = {getattr(self, field.name).shape for field in fields(self)}
        if len(shapes) != 1:
            raise ValueError(f"expected places of one shape, got {sorted(shapes)}")

    @classmethod
    def of(
        cls,
        tip_mm: tuple[ArrayLike, ArrayLike],
        heading_rad: ArrayLike,
        tip_height_mm: ArrayLike = 0.0,
        wrist_height_mm: ArrayLike = 0.0,
        elbow_height_mm: ArrayLike = 60.0,
        bend_rad: ArrayLike = 0.0,
        roll_rad: ArrayLike = 0.0,
    ) -> ArmPlaces:
        """Numbers or arrays, broadcast against each other."""
        given = (
            tip_mm[0],
            tip_mm[1],
            heading_rad,
            tip_height_mm,
            wrist_height_mm,
            elbow_height_mm,
            bend_rad,
            roll_rad,
        )
        arrays = np.broadcast_arrays(*[np.asarray(value, dtype=np.float64) for value in given])
        return cls(*arrays)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of each array."""
        return self.tip_x_mm.shape

    def reshape(self, *shape: int) -> ArmPlaces:
        """The same places in another shape."""
        return ArmPlaces(*[getattr(self, field.name).reshape(*shape) for field in fields(self)])


@dataclass(frozen=True, slots=True)
class ReadOut:
    """A rolling shutter's order of reading: which picture axis the lines follow, and from which end."""

    along_x: bool = False
    """Lines are columns (the phone was turned)."""
    backwards: bool = False
    """From the bottom, or from the right."""

    def knots_px(self, size_px: tuple[int, int]) -> NDArray[np.float64]:
        """The lines, in pixels of that axis, at which places must be given: every `KNOT_PX` and one over."""
        lines = size_px[0] if self.along_x else size_px[1]
        return np.arange(0, lines + KNOT_PX, KNOT_PX, dtype=np.float64)

    def delays(self, size_px: tuple[int, int]) -> NDArray[np.float64]:
        """When each knot is read, in read-out times after the middle line: -0.5 to 0.5 over the picture."""
        lines = size_px[0] if self.along_x else size_px[1]
        share = (self.knots_px(size_px) - (lines - 1) / 2) / lines
        return -share if self.backwards else share


@lru_cache(maxsize=24)
def _reliefs(look: ArmLook, pose: Pose, px_per_mm: float, behind_mm: float) -> tuple[Relief, Relief]:
    hand = mesh_hand_relief(look, pose, px_per_mm) if look.mesh else hand_relief(look, pose, px_per_mm)
    return hand, _forearm(look, px_per_mm, behind_mm)


@lru_cache(maxsize=24)
def _forearm(look: ArmLook, px_per_mm: float, behind_mm: float) -> Relief:
    return arm_relief(look, px_per_mm, behind_mm)


def draw_arm(
    look: ArmLook,
    pose: Pose,
    px_per_mm: float,
    light: Light | None = None,
    heading_rad: float = -math.pi / 2,
    behind_mm: float = BEHIND_MM,
) -> ArmSprite:
    """Draw an arm lit as it will be when it points along `heading_rad`; reliefs are kept, lighting is quick.

    `behind_mm`: how much of the forearm is drawn, from the wrist back, in mm of an arm of size 1.
    """
    hand, forearm = _reliefs(look, pose, px_per_mm, behind_mm)
    return light_arm(look, hand, forearm, light or Light(), heading_rad)


def light_arm(look: ArmLook, hand: Relief, forearm: Relief, light: Light, heading_rad: float) -> ArmSprite:
    """Let light fall on two reliefs, however they were made."""
    return ArmSprite(
        look, _lit(hand, light, heading_rad, goes_on=False), _lit(forearm, light, heading_rad, goes_on=True)
    )


def _lit(relief: Relief, light: Light, heading_rad: float, *, goes_on: bool) -> Part:
    """Shade one relief: lamp, sky, dimming where parts lie close, gloss."""
    scale = relief.px_per_mm
    height = relief.height * np.float32(scale)
    gx = cv2.Sobel(height, cv2.CV_32F, 1, 0, ksize=3, scale=1 / 8)
    gy = cv2.Sobel(height, cv2.CV_32F, 0, 1, ksize=3, scale=1 / 8)
    steep = 1.0 / np.sqrt(1 + gx * gx + gy * gy)
    # Plain floats: a float64 scalar would turn every plane into float64.
    x, y, up = (float(value) for value in np.array(light.towards) / np.linalg.norm(light.towards))
    cos, sin = math.cos(heading_rad), math.sin(heading_rad)
    lu, lv = x * cos + y * sin, -x * sin + y * cos
    facing = (-gx * lu - gy * lv + up) * steep
    # Light goes round under skin and cloth: a wrapped Lambert term without a hard terminator.
    direct = np.maximum((facing + 0.25) * (1 / 1.25 / ((up + 0.25) / 1.25)), 0.0)
    crowded = np.zeros_like(height)
    above = np.maximum(relief.height, -4.0)
    for blur_mm, weight in ((2.0, 0.055), (6.0, 0.03)):
        crowded += weight * np.maximum(_softened(above, blur_mm * scale) - relief.height, 0.0)
    open_sky = np.clip(1 - crowded, 0.5, 1.0) * (0.55 + 0.45 * steep)
    shade = open_sky * (light.ambient + (1 - light.ambient) * direct) * light.strength
    over_half = math.sqrt(lu * lu + lv * lv + (up + 1.0) ** 2)
    hu, hv, h_up = lu / over_half, lv / over_half, (up + 1.0) / over_half
    mirror = np.clip((-gx * hu - gy * hv + h_up) * steep, 0, 1)
    broad, narrow = cv2.pow(mirror, 18), cv2.pow(mirror, 90)
    shine = relief.gloss * (0.10 * broad + 0.55 * relief.gloss * narrow) * (light.strength * (1 - light.ambient))
    # The albedo is as a screen shows it under plain light. Shading is multiplied in linear light, and is
    # warmer than grey in the dark: light that goes through skin and cloth comes out redder.
    exponent = cv2.log(np.clip(shade, 1e-4, 1.6))
    planes = []
    for albedo, power, tint in zip(cv2.split(relief.albedo), (1.06, 1.0, 0.90), light.colour[::-1], strict=True):
        matt = albedo * cv2.exp(exponent * (power / 2.2)) * (tint ** (1 / 2.2))
        colour = np.clip(matt + shine * tint * (1 - matt), 0, 1)
        planes.append(colour * relief.alpha * 255.0)
    picture = cv2.merge([*planes, relief.alpha])
    ox, oy = relief.origin_px
    to_mm = np.array([[1 / scale, 0, -ox / scale], [0, 1 / scale, -oy / scale], [0, 0, 1.0]])
    shadows, ways = zip(*(_shadow(relief.alpha, blur * scale, scale, goes_on) for blur in SHADOW_BLURS_MM), strict=True)
    return Part(np.asarray(picture, np.float32), shadows, to_mm, tuple(to_mm @ way for way in ways))


def _softened(plane: NDArray[np.float32], sigma_px: float) -> NDArray[np.float32]:
    """A Gaussian blur, worked out on a coarser plane where it is wide."""
    times = max(1, int(sigma_px / 1.4))
    if times == 1:
        return np.asarray(cv2.GaussianBlur(plane, (0, 0), sigma_px), np.float32)
    height, width = plane.shape
    small = cv2.resize(plane, (-(-width // times), -(-height // times)), interpolation=cv2.INTER_AREA)
    small = cv2.GaussianBlur(small, (0, 0), sigma_px / times)
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR), np.float32)


def _shadow(
    alpha: NDArray[np.float32], sigma_px: float, scale: float, goes_on: bool
) -> tuple[NDArray[np.float32], Matrix]:
    """A blurred shadow, as coarse as its blur allows, and (3, 3): its pixels to the sprite's."""
    times = 2 ** max(0, math.floor(math.log2(sigma_px)))
    height, width = alpha.shape
    whole = cv2.copyMakeBorder(alpha, 0, -height % times, 0, -width % times, cv2.BORDER_CONSTANT, value=0.0)
    size = (whole.shape[1] // times, whole.shape[0] // times)
    small = cv2.resize(whole, size, interpolation=cv2.INTER_AREA) if times > 1 else whole
    coarse = sigma_px / times
    pad = math.ceil(2.6 * coarse) + 1
    # A forearm goes on beyond its sprite; a hand's stub does not.
    left = pad + math.ceil(SHADOW_BEYOND_MM * scale / times) if goes_on else pad
    padded = cv2.copyMakeBorder(small, pad, pad, 0, pad, cv2.BORDER_CONSTANT, value=0.0)
    beyond = cv2.BORDER_REPLICATE if goes_on else cv2.BORDER_CONSTANT
    padded = cv2.copyMakeBorder(padded, 0, 0, left, 0, beyond, value=0.0)
    # Shrinking (a box) and growing again (a triangle) blur as well: variances of 1/12 and 1/6.
    own = math.sqrt(max(coarse * coarse - (0.25 if times > 1 else 0.0), 0.16))
    # A coarse pixel p covers fine pixels p·times and on, whose middle is half of (times - 1) further.
    middle = (times - 1) / 2
    fine = np.array([[times, 0, middle - left * times], [0, times, middle - pad * times], [0, 0, 1.0]])
    return np.asarray(cv2.GaussianBlur(padded, (0, 0), own), np.float32), fine


def projection_of(camera: LiftedPlanes) -> Matrix:
    """(3, 4) float64: (x mm, y mm, height mm, 1) to homogeneous pixels, from two lifted planes."""
    ground = np.asarray(camera.homography_at(0.0), dtype=np.float64)
    lift_mm = 100.0
    lifted = np.asarray(camera.homography_at(lift_mm), dtype=np.float64)
    # Each may be scaled as the camera likes; the first two columns are the same but for that.
    lifted = lifted * (np.vdot(lifted[:, :2], ground[:, :2]) / np.vdot(lifted[:, :2], lifted[:, :2]))
    return np.column_stack([ground[:, 0], ground[:, 1], (lifted[:, 2] - ground[:, 2]) / lift_mm, ground[:, 2]])


def hand_frames(look: ArmLook, places: ArmPlaces) -> Matrix:
    """(..., 4, 3): the hand's (u, v, 1) mm to (x, y, height, 1)."""
    length = look.length_mm
    rise = np.clip((places.tip_height_mm - places.wrist_height_mm) / length, -0.95, 0.95)
    level = np.sqrt(1 - rise * rise)
    dx, dy = np.cos(places.heading_rad), np.sin(places.heading_rad)
    frame = np.zeros((*places.shape, 4, 3))
    frame[..., 0, 0], frame[..., 1, 0], frame[..., 2, 0] = dx * level, dy * level, rise
    frame[..., 0, 1] = -dy * np.cos(places.roll_rad)
    frame[..., 1, 1] = dx * np.cos(places.roll_rad)
    frame[..., 2, 1] = np.sin(places.roll_rad)
    frame[..., 0, 2] = places.tip_x_mm - dx * level * length
    frame[..., 1, 2] = places.tip_y_mm - dy * level * length
    frame[..., 2, 2] = places.wrist_height_mm
    frame[..., 3, 2] = 1.0
    return frame


def forearm_frames(look: ArmLook, places: ArmPlaces) -> Matrix:
    """(..., 4, 3): the forearm's (u, v, 1) mm, u negative towards the elbow, to (x, y, height, 1)."""
    frame = hand_frames(look, places)
    rise = np.clip((places.wrist_height_mm - places.elbow_height_mm) / (FOREARM_MM * look.size), -0.95, 0.95)
    level = np.sqrt(1 - rise * rise)
    turn = places.heading_rad + places.bend_rad
    dx, dy = np.cos(turn), np.sin(turn)
    frame[..., 0, 0], frame[..., 1, 0], frame[..., 2, 0] = dx * level, dy * level, rise
    frame[..., 0, 1], frame[..., 1, 1], frame[..., 2, 1] = -dy, dx, 0.0
    return frame


def _corners(matrices: Matrix, sprite_size: tuple[int, int]) -> NDArray[np.float32] | None:
    """Where a sprite's corners come to, (n, 2) px, under (k, knots, 3, 3) matrices; None: behind the lens."""
    width, height = sprite_size
    corners = np.array([[0, 0, 1], [width - 1, 0, 1], [width - 1, height - 1, 1], [0, height - 1, 1]], dtype=np.float64)
    some = matrices[:, :: max(1, (matrices.shape[1] - 1) // 4)]  # the lines between lie between
    at = some.reshape(-1, 3, 3) @ corners.T
    depth = at[:, 2]
    if np.any(depth * np.sign(depth.flat[0]) <= 1e-9):
        return None
    return np.stack([at[:, 0] / depth, at[:, 1] / depth], axis=-1).reshape(-1, 2).astype(np.float32)


def _clip(low: Iterable[float], high: Iterable[float], canvas_size: tuple[int, int]) -> Rect:
    """Whole pixels around two corners, on the canvas."""
    (x, y), (x_end, y_end) = low, high
    x0, y0, x1, y1 = math.floor(x) - 1, math.floor(y) - 1, math.ceil(x_end) + 2, math.ceil(y_end) + 2
    left, top, right, bottom = max(x0, 0), max(y0, 0), min(x1, canvas_size[0]), min(y1, canvas_size[1])
    return NOWHERE if right <= left or bottom <= top else (left, top, right - left, bottom - top)


def pieces(matrices: Matrix, sprite_size: tuple[int, int], canvas_size: tuple[int, int]) -> list[Rect]:
    """Rectangles that cover what a sprite may touch: several bands where one would be mostly empty."""
    points = _corners(matrices, sprite_size)
    return [] if points is None else bands(points, canvas_size)


def bands(points: NDArray[np.float32], canvas_size: tuple[int, int]) -> list[Rect]:
    """Rectangles that cover the hull of (n, 2) pixels: several bands where one would be mostly empty."""
    hull = np.asarray(cv2.convexHull(points), dtype=np.float32).reshape(-1, 2)
    whole = _clip(hull.min(axis=0), hull.max(axis=0), canvas_size)
    _, y, width, height = whole
    if width == 0 or cv2.contourArea(hull) > 0.7 * width * height or height < 2 * BAND_PX:
        return [whole] if width else []
    ends = np.roll(hull, -1, axis=0)
    made = []
    for top in range(y, y + height, BAND_PX):
        bottom = min(top + BAND_PX, y + height)
        # Cut each edge of the hull to the band; what is left of it says how wide the band must be.
        rise = ends[:, 1] - hull[:, 1]
        rise = np.where(np.abs(rise) < 1e-6, 1e-6, rise)
        into = np.clip(np.sort(np.stack([top - 2 - hull[:, 1], bottom + 2 - hull[:, 1]]) / rise, axis=0), 0, 1)
        crosses = (np.maximum(hull[:, 1], ends[:, 1]) >= top - 2) & (np.minimum(hull[:, 1], ends[:, 1]) <= bottom + 2)
        xs = (hull[:, 0] + into * (ends[:, 0] - hull[:, 0]))[:, crosses]
        if xs.size:
            rect = _clip((xs.min(), top + 1), (xs.max(), bottom - 2), canvas_size)
            if rect[2]:
                made.append(rect)
    return made


def warped(sprite: Picture, back: Matrix, rect: Rect, read_out: ReadOut | None, coarse: int = 1) -> Picture:
    """The sprite, float32 or uint8, as seen in `rect`, averaged over exposures.

    back: (k, knots, 3, 3) canvas px to sprite px; coarse: the whole picture's lines to one of this canvas.
    """
    x, y, width, height = rect
    total: Any = None
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    shift = np.array([[1, 0, x], [0, 1, y], [0, 0, 1.0]])
    for knots in back:
        if len(knots) == 1 or read_out is None:
            one = cv2.warpPerspective(sprite, knots[len(knots) // 2] @ shift, (width, height), flags=flags)
        else:
            map_x, map_y = _rolling_maps(knots, rect, read_out, coarse)
            one = cv2.remap(sprite, map_x, map_y, cv2.INTER_LINEAR)
        if total is None:
            total = one if sprite.dtype != np.uint8 or len(back) == 1 else one.astype(np.uint16)
        else:
            total = cv2.add(total, one, dst=total, dtype=cv2.CV_32F if sprite.dtype != np.uint8 else cv2.CV_16U)
    if total is None:
        raise ValueError("expected at least one exposure, got none")
    if len(back) > 1:
        share = 1.0 / len(back)
        total = cv2.convertScaleAbs(total, alpha=share) if sprite.dtype == np.uint8 else total * np.float32(share)
    return np.asarray(total)


def _rolling_maps(
    back: Matrix, rect: Rect, read_out: ReadOut, coarse: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Where each pixel of `rect` comes from in the sprite, each line by its own placement.

    back: (knots, 3, 3), each scaled to 1 in its corner; coarse: lines of the whole picture to one of this.
    """
    x, y, width, height = rect
    first, count = (x, width) if read_out.along_x else (y, height)
    lines = np.arange(first, first + count, dtype=np.float64)
    knot = (lines * coarse + (coarse - 1) / 2) / KNOT_PX
    index = np.minimum(knot.astype(np.int64), len(back) - 2)
    share = (knot - index)[:, None, None]
    b = back[index] * (1 - share) + back[index + 1] * share
    free = np.arange(y, y + height) if read_out.along_x else np.arange(x, x + width)
    moving = free.astype(np.float32)[None, :]
    line, run = (0, 1) if read_out.along_x else (1, 0)
    start = (b[:, :, line] * lines[:, None] + b[:, :, 2]).astype(np.float32)
    step = b[:, :, run].astype(np.float32)
    weight = step[:, 2:] * moving
    weight += start[:, 2:]
    np.reciprocal(weight, out=weight)
    maps = []
    for axis in (0, 1):
        at = step[:, axis : axis + 1] * moving
        at += start[:, axis : axis + 1]
        at *= weight
        maps.append(np.ascontiguousarray(at.T) if read_out.along_x else at)
    return maps[0], maps[1]


def inverses(matrices: Matrix) -> Matrix:
    """The inverses, scaled to 1 in their corner."""
    back = np.linalg.inv(matrices)
    return np.asarray(back / back[..., 2:, 2:])


def _as_grid(places: ArmPlaces) -> ArmPlaces:
    """Places as (exposures, knots)."""
    if len(places.shape) > 2:
        raise ValueError(f"expected places of shape (exposures, knots) at most, got {places.shape}")
    return places if len(places.shape) == 2 else places.reshape(-1, 1)


@dataclass(frozen=True, slots=True)
class Layer:
    """A rectangle of picture to be multiplied by `keep` and added to: (height, width, 3) float32 both."""

    rect: Rect
    keep: NDArray[np.float32]
    colour: NDArray[np.float32] | None = None

    def lay(self, canvas: Picture) -> None:
        """Change a (h, w, 3) uint8 or float32 canvas in place."""
        x, y, width, height = self.rect
        region = canvas[y : y + height, x : x + width]
        mixed = cv2.multiply(region, self.keep, dtype=cv2.CV_32F)
        if self.colour is not None:
            mixed = cv2.add(mixed, self.colour)
        region[...] = mixed if canvas.dtype != np.uint8 else cv2.convertScaleAbs(mixed)


def _three(plane: Picture) -> NDArray[np.float32]:
    return np.asarray(cv2.merge([plane, plane, plane]), dtype=np.float32)


def _joined(first: Rect, second: Rect) -> Rect:
    if first[2] == 0 or second[2] == 0:
        return first if second[2] == 0 else second
    x, y = min(first[0], second[0]), min(first[1], second[1])
    right = max(first[0] + first[2], second[0] + second[2])
    bottom = max(first[1] + first[3], second[1] + second[3])
    return x, y, right - x, bottom - y


def union(rects: Sequence[Rect]) -> Rect:
    """The smallest rectangle around all of them."""
    whole = NOWHERE
    for rect in rects:
        whole = _joined(whole, rect)
    return whole


def arm_layers(
    size_px: tuple[int, int],
    sprite: ArmSprite,
    places: ArmPlaces,
    projection: Matrix,
    read_out: ReadOut | None = None,
) -> list[Layer]:
    """What `paint_arm` lays on a canvas of `size_px`, lowest first."""
    grid = _as_grid(places)
    parts = [
        (sprite.hand, hand_frames(sprite.look, grid)),
        (sprite.forearm, forearm_frames(sprite.look, grid)),
    ]
    layers = []
    for part, frames in reversed(parts) if sprite.hand_over else parts:
        matrices = projection @ frames @ part.to_mm
        sheet = part.picture.shape
        rects = pieces(matrices, (sheet[1], sheet[0]), size_px)
        back = inverses(matrices) if rects else matrices
        for rect in rects:
            seen = warped(part.picture, back, rect, read_out)
            layers.append(Layer(rect, _three(1.0 - seen[..., 3]), np.ascontiguousarray(seen[..., :3])))
    return layers


def paint_arm(
    canvas: Picture,
    sprite: ArmSprite,
    places: ArmPlaces,
    camera: LiftedPlanes | Matrix,
    read_out: ReadOut | None = None,
) -> Rect:
    """Paint an arm onto a picture, blurred over its places; says what was touched.

    canvas: (h, w, 3) blue green red, uint8 or float32 0 to 255, changed in place.
    places: shape () or (exposures,); with `read_out`, (exposures, knots) at `read_out.knots_px`.
    camera: anything with `homography_at`, or a (3, 4) projection.
    """
    projection = camera if isinstance(camera, np.ndarray) else projection_of(camera)
    layers = arm_layers((canvas.shape[1], canvas.shape[0]), sprite, places, projection, read_out)
    for layer in layers:
        layer.lay(canvas)
    return union([layer.rect for layer in layers])


def shadow_layers(
    size_px: tuple[int, int],
    sprite: ArmSprite,
    places: ArmPlaces,
    projection: Matrix,
    light: Light,
    surface_mm: float = 0.0,
    read_out: ReadOut | None = None,
) -> list[Layer]:
    """What `paint_shadow` lays on a canvas of `size_px`."""
    rect, keep = shadow_gain(size_px, sprite, places, projection, light, surface_mm, read_out)
    return [Layer(rect, _three(keep))] if rect[2] else []


def shadow_terms(light: Light, over_mm: float) -> list[tuple[float, int, tuple[float, float]]]:
    """The lamp's and the sky's shadow of something `over_mm` above what they fall on.

    Each: how dark, 0 to 1; which of `SHADOW_BLURS_MM`; how far aside it falls a millimetre of height.
    """
    direct = (light.strength * (1 - light.ambient), over_mm * light.breadth, light.shift_per_mm)
    sky = (0.55 * light.ambient / (1 + (over_mm / 28.0) ** 2), 4.0 + 0.55 * over_mm, (0.0, 0.0))
    return [
        (min(depth, 0.85), min(range(len(SHADOW_BLURS_MM)), key=lambda n: _unlike(SHADOW_BLURS_MM[n], blur_mm)), aside)
        for depth, blur_mm, aside in (direct, sky)
        if depth >= 0.02
    ]


def _unlike(blur_mm: float, wanted_mm: float) -> float:
    return abs(math.log(blur_mm / max(wanted_mm, 0.5)))


def shadow_gain(
    size_px: tuple[int, int],
    sprite: ArmSprite,
    places: ArmPlaces,
    projection: Matrix,
    light: Light,
    surface_mm: float = 0.0,
    read_out: ReadOut | None = None,
) -> tuple[Rect, NDArray[np.float32]]:
    """Where the shadow falls on a canvas of `size_px`, and (h, w) float32, what is left of the brightness there.

    It is worked out at half the size, for it is soft.
    """
    grid = _as_grid(places)
    half_size = ((size_px[0] + 1) // 2, (size_px[1] + 1) // 2)
    # A coarse pixel p covers fine pixels 2p and 2p + 1, whose middle is 2p + 0.5.
    halved = np.array([[0.5, 0, -0.25], [0, 0.5, -0.25], [0, 0, 1.0]]) @ projection
    dark: list[tuple[Rect, NDArray[np.float32]]] = []
    for part, frames, height in (
        (sprite.hand, hand_frames(sprite.look, grid), (grid.tip_height_mm + grid.wrist_height_mm) / 2),
        (sprite.forearm, forearm_frames(sprite.look, grid), (grid.wrist_height_mm + grid.elbow_height_mm) / 2),
    ):
        over = max(0.0, float(height.mean()) + 6.0 - surface_mm)
        for depth, level, (along_x, along_y) in shadow_terms(light, over):
            cast = np.diag([1.0, 1.0, 0.0, 1.0])
            cast[0, 2:] = along_x, -along_x * surface_mm
            cast[1, 2:] = along_y, -along_y * surface_mm
            cast[2, 3] = surface_mm
            matrices = halved @ cast @ _few(frames) @ part.shadow_to_mm[level]
            sheet = part.shadows[level]
            corners = _corners(matrices, (sheet.shape[1], sheet.shape[0]))
            rect = NOWHERE if corners is None else _clip(corners.min(axis=0), corners.max(axis=0), half_size)
            if rect[2]:
                seen = warped(sheet, inverses(matrices), rect, read_out, coarse=2)
                seen *= np.float32(-depth)
                seen += np.float32(1.0)
                dark.append((rect, seen))
    whole = union([rect for rect, _ in dark])
    if whole[2] == 0:
        return NOWHERE, np.ones((0, 0), dtype=np.float32)
    left, top, width, height_px = whole
    keep = np.ones((height_px, width), dtype=np.float32)
    for (x, y, w, h), amount in dark:
        keep[y - top : y - top + h, x - left : x - left + w] *= amount
    # Half of the light taken away is less than half as dark on a screen: the power is 1 / 2.2.
    soft = cv2.resize(cv2.pow(keep, 1 / 2.2), (2 * width, 2 * height_px), interpolation=cv2.INTER_LINEAR)
    rect = (2 * left, 2 * top, min(2 * width, size_px[0] - 2 * left), min(2 * height_px, size_px[1] - 2 * top))
    return rect, np.ascontiguousarray(soft[: rect[3], : rect[2]], dtype=np.float32)


def paint_shadow(
    canvas: Picture,
    sprite: ArmSprite,
    places: ArmPlaces,
    camera: LiftedPlanes | Matrix,
    light: Light,
    surface_mm: float = 0.0,
    read_out: ReadOut | None = None,
) -> Rect:
    """Darken a picture where an arm keeps the lamp and the sky away; to be painted before the arm.

    The lamp's shadow falls aside and softens with height; the sky's stays below and fades with height.
    """
    projection = camera if isinstance(camera, np.ndarray) else projection_of(camera)
    size = (canvas.shape[1], canvas.shape[0])
    layers = shadow_layers(size, sprite, places, projection, light, surface_mm, read_out)
    for layer in layers:
        layer.lay(canvas)
    return union([layer.rect for layer in layers])


def _few(frames: Matrix) -> Matrix:
    """At most three of the exposures: a shadow is soft already."""
    return frames if len(frames) <= 3 else frames[np.linspace(0, len(frames) - 1, 3).round().astype(int)]
