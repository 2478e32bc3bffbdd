"""Training the reader of index corners: what rank and suit a printed corner shows, when the rest is covered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import numpy.typing as npt

from vision.benches.labelled import Kind
from vision.cards.fans import INDEX_SIZE_PX, index_crop
from vision.cards.index import GROWN
from vision.cards.photo import open_photo
from vision.cards.quads import iou, is_nearly_square
from vision.cards.refine import refined
from vision.training import classify
from vision.training.cards_art import CARDS, Rng, Shelf
from vision.training.classify import Plan, Pool, convolution, drawn, normalised, relit
from vision.training.compose import compose, index_quads
from vision.training.light import light, take
from vision.training.photos import TOLD_ABOVE, Photo, PhotoCard, in_a_mirror
from vision.training.surfaces import Textures

if TYPE_CHECKING:
    import torch
    from torch import nn

Image = npt.NDArray[np.uint8]

#: Standard cards, then what is no index, or one upside down.
CLASSES = (*CARDS[:52], "nothing")
NOTHING = len(CLASSES) - 1

WIDTHS = (32, 64, 128, 128, 160)

#: Crops of each index, each cut anew as a detector would: shifted, turned and stretched by so much of its size.
REPEATS, SHIFT, TURN_DEGREES, STRETCH = 2, 0.07, 6.0, 0.1

#: Crops are read at two sizes, so they are cut at any from the smaller to the larger.
LARGER = GROWN[1] / GROWN[0]

#: Share of the crops that show no index, and of those the share that is an index upside down.
NOTHINGS, UPSIDE_DOWN = 0.25, 0.6

#: IoU above which a find is the labelled card itself, not one that lies on it.
SAME_CARD = 0.6

#: A labelled corner's middle lies no further than this from where its card prints it, in heights of an index.
LABEL_OFF = 0.5

#: Share of the clubs and spades that are shown in black. Decks of four colours print clubs in green and only spades
#: in black: a reader that learns from them as they come takes a black club for a spade when in doubt.
BLACK = 0.6

#: Share of the tables on which cards lie on each other.
CROWDED = 0.7


def network() -> nn.Module:
    """(n, 3, 80, 48) float32 RGB, normalised, to (n, 53) logits; 1.0 M weights, 84 M products a crop.

    Where in the crop something is printed counts (the rank above the suit), so nothing is pooled away at the end.
    """
    from torch import nn

    class IndexReader(nn.Module):  # type: ignore[misc]  # torch is Any to the type checker
        """Convolutions `f` and head `h`."""

        def __init__(self) -> None:
            super().__init__()
            a, b, c, d, last = WIDTHS
            self.f = nn.Sequential(
                convolution(3, a, 2),
                convolution(a, b, 1),
                nn.MaxPool2d(2),
                convolution(b, c, 1),
                convolution(c, d, 1),
                nn.MaxPool2d(2),
                convolution(d, last, 1),
            )
            cells = INDEX_SIZE_PX[0] * INDEX_SIZE_PX[1] // 64
            self.h = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(last * cells, len(CLASSES)))

        def forward(self, x: torch.Tensor, frozen: int = 0) -> torch.Tensor:
            logits: torch.Tensor = self.h(self.f(x))
            return logits

    return IndexReader()


def cut_loosely(image: Image, quad: npt.NDArray[np.floating], rng: Rng) -> Image:
    """A crop of an index (4, 2), as loose as a detector's box is."""
    middle = quad.mean(axis=0)
    across = np.linalg.norm(quad[1] - quad[0])
    down = np.linalg.norm(quad[3] - quad[0])
    box = cv2.boxPoints(cv2.minAreaRect(quad.astype(np.float32))) if rng.random() < 0.6 else quad
    turns = [np.roll(box, k, axis=0) for k in range(4)]
    cut = min(turns, key=lambda one: float(np.abs(one - quad).sum())).astype(np.float64)
    turn = np.deg2rad(rng.normal(0, TURN_DEGREES))
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    cut = middle + (cut - middle) @ matrix.T * np.exp(rng.normal(0, STRETCH)) * LARGER ** rng.random()
    cut += rng.normal(0, SHIFT, 2) * (across + down) / 2
    cut += rng.normal(0, 0.03, (4, 2)) * (across + down) / 2
    return index_crop(image, cut.astype(np.float32))


def compose_index_crops(cache: Path, out: Path, count: int, seed: int) -> None:
    """Write about `count` crops of the indices that show on rendered tables, and of what is none, to an .npz file."""
    rng = np.random.default_rng(seed)
    shelf = Shelf.open(cache)
    textures = Textures.read(cache, np.random.default_rng(seed + 1))
    made: list[tuple[Image, int]] = []
    while len(made) < count:
        made += scene_crops(shelf, textures, rng)
    save(made, out)


def save(made: Sequence[tuple[Image, int]], out: Path) -> None:
    """Write crops and classes to an .npz file, whole or not at all."""
    shape = (0, INDEX_SIZE_PX[1], INDEX_SIZE_PX[0], 3)
    crops = np.stack([crop for crop, _ in made]) if made else np.zeros(shape, np.uint8)
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = out.with_suffix(".part.npz")
    np.savez(scratch, crops=crops, classes=np.array([number for _, number in made], np.int16))
    scratch.rename(out)


def scene_crops(shelf: Shelf, textures: Textures, rng: Rng) -> list[tuple[Image, int]]:
    """Crops and classes of one composed table."""
    scene = compose(shelf, textures, rng, int(rng.choice([512, 640, 800])), rng.random() < CROWDED)
    crops = []
    shown = [(index, card.number) for card in scene.cards for index in card.indices if card.number < 52]
    for index, number in shown:
        for _ in range(REPEATS):
            if rng.random() < NOTHINGS:
                crops.append((_nothing(scene.image, index, rng), NOTHING))
            else:
                crops.append((cut_loosely(scene.image, index, rng), number))
    return crops


def _nothing(image: Image, index: npt.NDArray[np.floating], rng: Rng) -> Image:
    if rng.random() < UPSIDE_DOWN:
        return np.ascontiguousarray(cut_loosely(image, index, rng)[::-1, ::-1])
    away = rng.normal(0, 2.0, 2) * np.linalg.norm(index[3] - index[0])
    away += np.sign(away) * np.linalg.norm(index[3] - index[0]) * 0.8
    return cut_loosely(image, index + away, rng)


def photo_crops(photos: Sequence[Photo], rng: Rng, four: bool, may_be_mirrored: bool) -> list[tuple[Image, int]]:
    """Crops and classes from labelled photographs, of indices that no other card covers.

    Where corners are labelled, their boxes say where an index is, else the quad fitted to the card's edges does.
    four: the deck prints its indices in all four corners. Of a set that `may_be_mirrored`, mirrored photographs are
    turned back, and those of which it can't be told are left out.
    """
    crops: list[tuple[Image, int]] = []
    for photo in photos:
        if may_be_mirrored and abs(photo.upright_gain) < TOLD_ABOVE:
            continue
        image, cards, flip = open_photo(photo.path), photo.cards, may_be_mirrored and photo.mirrored
        if flip:
            image, cards = in_a_mirror(image, cards)
        for card in cards:
            if card.label not in CARDS[:52]:
                continue
            others = [other.quad for other in cards if other is not card]
            if not flip:
                others += [quad for quad in photo.all_found.quads if iou(quad, card.quad) < SAME_CARD]
            middles = [
                ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
                for label in photo.labels
                if label.kind is Kind.CORNERS and label.card == card.label
                for box in label.boxes
            ]
            if flip:
                middles = [(image.shape[1] - 1 - x, y) for x, y in middles]
            for index in _labelled_indices(image, card, middles, four):
                middle = tuple(float(value) for value in index.mean(axis=0))
                if any(cv2.pointPolygonTest(other.astype(np.float32), middle, False) >= 0 for other in others):
                    continue
                for _ in range(REPEATS):
                    crop, number = cut_loosely(image, index, rng), CARDS.index(card.label)
                    if rng.random() < 0.15:
                        crop, number = np.ascontiguousarray(crop[::-1, ::-1]), NOTHING
                    if rng.random() < 0.5:
                        crop = take(light(crop, rng, 0.7), rng, 0.4, scale=0.7)
                    crops.append((np.asarray(crop, np.uint8), number))
    return crops


def _labelled_indices(
    image: Image, card: PhotoCard, middles: Sequence[tuple[float, float]], four: bool
) -> list[npt.NDArray[np.float64]]:
    """Quads around a card's indices; none where it isn't sure which way the card lies."""
    if is_nearly_square(card.quad):
        return []
    if not middles:
        fitted, support = refined(image, card.quad)
        return list(index_quads(fitted.astype(np.float64), four)) if support > 0 else []
    printed = index_quads(card.quad.astype(np.float64), four=True)
    out = []
    for middle in middles:
        nearest = min(printed, key=lambda index: float(np.hypot(*(index.mean(axis=0) - middle))))
        away = np.array(middle) - nearest.mean(axis=0)
        if float(np.hypot(*away)) < LABEL_OFF * float(np.linalg.norm(nearest[3] - nearest[0])):
            out.append(nearest + away)
    return out


def batches(pools: Sequence[Pool], rng: np.random.Generator) -> Iterator[tuple[Any, Any]]:
    """Endless varied batches: (n, 3, 80, 48) float32 normalised RGB and (n,) classes, as tensors."""
    import torch

    while True:
        crops, classes = drawn(pools, rng)
        inked = [
            _black(crop) if suit_is_black(n) and rng.random() < BLACK else crop
            for crop, n in zip(crops, classes, strict=True)
        ]
        varied = np.stack([_varied(crop, rng) for crop in inked])
        told = relit(normalised(varied), rng, 1.5)
        yield torch.from_numpy(np.ascontiguousarray(told)), torch.from_numpy(classes)


def suit_is_black(number: int) -> bool:
    """Whether a class is of clubs or spades."""
    return number < 13 or 39 <= number < NOTHING


def _black(crop: Image) -> Image:
    """The crop in greys, its ink black: what it says of clubs and spades must not hang on a colour."""
    grey = crop.mean(axis=2)
    ink, paper = np.percentile(grey, (3, 80))
    stretched = np.clip(25 + (grey - ink) * (paper - 25) / max(paper - ink, 1.0), 0, 255)
    return np.repeat(stretched[:, :, None], 3, axis=2).astype(np.uint8)


def _varied(crop: Image, rng: Rng) -> Image:
    """A crop cut a little otherwise, taken by a worse camera at times: soft, coarse, pale, noisy."""
    tall, wide = crop.shape[:2]
    turn, scale = np.deg2rad(rng.normal(0, 4)), np.exp(rng.normal(0, 0.07, 2))
    linear = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) * scale
    middle = np.array([wide, tall]) / 2
    shift = middle - linear @ middle + rng.normal(0, 0.03, 2) * tall
    matrix = np.concatenate([linear, shift[:, None]], axis=1)
    out = cv2.warpAffine(crop, matrix, (wide, tall), borderMode=cv2.BORDER_REPLICATE)
    if rng.random() < 0.3:  # ink that has run, or that a camera has fattened: the lobes of a club grow together
        fat = cv2.erode(out, np.ones((int(rng.integers(2, 4)), int(rng.integers(2, 4))), np.uint8))
        out = np.asarray(cv2.addWeighted(out, 1 - (share := rng.uniform(0.3, 1.0)), fat, share, 0), np.uint8)
    if rng.random() < 0.3:
        out = np.asarray(cv2.GaussianBlur(out, (0, 0), rng.uniform(0.5, 1.8)), np.uint8)
    if rng.random() < 0.3:  # as webcams sharpen
        soft = cv2.GaussianBlur(out, (0, 0), rng.uniform(0.8, 2.0))
        out = np.asarray(cv2.addWeighted(out, 1 + (more := rng.uniform(0.5, 2.5)), soft, -more, 0), np.uint8)
    if rng.random() < 0.4:
        share = rng.uniform(0.3, 0.9)
        small = cv2.resize(out, None, fx=share, fy=share, interpolation=cv2.INTER_AREA)
        out = cv2.resize(small, (wide, tall), interpolation=cv2.INTER_LINEAR)
    if rng.random() < 0.3:
        grey = out.mean(axis=2, keepdims=True)
        out = (grey + (out - grey) * rng.uniform(0.2, 1.0)).astype(np.uint8)
    if rng.random() < 0.3:
        out = np.clip(out + rng.normal(0, rng.uniform(2, 10), out.shape), 0, 255).astype(np.uint8)
    return np.asarray(out, np.uint8)


def train(plan: Plan, log: Any = None) -> Path:
    """Train one piece on ``index-…`` crops; a checkpoint in `plan.out` is taken up where it lies. Its path."""
    return classify.fit(plan, network, batches, "index-", log)


def export(checkpoint: Path, onnx_file: Path) -> None:
    """Write the running mean of the weights as ONNX: input `x` (n, 3, 80, 48), output `y` (n, 53) logits."""
    classify.export(network, checkpoint, (INDEX_SIZE_PX[1], INDEX_SIZE_PX[0]), onnx_file)
