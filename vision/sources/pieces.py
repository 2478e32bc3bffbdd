"""What a source gives, in the order of its stream: frames and stretches of sound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vision.frame import Frame


@dataclass(frozen=True, slots=True, eq=False)
class Sound:
    """A stretch of sound on the stream's own clock.

    samples: (n,) float32, mono, -1 to 1. ``at_ns`` is when the first of them was heard.
    """

    at_ns: int
    rate_hz: int
    samples: NDArray[np.float32]

    def __post_init__(self) -> None:
        """Refuse what is no sound."""
        if self.samples.ndim != 1 or self.samples.dtype != np.float32:
            raise ValueError(f"samples: expected (n,) float32, got {self.samples.shape} {self.samples.dtype}")
        if not 1000 <= self.rate_hz <= 400_000:
            raise ValueError(f"rate_hz: expected 1000 to 400000, got {self.rate_hz}")

    @property
    def end_ns(self) -> int:
        """When the sample after the last one would be heard."""
        return self.at_ns + len(self.samples) * 1_000_000_000 // self.rate_hz


Piece: TypeAlias = Frame | Sound


def frames(pieces: Iterable[Piece]) -> Iterator[Frame]:
    """Only the pictures."""
    return (piece for piece in pieces if isinstance(piece, Frame))


def joined(pieces: Iterable[Piece]) -> Sound | None:
    """All the sound of a source as one stretch, silence where the stream has a gap; None where there is none.

    Pieces that overlap by their stamps are laid where their stamps say; the later one counts.
    """
    stretches = [piece for piece in pieces if isinstance(piece, Sound) and len(piece.samples)]
    if not stretches:
        return None
    rate_hz = stretches[0].rate_hz
    start_ns = min(stretch.at_ns for stretch in stretches)
    offsets = [round((stretch.at_ns - start_ns) * rate_hz / 1e9) for stretch in stretches]
    length = max(offset + len(stretch.samples) for offset, stretch in zip(offsets, stretches, strict=True))
    samples = np.zeros(length, np.float32)
    for offset, stretch in zip(offsets, stretches, strict=True):
        samples[offset : offset + len(stretch.samples)] = stretch.samples
    return Sound(start_ns, rate_hz, samples)
