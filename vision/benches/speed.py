"""The benchmark of speed: what a film costs by stage, against real time and against looking at every frame."""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import cv2

from referee.bad_input import BadInput
from referee.cards import shipped_deck
from referee.game import set_up
from referee.games.snap import GAME
from referee.match import Match
from referee.recording import Header, read
from vision.cards.read import CardReader
from vision.films.film import FilmOrder, make_film
from vision.frame import Frame
from vision.hands.watcher import HandWatcher
from vision.narrator import SPOT_KIND
from vision.observation import PileChanged
from vision.piles import PileWatcher, Reader
from vision.pipeline import Pipeline
from vision.sources.pieces import Sound
from vision.sources.video import VideoFile
from vision.table import Table

HELP = "what watching a game costs, by stage, and how much faster than real time it is"

FILMS = {"720p30": ((1280, 720), 30.0), "1080p60": ((1920, 1080), 60.0)}
T = TypeVar("T")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the bench's own options."""
    parser.add_argument("clip", nargs="?", type=Path, metavar="CLIP", help="a film with its table file beside it")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the rendered films are (default 60)")


def run(args: argparse.Namespace) -> int:
    """Watch films, print a table, and as the last line one JSON object."""
    cv2.setNumThreads(1)
    seconds = 8.0 if args.quick else args.seconds
    by_film: dict[str, dict[str, Any]] = {}
    if args.clip is not None:
        by_film[args.clip.name] = measure(args.clip)
    else:
        for name, (size, fps) in FILMS.items():
            if args.quick and name != "720p30":
                continue
            with tempfile.TemporaryDirectory(prefix="palmreader-speed-") as folder:
                film = Path(folder) / f"{name}.mp4"
                make_film(FilmOrder("snap", 9100 + args.seed, seconds=seconds, fps=fps, size_px=size), film)
                by_film[name] = measure(film)
    for name, figures in by_film.items():
        shares = ", ".join(f"{stage} {share:.2f}" for stage, share in figures["share_of_a_core"].items())
        _print(f"{name}: {figures['realtime_factor']:.2f} x real time; of one core: {shares}")
    last = next(reversed(by_film.values()))
    flat = {key: value for key, value in last.items() if not isinstance(value, dict)}
    _print(json.dumps({"bench": "speed", "seed": args.seed, "quick": args.quick, **flat, "by_film": by_film}))
    return 0


def _print(text: str) -> None:
    print(text, flush=True)


class _Costs:
    """Processor seconds by stage, of this thread: what else the machine does hardly counts."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}

    def of(self, stage: str, call: Callable[[], T]) -> T:
        start = time.thread_time()
        try:
            return call()
        finally:
            self.spent[stage] = self.spent.get(stage, 0.0) + time.thread_time() - start


class _TimedHands(HandWatcher):
    """The hand watcher with its costs noted."""

    def __init__(self, table: Table, costs: _Costs, **options: Any) -> None:
        super().__init__(table, **options)
        self._costs = costs

    def watch(self, frame: Frame) -> Any:
        return self._costs.of("hands", lambda: HandWatcher.watch(self, frame))


class _TimedPiles(PileWatcher):
    """The pile watcher with its costs noted: watching places, and finding and reading cards apart."""

    def __init__(self, table: Table, reader: Reader, costs: _Costs, **options: Any) -> None:
        super().__init__(table, reader, **options)
        self.costs = costs

    def watch(self, frame: Frame, hands: Sequence[Any] = ()) -> Iterator[PileChanged]:
        reads = self.costs.spent.get("cards", 0.0)
        found = self.costs.of("piles", lambda: list(PileWatcher.watch(self, frame, hands)))
        self.costs.spent["piles"] -= self.costs.spent.get("cards", 0.0) - reads
        yield from found


class _TimedReader:
    """The card reader with its costs noted."""

    def __init__(self, reader: CardReader, costs: _Costs) -> None:
        self._reader, self._costs = reader, costs

    def read(self, image: Any, card_side_px: float | None = None) -> Any:
        return self._costs.of("cards", lambda: self._reader.read(image, card_side_px))


def measure(film: Path) -> dict[str, Any]:
    """Watch one film with a table file (and a truth, for the players) beside it."""
    header = next(
        (line for line in read(film.with_suffix(".truth.jsonl").read_text("utf-8").splitlines()[:1])), None
    )  # the players only: nothing else of the truth is read
    if not isinstance(header, Header):
        raise BadInput.of(str(film), "a film with its truth beside it, for the players", "none")
    deck = shipped_deck(GAME.deck)
    setup = set_up(GAME, header.players, deck, dealer=header.dealer)
    match: Match[Any] = Match(GAME, setup)
    costs = _Costs()
    children = _cpu_of_children()
    frames = events = 0
    first_ns = last_ns = 0
    start = time.monotonic()
    with VideoFile(film) as video:
        table = Table.from_toml(film.with_suffix(".table.toml")).scaled_to(video.info.size_px)
        slapped = match.expects.slaps
        hands = _TimedHands(table, costs, timed=slapped)
        reader = _TimedReader(CardReader.shipped(), costs)
        pipeline = Pipeline(table, GAME.layout(len(header.players)), reader, hands, slapped=slapped, counts=deck.counts)
        spots = frozenset(spot.pile for spot in table.piles if spot.pile.kind == SPOT_KIND)
        pipeline.piles = _TimedPiles(table, reader, costs, unread=spots, deck=frozenset(deck.counts))
        pieces = iter(video)
        while (piece := costs.of("take", lambda: next(pieces, None))) is not None:
            if isinstance(piece, Sound):
                continue
            frames += 1
            first_ns, last_ns = (piece.at_ns if frames == 1 else first_ns), piece.at_ns
            looked = pipeline.look(piece)
            for telling in looked.tellings:
                if telling.event is not None and not telling.late:
                    events += 1
                    event = telling.event
                    costs.of("referee", lambda event=event: match.tell(event))  # type: ignore[misc]  # bound now
        expected = video.info.pictures
    wall_s = time.monotonic() - start
    costs.spent["decode"] = _cpu_of_children() - children
    film_s = max((last_ns - first_ns) / 1e9, 1e-9)
    total = sum(costs.spent.values())
    return {
        "realtime_factor": film_s / total,
        "realtime_factor_wall": film_s / wall_s,
        "share_of_a_core": {stage: round(spent / film_s, 4) for stage, spent in costs.spent.items()},
        "share_of_a_core_in_all": total / film_s,
        "frames": frames,
        "frames_lost": (expected - frames) / expected if expected else None,
        "events": events,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1 << 20),
        "card_reads": pipeline.piles.reads,
        "ultralytics_installed": importlib.util.find_spec("ultralytics") is not None,
    }


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
