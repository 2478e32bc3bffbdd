"""The vote over frames, the fit of loose quads, and the calibration's arithmetic."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from vision.cards.calibrate import threshold, with_keys
from vision.cards.refine import refined
from vision.cards.seen import SeenCard
from vision.cards.vote import Vote

QUAD = np.array([[0, 0], [6, 0], [6, 9], [0, 9]], np.float32)


def frame(**told: float) -> SeenCard:
    ranked = tuple(sorted(((name.replace("x", ""), p) for name, p in told.items()), key=lambda pair: -pair[1]))
    best, confidence = ranked[0]
    return SeenCard(best if confidence > 0.8 else None, "up", confidence, QUAD, ranked)


DOWN = SeenCard(None, "down", 0.9, QUAD)


@pytest.mark.parametrize(
    ("frames", "card", "face"),
    [
        pytest.param([frame(x7c=0.7, x7s=0.3)], None, "up", id="one doubtful frame stays doubtful"),
        pytest.param([frame(x7c=0.7, x7s=0.3)] * 12, "7c", "up", id="many frames that lean one way decide"),
        pytest.param(
            [frame(x7c=0.7, x7s=0.3), frame(x7s=0.7, x7c=0.3)] * 5, None, "up", id="frames that disagree abstain"
        ),
        pytest.param([frame(x7c=0.95)] * 9 + [frame(Kd=0.99)], "7c", "up", id="one wrong frame does not turn a vote"),
        pytest.param([frame(nothing=0.7, x7c=0.3)] * 12, None, "up", id="what is rather no card is never named so"),
        pytest.param([DOWN, DOWN, frame(x7c=0.6)], None, "down", id="mostly face down is face down"),
    ],
)
def test_votes(frames: list[SeenCard], card: str | None, face: str) -> None:
    vote = Vote()
    for one in frames:
        vote = vote.with_frame(one)
    verdict = vote.verdict(0.8)
    assert verdict is not None
    assert (verdict.card, verdict.face) == (card, face)


def test_a_vote_grows_surer_but_not_as_if_frames_were_independent() -> None:
    vote = Vote()
    stated = []
    for _ in range(10):
        vote = vote.with_frame(frame(x7c=0.7, x7s=0.3))
        verdict = vote.verdict(0.8)
        assert verdict is not None
        stated.append(verdict.confidence)
    assert stated == sorted(stated)
    assert 0.85 < stated[-1] < 0.95


def test_before_the_first_frame_there_is_no_verdict() -> None:
    assert Vote().verdict(0.8) is None


@pytest.mark.parametrize(
    ("table", "card"), [(60, 235), (215, 235), (200, 40)], ids=["dark table", "white on white", "black card"]
)
def test_a_loose_quad_is_fitted_to_the_cards_edges(table: int, card: int) -> None:
    """A card seen obliquely is a parallelogram; the detector's oriented box about it is loose at every corner."""
    truth = np.array([[150, 80], [245, 110], [215, 250], [118, 222]], np.float32)
    picture = np.full((340, 360, 3), table, np.uint8)
    cv2.fillConvexPoly(picture, truth.astype(np.int32), (card, card, card), cv2.LINE_AA)
    for middle in ((170, 140), (195, 190)):
        cv2.circle(picture, middle, 12, (30, 30, 200), -1)
    noisy = picture + np.random.default_rng(3).normal(0, 3, picture.shape)
    loose = cv2.boxPoints(cv2.minAreaRect(truth * 1.03 - 4)).astype(np.float32)
    order = np.argmin(np.linalg.norm(loose[:, None] - truth[None], axis=2), axis=0)
    quad, support = refined(noisy.clip(0, 255).astype(np.uint8), loose[order])
    assert support > 0.8
    assert np.abs(quad - truth).max() < 4


def test_without_an_edge_the_loose_quad_stays() -> None:
    quad, support = refined(np.full((300, 300, 3), 120, np.uint8), QUAD * 15 + 60)
    assert support == 0
    assert np.array_equal(quad, QUAD * 15 + 60)


def test_the_threshold_is_the_least_that_keeps_its_promise() -> None:
    confidence = np.array([0.99, 0.95, 0.9, 0.8, 0.7])
    right = np.array([True, True, False, True, False])
    assert threshold(confidence, right, 0.2) == pytest.approx(0.75)
    assert threshold(confidence, right, 0.0) == pytest.approx(0.925)


def test_numbers_in_a_model_toml_are_replaced_and_the_rest_stays() -> None:
    described = "# why\ntemperature = 1.0  # stated\nstd = 0.25\n"
    told = with_keys(described, temperature=0.5, min_confidence=0.75)
    assert told == "# why\ntemperature = 0.5  # stated\nstd = 0.25\nmin_confidence = 0.75\n"
