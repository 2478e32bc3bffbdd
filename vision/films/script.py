"""A film's script: what lies where, what moves when, whose hands do it, and what is heard, all in seconds."""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from referee.cards import Pile, Seat
from referee.events import Event
from vision.films.arm_looks import ArmLook
from vision.films.kinematics import Motion

CARD_THICKNESS_MM = 0.3


@dataclass(frozen=True, slots=True)
class Lying:
    """A card at rest: its middle and turn (radians, clockwise) in table millimetres, and which side is up."""

    card: str
    face_up: bool
    x_mm: float
    y_mm: float
    turn: float


@dataclass(frozen=True, slots=True)
class PileChange:
    """From `at_s` on the pile holds `stack`, lowest card first."""

    at_s: float
    pile: Pile
    stack: tuple[Lying, ...]


@dataclass(frozen=True, slots=True)
class Pose:
    """Where a carried block of cards is: middle, height of its underside, turn, and how far turned over (0..pi)."""

    x_mm: float
    y_mm: float
    height_mm: float
    turn: float
    over: float = 0.0


@dataclass(frozen=True, slots=True)
class CardMove:
    """A block of cards carried from one pose to another, perhaps turned over on the way.

    `stack` lies as at the start, lowest first, its poses relative to the block's own middle.
    `long_axis`: it turns over about the cards' long side, else about the short one.
    `under`: it slides below this pile, which is lifted meanwhile.
    """

    start_s: float
    end_s: float
    stack: tuple[Lying, ...]
    start: Pose
    end: Pose
    lift_mm: float = 35.0
    long_axis: bool = True
    under: Pile | None = None

    def pose(self, at_s: float) -> Pose:
        """Where the block is at a moment within the move."""
        share = smooth((at_s - self.start_s) / max(self.end_s - self.start_s, 1e-9))
        a, b = self.start, self.end
        hump = math.sin(math.pi * share)
        return Pose(
            a.x_mm + share * (b.x_mm - a.x_mm),
            a.y_mm + share * (b.y_mm - a.y_mm),
            a.height_mm + share * (b.height_mm - a.height_mm) + self.lift_mm * hump,
            a.turn + share * (b.turn - a.turn),
            a.over + smooth((share - 0.1) / 0.8) * (b.over - a.over),
        )


@dataclass(frozen=True, slots=True)
class HandKey:
    """A hand at rest at a moment: where what touches is, its height, and the pose the hand holds."""

    at_s: float
    x_mm: float
    y_mm: float
    height_mm: float
    pose: str


@dataclass(frozen=True, slots=True)
class HandAt:
    """A hand as it is at one moment, between its keys."""

    x_mm: float
    y_mm: float
    height_mm: float
    before: str
    after: str
    share: float
    """How far on the way from the pose `before` to the pose `after`."""

    @property
    def pose(self) -> str:
        """The nearer of the two poses; a hand opens early on its way."""
        return self.before if self.share < 0.4 else self.after


@dataclass(frozen=True, slots=True, eq=False)
class HandTrack:
    """All that one hand does: keys in order of time. Outside them the hand is off the table."""

    seat: Seat
    right: bool
    root_mm: tuple[float, float]
    """Where the arm comes from: the elbow, beyond the table's edge."""
    inward: tuple[float, float]
    """The seat's direction to the table's middle, of length 1."""
    keys: tuple[HandKey, ...]
    times: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Keep the keys' times for searching."""
        object.__setattr__(self, "times", tuple(key.at_s for key in self.keys))

    def at(self, at_s: float) -> HandAt | None:
        """The hand at a moment, None while it is away."""
        i = bisect.bisect_right(self.times, at_s) - 1
        if i < 0 or i + 1 >= len(self.keys):
            return None
        a, b = self.keys[i], self.keys[i + 1]
        if a.pose == b.pose == "away":
            return None
        x, y, height = self._between(a, b, at_s)
        share = smooth((at_s - a.at_s) / max(b.at_s - a.at_s, 1e-9))
        return HandAt(x, y, height, _POSES.get(a.pose, a.pose), _POSES.get(b.pose, b.pose), share)

    @staticmethod
    def _between(a: HandKey, b: HandKey, at_s: float) -> tuple[float, float, float]:
        duration = max(b.at_s - a.at_s, 1e-9)
        u = (at_s - a.at_s) / duration
        distance_mm = math.dist((a.x_mm, a.y_mm, a.height_mm), (b.x_mm, b.y_mm, b.height_mm))
        share = smooth(u)
        hop = min(30.0, 0.1 * distance_mm) * math.sin(math.pi * share)
        return (
            a.x_mm + share * (b.x_mm - a.x_mm),
            a.y_mm + share * (b.y_mm - a.y_mm),
            a.height_mm + share * (b.height_mm - a.height_mm) + hop,
        )

    def is_away(self, start_s: float, end_s: float) -> bool:
        """Whether the hand is off the table all through that span."""
        if not self.keys or end_s <= self.times[0] or start_s >= self.times[-1]:
            return True
        first = bisect.bisect_right(self.times, start_s) - 1
        last = min(bisect.bisect_left(self.times, end_s), len(self.keys) - 1)
        return first >= 0 and all(key.pose == "away" for key in self.keys[first : last + 1])


@dataclass(frozen=True, slots=True)
class Sound:
    """Something heard: what kind, how loud (1 = a good slap), and at which point of the table."""

    at_s: float
    kind: str
    gain: float
    x_mm: float
    words: str = ""
    """What is called, and from which seat."""
    seat: Seat = 0


@dataclass(frozen=True, slots=True)
class Contact:
    """A hand's first contact with a pile or with the hands there; `layer` counts hands from the pile up."""

    at_s: float
    seat: Seat
    pile: Pile
    layer: int
    strike: str
    family: str


@dataclass(frozen=True, slots=True, eq=False)
class Script:
    """Everything that a film shows, and what it means in the referee's words."""

    game: str
    players: tuple[str, ...]
    table_mm: tuple[float, float]
    duration_s: float
    piles: tuple[PileChange, ...]
    moves: tuple[CardMove, ...]
    hands: tuple[HandTrack, ...]
    strikes: tuple[Motion, ...]
    """Hands that come for a pile, touch it or not, and go: each a visit of its own, in closed form."""
    looks: Mapping[Seat, ArmLook]
    sounds: tuple[Sound, ...]
    contacts: tuple[Contact, ...]
    events: tuple[Event, ...]
    notes: Mapping[str, object] = field(default_factory=dict)


_POSES = {"away": "reaching"}
"""A hand that is away still has a shape: that of one on its way."""


def smooth(u: float) -> float:
    """Minimum-jerk from 0 to 1: how people move a hand from rest to rest."""
    if u <= 0:
        return 0.0
    if u >= 1:
        return 1.0
    return u * u * u * (10 + u * (6 * u - 15))
