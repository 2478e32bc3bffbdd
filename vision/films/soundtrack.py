"""A film's sound: slaps, cards, voices and the room, each put down on its own sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import signal  # type: ignore[import-untyped]  # scipy ships no types

from vision.films.encode import SAMPLE_RATE
from vision.films.music import music
from vision.films.script import Sound
from vision.films.voices import VOICES, murmured, spoken

Wave = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Surface:
    """What a palm meets: the modes (Hz, decay in s, share) of what lies under it, and how sharp the click is."""

    modes: tuple[tuple[float, float, float], ...]
    click: float
    """Beside bare wood."""


SURFACES: dict[str, Surface] = {
    "wood": Surface(((92.0, 0.060, 0.9), (187.0, 0.045, 0.8), (341.0, 0.028, 0.5), (620.0, 0.014, 0.35)), 1.0),
    "softwood": Surface(((71.0, 0.075, 1.0), (138.0, 0.055, 0.9), (262.0, 0.030, 0.5), (455.0, 0.014, 0.3)), 0.85),
    "cloth": Surface(((78.0, 0.040, 1.0), (150.0, 0.022, 0.5)), 0.55),
    "felt": Surface(((66.0, 0.028, 1.0), (121.0, 0.015, 0.4)), 0.32),
}
"""A bare table top rings, a hollow board of pine lower and longer; a cloth over it does not, felt least of all."""


def surface_of(top: str) -> str:
    """Which of the `SURFACES` a table top of the films is, by the top's name."""
    if top.startswith("felt") or top == "cloth-green":  # the green cloth is a card table's baize
        return "felt"
    if top.startswith(("cloth", "patterned")):
        return "cloth"
    return "softwood" if top == "pine" else "wood"


def _noise(rng: np.random.Generator, seconds: float) -> Wave:
    return rng.normal(0, 1, round(seconds * SAMPLE_RATE)).astype(np.float32)


def slap(rng: np.random.Generator, surface: str) -> Wave:
    """A palm on a table: a click within a tenth of a millisecond, then skin, then the table's own tone."""
    seconds = 0.25
    t = np.arange(round(seconds * SAMPLE_RATE), dtype=np.float32) / SAMPLE_RATE
    damp = SURFACES[surface].click
    click = _noise(rng, seconds) * np.exp(-t / (0.0018 * rng.uniform(0.8, 1.3))) * damp
    skin = _band(_noise(rng, seconds), 500, 5200) * np.exp(-t / 0.009) * 1.6
    body = np.zeros_like(t)
    for hz, decay_s, share in SURFACES[surface].modes:
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


CHAIRS = ("scrape", "creak", "knock")


def chair(kind: str, rng: np.random.Generator) -> Wave:
    """A chair: a foot that slips and sticks on the floor (`scrape`), a joint (`creak`), or a `knock` on the table."""
    if kind == "knock":
        t = np.arange(round(0.3 * SAMPLE_RATE), dtype=np.float32) / SAMPLE_RATE
        wave = _band(_noise(rng, 0.3), 150, 2600) * np.exp(-t / 0.006)
        for hz, decay_s in ((118.0, 0.05), (236.0, 0.035), (470.0, 0.018)):
            wave += 0.6 * np.sin(2 * np.pi * hz * rng.uniform(0.9, 1.1) * t) * np.exp(-t / decay_s)
        return np.asarray(wave / np.abs(wave).max(), np.float32)
    seconds, low_hz, high_hz = (
        (float(rng.uniform(0.35, 0.9)), 70.0, 160.0) if kind == "scrape" else (float(rng.uniform(0.2, 0.5)), 25.0, 60.0)
    )
    count = round(seconds * SAMPLE_RATE)
    t = np.arange(count) / SAMPLE_RATE
    pitch_hz = rng.uniform(low_hz, high_hz) * (1 + 0.15 * np.sin(2 * np.pi * rng.uniform(1, 3) * t))
    turns = np.cumsum(pitch_hz * (1 + 0.08 * rng.normal(0, 1, count))) / SAMPLE_RATE
    slips = (np.diff(np.floor(turns), prepend=0) > 0) * rng.uniform(0.3, 1.0, count)
    body = np.zeros(count)
    for resonance_hz in (310.0, 870.0, 1900.0, 3600.0) if kind == "scrape" else (640.0, 1500.0, 2700.0):
        b, a = signal.iirpeak(resonance_hz * rng.uniform(0.85, 1.15), 6.0, fs=SAMPLE_RATE)
        body += signal.lfilter(b, a, slips)
    body = signal.sosfilt(signal.butter(2, 4500, "lowpass", fs=SAMPLE_RATE, output="sos"), body)
    rubs = 0.04 * _band(_noise(rng, seconds), 1500, 8000)[:count] if kind == "scrape" else 0.0
    body = (body / max(float(np.abs(body).max()), 1e-9) + rubs) * np.hanning(count) ** 0.4
    return np.asarray(body / np.abs(body).max(), np.float32)


def _band(wave: Wave, low_hz: float, high_hz: float) -> Wave:
    sos = signal.butter(2, (low_hz, high_hz), "bandpass", fs=SAMPLE_RATE, output="sos")
    return np.asarray(signal.sosfilt(sos, wave), np.float32)


LIVE_S = 0.6
"""From this reverberation time on a room's first echoes are heard by themselves: bare walls."""


@lru_cache(maxsize=8)
def _room(seed: int, reverb_s: float) -> Wave:
    """A room's answer to a click, the click itself left out: it has died away by 60 dB after `reverb_s`."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(reverb_s * 1.5 * SAMPLE_RATE)) / SAMPLE_RATE
    tail = rng.normal(0, 1, len(t)) * np.exp(-t * 6.9 / reverb_s)
    tail[: round(0.004 * SAMPLE_RATE)] = 0  # the first wall is at least 70 cm away
    tail *= 0.02
    if reverb_s >= LIVE_S:
        for wall_s in rng.uniform(0.005, 0.045, 6):
            tail[round(wall_s * SAMPLE_RATE)] += float(rng.choice([-1.0, 1.0]) * 0.9 * 0.004 / wall_s)
    return np.asarray(tail, np.float32)


def soundtrack(
    sounds: Sequence[Sound],
    seconds: float,
    rng: np.random.Generator,
    *,
    surface: str = "wood",
    room_db: float = -56.0,
    reverb_s: float = 0.35,
    music_loudness: float = 0.0,
    gain_db: float = 0.0,
) -> Wave:
    """(n,) float32, -1 to 1, at `SAMPLE_RATE`: every sound on its sample, in a room that hums a little.

    `music_loudness`: root mean square of music from a loudspeaker, where 1 is full scale. `gain_db`: how much
    nearer (or, below 0, farther) the microphone is; its own noise stays.
    """
    track = np.zeros(round(seconds * SAMPLE_RATE), np.float32)
    voices = rng.spawn(1)[0].permutation(len(VOICES))
    for heard in sounds:
        voice = VOICES[int(voices[heard.seat % len(VOICES)])]
        lead_s = 0.0
        if heard.kind == "slap":
            wave = slap(rng, surface)
        elif heard.kind == "call":
            said = spoken(heard.words, voice, shouted=True)
            if said is None:
                continue
            wave = said
        elif heard.kind == "talk":
            said = spoken(heard.words, voice)
            wave = murmured(heard.words, voice) if said is None else said
        elif heard.kind in CHAIRS:
            wave = chair(heard.kind, rng)
        else:
            wave, lead_s = card(rng), CARD_LEAD_S
        start = round((heard.at_s - lead_s) * SAMPLE_RATE)
        if start < 0 or start >= len(track):
            continue
        end = min(len(track), start + len(wave))
        track[start:end] += 0.55 * heard.gain * wave[: end - start]
    if music_loudness > 0:
        track += music_loudness * music(len(track) / SAMPLE_RATE, rng)[: len(track)]
    wet = signal.fftconvolve(track, _room(int(rng.integers(1 << 30)), reverb_s))[: len(track)]
    hum = _band(_noise(rng, seconds), 60, 900) * 10 ** (room_db / 20) * 3
    hiss = _noise(rng, seconds) * 10 ** (room_db / 20) * 0.4
    count = min(len(track), len(hum), len(hiss))
    mixed = 10 ** (gain_db / 20) * (track[:count] + wet[:count].astype(np.float32)) + hum[:count] + hiss[:count]
    return np.asarray(np.tanh(mixed * 0.9), np.float32)
