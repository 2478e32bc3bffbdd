"""Training the card reader: a small residual network on rectified crops, resumable and bounded in time."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import numpy.typing as npt

from vision.training.cards_art import CLASSES, NOTHING
from vision.training.crops import CROP_HEIGHT, CROP_WIDTH

if TYPE_CHECKING:
    import torch
    from torch import nn

MEAN, STD = 0.5, 0.25
WIDTHS = (24, 48, 96, 128, 160, 192)
BATCH = 64
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

    def convolution(into: int, out: int, stride: int) -> nn.Sequential:
        return nn.Sequential(nn.Conv2d(into, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU())

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


def start_from(net: nn.Module, weights: Path) -> None:
    """Take over weights of a reader with as many classes or fewer; new classes begin at zero."""
    import torch

    told = torch.load(weights, map_location="cpu", weights_only=True)
    own = net.state_dict()
    for name, value in told.items():
        if own[name].shape == value.shape:
            own[name] = value
        else:
            own[name][: len(value)] = value
            own[name][len(value) :] = 0
    net.load_state_dict(own)


@dataclass(slots=True)
class Pool:
    """Crops (n, h, w, 3) uint8 BGR and classes (n,) int16 with the chance that one is drawn from here."""

    crops: npt.NDArray[np.uint8]
    classes: npt.NDArray[np.int16]
    share: float

    @classmethod
    def read(cls, files: Sequence[Path], share: float) -> Pool:
        """All crops of some .npz files."""
        parts = [np.load(file) for file in files]
        if not parts:
            raise ValueError("expected files of crops, got none")
        crops = np.concatenate([part["crops"] for part in parts])
        return cls(crops, np.concatenate([part["classes"] for part in parts]), share)


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to train, on what, into which folder.

    minutes: wall time of this piece; steps: the length of the whole schedule, over all pieces.
    start: a state dict to begin from. frozen: how many of the first layers keep its weights: the first two are
    edge filters that fit any card, and leaving them alone saves a third of the time. half: compute in bfloat16.
    """

    out: Path
    minutes: float
    steps: int
    rendered: tuple[Path, ...]
    real: tuple[Path, ...]
    start: Path | None = None
    real_share: float = 0.4
    rate: float = 1.5e-3
    seed: int = 1
    threads: int = 2
    half: bool = True
    frozen: int = 0


def batches(pools: Sequence[Pool], rng: np.random.Generator) -> Iterator[tuple[Any, Any]]:
    """Endless augmented batches: (BATCH, 3, h, w) float32 normalised RGB and (BATCH,) classes, as tensors."""
    import torch

    shares = np.array([pool.share for pool in pools])
    shares = shares / shares.sum()
    while True:
        source = rng.choice(len(pools), BATCH, p=shares)
        chosen = [pools[k] for k in source]
        rows = [int(rng.integers(len(pool.classes))) for pool in chosen]
        crops = np.stack([pool.crops[row] for pool, row in zip(chosen, rows, strict=True)])
        classes = np.array([pool.classes[row] for pool, row in zip(chosen, rows, strict=True)], np.int64)
        for i in np.flatnonzero(rng.random(BATCH) < SIDEWAYS):
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
    out = np.roll(out, (shift_y, shift_x), axis=(2, 3))
    gain = np.exp(rng.normal(0, 0.12, (n, 1, 1, 1)) + rng.normal(0, 0.05, (n, 3, 1, 1)))
    out = (out + 2.0) * gain.astype(np.float32) - 2.0 + rng.normal(0, 0.1, (n, 1, 1, 1)).astype(np.float32)
    for i in np.flatnonzero(rng.random(n) < 0.15):  # a chip, a thumb, a speck of glare
        y, x = int(rng.integers(0, CROP_HEIGHT)), int(rng.integers(0, CROP_WIDTH))
        tall, wide = int(rng.integers(6, 40)), int(rng.integers(6, 40))
        out[i, :, y : y + tall, x : x + wide] = rng.uniform(-2, 2, (3, 1, 1))
    return np.ascontiguousarray(out, np.float32)


def normalised(crops: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """(n, h, w, 3) uint8 BGR to (n, 3, h, w) float32 RGB as the network takes it."""
    rgb = crops[..., ::-1].transpose(0, 3, 1, 2).astype(np.float32)
    return np.ascontiguousarray((rgb / np.float32(255) - np.float32(MEAN)) / np.float32(STD))


def train(plan: Plan, log: Any = None) -> Path:
    """Train one piece; a checkpoint in `plan.out` is taken up where it lies. Returns the checkpoint's path.

    The weights that are kept for use are a running mean (decay 0.998), which a small batch needs.
    """
    import torch
    from torch import nn

    torch.set_num_threads(plan.threads)
    torch.manual_seed(plan.seed)
    plan.out.mkdir(parents=True, exist_ok=True)
    checkpoint = plan.out / "checkpoint.pt"
    net = network().to(memory_format=torch.channels_last)
    if plan.start is not None:
        start_from(net, plan.start)
    mean = network().to(memory_format=torch.channels_last)
    mean.load_state_dict(net.state_dict())
    optimiser = torch.optim.AdamW(net.parameters(), lr=plan.rate, weight_decay=0.02)
    step = 0
    if checkpoint.is_file():
        kept = torch.load(checkpoint, map_location="cpu", weights_only=True)
        net.load_state_dict(kept["net"])
        mean.load_state_dict(kept["mean"])
        optimiser.load_state_dict(kept["optimiser"])
        step = int(kept["step"])
    rng = np.random.default_rng([plan.seed, step])
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.05)
    began = time.monotonic()
    saved = began
    running = 0.0
    pools = _pools(plan)
    stream = batches(pools, rng)
    net.train()
    net.f[: plan.frozen].eval()
    while step < plan.steps and time.monotonic() - began < plan.minutes * 60:
        for group in optimiser.param_groups:
            warm = min(1.0, (step + 1) / 150)
            group["lr"] = plan.rate * warm * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * step / plan.steps)))
        inputs, classes = next(stream)
        with torch.autocast("cpu", torch.bfloat16, enabled=plan.half):
            logits = net(inputs.to(memory_format=torch.channels_last), plan.frozen)
        loss = loss_of(logits.float(), classes)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimiser.step()
        decay = min(0.998, (step + 1) / (step + 20))
        with torch.no_grad():
            for kept_value, value in zip(mean.state_dict().values(), net.state_dict().values(), strict=True):
                if kept_value.dtype.is_floating_point:
                    kept_value.lerp_(value, 1 - decay)
                else:
                    kept_value.copy_(value)
        step += 1
        running = loss.item() if running == 0.0 else 0.98 * running + 0.02 * loss.item()
        if log is not None and step % 50 == 0:
            minutes = (time.monotonic() - began) / 60
            told = {"step": step, "loss": round(running, 4), "minutes": round(minutes, 1)}
            print(json.dumps(told), file=log, flush=True)
        if time.monotonic() - saved > 180:
            saved = time.monotonic()
            _save(checkpoint, net, mean, optimiser, step)
            pools[:] = _pools(plan)
    _save(checkpoint, net, mean, optimiser, step)
    return checkpoint


def _pools(plan: Plan) -> list[Pool]:
    """The crops there are by now: composing may still be adding files. At most 40,000 rendered are held."""
    pools = []
    rendered = [file for folder in plan.rendered for file in sorted(folder.glob("train-*.npz"))]
    if rendered:
        pools.append(Pool.read(rendered[-12:], 1 - plan.real_share if plan.real else 1.0))
    real = [file for folder in plan.real for file in sorted(folder.glob("real-train-*.npz"))]
    if real:
        pools.append(Pool.read(real, plan.real_share if rendered else 1.0))
    return pools


def _save(path: Path, net: nn.Module, mean: nn.Module, optimiser: Any, step: int) -> None:
    import torch

    scratch = path.with_suffix(".part")
    kept = {"net": net.state_dict(), "mean": mean.state_dict(), "optimiser": optimiser.state_dict(), "step": step}
    torch.save(kept, scratch)
    scratch.rename(path)


def logits_of(checkpoint: Path, crops: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Logits of crops upright and upside down, (2, n, classes) float32."""
    import torch

    net = network()
    net.load_state_dict(torch.load(checkpoint, map_location="cpu", weights_only=True)["mean"])
    net.eval()
    out: list[npt.NDArray[np.float32]] = []
    with torch.no_grad():
        for start in range(0, len(crops), 128):
            upright = normalised(crops[start : start + 128])
            both = np.concatenate([upright, upright[:, :, ::-1, ::-1]])
            out.append(net(torch.from_numpy(np.ascontiguousarray(both))).numpy().reshape(2, len(upright), -1))
    return np.concatenate(out, axis=1)


def export(checkpoint: Path, onnx_file: Path) -> None:
    """Write the running mean of the weights as ONNX: input `x` (n, 3, 136, 96), output `y` (n, 55) logits."""
    import torch

    net = network()
    net.load_state_dict(torch.load(checkpoint, map_location="cpu", weights_only=True)["mean"])
    net.eval()
    torch.onnx.export(
        net,
        (torch.zeros(2, 3, CROP_HEIGHT, CROP_WIDTH),),
        str(onnx_file),
        input_names=["x"],
        output_names=["y"],
        dynamic_axes={"x": {0: "n"}, "y": {0: "n"}},
        opset_version=17,
        dynamo=False,
    )
