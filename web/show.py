"""A table watched in front of everybody: the pipeline feeds the match and the picture that pages follow."""

from __future__ import annotations

from collections.abc import Iterable

from vision.hands.watcher import HandWatcher
from vision.pipeline import Pipeline
from vision.sources.pieces import Piece
from web.live import LiveMatch, Picture
from web.overlay import Overlay, as_jpeg
from web.report import attended
from web.table_watch import watch

#: Pictures shown a second, at most: smooth to look at, a tenth of what drawing every frame would cost.
SHOWN_A_SECOND = 15
#: The evidence of so many hands is kept: 100 kB each, and a page shows the newest sixty rulings.
_MOST_HANDS = 160


def show(pieces: Iterable[Piece], pipeline: Pipeline, live: LiveMatch, picture: Picture) -> None:
    """Watch a source to its end; pictures are drawn only while somebody looks."""
    overlay = Overlay(pipeline.table, live.chosen.setup.players)
    next_ns: int | None = None
    if isinstance(pipeline.hands, HandWatcher):
        live.evidence = attended(pipeline, most=_MOST_HANDS)
        pieces = live.evidence.witness.pieces(pieces)
    try:
        for watched in watch(pieces, pipeline, live):
            looked = watched.looked
            if looked.frame is None:
                continue
            due = next_ns is None or looked.frame.at_ns >= next_ns or not picture.newest
            if due and (picture.watched or not picture.newest):
                next_ns = looked.frame.at_ns + 1_000_000_000 // SHOWN_A_SECOND
                picture.put(as_jpeg(overlay.drawn(looked.frame.image, looked.tops, looked.hands)))
    finally:
        live.end()
        picture.close()
