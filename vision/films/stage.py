"""The stage: sets players' hands and cards in motion, one action after another, and writes it into a script."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from referee.cards import Pile, Seat
from referee.events import Event
from referee.game import Layout
from vision.films.arm_looks import ArmLook
from vision.films.artwork import CARD_MM
from vision.films.kinematics import HAND_THICK_MM, Family, Motion, Strike, visit
from vision.films.script import (
    CARD_THICKNESS_MM,
    CardMove,
    Contact,
    HandKey,
    HandTrack,
    Lying,
    PileChange,
    Pose,
    Script,
    Sound,
)

MOST_ASLANT_RAD = 0.2
"""How far a striking hand's direction may be off the straight way from its seat: more, and its arm would
come in over the neighbour's edge."""
OUT_OF_SIGHT_MM = (200.0, 120.0)
"""How far beyond the table's left and right, and its upper and lower edges nothing is seen: a 16:9 picture
of a 3:2 table shows 110 mm at the sides, and a hand's spread fingers reach 60 mm."""
ELBOW_MM = 430.0
"""Fingertips to elbow of an adult: 440 to 490 mm, less for a bent wrist."""


@dataclass(slots=True)
class Hand:
    """One hand's keys as they are written."""

    seat: Seat
    right: bool
    home: tuple[float, float]
    root: tuple[float, float]
    edge: tuple[float, float]
    busy_s: float = 0.0
    """Until then the hand is on a visit of its own (a strike)."""
    keys: list[HandKey] = field(default_factory=list)


class Stage:
    """Piles, hands and cards of one film; every action takes the time it starts and returns when it is done."""

    def __init__(
        self,
        game: str,
        players: Sequence[str],
        layout: Layout,
        table_mm: tuple[float, float],
        looks: Mapping[Seat, ArmLook],
        rng: np.random.Generator,
    ) -> None:
        """Lay out the seats and piles of `layout` on a table of `table_mm`; `looks` are the players' arms."""
        self.looks = looks
        self.game, self.players, self.table_mm, self.rng = game, tuple(players), table_mm, rng
        width, height = table_mm
        self.places = {place.pile: (place.x * width, place.y * height, place.angle) for place in layout.piles}
        self.stacks: dict[Pile, list[Lying]] = {pile: [] for pile in self.places}
        self.hands: dict[tuple[Seat, bool], Hand] = {}
        for seat in layout.seats:
            edge = np.array([seat.x * width, seat.y * height])
            inward = np.array([width / 2, height / 2]) - edge
            inward = inward / np.hypot(*inward)
            sideways = np.array([-inward[1], inward[0]])
            for right in (True, False):
                shoulder = edge + sideways * (95.0 if right else -95.0)
                away_mm = self._way_out(shoulder, -inward)
                home = shoulder - inward * away_mm
                root = shoulder - inward * (away_mm + ELBOW_MM)
                self.hands[seat.seat, right] = Hand(
                    seat.seat,
                    right,
                    (float(home[0]), float(home[1])),
                    (float(root[0]), float(root[1])),
                    (float(shoulder[0]), float(shoulder[1])),
                )
        self.changes: list[PileChange] = []
        self.moves: list[CardMove] = []
        self.sounds: list[Sound] = []
        self.strikes: list[Motion] = []
        self.contacts: list[Contact] = []
        self.events: list[Event] = []

    def _way_out(self, start: NDArray[np.float64], outward: NDArray[np.float64]) -> float:
        """How far outward a point is out of any picture of the whole table."""
        middle = np.array(self.table_mm) / 2
        reach = middle + OUT_OF_SIGHT_MM
        ways = [
            (math.copysign(float(reach[i]), float(outward[i])) - float(start[i] - middle[i])) / float(outward[i])
            for i in (0, 1)
            if abs(outward[i]) > 0.05
        ]
        return max(min(ways), 60.0)

    # --- piles ------------------------------------------------------------------------------------

    def add_place(self, pile: Pile, x_mm: float, y_mm: float, turn: float) -> None:
        """A place that the game does not name: a hand held off the table, a packet put down for a moment."""
        self.places[pile] = (x_mm, y_mm, turn)
        self.stacks.setdefault(pile, [])

    def put(self, pile: Pile, cards: Sequence[str], *, face_up: bool, at_s: float = 0.0) -> None:
        """Cards (their names) lie there from the start, the last one on top."""
        self.stacks[pile] = [self._lie(pile, card, face_up) for card in cards]
        self._note(pile, at_s)

    def top(self, pile: Pile) -> Lying | None:
        """The card on top."""
        return self.stacks[pile][-1] if self.stacks[pile] else None

    def height_mm(self, pile: Pile) -> float:
        """How high the pile is."""
        return len(self.stacks[pile]) * CARD_THICKNESS_MM

    def _lie(self, pile: Pile, card: str, face_up: bool, turn: float | None = None) -> Lying:
        """A card put down on a pile: never quite square to it, a face-up one thrown more loosely."""
        x, y, angle = self.places[pile]
        spread_mm, spread_turn = (2.2, 0.05) if face_up else (0.7, 0.012)
        return Lying(
            card,
            face_up,
            x + float(self.rng.normal(0, spread_mm)),
            y + float(self.rng.normal(0, spread_mm)),
            (angle if turn is None else turn) + float(self.rng.normal(0, spread_turn)),
        )

    def _note(self, pile: Pile, at_s: float) -> None:
        self.changes.append(PileChange(at_s, pile, tuple(self.stacks[pile])))

    # --- hands ------------------------------------------------------------------------------------

    def inward(self, seat: Seat, right: bool = True) -> tuple[float, float]:
        """The seat's direction to the table's middle, of length 1."""
        hand = self.hands[seat, right]
        dx, dy = hand.home[0] - hand.root[0], hand.home[1] - hand.root[1]
        length = math.hypot(dx, dy)
        return dx / length, dy / length

    def travel_s(self, seat: Seat, x: float, y: float, *, right: bool = True, brisk: float = 1.0) -> float:
        """How long the hand takes from where it is to a point: about 0.9 m/s on average, never under 0.22 s."""
        hand = self.hands[seat, right]
        here = hand.keys[-1] if hand.keys else HandKey(0, *hand.home, 60.0, "away")
        return max(0.22, math.dist((x, y), (here.x_mm, here.y_mm)) / 900.0) / brisk

    def reach(
        self,
        seat: Seat,
        at_s: float,
        x: float,
        y: float,
        height: float,
        pose: str,
        *,
        right: bool = True,
        duration_s: float | None = None,
    ) -> float:
        """The hand is there at `at_s` (later if it can't be); returns when it is."""
        hand = self.hands[seat, right]
        at_s = max(at_s, hand.busy_s + self.travel_s(seat, x, y, right=right))
        if hand.keys and hand.keys[-1].pose == "away" and hand.keys[-1].at_s > hand.busy_s:
            needed = duration_s or self.travel_s(seat, x, y, right=right)
            if hand.keys[-1].at_s > at_s - needed:
                hand.keys.pop()  # called back before it was gone
                if hand.keys and hand.keys[-1].at_s > at_s - 0.05:
                    at_s = hand.keys[-1].at_s + 0.05
        needed = duration_s or self.travel_s(seat, x, y, right=right)
        if not hand.keys or hand.keys[-1].pose == "away":
            at_s = max(at_s, (hand.keys[-1].at_s if hand.keys else 0.0) + needed)
            hand.keys.append(HandKey(at_s - needed, *hand.home, 70.0, "away"))
        else:
            last = hand.keys[-1]
            if last.at_s < at_s - needed:
                hand.keys.append(replace(last, at_s=at_s - needed))
            else:
                at_s = max(at_s, last.at_s + min(needed, 0.12))
        hand.keys.append(HandKey(at_s, x, y, height, pose))
        return at_s

    def stay(self, seat: Seat, until_s: float, *, right: bool = True) -> None:
        """The hand keeps still until then."""
        hand = self.hands[seat, right]
        if hand.keys and hand.keys[-1].at_s < until_s:
            hand.keys.append(replace(hand.keys[-1], at_s=until_s))

    def retire(self, seat: Seat, from_s: float, *, right: bool = True) -> None:
        """The hand goes away, off the table."""
        hand = self.hands[seat, right]
        self.stay(seat, from_s, right=right)
        if hand.keys and hand.keys[-1].pose != "away":
            last = hand.keys[-1]
            needed = self.travel_s(seat, *hand.home, right=right, brisk=0.9)
            hand.keys.append(HandKey(last.at_s + needed, *hand.home, 70.0, "away"))

    # --- actions ----------------------------------------------------------------------------------

    def carry(
        self,
        seat: Seat,
        source: Pile,
        target: Pile,
        start_s: float,
        *,
        count: int | None = 1,
        over: bool = False,
        under: bool = False,
        right: bool = True,
        pace: float = 1.0,
        away: bool = True,
    ) -> tuple[float, float]:
        """Take the top `count` cards (None: all) of a pile to another; returns (when lifted, when laid down).

        `over`: turned over on the way. `under`: put below the target's cards.
        """
        stack = self.stacks[source]
        count = len(stack) if count is None else count
        if not 1 <= count <= len(stack):
            raise ValueError(f"expected 1 to {len(stack)} cards to take from {source}, got {count}")
        block, rest = stack[-count:], stack[:-count]
        top = block[-1]
        grip = (CARD_MM[1] / 2 - 24.0) if count == 1 else 14.0
        inward = self.inward(seat, right)
        ground = len(rest) * CARD_THICKNESS_MM
        tip = (top.x_mm - inward[0] * grip, top.y_mm - inward[1] * grip)
        there = self.reach(
            seat, start_s, *tip, self.height_mm(source) + 4.0, "pinch", right=right,
            duration_s=self.travel_s(seat, *tip, right=right, brisk=pace),
        )  # fmt: skip
        lifted_s = there + 0.07 / pace
        self.stay(seat, lifted_s, right=right)
        goal_x, goal_y, goal_angle = self.places[target]
        goal_height = 0.0 if under else self.height_mm(target)
        distance = math.dist((top.x_mm, top.y_mm), (goal_x, goal_y))
        laid_s = lifted_s + max(0.34 if over else 0.26, distance / 800.0) / pace
        turn_by = _nearest_turn(goal_angle - top.turn)
        travel = math.atan2(goal_y - top.y_mm, goal_x - top.x_mm) - top.turn
        long_axis = abs(math.cos(travel)) >= abs(math.sin(travel)) if distance > 5 else True
        end_turn = top.turn + turn_by + float(self.rng.normal(0, 0.04 if over or top.face_up else 0.01))
        end = (
            goal_x + float(self.rng.normal(0, 1.5)),
            goal_y + float(self.rng.normal(0, 1.5)),
        )
        relative = tuple(
            Lying(card.card, card.face_up, card.x_mm - top.x_mm, card.y_mm - top.y_mm, card.turn - top.turn)
            for card in block
        )
        move = CardMove(
            lifted_s,
            laid_s,
            relative,
            Pose(top.x_mm, top.y_mm, ground, top.turn),
            Pose(*end, goal_height, end_turn, math.pi if over else 0.0),
            lift_mm=38.0 if over else 22.0,
            long_axis=long_axis,
            under=target if under and self.stacks[target] else None,
        )
        self.moves.append(move)
        self.stacks[source] = rest
        self._note(source, lifted_s)
        self._follow(seat, right, move, grip, inward)
        laid = [_laid(card, move) for card in (reversed(relative) if over else relative)]
        self.stacks[target] = laid + self.stacks[target] if under else self.stacks[target] + laid
        self._note(target, laid_s)
        self.sounds.append(Sound(laid_s, "card", 0.22 if count == 1 else 0.35, goal_x))
        self.stay(seat, laid_s + 0.05 / pace, right=right)
        if away:
            self.retire(seat, laid_s + 0.05 / pace, right=right)
        return lifted_s, laid_s

    def _follow(self, seat: Seat, right: bool, move: CardMove, grip: float, inward: tuple[float, float]) -> None:
        """The hand goes where the cards that it holds go."""
        hand = self.hands[seat, right]
        steps = max(3, round((move.end_s - move.start_s) / 0.05))
        for i in range(1, steps + 1):
            at_s = move.start_s + (move.end_s - move.start_s) * i / steps
            pose = move.pose(at_s)
            hand.keys.append(
                HandKey(
                    at_s,
                    pose.x_mm - inward[0] * grip,
                    pose.y_mm - inward[1] * grip,
                    pose.height_mm + 6.0 + 12.0 * math.sin(pose.over),
                    "pinch",
                )
            )

    def strike(
        self,
        seat: Seat,
        pile: Pile,
        contact_s: float,
        *,
        layer: int = 0,
        how: Strike = Strike.OBLIQUE,
        family: Family = Family.STRAIGHT,
        stays_s: float = 0.6,
    ) -> float | None:
        """A hand comes for a pile, first contact at `contact_s` (to the microsecond); returns when it lifts.

        It is the right hand if that is free, else the left; None: both are busy, and nothing comes.
        Families without contact only come near.
        """
        contact_s = round(contact_s, 6)
        edge = self.hands[seat, True].edge
        x, y, _ = self.places[pile]
        way = math.atan2(y - edge[1], x - edge[0])
        palm = (x + float(self.rng.normal(0, 16)), y + float(self.rng.normal(0, 16)))
        surface = self.height_mm(pile) + layer * HAND_THICK_MM
        look = self.looks[seat]
        motion = visit(self.rng, look, seat, way, palm, how, family, arrives_s=contact_s, surface_mm=surface)
        aim = way + max(-MOST_ASLANT_RAD, min(MOST_ASLANT_RAD, motion.heading_rad - way))
        reach = 0.58 * look.length_mm
        motion = replace(
            motion,
            heading_rad=aim,
            bend_rad=0.5 * motion.bend_rad,
            tip_mm=(
                motion.tip_mm[0] + reach * (math.cos(aim) - math.cos(motion.heading_rad)),
                motion.tip_mm[1] + reach * (math.sin(aim) - math.sin(motion.heading_rad)),
            ),
            stays_s=stays_s if motion.touches else motion.stays_s,
            away_mm=self._way_out(np.array(motion.tip_mm), -np.array([math.cos(way), math.sin(way)])),
            waits_s=0.0,
            poised_s=motion.poised_s if how is Strike.FLICK else 0.0,
        )
        right = self._away(seat, True, motion.starts_s) or not self._away(seat, False, motion.starts_s)
        hand = self.hands[seat, right]
        if not self._away(seat, right, motion.starts_s):
            return None
        hand.busy_s = motion.ends_s
        self.strikes.append(replace(motion, look=replace(look, left=not right)))
        if motion.touches:
            self.contacts.append(Contact(contact_s, seat, pile, layer, how.value, family.value))
            speed = math.hypot(motion.in_plane.final, motion.lands_at_mm_s) / 1000
            self.sounds.append(Sound(contact_s, "slap", 0.35 + 0.25 * speed, x))
        return motion.lifts_s

    def rest(self, seat: Seat, from_s: float, for_s: float, *, right: bool = False) -> None:
        """A hand is laid on the table's edge for a while, if it is free; it touches no pile."""
        if not self._away(seat, right, from_s):
            return
        hand, inward = self.hands[seat, right], self.inward(seat, right)
        deep = float(self.rng.uniform(30, 50))
        x, y = hand.edge[0] + inward[0] * deep, hand.edge[1] + inward[1] * deep
        there = self.reach(seat, from_s + 0.5, x, y, 0.0, "rest", right=right)
        self.retire(seat, there + for_s, right=right)

    def _away(self, seat: Seat, right: bool, at_s: float) -> bool:
        """Whether the hand is off the table from then on."""
        hand = self.hands[seat, right]
        if hand.busy_s > at_s:
            return False
        return not hand.keys or (hand.keys[-1].pose == "away" and hand.keys[-1].at_s <= at_s)

    def finish(self, duration_s: float) -> Script:
        """The script of all that was set in motion."""
        tracks = tuple(
            HandTrack(hand.seat, hand.right, hand.root, self.inward(hand.seat, hand.right), tuple(hand.keys))
            for hand in self.hands.values()
            if hand.keys
        )
        return Script(
            game=self.game,
            players=self.players,
            table_mm=self.table_mm,
            duration_s=duration_s,
            piles=tuple(sorted(self.changes, key=lambda change: change.at_s)),
            moves=tuple(sorted(self.moves, key=lambda move: move.start_s)),
            hands=tracks,
            strikes=tuple(sorted(self.strikes, key=lambda motion: motion.starts_s)),
            looks=self.looks,
            sounds=tuple(sorted(self.sounds, key=lambda sound: sound.at_s)),
            contacts=tuple(sorted(self.contacts, key=lambda contact: contact.at_s)),
            events=tuple(sorted(self.events, key=lambda event: event.at.at_ns)),
        )


def _nearest_turn(turn: float) -> float:
    """The same direction of a card (which looks alike upside down) within a quarter turn."""
    return (turn + math.pi / 2) % math.pi - math.pi / 2


def _laid(card: Lying, move: CardMove) -> Lying:
    """A card of a carried block as it comes to lie at the move's end."""
    end = move.end
    x, y, turn = card.x_mm, card.y_mm, card.turn
    c, s = math.cos(-move.start.turn), math.sin(-move.start.turn)
    x, y = c * x - s * y, s * x + c * y  # in the block's own frame
    if end.over > 0:
        if move.long_axis:
            x, turn = -x, -turn
        else:
            y, turn = -y, math.pi - turn
    c, s = math.cos(end.turn), math.sin(end.turn)
    return Lying(
        card.card,
        card.face_up != (end.over > 0),
        end.x_mm + c * x - s * y,
        end.y_mm + s * x + c * y,
        end.turn + turn,
    )
