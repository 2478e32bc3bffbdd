"""A detector that serves an ultralytics .pt checkpoint directly, for those who train: needs the extra `train`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from vision.cards.quads import clockwise_from_a_short_side
from vision.detections import Detections


class UltralyticsDetector:
    """Runs ultralytics' own predict on an oriented-box or pose checkpoint."""

    def __init__(self, checkpoint: Path, input_side_px: int = 640, min_confidence: float = 0.25) -> None:
        """Open a ``.pt`` file. Checkpoints are pickles: open only what you trust."""
        if not checkpoint.is_file():
            raise BadInput.of(str(checkpoint), "an ultralytics checkpoint", "no such file")
        try:
            from ultralytics import YOLO
        except ImportError as error:
            raise BadInput.of("ultralytics", "the extra: pip install 'palmreader[train]'", error) from None
        self._model: Any = YOLO(str(checkpoint))
        self._side_px = input_side_px
        self._min_confidence = min_confidence

    def detect(self, image: NDArray[np.uint8]) -> Detections:
        """What is in ``image``, (height, width, 3) uint8 BGR; labels are the checkpoint's, spaces for underscores."""
        (told,) = self._model.predict(
            image, imgsz=self._side_px, conf=self._min_confidence, verbose=False, device="cpu"
        )
        return as_detections(told)


def as_detections(told: Any) -> Detections:
    """One of ultralytics' results, with oriented boxes or four keypoints, as detections."""
    if getattr(told, "obb", None) is not None:
        boxes, quads = told.obb, np.asarray(told.obb.xyxyxyxy, np.float32)
    elif getattr(told, "keypoints", None) is not None:
        boxes, quads = told.boxes, np.asarray(told.keypoints.xy, np.float32)
    else:
        raise BadInput.of("the checkpoint", "oriented boxes or four keypoints", "neither")
    if not len(quads):
        return Detections.none()
    names = [str(told.names[int(number)]).replace("_", " ") for number in np.asarray(boxes.cls)]
    scores = np.clip(np.asarray(boxes.conf, np.float32), 0, 1)
    return Detections(clockwise_from_a_short_side(quads.reshape(-1, 4, 2)), np.array(names), scores)
