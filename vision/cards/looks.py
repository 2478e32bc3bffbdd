"""Looks at one picture, as it is and with a stretch undone: what each shows, and their index corners put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vision.cards.fans import Corner, is_of_size, joint
from vision.cards.seen import SeenCard
from vision.cards.stretch import Stretch

#: Corners of two looks are one where their middles are no further apart than this, in widths of the narrower box, and
#: where they point the same way, by this cosine.
SAME_PLACE, SAME_WAY = 0.5, 0.8

#: An index that only another look shows counts from this confidence.
ADDS_FROM = 0.9

#: How much looks at one print repeat each other's mistakes.
LOOKS_REPEAT = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """One look at a picture.

    image: what was looked at. stretch: what was undone in it; None where it is the picture as it is. found: cards that
    were found whole. corners: index corners, where they were looked for. side_px: a card's longer side, where known.
    cards: what all that was joined to. All in pixels of `image`.
    """

    image: NDArray[np.uint8]
    stretch: Stretch | None
    found: tuple[SeenCard, ...]
    corners: tuple[Corner, ...]
    side_px: float | None
    cards: tuple[SeenCard, ...]

    def back(self, quad: NDArray[np.float32]) -> NDArray[np.float32]:
        """A quad (4, 2) of this look, in the picture as it is."""
        return quad if self.stretch is None else self.stretch.back(quad)

    def onto(self, quad: NDArray[np.float32]) -> NDArray[np.float32]:
        """A quad (4, 2) of the picture as it is, in this look."""
        return quad if self.stretch is None else self.stretch.onto(quad)

    def with_corners_of(self, others: Sequence[Look]) -> tuple[Corner, ...]:
        """Its corners and those of other looks; of those at one place the readings count together, the surer more."""
        places = [[corner] for corner in self.corners]
        for other in others:
            for corner in other.corners:
                moved = replace(corner, box=self.onto(other.back(corner.box)))
                if self.side_px is not None and not is_of_size(moved.box, self.side_px):
                    continue
                place = next((place for place in places if _is_same(place[0], moved)), None)
                if place is not None:
                    place.append(moved)
                elif moved.probabilities[:-1].max() >= ADDS_FROM:
                    places.append([moved])
        return tuple(_one_of(place) for place in places)


def _is_same(one: Corner, other: Corner) -> bool:
    reach = SAME_PLACE * min(one.width_px, other.width_px)
    return float(np.linalg.norm(one.middle - other.middle)) < reach and float(one.down @ other.down) > SAME_WAY


def _one_of(place: Sequence[Corner]) -> Corner:
    """Readings of one print in several looks: evidence, but of one print."""
    if len(place) == 1:
        return place[0]
    return replace(place[0], probabilities=joint(place, LOOKS_REPEAT), score=max(corner.score for corner in place))
