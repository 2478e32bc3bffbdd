"""The demo and the live table, started as a person would."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from referee.cards import Card, Pile
from vision.observation import Lies, Top
from vision.table import Table
from vision.weights import data_folder
from web.cli import main
from web.commands.demo import demo_match
from web.overlay import Overlay, as_jpeg, seat_colour
from web.store import KeptLog, Store

RECORDINGS = data_folder("datasets", "recordings")
FILM = RECORDINGS / "demo.mp4"
needs_film = pytest.mark.skipif(not FILM.is_file(), reason="the demo film is not in this checkout")


@contextmanager
def started(*arguments: str) -> Iterator[str]:
    """A command that serves a page, and the page's address; it ends with status 0 at Ctrl-C."""
    command = [sys.executable, "-m", "web.cli", *arguments, "--no-browser", "--port", "0"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    ) as run:
        assert run.stderr is not None
        said = ""
        while not (found := re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", said)):
            line = run.stderr.readline()
            assert line, said
            said += line
        try:
            yield found[0]
        finally:
            run.send_signal(signal.SIGINT)
            rest = run.stderr.read()
            assert run.wait(timeout=20) == 0, said + rest
            assert "Traceback" not in rest


def state(address: str) -> dict:
    with urllib.request.urlopen(address.split("?")[0] + "api/state", timeout=20) as answer:
        return json.load(answer)


def post(address: str, path: str, body: dict) -> dict:
    base, token = address.split("?token=")
    request = urllib.request.Request(
        base + f"api/{path}",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "X-Palmreader-Token": token},
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


@needs_film
def test_the_demo_watches_its_film_and_shows_what_it_sees(tmp_path):
    with started("demo", "--data", str(tmp_path)) as address:
        picture = urllib.request.urlopen(address.split("?")[0] + "picture.mjpg", timeout=20)
        assert picture.readline() == b"--picture\r\n"
        until = time.monotonic() + 40
        while not (seen := state(address)["events"]) and time.monotonic() < until:
            time.sleep(0.2)
        assert seen
        picture.close()
    with Store(tmp_path / "matches.db") as store:
        assert store.check() == "ok"
        (kept,) = store.matches()
        assert kept.header.players == ("Anna", "Bert", "Cleo")
        assert [event.id for event in store.events(kept.id)][: len(seen)] == [event["id"] for event in seen]


@needs_film
def test_the_bench_of_the_pages_runs_and_loses_no_event(capsys):
    assert main(["bench", "web", "--quick", "--viewers", "3", "--seconds", "3", "--still"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["viewers"] == 3
    assert figures["failed"] == 0
    assert figures["events"] > 0
    assert figures["events_lost"] == 0
    assert 0 < figures["p95_ms"] < 5000
    assert figures["frames"] > 60


@needs_film
def test_the_demo_never_opens_the_films_truth():
    """Only the command that makes films, and a bench, know that a film has a truth file."""
    chosen = demo_match(RECORDINGS)
    assert (chosen.game.name, chosen.setup.players) == ("snap", ("Anna", "Bert", "Cleo"))
    web = Path(main.__code__.co_filename).parent
    knowing = [path.name for path in web.rglob("*.py") if "truth" in path.read_text(encoding="utf-8")]
    assert sorted(knowing) == ["film.py", "review_bench.py"]


def test_a_table_kept_by_typing_goes_on_after_it_was_killed(tmp_path):
    match = ("play", "--game", "snap", "--players", "Ana,Ben,Cleo", "--data", str(tmp_path))
    with started(*match) as address:
        assert post(address, "tell", {"text": "ben turns 7h"})["id"] == 1
        assert post(address, "tell", {"text": "cleo turns 7s"})["id"] == 2
    with started(*match) as address:
        assert [event["text"] for event in state(address)["events"]] == ["Ben turns 7h", "Cleo turns 7s"]
        post(address, "tell", {"text": "slap ben"})
        assert post(address, "tell", {"text": "wait"})["given"]
    with Store(tmp_path / "matches.db") as store:
        (kept,) = store.matches()
        assert [r.what for r in KeptLog(store, kept.id).open().rulings] == ["won_race"]


@pytest.mark.parametrize("command", [["demo"], ["play", "--game", "snap", "--players", "A,B"]])
def test_a_port_in_use_ends_with_one_line(command, capsys):
    if command == ["demo"] and not FILM.is_file():
        pytest.skip("the demo film is not in this checkout")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        assert main([*command, "--no-browser", "--port", port]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"got {port}: Address already in use" in error


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--camera", "nowhere.mp4", "--table", "t.toml"], "nowhere.mp4"),
        (["--camera", "nowhere.mp4"], "table: expected --table T.toml"),
        (["--game", "chess"], "game: expected"),
        (["--players", "Ana"], "players: expected 2 to 12 names"),
        (["--port", "70000"], "port: expected a number from 0 to 65535, got 70000"),
    ],
)
def test_what_play_can_not_do_is_said_in_one_line(arguments, said, capsys):
    assert main(["play", "--game", "snap", "--players", "Ana,Ben", "--no-browser", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert said in error


def test_what_was_seen_is_drawn_where_it_lies():
    corners = ((0.0, 0.0), (1920.0, 0.0), (1920.0, 1080.0), (0.0, 1080.0))
    table = Table(corners, (960.0, 540.0), (1920, 1080), seats=(), piles=())
    quad = np.array([[400.0, 200], [463, 200], [463, 288], [400, 288]])
    tops = {
        Pile("up", 0): Top(Lies.FACE, Card("7h"), 0.99, (), quad),
        Pile("up", 1): Top(Lies.FACE, None, 0.5, (), quad + 200),
        Pile("down", 1): Top(Lies.BACK, quad_mm=quad - 200),
    }
    felt = np.full((1080, 1920, 3), (60, 110, 30), np.uint8)
    shown = Overlay(table, ("Ana", "Ben")).drawn(felt, tops, ())
    assert shown.shape == (540, 960, 3)
    changed = np.argwhere((shown != (60, 110, 30)).any(axis=2))
    assert changed[:, 0].min() >= 195
    assert changed[:, 1].min() >= 395
    assert (shown[244, 431] > 150).any() or (shown[244, 431] != (60, 110, 30)).any()
    assert (shown[44, 231] == (60, 110, 30)).all(), "a card that lies face down has no name"
    assert as_jpeg(shown)[:2] == b"\xff\xd8"
    assert len({seat_colour(seat) for seat in range(8)}) == 8
