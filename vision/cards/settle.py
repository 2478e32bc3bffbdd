"""Decides between quads that claim the same place of the table, once it is known what each can be read as."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cards.quads import area, overlap_area
from vision.cards.seen import SeenCard

#: The share of a quad that others must cover for it to be nothing but their overlap: of a card that is named,
#: one that isn't, and of one that is named like a card it overlaps with (decks hold each card once or twice,
#: hardly ever on each other).
NAMED_COVERED, DOUBTFUL_COVERED, SAME_COVERED = 0.93, 0.5, 0.35

#: Side of the raster on which cover is counted.
RASTER = 64


def settled(seen: Sequence[SeenCard], whole: int | None = None) -> tuple[SeenCard, ...]:
    """Those that stand, in their order: the surest first claim their place, others what is left.

    whole: how many of them, from the first, were seen as whole cards; those after them showed an index, so they lie
    there however much others cover.
    """
    order = sorted(range(len(seen)), key=lambda i: -_claim(seen[i]))
    kept: list[int] = []
    for i in order:
        others = [seen[j] for j in kept]
        if not _is_taken(seen[i], others, whole is not None and i >= whole):
            kept.append(i)
    return tuple(seen[i] for i in sorted(kept))


def _claim(one: SeenCard) -> float:
    """How much a quad counts against others: named cards, then backs, then the doubtful."""
    if one.card is not None:
        return 2 + one.confidence
    return one.score + (0.25 if one.face == "down" else 0.0)


def _is_taken(one: SeenCard, others: Sequence[SeenCard], shows_index: bool) -> bool:
    near = [other for other in others if overlap_area(one.quad, other.quad) > 0]
    if not near:
        return False
    own = area(one.quad)
    if one.card is not None:
        for other in near:
            smaller = min(own, area(other.quad))
            if other.card == one.card and overlap_area(one.quad, other.quad) > SAME_COVERED * smaller:
                return True
        return not shows_index and covered(one.quad, [other.quad for other in near if other.card]) > NAMED_COVERED
    return covered(one.quad, [other.quad for other in near]) > DOUBTFUL_COVERED


def covered(quad: NDArray[np.float32], others: Sequence[NDArray[np.float32]]) -> float:
    """The share of ``quad`` (4, 2) that the others cover together."""
    if not others:
        return 0.0
    unit = np.array([[0, 0], [RASTER, 0], [RASTER, RASTER], [0, RASTER]], np.float32)
    onto = cv2.getPerspectiveTransform(quad.astype(np.float32), unit)
    raster = np.zeros((RASTER, RASTER), np.uint8)
    for other in others:
        corners = cv2.perspectiveTransform(np.asarray(other, np.float32)[None], onto)[0]
        cv2.fillConvexPoly(raster, np.round(corners).clip(-9999, 9999).astype(np.int32), (1,))
    return float(raster.mean())
