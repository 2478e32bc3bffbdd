"""The table of a clip: from its file, or found in the clip by itself, with what was assumed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from referee.bad_input import BadInput
from referee.game import Layout
from vision.cards.read import CardReader
from vision.hands.readout import ALLOWED_FOR, shutter_of
from vision.hands.timing import Shutter
from vision.setup.find import FoundTable, find_table
from vision.setup.games import for_game
from vision.setup.pictures import look_over
from vision.sources.mirrored import unmirrored
from vision.sources.pieces import Piece, frames
from vision.sources.video import VideoFile
from vision.table import Table

Bar = Callable[[Iterator[Piece], int | None], Iterator[Piece]]


@dataclass(frozen=True, slots=True, eq=False)
class ClipTable:
    """A table, its seats' names, and what was assumed in words; nothing where a file says it all."""

    table: Table
    seat_names: tuple[str, ...]
    assumed: tuple[str, ...] = ()
    found: FoundTable | None = None
    shutter: Shutter | None = None
    """What is known of the camera's read-out; None: nothing, and its doubt is to be allowed for."""


def add_clip_options(parser: argparse.ArgumentParser) -> None:
    """The options about the clip itself and its table."""
    parser.add_argument("--table", type=Path, metavar="T.toml", help="the table's file (default: beside it, or found)")
    parser.add_argument(
        "--write-table", type=Path, metavar="OUT.toml", help="keep the table as it was found, to correct and pass back"
    )
    parser.add_argument(
        "--recorded-fps", type=float, metavar="F", help="the camera's own rate, of a file that plays slowed down"
    )
    parser.add_argument("--mirrored", action="store_true", help="a selfie camera's clip: put left and right right")


def open_clip(path: Path, args: argparse.Namespace, *, sound: bool = True) -> VideoFile:
    """The clip at the speed at which it was recorded."""
    return VideoFile(path, sound=sound, recorded_hz=args.recorded_fps)


def pieces_of(video: VideoFile, args: argparse.Namespace) -> Iterator[Piece]:
    """What a clip gives, mirrored back where it is said to be mirrored."""
    return unmirrored(video) if args.mirrored else iter(video)


def table_of(
    path: Path,
    args: argparse.Namespace,
    bar: Bar,
    *,
    layout: Layout | None = None,
    reader: CardReader | None = None,
) -> ClipTable:
    """The table by ``--table``, by the file beside the clip, or found in the clip; with a game's ``layout`` on it.

    ``reader``: one that is there already, to find cards with.
    """
    beside = path.with_suffix(".table.toml")
    file = args.table or (beside if beside.is_file() else None)
    if file is not None:
        table = Table.from_toml(file)
        shutter = shutter_of(table)
        assumed_too = () if shutter is not None else (f"assumed: {ALLOWED_FOR}",)
        return ClipTable(table, tuple(f"Seat {spot.seat}" for spot in table.seats), assumed_too, shutter=shutter)
    with open_clip(path, args, sound=False) as video:
        look = look_over(frames(bar(pieces_of(video, args), video.info.duration_ns)))
        slowed = video.info.slowed
    found = find_table(look, (reader or CardReader.shipped()).find, name=path.name)
    if layout is not None:
        found = for_game(found, layout, name=path.name)
    assumed = [found.in_words()]
    if slowed != 1.0:
        how = "slowed down" if slowed > 1 else "sped up"
        assumed.append(f"assumed: the clip plays {max(slowed, 1 / slowed):.3g} times {how}; times are the recording's")
    assumed.append(f"assumed: {ALLOWED_FOR}")
    if args.write_table is not None:
        write_table(args.write_table, found)
    return ClipTable(found.table, found.seat_names, tuple(assumed), found)


def write_table(path: Path, found: FoundTable) -> None:
    """Keep a found table as a file, with what was assumed on top."""
    said = "\n".join(f"# {line}" for line in (found.in_words(), *_seats_in_words(found)))
    try:
        path.write_text(f"{said}\n{found.table.to_toml()}", encoding="utf-8")
    except OSError as error:
        raise BadInput.of(str(path), "a place that can be written", error.strerror or "none") from error


def _seats_in_words(found: FoundTable) -> Iterator[str]:
    for spot, name in zip(found.table.seats, found.seat_names, strict=True):
        yield f"seat {spot.seat}: {name}"
