"""`palmreader review`: what is told of a table becomes a match, and what can't be reviewed is said in one line."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from referee.cards import Card, Pile, shipped_deck
from referee.events import Amend, Confirm, Finish, Insert, Shown, Slap, Tick
from referee.game import set_up
from referee.games.snap import GAME
from referee.instant import Instant
from referee.match import Match
from vision.films.encode import Encoding, write_film
from vision.films.film import FilmOrder, make_film
from vision.hands.order import Offset, joined
from vision.narrator import Telling
from vision.pipeline import Looked
from vision.table import Table
from vision.verdict import Conditions, judge_slap, slaps_in
from web.cli import main
from web.table_watch import watch

MS = 1_000_000
SHARED = Path(__file__).resolve().parents[2].parent / "shared"
SPOT = Pile("spot")


def match() -> Match:
    return Match(GAME, set_up(GAME, ("Ana", "Ben"), shipped_deck("standard52")))


def shown(seat: int, card: str, at_ms: int) -> Shown:
    return Shown(at=Instant(at_ms * MS), seat=seat, card=Card.parse(card), pile=Pile("up", seat))


def slap(seat: int, at_ms: int, *, provisional: bool = False) -> Slap:
    return Slap(at=Instant(at_ms * MS, 3 * MS), seat=seat, pile=SPOT, provisional=provisional)


def judged(looks: list[list[Telling]]) -> Match:
    """A match told the tellings of one look after another, a second apart."""

    class Fake:
        def watch(self, pieces, expects):
            for n, tellings in enumerate(looks, 1):
                yield Looked(None, (), {}, tuple(tellings), n * 1000 * MS)

    judge = match()
    for _ in watch([], Fake(), judge):
        pass
    return judge


MATCHED = [Telling(1, shown(1, "7h", 100)), Telling(2, shown(0, "7d", 900))]


def test_a_slap_confirmed_later_wins_the_race() -> None:
    said = judged([[*MATCHED, Telling(3, slap(1, 950, provisional=True))], [Telling(3, slap(1, 950))], []])
    assert [type(event) for event in said.log][-2:] == [Confirm, Tick] or Tick in map(type, said.log)
    assert [(ruling.clause, ruling.what, ruling.seat) for ruling in said.rulings] == [("S5", "won_race", 1)]


def test_a_slap_taken_back_was_none() -> None:
    said = judged([[*MATCHED, Telling(3, slap(1, 950, provisional=True))], [Telling(3, None)], []])
    assert any(isinstance(event, Amend) for event in said.log)
    assert said.rulings == ()


def test_a_card_told_late_is_put_in_its_place_and_all_after_it_judged_anew() -> None:
    """The slap was a wrong snap until the card that it answered was seen under a resting arm."""
    looks = [
        [Telling(1, shown(1, "7h", 100)), Telling(2, slap(1, 950))],
        [],
        [Telling(3, shown(0, "7d", 700), late=True, after=1)],
        [],
    ]
    said = judged(looks)
    assert any(isinstance(event, Insert) for event in said.log)
    assert [(ruling.clause, ruling.what, ruling.seat) for ruling in said.rulings] == [("S5", "won_race", 1)]


def test_time_runs_on_after_a_slap_so_that_it_is_judged_though_nothing_more_happens() -> None:
    said = judged([[*MATCHED, Telling(3, slap(1, 950))], []])
    assert isinstance(said.log[-1], Tick)
    assert said.rulings


def test_verdicts_take_the_hands_that_belong_together() -> None:
    course = [*(t.event for t in MATCHED), slap(1, 950), slap(0, 975), slap(0, 9000)]
    verdicts = [judge_slap(slaps, 2, 0.99, finish) for slaps, finish in slaps_in(course)]
    assert [(v.order, v.first, v.grade) for v in verdicts] == [((1, 0), 1, "A"), ((0,), 0, "A")]
    assert verdicts[0].in_words(("Ana", "Ben")) == "Ben first by 25 ± 4 ms (P 0.999). Grade A"
    assert verdicts[0].to_json()["margin_ms"] == 25.0


def test_hands_too_close_to_call_are_said_to_be() -> None:
    verdict = judge_slap([slap(1, 950), slap(0, 953)], 2, 0.99)
    assert verdict.first is None
    assert verdict.grade == "C"
    assert verdict.in_words(("Ana", "Ben")).startswith("too close to call: Ben or Ana (P 0.760), 3 ± 4 ms apart")


def test_a_verdict_says_what_it_was_reached_under_and_what_kept_its_grade_down() -> None:
    rough = Slap(at=Instant(990 * MS, 70 * MS), seat=0, pile=SPOT)
    verdict = judge_slap([slap(1, 950), rough], 2, 0.99)
    made = Conditions(fps=59.94, read_out_ns=11 * MS, read_out_estimated=True, sound=False)
    told = verdict.in_words(("Ana", "Ben"), made)
    assert told.endswith("60 fps, rolling shutter 11 ms estimated, no sound. Grade D")
    assert verdict.reasons(("Ana", "Ben"))[1:] == ("Ana’s hand only to 70 ms",)


def test_a_hand_only_roughly_timed_leaves_a_decision_its_second_grade() -> None:
    late = Slap(at=Instant(1600 * MS, 70 * MS), seat=0, pile=SPOT)
    assert judge_slap([slap(1, 950), late], 2, 0.99).grade == "B"


def test_where_sound_tells_the_gap_the_margin_is_the_joint_one() -> None:
    """Two hands seen to 10 ms each, heard to the tenth of one: their gap is known far better than either."""
    seen = {0: Instant(1_000 * MS, 10 * MS), 1: Instant(1_030 * MS, 10 * MS)}
    heard = (Instant(1_005 * MS, MS // 5), Instant(1_033 * MS, MS // 5))
    both = joined(seen, heard, Offset(4 * MS, 3 * MS), hears=0.97)
    finish = Finish(at=seen[1], pile=SPOT, orders=both.orders)
    slaps = [Slap(at=at, seat=seat, pile=SPOT) for seat, at in seen.items()]
    verdict = judge_slap(slaps, 2, 0.99, finish, both)
    assert verdict.first == 0
    assert verdict.margin_ns == pytest.approx(28 * MS, abs=2 * MS)
    assert verdict.margin_sd_ns < 6 * MS
    assert "sound aligned" in verdict.in_words(("Ana", "Ben"), Conditions(fps=60.0, read_out_ns=0, sound=True))


# --- the command ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("film") / "short.mp4"
    make_film(FilmOrder("snap", 5, seconds=5.0, players=2, fps=30.0, size_px=(960, 540), sound=False), path)
    return path


def test_a_film_is_reviewed_from_file_to_lines(film: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["review", str(film), "--game", "snap", "--players", "Ana,Ben", "--json"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert status == 0
    assert lines[0]["kind"] == "recording"
    true = [json.loads(line) for line in film.with_suffix(".truth.jsonl").read_text().splitlines()]
    cards = [row["card"] for row in true if row["kind"] == "event" and row["event"] == "shown"]
    assert cards
    assert [row["card"] for row in lines if row.get("event") == "shown"] == cards


@pytest.mark.skipif(not (SHARED / "data/hand_over_card").is_dir(), reason="the real photographs are not at hand")
def test_real_photographs_are_read_one_by_one_and_compared_with_labels(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "hearts_7"
    folder.mkdir()
    for n in (4, 3, 8):
        picture = SHARED / f"data/hand_over_card/hearts_7/img{n}.jpg"
        (folder / picture.name).write_bytes(picture.read_bytes())
    labels = SHARED / "data/hand_over_card/labels.csv"
    assert main(["review", str(folder), "--watch-only", "--labels", str(labels), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["picture"], row["card"], row["hand"]) for row in lines[:-1]] == [
        ("img3.jpg", "7h", "over"),
        ("img4.jpg", "7h", "none"),
        ("img8.jpg", "7h", "none"),
    ]
    assert lines[-1]["card_right"] == 3


def _text(folder: Path) -> list[str]:
    (folder / "a.mp4").write_text("no video")
    (folder / "t.toml").write_text(TABLE)
    return [str(folder / "a.mp4"), "--game", "snap", "--players", "Ana,Ben", "--table", str(folder / "t.toml")]


def _three_corners(folder: Path) -> list[str]:
    arguments = _text(folder)
    (folder / "t.toml").write_text(TABLE.replace(", [0.0, 300.0]]", "]"))
    return arguments


def _changed(*words: str) -> object:
    def change(folder: Path) -> list[str]:
        arguments = _text(folder)
        for old, new in zip(words[::2], words[1::2], strict=True):
            arguments[arguments.index(old)] = new
        return arguments

    return change


def _no_hands(folder: Path) -> list[str]:
    pictures = ((3000 * n, np.full((144, 160), 90, np.uint8)) for n in range(12))
    write_film(folder / "a.mp4", pictures, (160, 96), 30.0, None, Encoding())
    return [str(folder / "a.mp4"), "--watch-only"]


def _pictures(folder: Path) -> list[str]:
    cv2.imwrite(str(folder / "img1.png"), np.zeros((9, 9, 3), np.uint8))
    return [str(folder)]


TABLE = Table.laid_out(GAME.layout(2), [(0, 0), (450, 0), (450, 300), (0, 300)], (900, 600), (450, 300)).to_toml()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(_text, "a.mp4: expected a video", id="a text file named .mp4"),
        pytest.param(_three_corners, "table.corners: expected 4 points, got 3", id="a table with three corners"),
        pytest.param(_changed("snap", "whist"), "game: expected", id="an unknown game"),
        pytest.param(
            _changed("Ana,Ben", ",".join(f"P{n}" for n in range(13))), "expected 2 to 12 names", id="too many players"
        ),
        pytest.param(_changed("Ana,Ben", "Ana,Ben,Cleo"), "table: seats: expected 3", id="a table for fewer players"),
        pytest.param(lambda folder: [str(folder / "no.mp4")], "expected a video or a folder", id="a missing file"),
        pytest.param(_pictures, "expected a video to judge a game by, or --watch-only", id="pictures without a game"),
        pytest.param(lambda folder: _text(folder)[:1], "expected a game, like --game snap", id="no game"),
        pytest.param(_no_hands, "table: expected hands that come in", id="no table file, and nobody in the picture"),
    ],
)
def test_what_cant_be_reviewed_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: object, says: str
) -> None:
    assert main(["review", *arguments(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert says in said
