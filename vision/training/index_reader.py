"""Training the reader of index corners: what rank and suit a printed corner shows, when the rest is covered.

``python -m vision.training.index_reader compose --artwork DIR --out CROPS.npz``, then
``… train CROPS.npz … --out card-index.onnx``. Pictures and labels come from the same scenes as the detector's.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from vision.cards.fans import INDEX_SIZE_PX, index_crop
from vision.cards.photo import open_photo
from vision.training.cards_art import CARDS, Shelf
from vision.training.compose import compose, index_quads
from vision.training.light import light, take
from vision.training.surfaces import Textures

Image = npt.NDArray[np.uint8]
Rng = np.random.Generator

#: Standard cards, then what is no index, or one upside down.
CLASSES = (*CARDS[:52], "nothing")
NOTHING = len(CLASSES) - 1

#: Crops of each index, each cut anew as a detector would: shifted, turned and stretched by so much of its size.
REPEATS, SHIFT, TURN_DEGREES, STRETCH = 3, 0.07, 6.0, 0.1

#: Share of the crops that show no index, and of those the share that is an index upside down.
NOTHINGS, UPSIDE_DOWN = 0.25, 0.6


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
    cut = middle + (cut - middle) @ matrix.T * np.exp(rng.normal(0, STRETCH))
    cut += rng.normal(0, SHIFT, 2) * (across + down) / 2
    cut += rng.normal(0, 0.03, (4, 2)) * (across + down) / 2
    return index_crop(image, cut.astype(np.float32))


def scene_crops(shelf: Shelf, textures: Textures, rng: Rng) -> list[tuple[Image, int]]:
    """Crops and classes of one composed table."""
    scene = compose(shelf, textures, rng, int(rng.choice([512, 640, 800])))
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


def photo_crops(photos: Sequence[Any], rng: Rng) -> list[tuple[Image, int]]:
    """Crops and classes from labelled photographs (`vision.training.photos.Photo`), mirrored ones left out."""
    crops = []
    for photo in photos:
        if photo.mirrored:
            continue
        image = open_photo(photo.path)
        for card in photo.cards:
            if card.label not in CARDS[:52]:
                continue
            others = [other.quad for other in photo.cards if other is not card]
            for index in index_quads(card.quad.astype(np.float64), four="poker_cards" in str(photo.path)):
                middle = tuple(float(value) for value in index.mean(axis=0))
                if any(cv2.pointPolygonTest(other.astype(np.float32), middle, False) >= 0 for other in others):
                    continue
                for _ in range(REPEATS):
                    crop = cut_loosely(image, index, rng)
                    if rng.random() < 0.5:
                        crop = take(light(crop, rng, 0.7), rng, 0.4, scale=0.7)
                    crops.append((np.asarray(crop, np.uint8), CARDS.index(card.label)))
    return crops


def network() -> Any:
    """(n, 3, 80, 48) float32 RGB, normalised, to (n, 53) logits: four convolutions and one linear layer."""
    from torch import nn

    def convolution(into: int, out: int, stride: int) -> nn.Sequential:
        return nn.Sequential(nn.Conv2d(into, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU())

    return nn.Sequential(
        convolution(3, 16, 2),
        convolution(16, 32, 1),
        nn.MaxPool2d(2),
        convolution(32, 64, 1),
        nn.MaxPool2d(2),
        convolution(64, 96, 1),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(96 * 10 * 6, len(CLASSES)),
    )


def train(files: Sequence[Path], out: Path, minutes: float, seed: int, steps: int) -> None:
    """Train for a while and write ONNX: input `x` (n, 3, 80, 48), output `y` (n, 53)."""
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    parts = [np.load(file) for file in files]
    crops = np.concatenate([part["crops"] for part in parts])
    classes = np.concatenate([part["classes"] for part in parts]).astype(np.int64)
    order = rng.permutation(len(crops))
    held, used = order[: len(order) // 20], order[len(order) // 20 :]
    net = network()
    optimiser = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, total_steps=steps + 1)
    loss_of = torch.nn.CrossEntropyLoss(label_smoothing=0.05)
    began = time.monotonic()
    net.train()
    for step in range(steps):
        if time.monotonic() - began > 60 * minutes:
            break
        chosen = rng.choice(used, 64)
        told = net(torch.from_numpy(normalised(varied_light(crops[chosen], rng))))
        loss = loss_of(told, torch.from_numpy(classes[chosen]))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        if step % 50 == 0:
            sys.stdout.write(f"{step} {loss.item():.3f} {(time.monotonic() - began) / 60:.1f} min\n")
            sys.stdout.flush()
    net.eval()
    with torch.no_grad():
        told = torch.cat([net(torch.from_numpy(normalised(crops[part]))) for part in np.array_split(held, 20)])
    right = told.argmax(1).numpy() == classes[held]
    sys.stdout.write(f"held out: {right.mean():.4f} of {len(held)} right\n")
    shape = (2, 3, INDEX_SIZE_PX[1], INDEX_SIZE_PX[0])
    torch.onnx.export(
        net, (torch.zeros(shape),), str(out), input_names=["x"], output_names=["y"],
        dynamic_axes={"x": {0: "n"}, "y": {0: "n"}}, opset_version=17, dynamo=False,
    )  # fmt: skip


def varied_light(crops: npt.NDArray[np.uint8], rng: Rng) -> npt.NDArray[np.uint8]:
    """Crops in other light: gain of each colour and gamma."""
    gain = np.exp(rng.normal(0, 0.15, (len(crops), 1, 1, 3))) * np.exp(rng.normal(0, 0.2, (len(crops), 1, 1, 1)))
    gamma = np.exp(rng.normal(0, 0.15, (len(crops), 1, 1, 1)))
    return np.asarray((255 * (crops / 255.0) ** gamma * gain).clip(0, 255), np.uint8)


def normalised(crops: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """(n, 3, h, w) float32 RGB, (x / 255 − 0.5) / 0.25."""
    rgb = crops[..., ::-1].transpose(0, 3, 1, 2).astype(np.float32)
    return np.ascontiguousarray((rgb / 255 - 0.5) / 0.25, np.float32)


def main(argv: Sequence[str] | None = None) -> int:
    """Compose crops, cut crops from labelled photographs, or train."""
    parser = argparse.ArgumentParser(prog="python -m vision.training.index_reader", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    composing = commands.add_parser("compose")
    composing.add_argument("--artwork", type=Path, required=True)
    composing.add_argument("--count", type=int, default=30000)
    composing.add_argument("--minutes", type=float, default=20)
    photographs = commands.add_parser("photos")
    photographs.add_argument("labelled", nargs="+", type=Path, help="pickles of your own, from Labeller.label")
    training = commands.add_parser("train")
    training.add_argument("crops", nargs="+", type=Path)
    training.add_argument("--minutes", type=float, default=20)
    training.add_argument("--steps", type=int, default=2500)
    for command in (composing, photographs, training):
        command.add_argument("--out", type=Path, required=True)
        command.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    cv2.setNumThreads(1)
    rng = np.random.default_rng(args.seed)
    if args.command == "train":
        train(args.crops, args.out, args.minutes, args.seed, args.steps)
        return 0
    made: list[tuple[Image, int]] = []
    if args.command == "photos":
        for file in args.labelled:
            made += photo_crops(pickle.loads(file.read_bytes()), rng)
    else:
        shelf = Shelf.open(args.artwork)
        textures = Textures.read(args.artwork, np.random.default_rng(args.seed + 1))
        until = time.monotonic() + 60 * args.minutes
        while len(made) < args.count and time.monotonic() < until:
            made += scene_crops(shelf, textures, rng)
    crops, classes = np.stack([crop for crop, _ in made]), np.array([number for _, number in made], np.int16)
    np.savez(args.out, crops=crops, classes=classes)
    sys.stdout.write(f"{len(classes)} crops\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
