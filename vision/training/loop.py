"""The loop that trains a network: resumable, bounded in time, keeping a running mean of the weights for use."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from vision.training.half import bfloat16_is_fast

if TYPE_CHECKING:
    from torch import nn

Batch = TypeVar("Batch")

#: The running mean's decay, which small batches need; how often a checkpoint is written.
DECAY, SAVE_EVERY_S = 0.998, 180.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to train, into which folder.

    minutes: wall time of this piece; steps: the length of the whole schedule, over all pieces.
    """

    out: Path
    minutes: float
    steps: int
    rate: float = 1.5e-3
    seed: int = 1
    threads: int = 2


def train(
    pace: Pace,
    net: nn.Module,
    mean: nn.Module,
    stream_of: Callable[[np.random.Generator], Iterator[Batch]],
    loss_of: Callable[[nn.Module, Batch, bool], Any],
    *,
    renew: Callable[[], None] | None = None,
    log: Any = None,
) -> Path:
    """Train one piece; a checkpoint in `pace.out` is taken up where it lies. Returns the checkpoint's path.

    mean: a second network of the same shape, for the running mean. loss_of: of a batch, and whether bfloat16 is fast
    here. renew: called when a checkpoint has been written, as when data may have been added.
    """
    import torch

    torch.set_num_threads(pace.threads)
    torch.manual_seed(pace.seed)
    pace.out.mkdir(parents=True, exist_ok=True)
    checkpoint = pace.out / "checkpoint.pt"
    mean.load_state_dict(net.state_dict())
    optimiser = torch.optim.AdamW(net.parameters(), lr=pace.rate, weight_decay=0.02)
    step = 0
    if checkpoint.is_file():
        kept = torch.load(checkpoint, map_location="cpu", weights_only=True)
        net.load_state_dict(kept["net"])
        mean.load_state_dict(kept["mean"])
        optimiser.load_state_dict(kept["optimiser"])
        step = int(kept["step"])
    stream = stream_of(np.random.default_rng([pace.seed, step]))
    half = bfloat16_is_fast()
    began = saved = time.monotonic()
    running = 0.0
    while step < pace.steps and time.monotonic() - began < pace.minutes * 60:
        for group in optimiser.param_groups:
            warm = min(1.0, (step + 1) / 150)
            group["lr"] = pace.rate * warm * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * step / pace.steps)))
        loss = loss_of(net, next(stream), half)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimiser.step()
        decay = min(DECAY, (step + 1) / (step + 20))
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
        if time.monotonic() - saved > SAVE_EVERY_S:
            saved = time.monotonic()
            _save(checkpoint, net, mean, optimiser, step)
            if renew is not None:
                renew()
    _save(checkpoint, net, mean, optimiser, step)
    return checkpoint


def _save(path: Path, net: nn.Module, mean: nn.Module, optimiser: Any, step: int) -> None:
    import torch

    scratch = path.with_suffix(".part")
    kept = {"net": net.state_dict(), "mean": mean.state_dict(), "optimiser": optimiser.state_dict(), "step": step}
    torch.save(kept, scratch)
    scratch.rename(path)
