"""Bench of `review` on clips without a table file: what is found in them, and the verdicts, against the truth."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from vision.benches.wilson import add_share
from vision.films.encode import Encoding, ticks, write_film
from vision.films.film import FilmOrder, make_film
from vision.films.slap_clip import SlapClip, make_slap_clip
from vision.films.slap_spec import SlapSpec
from vision.table import Table

HELP = "review of clips without a table file: piles, seats, scale and verdicts against the truth"

#: A pile is found within this of where it lies; a seat is the one whose direction from the pile is within this.
_PILE_MM, _SEAT_DEG = 40.0, 35.0
#: A verdict is a slap's when its first hand is this near to the slap's.
_SAME_NS = 400_000_000
_KINDS = ("plain", "plain", "mirrored", "portrait", "plain", "slowed down", "plain", "harder")


@dataclass(frozen=True, slots=True)
class Truth:
    """What is known of a clip: its table, and its slaps as seats by contact."""

    table: Table
    slaps: tuple[tuple[tuple[int, int], ...], ...]
    """For each slap (seat, instant in ns), first to last."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """One clip, and what review made of it."""

    name: str
    kind: str
    refused: str
    pile_off_mm: float
    seats_true: int
    seats_told: int
    seats_matched: int
    scale_error: float
    first: str
    last: str
    verdicts: int
    assumed: str
    seconds: float


def add(parser: argparse.ArgumentParser) -> None:
    """Add the bench's own options."""
    parser.add_argument("--clips", type=int, metavar="N", help="slap clips (default 20; --quick 2)")
    parser.add_argument("--films", type=int, metavar="N", help="short films of Snap (default 2; --quick 0)")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no further clip after so long")


def run(args: argparse.Namespace) -> int:
    """Render, review by the command itself, compare; a line a clip, and as the last line one JSON object."""
    clips = args.clips if args.clips is not None else 2 if args.quick else 20
    films = args.films if args.films is not None else 0 if args.quick else 2
    began = time.monotonic()
    results: list[Reviewed] = []
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory(prefix="review-") as folder:
        jobs: list[tuple[str, int]] = [("clip", number) for number in range(clips)]
        jobs += [("film", number) for number in range(films)]
        for kind, number in jobs:
            if time.monotonic() - began > args.seconds:
                break
            make = _clip if kind == "clip" else _film
            results.append(_reviewed(*make(Path(folder), args.seed, number)))
            _print(_line(results[-1]))
    figures = {"bench": "review", "seed": args.seed, "quick": args.quick, **figures_of(results)}
    figures["seconds"] = round(time.monotonic() - began, 1)
    _print(json.dumps(figures))
    return 0


# --- what is reviewed ----------------------------------------------------------------------------------

Made = tuple[str, str, Path, list[str], Truth]


def _clip(folder: Path, seed: int, number: int) -> Made:
    """A slap clip as a file, with what a person would say of it on the command line."""
    kind = _KINDS[number % len(_KINDS)]
    rng = np.random.default_rng([seed, number, 17])
    rate = 120.0 if kind == "slowed down" else float(rng.choice([30.0, 60.0, 60.0]))
    spec = SlapSpec.drawn(rng, fps=rate, nominal=kind != "harder")
    if kind == "portrait":
        spec = replace(spec, size_px=spec.size_px[::-1])
    clip = make_slap_clip(spec, seed * 1009 + number)
    path = folder / f"clip-{number}.mp4"
    options = ["--watch-only"]
    slower = 4 if kind == "slowed down" else 1
    if kind == "mirrored":
        options.append("--mirrored")
    if slower > 1:
        options += ["--recorded-fps", f"{rate:g}"]
    _write(clip, path, mirrored=kind == "mirrored", slower=slower)
    truth = clip.truth
    seen: dict[int, int] = {}
    for hand in truth.hands:
        if hand.contact_ns is not None:
            seen[hand.seat] = min(hand.contact_ns, seen.get(hand.seat, hand.contact_ns))
    slap = tuple(sorted(seen.items(), key=lambda each: each[1]))
    told = Truth(clip.table, (slap,) if slap else ())
    return f"clip {number}: {spec.family.value}", kind, path, options, told


def _write(clip: SlapClip, path: Path, *, mirrored: bool, slower: int) -> None:
    def pictures() -> Iterator[tuple[int, Any]]:
        for frame in clip.rendered():
            image = np.ascontiguousarray(frame.image[:, ::-1]) if mirrored else frame.image
            yield ticks(slower * frame.at_ns / 1e9), np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420), np.uint8)

    sound = clip.audio if slower == 1 else None
    encoding = clip.spec.encoding or Encoding("h264", 20)
    write_film(path, pictures(), clip.spec.size_px, clip.spec.fps / slower, sound, encoding)


def _film(folder: Path, seed: int, number: int) -> Made:
    """A short game of Snap, its table file taken away."""
    path = folder / f"film-{number}.mp4"
    players = 2 + number % 3
    order = FilmOrder("snap", seed * 1009 + number, seconds=12.0, players=players, fps=60.0, size_px=(960, 540))
    make_film(order, path)
    file = path.with_suffix(".table.toml")
    table = Table.from_toml(file)
    file.unlink()
    slaps: list[list[tuple[int, int]]] = []
    for line in path.with_suffix(".truth.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row.get("kind") == "event" and row.get("event") == "slap" and row.get("seat") is not None:
            if not slaps or row["at_ns"] - slaps[-1][0][1] > 1_500_000_000:
                slaps.append([])
            if row["seat"] not in dict(slaps[-1]):
                slaps[-1].append((row["seat"], row["at_ns"]))
    options = ["--game", "snap", "--players", ",".join("ABCD"[:players])]
    told = Truth(table, tuple(tuple(sorted(slap, key=lambda each: each[1])) for slap in slaps))
    return f"film {number}: snap, {players} players", "film", path, options, told


# --- the command, and the comparison --------------------------------------------------------------------


def _reviewed(name: str, kind: str, path: Path, options: list[str], truth: Truth) -> Reviewed:
    from web.cli import main  # the command line imports the benches

    began = time.monotonic()
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["review", str(path), *options, "--json"])
    seconds = time.monotonic() - began
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    said = next((row for row in rows if row.get("kind") == "note" and "table" in row), None)
    if status != 0 or said is None:
        lost = math.nan
        return Reviewed(
            name, kind, err.getvalue().strip(), lost, len(truth.table.seats), 0, 0, lost, "refused", "refused", 0, "",
            seconds,
        )  # fmt: skip
    table = Table.parse(said["table"])
    slapped = [spot for spot in truth.table.piles if spot.pile.kind in ("spot", "pot")]
    true_pile = next((spot for spot in slapped if spot.pile.kind == "spot"), slapped[0])
    told_pile = next((spot for spot in table.piles if spot.pile.kind == "spot"), table.piles[0])
    at, true_at = table.to_px([told_pile.at_mm])[0], truth.table.to_px([true_pile.at_mm])[0]
    scale = truth.table.px_per_mm(true_pile.at_mm)
    seats = _seats(table, at, truth.table, true_at)
    verdicts = [row for row in rows if row.get("kind") == "verdict"]
    judged = [_judged(slap, verdicts, seats) for slap in truth.slaps]
    return Reviewed(
        name=name,
        kind=kind,
        refused="",
        pile_off_mm=math.dist(at, true_at) / scale,
        seats_true=len(truth.table.seats),
        seats_told=len(table.seats),
        seats_matched=len(set(seats.values())),
        scale_error=table.px_per_mm(told_pile.at_mm) / scale - 1,
        first=", ".join(first for first, _ in judged),
        last=", ".join(last for _, last in judged),
        verdicts=len(verdicts),
        assumed=said["text"],
        seconds=seconds,
    )


def _seats(table: Table, at: Any, true: Table, true_at: Any) -> dict[int, int]:
    """For each told seat the true one in whose direction it lies, the nearest first, one to one."""
    pairs = []
    for spot in table.seats:
        way = _way(table.to_px([spot.at_mm])[0] - at)
        for other in true.seats:
            apart = abs((way - _way(true.to_px([other.at_mm])[0] - true_at) + 180) % 360 - 180)
            pairs.append((apart, spot.seat, other.seat))
    chosen: dict[int, int] = {}
    for apart, told, there in sorted(pairs):
        if apart < _SEAT_DEG and told not in chosen and there not in chosen.values():
            chosen[told] = there
    return chosen


def _way(step: Any) -> float:
    return math.degrees(math.atan2(float(step[1]), float(step[0])))


def _judged(
    slap: Sequence[tuple[int, int]], verdicts: Sequence[dict[str, Any]], seats: dict[int, int]
) -> tuple[str, str]:
    """Whether first and last were told rightly: right, wrong, too close, missed; ``alone`` where one hand came."""
    order = [seat for seat, _ in slap]
    near = [row for row in verdicts if row["at_ns"] and abs(min(row["at_ns"].values()) - slap[0][1]) < _SAME_NS]
    if len(order) < 2:
        return "alone", "alone"
    if not near:
        return "missed", "missed"
    row = min(near, key=lambda each: abs(min(each["at_ns"].values()) - slap[0][1]))
    if len(row["order"]) < 2:
        return "missed", "missed"

    def told(seat: int | None, true: int) -> str:
        return "too close" if seat is None else "right" if seats.get(seat) == true else "wrong"

    return told(row["first"], order[0]), told(row["last"], order[-1])


def figures_of(results: Sequence[Reviewed]) -> dict[str, object]:
    """All figures by name; shares with their n and 95 % Wilson intervals."""
    out: dict[str, object] = {"clips": len(results), "refused": sum(bool(each.refused) for each in results)}
    add_share(out, "piles_found", sum(each.pile_off_mm <= _PILE_MM for each in results), len(results))
    exact = sum(each.seats_matched == each.seats_true == each.seats_told for each in results)
    add_share(out, "seats_exact", exact, len(results))
    add_share(out, "seats_found", sum(each.seats_matched for each in results), sum(each.seats_true for each in results))
    out["seats_too_many"] = sum(each.seats_told - each.seats_matched for each in results)
    errors = np.abs([each.scale_error for each in results if math.isfinite(each.scale_error)])
    out["scale_error_percent"] = round(100 * float(np.median(errors)), 1) if len(errors) else None
    out["scale_error_percent_worst"] = round(100 * float(errors.max()), 1) if len(errors) else None
    for which in ("first", "last"):
        said = [word for each in results for word in getattr(each, which).split(", ") if word not in ("", "alone")]
        for word in ("right", "wrong", "too close", "missed", "refused"):
            add_share(out, f"{which}_{word.replace(' ', '_')}", said.count(word), len(said))
    out["slaps"] = len([w for each in results for w in each.first.split(", ") if w not in ("", "alone")])
    return out


def _line(each: Reviewed) -> str:
    if each.refused:
        return f"{each.name:32s} {each.kind:12s} refused: {each.refused}"
    return (
        f"{each.name:32s} {each.kind:12s} pile off {each.pile_off_mm:4.0f} mm  "
        f"seats {each.seats_matched}/{each.seats_true} (told {each.seats_told})  "
        f"scale {100 * each.scale_error:+5.1f} %  first {each.first or '-'}  last {each.last or '-'}  "
        f"{each.seconds:.0f} s"
    )


def _print(text: str) -> None:
    print(text, file=sys.stdout, flush=True)  # noqa: T201 - the bench's answer
