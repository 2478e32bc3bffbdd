"""The moment a movement was stopped, fitted between frames: approach, arrest, rest, by Bayes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vision.hands.pixels import Array

#: Arrest constants: how fast a hand is stopped by what it hits. facts: 2 to 8 ms for a slap; a hand that is laid
#: down or that stops in the air takes far longer, and telling the two apart is what the long ones are here for.
ARRESTS_MS = np.array([1.5, 3.0, 5.0, 8.0, 12.0, 20.0, 35.0])
_ARREST_WEIGHTS = np.array([0.15, 0.25, 0.25, 0.18, 0.08, 0.05, 0.04])
GENTLE_MS = 15.0
"""Above this a stop is no arrest by something hard."""

#: Spread (one standard deviation) of what an approach can be: speed mm/s, acceleration mm/s², jerk mm/s³, and how
#: far the picture of rest may be off from true rest, mm. A slap gets from rest to 1-4 m/s in 100 to 250 ms.
_SPEED, _ACCELERATION, _JERK, _REST_MM = 2500.0, 20_000.0, 200_000.0, 0.4
#: Hands slide on after contact, or settle: so far (mm, one standard deviation), dying away in so long.
_SLIDE_MM, _SLIDE_S = 4.0, 0.035
_STEP_MS = 1.0
#: How much is taken as known beforehand about the size of the noise, in observations.
_NOISE_FREEDOM = 6.0


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """How something moved, relative to where it came to rest.

    ``at_s``: (n, c) seconds of each observation (middle of its exposure, row time included), in order of time.
    ``moved_mm``: (n, c) for c independent channels. ``sd_mm``: (n, c) their noise.
    """

    at_s: Array
    moved_mm: Array
    sd_mm: Array

    def where(self, frames: NDArray[np.bool_]) -> Track:
        """Only those observations."""
        return Track(self.at_s[frames], self.moved_mm[frames], self.sd_mm[frames])

    def channel(self, *channels: int) -> Track:
        """Only those channels."""
        chosen = list(channels)
        return Track(self.at_s[:, chosen], self.moved_mm[:, chosen], self.sd_mm[:, chosen])


@dataclass(frozen=True, slots=True, eq=False)
class Kink:
    """When the movement was stopped.

    ``at_s``, ``sd_s``: mean and standard deviation of the posterior, which is given whole on a grid:
    ``grid_s`` (g,), ``probability`` (g,) adding up to 1. ``arrest_ms``: its mean. ``gentle``: the probability
    that nothing hard stopped it. ``speed_mmps``: (c,) speed at contact. ``misfit``: squared residuals in units
    of the stated noise, per observation: about 1 where model and noise are right.
    """

    at_s: float
    sd_s: float
    grid_s: Array
    probability: Array
    arrest_ms: float
    gentle: float
    speed_mmps: Array
    misfit: float
    fitted_mm: Array
    """(n, c) the track as the best fit has it."""


def fit(track: Track, first_s: float, last_s: float, exposures_s: Array | None = None) -> Kink:
    """Fit the stop between two moments; ``exposures_s``: shutter times to consider, marginalised."""
    exposures = np.array([0.002, 0.006, 0.012]) if exposures_s is None else exposures_s
    grid = np.arange(first_s, last_s, _STEP_MS * 1e-3)
    if len(grid) < 3 or len(track.at_s) < 4:
        raise ValueError(f"expected 4 observations and 2 ms or more to search, got {len(track.at_s)} and {len(grid)}")
    arrests = ARRESTS_MS * 1e-3
    log = np.log(_ARREST_WEIGHTS)[None, :, None] + np.zeros((len(grid), len(arrests), len(exposures)))
    n, channels = track.at_s.shape
    squares = np.zeros((channels, *log.shape))
    means = np.zeros((channels, *log.shape, 5))
    determinants = np.zeros((channels, *log.shape))
    prior = np.array([_REST_MM, _SPEED, _ACCELERATION, _JERK, _SLIDE_MM]) ** -2.0
    basis = _basis(track.at_s[:, 0], grid, arrests, exposures)
    for c in range(channels):
        if c and not np.array_equal(track.at_s[:, c], track.at_s[:, c - 1]):
            basis = _basis(track.at_s[:, c], grid, arrests, exposures)
        squares[c], determinants[c], means[c] = _solved(basis, track.moved_mm[:, c], track.sd_mm[:, c], prior)
    freedom = (_NOISE_FREEDOM + n * channels) / 2
    log = log - 0.5 * determinants.sum(axis=0)
    log = log - freedom * np.log1p(np.maximum(squares.sum(axis=0), 1e-9) / _NOISE_FREEDOM)
    weights = np.exp(log - log.max())
    arrested = float(log.max()) + float(np.log(weights.sum() / (len(grid) * len(exposures))))
    weights /= weights.sum()
    odds = _smooth_evidence(track, grid) - arrested + _SMOOTH_LOG_ODDS
    smooth = float(1 / (1 + np.exp(np.clip(-odds, -50, 50))))
    best = np.unravel_index(int(weights.argmax()), weights.shape)
    probability = weights.sum(axis=(1, 2))
    at = float(probability @ grid)
    by_arrest = weights.sum(axis=(0, 2))
    i, j, k = (int(v) for v in best)
    fitted = np.empty_like(track.moved_mm)
    for c in range(channels):
        basis = _basis(track.at_s[:, c], grid[[i]], arrests[[j]], exposures[[k]])[0, 0, 0]
        fitted[:, c] = basis @ means[c, i, j, k]
    return Kink(
        at_s=at,
        sd_s=float(np.sqrt(max(probability @ (grid - at) ** 2, (_STEP_MS * 1e-3) ** 2 / 12))),
        grid_s=grid,
        probability=probability,
        arrest_ms=float(by_arrest @ ARRESTS_MS),
        gentle=smooth + (1 - smooth) * float(by_arrest[ARRESTS_MS > GENTLE_MS].sum()),
        speed_mmps=means[:, i, j, k, 1],
        misfit=float((((fitted - track.moved_mm) / track.sd_mm) ** 2).sum() / max(n * channels, 1)),
        fitted_mm=fitted,
    )


def _solved(basis: Array, moved: Array, sd: Array, prior: Array) -> tuple[Array, Array, Array]:
    """Least squares with a prior: what is left (…,), the log determinant (…,) and the coefficients (…, k)."""
    weight = sd**-2.0
    weighted = basis * weight[:, None]
    normal = np.swapaxes(weighted, -1, -2) @ basis + np.diag(prior)
    right = weighted.swapaxes(-1, -2) @ moved
    solved = np.linalg.solve(normal, right[..., None])[..., 0]
    left = (weight * moved**2).sum() - (right * solved).sum(axis=-1)
    return np.asarray(left), np.asarray(np.linalg.slogdet(normal)[1] - np.log(prior).sum()), np.asarray(solved)


def _smooth_evidence(track: Track, grid: Array) -> float:
    """Log of how well a movement that slows down by itself to nothing explains the track, whenever it ends.

    The same approach as an arrest's, but its speed is nothing where it ends: nobody was hit.
    """
    n, channels = track.at_s.shape
    ends = np.arange(grid[0], grid[-1] + _SLOWS_S, 4 * _STEP_MS * 1e-3)
    prior = np.array([_REST_MM, _ACCELERATION, _JERK]) ** -2.0
    half = np.array(_SMOOTH_EXPOSURE_S / 2)
    squares, determinants = np.zeros(len(ends)), np.zeros(len(ends))
    for c in range(channels):
        s = track.at_s[:, c] - ends[:, None]
        columns = [np.ones_like(s)]
        columns += [(_before(s + half, power) - _before(s - half, power)) / (2 * half) for power in (2, 3)]
        left, determinant, _ = _solved(np.stack(columns, axis=-1), track.moved_mm[:, c], track.sd_mm[:, c], prior)
        squares += left
        determinants += determinant
    log = -0.5 * determinants
    log = log - (_NOISE_FREEDOM + n * channels) / 2 * np.log1p(np.maximum(squares, 1e-9) / _NOISE_FREEDOM)
    return float(log.max() + np.log(np.exp(log - log.max()).mean()))


#: Before looking, one stop in ten is of a hand that stops by itself over the pile. It may end so much later than an
#: arrest would seem to; its shutter time matters little.
_SMOOTH_LOG_ODDS, _SLOWS_S, _SMOOTH_EXPOSURE_S = -2.2, 0.05, 0.004


def _basis(at: Array, grid: Array, arrests: Array, exposures: Array) -> Array:
    """(grid, arrests, exposures, n, 5): rest, speed, acceleration, jerk and slide, averaged over the exposure."""
    s = at - grid[:, None, None, None]
    tau = arrests[None, :, None, None]
    half = exposures[None, None, :, None] / 2
    width = 2 * half
    columns = [np.ones(np.broadcast_shapes(s.shape, tau.shape, half.shape))]
    columns.append((_approach(s + half, tau) - _approach(s - half, tau)) / width)
    for power in (2, 3):
        columns.append((_before(s + half, power) - _before(s - half, power)) / width + np.zeros_like(columns[0]))
    columns.append((_slide(s + half) - _slide(s - half)) / width + np.zeros_like(columns[0]))
    return np.stack(columns, axis=-1)


def _approach(s: Array, tau: Array) -> Array:
    """Integral of: s − τ before contact, −τ·exp(−s/τ) after it."""
    after = np.maximum(s, 0.0)
    before = np.minimum(s, 0.0)
    return np.asarray(before * before / 2 - tau * before + tau * tau * (np.exp(-after / tau) - 1))


def _slide(s: Array) -> Array:
    """Integral of what is still to slide: all of it before contact, dying away after it."""
    return np.asarray(np.minimum(s, 0.0) - _SLIDE_S * np.expm1(-np.maximum(s, 0.0) / _SLIDE_S))


def _before(s: Array, power: int) -> Array:
    """Integral of s^power / power! before contact, nothing after it."""
    before = np.minimum(s, 0.0)
    scale = {2: 6.0, 3: 24.0}[power]
    return np.asarray(before ** (power + 1) / scale)
