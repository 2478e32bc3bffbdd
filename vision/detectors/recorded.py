"""A detector that repeats what was recorded: for tests, and for reading again without the weights."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from vision.detections import Detections, Detector


class RecordedDetector:
    """Gives the recorded detections one after another, whatever the picture; then finds nothing more."""

    def __init__(self, recorded: Iterable[Detections]) -> None:
        """Repeat these, one a picture."""
        self._rest: Iterator[Detections] = iter(recorded)

    def detect(self, image: NDArray[np.uint8]) -> Detections:
        """The next recorded detections."""
        return next(self._rest, None) or Detections.none()

    @classmethod
    def load(cls, path: Path) -> RecordedDetector:
        """Read JSON lines written by `Recorder`."""
        return cls([_parse(path, number, line) for number, line in enumerate(_lines(path), 1)])


class Recorder:
    """Passes a detector's findings through and keeps them."""

    def __init__(self, detector: Detector) -> None:
        """Record what ``detector`` finds."""
        self._detector = detector
        self.recorded: list[Detections] = []

    def detect(self, image: NDArray[np.uint8]) -> Detections:
        """What the detector finds; kept."""
        found = self._detector.detect(image)
        self.recorded.append(found)
        return found

    def save(self, path: Path) -> None:
        """Write one JSON line a picture."""
        lines = [
            json.dumps(
                {
                    "quads": found.quads.round(2).tolist(),
                    "labels": found.labels.tolist(),
                    "scores": found.scores.round(4).tolist(),
                }
            )
            for found in self.recorded
        ]
        path.write_text("".join(line + "\n" for line in lines), "utf-8")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except OSError as error:
        raise BadInput.of(str(path), "recorded detections", error.strerror or type(error).__name__) from None
    except UnicodeDecodeError:
        raise BadInput.of(str(path), "recorded detections as JSON lines", "something that is not text") from None


def _parse(path: Path, number: int, line: str) -> Detections:
    try:
        told = json.loads(line)
        quads = np.asarray(told["quads"], np.float32).reshape(-1, 4, 2)
        return Detections(quads, np.asarray(told["labels"], np.str_), np.asarray(told["scores"], np.float32))
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput.of(f"{path}, line {number}", "quads, labels and scores", error) from None
