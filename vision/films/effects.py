"""What each condition changes in the pictures, measured beside the clean film of the same seed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import signal  # type: ignore[import-untyped]  # scipy ships no types

from vision.films.conditions import CONDITIONS
from vision.films.encode import SAMPLE_RATE
from vision.films.film import FilmOrder, Shoot
from vision.films.heard import MEASURES as HEARD

Picture = NDArray[np.uint8]
Field = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Effect:
    """One figure of a clean film and of the same film under a condition."""

    condition: str
    what: str
    clean: float
    changed: float


SEED = 7
SECONDS = 24.0
_SIZE = (960, 540)


def shoot(name: str, seed: int = SEED) -> Shoot:
    """A film under a condition, ready to be painted; two players, so that it is the same game under each."""
    return Shoot(FilmOrder("snap", seed, seconds=SECONDS, size_px=_SIZE, condition=name, players=2, fps=30.0))


def _pictures(shot: Shoot, times: NDArray[np.float64]) -> list[Field]:
    """(n, h, w) luma at those moments, which must rise."""
    height = shot.camera.height_px
    return [shot.sensor.expose(shot.renderer.frame(float(t)), float(t))[:height].astype(np.float32) for t in times]


def _quiet() -> NDArray[np.float64]:
    return np.arange(0.1, 1.2, 0.1)


def mean_level(shot: Shoot) -> float:
    """Mean brightness, steps of 255."""
    return float(np.mean(_pictures(shot, _quiet())))


def noise(shot: Shoot) -> float:
    """Standard deviation of a pixel over time while nothing moves, steps of 255."""
    return float(np.std(_pictures(shot, _quiet()), axis=0).mean())


def brightness_swing(shot: Shoot) -> float:
    """From the darkest to the brightest of the pictures taken in the film, in per cent of the mean."""
    means = [float(picture.mean()) for picture in _pictures(shot, np.arange(0.05, SECONDS - 3, 0.233))]
    return 100 * (max(means) - min(means)) / float(np.mean(means))


def local_swing(shot: Shoot) -> float:
    """How much darker a part of the table gets at most while no hand is there, per cent (5th percentile)."""
    pictures = np.stack([cv2.resize(p, (48, 27), interpolation=cv2.INTER_AREA) for p in _pictures(shot, _quiet())])
    rest = np.stack(
        [cv2.resize(p, (48, 27), interpolation=cv2.INTER_AREA) for p in _pictures(shot, np.arange(2, 18, 0.5))]
    )
    darker = 1 - np.percentile(rest, 20, axis=0) / pictures.max(axis=0)
    return 100 * float(np.percentile(darker, 95))


def clipped(shot: Shoot) -> float:
    """Share of the cards' pixels that are nearly white, per cent."""
    picture = _pictures(shot, np.array([0.5]))[0]
    mask = np.zeros(picture.shape, np.uint8)
    for change in shot.script.piles:
        if change.at_s == 0 and change.stack:
            quad = shot.renderer.card_quad(change.stack[-1], 0.3)
            cv2.fillConvexPoly(mask, quad.round().astype(np.int32), 255)
    return 100 * float((picture[mask > 0] > 200).mean())


def jump(shot: Shoot) -> float:
    """How far the table's corner moves from the film's start to its end, px."""
    first, last = shot.renderer.camera_at(0.0), shot.renderer.camera_at(SECONDS)
    return float(np.hypot(*(last.project([(0, 0)]) - first.project([(0, 0)]))[0]))


def uneven(shot: Shoot) -> float:
    """Gaps between frame stamps that are more than a twentieth off the usual one, per cent."""
    gaps = np.diff(shot.ticks)
    return 100 * float((np.abs(gaps / np.median(gaps) - 1) > 0.05).mean())


def card_px(shot: Shoot) -> float:
    """Breadth of a card in the middle of the table, px."""
    width, height = shot.script.table_mm
    return 63.0 * shot.camera.px_per_mm((width / 2, height / 2))


def squeeze(shot: Shoot) -> float:
    """A card's height beside its width as seen, upright before the lower player."""
    width, height = shot.script.table_mm
    x, y = width / 2, 0.7 * height
    quad = shot.camera.project([(x - 31.5, y - 44), (x + 31.5, y - 44), (x + 31.5, y + 44), (x - 31.5, y + 44)])
    across, along = quad[1] - quad[0], quad[3] - quad[0]
    return float(np.hypot(*along) / np.hypot(*across))


def skew(shot: Shoot) -> float:
    """How far the picture of a striking hand is from one taken all at once, steps of 255 where either moves."""
    at_once = Shoot(shot.order, replace(shot.condition, read_out_s=0.0))
    contact = shot.script.contacts[0].at_s
    first, other = (each.renderer.frame(contact - 0.03).astype(np.int16).copy() for each in (shot, at_once))
    still = shot.renderer.static.astype(np.int16)
    moving = (np.abs(first - still).max(axis=2) > 12) | (np.abs(other - still).max(axis=2) > 12)
    return float(np.abs(first - other).mean(axis=2)[moving].mean())


def flicker(shot: Shoot) -> float:
    """Standard deviation of the mean brightness from frame to frame while nothing moves, per cent."""
    times = np.array(shot.ticks[:36]) / 90_000
    means = np.array([picture.mean() for picture in _pictures(shot, times)])
    return 100 * float(means.std() / means.mean())


def edges(shot: Shoot) -> float:
    """Strong edges on the table before the first hand comes, per mille of its pixels."""
    picture = _pictures(shot, np.array([0.5]))[0].astype(np.uint8)
    return 1000 * float((cv2.Canny(picture, 60, 140) > 0).mean())


def bow(shot: Shoot) -> float:
    """How far the table's straight upper edge is bent, px."""
    width, _ = shot.script.table_mm
    left, middle, right = shot.camera.project([(0, 0), (width / 2, 0), (width, 0)])
    along = (right - left) / np.hypot(*(right - left))
    off = middle - left
    return float(abs(off[0] * along[1] - off[1] * along[0]))


def arms_in_sight(shot: Shoot) -> float:
    """How many arms are in the picture on average."""
    times = np.arange(2.0, SECONDS - 3, 0.37)
    return float(np.mean([len(shot.renderer.arm_masks(float(at_s))) for at_s in times]))


def hand_size(shot: Shoot) -> float:
    """Pixels that the first striking hand covers beyond its wrist, in thousands."""
    at_s = shot.script.contacts[0].at_s + 0.05
    return max(float((hand > 127).sum()) for _, _, hand in shot.renderer.arm_masks(at_s)) / 1000


def sound_late(shot: Shoot) -> float:
    """How long after its contact the first slap is heard, ms."""
    sound = shot.sound()
    if sound is None:
        return 0.0
    sos = signal.butter(2, 2000, "highpass", fs=SAMPLE_RATE, output="sos")
    loud = np.abs(signal.sosfilt(sos, sound))
    start = round((shot.script.contacts[0].at_s - 0.01) * SAMPLE_RATE)
    window = loud[start : start + round(0.3 * SAMPLE_RATE)]
    return 1000 * (float(np.argmax(window > 0.35 * window.max())) / SAMPLE_RATE - 0.01)


MEASURES: dict[str, tuple[Callable[[Shoot], float], ...]] = {
    "dim": (mean_level, noise),
    "glare": (clipped,),
    "shadow": (local_swing,),
    "bump": (jump,),
    "vfr": (uneven,),
    "low-res": (card_px,),
    "oblique": (squeeze,),
    "rolling": (skew,),
    "flicker": (flicker,),
    "auto-exposure": (brightness_swing,),
    "clutter": (edges,),
    "resting": (arms_in_sight,),
    "other-hands": (hand_size,),
    "patterned": (edges,),
    "lens": (bow,),
    "off-sync": (sound_late,),
    **HEARD,
}
"""What shows that a condition does something."""


def effects(name: str, seed: int = SEED) -> list[Effect]:
    """The condition's figures beside the clean film's."""
    rows = []
    for measure in MEASURES[name]:
        what = (measure.__doc__ or measure.__name__).split("\n")[0].rstrip(".")
        rows.append(Effect(name, what, measure(shoot("clean", seed)), measure(shoot(name, seed))))
    return rows


def main() -> int:
    """Print the table of `datasets/README.md`."""
    rows = ["| condition | figure | clean | changed |", "| --- | --- | --- | --- |"]
    for name in CONDITIONS:
        for row in effects(name) if name in MEASURES else ():
            rows.append(f"| {row.condition} | {row.what} | {row.clean:.2f} | {row.changed:.2f} |")
    sys.stdout.write("\n".join(rows) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
