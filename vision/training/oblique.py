"""Oriented boxes or four corners? How well each fits a card that is seen obliquely, on rendered tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vision.cards.find import CardFinder
from vision.cards.quads import iou
from vision.cards.reader import FaceReader
from vision.cards.refine import refined
from vision.detections import CARD_BACK, CARD_FACE
from vision.detectors.onnx import OnnxDetector
from vision.training.cards_art import CARDS, Shelf
from vision.training.compose import compose
from vision.training.crops import cut_out
from vision.training.surfaces import Textures

#: How far a camera leans from overhead, degrees.
LEANS = ((0.0, 15.0), (15.0, 30.0), (30.0, 45.0), (45.0, 58.0))

#: A card counts that shows by this share, and that was found by this much.
SHOWS, FOUND = 0.97, 0.5


def measured(cache: Path, tables: int, seed: int) -> str:
    """A table in words: for each lean, the cards found, and of oriented boxes and of quads fitted to the edges the
    mean IoU with the true quad and the share that the reader names rightly."""
    shelf, finder, reader = Shelf.open(cache, held_out=True), CardFinder(OnnxDetector.shipped()), FaceReader.shipped()
    textures = Textures.read(cache, np.random.default_rng(seed + 1), keep=60)
    lines = ["lean from overhead | cards | IoU box | IoU edges | named rightly box | named rightly edges"]
    for lean in LEANS:
        rng = np.random.default_rng([seed, int(lean[0])])
        fits: list[tuple[float, float, bool, bool]] = []
        for _ in range(tables):
            scene = compose(shelf, textures, rng, 640, lean_degrees=lean)
            found = finder.detect(scene.image).labelled(CARD_FACE, CARD_BACK)
            for card in scene.cards:
                if card.visible < SHOWS or card.number >= 52:
                    continue
                true = card.quad.astype(np.float32)
                box = max(found.quads, key=lambda quad: iou(quad, true), default=None)
                if box is None or iou(box, true) < FOUND:
                    continue
                fitted, _ = refined(scene.image, box)
                crops = np.stack([cut_out(scene.image, quad) for quad in (box, fitted)])
                named = [reader.classes[k] == CARDS[card.number] for k in reader.probabilities(crops).argmax(axis=1)]
                fits.append((iou(box, true), iou(fitted, true), *named))
        told = np.mean(np.array(fits, np.float64).reshape(-1, 4), axis=0) if fits else np.full(4, np.nan)
        lines.append(f"{lean[0]:.0f} to {lean[1]:.0f} degrees | {len(fits)} | " + " | ".join(f"{x:.3f}" for x in told))
    return "\n".join(lines)
