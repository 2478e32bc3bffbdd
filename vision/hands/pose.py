"""How a hand is held in one picture: flat, pinching or resting, told from its 21 points, or not told."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from vision.detectors.palms import INDEX, MIDDLE, PINKY, RING, THUMB, WRIST, Hand, PalmDetector
from vision.hands.pixels import Image

#: What is looked at is a square about the box, so many times its longer side: the detector wants some wrist and table.
_AROUND = 1.5
#: A hand that lies elsewhere in it is another one.
_SAME_IOU = 0.3
#: The landmarks' presence below which nothing is said.
_SURE = 0.8
# The limits below lie between the poses of 60 drawn hands (`vision/films/arm_relief.py`); what they are worth was
# measured on mesh hands, which they never saw (`palmreader bench poses`).
#: How straight a finger is: from its root to its tip, over the length of its bones.
_ALL_STRAIGHT = 0.93
_LOOSE = (0.80, 0.925)
#: Lengths in the picture, over that from the wrist to the middle finger's root: from the thumb's tip to the
#: forefinger's, and a finger from root to tip.
_TOUCHING, _APART = 0.45, 0.5
_LONG = 0.55
#: A forefinger that holds a card reaches out farther than one in a fist.
_NO_FIST = 0.2


class Pose(StrEnum):
    """How a hand is held."""

    FLAT = "flat"
    PINCHING = "pinching"
    RESTING = "resting"


def pose_of(image: Image, box: ArrayLike, hands: PalmDetector) -> Pose | None:
    """How the hand in a box is held; None where that isn't plain, or where the network sees no hand there.

    image: (h, w, 3) uint8 BGR. box: left, top, right, bottom in pixels, the whole hand; about 0.1 s.
    """
    left, top, right, bottom = np.asarray(box, np.float64).reshape(4)
    half = _AROUND * max(right - left, bottom - top) / 2
    x, y = (left + right) / 2, (top + bottom) / 2
    height, width = image.shape[:2]
    columns = slice(max(0, round(x - half)), min(width, round(x + half)))
    rows = slice(max(0, round(y - half)), min(height, round(y + half)))
    cut = image[rows, columns]
    if min(cut.shape[:2]) < 2:
        return None
    here = np.array([left, top, right, bottom]) - (columns.start, rows.start, columns.start, rows.start)
    found = hands.hands(cut, tiled=False)
    same = [(_iou(here, hand.box().astype(np.float64)), hand) for hand in found]
    overlap, hand = max(same, key=lambda one: one[0], default=(0.0, None))
    return None if hand is None or overlap < _SAME_IOU else pose_in(hand)


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


def _iou(a: np.ndarray, b: np.ndarray) -> float:
    """Intersection over union of two boxes (4,)."""
    shared = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0).prod()
    union = (a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - shared
    return float(shared / union) if union > 0 else 0.0
