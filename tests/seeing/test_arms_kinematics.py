"""Hands move as bodies do: no jumps, no table passed through, and contact when the first part comes down."""

from __future__ import annotations

import numpy as np
import pytest

from vision.films.arms import ArmLook
from vision.films.kinematics import HELD_OUT, NO_CONTACT, Family, Motion, Run, Strike, visit

SURFACE_MM = 6.0


def _motions(family: Family, strike: Strike, count: int = 4) -> list[Motion]:
    rng = np.random.default_rng([7, list(Family).index(family), list(Strike).index(strike)])
    return [
        visit(
            rng,
            ArmLook.seeded(rng),
            0,
            -1.57,
            (500.0, 300.0),
            strike,
            family,
            arrives_s=1.0,
            surface_mm=SURFACE_MM,
        )
        for _ in range(count)
    ]


def _low(motion: Motion, at_s: np.ndarray) -> np.ndarray:
    """Height of the hand's lowest end over the pile, mm; a flick's wrist is down before its fingers."""
    places = motion.places(at_s)
    if motion.cocked_mm > 0:
        return places.tip_height_mm - SURFACE_MM
    return np.minimum(places.tip_height_mm, places.wrist_height_mm - 3.0) - SURFACE_MM


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize("family", list(Family))
def test_hands_move_at_human_speeds_without_jumps(family: Family, strike: Strike) -> None:
    step = 2e-4
    for motion in _motions(family, strike, 2):
        at = np.arange(motion.starts_s - 0.02, motion.ends_s + 0.02, step)
        places = motion.places(at)
        speed = np.hypot(np.gradient(places.tip_x_mm, step), np.gradient(places.tip_y_mm, step))
        assert speed.max() < 6000
        for height in (places.tip_height_mm, places.wrist_height_mm):
            assert np.abs(np.diff(height)).max() < 5000 * step
        assert _low(motion, at).min() > -0.01


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize("family", [family for family in Family if family not in NO_CONTACT])
def test_contact_is_when_the_fall_of_the_first_part_is_broken(family: Family, strike: Strike) -> None:
    step = 1e-5
    for motion in _motions(family, strike):
        contact = motion.contact_s
        assert contact == 1.0
        at = np.arange(contact - 0.006, contact + 0.003, step)
        low = _low(motion, at)
        fall = -np.gradient(low, step)
        assert fall[at < contact - 3 * step].min() > 0
        broken = at[int(np.argmin(np.gradient(fall, step)))]
        assert broken == pytest.approx(contact, abs=0.00005)


@pytest.mark.parametrize("family", sorted(NO_CONTACT, key=lambda family: family.value))
def test_a_hand_that_only_hovers_or_passes_never_touches(family: Family) -> None:
    for strike in Strike:
        for motion in _motions(family, strike):
            assert motion.contact_s is None
            assert motion.contacts_s == ()
            at = np.linspace(motion.starts_s, motion.ends_s, 2000)
            assert _low(motion, at).min() > 5.0


def test_a_double_tap_touches_twice() -> None:
    for motion in _motions(Family.DOUBLE_TAP, Strike.OBLIQUE):
        first, second = motion.contacts_s
        between = np.linspace(first + motion.tap_after_s, second, 101)
        assert _low(motion, between).max() > 6.0
        assert abs(_low(motion, np.array([second]))[0] - _low(motion, np.array([second + 1e-4]))[0]) < 0.3


def test_what_is_still_is_still() -> None:
    for family in Family:
        for motion in _motions(family, Strike.SIDEWAYS):
            at = np.linspace(motion.starts_s - 0.1, motion.ends_s + 0.1, 1500)
            places = motion.places(at)
            for now, until in zip(range(0, 1490, 10), range(10, 1500, 10), strict=True):
                if motion.still(float(at[now]), float(at[until])):
                    assert abs(places.tip_x_mm[until] - places.tip_x_mm[now]) < 0.05
                    assert abs(places.tip_height_mm[until] - places.tip_height_mm[now]) < 0.05


def test_a_run_covers_its_distance_and_ends_at_its_speed() -> None:
    run = Run(distance=200.0, peak=2000.0, final=900.0, brake_s=0.06, even_s=0.01)
    assert run.to_go(np.array([0.0, run.whole_s, run.whole_s + 1]))[:3] == pytest.approx([0.0, 200.0, 200.0])
    assert run.to_go(np.array([1e-5]))[0] / 1e-5 == pytest.approx(900.0, rel=0.01)
    with pytest.raises(ValueError, match="expected a run of over"):
        Run(distance=50.0, peak=2000.0, final=2000.0, brake_s=0.06)


def test_some_families_are_held_back() -> None:
    assert {family.value for family in HELD_OUT} >= {"double tap", "glove"}
    assert len(HELD_OUT - NO_CONTACT) >= 3
