"""Hands by palm and landmarks: decoding, suppression, tiles, turned crops, a whole picture, and the bench's count."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path

import cv2
import numpy as np
import pytest

from referee.bad_input import BadInput
from vision.benches.hands import figures, labelled_hands, measure, overlaps, pairs, parse_boxes
from vision.detections import HAND, Detections
from vision.detectors.palms import MIDDLE, WRIST, PalmDetector, Palms, anchors, decoded, roi_of, tiles, weighted
from vision.detectors.palms import _turned_crop as turned_crop
from vision.detectors.recorded import RecordedDetector
from vision.films.arms import ArmLook, ArmPlaces, Light, Pose, draw_arm, paint_arm, paint_shadow
from vision.films.camera import Camera
from vision.training.palms import network_in


@pytest.fixture(scope="module")
def finder() -> PalmDetector:
    return PalmDetector.shipped("onnxruntime")


def painted(*arms: tuple[float, float, float], size: tuple[int, int] = (400, 400)) -> np.ndarray:
    """Drawn bare hands on a grey table, 1 px a mm: middle x, y and heading of each."""
    width, height = size
    canvas = np.full((height, width, 3), (112, 116, 110), np.uint8)
    camera, light = Camera.over((float(width), float(height)), size, fill=1.0), Light()
    for number, (x, y, heading) in enumerate(arms):
        look = ArmLook(seed=number, skin=(0.87, 0.68, 0.565))
        tip = x + 92 * math.cos(heading), y + 92 * math.sin(heading)
        sprite, places = draw_arm(look, Pose.FLAT, 1.5, light, heading), ArmPlaces.of(tip, heading, 0.0, 8.0)
        paint_shadow(canvas, sprite, places, camera, light)
        paint_arm(canvas, sprite, places, camera)
    return canvas


def one_palm(box: tuple[float, ...], wrist: tuple[float, float], knuckle: tuple[float, float], score: float) -> Palms:
    points = np.zeros((1, 7, 2), np.float32)
    points[0, 0], points[0, 2] = wrist, knuckle
    return Palms(np.array([box], np.float32), points, np.array([score], np.float32))


def test_anchors_are_those_of_the_network() -> None:
    middles = anchors()
    assert middles.shape == (2016, 2)
    assert middles[0] == pytest.approx((0.5 / 24, 0.5 / 24))
    assert middles[2] == pytest.approx((1.5 / 24, 0.5 / 24))
    assert middles[1152] == pytest.approx((0.5 / 12, 0.5 / 12))
    assert middles[1158] == pytest.approx((1.5 / 12, 0.5 / 12))


def test_a_raw_row_becomes_a_palm_about_its_anchor() -> None:
    raw = np.zeros((2016, 19), np.float32)
    raw[:, 18] = -200
    raw[1158, :4], raw[1158, 18] = (19.2, -9.6, 38.4, 38.4), 2.0
    found = decoded(raw, 0.5)
    assert len(found) == 1
    assert found.boxes[0] == pytest.approx((0.125, 0.041667 - 0.15, 0.325, 0.041667 + 0.05), abs=1e-5)
    assert found.points[0, 3] == pytest.approx((0.125, 0.041667), abs=1e-5)
    assert found.scores[0] == pytest.approx(1 / (1 + math.exp(-2)))
    with pytest.raises(BadInput, match=r"palms: expected \(2016, 19\)"):
        decoded(raw[:100], 0.5)


def test_palms_that_overlap_are_averaged_by_score_and_others_stay() -> None:
    a = one_palm((0, 0, 10, 10), (0, 0), (0, 0), 0.6)
    b = one_palm((2, 0, 12, 10), (4, 0), (0, 0), 0.9)
    far = one_palm((50, 50, 60, 60), (50, 50), (0, 0), 0.7)
    found = weighted(Palms.joined([a, b, far]))
    assert found.scores.tolist() == pytest.approx([0.9, 0.7])
    assert found.boxes[0] == pytest.approx((1.2, 0, 11.2, 10))
    assert found.points[0, 0] == pytest.approx((2.4, 0))
    assert found.boxes[1] == pytest.approx((50, 50, 60, 60))
    assert len(weighted(found.where(np.zeros(2, bool)))) == 0


@pytest.mark.parametrize(("size", "count"), [((1280, 720), 6), ((720, 1280), 6), ((3840, 2160), 6), ((480, 360), 0)])
def test_tiles_cover_a_picture_and_overlap(size: tuple[int, int], count: int) -> None:
    found = tiles(*size, 192)
    assert len(found) == count
    seen = np.zeros(size[::-1], np.uint8)
    for left, top, right, bottom in found:
        assert right - left == bottom - top == round(0.375 * max(size))
        seen[top:bottom, left:right] += 1
    assert not count or seen.min() == 1


@pytest.mark.parametrize(
    ("knuckle", "turn", "middle"),
    [((50, 20), 0.0, (50, 0)), ((80, 50), math.pi / 2, (100, 50)), ((50, 80), math.pi, (50, 100))],
    ids=["fingers up", "fingers to the right", "fingers down"],
)
def test_the_square_of_a_hand_lies_towards_its_fingers(
    knuckle: tuple[float, float], turn: float, middle: tuple[float, float]
) -> None:
    palm = one_palm((0, 0, 100, 100), (50, 50), knuckle, 0.8)
    at, side, turned, score = roi_of(palm)
    assert at == pytest.approx(middle, abs=1e-3)
    assert (side, turned, score) == (pytest.approx(260), pytest.approx(turn), pytest.approx(0.8))


@pytest.mark.parametrize("side", [60.0, 500.0])
def test_a_crop_with_fingers_up_knows_where_it_was_cut(side: float) -> None:
    image = np.zeros((600, 600, 3), np.uint8)
    cv2.circle(image, (400, 300), 9, (255, 255, 255), -1)
    crop, to_picture = turned_crop(image, np.array([400 - side / 4, 300], np.float32), side, math.pi / 2, 224)
    y, x = (float(axis.mean()) for axis in np.nonzero(crop[..., 0] > 128))
    assert (x, y) == pytest.approx((112, 56), abs=1.5)
    assert to_picture @ (x, y, 1) == pytest.approx((400, 300), abs=3)


@pytest.mark.parametrize("heading", [-1.6, 0.2, 1.9, 3.4])
def test_a_hand_is_found_whole_whichever_way_it_points(finder: PalmDetector, heading: float) -> None:
    image = painted((200, 200, heading))
    (hand,) = finder.hands(image)
    way = hand.points[MIDDLE] - hand.points[WRIST]
    assert math.cos(math.atan2(way[1], way[0]) - heading) > 0.9
    empty = np.full_like(image, (112, 116, 110))
    hand_only = painted((200, 200, heading))
    mask = np.abs(hand_only.astype(int) - empty).max(axis=2) > 25
    ys, xs = np.nonzero(mask)
    along = (xs - 200) * math.cos(heading) + (ys - 200) * math.sin(heading)
    whole = along > -92
    true = np.array([[xs[whole].min(), ys[whole].min(), xs[whole].max(), ys[whole].max()]], float)
    assert overlaps(true, hand.box()[None].astype(float))[0, 0] > 0.6


def test_small_hands_in_a_large_picture_are_found_in_its_tiles(finder: PalmDetector) -> None:
    image = painted((250, 200, 1.2), (900, 560, -1.4), size=(1280, 720))
    found = finder.detect(image)
    assert found.labels.tolist() == [HAND, HAND]
    middles = sorted(tuple(found.quads.mean(axis=1).round().astype(int).tolist()[k]) for k in range(2))
    assert middles[0] == pytest.approx((250, 200), abs=40)
    assert middles[1] == pytest.approx((900, 560), abs=40)
    assert (found.boxes()[:, 2:] - found.boxes()[:, :2]).max() < 260


def test_nothing_is_found_on_an_empty_table(finder: PalmDetector) -> None:
    assert len(finder.detect(np.full((300, 400, 3), 120, np.uint8))) == 0


def test_boxes_are_paired_as_many_as_can_be() -> None:
    """The first label agrees with both boxes, the second with the first box only."""
    true = np.array([[0, 0, 10, 10], [0, 2, 10, 12]], float)
    told = np.array([[0, 1, 10, 11], [0, -4, 10, 6]], float)
    assert (overlaps(true, told) >= 0.4).tolist() == [[True, True], [True, False]]
    assert pairs(true, told, 0.4) == 2
    assert pairs(true, told[:0], 0.4) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1\t2\t3\n", r"boxes, line 1: expected x y width height, got 1\t2\t3"),
        ("1 2 3 4\n5 6 0 8\n", "boxes, line 2: expected a box with a size"),
        ("one 2 3 4\n", "boxes, line 1"),
        ("1 2 nan 4\n", "boxes, line 1: expected a box with a size"),
    ],
)
def test_a_line_that_is_no_box_is_named(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        parse_boxes(text)


def test_the_bench_counts_found_missed_and_invented(tmp_path: Path) -> None:
    for folder in ("images", "boxes"):
        (tmp_path / folder).mkdir()
    for name, boxes in (("1", "10\t10\t20\t20\n50 50 20 20\n"), ("2", "\n"), ("3", "0 0 30 30")):
        cv2.imwrite(str(tmp_path / "images" / f"{name}.png"), np.zeros((80, 80, 3), np.uint8))
        (tmp_path / "boxes" / f"{name}.txt").write_text(boxes)
    hits = [[(10, 10, 30, 30)], [(0, 0, 9, 9)], [(0, 0, 30, 12)]]
    recorded = [
        Detections(
            np.array([[(a, b), (c, b), (c, d), (a, d)] for a, b, c, d in boxes], np.float32),
            np.array([HAND] * len(boxes)),
            np.full(len(boxes), 0.9, np.float32),
        )
        for boxes in hits
    ]
    told = figures(list(measure(labelled_hands(tmp_path), RecordedDetector(recorded))))
    assert (told["hands"], told["told"], told["found_0.5_n"], told["found_0.3_n"]) == (3, 3, 1, 2)
    assert told["missed"] == ["1.png", "3.png"]
    assert told["invented"] == ["2.png", "3.png"]
    assert told["false_an_image_0.5"] == pytest.approx(2 / 3, abs=1e-4)


def test_a_folder_without_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="a folder with images/ and boxes/"):
        labelled_hands(tmp_path)
    (tmp_path / "images").mkdir()
    (tmp_path / "boxes").mkdir()
    with pytest.raises(BadInput, match="expected pictures, got none"):
        labelled_hands(tmp_path)


def test_only_the_wheel_that_is_meant_is_converted(tmp_path: Path) -> None:
    wheel = tmp_path / "some.whl"
    with pytest.raises(BadInput, match=r"some\.whl: expected a wheel of mediapipe 0\.10\.14"):
        network_in(wheel, "palm-detector")
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("mediapipe/modules/palm_detection/palm_detection_full.tflite", b"another")
    with pytest.raises(BadInput, match="expected SHA-256 1b14e942"):
        network_in(wheel, "palm-detector")
