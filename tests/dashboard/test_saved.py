"""A saved state reads back as it was, and is never more than data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from referee.bad_input import BadInput
from referee.match import Match
from referee.recording import Header, Note, read
from referee.ruling import Ruling
from web.config import from_header
from web.games import games
from web.saved import restore, rules_version, save

RECORDINGS = sorted((Path(__file__).resolve().parents[1] / "recordings").glob("*.jsonl"))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_state_of_a_golden_recording_reads_back(path):
    lines = list(read(path.read_text(encoding="utf-8").splitlines()))
    assert isinstance(lines[0], Header)
    chosen = from_header(lines[0])
    match = Match(chosen.game, chosen.setup)
    for line in lines[1:]:
        if isinstance(line, Note | Ruling):
            continue
        match.tell(line)
        text = save(match.state)
        assert restore(text, chosen.setup) == match.state
        assert "Standard 52-card deck" not in text, "the setup is known: it is left out"


def test_there_is_a_recording_of_every_game():
    assert {path.stem.split("_")[0] for path in RECORDINGS} >= {name.split("-")[0] for name in games()}


@pytest.mark.parametrize(
    "name",
    ["os:system", "subprocess:Popen", "referee.recording:dump", "referee.games.snap:no_such", "builtins:eval", ""],
)
def test_nothing_but_the_referees_values_is_ever_made(snap, name):
    with pytest.raises(BadInput, match="saved state: expected a value of the referee"):
        restore(json.dumps({"~": name, "of": "echo"}), snap.setup)


def test_a_value_that_is_not_the_referees_is_not_saved():
    with pytest.raises(TypeError, match="expected the referee's values, got object"):
        save((1, object()))


def test_the_rules_have_a_version():
    assert len(rules_version()) == 16
