"""When something was struck, from sound: onsets of a high-pass envelope, to a fraction of a millisecond."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, signal  # type: ignore[import-untyped]  # scipy ships no types

from referee.instant import Instant

Wave = NDArray[np.float32]

#: A slap's click is broad; voices, hum and the table's own ring lie below this.
_HIGH_PASS_HZ = 6000.0
#: The envelope's window: two slaps nearer than about four of these are heard as one.
_WINDOW_S = 0.0004
#: An onset stands out from the room by the first factor, and from the loudest of the moment before by the second.
_OVER_ROOM, _OVER_RING, _BEFORE_S = 8.0, 1.7, 0.003
_CLOSEST_S = 0.003
#: One standard deviation of an onset that is well above the room (facts: 0.1 ms, measured on rendered slaps).
_SD_S = 0.00015


@dataclass(frozen=True, slots=True)
class Onset:
    """Something struck: when it was heard, and how far above what was heard before (a ratio of amplitudes)."""

    at: Instant
    strength: float


def onsets(sound: Wave, rate_hz: int, starts_ns: int = 0) -> tuple[Onset, ...]:
    """The onsets in mono sound; ``starts_ns`` is its first sample's time on the stream's clock."""
    if sound.ndim != 1:
        raise ValueError(f"sound: expected one channel, (n,), got {sound.shape}")
    if len(sound) < rate_hz // 20:
        return ()
    highest = min(_HIGH_PASS_HZ, 0.35 * rate_hz)
    sos = signal.butter(4, highest, "highpass", fs=rate_hz, output="sos")
    high = signal.sosfilt(sos, sound)
    window = max(3, round(_WINDOW_S * rate_hz))
    power = np.convolve(high * high, np.ones(window) / window, mode="full")[: len(high)]
    envelope = np.sqrt(power)
    room = _room(envelope, rate_hz)
    # The loudest of the moment before: a new strike must stand out from it.
    lag = max(1, round(_WINDOW_S * rate_hz))
    recent = ndimage.maximum_filter1d(envelope, size=max(3, round(_BEFORE_S * rate_hz)), mode="constant")
    shift = lag + round(_BEFORE_S * rate_hz / 2)
    before = np.concatenate([np.zeros(shift), recent[:-shift]])
    rises = (envelope > _OVER_ROOM * room) & (envelope > _OVER_RING * before)
    out: list[Onset] = []
    gap = round(_CLOSEST_S * rate_hz)
    k, n = 0, len(envelope)
    starts = np.flatnonzero(rises)
    i = 0
    while i < len(starts):
        k = int(starts[i])
        peak = float(envelope[k : min(n, k + gap)].max())
        out.append(Onset(_rise(envelope, k, peak, window, rate_hz, starts_ns), peak / max(float(room[k]), 1e-9)))
        i = int(np.searchsorted(starts, k + gap))
    return tuple(out)


def _rise(envelope: NDArray[np.float64], k: int, peak: float, window: int, rate_hz: int, starts_ns: int) -> Instant:
    """Where the envelope began to rise: the first sample that a click of this height would lift."""
    before = float(envelope[max(0, k - window) : max(k, 1)].min(initial=peak))
    level = before + 0.15 * (peak - before)
    start = k
    while start > 0 and envelope[start - 1] > level and k - start < 4 * window:
        start -= 1
    while start < len(envelope) - 1 and envelope[start] < level:
        start += 1
    # A click of one sample lifts the mean of the window at once: what came through is its first sample.
    at_s = start / rate_hz
    doubt = _SD_S + 0.3 / rate_hz
    return Instant(starts_ns + round(at_s * 1e9), round(doubt * 1e9))


def _room(envelope: NDArray[np.float64], rate_hz: int) -> NDArray[np.float64]:
    """What the room sounds like without slaps: a low share of the envelope within a second or so."""
    block = max(1, round(0.02 * rate_hz))
    count = max(1, math.ceil(len(envelope) / block))
    padded = np.pad(envelope, (0, count * block - len(envelope)), mode="edge").reshape(count, block)
    middle = np.median(padded, axis=1)
    reach = 25
    lows = np.array([np.percentile(middle[max(0, i - reach) : i + reach + 1], 40) for i in range(count)])
    return np.repeat(np.maximum(lows, 1e-6), block)[: len(envelope)]
