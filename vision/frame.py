"""A picture of the table with the time it was taken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from referee.instant import Instant

Image = NDArray[np.uint8]
"""(height, width, 3) uint8, blue, green, red; row 0 at the top."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One picture and its time, on the clock of the stream that it comes from.

    ``at_ns`` is the stream's own presentation time in integer nanoseconds; ``sd_ns`` the doubt of it (0 for
    a stamp that is exact in its stream's time base). ``image``: (height, width, 3) uint8, BGR, upright.
    ``index`` counts the frames that the source gave, from 0: a name for people, never a clock.
    """

    at_ns: int
    sd_ns: int
    image: Image
    index: int

    def __post_init__(self) -> None:
        """Refuse what is no picture."""
        if self.image.ndim != 3 or self.image.shape[2] != 3 or self.image.dtype != np.uint8:
            got = f"{self.image.shape} {self.image.dtype}"
            raise ValueError(f"image: expected (height, width, 3) uint8, got {got}")
        if self.sd_ns < 0 or self.index < 0:
            raise ValueError(f"expected a doubt and an index of 0 or more, got {self.sd_ns} and {self.index}")

    @property
    def at(self) -> Instant:
        """When it was taken, with its doubt."""
        return Instant(self.at_ns, self.sd_ns)

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.image.shape[1], self.image.shape[0]
