"""A clip that was recorded mirrored, as selfie cameras do, put right: left is left again, and print can be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from vision.frame import Frame
from vision.sources.pieces import Piece


def unmirrored(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The same pieces, every picture turned over from left to right."""
    for piece in pieces:
        yield replace(piece, image=np.ascontiguousarray(piece.image[:, ::-1])) if isinstance(piece, Frame) else piece
