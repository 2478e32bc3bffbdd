"""Training the card detector: ultralytics' oriented-box network and loss in a small resumable loop."""

from __future__ import annotations

import copy
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from vision.training.boxes import Sample, window
from vision.training.half import bfloat16_is_fast
from vision.training.light import light
from vision.training.torchvision_stub import install

#: Longer side of a card in the network's input, pixels: what the finder scales pictures to, and what it zooms to
#: where cards overlap and their index corners are looked for.
CARD_PX, ZOOMED_PX = 150.0, 290.0

CLASSES = ("card face", "card back", "corner")

#: The score that stands in for what isn't to be learnt from: its loss is nothing.
IGNORED_LOGIT = -30.0


@dataclass(frozen=True, slots=True)
class Plan:
    """One piece of training.

    start: ultralytics weights to begin from; out: the folder of the checkpoint, taken up where it lies.
    minutes: wall time of this piece; steps: the whole schedule's length over all pieces.
    zoomed: the share of views, of pictures with labelled corners, at ZOOMED_PX.
    frozen: how many first layers keep their weights (the first five are edge and texture filters, and cost half).
    """

    start: Path
    out: Path
    rendered: tuple[Path, ...]
    real: tuple[Path, ...]
    minutes: float
    steps: int
    side: int = 448
    batch: int = 8
    rate: float = 4e-4
    real_share: float = 0.5
    zoomed: float = 0.3
    frozen: int = 3
    seed: int = 1
    threads: int = 1


def load(weights: Path) -> Any:
    """The ultralytics network of a `.pt` file with a head for CLASSES, in float32, ready for its own loss.

    Weights that know fewer classes are taken over; scores of new classes begin low and alike.
    """
    install()
    from ultralytics import YOLO
    from ultralytics.nn.tasks import OBBModel
    from ultralytics.utils import DEFAULT_CFG

    told = YOLO(str(weights)).model.float()
    net = OBBModel("yolo11n-obb.yaml", nc=len(CLASSES), verbose=False)
    own = net.state_dict()
    for name, value in told.state_dict().items():
        if own[name].shape == value.shape:
            own[name] = value
        else:
            own[name][: len(value)] = value
            own[name][len(value) :] = value.mean(dim=0, keepdim=True) * 0.1 if value.ndim > 1 else -5.0
    net.load_state_dict(own)
    net.args = DEFAULT_CFG
    return net


def train(plan: Plan, log: Any = None) -> Path:
    """Train one piece; returns the checkpoint's path. A running mean of the weights is what is exported."""
    net = load(plan.start)
    import torch
    from ultralytics.utils.loss import v8OBBLoss

    torch.set_num_threads(plan.threads)
    torch.manual_seed(plan.seed)
    plan.out.mkdir(parents=True, exist_ok=True)
    checkpoint = plan.out / "checkpoint.pt"
    mean = copy.deepcopy(net).eval()
    for place, layer in enumerate(net.model):
        for weight in layer.parameters():
            weight.requires_grad_(place >= plan.frozen and weight.dtype.is_floating_point)
    net.model[-1].dfl.requires_grad_(False)  # a fixed projection
    trained = [weight for weight in net.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=plan.rate, weight_decay=5e-4)
    step = 0
    if checkpoint.is_file():
        kept = torch.load(checkpoint, map_location="cpu", weights_only=True)
        net.load_state_dict(kept["net"])
        mean.load_state_dict(kept["mean"])
        optimiser.load_state_dict(kept["optimiser"])
        step = int(kept["step"])
    net = net.to(memory_format=torch.channels_last)
    loss_of = v8OBBLoss(net)
    rng = np.random.default_rng([plan.seed, step])
    pools: list[list[Sample]] = [[], []]
    _fill(pools, plan)
    half = bfloat16_is_fast()
    net.train()
    for layer in net.model[: plan.frozen]:
        layer.eval()
    began = saved = time.monotonic()
    running: npt.NDArray[np.float64] | None = None
    while step < plan.steps and time.monotonic() - began < plan.minutes * 60:
        for group in optimiser.param_groups:
            warm = min(1.0, (step + 1) / 60)
            group["lr"] = plan.rate * warm * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / plan.steps)))
        images, targets = batch(pools, plan, rng)
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            told = net(torch.from_numpy(images).to(memory_format=torch.channels_last))
        told = {
            key: value.float() if torch.is_tensor(value) else [part.float() for part in value]
            for key, value in told.items()
        }
        unlabelled = torch.from_numpy(targets.pop("unlabelled_corners").astype(bool))
        corner = CLASSES.index("corner")
        told["scores"][:, corner] = told["scores"][:, corner].masked_fill(unlabelled[:, None], IGNORED_LOGIT)
        losses, _ = loss_of(told, {key: torch.from_numpy(value) for key, value in targets.items()})
        optimiser.zero_grad()
        losses.sum().backward()
        torch.nn.utils.clip_grad_norm_(trained, 10.0)
        optimiser.step()
        step += 1
        decay = min(0.995, step / (step + 20))
        with torch.no_grad():
            for slow, value in zip(mean.state_dict().values(), net.state_dict().values(), strict=True):
                if slow.dtype.is_floating_point:
                    slow.lerp_(value, 1 - decay)
                else:
                    slow.copy_(value)
        now = losses.detach().numpy().astype(np.float64) / plan.batch
        running = now if running is None else 0.97 * running + 0.03 * now
        if log is not None and step % 20 == 0:
            minutes = round((time.monotonic() - began) / 60, 1)
            told_log = {"step": step, "box_cls_dfl_angle": running.round(3).tolist(), "minutes": minutes}
            print(json.dumps(told_log), file=log, flush=True)
        if time.monotonic() - saved > 150:
            saved = time.monotonic()
            _save(checkpoint, net, mean, optimiser, step)
            _fill(pools, plan)
    _save(checkpoint, net, mean, optimiser, step)
    return checkpoint


def _fill(pools: list[list[Sample]], plan: Plan) -> None:
    """Add to the pools what has been composed by now: composing may still be adding pictures."""
    for pool, folders in zip(pools, (plan.rendered, plan.real), strict=True):
        known = {sample.path for sample in pool}
        labels = [file for folder in folders for file in sorted((folder / "labels").glob("*.txt"))]
        pictures = [file.parent.parent / "images" / f"{file.stem}.jpg" for file in labels]
        pool.extend(Sample.read(picture) for picture in pictures if picture not in known)


def batch(
    pools: Sequence[Sequence[Sample]], plan: Plan, rng: np.random.Generator
) -> tuple[npt.NDArray[np.float32], dict[str, npt.NDArray[np.float32]]]:
    """Pictures (batch, 3, side, side) float32 RGB from 0 to 1, and their boxes as the loss takes them."""
    images = np.empty((plan.batch, 3, plan.side, plan.side), np.float32)
    boxes, numbers, places = [], [], []
    unlabelled = np.zeros(plan.batch, np.float32)
    for place in range(plan.batch):
        real = bool(pools[1]) and (not pools[0] or rng.random() < plan.real_share)
        pool = pools[1] if real else pools[0]
        sample = pool[int(rng.integers(len(pool)))]
        unlabelled[place] = not sample.corners_labelled
        image = cv2.imread(str(sample.path))
        if image is None:
            raise ValueError(f"{sample.path}: expected a picture")
        zoomed = sample.corners_labelled and rng.random() < plan.zoomed
        long = ZOOMED_PX if zoomed else CARD_PX
        view, found, classes = window(np.asarray(image, np.uint8), sample.quads, sample.classes, plan.side, long, rng)
        if real and rng.random() < 0.6:
            view = light(view, rng, hard=float(rng.uniform(0, 0.5)))
        images[place] = view[:, :, ::-1].transpose(2, 0, 1).astype(np.float32) / 255
        found[:, :4] /= plan.side
        boxes.append(found)
        numbers.append(classes)
        places.append(np.full(len(found), place))
    return images, {
        "batch_idx": np.concatenate(places).astype(np.float32),
        "cls": np.concatenate(numbers).astype(np.float32)[:, None],
        "bboxes": np.concatenate(boxes),
        "unlabelled_corners": unlabelled,
    }


def _save(path: Path, net: Any, mean: Any, optimiser: Any, step: int) -> None:
    import torch

    kept = {"net": net.state_dict(), "mean": mean.state_dict(), "optimiser": optimiser.state_dict(), "step": step}
    scratch = path.with_suffix(".part")
    torch.save(kept, scratch)
    scratch.rename(path)


def export(start: Path, checkpoint: Path, onnx_file: Path, classes: Sequence[str] = CLASSES) -> None:
    """Write the running mean as ONNX, answering for some of the classes only.

    Input `images` (1, 3, h, w), output `output0` (1, 4 + classes + 1, anchors): x, y, w, h, scores, angle.
    Faces and backs are looked for in whole pictures, index corners in zoomed parts: one training, two files.
    """
    net = load(start)
    import torch

    net.load_state_dict(torch.load(checkpoint, map_location="cpu", weights_only=True)["mean"])
    net.eval()
    net = net.fuse()
    head = net.model[-1]
    kept = [CLASSES.index(name) for name in classes]
    for branch in head.cv3:
        last = branch[-1]
        last.weight = torch.nn.Parameter(last.weight[kept])
        last.bias = torch.nn.Parameter(last.bias[kept])
        last.out_channels = len(kept)
    head.nc, head.no = len(kept), len(kept) + 4 * head.reg_max
    head.export, head.format, head.dynamic = True, "onnx", True
    torch.onnx.export(
        net,
        (torch.zeros(1, 3, 512, 512),),
        str(onnx_file),
        input_names=["images"],
        output_names=["output0"],
        dynamic_axes={"images": {2: "height", 3: "width"}, "output0": {2: "anchors"}},
        opset_version=17,
        dynamo=False,
    )


def export_ultralytics(start: Path, checkpoint: Path, pt_file: Path) -> None:
    """Write the running mean of the weights as an ultralytics `.pt`, for its own predict and further training."""
    net = load(start)
    import torch

    net.load_state_dict(torch.load(checkpoint, map_location="cpu", weights_only=True)["mean"])
    net.names = dict(enumerate(CLASSES))
    net.task = "obb"
    net.args = {"task": "obb", "imgsz": 512, "single_cls": False}
    torch.save({"model": net.eval(), "train_args": net.args}, pt_file)
