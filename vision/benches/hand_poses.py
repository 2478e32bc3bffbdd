"""The benchmark of telling how a hand is held: rendered hands from a mesh, which no limit was set on."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.benches.cards import wilson
from vision.detectors.palms import PalmDetector
from vision.films.arms import ArmLook, ArmPlaces, Light, draw_arm, paint_arm, paint_shadow
from vision.films.arms import Pose as Held
from vision.films.camera import Camera
from vision.films.tables import TOPS, light_gain, table_top
from vision.hands.pose import Pose, pose_of

HELP = "how a hand is held, flat, pinching or resting: rendered hands, whose pose is known"

#: Pictures of each pose.
FULL, QUICK = 40, 5
#: What is right to say; of the other poses, nothing.
SAY = {Held.FLAT: Pose.FLAT, Held.PINCH: Pose.PINCHING, Held.REST: Pose.RESTING}
#: How much higher than the fingertips the wrist is held, mm, as films have it.
_WRIST_MM = {Held.FLAT: 8.0, Held.REACHING: 30.0, Held.PINCH: 30.0}
_SIDE_PX = 360

Rng = np.random.Generator
Picture = NDArray[np.uint8]


def add(parser: argparse.ArgumentParser) -> None:
    """Add the bench's own options."""
    parser.add_argument("--n", type=int, help=f"pictures of each pose (default {FULL}, quick {QUICK})")
    parser.add_argument("--drawn", action="store_true", help="drawn hands, on which the limits were set")
    parser.add_argument("--backend", help="onnxruntime or openvino (default: what is installed)")


def run(args: argparse.Namespace) -> int:
    """Render, ask, print a table, and as the last line one JSON object."""
    each = args.n or (QUICK if args.quick else FULL)
    hands = PalmDetector.shipped(args.backend)
    said: Counter[tuple[Held, Pose | None]] = Counter()
    for number, (held, image, box) in enumerate(pictures(each, int(args.seed), mesh=not args.drawn), 1):
        said[held, pose_of(image, box, hands)] += 1
        if sys.stderr.isatty():
            print(f"\r{number}/{each * len(Held)} pictures", end="", file=sys.stderr)
    print(table(said))
    told = {"bench": "poses", "seed": args.seed, "hands": "drawn" if args.drawn else "mesh", **figures(said)}
    print(json.dumps(told))
    return 0


def pictures(each: int, seed: int, *, mesh: bool) -> Iterator[tuple[Held, Picture, tuple[float, float, float, float]]]:
    """Pictures of each pose, (360, 360, 3) uint8, about 1 px a mm, with the box of the hand."""
    rng = np.random.default_rng(seed)
    for _ in range(each):
        for held in Held:
            yield held, *hand_picture(rng, held, mesh=mesh)


def hand_picture(rng: Rng, held: Held, *, mesh: bool) -> tuple[Picture, tuple[float, float, float, float]]:
    """One person's hand on some table under some lamp, seen up to 30° aslant, and the box of its visible part."""
    look = ArmLook.seeded(rng, mesh=mesh)
    light = Light((*rng.uniform(-0.8, 0.8, 2).tolist(), 1.0), ambient=float(rng.uniform(0.3, 0.6)))
    side = _SIDE_PX
    camera = Camera.over((side, side), (side, side), tilt_deg=float(rng.uniform(0, 30)), fill=1.15)
    board = table_top(TOPS[int(rng.integers(len(TOPS)))], rng, 2 * side, 2 * side, 1.0)
    laid = camera.homography_at(0.0) @ np.array([[1.0, 0, -side / 2], [0, 1.0, -side / 2], [0, 0, 1.0]])
    bare = np.asarray(cv2.warpPerspective(board, laid, (side, side), flags=cv2.INTER_LINEAR), np.uint8)
    heading = float(rng.uniform(0, 2 * math.pi))
    towards = np.array([math.cos(heading), math.sin(heading)])
    tip = side / 2 + 85 * towards + rng.uniform(-25, 25, 2)
    low = float(rng.uniform(0, 15))
    places = ArmPlaces.of(
        (tip[0], tip[1]), heading, low, low + _WRIST_MM.get(held, 14.0), 90.0,
        float(rng.normal(0, 0.15)), float(rng.normal(0, 0.05)),
    )  # fmt: skip
    arm = draw_arm(look, held, 1.2, light, heading)
    image = bare.copy()
    paint_shadow(image, arm, places, camera, light)
    shaded = image.copy()
    paint_arm(image, arm, places, camera)
    box = _box(np.abs(image.astype(np.int16) - shaded).max(axis=2) > 4, tip - look.length_mm * towards, towards, camera)
    seen = cv2.GaussianBlur(image, (0, 0), 0.6).astype(np.float32) * light_gain(rng, side, side)[..., None]
    return np.clip(seen + rng.normal(0, 3, seen.shape), 0, 255).astype(np.uint8), box


def _box(
    arm: NDArray[np.bool_], wrist_mm: NDArray[np.float64], towards: NDArray[np.float64], camera: Camera
) -> tuple[float, float, float, float]:
    """The box of what of an arm lies before its wrist."""
    wrist, ahead = camera.project([wrist_mm, wrist_mm + towards])
    ys, xs = np.nonzero(arm)
    before = (np.stack([xs, ys], axis=1) - wrist) @ (ahead - wrist) > 0
    xs, ys = xs[before], ys[before]
    return float(xs.min()), float(ys.min()), float(xs.max() + 1), float(ys.max() + 1)


def figures(said: Counter[tuple[Held, Pose | None]]) -> dict[str, object]:
    """The figures of the benchmark, flat: of what was said, how much is right; of what could be said, how much was."""
    dared = sum(count for (_, pose), count in said.items() if pose is not None)
    right = sum(count for (held, pose), count in said.items() if pose is not None and SAY.get(held) is pose)
    sayable = sum(count for (held, _), count in said.items() if held in SAY)
    low, high = wilson(right, dared)
    out: dict[str, object] = {
        "images": said.total(),
        "said": dared,
        "right_of_said": round(right / dared, 4) if dared else None,
        "right_of_said_low": round(low, 4),
        "right_of_said_high": round(high, 4),
        "told_of_the_three": round(right / sayable, 4) if sayable else None,
    }
    for pose in Pose:
        of = sum(count for (_, told), count in said.items() if told is pose)
        good = sum(count for (held, told), count in said.items() if told is pose and SAY.get(held) is pose)
        out |= {f"said_{pose}": of, f"right_{pose}": good}
    return out


def table(said: Counter[tuple[Held, Pose | None]]) -> str:
    """Rows: how the hand is held; columns: what was said of it."""
    columns = (*Pose, None)
    head = f"{'held':<10}" + "".join(f"{pose or 'nothing':>10}" for pose in columns)
    rows = [f"{held.value:<10}" + "".join(f"{said[held, pose]:>10}" for pose in columns) for held in Held]
    told = figures(said)
    last = (
        f"right of what was said: {told['right_of_said']} ({told['right_of_said_low']}–{told['right_of_said_high']})"
        f" of {told['said']}; of flat, pinching and resting hands told: {told['told_of_the_three']}"
    )
    return "\n".join([head, *rows, last])
