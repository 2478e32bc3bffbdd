"""Arms are painted where their places say, to a hundredth of a pixel, and blurred and sheared as cameras do."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from vision.films.arms import ArmLook, ArmPlaces, Light, Pose, ReadOut, draw_arm, paint_arm, paint_shadow
from vision.films.camera import Camera

SIZE = (480, 360)
CAMERA = Camera(*SIZE, focal_px=1200.0, centre_px=(239.5, 179.5), looks_at_mm=(400.0, 300.0), distance_mm=1200.0)
LOOK = replace(ArmLook.seeded(np.random.default_rng(4), sleeved=False), left=False, size=0.8)
SPRITE = draw_arm(LOOK, Pose.FLAT, 1.4, Light(), 0.0)


def _coverage(places: ArmPlaces, read_out: ReadOut | None = None, camera: Camera = CAMERA) -> np.ndarray:
    """How much of each pixel the arm hides: what is left of a white canvas less what it adds to a black one."""
    white = np.full((SIZE[1], SIZE[0], 3), 255, np.float32)
    black = np.zeros_like(white)
    paint_arm(white, SPRITE, places, camera, read_out)
    paint_arm(black, SPRITE, places, camera, read_out)
    return 1 - (white - black).mean(axis=2) / 255


def _middle_y(coverage: np.ndarray) -> float:
    return float((coverage.sum(axis=1) * np.arange(SIZE[1])).sum() / coverage.sum())


def _tip(y: float | np.ndarray, height: float = 0.0) -> ArmPlaces:
    """An arm that comes in from the left, all at one height."""
    return ArmPlaces.of((430.0, y), 0.0, height, height, height)


@pytest.mark.parametrize("step_mm", [0.01, 0.05, 0.2, 0.37])
def test_a_small_step_moves_the_arm_by_exactly_as_much(step_mm: float) -> None:
    before, after = _coverage(_tip(300.0)), _coverage(_tip(300.0 + step_mm))
    moved = _middle_y(after) - _middle_y(before)
    assert moved == pytest.approx(step_mm * 1.0, abs=0.003)  # 1200 px of focal length over 1200 mm: 1 px a mm


def test_a_hand_that_comes_nearer_grows_as_the_camera_says() -> None:
    low, high = _coverage(_tip(300.0)).sum(axis=0), _coverage(_tip(300.0, 200.0)).sum(axis=0)
    # At the picture's middle the same part of the arm (u) is seen at the same x at any height.
    at = SIZE[0] // 2 - 40
    u_low, u_high = 400 + (at - 239.5), 400 + (at - 239.5) * 1000 / 1200
    there = 239.5 + (u_high - 400) * 1.2
    assert there == pytest.approx(at)
    same_part = round(239.5 + (u_low - 400) * 1200 / 1000)
    assert high[same_part] / low[at] == pytest.approx(1.2, abs=0.015)


def test_motion_blur_is_the_average_over_the_exposure() -> None:
    ys = np.linspace(296.0, 304.0, 9)
    blurred = _coverage(ArmPlaces.of((430.0, ys), 0.0, 0.0, 0.0, 0.0))
    sharp = np.mean([_coverage(_tip(y)) for y in ys], axis=0)
    wrist = round(239.5 + 430.0 - 400.0 - LOOK.length_mm)
    for part in (slice(0, wrist - 40), slice(wrist + 20, None)):  # at the wrist two sprites overlap
        assert np.abs(blurred - sharp)[:, part].max() < 2e-3
    assert _middle_y(blurred) == pytest.approx(_middle_y(_coverage(_tip(300.0))), abs=0.01)


@pytest.mark.parametrize("along_x", [False, True])
@pytest.mark.parametrize("backwards", [False, True])
def test_each_line_of_a_rolling_shutter_shows_its_own_moment(along_x: bool, backwards: bool) -> None:
    read_out = ReadOut(along_x, backwards)
    speed_mm = 30.0  # over one read-out
    delays = read_out.delays(SIZE)
    rolled = _coverage(ArmPlaces.of((430.0, 300.0 + speed_mm * delays), 0.0, 0.0, 0.0, 0.0).reshape(1, -1), read_out)
    lines = SIZE[0] if along_x else SIZE[1]
    for line in (110, 150, 181, 200):
        share = (line - (lines - 1) / 2) / lines * (-1 if backwards else 1)
        still = _coverage(_tip(300.0 + speed_mm * share))
        got, expected = (rolled[:, line], still[:, line]) if along_x else (rolled[line], still[line])
        assert np.abs(got - expected).max() < 4e-3


def test_the_shadow_falls_away_from_the_lamp_and_softens_with_height() -> None:
    light = Light((-1.0, 0.0, 1.0), ambient=0.3, breadth=0.2)
    edges = []
    for height in (5.0, 90.0):
        canvas = np.full((SIZE[1], SIZE[0], 3), 200, np.float32)
        places = ArmPlaces.of((400.0, 300.0), math.pi / 2, height, height, height)
        paint_shadow(canvas, SPRITE, places, CAMERA, light)
        row = 200 - canvas[60, :, 0]
        edges.append((float((row * np.arange(SIZE[0])).sum() / row.sum()), float(np.abs(np.diff(row)).max())))
    assert edges[1][0] - edges[0][0] == pytest.approx(85.0, abs=25.0)  # the sky's part stays below the arm
    assert edges[1][1] < 0.5 * edges[0][1]


@pytest.mark.parametrize("pose", list(Pose))
def test_a_left_hand_is_a_right_hand_in_a_mirror(pose: Pose) -> None:
    right = draw_arm(LOOK, pose, 1.0, Light((0.0, 0.0, 1.0)), 0.0).hand.picture
    left = draw_arm(replace(LOOK, left=True), pose, 1.0, Light((0.0, 0.0, 1.0)), 0.0).hand.picture
    assert np.abs(right - left[::-1]).max() < 1.0


def test_the_same_seed_draws_the_same_arm_and_others_draw_others() -> None:
    looks = [ArmLook.seeded(np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert looks[0] == looks[1] != looks[2]


def test_a_hand_has_a_persons_size() -> None:
    alpha = draw_arm(replace(LOOK, size=1.0, slender=1.0), Pose.REACHING, 2.0).hand.picture[..., 3]
    grown = draw_arm(replace(LOOK, size=1.0, slender=1.0), Pose.FLAT, 2.0).hand.picture[..., 3]
    knuckles = slice(round((60 + 84) * 2.0), round((60 + 95) * 2.0))
    fingers = slice(round((105 - 46) * 2.0), None)  # the thumb lies further left
    widest = (alpha > 0.5)[fingers, knuckles].sum(axis=0).max() / 2.0
    tip = np.nonzero((grown > 0.5).any(axis=0))[0].max() / 2.0 - 60.0
    assert 78 <= widest <= 98
    assert 178 <= tip <= 192
