"""The benchmark of the pages: many viewers and requests beside live vision; how late, and what was lost."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from vision.sources.paced import at_its_own_speed
from vision.sources.pieces import Piece
from vision.sources.video import VideoFile
from vision.table import Table
from vision.weights import data_folder
from web.commands.demo import demo_match
from web.live import LiveMatch, Picture, Unkept
from web.pages import Door, Serving, create_app, listen
from web.show import show
from web.table_watch import pipeline_for

HELP = "the pages: viewers and requests beside live vision"

#: A frame that the pipeline takes this long after its time would be lost by a live camera's short queue.
LATE_NS = 500_000_000
_PAGES = ("/", "/api/state", "/picture.jpg", "/static/table.css", "/log.jsonl")
_PATIENCE_S = 20.0


def add(parser: argparse.ArgumentParser) -> None:
    """Add the bench's own options."""
    parser.add_argument("--viewers", type=int, default=50, metavar="N", help="how many look (default 50)")
    parser.add_argument("--requests", type=float, default=20.0, metavar="N", help="requests a second (default 20)")
    parser.add_argument("--seconds", type=float, metavar="S", help="of the film (default 60; --quick 15)")
    parser.add_argument("--still", action="store_true", help="viewers follow the rulings but not the picture")


def run(args: argparse.Namespace) -> int:
    """Play the demo film to many, print a table and as the last line one JSON object."""
    seconds = args.seconds or (15.0 if args.quick else 60.0)
    load = Load(args.viewers, args.requests, seconds, args.seed, pictures=not args.still)
    told, frames = serve(load)
    figures = {"bench": "web", "seed": args.seed, "quick": args.quick, **figures_of(load, told, frames)}
    for name, value in figures.items():
        _print(f"{name:<18} {value}")
    _print(json.dumps(figures))
    return 0


@dataclass(frozen=True, slots=True)
class Load:
    """How many look, how often pages are asked for, and for how long."""

    viewers: int
    requests_a_second: float
    seconds: float
    seed: int
    pictures: bool = True


@dataclass(slots=True)
class Told:
    """What the viewers saw: events by viewer, how long each page took, pictures in all, and what failed."""

    events: list[list[int]] = field(default_factory=list)
    took_s: list[float] = field(default_factory=list)
    pictures: int = 0
    failed: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Frames:
    """How the pipeline kept up with the film beside all that."""

    looked_at: int = 0
    late: int = 0
    events: int = 0


def figures_of(load: Load, told: Told, frames: Frames) -> dict[str, object]:
    """The figures by the names that `benchmarks` gives them."""
    wanted = list(range(1, frames.events + 1))
    lost = sum(len(set(wanted) - set(seen)) for seen in told.events) + len(wanted) * (load.viewers - len(told.events))
    took = sorted(told.took_s)
    return {
        "viewers": load.viewers,
        "requests": len(took),
        "failed": len(told.failed),
        "p50_ms": round(1000 * _at(took, 0.5), 1),
        "p95_ms": round(1000 * _at(took, 0.95), 1),
        "events": frames.events,
        "events_lost": lost,
        "pictures_a_viewer_s": round(told.pictures / max(1, load.viewers) / load.seconds, 2),
        "frames": frames.looked_at,
        "frames_lost": round(frames.late / max(1, frames.looked_at), 4),
    }


def serve(load: Load) -> tuple[Told, Frames]:
    """Play the film to viewers in a process of their own."""
    folder = data_folder("datasets", "recordings")
    chosen = demo_match(folder)
    live, picture = LiveMatch(chosen, Unkept(), seeing=True), Picture()
    listening = listen(0)
    port = listening.getsockname()[1]
    frames = Frames()
    here, there = multiprocessing.get_context("spawn").Pipe()
    watching = multiprocessing.get_context("spawn").Process(target=_look, args=(load, port, there), daemon=True)
    with (
        VideoFile(folder / "demo.mp4", sound=False) as video,
        Serving(create_app(live, picture, Door("bench", port)), listening),
    ):
        table = Table.from_toml(folder / "demo.table.toml").scaled_to(video.info.size_px)
        pipeline = pipeline_for(chosen.game, chosen.setup, table)
        watching.start()
        here.recv()  # all of them look now
        show(_timed(at_its_own_speed(video), frames, load.seconds), pipeline, live, picture)
        frames.events = live.number
        here.send(frames.events)
        told: Told = here.recv()
        watching.join(_PATIENCE_S)
    return told, frames


def _timed(pieces: Iterator[Piece], frames: Frames, seconds: float) -> Iterator[Piece]:
    """The film's first seconds, each piece counted late where it is taken long after its time."""
    begun_ns: int | None = None
    for piece in pieces:
        now_ns = time.monotonic_ns()
        if begun_ns is None:
            begun_ns = now_ns - piece.at_ns
        if piece.at_ns > seconds * 1e9:
            return
        frames.looked_at += 1
        frames.late += now_ns - begun_ns - piece.at_ns > LATE_NS
        yield piece


# --- the viewers, in a process of their own ------------------------------------------------------------


def _look(load: Load, port: int, back: Connection) -> None:
    told = Told()
    lock = threading.Lock()
    ready = threading.Semaphore(0)
    over = threading.Event()
    last = [1 << 60]
    base = f"http://127.0.0.1:{port}"

    def follow() -> None:
        seen: list[int] = []
        try:
            with urllib.request.urlopen(f"{base}/events", timeout=_PATIENCE_S) as stream:
                for line in stream:
                    if line.startswith(b"event: state"):
                        ready.release()
                    if line.startswith(b"id: "):
                        seen.append(int(line.rpartition(b"-")[2]))
                    if over.is_set() and (not seen or seen[-1] >= last[0]):
                        break
        except OSError as error:
            with lock:
                told.failed.append(f"events: {error}")
        with lock:
            told.events.append(seen)

    def film() -> None:
        shown = 0
        try:
            with urllib.request.urlopen(f"{base}/picture.mjpg", timeout=_PATIENCE_S) as stream:
                for line in stream:
                    shown += line.startswith(b"Content-Type")
                    if over.is_set():
                        break
        except OSError as error:
            with lock:
                told.failed.append(f"picture: {error}")
        with lock:
            told.pictures += shown

    def ask(path: str) -> None:
        begun = time.perf_counter()
        try:
            with urllib.request.urlopen(base + path, timeout=_PATIENCE_S) as answer:
                answer.read()
        except OSError as error:
            with lock:
                told.failed.append(f"{path}: {error}")
        else:
            with lock:
                told.took_s.append(time.perf_counter() - begun)

    followers = [threading.Thread(target=follow, daemon=True) for _ in range(load.viewers)]
    films = [threading.Thread(target=film, daemon=True) for _ in range(load.viewers if load.pictures else 0)]
    for thread in (*followers, *films):
        thread.start()
    for _ in followers:
        ready.acquire(timeout=_PATIENCE_S)
    back.send("ready")
    _ask_on(load, ask, back)
    last[0] = back.recv()
    over.set()
    for thread in (*followers, *films):
        thread.join(_PATIENCE_S)
    with lock:
        back.send(told)


def _ask_on(load: Load, ask: Callable[[str], None], back: Connection) -> None:
    """Ask for pages at random moments, so many a second, until the film is over."""
    draw = random.Random(load.seed)
    while not back.poll(draw.expovariate(load.requests_a_second)):
        threading.Thread(target=ask, args=(draw.choice(_PAGES),), daemon=True).start()


def _at(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - the bench's answer
