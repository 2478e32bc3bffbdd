"""Outlines of cards where more than two brightnesses meet: card, table and floor."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from vision.cards.outlines import OutlineDetector
from vision.cards.quads import iou

PLACES = ((150, 110, 20), (330, 120, -35), (480, 230, 70), (200, 300, 100), (360, 310, 5))


def picture(floor: int, table: int, rim: int, face: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Cards with a rim on a table that does not fill the picture; and their true quads."""
    photo = np.full((420, 640, 3), floor, np.uint8)
    cv2.fillConvexPoly(photo, np.array([[60, 40], [600, 30], [630, 390], [20, 400]]), (table,) * 3)
    quads = []
    for x, y, turn in PLACES:
        for size, level in (((56, 80), rim), ((50, 74), face)):
            quad = cv2.boxPoints(((x, y), size, turn))
            cv2.fillConvexPoly(photo, (quad * 16).round().astype(np.int32), (level,) * 3, cv2.LINE_AA, 4)
            if level == rim:
                quads.append(quad.astype(np.float32))
    noisy = cv2.GaussianBlur(photo, (0, 0), 1.2) + np.random.default_rng(2).normal(0, 4, photo.shape)
    return noisy.clip(0, 255).astype(np.uint8), quads


@pytest.mark.parametrize(
    ("floor", "table", "rim", "face"),
    [(30, 100, 190, 50), (35, 110, 200, 120)],
    ids=["dark cards with a white rim", "grey cards with a white rim"],
)
def test_cards_part_from_a_grey_table_beside_a_dark_floor(floor: int, table: int, rim: int, face: int) -> None:
    """One level of brightness parts only the table from the floor: all cards of such a photograph were missed."""
    photo, quads = picture(floor, table, rim, face)
    found = OutlineDetector().detect(photo).quads
    assert all(max(iou(quad, one) for one in found) > 0.83 for quad in quads)
