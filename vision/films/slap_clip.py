"""A rendered slap: hands that come to one pile, as frames with exact stamps, sound, and the truth in nanoseconds."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from referee.cards import Pile, Seat
from vision.films.arm_looks import ArmLook, Pose
from vision.films.arm_relief import BEHIND_MM
from vision.films.arms import ArmSprite, Light, draw_arm, forearm_frames, projection_of
from vision.films.artwork import CARD_MM, INKS, RANKS, SUITS, standard_deck
from vision.films.camera import Camera
from vision.films.encode import CLOCK, Encoding, ns, ticks, write_film
from vision.films.kinematics import HAND_THICK_MM, NO_CONTACT, Family, Motion, Strike, visit
from vision.films.script import CARD_THICKNESS_MM, Sound
from vision.films.slap_din import knocks
from vision.films.slap_paint import Painter, Visitor
from vision.films.slap_sensor import Aim, Exposure, Grain
from vision.films.slap_spec import SlapSpec
from vision.films.soundtrack import soundtrack
from vision.films.sprites import CardSprites, card_corners
from vision.films.table_talk import talk
from vision.films.tables import light_gain, table_top
from vision.frame import Frame
from vision.table import PileSpot, SeatSpot, Table

Picture = NDArray[np.uint8]

TABLE_MM = (1300.0, 900.0)
PILE = Pile("pot")
QUIET_S = 0.4
"""The table is empty of hands for at least so long at the start."""
OVERLAP_MM = 78.0
"""Palms nearer than this land on each other."""
ARM_ROOM_MM = 65.0
"""Nothing of an arm is further from its middle line."""
SPRITE_SHARPNESS = 1.25
"""Sprites are drawn so much finer than the picture, so that turning them costs no sharpness."""


@dataclass(frozen=True, slots=True)
class HandTruth:
    """What one hand did. Times are on the stream's clock."""

    seat: Seat
    left: bool
    strike: Strike
    family: Family
    contact_ns: int | None
    """First contact with the pile or with a hand on it; None when it never touched."""
    contacts_ns: tuple[int, ...]
    """All contacts, a second tap too."""
    arrives_ns: int
    """Contact, or when it came nearest."""
    lifts_ns: int
    layer: int
    """Hands between it and the pile."""
    lies_on: tuple[int, ...]
    """Indices of the hands that it landed on."""
    first_part: str
    """What touched first: fingers, heel or flat."""
    sleeved: bool
    gloved: bool
    child: bool
    speed_mm_s: float
    """In the plane of the table, just before contact."""
    fall_mm_s: float


@dataclass(frozen=True, slots=True)
class SlapTruth:
    """All hands of a clip, in order of arrival, and what the camera did."""

    hands: tuple[HandTruth, ...]
    exposure_ns: int
    read_out_ns: int
    sound_delay_ns: int
    """A sound is heard in the track so much after it happened, on the stream's clock, at the clip's start."""
    sound_drift: float

    @property
    def order(self) -> tuple[Seat, ...]:
        """Seats by their first contact."""
        seats: list[Seat] = []
        for hand in sorted((h for h in self.hands if h.contact_ns is not None), key=lambda h: h.contact_ns or 0):
            if hand.seat not in seats:
                seats.append(hand.seat)
        return tuple(seats)


class SlapClip:
    """One rendered clip; frames are made when asked for, the same each time.

    A frame's stamp is the middle of the exposure of the picture's middle line. With a rolling shutter, line n
    of N is exposed ``(n - (N - 1) / 2) / N`` read-outs later (earlier where it is read backwards).
    """

    def __init__(self, spec: SlapSpec, seed: int) -> None:
        """Draw the table, the hands and their ways; nothing is painted yet."""
        self.spec, self.seed = spec, seed
        rng = np.random.default_rng([seed, 0])
        self._camera = _camera(spec, rng)
        self._light = _light(rng)
        self._pile_mm = (TABLE_MM[0] / 2, TABLE_MM[1] / 2)
        self._cards = int(rng.integers(3, 36))
        self._visits = _visits(spec, rng, self._pile_mm, self._cards * CARD_THICKNESS_MM, self._away_mm())
        self.duration_s = max(motion.ends_s for motion, _, _ in self._visits) + 0.25
        self._moments = _moments(spec, self.duration_s, np.random.default_rng([seed, 1]))
        lands = [
            (at_s, min(1.0, 0.3 + motion.lands_at_mm_s / 2500))
            for motion, _, _ in self._visits
            for at_s in motion.contacts_s
        ]
        self._aim = Aim(spec, np.random.default_rng([seed, 5]), lands)
        self._painted = _wider(self._camera, self._aim.margin_px)

    # --- what is told with the clip ----------------------------------------------------------------

    @cached_property
    def table(self) -> Table:
        """Pixels to millimetres, the pile and the seats, as a table file would say."""
        width, height = TABLE_MM
        corners = _marked(self._camera, self.spec.lens_k1, [(0, 0), (width, 0), (width, height), (0, height)])
        points = tuple((float(x), float(y)) for x, y in corners)
        seats = {motion.seat: motion.from_seat_rad for motion, _, _ in self._visits}
        return Table(
            points,
            TABLE_MM,
            self.spec.size_px,
            tuple(SeatSpot(seat, _on_edge(self._pile_mm, way + math.pi)) for seat, way in sorted(seats.items())),
            (PileSpot(PILE, self._pile_mm, 75.0),),
        )

    @property
    def pts_ns(self) -> tuple[int, ...]:
        """Of all frames."""
        return tuple(ns(tick) for tick, _ in self._moments)

    @cached_property
    def truth(self) -> SlapTruth:
        """Who touched when; for benches and tests only."""
        spec = self.spec
        return SlapTruth(
            tuple(_truth(motion, on, layer) for motion, layer, on in self._visits),
            round(spec.shutter_s * 1e9),
            round(spec.read_out_s * 1e9),
            round(spec.sound_delay_s * 1e9),
            spec.sound_drift,
        )

    @cached_property
    def audio(self) -> NDArray[np.float32] | None:
        """(n,) float32 at 48 kHz from the stream's 0 on, None for a silent clip."""
        if not self.spec.sound:
            return None
        rng = np.random.default_rng([self.seed, 2])
        heard = []
        for motion, layer, _ in self._visits:
            for number, at_s in enumerate(motion.contacts_s):
                gain = (0.35 + 0.65 * min(1.0, motion.lands_at_mm_s / 2500)) * (0.7 if layer else 1.0)
                later = at_s * (1 + self.spec.sound_drift) + self.spec.sound_delay_s
                heard.append(Sound(later, "slap", gain * (0.6 if number else 1.0), self._pile_mm[0]))
        surface = "cloth" if self.spec.top.startswith("cloth") else "wood"
        seconds = self.duration_s + 0.3
        others = np.random.default_rng([self.seed, 7])
        if self.spec.talk > 0:
            heard += talk(seconds, self.spec.hands, self.spec.talk, others)
        track = soundtrack(
            heard,
            seconds,
            rng,
            surface=surface,
            room_db=float(rng.uniform(-60, -42)),
            reverb_s=float(rng.uniform(0.15, 0.5)),
            music_loudness=self.spec.music,
        )
        if self.spec.knocks == 0:
            return track
        return np.asarray(np.clip(track + knocks(self.spec.knocks, seconds, others)[: len(track)], -1, 1), np.float32)

    # --- pictures ----------------------------------------------------------------------------------

    def rendered(self) -> Iterator[Frame]:
        """The frames as the sensor gives them, before any codec."""
        spec = self.spec
        rng = np.random.default_rng([self.seed, 3])
        margin = self._aim.margin_px
        painter = Painter(self._base(rng), self._painted, self._light, self._visitors(), spec, margin)
        exposure = Exposure(spec, np.random.default_rng([self.seed, 6]), self.duration_s)
        grain = Grain(spec, rng)
        # A repeated frame is the same picture, noise and all.
        painted = painter.pictures(sorted({taken_s for _, taken_s in self._moments}))
        image: Picture | None = None
        last = math.nan
        for index, (tick, taken_s) in enumerate(self._moments):
            if image is None or taken_s != last:
                last = taken_s
                image = grain.on(exposure.exposed(self._aim.seen(next(painted), taken_s), taken_s))
            yield Frame(ns(tick), 0, image, index)

    def frames(self) -> Iterator[Frame]:
        """The frames as a viewer gets them: coded and decoded where the spec says so."""
        if self.spec.encoding is None:
            yield from self.rendered()
            return
        with tempfile.TemporaryDirectory(prefix="slap-") as folder:
            path = Path(folder) / "clip.mp4"
            self.write(path, sound=False)
            with av.open(str(path)) as container:
                stream = container.streams.video[0]
                stream.codec_context.thread_count = 1
                for index, frame in enumerate(container.decode(stream)):
                    at_ns = ns(round((frame.pts or 0) * float(stream.time_base or 0) * CLOCK))
                    yield Frame(at_ns, 0, np.asarray(frame.to_ndarray(format="bgr24"), np.uint8), index)

    def write(self, path: Path, *, sound: bool = True) -> int:
        """Write the clip as a video file; returns how many frames."""
        pictures = (
            (tick, np.asarray(cv2.cvtColor(frame.image, cv2.COLOR_BGR2YUV_I420), np.uint8))
            for (tick, _), frame in zip(self._moments, self.rendered(), strict=True)
        )
        encoding = self.spec.encoding or Encoding("h264", 18)
        return write_film(path, pictures, self.spec.size_px, self.spec.fps, self.audio if sound else None, encoding)

    def _away_mm(self) -> float:
        """How far back a hand must be to be out of sight."""
        width, height = self.spec.size_px
        return math.hypot(width, height) / 2 / self.spec.px_per_mm + 130.0

    def _visitors(self) -> tuple[Visitor, ...]:
        scale = round(self.spec.px_per_mm * SPRITE_SHARPNESS, 2)
        rng = np.random.default_rng([self.seed, 4])
        made = []
        for motion, _, _ in self._visits:
            pose = Pose.FLAT if rng.random() < 0.72 else Pose.REACHING
            behind_mm = self._seen_behind_mm(motion) / motion.look.size
            sprite: ArmSprite = draw_arm(motion.look, pose, scale, self._light, motion.heading_rad, behind_mm)
            made.append(Visitor(motion, sprite))
        return tuple(made)

    def _seen_behind_mm(self, motion: Motion) -> float:
        """How much of the forearm behind the wrist ever comes into the picture."""
        places = motion.places(np.linspace(motion.starts_s, motion.ends_s, 60))
        behind = np.arange(0.0, BEHIND_MM * motion.look.size, 15.0)
        line = np.stack([-behind, np.zeros_like(behind), np.ones_like(behind)])
        at = projection_of(self._painted) @ (forearm_frames(motion.look, places) @ line)
        px = at[:, :2] / at[:, 2:]
        room = ARM_ROOM_MM * self.spec.px_per_mm
        inside = ((px > -room) & (px < np.array(self._painted.size_px)[:, None] + room)).all(axis=1).any(axis=0)
        return float(behind[inside].max(initial=60.0)) + 15.0

    def _base(self, rng: np.random.Generator) -> Picture:
        """(h, w, 3) uint8: the table with its pile and the cards around, no hands."""
        spec, camera = self.spec, self._painted
        width, height = camera.size_px
        scale = spec.px_per_mm * 1.1
        span = 1.25 * math.hypot(width, height) / spec.px_per_mm
        cloth = table_top(spec.top, rng, round(span * scale), round(span * scale), scale)
        turn = rng.uniform(0, 2 * math.pi)
        cos, sin = math.cos(turn) / scale, math.sin(turn) / scale
        half = span * scale / 2
        px, py = self._pile_mm
        to_mm = np.array(
            [
                [cos, -sin, px - half * (cos - sin)],
                [sin, cos, py - half * (sin + cos)],
                [0, 0, 1.0],
            ]
        )
        base = cv2.warpPerspective(
            cloth, camera.homography_at(0.0) @ to_mm, (width, height), borderMode=cv2.BORDER_REFLECT
        )
        canvas = np.ascontiguousarray(base, dtype=np.uint8)
        ink = list(INKS)[rng.integers(len(INKS))]
        sprites = CardSprites(standard_deck(ink), spec.px_per_mm * 1.1)
        names = [rank + suit for suit in SUITS for rank in RANKS]
        rng.shuffle(names)
        for _ in range(int(rng.integers(0, 6))):
            away, way = rng.uniform(150, 420), rng.uniform(0, 2 * math.pi)
            spot = (px + away * math.cos(way), py + away * math.sin(way))
            face = names.pop() if rng.random() < 0.6 else None
            self._lay(canvas, sprites, face, spot, rng.uniform(0, 2 * math.pi), 0.0)
        lean = rng.uniform(0, 2 * math.pi)
        face_up = rng.random() < 0.85
        for card in range(self._cards):
            spot = (px + rng.normal(0, 4), py + rng.normal(0, 4))
            face = names.pop() if face_up else None
            self._lay(canvas, sprites, face, spot, lean + rng.normal(0, 0.12), card * CARD_THICKNESS_MM)
        gain = light_gain(rng, height, width, vignette=0.06, slope=0.16)
        return np.asarray(np.clip(canvas * gain[..., None], 0, 255).round(), dtype=np.float32).astype(np.uint8)

    def _lay(
        self,
        canvas: Picture,
        sprites: CardSprites,
        face: str | None,
        spot: tuple[float, float],
        turn: float,
        height_mm: float,
    ) -> None:
        cos, sin = math.cos(turn), math.sin(turn)
        corners = card_corners(*CARD_MM) @ np.array([[cos, sin], [-sin, cos]]) + np.array(spot)
        quad = self._painted.project(corners, height_mm)
        width, height = self._painted.size_px
        if quad[:, 0].max() < 0 or quad[:, 1].max() < 0 or quad[:, 0].min() > width or quad[:, 1].min() > height:
            return
        sprites.draw(canvas, (0, 0), face, quad)


def make_slap_clip(spec: SlapSpec, seed: int) -> SlapClip:
    """The clip of that spec and seed; the same two always make the same clip."""
    return SlapClip(spec, seed)


def _camera(spec: SlapSpec, rng: np.random.Generator) -> Camera:
    """A camera that looks at the pile from a person's height over the table, or from a stand."""
    width, height = spec.size_px
    distance = float(rng.uniform(900, 1600))
    return Camera(
        width,
        height,
        spec.px_per_mm * distance,
        ((width - 1) / 2 + rng.normal(0, 0.03) * width, (height - 1) / 2 + rng.normal(0, 0.03) * height),
        (TABLE_MM[0] / 2, TABLE_MM[1] / 2),
        distance,
        tilt_deg=spec.tilt_deg,
        turn_deg=float(rng.normal(0, 4)),
    )


def _wider(camera: Camera, margin_px: int) -> Camera:
    """The same camera with so many more pixels on each side."""
    (width, height), (x, y) = camera.size_px, camera.centre_px
    return replace(
        camera,
        width_px=width + 2 * margin_px,
        height_px=height + 2 * margin_px,
        centre_px=(x + margin_px, y + margin_px),
    )


def _marked(camera: Camera, lens_k1: float, points_mm: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
    """(n, 2) px of points on the table, as somebody has them who marked four places in sight.

    Where the lens bends straight lines the table's own corners, far outside the picture, are nowhere to be marked.
    """
    if lens_k1 == 0:
        return camera.project(points_mm)
    width, height = camera.size_px
    ideal = np.array([(0.15, 0.15), (0.85, 0.15), (0.85, 0.85), (0.15, 0.85)]) * (width - 1, height - 1)
    drawn = replace(camera, k1=lens_k1).distort(ideal)
    bent = cv2.getPerspectiveTransform(ideal.astype(np.float32), drawn.astype(np.float32))
    px = cv2.perspectiveTransform(camera.project(points_mm)[None], bent)
    return np.asarray(px[0], np.float64)


def _light(rng: np.random.Generator) -> Light:
    """A lamp or window somewhere aside; seldom straight above."""
    way = rng.uniform(0, 2 * math.pi)
    slant = rng.uniform(0.25, 1.1)
    return Light(
        (slant * math.cos(way), slant * math.sin(way), 1.0),
        ambient=float(rng.uniform(0.35, 0.7)),
        breadth=float(np.exp(rng.uniform(np.log(0.06), np.log(0.35)))),
        colour=(1.0, float(rng.uniform(0.93, 1.0)), float(rng.uniform(0.84, 1.0))),
    )


def _visits(
    spec: SlapSpec, rng: np.random.Generator, pile_mm: tuple[float, float], pile_height_mm: float, away_mm: float
) -> list[tuple[Motion, int, tuple[int, ...]]]:
    """Each hand's motion, layer and the hands that it lands on, in order of arrival."""
    shares = spec.family is Family.TWO_HANDS and spec.hands >= 2
    players = max(1, spec.hands - 1) if shares else spec.hands
    start = rng.uniform(0, 2 * math.pi)
    around = [start + 2 * math.pi * n / max(players, 2) + rng.normal(0, 0.12) for n in range(players)]
    owners = list(range(players)) + ([int(rng.integers(players))] if shares else [])
    rng.shuffle(owners)
    gaps = list(spec.gaps_s) if spec.gaps_s is not None else _gaps(spec, rng)
    arrivals = np.concatenate([[0.0], np.cumsum(gaps)]) if len(owners) > 1 else np.zeros(1)
    misses = _misses(spec, rng, len(owners))
    palms: list[tuple[float, float]] = []
    layers: list[int] = []
    seen: dict[int, bool] = {}
    looks: dict[int, ArmLook] = {}
    made: list[tuple[Motion, int, tuple[int, ...]]] = []
    for number, seat in enumerate(owners):
        way = around[seat] + math.pi
        both = owners.count(seat) > 1
        left = (not seen[seat]) if seat in seen else bool(rng.random() < 0.5) if both else None
        look = _look(spec, rng, left)
        if seat in looks:
            look = replace(looks[seat], left=bool(left), watch=False)
        looks[seat], seen[seat] = look, look.left
        spread, back = (7.0, rng.uniform(0, 25)) if spec.family is Family.HAND_ON_HAND else (14.0, rng.uniform(0, 50))
        aside = (45.0 if look.left else -45.0) if both else 0.0
        palm = (
            pile_mm[0] - back * math.cos(way) + aside * math.sin(way) + rng.normal(0, spread),
            pile_mm[1] - back * math.sin(way) - aside * math.cos(way) + rng.normal(0, spread),
        )
        under = tuple(
            other
            for other, at in enumerate(palms)
            if not misses[other] and math.dist(at, palm) < OVERLAP_MM * min(1.0, look.size + 0.1)
        )
        layer = 1 + max(layers[other] for other in under) if under else 0
        palms.append(palm)
        layers.append(layer)
        family = spec.family
        if family in NO_CONTACT and not misses[number]:
            family = Family.STRAIGHT
        strike = spec.strike if spec.strike is not None else list(Strike)[rng.integers(4)]
        motion = visit(
            rng,
            look,
            seat,
            way,
            palm,
            strike,
            family,
            arrives_s=float(arrivals[number]),
            surface_mm=pile_height_mm + HAND_THICK_MM * layer,
        )
        made.append((replace(motion, away_mm=away_mm), layer, under))
    begin = QUIET_S + max(-motion.starts_s for motion, _, _ in made)
    made = [(motion.delayed(begin), layer, on) for motion, layer, on in made]
    return [(_leaves_in_turn(made, n), layer, on) for n, (_, layer, on) in enumerate(made)]


def _leaves_in_turn(made: list[tuple[Motion, int, tuple[int, ...]]], number: int) -> Motion:
    """A hand that others lie on stays until they have begun to lift."""
    motion = made[number][0]
    above = [other.lifts_s for other, _, on in made if number in on]
    wait = max([motion.lifts_s, *(at + 0.06 for at in above)]) - motion.lifts_s
    return replace(motion, stays_s=motion.stays_s + wait)


def _gaps(spec: SlapSpec, rng: np.random.Generator) -> list[float]:
    """Between contacts: half of them under 20 ms, half under 60; hands that pile up take longer."""
    count = spec.hands - 1
    if spec.family is Family.HAND_ON_HAND:
        return [float(rng.uniform(0.004, 0.12)) for _ in range(count)]
    return [float(rng.uniform(0, 0.02 if rng.random() < 0.5 else 0.06)) for _ in range(count)]


def _misses(spec: SlapSpec, rng: np.random.Generator, count: int) -> list[bool]:
    """Which hands never touch: at least one in the families that say so, each other with an even chance."""
    if spec.family not in NO_CONTACT:
        return [False] * count
    misses = [bool(rng.random() < 0.5) for _ in range(count)]
    misses[int(rng.integers(count))] = True
    return misses


def _look(spec: SlapSpec, rng: np.random.Generator, left: bool | None) -> ArmLook:
    sleeved = {Family.SLEEVE: True, Family.BARE: False}.get(spec.family)
    return ArmLook.seeded(rng, left=left, sleeved=sleeved, gloved=spec.family is Family.GLOVE, mesh=spec.mesh_hands)


def _truth(motion: Motion, on: tuple[int, ...], layer: int) -> HandTruth:
    contacts = tuple(round(at * 1e9) for at in motion.contacts_s)
    first = "fingers" if motion.cocked_mm > 0 or motion.tilt_mm > 2 else "heel" if motion.tilt_mm < -2 else "flat"
    return HandTruth(
        seat=motion.seat,
        left=motion.look.left,
        strike=motion.strike,
        family=motion.family,
        contact_ns=contacts[0] if contacts else None,
        contacts_ns=contacts,
        arrives_ns=round(motion.arrives_s * 1e9),
        lifts_ns=round(motion.lifts_s * 1e9),
        layer=layer,
        lies_on=on,
        first_part=first,
        sleeved=motion.look.sleeve is not None,
        gloved=motion.look.glove is not None,
        child=motion.look.size < 0.86,
        speed_mm_s=motion.in_plane.final if motion.poised_s == 0 else 0.0,
        fall_mm_s=motion.lands_at_mm_s,
    )


def _moments(spec: SlapSpec, duration_s: float, rng: np.random.Generator) -> list[tuple[int, float]]:
    """Each frame's stamp (film clock's ticks) and when its picture was taken."""
    at_s = 0.0  # an MP4 that starts later keeps its start to the millisecond only
    out: list[tuple[int, float]] = []
    taken = at_s
    while at_s < duration_s:
        fate = rng.random()
        tick = ticks(at_s)
        if not out or fate >= spec.dropped:
            taken = tick / CLOCK
            out.append((tick, taken))
        elif fate >= spec.dropped / 2:
            out.append((tick, taken))  # the last picture again, under a new stamp
        step = 1 / spec.fps
        if spec.variable_rate > 0:
            step *= 1 + float(np.clip(rng.normal(0, spec.variable_rate), 0.0, 1.5))
        at_s += step
    return out


def _on_edge(pile_mm: tuple[float, float], way: float) -> tuple[float, float]:
    """Where the ray from the pile leaves the table."""
    dx, dy = math.cos(way), math.sin(way)
    reach = min(
        (TABLE_MM[0] - pile_mm[0]) / dx if dx > 0 else -pile_mm[0] / dx if dx < 0 else math.inf,
        (TABLE_MM[1] - pile_mm[1]) / dy if dy > 0 else -pile_mm[1] / dy if dy < 0 else math.inf,
    )
    return pile_mm[0] + reach * dx, pile_mm[1] + reach * dy
