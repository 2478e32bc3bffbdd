"""`palmreader referee`: judge a recording of events, or keep score by typing what happens."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, BinaryIO

from referee.bad_input import BadInput
from referee.events import Event
from referee.game import Board, NotInThisGame
from referee.match import Judgement, Match
from referee.recording import LONGEST_LINE, Header, Note, dump, read
from referee.ruling import Ruling
from web.config import Chosen, add_match_options, choose, dealer_seat, from_header, read_rules
from web.games import game_named, games
from web.keeper import keep
from web.telling import Teller, when
from web.words import DEFAULT_LANGUAGE, words

HELP = "judge a recording of events, or keep score by typing what happens"
LATE = "events"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("game", metavar="GAME", help=" or ".join(games()))
    parser.add_argument(
        "events", nargs="?", metavar="EVENTS.jsonl", help="a recording, `-`: standard input; left out: type"
    )
    add_match_options(parser, game_option=False)
    parser.add_argument("--deck", default="", metavar="D", help="the deck that is played with (default: the game's)")
    parser.add_argument(
        "--as", type=Path, dest="instead", metavar="OPTIONS.toml", help="judge under these house rules too, and compare"
    )
    parser.add_argument("--json", action="store_true", help="events and rulings as JSON lines")
    parser.add_argument("--interactive", action="store_true", help="type what happens, also where input is a pipe")
    parser.add_argument(
        "--keep", type=Path, metavar="FILE.jsonl", help="keep what is typed in this recording, and go on with it"
    )
    parser.add_argument("--lang", default=DEFAULT_LANGUAGE, metavar="LANGUAGE", help="the language of the words")


def run(args: argparse.Namespace) -> int:
    """Judge the recording, or let a person type."""
    game_named(args.game)
    if args.interactive or (args.events is None and sys.stdin.isatty()):
        if args.instead is not None or args.json:
            raise BadInput.of("referee", "--as and --json with a recording", "no recording")
        keep(_chosen(args, None), words(args.lang), args.keep)
        return 0
    if args.events in (None, "-"):
        _judge(args, sys.stdin.buffer, "standard input")
        return 0
    try:
        with open(args.events, "rb") as file:
            _judge(args, file, args.events)
    except OSError as error:
        raise BadInput.of(str(args.events), "a recording of events", error.strerror or "none") from error
    return 0


def _judge(args: argparse.Namespace, file: BinaryIO, name: str) -> None:
    recording = _Recording(file, name)
    lines = iter(recording)
    first = next(lines, None)
    header = first if isinstance(first, Header) else None
    if header is not None:
        recording.check(header)
    chosen = _chosen(args, header)
    instead = None if args.instead is None else _under(chosen, read_rules(args.instead))
    teller = Teller(chosen.game, chosen.setup.players, words(args.lang))
    match: Match[Any] = Match(chosen.game, chosen.setup)
    if args.json:
        _say(dump(chosen.header))
    for line in lines if header or first is None else _again(first, lines):
        if isinstance(line, Note) and not args.json and instead is None:
            _say(f"# {line.text}")
        if isinstance(line, Header):
            raise recording.bad("a recording's header once, as its first line", "another header")
        if not isinstance(line, Note | Ruling | None):
            judgement = recording.tell(match, line)
            if instead is None:
                _tell(judgement, match, teller, as_json=args.json)
    if instead is not None:
        _compare(match, chosen, instead, teller, as_json=args.json)
    elif not args.json:
        _say("\n".join(teller.naming(match).board(match.board)))


def _again(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def _chosen(args: argparse.Namespace, header: Header | None) -> Chosen:
    """What was chosen on the command line, and where nothing was, what the recording says."""
    game = game_named(args.game)
    if header is not None and header.game != game.name:
        raise BadInput.of("game", f"{header.game}, as the recording says", game.name)
    players = args.players or (header.players if header else ())
    if not players:
        raise BadInput.of("players", "names in seat order, like --players Ana,Ben", "none")
    dealer = header.dealer if header and args.dealer is None else dealer_seat(args.dealer, players)
    options = read_rules(args.rules) if args.rules else dict(header.options) if header else {}
    deck = args.deck or (header.deck if header else "")
    return choose(game, players, dealer=dealer, deck=deck, options=options)


def _tell(judgement: Judgement, match: Match[Any], teller: Teller, *, as_json: bool) -> None:
    if not as_json:
        for line in teller.naming(match).judgement(judgement, match):
            _say(line)
        return
    _say(dump(judgement.event))
    for ruling in judgement.withdrawn:
        _say(json.dumps({"kind": "withdrawn", "id": ruling.id}))
    for ruling in judgement.given:
        _say(dump(ruling))


def _under(chosen: Chosen, rules: dict[str, object]) -> Chosen:
    """The same match under other house rules."""
    setup = chosen.setup
    options = {**setup.options, **rules}
    return choose(chosen.game, setup.players, dealer=setup.dealer, deck=chosen.deck_name, options=options)


def _compare(match: Match[Any], chosen: Chosen, instead: Chosen, teller: Teller, *, as_json: bool) -> None:
    """Judge the same log under other house rules and show the rulings in which the two differ."""
    recorded = _folded(chosen, match.course)
    other = _folded(instead, match.course)
    changes = {
        name: (chosen.setup.options[name], value)
        for name, value in instead.setup.options.items()
        if value != chosen.setup.options[name]
    }
    differences = list(_differences(recorded.rulings, other.rulings))
    if as_json:
        _say(json.dumps({"kind": "rules", "changed": {name: list(pair) for name, pair in changes.items()}}))
        for side, ruling in differences:
            _say(json.dumps({**json.loads(dump(ruling)), "kind": "difference", "under": side}, ensure_ascii=False))
        return
    value, say = teller.words.value, teller.words.say
    for name, (old, new) in changes.items():
        _say(say("compare", "option", option=name, old=value(old), new=value(new)))
    if not differences:
        _say(say("compare", "same", count=len(recorded.rulings)))
    latest = match.course[-1] if match.course else None
    for side, ruling in differences:
        for line in teller.ruling(ruling, when(ruling, match, latest) if latest else 0):
            _say(("- " if side == "recorded" else "+ ") + line)
    for event, reason in other.left_out:
        _say(say("compare", "left_out", id=event.id, reason=reason))
    for title, one in (("before", recorded), ("after", other)):
        _say(say("compare", title))
        _say("\n".join(teller.naming(match).board(one.board)))


@dataclass(frozen=True, slots=True)
class _Folded:
    """A course of events as judged under one set of house rules."""

    rulings: tuple[Ruling, ...]
    board: Board
    left_out: tuple[tuple[Event, str], ...]


def _folded(chosen: Chosen, course: Sequence[Event]) -> _Folded:
    state = chosen.game.start(chosen.setup)
    rulings: list[Ruling] = []
    left_out: list[tuple[Event, str]] = []
    for event in course:
        try:
            state, given = chosen.game.rule(state, event)
        except NotInThisGame as error:
            left_out.append((event, str(error)))
            continue
        rulings += given
    return _Folded(tuple(rulings), chosen.game.board(state), tuple(left_out))


def _differences(one: tuple[Ruling, ...], other: tuple[Ruling, ...]) -> Iterator[tuple[str, Ruling]]:
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    for tag, i, j, k, n in matcher.get_opcodes():
        if tag != "equal":
            yield from (("recorded", ruling) for ruling in one[i:j])
            yield from (("as", ruling) for ruling in other[k:n])


@dataclass(slots=True)
class _Recording:
    """A recording read line by line, that knows which line it is at."""

    file: BinaryIO
    name: str
    number: int = field(default=0)

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from read(self._lines())
        except BadInput as bad:
            raise BadInput(f"{self.name}: {bad}") from bad

    def tell(self, match: Match[Any], event: Event) -> Judgement:
        try:
            return match.tell(event)
        except (NotInThisGame, BadInput) as error:
            raise BadInput(f"{self.name}: line {self.number}: {error}") from error

    def check(self, header: Header) -> None:
        """Refuse a header that no match can be set up by."""
        try:
            from_header(header)
        except BadInput as bad:
            raise BadInput(f"{self.name}: line {self.number}: {bad}") from bad

    def bad(self, expected: str, got: str) -> BadInput:
        return BadInput(f"{self.name}: line {self.number}: expected {expected}, got {got}")

    def _lines(self) -> Iterator[str]:
        # A line is never read further than it may be long: a file without line breaks can't fill the memory.
        while raw := self.file.readline(4 * LONGEST_LINE + 8):
            self.number += 1
            try:
                yield raw.decode("utf-8")
            except UnicodeDecodeError:
                raise BadInput(f"line {self.number}: expected text in UTF-8, got other bytes") from None


def _say(text: str) -> None:
    print(text, flush=True)
