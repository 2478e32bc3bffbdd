"""An evening kept by hand in each game, mistakes and corrections included, as a golden text.

`python tests/dashboard/test_transcripts.py` types the lines anew and writes what is answered; read the
difference before committing it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from referee.bad_input import BadInput
from web.cli import main
from web.config import choose
from web.games import game_named, games
from web.keeper import Keeper, KeptFile
from web.words import words

TRANSCRIPTS = Path(__file__).parent / "transcripts"
PLAYERS = {"trash": ("Ana", "Ben")}


def players(game: str) -> tuple[str, ...]:
    return PLAYERS.get(game, ("Ana", "Ben", "Cleo"))


def typed_again(path: Path) -> list[str]:
    """The transcript with the answers that its typed lines get now."""
    game = path.stem.replace("_", "-")
    keeper = Keeper(choose(game_named(game), players(game), dealer=len(players(game)) - 1), words("en"))
    lines = list(keeper.greeting())
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(">"):
            lines.append(line.rstrip())
            lines.extend(keeper.type(line[1:].strip()))
    return "\n".join(lines).splitlines()


@pytest.mark.parametrize("path", sorted(TRANSCRIPTS.glob("*.txt")), ids=lambda path: path.stem)
def test_an_evening_kept_by_hand(path: Path) -> None:
    assert typed_again(path) == path.read_text(encoding="utf-8").splitlines()


def test_every_game_with_words_has_its_evening() -> None:
    assert {path.stem.replace("_", "-") for path in TRANSCRIPTS.glob("*.txt")} == set(games()) & set(words().games)


def test_what_is_typed_into_the_program_is_answered_as_in_the_transcript(monkeypatch, capsys) -> None:
    lines = (TRANSCRIPTS / "snap.txt").read_text(encoding="utf-8").splitlines()
    typed = iter([*(line[2:] for line in lines if line.startswith(">")), "quit"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(typed))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert main(["referee", "snap", "--players", "Ana,Ben,Cleo", "--dealer", "Cleo", "--interactive"]) == 0
    answered = [line for line in lines if not line.startswith(">")]
    assert capsys.readouterr().out.splitlines()[: len(answered)] == answered


LINES = {
    path.stem.replace("_", "-"): [
        line[1:].strip() for line in path.read_text(encoding="utf-8").splitlines() if line.startswith(">")
    ]
    for path in sorted(TRANSCRIPTS.glob("*.txt"))
}
COMMANDS = (
    "undo",
    "redo",
    "undo 2",
    "redo 3",
    "amend 2 nothing",
    "why",
    "why 1",
    "answer yes",
    "overrule 1 void because",
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
@pytest.mark.parametrize("game", sorted(LINES))
def test_whatever_is_typed_in_whatever_order_is_answered(game, data) -> None:
    keeper = Keeper(choose(game_named(game), players(game)), words("en"))
    lines = st.one_of(st.sampled_from(LINES[game]), st.sampled_from(COMMANDS), st.text(max_size=30))
    for line in data.draw(st.lists(lines, max_size=25)):
        if not line.startswith("save"):
            assert isinstance(keeper.type(line), list)
    again = Keeper(keeper.chosen, words("en"))
    again.match.tell_all(keeper.match.log)
    assert (again.match.rulings, again.match.board) == (keeper.match.rulings, keeper.match.board)


def test_what_is_typed_is_kept_at_once_and_gone_on_with(tmp_path) -> None:
    """The file is read while the first keeper still holds it, as after a kill; its last line is cut off."""
    path = tmp_path / "evening.jsonl"
    chosen = choose(game_named("snap"), players("snap"), dealer=2)
    typed = ["ana turns 7h", "ben turns 7s", "slap cleo, ana", "wait", "undo 3", "redo 3", "cleo turns ?"]
    keeper = Keeper(chosen, words("en"), kept=KeptFile(path, chosen))
    for line in typed:
        keeper.type(line)
    with path.open("ab") as file:
        file.write(b'{"kind": "event", "id": 9, "ev')
    again = Keeper(chosen, words("en"), kept=KeptFile(path, chosen))
    assert again.greeting()[0] == "Going on after 8 events."
    assert (again.match.log, again.match.rulings) == (keeper.match.log, keeper.match.rulings)
    again.type("answer 2c")
    assert KeptFile(path, chosen).events == again.match.log
    other = choose(game_named("snap"), players("snap"), dealer=1)
    with pytest.raises(BadInput, match=r"evening.jsonl: .*expected a recording of this match, or a new file"):
        KeptFile(path, other)


@pytest.mark.parametrize("content", [b"\xff\xfe\n", b"not a recording\n"])
def test_a_file_that_is_no_recording_is_not_gone_on_with(tmp_path, content) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(BadInput) as refused:
        KeptFile(path, choose(game_named("snap"), players("snap")))
    assert "\n" not in str(refused.value)
    assert path.read_bytes() == content


def test_a_line_of_a_million_letters_is_refused_shortly() -> None:
    keeper = Keeper(choose(game_named("snap"), players("snap")), words("en"))
    assert keeper.type("a" * 1_000_000) == ["? expected a short line, got 1000000 characters"]


def test_tab_completes_verbs_names_cards_and_commands() -> None:
    keeper = Keeper(choose(game_named("snap"), players("snap")), words("en"))
    assert keeper.complete("sc") == ["scores"]
    assert keeper.complete("slap c") == ["Cleo"]
    assert keeper.complete("amend 3 be") == ["Ben"]
    assert keeper.complete("clause s1")[:2] == ["S1", "S10"]


if __name__ == "__main__":
    for transcript in sorted(TRANSCRIPTS.glob("*.txt")):
        transcript.write_text("\n".join(typed_again(transcript)) + "\n", encoding="utf-8")
