"""Mesh hands: a sheet small enough to ship, that poses, smooths and mirrors as hands do."""

from __future__ import annotations

import json
import struct
from dataclasses import replace

import numpy as np
import pytest

from vision.films.arms import ArmLook, Light, Pose, draw_arm
from vision.films.artwork import datasets_folder
from vision.films.hand_mesh import RiggedHand, height_map, smoothed

LOOK = replace(ArmLook.seeded(np.random.default_rng(4), sleeved=False, mesh=True), left=False, size=1.0)
FOLDER = datasets_folder() / "films" / "hands"


def _cube() -> tuple[np.ndarray, np.ndarray]:
    corners = np.array([(x, y, z) for x in (-20.0, 20.0) for y in (-20.0, 20.0) for z in (-20.0, 20.0)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))]
    return corners, np.array(faces)


def test_the_sheet_is_small_and_whole() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 6_000_000
    joints = json.loads((FOLDER / "joints.json").read_text())["joints"]
    assert {pose.value for pose in Pose} == set(joints)
    assert all(len(named) == 25 for named in joints.values())
    assert "MIT" in (FOLDER / "LICENSE.md").read_text()


def test_a_mesh_hand_is_as_long_as_it_says() -> None:
    alpha = draw_arm(LOOK, Pose.FLAT, 2.0).hand
    columns = np.nonzero((alpha.picture[..., 3] > 0.5).any(axis=0))[0]
    tip_mm = (alpha.to_mm @ np.array([columns.max(), 0, 1]))[0]
    assert tip_mm == pytest.approx(LOOK.length_mm, abs=3.0)


@pytest.mark.parametrize("pose", list(Pose))
def test_poses_differ_and_left_hands_mirror_right_ones(pose: Pose) -> None:
    overhead = Light((0.0, 0.0, 1.0))
    right = draw_arm(LOOK, pose, 1.0, overhead, 0.0).hand.picture
    left = draw_arm(replace(LOOK, left=True), pose, 1.0, overhead, 0.0).hand.picture
    assert np.abs(right - left[::-1]).max() < 1.0
    area = float(right[..., 3].sum())
    assert 4500 < area < 13_500
    for other in set(Pose) - {pose}:
        unlike = draw_arm(LOOK, other, 1.0, overhead, 0.0).hand.picture
        assert np.abs(right[..., 3] - unlike[..., 3]).sum() > 150


def test_a_bent_finger_is_shorter_from_above() -> None:
    reach = {
        pose: np.nonzero((draw_arm(LOOK, pose, 1.0).hand.picture[..., 3] > 0.5).any(axis=0))[0].max()
        for pose in (Pose.FLAT, Pose.REACHING, Pose.REST, Pose.FIST)
    }
    assert reach[Pose.FLAT] > reach[Pose.REACHING] > reach[Pose.REST] > reach[Pose.FIST]


def test_smoothing_rounds_a_cube_and_keeps_it_closed() -> None:
    points, faces = _cube()
    for _ in range(3):
        points, faces = smoothed(points, faces)
    assert len(faces) == 12 * 4**3
    radii = np.linalg.norm(points, axis=1)
    assert radii.max() / radii.min() < 1.25
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()


def test_the_height_map_shows_the_upper_of_two_sheets_without_holes() -> None:
    side = 21
    x, y = (axis.ravel() for axis in np.meshgrid(np.linspace(-20, 20, side), np.linspace(-20, 20, side)))
    at = np.arange(side * side).reshape(side, side)
    a, b, c, d = at[:-1, :-1].ravel(), at[:-1, 1:].ravel(), at[1:, 1:].ravel(), at[1:, :-1].ravel()
    faces = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    upper, lower = np.column_stack([x, y, 20 + 0.1 * x]), np.column_stack([x, y, -20 + 0 * x])
    seen = height_map(np.concatenate([lower, upper]), np.concatenate([faces, faces + len(lower)]))
    rows, columns = np.nonzero(np.isfinite(seen))
    inside = seen[rows.min() + 2 : rows.max() - 1, columns.min() + 2 : columns.max() - 1]
    assert inside.shape[0] == pytest.approx(40 * 5, abs=6)
    assert np.isfinite(inside).all()
    slope = np.linspace(18, 22, inside.shape[1])
    assert np.abs(inside - slope).max() < 0.2


def _one_triangle_glb() -> bytes:
    """The least that is a skinned mesh: three points on one joint that stands 1 m along x."""
    bind = np.eye(4, dtype=np.float32)
    bind[0, 3] = -1.0
    blobs = [
        np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32).tobytes(),
        np.zeros((3, 4), np.uint8).tobytes(),
        np.array([[1, 0, 0, 0]] * 3, np.float32).tobytes(),
        np.array([0, 1, 2, 0], np.uint16).tobytes(),
        bind.T.tobytes(),
    ]
    kinds = [(5126, "VEC3", 3), (5121, "VEC4", 3), (5126, "VEC4", 3), (5123, "SCALAR", 3), (5126, "MAT4", 1)]
    starts = np.concatenate([[0], np.cumsum([len(blob) for blob in blobs])])
    scene = {
        "accessors": [
            {"bufferView": n, "componentType": kind, "type": name, "count": count}
            for n, (kind, name, count) in enumerate(kinds)
        ],
        "bufferViews": [{"buffer": 0, "byteOffset": int(start), "byteLength": 1} for start in starts[:-1]],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "JOINTS_0": 1, "WEIGHTS_0": 2}, "indices": 3}]}],
        "skins": [{"joints": [0], "inverseBindMatrices": 4}],
        "nodes": [{"name": "wrist"}],
    }
    head = json.dumps(scene).encode()
    head += b" " * (-len(head) % 4)
    body = b"".join(blobs)
    total = 12 + 8 + len(head) + 8 + len(body)
    return (
        struct.pack("<4sII", b"glTF", 2, total)
        + struct.pack("<I4s", len(head), b"JSON")
        + head
        + struct.pack("<I4s", len(body), b"BIN\0")
        + body
    )


def test_a_rigged_hand_is_read_from_gltf() -> None:
    hand = RiggedHand.from_glb(_one_triangle_glb())
    assert hand.names == ("wrist",)
    assert hand.points.shape == (3, 3)
    assert hand.faces.shape == (1, 3)
    assert hand.weights.sum(axis=1) == pytest.approx(1.0)
    assert hand.rest[0, :3, 3] == pytest.approx([1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="expected a binary glTF"):
        RiggedHand.from_glb(b"nothing")
