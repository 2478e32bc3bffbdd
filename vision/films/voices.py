"""Calls across the table, spoken by a speech synthesiser where one is installed."""

from __future__ import annotations

import io
import shutil
import subprocess
import wave
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import signal  # type: ignore[import-untyped]  # scipy ships no types

from vision.films.encode import SAMPLE_RATE

SYNTHESISER = "espeak-ng"
# Voice, pitch and words a minute: a table of different people.
_SPEAKERS = (
    ("en-gb", 38, 175), ("en-us+f3", 62, 185), ("en-us+m3", 30, 165), ("en-gb+f2", 72, 190),
    ("en-gb-scotland", 45, 180), ("en-us+f4", 55, 170),
)  # fmt: skip


def can_speak() -> bool:
    """Whether the synthesiser is installed."""
    return shutil.which(SYNTHESISER) is not None


@lru_cache(maxsize=64)
def spoken(words: str, seat: int) -> NDArray[np.float32] | None:
    """(n,) float32 at `SAMPLE_RATE`, beginning with the first sound; None without a synthesiser."""
    program = shutil.which(SYNTHESISER)
    if program is None:
        return None
    voice, pitch, rate = _SPEAKERS[seat % len(_SPEAKERS)]
    asked = [program, "-v", voice, "-p", str(pitch), "-s", str(rate), "-a", "190", "--stdout", words]
    said = subprocess.run(asked, capture_output=True, timeout=20, check=False)
    if said.returncode != 0 or len(said.stdout) < 100:
        return None
    with wave.open(io.BytesIO(said.stdout)) as file:
        data = np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32) / 32768
        own_rate = file.getframerate()
    whole = signal.resample_poly(data, SAMPLE_RATE, own_rate)
    loud = np.abs(whole) > 0.04 * np.abs(whole).max()
    heard = whole[int(np.argmax(loud)) :]
    return np.asarray(heard / max(float(np.abs(heard).max()), 1e-6), np.float32)
