"""How a hand is held: told from points that are plain, kept silent otherwise, asked of a picture."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from vision.benches.hand_poses import Pose, figures, hand_picture, pose_in, pose_of
from vision.detectors.palms import INDEX, MIDDLE, PINKY, RING, THUMB, Hand, PalmDetector
from vision.films.arms import Pose as Held

ROOTS = {INDEX: -25.0, MIDDLE: 0.0, RING: 20.0, PINKY: 38.0}


def hand(bends: dict[int, float] | float, thumb_tip: tuple[float, float], presence: float = 0.95) -> Hand:
    """A right hand seen from above, fingers up, 1 px a mm: each finger bent down at every joint by so many degrees."""
    points = np.zeros((21, 3))
    for root, x in ROOTS.items():
        bend = bends if isinstance(bends, float) else bends.get(root, 0.0)
        at, turn = np.array([x, -90.0, 0.0]), 0.0
        points[root] = at
        for joint, length in enumerate((42.0, 26.0, 22.0), 1):
            at = at + length * np.array([0.0, -np.cos(np.radians(turn)), np.sin(np.radians(turn))])
            points[root + joint], turn = at, turn + bend
    points[THUMB : THUMB + 4, :2] = np.linspace((-25, -20), thumb_tip, 4)
    return Hand(points[:, :2].astype(np.float32), (points / 1000).astype(np.float32), presence, 0.9)


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (hand(4.0, (-75, -90)), Pose.FLAT),
        (hand(33.0, (-70, -90)), Pose.RESTING),
        (hand({INDEX: 45.0, MIDDLE: 50.0, RING: 60.0, PINKY: 60.0}, (-30, -125)), Pose.PINCHING),
        (hand(100.0, (-30, -95)), None),
        (hand({INDEX: 0.0, MIDDLE: 95.0, RING: 95.0, PINKY: 95.0}, (-30, -95)), None),
        (hand(4.0, (-75, -90), presence=0.6), None),
    ],
    ids=["a slap", "lying loosely bent", "a card between thumb and forefinger", "a fist", "pointing", "hardly a hand"],
)
def test_a_pose_is_told_only_where_it_is_plain(held: Hand, said: Pose | None) -> None:
    assert pose_in(held) is said


@pytest.fixture(scope="module")
def finder() -> PalmDetector:
    return PalmDetector.shipped("onnxruntime")


def test_a_picture_with_a_flat_hand_is_told_so_and_elsewhere_nothing_is(finder: PalmDetector) -> None:
    image, box = hand_picture(np.random.default_rng(3), Held.FLAT, mesh=False)
    assert pose_of(image, box, finder) is Pose.FLAT
    assert pose_of(image, (0, 0, 40, 40), finder) is None
    assert pose_of(image, (900, 900, 950, 950), finder) is None
    assert pose_of(image, (-200, -200, -100, -100), finder) is None


def test_the_bench_counts_what_was_said_of_poses_that_have_no_name_as_wrong() -> None:
    said = Counter(
        {
            (Held.FLAT, Pose.FLAT): 6,
            (Held.FLAT, None): 2,
            (Held.REST, Pose.FLAT): 1,
            (Held.PINCH, Pose.PINCHING): 1,
            (Held.FIST, Pose.PINCHING): 2,
            (Held.FIST, None): 8,
        }
    )
    told = figures(said)
    assert told["said"] == 10
    assert told["right_of_said"] == 0.7
    assert told["told_of_the_three"] == 0.7
    assert (told["said_pinching"], told["right_pinching"]) == (3, 1)
