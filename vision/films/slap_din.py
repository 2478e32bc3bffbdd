"""Clicks in a clip's sound that no hand on the pile made: cups put down, knuckles, dropped things."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vision.films.encode import SAMPLE_RATE

Wave = NDArray[np.float32]

SLAP_PEAK = 0.55
"""Of a good slap in a clip's sound."""


def knocks(a_second: float, seconds: float, rng: np.random.Generator) -> Wave:
    """(n,) float32 at `SAMPLE_RATE`: as many knocks a second on average, each 0.15 to 0.8 as loud as a good slap."""
    total = np.zeros(round(seconds * SAMPLE_RATE), np.float32)
    for _ in range(int(rng.poisson(a_second * seconds))):
        at = int(rng.integers(len(total)))
        wave = knock(rng)[: len(total) - at]
        total[at : at + len(wave)] += SLAP_PEAK * float(rng.uniform(0.15, 0.8)) * wave
    return total


def knock(rng: np.random.Generator) -> Wave:
    """A few tones, of glass or of wood, that ring for some milliseconds after a click."""
    t = np.arange(round(0.15 * SAMPLE_RATE)) / SAMPLE_RATE
    wave = 0.5 * rng.normal(0, 1, len(t)) * np.exp(-t / 0.0012)
    low, high = (1500, 6000) if rng.random() < 0.4 else (180, 1400)
    for _ in range(4):
        hz, decay_s = float(rng.uniform(low, high)), float(rng.uniform(0.006, 0.03))
        wave += float(rng.uniform(0.3, 1.0)) * np.sin(2 * np.pi * hz * t) * np.exp(-t / decay_s)
    return np.asarray(wave / np.abs(wave).max(), np.float32)
