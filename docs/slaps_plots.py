"""Draws the plots of docs/slaps.md from the hands that `palmreader bench slaps --results FILE` wrote.

python docs/slaps_plots.py FILE FOLDER
"""

from __future__ import annotations

import json
import sys
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

from referee.instant import normal_cdf

COLOURS = {30: "#b1452b", 60: "#2b6cb1", 120: "#2f8f4e", 240: "#7a4fa3"}


def main() -> int:
    """Read, draw, write."""
    hands = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    known = [hand for hand in hands if not hand["held_out"]]
    right_by_margin(known, folder / "slaps_right.png")
    calibration(known, folder / "slaps_calibration.png")
    errors(known, folder / "slaps_errors.png")
    return 0


def pairs_of(hands: list[dict]) -> list[tuple[dict, dict]]:
    """Pairs of hands of one clip, both given an instant."""
    clips: dict[int, list[dict]] = {}
    for hand in hands:
        if hand["error_ms"] is not None:
            clips.setdefault(hand["clip"], []).append(hand)
    return [pair for group in clips.values() for pair in combinations(group, 2)]


def right_by_margin(hands: list[dict], path: Path) -> None:
    """The share of pairs put in the right order, by their margin; nominal clips."""
    margins = np.arange(0, 41)
    figure, axes = plt.subplots(figsize=(6.4, 3.8), dpi=110)
    for fps, colour in COLOURS.items():
        pairs = pairs_of([hand for hand in hands if hand["fps"] == fps and hand["nominal"]])
        if len(pairs) < 5:
            continue
        off = np.array([b["error_ms"] - a["error_ms"] for a, b in pairs])
        step = np.array([b["stepping_ms"] - a["stepping_ms"] for a, b in pairs])
        axes.plot(margins, [np.mean((m + off > 0) / 2 + (m - off > 0) / 2) for m in margins], color=colour,
                  label=f"{fps} fps, {len(pairs)} pairs")  # fmt: skip
        axes.plot(margins, [np.mean((m + step > 0) / 2 + (m - step > 0) / 2) for m in margins], color=colour, ls=":")
    axes.set(xlabel="margin between two hands, ms", ylabel="put in the right order", ylim=(0.48, 1.01), xlim=(0, 40))
    axes.grid(alpha=0.3)
    axes.legend(title="dotted: stepping frames", fontsize=8)
    figure.tight_layout()
    figure.savefig(path)


def calibration(hands: list[dict], path: Path) -> None:
    """How often an order said with some probability is right."""
    said, true = [], []
    for a, b in pairs_of(hands):
        spread = max(np.hypot(a["sd_ms"], b["sd_ms"]), 1e-6)
        for margin in np.arange(0.5, 40, 2):
            for off in (b["error_ms"] - a["error_ms"], a["error_ms"] - b["error_ms"]):
                p = normal_cdf((margin + off) / spread)
                said.append(max(p, 1 - p))
                true.append(p > 0.5)
    figure, axes = plt.subplots(figsize=(4.6, 4.2), dpi=110)
    edges = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0001])
    bins = np.digitize(said, edges) - 1
    xs = [np.mean(np.array(said)[bins == k]) for k in range(len(edges) - 1) if (bins == k).any()]
    ys = [np.mean(np.array(true)[bins == k]) for k in range(len(edges) - 1) if (bins == k).any()]
    axes.plot([0.5, 1], [0.5, 1], color="0.6", lw=1)
    axes.plot(xs, ys, "o-", color="#2b6cb1")
    axes.set(xlabel="stated probability of the order", ylabel="right", xlim=(0.49, 1.01), ylim=(0.49, 1.01))
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path)


def errors(hands: list[dict], path: Path) -> None:
    """How far instants of timed hands are off."""
    figure, axes = plt.subplots(figsize=(6.4, 3.2), dpi=110)
    for fps, colour in COLOURS.items():
        off = [
            hand["error_ms"]
            for hand in hands
            if hand["fps"] == fps and hand["nominal"] and hand["error_ms"] is not None and hand["sd_ms"] <= 8
        ]
        if off:
            axes.hist(np.clip(off, -40, 40), bins=np.arange(-40, 41, 2), histtype="step", color=colour,
                      density=True, label=f"{fps} fps, {len(off)} hands")  # fmt: skip
    axes.set(xlabel="stated instant minus true contact, ms (clipped at 40)", ylabel="density")
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    sys.exit(main())
