"""What each condition of a slap clip changes in its pictures, stamps and sound, beside the plain clip of that seed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import signal  # type: ignore[import-untyped]  # scipy ships no types

from vision.films.encode import SAMPLE_RATE, Encoding
from vision.films.slap_clip import QUIET_S, SlapClip, make_slap_clip
from vision.films.slap_spec import SlapSpec

Field = NDArray[np.float32]

PLAIN = SlapSpec(fps=30, hands=2, top="oak", noise=1.0, shutter_s=1 / 400)
SEED = 4
CORNER_PX = (150, 90)


def _grey(image: NDArray[np.uint8]) -> Field:
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), np.float32)


def _quiet(clip: SlapClip) -> list[Field]:
    """Grey pictures before the first hand comes."""
    return [_grey(each.image) for each in takewhile(lambda each: each.at_ns < QUIET_S * 1e9, clip.rendered())]


def _corners(image: NDArray[Any]) -> list[NDArray[Any]]:
    """The picture's four corners, most of which are free of arms."""
    width, height = CORNER_PX
    return [image[y, x] for y in (slice(height), slice(-height, None)) for x in (slice(width), slice(-width, None))]


def _moved(first: Field, other: Field) -> float:
    """How far the table went between two pictures, px: the middle of what the four corners say."""
    window = np.asarray(cv2.createHanningWindow(CORNER_PX, cv2.CV_32F), np.float32)
    shifts = [
        cv2.phaseCorrelate(np.ascontiguousarray(a), np.ascontiguousarray(b), window)[0]
        for a, b in zip(_corners(first), _corners(other), strict=True)
    ]
    return float(np.hypot(*np.median(np.array(shifts), axis=0)))


def sways(clip: SlapClip) -> float:
    """How far the table moves in the picture before the first hand comes, px."""
    first, *others = _quiet(clip)
    return max(_moved(first, other) for other in others)


def jolts(clip: SlapClip) -> float:
    """How far the table moves in the picture in the 100 ms after the first contact, px."""
    contact = min(hand.contact_ns for hand in clip.truth.hands if hand.contact_ns is not None)
    near = [each for each in clip.rendered() if -40e6 < each.at_ns - contact < 100e6]
    before = [_grey(each.image) for each in near if each.at_ns <= contact]
    return max(_moved(before[-1], _grey(each.image)) for each in near if each.at_ns > contact)


def bends(clip: SlapClip) -> float:
    """How far marks in the picture's corners lie from where a lens without distortion draws them, px."""
    straight = SlapClip(replace(clip.spec, lens_k1=0.0), clip.seed)
    first, other = (_quiet(each)[0].astype(np.uint8) for each in (straight, clip))
    mask = np.zeros(first.shape, np.uint8)
    for corner in _corners(mask):
        corner[...] = 255
    marks = cv2.goodFeaturesToTrack(first, 60, 0.05, 8, mask=mask)
    found, seen, _ = cv2.calcOpticalFlowPyrLK(first, other, marks, np.zeros_like(marks), winSize=(31, 31), maxLevel=4)
    gone = np.hypot(*np.moveaxis((found - marks).reshape(-1, 2), 1, 0))
    return float(np.median(gone[seen.ravel() > 0]))


def swings(clip: SlapClip) -> float:
    """From the darkest to the brightest picture of the clip, per cent of the mean of the corners."""
    means = np.array([np.median([corner.mean() for corner in _corners(each.image)]) for each in clip.rendered()])
    return 100 * float((means.max() - means.min()) / means.mean())


def tints(clip: SlapClip) -> float:
    """How much the corners' blue beside their red changes in the clip, per cent."""
    ratios = [
        np.median([corner[..., 0].mean() / corner[..., 2].mean() for corner in _corners(each.image)])
        for each in clip.rendered()
    ]
    return 100 * float(max(ratios) / min(ratios) - 1)


def flickers(clip: SlapClip) -> float:
    """Standard deviation of the brightness of the middle lines from frame to frame, per cent."""
    means = np.array([each[170:190].mean() for each in _quiet(clip)])
    return 100 * float(means.std() / means.mean())


def level(clip: SlapClip) -> float:
    """Mean brightness, steps of 255."""
    return float(_quiet(clip)[0].mean())


def grain(clip: SlapClip) -> float:
    """Standard deviation of a pixel while nothing moves, steps of 255."""
    return float(np.std(_quiet(clip), axis=0).mean())


def skews(clip: SlapClip) -> float:
    """How far a picture of the strike is from one taken all at once, steps of 255 where either moves."""
    contact = min(hand.arrives_ns for hand in clip.truth.hands) / 1e9
    at_once = SlapClip(replace(clip.spec, read_out_s=0.0), clip.seed)
    first, other = (
        min(each.rendered(), key=lambda frame: abs(frame.at_ns / 1e9 - contact + 0.03)).image.astype(np.int16)
        for each in (clip, at_once)
    )
    still = next(iter(clip.rendered())).image.astype(np.int16)
    moving = (np.abs(first - still).max(axis=2) > 14) | (np.abs(other - still).max(axis=2) > 14)
    return float(np.abs(first - other).mean(axis=2)[moving].mean())


def lost(clip: SlapClip) -> float:
    """Frames that are missing (a gap of over 1.5 usual ones) or repeat the one before, per cent."""
    frames = list(clip.rendered())
    gaps = np.diff([each.at_ns for each in frames]) * clip.spec.fps / 1e9
    same = sum(np.array_equal(a.image, b.image) for a, b in pairwise(frames))
    return 100 * (float((gaps > 1.5).sum()) + same) / len(gaps)


def uneven(clip: SlapClip) -> float:
    """Standard deviation of the time between frames, per cent of the mean."""
    gaps = np.diff(clip.pts_ns)
    return 100 * float(gaps.std() / gaps.mean())


def coded(clip: SlapClip) -> float:
    """Mean square difference from the picture before the codec, in dB below 255² (PSNR; 99: none)."""
    square = np.mean(
        [
            np.mean((a.image.astype(np.float32) - b.image) ** 2)
            for a, b in zip(clip.rendered(), clip.frames(), strict=True)
        ]
    )
    return 99.0 if square == 0 else 10 * float(np.log10(255**2 / square))


def _sharp(clip: SlapClip) -> Field:
    sound = clip.audio
    if sound is None:
        return np.zeros(1, np.float32)
    sos = signal.butter(2, 2000, "highpass", fs=SAMPLE_RATE, output="sos")
    return np.abs(np.asarray(signal.sosfilt(sos, sound), np.float32))


def _heard(clip: SlapClip) -> list[int]:
    """The samples at which contacts are heard."""
    drift, delay_s = clip.spec.sound_drift, clip.spec.sound_delay_s
    contacts = [contact for hand in clip.truth.hands for contact in hand.contacts_ns]
    return [round((contact / 1e9 * (1 + drift) + delay_s) * SAMPLE_RATE) for contact in contacts]


def _free(clip: SlapClip) -> NDArray[np.bool_]:
    """(n,): samples at which no slap is heard; a room answers for a third of a second."""
    free = np.ones(len(_sharp(clip)), bool)
    for at in _heard(clip):
        free[max(at - 100, 0) : at + SAMPLE_RATE // 3] = False
    return free


def clicks(clip: SlapClip) -> float:
    """The loudest click (above 2 kHz) while no slap is heard, in dB beside the loudest slap's."""
    sharp = _sharp(clip)
    slap = max(float(sharp[max(at - 50, 0) : at + 400].max()) for at in _heard(clip))
    return 20 * float(np.log10(sharp[_free(clip)].max() / slap))


def din_level(clip: SlapClip) -> float:
    """Root mean square of the sound while no slap is heard, in dB beside full scale."""
    sound = clip.audio
    if sound is None:
        return -99.0
    return 20 * float(np.log10(np.sqrt(np.mean(sound[_free(clip)] ** 2)) + 1e-9))


def late(clip: SlapClip) -> float:
    """How long after its contact the first slap is heard, ms."""
    contact = min(hand.contact_ns for hand in clip.truth.hands if hand.contact_ns is not None) / 1e9
    start = round((contact - 0.15) * SAMPLE_RATE)
    window = _sharp(clip)[start : start + round(0.3 * SAMPLE_RATE)]
    return 1000 * (float(np.argmax(window > 0.35 * window.max())) / SAMPLE_RATE - 0.15)


@dataclass(frozen=True, slots=True)
class Effect:
    """One figure of the plain clip and of the same clip under a condition."""

    condition: str
    what: str
    plain: float
    changed: float


CONDITIONS: Mapping[str, tuple[Mapping[str, Any], tuple[Callable[[SlapClip], float], ...]]] = {
    "shake": ({"shake_px": 1.5}, (sways,)),
    "jolt": ({"jolt_px": 2.5}, (jolts,)),
    "lens": ({"lens_k1": -0.12}, (bends,)),
    "exposure": ({"exposure_steps": 0.35}, (swings, tints)),
    "flicker": ({"flicker": 0.2}, (flickers,)),
    "dim": ({"level": 0.4, "noise": 5.0}, (level, grain)),
    "rolling": ({"read_out_s": 0.028}, (skews,)),
    "lost frames": ({"dropped": 0.1}, (lost,)),
    "uneven time": ({"variable_rate": 0.25}, (uneven,)),
    "H.264, 18": ({"encoding": Encoding("h264", 18)}, (coded,)),
    "H.264, 34": ({"encoding": Encoding("h264", 34)}, (coded,)),
    "HEVC, 20": ({"encoding": Encoding("hevc", 20, "superfast")}, (coded,)),
    "HEVC, 34": ({"encoding": Encoding("hevc", 34, "superfast")}, (coded,)),
    "talk": ({"talk": 0.3}, (din_level, clicks)),
    "music": ({"music": 0.03}, (din_level, clicks)),
    "knocks": ({"knocks": 3.0}, (clicks,)),
    "off-sync": ({"sound_delay_s": 0.08}, (late,)),
}
"""What is changed for a condition, and what shows it."""


def effects(name: str, seed: int = SEED) -> list[Effect]:
    """The condition's figures beside the plain clip's."""
    changes, measures = CONDITIONS[name]
    rows = []
    for measure in measures:
        what = (measure.__doc__ or measure.__name__).split("\n")[0].rstrip(".")
        plain, changed = (measure(make_slap_clip(spec, seed)) for spec in (PLAIN, replace(PLAIN, **changes)))
        rows.append(Effect(name, what, plain, changed))
    return rows


def main() -> int:
    """Print the table of `datasets/README.md`."""
    sys.stdout.write("| condition | figure | plain | changed |\n| --- | --- | --- | --- |\n")
    for name in CONDITIONS:
        for row in effects(name):
            sys.stdout.write(f"| {row.condition} | {row.what} | {row.plain:.2f} | {row.changed:.2f} |\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
