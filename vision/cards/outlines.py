"""Finds cards of any design by their outline alone: four straight sides that stand out from the table."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cards.quads import area, clockwise_from_a_short_side, overlap_area, without_duplicates
from vision.detections import CARD_OUTLINE, Detections

#: The picture is looked at with this longer side: outlines stay, print fades.
LOOK_AT_PX = 640

#: A card covers between these shares of the picture.
LEAST_AREA, MOST_AREA = 0.004, 0.9

#: Short side to long side: cards are 0.64 to 0.72 from above, less or up to square when seen obliquely or in
#: pictures that were stretched.
LEAST_ASPECT = 0.4

#: How much of the hull a contour fills, and of the quad the hull: rounded corners take 2 to 4 %.
LEAST_SOLID, LEAST_SQUARE = 0.92, 0.9

#: A frame printed on a card has at least this share of the card's area; a card on a mat has less of the mat's.
FRAME_AREA = 0.35


class OutlineDetector:
    """Finds bright cards on dark tables and dark cards on bright ones; no weights."""

    def detect(self, image: NDArray[np.uint8]) -> Detections:
        """Quads that look like cards in ``image``, (h, w, 3) uint8 BGR; scores say how square they are."""
        scale = min(1.0, LOOK_AT_PX / max(image.shape[:2]))
        small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else image
        small = cv2.GaussianBlur(small, (0, 0), 1.2)
        quads, scores = [], []
        for mask in _masks(np.asarray(small, np.uint8)):
            contours, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
            for contour in contours:
                told = _quad(np.asarray(contour, np.int32), (mask.shape[1], mask.shape[0]))
                if told is not None:
                    quads.append(told[0])
                    scores.append(told[1])
        if not quads:
            return Detections.none()
        ordered = clockwise_from_a_short_side(np.stack(quads) / np.float32(scale))
        found = Detections(ordered, np.full(len(quads), CARD_OUTLINE), np.array(scores, np.float32))
        return _outermost(without_duplicates(found, iou_above=0.8, inside_above=2.0))


def _outermost(found: Detections) -> Detections:
    """Without the frames printed on cards: quads that fill a large part of another that they lie in."""
    areas = np.array([area(quad) for quad in found.quads])
    kept: list[int] = []
    for i in np.argsort(-areas, kind="stable"):
        within = [j for j in kept if overlap_area(found.quads[i], found.quads[j]) > 0.9 * areas[i]]
        if all(areas[i] < FRAME_AREA * areas[j] for j in within):
            kept.append(int(i))
    return found.where(np.array(kept, np.intp))


def _masks(small: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    """Ways to part cards from the table: by brightness, by colour's distance from the table's, by edges."""
    grey = cv2.cvtColor(small, cv2.COLOR_BGR2GRAY)
    saturation = cv2.cvtColor(small, cv2.COLOR_BGR2HSV)[..., 1]
    masks = []
    for channel in (grey, saturation):
        level, bright = cv2.threshold(channel, 0, 255, cv2.THRESH_OTSU)
        for shifted in (0.7, 1.0, 1.25):
            bright = cv2.threshold(channel, min(254.0, level * shifted), 255, cv2.THRESH_BINARY)[1]
            masks += [bright, cv2.bitwise_not(bright)]
    # Where a dark floor shows beside the table, one level parts the two: cards part from the table at another.
    level = cv2.threshold(grey, 0, 255, cv2.THRESH_OTSU)[0]
    for side in (grey[grey > level], grey[grey <= level]):
        if len(side):
            parts = cv2.threshold(side, 0, 255, cv2.THRESH_OTSU)[0]
            bright = cv2.threshold(grey, parts, 255, cv2.THRESH_BINARY)[1]
            masks += [bright, cv2.bitwise_not(bright)]
    lab = cv2.cvtColor(small, cv2.COLOR_BGR2LAB).astype(np.float32)
    rim = np.concatenate([lab[:8].reshape(-1, 3), lab[-8:].reshape(-1, 3), lab[:, :8].reshape(-1, 3)])
    away = np.linalg.norm(lab - np.median(rim, axis=0), axis=2).clip(0, 255).astype(np.uint8)
    masks.append(cv2.threshold(away, 0, 255, cv2.THRESH_OTSU)[1])
    for low in (25, 60):
        edges = cv2.Canny(small, low, 2 * low)
        masks.append(cv2.bitwise_not(cv2.dilate(edges, np.ones((3, 3), np.uint8))))
    # Print that reaches the rim, and glare, break outlines open: both the mask and its closing are looked at.
    closing = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (9, 9))
    closed = [cv2.morphologyEx(mask, cv2.MORPH_CLOSE, closing) for mask in masks]
    return [np.asarray(mask, np.uint8) for mask in masks + closed]


def _quad(contour: NDArray[np.int32], size_px: tuple[int, int]) -> tuple[NDArray[np.float32], float] | None:
    """The quad that a contour is, and how nearly; None when it is something else."""
    outline = cv2.contourArea(contour)
    picture_area = size_px[0] * size_px[1]
    if not LEAST_AREA * picture_area < outline < MOST_AREA * picture_area:
        return None
    hull = cv2.convexHull(contour)
    hull_area = cv2.contourArea(hull)
    if outline < LEAST_SOLID * hull_area:
        return None
    length = cv2.arcLength(hull, True)
    for share in (0.02, 0.03, 0.045, 0.06, 0.08):
        corners = cv2.approxPolyDP(hull, share * length, True)
        if len(corners) <= 4:
            break
    if len(corners) != 4:
        return None
    quad = corners[:, 0].astype(np.float32)
    at_rim = (quad <= 1).any(axis=1) | (quad >= np.array(size_px) - 2).any(axis=1)
    if at_rim.sum() >= 2:  # the table, or a card that the picture cuts: its corners are not its own
        return None
    sides = np.linalg.norm(quad - np.roll(quad, -1, axis=0), axis=1)
    pairs = sorted([sides[0] + sides[2], sides[1] + sides[3]])
    # Sides that face each other are alike, unless the camera is very near.
    unlike = max(sides[0] / sides[2], sides[2] / sides[0], sides[1] / sides[3], sides[3] / sides[1])
    quad_area = cv2.contourArea(quad)
    fills = min(hull_area, quad_area) / max(hull_area, quad_area, 1e-6)
    if pairs[0] < LEAST_ASPECT * pairs[1] or unlike > 1.6 or fills < LEAST_SQUARE:
        return None
    middle = quad.mean(axis=0)
    # Rounded corners pull the approximation inside: the area tells by how much.
    grown = middle + (quad - middle) * np.float32(np.sqrt(max(1.0, hull_area / max(quad_area, 1e-6))))
    return grown.astype(np.float32), float(np.clip(fills * outline / hull_area, 0, 1))
