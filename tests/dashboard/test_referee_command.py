"""`palmreader referee`: recordings judged, compared under other rules, and refused in one line with its number."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from referee.recording import dump, read
from referee.ruling import Ruling
from web.cli import main

RECORDINGS = Path(__file__).resolve().parents[1] / "recordings"
HEADER = '{"kind": "recording", "game": "snap", "players": ["Ana", "Ben"], "dealer": 1}\n'


def event(kind: str, at_ms: int, **fields: object) -> str:
    return json.dumps({"kind": "event", "event": kind, "at_ns": at_ms * 1_000_000, **fields}) + "\n"


STORY = HEADER + "".join(
    [
        event("shown", 0, seat=0, card="7h", pile="up:0"),
        event("shown", 2000, seat=1, card="7s", pile="up:1"),
        event("slap", 2300, sd_ns=3_000_000, seat=1, pile="spot"),
        event("slap", 2380, sd_ns=3_000_000, seat=0, pile="spot"),
        event("shown", 4000, seat=0, card="2c", pile="up:0"),
        event("slap", 4300, seat=1, pile="spot"),
        event("tick", 6000),
    ]
)


@pytest.fixture
def story(tmp_path: Path) -> Path:
    path = tmp_path / "story.jsonl"
    path.write_text(STORY, encoding="utf-8")
    return path


def test_rulings_are_told_in_words_with_their_clauses(story, capsys):
    assert main(["referee", "snap", str(story)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        " 0:02.380  S5   Ben snapped first and wins the piles",
        "                Ben takes Ana’s face-up pile and Ben’s face-up pile.",
        " 0:04.300  S9   Ben snapped at the wrong time",
        "                Ben gives Ana 1 card.",
        "  Ana  26 cards",
        "  Ben  26 cards",
        "  Ben’s turn",
    ]


def test_json_lines_read_back_and_are_judged_alike(story, capsys, tmp_path):
    assert main(["referee", "snap", str(story), "--json"]) == 0
    told = capsys.readouterr().out
    rulings = [line for line in read(told.splitlines()) if isinstance(line, Ruling)]
    assert [ruling.clause for ruling in rulings] == ["S5", "S9"]
    again = tmp_path / "again.jsonl"
    again.write_text(told, encoding="utf-8")
    assert main(["referee", "snap", str(again), "--json"]) == 0
    assert capsys.readouterr().out == told


def test_a_pipe_is_judged_as_it_comes(story, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(STORY.encode())))
    assert main(["referee", "snap"]) == 0
    assert "Ben snapped first" in capsys.readouterr().out


def test_players_and_dealer_may_be_said_on_the_command_line(tmp_path, capsys):
    path = tmp_path / "bare.jsonl"
    path.write_text(event("shown", 0, seat=1, card="7h", pile="up:1"), encoding="utf-8")
    assert main(["referee", "snap", str(path), "--players", "Dora,Emil", "--dealer", "dora"]) == 0
    assert capsys.readouterr().out.endswith("  Dora’s turn\n")


def test_another_deck_may_be_named(capsys, monkeypatch):
    typed = iter(["ana turns red joker", "quit"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(typed))
    playing = ["referee", "snap", "--players", "Ana,Ben", "--dealer", "Ben", "--interactive"]
    assert main([*playing, "--deck", "standard54"]) == 0
    said = capsys.readouterr().out
    assert "   1  Ana turns red joker" in said
    assert "  Ana  27 cards" in said


def test_under_other_house_rules_what_differs_is_shown(story, capsys, tmp_path):
    rules = tmp_path / "suit.toml"
    rules.write_text('match_scope = "suit"\n', encoding="utf-8")
    assert main(["referee", "snap", str(story), "--as", str(rules)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "House rule match_scope: suit instead of rank"
    assert "-  0:02.380  S5   Ben snapped first and wins the piles" in lines
    assert "+  0:02.300  S9   Ben snapped at the wrong time" in lines
    assert not [line for line in lines if "0:04.300" in line], "what is the same under both is not shown"
    assert main(["referee", "snap", str(story), "--as", str(rules), "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert told[1] == {"kind": "rules", "changed": {"match_scope": ["rank", "suit"]}}
    assert [(line["under"], line["clause"]) for line in told[2:]] == [("recorded", "S5"), ("as", "S9"), ("as", "S9")]


def test_under_the_same_rules_nothing_differs(story, capsys, tmp_path):
    rules = tmp_path / "same.toml"
    rules.write_text("[rules]\nconfidence = 0.99\n", encoding="utf-8")
    assert main(["referee", "snap", str(story), "--as", str(rules)]) == 0
    assert capsys.readouterr().out.startswith("The same 2 rulings under both.\n")


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("snap*.jsonl")), ids=lambda path: path.stem)
def test_a_golden_recording_gives_the_rulings_that_stand_in_it(path, capsys):
    recorded = [dump(line) for line in read(path.read_text(encoding="utf-8").splitlines()) if isinstance(line, Ruling)]
    assert main(["referee", "snap", str(path), "--json"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line for line in told if '"kind": "ruling"' in line] == recorded


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(HEADER + '{"kind": "event", "ev', "line 2: line: expected one JSON object, got", id="a cut line"),
        pytest.param(HEADER + event("jump", 1), "line 2: event: expected one of shown, taken", id="an unknown event"),
        pytest.param(
            HEADER + event("shown", 1, seat=0, card="red 4", pile="up:0"),
            "line 2: snap: expected a card of the Standard 52-card deck, got red 4",
            id="a card of another deck",
        ),
        pytest.param(
            HEADER + event("tick", 5) + "\n" + event("tick", 4),
            "line 4: at_ns: expected 5000000 or later",
            id="times out of order",
        ),
        pytest.param(
            HEADER + event("joined", 1, seat=0, name="a" * 1_000_000),
            "line 2: line: expected at most 65536 characters",
            id="a name of a million letters",
        ),
        pytest.param(HEADER + HEADER, "line 2: expected a recording's header once", id="two headers"),
        pytest.param(
            HEADER + event("slap", 1, seat=7, pile="spot"), "line 2: snap: expected a seat", id="a seat nobody has"
        ),
        pytest.param(
            HEADER + event("amend", 1, of=9, becomes=None), "line 2: of: expected the id", id="amending nothing"
        ),
        pytest.param(HEADER + '{"kind": "event"' + "[" * 30_000, "line 2: line: expected one JSON", id="deep nesting"),
        pytest.param("\udc80\n", "line 1: expected text in UTF-8, got other bytes", id="bytes that are no text"),
        pytest.param(
            HEADER.replace("snap", "trash"), "game: expected trash, as the recording says, got snap", id="another game"
        ),
        pytest.param(
            HEADER.replace('"dealer": 1', '"dealer": 1, "deck": "tarot"'),
            "line 1: deck: expected hit-the-deck or",
            id="a deck that there isn't",
        ),
        pytest.param(
            HEADER.replace('"dealer": 1', '"dealer": 1, "options": {"speed": 3}'),
            "line 1: options: expected confidence, match_scope",
            id="a house rule that there isn't",
        ),
        pytest.param(
            HEADER.replace('"Ben"', '"Ana"'), "line 1: players: expected different names", id="one name twice"
        ),
        pytest.param(event("tick", 1), "players: expected names in seat order", id="nobody plays"),
    ],
)
def test_a_bad_recording_is_refused_in_one_line(tmp_path, capsys, text, said):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert main(["referee", "snap", str(path)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith("palmreader referee: ")
    assert said in error
    assert len(error) < 600


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["referee", "chess", "x"], "game: expected "),
        (["referee", "snap", "nowhere.jsonl"], "expected a recording of events, got No such file"),
        (["referee", "snap", "--interactive"], "players: expected names"),
        (["referee", "snap", "--interactive", "--players", "Ana"], "players: expected 2 to 12 names for snap, got 1"),
        (["referee", "snap", "--interactive", "--players", "Ana,Ben", "--dealer", "Cleo"], "dealer: expected a player's name"),
        (["referee", "snap", "--interactive", "--players", "Ana,Ben", "--lang", "xx"], "language: expected en"),
        (["referee", "snap", "--interactive", "--players", "Ana,Ben", "--rules", "no.toml"], "expected a file of house rules"),
    ],
)  # fmt: skip
def test_what_was_not_meant_is_refused_in_one_line(capsys, arguments, said):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert said in error
