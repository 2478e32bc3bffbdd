"""Cards between two hands: gathered from all over the table, shuffled, dealt anew; and a card that is peeked at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from referee.cards import Pile, Seat
from vision.films.artwork import CARD_MM
from vision.films.script import CardMove, Lying, PileChange, Pose, Sound
from vision.films.stage import Stage

DEALT_A_SECOND = 4.0
"""Cards that a brisk dealer throws in a second."""
_SLIDES_MM_S = 1300.0
_SWEEP_PACE = 2.4
"""Cards swept together are picked up so much more briskly than one that is played."""
_ASIDE = Pile("half")
_TIP_MM = CARD_MM[1] / 2 - 24.0


def gathered(stage: Stage, seat: Seat, piles: Sequence[Pile], packet: Pile, now: float) -> float:
    """One player pushes piles together, one into the next, and puts all of it face down on the packet."""
    piles = [pile for pile in piles if stage.stacks[pile]]
    last = swept(stage, seat, piles, now)
    if last is None:
        return now
    pile, now = last
    top = stage.top(pile)
    assert top is not None
    _, laid = stage.carry(seat, pile, packet, now, count=None, over=top.face_up, pace=1.2)
    return laid + 0.1


def swept(stage: Stage, seat: Seat, piles: Sequence[Pile], now: float) -> tuple[Pile, float] | None:
    """Push piles together, one into the next; returns where they all lie, and when. None: there was nothing."""
    if not piles:
        return None
    for source, target in pairwise(piles):
        _, now = stage.carry(seat, source, target, now, count=None, pace=_SWEEP_PACE, away=False)
    return piles[-1], now


def shuffled(stage: Stage, seat: Seat, packet: Pile, order: Sequence[str], now: float) -> float:
    """Half of the packet is lifted off and put below, three times; then the cards lie in that order, unseen."""
    x, y, turn = stage.places[packet]
    inward = stage.inward(seat)
    stage.add_place(_ASIDE, x - inward[1] * -82.0, y + inward[0] * -82.0, turn)
    for _ in range(3):
        half = max(1, len(stage.stacks[packet]) // 2)
        _, now = stage.carry(seat, packet, _ASIDE, now, count=half, right=False, pace=1.8, away=False)
        rest = len(stage.stacks[packet])
        if rest:
            _, now = stage.carry(seat, packet, _ASIDE, now, count=rest, pace=1.8, away=False)
        _, now = stage.carry(seat, _ASIDE, packet, now, count=None, right=False, pace=1.8, away=False)
    stage.put(packet, order, face_up=False, at_s=now)
    for right in (True, False):
        stage.retire(seat, now + 0.1, right=right)
    return now + 0.3


def dealt(
    stage: Stage, seat: Seat, packet: Pile, targets: Sequence[Pile], now: float, until_s: float
) -> tuple[float, bool]:
    """The dealer throws the packet's cards, one to each of the targets; returns when all lie, and if all do.

    A dealer whom the film's end overtakes stops.
    """
    beat_s = 1 / DEALT_A_SECOND
    inward = stage.inward(seat)
    laid = now
    for target in targets:
        if now > until_s:
            break
        top = stage.top(packet)
        assert top is not None
        tip = (top.x_mm - inward[0] * _TIP_MM, top.y_mm - inward[1] * _TIP_MM)
        height = stage.height_mm(packet) + 6.0
        there = stage.reach(seat, now, *tip, height, "pinch", duration_s=None if target is targets[0] else 0.1)
        x, y, _ = stage.places[target]
        far = max(math.dist((x, y), (top.x_mm, top.y_mm)), 1.0)
        flick = (tip[0] + 55.0 * (x - top.x_mm) / far, tip[1] + 55.0 * (y - top.y_mm) / far)
        laid = _thrown(stage, packet, target, there + 0.03)
        stage.reach(seat, there + 0.12, *flick, height + 8.0, "pinch", duration_s=0.09)
        now = there + beat_s
    else:
        stage.retire(seat, laid)
        return laid + 0.2, True
    stage.retire(seat, laid)
    return laid, False


def _thrown(stage: Stage, source: Pile, target: Pile, start_s: float) -> float:
    """The top card slides to a pile by itself; returns when it lies."""
    *rest, top = stage.stacks[source]
    x, y, angle = stage.places[target]
    x, y = x + float(stage.rng.normal(0, 2.5)), y + float(stage.rng.normal(0, 2.5))
    turn_by = (angle - top.turn + math.pi / 2) % math.pi - math.pi / 2 + float(stage.rng.normal(0, 0.03))
    end_s = start_s + max(0.16, math.dist((x, y), (top.x_mm, top.y_mm)) / _SLIDES_MM_S)
    stage.moves.append(
        CardMove(
            start_s,
            end_s,
            (Lying(top.card, top.face_up, 0.0, 0.0, 0.0),),
            Pose(top.x_mm, top.y_mm, stage.height_mm(source), top.turn),
            Pose(x, y, stage.height_mm(target), top.turn + turn_by),
            lift_mm=6.0,
        )
    )
    stage.stacks[source] = rest
    stage.changes.append(PileChange(start_s, source, tuple(rest)))
    stage.stacks[target] = [*stage.stacks[target], Lying(top.card, top.face_up, x, y, top.turn + turn_by)]
    stage.changes.append(PileChange(end_s, target, tuple(stage.stacks[target])))
    stage.sounds.append(Sound(end_s, "card", 0.16, x))
    return end_s


def peeked(stage: Stage, seat: Seat, pile: Pile, now: float, *, right: bool = True) -> tuple[float, float]:
    """A face-down card is tilted up, looked at and put back; returns (when it is up, when it lies again)."""
    *rest, card = stage.stacks[pile]
    inward = stage.inward(seat, right)
    ground = len(rest) * 0.3
    tip = (card.x_mm - inward[0] * _TIP_MM, card.y_mm - inward[1] * _TIP_MM)
    there = stage.reach(seat, now, *tip, ground + 4.0, "pinch", right=right) + 0.07
    stage.stay(seat, there, right=right)
    block = (Lying(card.card, card.face_up, 0.0, 0.0, 0.0),)
    down = Pose(card.x_mm, card.y_mm, ground, card.turn)
    near = (card.x_mm - 12.0 * inward[0], card.y_mm - 12.0 * inward[1])
    up = Pose(*near, ground + 30.0, card.turn, 0.9)
    up_s = there + 0.35
    back_s = up_s + float(stage.rng.uniform(0.4, 0.7))
    lies_s = back_s + 0.35
    for start_s, end_s, start, end in ((there, up_s, down, up), (up_s, back_s, up, up), (back_s, lies_s, up, down)):
        stage.moves.append(CardMove(start_s, end_s, block, start, end, lift_mm=0.0, long_axis=False))
        at = (end.x_mm - inward[0] * _TIP_MM, end.y_mm - inward[1] * _TIP_MM)
        stage.reach(seat, end_s, *at, end.height_mm + 6.0, "pinch", right=right, duration_s=end_s - start_s)
    stage.changes.append(PileChange(there, pile, tuple(rest)))
    stage.stacks[pile] = [*rest, replace(card)]
    stage.changes.append(PileChange(lies_s, pile, tuple(stage.stacks[pile])))
    stage.sounds.append(Sound(lies_s, "card", 0.14, card.x_mm))
    stage.retire(seat, lies_s + 0.05, right=right)
    return up_s, lies_s
