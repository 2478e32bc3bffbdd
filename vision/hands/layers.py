"""Who lies on whom where hands overlap: what was covered when the other came, and who came out first."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

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
#: Covered: so much of it, and such a share. Intact: less than such a share of much more.
_COVERED_MM2, _COVERED_SHARE = 500.0, 0.10
_INTACT_SHARE, _INTACT_MM2 = 0.02, 2_500.0
#: Who comes out: this share of the forearm changed; and the other so much later.
_OUT_SHARE, _OUT_AFTER_NS = 0.35, 30_000_000
#: Hands that lie together longer than this are no longer watched for coming out.
_LONGEST_NS = 2_500_000_000
#: No layers count for more than this (log of 9 to 1): a clear timing is never overruled, at most put in doubt.
MOST_LOG_ODDS = math.log(9.0)
#: What the two cues are called.
WAS_COVERED, CAME_OUT_LAST = "was covered", "came out last"
#: Reliability of each cue on rendered development clips (docs/slaps.md), as log odds, a wrong one in so many added.
COVERED, INTACT, CAME_OUT = math.log(9.0), math.log(3.0), math.log(3.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Two hands at one pile: the log odds that ``below`` lies below ``above``; negative: rather the other way.

    ``cues``: what each cue says of it by itself. A later one on the same hands replaces an earlier one.
    """

    below: int
    above: int
    below_seat: Seat | None
    above_seat: Seat | None
    pile: Pile
    at_ns: int
    log_odds: float
    cues: tuple[tuple[str, float], ...]

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


@dataclass(slots=True, eq=False)
class _Lying:
    """A hand that has come to rest at a pile: its forearm as it lay then, and when it began to come out."""

    contact: Contact
    told_ns: int
    forearm: NDArray[np.bool_] | None = None
    rest: Grey | None = None
    out_ns: int | None = None


@dataclass(slots=True, eq=False)
class _Pair:
    """Two hands at one pile. ``cues``: log odds of the first lying below the second, by cue."""

    one: int
    other: int
    cues: dict[str, float] = field(default_factory=dict)


class Layers:
    """Follows the hands that lie at one pile together, and tells which of two lies below."""

    def __init__(self, table: Table) -> None:
        """``table`` as its camera sees it, at any size."""
        self._table = table
        self._here = table
        self._kept: deque[_Kept] = deque()
        self._lying: dict[int, _Lying] = {}
        self._pairs: dict[tuple[int, int], _Pair] = {}

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
                    lying = self._lying.get(each.hand)
                    if lying is not None and lying.out_ns is None:
                        lying.out_ns = now.at_ns
                case _:
                    pass
        out += self._withdrawn(now)
        return tuple(out)

    def _came(self, contact: Contact, now: _Kept) -> list[Overlap]:
        """A hand came to rest: how does it lie to each that lies there already?"""
        out: list[Overlap] = []
        known = self._lying.get(contact.hand)
        if known is not None and known.contact.pile == contact.pile and known.out_ns is None:
            known.contact = contact  # it only came to rest anew
            return out
        self._lying[contact.hand] = _Lying(contact, now.at_ns)
        if contact.hand not in now.hands:
            return out
        for hand, lying in self._lying.items():
            same = hand == contact.hand or lying.contact.seat == contact.seat
            if same or lying.out_ns is not None or lying.contact.pile != contact.pile or hand not in now.hands:
                continue
            pair = _Pair(hand, contact.hand)
            self._pairs[hand, contact.hand] = pair
            covered, covering = self._covered(hand, contact.hand, now), self._covered(contact.hand, hand, now)
            if covered or covering:
                pair.cues[WAS_COVERED] = float(np.clip(covered - covering, -MOST_LOG_ODDS, MOST_LOG_ODDS))
                out.append(self._told(pair, now.at_ns))
        return out

    def _told(self, pair: _Pair, at_ns: int) -> Overlap:
        one, other = self._lying[pair.one].contact, self._lying[pair.other].contact
        return Overlap(
            below=pair.one,
            above=pair.other,
            below_seat=one.seat,
            above_seat=other.seat,
            pile=one.pile,
            at_ns=at_ns,
            log_odds=float(np.clip(sum(pair.cues.values()), -MOST_LOG_ODDS, MOST_LOG_ODDS)),
            cues=tuple(sorted(pair.cues.items())),
        )

    # --- what was covered --------------------------------------------------------------------------

    def _covered(self, hand: int, other: int, now: _Kept) -> float:
        """Log odds that a hand lies below another, from how it lay before the other came; 0: can't be told."""
        area, covered = self.compared(hand, other, now)
        if area >= _SEEN_MM2 and covered >= _COVERED_MM2 and covered >= _COVERED_SHARE * area:
            return COVERED
        if area >= _INTACT_MM2 and covered <= _INTACT_SHARE * area:
            return -INTACT
        return 0.0

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
        contact = self._lying[hand].contact
        # A sleeve hides its own motion: its not having changed does not show that the hand lay still by then.
        well = contact.at.sd_ns <= _WELL_TIMED_NS
        since_ns = contact.at.at_ns if well else contact.rest_ns - _SEEN_STILL_NS
        for then in self._kept:
            if hand not in then.hands or not since_ns <= then.at_ns < now.at_ns:
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

    # --- who came out ------------------------------------------------------------------------------

    def _withdrawn(self, now: _Kept) -> list[Overlap]:
        """Who has begun to withdraw: the hand below is the one that stays longer."""
        paired = {hand for key in self._pairs for hand in key}
        for hand in paired:
            lying = self._lying[hand]
            seen = now.hands.get(hand)
            if lying.out_ns is not None or seen is None:
                continue
            if lying.forearm is None:
                lying.forearm, lying.rest = self._forearm(seen, now), _soft(now)
            elif lying.rest is not None:
                off = cv2.absdiff(_soft(now), lying.rest).max(axis=2)[lying.forearm]
                if float((off > _UNLIKE_LEVELS).mean()) > _OUT_SHARE:
                    lying.out_ns = now.at_ns
        out: list[Overlap] = []
        for key, pair in list(self._pairs.items()):
            one, other = self._lying[pair.one], self._lying[pair.other]
            went = [each for each in (one, other) if each.out_ns is not None]
            if not went:
                if now.at_ns - max(one.told_ns, other.told_ns) > _LONGEST_NS:
                    del self._pairs[key]
                continue
            first_ns = min(each.out_ns or 0 for each in went)
            if now.at_ns - first_ns < _OUT_AFTER_NS:
                continue
            del self._pairs[key]
            stays = [each for each in (one, other) if each.out_ns is None or each.out_ns - first_ns >= _OUT_AFTER_NS]
            if len(stays) == 1:
                pair.cues[CAME_OUT_LAST] = CAME_OUT if stays[0] is one else -CAME_OUT
                out.append(self._told(pair, now.at_ns))
        needed = {hand for key in self._pairs for hand in key}
        for hand in [hand for hand, lying in self._lying.items() if lying.out_ns is not None and hand not in needed]:
            del self._lying[hand]
        return out

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


def _soft(kept: _Kept) -> Grey:
    """(h, w, 3) float32: the picture without what noise and a slide by a millimetre make of it; kept once made."""
    if kept.soft is None:
        kept.soft = cv2.GaussianBlur(kept.picture, (0, 0), 1.0)
    return kept.soft


_DISC: Mask = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (3, 3))
_LEAST_FOREARM_PX = 150
