"""The contact sheet of the slap clips: ``python -m vision.films.slap_sheet datasets/films/slaps.jpg``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.films.encode import Encoding
from vision.films.kinematics import Family, Strike
from vision.films.slap_clip import make_slap_clip
from vision.films.slap_spec import SlapSpec

Picture = NDArray[np.uint8]

TILE_PX = (320, 180)
ROW_TILES = 3
"""Pictures a clip: before the first contact, just before the last one, and at rest."""

_PLAIN = SlapSpec(fps=30, hands=3, strike=None, shutter_s=1 / 250, sound=False)


def clips() -> list[tuple[str, SlapSpec, int]]:
    """What the sheet shows: a name, a spec and a seed."""
    tops = ("cloth-white", "cherry", "oak", "cloth-red", "cloth-green", "walnut", "cloth-blue", "cloth-grey", "pine")
    shown = [
        (family.value, replace(_PLAIN, family=family, top=tops[n % len(tops)], shutter_s=1 / (60, 250, 125)[n % 3]), n)
        for n, family in enumerate(Family)
    ]
    for n, strike in enumerate(Strike):
        shown.append((strike.value, replace(_PLAIN, strike=strike, hands=2, top=tops[(n + 4) % len(tops)]), 50 + n))
    harder = {
        "mesh hands": replace(_PLAIN, mesh_hands=True, top="patterned"),
        "lens": replace(_PLAIN, lens_k1=-0.13, top="pine"),
        "dim, noisy": replace(_PLAIN, level=0.4, noise=5.5, shutter_s=1 / 60),
        "shake, exposure": replace(_PLAIN, shake_px=2.0, exposure_steps=0.4, top="cloth-green"),
        "flicker, rolling": replace(_PLAIN, flicker=0.25, read_out_s=0.015, shutter_s=1 / 800, top="cloth-white"),
        "slanted": replace(_PLAIN, tilt_deg=30.0, top="cherry"),
        "HEVC, 36": replace(_PLAIN, encoding=Encoding("hevc", 36, "superfast"), top="oak"),
    }
    return shown + [(name, spec, 80 + n) for n, (name, spec) in enumerate(harder.items())]


def tiles(spec: SlapSpec, seed: int) -> list[Picture]:
    """The pictures of a clip that tell most, small."""
    clip = make_slap_clip(spec, seed)
    arrivals = [hand.arrives_ns for hand in clip.truth.hands]
    rest = min(hand.lifts_ns for hand in clip.truth.hands)
    wanted = (min(arrivals) - 45e6, max(arrivals) - 8e6, (max(arrivals) + rest) / 2)
    kept: list[Picture] = []
    last: Picture | None = None
    for frame in clip.frames():
        if frame.at_ns >= wanted[len(kept)] and last is not None:
            kept.append(last)
            if len(kept) == ROW_TILES:
                break
        last = frame.image
    return [np.asarray(cv2.resize(each, TILE_PX, interpolation=cv2.INTER_AREA), np.uint8) for each in kept]


def sheet(columns: int = 2) -> Picture:
    """All clips, each a strip of three pictures with its name."""
    strips = []
    for name, spec, seed in clips():
        strip = np.hstack(tiles(spec, seed))
        cv2.rectangle(strip, (0, TILE_PX[1] - 22), (12 + 9 * len(name), TILE_PX[1]), (0, 0, 0), -1)
        at = (6, TILE_PX[1] - 7)
        cv2.putText(strip, name, at, cv2.FONT_HERSHEY_SIMPLEX, 0.45, (255, 255, 255), 1, cv2.LINE_AA)
        strips.append(strip)
    while len(strips) % columns:
        strips.append(np.zeros_like(strips[0]))
    rows = [np.hstack(strips[n : n + columns]) for n in range(0, len(strips), columns)]
    return np.asarray(np.vstack(rows), np.uint8)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the sheet as JPEG."""
    parser = argparse.ArgumentParser(description="Draw the contact sheet of the slap clips.")
    parser.add_argument("out", type=Path)
    given = parser.parse_args(arguments)
    done, data = cv2.imencode(".jpg", sheet(), [cv2.IMWRITE_JPEG_QUALITY, 74])
    if not done:
        raise OSError(f"expected to encode {given.out}, but the encoder refused")
    given.out.write_bytes(data.tobytes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
