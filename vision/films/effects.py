"""What each condition changes in the pictures, measured beside the clean film of the same seed."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import signal  # type: ignore[import-untyped]  # scipy ships no types

from vision.films.artwork import CARD_MM
from vision.films.conditions import CONDITIONS
from vision.films.encode import CLOCK, SAMPLE_RATE, write_film
from vision.films.film import FilmOrder, Shoot
from vision.films.heard import MEASURES as HEARD
from vision.films.script import CARD_THICKNESS_MM

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


def colour_swing(shot: Shoot) -> float:
    """From the coolest to the warmest of the pictures taken in the film, mean red difference less mean blue
    difference, steps of 255."""
    height, width = shot.camera.height_px, shot.camera.width_px
    warm = []
    for at_s in np.arange(0.05, SECONDS - 3, 0.5):
        flat = shot.sensor.expose(shot.renderer.frame(float(at_s)), float(at_s))
        blue, red = flat[height:].reshape(2, height // 2, width // 2).reshape(2, -1).mean(axis=1)
        warm.append(float(red - blue))
    return max(warm) - min(warm)


def rim_wear(shot: Shoot) -> float:
    """How uneven the white rims of the cards are, 1 mm inside their edges, steps of 255."""
    picture = _pictures(shot, np.array([0.5]))[0]
    spread = []
    for change in shot.script.piles:
        if change.at_s == 0 and change.stack and not change.stack[-1].face_up:
            quad = shot.renderer.card_quad(change.stack[-1], len(change.stack) * CARD_THICKNESS_MM)
            inner = quad + (quad.mean(axis=0) - quad) * np.array([1 / 44, 1 / 44])
            for start, end in zip(inner, np.roll(inner, -1, axis=0), strict=True):
                at = start + np.linspace(0.12, 0.88, 40)[:, None] * (end - start)
                x, y = at.astype(np.float32).T[:, None]
                spread.append(cv2.remap(picture, x, y, cv2.INTER_LINEAR)[0].std())
    return float(np.mean(spread))


def beyond_the_edge(shot: Shoot) -> float:
    """Bright pixels beyond the table's edge before the first hand comes, share of a card in per cent."""
    picture = _pictures(shot, np.array([0.5]))[0]
    width, height = shot.script.table_mm
    table = np.zeros(picture.shape, np.uint8)
    edge = shot.camera.project([(-2, -2), (width + 2, -2), (width + 2, height + 2), (-2, height + 2)])
    cv2.fillConvexPoly(table, edge.round().astype(np.int32), 255)
    card = CARD_MM[0] * CARD_MM[1] * shot.camera.px_per_mm((width / 2, height / 2)) ** 2
    return 100 * float(((picture > 110) & (table == 0)).sum()) / card


def detail(shot: Shoot) -> float:
    """How much neighbouring pixels of the empty table differ, noise left out, steps of 255."""
    grey = cv2.cvtColor(shot.renderer.base, cv2.COLOR_BGR2GRAY).astype(np.float32)
    return float(np.abs(np.diff(grey, axis=1)).mean())


def around(shot: Shoot) -> float:
    """How colourful what is around the table is, mean of the greatest less the least of red, green and blue."""
    width, height = shot.script.table_mm
    table = np.zeros(shot.renderer.base.shape[:2], np.uint8)
    edge = shot.camera.project([(-5, -5), (width + 5, -5), (width + 5, height + 5), (-5, height + 5)])
    cv2.fillConvexPoly(table, edge.round().astype(np.int32), 255)
    return float(np.ptp(shot.renderer.base[table == 0].astype(np.int16), axis=1).mean())


def _coded(shot: Shoot) -> tuple[float, int, float]:
    """(root mean square by which coded pictures are off on luma, bytes, pixels) around the first slap."""
    contact = shot.script.contacts[0].at_s
    ticks = [tick for tick in shot.ticks if abs(tick / CLOCK - contact) < 0.5]
    height = shot.camera.height_px
    taken = [shot.sensor.expose(shot.renderer.frame(tick / CLOCK), tick / CLOCK).copy() for tick in ticks]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "coded.mp4"
        write_film(path, zip(ticks, taken, strict=True), shot.camera.size_px, shot.order.fps, None, shot.encoding)
        size = path.stat().st_size
        with av.open(str(path)) as film:
            seen = [frame.to_ndarray(format="gray") for frame in film.decode(video=0)]
    # A grey picture is of full range, what the sensor gives is 16 to 235.
    off = [
        (16 + 219 / 255 * grey.astype(np.float32) - flat[:height]) ** 2 for grey, flat in zip(seen, taken, strict=True)
    ]
    return float(np.sqrt(np.mean(off))), size, float(len(ticks) * height * shot.camera.width_px)


def coding_error(shot: Shoot) -> float:
    """How far decoded pictures of the first slap are off what the sensor gave (root mean square, steps of 255)."""
    return _coded(shot)[0]


def coded_size(shot: Shoot) -> float:
    """Bytes of film for each thousand pixels around the first slap."""
    _, size, pixels = _coded(shot)
    return 1000 * size / pixels


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
    "photo": (detail, around),
    "lens": (bow,),
    "white-balance": (colour_swing,),
    "worn": (rim_wear,),
    "half-off": (beyond_the_edge,),
    "hevc": (coding_error, coded_size),
    "mjpeg": (coding_error, coded_size),
    "off-sync": (sound_late,),
    **HEARD,
}
"""What shows that a condition does something."""


def effects(name: str, seed: int = SEED) -> list[Effect]:
    """The condition's figures beside the clean film's."""
    rows = []
    for measure in MEASURES[name]:
        what = " ".join((measure.__doc__ or measure.__name__).split()).rstrip(".")
        rows.append(Effect(name, what, measure(shoot("clean", seed)), measure(shoot(name, seed))))
    return rows


def main(names: Sequence[str] = ()) -> int:
    """Print the table of `datasets/README.md`, or its rows of those conditions."""
    rows = ["| condition | figure | clean | changed |", "| --- | --- | --- | --- |"]
    for name in names or CONDITIONS:
        for row in effects(name) if name in MEASURES else ():
            rows.append(f"| {row.condition} | {row.what} | {row.clean:.2f} | {row.changed:.2f} |")
    sys.stdout.write("\n".join(rows) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
