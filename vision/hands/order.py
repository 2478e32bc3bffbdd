"""In which order hands landed: the instants from the picture, and the gaps between what was heard, joined."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeVar

import numpy as np

from referee.cards import Pile, Seat
from referee.events import Finish
from referee.instant import Instant, order_probabilities

Who = TypeVar("Who")

#: A hand that lands is heard with this probability: others drown the rest, or cloth does.
_HEARD = 0.9
#: Onsets that no hand made (a cough, a chair) within a slap's window, relative to a density over its milliseconds.
_STRAY_A_MS = 0.002
#: What stays open between sound and picture where nothing calibrated them: cameras record sound up to so far off.
UNCALIBRATED_NS = 60_000_000
#: Onsets count only so near to where hands arrive (beside the offset's own doubt).
_REACH_NS = 40_000_000
_BEAM, _LEAST_LOG = 300, 14.0
#: Nodes and weights to integrate over a normal distribution (Gauss and Hermite).
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)


@dataclass(frozen=True, slots=True)
class Offset:
    """How much later sound is heard than seen on the stream's clock, and the doubt of it."""

    ns: int = 0
    sd_ns: int = UNCALIBRATED_NS


@dataclass(frozen=True, slots=True)
class Joined:
    """What picture and sound say together.

    ``orders``: (first to last, probability), the likeliest first, adding up to 1. ``offset``: sound against
    picture as this slap itself says. ``heard``: how many of the hands were heard, on average. ``apart``: for two
    hands, how much later the second landed than the first, with its doubt (what both share, as the offset of the
    sound, is no part of it).
    """

    orders: tuple[tuple[tuple[object, ...], float], ...]
    instants: Mapping[object, Instant]
    offset: Offset
    heard: float
    apart: Mapping[tuple[object, object], Instant] = field(default_factory=dict)

    def first(self) -> dict[object, float]:
        """For each, the probability of having been first."""
        return self._at(0)

    def last(self) -> dict[object, float]:
        """For each, the probability of having been last."""
        return self._at(-1)

    def before(self, one: object, other: object) -> float:
        """The probability that one landed before the other."""
        return sum(p for order, p in self.orders if order.index(one) < order.index(other))

    def _at(self, place: int) -> dict[object, float]:
        out: dict[object, float] = {}
        for order, p in self.orders:
            out[order[place]] = out.get(order[place], 0.0) + p
        return out


def joined(
    seen: Mapping[Who, Instant], heard: Sequence[Instant] = (), offset: Offset | None = None, *, hears: float = _HEARD
) -> Joined:
    """Join what was seen with the onsets heard about then; without onsets, what was seen alone.

    ``hears``: the probability that a slap at this table is heard at all.
    """
    hands = list(seen)
    start = offset or Offset()
    alone = {who: seen[who] for who in hands}
    window = _near(alone, heard, start)
    if len(hands) < 2 or len(window) < 2:
        apart: dict[tuple[object, object], Instant] = {
            (a, b): Instant(alone[b].at_ns - alone[a].at_ns, round(math.hypot(alone[a].sd_ns, alone[b].sd_ns)))
            for a, b in combinations(hands, 2)
        }
        return Joined(_ranked(order_probabilities(alone)), dict(alone.items()), start, 0.0, apart)
    total: dict[tuple[object, ...], float] = {}
    moments = {who: [0.0, 0.0] for who in hands}
    gaps = {pair: [0.0, 0.0] for pair in combinations(hands, 2)}
    shift = [0.0, 0.0]
    heard_mean = 0.0
    for weight, mean, variance, pairs in _assignments([alone[w] for w in hands], window, start, hears):
        heard_mean += weight * sum(j is not None for j in pairs)
        shift[0] += weight * mean
        shift[1] += weight * (mean * mean + variance)
        for node, share in zip(_NODES, _WEIGHTS / _WEIGHTS.sum(), strict=True):
            at = mean + math.sqrt(variance) * float(node)
            given = {
                who: (alone[who] if j is None else Instant(round(window[j].at_ns - at), window[j].sd_ns))
                for who, j in zip(hands, pairs, strict=True)
            }
            for who, instant in given.items():
                moments[who][0] += weight * share * instant.at_ns
                moments[who][1] += weight * share * (instant.at_ns - alone[who].at_ns) ** 2
                moments[who][1] += weight * share * instant.sd_ns**2
            for (a, b), gap in gaps.items():
                later = given[b].at_ns - given[a].at_ns
                gap[0] += weight * share * later
                gap[1] += weight * share * (float(later) ** 2 + given[a].sd_ns ** 2 + given[b].sd_ns ** 2)
            for order, p in order_probabilities(given).items():
                total[order] = total.get(order, 0.0) + weight * share * p
    instants: dict[object, Instant] = {}
    for who, (first, second) in moments.items():
        centre = first - alone[who].at_ns
        instants[who] = Instant(round(first), round(math.sqrt(max(second - centre * centre, 1.0))))
    spread = math.sqrt(max(shift[1] - shift[0] ** 2, 1.0))
    between: dict[tuple[object, object], Instant] = {
        pair: Instant(round(mean), round(math.sqrt(max(square - mean * mean, 1.0))))
        for pair, (mean, square) in gaps.items()
    }
    return Joined(_ranked(total), instants, Offset(round(shift[0]), round(spread)), heard_mean, between)


def finish_of(
    landed: Mapping[Seat, Instant], pile: Pile, heard: Sequence[Instant] = (), offset: Offset | None = None
) -> Finish | None:
    """The event that tells the rules in which order hands landed on a pile; None where fewer than two did.

    ``landed``: each seat's first hand, as seen. ``heard``: the onsets in the sound, on its own clock.
    """
    if len(landed) < 2:
        return None
    both = joined(landed, heard, offset)
    orders = tuple((tuple(seat for seat in order if isinstance(seat, int)), p) for order, p in both.orders)
    if not orders:
        return None
    first = min(landed.values(), key=lambda at: at.at_ns)
    return Finish(at=first, pile=pile, orders=orders)


def _near(seen: Mapping[Who, Instant], heard: Sequence[Instant], offset: Offset) -> list[Instant]:
    reach = _REACH_NS + 2 * offset.sd_ns
    first = min(at.at_ns for at in seen.values()) + offset.ns - reach
    last = max(at.at_ns for at in seen.values()) + offset.ns + reach
    return [at for at in heard if first <= at.at_ns <= last]


def _assignments(
    seen: list[Instant], heard: list[Instant], offset: Offset, hears: float
) -> list[tuple[float, float, float, tuple[int | None, ...]]]:
    """Which onset is which hand's: (probability, offset's mean, its variance, an onset or None for each hand).

    Times are Gaussian, so each assignment is worked out exactly, one hand after the other; the unlikely ones
    are dropped on the way.
    """
    states: list[tuple[float, float, float, tuple[int | None, ...]]] = [
        (0.0, float(offset.ns), float(offset.sd_ns) ** 2, ())
    ]
    for at in seen:
        ahead: list[tuple[float, float, float, tuple[int | None, ...]]] = []
        for log, mean, variance, pairs in states:
            ahead.append((log + math.log(1 - hears), mean, variance, (*pairs, None)))
            for j, onset in enumerate(heard):
                if j in pairs:
                    continue
                noise = float(at.sd_ns) ** 2 + float(onset.sd_ns) ** 2 + 1.0
                spread = variance + noise
                off = onset.at_ns - at.at_ns - mean
                more = math.log(hears) - 0.5 * off * off / spread - 0.5 * math.log(2 * math.pi * spread)
                gain = variance / spread
                # An onset that is a hand's is none that came by itself.
                more -= math.log(_STRAY_A_MS / 1e6)
                ahead.append((log + more, mean + gain * off, variance * (1 - gain), (*pairs, j)))
        best = max(state[0] for state in ahead)
        ahead = [state for state in ahead if state[0] > best - _LEAST_LOG]
        states = sorted(ahead, key=lambda state: -state[0])[:_BEAM]
    best = states[0][0]
    weights = [math.exp(state[0] - best) for state in states]
    total = sum(weights)
    # One in ten thousand can't sway a decision at 0.99.
    return [
        (w / total, mean, variance, pairs)
        for w, (_, mean, variance, pairs) in zip(weights, states, strict=True)
        if w / total > 1e-4
    ]


def _ranked(orders: Mapping[tuple[Who, ...], float]) -> tuple[tuple[tuple[object, ...], float], ...]:
    total = sum(orders.values()) or 1.0
    ranked = sorted(orders.items(), key=lambda pair: -pair[1])
    return tuple((tuple(order), p / total) for order, p in ranked if p / total > 1e-6)
