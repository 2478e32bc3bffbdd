"""`palmreader play`: a table refereed live, from a video as it plays or from what the host types."""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from referee.bad_input import BadInput
from referee.match import Match
from vision.pipeline import Pipeline
from vision.sources.paced import at_its_own_speed
from vision.sources.video import VideoFile
from vision.table import Table
from web.config import Chosen, add_match_options, choose, dealer_seat, read_rules
from web.games import game_named
from web.hosting import DEFAULT_PORT, hosted, log_to_go_on_with, new_log, open_port, open_store, say
from web.live import LiveMatch, Log, Picture, Unkept
from web.show import show
from web.table_watch import enrolled_reader, pipeline_for, rules_deck

HELP = "referee a table: its page shows scores and rulings, and the host corrects"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_match_options(parser, game_option=True)
    parser.add_argument(
        "--deck",
        default="",
        metavar="D",
        help="a shipped deck, or the FILE.deck of one that was enrolled (default: the game's)",
    )
    parser.add_argument("--camera", type=Path, metavar="FILE", help="a video to watch; left out: the host types")
    parser.add_argument("--table", type=Path, metavar="T.toml", help="where the table, its seats and piles are")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, metavar="P", help="where the page is (0: any)")
    parser.add_argument("--lan", action="store_true", help="others on the network may watch")
    parser.add_argument("--no-browser", action="store_true", help="don't open a browser")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="keep the match's log in this folder, and go on with it"
    )


def run(args: argparse.Namespace) -> int:
    """Referee until somebody ends it."""
    if args.game is None or not args.players:
        raise BadInput.of("play", "a game and players, like --game snap --players Ana,Ben", "neither or one")
    chosen = choose(
        game_named(args.game),
        args.players,
        dealer=dealer_seat(args.dealer, args.players),
        deck=rules_deck(args.deck),
        options=read_rules(args.rules) if args.rules else {},
    )
    with ExitStack() as closing:
        listening = closing.enter_context(open_port(args.port, lan=args.lan))
        watched = _watched(args, chosen, closing)
        log, match = _log(args.data, chosen, closing)
        live, picture = LiveMatch(chosen, log, match=match, seeing=watched is not None), Picture()
        try:
            if watched is None:
                picture.close()
            closing.enter_context(hosted(live, picture, listening, browser=not args.no_browser, lan=args.lan))
            if watched is not None:
                video, pipeline = watched
                show(at_its_own_speed(video), pipeline, live, picture)
                say("The video is over; the page stays until Ctrl-C.")
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return 0


def _watched(args: argparse.Namespace, chosen: Chosen, closing: ExitStack) -> tuple[VideoFile, Pipeline] | None:
    """The video and what watches it; None where the host types."""
    if args.camera is None:
        return None
    if args.table is None:
        raise BadInput.of("table", "--table T.toml, to say where the table and its piles are", "none")
    video = closing.enter_context(VideoFile(args.camera))
    table = Table.from_toml(args.table).scaled_to(video.info.size_px)
    return video, pipeline_for(chosen.game, chosen.setup, table, reader=enrolled_reader(args.deck))


def _log(data: Path | None, chosen: Chosen, closing: ExitStack) -> tuple[Log, Match[Any] | None]:
    """Where the match is kept, and the match so far where one is gone on with."""
    if data is None:
        return Unkept(), None
    store = closing.enter_context(open_store(data))
    kept = log_to_go_on_with(store, chosen)
    if kept is None:
        return new_log(store, chosen), None
    match = kept.open()
    say(f"Going on with the match of before, {len(list(kept.lines())) - 1} events.")
    return kept, match
