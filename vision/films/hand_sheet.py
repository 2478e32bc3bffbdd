"""Hands from the sheet of mesh hands, with the same skin as drawn ones."""

from __future__ import annotations

import itertools
import json
import math
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from vision.films.arm_looks import ArmLook, Pose
from vision.films.arm_relief import Bone, Digit, Relief, blur, glove_detail, grid, handed, skin_detail
from vision.films.artwork import datasets_folder
from vision.films.hand_mesh import FINGERS, HEIGHT_STEP_MM, SHEET_BOX_MM, SOLE_MM

BELOW_MM = 26.0
"""What hangs below the knuckles is shaded as if it hung no deeper than this: light still reaches it."""

_CHAINS = (
    *tuple(
        tuple(f"{finger}-{bone}" for bone in ("phalanx-proximal", "phalanx-intermediate", "phalanx-distal", "tip"))
        for finger in FINGERS
    ),
    ("thumb-metacarpal", "thumb-phalanx-proximal", "thumb-phalanx-distal", "thumb-tip"),
)
_RADII = ((9.5, 7.8, 6.8, 5.8),) * 3 + ((8.0, 6.6, 5.8, 5.0), (14.0, 10.5, 8.6, 6.8))


@lru_cache(maxsize=8)
def _sheet(pose: Pose) -> tuple[NDArray[np.float32], NDArray[np.float32], tuple[Digit, ...]]:
    """Height over the sole, mm, coverage 0 to 1, and the digits of one pose."""
    folder = datasets_folder() / "films" / "hands"
    picture = cv2.imread(str(folder / f"{pose.value}.png"), cv2.IMREAD_UNCHANGED)
    if picture is None or picture.dtype != np.uint16:
        raise BadInput.of(str(folder), f"a 16-bit picture {pose.value}.png", "none")
    joints: dict[str, Any] = json.loads((folder / "joints.json").read_text())["joints"][pose.value]
    digits = tuple(
        _digit([joints[name] for name in chain], radii) for chain, radii in zip(_CHAINS, _RADII, strict=True)
    )
    cover = (picture > 0).astype(np.float32)
    return (picture * np.float32(HEIGHT_STEP_MM)).astype(np.float32), cover, digits


def _digit(joints: list[list[float]], radii: tuple[float, ...]) -> Digit:
    """Bones between joints; how far each is bent is measured against the way the first one points."""
    points = [(u, v, height - SOLE_MM) for u, v, height in joints]
    (u0, v0, _), (u1, v1, _) = points[0], points[-1] if math.dist(points[0][:2], points[1][:2]) < 4 else points[1]
    length = math.hypot(u1 - u0, v1 - v0) or 1.0
    way = ((u1 - u0) / length, (v1 - v0) / length)
    bones = []
    for number, (start, end) in enumerate(itertools.pairwise(points)):
        forward = (end[0] - start[0]) * way[0] + (end[1] - start[1]) * way[1]
        bones.append(Bone(start, end, radii[number], radii[number + 1], math.atan2(start[2] - end[2], forward)))
    return Digit(tuple(bones))


def mesh_hand_relief(look: ArmLook, pose: Pose, px_per_mm: float) -> Relief:
    """A mesh hand with this look's skin or glove, its nails, veins and rings; a left one is mirrored."""
    rng = np.random.default_rng([look.seed, 5])
    scale = px_per_mm * look.size
    u, v, origin = grid(SHEET_BOX_MM, scale)
    deep, cover, digits = _sheet(pose)
    size = (u.shape[1], u.shape[0])
    alpha = cv2.resize(cover, size, interpolation=cv2.INTER_AREA)
    height = cv2.resize(deep, size, interpolation=cv2.INTER_AREA) / np.maximum(alpha, 0.05)
    alpha = np.asarray(np.clip((blur(np.asarray(alpha, np.float32), 0.4) - 0.12) / 0.76, 0, 1), dtype=np.float32)
    # Around the hand the skin's height falls on, so that the shading has an edge to see.
    low = np.where(alpha > 0.02, height - SOLE_MM, -40.0)
    top = float(np.percentile(low[alpha > 0.5], 80))
    hangs = np.maximum(top - low, 0.0)
    level = top - BELOW_MM * np.tanh(hangs / BELOW_MM) + np.maximum(low - top, 0.0)
    height = np.asarray(blur((level - top + 22.0).astype(np.float32), max(0.6 * scale, 0.5)), dtype=np.float32)
    albedo = np.broadcast_to(np.array(look.skin[::-1], dtype=np.float32), (*u.shape, 3)).astype(np.float32)
    gloss = np.full_like(u, 0.22)
    detail = skin_detail if look.glove is None else glove_detail
    height, albedo, gloss = detail(look, rng, u, v, scale, digits, height, albedo, gloss)
    alpha = alpha * np.clip((u + 20.0) / 8.0, 0, 1)  # the mesh's cut end is under the forearm
    height = blur(height.astype(np.float32), max(0.45 * scale, 0.5))
    return handed(
        look, Relief(height * np.float32(look.size), albedo, alpha.astype(np.float32), gloss, px_per_mm, origin)
    )
