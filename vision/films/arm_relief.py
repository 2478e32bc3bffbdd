"""The relief of a hand or a forearm seen from above: heights and colours, before any light falls on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.films.arm_looks import ArmLook, Pattern, Pose, Rgb, Sleeve

Plane = NDArray[Any]
"""(h, w) float32 in what is kept; in between it may be wider."""

HAND_BOX_MM = (-60.0, 215.0, -105.0, 90.0)
"""u from, u to, v from, v to, of a right hand of size 1: u runs from the wrist to the fingertips, v to the
right of it; the thumb is on the left."""

BEHIND_MM = 640.0
"""How much of an arm is drawn behind the wrist, if nothing else is said: it runs past the elbow, so that it leaves
the picture under its own sleeve."""

ARM_BOX_MM = (24.0, -80.0, 80.0)
"""The same for the forearm, but for where u begins."""


@dataclass(frozen=True, slots=True)
class Relief:
    """One part of an arm, lying in its own plane.

    height: (h, w) float32, millimetres, over the plane, smooth.
    albedo: (h, w, 3) float32, blue green red, 0 to 1.
    alpha: (h, w) float32, 0 to 1.
    gloss: (h, w) float32, 0 to 1.
    Image x runs along u (to the fingertips), image y along v.
    """

    height: Plane
    albedo: Plane
    alpha: Plane
    gloss: Plane
    px_per_mm: float
    origin_px: tuple[float, float]
    """Where the wrist is."""

    def __post_init__(self) -> None:
        """All four must be the same size."""
        sizes = {self.height.shape[:2], self.albedo.shape[:2], self.alpha.shape[:2], self.gloss.shape[:2]}
        if len(sizes) != 1:
            raise ValueError(f"expected planes of one size, got {sorted(sizes)}")


@dataclass(frozen=True, slots=True)
class Bone:
    """A tapered capsule: two points (u, v, height of its middle line) and two radii, mm."""

    start: tuple[float, float, float]
    end: tuple[float, float, float]
    start_radius: float
    end_radius: float
    bent_rad: float = 0.0
    """How far it points down; beyond a quarter turn its back is hidden from above."""

    @property
    def seen(self) -> float:
        """How much of its back shows from above: 1 lying flat, 0 pointing down."""
        return max(0.0, math.cos(self.bent_rad))


@dataclass(frozen=True, slots=True)
class Digit:
    """One finger: its bones from the knuckle outwards."""

    bones: tuple[Bone, ...]

    @property
    def tip(self) -> Bone:
        """The bone that carries the nail."""
        return self.bones[-1]


# Knuckle (u, v) in mm, lengths of the three bones, radii at their four ends: averages of grown hands,
# scaled so that the whole is 185 mm long and 85 mm wide.
_KNUCKLES = ((88.0, -28.0), (93.0, -8.5), (88.0, 12.5), (78.0, 30.5))
_BONES = ((40.0, 23.0, 16.5), (44.0, 26.5, 17.5), (41.0, 25.0, 17.0), (31.5, 18.5, 15.0))
_RADII = ((11.0, 9.3, 8.0, 6.6), (11.2, 9.5, 8.3, 6.9), (10.6, 9.0, 7.8, 6.5), (9.4, 7.9, 6.8, 5.7))

# For each pose and finger: spread in degrees (outwards from the middle), then how far each of the three
# joints bends down in degrees; for the thumb: the direction of its bones and how far they bend down.
_FINGERS: dict[Pose, tuple[tuple[float, float, float, float], ...]] = {
    Pose.FLAT: ((-9, 2, 3, 2), (-2, 1, 3, 2), (6, 2, 3, 2), (16, 3, 4, 3)),
    Pose.REACHING: ((-3.5, 12, 18, 10), (-1, 10, 20, 10), (2.5, 12, 20, 12), (6, 14, 22, 14)),
    Pose.PINCH: ((3, 30, 34, 14), (3, 44, 48, 24), (4, 54, 58, 30), (7, 58, 60, 30)),
    Pose.REST: ((-6, 20, 30, 18), (-1, 22, 34, 20), (5, 24, 36, 22), (13, 24, 36, 22)),
    Pose.FIST: ((-1, 66, 88, 40), (0, 68, 90, 40), (1, 70, 92, 40), (3, 70, 92, 40)),
    Pose.POINT: ((-2, 6, 5, 3), (1, 64, 88, 40), (2, 68, 90, 40), (4, 70, 92, 40)),
}
_THUMB: dict[Pose, tuple[tuple[float, float], ...]] = {
    Pose.FLAT: ((-44, 4), (-40, 2), (-34, 2)),
    Pose.REACHING: ((-30, 10), (-18, 10), (-6, 10)),
    Pose.PINCH: ((-28, 16), (-4, 14), (16, 10)),
    Pose.REST: ((-34, 12), (-22, 12), (-10, 12)),
    Pose.FIST: ((-26, 14), (4, 16), (42, 10)),
    Pose.POINT: ((-26, 14), (2, 16), (40, 10)),
}


def skeleton(look: ArmLook, pose: Pose) -> tuple[tuple[Digit, ...], tuple[Bone, ...]]:
    """The four fingers and the thumb, and the bones of the palm, in mm of a right hand of size 1."""
    rng = np.random.default_rng([look.seed, 1])
    thick = look.slender * (1.14 if look.glove and look.glove_is_knit else 1.06 if look.glove else 1.0)
    chubby = 1.0 + max(0.0, 0.85 - look.size) * 0.9  # children's hands are rounder for their length
    stretch = 1.0 - max(0.0, 0.85 - look.size) * 0.35
    wide = look.slender * (1 + (chubby - 1) * 0.4)
    digits = []
    for finger, ((ku, kv), lengths, radii) in enumerate(zip(_KNUCKLES, _BONES, _RADII, strict=True)):
        spread, *bends = _FINGERS[pose][finger]
        aim = math.radians(spread + rng.normal(0, 1.6))
        sag = 1.0 + rng.normal(0, 0.12)
        point, pitch = (ku, kv * wide, 11.0), 0.0
        bones = []
        for bone, (length, bend) in enumerate(zip(lengths, bends, strict=True)):
            pitch += math.radians(bend * sag)
            reach = length * stretch * (1 + rng.normal(0, 0.02))
            end = (
                point[0] + reach * math.cos(pitch) * math.cos(aim),
                point[1] + reach * math.cos(pitch) * math.sin(aim),
                point[2] - reach * math.sin(pitch) * 0.75,
            )
            width = thick * chubby
            bones.append(Bone(point, end, radii[bone] * width, radii[bone + 1] * width, pitch))
            point = end
        digits.append(Digit(tuple(bones)))
    point, pitch = (16.0, -19.0 * wide, 10.0), 0.0
    bones = []
    for (aim_deg, bend), length, (r0, r1) in zip(
        _THUMB[pose], (40.0, 31.0, 25.0), ((15.5, 12.0), (12.0, 9.8), (9.8, 7.6)), strict=True
    ):
        aim, pitch = math.radians(aim_deg + rng.normal(0, 2.0)), math.radians(bend)
        end = (
            point[0] + length * stretch * math.cos(pitch) * math.cos(aim),
            point[1] + length * stretch * math.cos(pitch) * math.sin(aim),
            point[2] - length * math.sin(pitch) * 0.6,
        )
        bones.append(Bone(point, end, r0 * thick * chubby, r1 * thick * chubby))
        point = end
    digits.append(Digit(tuple(bones)))
    palm = [
        Bone((4.0, (-13.0 + 8.5 * n) * wide, 9.0), (ku, kv * wide, 10.0), 15.0 * wide, (12.5, 12.5, 12.0, 11.0)[n])
        for n, (ku, kv) in enumerate(_KNUCKLES)
    ]
    palm.append(Bone((10.0, 13.0 * wide, 7.0), (70.0, 30.0 * wide, 8.0), 15.0 * wide, 12.0))  # heel of the hand
    palm.append(Bone((22.0, -18.0 * wide, 7.0), (66.0, -29.0 * wide, 6.0), 13.0 * wide, 9.0))  # ball of the thumb
    # The stub that the forearm grows over: a glove's cuff is as wide as the wrist, skin tapers out of sight.
    rear, thin = (-80.0, 16.5) if look.glove else (-30.0, 9.0)
    for side in (-12.5, 12.5):
        inner = side if look.glove else 0.5 * side
        palm.append(Bone((rear, inner * wide, 9.0), (8.0, side * wide, 9.0), thin * wide, 16.5 * wide))
    return tuple(digits), tuple(palm)


def grid(box_mm: tuple[float, float, float, float], scale: float) -> tuple[Plane, Plane, tuple[float, float]]:
    """u and v of each pixel, mm, and the pixel of the wrist; pixel centres."""
    u0, u1, v0, v1 = box_mm
    us = (np.arange(math.ceil((u1 - u0) * scale), dtype=np.float32) + 0.5) / scale + u0
    vs = (np.arange(math.ceil((v1 - v0) * scale), dtype=np.float32) + 0.5) / scale + v0
    u, v = np.meshgrid(us, vs)
    return u.astype(np.float32), v.astype(np.float32), (-u0 * scale - 0.5, -v0 * scale - 0.5)


def _capsule(u: Plane, v: Plane, bone: Bone) -> tuple[tuple[slice, slice], Plane, Plane, Plane]:
    """The window around it; there the signed distance to its outline (inside negative), the height of its top,
    and how far along it, 0 to 1.

    Further off than outlines grow together it is only far away and low.
    """
    (u0, v0, z0), (u1, v1, z1) = bone.start, bone.end
    du, dv = u1 - u0, v1 - v0
    reach = 0.5 * math.hypot(du, dv) + max(bone.start_radius, bone.end_radius) + 17.0
    near = _window(u, v, ((u0 + u1) / 2, (v0 + v1) / 2), reach)
    x, y = u[near] - np.float32(u0), v[near] - np.float32(v0)
    along = np.clip((x * du + y * dv) / max(du * du + dv * dv, 1e-6), 0, 1)
    x -= along * du
    y -= along * dv
    distance = cv2.magnitude(x, y)
    radius = bone.start_radius + along * (bone.end_radius - bone.start_radius)
    middle = z0 + along * (z1 - z0)
    # Outside the outline the height falls on smoothly, so that the normals at the edge are well behaved.
    inside = np.sqrt(np.maximum(radius * radius - distance * distance, 0.0))
    top = middle + 0.85 * inside - 1.5 * np.maximum(distance - radius, 0.0)
    return near, distance - radius, top, along


def _grow(u: Plane, v: Plane, bones: tuple[Bone, ...], blends: tuple[float, float]) -> tuple[Plane, Plane]:
    """Outline (signed distance) and top of bones that grow together over `blends` mm, outlines and heights."""
    outline, height = np.full_like(u, 1e3), np.full_like(u, -60.0)
    for bone in bones:
        near, edge, top, _ = _capsule(u, v, bone)
        outline[near] = _union(outline[near], edge, blends[0])
        height[near] = -_union(-height[near], -top, blends[1])
    return outline, height


def _union(first: Plane, second: Plane, blend: float) -> Plane:
    """Smooth minimum: two outlines grow together over `blend` mm."""
    mix = np.clip(0.5 + 0.5 * (second - first) / blend, 0, 1)
    return (second * (1 - mix) + first * mix - blend * mix * (1 - mix)).astype(np.float32)


def _noise(rng: np.random.Generator, shape: tuple[int, int], grain_px: tuple[float, float]) -> Plane:
    """Smooth noise of unit spread whose grain is (x, y) pixels wide."""
    small = (max(2, round(shape[1] / max(grain_px[0], 1.0))) + 3, max(2, round(shape[0] / max(grain_px[1], 1.0))) + 3)
    coarse = rng.standard_normal((small[1], small[0]), dtype=np.float32)
    grown = cv2.resize(coarse, (shape[1], shape[0]), interpolation=cv2.INTER_CUBIC)
    return np.asarray(grown / max(float(grown.std()), 1e-6), dtype=np.float32)


def blur(plane: Plane, sigma_px: float) -> Plane:
    """Gaussian."""
    return np.asarray(cv2.GaussianBlur(plane, (0, 0), sigma_px), dtype=np.float32)


def _bgr(colour: Rgb) -> Plane:
    return np.array(colour[::-1], dtype=np.float32)


def hand_relief(look: ArmLook, pose: Pose, px_per_mm: float) -> Relief:
    """Draw the hand, wrist stub included; a left hand is the mirror image of a right one."""
    rng = np.random.default_rng([look.seed, 2])
    scale = px_per_mm * look.size  # pixels per mm of a hand of size 1
    u, v, origin = grid(HAND_BOX_MM, scale)
    digits, palm = skeleton(look, pose)
    outline, height = _grow(u, v, palm, (9.0, 7.0))
    height = blur(height, 3.2 * scale)
    for number, digit in enumerate(digits):
        finger_edge, finger_top = _grow(u, v, digit.bones, (2.0, 2.0))
        thumb = number == 4
        outline = _union(outline, finger_edge, 14.0 if thumb else 5.0)
        height = -_union(-height, -finger_top, 8.0 if thumb else 3.0)
    alpha = _coverage(outline, scale)
    albedo: Plane = np.broadcast_to(_bgr(look.skin), (*u.shape, 3)).astype(np.float32)
    gloss = np.full_like(u, 0.22)
    if look.glove is None:
        height, albedo, gloss = skin_detail(look, rng, u, v, scale, digits, height, albedo, gloss)
    else:
        height, albedo, gloss = glove_detail(look, rng, u, v, scale, digits, height, albedo, gloss)
        alpha = np.where(u < -44.0, 0.0, alpha).astype(np.float32)
    height = blur(height, max(0.45 * scale, 0.5))
    return handed(look, Relief(height * look.size, albedo, alpha, gloss, px_per_mm, origin))


def _coverage(outline_mm: Plane, scale: float) -> Plane:
    """How much of each pixel lies inside, softened a little as skin is."""
    return np.clip(0.5 - outline_mm * scale * 0.8, 0, 1).astype(np.float32)


def handed(look: ArmLook, relief: Relief) -> Relief:
    """Mirror a right arm into a left one where the look says so."""
    if not look.left:
        return relief
    rows = relief.alpha.shape[0]
    return Relief(
        np.ascontiguousarray(relief.height[::-1]),
        np.ascontiguousarray(relief.albedo[::-1]),
        np.ascontiguousarray(relief.alpha[::-1]),
        np.ascontiguousarray(relief.gloss[::-1]),
        relief.px_per_mm,
        (relief.origin_px[0], rows - 1 - relief.origin_px[1]),
    )


def _add_spot(plane: Plane, u: Plane, v: Plane, at: tuple[float, float], sigma: float, amount: float) -> None:
    """Add a round soft spot in place."""
    near = _window(u, v, at, 3.7 * sigma)
    plane[near] += amount * np.exp(((u[near] - at[0]) ** 2 + (v[near] - at[1]) ** 2) * (-0.5 / (sigma * sigma)))


def _window(u: Plane, v: Plane, at: tuple[float, float], reach_mm: float) -> tuple[slice, slice]:
    """The rows and columns within `reach_mm` of a point."""
    us, vs = u[0], v[:, 0]
    left, right = np.searchsorted(us, (at[0] - reach_mm, at[0] + reach_mm))
    top, bottom = np.searchsorted(vs, (at[1] - reach_mm, at[1] + reach_mm))
    return slice(int(top), int(bottom)), slice(int(left), int(right))


def _across(u: Plane, v: Plane, bone: Bone, share: float, sigma: float) -> tuple[tuple[slice, slice], Plane]:
    """A line across a finger at a share of a bone's length, 1 on the line, fading over `sigma` mm; and where."""
    du, dv = bone.end[0] - bone.start[0], bone.end[1] - bone.start[1]
    length = math.hypot(du, dv) or 1.0
    at = (bone.start[0] + share * du, bone.start[1] + share * dv)
    radius = bone.start_radius + share * (bone.end_radius - bone.start_radius)
    near = _window(u, v, at, 1.5 * radius + 3 * sigma)
    x, y = u[near] - at[0], v[near] - at[1]
    along = (x * du + y * dv) / length
    aside = (-x * dv + y * du) / length
    bow = along - 0.035 * aside * aside  # creases bow towards the tip
    far = np.square(np.square(aside / (0.8 * radius)))
    return near, np.exp(-(bow * bow) / (2 * sigma * sigma) - far)


def _stroke(shape: tuple[int, int], points_px: NDArray[np.float64], width_px: float, blur_px: float) -> Plane:
    """A soft line through points, 0 to 1."""
    canvas = np.zeros(shape, dtype=np.float32)
    fixed = np.round(points_px * 16).astype(np.int32)
    cv2.polylines(canvas, [fixed], False, 1.0, max(1, round(width_px)), cv2.LINE_AA, 4)
    blurred = blur(canvas, max(blur_px, 0.4))
    return np.asarray(blurred / max(float(blurred.max()), 1e-6), dtype=np.float32)


def skin_detail(
    look: ArmLook,
    rng: np.random.Generator,
    u: Plane,
    v: Plane,
    scale: float,
    digits: tuple[Digit, ...],
    height: Plane,
    albedo: Plane,
    gloss: Plane,
) -> tuple[Plane, Plane, Plane]:
    """Knuckles, tendons, veins, creases, nails, rings, blotches and pores."""
    pale = float(np.mean(look.skin))
    height = height.copy()
    flush = np.zeros_like(u)
    crease = np.zeros_like(u)
    veins = np.zeros_like(u)
    for number, digit in enumerate(digits):
        knuckle = digit.bones[0].start
        if number < 4:
            _add_spot(height, u, v, knuckle[:2], 6.0, 0.8 + 1.4 * look.age)
            ridge = Bone((14.0, -9.0 + 6.0 * number, 0), (knuckle[0] - 6, knuckle[1], 0), 1.0, 1.0)
            near, distance, _, along = _capsule(u, v, ridge)
            height[near] += (0.15 + 1.1 * look.age) * (
                np.exp(-(((distance + 1) / 2.3) ** 2)) * np.sin(np.pi * np.clip(along, 0.02, 0.98))
            )
            _add_spot(flush, u, v, knuckle[:2], 8.0, 0.55)
        for bone, amount in zip(digit.bones[1:], (1.0, 0.6), strict=True):
            if bone.seen < 0.15:
                continue
            amount *= bone.seen
            _add_spot(height, u, v, bone.start[:2], 0.75 * bone.start_radius, 0.5)
            _add_spot(flush, u, v, bone.start[:2], 6.0, 0.6 * amount)
            for share in (-0.11, -0.03, 0.05, 0.12) if amount > 0.6 else (-0.06, 0.06):
                near, line = _across(u, v, bone, share + rng.normal(0, 0.01), 0.55 + rng.random() * 0.25)
                crease[near] += (0.45 + 0.55 * look.age) * amount * rng.uniform(0.5, 1.0) * line
        _add_spot(flush, u, v, digit.tip.end[:2], 7.0, 0.5 * digit.tip.seen)
    for _ in range(3 + int(rng.integers(3))):
        start = (rng.uniform(5, 30), rng.uniform(-18, 24))
        end = (rng.uniform(70, 88), start[1] * 1.2 + rng.normal(0, 8))
        steps = np.linspace(0, 1, 14)[:, None]
        path = np.array(start) + steps * (np.array(end) - np.array(start))
        path[:, 1] += 3.0 * np.sin(steps[:, 0] * rng.uniform(4, 9) + rng.uniform(0, 6)) * np.sin(steps[:, 0] * np.pi)
        reach = 0.5 * math.dist(path[0], path[-1]) + 10.0
        near = _window(u, v, (float(path[:, 0].mean()), float(path[:, 1].mean())), reach)
        corner = (float(u[0, near[1].start]), float(v[near[0].start, 0]))
        veins[near] += _stroke(u[near].shape, (path - corner) * scale, 1.6 * scale, 0.9 * scale)
    blotch = _noise(rng, u.shape, (13 * scale, 13 * scale))
    pores = _noise(rng, u.shape, (1.1 * scale, 1.1 * scale))
    wrinkle = _noise(rng, u.shape, (1.3 * scale, 5.0 * scale))
    height += 0.75 * look.age * veins - 0.28 * crease + 0.035 * pores + (0.02 + 0.07 * look.age) * wrinkle
    tone = 1 + 0.022 * blotch + 0.016 * pores
    crease, flush = np.minimum(crease, 1.0), np.minimum(flush, 1.0)
    planes = []
    for channel, plane in enumerate(cv2.split(albedo)):
        ruddy = (0.17, 0.13, -0.02)[channel] * (0.4 + 0.6 * pale)
        plane = plane * tone * (1 - (0.30, 0.25, 0.16)[channel] * crease) * (1 - ruddy * flush)
        plane *= 1 - look.age * (0.02, 0.07, 0.13)[channel] * veins
        planes.append(plane * (1 - 0.012 * blotch) if channel == 1 else plane)
    albedo = np.asarray(cv2.merge(planes), np.float32)
    for digit in digits:
        height, albedo, gloss = _nail(look, u, v, digit.tip, height, albedo, gloss)
    for finger in look.rings:
        near, band = _across(u, v, digits[finger].bones[0], 0.52, 1.7)
        ring = np.clip((band - 0.35) * 3.0, 0, 1)
        metal = (0.85, 0.66, 0.30) if look.ring_is_gold else (0.74, 0.75, 0.78)
        albedo[near] = albedo[near] * (1 - ring[..., None]) + ring[..., None] * _bgr(metal)
        gloss[near] = gloss[near] * (1 - ring) + ring
        height[near] += 1.3 * ring
    return height, np.clip(albedo, 0, 1), gloss


def _nail(
    look: ArmLook, u: Plane, v: Plane, bone: Bone, height: Plane, albedo: Plane, gloss: Plane
) -> tuple[Plane, Plane, Plane]:
    """A nail on a finger's last bone, hidden as the finger bends away."""
    du, dv = bone.end[0] - bone.start[0], bone.end[1] - bone.start[1]
    seen = math.hypot(du, dv)
    if bone.seen < 0.35:
        return height, albedo, gloss
    foreshortened = bone.seen
    radius = bone.end_radius
    at = (bone.end[0] + 0.12 * radius * du / seen, bone.end[1] + 0.12 * radius * dv / seen)
    near = _window(u, v, at, 2.2 * radius)
    x, y = u[near] - at[0], v[near] - at[1]
    along = (x * du + y * dv) / (seen * 0.88 * radius * foreshortened)
    aside = (-x * dv + y * du) / (seen * 0.66 * radius)
    shape = np.abs(along * along * along) + np.abs(aside * aside * aside)
    nail = np.clip((1.12 - shape) * 4.0, 0, 1)
    rim = np.clip(1 - np.abs(shape - 1.15) * 3.0, 0, 1)
    tint = (
        np.clip(_bgr(look.skin) * np.array([1.10, 1.05, 1.08]) + np.array([0.06, 0.04, 0.05]), 0, 0.97)
        if look.painted_nails is None
        else _bgr(look.painted_nails)
    )
    under = albedo[near] * (1 - 0.16 * rim[..., None])
    over = under * (1 - 0.8 * nail[..., None]) + 0.8 * nail[..., None] * tint
    if look.painted_nails is None:
        tip = 0.5 * np.clip((along - 0.72) * 6, 0, 1) * nail  # the nail's free edge is white
        over = over * (1 - tip[..., None]) + 0.88 * tip[..., None]
    albedo[near] = over
    height[near] += 0.35 * nail - 0.35 * rim
    gloss[near] = np.maximum(gloss[near], 0.8 * nail)
    return height, albedo, gloss


def glove_detail(
    look: ArmLook,
    rng: np.random.Generator,
    u: Plane,
    v: Plane,
    scale: float,
    digits: tuple[Digit, ...],
    height: Plane,
    albedo: Plane,
    gloss: Plane,
) -> tuple[Plane, Plane, Plane]:
    """Knit or leather in place of skin: seams, wrinkles, ribs."""
    colour = _bgr(look.glove or look.skin)
    height, albedo = height.copy(), np.broadcast_to(colour, albedo.shape).astype(np.float32)
    for digit in digits[:4]:
        ridge = Bone((30.0, digit.bones[0].start[1] * 0.7, 0), digit.bones[0].start, 1.0, 1.0)
        near, distance, _, _ = _capsule(u, v, ridge)
        height[near] += 0.7 * np.exp(-(((distance + 1) / 1.2) ** 2)) * (0.2 if look.glove_is_knit else 1.0)
        for bone in digit.bones[1:]:
            near, fold = _across(u, v, bone, rng.normal(0, 0.05), 1.6)
            height[near] -= 0.9 * fold
            albedo[near] *= 1 - 0.12 * fold[..., None]
    if look.glove_is_knit:
        rows = np.sin(u * 2 * np.pi / 2.4 + 0.8 * np.sin(v * 2 * np.pi / 3.0)).astype(np.float32)
        height = height + 0.16 * rows
        albedo = albedo * (1 + 0.06 * rows + 0.06 * _noise(rng, u.shape, (1.0 * scale, 1.0 * scale)))[..., None]
        gloss = np.full_like(gloss, 0.02)
    else:
        height = height + 0.35 * _noise(rng, u.shape, (4.0 * scale, 7.0 * scale))
        albedo = albedo * (1 + 0.03 * _noise(rng, u.shape, (1.2 * scale, 1.2 * scale)))[..., None]
        gloss = np.full_like(gloss, 0.4)
    hem = np.clip(1 - np.abs(u + 38.0) / 5.0, 0, 1).astype(np.float32)
    height = height + 1.2 * hem
    return height.astype(np.float32), np.clip(albedo, 0, 1).astype(np.float32), gloss


def _half_width(u: Plane, look: ArmLook) -> Plane:
    """Of a bare arm of size 1 at u mm from the wrist (negative towards the elbow)."""
    at = np.array([-640.0, -420.0, -300.0, -262.0, -225.0, -150.0, -90.0, -40.0, 0.0, 40.0])
    half = np.array([55.0, 51.0, 47.0, 46.5, 47.0, 43.0, 36.0, 30.0, 29.0, 29.5])
    return np.asarray(np.interp(u, at, half) * look.slender, dtype=np.float32)


def arm_relief(look: ArmLook, px_per_mm: float, behind_mm: float = BEHIND_MM) -> Relief:
    """Draw the forearm with its sleeve, watch and hair, from just over the wrist back past the elbow."""
    rng = np.random.default_rng([look.seed, 3])
    scale = px_per_mm * look.size
    u, v, origin = grid((-behind_mm, *ARM_BOX_MM), scale)
    half = _half_width(u[:1], look)
    lean = 2.5 * np.sin(u[:1] / 120.0)  # an arm isn't turned on a lathe
    outline = np.abs(v - lean) - half
    height = 10.0 + 0.75 * np.sqrt(np.maximum(half * half - (v - lean) ** 2, 0)) - 1.2 * np.maximum(outline, 0)
    height = height - 0.75 * (half - 29.0) * 0.5  # the forearm's underside bulges too
    blotch = _noise(rng, u.shape, (16 * scale, 12 * scale))
    pores = _noise(rng, u.shape, (1.1 * scale, 1.1 * scale))
    tone = 1 + 0.014 * blotch + 0.016 * pores
    albedo: Plane = np.asarray(cv2.merge([tone * value for value in look.skin[::-1]]), np.float32)
    height = height + 0.03 * pores
    for side in (-1, 1):
        tendon = np.exp(-(((v - side * 4.0) / 2.5) ** 2)) * np.clip(1 + u / 110.0, 0, 1)
        height = height + 0.5 * look.age * tendon
    if look.hair > 0 and (look.sleeve is None or look.sleeve.cuff_mm > 30):
        albedo = albedo * (1 - 0.55 * look.hair * _hair(rng, u.shape, scale)[..., None])
    gloss = np.full_like(u, 0.2)
    # Skin grows out of the wrist's stub; under a glove's cuff there is none to be seen.
    alpha = _coverage(outline, scale) * np.clip((14.0 - u) / 22.0 if look.glove is None else (-26.0 - u) / 4.0, 0, 1)
    if look.watch and (look.sleeve is None or look.sleeve.cuff_mm > 52):
        height, albedo, gloss, alpha = _watch(look, u, v, half, scale, (height, albedo, gloss, alpha))
    if look.sleeve is not None:
        height, albedo, gloss, alpha = _sleeve_over(
            look.sleeve, look, rng, u, v - lean, half, scale, (height, albedo, gloss, alpha)
        )
    height = blur(height.astype(np.float32), max(0.6 * scale, 0.5))
    relief = Relief(
        height * np.float32(look.size),
        np.clip(albedo, 0, 1).astype(np.float32),
        alpha.astype(np.float32),
        gloss.astype(np.float32),
        px_per_mm,
        origin,
    )
    return handed(look, relief)


def _hair(rng: np.random.Generator, shape: tuple[int, int], scale: float) -> Plane:
    """Thin strokes that lie slantwise along the forearm, 0 to 1."""
    canvas = np.zeros(shape, dtype=np.float32)
    count = round(1500 * shape[1] / (664.0 * scale))  # as dense, however much of the arm is drawn
    start = rng.uniform(0, 1, (count, 2)) * (shape[1], shape[0])
    length, angle = rng.uniform(3, 9, count) * scale, 0.45 + rng.normal(0, 0.4, count)
    ends = start + length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    strokes = np.round(np.stack([start, ends], axis=1) * 16).astype(np.int32)
    cv2.polylines(canvas, list(strokes), False, 1.0, 1, cv2.LINE_AA, 4)
    return np.clip(blur(canvas, 0.35 * scale) * np.float32(0.6), 0, 1)


def _watch(
    look: ArmLook, u: Plane, v: Plane, half: Plane, scale: float, under: tuple[Plane, Plane, Plane, Plane]
) -> tuple[Plane, Plane, Plane, Plane]:
    """A strap round the wrist with a round dial on the back of the arm."""
    height, albedo, gloss, alpha = under
    middle = -27.0
    strap = np.clip((9.5 - np.abs(u - middle)) * scale, 0, 1) * np.clip((half + 1.5 - np.abs(v)) * scale, 0, 1)
    case = np.clip((19.0 - np.hypot(u - middle, v)) * scale, 0, 1)
    face = np.clip((15.5 - np.hypot(u - middle, v)) * scale, 0, 1)
    hands = np.clip((0.9 - np.abs(v - 0.4 * (u - middle))) * scale, 0, 1) * (np.hypot(u - middle, v) < 11.5)
    for mask, colour, shine in (
        (strap, look.watch_strap, 0.3),
        (case, (0.70, 0.70, 0.72), 0.9),
        (face, (0.09, 0.10, 0.13), 0.8),
        (hands, (0.85, 0.85, 0.85), 0.5),
    ):
        albedo = albedo * (1 - mask[..., None]) + mask[..., None] * _bgr(colour)
        gloss = gloss * (1 - mask) + shine * mask
    height = height + 1.6 * strap + 4.0 * case - 0.8 * face
    return height, albedo, gloss, np.maximum(alpha, strap)


def _sleeve_over(
    sleeve: Sleeve,
    look: ArmLook,
    rng: np.random.Generator,
    u: Plane,
    v: Plane,
    half: Plane,
    scale: float,
    under: tuple[Plane, Plane, Plane, Plane],
) -> tuple[Plane, Plane, Plane, Plane]:
    """Lay cloth over the arm: outline with slack, folds that bunch at cuff and elbow, weave, cuff band."""
    height, albedo, gloss, alpha = under
    cuff = -sleeve.cuff_mm / look.size
    shape = u.shape
    along = u[:1]
    behind = cuff - along  # mm into the sleeve
    slack = sleeve.looseness_mm * (0.35 + 0.65 * np.clip(behind / 60.0, 0, 1))
    ragged = _noise(rng, (1, shape[1]), (26 * scale, 1)), _noise(rng, (1, shape[1]), (26 * scale, 1))
    turn = np.clip(0.5 + v / 40.0, 0, 1)
    side = ragged[0] * turn + ragged[1] * (1 - turn)
    wave = 0.9 * sleeve.folds_mm * side * np.clip((behind - sleeve.band_mm) / 25.0, 0, 1)
    outline = np.abs(v) - (half + slack + wave)
    hem = u + 0.006 * v * v + 0.8 * side  # the cuff's edge goes round the arm
    inside = np.clip(0.5 + (cuff - hem) * scale, 0, 1)
    cover = _coverage(outline.astype(np.float32), scale) * inside
    reach = np.maximum(half + slack + wave, 1.0)
    cloth_height = 12.0 + 0.72 * np.sqrt(np.maximum(reach * reach - v * v, 0)) - 0.36 * (half - 29.0)
    skew = u + 0.35 * v * np.sign(np.sin(u / 47.0 + rng.uniform(0, 6)))
    folds = _folds(rng, shape, scale)
    bunch = (
        0.5
        + 0.9 * np.exp(-(((behind - sleeve.band_mm - 18) / 34.0) ** 2))
        + 1.1 * np.exp(-(((along + 262.0) / 60.0) ** 2))
    )
    loose = np.clip((behind - sleeve.band_mm) / 8.0, 0, 1)
    cloth_height = cloth_height + sleeve.folds_mm * bunch * folds * loose
    band = np.clip((sleeve.band_mm - behind) * scale, 0, 1) * (behind > 0)
    cloth_height = cloth_height + 1.4 * band
    across = np.arcsin(np.clip(v / reach, -1, 1)) * reach  # cloth is wrapped round the arm
    second: Plane = np.zeros((1, 1), np.float32)  # how much of the other colour
    tone: Plane = np.ones((1, 1), np.float32)
    if sleeve.pattern is Pattern.STRIPES:
        second = np.clip(np.sin(across * (2 * np.pi / 13.0)) * 4, -1, 1) * 0.5 + 0.5
    elif sleeve.pattern is Pattern.CHECKS:
        lines = (np.sin(across * (2 * np.pi / 24.0)) > 0).astype(np.float32) + (np.sin(skew * (2 * np.pi / 24.0)) > 0)
        second = 0.42 * lines
    elif sleeve.pattern is Pattern.KNIT:
        ribs = np.sin(across * (2 * np.pi / 3.4)) * 0.6 + 0.4 * np.sin(u * (2 * np.pi / 2.6))
        cloth_height = cloth_height + 0.25 * ribs
        tone = 1 + 0.07 * ribs
    ribbing = np.sin(across * 2 * np.pi / 3.0) * band
    weave = _noise(rng, shape, (1.0 * scale, 1.0 * scale))
    worn = _noise(rng, shape, (40 * scale, 25 * scale))
    stitch = np.exp(-(((behind - sleeve.band_mm) / 1.1) ** 2)) + 0.7 * np.exp(-(((behind - 3.0) / 0.8) ** 2))
    tone = tone * (1 + 0.04 * weave + 0.03 * worn + 0.05 * ribbing - 0.22 * stitch + 0.05 * folds * loose)
    planes = [
        plane + cover * ((first + second * (other - first)) * tone - plane)
        for plane, first, other in zip(cv2.split(albedo), sleeve.cloth[::-1], sleeve.second[::-1], strict=True)
    ]
    return (
        np.where(cover > 0.5, cloth_height, height),
        np.asarray(cv2.merge(planes), np.float32),
        gloss * (1 - cover) + 0.02 * cover,
        np.maximum(alpha, cover),
    )


def _folds(rng: np.random.Generator, shape: tuple[int, int], scale: float) -> Plane:
    """Cloth folds, about -1 to 1: ridges that run round the arm, slanting one way or the other."""
    total = np.zeros(shape, dtype=np.float32)
    height, width = shape
    for slant, grain, share in ((0.55, 15.0, 0.6), (-0.5, 19.0, 0.55), (0.1, 9.0, 0.3)):
        field = _noise(rng, shape, (grain * scale, 60 * scale))
        shear = np.array([[1.0, slant, -slant * height / 2], [0.0, 1.0, 0.0]])
        sheared = cv2.warpAffine(field, shear, (width, height), borderMode=cv2.BORDER_REFLECT)
        total += share * (1 - 2 * np.minimum(np.abs(sheared), 1.0) ** 0.8)
    return blur(total, 1.2 * scale)
