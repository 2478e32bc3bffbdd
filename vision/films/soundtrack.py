"""A film's sound: slaps, cards and the room, each put down on its own sample."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import signal  # type: ignore[import-untyped]  # scipy ships no types

from vision.films.encode import SAMPLE_RATE
from vision.films.script import Sound
from vision.films.voices import spoken

Wave = NDArray[np.float32]

# Modes of a table top: frequency in Hz, decay in s, share. A wooden one rings, a cloth over it does not.
_SURFACES: dict[str, tuple[tuple[float, float, float], ...]] = {
    "wood": ((92.0, 0.060, 0.9), (187.0, 0.045, 0.8), (341.0, 0.028, 0.5), (620.0, 0.014, 0.35)),
    "cloth": ((78.0, 0.040, 1.0), (150.0, 0.022, 0.5)),
}


def _noise(rng: np.random.Generator, seconds: float) -> Wave:
    return rng.normal(0, 1, round(seconds * SAMPLE_RATE)).astype(np.float32)


def slap(rng: np.random.Generator, surface: str) -> Wave:
    """A palm on a table: a click within a tenth of a millisecond, then skin, then the table's own tone."""
    seconds = 0.25
    t = np.arange(round(seconds * SAMPLE_RATE), dtype=np.float32) / SAMPLE_RATE
    damp = 1.0 if surface == "wood" else 0.55
    click = _noise(rng, seconds) * np.exp(-t / (0.0018 * rng.uniform(0.8, 1.3))) * damp
    skin = _band(_noise(rng, seconds), 500, 5200) * np.exp(-t / 0.009) * 1.6
    body = np.zeros_like(t)
    for hz, decay_s, share in _SURFACES[surface]:
        body += share * np.sin(2 * np.pi * hz * rng.uniform(0.94, 1.06) * t) * np.exp(-t / decay_s)
    wave = 0.55 * click + skin + 0.8 * body
    # The first sample is the contact itself: a short ring as loud as all that follows.
    ring = np.cos(2 * np.pi * 5200 * t) * np.exp(-t / 0.00025)
    wave += np.abs(wave).max() * damp * ring.astype(np.float32)
    return np.asarray(wave / np.abs(wave).max(), np.float32)


def card(rng: np.random.Generator) -> Wave:
    """A card slid and dropped: a short hiss that swells, and a soft tick."""
    seconds = 0.12
    t = np.arange(round(seconds * SAMPLE_RATE), dtype=np.float32) / SAMPLE_RATE
    hiss = _band(_noise(rng, seconds), 2500, 9000) * np.sin(np.pi * np.minimum(t / 0.07, 1)) ** 2 * 0.35
    tick = np.zeros_like(t)
    at = round(0.06 * SAMPLE_RATE)
    tick[at:] = _band(_noise(rng, seconds), 900, 6000)[at:] * np.exp(-(t[at:] - 0.06) / 0.006)
    wave = hiss + tick
    return np.asarray(wave / np.abs(wave).max(), np.float32)


CARD_LEAD_S = 0.06
"""How long before a card lies down its sound begins."""


def _band(wave: Wave, low_hz: float, high_hz: float) -> Wave:
    sos = signal.butter(2, (low_hz, high_hz), "bandpass", fs=SAMPLE_RATE, output="sos")
    return np.asarray(signal.sosfilt(sos, wave), np.float32)


@lru_cache(maxsize=8)
def _room(seed: int, reverb_s: float) -> Wave:
    """A room's answer to a click, the click itself left out."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(reverb_s * 1.5 * SAMPLE_RATE)) / SAMPLE_RATE
    tail = rng.normal(0, 1, len(t)) * np.exp(-t * 6.9 / reverb_s)
    tail[: round(0.004 * SAMPLE_RATE)] = 0  # the first wall is at least 70 cm away
    return np.asarray(tail * 0.02, np.float32)


def soundtrack(
    sounds: Sequence[Sound],
    seconds: float,
    rng: np.random.Generator,
    *,
    surface: str = "wood",
    room_db: float = -56.0,
    reverb_s: float = 0.35,
) -> Wave:
    """(n,) float32, -1 to 1, at `SAMPLE_RATE`: every sound on its sample, in a room that hums a little."""
    track = np.zeros(round(seconds * SAMPLE_RATE), np.float32)
    for heard in sounds:
        if heard.kind == "slap":
            wave, lead_s = slap(rng, surface), 0.0
        elif heard.kind == "call":
            said = spoken(heard.words, heard.seat)
            if said is None:
                continue
            wave, lead_s = said, 0.0
        else:
            wave, lead_s = card(rng), CARD_LEAD_S
        start = round((heard.at_s - lead_s) * SAMPLE_RATE)
        if start < 0 or start >= len(track):
            continue
        end = min(len(track), start + len(wave))
        track[start:end] += 0.55 * heard.gain * wave[: end - start]
    wet = signal.fftconvolve(track, _room(int(rng.integers(1 << 30)), reverb_s))[: len(track)]
    hum = _band(_noise(rng, seconds), 60, 900) * 10 ** (room_db / 20) * 3
    hiss = _noise(rng, seconds) * 10 ** (room_db / 20) * 0.4
    count = min(len(track), len(hum), len(hiss))
    mixed = track[:count] + wet[:count].astype(np.float32) + hum[:count] + hiss[:count]
    return np.asarray(np.tanh(mixed * 0.9), np.float32)
