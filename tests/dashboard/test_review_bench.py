"""The bench of `review` without a table file, once at a tiny size, and how it counts."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from vision.films.slap_spec import SlapSpec
from vision.table import SeatSpot, Table
from web import review_bench
from web.cli import main
from web.review_bench import Reviewed, figures_of


def test_a_tiny_run_reviews_a_clip_and_prints_its_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = replace(SlapSpec(fps=30, hands=2, read_out_s=0.0), size_px=(384, 216), px_per_mm=0.66, sound=False)
    monkeypatch.setattr(SlapSpec, "drawn", classmethod(lambda cls, rng, **conditions: small))
    assert main(["bench", "review", "--clips", "1", "--films", "0", "--seed", "3"]) == 0
    row, last = capsys.readouterr().out.splitlines()
    figures = json.loads(last)
    assert row.startswith("clip 0: straight")
    assert (figures["bench"], figures["clips"], figures["refused"]) == ("review", 1, 0)
    assert figures["piles_found"] == 1
    assert figures["seats_exact"] == 1


def reviewed(true: int, told: int, matched: int, first: str) -> Reviewed:
    return Reviewed("clip", "plain", "", 3.0, true, told, matched, 0.02, first, first, 1, "", 1.0)


def test_a_seat_too_many_is_counted_and_a_hand_alone_is_no_race() -> None:
    figures = figures_of([reviewed(3, 3, 3, "right"), reviewed(2, 3, 2, "missed"), reviewed(2, 1, 1, "alone")])
    assert figures["seats_exact"] == pytest.approx(1 / 3, abs=1e-4)
    assert figures["seats_found"] == pytest.approx(6 / 7, abs=1e-4)
    assert figures["seats_too_many"] == 1
    assert figures["slaps"] == 2
    assert (figures["first_right"], figures["first_missed"]) == (0.5, 0.5)


def test_seats_are_matched_by_direction_one_to_one() -> None:
    corners = ((0.0, 0.0), (400.0, 0.0), (400.0, 300.0), (0.0, 300.0))

    def table(*ways: float) -> Table:
        at = [(200 + 140 * math.cos(math.radians(w)), 150 + 140 * math.sin(math.radians(w))) for w in ways]
        return Table(corners, (400.0, 300.0), (400, 300), tuple(SeatSpot(n, place) for n, place in enumerate(at)))

    middle = (200.0, 150.0)
    assert review_bench._seats(table(0, 20, 95), middle, table(90, 5, 200), middle) == {0: 1, 2: 0}
