"""Every command is in the README, explains itself, and refuses what it can't use in one line."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from web.cli import COMMANDS, main
from web.commands.bench import BENCHES

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_readme(command):
    assert f"| `palmreader {command}` |" in README.read_text(encoding="utf-8")


def test_every_bench_is_in_the_readme() -> None:
    (row,) = (line for line in README.read_text(encoding="utf-8").splitlines() if "| `palmreader bench` |" in line)
    assert [name for name in BENCHES if f"`{name}`" not in row] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: palmreader {command}")
    assert " ".join(importlib.import_module(COMMANDS[command]).HELP.split()) in " ".join(said.split())


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    assert [command for command in COMMANDS if f"    {command} " not in said] == []


def test_ctrl_c_ends_a_command_quietly(monkeypatch):
    def gone(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("web.commands.matches.run", gone)
    assert main(["matches", "--data", "x"]) == 130


def test_the_file_may_come_after_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    """The README's `palmreader film snap --seed 7 --short game.mp4` was refused as one argument too many."""
    recording = str(README.parent / "tests" / "recordings" / "snap_evening.jsonl")
    assert main(["referee", "snap", "--lang", "en", recording]) == 0
    assert "S5" in capsys.readouterr().out
