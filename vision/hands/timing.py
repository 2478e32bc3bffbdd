"""The instant of an arm's contact, from its motion back from where it came to rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.instant import Instant
from vision.hands.background import Background
from vision.hands.kink import Kink, Track, fit
from vision.hands.pixels import Array, Grey, Image, Mask
from vision.hands.register import Affine, Patch, Placed, identity, pyramid, shifted
from vision.hands.stepping import Stepped, stepped

#: How far back from rest the arm is followed, and how much of the approach is fitted.
LOOK_BACK_S = 0.52
_FIT_BACK_S = 0.085
#: Added to every doubt: what the definition of contact and the model of arrest leave open (facts.md: 2 to 3 ms), and
#: a share of the time between pictures for what happens unseen between them (development clips at 60 fps: instants
#: that pass the check are 4 ms off, root mean square; at 30 fps twice that).
_DEFINITION_S, _BETWEEN_SHARE = 0.0025, 0.16
#: A fit below this speed in the picture (mm/s) rests on little but noise.
_SLOWEST = 350.0
#: Full fit and fit of the main movement alone must agree within this, or neither is believed.
_AGREE_S = 0.006
#: The turn and size channels are told in mm at this distance from the patch's middle.
_ARM_REACH_MM = 100.0
#: Beside what registration states: its floor, and its error in shares of the distance moved (perspective, blur).
_FLOOR_MM, _SHARE = 0.15, 0.03


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """One buffered picture: BGR at registration size, its time, and what is not table in it, at any size."""

    at_ns: int
    sd_ns: int
    picture: Image
    mask: Mask = field(default_factory=lambda: np.zeros((1, 1), np.uint8))


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """An arm as it lies at rest, in pixels of registration size.

    ``mask``: (h, w) uint8 its own pixels. ``inward``: unit vector from the table's edge to the fingertips.
    ``tip``: (x, y). ``px_per_mm``: the picture's scale there.
    """

    mask: Mask
    inward: Array
    tip: Array
    px_per_mm: float
    others: tuple[tuple[Array, Array], ...] = ()
    """Other arms over the table at that time: their entry and tip."""
    whole: bool = True
    """Whether its hand is in the mask too, not hidden by or mixed with others."""


@dataclass(frozen=True, slots=True, eq=False)
class Timed:
    """When an arm touched down, and how far that is to be believed.

    ``trusted``: it passed its self-check. ``kink`` None: the arm could not be followed.
    ``followed``: (n,) times in ns and ``moved_mm``: (n, 4) along, across, turn and size, as registered.
    """

    at: Instant
    trusted: bool
    reason: str
    kink: Kink | None
    followed: NDArray[np.int64]
    moved_mm: Array
    speed_mmps: float
    likeness: float = 0.0
    """How like the arm was to its picture at rest while it moved, 1 at best."""

    @property
    def travel_mm(self) -> float:
        """How far from its rest the arm was followed."""
        return float(np.hypot.reduce(self.moved_mm, axis=1).max(initial=0.0))

    def fastest_mmps(self) -> float:
        """How fast it was in the picture on the way to contact: a quarter of the time faster."""
        if len(self.followed) < 3:
            return 0.0
        steps = np.diff(self.followed) / 1e9
        speed = np.hypot(*np.diff(self.moved_mm[:, :2], axis=0).T) / np.maximum(steps, 1e-4)
        middle = (self.followed[1:] + self.followed[:-1]) / 2
        before = (middle < self.at.at_ns) & (middle > self.at.at_ns - _JUDGED_NS)
        # A single step is as noisy as its two ends.
        return float(np.percentile(speed[before], 75)) if before.any() else 0.0

    def moved_before(self, ns: int) -> float:
        """How far from its rest the arm was within so long before the contact."""
        near = (self.followed >= self.at.at_ns - ns) & (self.followed <= self.at.at_ns)
        return float(np.hypot.reduce(self.moved_mm[near], axis=1).max(initial=0.0))


@dataclass(frozen=True, slots=True)
class Shutter:
    """How the camera reads its picture: ``readout_s`` from the first line to the last, and the doubt of it.

    ``axis``: (dx, dy), the direction in which lines follow each other in the upright picture: (0, 1) from the
    top, (-1, 0) from the right (the phone was turned). A frame's time is that of the middle line.
    """

    readout_s: float = 0.0
    sd_s: float = 0.0
    axis: tuple[float, float] = (0.0, 1.0)

    def delay_s(self, at_px: Array, size_px: tuple[int, int]) -> Array:
        """(…,) seconds after the frame's own time at which the picture's points (…, 2) were taken."""
        return self.readout_s * self.share(at_px, size_px)

    def share(self, at_px: Array, size_px: tuple[int, int]) -> Array:
        """(…,) -0.5 for the first line read to 0.5 for the last."""
        x, y = at_px[..., 0] / size_px[0] - 0.5, at_px[..., 1] / size_px[1] - 0.5
        return np.asarray(np.clip(x * self.axis[0] + y * self.axis[1], -0.5, 0.5))


def _flicked(hand: Timed) -> bool:
    """Whether a hand's movement before contact is a pitching of the palm: little, and seen from its beginning."""
    if len(hand.followed) == 0 or hand.followed[0] > hand.at.at_ns - _FLICK_NS:
        return False
    return _FLICK_MM[0] < hand.moved_before(_FLICK_NS) < _FLICK_MM[1]


def _wider(sd_ns: int, by_ns: int) -> int:
    return round(math.hypot(sd_ns, by_ns))


class Follower:
    """Follows arms back from rest through buffered pictures of one slap; masks are shared between arms."""

    def __init__(self, looks: Sequence[Look], background: Background, shutter: Shutter | None = None) -> None:
        """``background`` has the registration size of the looks."""
        self.looks = looks
        self.background = background
        self.shutter = shutter or Shutter()
        self._masks: dict[int, Mask] = {}
        self._soft: dict[int, Grey] = {}
        self._greys: dict[int, Grey] = {}
        self._changes: dict[int, NDArray[np.int16]] = {}
        self._pyramids: dict[tuple[int, int], list[Grey]] = {}

    def mask(self, k: int) -> Mask:
        """What is not table in picture k."""
        if k not in self._masks:
            self._masks[k] = self.background.difference(self.looks[k].picture, fine=True)
        return self._masks[k]

    def _picture(self, k: int, level: float) -> Grey:
        """The picture with the table painted over evenly: only arms are left to register."""
        if k not in self._soft:
            self._soft[k] = cv2.GaussianBlur(self.mask(k).astype(np.float32) / 255, (0, 0), 1.0)
            self._greys[k] = cv2.cvtColor(self.looks[k].picture, cv2.COLOR_BGR2GRAY).astype(np.float32)
        soft = self._soft[k]
        return self._greys[k] * soft + (1 - soft) * np.float32(level)

    def _pyramid(self, k: int, level: float) -> list[Grey]:
        key = k, round(level)
        if key not in self._pyramids:
            self._pyramids[key] = pyramid(self._picture(k, level))
        return self._pyramids[key]

    def time(self, arm: Arm, rest: int, arm_at: Callable[[int], Arm | None] | None = None, before_ns: int = 0) -> Timed:
        """The contact of an arm that lies still in picture ``rest``.

        ``arm_at`` gives the same arm as it lies in an earlier picture: before others came to lie on it.
        ``before_ns``: if it has not moved since, there is nothing to time.
        """
        looks = self.looks
        at_rest = looks[rest].at_ns
        guesses = self._came_to_rest(arm, rest)
        if not guesses:
            return _lost(at_rest, "too little of the arm is seen at rest")
        if looks[max(guesses)].at_ns <= before_ns:
            return _lost(at_rest, UNMOVED)
        step = self._stepped(arm, rest)
        if step is None or step.share < _STEPPED_SHARE:
            tried = [self._time_from(arm, rest, since, arm_at) for since in guesses]
            best = self._or_hand(arm, rest, _agreed(tried))
            return _unchecked(best) if best.trusted else best
        tried = [self._time_from(arm, rest, since, arm_at) for since in self._guesses_by(step, rest)]
        fitting = [timed for timed in tried if timed.kink is not None and _fits(timed, step)]
        best = self._or_hand(arm, rest, _agreed(fitting or tried))
        return _with_pictures(best, step)

    def _stepped(self, arm: Arm, rest: int) -> Stepped | None:
        """The first picture in which the arm lay as it does in picture ``rest``."""
        first = next(k for k in range(rest + 1) if self.looks[rest].at_ns - self.looks[k].at_ns <= LOOK_BACK_S * 1e9)
        looks = self.looks[first : rest + 1]
        if len(looks) < 3:
            return None
        return stepped(
            [look.picture for look in looks], [look.at_ns for look in looks], arm.mask, self.background.noise
        )

    def _guesses_by(self, step: Stepped, rest: int) -> list[int]:
        """The last picture in which the arm still moved: before it was near, and before it lay still."""
        guesses: list[int] = []
        for at_ns in (step.near_ns, step.at_ns):
            moving = at_ns - step.step_ns // 4
            if not guesses or moving - self.looks[guesses[-1]].at_ns > _SAME_GUESS_NS:
                guesses.append(max((k for k in range(rest) if self.looks[k].at_ns < moving), default=0))
        return guesses

    def _or_hand(self, arm: Arm, rest: int, best: Timed) -> Timed:
        """The contact of the hand alone where it came down after its arm, and is seen to."""
        if not arm.whole:
            return best
        hand = self._hand_alone(arm, rest, best)
        if hand is None or hand.kink is None or best.kink is None:
            return best
        later = hand.at.at_ns - best.at.at_ns
        sure = 2.5 * math.hypot(hand.at.sd_ns, best.at.sd_ns)
        if later < sure or hand.likeness < _FLICK_LIKE or not _flicked(hand):
            return best
        if hand.kink.misfit < _FLICK_MISFIT and hand.at.sd_ns < 6_000_000:
            # It flicked from the wrist: the arm had come to rest before.
            at = Instant(hand.at.at_ns, _wider(hand.at.sd_ns, _FLICK_SD_NS))
            return replace(hand, trusted=True, reason="", at=at)
        worse = Instant(best.at.at_ns, max(best.at.sd_ns, later))
        return replace(best, at=worse, trusted=False, reason="hand and arm came to rest at different times")

    def _hand_alone(self, arm: Arm, rest: int, whole: Timed) -> Timed | None:
        """The contact from the hand without its arm."""
        ys, xs = np.mgrid[: arm.mask.shape[0], : arm.mask.shape[1]]
        near = np.hypot(xs - arm.tip[0], ys - arm.tip[1]) < _HAND_ONLY_MM * arm.px_per_mm
        hand = replace(arm, mask=np.where(near, arm.mask, 0).astype(np.uint8))
        # Only where it moved clearly later than the whole arm came to rest.
        guesses = self._came_to_rest(hand, rest)[-2:]
        guesses = [k for k in guesses if self.looks[k].at_ns > whole.at.at_ns + 4_000_000]
        tried = [self._time_from(hand, rest, since, None) for since in guesses]
        return max(tried, key=lambda timed: timed.at.at_ns if timed.kink is not None else 0, default=None)

    def _time_from(self, arm: Arm, rest: int, since: int, arm_at: Callable[[int], Arm | None] | None) -> Timed:
        """The contact of an arm of which it is supposed that it moved last in picture ``since``."""
        looks = self.looks
        clear = min(rest, since + max(1, self._count(since, _SETTLED_NS)))
        chosen = arm
        if arm_at is not None and clear < rest and not arm.whole:
            # As early as it is sure to lie: later ones may lie on it.
            for k in range(clear, since, -1):
                earlier = arm_at(k)
                if earlier is not None and earlier.whole:
                    chosen, clear = earlier, k
                    break
        mask = chosen.mask
        if not chosen.whole:
            # What changed since then is others', that lie on it or passed over it.
            mask = np.where(self._last_change(rest) <= since + 1, mask, 0).astype(np.uint8)
        patch, level = self._patch(replace(chosen, mask=mask), clear)
        if patch is None:
            return _lost(looks[clear].at_ns, "too little of the arm is seen at rest")
        first = next(k for k in range(len(looks)) if looks[k].at_ns >= looks[since].at_ns - _FOLLOW_NS)
        placed: dict[int, Placed] = {}
        self._follow(patch, chosen, range(clear, first - 1, -1), since, level, placed)
        last = min(len(looks) - 1, rest, clear + 3)
        self._follow(patch, chosen, range(clear + 1, last + 1), since, level, placed)
        order = sorted(placed)
        track, times = self._track(patch, chosen, order, placed)
        timed = _judge(track, times, looks[clear].at_ns)
        reach = looks[since].at_ns - _JUDGED_NS
        moving = [placed[k].likeness for k in order if k <= since and looks[k].at_ns >= reach]
        return _checked(replace(timed, likeness=float(np.mean(moving)) if moving else 0.0))

    def _count(self, k: int, ns: int) -> int:
        """How many pictures from k on make up so long a time."""
        return sum(1 for look in self.looks[k + 1 :] if look.at_ns <= self.looks[k].at_ns + ns)

    def _last_change(self, rest: int) -> NDArray[np.int16]:
        """(h, w) the last picture in which a pixel was otherwise than in picture ``rest``; -1: it never was."""
        if rest not in self._changes:
            limit = 7.0 + 2.5 * self.background.noise
            now = cv2.blur(self.looks[rest].picture, (3, 3))
            last = np.full(now.shape[:2], -1, np.int16)
            open_yet = np.ones(now.shape[:2], bool)
            for k in range(rest - 1, -1, -1):
                if self.looks[rest].at_ns - self.looks[k].at_ns > LOOK_BACK_S * 1e9:
                    break
                off = cv2.absdiff(cv2.blur(self.looks[k].picture, (3, 3)), now)
                changed = (cv2.transform(off, _LARGEST).squeeze() > 3 * limit) & open_yet
                last[changed] = k
                open_yet &= ~changed
            self._changes[rest] = last
        return self._changes[rest]

    def _came_to_rest(self, arm: Arm, rest: int) -> list[int]:
        """The last picture in which the arm still moved, in several guesses, the earliest first.

        Its textured pixels changed last then; but those that others passed over or cover changed later, and those
        that slid over what looks like them changed before.
        """
        grey = cv2.GaussianBlur(cv2.cvtColor(self.looks[rest].picture, cv2.COLOR_BGR2GRAY), (0, 0), 1.0)
        slope = cv2.magnitude(cv2.Scharr(grey, cv2.CV_32F, 1, 0), cv2.Scharr(grey, cv2.CV_32F, 0, 1))
        inside = cv2.erode(arm.mask, _DISC5) > 0
        if int(inside.sum()) < 300:
            return []
        textured = inside & (slope > np.percentile(slope[inside], 60))
        when = self._last_change(rest)[textured]
        when = when[when >= 0]
        if len(when) < 60:
            return []
        guesses: list[int] = []
        for k in np.percentile(when, (25, 50, 75)).astype(int):
            if not guesses or self.looks[k].at_ns - self.looks[guesses[-1]].at_ns > _SAME_GUESS_NS:
                guesses.append(int(k))
        return guesses

    def _patch(self, arm: Arm, k: int, *, hand_only: bool = False) -> tuple[Patch | None, float]:
        """The arm as it lies in picture k, and the grey level that the table is painted with."""
        weights = cv2.dilate(arm.mask, _DISC5).astype(np.float32) / 255
        weights *= self._own(arm)
        if hand_only:
            ys, xs = np.mgrid[: weights.shape[0], : weights.shape[1]]
            weights[np.hypot(xs - arm.tip[0], ys - arm.tip[1]) > _HAND_ONLY_MM * arm.px_per_mm] = 0
        grey = cv2.cvtColor(self.looks[k].picture, cv2.COLOR_BGR2GRAY)
        if int((weights > 0.02).sum()) < 400:
            return None, 0.0
        inner = (arm.mask > 0) & (weights > 0.5)
        level = float(grey[inner].mean()) if inner.any() else 128.0
        level += _CONTRAST if level < 150 else -_CONTRAST
        return Patch(self._picture(k, level), weights), level

    def _still(self, patch: Patch, pictures: Sequence[Grey], warp: Affine, arm: Arm, within_mm: float) -> Placed | None:
        """Where the patch lies if it lies about where it rests, give or take what a hand slides; else None."""
        found = patch.find(pictures, [warp])
        middle = found.warp[:, :2] @ patch.middle + found.warp[:, 2]
        near = float(np.hypot(*(middle - patch.middle))) < within_mm * arm.px_per_mm
        return found if near and found.likeness > _LEAST_LIKE else None

    def _own(self, arm: Arm) -> Grey:
        """1 where the arm's own pixels are surely its own: clear of the axes of others."""
        height, width = arm.mask.shape
        own = np.ones((height, width), np.float32)
        for entry, tip in arm.others:
            other = np.zeros((height, width), np.uint8)
            beyond = tip + (tip - entry) / max(float(np.hypot(*(tip - entry))), 1.0) * 12 * arm.px_per_mm
            cv2.line(other, _whole(entry), _whole(beyond), 255, max(1, int(84 * arm.px_per_mm)))
            own[other > 0] = 0.0
        return own

    def _follow(
        self, patch: Patch, arm: Arm, frames: Sequence[int], since: int, level: float, placed: dict[int, Placed]
    ) -> None:
        """Follow the patch from picture to picture; pictures in which it can't be made out are left out.

        From picture ``since`` on it is known to lie still.
        """
        warp = before = identity()
        missed = 0
        last = moving_since = self.looks[frames[0]].at_ns if len(frames) else 0
        for k in frames:
            at_ns = self.looks[k].at_ns
            pictures = self._pyramid(k, level)
            found = self._still(patch, pictures, warp, arm, _SETTLES_MM) if k > since else None
            if found is None and k > since:
                continue  # hidden
            if found is None:
                found = self._moved(patch, pictures, warp, before, abs(at_ns - last) / 1e9, arm)
            if found.seen < 0.2 or found.likeness < _LEAST_LIKE or not _possible(found):
                missed += 1
                if missed > 2:
                    break
                continue
            missed, last = 0, at_ns
            before, warp = warp, found.warp
            placed[k] = found
            middle = warp[:, :2] @ patch.middle + warp[:, 2]
            if float(np.hypot(*(middle - patch.middle))) < _STILL_MM * arm.px_per_mm:
                moving_since = at_ns
            elif moving_since - at_ns > _FOLLOW_NS:
                break

    def _moved(
        self, patch: Patch, pictures: Sequence[Grey], warp: Affine, before: Affine, step_s: float, arm: Arm
    ) -> Placed:
        """Where the patch went: from where it was, where it was going, and the likeliest places around."""
        across = np.array([-arm.inward[1], arm.inward[0]])
        starts = [warp, shifted(warp, warp[:, 2] - before[:, 2])]
        far = _FASTEST_MMPS * min(max(step_s, 1e-3), _LONGEST_STEP_S) * arm.px_per_mm
        along = np.arange(-far, 0.35 * far, _SCAN_MM * arm.px_per_mm)
        aside = np.arange(-0.6 * far, 0.6 * far + 1, _SCAN_MM * arm.px_per_mm)
        grid = np.stack(np.meshgrid(along, aside), axis=-1).reshape(-1, 2)
        shifts = grid[:, :1] * arm.inward + grid[:, 1:] * across
        likeness = patch.scan(pictures, warp, shifts)
        for i in _peaks(likeness, shifts, 2.5 * _SCAN_MM * arm.px_per_mm):
            starts.append(shifted(warp, shifts[i]))
        return patch.find(pictures, starts)

    def _track(
        self, patch: Patch, arm: Arm, order: list[int], placed: dict[int, Placed]
    ) -> tuple[Track, NDArray[np.int64]]:
        across = np.array([-arm.inward[1], arm.inward[0]])
        height, width = arm.mask.shape
        lever = _ARM_REACH_MM / patch.reach
        rows, doubts, times = [], [], []
        for k in order:
            found = placed[k]
            warp = found.warp
            at = warp[:, :2] @ patch.middle + warp[:, 2]
            shift = (at - patch.middle) / arm.px_per_mm
            size = math.sqrt(max(float(np.linalg.det(warp[:, :2])), 1e-6)) - 1
            turn = math.atan2(warp[1, 0] - warp[0, 1], warp[0, 0] + warp[1, 1])
            sd = np.sqrt(np.maximum(np.diag(found.covariance), 0.0))
            rows.append([shift @ arm.inward, shift @ across, turn * _ARM_REACH_MM, size * _ARM_REACH_MM])
            distance = float(np.hypot(*shift))
            sd_shift = max(sd[2], sd[3]) / arm.px_per_mm
            unlike = _UNLIKE_MM * max(0.0, 1 - found.likeness)
            extra = math.hypot(_FLOOR_MM, _SHARE * distance + unlike)
            doubts.append([math.hypot(x, extra) for x in (sd_shift, sd_shift, sd[1] * lever, sd[0] * lever)])
            times.append(self.looks[k].at_ns + int(1e9 * float(self.shutter.delay_s(at, (width, height)))))
        stamps = np.array(times, dtype=np.int64)
        seconds = np.repeat(((stamps - stamps[0]) / 1e9)[:, None], 4, axis=1)
        return Track(seconds, np.array(rows), np.array(doubts)), stamps


def _misfit_limit(step_s: float) -> float:
    """The misfit up to which a fit is believed: the denser the pictures, the more the model's own error shows."""
    return float(np.clip(_TRUSTED_MISFIT * _MISFIT_STEP_S / max(step_s, 1e-4), 0.4, 3.0))


def _checked(timed: Timed) -> Timed:
    """The doubt that likeness adds, and the rest of the self-check."""
    if timed.kink is None:
        return timed
    unlike_ns = _UNLIKE_NS * max(0.0, 1 - timed.likeness)
    out = replace(timed, at=Instant(timed.at.at_ns, round(math.hypot(timed.at.sd_ns, unlike_ns))))
    if not timed.trusted:
        return out
    reason = ""
    step_ns = float(np.median(np.diff(timed.followed))) if len(timed.followed) > 1 else 0.0
    if step_ns > _SPARSE_NS and timed.likeness < _SURE_LIKE_SPARSE:
        # With few pictures on the way a wrong one is not outvoted.
        out = replace(out, at=Instant(out.at.at_ns, _wider(out.at.sd_ns, _SPARSE_SD_NS)))
    if timed.likeness < _TRUSTED_LIKE:
        reason = "the arm could not be followed well"
    elif timed.kink.misfit > _misfit_limit(step_ns / 1e9):
        reason = MISFIT
    elif timed.moved_before(_JUDGED_NS) < _TRUSTED_MM:
        reason = "it hardly moved before"
    elif timed.speed_mmps < _ABRUPT * timed.fastest_mmps():
        reason = SMOOTH
    return replace(out, trusted=not reason, reason=reason)


def _agreed(tried: list[Timed]) -> Timed:
    """Of several measurements of one contact the one that most speaks for; none if believable ones disagree."""
    best = max(tried, key=_worth)
    if best.trusted:
        for other in tried:
            apart = abs(other.at.at_ns - best.at.at_ns)
            if other.trusted and apart > 3 * math.hypot(best.at.sd_ns, other.at.sd_ns):
                worse = Instant(best.at.at_ns, max(best.at.sd_ns, apart))
                return replace(best, at=worse, trusted=False, reason="two ways of following the arm disagree")
    return best


def _worth(timed: Timed) -> float:
    """How good a measurement looks: followed over a fast approach, alike all the way, fitted well."""
    if timed.kink is None:
        return -1.0
    travel = min(timed.travel_mm / 60, 1.0)
    return float(timed.trusted) + (timed.likeness - 0.3 * math.log1p(timed.kink.misfit)) * travel


def _judge(track: Track, times: NDArray[np.int64], at_rest_ns: int) -> Timed:
    """Fit the stop, and check it."""
    seconds = track.at_s[:, 0]
    if len(seconds) < 5:
        return _lost(at_rest_ns, "too few pictures in which the arm could be followed")
    rough = _rough_stop(track)
    step = float(np.median(np.diff(seconds)))
    begin = rough - max(_FIT_BACK_S, 4.2 * step)
    chosen = track.where((seconds >= begin) & (seconds <= rough + 0.09))
    if len(chosen.at_s) < 4:
        return _lost(at_rest_ns, "too few pictures in which the arm could be followed")
    low, high = rough - 0.012 - 2.2 * step, rough + 0.012 + 0.6 * step
    exposures = np.array([0.001, 0.004, 0.008, 0.014])
    exposures = exposures[exposures < step] if (exposures < step).any() else exposures[:1]
    full = fit(chosen, low, high, exposures)
    if full.misfit > _DROPS_FROM:
        # Far from rest a picture may have been followed wrongly: what lies far off the fit is left out, once.
        off = np.abs((chosen.moved_mm - full.fitted_mm) / chosen.sd_mm).max(axis=1)
        good = (off < 3.0) | (np.abs(chosen.at_s[:, 0] - full.at_s) < 1.2 * step)
        if good.sum() >= 5 and not good.all():
            chosen = chosen.where(good)
            full = fit(chosen, low, high, exposures)
    way = full.speed_mmps[:2] / max(float(np.hypot(*full.speed_mmps[:2])), 1e-6)
    along = Track(chosen.at_s[:, :1], (chosen.moved_mm[:, :2] @ way)[:, None], chosen.sd_mm[:, :1])
    main = fit(along, low, high, exposures)
    speed = float(np.hypot(full.speed_mmps[0], full.speed_mmps[1]))
    base = times[0]
    fit_s = full.sd_s * math.sqrt(max(1.0, full.misfit))
    at = Instant(int(base + full.at_s * 1e9), int(math.hypot(fit_s, _DEFINITION_S, _BETWEEN_SHARE * step) * 1e9))
    reason = ""
    if speed < _SLOWEST:
        reason = f"slow in the picture ({speed / 1000:.2f} m/s)"
    elif abs(full.at_s - main.at_s) > max(_AGREE_S, 2 * main.sd_s):
        reason = "whole movement and movement along the lane disagree"
    elif full.misfit > _misfit_limit(step):
        reason = MISFIT
    elif full.gentle > 0.5:
        reason = "nothing hard stopped it"
    return Timed(at, not reason, reason, full, times, track.moved_mm, speed)


def _unchecked(timed: Timed) -> Timed:
    """A contact of which no pictures say when the arm came to lie there."""
    at = Instant(timed.at.at_ns, _wider(timed.at.sd_ns, _ALONE_SD_NS))
    return replace(timed, at=at, trusted=False, reason="too little of it shows when it came to rest")


def _fits(timed: Timed, step: Stepped) -> bool:
    """Whether a contact can have been followed by what was seen in the pictures."""
    settles = _SETTLES_NS * (3 if timed.likeness > _SURE_LIKE else 1)
    return min(step.before_ns, step.far_ns) - settles <= timed.at.at_ns <= step.after_ns


def _by_pictures(step: Stepped) -> Instant:
    """The contact from the pictures in which the arm was first near its rest, and at rest."""
    late = step.at_ns - _LATE_SHARE * step.step_ns - _LATE_NS
    early = step.near_ns - _EARLY_SHARE * step.step_ns
    slides = max(late - early - _AT_ONCE_NS, 0.0)
    at = min(late, early + _AT_ONCE_NS / 2) - _SLIDES_SHARE * slides
    sd = math.hypot(_STEPPED_SD_NS, _STEPPED_SHARE_SD * step.step_ns, _SPREAD_SD * step.spread_ns, _SLIDES_SD * slides)
    return Instant(round(at), round(sd))


def _with_pictures(timed: Timed, step: Stepped) -> Timed:
    """A contact that was followed, checked against the pictures in which the arm first lay still; or these alone."""
    pictures = _by_pictures(step)
    fits = _fits(timed, step)
    if timed.trusted and not fits:
        # The windows may be another arm's that lies on it: neither is sure.
        at = Instant(timed.at.at_ns, _wider(_ALONE_SD_NS, abs(timed.at.at_ns - pictures.at_ns) // 3))
        return replace(timed, at=at, trusted=False, reason="it lay still at another time")
    if timed.kink is None or timed.likeness < _LEAST_LIKE or not fits:
        alone = Instant(pictures.at_ns, _wider(pictures.sd_ns, _ALONE_SD_NS))
        return replace(timed, at=alone, trusted=False, kink=None)
    smooth = timed.reason == SMOOTH or timed.kink.gentle > 0.5
    late = step.at_ns - timed.at.at_ns
    agrees = 0 < late < _AGREES_NS + round(_LATE_SHARE * step.step_ns)
    if smooth and timed.likeness > _TRUSTED_LIKE:
        return timed
    if timed.trusted and step.windows < _FEW_WINDOWS:
        return _unchecked(timed)
    if agrees and timed.reason == MISFIT and _passes(timed, step.step_ns):
        timed = replace(timed, trusted=True, reason="")
    if timed.trusted:
        # It would have slid on for so long: possible, but so is a picture followed wrongly.
        free_ns, share = _SLID_LIKE[0] if timed.likeness < _SURELY_LIKE else _SLID_LIKE[1]
        slid = max(late - free_ns, 0)
        return replace(timed, at=Instant(timed.at.at_ns, _wider(timed.at.sd_ns, round(share * slid))))
    # Followed badly: as good a witness as the pictures, no better.
    followed = _wider(timed.at.sd_ns, _UNCHECKED_SD_NS)
    weight = pictures.sd_ns**2 / (pictures.sd_ns**2 + followed**2)
    mean = round(pictures.at_ns + weight * (timed.at.at_ns - pictures.at_ns))
    spread = _wider(round(pictures.sd_ns * math.sqrt(1 - weight)), abs(timed.at.at_ns - pictures.at_ns) // 3)
    return replace(timed, at=Instant(mean, _wider(spread, _ALONE_SD_NS)))


def _passes(timed: Timed, step_ns: int) -> bool:
    """Whether a contact whose fit is poor passes all other checks, and the fit is not too poor."""
    assert timed.kink is not None
    return (
        timed.likeness > _MISFITS_LIKE
        and timed.kink.misfit < _MISFITS * _misfit_limit(step_ns / 1e9)
        and timed.kink.gentle <= 0.5
        and timed.speed_mmps > max(_SLOWEST, _ABRUPT * timed.fastest_mmps())
        and timed.moved_before(_JUDGED_NS) > _TRUSTED_MM
    )


def _possible(found: Placed) -> bool:
    """Whether an arm can have turned and grown so."""
    size = math.sqrt(max(float(np.linalg.det(found.warp[:, :2])), 1e-6)) - 1
    turn = math.atan2(found.warp[1, 0] - found.warp[0, 1], found.warp[0, 0] + found.warp[1, 1])
    return -_SHRINKS < size < _GROWS and abs(turn) < _TURNS


def _peaks(likeness: Array, at: Array, apart: float, most: int = 2) -> list[int]:
    """The likeliest shifts that lie apart from each other."""
    chosen: list[int] = []
    for i in np.argsort(-likeness)[:60]:
        if all(float(np.hypot(*(at[i] - at[j]))) > apart for j in chosen):
            chosen.append(int(i))
            if len(chosen) == most:
                break
    return chosen


def _rough_stop(track: Track) -> float:
    """When, to a picture or so, the last quick movement ended, seconds as in the track."""
    seconds = track.at_s[:, 0]
    place = np.column_stack([track.moved_mm[:, :2], 0.7 * track.moved_mm[:, 2:]])
    steps = np.diff(seconds)
    speed = np.hypot.reduce(np.diff(place, axis=0), axis=1) / np.maximum(steps, 1e-4)
    fast = np.flatnonzero(speed > max(_STEADY_MMPS, 0.12 * float(speed.max())))
    if len(fast) == 0:
        return float(seconds[-1])
    last = int(fast[-1])
    burst = speed[(seconds[:-1] > seconds[last] - 0.1) & (seconds[:-1] <= seconds[last])]
    limit = 0.35 * float(burst.max())
    k = last
    while k > 0 and speed[k] < limit:
        k -= 1
    return float(seconds[k + 1])


def _lost(at_ns: int, reason: str) -> Timed:
    empty = np.zeros((0, 4))
    return Timed(Instant(at_ns, int(60e6)), False, reason, None, np.zeros(0, np.int64), empty, 0.0)


#: No hand is faster in the picture; shifts are tried in steps of so many mm.
_FASTEST_MMPS, _SCAN_MM = 5500.0, 8.0
#: Over a longer gap than this the scan would take in the whole table.
_LONGEST_STEP_S = 0.036
#: So long after it came to rest an arm is looked at as it lies: by then it has settled.
_SETTLED_NS = 50_000_000
#: Guesses at when an arm came to rest that lie nearer than this need not both be tried.
_SAME_GUESS_NS = 28_000_000
_LARGEST = np.ones((1, 3), np.float32)
#: A hand from its tip to the wrist.
_HAND_ONLY_MM = 115.0
#: What shows that a hand flicked: it is followed well, and moves no farther than a palm's pitching within so long.
_FLICK_LIKE, _FLICK_MISFIT, _FLICK_MM, _FLICK_NS, _FLICK_SD_NS = 0.72, 0.9, (2.5, 16.0), 45_000_000, 4_000_000
#: What a believable measurement shows: likeness while it moved, misfit, way before contact, and how much of its
#: highest speed it still had at contact. Set on 40 development clips: of those beyond, most were 10 to 100 ms off.
_TRUSTED_LIKE, _TRUSTED_MISFIT, _TRUSTED_MM, _ABRUPT = 0.61, 0.75, 26.0, 0.45
#: The misfit's limit is for pictures so far apart.
_MISFIT_STEP_S = 1 / 60
_SURE_LIKE_SPARSE, _SPARSE_NS, _SPARSE_SD_NS = 0.85, 25_000_000, 13_000_000
#: A likeness of 0 would add this to the doubt.
_UNLIKE_NS = 16_000_000
#: A first picture at rest is worth something where of the windows that moved so many came then. It comes late by a
#: share of the time between pictures and by so much (arrest and shutter); that of being near by a share. A hand that
#: rests no later after it was near than this did not slide; else contact was earlier by a share of how much later.
_STEPPED_SHARE, _LATE_SHARE, _LATE_NS, _EARLY_SHARE = 0.35, 0.3, 5_000_000, 0.8
_AT_ONCE_NS, _SLIDES_SHARE = 12_000_000, 0.3
#: The doubt: by itself, shares of the time between pictures, of the spread of the windows' arrivals, and of the time
#: it slid; and that of a contact that was followed badly. Set on the hands of 7 development clips at 60 fps.
_STEPPED_SD_NS, _STEPPED_SHARE_SD, _SPREAD_SD, _SLIDES_SD = 5_000_000, 0.25, 0.1, 0.6
_UNCHECKED_SD_NS = 8_000_000
#: What stands for a contact that was not followed is off by more than that says: of 31 hands of 24 clips at 60 fps,
#: half by more than 17 ms and one in ten by more than 80, since the windows may be another arm's.
_ALONE_SD_NS = 40_000_000
#: A contact that lies longer than this before the arm lay still is doubted by a share of what is more: below a
#: likeness, and above it. Set on the trusted instants of 60 development clips at 60 fps, as is what follows.
_SURELY_LIKE, _SLID_LIKE = 0.9, ((18_000_000, 0.8), (25_000_000, 0.2))
#: Pictures agree with a fit when the arm lay still no later after it than this and a share of the time between them.
_AGREES_NS = 19_000_000
#: Where they do, a fit may be poorer by so much, if the arm was so like its rest. Fewer windows say nothing.
_MISFITS, _MISFITS_LIKE, _FEW_WINDOWS = 1.75, 0.77, 100
#: A hand slides, and a long shutter shows it moving, so long after contact; where it was alike all the way, thrice.
_SETTLES_NS, _SURE_LIKE = 12_000_000, 0.8
#: The reason where an arm did not move since it was last timed.
UNMOVED = "it has not moved"
#: The reason where approach and stop do not fit.
MISFIT = "the movement does not look like an approach and a stop"
#: The reason where a hand stopped by itself.
SMOOTH = "it came to rest smoothly"
#: The likeness of the arm is judged over so much of its approach.
_JUDGED_NS = 80_000_000
#: From this misfit on pictures are left out of the fit.
_DROPS_FROM = 0.8
#: Slower than this (mm/s) an arm settles, slides or is breathed by the noise.
_STEADY_MMPS = 250.0
#: So far may an arm slide and settle after it was stopped (mm).
_SETTLES_MM = 22.0
#: Less than this from its rest an arm lies still (mm); a moving one is followed back for so long.
_STILL_MM, _FOLLOW_NS = 4.0, 140_000_000
#: An arm comes from above: bigger by up to so much, hardly ever smaller; and it turns by up to so much (rad).
_GROWS, _SHRINKS, _TURNS = 0.25, 0.12, 0.5
#: Below this correlation the arm was not made out; what is unlike is so much less sure (mm).
_LEAST_LIKE, _UNLIKE_MM = 0.5, 4.0
#: Grey levels by which the painted table stands off from the arm, so that the arm's outline can be registered too.
_CONTRAST = 30.0
_DISC5 = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (5, 5))


def _whole(point: Array) -> tuple[int, int]:
    return round(float(point[0])), round(float(point[1]))
