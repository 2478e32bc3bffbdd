"""Voices at the table: calls and talk from a speech synthesiser, a wordless murmur where none is installed."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import wave
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import signal  # type: ignore[import-untyped]  # scipy ships no types

from vision.films.encode import SAMPLE_RATE

Wave = NDArray[np.float32]

SYNTHESISER = "espeak-ng"


@dataclass(frozen=True, slots=True)
class Voice:
    """A speaker: the synthesiser's voice, its pitch (0 to 99), and words a minute."""

    name: str
    pitch: int
    rate: int


VOICES = (
    Voice("en-gb", 38, 175), Voice("en-us+f3", 62, 185), Voice("en-us+m3", 30, 165), Voice("en-gb+f2", 72, 190),
    Voice("en-gb-scotland", 45, 180), Voice("en-us+f4", 55, 170), Voice("en-us+m7", 40, 195),
    Voice("en-gb-x-rp+f5", 58, 160), Voice("en-gb-x-gbclan+m4", 26, 170), Voice("en-029", 48, 185),
    Voice("en-us+f1", 80, 200), Voice("en-gb-x-gbcwmd+m2", 35, 180),
)  # fmt: skip
"""A table of different people: men, women, and one child's pitch, in seven accents."""


def can_speak() -> bool:
    """Whether the synthesiser is installed."""
    return shutil.which(SYNTHESISER) is not None


@lru_cache(maxsize=256)
def spoken(words: str, voice: Voice, *, shouted: bool = False) -> Wave | None:
    """(n,) float32 at `SAMPLE_RATE`, loudest sample 1, beginning with the first sound; None without a synthesiser.

    `shouted`: higher, faster and brighter, as across a table.
    """
    program = shutil.which(SYNTHESISER)
    if program is None:
        return None
    pitch, rate = (min(99, voice.pitch + 16), voice.rate + 20) if shouted else (voice.pitch, voice.rate)
    asked = [program, "-v", voice.name, "-p", str(pitch), "-s", str(rate), "-a", "190", "--stdout", words]
    said = subprocess.run(asked, capture_output=True, timeout=20, check=False)
    if said.returncode != 0 or len(said.stdout) < 100:
        return None
    with wave.open(io.BytesIO(said.stdout)) as file:
        data = np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32) / 32768
        own_rate = file.getframerate()
    whole = np.asarray(signal.resample_poly(data, SAMPLE_RATE, own_rate), np.float32)
    if shouted:
        # A raised voice has less of its lowest tones and is limited by the throat.
        bright = signal.sosfilt(signal.butter(1, 900, "highpass", fs=SAMPLE_RATE, output="sos"), whole)
        whole = np.tanh(3.0 * (0.5 * whole + bright) / max(float(np.abs(whole).max()), 1e-6)).astype(np.float32)
    return _from_its_start(whole)


def _from_its_start(whole: Wave) -> Wave:
    """Without the silence before and after: a soft first consonant counts from its own start."""
    length = round(0.004 * SAMPLE_RATE)
    level = np.sqrt(np.convolve(whole * whole, np.ones(length) / length, mode="same"))
    heard = np.flatnonzero(level > 0.015 * level.max())
    if not len(heard):
        return whole[:0]
    cut = whole[heard[0] : heard[-1] + 1]
    return np.asarray(cut / max(float(np.abs(cut).max()), 1e-6), np.float32)


# Resonances of a throat, Hz: a, e, i, o, u and the neutral vowel, of a man.
_VOWELS = (
    (730, 1090, 2440), (530, 1840, 2480), (270, 2290, 3010), (570, 840, 2410), (300, 870, 2240), (500, 1500, 2500),
)  # fmt: skip


def murmured(words: str, voice: Voice) -> Wave:
    """(n,) float32 at `SAMPLE_RATE`: somebody saying something of that length, no word of which can be made out.

    Pulses through three resonances a syllable, with a hiss between some; it begins with its first sound.
    """
    rng = np.random.default_rng([len(words), sum(words.encode()), voice.pitch, voice.rate])
    syllables = max(1, len(re.findall(r"[aeiouy]+", words.lower())))
    base_hz = 85.0 * 2 ** (voice.pitch / 45.0)
    size = 1.0 + 0.17 * (voice.pitch > 50)
    pieces: list[Wave] = []
    for number in range(syllables):
        seconds = float(rng.uniform(0.75, 1.3)) * 60.0 / (voice.rate * 1.6)
        count = round(seconds * SAMPLE_RATE)
        falls = 1.15 - 0.3 * number / syllables
        hz = base_hz * falls * (1 + 0.03 * np.cumsum(rng.normal(0, 1, count)) / np.sqrt(count))
        pulses = (np.diff(np.floor(np.cumsum(hz) / SAMPLE_RATE), prepend=0) > 0).astype(np.float64)
        sounded = np.zeros(count)
        for formant_hz, share in zip(_VOWELS[int(rng.integers(len(_VOWELS)))], (1.0, 0.5, 0.22), strict=True):
            b, a = signal.iirpeak(formant_hz * size, 8.0, fs=SAMPLE_RATE)
            sounded += share * signal.lfilter(b, a, pulses)
        sounded *= np.hanning(count) ** 0.5
        sounded /= max(float(np.abs(sounded).max()), 1e-6)
        if rng.random() < 0.35:
            hiss = signal.lfilter(*signal.iirpeak(4800.0, 2.0, fs=SAMPLE_RATE), rng.normal(0, 1, count // 2))
            pieces.append((0.12 * hiss * np.hanning(len(hiss))).astype(np.float32))
        pieces.append(sounded.astype(np.float32))
        if rng.random() < 0.15:
            pieces.append(np.zeros(round(float(rng.uniform(0.05, 0.25)) * SAMPLE_RATE), np.float32))
    return _from_its_start(np.concatenate(pieces))
