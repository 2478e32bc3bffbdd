"""When a hand landed, as a network reads it from the lane between its seat and the pile.

The arms are followed by hand-made means in `timing.py`; where several lie joined over a pile these may follow the wrong
one. Here one network looks at the pictures of one lane alone, turned so that its arm comes in from the left, and says
between which two pictures the hand landed, where between them, and how sure it is: a mixture of one normal
distribution for each picture, and the probability that it did not land within them at all.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.instant import Instant
from vision.hands.pixels import Array, Image, Mask
from vision.hands.timing import Look, Shutter
from vision.network import Network, open_network
from vision.table import Matrix, Point, Table
from vision.weights import Weights

#: How many pictures the network looks at, and the least time between them: of a quicker camera's fewer are taken.
PICTURES, LEAST_STEP_NS = 24, 14_500_000
#: The lane as the network sees it: so many mm a pixel, so wide and high, the pile's middle here.
MM_PER_PX = 3.0
SIZE_PX = (128, 64)
PILE_AT_PX = (86.0, 31.5)
#: Channels of the network's input: each picture's grey levels and its mask, the picture at rest, and the times.
CHANNELS = 2 * PICTURES + 2
#: Numbers told of each picture's time.
TIMES = 5
#: What times are divided by before the network sees them: ns.
STEP_UNIT_NS, SINCE_UNIT_NS = 16_666_667.0, 200_000_000.0
#: From this probability on that it did not land in what was seen, a hand counts as held there.
ABSENT = 0.5
#: The share of the pictures looked at closely that come after the landing.
_AFTER_SHARE = 0.35
#: Where the hand did not land by so much, it is not asked again.
_NOT_ASKED_TWICE = 0.9


class LaneView:
    """Takes pictures of one size to a lane's own coordinates."""

    def __init__(self, table: Table, pile_mm: Point, seat_mm: Point, margin_px: int = 0) -> None:
        """``table``: at the size of the pictures. ``margin_px``: more of the lane on each side, for training."""
        self.size_px = (SIZE_PX[0] + 2 * margin_px, SIZE_PX[1] + 2 * margin_px)
        along = np.array(pile_mm) - np.array(seat_mm)
        along = along / max(float(np.hypot(*along)), 1e-6)
        across = np.array([-along[1], along[0]])
        u, v = PILE_AT_PX[0] + margin_px, PILE_AT_PX[1] + margin_px
        mm_from_lane = np.eye(3)
        mm_from_lane[:2, 0], mm_from_lane[:2, 1] = along * MM_PER_PX, across * MM_PER_PX
        mm_from_lane[:2, 2] = np.array(pile_mm) - (along * u + across * v) * MM_PER_PX
        self._px_from_lane: Matrix = table.px_from_mm @ mm_from_lane
        self._picture_size_px = table.image_size_px
        self._blur_px = max(1, round(table.px_per_mm(pile_mm) * MM_PER_PX * 0.9))
        self.middle_px = table.to_px([pile_mm])[0]
        ends = table.to_px([pile_mm, np.array(pile_mm) + along * 100, np.array(pile_mm) + across * 100])
        self.along_px, self.across_px = ends[1] - ends[0], ends[2] - ends[0]
        """In the picture, of 100 mm along and across the lane at the pile."""

    def grey(self, picture: Image) -> NDArray[np.uint8]:
        """(h, w) uint8: the lane in a picture (h, w, 3), smoothed as its smaller size asks."""
        grey = cv2.blur(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), (self._blur_px, self._blur_px))
        return self._warped(grey, self._px_from_lane)

    def mask(self, mask: Mask) -> NDArray[np.uint8]:
        """(h, w) uint8: the lane in a mask, which may be of another size than the pictures."""
        scale = np.diag([mask.shape[1] / self._picture_size_px[0], mask.shape[0] / self._picture_size_px[1], 1.0])
        return self._warped(mask, scale @ self._px_from_lane)

    def _warped(self, image: Image, image_from_lane: Matrix) -> NDArray[np.uint8]:
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        out = cv2.warpPerspective(image, image_from_lane, self.size_px, flags=flags, borderMode=cv2.BORDER_REPLICATE)
        return np.asarray(out, dtype=np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class Landing:
    """A distribution over the instant of landing.

    ``absent``: the probability that the hand did not land within the pictures. Given that it did, ``weights`` (n,),
    which add up to 1, of normal distributions about ``at_ns`` (n,) with ``sd_ns`` (n,). ``from_ns``: the first picture
    that was looked at; ``step_ns``: between two of them.
    """

    absent: float
    at_ns: NDArray[np.float64]
    sd_ns: NDArray[np.float64]
    weights: NDArray[np.float64]
    from_ns: float
    step_ns: float

    @classmethod
    def of_both(cls, one: Landing, other: Landing) -> Landing:
        """Either of two, with even chances."""
        here, there = (1 - one.absent) / 2, (1 - other.absent) / 2
        weights = np.concatenate([one.weights * here, other.weights * there]) / max(here + there, 1e-9)
        at_ns, sd_ns = np.concatenate([one.at_ns, other.at_ns]), np.concatenate([one.sd_ns, other.sd_ns])
        from_ns, step_ns = min(one.from_ns, other.from_ns), max(one.step_ns, other.step_ns)
        return cls(1 - here - there, at_ns, sd_ns, weights, from_ns, step_ns)

    def within(self, from_ns: float, to_ns: float) -> float:
        """The probability that it landed between two instants, if it landed at all."""
        return float(self.weights @ (_below(to_ns, self.at_ns, self.sd_ns) - _below(from_ns, self.at_ns, self.sd_ns)))

    def instant(self, seen: Instant | None = None, astray: float = 1.0) -> Instant:
        """The median, and a doubt that keeps what the tails keep, were it normal.

        ``seen``: what another witness says, who is mistaken with the probability ``astray``, and then says nothing.
        """
        low, high = float((self.at_ns - 6 * self.sd_ns).min()), float((self.at_ns + 6 * self.sd_ns).max())
        grid = np.linspace(low, high, max(int((high - low) / _GRID_NS), 2))
        below = _below(grid[:, None], self.at_ns, self.sd_ns) @ self.weights
        if seen is not None:
            middle = (grid[1:] + grid[:-1]) / 2
            off = (middle - seen.at_ns) / max(seen.sd_ns, 1)
            says = np.exp(-0.5 * off * off) / (max(seen.sd_ns, 1) * math.sqrt(2 * math.pi))
            says = (1 - astray) * says + astray / _ASTRAY_NS
            below = np.concatenate([[0.0], np.cumsum(np.diff(below) * says)])
            below /= max(float(below[-1]), 1e-300)
        at, *tails = (float(np.interp(share, below, grid)) for share in (0.5, *(p for p, _ in _TAILS)))
        doubts = [abs(tail - at) / z for tail, (_, z) in zip(tails, _TAILS, strict=True)]
        return Instant(round(at), round(max(doubts)))


_GRID_NS = 250_000.0
#: A witness who is mistaken may mean any moment of so long a time.
_ASTRAY_NS = 400_000_000.0
#: Shares of a normal distribution, and how many standard deviations from its middle they are reached.
_TAILS = ((0.025, 1.96), (0.975, 1.96), (0.16, 0.9945), (0.84, 0.9945), (0.005, 2.576), (0.995, 2.576))


def _below(at: Array | float, middle: Array, sd: Array) -> Array:
    x = (np.asarray(at) - middle) / sd
    return np.asarray(0.5 * (1 + _erf(x / math.sqrt(2))))


def _erf(x: Array) -> Array:
    """Abramowitz and Stegun 7.1.26, right to 1.5e-7."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.asarray(np.sign(x) * (1 - poly * np.exp(-x * x)))


def chosen(times_ns: Sequence[int], rest: int, least_step_ns: int = LEAST_STEP_NS) -> list[int]:
    """The numbers of the pictures that the network looks at, up to picture ``rest``, in order of time."""
    out = [rest]
    for k in range(rest - 1, -1, -1):
        if times_ns[out[-1]] - times_ns[k] >= least_step_ns:
            out.append(k)
            if len(out) == PICTURES:
                break
    return out[::-1]


def packed(
    greys: NDArray[np.uint8], masks: NDArray[np.uint8], at_rest: NDArray[np.uint8], times: NDArray[np.float32]
) -> NDArray[np.float32]:
    """(CHANNELS, h, w) float32, the network's input.

    ``greys``, ``masks``: (PICTURES, h, w) uint8. ``times``: (PICTURES, TIMES), see `times_of`. What is not valid is
    there as a copy of the earliest that is.
    """
    out = np.empty((CHANNELS, *greys.shape[1:]), np.float32)
    mean, spread = float(greys.mean()), float(greys.std()) + 4.0
    out[:PICTURES] = (greys - np.float32(mean)) / np.float32(spread)
    out[PICTURES : 2 * PICTURES] = masks * np.float32(1 / 255)
    out[-2] = (at_rest - np.float32(mean)) / np.float32(spread)
    out[-1] = 0
    out[-1, :PICTURES, :TIMES] = times
    return out


def steps_of(stamps_ns: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) from each picture to the next, ns; after the last as long as before it."""
    stamps = np.asarray(stamps_ns, np.float64)
    return np.diff(stamps, append=2 * stamps[-1] - stamps[-2] if len(stamps) > 1 else stamps[-1] + STEP_UNIT_NS)


def times_of(
    stamps_ns: Sequence[float], rest_ns: float, row_ms_per_100mm: tuple[float, float] = (0.0, 0.0)
) -> NDArray[np.float32]:
    """(PICTURES, TIMES) float32 of up to PICTURES stamps: valid, the step to the next picture, how long before rest.

    The last two: how much later what lies 100 mm further along, and across, was taken (ms / 10), where it is known.
    """
    stamps = np.asarray(stamps_ns, np.float64)
    steps = steps_of(stamps)
    out = np.zeros((PICTURES, TIMES), np.float32)
    n = len(stamps)
    out[-n:, 0] = 1
    out[-n:, 1] = steps / STEP_UNIT_NS
    out[:, 2] = (stamps[0] - rest_ns) / SINCE_UNIT_NS
    out[-n:, 2] = (stamps - rest_ns) / SINCE_UNIT_NS
    out[:, 3], out[:, 4] = row_ms_per_100mm[0] / 10, row_ms_per_100mm[1] / 10
    return out


def landing_of(output: NDArray[np.float32], stamps_ns: Sequence[float], temperature: float = 1.0) -> Landing:
    """What the network's output (3 · PICTURES + 1,) says of pictures with those stamps.

    For each picture the logit that the hand landed after it and before the next, where between them (0 to 1 is the
    step, with half a step's room on either side), and the logarithm of its doubt in ms; then the logit of neither.
    """
    n = len(stamps_ns)
    stamps = np.asarray(stamps_ns, np.float64)
    steps = steps_of(stamps)
    logits = output[:PICTURES][-n:].astype(np.float64) / temperature
    none = float(output[-1]) / temperature
    top = max(float(logits.max()), none)
    share, neither = np.exp(logits - top), math.exp(none - top)
    share /= max(float(share.sum()), 1e-12)
    total = float(np.exp(logits - top).sum()) + neither
    offset = output[PICTURES : 2 * PICTURES][-n:].astype(np.float64)
    log_sd = output[2 * PICTURES : 3 * PICTURES][-n:].astype(np.float64)
    at_ns = stamps + offset * steps
    return Landing(neither / total, at_ns, np.exp(log_sd) * 1e6, share, float(stamps[0]), float(np.median(steps)))


def row_times(view: LaneView, shutter: Shutter | None, size_px: tuple[int, int]) -> tuple[tuple[float, float], int]:
    """How much later 100 mm further along and across the lane are taken, ms; and the pile after a frame's time, ns."""
    if shutter is None:
        return (0.0, 0.0), 0
    middle, along, across = (
        1e3 * float(shutter.delay_s(view.middle_px + by, size_px)) for by in (0.0, view.along_px, view.across_px)
    )
    return (along - middle, across - middle), round(middle * 1e6)


class LandingReader:
    """Reads landings with the shipped network."""

    def __init__(self, weights: Weights, network: Network) -> None:
        """``network``: what `open_network` gives for the weights."""
        self._weights, self._network = weights, network

    @classmethod
    @lru_cache(maxsize=1)
    def shipped(cls) -> LandingReader:
        """With the weights under ``models/hand-landing``; one for all, it keeps nothing of what it reads."""
        weights = Weights.shipped("hand-landing")
        return cls(weights, open_network(weights.path))

    def read(
        self, view: LaneView, looks: Sequence[Look], rest: int, shutter: Shutter | None, size_px: tuple[int, int]
    ) -> Landing:
        """When the hand of that lane landed; picture ``rest`` shows it at rest, those before it how it came.

        ``size_px``: of the pictures. Of a quick camera's pictures fewer are looked at first, then all of them about
        where the hand landed.
        """
        rows, delay_ns = row_times(view, shutter, size_px)
        times = [look.at_ns for look in looks]
        taken = chosen(times, rest)
        first = self._of(view, looks, taken, rest, rows, delay_ns)
        skipped = rest - taken[0] >= len(taken)
        if not skipped or first.absent > ABSENT:
            return first
        step_ns = (times[taken[-1]] - times[taken[0]]) / (rest - taken[0])
        until_ns = first.instant().at_ns - delay_ns + _AFTER_SHARE * PICTURES * step_ns
        last = min(bisect_right(times, until_ns), rest)
        close = self._of(view, looks, chosen(times, last, 1), rest, rows, delay_ns)
        return first if close.absent > ABSENT else replace(close, from_ns=first.from_ns)

    def _of(
        self,
        view: LaneView,
        looks: Sequence[Look],
        taken: Sequence[int],
        rest: int,
        rows: tuple[float, float],
        delay_ns: int,
    ) -> Landing:
        greys = [view.grey(looks[k].picture) for k in taken]
        masks = [view.mask(looks[k].mask) for k in taken]
        stamps = [float(looks[k].at_ns + delay_ns) for k in taken]
        fill = PICTURES - len(taken)
        lane = np.stack([greys[0]] * fill + greys)
        covered = np.stack([masks[0]] * fill + masks)
        at_rest, rest_ns = view.grey(looks[rest].picture), float(looks[rest].at_ns + delay_ns)
        seen = packed(lane, covered, at_rest, times_of(stamps, rest_ns, rows))
        landing = landing_of(self._network(seen[None])[0], stamps, self._weights.temperature)
        if landing.absent > _NOT_ASKED_TWICE:
            return landing
        # The same in a mirror: what the network makes of both is joined, so that where it wavers it doubts.
        times = times_of(stamps, rest_ns, (rows[0], -rows[1]))
        mirrored = packed(lane[:, ::-1], covered[:, ::-1], at_rest[::-1], times)
        other = landing_of(self._network(mirrored[None])[0], stamps, self._weights.temperature)
        return Landing.of_both(landing, other)
