"""The detector's training set: rendered tables and real photographs as pictures with oriented labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from vision.benches.labelled import Kind
from vision.cards.photo import open_photo
from vision.cards.quads import iou
from vision.training.artwork import Image
from vision.training.compose import (
    BACK_CLASS,
    CORNER_CLASS,
    CORNERS_LABELLED,
    FACE_CLASS,
    in_frame,
    index_quads,
    yolo_line,
)
from vision.training.photos import Photo

#: Real pictures are kept at this longer side: cards in them are then 100 to 400 pixels long.
REAL_SIDE = 800

#: A find of at least this score that is not labelled is most likely a card all the same.
SURE = 0.35

#: A photograph in which more than this share of the labelled cards has no quad is left out.
UNKNOWN_AT_MOST = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One picture to train on: path, quads (n, 4, 2) float32 pixels, classes (n,) 0 face, 1 back, 2 corner.

    corners_labelled: whether every index corner that shows is among them.
    """

    path: Path
    quads: npt.NDArray[np.float32]
    classes: npt.NDArray[np.int64]
    corners_labelled: bool

    @classmethod
    def read(cls, picture: Path) -> Sample:
        """A picture with the label file beside it (`../labels/NAME.txt`)."""
        text = (picture.parent.parent / "labels" / f"{picture.stem}.txt").read_text(encoding="utf-8")
        image = cv2.imread(str(picture))
        if image is None:
            raise ValueError(f"{picture}: expected a picture")
        height, width = image.shape[:2]
        quads, classes = [], []
        for line in text.splitlines():
            words = line.split()
            if len(words) < 7 or words[0] == "#":
                continue
            points = np.array([float(word) for word in words[1:]], np.float32).reshape(-1, 2)
            points = points * np.array([width, height], np.float32)
            quads.append(points if len(points) == 4 else cv2.boxPoints(cv2.minAreaRect(points)))
            classes.append(int(words[0]))
        all_corners = text.startswith(CORNERS_LABELLED)
        return cls(picture, np.array(quads, np.float32).reshape(-1, 4, 2), np.array(classes, np.int64), all_corners)


def oriented(quad: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
    """A quad as the least rectangle about it: centre x, y, width, height, angle in [−π/4, 3π/4), (5,) float32."""
    (x, y), (w, h), degrees = cv2.minAreaRect(quad.astype(np.float32))
    angle = np.deg2rad(degrees)
    if w < h:
        w, h, angle = h, w, angle + np.pi / 2
    angle = (angle + np.pi / 4) % np.pi - np.pi / 4
    return np.array([x, y, w, h, angle], np.float32)


def write_real(photos: Sequence[Photo], out: Path, prefix: str) -> int:
    """Write photographs with the quads that are known; cards without are painted over. Returns how many."""
    for folder in ("images", "labels"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    written = 0
    for photo in photos:
        image = open_photo(photo.path).copy()
        unknown = _unknown(photo)
        if not photo.cards or len(unknown) > UNKNOWN_AT_MOST * max(1, len(photo.labels)) + 1:
            continue
        height, width = image.shape[:2]
        known = [card.quad for card in photo.cards]
        hidden = np.zeros((height, width), np.uint8)
        for box in unknown:
            left, top, right, bottom = np.round(box).astype(int)
            hidden[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)] = 255
        if hidden.any():
            _paint(image, hidden)
        corner_kinds = [label for label in photo.labels if label.kind is Kind.CORNERS]
        lines = _corner_lines(known, [box for label in corner_kinds for box in label.boxes], width, height)
        for card, quad in zip(photo.cards, known, strict=True):
            mask = np.zeros_like(hidden)
            cv2.fillConvexPoly(mask, np.round(quad).astype(np.int32), 255)
            area = max(1, int((mask > 0).sum()))
            if int(((mask > 0) & (hidden == 0)).sum()) < 0.4 * area:
                continue
            polygon = in_frame(quad, width, height)
            if polygon is not None:
                lines.append(yolo_line(BACK_CLASS if card.label == "back" else FACE_CLASS, polygon, width, height))
        shrink = min(1.0, REAL_SIDE / max(height, width))
        small = cv2.resize(image, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
        name = f"{prefix}-{photo.path.stem}"
        cv2.imwrite(str(out / "images" / f"{name}.jpg"), small, [cv2.IMWRITE_JPEG_QUALITY, 93])
        (out / "labels" / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        written += 1
    return written


def _corner_lines(
    known: Sequence[npt.NDArray[np.float32]], boxes: Sequence[npt.NDArray[np.float32]], width: int, height: int
) -> list[str]:
    """Lines for labelled index corners; nothing where a labelled one lies in no known card's corner."""
    lines = [CORNERS_LABELLED]
    for box in boxes:
        indices = [index for quad in known for index in index_quads(quad.astype(np.float64), four=True)]
        around = [index for index in indices if _inside(box, index)]
        polygon = in_frame(around[0], width, height) if around else None
        if polygon is None:
            return []
        lines.append(yolo_line(CORNER_CLASS, polygon, width, height))
    return lines if boxes else []


def _inside(box: npt.NDArray[np.float32], index: npt.NDArray[np.float64]) -> bool:
    """Whether a labelled box's middle lies in an index's quad."""
    middle = (float(box[0] + box[2]) / 2, float(box[1] + box[3]) / 2)
    return cv2.pointPolygonTest(index.astype(np.float32), middle, False) >= 0


def _unknown(photo: Photo) -> list[npt.NDArray[np.float32]]:
    """Boxes, (4,) pixels, around labelled cards for which no quad was found."""
    found = [card.label for card in photo.cards]
    boxes = []
    for label in photo.labels:
        if label.card in found:
            found.remove(label.card)
        elif label.kind is Kind.WHOLE:
            boxes.append(label.boxes[0])
        else:  # corner indices: around all of them, a card's breadth wider
            low, high = label.boxes[:, :2].min(axis=0), label.boxes[:, 2:].max(axis=0)
            reach = float((label.boxes[:, 3] - label.boxes[:, 1]).mean()) * 2
            boxes.append(np.array([*(low - reach), *(high + reach)], np.float32))
    if any(label.kind is Kind.CORNERS for label in photo.labels):  # such sets leave cards at the edge unlabelled
        sure = photo.all_found.where(photo.all_found.scores >= SURE)
        for quad, box in zip(sure.quads, sure.boxes(), strict=True):
            if all(iou(quad, card.quad) < 0.2 for card in photo.cards):
                boxes.append(box)
    return boxes


def _paint(image: Image, hidden: npt.NDArray[np.uint8]) -> None:
    """Paint what is hidden in the picture's median colour, grained."""
    rng = np.random.default_rng(int(hidden.sum()) % 2**31)
    colour = np.median(image.reshape(-1, 3), axis=0) + rng.normal(0, 25, 3)
    grain = rng.normal(0, 6, (*hidden.shape, 1))
    paint = np.clip(colour + grain, 0, 255).astype(np.uint8)
    image[hidden > 0] = np.broadcast_to(paint, image.shape)[hidden > 0]


def window(
    image: Image,
    sample_quads: npt.NDArray[np.float32],
    classes: npt.NDArray[np.int64],
    side: int,
    card_px: float,
    rng: np.random.Generator,
) -> tuple[Image, npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """A random view of a picture, side × side: turned, mirrored, scaled so that its cards are about `card_px` long.

    Returns the picture, oriented boxes (n, 5: centre and size in pixels, angle) and classes (n,).
    """
    height, width = image.shape[:2]
    longs = np.linalg.norm(sample_quads - np.roll(sample_quads, -1, axis=1), axis=2).max(axis=1)
    longs = longs[classes != CORNER_CLASS]
    typical = float(np.median(longs)) if len(longs) else card_px * max(height, width) / side * rng.uniform(0.7, 1.3)
    scale = float(np.clip(card_px * np.exp(rng.normal(0, 0.28)) / max(typical, 8.0), 0.2, 2.5))
    turn = np.deg2rad(90 * int(rng.integers(0, 4)) + (rng.normal(0, 12) if rng.random() < 0.5 else 0.0))
    mirror = -1.0 if rng.random() < 0.5 else 1.0
    centre = np.array([width, height]) / 2
    if len(sample_quads) and rng.random() < 0.9:
        centre = sample_quads[int(rng.integers(len(sample_quads)))].mean(axis=0)
    shift = rng.uniform(-0.35, 0.35, 2) * side
    cos, sin = np.cos(turn) * scale, np.sin(turn) * scale
    linear = np.array([[cos * mirror, -sin], [sin * mirror, cos]])
    matrix = np.concatenate([linear, (np.array([side, side]) / 2 + shift - linear @ centre)[:, None]], axis=1)
    if scale < 0.6:
        half = 0.5 if scale > 0.3 else 0.25
        image = np.asarray(cv2.resize(image, None, fx=half, fy=half, interpolation=cv2.INTER_AREA), np.uint8)
        to_small = np.concatenate([matrix[:, :2] / half, matrix[:, 2:]], axis=1)
    else:
        to_small = matrix
    view = cv2.warpAffine(image, to_small, (side, side), flags=cv2.INTER_LINEAR, borderValue=(114, 114, 114))
    moved = sample_quads @ matrix[:, :2].T.astype(np.float32) + matrix[:, 2].astype(np.float32)
    boxes, kept = [], []
    for quad, number in zip(moved, classes, strict=True):
        polygon = in_frame(quad, side, side)
        if polygon is not None:
            boxes.append(oriented(polygon))
            kept.append(number)
    return (
        np.asarray(view, np.uint8),
        np.array(boxes, np.float32).reshape(-1, 5),
        np.array(kept, np.int64),
    )
