"""Who lies on whom where hands overlap: what of a hand that lay there was covered when the other came."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.cards import Pile, Seat
from vision.hands.news import Contact, Gone, HandNews, HandSeen, Lift
from vision.hands.order import Joined
from vision.hands.pixels import Grey, Image, Mask
from vision.hands.timing import Look
from vision.table import Table

#: Pictures are halved while they are twice this wide: two millimetres are seen, and it costs a quarter.
_WIDTH_PX = 300
#: From when on a hand lies is told by its instant where that is sure to this; else by its having been seen still
#: for so long when it was told.
_WELL_TIMED_NS, _SEEN_STILL_NS = 8_000_000, 45_000_000
#: Pictures are kept for so long, to look back at how a hand lay before another came.
_KEEP_NS = 700_000_000
#: An arm is so wide, and a hand that lies on a pile reaches so far beyond the tip that is known of it.
_HALF_ARM_MM, _BEYOND_TIP_MM, _NEAR_TIP_MM = 50.0, 70.0, 20.0
#: The forearm begins so far behind the tip: it stays in sight when hands overlap.
_FOREARM_MM = 120.0
#: A forearm that has changed by no more than this (grey levels, median; beside the noise) has not moved.
_STILL_LEVELS = 6.0
#: What differs by more than this, and by so many times what the still forearm does, is covered or uncovered.
_UNLIKE_LEVELS, _UNLIKE_TIMES = 20.0, 4.0
#: A hand must have been seen lying over at least this much that the other may cover.
_SEEN_MM2 = 900.0
#: It is covered where so much of that, and such a share, looks otherwise now.
_COVERED_MM2, _COVERED_SHARE = 500.0, 0.10
#: Fingers settle for so long after contact.
_SETTLES_NS = 8_000_000
#: How far it is believed, as log odds: right nine times of ten. A clear timing is never overruled by it, at most put
#: in doubt.
COVERED = math.log(9.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Two hands at one pile: the log odds that ``below`` lies below ``above``; negative: rather the other way.

    It says so because the lower one was seen lying before the other had come, and is covered now.
    """

    below: int
    above: int
    below_seat: Seat | None
    above_seat: Seat | None
    pile: Pile
    at_ns: int
    log_odds: float

    @property
    def probability(self) -> float:
        """That the first lies below."""
        return 1 / (1 + math.exp(-self.log_odds))


@dataclass(slots=True, eq=False)
class _Kept:
    """One picture, and what was seen in it."""

    at_ns: int
    picture: Image
    mask: Mask
    hands: Mapping[int, HandSeen]
    soft: Grey | None = None


class Layers:
    """Follows the hands that lie at one pile together, and tells which of two lies below."""

    def __init__(self, table: Table) -> None:
        """``table`` as its camera sees it, at any size."""
        self._table = table
        self._here = table
        self._kept: deque[_Kept] = deque()
        self._lying: dict[int, Contact] = {}

    def watch(
        self, look: Look, mask: Mask | None, hands: Sequence[HandSeen], news: Sequence[HandNews]
    ) -> tuple[Overlap, ...]:
        """Take the next picture, what is not table in it, the hands seen and what was told of them."""
        if mask is None:
            return ()
        picture = look.picture
        if picture.shape[1] >= 2 * _WIDTH_PX:
            picture = cv2.resize(picture, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
        size = picture.shape[1], picture.shape[0]
        if self._here.image_size_px != size:
            self._here = self._table.scaled_to(size)
        now = _Kept(look.at_ns, picture, mask, {hand.hand: hand for hand in hands})
        self._kept.append(now)
        while self._kept[0].at_ns < look.at_ns - _KEEP_NS:
            self._kept.popleft()
        out: list[Overlap] = []
        for each in news:
            match each:
                case Contact():
                    out += self._came(each, now)
                case Lift() | Gone():
                    self._lying.pop(each.hand, None)
                case _:
                    pass
        return tuple(out)

    def _came(self, contact: Contact, now: _Kept) -> list[Overlap]:
        """A hand came to rest: how does it lie to each that lies there already?"""
        self._lying[contact.hand] = contact
        out: list[Overlap] = []
        for hand, lying in self._lying.items():
            if hand == contact.hand or lying.seat == contact.seat or lying.pile != contact.pile:
                continue
            if not {hand, contact.hand} <= set(now.hands):
                continue
            below, above = self._covered(hand, contact.hand, now), self._covered(contact.hand, hand, now)
            if below != above:
                out.append(
                    Overlap(
                        below=hand,
                        above=contact.hand,
                        below_seat=lying.seat,
                        above_seat=contact.seat,
                        pile=lying.pile,
                        at_ns=now.at_ns,
                        log_odds=COVERED if below else -COVERED,
                    )
                )
        return out

    # --- what was covered --------------------------------------------------------------------------

    def _covered(self, hand: int, other: int, now: _Kept) -> bool:
        """Whether a hand was seen lying, and another lies on it now."""
        area, covered = self.compared(hand, other, now)
        return area >= _SEEN_MM2 and covered >= _COVERED_MM2 and covered >= _COVERED_SHARE * area

    def compared(self, hand: int, other: int, now: _Kept) -> tuple[float, float]:
        """How much of a hand was seen lying where the other may cover it, and how much looks otherwise now; mm²."""
        forearm = self._forearm(now.hands[hand], now)
        if forearm is None:
            return 0.0, 0.0
        here = _soft(now)
        may_cover = self._region(now.hands[hand]) & self._region(now.hands[other])
        for third in now.hands.values():
            if third.hand not in (hand, other):
                may_cover &= ~self._region(third)
        seen = np.zeros(may_cover.shape, bool)
        unlike = np.zeros(may_cover.shape, bool)
        contact = self._lying[hand]
        since_ns, until_ns = _lay_still(contact) + _SETTLES_NS, _lay_still(self._lying[other])
        for then in self._kept:
            if hand not in then.hands or not since_ns <= then.at_ns < until_ns:
                continue
            off = cv2.absdiff(_soft(then), here).max(axis=2)
            base = float(np.median(off[forearm]))
            if base > _STILL_LEVELS:
                continue  # it had not come to rest yet
            new = may_cover & ~seen & self._thing(then)
            for third in then.hands.values():
                if third.hand != hand:
                    # One that is still on its way is seen to its tip; one that lies there may be hidden beyond it.
                    lies = third.hand in self._lying and third.hand != other
                    new &= ~self._stroke(third, 0.0, _BEYOND_TIP_MM if lies else _NEAR_TIP_MM, _HALF_ARM_MM)
            unlike[new] = (off > max(_UNLIKE_LEVELS, _UNLIKE_TIMES * base))[new]
            seen |= new
        inner = cv2.erode(seen.view(np.uint8), _DISC) > 0
        solid = cv2.morphologyEx((unlike & inner).view(np.uint8), cv2.MORPH_OPEN, _DISC)
        mm2 = self._here.px_per_mm(self._here.pile(contact.pile).at_mm) ** 2
        return float(np.count_nonzero(inner)) / mm2, float(np.count_nonzero(solid)) / mm2

    # --- where an arm is in the picture ------------------------------------------------------------

    def _region(self, hand: HandSeen) -> NDArray[np.bool_]:
        """(h, w) where an arm and its hand may lie: as wide as an arm, and past what is known of its tip."""
        return self._stroke(hand, 0.0, _BEYOND_TIP_MM, _HALF_ARM_MM)

    def _forearm(self, hand: HandSeen, now: _Kept) -> NDArray[np.bool_] | None:
        """(h, w) its forearm, where nobody else can lie on it; None where too little is seen of it."""
        where = self._stroke(hand, 0.0, -_FOREARM_MM, _HALF_ARM_MM) & self._thing(now)
        for third in now.hands.values():
            if third.hand != hand.hand:
                where &= ~self._region(third)
        return where if np.count_nonzero(where) >= _LEAST_FOREARM_PX else None

    def _stroke(self, hand: HandSeen, from_mm: float, past_mm: float, half_mm: float) -> NDArray[np.bool_]:
        """(h, w) a broad line from where the arm comes over the edge to so far past its tip."""
        height, width = self._kept[-1].picture.shape[:2]
        entry, tip = np.array(hand.entry_mm), np.array(hand.tip_mm)
        length = max(float(np.hypot(*(tip - entry))), 1.0)
        way = (tip - entry) / length
        drawn = np.zeros((height, width), np.uint8)
        if length + past_mm - from_mm < half_mm:
            return drawn > 0
        ends = self._here.to_px([entry + way * from_mm, tip + way * past_mm])
        thick = max(1, round(2 * half_mm * self._here.px_per_mm((float(tip[0]), float(tip[1])))))
        a, b = ((int(np.clip(x, -4000, 8000)), int(np.clip(y, -4000, 8000))) for x, y in ends)
        cv2.line(drawn, a, b, 255, thick)
        return drawn > 0

    def _thing(self, kept: _Kept) -> NDArray[np.bool_]:
        """(h, w) what is not table, at the picture's size."""
        height, width = kept.picture.shape[:2]
        return np.asarray(cv2.resize(kept.mask, (width, height), interpolation=cv2.INTER_NEAREST) > 0)


def with_layers(both: Joined, below: Mapping[tuple[Seat, Seat], float]) -> Joined:
    """The orders once more, each as much likelier as the layers make it: who lies below came first.

    ``below``: log odds that the first seat's hand lies below the second's. Bayes, the layers taken as independent
    of the instants and of each other.
    """
    if not below or not both.orders:
        return both
    weighed: list[tuple[tuple[object, ...], float]] = []
    for order, p in both.orders:
        log = 0.0
        for (one, other), odds in below.items():
            if one in order and other in order:
                chance = 1 / (1 + math.exp(-odds))
                log += math.log(chance if order.index(one) < order.index(other) else 1 - chance)
        weighed.append((order, p * math.exp(log)))
    total = sum(p for _, p in weighed)
    ranked = sorted(((order, p / total) for order, p in weighed), key=lambda pair: -pair[1])
    return replace(both, orders=tuple(ranked))


def _lay_still(contact: Contact) -> int:
    """From when on a hand surely lay still; a sleeve hides its own motion, so that looking at it does not do."""
    well = contact.at.sd_ns <= _WELL_TIMED_NS
    return contact.at.at_ns if well else contact.rest_ns - _SEEN_STILL_NS


def _soft(kept: _Kept) -> Grey:
    """(h, w, 3) float32: the picture without what noise and a slide by a millimetre make of it; kept once made."""
    if kept.soft is None:
        kept.soft = cv2.GaussianBlur(kept.picture, (0, 0), 1.0)
    return kept.soft


_DISC: Mask = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (3, 3))
_LEAST_FOREARM_PX = 150
