"""Bots play, the referee judges, and an independent oracle says whether it agrees."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, fields
from importlib import resources
from random import Random
from types import ModuleType
from typing import Any

from referee.bad_input import BadInput
from referee.cards import Card, Pile, shipped_deck
from referee.events import Answer, Event
from referee.game import Game, Setup, set_up
from referee.match import Match
from referee.recording import dump
from referee.ruling import EFFECTS, Effect, Ruling
from vision.benches.oracle import Opinion, Oracle, PlainEffect, Sitting

HELP = "bots play each game; an independent oracle judges every ruling; replays must give the same"

#: Each game with the module of its rules, of its bots and of its oracle.
GAMES = {
    "snap": ("referee.games.snap", "vision.films.bots.snap_events", "vision.benches.oracle.snap"),
    "hit-the-deck": (
        "referee.games.hit_the_deck",
        "vision.films.bots.hit_the_deck",
        "vision.benches.oracle.hit_the_deck",
    ),
    "trash": ("referee.games.trash", "vision.films.bots.trash", "vision.benches.oracle.trash"),
}
_FULL, _QUICK, _A_BATCH = 10_000, 60, 50
_KINDS = ("legal", "clumsy", "cheating")
_EFFECT_NAMES = {kind: name for name, kind in EFFECTS.items()}


def add(parser: argparse.ArgumentParser) -> None:
    """The bench's own options."""
    parser.add_argument("--game", choices=sorted(GAMES), action="append", help="only this game (may be repeated)")
    parser.add_argument("--games", type=int, metavar="N", help=f"games of each (default {_FULL}, quick {_QUICK})")
    parser.add_argument("--mutants", action="store_true", help="prove the oracle: break each clause in turn")


def run(args: argparse.Namespace) -> int:
    """Play, judge, compare; print a table and one JSON line."""
    names = args.game or [name for name in GAMES if _there(name)]
    number = args.games if args.games is not None else _QUICK if args.quick else _FULL
    if number < 1:
        raise BadInput.of("--games", "1 or more", number)
    by_game: dict[str, Any] = {}
    total = Tally()
    print(f"seed {args.seed}, {number} games of each\n")
    print(f"{'game':14}{'games':>8}{'events':>10}{'rulings':>10}{'disagree':>10}{'replays':>9}{'events/s':>10}")
    for name in names:
        tally = Tally()
        batches = [(name, args.seed, start, min(_A_BATCH, number - start)) for start in range(0, number, _A_BATCH)]
        with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
            for part in pool.map(_play_batch, batches):
                tally.add(part)
        by_game[name] = tally.figures()
        total.add(tally)
        print(
            f"{name:14}{tally.games:8}{tally.events:10}{tally.rulings:10}{tally.disagreements:10}"
            f"{tally.replays_differ:9}{by_game[name]['events_per_second']:10.0f}"
        )
        for example in tally.examples[:5]:
            print("   ", example)
    figures: dict[str, Any] = {**total.figures(), "seed": args.seed, "by_game": by_game}
    if args.mutants:
        figures["mutants"] = {name: _mutants(name, args.seed) for name in names}
        for name, killed in figures["mutants"].items():
            survived = [clause for clause, seen in killed.items() if not seen]
            print(f"{name}: {len(killed)} clauses broken one by one; unseen by the oracle: {survived or 'none'}")
    print(json.dumps(figures))
    return 0


@dataclass(slots=True)
class Tally:
    """What a number of games came to."""

    games: int = 0
    events: int = 0
    rulings: int = 0
    disagreements: int = 0
    replays_differ: int = 0
    judging_s: float = 0.0
    clauses: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Put two together."""
        for item in fields(self):
            if item.name == "clauses":
                self.clauses.update(other.clauses)
            else:
                setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))

    def figures(self) -> dict[str, Any]:
        """The figures named in the bench's description."""
        return {
            "games": self.games,
            "events": self.events,
            "rulings": self.rulings,
            "disagreements": self.disagreements,
            "replays_differ": self.replays_differ,
            "games_per_second": round(self.games / self.judging_s, 1) if self.judging_s else 0.0,
            "events_per_second": round(self.events / self.judging_s) if self.judging_s else 0,
            "clauses": dict(sorted(self.clauses.items())),
        }


def _there(name: str) -> bool:
    return all(importlib.util.find_spec(module) is not None for module in GAMES[name])


def _play_batch(batch: tuple[str, int, int, int]) -> Tally:
    name, seed, start, number = batch
    rules, bots, oracle = (importlib.import_module(module) for module in GAMES[name])
    tally = Tally()
    for at in range(start, start + number):
        tally.add(_one(rules.GAME, bots, oracle.ORACLE, Random(f"{seed}-{name}-{at}")))
    return tally


def story(game: Game[Any], bots: ModuleType, rng: Random) -> Match[Any]:
    """One game played by bots, under house rules of its own."""
    players = rng.randint(game.players.start, min(game.players.stop - 1, 6))
    names = tuple(f"player {seat}" for seat in range(players))
    options: Mapping[str, object] = bots.house_rules(rng)
    deck = shipped_deck(bots.deck_for(options) if hasattr(bots, "deck_for") else game.deck)
    setup = set_up(game, names, deck, dealer=rng.randrange(players), options=options)
    match = Match(game, setup)
    for _ in bots.play(match, rng, rng.choice(_KINDS)):
        pass
    return match


def _one(game: Game[Any], bots: ModuleType, oracle: Oracle, rng: Random) -> Tally:
    match = story(game, bots, rng)
    replay = Match(game, match.setup)
    before = time.process_time()
    replay.tell_all(match.log)
    judging_s = time.process_time() - before
    differs = [dump(r) for r in replay.rulings] != [dump(r) for r in match.rulings]
    wrong = compare(game, match.setup, match.course, oracle)
    return Tally(
        games=1,
        events=len(match.log),
        rulings=len(match.rulings),
        disagreements=len(wrong),
        replays_differ=int(differs),
        judging_s=judging_s,
        clauses=Counter(ruling.clause for ruling in match.rulings),
        examples=wrong[:2],
    )


def compare(game: Game[Any], setup: Setup, course: Iterable[Event], oracle: Oracle) -> list[str]:
    """Fold the course through the game, ask the oracle, and say each event on which they differ."""
    course = tuple(course)
    sitting = Sitting(len(setup.players), setup.dealer, setup.deck, setup.options)
    opinions = oracle.judge(sitting, course)
    state = game.start(setup)
    wrong = []
    for at, event in enumerate(course):
        try:
            state, rulings = game.rule(state, event)
        except ValueError as error:
            wrong.append(f"event {event.id} {type(event).__name__}: refused: {error}")
            continue
        ours, theirs = sorted(map(opinion, rulings), key=repr), sorted(opinions[at], key=repr)
        if ours != theirs:
            kind = "answer" if isinstance(event, Answer) else type(event).__name__.lower()
            wrong.append(f"event {event.id} {kind}: referee {ours}, oracle {theirs}")
    return wrong


def opinion(ruling: Ruling) -> Opinion:
    """A ruling without its words."""
    effects = tuple(_plain(effect) for effect in ruling.effects)
    return Opinion(ruling.clause, ruling.verdict.value, ruling.seat, effects)


def _plain(effect: Effect) -> PlainEffect:
    values = (getattr(effect, item.name) for item in fields(effect))
    return (_EFFECT_NAMES[type(effect)], *map(_plain_value, values))


def _plain_value(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_plain_value, value))
    return str(value) if isinstance(value, Card | Pile) else value


def _mutants(name: str, seed: int) -> dict[str, int]:
    """For each clause: break the game there, and count the games on which the oracle then disagrees.

    A mutant is a piece of the rules' own source put another way: ``oracle/<game>.toml`` names them.
    """
    rules, bots, oracle = (importlib.import_module(module) for module in GAMES[name])
    listed = resources.files("vision.benches.oracle").joinpath(name.replace("-", "_") + ".toml").read_text("utf-8")
    seen: dict[str, int] = {}
    for mutant in tomllib.loads(listed)["mutants"]:
        broken = _broken(rules, mutant)
        wrong = 0
        for at in range(mutant.get("games", 150)):
            match = story(rules.GAME, bots, Random(f"{seed}-mutants-{name}-{at}"))
            told = match.setup, match.course, oracle.ORACLE
            # Only where the oracle agrees with the whole game does its disagreement tell anything.
            if compare(broken, *told) and not compare(rules.GAME, *told):
                wrong += 1
                if wrong >= 3:
                    break
        clause = mutant["clause"]
        seen[clause] = min(seen.get(clause, wrong), wrong)
    return seen


def _broken(rules: ModuleType, mutant: Mapping[str, Any]) -> Game[Any]:
    """The game with one piece of its source put another way, in whichever of its files that stands."""
    stem = rules.__name__.rpartition(".")[2]
    files = {
        f"{rules.__package__}.{path.name.removesuffix('.py')}": path.read_text("utf-8")
        for path in resources.files("referee.games").iterdir()
        if path.name.startswith(stem) and path.name.endswith(".py")
    }
    name = next((name for name, source in files.items() if mutant["old"] in source), None)
    if name is None:
        raise BadInput.of(f"mutant of {mutant['clause']}", "a piece of the rules' source", repr(mutant["old"])[:80])
    whole = {file: sys.modules.pop(file) for file in files if file in sys.modules}
    try:
        # The other files find the broken one where they look for the whole one.
        sys.modules[name] = broken = ModuleType(name)
        exec(compile(files[name].replace(mutant["old"], mutant["new"], 1), name, "exec"), broken.__dict__)
        game: Game[Any] = importlib.import_module(rules.__name__).GAME
    finally:
        for file in files:
            sys.modules.pop(file, None)
        sys.modules.update(whole)
        for file, module in whole.items():
            setattr(sys.modules[rules.__package__ or ""], file.rpartition(".")[2], module)
    return game
