"""Watches every picture for arms over the table: whose they are, which pile they reach, when they touch it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.cards import Pile, Seat
from referee.instant import Instant
from vision.frame import Frame
from vision.hands.arms import ArmFinder, ArmShape, Lane, nearest_seat
from vision.hands.background import Background
from vision.hands.landing import ABSENT, Landing, LandingReader, LaneView
from vision.hands.news import Contact, Gone, HandNews, HandSeen, Lift, Reached
from vision.hands.pixels import Array, Image, Mask
from vision.hands.timing import SMOOTH, UNMOVED, Arm, Follower, Look, Shutter, Timed
from vision.hands.touchdown import HELD, TWICE, by_both, is_sure
from vision.table import Point, Table

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


class _Asked(Enum):
    """What a hand that was not seen to come to rest must show to be told."""

    SURELY = "the network knows well when it landed"
    AT_ALL = "it may well have landed"

    def is_met_by(self, landing: Landing) -> bool:
        """Whether the network says so much."""
        return is_sure(landing) if self is _Asked.SURELY else landing.absent < _MAY_BE_ABSENT


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """A contact as it was told."""

    seat: Seat | None
    timed: Timed
    rest_ns: int
    followed: Timed
    landing: Landing | None
    """What both witnesses said."""


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
    asked_ns: int = 0
    """When the network was last asked of it."""
    lies_at: Pile | None = None
    """Where it was told to lie though its tip is not seen there."""
    told: _Told | None = None
    """The contact that was told of it last, while it lies there."""
    reached: set[Pile] = field(default_factory=set)


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
        self._views: dict[tuple[Pile, Point], LaneView] = {}
        self._ask_at: dict[Pile, int] = {}

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
        mask = np.zeros(small.shape[:2], np.uint8) if self._watched is None else self._watched.difference(small)
        self._looks.append(Look(frame.at_ns, frame.sd_ns, measured, mask))
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
        if self._timed is None or self._timed:
            LandingReader.shipped()  # loading it must not wait for the first slap
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
        if track.moved:
            track.lies_at = None
        if track.at_pile is None:
            track.at_pile = track.lies_at
        if track.rests_at is not None and track.at_pile != track.rests_at:
            news.append(Lift(hand=track.hand, seat=track.seat, pile=track.rests_at, at=frame.at))
            track.rests_at = track.told = track.lies_at = None
            track.moved = True
        for pile in list(track.reached):
            if pile not in track.over and pile != track.at_pile:
                track.reached.discard(pile)
        if track.at_pile is not None and track.at_pile not in track.reached:
            track.reached.add(track.at_pile)
            news.append(Reached(hand=track.hand, seat=track.seat, pile=track.at_pile, at=frame.at))
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
            contact = self._contact(track, track.at_pile, rested, frame)
            if contact is not None:
                news.append(contact)
        struck = {each.pile for each in news if isinstance(each, Contact) and self._is_timed(each.pile)}
        for pile in struck:
            self._ask_at[pile] = frame.at_ns + _ASK_LAST_NS
        late = {pile for pile, at_ns in self._ask_at.items() if frame.at_ns >= at_ns}
        for pile in late:
            del self._ask_at[pile]
        for pile in struck | late:
            news += self._joining(pile, frame, pile in late)
        return news

    def _is_timed(self, pile: Pile) -> bool:
        return self._timed is None or pile in self._timed

    def _contact(
        self, track: _Track, pile: Pile, rested: Pile | None, frame: Frame, asked: _Asked | None = None
    ) -> Contact | None:
        """What is told of a hand that lies at a pile; ``rested``: at which it was told to lie before.

        ``asked``: because another hand landed, not because it came to rest; what one that was not told before must
        show then.
        """
        rest = len(self._looks) - 1
        landing = self._landing(track, pile, rest) if asked else None
        if asked and track.told is None and (landing is None or not asked.is_met_by(landing)):
            return None
        timed = self._time(track, rest)
        if not asked:
            if timed.reason == UNMOVED:
                return None
            landing = self._landing(track, pile, rest)
        followed, timed = timed, by_both(timed, landing)
        before = track.told
        if before is not None and (rested != pile or before.seat != track.seat):
            before = None
        if before is not None and frame.at_ns - before.rest_ns > _HELD_NS:
            if timed.reason == HELD or timed.at.at_ns < before.rest_ns - _SAME_STOP_NS:
                return None
            before = None  # another slap
        if before is not None:
            told = (
                None
                if landing is None
                else _told_anew(_Told(track.seat, timed, frame.at_ns, followed, landing), before)
            )
            if told is None:
                return None  # others moved about it, or it was stirred
            timed, followed, landing = told.timed, told.followed, told.landing
        track.told = _Told(track.seat, timed, frame.at_ns, followed, landing)
        track.timed_ns = frame.at_ns
        self.measured[track.hand, frame.at_ns] = timed
        return Contact(
            hand=track.hand,
            seat=track.seat,
            pile=pile,
            at=Instant(timed.at.at_ns, int(math.hypot(timed.at.sd_ns, frame.sd_ns))),
            speed_mps=timed.speed_mmps / 1000,
            gentle=_gentle(timed, followed, landing),
            trusted=timed.trusted,
            reason=timed.reason,
            rest_ns=frame.at_ns,
            instead_of=None if before is None else before.rest_ns,
        )

    def _joining(self, pile: Pile, frame: Frame, last: bool) -> list[Contact]:
        """Where one hand has landed others may have: one that never lies still, or whose tip is not seen as its own.

        ``last``: all that will come have come; a hand that is at the pile is told even if its instant is not sure.
        """
        told: list[Contact] = []
        known = {track.seat for track in self._tracks if track.told is not None}
        for track in self._tracks:
            if track.seat is None or track.seen_ns != frame.at_ns:
                continue
            if track.at_pile not in (pile, None) or (track.told is None and track.seat in known):
                continue
            if frame.at_ns - max(track.asked_ns, track.timed_ns) < _ASK_AGAIN_NS:
                continue
            told_for_ns = frame.at_ns - (frame.at_ns if track.told is None else track.told.rest_ns)
            if track.told is not None and track.told.timed.trusted and told_for_ns > _STOP_SHOWS_NS:
                continue
            asked = _Asked.AT_ALL if last and track.at_pile == pile else _Asked.SURELY
            contact = self._contact(track, pile, track.rests_at, frame, asked)
            if contact is not None:
                if track.at_pile is None:
                    track.lies_at = pile
                    track.reached.add(pile)
                track.rests_at = pile
                track.moved = False
                known.add(track.seat)
                told.append(contact)
        return told

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

    def _landing(self, track: _Track, pile: Pile, rest: int) -> Landing | None:
        """When the network says that the hand landed which lies at the pile in picture ``rest``."""
        if track.seat is None:
            return None
        track.asked_ns = self._looks[rest].at_ns
        table = self._measure_table
        pile_mm = table.pile(pile).at_mm
        from_mm = table.seat(track.seat).at_mm
        if track.shape.joined and track.shape.seat is None:
            entry_mm = self._to_mm(track.shape.entry)[0]
            if _between_deg(from_mm, entry_mm, pile_mm) > _ASIDE_DEG:
                # It comes from elsewhere than its player sits: along its own way.
                from_mm = (float(entry_mm[0]), float(entry_mm[1]))
        key = pile, from_mm
        if key not in self._views:
            if len(self._views) > _MOST_VIEWS:
                self._views.clear()
            self._views[key] = LaneView(table, pile_mm, from_mm)
        assert self._sizes is not None
        return LandingReader.shipped().read(self._views[key], tuple(self._looks), rest, self._shutter, self._sizes[0])

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


def _gentle(timed: Timed, followed: Timed, landing: Landing | None) -> float:
    """The probability that nothing hard stopped the hand; one that landed was stopped by what it landed on."""
    gentle = _UNKNOWN
    if timed.kink is not None:
        gentle = max(timed.kink.gentle, _SMOOTHLY * (followed.reason == SMOOTH))
    if landing is None:
        return gentle
    return max(gentle, landing.absent) if timed.reason == HELD else min(gentle, _UNKNOWN)


def _told_anew(now: _Told, before: _Told) -> _Told | None:
    """What is told anew of a hand told to lie there: it has come down since, or is timed otherwise; else None."""
    was, timed, landing = before.timed, now.timed, now.landing
    if timed.reason == HELD or landing is None:
        return None
    later = timed.at.at_ns - was.at.at_ns > 3 * math.hypot(timed.at.sd_ns, min(was.at.sd_ns, _SAME_STOP_NS))
    if was.reason == TWICE and timed.at.at_ns < was.at.at_ns + was.at.sd_ns + 2 * _SAME_STOP_NS:
        return None
    if later and (was.reason == HELD or not was.trusted):
        return now
    if was.at.at_ns < landing.from_ns + _SHOWN_NS:
        # Hardly anything of the earlier stop was looked at.
        if not later or timed.at.sd_ns > _CLEAR_NS:
            return None
        # It has slapped again, or was only held there: either may be its slap.
        span = timed.at.at_ns - was.at.at_ns
        either = Instant(was.at.at_ns + span // 2, span // 2)
        return replace(now, timed=replace(timed, at=either, trusted=False, reason=TWICE, kink=None))
    near = landing.within(was.at.at_ns - _SAME_STOP_NS, was.at.at_ns + _SAME_STOP_NS)
    if later and timed.trusted and near < _NOT_THEN:
        return now  # both stops were seen, and that was none
    if before.landing is None or before.landing.absent > ABSENT:
        return now
    # The same stop, seen once more: where the two readings are at odds, it is doubted.
    landing = Landing.of_both(before.landing, landing)
    followed = before.followed if before.followed.kink is not None else now.followed
    timed = by_both(followed, landing)
    better = timed.at.sd_ns / max(was.at.sd_ns, 1)
    if timed.trusted != was.trusted or better < _BETTER or better > 1 / _BETTER:
        return replace(now, timed=timed, followed=followed, landing=landing)
    return None


def _between_deg(one_mm: Point, other_mm: Array, pile_mm: Point) -> float:
    """How far apart two ways to a pile are."""
    one, other = np.array(one_mm) - pile_mm, other_mm - np.array(pile_mm)
    cos = float(one @ other) / max(float(np.hypot(*one) * np.hypot(*other)), 1e-6)
    return math.degrees(math.acos(min(1.0, max(-1.0, cos))))


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
#: An arm that rests lies within this of where it lay before (entry and tip together).
_SAME_ARM_MM = 160.0
#: Nobody holds a hand over the pile for longer before it strikes: what comes later is another slap.
_HELD_NS = 1_000_000_000
#: Two instants of a hand no farther apart than this are one stop.
_SAME_STOP_NS = 20_000_000
#: Whether something hard stopped a hand: where nothing says, and where it came to rest smoothly.
_UNKNOWN, _SMOOTHLY = 0.5, 0.9
#: Another hand of the slap is asked of anew after so long; and all of them so long after the last was told.
_ASK_AGAIN_NS, _ASK_LAST_NS = 60_000_000, 150_000_000
#: An arm farther from its player's lane than this has a lane of its own; so many lanes are kept.
_ASIDE_DEG, _MOST_VIEWS = 18.0, 64
#: A hand at the pile is told, if only roughly, unless it is surer than this that it did not land.
_MAY_BE_ABSENT = 0.8
#: A hand that was told surely is looked at anew while the pictures still show its stop: for so long.
_STOP_SHOWS_NS = 220_000_000
#: A stop is seen where so much before it is; a later one clearly where it is known so well.
_SHOWN_NS, _CLEAR_NS = 80_000_000, 30_000_000
#: A stop that was seen was no landing where the network gives it less than this.
_NOT_THEN = 0.03
#: A contact is told anew where its doubt is less than this share of what it was, or was of what it is.
_BETTER = 0.6
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
