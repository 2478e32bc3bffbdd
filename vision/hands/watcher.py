"""Watches every picture for arms over the table: whose they are, which pile they reach, when they touch it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.cards import Pile, Seat
from referee.instant import Instant
from vision.frame import Frame
from vision.hands.arms import ArmFinder, ArmShape, Lane, nearest_seat
from vision.hands.background import Background
from vision.hands.news import Contact, Gone, HandNews, HandSeen, Lift, Reached
from vision.hands.pixels import Array, Image, Mask
from vision.hands.stepping import lay
from vision.hands.timing import SMOOTH, UNMOVED, Arm, Follower, Look, Shutter, Timed
from vision.table import Table

#: Pictures are watched at about this many pixels a mm (a fingertip is 4 px wide), and measured at this many or up to
#: twice that.
_WATCH_PX_PER_MM = 0.25
_MEASURE_PX_PER_MM = 0.5
#: A picture as narrow as this is measured as it is.
_NARROW_PX = 800
_WATCH_WIDTH = (160, 320)
#: How long pictures are kept for measuring back: approach, contact, and the rest after it.
_KEEP_NS = 700_000_000
#: The empty table is learned from so many pictures at first.
_LEARN_FROM = 7
#: Things that come to lie are taken for table after so long; what hangs over the edge only after longer.
_SETTLES_NS, _SETTLES_AT_EDGE_NS = 350_000_000, 6_000_000_000
#: An arm is still when its pixels change less than this share of the change while it came (and than noise allows).
_STILL_SHARE = 0.22
_STILL_FOR_NS = 45_000_000
#: A hand's tip counts as at a pile within its radius and this.
_NEAR_MM = 25.0
_HIDES_MM2 = 250.0
#: A hand away for so long is gone.
_GONE_NS = 120_000_000


@dataclass(slots=True, eq=False)
class _Track:
    """One hand from coming over the edge to leaving."""

    hand: int
    seat: Seat | None
    shape: ArmShape
    seen_ns: int
    since_ns: int
    tip_mm: Array
    speed_mps: float = 0.0
    change: float = 0.0
    peak_change: float = 0.0
    still_since_ns: int | None = None
    moved: bool = True
    over: tuple[Pile, ...] = ()
    at_pile: Pile | None = None
    rests_at: Pile | None = None
    timed_ns: int = 0
    """When its contact was last measured."""
    rested: Look | None = None
    rested_seat: Seat | None = None
    """The picture in which it was last told to lie at the pile, and as whose."""
    rested_gently: bool = False
    rested_surely: bool = False
    """Nothing hard had stopped it then; its contact was trusted."""
    held_since_ns: int = 0
    """Since when it has been told to lie there, contacts that were taken back included."""
    tips: deque[tuple[int, Array]] = field(default_factory=deque)
    """When its tip was seen where (mm), of the last while."""
    reached: set[Pile] = field(default_factory=set)
    reached_ns: int = 0
    near: Pile | None = None
    near_ns: int = 0
    """When it came to a pile last; at which it was last, and when: among others its tip is seen now here, now there."""


class HandWatcher:
    """Takes frames in order of time and tells what hands do; the instants of contact come a little later.

    ``hands`` is the latest picture's view; ``mask`` what is not table there, at ``watch_size``.
    """

    def __init__(self, table: Table, *, shutter: Shutter | None = None, timed: frozenset[Pile] | None = None) -> None:
        """Watch the given table; ``shutter`` tells of a rolling shutter whose times are known.

        ``timed``: piles at which instants of contact are measured, None: at all.
        """
        self.table = table
        self.hands: tuple[HandSeen, ...] = ()
        self.mask: Mask | None = None
        self.measured: dict[tuple[int, int], Timed] = {}
        """By hand and time of rest: what the instants were measured from, for the evidence."""
        self._timed = timed
        self._shutter = shutter
        self._looks: deque[Look] = deque()
        self._tracks: list[_Track] = []
        self._next = 0
        self._learning: list[tuple[Image, Image]] = []
        self._watched: Background | None = None
        self._measured: Background | None = None
        self._last: Image | None = None
        self._still_ns: NDArray[np.float32] | None = None
        self._last_ns = 0
        self._count = 0
        self._sizes: tuple[tuple[int, int], tuple[int, int]] | None = None
        self._follower: tuple[int, Follower] | None = None

    # --- what others ask ---------------------------------------------------------------------------

    @property
    def looks(self) -> Sequence[Look]:
        """The pictures kept for measuring."""
        return tuple(self._looks)

    @property
    def shutter(self) -> Shutter | None:
        """What is taken for known of a rolling shutter; None: nothing, and lines count as taken at once."""
        return self._shutter

    def hides(self, pile: Pile) -> bool:
        """Whether an arm hides part of the pile in the latest picture."""
        return any(pile in hand.over for hand in self.hands)

    # --- the stream --------------------------------------------------------------------------------

    def watch(self, frame: Frame) -> tuple[HandNews, ...]:
        """Take the next picture; what became known with it."""
        if self._sizes is None:
            self._lay_out(frame.size_px)
        assert self._sizes is not None
        measure, watch = self._sizes
        measured = _resized(frame.image, measure)
        small = _resized(measured, watch)
        self._looks.append(Look(frame.at_ns, frame.sd_ns, measured))
        while self._looks[0].at_ns < frame.at_ns - _KEEP_NS:
            self._looks.popleft()
        if self._watched is None:
            self._learn(measured, small)
            self._last, self._last_ns = small, frame.at_ns
            return ()
        self._count += 1
        assert self._last is not None
        change = cv2.absdiff(small, self._last)
        change = cv2.blur(cv2.max(cv2.max(change[..., 0], change[..., 1]), change[..., 2]), (3, 3))
        mask = self._watched.difference(small)
        shapes = self._finder.find(mask, [(track.shape.entry, track.shape.tip) for track in self._tracks])
        self.mask = mask
        news = self._follow(frame, shapes, change)
        self._settle(small, measured, mask, change, frame.at_ns)
        self._last, self._last_ns = small, frame.at_ns
        self.hands = tuple(self._seen(track, frame) for track in self._tracks if track.seen_ns == frame.at_ns)
        return tuple(news)

    def _lay_out(self, size_px: tuple[int, int]) -> None:
        table = self.table.scaled_to(size_px)
        width_mm, height_mm = table.size_mm
        scale = table.px_per_mm((width_mm / 2, height_mm / 2))
        width, height = size_px
        # Halved as long as enough is left to measure: halving is quick, and it keeps no noise.
        measure_width = width
        while measure_width > _NARROW_PX and measure_width * scale / width >= 2 * _MEASURE_PX_PER_MM:
            measure_width //= 2
        watch_width = int(np.clip(width * _WATCH_PX_PER_MM / scale, *_WATCH_WIDTH))
        watch_width = min(watch_width, measure_width)
        self._sizes = (
            (measure_width, round(height * measure_width / width)),
            (watch_width, round(height * watch_width / width)),
        )
        self._measure_table = table.scaled_to(self._sizes[0]) if _same_shape(size_px, self._sizes[0]) else table
        self._watch_scale = watch_width / width
        self._measure_scale = measure_width / width
        self._picture_table = table
        self._watch_px_per_mm = scale * self._watch_scale
        corners = [(x * self._watch_scale, y * self._watch_scale) for x, y in table.corners_px]
        lanes = [
            Lane(
                seat.seat,
                i,
                self._to_watch(np.array([pile.at_mm]))[0],
                self._to_watch(np.array([seat.at_mm]))[0],
            )
            for i, pile in enumerate(table.piles)
            # Hands meet where they slap; elsewhere an arm that passes over a pile is one arm.
            if self._timed is None or pile.pile in self._timed
            for seat in table.seats
        ]
        self._finder = ArmFinder(self._sizes[1], corners, self._watch_px_per_mm, lanes)
        self._piles: list[tuple[Pile, Array, float, Mask]] = []
        for spot in table.piles:
            centre = self._to_watch(np.array([spot.at_mm]))[0]
            where = np.zeros(self._sizes[1][::-1], np.uint8)
            radius = max(2, round(spot.radius_mm * self._watch_px_per_mm))
            cv2.circle(where, (round(centre[0]), round(centre[1])), radius, 255, -1)
            self._piles.append((spot.pile, np.array(spot.at_mm), spot.radius_mm, where))
        self._seats = [(spot.seat, spot.at_mm) for spot in table.seats]
        self._middle_mm = np.array([width_mm / 2, height_mm / 2])

    def _to_watch(self, points_mm: Array) -> Array:
        return np.asarray(self._picture_table.to_px(points_mm) * self._watch_scale)

    def _to_mm(self, points_watch: Array) -> Array:
        return self._picture_table.to_mm(np.atleast_2d(points_watch) / self._watch_scale)

    # --- the empty table ---------------------------------------------------------------------------

    def _learn(self, measured: Image, small: Image) -> None:
        self._learning.append((measured, small))
        if len(self._learning) < _LEARN_FROM:
            return
        self._measured = Background.of([picture for picture, _ in self._learning])
        self._watched = Background.of([picture for _, picture in self._learning])
        self._still_ns = np.zeros(small.shape[:2], np.float32)
        self._learning.clear()

    def _settle(self, small: Image, measured: Image, mask: Mask, change: Image, at_ns: int) -> None:
        """Take for table what has come to lie; follow the light."""
        assert self._still_ns is not None
        assert self._watched is not None
        assert self._measured is not None
        quiet = change < 3 + 3 * self._watched.noise
        self._still_ns += np.float32(at_ns - self._last_ns)
        self._still_ns[~quiet] = 0
        if self._count % 5:
            return
        arms = np.zeros_like(mask)
        for track in self._tracks:
            if not _left_behind(track, at_ns):
                arms |= track.shape.mask
        near_arms = cv2.dilate(arms, _WIDE)
        settled = (mask > 0) & (near_arms == 0) & (self._still_ns > _SETTLES_NS)
        settled |= (arms > 0) & (self._still_ns > _SETTLES_AT_EDGE_NS)
        if settled.any():
            where = cv2.dilate(settled.astype(np.uint8) * 255, _SMALL)
            where[(near_arms > 0) & ~settled] = 0
            self._watched.follow(small, where, 1.0)
            self._measured.follow(measured, self._enlarged(where), 1.0)
        if self._count % 30 == 0:
            free = cv2.bitwise_not(cv2.dilate(mask, _WIDE))
            self._watched.match_light(small, free)
            self._measured.gain = self._watched.gain
            if self._watched.gain is None:
                self._watched.follow(small, free, 0.1)
                self._measured.follow(measured, self._enlarged(free), 0.1)

    def _enlarged(self, mask: Mask) -> Mask:
        assert self._sizes is not None
        return cv2.resize(mask, self._sizes[0], interpolation=cv2.INTER_NEAREST)

    # --- hands -------------------------------------------------------------------------------------

    def _follow(self, frame: Frame, shapes: list[ArmShape], change: Image) -> list[HandNews]:
        news: list[HandNews] = []
        free = list(self._tracks)
        pairs = sorted(
            ((self._apart(track, shape), i, track) for i, shape in enumerate(shapes) for track in free),
            key=lambda pair: pair[0],
        )
        matched: dict[int, _Track] = {}
        for apart, i, track in pairs:
            if apart < 1.0 and i not in matched and track in free:
                matched[i] = track
                free.remove(track)
        for i, shape in enumerate(shapes):
            known = matched.get(i)
            if known is not None and shape.shared and shape.seat is None:
                shape = known.shape.reaching(shape, change, self._watch_px_per_mm)
            tip_mm = self._to_mm(shape.tip)[0]
            track = known or self._new(frame, shape, tip_mm)
            self._update(track, frame, shape, tip_mm, change)
            news += self._piles_of(track, frame)
        news += self._contacts(frame)
        for track in list(self._tracks):
            if frame.at_ns - track.seen_ns > _GONE_NS:
                self._tracks.remove(track)
                at = Instant(track.seen_ns, frame.sd_ns + _GONE_NS // 4)
                if track.rests_at is not None:
                    news.append(Lift(hand=track.hand, seat=track.seat, pile=track.rests_at, at=at))
                news.append(Gone(hand=track.hand, seat=track.seat, at=at))
        return news

    def _apart(self, track: _Track, shape: ArmShape) -> float:
        """Below 1: may be the same hand."""
        if shape.seat is not None and track.seat == shape.seat:
            return 0.01
        scale = self._watch_px_per_mm
        entries = float(np.hypot(*(track.shape.entry - shape.entry))) / scale / 130
        tips = float(np.hypot(*(track.shape.tip - shape.tip))) / scale / 330
        both_joined = track.shape.joined and shape.joined
        return entries + tips if both_joined else tips * 2

    def _new(self, frame: Frame, shape: ArmShape, tip_mm: Array) -> _Track:
        seat = nearest_seat(self._to_mm(shape.entry)[0], self._seats, self._middle_mm)
        track = _Track(self._next, seat, shape, frame.at_ns, frame.at_ns, tip_mm)
        self._next += 1
        self._tracks.append(track)
        return track

    def _update(self, track: _Track, frame: Frame, shape: ArmShape, tip_mm: Array, change: Image) -> None:
        step_s = max((frame.at_ns - track.seen_ns) / 1e9, 1e-4)
        if track.seen_ns < frame.at_ns:
            track.speed_mps = float(np.hypot(*(tip_mm - track.tip_mm))) / 1000 / step_s
        both = cv2.bitwise_or(track.shape.mask, shape.mask)
        total = cv2.countNonZero(both)
        amount = float(cv2.mean(change, both)[0]) if total else 0.0
        # Per second, so that it means the same at every rate; noise alone makes about one level of it.
        assert self._watched is not None
        track.change = max(amount - 1.2 * self._watched.noise, 0.0)
        track.peak_change = max(track.peak_change * 0.5 ** (step_s / 0.12), track.change)
        track.shape, track.tip_mm, track.seen_ns = shape, tip_mm, frame.at_ns
        track.tips.append((frame.at_ns, tip_mm))
        while track.tips and frame.at_ns - track.tips[0][0] > _TIPS_NS:
            track.tips.popleft()
        if shape.seat is not None:
            track.seat = shape.seat
        limit = max(_STILL_SHARE * track.peak_change, 0.6)
        if track.change <= limit and track.speed_mps < 3.0:
            if track.still_since_ns is None:
                track.still_since_ns = frame.at_ns
        else:
            track.still_since_ns = None
            # A hand that flicks from the wrist changes little of the whole arm, but that strongly.
            strong = int(np.count_nonzero((change > _STRONG) & (both > 0)))
            if strong > _FLICKS_MM2 * self._watch_px_per_mm**2 or track.change > max(1.5, 0.35 * track.peak_change):
                track.moved = True

    def _piles_of(self, track: _Track, frame: Frame) -> list[HandNews]:
        news: list[HandNews] = []
        least = _HIDES_MM2 * self._watch_px_per_mm**2
        track.over = tuple(
            pile
            for pile, _, _, where in self._piles
            if cv2.countNonZero(cv2.bitwise_and(where, track.shape.mask)) >= least
        )
        near = [
            (math.dist(tuple(at), tuple(track.tip_mm)) - radius, pile)
            for pile, at, radius, _ in self._piles
            if pile in track.over
        ]
        near = [pair for pair in near if pair[0] < _NEAR_MM or self._passes(track, pair[1])]
        track.at_pile = min(near, key=lambda pair: pair[0])[1] if near else None
        if track.rests_at is not None and track.at_pile != track.rests_at:
            news.append(Lift(hand=track.hand, seat=track.seat, pile=track.rests_at, at=frame.at))
            track.rests_at = track.rested = None
            track.moved = True
        for pile in list(track.reached):
            if pile not in track.over:
                track.reached.discard(pile)
        if track.at_pile is not None and track.at_pile not in track.reached:
            track.reached.add(track.at_pile)
            if frame.at_ns - track.near_ns > _AWAY_NS or track.near != track.at_pile:
                track.reached_ns = frame.at_ns
            news.append(Reached(hand=track.hand, seat=track.seat, pile=track.at_pile, at=frame.at))
        if track.at_pile is not None:
            track.near, track.near_ns = track.at_pile, frame.at_ns
        return news

    def _passes(self, track: _Track, pile: Pile) -> bool:
        """Whether the hand, not just the forearm, is on the pile: its middle is within a hand's length of the tip."""
        return math.dist(self._at(pile), tuple(track.tip_mm)) < _HAND_MM

    def _at(self, pile: Pile) -> tuple[float, float]:
        return self._picture_table.pile(pile).at_mm

    def _contacts(self, frame: Frame) -> list[HandNews]:
        news: list[HandNews] = []
        for track in self._tracks:
            if track.at_pile is None or not track.moved or track.still_since_ns is None:
                continue
            if track.seen_ns != frame.at_ns or frame.at_ns - track.still_since_ns < _STILL_FOR_NS:
                continue
            track.moved = False
            rested = track.rests_at
            track.rests_at = track.at_pile
            if track.shape.seat is None:
                # Where it comes from is told best by how it lies at rest.
                entry_mm = self._to_mm(track.shape.entry)[0]
                track.seat = nearest_seat(entry_mm, self._seats, np.array(self._at(track.at_pile)))
            if self._timed is not None and self._timed.isdisjoint((track.at_pile, *track.over)):
                news.append(_untimed(track, frame))
                continue
            timed = self._time(track, len(self._looks) - 1)
            if timed.reason == UNMOVED:
                continue
            before = track.rested if rested == track.at_pile else None
            doubt_ns = 0 if before is None else self._came_anew(track, timed, before)
            if doubt_ns is None:
                continue  # others moved about it, it did not
            if before is not None and (frame.at_ns - before.at_ns > _HELD_NS or track.rested_seat != track.seat):
                before = None
            if before is not None and _same_stop(timed, before):
                timed = _flicked(timed, track.still_since_ns)
            timed, checked = _as_it_came(timed, anew=before is not None), timed
            lay_ns, others_ns = _lay_before(track, timed.at.at_ns), 0
            if timed.trusted and before is None and lay_ns > _THERE_NS:
                timed = replace(timed, trusted=False, reason="its tip was there before: another hand may have come")
                others_ns = max(lay_ns, _OTHERS_NS)
            if timed.trusted and not checked.trusted:
                doubt_ns = 0  # it is seen to come down
            track.rested, track.rested_seat = self._looks[-1], track.seat
            self.measured[track.hand, frame.at_ns] = timed
            track.timed_ns = frame.at_ns
            at = timed.at
            if not (timed.trusted or timed.by_pictures):
                followed = timed.kink is not None and timed.speed_mmps > _CAME_MMPS
                rough = max(at.sd_ns, _ROUGH_NS if followed else _LOST_NS)
                at = Instant(at.at_ns if timed.kink is not None else track.still_since_ns, rough)
            if before is None and not timed.trusted:
                doubt_ns = (at.at_ns - track.reached_ns) // 3  # as little is known of one that is there for long
            at = Instant(at.at_ns, max(at.sd_ns, doubt_ns, others_ns))
            gentle = 0.5 if timed.kink is None else max(timed.kink.gentle, 0.9 * (timed.reason == SMOOTH))
            track.rested_gently, track.rested_surely = gentle > 0.5 and not timed.trusted, timed.trusted
            if before is None:
                track.held_since_ns = frame.at_ns
            elif timed.bigger > _FALLS_BY:
                # From so high it fell onto something, however smooth its becoming smaller looks.
                gentle = min(gentle, _FELL_GENTLY[timed.trusted])
            news.append(
                Contact(
                    hand=track.hand,
                    seat=track.seat,
                    pile=track.at_pile,
                    at=Instant(at.at_ns, int(math.hypot(at.sd_ns, frame.sd_ns))),
                    speed_mps=timed.speed_mmps / 1000,
                    gentle=gentle,
                    trusted=timed.trusted,
                    reason=timed.reason,
                    rest_ns=frame.at_ns,
                    instead_of=None if before is None else before.at_ns,
                )
            )
        return news

    def _came_anew(self, track: _Track, timed: Timed, before: Look) -> int | None:
        """Whether a hand that had come to rest at the pile was held there only, and comes down now: the least doubt.

        Held higher, or aside, it is not where it lies now; one that tapped twice, or was stirred, is (None).
        """
        if not (timed.trusted or timed.kink or timed.by_pictures):
            return None  # nothing was followed
        assert self._follower is not None
        follower = self._follower[1]
        rest = len(self._looks) - 1
        arm = self._arm(track.shape, follower, rest)
        if cv2.countNonZero(arm.mask) < _LEAST_ARM_MM2 * arm.px_per_mm**2:
            return None  # it leaves
        mask = arm.mask
        if arm.whole:
            hand = np.zeros_like(mask)
            cv2.circle(hand, (round(arm.tip[0]), round(arm.tip[1])), round(_PALM_MM * arm.px_per_mm), 255, -1)
            mask = cv2.bitwise_and(mask, hand)
        lay_before = lay(before.picture, self._looks[rest].picture, mask, follower.background.noise)
        if lay_before is None:
            return None
        if _same_stop(timed, before):
            # Only its fingers may have moved since, as in a flick from the wrist; or it takes hold of what it slapped.
            return None if track.rested_surely or lay_before.in_place >= _IN_PLACE else _LOST_NS
        moved = timed.trusted or timed.travel_mm > _STIRRED_MM
        fell = timed.bigger > _FELL and timed.likeness > _FALLS_LIKE
        soon = timed.trusted or timed.at.at_ns - before.at_ns < _ASIDE_NS
        if not moved:
            least = _ELSEWHERE  # likely hidden, and uncovered
        elif track.rested_gently or fell:
            least = _IN_PLACE_GENTLY
        else:
            least = _IN_PLACE if soon else _IN_PLACE_LATER
        if lay_before.in_place >= least and not (moved and lay_before.bigger > _HELD_HIGHER):
            return None
        # Unless it was followed well it may have come down at any time since.
        share = 6 if track.rested_gently or fell else 3
        return 0 if timed.trusted else (timed.at.at_ns - track.held_since_ns) // share

    def _time(self, track: _Track, rest: int) -> Timed:
        assert self._sizes is not None
        assert self._measured is not None
        at_rest = self._looks[rest].at_ns
        if self._follower is None or self._follower[0] != at_rest:
            self._follower = (at_rest, Follower(tuple(self._looks), self._measured, self._shutter))
        follower = self._follower[1]
        shapes: dict[int, list[ArmShape]] = {}

        def arm_at(k: int) -> Arm | None:
            if k not in shapes:
                small = _resized(self._looks[k].picture, self._watched_size)
                assert self._watched is not None
                shapes[k] = self._finder.find(self._watched.difference(small))
            best: tuple[float, ArmShape] | None = None
            for shape in shapes[k]:
                if shape.seat is not None and shape.seat != track.seat:
                    continue
                apart = float(np.hypot(*(shape.entry - track.shape.entry))) / self._watch_px_per_mm
                if shape.seat is None:
                    apart += float(np.hypot(*(shape.tip - track.shape.tip))) / self._watch_px_per_mm
                if apart < _SAME_ARM_MM and (best is None or apart < best[0]):
                    best = apart, shape
            return None if best is None else self._arm(best[1], follower, k)

        return follower.time(self._arm(track.shape, follower, rest), rest, arm_at, track.timed_ns)

    @property
    def _watched_size(self) -> tuple[int, int]:
        assert self._sizes is not None
        return self._sizes[1]

    def _arm(self, shape: ArmShape, follower: Follower, k: int) -> Arm:
        """The arm at the size of measuring."""
        ratio = self._measure_scale / self._watch_scale
        region = cv2.dilate(shape.mask, _SMALL)
        mask = cv2.bitwise_and(follower.mask(k), self._enlarged(region))
        return Arm(mask, shape.inward, shape.tip * ratio, self._watch_px_per_mm * ratio, whole=not shape.shared)

    def _seen(self, track: _Track, frame: Frame) -> HandSeen:
        x, y, width, height = (round(v / self._watch_scale) for v in cv2.boundingRect(track.shape.mask))
        entry = self._to_mm(track.shape.entry)[0]
        return HandSeen(
            hand=track.hand,
            seat=track.seat,
            at=frame.at,
            tip_mm=(float(track.tip_mm[0]), float(track.tip_mm[1])),
            entry_mm=(float(entry[0]), float(entry[1])),
            speed_mps=track.speed_mps,
            over=track.over,
            at_pile=track.at_pile,
            outline_px=(x, y, x + width, y + height),
        )


def _lay_before(track: _Track, at_ns: int) -> int:
    """For how long before ``at_ns`` its tip, or that of hands with which it is joined, had been seen in one place."""
    earlier = [(seen_ns, tip) for seen_ns, tip in track.tips if seen_ns <= at_ns]
    lay = 0
    for seen_ns, tip in reversed(earlier):
        if math.dist(tuple(tip), tuple(earlier[-1][1])) > _THERE_MM:
            break
        lay = earlier[-1][0] - seen_ns
    return lay


def _same_stop(timed: Timed, before: Look) -> bool:
    """Whether the stop that was found is the one before which it was seen to rest already."""
    return timed.at.at_ns < before.at_ns - _SAME_STOP_NS


def _flicked(timed: Timed, still_since_ns: int) -> Timed:
    """A hand whose arm has not moved since: its fingers came down before it was still."""
    at = Instant(still_since_ns - _FLICKS_NS, _LOST_NS)
    return replace(timed, at=at, trusted=False, reason="only its fingers moved", kink=None, by_pictures=True)


def _as_it_came(timed: Timed, *, anew: bool) -> Timed:
    """What is to be believed of a contact, by whether the hand had been held over the pile before.

    One that comes slowly may only be held there. One that was held and comes down moves little in the picture, and its
    becoming smaller looks smooth, but what stops it is the pile.
    """
    if timed.kink is None:
        return timed
    if timed.trusted and not anew and timed.speed_mmps < _HELD_MMPS:
        return replace(timed, trusted=False, reason="it came slowly, and may only be held there")
    falls = timed.speed_mmps > _FALLS_MMPS and timed.bigger > _FALLS_BY and not timed.by_pictures
    if anew and falls and timed.agrees and timed.likeness > _FALLS_LIKE and timed.kink.misfit < _FALLS_MISFIT:
        at = Instant(timed.at.at_ns, round(math.hypot(timed.at.sd_ns, _FALLS_SD_NS)))
        return replace(timed, at=at, trusted=True, reason="")
    return timed


def _untimed(track: _Track, frame: Frame) -> Contact:
    """A hand at rest at a pile whose instants nobody needs: measuring them costs a hundred times the watching."""
    assert track.at_pile is not None
    assert track.still_since_ns is not None
    return Contact(
        hand=track.hand,
        seat=track.seat,
        pile=track.at_pile,
        at=Instant(track.still_since_ns, _ROUGH_NS),
        speed_mps=track.speed_mps,
        gentle=0.5,
        trusted=False,
        reason="not measured: no slap is timed here",
        rest_ns=frame.at_ns,
    )


def _left_behind(track: _Track, at_ns: int) -> bool:
    """Whether it is no hand but what one has laid down: nothing joins it to the edge, and it lies still."""
    since = track.still_since_ns
    return not track.shape.joined and since is not None and at_ns - since > _LEFT_NS


#: What an arm that has gone left on the table lies there for so long before it is table; a hand whose sleeve
#: can't be told from the table rests for less while its contact is measured.
_LEFT_NS = 500_000_000
#: An instant that did not pass its check is this rough at least (facts: such tracks are 15 to 100 ms wrong).
_ROUGH_NS = 40_000_000
#: A tip that stayed within so much for longer than this before the contact did not come just then.
_THERE_MM, _THERE_NS, _TIPS_NS = 20.0, 45_000_000, 800_000_000
#: What was measured may then be another hand's contact: on 80 fresh clips four of 18 hands under others were told 80 to
#: 180 ms late, as if sure to 5 ms; three of them show this.
_OTHERS_NS = 60_000_000
#: Where the arm was not even followed while it came, all that is known is when it was seen to lie.
_LOST_NS, _CAME_MMPS = 90_000_000, 500.0
#: Of hands that came slower than this at first (mm/s in the picture) and seemed to be stopped, two in three had not
#: landed yet (60 development clips).
_HELD_MMPS = 1050.0
#: What a hand that comes down on the pile from where it was held shows: speed in the picture, becoming smaller,
#: likeness, a good fit. Its doubt beside what the fit states.
_FALLS_MMPS, _FALLS_BY, _FALLS_LIKE, _FALLS_MISFIT, _FALLS_SD_NS = 190.0, 0.03, 0.77, 0.3, 5_000_000
#: An arm that rests lies within this of where it lay before (entry and tip together).
_SAME_ARM_MM = 160.0
#: Nobody holds a hand over the pile for longer before it strikes: what comes later is another slap.
_HELD_NS = 1_000_000_000
#: A hand that was at a pile so lately has not come to it anew.
_AWAY_NS = 300_000_000
#: Fingers land so long before the hand is seen to be still.
_FLICKS_NS = 30_000_000
#: A stop so long before it was first seen to rest is that one again.
_SAME_STOP_NS = 30_000_000
#: A hand that comes down moves so far before; and less of an arm than this is seen at the pile only while it leaves.
_STIRRED_MM, _LEAST_ARM_MM2 = 5.0, 5000.0
#: Where fewer of a hand's windows than this lay where they lie now, or it was bigger by more than this, it has come
#: anew: 20 mm higher is 1.5 % bigger under a camera at 1300 mm. A hand from its tip to the wrist.
_IN_PLACE, _HELD_HIGHER, _PALM_MM = 0.3, 0.015, 115.0
#: One that became smaller by more than this as it was followed had been some 50 mm higher. That nothing hard stopped it
#: is no likelier then than this: where it is not trusted, and where it is.
_FELL, _FELL_GENTLY = 0.04, (0.5, 0.25)
#: The same share where nothing hard had stopped it before; where something had, and it was not followed well and comes
#: later than this; and where it was not seen to move.
_IN_PLACE_GENTLY, _IN_PLACE_LATER, _ASIDE_NS, _ELSEWHERE = 0.5, 0.2, 350_000_000, 0.1
#: A hand from wrist to tip.
_HAND_MM = 190.0
#: What counts as a strong change (grey levels), and how much of it shows that a hand moved anew.
_STRONG, _FLICKS_MM2 = 22, 900.0
_WIDE = np.ones((9, 9), np.uint8)
_SMALL = np.ones((3, 3), np.uint8)


def _resized(image: Image, size: tuple[int, int]) -> Image:
    """The picture at another size: halved while that is possible, which is quick and keeps no noise, then scaled."""
    while image.shape[1] >= 2 * size[0] and image.shape[0] >= 2 * size[1]:
        half = image.shape[1] // 2, image.shape[0] // 2
        image = np.asarray(cv2.resize(image, half, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    if (image.shape[1], image.shape[0]) == size:
        return image
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_LINEAR), dtype=np.uint8)


def _same_shape(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return abs(one[0] / other[0] - one[1] / other[1]) <= 0.02 * one[0] / other[0]
