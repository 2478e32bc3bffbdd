"""What finding and naming cards costs by backend, beside ultralytics' own predict on the same weights."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vision.cards.reader import FaceReader
from vision.detections import Detector
from vision.detectors.onnx import OnnxDetector
from vision.network import backends

#: Each is done this often, in turns, and the fastest turn counts: what else the machine does only ever adds.
TURNS = 5

#: Crops that are named at a time.
CROPS = 16


def costs(pictures: list[NDArray[np.uint8]], checkpoint: Path | None) -> dict[str, dict[str, float]]:
    """For each backend, ``ms_per_picture`` of one look and ``ms_per_card`` of naming, each on one thread."""
    jobs: dict[str, dict[str, Callable[[], object]]] = {}
    for backend in backends():
        detector, reader = OnnxDetector.shipped(backend=backend), FaceReader.shipped(backend=backend)
        width, height = reader.crop_size_px
        crops = np.stack([np.resize(pictures[0], (height, width, 3))] * CROPS)
        jobs[backend] = {
            "ms_per_picture": partial(_look_at_all, detector, pictures),
            "ms_per_card": partial(reader.probabilities, crops),
        }
        side_px = detector.weights.input_side_px
    if checkpoint is not None and importlib.util.find_spec("ultralytics") is not None:
        from vision.detectors.ultralytics import UltralyticsDetector

        other = UltralyticsDetector(checkpoint, side_px)
        jobs["ultralytics"] = {"ms_per_picture": partial(_look_at_all, other, pictures)}
    best: dict[str, dict[str, float]] = {name: {} for name in jobs}
    for _ in range(TURNS):
        for name, parts in jobs.items():
            for what, job in parts.items():
                began = time.perf_counter()
                job()
                of = len(pictures) if what == "ms_per_picture" else CROPS
                taken = 1000 * (time.perf_counter() - began) / of
                best[name][what] = round(min(taken, best[name].get(what, np.inf)), 2)
    return best


def _look_at_all(detector: Detector, pictures: list[NDArray[np.uint8]]) -> None:
    for one in pictures:
        detector.detect(one)
