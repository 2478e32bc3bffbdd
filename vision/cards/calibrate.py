"""Fits the reader's temperature and threshold to labelled photos: `python -m vision.cards.calibrate FOLDER…`.

Only for photos that may be trained on, and that the reader's weights have not seen: what a network has learnt
by heart it names with more confidence than anything new.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vision.cards.read import CardReader
from vision.cards.reader import FaceReader
from vision.weights import Weights

#: Temperatures that are tried.
TEMPERATURES = np.geomspace(0.3, 3.0, 25)

#: The share of cards found that may be named wrongly: half of the benchmark's goal for a set like the photos'.
WRONG_AT_MOST = 0.005


def threshold(confidence: NDArray[np.float64], right: NDArray[np.bool_], wrong_at_most: float) -> float:
    """The least confidence at which the share named wrongly, of all, stays at or below the limit."""
    order = np.argsort(-confidence, kind="stable")
    wrong = np.cumsum(~right[order]) / len(order)
    allowed = np.flatnonzero(wrong <= wrong_at_most)
    if not len(allowed):
        return 1.0
    last = int(allowed[-1])
    least = float(confidence[order[last]])
    if last + 1 == len(order):
        return min(least, 0.5)
    return (least + float(confidence[order[last + 1]])) / 2


def with_keys(described: str, **values: float) -> str:
    """A ``model.toml`` with some numbers replaced, comments kept; keys that it lacks are added."""
    for key, value in values.items():
        line = f"{key} = {value:.4g}"
        described, changed = re.subn(rf"(?m)^{key}\s*=\s*[-+.\de]+", line, described)
        if not changed:
            described = described.rstrip("\n") + f"\n{line}\n"
    return described


def main(argv: list[str] | None = None) -> int:
    """Fit on the folders, print what came of it, and write it into the model's ``model.toml``."""
    # The bench's labels and matching: what a card is and which quad shows it must mean the same in both.
    from vision.benches.cards import matched
    from vision.benches.labelled import open_set
    from vision.cards.photo import open_photo

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--model", default="card-reader", help="the folder's name under models/")
    parser.add_argument("--wrong-at-most", type=float, default=WRONG_AT_MOST)
    args = parser.parse_args(argv)
    weights = Weights.shipped(args.model)
    shipped = CardReader.shipped()
    photos = [photo for folder in args.folders for one in open_set(folder) for photo in one]
    pictures = [(photo, open_photo(photo.path)) for photo in photos]
    found = [shipped.find(image) for _, image in pictures]
    network = FaceReader.shipped(args.model).network
    surprise, stated, fits = [], [], []
    for temperature in TEMPERATURES:
        reader = shipped.with_namer(FaceReader(replace(weights, temperature=float(temperature)), network))
        confidence, fit, likelihood = [], [], []
        for (photo, image), quads in zip(pictures, found, strict=True):
            seen = reader.read_found(image, quads)
            for i, j in matched(photo.labels, seen, (image.shape[1], image.shape[0])).items():
                if seen[j].face == "up":
                    label = photo.labels[i]
                    told = [p for card, p in seen[j].alternatives if label.fits(card)]
                    confidence.append(seen[j].confidence)
                    fit.append(label.fits(next(iter(seen[j].or_cards), "")))
                    likelihood.append(np.log(max(sum(told), 1e-3)))
        surprise.append(-float(np.mean(likelihood)))
        stated.append(np.array(confidence))
        fits.append(np.array(fit))
    best = int(np.argmin(surprise))
    least = threshold(stated[best], fits[best], args.wrong_at_most)
    named = stated[best] >= least
    sys.stdout.write(
        f"{len(named)} cards: temperature {TEMPERATURES[best]:.3f} (surprise {surprise[best]:.3f}), "
        f"threshold {least:.3f}: named {named.mean():.3f}, wrong {(named & ~fits[best]).mean():.4f}\n"
    )
    described = weights.path.with_name("model.toml")
    told_now = with_keys(described.read_text("utf-8"), temperature=float(TEMPERATURES[best]), min_confidence=least)
    described.write_text(told_now, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
