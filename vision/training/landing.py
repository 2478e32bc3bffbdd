"""Training the network that reads when a hand landed from the pictures of its lane (`vision.hands.landing`).

Clips are rendered (`vision.films.slap_clip`; the families and hands that are held out stay closed). Of each clip the
lanes of all seats are kept, some time before their hand landed and after; the truth says when it did. Windows of a lane
end at any time, mostly soon after the landing, as the watcher asks.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import numpy.typing as npt

from vision.benches.slaps import shutter_of
from vision.films.slap_clip import HandTruth, SlapClip, make_slap_clip
from vision.films.slap_spec import SlapSpec
from vision.hands.background import Background
from vision.hands.landing import (
    CHANNELS,
    LEAST_STEP_NS,
    PICTURES,
    SIZE_PX,
    TIMES,
    LaneView,
    chosen,
    packed,
    row_times,
    steps_of,
    times_of,
)
from vision.hands.pixels import Image, Mask
from vision.training import classify
from vision.training.classify import trained
from vision.training.loop import Pace, train

if TYPE_CHECKING:
    import torch
    from torch import nn

Rng = np.random.Generator

#: More of the lane on each side than the network sees, so that it can be cut anew each time.
MARGIN_PX = 4
#: Of each lane so much time is kept before and after its hand landed, or came nearest.
BEFORE_NS, AFTER_NS = 700_000_000, 420_000_000
#: Rates that clips are drawn at, and how often; the share that is nominal; that which goes through a codec.
RATES, RATE_SHARES, NOMINAL, CODED = (30.0, 60.0, 120.0, 240.0), (0.15, 0.65, 0.15, 0.05), 0.65, 0.4
#: Seeds of clips begin here: no bench comes near them.
FIRST_SEED = 40_000_000_000
CLIPS_A_FILE = 20
#: The width at which such clips are watched, and from how many pictures the empty table is learnt.
WATCH_WIDTH_PX, LEARN_FROM = 160, 7


@dataclass(frozen=True, slots=True)
class Lanes:
    """Lanes of seats over time, one after the other in arrays.

    greys: (n, h, w) uint8 and masks: (n, h / 2, w / 2) uint8 of all pictures; stamps: (n,) int64 ns, when the pile's
    lines were taken. first: (lanes + 1,) where each lane's pictures begin. contact: (lanes,) int64 ns, -1: it never
    touched. rows: (lanes, 2) how much later lines are taken along and across the lane, ms a 100 mm.
    """

    greys: npt.NDArray[np.uint8]
    masks: npt.NDArray[np.uint8]
    stamps: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    contact: npt.NDArray[np.int64]
    rows: npt.NDArray[np.float32]

    def save(self, path: Path) -> None:
        """Write to an .npz file, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_suffix(".part.npz")
        np.savez(scratch, **{name: getattr(self, name) for name in self.__slots__})
        scratch.rename(path)

    @classmethod
    def load(cls, path: Path) -> Lanes:
        """Read what `save` wrote."""
        with np.load(path) as kept:
            return cls(**{name: kept[name] for name in cls.__slots__})


def compose_lanes(out: Path, clips: int, seed: int, *, minutes: float = math.inf) -> None:
    """Render clips and write their lanes to files ``lanes-SEED-NN.npz`` of `CLIPS_A_FILE` clips each."""
    began = time.monotonic()
    for part in range(math.ceil(clips / CLIPS_A_FILE)):
        path = out / f"lanes-{seed:03d}-{part:03d}.npz"
        if path.is_file():
            continue
        if time.monotonic() - began > minutes * 60:
            return
        kept: list[_Lane] = []
        for k in range(CLIPS_A_FILE):
            kept += lanes_of(FIRST_SEED + seed * 1_000_000 + part * CLIPS_A_FILE + k)
        _joined(kept).save(path)


@dataclass(slots=True)
class _Lane:
    greys: list[npt.NDArray[np.uint8]]
    masks: list[npt.NDArray[np.uint8]]
    stamps: list[int]
    contact: int
    rows: tuple[float, float]


def lanes_of(seed: int) -> list[_Lane]:
    """The lanes of one clip's seats, drawn from its seed."""
    rng = np.random.default_rng([seed, 21])
    rate = float(rng.choice(RATES, p=RATE_SHARES))
    nominal, coded = bool(rng.random() < NOMINAL), bool(rng.random() < CODED)
    spec = SlapSpec.drawn(rng, fps=rate, nominal=nominal, held_out=False, coded=coded)
    clip = make_slap_clip(spec, seed)
    pictures, masks = [], []
    for at_ns, picture, mask in _masked(clip):
        pictures.append((at_ns, picture))
        masks.append(mask)
    of_seat: dict[int, list[HandTruth]] = {}
    for hand in clip.truth.hands:
        of_seat.setdefault(hand.seat, []).append(hand)
    shutter, made = shutter_of(spec), []
    pile = clip.table.piles[0]
    for seat, hands in of_seat.items():
        view = LaneView(clip.table, pile.at_mm, clip.table.seat(seat).at_mm, MARGIN_PX)
        rows, delay_ns = row_times(view, shutter, clip.table.image_size_px)
        landed = [hand.contact_ns for hand in hands if hand.contact_ns is not None]
        middle_ns = min(landed) if landed else hands[0].arrives_ns
        lane = _Lane([], [], [], min(landed) if landed else -1, rows)
        for (at_ns, picture), mask in zip(pictures, masks, strict=True):
            if -BEFORE_NS <= at_ns - middle_ns <= AFTER_NS:
                lane.greys.append(view.grey(picture))
                cut = view.mask(mask)
                lane.masks.append(
                    np.asarray(cv2.resize(cut, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA), np.uint8)
                )
                lane.stamps.append(at_ns + delay_ns)
        if len(lane.stamps) < PICTURES:
            continue
        made.append(lane)
    return made


def _masked(clip: SlapClip) -> Iterator[tuple[int, Image, Mask]]:
    """Time, picture and mask of what is not table, as the watcher makes it, of all frames of a clip."""
    width = WATCH_WIDTH_PX
    empty: Background | None = None
    learnt: list[Image] = []
    for number, frame in enumerate(clip.frames()):
        height = round(width * frame.image.shape[0] / frame.image.shape[1])
        small = np.asarray(cv2.resize(frame.image, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
        if empty is None:
            learnt.append(small)
            empty = Background.of(learnt) if len(learnt) == LEARN_FROM else None
            yield frame.at_ns, frame.image, np.zeros((height, width), np.uint8)
            continue
        mask = empty.difference(small)
        if number % 30 == 0:
            empty.match_light(small, cv2.bitwise_not(cv2.dilate(mask, np.ones((9, 9), np.uint8))))
        yield frame.at_ns, frame.image, mask


def _joined(lanes: Sequence[_Lane]) -> Lanes:
    counts = [len(lane.stamps) for lane in lanes]
    return Lanes(
        np.stack([grey for lane in lanes for grey in lane.greys]),
        np.stack([mask for lane in lanes for mask in lane.masks]),
        np.array([at for lane in lanes for at in lane.stamps], np.int64),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.array([lane.contact for lane in lanes], np.int64),
        np.array([lane.rows for lane in lanes], np.float32),
    )


# --- windows ----------------------------------------------------------------------------------------

#: The share of windows that end soon after the hand landed, and how soon (s); and of those that end shortly before it
#: does, as when it is held over the pile.
_SOON, _SOON_S = 0.55, (0.02, 0.3)
_POISED, _POISED_S = 0.25, (-0.45, -0.025)
#: The chance that a window of a quick camera is looked at closely, picture by picture.
_CLOSELY = 0.5
#: A window that ends so near to the landing, before or after, is not drawn: nothing shows yet of what it is.
_LEAST_REST_NS = 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """What the network is to look at: pictures of a lane, that at rest, and the truth (ns, None: not within)."""

    greys: npt.NDArray[np.uint8]
    masks: npt.NDArray[np.uint8]
    at_rest: npt.NDArray[np.uint8]
    stamps: npt.NDArray[np.int64]
    rest_ns: int
    rows: tuple[float, float]
    landed_ns: int | None


def window(lanes: Lanes, lane: int, rng: Rng) -> Window | None:
    """A window of a lane; None where none was found in a few tries."""
    first, end = int(lanes.first[lane]), int(lanes.first[lane + 1])
    stamps = lanes.stamps[first:end]
    contact = int(lanes.contact[lane])
    for _ in range(6):
        way = rng.random()
        if contact >= 0 and way < _SOON + _POISED:
            after_s = rng.uniform(*(_SOON_S if way < _SOON else _POISED_S))
            rest = int(np.searchsorted(stamps, contact + after_s * 1e9))
        else:
            rest = int(rng.integers(PICTURES // 2, len(stamps)))
        if not PICTURES // 2 <= rest < len(stamps):
            continue
        if contact >= 0 and 0 < contact - stamps[rest] + _LEAST_REST_NS < 2 * _LEAST_REST_NS:
            continue
        return _window_to(lanes, lane, rest, rng)
    return None


def _window_to(lanes: Lanes, lane: int, rest: int, rng: Rng) -> Window:
    first, end = int(lanes.first[lane]), int(lanes.first[lane + 1])
    stamps, contact = lanes.stamps[first:end], int(lanes.contact[lane])
    taken = chosen([int(at) for at in stamps], rest)
    step = float(np.median(np.diff(stamps)))
    if contact >= 0 and step < LEAST_STEP_NS / 1.2 and rng.random() < _CLOSELY:
        last = int(np.searchsorted(stamps, contact + rng.uniform(0.1, 0.7) * PICTURES * step))
        taken = chosen([int(at) for at in stamps], min(last, rest), 1)
    if rng.random() < 0.15 and len(taken) > 14:
        taken = taken[int(rng.integers(1, 5)) :]
    within = contact >= 0 and stamps[taken[0]] < contact <= stamps[taken[-1]]
    rows = first + np.array(taken)
    return Window(
        lanes.greys[rows],
        lanes.masks[rows],
        lanes.greys[first + rest],
        stamps[taken],
        int(stamps[rest]),
        (float(lanes.rows[lane, 0]), float(lanes.rows[lane, 1])),
        contact if within else None,
    )


def varied(seen: Window, rng: Rng) -> npt.NDArray[np.float32]:
    """The network's input of a window, cut a little otherwise, mirrored, in other light, noisier."""
    turn, size = np.deg2rad(rng.normal(0, 3)), math.exp(rng.normal(0, 0.04))
    cos, sin = math.cos(turn) * size, math.sin(turn) * size
    middle = np.array([SIZE_PX[0], SIZE_PX[1]]) / 2
    linear = np.array([[cos, -sin], [sin, cos]])
    rows = seen.rows
    if rng.random() < 0.5:
        linear[:, 1] *= -1
        rows = rows[0], -rows[1]
    shift = middle + MARGIN_PX - linear @ middle + rng.normal(0, 1.5, 2)
    cut = np.column_stack([linear, shift])
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP

    def taken(picture: npt.NDArray[np.uint8], way: npt.NDArray[np.float64] = cut) -> npt.NDArray[np.uint8]:
        return np.asarray(cv2.warpAffine(picture, way, SIZE_PX, flags=flags, borderMode=cv2.BORDER_REPLICATE), np.uint8)

    half = cut.copy()
    half[:, 2] = cut[:, 2] / 2 - 0.25
    half[:, :2] = linear / 2  # from pixels of the cut to those of masks half as fine
    masks = np.stack([taken(mask, half) for mask in seen.masks])
    fate = rng.random()
    if fate < 0.1:
        masks = np.stack([np.asarray(cv2.erode(mask, _SMALL), np.uint8) for mask in masks])
    elif fate < 0.2:
        masks = np.stack([np.asarray(cv2.dilate(mask, _SMALL), np.uint8) for mask in masks])
    elif fate < 0.25:
        masks = np.zeros_like(masks)
    greys = np.stack([taken(grey) for grey in seen.greys]).astype(np.float32)
    at_rest = taken(seen.at_rest).astype(np.float32)
    gain, lift = math.exp(rng.normal(0, 0.2)), rng.normal(0, 12)
    noise = abs(rng.normal(0, 2.0)) if rng.random() < 0.5 else 0.0
    flicker = rng.normal(0, 0.02, (len(greys), 1, 1)) if rng.random() < 0.2 else 0.0
    greys = greys * np.float32(gain) * np.asarray(1 + flicker, np.float32) + np.float32(lift)
    at_rest = at_rest * np.float32(gain) + np.float32(lift)
    if noise:
        greys += rng.standard_normal(greys.shape, np.float32) * np.float32(noise)
        at_rest += rng.standard_normal(at_rest.shape, np.float32) * np.float32(noise)
    lit = np.clip(greys, 0, 255).astype(np.uint8)
    return _filled(lit, masks, np.clip(at_rest, 0, 255).astype(np.uint8), seen, rows)


def _filled(
    greys: npt.NDArray[np.uint8],
    masks: npt.NDArray[np.uint8],
    at_rest: npt.NDArray[np.uint8],
    seen: Window,
    rows: tuple[float, float],
) -> npt.NDArray[np.float32]:
    fill = PICTURES - len(greys)
    whole = np.concatenate([np.repeat(greys[:1], fill, axis=0), greys])
    covers = np.concatenate([np.repeat(masks[:1], fill, axis=0), masks])
    return packed(whole, covers, at_rest, times_of([float(at) for at in seen.stamps], float(seen.rest_ns), rows))


def target(seen: Window) -> tuple[npt.NDArray[np.float32], float]:
    """For each picture how far after it the hand landed, in steps to the next, and one step in ms; and whether within.

    (3, PICTURES) float32: the landing in ms after the picture, the step in ms, 1 where the picture is there.
    """
    out = np.zeros((3, PICTURES), np.float32)
    stamps = seen.stamps.astype(np.float64)
    n = len(stamps)
    steps = steps_of(stamps)
    out[1], out[1, -n:], out[2, -n:] = 1.0, steps / 1e6, 1.0
    if seen.landed_ns is not None:
        out[0, -n:] = (seen.landed_ns - stamps) / 1e6
    return out, float(seen.landed_ns is not None)


_SMALL = np.ones((3, 3), np.uint8)


# --- the network ------------------------------------------------------------------------------------

WIDTHS = (16, 32, 64, 64, 96)
CODE, HIDDEN = 96, 128
#: The doubt of one picture's distribution, ms: between these.
LEAST_SD_MS, MOST_SD_MS = 0.8, 80.0


def network() -> nn.Module:
    """(n, CHANNELS, 64, 128) float32 as `packed` gives, to (n, 3 · PICTURES + 1), see `landing_of`.

    Each picture is seen with the one before, the one after and that at rest by the same convolutions; what they make
    of it goes through convolutions over time.
    """
    import torch
    from torch import nn

    def layer(into: int, out: int, stride: int) -> list[nn.Module]:
        return [nn.Conv2d(into, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU()]

    class Over(nn.Module):  # type: ignore[misc]  # torch is Any to the type checker
        """A convolution over time beside what goes round it."""

        def __init__(self, width: int, dilation: int) -> None:
            super().__init__()
            self.c = nn.Conv1d(width, width, 5, padding=2 * dilation, dilation=dilation)
            self.n = nn.GroupNorm(8, width)
            self.m = nn.Conv1d(width, width, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.m(torch.relu(self.n(self.c(x))))

    class LandingNet(nn.Module):  # type: ignore[misc]
        """Convolutions of pictures `f` and over time `t`, and heads."""

        def __init__(self) -> None:
            super().__init__()
            a, b, c, d, e = WIDTHS
            self.f = nn.Sequential(*layer(5, a, 2), *layer(a, b, 2), *layer(b, c, 2), *layer(c, d, 1), *layer(d, e, 2))
            cells = (SIZE_PX[0] // 16) * (SIZE_PX[1] // 16)
            self.code = nn.Sequential(nn.Flatten(), nn.Linear(e * cells, CODE), nn.ReLU())
            self.into = nn.Conv1d(CODE + TIMES, HIDDEN, 1)
            self.t = nn.Sequential(*(Over(HIDDEN, dilation) for dilation in (1, 2, 4, 1, 2, 1)))
            self.each = nn.Conv1d(HIDDEN, 3, 1)
            self.none = nn.Linear(3 * HIDDEN, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            greys, masks, rest = x[:, :PICTURES], x[:, PICTURES : 2 * PICTURES], x[:, 2 * PICTURES : 2 * PICTURES + 1]
            times = x[:, 2 * PICTURES + 1, :PICTURES, :TIMES]
            before = torch.cat([greys[:, :1], greys[:, :-1]], 1)
            after = torch.cat([greys[:, 1:], greys[:, -1:]], 1)
            each = torch.stack([before, greys, after, rest.expand_as(greys), masks], 2)
            codes = self.code(self.f(each.reshape(-1, 5, SIZE_PX[1], SIZE_PX[0])))
            codes = codes.reshape(-1, PICTURES, CODE)
            hidden = self.t(self.into(torch.cat([codes, times], 2).transpose(1, 2)))
            logits, where, doubt = self.each(hidden).unbind(1)
            logits = logits - 30.0 * (1 - times[:, :, 0])
            offset = 2 * torch.sigmoid(where) - 0.5
            log_sd = math.log(LEAST_SD_MS) + math.log(MOST_SD_MS / LEAST_SD_MS) * torch.sigmoid(doubt)
            none = self.none(torch.cat([hidden[:, :, -1], hidden.mean(2), hidden.amax(2)], 1))
            return torch.cat([logits, offset, log_sd, none], 1)

    return LandingNet()


def loss_of(net: nn.Module, batch: tuple[Any, Any, Any], half: bool) -> Any:
    """Minus the logarithm of the density (a ms) that the network gives the truth."""
    import torch

    inputs, told, within = batch
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        out = net(inputs)
    out = out.float()
    logits, offset, log_sd = (out[:, k * PICTURES : (k + 1) * PICTURES] for k in range(3))
    share = torch.log_softmax(torch.cat([logits, out[:, -1:]], 1), 1)
    off = (told[:, 0] - offset * told[:, 1]) * torch.exp(-log_sd)
    # Tails a little heavier than a normal distribution's: a rare picture followed wrongly must not shake all.
    density = -log_sd - 0.919 - 0.5 * off.clamp(-12, 12) ** 2
    there = torch.logsumexp(share[:, :-1] + density, 1)
    return -(within * there + (1 - within) * share[:, -1]).mean()


BATCH = 16


def batches(data: Sequence[Lanes], rng: Rng) -> Iterator[tuple[Any, Any, Any]]:
    """Endless varied batches: inputs, targets (n, 3, PICTURES), and 1 where the landing lies within (n,)."""
    import torch

    while True:
        seen: list[Window] = []
        counts = np.array([len(lanes.contact) for lanes in data], np.float64)
        while len(seen) < BATCH:
            lanes = data[int(rng.choice(len(data), p=counts / counts.sum()))]
            drawn = window(lanes, int(rng.integers(len(lanes.contact))), rng)
            if drawn is not None:
                seen.append(drawn)
        told = [target(each) for each in seen]
        yield (
            torch.from_numpy(np.stack([varied(each, rng) for each in seen])),
            torch.from_numpy(np.stack([each for each, _ in told])),
            torch.tensor([within for _, within in told]),
        )


def fit(folders: Sequence[Path], pace: Pace, log: Any = None, start: Path | None = None) -> Path:
    """Train one piece on the files of lanes in some folders; more may be added meanwhile.

    start: a checkpoint whose running mean to begin from.
    """
    data: list[Lanes] = []
    known: set[Path] = set()

    def renew() -> None:
        for path in sorted(file for folder in folders for file in folder.glob("lanes-*.npz")):
            if path not in known and not path.name.endswith(".part.npz"):
                known.add(path)
                data.append(Lanes.load(path))

    renew()
    if not data:
        raise ValueError(f"expected files lanes-*.npz in {', '.join(map(str, folders))}, got none")
    net = network() if start is None else trained(network, start)
    net.train()
    return train(pace, net, network(), lambda rng: batches(data, rng), loss_of, renew=renew, log=log)


def export(checkpoint: Path, onnx_file: Path) -> None:
    """Write the running mean of the weights as ONNX: input `x` as `packed` gives, output `y`."""
    classify.export(network, checkpoint, (SIZE_PX[1], SIZE_PX[0]), onnx_file, CHANNELS)
