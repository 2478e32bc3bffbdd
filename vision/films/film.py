"""One film from one seed: played, painted, shot, and written with its truth and its table file beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from referee.cards import shipped_deck
from referee.game import Layout
from referee.recording import Header
from referee.ruling import Ruling
from vision.films.arms import Light, ReadOut
from vision.films.artwork import INKS, DeckArt, spot_card, standard_deck
from vision.films.bots.snap import Temper
from vision.films.camera import Camera
from vision.films.conditions import Condition, condition
from vision.films.encode import CLOCK, CODECS, PRESETS, Encoding, ticks, write_film
from vision.films.ground import Ground
from vision.films.hit_the_deck import hit_the_deck_film
from vision.films.installed_decks import installed, installed_deck
from vision.films.print_deck import own_deck
from vision.films.render import Renderer
from vision.films.script import Script
from vision.films.sensor import Sensor
from vision.films.snap import SPOT_CARD, snap_film
from vision.films.soundtrack import soundtrack, surface_of
from vision.films.spare import JOKER, HalfOff, half_off, joker
from vision.films.table_talk import chairs, talk
from vision.films.trash import trash_film
from vision.films.truth import truth_lines, write_truth
from vision.films.voices import can_speak
from vision.films.wear import Wear
from vision.films.written import written_film
from vision.table import Table

Picture = NDArray[np.uint8]

VERSION = 3
"""Counted up whenever the same seed gives another film: benches keep films by it."""


def _other_decks(game: str) -> tuple[str, ...]:
    """What a game can be filmed with beside the deck that is shipped for it."""
    if game == "hit-the-deck":
        return ()
    return (("snap-pictures",) if game == "snap" else ()) + installed()


@dataclass(frozen=True, slots=True)
class FilmOrder:
    """What film is asked for."""

    game: str
    seed: int
    seconds: float = 60.0
    short: bool = False
    fps: float = 30.0
    size_px: tuple[int, int] = (1280, 720)
    condition: str = "clean"
    players: int | None = None
    deck: str | None = None
    """Other cards than the game's own: `snap-pictures` for Snap, or a standard deck's design installed here."""
    sound: bool = True
    codec: str | None = None
    """Overrides the condition's codec."""
    preset: str = "superfast"
    """The encoder's: slower ones make smaller files."""
    quality: int | None = None
    """Overrides the condition's rate factor."""
    rules: tuple[tuple[str, object], ...] = ()
    """House rules that are not the game's own, by name."""
    fouls: float | None = None
    """Share of turns in which something goes wrong; None: what each game's bots do by themselves."""
    deal: bool = False
    """Whether the first deal is seen too; every later one is."""
    written: Path | None = None
    """A recording to act out instead of one that bots play."""

    def __post_init__(self) -> None:
        """Refuse what can't be filmed, all of it at once."""
        wrong = []
        if self.game not in GAMES:
            wrong.append(f"game: expected {' or '.join(GAMES)}, got {self.game!r}")
        if not 3 <= self.seconds <= 7200:
            wrong.append(f"seconds: expected 3 to 7200, got {self.seconds:g}")
        if not 5 <= self.fps <= 480:
            wrong.append(f"fps: expected 5 to 480, got {self.fps:g}")
        width, height = self.size_px
        if not (160 <= width <= 3840 and 120 <= height <= 2160) or width % 2 or height % 2:
            wrong.append(f"size: expected even, 160x120 to 3840x2160, got {width}x{height}")
        if self.deck is not None and self.deck not in _other_decks(self.game):
            known = ", ".join(_other_decks(self.game)) or "no other deck with this game"
            wrong.append(f"deck: expected {known}, got {self.deck!r}")
        if self.game == "trash" and self.players not in (None, 2):
            wrong.append(f"players: expected 2, got {self.players}")
        beside = {"players": self.players, "fouls": self.fouls, "short": self.short, "deal": self.deal}
        given = [name for name, value in beside.items() if value not in (None, False)]
        if self.written is not None and given:
            wrong.append(f"script: expected to decide by itself, got {', '.join(given)} beside it")
        if self.fouls is not None and not 0 <= self.fouls <= 1:
            wrong.append(f"fouls: expected a share from 0 to 1, got {self.fouls:g}")
        if self.codec is not None and self.codec not in CODECS:
            wrong.append(f"codec: expected {' or '.join(CODECS)}, got {self.codec!r}")
        if self.preset not in PRESETS:
            wrong.append(f"preset: expected {', '.join(PRESETS)}, got {self.preset!r}")
        if self.quality is not None and not 1 <= self.quality <= 51:
            wrong.append(f"quality: expected 1 to 51, got {self.quality}")
        if wrong:
            raise BadInput("; ".join(wrong))
        condition(self.condition)


@dataclass(frozen=True, slots=True)
class FilmReport:
    """What was made, and how fast."""

    path: Path
    frames: int
    seconds: float
    wall_s: float
    cpu_s: float
    """Processor time, all threads together."""

    @property
    def frames_per_second(self) -> float:
        """Rendered and encoded frames a second of our own time."""
        return self.frames / max(self.wall_s, 1e-9)


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """A game as played by the bots: what the film shows and what the truth file says."""

    script: Script
    layout: Layout
    header: Header
    rulings: dict[int, list[Ruling]]


def _snap(order: FilmOrder) -> Played:
    deck = shipped_deck(order.deck) if order.deck == "snap-pictures" else None
    shot = condition(order.condition)
    rules = dict(order.rules)
    if rules.get("snap_by") == "voice" and not (order.sound and can_speak()):
        raise BadInput.of("option snap_by", "espeak-ng installed and a film with sound, to call by voice", "none")
    film, script = snap_film(
        order.seed,
        seconds=order.seconds,
        players=order.players,
        short=order.short,
        deck=deck,
        temper=Temper(rests=shot.resting),
        mesh=shot.mesh_hands,
        options=rules,
        fouls=order.fouls,
        deal=order.deal,
    )
    return Played(script, film.layout, film.header, film.judged)


def _trash(order: FilmOrder) -> Played:
    film, script = trash_film(
        order.seed,
        seconds=order.seconds,
        mesh=condition(order.condition).mesh_hands,
        short=order.short,
        options=dict(order.rules),
        fouls=order.fouls,
        deal=order.deal,
    )
    return Played(script, film.layout, film.header, film.judged)


def _hit_the_deck(order: FilmOrder) -> Played:
    voices = order.sound and can_speak()
    film, script = hit_the_deck_film(
        order.seed,
        seconds=order.seconds,
        players=order.players,
        voices=voices,
        mesh=condition(order.condition).mesh_hands,
        short=order.short,
        options=dict(order.rules),
        fouls=order.fouls,
        deal=order.deal,
    )
    return Played(script, film.layout, film.header, film.judged)


def _written(order: FilmOrder, path: Path) -> Played:
    deck = shipped_deck(order.deck) if order.deck == "snap-pictures" else None
    film, script = written_film(
        path, order.game, order.seed, deck=deck, mesh=condition(order.condition).mesh_hands, options=dict(order.rules)
    )
    return Played(script, film.layout, film.header, film.judged)


GAMES: dict[str, Callable[[FilmOrder], Played]] = {
    "snap": _snap,
    "trash": _trash,
    "hit-the-deck": _hit_the_deck,
}
"""Each game's bots, by the game's name."""


class Shoot:
    """Everything about one film that its seed decides, ready to be painted."""

    def __init__(self, order: FilmOrder, shot: Condition | None = None) -> None:
        """Play the game, set up the table, the players' arms and the camera.

        `shot`: a condition of one's own making instead of the order's.
        """
        self.order = order
        self.condition = shot or condition(order.condition)
        if self.condition.size_px is not None:
            self.order = order = replace(order, size_px=self.condition.size_px)
        self.played = GAMES[order.game](order) if order.written is None else _written(order, order.written)
        self.script = _with_the_room(self.played.script, self.condition, order.seed)
        rng = np.random.default_rng([order.seed, 0xF11F])
        self.camera = self._camera(rng)
        self.cameras = _knocked(self.camera, self.condition, self.script.duration_s, rng)
        self.top = str(rng.choice(self.condition.tops))
        self.lamp = _lamp(rng, self.condition)
        self.floor = self.condition.floors[order.seed % len(self.condition.floors)]
        self.deck = _artwork(order, str(rng.choice(list(INKS))))
        self.wear = Wear(order.seed, self.condition.worn) if self.condition.worn > 0 else None
        self.spare: HalfOff | None = None
        self.ticks = _frame_ticks(order, self.condition, self.script.duration_s, rng)
        self.renderer = self._renderer(rng)
        self.sensor = Sensor(self.camera, self.condition, self.script.duration_s, rng)
        self.surface = surface_of(self.top)

    def _camera(self, rng: np.random.Generator) -> Camera:
        return Camera.over(
            self.script.table_mm,
            self.order.size_px,
            tilt_deg=float(rng.uniform(*self.condition.tilt_deg)),
            turn_deg=float(rng.normal(0, 0.8)),
            distance_mm=float(rng.uniform(1150, 1600)),
            fill=0.955,
            k1=self.condition.lens_k1,
        )

    def _renderer(self, rng: np.random.Generator) -> Renderer:
        plain = replace(self.camera, k1=0.0, k2=0.0)
        width, height = self.script.table_mm
        ground = Ground(
            self.top,
            self.script.table_mm,
            1.1 * plain.px_per_mm((width / 2, height)),
            self.camera.size_px,
            rng,
            lamp_rgb=self.lamp.colour,
            glare=self.condition.glare,
            clutter=self.condition.clutter,
            keep_clear=[(p.x * width, p.y * height, 62.0) for p in self.played.layout.piles],
            floor=self.floor,
        )
        if self.condition.half_off:
            things = [(x, y) for _, x, y in ground.things]
            self.spare = half_off(self.script, self.camera, np.random.default_rng([self.order.seed, 0x0FF]), things)
        read_out = None
        if self.condition.read_out_s > 0:
            read_out = ReadOut(along_x=bool(rng.random() < 0.5), backwards=bool(rng.random() < 0.5))
        exposure = min(self.condition.exposure_s, 0.95 / self.order.fps)
        return Renderer(
            self.script,
            self.cameras,
            self.deck,
            ground,
            lamp=self.lamp,
            exposure_s=exposure,
            read_out_s=self.condition.read_out_s,
            read_out=read_out,
            wear=self.wear,
            loose=() if self.spare is None else (self.spare.card,),
        )

    def pictures(self) -> Iterator[tuple[int, Picture]]:
        """(tick, (height·3/2, width) uint8 I420) of every frame."""
        for tick in self.ticks:
            at_s = tick / CLOCK
            yield tick, self.sensor.expose(self.renderer.frame(at_s), at_s)

    @property
    def encoding(self) -> Encoding:
        """How the pictures are squeezed."""
        order, shot = self.order, self.condition
        return Encoding(order.codec or shot.codec, order.quality or shot.quality, order.preset)

    def table(self) -> Table:
        """What a user would have made at set-up: the corners as this camera draws them."""
        width, height = self.script.table_mm
        corners = self.camera.project([(0, 0), (width, 0), (width, height), (0, height)])
        return Table.laid_out(
            self.played.layout,
            [(round(float(x), 2), round(float(y), 2)) for x, y in corners],
            self.script.table_mm,
            self.camera.size_px,
        )

    def sound(self) -> NDArray[np.float32] | None:
        """The film's sound, None where it has none."""
        if not self.order.sound:
            return None
        shot = self.condition
        heard = [
            replace(sound, at_s=sound.at_s * (1 + shot.sound_drift) + shot.sound_delay_s)
            for sound in self.script.sounds
        ]
        return soundtrack(
            heard,
            self.script.duration_s,
            np.random.default_rng([self.order.seed, 0x50D]),
            surface=self.surface,
            reverb_s=shot.reverb_s,
            music_loudness=shot.music,
            gain_db=shot.gain_db,
        )


def make_film(order: FilmOrder, path: Path, *, progress: Callable[[int, int], None] | None = None) -> FilmReport:
    """Write the film at `path`, and beside it its `.truth.jsonl` and its `.table.toml`."""
    if path.suffix != ".mp4":
        raise BadInput.of("film", "a name that ends in .mp4", path.name)
    if not path.parent.is_dir():
        raise BadInput.of("film", "a folder that is there", str(path.parent))
    started, worked = time.perf_counter(), time.process_time()
    shoot = Shoot(order)

    def counted() -> Iterator[tuple[int, Picture]]:
        for number, each in enumerate(shoot.pictures()):
            if progress is not None:
                progress(number, len(shoot.ticks))
            yield each

    encoding = shoot.encoding
    frames = write_film(path, counted(), shoot.camera.size_px, order.fps, shoot.sound(), encoding)
    about = {
        "version": VERSION,
        "seed": order.seed,
        "fps": order.fps,
        "size_px": list(shoot.camera.size_px),
        "condition": order.condition,
        "exposure_s": shoot.renderer.exposure_s,
        "stamp": "the middle of the exposure",
        "lamp": list(shoot.lamp.towards),
        "table_top": shoot.top,
        "deck": shoot.deck.name,
        "read_out_s": shoot.condition.read_out_s,
        "sound_delay_s": shoot.condition.sound_delay_s,
        "sound_drift": shoot.condition.sound_drift,
        "surface": shoot.surface,
        "reverb_s": shoot.condition.reverb_s,
        "music": shoot.condition.music,
        "voices": "espeak-ng" if can_speak() else "murmured",
        "clutter": [[kind, round(x), round(y)] for kind, x, y in shoot.renderer.ground.things],
        "floor": shoot.floor,
        "codec": [encoding.codec, encoding.quality, encoding.preset],
        "white_balance": [[round(at_s * 1e9), round(warm, 4)] for at_s, warm in shoot.sensor.balances],
        "bent": {} if shoot.wear is None else shoot.wear.told(shoot.deck.faces),
        "half_off": None if shoot.spare is None else shoot.spare.told(shoot.camera),
    }
    played = shoot.played
    lines = truth_lines(shoot.script, shoot.renderer, played.header, played.rulings, shoot.ticks, about)
    write_truth(path.with_suffix(".truth.jsonl"), lines)
    path.with_suffix(".table.toml").write_text(shoot.table().to_toml(), encoding="utf-8")
    return FilmReport(
        path, frames, shoot.script.duration_s, time.perf_counter() - started, time.process_time() - worked
    )


def _with_the_room(script: Script, shot: Condition, seed: int) -> Script:
    """The script with what else is heard in the room."""
    rng = np.random.default_rng([seed, 0x700])
    sounds = list(script.sounds)
    if shot.talk > 0:
        sounds += talk(script.duration_s, len(script.players), shot.talk, rng)
    if shot.chairs > 0:
        sounds += chairs(script.duration_s, shot.chairs, rng)
    return replace(script, sounds=tuple(sorted(sounds, key=lambda sound: sound.at_s)))


def _artwork(order: FilmOrder, ink: str) -> DeckArt:
    """The cards that a game is played with, their backs printed in that ink."""
    if order.game == "hit-the-deck":
        deck = own_deck("hit-the-deck", ink)
        return replace(deck, faces={**deck.faces, JOKER: joker()})
    if order.deck == "snap-pictures":
        deck = own_deck(order.deck, ink)
    else:
        deck = standard_deck(ink) if order.deck is None else installed_deck(order.deck)
    return replace(deck, faces={**deck.faces, SPOT_CARD: spot_card(), JOKER: joker()})


def _lamp(rng: np.random.Generator, shot: Condition) -> Light:
    side = rng.uniform(0, 2 * np.pi)
    lean = rng.uniform(0.25, 0.75)
    return Light(
        towards=(float(lean * np.cos(side)), float(lean * np.sin(side)), 1.0),
        ambient=float(rng.uniform(0.42, 0.62)),
        breadth=float(rng.uniform(0.12, 0.26)),
        colour=shot.tint,
    )


def _knocked(camera: Camera, shot: Condition, seconds: float, rng: np.random.Generator) -> list[tuple[float, Camera]]:
    """The camera from when to when: it stands, or once it is knocked, trembles and stays aside."""
    cameras = [(0.0, camera)]
    if shot.bump_mm <= 0:
        return cameras
    at_s = seconds * float(rng.uniform(0.3, 0.6))
    way = float(rng.uniform(0, 2 * np.pi))
    for step in range(9):
        after_s = step / 30.0
        share = 1.0 - np.exp(-after_s / 0.06) * np.cos(2 * np.pi * after_s / 0.13)
        moved = (
            camera.looks_at_mm[0] + shot.bump_mm * float(share * np.cos(way)),
            camera.looks_at_mm[1] + shot.bump_mm * float(share * np.sin(way)),
        )
        turned = camera.turn_deg + 0.5 * float(share)
        cameras.append((at_s + after_s, replace(camera, looks_at_mm=moved, turn_deg=turned)))
    return cameras


def _frame_ticks(order: FilmOrder, shot: Condition, seconds: float, rng: np.random.Generator) -> list[int]:
    """When each frame is taken, on the film's clock: even, or as a phone stamps them."""
    step = CLOCK / order.fps
    count = int(seconds * order.fps)
    if not shot.uneven_time:
        return [round(i * step) for i in range(count)]
    at = 0.0
    made: list[int] = []
    while at < seconds * CLOCK:
        if not made or round(at) > made[-1]:
            made.append(round(at))
        missing = 1 + int(rng.random() < 0.25 * shot.uneven_time)
        late = rng.normal(0, 0.06) if rng.random() < shot.uneven_time else 0.0
        at += step * (missing + max(-0.5, late))
    return made


__all__ = ["CLOCK", "FilmOrder", "FilmReport", "Shoot", "make_film", "ticks"]
