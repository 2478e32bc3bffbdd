"""The benchmark of whole games: rendered films go through the product as video files, its lines against the truth."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Any

from referee.bad_input import BadInput
from referee.events import CORRECTIONS, Event, Finish, Moved, Slap, Tick, Turned
from referee.recording import Header, Line, Note, read
from referee.ruling import Ruling, Verdict
from vision.benches.wilson import wilson
from vision.films.bots.snap import short_deck
from vision.films.film import VERSION, FilmOrder, make_film
from vision.verdict import SlapVerdict, judge_slap, slaps_in

HELP = "whole rendered games, from the video file to rulings and score, against the truth"

#: Events match when they differ by at most this, as `benchmarks.md` has it; so do rulings.
MATCH_NS = 500_000_000
RULING_NS = 1_500_000_000
#: Seeds below are for development; the bench draws above.
FIRST_SEED = 9001
#: Two hands further apart than this must be told in the right order.
CLEAR_MARGIN_NS = 40_000_000


def add(parser: argparse.ArgumentParser) -> None:
    """Add the bench's own options."""
    parser.add_argument("--game", default="snap", help="which game (default snap)")
    parser.add_argument("--seeds", default="", metavar="A,B-C", help="which films (default: three from --seed on)")
    parser.add_argument("--conditions", default="clean", metavar="C,D", help="clean, dim, glare, … (default clean)")
    parser.add_argument("--short", action="store_true", help="a 16-card Snap")
    parser.add_argument("--seconds", type=float, default=60.0, help="about how long each film is (default 60)")
    parser.add_argument("--fps", type=float, default=60.0, help="frames a second (default 60)")
    parser.add_argument("--size", default="1280x720", metavar="WxH")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep films and what was said of them there")
    parser.add_argument("--differences", action="store_true", help="name every event and ruling that differs")


def run(args: argparse.Namespace) -> int:
    """Render, review, compare; print a table, and as the last line one JSON object."""
    first = FIRST_SEED + args.seed - 1
    seeds = _seeds(args.seeds) if args.seeds else list(range(first, first + (1 if args.quick else 3)))
    seconds = min(args.seconds, 20.0) if args.quick else args.seconds
    total = Tally()
    by_condition: dict[str, Tally] = {}
    with tempfile.TemporaryDirectory(prefix="palmreader-films-") as made:
        folder = args.keep or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        for condition in args.conditions.split(","):
            for seed in seeds:
                order = FilmOrder(
                    args.game,
                    seed,
                    seconds=seconds,
                    short=args.short,
                    fps=args.fps,
                    size_px=_size(args.size),
                    condition=condition,
                )
                tally = measure(order, folder)
                _print(f"{args.game} {seed} {condition}: {tally.in_words()}")
                if args.differences:
                    for line in tally.differences:
                        _print("    " + line)
                by_condition.setdefault(condition, Tally()).add(tally)
                total.add(tally)
    figures: dict[str, Any] = {"bench": "films", "game": args.game, "seeds": seeds, "quick": args.quick}
    figures |= total.figures()
    figures["by_condition"] = {name: tally.figures() for name, tally in by_condition.items()}
    _print(json.dumps(figures))
    return 0


def _print(text: str) -> None:
    print(text, flush=True)


def _seeds(text: str) -> list[int]:
    seeds: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()):
            raise BadInput.of("seeds", "numbers like 9001,9005-9009", repr(text)[:40])
        seeds += range(int(first), int(last or first) + 1)
    return seeds


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise BadInput.of("size", "like 1280x720", repr(text)[:40])
    return int(width), int(height)


# --- one film ------------------------------------------------------------------------------------------


def measure(order: FilmOrder, folder: Path) -> Tally:
    """Make the film unless it is there, have the product review the file, and compare with its truth."""
    name = f"{order.game}-{order.seed}-{order.condition}-{order.seconds:g}s-{order.fps:g}fps"
    name += f"-{order.size_px[0]}x{order.size_px[1]}{'-short' if order.short else ''}-v{VERSION}"
    film = folder / f"{name}.mp4"
    truth_path = film.with_suffix(".truth.jsonl")
    if not film.exists() or not truth_path.exists():
        make_film(order, film)
    header, true = _recording(truth_path.read_text(encoding="utf-8").splitlines())
    said = review(film, header, folder)
    film.with_suffix(".said.jsonl").write_text("\n".join(said) + "\n", encoding="utf-8")
    _, seen = _recording(said)
    return compare(true, seen, len(header.players))


def review(film: Path, header: Header, folder: Path) -> list[str]:
    """The lines that ``palmreader review --json`` prints of a film, in a process of its own as a user runs it."""
    command = [sys.executable, "-m", "web.cli", "review", str(film), "--game", header.game, "--json"]
    command += ["--players", ",".join(header.players), "--dealer", str(header.dealer + 1)]
    if header.deck == short_deck().name:
        deck = folder / "short16.toml"
        rows = "\n".join(f'[[cards]]\nname = "{card}"\ncount = 1\n' for card in short_deck().counts)
        deck.write_text(f'name = "short16"\nedition = "1"\n{rows}', encoding="utf-8")
        command += ["--deck", str(deck)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).resolve().parents[2], check=False)
    if done.returncode != 0:
        raise BadInput(f"review of {film.name}: {done.stderr.strip().splitlines()[-1:] or done.returncode}")
    return done.stdout.splitlines()


def _recording(lines: Sequence[str]) -> tuple[Header, list[Event | Ruling]]:
    items: list[Line] = list(read(lines))
    header = next((line for line in items if isinstance(line, Header)), None)
    if header is None:
        raise BadInput.of("recording", "a header as its first line", "none")
    found: list[Event | Ruling] = []
    for line in items:
        # A `Finish` says no more than the slaps that it sums up, and films don't write it.
        if isinstance(line, (Header, Note, Tick, Finish, *CORRECTIONS)):
            continue
        found.append(line)
    return header, found


# --- comparing -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Tally:
    """What was counted over some films."""

    counts: Counter[str] = field(default_factory=Counter)
    slap_errors_ns: list[tuple[int, int]] = field(default_factory=list)
    """(error, stated doubt) of every slap that was found."""
    differences: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in another tally."""
        self.counts += other.counts
        self.slap_errors_ns += other.slap_errors_ns
        self.differences += other.differences

    def figures(self) -> dict[str, Any]:
        """The named figures, shares with their 95 % Wilson intervals."""
        c = self.counts
        shares = {
            "event_precision": (c["matched"], c["events_seen"]),
            "event_recall": (c["matched"], c["events_true"]),
            "rulings_right": (c["rulings_right"], c["rulings_true"]),
            "rulings_wrong": (c["rulings_wrong"], c["rulings_true"]),
            "asked": (c["asked"], c["rulings_true"]),
            "too_close": (c["too_close"], c["rulings_true"]),
            "rulings_missed": (c["rulings_missed"], c["rulings_true"]),
            "slaps_found": (c["slaps_found"], c["slaps_true"]),
            "clear_first_right": (c["clear_first_right"], c["clear_races"]),
            "close_in_interval": (c["close_in_interval"], c["close_pairs"]),
        }
        out: dict[str, Any] = {"films": c["films"]}
        for name, (count, of) in shares.items():
            low, high = wilson(count, of) if of else (None, None)
            out |= {name: count / of if of else None, f"{name}_n": of, f"{name}_low": low, f"{name}_high": high}
        out["rulings_invented"] = c["rulings_invented"] / c["films"] if c["films"] else None
        out["false_slaps"] = c["false_slaps"]
        errors = self.slap_errors_ns
        out["slap_rmse_ms"] = sqrt(sum(e * e for e, _ in errors) / len(errors)) / 1e6 if errors else None
        out["slap_coverage95"] = sum(abs(e) <= 1.96 * sd for e, sd in errors) / len(errors) if errors else None
        return out

    def in_words(self) -> str:
        """One line for people."""
        f, c = self.figures(), self.counts
        rmse = "–" if f["slap_rmse_ms"] is None else f"{f['slap_rmse_ms']:.1f} ms"
        return (
            f"events {c['matched']}/{c['events_true']} (+{c['events_seen'] - c['matched']}), rulings right "
            f"{c['rulings_right']}/{c['rulings_true']}, wrong {c['rulings_wrong']}, asked {c['asked']}, too close "
            f"{c['too_close']}, missed {c['rulings_missed']}, invented {c['rulings_invented']}; slaps "
            f"{c['slaps_found']}/{c['slaps_true']} (+{c['false_slaps']}), rmse {rmse}; first right "
            f"{c['clear_first_right']}/{c['clear_races']} beyond 40 ms, {c['close_in_interval']}/{c['close_pairs']} "
            "closer ones inside their interval"
        )


def compare(true: Sequence[Event | Ruling], seen: Sequence[Event | Ruling], players: int) -> Tally:
    """Count what was seen of a film against what happened in it."""
    tally = Tally(Counter(films=1))
    true_events = [item for item in true if not isinstance(item, Ruling)]
    seen_events = [item for item in seen if not isinstance(item, Ruling)]
    _events(true_events, seen_events, tally)
    _rulings(true, seen, tally)
    _races(true_events, seen_events, players, tally)
    return tally


def _key(event: Event) -> tuple[object, ...]:
    """What must be equal for two events to be the same: kind, seat, card and pile."""
    piles = (event.source, event.target) if isinstance(event, Moved | Turned) else (getattr(event, "pile", None),)
    # A turned pile's top is face down again: the truth may name it, a camera can't.
    card = None if isinstance(event, Turned) else getattr(event, "card", None)
    return (type(event).__name__, event.seat, card, *piles)


def _events(true: Sequence[Event], seen: Sequence[Event], tally: Tally) -> None:
    free = list(seen)
    for event in true:
        same = [other for other in free if _key(other) == _key(event)]
        best = min(same, key=lambda other: abs(other.at.at_ns - event.at.at_ns), default=None)
        found = best is not None and abs(best.at.at_ns - event.at.at_ns) <= MATCH_NS
        tally.counts["events_true"] += 1
        tally.counts["matched"] += found
        if isinstance(event, Slap):
            tally.counts["slaps_true"] += 1
            tally.counts["slaps_found"] += found
        if found and best is not None:
            free.remove(best)
            if isinstance(event, Slap):
                tally.slap_errors_ns.append((best.at.at_ns - event.at.at_ns, best.at.sd_ns))
        else:
            tally.differences.append(f"{event.at.at_ns / 1e9:8.3f} missed   {_said(event)}")
    tally.counts["events_seen"] += len(seen)
    for event in free:
        tally.counts["false_slaps"] += isinstance(event, Slap)
        tally.differences.append(f"{event.at.at_ns / 1e9:8.3f} invented {_said(event)}")


def _said(event: Event) -> str:
    return " ".join(str(part) for part in _key(event) if part is not None)


def _timed(items: Sequence[Event | Ruling]) -> Iterator[tuple[int, Ruling]]:
    """Rulings with the time of the newest event that each rests on."""
    times = {item.id: item.at.at_ns for item in items if not isinstance(item, Ruling)}
    for item in items:
        if isinstance(item, Ruling):
            yield max((times.get(number, 0) for number in item.because), default=0), item


def _rulings(true: Sequence[Event | Ruling], seen: Sequence[Event | Ruling], tally: Tally) -> None:
    free = list(_timed(seen))
    for at_ns, ruling in _timed(true):
        if ruling.verdict is Verdict.ASK:
            continue
        tally.counts["rulings_true"] += 1
        near = sorted(
            (pair for pair in free if abs(pair[0] - at_ns) <= RULING_NS), key=lambda pair: abs(pair[0] - at_ns)
        )
        same = next((pair for pair in near if _what(pair[1]) == _what(ruling)), None)
        asked = next((pair for pair in near if pair[1].verdict is Verdict.ASK), None)
        close = next((pair for pair in near if pair[1].verdict is Verdict.TOO_CLOSE), None)
        kin = next((pair for pair in near if _is_race(pair[1]) and _is_race(ruling)), None)
        for name, pair in (("rulings_right", same), ("asked", asked), ("too_close", close), ("rulings_wrong", kin)):
            if pair is not None:
                tally.counts[name] += 1
                free.remove(pair)
                break
        else:
            name = "rulings_missed"
            tally.counts[name] += 1
        if same is None:
            tally.differences.append(f"{at_ns / 1e9:8.3f} {name} {ruling.clause} {ruling.what} {ruling.seat}")
    for at_ns, ruling in free:
        if ruling.verdict in (Verdict.WON, Verdict.LOST, Verdict.FAULT, Verdict.TIE, Verdict.TOO_CLOSE):
            tally.counts["rulings_invented"] += 1
            tally.differences.append(f"{at_ns / 1e9:8.3f} invented {ruling.clause} {ruling.what} {ruling.seat}")


def _what(ruling: Ruling) -> tuple[object, ...]:
    return ruling.clause, ruling.what, ruling.seat


def _is_race(ruling: Ruling) -> bool:
    return ruling.verdict in (Verdict.WON, Verdict.TIE, Verdict.TOO_CLOSE)


def _races(true: Sequence[Event], seen: Sequence[Event], players: int, tally: Tally) -> None:
    """The first hand of every slap, and whether close pairs lie inside the stated interval."""
    said: list[SlapVerdict] = [judge_slap(slaps, players, 0.99, finish) for slaps, finish in slaps_in(seen)]
    for slaps, _ in slaps_in(true):
        truth = judge_slap(slaps, players, 0.99)
        if len(truth.order) < 2 or truth.margin_ns is None:
            continue
        at_ns = truth.instants[0][1].at_ns
        near = [v for v in said if abs(v.instants[0][1].at_ns - at_ns) <= MATCH_NS and v.pile == truth.pile]
        verdict = min(near, key=lambda v: abs(v.instants[0][1].at_ns - at_ns), default=None)
        if truth.margin_ns > CLEAR_MARGIN_NS:
            tally.counts["clear_races"] += 1
            right = verdict is not None and verdict.order[0] == truth.order[0]
            tally.counts["clear_first_right"] += right
            if not right:
                got = None if verdict is None else verdict.order[0]
                tally.differences.append(f"{at_ns / 1e9:8.3f} first hand: true {truth.order[0]}, got {got}")
            continue
        tally.counts["close_pairs"] += 1
        one, two = truth.order[:2]
        instants = dict(verdict.instants) if verdict is not None else {}
        if one in instants and two in instants:
            gap = instants[two].at_ns - instants[one].at_ns
            doubt = sqrt(instants[one].sd_ns ** 2 + instants[two].sd_ns ** 2)
            tally.counts["close_in_interval"] += abs(gap - truth.margin_ns) <= 1.96 * doubt
