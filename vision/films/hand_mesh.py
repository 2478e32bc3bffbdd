"""Makes the sheet of mesh hands: a rigged hand in glTF is posed, smoothed and looked at from above.

``python -m vision.films.hand_mesh right.glb datasets/films/hands`` writes one 16-bit height picture a pose and
`joints.json`. The hand is `dist/profiles/generic-hand/right.glb` of the npm package
`@webxr-input-profiles/assets` (MIT); its 25 joints follow WebXR: -Z along the bone, +Y out of the hand's back.
"""

from __future__ import annotations

import argparse
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.films.arm_looks import HAND_MM, Pose

Matrix = NDArray[np.float64]
Faces = NDArray[np.int64]

SHEET_BOX_MM = (-24.0, 204.0, -104.0, 84.0)
"""u from, u to, v from, v to: u from the wrist to the fingertips, v to the right of a right hand."""
SHEET_PX_PER_MM = 2.5
HEIGHT_STEP_MM = 0.01
"""A picture's value of 1; 0 is no hand."""
SOLE_MM = 100.0
"""Every height is raised by this, for bent fingers reach below the palm."""

FINGERS = ("index-finger", "middle-finger", "ring-finger", "pinky-finger")
_BONES = ("phalanx-proximal", "phalanx-intermediate", "phalanx-distal")
_THUMB = ("thumb-metacarpal", "thumb-phalanx-proximal", "thumb-phalanx-distal", "thumb-tip")

# The mesh's axes seen from above its back: u along -y, v along z, height along x.
_FROM_MESH = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])

# Joints' own axes: across the finger, and out of the hand's back.
_ACROSS, _OUT = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])

# Degrees beside the mesh's own, nearly flat rest. Fingers: (spread to the right, three bends down);
# thumb: (turned towards the fingers, raised), then two bends of its outer joints.
_POSES: dict[Pose, tuple[tuple[tuple[float, float, float, float], ...], tuple[float, float, float, float]]] = {
    Pose.FLAT: (((-9, -3, 2, 2), (-4, -3, 2, 4), (1, -3, 2, 3), (7, -2, 2, 3)), (-6, 20, 0, -6)),
    Pose.REACHING: (((-1, 8, 14, 8), (-3, 8, 16, 10), (-7, 9, 16, 10), (-9, 9, 18, 12)), (26, 12, 8, 6)),
    Pose.PINCH: (((0, 42, 30, 8), (-2, 46, 44, 22), (-6, 52, 54, 30), (-8, 56, 58, 30)), (34, -6, 14, 2)),
    Pose.REST: (((-3, 18, 28, 16), (-3, 20, 32, 18), (-4, 22, 34, 20), (-3, 22, 34, 20)), (8, 6, 8, 8)),
    Pose.FIST: (((0, 72, 88, 50), (-3, 74, 92, 50), (-7, 76, 92, 50), (-9, 76, 92, 50)), (40, -4, 22, 20)),
    Pose.POINT: (((-2, 0, 3, 3), (-3, 68, 92, 50), (-7, 74, 92, 50), (-9, 76, 92, 50)), (38, -4, 22, 20)),
}


@dataclass(frozen=True, slots=True)
class RiggedHand:
    """A hand's skin and bones, metres, in the mesh's own axes.

    points: (n, 3); faces: (m, 3); weights: (n, 25) that add up to 1; rest: (25, 4, 4) of the named joints.
    """

    points: Matrix
    faces: Faces
    weights: Matrix
    rest: Matrix
    names: tuple[str, ...]

    @classmethod
    def from_glb(cls, data: bytes) -> RiggedHand:
        """Read a binary glTF with one skinned mesh."""
        if data[:4] != b"glTF":
            raise ValueError(f"expected a binary glTF file, got one that starts with {data[:4]!r}")
        length = struct.unpack("<I", data[12:16])[0]
        scene = json.loads(data[20 : 20 + length])
        blob = data[28 + length :]
        mesh = scene["meshes"][0]["primitives"][0]
        skin = scene["skins"][0]
        attributes = mesh["attributes"]
        points = _accessor(scene, blob, attributes["POSITION"]).astype(np.float64)
        faces = _accessor(scene, blob, mesh["indices"]).reshape(-1, 3).astype(np.int64)
        joints = _accessor(scene, blob, attributes["JOINTS_0"]).astype(np.int64)
        shares = _accessor(scene, blob, attributes["WEIGHTS_0"]).astype(np.float64)
        nodes = [scene["nodes"][joint] for joint in skin["joints"]]
        weights = np.zeros((len(points), len(nodes)))
        np.add.at(weights, (np.arange(len(points))[:, None], joints), shares)
        # Seams of the texture double some points: one skin needs them once.
        _, first, single = np.unique(points.round(7), axis=0, return_index=True, return_inverse=True)
        faces = np.asarray(single.reshape(-1)[faces])
        faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])]
        binds = _accessor(scene, blob, skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
        weights = weights[first] / weights[first].sum(axis=1, keepdims=True)
        names = tuple(str(node["name"]) for node in nodes)
        return cls(points[first], faces, weights, np.linalg.inv(binds.astype(np.float64)), names)

    def posed(self, pose: Pose) -> tuple[Matrix, dict[str, Matrix]]:
        """(n, 3) points and each joint's (4, 4), in u, v, height metres."""
        fingers, (towards, raised, *outer) = _POSES[pose]
        turned = {name: self.rest[self.names.index(name)].copy() for name in self.names}
        for finger, (spread, *bends) in zip(FINGERS, fingers, strict=True):
            chain = [f"{finger}-{bone}" for bone in _BONES] + [f"{finger}-tip"]
            moves = [_about(_OUT, -spread) @ _about(_ACROSS, -bends[0])]
            moves += [_about(_ACROSS, -bend) for bend in bends[1:]]
            self._bend(turned, chain, moves)
        base = turned[_THUMB[0]][:3, :3]
        along_v, along_h = _FROM_MESH.T @ np.array([0.0, 1.0, 0.0]), _FROM_MESH.T @ np.array([0.0, 0.0, 1.0])
        # u, v, height are left-handed seen from the mesh's axes: a turn towards +v is about -height.
        swing = _about(-along_h, towards) @ _about(-along_v, raised)
        moves = [base.T @ swing @ base, *(_about(_ACROSS, -bend) for bend in outer)]
        self._bend(turned, list(_THUMB), moves)
        skin = np.stack([turned[name] @ np.linalg.inv(rest) for name, rest in zip(self.names, self.rest, strict=True)])
        moved = np.einsum(
            "nj,jab,nb->na", self.weights, skin, np.column_stack([self.points, np.ones(len(self.points))])
        )
        out = {}
        for name, joint in turned.items():
            seen = np.eye(4)
            seen[:3, :3], seen[:3, 3] = _FROM_MESH @ joint[:3, :3], _FROM_MESH @ joint[:3, 3]
            out[name] = seen
        return moved[:, :3] @ _FROM_MESH.T, out

    def _bend(self, turned: dict[str, Matrix], chain: Sequence[str], moves: Sequence[Matrix]) -> None:
        """Turn each joint of a chain in its own axes, and carry along what hangs on it."""
        for number, name in enumerate(chain):
            rest = self.rest[self.names.index(name)]
            if number:
                parent = self.rest[self.names.index(chain[number - 1])]
                turned[name] = turned[chain[number - 1]] @ np.linalg.inv(parent) @ rest
            if number < len(moves):
                turned[name][:3, :3] = turned[name][:3, :3] @ moves[number]


def _about(axis: Matrix, degrees: float) -> Matrix:
    """(3, 3) turn about a unit axis."""
    return np.asarray(cv2.Rodrigues(axis * np.radians(degrees))[0], dtype=np.float64)


def _accessor(scene: Any, blob: bytes, index: int) -> NDArray[Any]:
    accessor = scene["accessors"][index]
    view = scene["bufferViews"][accessor["bufferView"]]
    kind = {5121: np.uint8, 5123: np.uint16, 5125: np.uint32, 5126: np.float32}[accessor["componentType"]]
    width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}[accessor["type"]]
    start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    flat = np.frombuffer(blob, dtype=kind, count=accessor["count"] * width, offset=start)
    return flat.reshape(-1, width) if width > 1 else flat


def smoothed(points: Matrix, faces: Faces) -> tuple[Matrix, Faces]:
    """One step of Loop's subdivision: four faces for one, corners rounded."""
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    opposite = np.concatenate([faces[:, 2], faces[:, 0], faces[:, 1]])
    unique, which, count = np.unique(edges, axis=0, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    middles = points[unique].mean(axis=1)
    across = np.zeros_like(middles)
    np.add.at(across, which, points[opposite])
    inner = count == 2
    middles[inner] = 0.75 * middles[inner] + 0.125 * across[inner]
    ring, degree = np.zeros_like(points), np.zeros(len(points))
    rim_ring, rim_degree = np.zeros_like(points), np.zeros(len(points))
    for a, b in ((0, 1), (1, 0)):
        np.add.at(ring, unique[:, a], points[unique[:, b]])
        np.add.at(degree, unique[:, a], 1)
        np.add.at(rim_ring, unique[~inner][:, a], points[unique[~inner][:, b]])
        np.add.at(rim_degree, unique[~inner][:, a], 1)
    degree = np.maximum(degree, 1)
    beta = (0.625 - (0.375 + 0.25 * np.cos(2 * np.pi / degree)) ** 2) / degree
    rounded = (1 - degree * beta)[:, None] * points + beta[:, None] * ring
    rim = rim_degree == 2
    rounded[rim] = 0.75 * points[rim] + 0.125 * rim_ring[rim]
    total = len(points)
    m01, m12, m20 = (total + which[n * len(faces) : (n + 1) * len(faces)] for n in range(3))
    a, b, c = faces.T
    split = np.concatenate(
        [np.column_stack(each) for each in ((a, m01, m20), (m01, b, m12), (m20, m12, c), (m01, m12, m20))]
    )
    return np.concatenate([rounded, middles]), split


def height_map(points_mm: Matrix, faces: Faces) -> NDArray[np.float32]:
    """(h, w) float32 mm over `SHEET_BOX_MM`, NaN where there is no hand: the highest skin at each pixel."""
    u0, u1, v0, v1 = SHEET_BOX_MM
    scale = SHEET_PX_PER_MM * 2
    width, height = round((u1 - u0) * scale), round((v1 - v0) * scale)
    steps = 7
    shares = np.array([(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)]) / steps
    spread = np.einsum("sk,fkd->fsd", shares, points_mm[faces]).reshape(-1, 3)
    x = np.floor((spread[:, 0] - u0) * scale).astype(np.int64)
    y = np.floor((spread[:, 1] - v0) * scale).astype(np.int64)
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    top = np.full(width * height, -1e3, dtype=np.float32)
    np.maximum.at(top, y[inside] * width + x[inside], spread[inside, 2].astype(np.float32))
    grown = cv2.morphologyEx(top.reshape(height, width), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    return np.where(grown > -500, grown, np.nan).astype(np.float32)


def make_sheet(glb: Path, out: Path) -> list[Path]:
    """Write the sheet of all poses of a right hand; returns what was written."""
    hand = RiggedHand.from_glb(glb.read_bytes())
    flat, joints = hand.posed(Pose.FLAT)
    wrist = joints["wrist"][:3, 3]
    mm = HAND_MM / (float(flat[:, 0].max()) - float(wrist[0]))
    out.mkdir(parents=True, exist_ok=True)
    written, sheet = [], {}
    for pose in Pose:
        points, joints = hand.posed(pose)
        faces = hand.faces
        for _ in range(2):
            points, faces = smoothed(points, faces)
        map_mm = height_map((points - wrist) * mm + (0.0, 0.0, SOLE_MM), faces)
        coarse = cv2.resize(np.nan_to_num(map_mm), None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
        cover = cv2.resize(np.isfinite(map_mm).astype(np.float32), None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
        value = np.where(cover > 0.5, coarse / np.maximum(cover, 0.5) / HEIGHT_STEP_MM, 0).clip(0, 65535)
        path = out / f"{pose.value}.png"
        cv2.imwrite(str(path), value.round().astype(np.uint16), [cv2.IMWRITE_PNG_COMPRESSION, 9])
        written.append(path)
        sheet[pose.value] = {
            name: ((joint[:3, 3] - wrist) * mm + (0.0, 0.0, SOLE_MM)).round(2).tolist()
            for name, joint in joints.items()
        }
    path = out / "joints.json"
    path.write_text(json.dumps({"px_per_mm": SHEET_PX_PER_MM, "joints": sheet}, indent=0) + "\n")
    return [*written, path]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the sheet of mesh hands.")
    parser.add_argument("glb", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    make_sheet(given.glb, given.out)
