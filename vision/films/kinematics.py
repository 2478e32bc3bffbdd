"""How a hand reaches for a pile, strikes and withdraws: places at any instant, and the exact instant of contact."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from vision.films.arms import ArmLook, ArmPlaces

Times = NDArray[np.float64]
"""Seconds, any shape."""

HAND_THICK_MM = 22.0
"""How much higher a hand lands that lands on another hand."""

REACHES_MS = 4.0
"""Lateral motion goes on for at most so long after first contact, until the rest of the hand bears down."""


class Strike(Enum):
    """How a hand comes in."""

    SIDEWAYS = "sideways"
    OBLIQUE = "oblique"
    DOWN = "down"
    FLICK = "flick"


class Family(Enum):
    """What a clip is about."""

    STRAIGHT = "straight"
    CURVED = "curved"
    BRAKING = "braking"
    HOVER = "hover"
    DOUBLE_TAP = "double tap"
    HAND_ON_HAND = "hand on hand"
    BRUSH = "brush past"
    TWO_HANDS = "two hands of one player"
    SLEEVE = "sleeve"
    BARE = "bare arm"
    GLOVE = "glove"
    SWING = "swing about the elbow"
    FEINT = "feint, then strike"
    READY = "ready over the pile"


HELD_OUT = frozenset({Family.DOUBLE_TAP, Family.SWING, Family.FEINT, Family.GLOVE})
"""Left out of all development: three ways of moving and one kind of hand. Only the bench opens them."""

NO_CONTACT = frozenset({Family.HOVER, Family.BRUSH})
"""Families whose hands never touch."""

NOT_NOMINAL = frozenset({*NO_CONTACT, Family.READY})
"""Families that the group *nominal* leaves out: without contact, or with fingers over the pile before the strike."""


def _between(values: Times, low: float, high: float) -> Times:
    """`np.clip` of few values, in a third of the time."""
    return np.minimum(np.maximum(values, low), high)


def _smooth(share: Times) -> Times:
    """0 to 1 with level ends."""
    x = _between(share, 0.0, 1.0)
    return x * x * (3 - 2 * x)


def _smooth_area(share: Times) -> Times:
    """The integral of `_smooth` from 0, for any share (it grows evenly after 1)."""
    x = _between(share, 0.0, 1.0)
    return x * x * x * (1 - 0.5 * x) + np.maximum(share - 1.0, 0.0)


@dataclass(frozen=True, slots=True)
class Run:
    """Distance still to go on the way to contact at 0: speeding up, running, and perhaps braking.

    Speeds in mm/s, times in s. The speed at contact is `final`; it rises to `peak` over the last `brake_s`
    looking back, is even for `even_s`, and comes from rest before that so that the whole is `distance` mm.
    """

    distance: float
    peak: float
    final: float
    brake_s: float
    even_s: float = 0.0

    def __post_init__(self) -> None:
        """The part before the start must take time."""
        if self.peak <= 0 or self.distance <= 0:
            raise ValueError("expected a run of some length and speed")
        if self.start_s <= 0:
            raise ValueError(f"expected a run of over {self._fixed:.0f} mm, got {self.distance:.0f}")

    @property
    def _fixed(self) -> float:
        return self.final * self.brake_s + (self.peak - self.final) * self.brake_s / 2 + self.peak * self.even_s

    @property
    def start_s(self) -> float:
        """How long the speeding up takes."""
        return 2 * (self.distance - self._fixed) / self.peak

    @property
    def whole_s(self) -> float:
        """From rest to contact."""
        return self.start_s + self.even_s + self.brake_s

    def to_go(self, before: Times) -> Times:
        """Millimetres to go, `before` seconds before contact (negative: 0)."""
        x = np.maximum(before, 0.0)
        out = self.final * np.minimum(x, self.brake_s)
        if self.brake_s > 0:
            out = out + (self.peak - self.final) * self.brake_s * np.minimum(_smooth_area(x / self.brake_s), 0.5)
        y = _between(x - self.brake_s, 0.0, self.even_s)
        z = _between((x - self.brake_s - self.even_s) / self.start_s, 0.0, 1.0)
        return out + self.peak * y + self.peak * self.start_s * (z - _smooth_area(z))


@dataclass(frozen=True, slots=True)
class Motion:
    """One hand's whole visit, in closed form.

    Lengths mm, times s, on the film's clock. `contact_s` is when the first part of the hand touches, None for a
    hand that never does; `arrives_s` is when it touches or comes nearest.
    """

    look: ArmLook
    seat: int
    strike: Strike
    family: Family
    arrives_s: float
    touches: bool
    tip_mm: tuple[float, float]
    """Of the middle fingertip at arrival."""
    heading_rad: float
    """Of the hand at arrival."""
    towards_rad: float
    """The way it moves at arrival."""
    in_plane: Run
    fall: Run
    surface_mm: float
    """Height of what it lands on."""
    from_seat_rad: float
    """The way from its player's seat to the pile."""
    arrest_s: float = 0.004
    lag_s: float = 0.0
    """How long after first contact the hand's travel begins to be arrested."""
    slide_share: float = 0.0
    slide_s: float = 0.04
    bow_per_mm: float = 0.0
    """Curvature of the path: aside = bow · to_go²."""
    turn_per_mm: float = 0.0
    """How the arm turns along the way, rad a mm to go."""
    bend_rad: float = 0.0
    bend_per_mm: float = 0.0
    swing_radius_mm: float = 0.0
    """Where not 0, the arm swings about a point this far behind the fingertip instead of along a line."""
    tilt_mm: float = 0.0
    """At first contact the wrist is this much higher than the fingertips (negative: the heel of the hand
    touches first)."""
    cocked_mm: float = 0.0
    """A flick: how much higher than flat the fingertips start."""
    cocked_s: float = 0.06
    roll_rad: float = 0.0
    bounce_mm: float = 0.0
    bounce_s: float = 0.04
    tap_mm: float = 0.0
    tap_after_s: float = 0.07
    tap_s: float = 0.12
    poised_s: float = 0.0
    """For how long before contact its way over the table is done: a flick, a feint."""
    feint_mm: float = 0.0
    """How far it comes down before it waits."""
    stays_s: float = 0.5
    enters_s: float = 0.3
    waits_s: float = 0.1
    lift_s: float = 0.3
    lift_mm: float = 90.0
    away_mm: float = 420.0
    elbow_mm: float = 70.0
    past_mm: float = 0.0
    """A brush past: how far it goes on beyond the pile."""

    @property
    def contact_s(self) -> float | None:
        """The instant of first contact."""
        return self.arrives_s if self.touches else None

    @property
    def contacts_s(self) -> tuple[float, ...]:
        """All instants at which it touches anew."""
        if not self.touches:
            return ()
        again = (self.arrives_s + self.tap_after_s + self.tap_s,) if self.tap_mm > 0 else ()
        return (self.arrives_s, *again)

    @property
    def lifts_s(self) -> float:
        """When it begins to leave."""
        return self.arrives_s + self.stays_s

    @property
    def starts_s(self) -> float:
        """When it begins to come in; before that it is out of sight."""
        return self.arrives_s - self._reach_s - self.waits_s - self.enters_s

    @property
    def ends_s(self) -> float:
        """When it is out of sight again."""
        return self.lifts_s + self.lift_s

    @property
    def _reach_s(self) -> float:
        if self.past_mm > 0:
            return max(self._before_s, self.fall.whole_s)
        late = self.poised_s if self.cocked_mm > 0 else 0.0
        return max(self.in_plane.whole_s + self.poised_s, self.fall.whole_s + late)

    @property
    def lands_at_mm_s(self) -> float:
        """Downward speed of what touches first."""
        return self.cocked_mm * math.pi / 2 / self.cocked_s if self.cocked_mm > 0 else self.fall.final

    @property
    def give_mm(self) -> float:
        """How far flesh gives at contact, so that the arrest is as soft upwards as it is sideways."""
        return self.lands_at_mm_s * self._give_s

    @property
    def _give_s(self) -> float:
        return min(self.arrest_s, 6.0 / max(self.lands_at_mm_s, 1.0))

    @property
    def settles_s(self) -> float:
        """From then on until it lifts nothing moves by more than a hundredth of a millimetre."""
        if self.past_mm > 0:
            return self.lifts_s
        return self.arrives_s + max(
            10 * self.arrest_s + self.lag_s,
            8 * self.slide_s if self.slide_share > 0 else 0.0,
            self._lands_s + 0.05,
            1.4 * self.bounce_s if self.bounce_mm > 0 else 0.0,
            self.tap_after_s + self.tap_s if self.tap_mm > 0 else 0.0,
        )

    def still(self, from_s: float, to_s: float) -> bool:
        """Nothing moves by more than a hundredth of a millimetre between two instants."""
        away = to_s <= self.starts_s or from_s >= self.ends_s
        return away or (from_s >= self.settles_s and to_s <= self.lifts_s)

    @property
    def _lands_s(self) -> float:
        """How long after first contact the other end of the hand lands."""
        if not self.touches or self.cocked_mm > 0:
            return 0.0
        return abs(self.tilt_mm) / max(self.fall.final, 250.0)

    # --- the parts of a visit ----------------------------------------------------------------------

    def to_go_mm(self, at_s: Times) -> Times:
        """Along the path: positive before arrival, negative where it slid on after it."""
        t = at_s - self.arrives_s
        if self.past_mm > 0:
            share = (t + self._before_s) / self._pass_s
            return self.in_plane.distance - (self.in_plane.distance + self.past_mm) * _smooth(share)
        ahead = self.in_plane.to_go(-t - self.poised_s)
        speed = self.in_plane.final if self.poised_s == 0 else 0.0
        if speed == 0.0:
            return ahead
        after = np.maximum(t - self.lag_s, 0.0)
        stop = speed * (1 - self.slide_share) * self.arrest_s * -np.expm1(-after / self.arrest_s)
        slide = speed * self.slide_share * self.slide_s * -np.expm1(-after / self.slide_s)
        return np.asarray(ahead - speed * _between(t, 0.0, self.lag_s) - stop - slide)

    @property
    def _pass_s(self) -> float:
        """A brush past: from one turning point to the other; the pace is fastest in the middle."""
        return 1.5 * (self.in_plane.distance + self.past_mm) / self.in_plane.peak

    @property
    def _before_s(self) -> float:
        """The part of it before the pile is passed (the inverse of `_smooth`)."""
        share = self.in_plane.distance / (self.in_plane.distance + self.past_mm)
        return self._pass_s * (0.5 - math.sin(math.asin(1 - 2 * share) / 3))

    def _heights(self, at_s: Times) -> tuple[Times, Times]:
        """Of fingertips and wrist, over the table."""
        t = at_s - self.arrives_s
        after = np.maximum(t, 0.0)
        give_s = max(self._give_s, 1e-4)
        give = self.give_mm * np.exp(-after / give_s)
        tilt = abs(self.tilt_mm)
        if self.cocked_mm > 0:
            # The wrist is down already; only the fingers come down, ever faster.
            coming = self.fall.to_go(-t - self.poised_s)
            back = _between(-t / self.cocked_s, 0.0, 1.0)
            tip = coming + give + self.cocked_mm * np.sin(0.5 * math.pi * back)
            wrist = coming + tilt * np.exp(-after / 0.02)
        else:
            coming = self.fall.to_go(-t)
            if self.poised_s > 0:
                coming = coming + self.feint_mm * (1 - _smooth((t + self.poised_s + 0.25) / 0.25))
            low = coming + give
            if self.touches:
                # The other end goes on falling until it lands too.
                until = _between(t, 0.0, self._lands_s)
                softly = np.exp(-np.maximum(t - self._lands_s, 0.0) / give_s)
                other = coming + self.give_mm * softly + tilt - tilt * until / max(self._lands_s, 1e-6)
            else:
                other = low + tilt
            tip, wrist = (low, other) if self.tilt_mm >= 0 else (other, low)
        hop = np.zeros_like(t)
        if self.bounce_mm > 0:
            for start, length, high in ((0.004, 1.0, 1.0), (0.004 + self.bounce_s, 0.4, 0.16)):
                x = (t - start) / (self.bounce_s * length)
                hop = hop + self.bounce_mm * high * 4 * x * (1 - x) * ((x > 0) & (x < 1))
        if self.tap_mm > 0:
            x = (t - self.tap_after_s) / self.tap_s
            hop = hop + self.tap_mm * 4 * x * (1 - x) * ((x > 0) & (x < 1))
        leave = self.lift_mm * _smooth((at_s - self.lifts_s) / (0.6 * self.lift_s))
        peel = 18.0 * (_smooth((at_s - self.lifts_s) / 0.08) - _smooth((at_s - self.lifts_s) / (0.6 * self.lift_s)))
        tip = tip + 0.75 * hop + leave
        wrist = wrist + hop + leave + np.maximum(peel, 0.0)
        return self.surface_mm + tip, self.surface_mm + 3.0 + wrist

    def places(self, at_s: Times) -> ArmPlaces:
        """Where the arm is at each instant, in the shape of `at_s`."""
        at = np.asarray(at_s, dtype=np.float64)
        s = self.to_go_mm(at)
        tip_height, wrist_height = self._heights(at)
        heading = self.heading_rad + self.turn_per_mm * s
        ex, ey = math.cos(self.towards_rad), math.sin(self.towards_rad)
        if self.swing_radius_mm > 0:
            # A swing about the elbow: the whole arm turns, the tip runs along an arc.
            side = math.copysign(1.0, math.cos(self.heading_rad) * ey - math.sin(self.heading_rad) * ex)
            angle = -side * s / self.swing_radius_mm
            heading = self.heading_rad + angle
            r = self.swing_radius_mm
            x = self.tip_mm[0] + r * (np.cos(heading) - math.cos(self.heading_rad))
            y = self.tip_mm[1] + r * (np.sin(heading) - math.sin(self.heading_rad))
        else:
            aside = self.bow_per_mm * s * np.abs(s)
            x = self.tip_mm[0] - ex * s - ey * aside
            y = self.tip_mm[1] - ey * s + ex * aside
        # In from the seat, and back to it.
        enters = self.away_mm * (1 - _smooth((at - self.starts_s) / self.enters_s))
        leaves = self.away_mm * _smooth((at - self.lifts_s - 0.12 * self.lift_s) / (0.88 * self.lift_s)) ** 1.5
        back = enters + leaves
        x = x - math.cos(self.from_seat_rad) * back
        y = y - math.sin(self.from_seat_rad) * back
        over = wrist_height - self.surface_mm - 3.0
        return ArmPlaces.of(
            (x, y),
            heading,
            tip_height,
            wrist_height,
            self.elbow_mm + 0.55 * over,
            self.bend_rad + self.bend_per_mm * s,
            self.roll_rad * _smooth((tip_height - self.surface_mm) / 45.0),
        )

    def delayed(self, by_s: float) -> Motion:
        """The same visit, later."""
        return replace(self, arrives_s=self.arrives_s + by_s)


def visit(
    rng: np.random.Generator,
    look: ArmLook,
    seat: int,
    from_seat_rad: float,
    palm_mm: tuple[float, float],
    strike: Strike,
    family: Family,
    *,
    arrives_s: float,
    surface_mm: float,
) -> Motion:
    """Draw how one hand comes, strikes in the given way and leaves; the palm comes to lie at `palm_mm`."""
    heading = from_seat_rad + rng.normal(0, 0.22)
    travel = 0.0 if strike in (Strike.DOWN, Strike.FLICK) else rng.normal(0, 0.45)
    towards = heading + travel
    arrest = float(rng.uniform(0.002, 0.008))
    across, down = _speeds(rng, strike)
    braking = family is Family.BRAKING
    # What is slow has come near already: nobody takes more than a third of a second over a strike.
    run = _run(rng, across, min(rng.uniform(90, 300), 0.3 * across), slows=braking)
    fall = _run(rng, down, min(rng.uniform(45, 130), 0.3 * down), slows=braking)
    palm_to_tip = 0.58 * look.length_mm
    slide = (
        float(rng.uniform(0.05, 0.25)) if rng.random() < 0.4 and strike in (Strike.SIDEWAYS, Strike.OBLIQUE) else 0.0
    )
    stop_mm = run.final * ((1 - slide) * arrest + slide * 0.04)
    # Aim so that the palm *comes to lie* at its place, after what it still slides.
    tip = (
        palm_mm[0] + palm_to_tip * math.cos(heading) - stop_mm * math.cos(towards),
        palm_mm[1] + palm_to_tip * math.sin(heading) - stop_mm * math.sin(towards),
    )
    flick = strike is Strike.FLICK
    tilt = float(rng.normal(6, 12)) if not flick else float(rng.uniform(3, 14))
    motion = Motion(
        look=look,
        seat=seat,
        strike=strike,
        family=family,
        arrives_s=arrives_s,
        touches=family not in NO_CONTACT,
        tip_mm=tip,
        heading_rad=heading,
        towards_rad=towards,
        in_plane=run,
        fall=fall,
        surface_mm=surface_mm,
        from_seat_rad=from_seat_rad,
        arrest_s=arrest,
        slide_share=slide,
        bow_per_mm=float(rng.normal(0, 0.00012)),
        turn_per_mm=float(rng.normal(0, 0.0006)),
        bend_rad=float(rng.normal(0, 0.12)),
        bend_per_mm=float(rng.normal(0, 0.0004)),
        tilt_mm=tilt,
        roll_rad=float(rng.normal(0, 0.2)),
        bounce_mm=float(rng.uniform(1.5, 6)) if rng.random() < 0.3 else 0.0,
        bounce_s=float(rng.uniform(0.025, 0.05)),
        stays_s=float(rng.uniform(0.35, 0.7)),
        enters_s=float(rng.uniform(0.22, 0.35)),
        waits_s=float(rng.uniform(0.02, 0.2)),
        lift_s=float(rng.uniform(0.25, 0.45)),
        lift_mm=float(rng.uniform(50, 110)),
        elbow_mm=float(rng.uniform(45, 110)),
    )
    lands = motion._lands_s
    motion = replace(motion, lag_s=0.0 if flick else min(0.5 * lands, REACHES_MS / 1000) * float(rng.random()))
    if flick:
        # Peak fingertip speed of a sine quarter is cocked · pi / 2 / duration: 1.5 to 4 m/s.
        cocked = float(rng.uniform(45, 110))
        cocked_s = cocked * math.pi / 2 / float(rng.uniform(1500, 4000))
        motion = replace(
            motion,
            cocked_mm=cocked,
            cocked_s=cocked_s,
            poised_s=cocked_s + float(rng.uniform(0.0, 0.15)),
            fall=_run(rng, 400.0, rng.uniform(40, 90), slows=True, stops=True),
            in_plane=_run(rng, 900.0, rng.uniform(90, 250), slows=True, stops=True),
        )
    return _of_family(rng, motion, family)


def _speeds(rng: np.random.Generator, strike: Strike) -> tuple[float, float]:
    """In-plane and downward speed just before contact, mm/s."""
    speed = 1000 * rng.uniform(1.0, 4.0)
    match strike:
        case Strike.SIDEWAYS:
            return speed, speed * rng.uniform(0.12, 0.4)
        case Strike.OBLIQUE:
            slope = rng.uniform(0.6, 1.1)
            return speed * math.cos(slope), speed * math.sin(slope)
        case Strike.DOWN:
            return rng.uniform(20, 250), speed * 0.8
        case Strike.FLICK:
            return 100.0, 400.0
    raise ValueError(f"expected a strike, got {strike!r}")


def _run(rng: np.random.Generator, speed: float, distance: float, *, slows: bool, stops: bool = False) -> Run:
    """A run over about `distance` mm that arrives with `speed` (stops: with none)."""
    final = 0.0 if stops else speed
    peak = speed * rng.uniform(1.0, 1.12)
    if slows and not stops:
        final = peak / rng.uniform(1.5, 2.6)
    brake = rng.uniform(0.03, 0.08) if slows else rng.uniform(0.005, 0.02)
    if stops:
        brake = rng.uniform(0.06, 0.14)
    even = rng.uniform(0.0, 0.03)
    fixed = final * brake + (peak - final) * brake / 2 + peak * even
    # From rest to full speed takes a hand at least 60 ms.
    return Run(max(distance, fixed + 0.03 * peak), peak, final, brake, even)


def _of_family(rng: np.random.Generator, motion: Motion, family: Family) -> Motion:
    """What sets a family apart."""
    match family:
        case Family.CURVED:
            side = 1 if rng.random() < 0.5 else -1
            reach = motion.in_plane.distance
            return replace(
                motion,
                bow_per_mm=side * rng.uniform(40, 120) / (reach * reach),
                turn_per_mm=side * rng.uniform(0.0005, 0.002),
            )
        case Family.HOVER:
            high = rng.uniform(14, 45)
            return replace(
                motion,
                surface_mm=motion.surface_mm + high,
                in_plane=_run(rng, motion.in_plane.peak, motion.in_plane.distance, slows=True, stops=True),
                fall=_run(rng, max(motion.fall.peak, 300.0), motion.fall.distance, slows=True, stops=True),
                slide_share=0.0,
                bounce_mm=0.0,
                cocked_mm=0.0,
                poised_s=0.0,
                lag_s=0.0,
                stays_s=float(rng.uniform(0.1, 0.5)),
            )
        case Family.BRUSH:
            return replace(
                motion,
                strike=Strike.SIDEWAYS,
                surface_mm=motion.surface_mm + rng.uniform(8, 30),
                towards_rad=motion.heading_rad + rng.choice([-1, 1]) * rng.uniform(0.5, 1.5),
                in_plane=Run(float(rng.uniform(140, 260)), float(rng.uniform(900, 2500)), 0.0, 0.05),
                fall=_run(rng, 300.0, motion.fall.distance, slows=True, stops=True),
                past_mm=float(rng.uniform(120, 240)),
                slide_share=0.0,
                bounce_mm=0.0,
                cocked_mm=0.0,
                poised_s=0.0,
                lag_s=0.0,
                stays_s=float(rng.uniform(0.25, 0.4)),
            )
        case Family.DOUBLE_TAP:
            return replace(
                motion,
                bounce_mm=0.0,
                tap_mm=float(rng.uniform(12, 35)),
                tap_after_s=float(rng.uniform(0.04, 0.10)),
                tap_s=float(rng.uniform(0.09, 0.18)),
            )
        case Family.SWING:
            if motion.strike is Strike.FLICK:
                return motion
            radius = motion.look.length_mm + motion.look.forearm_mm * float(rng.uniform(0.7, 1.0))
            return replace(
                motion,
                swing_radius_mm=radius,
                towards_rad=motion.heading_rad + rng.choice([-1, 1]) * math.pi / 2,
            )
        case Family.FEINT:
            if motion.strike is Strike.FLICK:
                return motion
            waits = float(rng.uniform(0.12, 0.35))
            return replace(
                motion,
                strike=Strike.DOWN,
                in_plane=_run(rng, 1200.0, motion.in_plane.distance, slows=True, stops=True),
                fall=_run(rng, max(motion.fall.final, 700.0), rng.uniform(45, 70), slows=False),
                poised_s=waits,
                feint_mm=float(rng.uniform(20, 60)),
                slide_share=0.0,
                lag_s=0.0,
            )
        case Family.READY:
            return replace(
                motion,
                strike=Strike.DOWN,
                in_plane=_run(rng, 900.0, motion.in_plane.distance, slows=True, stops=True),
                fall=_run(rng, 1000 * rng.uniform(0.8, 2.2), rng.uniform(35, 80), slows=False),
                tilt_mm=float(rng.normal(6, 10)),
                cocked_mm=0.0,
                poised_s=float(rng.uniform(0.15, 0.8)),
                slide_share=0.0,
                lag_s=0.0,
            )
    return motion
