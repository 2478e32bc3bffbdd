"""Quadrilaterals of cards in a picture: corner order, overlap, duplicates."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.detections import CARD_BACK, CARD_FACE, CARD_OUTLINE, Detections

Quad = NDArray[np.float32]

#: Cards in a fan overlap by as much as 0.7 where a strip of the lower one shows; what more than one quad of a
#: card is left over is settled after reading.
DUPLICATE_IOU, DUPLICATE_INSIDE = 0.72, 0.95

#: Labels of which only one can be right at one place.
CARDS = (CARD_FACE, CARD_BACK, CARD_OUTLINE)


def clockwise_from_a_short_side(quads: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same quads with corners clockwise as seen (y down) and a short side first; (n, 4, 2) float32."""
    if not len(quads):
        return quads.reshape(0, 4, 2).astype(np.float32)
    after = np.roll(quads, -1, axis=1)
    doubled_area = (quads[..., 0] * after[..., 1] - quads[..., 1] * after[..., 0]).sum(axis=1)
    quads = np.where((doubled_area < 0)[:, None, None], quads[:, ::-1], quads)
    sides = np.linalg.norm(quads - np.roll(quads, -1, axis=1), axis=2)
    first_is_long = sides[:, 0] + sides[:, 2] > sides[:, 1] + sides[:, 3]
    quads = np.where(first_is_long[:, None, None], np.roll(quads, -1, axis=1), quads)
    return quads.astype(np.float32)


#: Short side to long side above which a perspective may have swapped them; a card is 0.64 to 0.72 from above.
NEARLY_SQUARE = 0.82


def is_nearly_square(quad: Quad) -> bool:
    """Whether it can't be told from its sides which way a card lies."""
    sides = np.linalg.norm(quad - np.roll(quad, -1, axis=0), axis=1)
    return float(min(sides[0] + sides[2], sides[1] + sides[3])) > NEARLY_SQUARE * float(
        max(sides[0] + sides[2], sides[1] + sides[3])
    )


def area(quad: Quad) -> float:
    """Area of a convex quad in square pixels."""
    return float(cv2.contourArea(quad))


def overlap_area(a: Quad, b: Quad) -> float:
    """Area that two convex quads share, in square pixels."""
    return float(cv2.intersectConvexConvex(a, b)[0])


def iou(a: Quad, b: Quad) -> float:
    """Intersection over union of two convex quads."""
    shared = overlap_area(a, b)
    union = area(a) + area(b) - shared
    return shared / union if union > 0 else 0.0


def without_duplicates(
    found: Detections, iou_above: float = DUPLICATE_IOU, inside_above: float = DUPLICATE_INSIDE
) -> Detections:
    """Keep the best-scored of quads that show one thing; best first.

    Faces, backs and outlines compete with each other, other labels each with their own kind. Two quads show one
    thing when their IoU is above ``iou_above``, or when one lies in the other by more than ``inside_above`` of
    its area (half a card found again as a card of its own).
    """
    order = np.argsort(-found.scores, kind="stable")
    found = found.where(order)
    boxes = found.boxes()
    areas = np.array([area(quad) for quad in found.quads])
    kinds = ["card" if label in CARDS else str(label) for label in found.labels]
    kept: list[int] = []
    for i in range(len(found)):
        if areas[i] <= 0:
            continue
        twice = False
        for j in kept:
            if kinds[i] != kinds[j]:
                continue
            apart = (boxes[i, :2] >= boxes[j, 2:]).any() or (boxes[j, :2] >= boxes[i, 2:]).any()
            if apart:
                continue
            shared = overlap_area(found.quads[i], found.quads[j])
            smaller = min(areas[i], areas[j])
            if shared > iou_above * (areas[i] + areas[j] - shared) or shared > inside_above * smaller:
                twice = True
                break
        if not twice:
            kept.append(i)
    return found.where(np.array(kept, np.intp))
