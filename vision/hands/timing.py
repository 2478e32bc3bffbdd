"""The instant of an arm's contact, from its motion back from where it came to rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.instant import Instant
from vision.hands.background import Background
from vision.hands.kink import Kink, Track, fit
from vision.hands.pixels import Array, Grey, Image, Mask
from vision.hands.register import Affine, Patch, identity, pyramid, shifted

#: How far back from rest the arm is followed, and how much of the approach is fitted.
LOOK_BACK_S = 0.26
_FIT_BACK_S = 0.085
#: Added to every doubt: what the definition of contact and the model of arrest leave open (facts.md: 2 to 3 ms).
_DEFINITION_S = 0.0022
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
    """One buffered picture: BGR at registration size, and its time."""

    at_ns: int
    sd_ns: int
    picture: Image


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

    def time(self, arm: Arm, rest: int) -> Timed:
        """The contact of an arm that lies still in picture ``rest``."""
        looks = self.looks
        at_rest = looks[rest].at_ns
        first = next(k for k in range(len(looks)) if looks[k].at_ns >= at_rest - LOOK_BACK_S * 1e9)
        weights = cv2.dilate(arm.mask, _DISC5).astype(np.float32) / 255
        weights *= self._own(arm)
        grey = cv2.cvtColor(looks[rest].picture, cv2.COLOR_BGR2GRAY)
        if int((weights > 0.02).sum()) < 400:
            return _lost(at_rest, "too little of the arm is seen at rest")
        inner = (arm.mask > 0) & (weights > 0.5)
        level = float(grey[inner].mean()) if inner.any() else 128.0
        level += _CONTRAST if level < 150 else -_CONTRAST
        patch = Patch(self._picture(rest, level), weights)
        last = min(len(looks) - 1, rest + 2)
        placed: dict[int, tuple[Affine, Array, float, float]] = {}
        self._follow(patch, arm, rest, range(rest, first - 1, -1), level, placed)
        self._follow(patch, arm, rest, range(rest + 1, last + 1), level, placed)
        order = sorted(placed)
        track, times = self._track(patch, arm, order, placed)
        return _judge(track, times, at_rest)

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
        self,
        patch: Patch,
        arm: Arm,
        rest: int,
        frames: Sequence[int],
        level: float,
        placed: dict[int, tuple[Affine, Array, float, float]],
    ) -> None:
        warp = before = identity() if rest not in placed else placed[rest][0]
        tip_rest = self._tip(arm, rest)
        for k in frames:
            pictures = pyramid(self._picture(k, level))
            moved = warp[:, 2] - before[:, 2]
            starts = [warp, shifted(warp, moved)]
            tip = self._tip(arm, k)
            if tip is not None and tip_rest is not None:
                middle = warp[:, :2] @ patch.middle + warp[:, 2]
                home = shifted(warp, patch.middle - middle)
                for more_mm in (-18.0, 0.0, 18.0):
                    starts.append(shifted(home, arm.inward * (tip - tip_rest + more_mm * arm.px_per_mm)))
            found = patch.find(pictures, starts, rigid=True)
            if not np.isfinite(found.residual) or found.seen < 0.25:
                break
            before, warp = warp, found.warp
            placed[k] = (found.warp, found.covariance, found.residual, found.seen)

    def _tip(self, arm: Arm, k: int) -> float | None:
        """How far along its lane the arm reaches in picture k, in pixels from where its tip rests."""
        mask = self.mask(k)
        across = np.array([-arm.inward[1], arm.inward[0]])
        ys, xs = np.nonzero(mask[::2, ::2])
        offset_x, offset_y = xs * 2 - arm.tip[0], ys * 2 - arm.tip[1]
        along = offset_x * arm.inward[0] + offset_y * arm.inward[1]
        aside = np.abs(offset_x * across[0] + offset_y * across[1])
        chosen = along[(aside < 75 * arm.px_per_mm) & (along < 40 * arm.px_per_mm)]
        return float(np.percentile(chosen, 99)) if len(chosen) > 60 else None

    def _track(
        self, patch: Patch, arm: Arm, order: list[int], placed: dict[int, tuple[Affine, Array, float, float]]
    ) -> tuple[Track, NDArray[np.int64]]:
        across = np.array([-arm.inward[1], arm.inward[0]])
        height, width = arm.mask.shape
        rows, doubts, times = [], [], []
        for k in order:
            warp, covariance, _, _ = placed[k]
            at = warp[:, :2] @ patch.middle + warp[:, 2]
            shift = (at - patch.middle) / arm.px_per_mm
            size = math.sqrt(max(float(np.linalg.det(warp[:, :2])), 1e-6)) - 1
            turn = math.atan2(warp[1, 0] - warp[0, 1], warp[0, 0] + warp[1, 1])
            reach_mm = patch.reach / arm.px_per_mm
            lever = _ARM_REACH_MM / reach_mm / arm.px_per_mm
            sd_shift = math.sqrt(max(covariance[2, 2], covariance[5, 5])) / arm.px_per_mm
            sd_size = math.sqrt(max(covariance[0, 0], 0.0)) * lever
            sd_turn = math.sqrt(max(covariance[1, 1], 0.0)) * lever
            row = [shift @ arm.inward, shift @ across, turn * _ARM_REACH_MM, size * _ARM_REACH_MM]
            rows.append(row)
            distance = float(np.hypot(*shift))
            extra = math.hypot(_FLOOR_MM, _SHARE * distance)
            doubts.append([math.hypot(sd, extra) for sd in (sd_shift, sd_shift, sd_turn, sd_size)])
            times.append(self.looks[k].at_ns + int(1e9 * float(self.shutter.delay_s(at, (width, height)))))
        stamps = np.array(times, dtype=np.int64)
        seconds = np.repeat(((stamps - stamps[0]) / 1e9)[:, None], 4, axis=1)
        return Track(seconds, np.array(rows), np.array(doubts)), stamps


def _judge(track: Track, times: NDArray[np.int64], at_rest_ns: int) -> Timed:
    """Fit the stop, and check it."""
    seconds = track.at_s[:, 0]
    if len(seconds) < 5:
        return _lost(at_rest_ns, "too few pictures in which the arm could be followed")
    moved = np.hypot(track.moved_mm[:, 0], track.moved_mm[:, 1]) + np.abs(track.moved_mm[:, 3])
    still = _first_still(moved, track)
    rough = float(seconds[still])
    step = float(np.median(np.diff(seconds)))
    begin = rough - max(_FIT_BACK_S, 4.2 * step)
    chosen = track.where((seconds >= begin) & (seconds <= rough + 0.09))
    if len(chosen.at_s) < 4:
        return _lost(at_rest_ns, "too few pictures in which the arm could be followed")
    low, high = rough - 0.012 - 2.2 * step, rough + 0.012 + 0.6 * step
    full = fit(chosen, low, high)
    main = fit(chosen.channel(0), low, high)
    speed = float(np.hypot(full.speed_mmps[0], full.speed_mmps[1]))
    base = times[0]
    at = Instant(int(base + full.at_s * 1e9), int(math.hypot(full.sd_s, _DEFINITION_S) * 1e9))
    reason = ""
    if speed < _SLOWEST:
        reason = f"slow in the picture ({speed / 1000:.2f} m/s)"
    elif abs(full.at_s - main.at_s) > max(_AGREE_S, 2 * main.sd_s):
        reason = "whole movement and movement along the lane disagree"
    elif full.misfit > 12:
        reason = "the movement does not look like an approach and a stop"
    elif full.gentle > 0.5:
        reason = "nothing hard stopped it"
    return Timed(at, not reason, reason, full, times, track.moved_mm, speed)


def _first_still(moved: Array, track: Track) -> int:
    """The first observation from which on the arm stays where it rests."""
    limit = np.maximum(2.0, 4 * track.sd_mm[:, 0])
    k = len(moved) - 1
    while k > 0 and moved[k - 1] <= limit[k - 1]:
        k -= 1
    return k


def _lost(at_ns: int, reason: str) -> Timed:
    empty = np.zeros((0, 4))
    return Timed(Instant(at_ns, int(60e6)), False, reason, None, np.zeros(0, np.int64), empty, 0.0)


#: Grey levels by which the painted table stands off from the arm, so that the arm's outline can be registered too.
_CONTRAST = 30.0
_DISC5 = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (5, 5))


def _whole(point: Array) -> tuple[int, int]:
    return round(float(point[0])), round(float(point[1]))
