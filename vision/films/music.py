"""Music from a loudspeaker in the room: chords, a tune, a bass and brushes, composed from a seed."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import signal  # type: ignore[import-untyped]  # scipy ships no types

from vision.films.encode import SAMPLE_RATE

Wave = NDArray[np.float32]

BARS = 16
_SCALES = ((0, 2, 4, 5, 7, 9, 11), (0, 2, 3, 5, 7, 8, 10))
_TURNS = ((0, 4, 5, 3), (0, 5, 3, 4), (0, 3, 0, 4), (5, 3, 0, 4))
"""Steps of the scale that the chords stand on, one a bar."""
_A_HZ = 220.0


@lru_cache(maxsize=128)
def _plucked(half_tones: int, seconds: float, bright: float) -> Wave:
    """A string by Karplus and Strong: a burst of noise that goes round a delay line and loses its edges."""
    period = max(2, round(SAMPLE_RATE / (_A_HZ * 2 ** (half_tones / 12))))
    count = round(seconds * SAMPLE_RATE)
    burst = np.zeros(count)
    burst[:period] = np.random.default_rng(half_tones + 100).uniform(-1, 1, period)
    burst = signal.lfilter([bright], [1, bright - 1], burst)
    loop = np.zeros(period + 2)
    loop[0], loop[period], loop[period + 1] = 1.0, -0.4982, -0.4982
    note = signal.lfilter([1.0], loop, burst)
    fade = np.minimum(1.0, np.arange(count, 0, -1) / (0.03 * SAMPLE_RATE))
    return np.asarray(note * fade / max(float(np.abs(note).max()), 1e-9), np.float32)


def _bass(half_tones: int, seconds: float) -> Wave:
    t = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    hz = _A_HZ / 4 * 2 ** (half_tones / 12)
    wave = np.sin(2 * np.pi * hz * t) + 0.35 * np.sin(4 * np.pi * hz * t) + 0.12 * np.sin(6 * np.pi * hz * t)
    return np.asarray(wave * np.exp(-t / 0.35) * np.minimum(1, t / 0.008), np.float32)


def _drum(kind: str, rng: np.random.Generator) -> Wave:
    seconds, decay_s = {"kick": (0.2, 0.06), "brush": (0.16, 0.035), "hat": (0.07, 0.012)}[kind]
    t = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    if kind == "kick":
        return np.asarray(
            np.sin(2 * np.pi * (52 * t + 1.6 * (1 - np.exp(-t / 0.02)))) * np.exp(-t / decay_s), np.float32
        )
    low = 1800 if kind == "brush" else 6500
    sos = signal.butter(2, low, "highpass", fs=SAMPLE_RATE, output="sos")
    attack = np.minimum(1, t / (0.006 if kind == "brush" else 0.0005))
    return np.asarray(signal.sosfilt(sos, rng.normal(0, 0.5, len(t))) * np.exp(-t / decay_s) * attack, np.float32)


def music(seconds: float, rng: np.random.Generator) -> Wave:
    """(n,) float32 at `SAMPLE_RATE`, of mean square 1: a piece of `BARS` bars, played again and again."""
    beat_s = 60.0 / float(rng.uniform(84, 126))
    key = int(rng.integers(-5, 6))
    scale = _SCALES[int(rng.integers(len(_SCALES)))]
    turn = _TURNS[int(rng.integers(len(_TURNS)))]
    total = round(BARS * 4 * beat_s * SAMPLE_RATE)
    piece = np.zeros(total, np.float32)

    def add(note: Wave, beats: float, gain: float) -> None:
        """Lay a note down; what is longer than the piece rings into its beginning."""
        at = round(beats * beat_s * SAMPLE_RATE) % total
        first = min(len(note), total - at)
        piece[at : at + first] += gain * note[:first]
        rest = note[first : first + total]
        piece[: len(rest)] += gain * rest

    def tone(step: int) -> int:
        return key + 12 * (step // 7) + scale[step % 7]

    step = 7
    for bar in range(BARS):
        root = turn[bar % len(turn)]
        for beat in (0.0, 1.5, 3.0):
            add(_bass(tone(root), 1.2 * beat_s), 4 * bar + beat, 0.9)
        for beat in (0.0, 2.0):
            for third in (0, 2, 4):
                strummed = 4 * bar + beat + 0.03 * third + 0.5 * (beat > 0)
                add(_plucked(tone(root + third), 1.1, 0.5), strummed, 0.35)
        for half in range(8):
            if rng.random() < 0.6:
                step = int(np.clip(step + rng.integers(-2, 3), 5, 13))
                add(_plucked(tone(step), 0.7, 0.8), 4 * bar + half / 2, float(rng.uniform(0.4, 0.7)))
            add(_drum("hat", rng), 4 * bar + half / 2, 0.30 if half % 2 else 0.18)
        for beat, kind in ((0, "kick"), (1, "brush"), (2, "kick"), (3, "brush")):
            add(_drum(kind, rng), 4 * bar + beat, 0.8 if kind == "kick" else 0.5)
    speaker = signal.butter(2, (140, 9000), "bandpass", fs=SAMPLE_RATE, output="sos")
    heard = np.asarray(signal.sosfilt(speaker, np.tanh(piece)), np.float32)
    heard /= max(float(np.sqrt(np.mean(heard * heard))), 1e-9)
    count = round(seconds * SAMPLE_RATE)
    starts = int(rng.integers(total))
    return np.resize(np.roll(heard, -starts), count)
