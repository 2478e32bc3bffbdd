"""Training the card reader: a small network on rectified crops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import numpy.typing as npt

from vision.training import classify
from vision.training.cards_art import CLASSES, NOTHING
from vision.training.classify import Plan, Pool, convolution, drawn, normalised, relit
from vision.training.crops import CROP_HEIGHT, CROP_WIDTH

if TYPE_CHECKING:
    import torch
    from torch import nn

WIDTHS = (24, 48, 96, 128, 160, 192)
#: How often a crop is laid on its side and called nothing: of a quad seen obliquely it can't be told which side is
#: the short one, and the wrong way round must not be read.
SIDEWAYS = 0.02


def network() -> nn.Module:
    """The reader: (n, 3, 136, 96) float32 RGB, normalised, to (n, 55) logits; 0.6 M weights, 120 M products a crop.

    Six convolutions, then the mean and the maximum over the card, then one linear layer. The layers' names are
    those of the first proof's weights, which training starts from.
    """
    import torch
    from torch import nn

    class Reader(nn.Module):  # type: ignore[misc]  # torch is Any to the type checker
        """Convolutions `f` and head `h`."""

        def __init__(self) -> None:
            super().__init__()
            a, b, c, d, e, last = WIDTHS
            self.f = nn.Sequential(
                convolution(3, a, 2),
                convolution(a, b, 1),
                nn.MaxPool2d(2),
                convolution(b, c, 1),
                nn.MaxPool2d(2),
                convolution(c, d, 1),
                convolution(d, e, 2),
                convolution(e, last, 1),
            )
            self.drop = nn.Dropout(0.1)
            self.h = nn.Linear(2 * last, len(CLASSES))

        def forward(self, x: torch.Tensor, frozen: int = 0) -> torch.Tensor:
            with torch.no_grad():
                x = self.f[:frozen](x)
            features = self.f[frozen:](x)
            pooled = torch.cat([features.mean(dim=(2, 3)), features.amax(dim=(2, 3))], dim=1)
            logits: torch.Tensor = self.h(self.drop(pooled))
            return logits

    return Reader()


def batches(pools: Sequence[Pool], rng: np.random.Generator) -> Iterator[tuple[Any, Any]]:
    """Endless augmented batches: (n, 3, h, w) float32 normalised RGB and (n,) classes, as tensors."""
    import torch

    while True:
        crops, classes = drawn(pools, rng)
        for i in np.flatnonzero(rng.random(len(crops)) < SIDEWAYS):
            crops[i] = cv2.resize(np.rot90(crops[i]), (CROP_WIDTH, CROP_HEIGHT), interpolation=cv2.INTER_AREA)
            classes[i] = NOTHING
        yield torch.from_numpy(augmented(crops, rng)), torch.from_numpy(classes)


def augmented(crops: npt.NDArray[np.uint8], rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """(n, h, w, 3) uint8 BGR to (n, 3, h, w) float32 normalised RGB: turned, shifted, relit, never mirrored."""
    n = len(crops)
    out = normalised(crops)
    turned = rng.random(n) < 0.5
    out[turned] = out[turned][:, :, ::-1, ::-1]
    shift_y, shift_x = int(rng.integers(-3, 4)), int(rng.integers(-2, 3))
    out = relit(np.roll(out, (shift_y, shift_x), axis=(2, 3)), rng, 1.0)
    for i in np.flatnonzero(rng.random(n) < 0.15):  # a chip, a thumb, a speck of glare
        y, x = int(rng.integers(0, CROP_HEIGHT)), int(rng.integers(0, CROP_WIDTH))
        tall, wide = int(rng.integers(6, 40)), int(rng.integers(6, 40))
        out[i, :, y : y + tall, x : x + wide] = rng.uniform(-2, 2, (3, 1, 1))
    return np.ascontiguousarray(out, np.float32)


def train(plan: Plan, log: Any = None) -> Path:
    """Train one piece; a checkpoint in `plan.out` is taken up where it lies. Returns the checkpoint's path."""
    return classify.fit(plan, network, batches, log=log)


def export(checkpoint: Path, onnx_file: Path) -> None:
    """Write the running mean of the weights as ONNX: input `x` (n, 3, 136, 96), output `y` (n, 55) logits."""
    classify.export(network, checkpoint, (CROP_HEIGHT, CROP_WIDTH), onnx_file)
