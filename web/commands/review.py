"""`palmreader review`: judge recorded video, or only time the slaps and read the cards in it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from referee.bad_input import BadInput
from referee.cards import Deck
from referee.events import Event, Finish, Tick
from referee.game import set_up
from referee.match import Match
from referee.recording import dump
from referee.ruling import Ruling
from vision.cards.read import CardReader
from vision.hands.readout import RowDoubt
from vision.hands.watcher import HandWatcher
from vision.narrator import SPOT_KIND
from vision.pipeline import Pipeline, fits
from vision.sources.pieces import Piece
from vision.verdict import SlapVerdict
from web.config import Chosen, add_match_options, choose, dealer_seat, read_rules
from web.found_table import ClipTable, add_clip_options, open_clip, pieces_of, table_of
from web.games import game_named
from web.notation import Notation
from web.report import Judged, Watched, add_report_options, attended, show_report
from web.table_watch import enrolled_reader, pipeline_for, rules_deck, watch
from web.telling import Teller, clock, when
from web.words import DEFAULT_LANGUAGE, words

#: Without a game's own option, the confidence that decides.
DECIDED = 0.99

HELP = "judge recorded video: events, rulings and who slapped first"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("videos", nargs="+", type=Path, metavar="VIDEO", help="a video, or a folder of pictures")
    add_match_options(parser, game_option=True)
    parser.add_argument(
        "--deck",
        default="",
        metavar="D",
        help="a shipped deck, a deck.toml, or the FILE.deck of one that was enrolled (default: the game's)",
    )
    add_clip_options(parser)
    parser.add_argument("--watch-only", action="store_true", help="no game: time slaps, read cards")
    parser.add_argument("--labels", type=Path, metavar="CSV", help="compare a folder of pictures with labels by eye")
    parser.add_argument("--json", action="store_true", help="events, rulings and verdicts as JSON lines")
    parser.add_argument("--record", type=Path, metavar="OUT.jsonl", help="keep the match's log as it was told")
    add_report_options(parser)
    parser.add_argument("--lang", default=DEFAULT_LANGUAGE, metavar="LANGUAGE", help="the language of the words")


def run(args: argparse.Namespace) -> int:
    """Review one after another."""
    if len(args.videos) > 1 and args.write_table is not None:
        raise BadInput.of("--write-table", "one video, whose table it keeps", f"{len(args.videos)} videos")
    for path in args.videos:
        if len(args.videos) > 1 and not args.json:
            _say(f"{path}:")
        if not path.exists():
            raise BadInput.of(str(path), "a video or a folder of pictures", "no such file")
        if path.is_dir():
            from web.stills_review import review_stills

            if not args.watch_only:
                raise BadInput.of(str(path), "a video to judge a game by, or --watch-only", "a folder of pictures")
            for line in review_stills(path, labels=args.labels, as_json=args.json):
                _say(line)
        elif args.watch_only:
            _watch_slaps(path, args)
        else:
            _review_game(path, args)
    return 0


def _review_game(path: Path, args: argparse.Namespace) -> None:
    if args.game is None:
        raise BadInput.of("review", "a game, like --game snap, or --watch-only", "neither")
    chosen = _chosen(args)
    layout = chosen.game.layout(len(chosen.setup.players))
    clip = table_of(path, args, _with_bar, layout=layout)
    table = clip.table
    fits(table, layout)
    match: Match[Any] = Match(chosen.game, chosen.setup)
    refused: list[tuple[Event, str]] = []
    with open_clip(path, args) as video:
        here, reader = table.scaled_to(video.info.size_px), enrolled_reader(args.deck)
        slapped = chosen.game.expects(chosen.game.start(chosen.setup)).slaps
        hands = HandWatcher(here, timed=slapped, shutter=clip.shutter)
        pipeline = pipeline_for(chosen.game, chosen.setup, here, reader=reader, hands=hands)
        evidence = attended(pipeline, clip.assumed)
        pipeline.hands = RowDoubt(pipeline.hands, here, clip.shutter)
        pieces = _with_bar(pieces_of(video, args), video.info.duration_ns)
        for watched in watch(evidence.witness.pieces(pieces), pipeline, match):
            refused += watched.refused
    if args.record is not None:
        _record(args.record, chosen, match)
    judged = evidence.judged(match.course, len(match.setup.players), float(match.setup.options["confidence"]))
    _say_assumed(clip, args)
    lines = _json_lines(chosen, match, judged) if args.json else _lines(chosen, match, judged, evidence, args.lang)
    for line in lines:
        _say(line)
    show_report(args, path, judged, evidence, match.setup.players)
    for event, reason in refused:
        _note(f"left out: {dump(event)}: {reason}")


def _watch_slaps(path: Path, args: argparse.Namespace) -> None:
    """No game: only whose hand came down when, and who was first and last."""
    reader = CardReader.shipped()
    clip = table_of(path, args, _with_bar, reader=reader)
    table = clip.table
    players = args.players or clip.seat_names
    if len(players) != len(table.seats):
        expected = f"{len(table.seats)} names, one a seat of the table ({', '.join(clip.seat_names)})"
        raise BadInput.of("players", expected, len(players))
    told: dict[int, Event] = {}
    with open_clip(path, args) as video:
        here = table.scaled_to(video.info.size_px)
        spots = frozenset(spot.pile for spot in here.piles if spot.pile.kind == SPOT_KIND)
        slapped = spots or frozenset(spot.pile for spot in here.piles)
        hands = HandWatcher(here, timed=slapped, shutter=clip.shutter)
        pipeline = Pipeline(here, here.layout(), reader, hands, slapped=slapped)
        evidence = attended(pipeline, clip.assumed)
        pipeline.hands = RowDoubt(pipeline.hands, here, clip.shutter)
        pieces = _with_bar(pieces_of(video, args), video.info.duration_ns)
        for looked in pipeline.watch(evidence.witness.pieces(pieces)):
            for telling in looked.tellings:
                if telling.event is None:
                    told.pop(telling.key, None)
                else:
                    told[telling.key] = telling.event
    course = sorted(told.values(), key=lambda event: event.at.at_ns)
    judged = evidence.judged(course, len(players), DECIDED)
    _say_assumed(clip, args)
    for verdict in (each.verdict for each in judged):
        if args.json:
            _say(json.dumps(verdict.to_json()))
        else:
            _say(f"{clock(verdict.instants[0][1].at_ns):>9}  {verdict.in_words(players, evidence.conditions)}")
    if not judged and not args.json:
        _say("no slap was seen")
    show_report(args, path, judged, evidence, players)


def _chosen(args: argparse.Namespace) -> Chosen:
    game = game_named(args.game)
    if not args.players:
        raise BadInput.of("players", "names in seat order, like --players Ana,Ben", "none")
    options = read_rules(args.rules) if args.rules else {}
    dealer = dealer_seat(args.dealer, args.players)
    if args.deck.endswith(".toml"):
        deck = _deck(Path(args.deck))
        return Chosen(game, set_up(game, args.players, deck, dealer=dealer, options=options), deck.name)
    return choose(game, args.players, dealer=dealer, deck=rules_deck(args.deck), options=options)


def _deck(path: Path) -> Deck:
    try:
        return Deck.parse(path.read_text(encoding="utf-8"), source=path.name)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput.of(str(path), "a deck in TOML", getattr(error, "strerror", None) or str(error)) from error


def _say_assumed(clip: ClipTable, args: argparse.Namespace) -> None:
    """What was found rather than told; ``--json`` has the table too."""
    if clip.found is None:
        return
    if not args.json:
        for line in clip.assumed:
            _say(line)
        return
    note = {"kind": "note", "text": " ".join(clip.assumed), "table": clip.table.to_toml(), "seats": clip.seat_names}
    _say(json.dumps(note))


# --- what is said --------------------------------------------------------------------------------------


def _in_order(match: Match[Any], judged: Sequence[Judged]) -> Iterator[Event | Ruling | SlapVerdict]:
    """The course as it stands, each ruling after the last event that it rests on, each verdict after its slaps."""
    places = {event.id: place for place, event in enumerate(match.course)}
    after: dict[int, list[Ruling]] = {}
    for ruling in match.rulings:
        last = max((places[number] for number in ruling.because if number in places), default=len(places) - 1)
        after.setdefault(last, []).append(ruling)
    verdicts = {each.slaps[-1].id: each.verdict for each in judged}
    for place, event in enumerate(match.course):
        if not isinstance(event, Tick):
            yield event
        yield from after.get(place, ())
        if event.id in verdicts:
            yield verdicts[event.id]


def _json_lines(chosen: Chosen, match: Match[Any], judged: Sequence[Judged]) -> Iterator[str]:
    yield dump(chosen.header)
    for item in _in_order(match, judged):
        yield json.dumps(item.to_json()) if isinstance(item, SlapVerdict) else dump(item)
    board = match.board
    yield json.dumps(
        {
            "kind": "note",
            "text": "cards: " + ", ".join(f"{pile} {count}" for pile, count in board.counts.items()),
        }
    )


def _lines(
    chosen: Chosen, match: Match[Any], judged: Sequence[Judged], evidence: Watched, language: str
) -> Iterator[str]:
    spoken = words(language)
    players = chosen.setup.players
    teller = Teller(chosen.game, players, spoken)
    notation = Notation.of(spoken.verbs(chosen.game.name), players, chosen.setup.deck)
    latest = match.course[-1] if match.course else None
    for item in _in_order(match, judged):
        if isinstance(item, SlapVerdict):
            yield f"{'':>9}  = {item.in_words(players, evidence.conditions)}"
        elif isinstance(item, Ruling):
            yield from teller.ruling(item, when(item, match, latest) if latest else 0)
        elif not isinstance(item, Finish):  # the order of hands is said by the verdict
            doubt = f"  ± {item.at.sd_ns / 1e6:.0f} ms" if item.at.sd_ns else ""
            yield f"{clock(item.at.at_ns):>9}  {notation.print(item) or dump(item)}{doubt}"
    yield from teller.board(match.board)


def _record(path: Path, chosen: Chosen, match: Match[Any]) -> None:
    text = "\n".join([dump(chosen.header), *(dump(event) for event in match.log)]) + "\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput.of(str(path), "a place that can be written", error.strerror or "none") from error


def _with_bar(pieces: Iterator[Piece], duration_ns: int | None) -> Iterator[Piece]:
    """A progress bar where a person is watching."""
    shown = sys.stderr.isatty() and bool(duration_ns)
    percent = -1
    for piece in pieces:
        if shown and duration_ns:
            now = min(100, 100 * piece.at_ns // duration_ns)
            if now != percent:
                percent = now
                _note(f"\r[{'#' * (percent * 3 // 10):<30}] {percent:>3} %", end="")
        yield piece
    if shown:
        _note("\r" + " " * 40, end="\r")


def _say(line: str) -> None:
    print(line, flush=True)


def _note(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)
