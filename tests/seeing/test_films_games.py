"""Films of all games: legal play has no faults, nothing is lost, and everything is where the rules think it is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import cv2
import numpy as np
import pytest

from referee.bad_input import BadInput
from referee.cards import shipped_deck
from referee.events import Counted, Slap
from referee.ruling import Verdict
from vision.films.film import GAMES, FilmOrder, Shoot, make_film
from vision.films.hit_the_deck import hit_the_deck_film
from vision.films.installed_decks import installed, installed_deck
from vision.films.print_deck import drawings, pdf, picture, printable, svg
from vision.films.snap import snap_film
from vision.films.training_frames import label, write_frames
from vision.films.trash import trash_film
from web.cli import main


@pytest.mark.parametrize("seed", range(6))
def test_snap_on_the_table_is_snap_in_the_rules(seed: int) -> None:
    film, script = snap_film(seed, seconds=60, short=seed % 2 == 1)
    for pile, count in film.match.board.counts.items():
        assert len(film.stage.stacks[pile]) == count, pile
    instants = [event.at.at_ns for event in script.events]
    assert instants == sorted(instants)
    slaps = [event for event in script.events if isinstance(event, Slap)]
    assert [slap.at.at_ns for slap in slaps] == [round(contact.at_s * 1e6) * 1000 for contact in script.contacts]


@pytest.mark.parametrize("seed", range(6))
def test_two_tidy_players_of_trash_make_no_fault(seed: int) -> None:
    film, _ = trash_film(seed, seconds=150, short=True)
    assert not [ruling for ruling in film.match.rulings if ruling.verdict in (Verdict.FAULT, Verdict.ASK)]
    lying = Counter(card.card for stack in film.stage.stacks.values() for card in stack)
    assert lying == Counter(card.name for card in shipped_deck("standard52").cards())
    if film.match.state.phase == "between":
        assert all(film.stage.stacks[pile] for pile in film.stage.places if pile.kind == "place")


@pytest.mark.parametrize("seed", range(8))
def test_a_hand_of_hit_the_deck_is_played_to_the_count(seed: int) -> None:
    film, script = hit_the_deck_film(seed, seconds=240, short=True)
    faults = {r.what for r in film.match.rulings if r.verdict in (Verdict.FAULT, Verdict.ASK)}
    assert faults <= {"false_slap"}
    assert not film.match.refused
    assert film.match.state.phase == "between"
    assert any(isinstance(event, Counted) for event in script.events)
    lying = Counter(card.card for stack in film.stage.stacks.values() for card in stack)
    assert lying == Counter(card.name for card in film.deck.cards())


@pytest.mark.parametrize("game", list(GAMES))
def test_a_film_of_every_game_is_written_with_truth_and_table(game: str, tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    report = make_film(FilmOrder(game, 2, seconds=11, size_px=(320, 180), fps=10), path)
    assert report.frames > 50
    assert path.with_suffix(".truth.jsonl").stat().st_size > 1000
    assert path.with_suffix(".table.toml").read_text().startswith("[table]")
    assert not list(tmp_path.glob("*.part"))


def test_stills_are_labelled_where_cards_and_hands_are(tmp_path: Path) -> None:
    assert write_frames("snap", 5, tmp_path, seed=4) == 5
    labels = sorted((tmp_path / "labels" / "train").glob("*.txt"))
    assert len(labels) == 5
    rows = [line.split() for path in labels for line in path.read_text().splitlines()]
    assert {row[0] for row in rows} >= {"0", "1"}
    assert all(len(row) == 9 and 0 <= float(value) <= 1 for row in rows for value in row[1:])
    assert "card_face" in (tmp_path / "data.yaml").read_text()


def test_a_labelled_back_is_the_backs_colour_and_no_hand() -> None:
    shot = Shoot(FilmOrder("snap", 21, seconds=20, size_px=(960, 540), players=2))
    still = label(shot, 1.0)
    ink = shot.deck.back.reshape(-1, 3).mean(axis=0)
    for name, face_up, quad, seen in still.cards:
        assert not face_up, name
        assert seen > 0.99
        middle = quad.mean(axis=0)
        inner = (middle + 0.8 * (quad - middle)).round().astype(np.int32)
        mask = np.zeros(still.image.shape[:2], np.uint8)
        cv2.fillConvexPoly(mask, inner, 1)
        seen_ink = still.image[mask > 0].mean(axis=0)
        assert np.argmax(seen_ink) == np.argmax(ink) or np.ptp(ink) < 12
    assert not still.arms.any()


def test_the_printed_deck_has_all_110_cards_on_13_pages() -> None:
    document = printable()
    assert document.startswith(b"%PDF-1.4")
    assert document.count(b"/Type /Page /Parent") == 13
    deck = shipped_deck("hit-the-deck")
    drawn = drawings(deck)
    assert set(drawn) == {card.name for card in deck.counts}
    assert all(svg(shapes).count("<polygon") + svg(shapes).count("<text") == len(shapes) for shapes in drawn.values())
    starts = document[document.rindex(b"\nxref") :].split(b"\n")[4:]
    first = int(starts[0].split()[0])
    assert document[first:].startswith(b"1 0 obj")


def test_no_two_cards_of_our_deck_look_alike() -> None:
    deck = shipped_deck("hit-the-deck")
    pictures = {name: picture(shapes, (60, 84)).astype(int) for name, shapes in drawings(deck).items()}
    names = list(pictures)
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            assert np.abs(pictures[one] - pictures[other]).mean() > 1.5, (one, other)
    assert pdf([drawings(deck)["red 1"]]).count(b"/Type /Page /Parent") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["bridge", "a.mp4"], "game: expected snap or trash or hit-the-deck, got 'bridge'"),
        (["snap", "a.avi"], "film: expected a name that ends in .mp4, got a.avi"),
        (["snap", "a.mp4", "--size", "wide"], "size: expected like 1280x720, got 'wide'"),
        (["snap", "a.mp4", "--condition", "foggy"], "condition: expected clean or dim"),
        (["snap", "a.mp4", "--codec", "av2"], "codec: expected h264 or hevc or mjpeg, got 'av2'"),
        (["snap", "a.mp4", "--preset", "warp", "--quality", "77"], "preset: expected ultrafast, superfast"),
        (["snap", "a.mp4", "--quality", "77"], "quality: expected 1 to 51, got 77"),
        (["snap", "nowhere/a.mp4"], "film: expected a folder that is there, got nowhere"),
        (["snap"], "film: expected OUT.mp4, or --frames N --out DIR, got neither"),
        (["snap", "--frames", "0", "--out", "x"], "expected --frames N (1 to 1000000)"),
    ],
)
def test_a_film_that_cannot_be_made_is_refused_in_one_line(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["film", *arguments]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def test_orders_out_of_range_are_refused_all_at_once() -> None:
    with pytest.raises(BadInput, match="seconds: expected 3 to 7200, got 1; fps"):
        FilmOrder("snap", 1, seconds=1, fps=1000)


def test_the_deck_command_writes_a_pdf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "deck.pdf"
    assert main(["deck", "hit-the-deck", "--out", str(out), "--svg", str(tmp_path / "svg")]) == 0
    assert "110 cards" in capsys.readouterr().out
    assert out.read_bytes().startswith(b"%PDF")
    assert len(list((tmp_path / "svg").glob("*.svg"))) == 38


def test_an_unknown_deck_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(BadInput, match=r"deck: expected snap-pictures.*, got 'tarot'"):
        FilmOrder("snap", 1, deck="tarot")
    with pytest.raises(BadInput, match="deck: expected no other deck with this game, got 'anglo'"):
        FilmOrder("hit-the-deck", 1, deck="anglo")


@pytest.mark.skipif(not installed(), reason="no deck of gnome-cards-data is installed, or no rsvg-convert")
def test_a_design_installed_on_this_machine_can_be_filmed() -> None:
    deck = installed_deck(installed()[0])
    assert len(deck.faces) == 52
    reds = [deck.faces[rank + suit] for rank in ("2", "9") for suit in "dh"]
    assert all(face[..., 2].mean() > face[..., 0].mean() + 5 for face in reds)
    assert all(np.ptp(deck.faces["7" + suit].mean(axis=(0, 1))) < 5 for suit in "cs")
