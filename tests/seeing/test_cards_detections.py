"""Detections, the decoding of networks' raw output, the recorded detector, quads and tiles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from referee.bad_input import BadInput
from vision.cards.find import CardFinder, tiles
from vision.cards.quads import clockwise_from_a_short_side, iou, without_duplicates
from vision.detections import CARD_FACE, Detections
from vision.detectors.onnx import OnnxDetector, decoded_corners, decoded_oriented_boxes
from vision.detectors.recorded import RecordedDetector, Recorder
from vision.weights import Weights

CLASSES = ("card face", "card back")


def upright(x: float, y: float, w: float = 60, h: float = 90) -> list[list[float]]:
    return [[x, y], [x + w, y], [x + w, y + h], [x, y + h]]


def detections(*quads: list[list[float]], scores: list[float] | None = None) -> Detections:
    n = len(quads)
    return Detections(np.array(quads, np.float32), np.full(n, CARD_FACE), np.array(scores or [0.9] * n, np.float32))


def test_arrays_that_do_not_belong_together_are_refused_and_all_that_is_wrong_is_said() -> None:
    with pytest.raises(ValueError, match=r"quads: expected .*; labels: expected") as refused:
        Detections(np.zeros((2, 4), np.float32), np.array(["a", "b", "c"]), np.array([0.5, 1.5], np.float32))
    assert "scores: expected 0 to 1" in str(refused.value)


def test_a_filter_gives_the_same_type_with_all_arrays_filtered() -> None:
    found = detections(upright(0, 0), upright(200, 0), scores=[0.3, 0.8])
    sure = found.where(found.scores > 0.5)
    assert isinstance(sure, Detections)
    assert sure.quads[0, 0].tolist() == [200, 0]
    assert len(sure.labelled("card back")) == 0


def test_an_oriented_box_is_decoded_to_its_corners() -> None:
    # One anchor says: a card at (100, 50), 40 wide, 20 high, turned by 90 degrees; another is below the threshold.
    raw = np.array([[100, 0], [50, 0], [40, 9], [20, 9], [0.9, 0.1], [0.2, 0.2], [np.pi / 2, 0]], np.float32)
    found = decoded_oriented_boxes(raw, CLASSES, 0.25)
    assert found.labels.tolist() == ["card face"]
    assert found.scores == pytest.approx([0.9])
    assert found.boxes()[0] == pytest.approx([90, 30, 110, 70], abs=1e-4)


def test_four_corners_are_decoded_with_and_without_visibility() -> None:
    corners = np.array(upright(10, 20)).ravel()
    raw = np.concatenate([[40, 65, 60, 90, 0.1, 0.7], corners]).astype(np.float32)[:, None]
    found = decoded_corners(raw, CLASSES, 0.25)
    assert found.labels.tolist() == ["card back"]
    assert found.quads[0].tolist() == upright(10, 20)
    seen = np.insert(corners.reshape(4, 2), 2, 1.0, axis=1).ravel()
    same = decoded_corners(np.concatenate([raw[:6, 0], seen]).astype(np.float32)[:, None], CLASSES, 0.25)
    assert same.quads.tolist() == found.quads.tolist()


def test_output_of_another_network_is_refused() -> None:
    with pytest.raises(BadInput, match=r"expected \(7, anchors\) numbers, got \(8, 3\)"):
        decoded_oriented_boxes(np.zeros((8, 3), np.float32), CLASSES, 0.25)


@pytest.mark.parametrize(
    ("second", "kept"),
    [
        pytest.param(upright(4, 3), 1, id="the same card twice is one"),
        pytest.param(upright(5, 5, 30, 45), 1, id="half a card inside a card is none of its own"),
        pytest.param(upright(35, 0), 2, id="a fanned card of which an index shows stays"),
        pytest.param(upright(300, 0), 2, id="another card stays"),
    ],
)
def test_duplicates(second: list[list[float]], kept: int) -> None:
    assert len(without_duplicates(detections(upright(0, 0), second, scores=[0.9, 0.8]))) == kept


def test_corners_go_clockwise_from_a_short_side_whatever_they_came_as() -> None:
    quad = np.array(upright(10, 20), np.float32)
    for turned in (quad, quad[::-1], np.roll(quad, 1, axis=0), np.roll(quad[::-1], 1, axis=0)):
        (ordered,) = clockwise_from_a_short_side(turned[None])
        first, second = ordered[1] - ordered[0], ordered[2] - ordered[1]
        assert np.linalg.norm(first) < np.linalg.norm(second)
        assert first[0] * second[1] - first[1] * second[0] > 0
        assert iou(ordered, quad) == pytest.approx(1)


def test_what_was_recorded_is_repeated_exactly_and_then_nothing(tmp_path: Path) -> None:
    picture = np.zeros((100, 100, 3), np.uint8)
    recorder = Recorder(RecordedDetector([detections(upright(1, 2)), Detections.none()]))
    first, second = recorder.detect(picture), recorder.detect(picture)
    recorder.save(tmp_path / "found.jsonl")
    replayed = RecordedDetector.load(tmp_path / "found.jsonl")
    for expected in (first, second, Detections.none()):
        got = replayed.detect(picture)
        assert got.quads.tolist() == expected.quads.tolist()
        assert got.labels.tolist() == expected.labels.tolist()


def test_a_bad_recording_is_one_line_with_its_number(tmp_path: Path) -> None:
    (tmp_path / "cut.jsonl").write_text('{"quads": [], "labels": [], "scores": []}\n{"quads": [[[0', "utf-8")
    with pytest.raises(BadInput, match=r"cut.jsonl, line 2: expected quads, labels and scores"):
        RecordedDetector.load(tmp_path / "cut.jsonl")


@pytest.mark.parametrize(
    ("width", "height", "side"), [(640, 480, 960), (4000, 3000, 960), (961, 100, 960), (50, 9000, 700)]
)
def test_tiles_cover_the_picture_and_overlap(width: int, height: int, side: float) -> None:
    covered = np.zeros((height, width), np.uint8)
    for left, top, right, bottom in tiles(width, height, side, 150):
        assert right - left <= side + 1
        assert bottom - top <= side + 1
        covered[top:bottom, left:right] += 1
    assert covered.min() >= 1
    if width > side:
        assert (covered[0] > 1).sum() >= 149


class OneCardAtItsTrainedSize:
    """Finds the one card of a picture only when it is looked at between 100 and 220 pixels long."""

    def __init__(self, quad: list[list[float]], weights: Weights) -> None:
        self.weights = weights
        self.scales: list[float] = []
        self._quad = detections(quad, scores=[0.9])

    def detect_at(self, image: np.ndarray, scale: float) -> Detections:
        self.scales.append(scale)
        side = float(self._quad.long_sides_px()[0]) * scale
        return self._quad if 60 < side < 300 else Detections.none()


def test_a_card_too_large_in_the_first_look_is_looked_at_again_at_the_trained_size() -> None:
    weights = Weights("w", Path("w.onnx"), "detector", "yolo-obb", CLASSES, input_side_px=512, card_side_px=150)
    detector = OneCardAtItsTrainedSize(upright(100, 100, 400, 560), weights)
    found = CardFinder(detector).detect(np.zeros((1024, 1024, 3), np.uint8))
    assert len(found) == 1
    assert detector.scales[0] == pytest.approx(0.5)
    assert detector.scales[-1] * 560 == pytest.approx(150)


def test_the_shipped_detector_finds_nothing_on_an_empty_table() -> None:
    assert len(OnnxDetector.shipped(backend="onnxruntime").detect(np.full((300, 400, 3), 90, np.uint8))) == 0
