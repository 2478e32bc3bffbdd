"""Plays a recording at its own speed, as a camera would give it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from vision.sources.pieces import Piece


def at_its_own_speed(pieces: Iterable[Piece], speed: float = 1.0) -> Iterator[Piece]:
    """Each piece at its time, never before it; who takes them too slowly gets them late, none is left out.

    ``speed``: 2 plays twice as fast.
    """
    if speed <= 0:
        raise ValueError(f"speed: expected more than 0, got {speed}")
    begun_ns: int | None = None
    for piece in pieces:
        now_ns = time.monotonic_ns()
        due_ns = int(piece.at_ns / speed)
        if begun_ns is None:
            begun_ns = now_ns - due_ns
        wait_ns = begun_ns + due_ns - now_ns
        if wait_ns > 0:
            time.sleep(wait_ns / 1e9)
        yield piece
