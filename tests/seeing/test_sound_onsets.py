"""Slaps are heard to a fraction of a millisecond, and what was heard helps to say who was first."""

import numpy as np
import pytest

from referee.cards import Pile
from referee.instant import Instant
from vision.hands.order import Offset, finish_of, joined
from vision.sound.onsets import onsets

RATE = 48_000


def _sound(strikes_s: list[float], rng: np.random.Generator, *, rate: int = RATE) -> np.ndarray:
    """Clicks that die away like a palm on wood, in a room with a voice in it."""
    t = np.arange(2 * rate) / rate
    wave = rng.normal(0, 0.003, len(t)) + 0.05 * np.sin(2 * np.pi * 190 * t) * np.sin(2 * np.pi * 3 * t)
    for at in strikes_s:
        after = np.maximum(t - at, 0)
        hit = (t >= at) * np.exp(-after / 0.0015) * rng.normal(0, 1, len(t))
        wave += 0.5 * hit + 0.3 * (t >= at) * np.exp(-after / 0.03) * np.sin(2 * np.pi * 180 * after)
    return wave.astype(np.float32)


@pytest.mark.parametrize("rate", [48_000, 44_100, 16_000])
def test_a_strike_is_heard_where_it_is(rate: int) -> None:
    heard = onsets(_sound([0.70313], np.random.default_rng(3), rate=rate), rate, starts_ns=2_000_000_000)
    assert len(heard) == 1
    assert abs(heard[0].at.at_ns - 2_703_130_000) < max(4 * heard[0].at.sd_ns, 600_000)


def test_two_strikes_a_blink_apart_are_two_and_a_voice_is_none() -> None:
    rng = np.random.default_rng(5)
    assert len(onsets(_sound([], rng), RATE)) == 0
    heard = onsets(_sound([0.8, 0.815], rng), RATE)
    assert len(heard) == 2
    assert abs((heard[1].at.at_ns - heard[0].at.at_ns) - 15_000_000) < 500_000


def test_sound_of_several_channels_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one channel"):
        onsets(np.zeros((100, 2), np.float32), RATE)


def _ms(value: float, sd: float = 0.0) -> Instant:
    return Instant(round(value * 1e6), round(sd * 1e6))


@pytest.mark.parametrize(
    ("story", "seen", "heard", "first_at_least"),
    [
        pytest.param("the picture alone", {"a": _ms(100, 4), "b": _ms(106, 4)}, [], 0.83, id="seen alone"),
        pytest.param(
            "a gap twice as long as seen makes it sure",
            {"a": _ms(100, 4), "b": _ms(106, 4)},
            [_ms(131, 0.2), _ms(146, 0.2)],
            0.98,
            id="seen and heard",
        ),
        pytest.param(
            "one onset for two hands tells no order",
            {"a": _ms(100, 4), "b": _ms(106, 4)},
            [_ms(131, 0.2)],
            0.83,
            id="one onset",
        ),
    ],
)
def test_sound_sharpens_the_order(
    story: str, seen: dict[str, Instant], heard: list[Instant], first_at_least: float
) -> None:
    both = joined(seen, heard)
    assert sum(p for _, p in both.orders) == pytest.approx(1.0)
    assert both.first()["a"] > first_at_least, story
    assert both.before("a", "b") == pytest.approx(both.first()["a"], abs=1e-6)


def test_the_gap_formula_holds() -> None:
    """P(a first) = 1 / (1 + exp(-2·g·d/σ_d²)) for a gap g heard and a difference d seen."""
    gap, difference, sd = 10.0, 3.0, 4.5
    each = sd / np.sqrt(2)
    both = joined({"a": _ms(100, each), "b": _ms(100 + difference, each)}, [_ms(95, 0.01), _ms(95 + gap, 0.01)])
    expected = 1 / (1 + np.exp(-2 * gap * difference / sd**2))
    assert both.first()["a"] == pytest.approx(expected, abs=0.03)


def test_three_hands_and_a_known_offset() -> None:
    seen = {0: _ms(100, 5), 1: _ms(104, 5), 2: _ms(120, 5)}
    both = joined(seen, [_ms(150, 0.2), _ms(163, 0.2), _ms(172, 0.2)], Offset(50_000_000, 1_000_000))
    assert both.last()[2] > 0.9
    assert both.heard > 2
    assert abs(both.instants[2].at_ns - 122_000_000) < 4_000_000
    assert both.instants[2].sd_ns < 4_000_000


def test_a_finish_for_the_rules_adds_up_and_needs_two_hands() -> None:
    spot = Pile("spot")
    assert finish_of({1: _ms(100, 4)}, spot) is None
    finish = finish_of({1: _ms(100, 4), 0: _ms(104, 4)}, spot, [_ms(160, 0.1), _ms(171, 0.1)])
    assert finish is not None
    assert finish.orders[0][0] == (1, 0)
    assert sum(p for _, p in finish.orders) == pytest.approx(1.0)
