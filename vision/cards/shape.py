"""What a card looks like in a picture, foreshortened: told by those that were found whole, for those that were not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: A poker card's width to its height, in mm.
ASPECT = 63.0 / 88.0


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Lengths and right angles on the table, as they are seen.

    metric: symmetric (2, 2) float64: of a vector v in pixels, vᵀMv is its length on the table, squared, in the longer
    sides of a card.
    """

    metric: NDArray[np.float64]

    @classmethod
    def told_by(cls, quads: Sequence[NDArray[np.float32]]) -> Shape | None:
        """By cards whose quads (4, 2) are fitted to their edges, a short side first; None where there are none.

        One tells all; of several the middle counts, entry by entry: one that was fitted to something else is outvoted.
        """
        metrics = []
        for quad in quads:
            across, down = (quad[1] - quad[0] + quad[2] - quad[3]) / 2, (quad[3] - quad[0] + quad[2] - quad[1]) / 2
            sides = np.stack([across / ASPECT, down], axis=1).astype(np.float64)
            if abs(np.linalg.det(sides)) > 1:
                back = np.linalg.inv(sides)
                metrics.append(back.T @ back)
        if not metrics:
            return None
        metric = np.median(metrics, axis=0)
        return cls(metric) if np.linalg.det(metric) > 0 else None

    def sides(
        self, down: NDArray[np.floating], right: NDArray[np.floating]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of a card that lies this way (`down` exactly, `right` roughly): its short and its long side, (2,) pixels."""
        long = down / np.sqrt(down @ self.metric @ down)
        seen = self.metric @ long
        short = np.array([-seen[1], seen[0]])
        short *= ASPECT / np.sqrt(short @ self.metric @ short)
        return (-short if short @ right < 0 else short), long
