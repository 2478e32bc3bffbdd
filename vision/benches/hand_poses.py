"""The benchmark of telling how a hand is held, flat, pinching or resting, from its 21 points in one picture.

Not in the product: on mesh hands, on which no limit was set, it is right too seldom (`docs/slaps.md`).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from vision.benches.hands import overlaps
from vision.benches.wilson import wilson
from vision.detectors.palms import INDEX, MIDDLE, PINKY, RING, THUMB, WRIST, Hand, PalmDetector
from vision.films.arms import ArmLook, ArmPlaces, Light, draw_arm, paint_arm, paint_shadow
from vision.films.arms import Pose as Held
from vision.films.camera import Camera
from vision.films.tables import TOPS, light_gain, table_top

HELP = "how a hand is held, flat, pinching or resting: rendered hands, whose pose is known"


class Pose(StrEnum):
    """How a hand is held."""

    FLAT = "flat"
    PINCHING = "pinching"
    RESTING = "resting"


#: Pictures of each pose.
FULL, QUICK = 40, 5
#: What is right to say; of the other poses, nothing.
SAY = {Held.FLAT: Pose.FLAT, Held.PINCH: Pose.PINCHING, Held.REST: Pose.RESTING}
#: How much higher than the fingertips the wrist is held, mm, as films have it.
_WRIST_MM = {Held.FLAT: 8.0, Held.REACHING: 30.0, Held.PINCH: 30.0}
_SIDE_PX = 360

#: `pose_of` looks at a square about the box, so many times its longer side: the detector wants some wrist and table.
_AROUND = 1.5
#: A hand that lies elsewhere in it is another one.
_SAME_IOU = 0.3
#: The landmarks' presence below which nothing is said.
_SURE = 0.8
# The limits below lie between the poses of 60 drawn hands; mesh hands say what they are worth.
#: How straight a finger is: from its root to its tip, over the length of its bones.
_ALL_STRAIGHT = 0.93
_LOOSE = (0.80, 0.925)
#: Lengths in the picture, over that from the wrist to the middle finger's root: from the thumb's tip to the
#: forefinger's, and a finger from root to tip.
_TOUCHING, _APART = 0.45, 0.5
_LONG = 0.55
#: A forefinger that holds a card reaches out farther than one in a fist.
_NO_FIST = 0.2

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


def pose_of(image: Picture, box: ArrayLike, hands: PalmDetector) -> Pose | None:
    """How the hand in a box is held; None where that isn't plain, or where the network sees no hand there.

    image: (h, w, 3) uint8 BGR. box: left, top, right, bottom in pixels, the whole hand; about 0.1 s.
    """
    left, top, right, bottom = np.asarray(box, np.float64).reshape(4)
    half = _AROUND * max(right - left, bottom - top) / 2
    x, y = (left + right) / 2, (top + bottom) / 2
    height, width = image.shape[:2]
    columns = slice(max(0, round(x - half)), max(0, min(width, round(x + half))))
    rows = slice(max(0, round(y - half)), max(0, min(height, round(y + half))))
    cut = image[rows, columns]
    if min(cut.shape[:2]) < 2:
        return None
    here = np.array([left, top, right, bottom]) - (columns.start, rows.start, columns.start, rows.start)
    found = hands.hands(cut, tiled=False)
    if not found:
        return None
    same = overlaps(here[None], np.stack([hand.box() for hand in found]).astype(np.float64))[0]
    return pose_in(found[int(same.argmax())]) if same.max() >= _SAME_IOU else None


def pose_in(hand: Hand) -> Pose | None:
    """How a hand with these points is held: one of three poses that are far from each other, or None."""
    if hand.presence < _SURE:
        return None
    straight = np.array([_straight(hand, root) for root in (INDEX, MIDDLE, RING, PINKY)])
    palm = max(float(np.linalg.norm(hand.points[MIDDLE] - hand.points[WRIST])), 1e-6)
    gap = float(np.linalg.norm(hand.points[THUMB + 3] - hand.points[INDEX + 3])) / palm
    reach = [float(np.linalg.norm(hand.points[root + 3] - hand.points[root])) / palm for root in (INDEX, MIDDLE)]
    if straight.min() >= _ALL_STRAIGHT and min(reach) >= _LONG and gap >= _APART:
        return Pose.FLAT
    if gap <= _TOUCHING and reach[0] >= _NO_FIST and straight.mean() <= _LOOSE[1]:
        return Pose.PINCHING
    if _LOOSE[0] <= straight.mean() <= _LOOSE[1] and min(reach) >= _LONG and gap >= _APART:
        return Pose.RESTING
    return None


def _straight(hand: Hand, root: int) -> float:
    """1 for a straight finger, less for a bent one; in space, as the network takes it to lie."""
    finger = hand.world_m[root : root + 4].astype(np.float64)
    bones = np.linalg.norm(np.diff(finger, axis=0), axis=1).sum()
    return float(np.linalg.norm(finger[-1] - finger[0]) / max(float(bones), 1e-9))


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
