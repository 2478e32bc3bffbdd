"""What is played in films: hand after hand, fouls by a share, calls instead of hands, and games that were written."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from referee.bad_input import BadInput
from referee.events import Dealt, Event, Shout, Shown, Slap
from referee.recording import Header, dump
from referee.ruling import Verdict
from vision.films import soundtrack as room
from vision.films.bots.snap import short_deck
from vision.films.direct import Direction
from vision.films.hit_the_deck import hit_the_deck_film
from vision.films.script import Script
from vision.films.snap import snap_film
from vision.films.trash import trash_film
from vision.films.unseen import Unseen
from vision.films.written import written_film
from web.cli import main

Film = tuple[Direction[Any], Script]


def _is_whole(film: Direction[Any], script: Script) -> bool:
    """Whether at every moment each card of the deck is in one place: on a pile, or carried."""
    whole = sorted(card.name for card in film.deck.cards())
    stacks: dict[str, list[str]] = {}
    carried: list[tuple[float, list[str]]] = []
    moves = list(script.moves)
    for at_s, changes in itertools.groupby(script.piles, key=lambda change: round(change.at_s, 6)):
        for change in changes:
            if change.pile.kind != "spot":
                stacks[str(change.pile)] = [card.card for card in change.stack]
        while moves and moves[0].start_s <= at_s + 1e-6:
            move = moves.pop(0)
            carried.append((move.end_s, [card.card for card in move.stack]))
        carried = [(end_s, cards) for end_s, cards in carried if end_s > at_s + 1e-6]
        if at_s > 0 and sorted(chain(*stacks.values(), *(cards for _, cards in carried))) != whole:
            return False
    return True


def _lies_as_ruled(film: Direction[Any]) -> bool:
    """Whether every pile of the game holds as many cards as the rules count there (but hands laid out)."""
    counts = film.match.board.counts
    ruled = {pile: count for pile, count in counts.items() if pile.kind != "hand"}
    return all(len(film.stage.stacks[pile]) == count for pile, count in ruled.items())


@pytest.mark.parametrize(
    ("make", "hands"),
    [
        pytest.param(lambda: trash_film(1, seconds=200), 3, id="trash, round after round"),
        pytest.param(lambda: trash_film(4, seconds=300, fouls=0.3), 3, id="trash with fouls"),
        pytest.param(lambda: hit_the_deck_film(1, seconds=240), 2, id="hit the deck, hand after hand"),
        pytest.param(lambda: hit_the_deck_film(4, seconds=300, fouls=0.3), 2, id="hit the deck with fouls"),
        pytest.param(lambda: snap_film(3, seconds=60, deal=True), 1, id="snap with its deal"),
        pytest.param(lambda: trash_film(3, seconds=60, deal=True), 1, id="trash with its deal"),
        pytest.param(lambda: hit_the_deck_film(3, seconds=60, deal=True), 1, id="hit the deck with its deal"),
    ],
)
def test_hand_follows_hand_and_no_card_is_ever_lost(make: Callable[[], Film], hands: int) -> None:
    film, script = make()
    assert film.match.board.hand >= hands
    assert _is_whole(film, script)
    assert _lies_as_ruled(film)
    assert not film.match.refused
    instants = [event.at.at_ns for event in script.events]
    assert instants == sorted(instants)
    assert sum(isinstance(event, Dealt) for event in script.events) >= film.match.board.hand - 1


def test_a_game_of_snap_that_is_won_is_followed_by_another() -> None:
    """Two players with the 16 cards of a short game soon have a winner: a short film ends there, others go on."""
    short, ends = snap_film(1, seconds=200, short=True, players=2)
    assert short.match.board.over
    assert ends.duration_s < 100
    film, script = snap_film(1, seconds=200, deck=short_deck(), players=2)
    assert film.match.board.hand >= 2
    assert script.duration_s > 190
    assert script.events[: len(ends.events)] == ends.events
    assert _is_whole(film, script)


def test_a_match_of_trash_that_shrinks_lays_one_place_fewer() -> None:
    film, _ = trash_film(1, seconds=200, options={"match": "shrinking"})
    assert film.match.board.hand >= 2
    assert min(film.match.state.sizes) < 10


@pytest.mark.parametrize(
    ("make", "known"),
    [
        pytest.param(
            lambda seed: trash_film(seed, seconds=200, fouls=0.6),
            {"peek", "drew_twice", "drew_out_of_turn", "wrong_place", "other_layout", "declined", "no_discard"},
            id="trash",
        ),
        pytest.param(
            lambda seed: hit_the_deck_film(seed, seconds=200, fouls=0.5),
            {"no_match", "out_of_turn", "two_cards", "second_draw", "drew_out_of_turn", "false_slap", "wrong_cutter",
             "wrong_flipper", "penalty_too_many", "cards_missing"},
            id="hit the deck",
        ),
    ],
)  # fmt: skip
def test_fouls_come_in_every_kind_and_are_ruled(make: Callable[[int], Film], known: set[str]) -> None:
    ruled: Counter[str] = Counter()
    for seed in range(4):
        film, _ = make(seed)
        ruled.update(ruling.what for ruling in film.match.rulings if ruling.verdict is Verdict.FAULT)
        assert not film.match.board.questions
        assert not film.match.refused
    assert known <= set(ruled)


def test_a_call_may_be_forgotten_and_costs_the_discarder() -> None:
    for seed in range(12):
        film, _ = hit_the_deck_film(seed, seconds=200, fouls=0.9)
        forgotten = [r for r in film.match.rulings if r.clause == "H16" and r.verdict is Verdict.FAULT]
        if forgotten:
            return
    pytest.fail("no call was forgotten in twelve films")


def test_no_fouls_asked_for_are_none() -> None:
    for film, _ in (trash_film(2, seconds=150, fouls=0.0), hit_the_deck_film(2, seconds=150, fouls=0.0)):
        assert not [ruling for ruling in film.match.rulings if ruling.verdict is Verdict.FAULT]


def test_snap_by_voice_is_called_and_ruled_and_no_hand_comes() -> None:
    film, script = snap_film(4, seconds=120, options={"snap_by": "voice"})
    calls = [event for event in script.events if isinstance(event, Shout)]
    heard = [sound for sound in script.sounds if sound.kind == "call"]
    assert len(calls) > 5
    assert [call.at.at_ns for call in calls] == [round(sound.at_s * 1e9) for sound in heard]
    assert {sound.words for sound in heard} <= {"Snap!", "Snap pot!"}
    assert not script.contacts
    assert not [event for event in script.events if isinstance(event, Slap)]
    assert any(ruling.verdict is Verdict.WON for ruling in film.match.rulings)
    assert _lies_as_ruled(film)


def test_the_same_seed_plays_the_same_game_with_everything_asked_for() -> None:
    made = [hit_the_deck_film(5, seconds=150, fouls=0.2, deal=True)[1] for _ in range(2)]
    assert [dump(event) for event in made[0].events] == [dump(event) for event in made[1].events]
    assert made[0].moves == made[1].moves
    assert made[0].sounds == made[1].sounds


# --- written games -------------------------------------------------------------------------------------


def _write(path: Path, header: Header, events: list[Event] | tuple[Event, ...]) -> Path:
    path.write_text("".join(dump(line) + "\n" for line in (header, *events)), encoding="utf-8")
    return path


def _told(events: tuple[Event, ...]) -> list[dict[str, Any]]:
    """Events without when they were and how they are numbered."""
    rows = [json.loads(dump(event)) for event in events]
    return [{key: value for key, value in row.items() if key not in ("at_ns", "id")} for row in rows]


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: snap_film(3, seconds=60), id="snap"),
        pytest.param(lambda: snap_film(4, seconds=60, options={"snap_by": "voice"}), id="snap by voice"),
        pytest.param(lambda: trash_film(1, seconds=60), id="trash"),
        pytest.param(lambda: trash_film(1, seconds=110), id="two rounds of trash"),
        pytest.param(lambda: trash_film(4, seconds=120, fouls=0.3), id="trash with fouls"),
        pytest.param(lambda: hit_the_deck_film(1, seconds=100), id="hit the deck"),
        pytest.param(lambda: hit_the_deck_film(2, seconds=200, fouls=0.3), id="hit the deck with fouls"),
    ],
)
def test_a_film_written_down_can_be_acted_again(make: Callable[[], Film], tmp_path: Path) -> None:
    """The bots' game told as a script is the same game: same events, same rulings, the cards that it names."""
    film, script = make()
    path = _write(tmp_path / "game.jsonl", film.header, script.events)
    again, acted = written_film(path, film.header.game, 11)
    assert _told(acted.events) == _told(script.events)
    assert [ruling.what for ruling in again.match.rulings] == [ruling.what for ruling in film.match.rulings]
    shown = [(event.at.at_ns, str(event.pile), str(event.card)) for event in acted.events if isinstance(event, Shown)]
    tops = {
        (round(change.at_s * 1e9), str(change.pile), change.stack[-1].card) for change in acted.piles if change.stack
    }
    lying = {row for row in shown if row in tops}
    assert len(lying) >= 0.9 * len(shown)  # a card shown by burying another lay there before
    assert _is_whole(again, acted)


HEADER = '{"kind": "recording", "game": "snap", "players": ["Ana", "Ben"], "dealer": 0, "deck": "", "options": {}}'
TURN = '{"kind": "event", "event": "shown", "at_ns": %d, "seat": 1, "pile": "up:1", "card": "7h"}'


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([TURN % 10**9], "line 1: kind: expected recording, with the game and its players, first"),
        ([HEADER.replace("snap", "trash"), TURN % 10**9], "line 1: game: expected 'snap', got 'trash'"),
        ([HEADER, "{oh"], "line 2: line: expected one JSON object"),
        ([HEADER, "# a remark", TURN % 10**9, TURN % 10**8], "line 4: at_ns: expected 1000000000 or later"),
        ([HEADER, TURN % 10**9, (TURN % (3 * 10**9)).replace("7h", "7H")], "line 3: "),
        ([HEADER, TURN % 10**9, (TURN % (4 * 10**9)).replace("up:1", "up:0")], "line 3: card: expected one that does"),
        (
            [HEADER, '{"kind": "event", "event": "moved", "at_ns": 5, "seat": 0, "source": "pot", "target": "down:0"}'],
            "line 2: pile: expected 1 card or more on pot, got 0",
        ),
        ([HEADER, '{"kind": "event", "event": "undo", "at_ns": 5, "of": 1}'], "line 2: event: expected what happens"),
        ([HEADER, '{"kind": "event", "event": "confirm", "at_ns": 5, "of": 9}'], "line 2: of: expected the id of an event"),
        ([HEADER, (TURN % 10**9)[:-1] + ', "provisional": true}'], "line 2: event: expected one that a later line"),
        ([HEADER, (TURN % 10**9).replace('"card": "7h"', '"card": null')], "line 2: card: expected which card it is"),
        ([HEADER.replace('"Ben"', '"Ben", "C", "D", "E", "F", "G", "H", "I"'), TURN % 10**9], "line 1: players: "),
        ([HEADER.replace('{}', '{"snap_by": "foot"}'), TURN % 10**9], "line 1: option snap_by: expected"),
        ([HEADER], "expected a recording's first line, and events, got none"),
    ],
)  # fmt: skip
def test_a_script_that_cannot_be_acted_is_refused_with_its_line(
    lines: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "game.jsonl"
    path.write_text("\n".join(lines) + "\n")
    assert main(["film", "snap", "--script", str(path), str(tmp_path / "a.mp4")]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1
    assert not (tmp_path / "a.mp4").exists()


def test_what_a_person_put_right_is_acted_as_it_was(tmp_path: Path) -> None:
    """A provisional turn that is confirmed, one that was another card, one that did not happen."""
    rows = [(TURN % (second * 10**9))[:-1] + f', "id": {second}, "provisional": true}}' for second in (1, 4, 7)]
    rows[1] = rows[1].replace("7h", "8h").replace('"seat": 1, "pile": "up:1"', '"seat": 0, "pile": "up:0"')
    rows[2] = rows[2].replace("7h", "9h")
    other = TURN.replace('"kind": "event", ', "").replace("7h", "10d").replace('1, "pile": "up:1"', '0, "pile": "up:0"')
    path = tmp_path / "game.jsonl"
    confirm = '{"kind": "event", "event": "confirm", "at_ns": 9000000000, "of": 1}'
    amend = '{"kind": "event", "event": "amend", "at_ns": 9000000000, "of": %d, "becomes": %s}'
    path.write_text("\n".join([HEADER, *rows, confirm, amend % (4, other % (4 * 10**9)), amend % (7, "null")]))
    film, script = written_film(path, "snap", 1)
    assert [str(event.card) for event in script.events if isinstance(event, Shown)] == ["7h", "10d"]
    assert _is_whole(film, script)


@pytest.mark.parametrize("name", ["snap_to_the_last_card", "trash_round"])
def test_a_golden_match_can_be_filmed(name: str) -> None:
    path = Path(__file__).parent.parent / "recordings" / f"{name}.jsonl"
    film, script = written_film(path, json.loads(path.read_text().splitlines()[0])["game"], 1)
    assert film.match.rulings
    assert _is_whole(film, script)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["trash", "--players", "3"], "players: expected 2, got 3"),
        (["snap", "--script", "game.jsonl", "--players", "3", "--deal"], "got players, deal beside it"),
    ],
)
def test_what_a_film_would_pass_over_is_refused(
    options: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Trash for three was filmed with two, and a script's players were its own whatever was asked for."""
    assert main(["film", *options, str(tmp_path / "a.mp4")]) == 2
    assert says in capsys.readouterr().err


def test_a_script_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadInput, match=r"nowhere\.jsonl: expected a recording"):
        written_film(Path("nowhere.jsonl"), "snap", 1)


def test_a_shuffled_card_may_be_any_that_was_shuffled_and_no_other() -> None:
    unseen = Unseen(short_deck())
    first, second, *rest = unseen.shuffled()
    assert unseen.show(first, "5c")
    assert unseen.show(second, "5d")
    mixed = unseen.shuffled([first, *rest[:3]])
    assert not unseen.show(mixed[0], "5d")
    assert unseen.show(mixed[1], "5c")
    assert unseen.show(mixed[0], "9h")
    assert not unseen.show(rest[5], "9h")
    assert unseen.known(mixed[1]) == "5c"


def test_calls_are_on_the_sound_track(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "spoken", lambda words, voice, shouted=False: np.ones(480, np.float32))
    _, script = snap_film(4, seconds=30, options={"snap_by": "voice"})
    sound = room.soundtrack(script.sounds, script.duration_s, np.random.default_rng(1))
    call = next(heard for heard in script.sounds if heard.kind == "call")
    assert sound[round(call.at_s * 48_000) + 5] > 5 * np.abs(sound[round(call.at_s * 48_000) - 200]).max()
