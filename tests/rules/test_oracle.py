"""The second opinion agrees with the referee on games that bots play, and sees a clause that is broken."""

from __future__ import annotations

import importlib
import tomllib
from importlib import resources
from random import Random

import pytest

from referee.events import Answer
from vision.benches import referee as bench

GAMES = ("snap", "trash")
NUMBER = 20


def _parts(name):
    return tuple(importlib.import_module(module) for module in bench.GAMES[name])


@pytest.fixture(scope="module", params=GAMES)
def played(request):
    """A game's name, its modules, and its stories."""
    rules, bots, oracle = _parts(request.param)
    stories = [bench.story(rules.GAME, bots, Random(f"seat-{request.param}-{at}")) for at in range(NUMBER)]
    return request.param, rules, oracle.ORACLE, stories


def test_the_oracle_agrees_on_games_that_bots_play(played):
    _, rules, oracle, stories = played
    assert [bench.compare(rules.GAME, match.setup, match.course, oracle) for match in stories] == [[]] * NUMBER


def test_the_oracle_has_something_to_say(played):
    name, _, oracle, stories = played
    said = set()
    for match in stories:
        sitting = bench.Sitting(len(match.setup.players), match.setup.dealer, match.setup.deck, match.setup.options)
        said |= {one.clause for opinions in oracle.judge(sitting, match.course) for one in opinions}
    common = {"snap": {"S3", "S4", "S5", "S9", "S14"}, "trash": {"T3", "T5", "T6", "T8", "T9", "T10", "T11", "T13"}}
    assert common[name] <= said


def test_what_is_asked_is_asked_where_nobody_answers():
    """With the answers left out every question stands, and the oracle asks the same ones."""
    rules, bots, oracle = _parts("snap")
    asked = 0
    for at in range(NUMBER):
        match = bench.story(rules.GAME, bots, Random(f"seat-snap-{at}"))
        course = [event for event in match.course if not isinstance(event, Answer)]
        if len(course) == len(match.course) or match.setup.options["snap_by"] == "voice":
            continue
        asked += 1
        assert bench.compare(rules.GAME, match.setup, course, oracle.ORACLE) == []
    assert asked > NUMBER // 4


@pytest.mark.parametrize("name", GAMES)
def test_every_mutant_is_a_piece_of_the_rules_and_its_clause_exists(name):
    rules, _, _ = _parts(name)
    for mutant in _mutants(name):
        assert mutant["clause"] in rules.GAME.clauses
        assert bench._broken(rules, mutant).name == name


@pytest.mark.parametrize(("name", "clause"), [("snap", "S5"), ("trash", "T8")])
def test_a_broken_clause_is_seen(name, clause):
    rules, bots, oracle = _parts(name)
    broken = bench._broken(rules, next(mutant for mutant in _mutants(name) if mutant["clause"] == clause))
    matches = [bench.story(rules.GAME, bots, Random(f"seat-{name}-{at}")) for at in range(5)]
    assert any(bench.compare(broken, match.setup, match.course, oracle.ORACLE) for match in matches)


def _mutants(name):
    listed = resources.files("vision.benches.oracle").joinpath(f"{name}.toml").read_text("utf-8")
    return tomllib.loads(listed)["mutants"]
