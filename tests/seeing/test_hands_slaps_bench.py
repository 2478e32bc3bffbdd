"""The bench of slaps runs, and its figures mean what they say."""

import argparse
import json
from pathlib import Path

import pytest

from vision.benches import slaps
from vision.benches.wilson import wilson


def _hand(error_ms: float | None, sd_ms: float = 3.0, clip: int = 1) -> slaps.HandResult:
    return slaps.HandResult(
        clip=clip, fps=60.0, nominal=True, held_out=False, family="straight", strike="sideways", layer=0,
        error_ms=error_ms, sd_ms=sd_ms, stepping_ms=8.0,
    )  # fmt: skip


def _clip(*hands: slaps.HandResult) -> slaps.ClipResult:
    return slaps.ClipResult(hands, True, True, None, ((10.0, 0.999),), 0, 0, len(hands), 100.0, 50)


def test_figures_of_known_errors() -> None:
    figures = slaps.report([_clip(_hand(2.0), _hand(-2.0)), _clip(_hand(0.0), _hand(12.0))])
    assert figures["hands"] == 4
    assert figures["rmse_ms"] == pytest.approx(6.16, abs=0.01)
    assert figures["bias_ms"] == pytest.approx(3.0)
    assert figures["coverage95"] == pytest.approx(0.75)
    # Shifted to 10 ms both ways round, only the pair that is 12 ms off goes wrong, in one of two ways.
    assert figures["right_at_10ms"] == pytest.approx(0.75)
    assert figures["right_at_15ms"] == pytest.approx(1.0)
    assert figures["lost"] == 0.0


def test_a_hand_that_was_not_seen_is_lost_and_its_order_a_coins_toss() -> None:
    figures = slaps.report([_clip(_hand(0.0), _hand(None, float("inf")))])
    assert figures["lost"] == pytest.approx(0.5)
    assert figures["right_at_33ms"] == pytest.approx(0.5)
    assert figures["called"] == pytest.approx(0.0)


def test_wilson_interval_is_wide_for_few_and_holds_its_share() -> None:
    low, high = wilson(9, 10)
    assert low < 0.9 < high
    assert high - low > 0.3
    assert wilson(0, 0) == (0.0, 1.0)


def test_one_rendered_clip_goes_all_the_way(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    args = argparse.Namespace(
        fps="60",
        hands="2",
        n=1,
        group="nominal",
        jobs=1,
        no_held_out=True,
        seconds=600.0,
        quick=True,
        seed=5,
        results=tmp_path / "hands.jsonl",
    )
    assert slaps.run(args) == 0
    last = capsys.readouterr().out.strip().splitlines()[-1]
    figures = json.loads(last)
    assert figures["clips"] == 1
    assert len((tmp_path / "hands.jsonl").read_text().splitlines()) == figures["hands"]
    assert figures["hands"] >= 2
    assert set(figures["by_fps"]) == {"60"}
    for name in ("timed", "coverage95", "right_at_10ms", "called", "false_slaps", "stepping_rmse_ms", "worst_family"):
        assert name in figures


def test_a_slap_that_was_taken_back_is_counted_apart_from_one_that_stands() -> None:
    hand = _hand(0.0)
    stands = slaps.ClipResult((hand,), True, True, None, (), 1, 0, 1, 100.0, 50)
    taken_back = slaps.ClipResult((hand,), True, True, None, (), 0, 1, 1, 100.0, 50)
    figures = slaps.report([stands, taken_back, taken_back, taken_back])
    assert figures["false_slaps"] == pytest.approx(250)
    assert figures["false_slaps_at_first"] == pytest.approx(1000)
