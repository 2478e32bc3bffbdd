"""Everything that the referee can say has words, and the words say what they were given."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from referee.cards import Card, Pile
from referee.events import KINDS
from referee.recording import Header, read
from referee.ruling import EFFECTS, Draw, Give, NextTurn, PutTogether, Ruling, Score, TakeBack, Verdict, WinPiles
from web.games import games
from web.words import best_language, languages, words

RECORDINGS = Path(__file__).resolve().parents[1] / "recordings"
CLAUSE = re.compile(r"[A-Z]\d{1,2}")
CASE = re.compile(r"[a-z]+(_[a-z]+)+")
PLAYERS = ("Ana", "Ben", "Cleo")


def said_in_source(game: str) -> Iterator[tuple[str | None, str]]:
    """(clause, case) as a game's files name them side by side; the clause None where it is a variable."""
    module = importlib.import_module(f"referee.games.{game.replace('-', '_')}")
    assert module.__file__ is not None
    path = Path(module.__file__)
    sources = [part.read_text(encoding="utf-8") for part in path.parent.glob(f"{path.stem}*.py")]
    for node in (node for source in sources for node in ast.walk(ast.parse(source))):
        if isinstance(node, ast.Call):
            named = {word.arg: word.value for word in node.keywords}
            if isinstance(what := named.get("what"), ast.Constant):
                clause = named.get("clause")
                yield (clause.value if isinstance(clause, ast.Constant) else None), what.value
            yield from side_by_side(node.args)
        elif isinstance(node, ast.Tuple):
            yield from side_by_side(node.elts)


def side_by_side(nodes: list[ast.expr]) -> Iterator[tuple[str, str]]:
    values = [node.value if isinstance(node, ast.Constant) else None for node in nodes]
    for clause, what in pairwise(values):
        if isinstance(clause, str) and isinstance(what, str) and CLAUSE.fullmatch(clause) and CASE.fullmatch(what):
            yield clause, what


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("game", sorted(set(games()) & set(words().games)))
class TestOfAGame:
    def test_every_clause_has_a_title(self, language, game):
        untitled = [clause for clause in games()[game].clauses if not words(language).title(game, clause)]
        assert untitled == []

    def test_every_case_has_a_message(self, language, game):
        cases = set(said_in_source(game))
        assert len(cases) > 10
        catalogue = words(language)
        anywhere = {what for table in catalogue.games[game].values() if isinstance(table, dict) for what in table}
        wordless = sorted(
            f"{clause or '?'}.{what}"
            for clause, what in cases
            if not (
                catalogue.has(game, clause, what) if clause else what in anywhere or catalogue.has(game, "any", what)
            )
        )
        assert wordless == []

    def test_every_ruling_of_the_golden_recordings_is_told_without_gaps(self, language, game):
        told = []
        for path in RECORDINGS.glob("*.jsonl"):
            lines = list(read(path.read_text(encoding="utf-8").splitlines()))
            assert isinstance(lines[0], Header)
            if lines[0].game == game:
                for line in lines:
                    if isinstance(line, Ruling):
                        assert words(language).has(game, line.clause, line.what), f"{line.clause}.{line.what}"
                        told.append(words(language).ruling(game, line, lines[0].players))
                        told.extend(words(language).effects(line, lines[0].players))
        assert told
        assert [text for text in told if re.search(r"[{}]|\bNone\b|\?\?|seat \d", text)] == []

    def test_every_house_rule_has_a_few_words(self, language, game):
        wordless = [o.name for o in games()[game].options if words(language).option(game, o.name) == o.name]
        assert wordless == []

    def test_verbs_stand_for_events(self, language, game):
        verbs = words(language).verbs(game)
        assert verbs
        assert {verb["event"] for verb in verbs} <= set(KINDS)


def test_effects_are_told_in_whole_sentences():
    effects = (
        NextTurn(1),
        Draw(0, 4),
        Draw(0, 1),
        Give(0, 2),
        WinPiles(1, (Pile("up", 0), Pile("pot"))),
        PutTogether((Pile("up", 0), Pile("up", 1)), Pile("pot")),
        TakeBack(2, Card.parse("7h")),
        Score(2, 12),
    )
    assert {type(effect) for effect in effects} == set(EFFECTS.values())
    ruling = Ruling(clause="S5", verdict=Verdict.NOTE, what="x", effects=effects)
    assert words().effects(ruling, PLAYERS) == (
        "Ana draws 4 cards",
        "Ana draws 1 card",
        "Ana gives Cleo 1 card",
        "Ben takes Ana’s face-up pile and the Snap Pot",
        "Ana’s face-up pile and Ben’s face-up pile go together onto the Snap Pot",
        "Cleo takes 7♥ back",
        "Cleo: 12 points",
        "Next turn: Ben",
    )


@pytest.mark.parametrize(
    ("probability", "said"),
    [(1.0, ""), (0.998, "99.8 % sure"), (0.99999, "99.99 % sure"), (0.9994, "99.94 % sure"), (0.5, "50.0 % sure")],
)
def test_nothing_short_of_certain_is_rounded_up_to_it(probability, said):
    assert words().sureness(probability) == said


def test_a_detail_is_never_read_as_a_message():
    ruling = Ruling(clause="S3", verdict=Verdict.FAULT, what="out_of_turn", seat=0)
    assert words().ruling("snap", ruling, ("{seat}{0}", "Ben")) == "{seat}{0} turned a card out of turn"


def test_a_case_that_nobody_has_written_words_for_is_told_by_its_name():
    ruling = Ruling(clause="S3", verdict=Verdict.FAULT, what="sang_a_song", seat=0)
    assert words().ruling("snap", ruling, PLAYERS) == "Ana: sang a song"


def test_a_reader_gets_the_first_of_their_languages_that_there_is():
    assert best_language(["xx", "en-GB", "de"]) == "en"
    assert best_language([]) == "en"
