"""Golden recordings: matches told as stories, replayed, every ruling compared.

`python tests/rules/test_golden.py` writes the rulings anew; read the difference before committing it.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path
from typing import Any

import pytest

import referee.games
from referee.cards import shipped_deck
from referee.events import Event
from referee.game import Game, set_up
from referee.match import Match
from referee.recording import Header, Line, Note, dump, read
from referee.ruling import Ruling

RECORDINGS = Path(__file__).resolve().parents[1] / "recordings"
GOLDEN = sorted(RECORDINGS.glob("*.jsonl"))


def games() -> dict[str, Game[Any]]:
    modules = [importlib.import_module(f"referee.games.{m.name}") for m in pkgutil.iter_modules(referee.games.__path__)]
    return {module.GAME.name: module.GAME for module in modules if hasattr(module, "GAME")}


def rejudged(lines: list[Line]) -> list[str]:
    """The recording with its rulings as the referee gives them now, each right after what it rests on."""
    header = lines[0]
    assert isinstance(header, Header), "the first line says which game"
    game = games()[header.game]
    deck = shipped_deck(header.deck or game.deck)
    match = Match(game, set_up(game, header.players, deck, dealer=header.dealer, options=header.options))
    told: list[str] = [dump(header)]
    for line in lines[1:]:
        if isinstance(line, Note):
            told.append(dump(line))
        elif not isinstance(line, Ruling | Header):
            judgement = match.tell(line)
            told.append(dump(judgement.event))
            told.extend(dump(ruling) for ruling in judgement.given)
    return told


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem.replace("_", " "))
def test_a_golden_recording_is_judged_as_it_was(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert rejudged(list(read(text.splitlines()))) == text.splitlines()


def test_every_game_has_a_golden_recording() -> None:
    told = {next(iter(read(path.read_text(encoding="utf-8").splitlines()))).game for path in GOLDEN}  # type: ignore[union-attr]
    assert told == set(games())


def test_no_ruling_cites_an_unknown_clause() -> None:
    for path in GOLDEN:
        lines = list(read(path.read_text(encoding="utf-8").splitlines()))
        game = games()[lines[0].game]  # type: ignore[union-attr]
        cited = {line.clause for line in lines if isinstance(line, Ruling)}
        assert cited <= set(game.clauses), path.name


def events_of(path: Path) -> list[Event]:
    lines = read(path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if not isinstance(line, Header | Note | Ruling)]


if __name__ == "__main__":
    for golden in [Path(name) for name in sys.argv[1:]] or GOLDEN:
        written = rejudged(list(read(golden.read_text(encoding="utf-8").splitlines())))
        golden.write_text("\n".join(written) + "\n", encoding="utf-8")
