"""Pictures of a script: a still table is painted once, and only what moves is painted again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from referee.cards import Pile
from vision.films.arm_looks import HAND_MM
from vision.films.arm_relief import skeleton
from vision.films.arms import ArmLook, ArmPlaces, Light, ReadOut, paint_arm, projection_of
from vision.films.arms import Pose as ArmPose
from vision.films.artwork import CARD_MM, DeckArt
from vision.films.camera import Camera
from vision.films.ground import Ground
from vision.films.kinematics import Motion
from vision.films.quick_arms import QuickArm, paint_shadows
from vision.films.script import CARD_THICKNESS_MM, CardMove, HandTrack, Lying, Pose, Script
from vision.films.sprites import CardSprites, Quad, card_corners
from vision.films.wear import Wear

Picture = NDArray[np.uint8]
Rect = tuple[int, int, int, int]
"""x0, y0, x1, y1 in pixels of the picture, the last two exclusive."""

MAX_SUBSTEPS = 6
"""Steps over one exposure: 6 steps of a hand at 4 m/s and 1/60 s are 12 px apart, which a fast eye forgives."""
PX_A_SUBSTEP = 3.0
"""What moves less than this during the exposure needs no step more."""
QUADS_KEPT = 4096
"""Corners of lying cards kept: a pile is painted again each time that something beside it changes."""
SHADOW_STEPS = 3
"""A shadow is soft: so many steps over one exposure are enough for it."""
HEADING_STEP = 0.3
"""Arms are lit anew for every so many radians they turn: a finer step shows no difference."""


@dataclass(frozen=True, slots=True)
class Place:
    """An arm's posture at one moment, from the key frames of its track."""

    tip_mm: tuple[float, float]
    heading: float
    tip_height_mm: float
    wrist_height_mm: float
    elbow_height_mm: float
    pose: str


def posture(track: HandTrack, look: ArmLook, at_s: float) -> Place | None:
    """Where a track's arm is: the forearm comes from a point beyond the edge that follows the hand a little.

    The track says where the part that touches is; a bent finger ends short of the hand's full length.
    """
    hand = track.at(at_s)
    if hand is None:
        return None
    root, inward = track.root_mm, track.inward
    aside = (hand.x_mm - root[0]) * -inward[1] + (hand.y_mm - root[1]) * inward[0]
    elbow = (root[0] - inward[1] * 0.35 * aside, root[1] + inward[0] * 0.35 * aside)
    heading = math.atan2(hand.y_mm - elbow[1], hand.x_mm - elbow[0])
    first, second = touching(look, hand.before), touching(look, hand.after)
    ahead = first[0] + hand.share * (second[0] - first[0])
    aside = first[1] + hand.share * (second[1] - first[1])
    c, s = math.cos(heading), math.sin(heading)
    lows = [_WRIST_MM.get(pose, 34.0) for pose in (hand.before, hand.after)]
    wrist = lows[0] + hand.share * (lows[1] - lows[0])
    return Place(
        (hand.x_mm + ahead * c - aside * s, hand.y_mm + ahead * s + aside * c),
        heading,
        hand.height_mm,
        hand.height_mm + wrist,
        80.0 + 0.4 * hand.height_mm,
        hand.pose,
    )


def _postures(places: ArmPlaces) -> list[Place]:
    """The same places one by one."""
    rows = zip(
        places.tip_x_mm,
        places.tip_y_mm,
        places.heading_rad,
        places.tip_height_mm,
        places.wrist_height_mm,
        places.elbow_height_mm,
        strict=True,
    )
    return [
        Place((float(x), float(y)), float(heading), float(tip), float(wrist), float(elbow), "flat")
        for x, y, heading, tip, wrist, elbow in rows
    ]


def _arm_places(places: Sequence[Place]) -> ArmPlaces:
    """Places one by one as parallel arrays (n,)."""
    return ArmPlaces.of(
        ([p.tip_mm[0] for p in places], [p.tip_mm[1] for p in places]),
        [p.heading for p in places],
        [p.tip_height_mm for p in places],
        [p.wrist_height_mm for p in places],
        [p.elbow_height_mm for p in places],
    )


_WRIST_MM = {"flat": 8.0, "reaching": 30.0, "pinch": 30.0, "rest": 14.0}
"""How much higher than the fingertips the wrist is held."""


@lru_cache(maxsize=256)
def touching(look: ArmLook, pose: str) -> tuple[float, float]:
    """From what touches in that pose to where the outstretched middle finger would end: (ahead, aside) mm."""
    digits, _ = skeleton(look, ArmPose(pose))
    if pose in ("flat", "reaching"):
        u, v = max((digit.tip.end[0] + digit.tip.end_radius, 0.0) for digit in digits)
    else:
        tip = digits[0].tip.end
        u, v = tip[0], tip[1]
    side = -1.0 if look.left else 1.0
    return HAND_MM * look.size - u * look.size, -v * look.size * side


@dataclass(frozen=True, slots=True, eq=False)
class _Carried:
    """A card of a carried block over the k steps of an exposure."""

    card: str
    face_up: tuple[bool, ...]
    """Whether its face is seen, at each step."""
    quads: NDArray[np.float64]
    """(k, 4, 2) px: its corners."""
    shadows: NDArray[np.float64]
    """(k, 4, 2) px: where their shadows fall on the table."""


@dataclass(slots=True)
class _Thing:
    """A move or a hand in this frame: what it may touch, how it stands, and over how many steps it is smeared."""

    rect: Rect
    state: tuple[object, ...]
    height_mm: float
    substeps: int
    move: CardMove | None = None
    hand: HandTrack | None = None
    strike: Motion | None = None


class Renderer:
    """Paints the script's picture at any moment, moments in rising order."""

    def __init__(
        self,
        script: Script,
        cameras: Sequence[tuple[float, Camera]],
        deck: DeckArt,
        ground: Ground,
        *,
        lamp: Light | None = None,
        exposure_s: float = 1 / 120,
        read_out_s: float = 0.0,
        read_out: ReadOut | None = None,
        wear: Wear | None = None,
        loose: Sequence[Lying] = (),
    ) -> None:
        """`cameras`: from when on the table is seen by which; `read_out_s`: a rolling shutter's, over the picture.

        `wear`: of cards that are no longer new; `loose`: cards that nobody plays with, on no pile.
        """
        self.script = script
        self.cameras = list(cameras)
        self.lamp = lamp or Light()
        self.ground = ground
        self.gain = ground.gain
        self.exposure_s = exposure_s
        self.read_out_s, self._read_out = read_out_s, read_out
        width, height = script.table_mm
        first = replace(self.cameras[0][1], k1=0.0, k2=0.0)
        scale = 1.15 * max(first.px_per_mm((width / 2, y), 10.0) for y in (0.0, height / 2, height))
        self.sprites = CardSprites(deck, scale, wear)
        self.loose = tuple(loose)
        self._corners = card_corners()
        self._arm_scale = round(scale, 2)
        self._arms: dict[tuple[ArmLook, str, int], QuickArm] = {}
        self._stacks: dict[Pile, tuple[Lying, ...]] = {}
        self._quads: dict[tuple[Lying, float], Quad] = {}
        self._next_change = 0
        self.changed: list[Rect] = []
        self.look_from(self.cameras[0][1])

    # --- the still table --------------------------------------------------------------------------

    def look_from(self, camera: Camera) -> None:
        """See everything from there from now on."""
        self.lens = camera
        self.camera = replace(camera, k1=0.0, k2=0.0)
        self._projection = projection_of(self.camera)
        self.base, self._glare = self.ground.seen_by(self.camera)
        self._quads.clear()
        for card in self.loose:
            self._paint_stack(self.base, (0, 0), (card,))
        self.static = self.base.copy()
        for stack in self._stacks.values():
            self._paint_stack(self.static, (0, 0), stack)
        self._shown = self.static.copy()
        self._groups: dict[Rect, tuple[object, ...]] = {}
        self._stale: list[Rect] = []

    def camera_at(self, at_s: float) -> Camera:
        """The camera as it stands at that moment: it may have been knocked."""
        for start_s, camera in reversed(self.cameras):
            if at_s >= start_s:
                return camera
        return self.cameras[0][1]

    def _gain_at(self, x: float, y: float) -> float:
        height, width = self.gain.shape
        return float(self.gain[min(max(int(y), 0), height - 1), min(max(int(x), 0), width - 1)])

    def corners_mm(self, card: Lying) -> Quad:
        """(4, 2) mm: the corners of a lying card, from its own top left clockwise."""
        c, s = math.cos(card.turn), math.sin(card.turn)
        turned = self._corners @ np.array([[c, s], [-s, c]]) + (card.x_mm, card.y_mm)
        return np.asarray(turned, np.float64)

    def card_quad(self, card: Lying, height_mm: float) -> Quad:
        """(4, 2) px: where those corners are seen by a lens without distortion."""
        quad = self._quads.get((card, height_mm))
        if quad is None:
            if len(self._quads) >= QUADS_KEPT:
                self._quads.clear()
            quad = self._quads[card, height_mm] = self.camera.project(self.corners_mm(card), height_mm)
        return quad

    def _paint_stack(
        self, canvas: Picture, origin: tuple[int, int], stack: Sequence[Lying], lift_mm: float = 0.0
    ) -> None:
        for i, card in enumerate(stack):
            quad = self.card_quad(card, lift_mm + (i + 1) * CARD_THICKNESS_MM)
            centre = quad.mean(axis=0)
            side = self.sprites.key(card.card, face_up=card.face_up)
            self.sprites.draw(canvas, origin, side, quad, self._gain_at(*centre), self._glare)

    def _stack_rect(self, stack: Sequence[Lying]) -> Rect | None:
        if not stack:
            return None
        quads = [self.card_quad(stack[0], 0.3), self.card_quad(stack[-1], len(stack) * CARD_THICKNESS_MM)]
        quads += [self.card_quad(card, 4.0) for card in stack[1:-1]]
        return self._clip(np.concatenate(quads), 10)

    def _clip(self, points: Quad, margin: float) -> Rect | None:
        width, height = self.camera.size_px
        low, high = np.floor(points.min(axis=0) - margin), np.ceil(points.max(axis=0) + margin)
        x0, y0 = max(0, int(low[0])), max(0, int(low[1]))
        x1, y1 = min(width, int(high[0]) + 1), min(height, int(high[1]) + 1)
        return (x0, y0, x1, y1) if x1 > x0 and y1 > y0 else None

    def _settle(self, at_s: float) -> None:
        """Bring the still table up to date with the piles' changes."""
        changes = self.script.piles
        while self._next_change < len(changes) and changes[self._next_change].at_s <= at_s:
            change = changes[self._next_change]
            self._next_change += 1
            rects = [self._stack_rect(self._stacks.get(change.pile, ())), self._stack_rect(change.stack)]
            self._stacks[change.pile] = change.stack
            for rect in rects:
                if rect is not None:
                    self._repaint(rect)

    def _repaint(self, rect: Rect) -> None:
        x0, y0, x1, y1 = rect
        canvas = self.static[y0:y1, x0:x1]
        canvas[...] = self.base[y0:y1, x0:x1]
        for stack in self._stacks.values():
            around = self._stack_rect(stack)
            if around is not None and _touch(around, rect):
                self._paint_stack(canvas, (x0, y0), stack)
        self._stale.append(rect)

    # --- what moves -------------------------------------------------------------------------------

    def _block(self, move: CardMove, poses: Sequence[Pose]) -> list[_Carried]:
        """Each card of a carried block at those poses, lowest first as it is seen at the middle one."""
        axis = 0 if move.long_axis else 1
        away = np.array([move.end.x_mm - move.start.x_mm, move.end.y_mm - move.start.y_mm])
        half = CARD_MM[axis] / 2
        count = len(move.stack)
        c0, s0 = math.cos(-move.start.turn), math.sin(-move.start.turn)
        back = np.array([[c0, s0], [-s0, c0]])
        # The middle of a thick block is hidden.
        shown = [i for i in range(count) if count <= 8 or i < 3 or i >= count - 3]
        flat = np.empty((len(shown), 4, 2))
        for k, i in enumerate(shown):
            card = move.stack[i]
            cc, ss = math.cos(card.turn), math.sin(card.turn)
            flat[k] = self._corners @ np.array([[cc, ss], [-ss, cc]]) + np.array([card.x_mm, card.y_mm]) @ back
        through = ((np.array(shown) + 1 - count / 2) * CARD_THICKNESS_MM)[:, None]
        ground, heights = [], []
        for pose in poses:
            c, s = math.cos(pose.turn), math.sin(pose.turn)
            turn = np.array([[c, s], [-s, c]])
            forward = 1.0 if (away @ turn.T)[axis] >= 0 else -1.0
            cos, sin = math.cos(pose.over), math.sin(pose.over)
            high = pose.height_mm + half * abs(sin) + count * CARD_THICKNESS_MM / 2
            heights.append(high - forward * sin * flat[:, :, axis] + cos * through)
            local = flat.copy()
            local[:, :, axis] = flat[:, :, axis] * cos + forward * sin * through
            ground.append(local @ turn + (pose.x_mm, pose.y_mm))
        on_table, above = np.array(ground), np.array(heights)
        shape = (len(poses), len(shown), 4, 2)
        quads = self.camera.project(on_table, above.ravel()).reshape(shape)
        cast = on_table + above[..., None] * np.array(self.lamp.shift_per_mm)
        shadows = self.camera.project(cast, 0.0).reshape(shape)
        beyond = [pose.over > math.pi / 2 for pose in poses]
        # Seen from its other side, left and right change places.
        quads[beyond], shadows[beyond] = quads[beyond][:, :, [1, 0, 3, 2]], shadows[beyond][:, :, [1, 0, 3, 2]]
        carried = [
            _Carried(card.card, tuple(card.face_up != over for over in beyond), quads[:, k], shadows[:, k])
            for k, card in enumerate(move.stack[i] for i in shown)
        ]
        return carried[::-1] if beyond[len(beyond) // 2] else carried

    def _move_rect(self, move: CardMove, poses: Sequence[Pose]) -> Rect | None:
        points: list[Quad] = []
        for card in self._block(move, poses):
            points += [card.quads.reshape(-1, 2), card.shadows.reshape(-1, 2)]
        if move.under is not None:
            points += [self.card_quad(card, 12.0) for card in self._stacks.get(move.under, ())]
        return self._clip(np.concatenate(points), 18) if points else None

    def _paint_move(self, canvas: Picture, origin: tuple[int, int], thing: _Thing, at_s: float) -> None:
        """A carried block, smeared over the steps of the exposure: its shadow first, then each card."""
        move = thing.move
        if move is None:
            return
        moments = self._moments(at_s, thing.substeps)
        poses = [move.pose(moment) for moment in moments]
        cards = self._block(move, poses)
        middle = poses[len(poses) // 2]
        blur = self.lamp.breadth * (middle.height_mm + 12) * self.sprites.px_per_mm * 0.6
        few = np.unique(np.linspace(0, len(poses) - 1, SHADOW_STEPS).round().astype(int))
        shadows = [shadow for shadow in cards[-1].shadows[few] if _area(shadow) > 20]
        if shadows:
            strength = 0.7 * (1 - self.lamp.ambient) * len(shadows) / len(few)
            self.sprites.cast(canvas, origin, shadows, strength, blur)
        shade = 0.78 + 0.22 * abs(math.cos(middle.over))
        for card in cards:
            steps = [
                (self.sprites.key(card.card, face_up=up), quad)
                for up, quad in zip(card.face_up, card.quads, strict=True)
                if _area(quad) > 6
            ]
            if steps:
                gain = self._gain_at(*card.quads[len(poses) // 2].mean(axis=0)) * shade
                self.sprites.smear(canvas, origin, steps, len(poses), gain, self._glare)
        if move.under is not None:
            lift = 10.0 * math.sin(math.pi * min(1.0, (at_s - move.start_s) / (move.end_s - move.start_s)))
            self._paint_stack(canvas, origin, self._stacks.get(move.under, ()), lift_mm=lift)

    def _things(self, at_s: float) -> list[_Thing]:
        half = self.exposure_s / 2
        times = (at_s - half, at_s, at_s + half)
        things: list[_Thing] = []
        for move in self.script.moves:
            if move.start_s > times[-1]:
                break
            if move.end_s <= at_s or move.start_s > at_s:
                continue
            poses = [move.pose(moment) for moment in times]
            rect = self._move_rect(move, poses)
            if rect:
                a, b = poses[0], poses[-1]
                span = math.dist((a.x_mm, a.y_mm, a.height_mm), (b.x_mm, b.y_mm, b.height_mm))
                span += 30 * abs(a.over - b.over)
                moved: tuple[object, ...] = (id(move), poses[1])
                things.append(_Thing(rect, moved, b.height_mm, self._substeps(span), move=move))
        for track in self.script.hands:
            if track.is_away(times[0], times[-1]):
                continue
            look = self._look(track)
            places = [place for place in (posture(track, look, t) for t in times) if place is not None]
            middle = posture(track, look, at_s)
            if middle is None:
                continue
            rect = self._arm_rect(places)
            if rect is None:
                continue
            first, last = places[0], places[-1]
            span = math.dist((*first.tip_mm, first.tip_height_mm), (*last.tip_mm, last.tip_height_mm))
            state: tuple[object, ...] = (track.seat, track.right, first, middle, last)
            things.append(_Thing(rect, state, middle.tip_height_mm, self._substeps(span), hand=track))
        for motion in self.script.strikes:
            if motion.starts_s > times[-1]:
                break
            if motion.ends_s > times[0]:
                things += self._strike_things(motion, at_s, times)
        return things

    def _strike_things(self, motion: Motion, at_s: float, times: Sequence[float]) -> list[_Thing]:
        places = motion.places(np.array(times))
        rect = self._arm_rect(_postures(places))
        if rect is None:
            return []
        corners = np.column_stack([places.tip_x_mm, places.tip_y_mm, places.tip_height_mm])
        wrists = np.abs(np.diff(places.wrist_height_mm)).sum()
        span = float(np.linalg.norm(corners[2] - corners[0])) + float(wrists)
        still = motion.still(times[0], times[-1])
        state: tuple[object, ...] = (id(motion), None if still else at_s)
        height = float(places.tip_height_mm[1])
        return [_Thing(rect, state, height, self._substeps(span), strike=motion)]

    def _substeps(self, span_mm: float) -> int:
        return max(1, min(MAX_SUBSTEPS, math.ceil(span_mm * self.sprites.px_per_mm / PX_A_SUBSTEP)))

    def _moments(self, at_s: float, substeps: int) -> list[float]:
        return [at_s + self.exposure_s * ((step + 0.5) / substeps - 0.5) for step in range(substeps)]

    def _arm_rect(self, places: Sequence[Place]) -> Rect | None:
        """What an arm of those postures and its shadow may touch."""
        lean = self.lamp.shift_per_mm
        points, heights = [], []
        for place in places:
            c, s = math.cos(place.heading), math.sin(place.heading)
            for along, aside, height in (
                (25, 0, place.tip_height_mm + 30),
                (-20, 75, place.tip_height_mm + 30),
                (-20, -75, place.tip_height_mm + 30),
                (-150, 95, place.wrist_height_mm + 30),
                (-150, -95, place.wrist_height_mm + 30),
                (-720, 90, place.elbow_height_mm + 60),
                (-720, -90, place.elbow_height_mm + 60),
            ):
                x = place.tip_mm[0] + along * c - aside * s
                y = place.tip_mm[1] + along * s + aside * c
                points += [(x, y), (x + lean[0] * height, y + lean[1] * height)]
                heights += [height, 0.0]
        return self._clip(self.camera.project(points, heights), 6)

    def _look(self, track: HandTrack) -> ArmLook:
        look = self.script.looks[track.seat]
        return look if look.left != track.right else replace(look, left=not track.right)

    def _sprite(self, look: ArmLook, pose: str, heading: float) -> QuickArm:
        bucket = round(heading / HEADING_STEP)
        key = (look, pose, bucket)
        sprite = self._arms.get(key)
        if sprite is None:
            sprite = QuickArm.draw(look, ArmPose(pose), self._arm_scale, self.lamp, bucket * HEADING_STEP)
            self._arms[key] = sprite
        return sprite

    def _arm(self, thing: _Thing, at_s: float) -> tuple[QuickArm, ArmPlaces] | None:
        """The arm's picture and where it is at each step of the exposure."""
        if thing.strike is not None:
            visit = thing.strike.places(np.array(self._moments(at_s, thing.substeps)))
            heading = float(visit.heading_rad[len(visit.heading_rad) // 2])
            return self._sprite(thing.strike.look, "flat", heading), visit
        if thing.hand is None:
            return None
        look = self._look(thing.hand)
        found = [posture(thing.hand, look, moment) for moment in self._moments(at_s, thing.substeps)]
        places = [place for place in found if place is not None]
        if not places:
            return None
        middle = places[len(places) // 2]
        arms = _arm_places(places)
        return self._sprite(look, middle.pose, middle.heading), arms

    def _paint_group(self, group: _Group, canvas: Picture, at_s: float) -> None:
        origin = group.rect[:2]
        shift = np.array([[1.0, 0, -origin[0]], [0, 1.0, -origin[1]], [0, 0, 1.0]])
        projection = shift @ self._projection
        arms = [(thing.height_mm, arm) for thing in group.things if (arm := self._arm(thing, at_s)) is not None]
        if arms:
            paint_shadows(canvas, [arm for _, arm in arms], projection, self.lamp)
        moves = [thing for thing in group.things if thing.move is not None]
        for thing in sorted(moves, key=lambda thing: thing.height_mm):
            self._paint_move(canvas, origin, thing, at_s)
        for _, (quick, places) in sorted(arms, key=lambda each: each[0]):
            if self._read_out is None:
                quick.paint(canvas, places, projection)
        if self._read_out is not None:
            for thing in sorted(group.things, key=lambda thing: thing.height_mm):
                self._paint_rolling(thing, at_s)

    def _paint_rolling(self, thing: _Thing, at_s: float) -> None:
        """An arm whose every line is seen at its own moment, onto the whole picture."""
        if self._read_out is None or thing.move is not None:
            return
        delays = self._read_out.delays(self.camera.size_px) * self.read_out_s
        moments = np.add.outer(self._moments(at_s, thing.substeps), delays)
        if thing.strike is not None:
            places, look, pose = thing.strike.places(moments), thing.strike.look, "flat"
        elif thing.hand is not None and (found := self._track_places(thing.hand, moments)) is not None:
            places, look, pose = found
        else:
            return
        sprite = self._sprite(look, pose, float(places.heading_rad.mean())).sprite
        paint_arm(self._shown, sprite, places, self._projection, self._read_out)

    def _track_places(self, track: HandTrack, moments: NDArray[np.float64]) -> tuple[ArmPlaces, ArmLook, str] | None:
        look = self._look(track)
        found = [posture(track, look, float(moment)) for moment in moments.ravel()]
        known = [place for place in found if place is not None]
        if not known:
            return None
        filled = [place or known[0] for place in found]
        return _arm_places(filled).reshape(*moments.shape), look, known[len(known) // 2].pose

    def frame(self, at_s: float) -> Picture:
        """(height, width, 3) uint8 BGR: the picture whose exposure is centred on `at_s`; valid until the next."""
        camera = self.camera_at(at_s)
        if camera != self.lens:
            self.look_from(camera)
        self._settle(at_s)
        groups = _grouped(self._things(at_s))
        kept = []
        for group in groups:
            before = self._groups.get(group.rect)
            same = before is not None and before == group.state
            if same and not any(_touch(rect, group.rect) for rect in self._stale):
                kept.append(group.rect)
        stale = self._stale + [rect for rect in self._groups if rect not in kept]
        self.changed = stale + [group.rect for group in groups if group.rect not in kept]
        # A kept group may be brushed by what is restored beside it: then it is painted anew after all.
        kept = [rect for rect in kept if not any(_touch(rect, other) for other in self.changed)]
        for x0, y0, x1, y1 in self._stale + [rect for rect in self._groups if rect not in kept]:
            self._shown[y0:y1, x0:x1] = self.static[y0:y1, x0:x1]
        for group in groups:
            if group.rect not in kept:
                x0, y0, x1, y1 = group.rect
                self._paint_group(group, self._shown[y0:y1, x0:x1], at_s)
        self._stale = []
        self._groups = {group.rect: group.state for group in groups}
        return self._shown

    # --- what is where, for labels ------------------------------------------------------------------

    def cards_seen(self, at_s: float) -> list[tuple[str, bool, Quad, bool]]:
        """(name, face up, (4, 2) px quad without lens distortion, carried) of every top card.

        For the moment of the frame painted last. A carried card that stands nearly on edge is left out.
        """
        seen = [
            (stack[-1].card, stack[-1].face_up, self.card_quad(stack[-1], len(stack) * CARD_THICKNESS_MM), False)
            for pile, stack in self._stacks.items()
            if stack and pile.kind != "spot"
        ]
        seen += [(card.card, card.face_up, self.card_quad(card, CARD_THICKNESS_MM), False) for card in self.loose]
        for thing in self._things(at_s):
            if thing.move is None or thing.move.under is not None:
                continue
            pose = thing.move.pose(at_s)
            if abs(math.cos(pose.over)) < 0.6:
                continue
            top = self._block(thing.move, [pose])[-1]
            seen.append((top.card, top.face_up[0], top.quads[0], True))
        return seen

    def arm_masks(self, at_s: float) -> list[tuple[int, Picture, Picture]]:
        """(seat, whole arm, hand alone) of every arm in the picture, (h, w) uint8 coverage, lens left out."""
        width, height = self.camera.size_px
        masks = []
        for thing in self._things(at_s):
            arm = self._arm(thing, at_s)
            if arm is None:
                continue
            quick, places = arm
            seat = thing.strike.seat if thing.strike is not None else thing.hand.seat if thing.hand else 0
            whole, hand = quick.coverage((width, height), places, self._projection)
            masks.append((seat, whole, hand))
        return masks


def _area(quad: Quad) -> float:
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = quad.tolist()
    return 0.5 * abs(float((cx - ax) * (dy - by) - (cy - ay) * (dx - bx)))


def _touch(a: Rect, b: Rect) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _hull(rects: Sequence[Rect]) -> Rect:
    return (
        min(rect[0] for rect in rects),
        min(rect[1] for rect in rects),
        max(rect[2] for rect in rects),
        max(rect[3] for rect in rects),
    )


@dataclass(slots=True)
class _Group:
    """Things whose rectangles touch, painted together."""

    rect: Rect
    things: list[_Thing]

    @property
    def state(self) -> tuple[object, ...]:
        """Equal in two frames if nothing in the group has moved."""
        return tuple(thing.state for thing in self.things)


def _grouped(things: Sequence[_Thing]) -> list[_Group]:
    """Put together what touches, until nothing does."""
    groups = [_Group(thing.rect, [thing]) for thing in things]
    i = 0
    while i < len(groups):
        for j in range(i + 1, len(groups)):
            if _touch(groups[i].rect, groups[j].rect):
                other = groups.pop(j)
                groups[i] = _Group(_hull((groups[i].rect, other.rect)), groups[i].things + other.things)
                i = -1
                break
        i += 1
    return groups
