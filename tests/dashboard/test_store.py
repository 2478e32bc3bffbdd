"""What the store has taken is never lost, whatever happens to the program or the disk."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from referee.bad_input import BadInput
from referee.events import Amend, Insert, Overrule, Tick, Undo
from referee.instant import Instant
from referee.match import Match
from web import store as store_module
from web.cli import main
from web.live import LiveMatch
from web.store import KeptLog, NotKept, Store

#: Told over and over in a program that is killed: each id is printed once it is kept.
KEEPER = """
import sys
sys.path.insert(0, {here!r})
import conftest
from web.config import choose
from web.games import game_named
from web.live import LiveMatch
from web.store import KeptLog, Store
{before}
store = Store({path!r})
log = KeptLog(store, 1)
match = log.open()
live = LiveMatch(log.chosen, log, match=match)
told = conftest.Teller(log.chosen, {seed})
print("open", len(list(store.events(1))), flush=True)
for event in told.events(match, 10**6):
    print(live.tell(event).event.id, flush=True)
"""


def program(path: Path, seed: int, before: str = "") -> list[str]:
    here = str(Path(__file__).parent)
    return [sys.executable, "-c", KEEPER.format(here=here, path=str(path), seed=seed, before=before)]


def rulings_anew(path: Path) -> tuple[object, object]:
    """The rulings and the board as the whole log gives them, told to a fresh match."""
    with Store(path) as store:
        assert store.check() == "ok"
        chosen = KeptLog(store, 1).chosen
        match = Match(chosen.game, chosen.setup)
        match.tell_all(store.events(1))
        return match.rulings, match.board


def test_killed_at_any_moment_nothing_that_was_taken_is_lost(snap, tmp_path):
    """PALMREADER_KILLS=200 does it as often as it was promised."""
    path = tmp_path / "kept.db"
    with Store(path) as store:
        store.begin(snap.header, "today")
    draw = random.Random(11)
    taken = 0
    for kill in range(int(os.environ.get("PALMREADER_KILLS", "4"))):
        with subprocess.Popen(program(path, kill), stdout=subprocess.PIPE, text=True) as keeping:
            assert keeping.stdout is not None
            opened = keeping.stdout.readline().split()
            assert opened[0] == "open"
            assert int(opened[1]) >= taken
            time.sleep(draw.uniform(0.0, 0.15))
            keeping.send_signal(signal.SIGKILL)
            told = [line for line in keeping.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
        taken = int(told[-1]) if told else taken
        with Store(path) as store:
            assert store.check() == "ok"
            kept = list(store.events(1))
            assert len(kept) >= taken
            assert [event.id for event in kept] == list(range(1, len(kept) + 1))
            resumed = KeptLog(store, 1).open()
        rulings, board = rulings_anew(path)
        assert (resumed.rulings, resumed.board) == (rulings, board)
    assert taken > 0


def test_a_full_disk_is_said_and_loses_nothing(snap, tmp_path):
    path = tmp_path / "kept.db"
    with Store(path) as store:
        store.begin(snap.header, "today")
    full = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (900_000, 900_000))"
    run = subprocess.run(program(path, 3, full), capture_output=True, text=True, check=False)
    taken = int(run.stdout.split()[-1])
    assert taken > 100
    assert "the log can’t be written" in run.stderr
    assert "nothing told before is lost" in run.stderr
    with Store(path) as store:
        assert len(list(store.events(1))) in (taken, taken + 1)
    rulings_anew(path)


def test_once_there_is_room_again_play_goes_on(snap, teller, tmp_path, monkeypatch):
    """What could not be kept is kept first, before anything else is taken."""
    with Store(tmp_path / "kept.db") as store:
        log = KeptLog(store, store.begin(snap.header, "today"))
        live = LiveMatch(snap, log, match=log.open())
        with live.looking() as match:
            first, second, third = teller.events(match, 3)
        live.tell(first)
        with monkeypatch.context() as full:
            full.setattr(store, "append", lambda *_: (_ for _ in ()).throw(NotKept("no room")))
            with pytest.raises(BadInput, match="no room"):
                live.tell(second)
            assert live.broken == "no room"
            with pytest.raises(BadInput, match="no room"):
                live.tell(third)
        live.tell(third)
        assert live.broken is None
        assert [event.id for event in store.events(1)] == [1, 2, 3]
        assert live.number == 3


def told_and_kept(store: Store, snap, teller, count: int) -> Match:
    log = KeptLog(store, store.begin(snap.header, "today"))
    match = log.open()
    for event in teller.events(match, count):
        log.append(match.tell(event).event, match)
    return match


def test_a_long_log_opens_from_a_saved_state_and_says_the_same(snap, teller, tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "SAVE_EVERY", 100)
    with Store(tmp_path / "kept.db") as store:
        match = told_and_kept(store, snap, teller, 350)
    with Store(tmp_path / "kept.db") as store:
        resumed = KeptLog(store, 1).open()
        assert len(resumed.log) < 350
        assert resumed.board == match.board
        assert resumed.state == match.state
        assert resumed.numbered == match.numbered
        newest = {ruling.id: ruling for ruling in match.rulings}
        assert resumed.rulings
        assert all(newest[ruling.id] == ruling for ruling in resumed.rulings)


@pytest.mark.parametrize(
    "reaching",
    [
        pytest.param(lambda match: Amend(at=Instant(0), of=120, becomes=None), id="an event long ago did not happen"),
        pytest.param(
            lambda match: Insert(at=Instant(0), after=0, happened=Tick(at=Instant(0))), id="before everything"
        ),
        pytest.param(
            lambda match: next(
                Overrule(at=Instant(0), of=ruling.id, says="void", reason="seen")
                for ruling in match.rulings
                if "void" in ruling.choices
            ),
            id="the first fault is overruled",
        ),
    ],
)
def test_a_correction_of_what_was_long_ago_reaches_back(snap, teller, tmp_path, monkeypatch, reaching):
    monkeypatch.setattr(store_module, "SAVE_EVERY", 100)
    with Store(tmp_path / "kept.db") as store:
        match = told_and_kept(store, snap, teller, 350)
    correction = reaching(match)
    with Store(tmp_path / "kept.db") as store:
        log = KeptLog(store, 1)
        live = LiveMatch(log.chosen, log, match=log.open())
        live.tell(correction)
        live.tell(Undo(at=Instant(0), of=351))
        live.tell(correction)
        match.tell(correction)
        match.tell(Undo(at=Instant(0), of=351))
        match.tell(correction)
        with live.looking() as corrected:
            assert corrected.board == match.board
            assert set(corrected.rulings) <= set(match.rulings)
    with Store(tmp_path / "kept.db") as store:
        assert KeptLog(store, 1).open().board == match.board


def test_a_deleted_match_is_gone_from_the_file(snap, teller, tmp_path):
    path = tmp_path / "kept.db"
    with Store(path) as store:
        told_and_kept(store, snap, teller, 40)
        assert [kept.events for kept in store.matches()] == [40]
        store.delete(1)
        assert store.matches() == []
        assert list(store.events(1)) == []
    left = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"Cleo" not in left
    assert b'"shown"' not in left


def test_matches_are_listed_written_out_and_deleted(snap, teller, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(store_module, "SAVE_EVERY", 20)
    with Store(tmp_path / "matches.db") as store:
        told_and_kept(store, snap, teller, 50)
        log = KeptLog(store, 1)
        assert len(log.open().log) < 50
        whole = list(LiveMatch(snap, log, match=log.open()).lines())
    assert len(whole) == 51, "what a page offers is the whole log, saved state or not"
    folder = ["--data", str(tmp_path)]
    assert main(["matches", *folder]) == 0
    assert "snap" in (listed := capsys.readouterr().out)
    assert "50 events  Ana, Ben, Cleo" in listed
    assert main(["matches", *folder, "--export", "1"]) == 0
    assert capsys.readouterr().out.splitlines() == whole
    assert main(["matches", *folder, "--delete", "1"]) == 0
    assert main(["matches", *folder, "--delete", "1"]) == 2
    assert main(["matches", "--data", str(tmp_path / "none")]) == 2
    assert [line.split(": ", 1)[1] for line in capsys.readouterr().err.splitlines()] == [
        "match: expected the number of a match in the store, got 1",
        f"--data: expected a folder with matches, got {tmp_path / 'none'}, which is none",
    ]


def test_two_programs_can_not_open_one_store(snap, tmp_path):
    with Store(tmp_path / "kept.db") as store:
        store.begin(snap.header, "today")
        with pytest.raises(BadInput, match=r"no other program has open.*locked"):
            Store(tmp_path / "kept.db")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        pytest.param("not-a.db", "not a database", id="a text file"),
        pytest.param("folder", "expected a file, got a folder", id="a folder"),
        pytest.param("nonsense://x/y", "expected a file or an address like", id="an address of no database"),
    ],
)
def test_what_is_no_store_is_refused_in_one_line(tmp_path, address, said):
    (tmp_path / "not-a.db").write_text("Ana was first, everybody saw it.\n" * 100)
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadInput, match=said) as refused:
        Store(address if "://" in address else tmp_path / address)
    assert "\n" not in str(refused.value)
