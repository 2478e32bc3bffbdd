"""`palmreader film GAME OUT.mp4`: a rendered game, its truth beside it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from referee.bad_input import BadInput

HELP = "render a game played by bots, or a recording acted out, with its exact truth beside it"
LATE = "out"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("game", metavar="GAME", help="snap, trash or hit-the-deck")
    parser.add_argument("out", metavar="OUT.mp4", nargs="?", help="the film; OUT.truth.jsonl and OUT.table.toml too")
    parser.add_argument("--frames", type=int, metavar="N", help="N labelled stills for training instead of a film")
    parser.add_argument("--out", dest="folder", metavar="DIR", type=Path, help="where the stills go")
    parser.add_argument("--seed", type=int, default=1, help="what is played and how it looks (default 1)")
    parser.add_argument("--seconds", type=float, default=60.0, help="about how long; hand follows hand (default 60)")
    parser.add_argument("--short", action="store_true", help="one short game: 16 cards of Snap, one hand, one layout")
    parser.add_argument("--fps", type=float, default=30.0, help="frames a second (default 30)")
    parser.add_argument("--size", default="1280x720", metavar="WxH", help="of the picture (default 1280x720)")
    parser.add_argument("--condition", default="clean", metavar="C", help="clean, dim, glare, …; several with +")
    parser.add_argument("--players", type=int, help="how many (default: the seed decides)")
    parser.add_argument(
        "--deck", help="snap-pictures, for Snap, or a design of gnome-cards-data (default: the shipped deck)"
    )
    parser.add_argument("--rules", type=Path, metavar="OPTIONS.toml", help='house rules, like snap_by = "voice"')
    parser.add_argument("--fouls", type=float, metavar="SHARE", help="of the turns go wrong, like 0.05")
    parser.add_argument("--deal", action="store_true", help="show the first deal too, as every later one")
    parser.add_argument("--script", type=Path, metavar="FILE", help="a recording to act out instead of a bots' game")
    parser.add_argument("--silent", action="store_true", help="no sound track")
    parser.add_argument("--preset", default="superfast", help="of the encoder; slow makes smaller files")
    parser.add_argument("--quality", type=int, help="1 to 51, higher is smaller (default: the condition's)")
    parser.add_argument("--codec", help="h264, hevc or mjpeg (default: the condition's)")


def run(args: argparse.Namespace) -> int:
    """Make the film and say how fast it went."""
    from vision.films.film import FilmOrder, make_film
    from vision.films.voices import can_speak
    from web.config import read_rules

    if args.frames is not None or args.folder is not None:
        return _frames(args)
    if args.out is None:
        raise BadInput.of("film", "OUT.mp4, or --frames N --out DIR", "neither")
    order = FilmOrder(
        game=args.game,
        seed=args.seed,
        seconds=args.seconds,
        short=args.short,
        fps=args.fps,
        size_px=_size(args.size),
        condition=args.condition,
        players=args.players,
        deck=args.deck,
        sound=not args.silent,
        codec=args.codec,
        preset=args.preset,
        quality=args.quality,
        rules=tuple(read_rules(args.rules).items()) if args.rules else (),
        fouls=args.fouls,
        deal=args.deal,
        written=args.script,
    )
    report = make_film(order, Path(args.out), progress=_bar if sys.stderr.isatty() else None)
    if order.sound and not can_speak():
        print("espeak-ng is not installed: talk is murmured, calls are taken on trust", file=sys.stderr)
    print(
        f"{report.path}: {report.frames} frames, {report.seconds:.1f} s of {args.game}, "
        f"made in {report.wall_s:.1f} s: {report.frames_per_second:.0f} frames a second "
        f"({report.frames / max(report.cpu_s, 1e-9):.0f} a second of one core)"
    )
    return 0


def _frames(args: argparse.Namespace) -> int:
    from vision.films.film import GAMES
    from vision.films.training_frames import write_frames

    if args.game not in GAMES:
        raise BadInput.of("game", " or ".join(GAMES), repr(args.game)[:40])
    if args.frames is None or not 1 <= args.frames <= 1_000_000 or args.folder is None or args.out is not None:
        raise BadInput.of("film", "--frames N (1 to 1000000) with --out DIR, and no OUT.mp4", "something else")
    count = write_frames(args.game, args.frames, args.folder, args.seed, progress=_bar if sys.stderr.isatty() else None)
    print(f"{args.folder}: {count} stills of {args.game} with labels, data.yaml and cards.csv")
    return 0


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise BadInput.of("size", "like 1280x720", repr(text)[:40])
    return int(width), int(height)


def _bar(done: int, of: int) -> None:
    if done % 15 == 0 or done + 1 == of:
        filled = 30 * (done + 1) // of
        end = "\n" if done + 1 == of else ""
        print(f"\r[{'#' * filled}{'.' * (30 - filled)}] {done + 1}/{of}", end=end, file=sys.stderr)
