"""A stop between frames is found from the approach, with a doubt that holds."""

import cv2
import numpy as np
import pytest

from vision.hands.kink import Track, fit
from vision.hands.register import Patch, identity, pyramid


def _track(rng: np.random.Generator, fps: float, contact_s: float, tau_s: float, speed: float) -> Track:
    n = max(9, int(0.16 * fps))
    at = (np.arange(n) - int(n * 0.6)) / fps
    fine = at[:, None] + np.linspace(-0.002, 0.002, 9)
    s = fine - contact_s
    moved = np.where(s < 0, speed * (s - tau_s), -speed * tau_s * np.exp(-np.maximum(s, 0) / tau_s)).mean(axis=1)
    noise = 0.4
    return Track(at[:, None], (moved + rng.normal(0, noise, n))[:, None], np.full((n, 1), noise))


@pytest.mark.parametrize(("fps", "largest_rmse_ms"), [(30.0, 3.5), (60.0, 2.2), (120.0, 1.8)])
def test_stops_are_found_between_frames_with_honest_doubt(fps: float, largest_rmse_ms: float) -> None:
    rng = np.random.default_rng(11)
    errors, inside = [], 0
    for _ in range(60):
        contact_s = float(rng.uniform(0, 1 / fps))
        kink = fit(_track(rng, fps, contact_s, float(rng.uniform(0.002, 0.008)), 2000.0), -0.05, 0.05)
        errors.append((kink.at_s - contact_s) * 1e3)
        # Two milliseconds for what contact means are added by whoever states an instant.
        inside += abs(kink.at_s - contact_s) < 1.96 * np.hypot(kink.sd_s, 0.001)
        assert kink.gentle < 0.05
    assert np.sqrt(np.mean(np.square(errors))) < largest_rmse_ms
    assert inside >= 50


def test_a_hand_that_is_laid_down_is_not_taken_for_a_slap() -> None:
    at = np.arange(14) / 60.0 - 0.14
    moved = -90.0 * (1 - np.clip((at + 0.14) / 0.18, 0, 1) ** 2 * (3 - 2 * np.clip((at + 0.14) / 0.18, 0, 1)))
    kink = fit(Track(at[:, None], moved[:, None], np.full((14, 1), 0.4)), -0.06, 0.06)
    assert kink.speed_mmps[0] < 900
    assert kink.gentle > 0.5 or kink.misfit > 1.0 or kink.sd_s > 0.004


@pytest.mark.parametrize("stops_s", [0.12, 0.2, 0.3])
def test_a_hand_that_slows_down_by_itself_over_the_pile_is_told_from_one_that_is_stopped(stops_s: float) -> None:
    rng = np.random.default_rng(4)
    at = (np.arange(14) - 9) / 60.0
    gentle = []
    for _ in range(12):
        to_go = np.maximum(rng.uniform(0, 1 / 60) - at, 0.0)
        moved = 0.5 * 2200.0 / stops_s * to_go**2 + rng.normal(0, 0.3, 14)
        sd = np.hypot(0.3, 0.03 * np.abs(moved))
        gentle.append(fit(Track(at[:, None], moved[:, None], sd[:, None]), -0.05, 0.04).gentle)
    assert np.median(gentle) > 0.6


def test_a_patch_is_found_again_to_a_tenth_of_a_pixel() -> None:
    rng = np.random.default_rng(2)
    scene = cv2.GaussianBlur(rng.normal(0, 60, (240, 320)).astype(np.float32), (0, 0), 3) * 4 + 120
    weights = np.zeros((240, 320), np.float32)
    weights[80:180, 120:220] = 1.0
    turn, size = 0.06, 1.03
    linear = size * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    middle = np.array([169.5, 129.5])
    warp = np.column_stack([linear, middle + np.array([7.3, -4.6]) - linear @ middle])
    moved = cv2.warpAffine(scene, warp, (320, 240), borderMode=cv2.BORDER_REFLECT)
    moved = (moved * 0.9 + 8 + rng.normal(0, 1.0, moved.shape)).astype(np.float32)
    patch = Patch(scene, weights)
    found = patch.find(pyramid(moved), [identity()])
    corners = np.array([[120.0, 80.0], [219.0, 179.0], [169.5, 129.5]])
    at = corners @ found.warp[:, :2].T + found.warp[:, 2]
    assert np.abs(at - (corners @ linear.T + warp[:, 2])).max() < 0.1
    assert 0 < found.covariance[2, 2] < 0.05
    assert found.likeness > 0.98
