"""What was heard in the last seconds, asked for by the stream's own times."""

from __future__ import annotations

import numpy as np

from vision.ear import Ear
from vision.sources.pieces import Sound

RATE = 48_000
MS = 1_000_000


def clap(ear: Ear, at_ms: list[int], until_ms: int, starts_ns: int = 250 * MS) -> None:
    """A quiet room with clicks, heard in blocks of a fiftieth of a second."""
    rng = np.random.default_rng(3)
    samples = rng.normal(0, 0.001, until_ms * RATE // 1000).astype(np.float32)
    for at in at_ms:
        k = at * RATE // 1000
        samples[k : k + 400] += rng.normal(0, 0.3, 400).astype(np.float32) * np.exp(-np.arange(400) / 90).astype("f4")
    for k in range(0, len(samples), 960):
        ear.hear(Sound(starts_ns + k * 1_000_000_000 // RATE, RATE, samples[k : k + 960]))


def test_a_strike_is_heard_where_the_stream_has_it() -> None:
    """The sound begins a quarter of a second into the stream; two slaps 40 ms apart are two."""
    ear = Ear()
    clap(ear, [900, 940], 2000)
    struck = ear.struck(1000 * MS, 1400 * MS)
    assert [round(at.at_ns / MS) for at in struck] == [1150, 1190]
    assert ear.struck(1300 * MS, 1500 * MS) == ()


def test_what_is_long_past_is_forgotten_and_what_was_never_heard_is_none() -> None:
    ear = Ear()
    assert ear.until_ns is None
    assert ear.struck(0, 10**9) == ()
    clap(ear, [500], 10_500)
    assert ear.struck(600 * MS, 900 * MS) == ()
    assert ear.until_ns == 10_750 * MS
