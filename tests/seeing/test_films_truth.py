"""A film's truth agrees with its pixels and its sound: checked by code that is not the renderer's."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import signal

from referee.cards import shipped_deck
from referee.events import KINDS
from referee.game import set_up
from referee.games.snap import GAME
from referee.match import Match
from referee.recording import Header, dump, read
from referee.ruling import Ruling
from vision.films.artwork import corner_mask, standard_deck
from vision.films.bots.snap import short_deck
from vision.films.conditions import CONDITIONS, condition
from vision.films.film import FilmOrder, Shoot, make_film
from vision.films.script import CARD_THICKNESS_MM
from vision.films.wear import Wear
from vision.frame import Frame
from vision.sources.video import VideoFile
from vision.table import Table


@dataclass(frozen=True)
class Shown:
    """A film as anybody sees it, and its truth's lines."""

    path: Path
    stamps_ns: list[int]
    frames: list[NDArray[np.uint8]]
    sound: NDArray[np.float32]
    lines: list[dict[str, Any]]

    def of(self, what: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line.get("what") == what]


def _watch(path: Path) -> Shown:
    stamps, frames, pieces = [], [], []
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            assert frame.pts is not None
            stamps.append(round(frame.pts * frame.time_base * 1_000_000_000))
            frames.append(frame.to_ndarray(format="bgr24"))
    with av.open(str(path)) as container:
        for piece in container.decode(audio=0):
            assert piece.pts is not None
            start = round(float(piece.pts * piece.time_base) * piece.sample_rate)
            pieces.append((start, piece.to_ndarray()[0]))
    sound = np.zeros(max(start + len(wave) for start, wave in pieces), np.float32)
    for start, wave in pieces:
        sound[max(start, 0) : start + len(wave)] = wave[max(0, -start) :]
    lines = [json.loads(line) for line in path.with_suffix(".truth.jsonl").read_text().splitlines()]
    return Shown(path, stamps, frames, sound, lines)


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    path = tmp_path_factory.mktemp("films") / "short.mp4"
    order = FilmOrder("snap", 98, seconds=10, short=True, size_px=(960, 540), players=2, quality=18)
    report = make_film(order, path)
    shown = _watch(path)
    assert report.frames == len(shown.frames)
    return shown


@pytest.fixture(scope="module")
def uneven(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    path = tmp_path_factory.mktemp("films") / "uneven.mp4"
    make_film(FilmOrder("snap", 9, seconds=5, short=True, size_px=(320, 180), condition="vfr"), path)
    return _watch(path)


@pytest.mark.parametrize("which", ["film", "uneven"])
def test_every_frame_is_stamped_as_the_truth_says(which: str, request: pytest.FixtureRequest) -> None:
    shown: Shown = request.getfixturevalue(which)
    told = [at for line in shown.of("frames") for at in line["at_ns"]]
    assert len(told) == len(shown.stamps_ns)
    assert max(abs(a - b) for a, b in zip(told, shown.stamps_ns, strict=True)) <= 10_000


def test_an_uneven_film_is_uneven(uneven: Shown) -> None:
    gaps = np.diff(uneven.stamps_ns)
    assert (np.abs(gaps / np.median(gaps) - 1) > 0.05).mean() > 0.03


def test_the_truth_reads_as_a_recording_and_its_rulings_follow_from_its_events(film: Shown) -> None:
    lines = list(read(film.path.with_suffix(".truth.jsonl").read_text().splitlines()))
    header = lines[0]
    assert isinstance(header, Header)
    setup = set_up(GAME, header.players, short_deck(), dealer=header.dealer, options=header.options)
    match = Match(GAME, setup)
    for line in lines[1:]:
        if isinstance(line, tuple(KINDS.values())):
            match.tell(line)  # type: ignore[arg-type]  # narrowed by the line above
    told = [dump(line) for line in lines if isinstance(line, Ruling)]
    assert told
    assert [dump(ruling) for ruling in match.rulings] == told


def _card_by_its_edges(image: NDArray[np.uint8], near: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """(4, 2) px: the corners of the bright card around a point, from straight lines through its edges.

    None where a hand is over it, so that what is bright there is no rectangle of a card's size.
    """
    bright = (image.min(axis=2) > 150).astype(np.uint8)
    bright = cv2.morphologyEx(bright, cv2.MORPH_CLOSE, np.ones((7, 7), np.uint8))
    outlines, _ = cv2.findContours(bright, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    x, y = near.mean(axis=0)
    around = [each for each in outlines if cv2.pointPolygonTest(each, (float(x), float(y)), False) > 0]
    if not around:
        return None
    outline = around[0]
    (width, height) = cv2.minAreaRect(outline)[1]
    full = cv2.contourArea(outline) / max(width * height, 1.0)
    if full < 0.97 or not 1.3 < max(width, height) / min(width, height) < 1.5:
        return None
    box = cv2.boxPoints(cv2.minAreaRect(outline))
    grey = image.min(axis=2).astype(np.float32)
    across = np.arange(-5, 5.01, 0.1)
    middle = box.mean(axis=0)
    lines = []
    for start, end in zip(box, np.roll(box, -1, axis=0), strict=True):
        along = (end - start) / np.hypot(*(end - start))
        outward = np.array([-along[1], along[0]])
        outward = outward if outward @ (start - middle) > 0 else -outward
        crossings = []
        for share in np.linspace(0.2, 0.8, 31):
            at = start + share * (end - start) + across[:, None] * outward
            profile = cv2.remap(grey, at[None].astype(np.float32), None, cv2.INTER_LINEAR)[0]
            half = (profile[:15].mean() + profile[-15:].mean()) / 2
            crossings.append(at[int(np.argmax(profile < half))])
        lines.append(cv2.fitLine(np.array(crossings, np.float32), cv2.DIST_HUBER, 0, 0.01, 0.01).ravel())
    corners = []
    for (ax, ay, px, py), (bx, by, qx, qy) in zip(lines, lines[1:] + lines[:1], strict=True):
        s, _ = np.linalg.solve(np.array([[ax, -bx], [ay, -by]]), np.array([qx - px, qy - py]))
        corners.append((px + s * ax, py + s * ay))
    return np.array(corners)


def test_cards_lie_where_the_truth_says_within_a_pixel(film: Shown) -> None:
    """The first card on each face-up pile lies alone, so its four edges can be seen."""
    errors = []
    for line in film.of("pile"):
        if not line["pile"].startswith("up:") or len(line["cards"]) != 1:
            continue
        ends = [o["at_ns"] for o in film.of("pile") if o["pile"] == line["pile"] and o["at_ns"] > line["at_ns"]]
        told = np.array(line["cards"][0]["quad"])
        first, last = np.searchsorted(film.stamps_ns, [line["at_ns"] + 10**8, min([*ends, film.stamps_ns[-1]])])
        for image in film.frames[first:last]:
            found = _card_by_its_edges(image, told)
            if found is not None:
                errors.append(np.hypot(*(found[:, None] - told[None]).transpose(2, 0, 1)).min(axis=1))
                break
    assert len(errors) >= 2
    assert np.concatenate(errors).max() < 1.0


def test_a_slap_is_heard_at_its_contact_within_a_tenth_of_a_millisecond(film: Shown) -> None:
    rate = 48_000
    sos = signal.butter(2, 2000, "highpass", fs=rate, output="sos")
    loud = np.abs(signal.sosfilt(sos, film.sound))
    off_ms = []
    for line in film.of("contact"):
        at = line["at_us"] * rate / 1e6
        around = slice(round(at) - 480, round(at) + 480)
        if any(o is not line and abs(o["at_us"] - line["at_us"]) < 60_000 for o in film.of("contact")):
            continue
        window = loud[around]
        onset = int(np.argmax(window > 0.35 * window.max())) + round(at) - 480
        off_ms.append((onset - at) / rate * 1000)
    assert len(off_ms) >= 1
    assert np.max(np.abs(off_ms)) < 0.1


def test_a_hand_stops_where_and_when_the_truth_says_that_it_touched(film: Shown) -> None:
    """From frame to frame the picture changes around the spot until the first hand lands, then much less."""
    table = Table.from_toml(film.path.with_suffix(".table.toml"))
    spot = next(pile for pile in table.piles if str(pile.pile) == "spot")
    x, y = table.to_px([spot.at_mm])[0].round().astype(int)
    reach = round(55 * table.px_per_mm(spot.at_mm))
    crop = (slice(y - reach, y + reach), slice(x - reach, x + reach))
    small = [cv2.GaussianBlur(f[crop], (0, 0), 2).astype(np.int16) for f in film.frames]
    moved = np.array([0.0] + [float(np.abs(b - a).mean()) for a, b in pairwise(small)])
    stamps = np.array(film.stamps_ns)
    lone = [
        line["at_ns"]
        for line in film.of("contact")
        if not any(o is not line and abs(o["at_us"] - line["at_us"]) < 400_000 for o in film.of("contact"))
    ]
    assert lone
    for at_ns in lone:
        landed = int(np.searchsorted(stamps, at_ns))
        # The frame after contact still differs from the one before it; two frames on, the hand is at rest.
        assert moved[landed - 3 : landed + 1].max() > 4 * moved[landed + 3]


def test_the_table_file_maps_the_truths_millimetres_to_its_pixels(film: Shown) -> None:
    table = Table.from_toml(film.path.with_suffix(".table.toml"))
    line = next(line for line in film.of("pile") if line["pile"] == "up:0" and len(line["cards"]) == 1)
    told = np.mean(line["cards"][0]["quad"], axis=0)
    assert np.hypot(*(table.to_px([line["cards"][0]["at_mm"]])[0] - told)) < 0.3


def test_the_same_seed_gives_the_same_film() -> None:
    order = FilmOrder("snap", 8, seconds=6, short=True, size_px=(320, 180))
    first, second = Shoot(order), Shoot(order)
    assert [dump(event) for event in first.script.events] == [dump(event) for event in second.script.events]
    for (tick, picture), (other, again), _ in zip(first.pictures(), second.pictures(), range(90), strict=False):
        assert tick == other
        assert np.array_equal(picture, again)


def test_another_seed_gives_another_film() -> None:
    scripts = [Shoot(FilmOrder("snap", seed, seconds=6, size_px=(320, 180))).script for seed in (1, 2)]
    assert scripts[0].events != scripts[1].events


def test_what_is_kept_still_is_painted_as_if_anew() -> None:
    """Only what moves is repainted: a renderer that has come a long way shows what a fresh one shows."""
    order = FilmOrder("snap", 5, seconds=10, short=True, size_px=(480, 270), players=2)
    travelled = Shoot(order).renderer
    for at_s in np.arange(0, 8.0, 1 / 30):
        shown = travelled.frame(float(at_s))
    fresh = Shoot(order).renderer.frame(float(at_s))
    assert int(cv2.absdiff(shown, fresh).max()) <= 2


@pytest.mark.parametrize("name", list(CONDITIONS))
def test_every_condition_can_be_filmed(name: str) -> None:
    shot = Shoot(FilmOrder("snap", 3, seconds=4, size_px=(320, 180), condition=name))
    at_s = 2.0
    picture = shot.sensor.expose(shot.renderer.frame(at_s), at_s)
    width, height = shot.camera.size_px
    assert picture.shape == (height * 3 // 2, width)
    assert shot.table().image_size_px == (width, height)


def test_conditions_combine() -> None:
    both = condition("dim+oblique")
    assert both.level == CONDITIONS["dim"].level
    assert both.tilt_deg == CONDITIONS["oblique"].tilt_deg


def test_the_whole_deck_is_on_the_table_at_every_moment() -> None:
    shot = Shoot(FilmOrder("snap", 4, seconds=20, size_px=(320, 180)))
    whole = sorted(card.name for card in shipped_deck("standard52").cards())
    stacks: dict[str, list[str]] = {}
    carried: list[tuple[float, list[str]]] = []
    moves = list(shot.script.moves)
    for change in shot.script.piles:
        if change.pile.kind == "spot":
            continue
        stacks[str(change.pile)] = [card.card for card in change.stack]
        while moves and moves[0].start_s <= change.at_s:
            move = moves.pop(0)
            carried.append((move.end_s, [card.card for card in move.stack]))
        carried = [(end, cards) for end, cards in carried if end > change.at_s]
        if change.at_s > 0:
            assert sorted(chain(*stacks.values(), *(cards for _, cards in carried))) == whole


def _seen(shot: Shoot, at_s: float) -> NDArray[np.uint8]:
    flat = shot.sensor.expose(shot.renderer.frame(at_s), at_s)
    return np.asarray(cv2.cvtColor(flat, cv2.COLOR_YUV2BGR_I420), np.uint8)


def _off_px(found: NDArray[np.float64], told: NDArray[np.float64]) -> float:
    return float(np.hypot(*(found[:, None] - told[None]).transpose(2, 0, 1)).min(axis=1).max())


@pytest.mark.parametrize("game", ["snap", "trash", "hit-the-deck"])
def test_a_card_half_off_the_table_lies_where_the_truth_says(game: str) -> None:
    # A dark table: else the card's edges are lost where it is as bright as they are.
    shot = replace(condition("half-off"), tops=("walnut",))
    for seed in range(2, 9):
        made = Shoot(FilmOrder(game, seed, seconds=3, size_px=(960, 540), sound=False), shot)
        assert made.spare is not None
        assert 0.2 < made.spare.off < 0.5
        told = np.array(made.spare.told(made.camera)["quad"])
        table = np.array(made.table().corners_px, np.float32)
        beyond = [cv2.pointPolygonTest(table, (float(x), float(y)), False) < 0 for x, y in told]
        assert 1 <= sum(beyond) <= 3
        if made.spare.card.face_up:
            found = _card_by_its_edges(_seen(made, 0.5), told)
            assert found is not None
            assert _off_px(found, told) < 1.0
            return
    raise AssertionError("no card of seven lies face up")


def test_a_card_at_the_edge_is_never_touched_by_one_in_play() -> None:
    for seed in range(2):
        made = Shoot(FilmOrder("snap", seed, seconds=10, size_px=(320, 180), condition="half-off", players=6))
        assert made.spare is not None
        at = (made.spare.card.x_mm, made.spare.card.y_mm)
        assert all(math.dist(at, (c.x_mm, c.y_mm)) > 90 for change in made.script.piles for c in change.stack)
        assert made.spare.card.card not in {c.card for change in made.script.piles for c in change.stack}


def _sides_off_px(image: NDArray[np.uint8], told: NDArray[np.float64]) -> list[float]:
    """For each side of a told quad, how far outside it the picture falls from card to table (median along it)."""
    grey = image.min(axis=2).astype(np.float32)
    across = np.arange(-6, 6.01, 0.1)
    off = []
    for start, end in zip(told, np.roll(told, -1, axis=0), strict=True):
        along = (end - start) / np.hypot(*(end - start))
        outward = np.array([-along[1], along[0]])
        outward = outward if outward @ (start - told.mean(axis=0)) > 0 else -outward
        crossings = []
        for share in np.linspace(0.25, 0.75, 31):
            at = start + share * (end - start) + across[:, None] * outward
            profile = cv2.remap(grey, at[None].astype(np.float32), None, cv2.INTER_LINEAR)[0]
            half = (profile.max() + profile[-20:].mean()) / 2
            crossings.append(across[np.flatnonzero(profile > half)[-1]])
        off.append(float(np.median(crossings)))
    return off


def test_worn_cards_lie_where_new_ones_do() -> None:
    shot = replace(condition("worn"), tops=("walnut",))
    made = Shoot(FilmOrder("trash", 1, seconds=3, size_px=(960, 540), sound=False), shot)
    image = _seen(made, 0.5)
    laid = [change.stack[0] for change in made.script.piles if change.at_s == 0 and len(change.stack) == 1]
    assert len(laid) > 10
    for card in laid[:8]:
        assert max(map(abs, _sides_off_px(image, made.renderer.card_quad(card, CARD_THICKNESS_MM)))) < 1.0


def test_a_bent_corner_takes_its_tip_from_the_outline_on_both_sides() -> None:
    wear, deck = Wear(3), standard_deck()
    bent = {card: wear.bends(card) for card in deck.faces if wear.bends(card)}
    assert 12 < len(bent) < 40
    flat = corner_mask()
    height, width = flat.shape
    for card, bends in list(bent.items())[:6]:
        for face_up in (True, False):
            lost = flat.astype(int) - wear.worn(deck.side(card if face_up else None), card, face_up=face_up)[1]
            corners = [
                lost[rows, columns].sum() / 255
                for rows, columns in (
                    (slice(0, height // 2), slice(0, width // 2)),
                    (slice(0, height // 2), slice(width // 2, width)),
                    (slice(height // 2, height), slice(width // 2, width)),
                    (slice(height // 2, height), slice(0, width // 2)),
                )
            ]
            told = {bend.corner if face_up else (1, 0, 3, 2)[bend.corner] for bend in bends}
            assert {i for i, amount in enumerate(corners) if amount > 20} == told


def test_the_picture_turns_warm_and_cool_when_the_truth_says() -> None:
    made = Shoot(FilmOrder("trash", 4, seconds=14, size_px=(320, 180), sound=False, condition="white-balance"))

    def red(at_s: float) -> float:
        blue, _, red = _seen(made, at_s).reshape(-1, 3).mean(axis=0)
        return float(red - blue)

    plain = red(0.5)
    steps = [(at_s, warm) for at_s, warm in made.sensor.balances if at_s < made.script.duration_s - 1]
    assert steps
    for (at_s, warm), (until_s, _) in pairwise(made.sensor.balances):
        if until_s < made.script.duration_s:
            assert (red(min(at_s + 1.0, until_s - 0.01)) - plain) * warm > 0


@pytest.mark.parametrize("codec", ["hevc", "mjpeg"])
def test_the_products_own_source_reads_other_codecs_and_their_stamps(codec: str, tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    made = make_film(FilmOrder("snap", 9, seconds=4, short=True, size_px=(320, 180), condition=f"{codec}+vfr"), path)
    lines = [json.loads(line) for line in path.with_suffix(".truth.jsonl").read_text().splitlines()]
    told = [at for line in lines if line.get("what") == "frames" for at in line["at_ns"]]
    with VideoFile(path) as video:
        assert video.info.codec == codec
        stamps = [piece.at_ns for piece in video if isinstance(piece, Frame)]
    assert len(stamps) == len(told) == made.frames
    assert max(abs(a - b) for a, b in zip(stamps, told, strict=True)) <= 10_000


@pytest.mark.parametrize(
    ("size", "fps"), [((854, 480), 24.0), ((1920, 1080), 24.0), ((854, 480), 240.0), ((1280, 720), 240.0)]
)
def test_conditions_go_together_at_any_size_and_rate(size: tuple[int, int], fps: float) -> None:
    names = "worn+half-off+white-balance+photo+oblique+rolling+clutter"
    made = Shoot(FilmOrder("snap", 3, seconds=3, size_px=size, fps=fps, condition=names, sound=False))
    assert len(made.ticks) == int(made.script.duration_s * fps)
    picture = _seen(made, 1.8)
    assert picture.shape == (size[1], size[0], 3)
    assert picture.std() > 10
