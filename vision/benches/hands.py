"""The benchmark of finding hands in real labelled photographs."""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]  # it ships no types

from referee.bad_input import BadInput
from vision.benches.wilson import wilson
from vision.cards.photo import SUFFIXES, open_photo
from vision.detections import HAND, Detector

HELP = "hands in real labelled photographs: found, missed, invented"

#: Overlaps (intersection over union) from which a hand counts as found; the first is the one that names pictures.
OVERLAPS = (0.5, 0.3)
#: Pictures that `--quick` looks at, drawn with the seed.
QUICK_PICTURES = 5

Boxes = NDArray[np.float64]


def add(parser: argparse.ArgumentParser) -> None:
    """Add the bench's own options."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="images/ beside boxes/ (x y width height a line)")
    parser.add_argument("--backend", help="onnxruntime or openvino (default: what is installed)")


def run(args: argparse.Namespace) -> int:
    """Look for hands in a folder, print a table, and as the last line one JSON object."""
    from vision.detectors.palms import PalmDetector

    labelled = labelled_hands(args.folder)
    if args.quick:
        labelled = sorted(random.Random(args.seed).sample(labelled, min(QUICK_PICTURES, len(labelled))))
    results = []
    for result in measure(labelled, PalmDetector.shipped(args.backend)):
        results.append(result)
        if sys.stderr.isatty():
            print(f"\r{len(results)}/{len(labelled)} pictures", end="", file=sys.stderr)
    print(table(results))
    print(json.dumps({"bench": "hands", "seed": args.seed, "quick": args.quick, **figures(results)}))
    return 0


@dataclass(frozen=True, slots=True)
class PictureResult:
    """One picture: how many hands a person boxed, how many the detector did, and how many of both agree.

    agree: by overlap of `OVERLAPS`, the largest number of pairs, one to one. milliseconds: of processor time, which
    other work on the machine lengthens less than time by the clock.
    """

    name: str
    hands: int
    told: int
    agree: tuple[int, ...]
    milliseconds: float


def labelled_hands(folder: Path) -> list[tuple[Path, Path]]:
    """Pictures with the files of their boxes, by name; every picture has one."""
    images, boxes = folder / "images", folder / "boxes"
    if not images.is_dir() or not boxes.is_dir():
        raise BadInput.of(str(folder), "a folder with images/ and boxes/", "none")
    pictures = sorted(path for path in images.iterdir() if path.suffix.lower() in SUFFIXES)
    if not pictures:
        raise BadInput.of(str(images), "pictures", "none")
    return [(path, boxes / (path.stem + ".txt")) for path in pictures]


def parse_boxes(text: str, name: str = "boxes") -> Boxes:
    """Boxes (n, 4) float64, left, top, right, bottom in pixels, of lines ``x y width height``."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        try:
            x, y, width, height = (float(word) for word in words)
        except ValueError:
            raise BadInput.of(f"{name}, line {number}", "x y width height", line[:60]) from None
        if not (width > 0 and height > 0 and np.isfinite([x, y, width, height]).all()):
            raise BadInput.of(f"{name}, line {number}", "a box with a size", line[:60])
        found.append((x, y, x + width, y + height))
    return np.array(found, np.float64).reshape(-1, 4)


def measure(labelled: Iterable[tuple[Path, Path]], detector: Detector) -> Iterable[PictureResult]:
    """Look at each picture, and compare."""
    for path, boxes in labelled:
        try:
            true = parse_boxes(boxes.read_text("utf-8"), str(boxes))
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput.of(str(boxes), "the boxes of a picture", type(error).__name__) from None
        image = open_photo(path)
        began = time.process_time()
        told = detector.detect(image).labelled(HAND).boxes().astype(np.float64)
        milliseconds = (time.process_time() - began) * 1e3
        agree = tuple(pairs(true, told, least) for least in OVERLAPS)
        yield PictureResult(path.name, len(true), len(told), agree, milliseconds)


def pairs(true: Boxes, told: Boxes, least: float) -> int:
    """How many boxes agree at an overlap, one to one: as many as can be."""
    if not len(true) or not len(told):
        return 0
    agree = overlaps(true, told) >= least
    rows, columns = linear_sum_assignment(~agree)
    return int(agree[rows, columns].sum())


def overlaps(a: Boxes, b: Boxes) -> Boxes:
    """Intersection over union of each of ``a`` (n, 4) with each of ``b`` (m, 4), as (n, m)."""
    low, high = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = np.maximum(high - low, 0).prod(axis=2)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(axis=1) for boxes in (a, b)]
    union = areas[0][:, None] + areas[1][None] - shared
    return np.asarray(np.where(union > 0, shared / np.maximum(union, 1e-9), 0.0))


def figures(results: Sequence[PictureResult]) -> dict[str, object]:
    """The figures of the benchmark, flat."""
    hands, told = sum(one.hands for one in results), sum(one.told for one in results)
    out: dict[str, object] = {"images": len(results), "hands": hands, "told": told}
    for k, least in enumerate(OVERLAPS):
        agree = sum(one.agree[k] for one in results)
        low, high = wilson(agree, hands)
        out |= {
            f"found_{least}": round(agree / hands, 4) if hands else None,
            f"found_{least}_n": agree,
            f"found_{least}_low": round(low, 4),
            f"found_{least}_high": round(high, 4),
            f"false_an_image_{least}": round((told - agree) / len(results), 4) if results else None,
        }
    out |= {"missed": missed(results), "invented": invented(results)}
    out["cpu_ms_an_image"] = round(float(np.median([one.milliseconds for one in results])), 1) if results else None
    return out


def missed(results: Sequence[PictureResult]) -> list[str]:
    """The names of the pictures in which a hand was not found, at the first of `OVERLAPS`."""
    return [one.name for one in results if one.agree[0] < one.hands]


def invented(results: Sequence[PictureResult]) -> list[str]:
    """The names of the pictures in which something was taken for a hand, or a hand's box lies badly."""
    return [one.name for one in results if one.agree[0] < one.told]


def table(results: Sequence[PictureResult]) -> str:
    """A line a picture, then the sums."""
    told = figures(results)
    head = "picture    hands  told  " + "  ".join(f"found at {least}" for least in OVERLAPS)
    lines = [
        f"{one.name:<10} {one.hands:>5}  {one.told:>4}  " + "  ".join(f"{agree:>12}" for agree in one.agree)
        for one in results
    ]
    sums = [
        f"found at {least}: {told[f'found_{least}_n']} of {told['hands']}"
        f" ({told[f'found_{least}_low']}–{told[f'found_{least}_high']}),"
        f" false an image: {told[f'false_an_image_{least}']}"
        for least in OVERLAPS
    ]
    names = [
        f"{what} at {OVERLAPS[0]}: {', '.join(failed) or 'none'}"
        for what, failed in (("missed", missed(results)), ("invented", invented(results)))
    ]
    return "\n".join(
        [head, *lines, *sums, *names, f"ms of processor time an image (median): {told['cpu_ms_an_image']}"]
    )
