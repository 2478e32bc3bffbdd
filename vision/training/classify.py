"""The loop that trains a classifier of crops, resumable and bounded in time; both readers use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vision.training.loop import Pace, train

if TYPE_CHECKING:
    from torch import nn

MEAN, STD = 0.5, 0.25
BATCH = 64


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
    start: a state dict to begin from, or an exported .onnx, whose normalisation is folded into its convolutions and
    stays as it is. frozen: how many of the first layers keep its weights: the first two are
    edge filters that fit any card, and leaving them alone saves a third of the time.
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
    frozen: int = 0


Stream = Iterator[tuple[Any, Any]]


def fit(
    plan: Plan,
    network: Callable[[], nn.Module],
    stream_of: Callable[[Sequence[Pool], np.random.Generator], Stream],
    prefix: str = "",
    log: Any = None,
) -> Path:
    """Train one piece; a checkpoint in `plan.out` is taken up where it lies. Returns the checkpoint's path.

    stream_of: endless batches drawn from pools. prefix: of the names of the files of crops.
    """
    import torch
    from torch import nn

    net = network().to(memory_format=torch.channels_last)
    if plan.start is not None:
        start_from(net, plan.start)
    pools = _pools(plan, prefix)
    smoothed = nn.CrossEntropyLoss(label_smoothing=0.05)
    net.train()
    net.f[: plan.frozen].eval()
    if plan.start is not None and plan.start.suffix == ".onnx":
        for layer in net.modules():
            if isinstance(layer, nn.BatchNorm2d):
                layer.eval()

    def loss_of(net: nn.Module, batch: tuple[Any, Any], half: bool) -> Any:
        inputs, classes = batch
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            logits = net(inputs.to(memory_format=torch.channels_last), plan.frozen)
        return smoothed(logits.float(), classes)

    def renew() -> None:
        pools[:] = _pools(plan, prefix)

    pace = Pace(plan.out, plan.minutes, plan.steps, plan.rate, plan.seed, plan.threads)
    return train(pace, net, network(), lambda rng: stream_of(pools, rng), loss_of, renew=renew, log=log)


def start_from(net: nn.Module, weights: Path) -> None:
    """Take over weights of a reader with as many classes or fewer; new classes begin at zero."""
    import torch

    told = _unfolded(net, weights) if weights.suffix == ".onnx" else torch.load(weights, "cpu", weights_only=True)
    own = net.state_dict()
    for name, value in told.items():
        if own[name].shape == value.shape:
            own[name] = value
        else:
            own[name][: len(value)] = value
            own[name][len(value) :] = 0
    net.load_state_dict(own)


def _unfolded(net: nn.Module, onnx_file: Path) -> dict[str, Any]:
    """The weights of an exported network: each convolution's bias becomes its normalisation's, which else does nothing.

    Layers are taken in their order; a network of another shape is refused.
    """
    import onnx
    import torch
    from onnx import numpy_helper
    from torch import nn

    graph = onnx.load(str(onnx_file)).graph
    values = {one.name: torch.from_numpy(numpy_helper.to_array(one).copy()) for one in graph.initializer}
    told = [[values[name] for name in node.input[1:]] for node in graph.node if node.op_type in ("Conv", "Gemm")]
    layers = [(name, layer) for name, layer in net.named_modules() if isinstance(layer, (nn.Conv2d, nn.Linear))]
    shapes = [tuple(layer.weight.shape) for _, layer in layers]
    if [tuple(weight.shape) for weight, _ in told] != shapes:
        raise ValueError(f"{onnx_file}: expected layers of {shapes}, got {[tuple(w.shape) for w, _ in told]}")
    out: dict[str, Any] = {}
    for (name, layer), (weight, bias) in zip(layers, told, strict=True):
        out[f"{name}.weight"] = weight
        if isinstance(layer, nn.Linear):
            out[f"{name}.bias"] = bias
            continue
        after = f"{name[:-1]}{int(name[-1]) + 1}"  # a convolution's normalisation is the next layer
        out |= {f"{after}.bias": bias, f"{after}.weight": torch.full_like(bias, 1.0)}
        out |= {f"{after}.running_mean": torch.zeros_like(bias), f"{after}.running_var": torch.ones_like(bias)}
    return out


def trained(network: Callable[[], nn.Module], checkpoint: Path) -> nn.Module:
    """A network with the running mean of a checkpoint's weights, ready to be used."""
    import torch

    net = network()
    net.load_state_dict(torch.load(checkpoint, map_location="cpu", weights_only=True)["mean"])
    return net.eval()


def export(
    network: Callable[[], nn.Module], checkpoint: Path, size: tuple[int, int], onnx_file: Path, channels: int = 3
) -> None:
    """Write the running mean of the weights as ONNX: input `x` (n, channels, *size), output `y` (n, …).

    size: height and width of a crop, pixels.
    """
    import torch

    torch.onnx.export(
        trained(network, checkpoint),
        (torch.zeros(2, channels, *size),),
        str(onnx_file),
        input_names=["x"],
        output_names=["y"],
        dynamic_axes={"x": {0: "n"}, "y": {0: "n"}},
        opset_version=17,
        dynamo=False,
    )


def convolution(into: int, out: int, stride: int) -> nn.Sequential:
    """A 3 × 3 convolution with batch normalisation."""
    from torch import nn

    return nn.Sequential(nn.Conv2d(into, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU())


def normalised(crops: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """(n, h, w, 3) uint8 BGR to (n, 3, h, w) float32 RGB as the networks take it."""
    rgb = crops[..., ::-1].transpose(0, 3, 1, 2).astype(np.float32)
    return np.ascontiguousarray((rgb / np.float32(255) - np.float32(MEAN)) / np.float32(STD))


def relit(inputs: npt.NDArray[np.float32], rng: np.random.Generator, strength: float) -> npt.NDArray[np.float32]:
    """Normalised crops (n, 3, h, w) in other light: brighter or darker, tinted, lifted; strength 1 is moderate."""
    n = len(inputs)
    gain = np.exp(rng.normal(0, 0.12 * strength, (n, 1, 1, 1)) + rng.normal(0, 0.05 * strength, (n, 3, 1, 1)))
    lift = rng.normal(0, 0.1 * strength, (n, 1, 1, 1))
    return np.asarray((inputs + 2.0) * gain.astype(np.float32) - 2.0 + lift.astype(np.float32), np.float32)


def drawn(pools: Sequence[Pool], rng: np.random.Generator) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """A batch of crops and classes, from each pool its share."""
    shares = np.array([pool.share for pool in pools])
    source = rng.choice(len(pools), BATCH, p=shares / shares.sum())
    chosen = [pools[k] for k in source]
    rows = [int(rng.integers(len(pool.classes))) for pool in chosen]
    crops = np.stack([pool.crops[row] for pool, row in zip(chosen, rows, strict=True)])
    return crops, np.array([pool.classes[row] for pool, row in zip(chosen, rows, strict=True)], np.int64)


def _pools(plan: Plan, prefix: str) -> list[Pool]:
    """The crops there are by now: composing may still be adding files. At most twelve rendered files are held."""
    pools = []
    rendered = [file for folder in plan.rendered for file in sorted(folder.glob(f"{prefix}train-*.npz"))]
    if rendered:
        pools.append(Pool.read(rendered[-12:], 1 - plan.real_share if plan.real else 1.0))
    real = [file for folder in plan.real for file in sorted(folder.glob(f"{prefix}real-train-*.npz"))]
    if real:
        pools.append(Pool.read(real, plan.real_share if rendered else 1.0))
    return pools
