"""How fast slap clips are made: ``python -m vision.films.slap_speed`` prints frames a second, set-up included."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import cv2
import numpy as np

from vision.films.slap_clip import make_slap_clip
from vision.films.slap_spec import RATES, SlapSpec


def made(job: tuple[float, int, bool]) -> tuple[int, float]:
    """Frames of one clip of that rate and seed (coded or not), and the processor time that they took."""
    fps, seed, coded = job
    cv2.setNumThreads(1)
    rng = np.random.default_rng([seed, round(fps)])
    spec = SlapSpec.drawn(rng, fps=fps, nominal=seed % 2 == 0, coded=coded)
    start = time.process_time()
    frames = sum(1 for _ in make_slap_clip(replace(spec, sound=False), seed).frames())
    return frames, time.process_time() - start


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table: rate, frames, frames a second of one core's time and of the clock."""
    parser = argparse.ArgumentParser(description="Time the making of slap clips.")
    parser.add_argument("--n", type=int, default=6, help="clips a rate")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--coded", action="store_true", help="through H.264 or HEVC and back as well")
    given = parser.parse_args(arguments)
    with ProcessPoolExecutor(given.workers) as pool:
        sys.stdout.write(f"clips of 640x360, 2 to 6 hands, {given.workers} processes\n")
        for fps in RATES:
            start = time.perf_counter()
            done = list(pool.map(made, [(fps, seed, given.coded) for seed in range(given.n)]))
            wall = time.perf_counter() - start
            frames, cpu = sum(each for each, _ in done), sum(each for _, each in done)
            sys.stdout.write(
                f"{fps:4d} fps: {frames:5d} frames, {frames / cpu:5.0f} a second of one core, "
                f"{frames / wall:5.0f} a second of the clock\n"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
