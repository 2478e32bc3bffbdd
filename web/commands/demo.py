"""`palmreader demo`: a film that ships with the project, watched and judged before your eyes."""

from __future__ import annotations

import argparse
import time
import tomllib
from contextlib import ExitStack
from pathlib import Path

from referee.bad_input import BadInput
from vision.sources.paced import at_its_own_speed
from vision.sources.video import VideoFile
from vision.table import Table
from vision.weights import data_folder
from web.config import Chosen, choose, dealer_seat
from web.games import game_named
from web.hosting import DEFAULT_PORT, hosted, new_log, open_port, open_store, say
from web.live import LiveMatch, Log, Picture, Unkept
from web.show import show
from web.table_watch import pipeline_for

HELP = "a shipped film through the whole pipeline, at normal speed, with the dashboard"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, metavar="P", help="where the page is (default 8620; 0: any)"
    )
    parser.add_argument("--no-browser", action="store_true", help="don't open a browser")
    parser.add_argument("--data", type=Path, metavar="DIR", help="keep the match's log in this folder")


def run(args: argparse.Namespace) -> int:
    """Serve the page and play the film until somebody ends it."""
    folder = data_folder("datasets", "recordings")
    chosen = demo_match(folder)
    with ExitStack() as closing:
        listening = closing.enter_context(open_port(args.port))
        video = closing.enter_context(VideoFile(folder / "demo.mp4"))
        table = Table.from_toml(folder / "demo.table.toml").scaled_to(video.info.size_px)
        pipeline = pipeline_for(chosen.game, chosen.setup, table)
        log: Log = Unkept()
        if args.data is not None:
            log = new_log(closing.enter_context(open_store(args.data)), chosen)
        live, picture = LiveMatch(chosen, log, seeing=True), Picture()
        try:
            closing.enter_context(hosted(live, picture, listening, browser=not args.no_browser))
            show(at_its_own_speed(video), pipeline, live, picture)
            say("The film is over; the page stays until Ctrl-C.")
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return 0


def demo_match(folder: Path) -> Chosen:
    """Who plays what in the film, as a host would have said before it began."""
    path = folder / "demo.toml"
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
        players = tuple(str(name) for name in said["players"])
        game = game_named(str(said["game"]))
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise BadInput.of(str(path), "the game and the players of the demo film", repr(error)[:80]) from error
    return choose(game, players, dealer=dealer_seat(said.get("dealer"), players), options=said.get("rules", {}))
