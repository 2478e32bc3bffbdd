"""Draws what was seen over a picture, for people to check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from vision.cards.seen import SeenCard

#: BGR: sure, unsure, face down.
SURE, UNSURE, DOWN = (60, 190, 60), (0, 140, 255), (220, 140, 60)

#: Pictures are made smaller than this before drawing: for looking at, not for measuring.
LONGEST_SIDE_PX = 2000


def drawn(image: NDArray[np.uint8], seen: Sequence[SeenCard]) -> NDArray[np.uint8]:
    """A copy of ``image`` (h, w, 3) BGR with each card's outline, name and confidence; at most 2000 px long."""
    scale = min(1.0, LONGEST_SIDE_PX / max(image.shape[:2]))
    picture = image.copy() if scale == 1 else cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    thick = max(1, round(max(picture.shape[:2]) / 400))
    size = max(picture.shape[:2]) / 1300
    for one in seen:
        colour = DOWN if one.face == "down" else SURE if one.card else UNSURE
        corners = np.round(one.quad * scale).astype(np.int32)
        cv2.polylines(picture, [corners], True, colour, thick, cv2.LINE_AA)
        words = f"{one} {one.confidence:.2f}"
        (width, height), _ = cv2.getTextSize(words, cv2.FONT_HERSHEY_SIMPLEX, size, thick)
        x, y = np.round(one.quad.mean(axis=0) * scale).astype(int) - np.array([width // 2, -height // 2])
        x, y = int(np.clip(x, 0, max(0, picture.shape[1] - width))), int(np.clip(y, height, picture.shape[0] - 2))
        cv2.rectangle(picture, (x - 3, y - height - 4), (x + width + 3, y + 5), colour, -1)
        cv2.putText(picture, words, (x, y), cv2.FONT_HERSHEY_SIMPLEX, size, (255, 255, 255), thick, cv2.LINE_AA)
    return np.asarray(picture, np.uint8)


def save_picture(path: Path, picture: NDArray[np.uint8]) -> None:
    """Write a picture; the name's ending says the format."""
    try:
        good, data = cv2.imencode(path.suffix or ".png", picture)
    except cv2.error:
        good = False
    if not good:
        raise BadInput.of(str(path), "a name ending in .png or .jpg", path.suffix or "no ending")
    try:
        path.write_bytes(data.tobytes())
    except OSError as error:
        raise BadInput.of(str(path), "a place that can be written", error.strerror or type(error).__name__) from None
