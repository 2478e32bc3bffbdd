"""Every clause and every fault row of the rules is cited by a story and by a golden match."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from referee.ruling import Ruling

TESTS = Path(__file__).resolve().parent
RULES = Path(__file__).resolve().parents[2].parent / "shared" / "rules"
GAMES = {"snap": "S", "hit_the_deck": "H", "trash": "T"}

needs_rules = pytest.mark.skipif(
    not RULES.is_dir(), reason="the rules' texts lie in ../shared/rules, which is not here"
)


def clauses_in(text: str, letter: str) -> set[str]:
    """Clauses cited, spans like S1–S20 or S1 to S20 left out: a span cites nothing in particular."""
    text = re.sub(rf"{letter}\d+ ?(?:–|-|to) ?{letter}\d+", "", text)
    return set(re.findall(rf"\b{letter}\d+\b", text))


def rulebook(game: str) -> str:
    return RULES.joinpath(game.replace("_", "-") + ".md").read_text(encoding="utf-8")


@needs_rules
@pytest.mark.parametrize("game", GAMES)
def test_the_game_declares_exactly_the_clauses_of_its_rules(game: str) -> None:
    import importlib

    declared = set(importlib.import_module(f"referee.games.{game}").GAME.clauses)
    written = set(re.findall(rf"^\| ({GAMES[game]}\d+)\b", rulebook(game), re.MULTILINE))
    assert declared == written


@needs_rules
@pytest.mark.parametrize("game", GAMES)
def test_every_clause_is_cited_by_a_story(game: str) -> None:
    letter = GAMES[game]
    stories = clauses_in((TESTS / f"test_{game}.py").read_text(encoding="utf-8").replace("_", " ").upper(), letter)
    assert clauses_in(rulebook(game), letter) - stories == set()


@needs_rules
@pytest.mark.parametrize("game", GAMES)
def test_every_clause_is_cited_by_a_golden_match(game: str) -> None:
    letter = GAMES[game]
    told = "".join(path.read_text(encoding="utf-8") for path in (TESTS.parent / "recordings").glob(f"{game}*.jsonl"))
    assert clauses_in(rulebook(game), letter) - clauses_in(told, letter) == set()


@needs_rules
@pytest.mark.parametrize("game", GAMES)
def test_every_fault_row_is_ruled_in_a_golden_match(game: str) -> None:
    """Each row of the table of faults names clauses; a golden match holds a fault under one of them at least."""
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", rulebook(game).split("## Faults")[1].split("##")[0], re.MULTILINE)
    from referee.recording import read

    ruled: set[str] = set()
    for path in (TESTS.parent / "recordings").glob(f"{game}*.jsonl"):
        for line in read(path.read_text(encoding="utf-8").splitlines()):
            if isinstance(line, Ruling) and line.verdict.value in ("fault", "lost", "ask"):
                ruled.add(line.clause)
    missing = [fault for fault, clauses in rows[2:] if not set(clauses.split(", ")) & ruled]
    assert missing == []
