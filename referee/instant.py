"""When something happened and how sure that is, and from that who was first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

Who = TypeVar("Who")

#: Cells a standard deviation, and how many standard deviations to each side: keeps every order's
#: probability right to about 0.001, checked against sampling in the tests.
_CELLS_A_SD = 8
_REACH_SD = 5
#: Two instants so many standard deviations apart on both sides are in no doubt (1e-9 each).
_FAR_SD = 6
#: Orders less likely than this are dropped: far below any decision threshold.
_NEGLIGIBLE = 1e-7


@dataclass(frozen=True, slots=True)
class Instant:
    """A moment in integer nanoseconds of the recording's own clock, and one standard deviation of doubt."""

    at_ns: int
    sd_ns: int = 0

    def __post_init__(self) -> None:
        if self.sd_ns < 0:
            raise ValueError(f"sd_ns: expected 0 or more, got {self.sd_ns}")

    def before(self, other: Instant) -> float:
        """The probability that this one came first, the two doubts taken as independent and normal."""
        gap = other.at_ns - self.at_ns
        spread = math.hypot(self.sd_ns, other.sd_ns)
        if spread == 0:
            return 0.5 if gap == 0 else float(gap > 0)
        return normal_cdf(gap / spread)

    def shifted(self, by_ns: int) -> Instant:
        """The same doubt, later by so much."""
        return Instant(self.at_ns + by_ns, self.sd_ns)


def normal_cdf(z: float) -> float:
    """The standard normal distribution function."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def first_probabilities(instants: Mapping[Who, Instant]) -> dict[Who, float]:
    """For each, the probability of having been the very first: from the joint doubt of all, not pair by pair."""
    return _extreme_probabilities(instants, last=False)


def last_probabilities(instants: Mapping[Who, Instant]) -> dict[Who, float]:
    """For each, the probability of having been the very last."""
    return _extreme_probabilities(instants, last=True)


def _extreme_probabilities(instants: Mapping[Who, Instant], *, last: bool) -> dict[Who, float]:
    shares = dict.fromkeys(instants, 0.0)
    instants = _contenders(instants, last=last)
    if len(instants) == 2:
        (one, at), (other, later) = instants.items()
        p = at.before(later)
        return shares | {one: 1 - p if last else p, other: p if last else 1 - p}
    if len(instants) == 1:
        return shares | dict.fromkeys(instants, 1.0)
    edges = _edges(instants)
    below = {who: [_cdf(at, edge) for edge in edges] for who, at in instants.items()}
    for who, own in below.items():
        for cell in range(len(edges) - 1):
            mass = own[cell + 1] - own[cell]
            if mass <= 0:
                continue
            for other, theirs in below.items():
                if other != who:
                    middle = (theirs[cell] + theirs[cell + 1]) / 2
                    mass *= middle if last else 1 - middle
            shares[who] += mass
    total = sum(shares.values())
    return {who: share / total for who, share in shares.items()}


def _contenders(instants: Mapping[Who, Instant], *, last: bool) -> dict[Who, Instant]:
    """Those that may have been first (last): the others are so far off that they change nothing."""
    sign = -1 if last else 1
    far = min(sign * at.at_ns + _FAR_SD * at.sd_ns for at in instants.values())
    return {who: at for who, at in instants.items() if sign * at.at_ns - _FAR_SD * at.sd_ns <= far}


def order_probabilities(instants: Mapping[Who, Instant]) -> dict[tuple[Who, ...], float]:
    """The probability of each whole order, first to last; the negligible ones are left out; they add up to 1."""
    if len(instants) == 1:
        return {tuple(instants): 1.0}
    edges = _edges(instants)
    masses = {
        who: [_cdf(at, right) - _cdf(at, left) for left, right in pairwise(edges)] for who, at in instants.items()
    }
    orders: dict[tuple[Who, ...], float] = {}

    def follow(order: tuple[Who, ...], density: list[float]) -> None:
        # density[i]: the probability of `order` so far with its last member in cell i.
        if len(order) == len(masses):
            orders[order] = sum(density)
            return
        for who, mass in masses.items():
            if who in order:
                continue
            earlier = 0.0
            ahead = []
            for i, here in enumerate(density):
                # Two in one cell: either may come first.
                ahead.append(mass[i] * (earlier + here / 2))
                earlier += here
            if sum(ahead) > _NEGLIGIBLE:
                follow((*order, who), ahead)

    for who, mass in masses.items():
        follow((who,), mass)
    total = sum(orders.values())
    if total == 0:  # all at the same exact moment: no order is likelier than another
        return {}
    return {order: p / total for order, p in orders.items()}


def _edges(instants: Mapping[Who, Instant]) -> list[float]:
    """Cell borders fine enough for the narrowest doubt around each instant."""
    edges: set[float] = set()
    for at in instants.values():
        # An exact instant is given half a nanosecond to either side, so that it has a cell of its own.
        sd = max(at.sd_ns, 0.1)
        reach = _REACH_SD * _CELLS_A_SD
        edges.update(at.at_ns + sd * k / _CELLS_A_SD for k in range(-reach, reach + 1))
    return sorted(edges)


def _cdf(at: Instant, edge: float) -> float:
    return normal_cdf((edge - at.at_ns) / max(at.sd_ns, 0.1))
