"""Bench of slaps: hands rendered with exact truth, timed by the product from pictures and sound, and compared."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import cv2
import numpy as np

from referee.cards import Seat
from referee.instant import Instant, normal_cdf
from vision.benches.wilson import add_share
from vision.films.encode import SAMPLE_RATE
from vision.films.kinematics import HELD_OUT, NO_CONTACT, Family
from vision.films.slap_clip import SlapClip, make_slap_clip
from vision.films.slap_spec import RATES, SlapSpec
from vision.hands.news import Contact
from vision.hands.order import joined
from vision.hands.timing import Shutter
from vision.hands.watcher import HandWatcher
from vision.sound.onsets import onsets

HELP = "who slapped first, and who last: rendered slaps with truth to the microsecond"

MARGINS_MS = (5, 10, 15, 20, 33)
TIMED_MS = 8.0
DECIDED = 0.99
#: A contact told this near to a hand's true one is meant to be it.
_SAME_MS = (-150.0, 300.0)
#: A told slap this far from every true one is a false one.
_FALSE_MS = 60.0
#: Called is measured over margins that are uniform from 0 to this.
_CALLED_UP_TO_MS = 40.0
_QUICK_N, _FULL_N = 6, 60


@dataclass(frozen=True, slots=True)
class HandResult:
    """One hand that touched: what was told of it. ``error_ms`` None: it was not seen to touch."""

    clip: int
    fps: float
    nominal: bool
    held_out: bool
    family: str
    strike: str
    layer: int
    error_ms: float | None
    sd_ms: float
    stepping_ms: float
    """Error of the first picture that was taken after the contact: the best that stepping can give."""

    @property
    def timed(self) -> bool:
        """Given an instant that is good for something."""
        return self.error_ms is not None and self.sd_ms <= TIMED_MS

    @property
    def covered(self) -> bool:
        """Whether the truth lies within the stated 95 %."""
        return self.error_ms is not None and abs(self.error_ms) <= 1.96 * self.sd_ms


@dataclass(frozen=True, slots=True)
class ClipResult:
    """One clip: its hands, its order as told from picture and sound, false slaps, and what it cost."""

    hands: tuple[HandResult, ...]
    first_right: bool | None
    last_right: bool | None
    stacked_last_right: bool | None
    """The last one, where it came at least 12 ms after the others and hands lie on each other."""
    pairs_with_sound: tuple[tuple[float, float], ...]
    """For pairs within 40 ms: (margin in ms, the probability given to the true order), sound included."""
    false_slaps: int
    """Trusted, never taken back, and far from any contact."""
    taken_back: int
    """Trusted and false, but taken back when the hand that had been held there came down."""
    passes: int
    watch_ms: float
    pictures: int


def add(parser: argparse.ArgumentParser) -> None:
    """The bench's own options."""
    parser.add_argument("--fps", default=",".join(map(str, RATES)), help="rates, as in 30,60,120,240")
    parser.add_argument("--hands", default="2..6", help="how many hands a clip has, as in 2..6 or 3")
    parser.add_argument("--n", type=int, help=f"clips for each rate and group (default {_FULL_N}, quick {_QUICK_N})")
    parser.add_argument("--group", choices=("nominal", "all", "both"), default="both")
    parser.add_argument("--jobs", type=int, default=1, help="how many clips at a time")
    parser.add_argument("--results", type=Path, help="also write every hand's result there, as JSON lines")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no further clip after so long")
    parser.add_argument("--no-held-out", action="store_true", help="leave the held-out families closed")


def run(args: argparse.Namespace) -> int:
    """Draw, watch, compare, print."""
    rates = [float(part) for part in str(args.fps).split(",")]
    if args.quick and args.fps == ",".join(map(str, RATES)):
        rates = [60.0]
    n = args.n or (_QUICK_N if args.quick else _FULL_N)
    groups = {"nominal": [True], "all": [False], "both": [True, False]}[args.group]
    hands = _span(args.hands)
    tasks = [
        (int(args.seed) * 100_003 + 7919 * k + int(fps), fps, nominal, not args.no_held_out, hands)
        for k in range(n)
        for fps in rates
        for nominal in groups
    ]
    began = time.monotonic()
    results: list[ClipResult] = []
    for result in _worked(tasks, args.jobs, began + args.seconds):
        results.append(result)
        if sys.stderr.isatty():
            print(f"\r{len(results)}/{len(tasks)} clips", end="", file=sys.stderr)  # a bench's progress
    if args.results is not None:
        lines = [json.dumps(asdict(hand)) for result in results for hand in result.hands]
        args.results.write_text("\n".join(lines) + "\n")
    figures = report(results)
    figures["seed"], figures["seconds"] = args.seed, round(time.monotonic() - began, 1)
    _table(figures)
    print(json.dumps(figures))  # a bench's output
    return 0


Task = tuple[int, float, bool, bool, tuple[int, int]]


def _worked(tasks: Sequence[Task], jobs: int, until: float) -> Iterable[ClipResult]:
    """Measured clips as they are done; no further one is begun after ``until``."""
    if jobs <= 1:
        for task in tasks:
            if time.monotonic() > until:
                return
            yield measure(task)
        return
    with ProcessPoolExecutor(jobs) as pool:
        futures = [pool.submit(measure, task) for task in tasks]
        for future in as_completed(futures):
            if not future.cancelled():
                yield future.result()
            if time.monotonic() > until:
                for other in futures:
                    other.cancel()


def measure(task: Task) -> ClipResult:
    """Render one clip and let the product watch it."""
    cv2.setNumThreads(1)
    seed, fps, nominal, held_out, hands = task
    rng = np.random.default_rng([seed, 11])
    spec = SlapSpec.drawn(rng, fps=fps, nominal=nominal, held_out=held_out)
    if not hands[0] <= spec.hands <= hands[1]:
        rng = np.random.default_rng([seed, 12])
        count = int(rng.integers(hands[0], hands[1] + 1))
        spec = SlapSpec.drawn(rng, fps=fps, nominal=nominal, held_out=held_out, hands=count, family=spec.family)
    return watched(make_slap_clip(spec, seed), seed)


def shutter_of(spec: SlapSpec) -> Shutter | None:
    """What the product may be told of the camera."""
    if not spec.read_out_known or spec.read_out_s == 0:
        return None
    way = -1.0 if spec.read_out.backwards else 1.0
    return Shutter(spec.read_out_s, 0.0, (way, 0.0) if spec.read_out.along_x else (0.0, way))


def watched(clip: SlapClip, seed: int) -> ClipResult:
    """What the product tells of a clip, beside the truth."""
    spec = clip.spec
    watcher = HandWatcher(clip.table, shutter=shutter_of(spec))
    contacts: list[Contact] = []
    taken_back: list[Contact] = []
    spent, stamps = 0.0, []
    for frame in clip.frames():
        stamps.append(frame.at_ns)
        began = time.process_time()
        news = watcher.watch(frame)
        took = time.process_time() - began
        told = [each for each in news if isinstance(each, Contact)]
        for each in told:
            taken_back += [old for old in contacts if (old.hand, old.rest_ns) == (each.hand, each.instead_of)]
            contacts = [old for old in contacts if (old.hand, old.rest_ns) != (each.hand, each.instead_of)]
        contacts += told
        spent += 0.0 if told else took
    truth = clip.truth
    touching = [hand for hand in truth.hands if hand.contact_ns is not None]
    results: list[HandResult] = []
    seen: dict[Seat, Instant] = {}
    free = list(contacts)
    for hand in sorted(touching, key=lambda each: each.contact_ns or 0):
        at_ns = hand.contact_ns or 0
        near = [
            each
            for each in free
            if each.seat == hand.seat and _SAME_MS[0] < (each.at.at_ns - at_ns) / 1e6 < _SAME_MS[1]
        ]
        told_of = min(near, key=lambda each: abs(each.at.at_ns - at_ns), default=None)
        if told_of is not None:
            free.remove(told_of)
            if hand.seat not in seen:
                seen[hand.seat] = told_of.at
        following = [stamp for stamp in stamps if stamp >= at_ns]
        results.append(
            HandResult(
                clip=seed,
                fps=spec.fps,
                nominal=spec.nominal,
                held_out=spec.held_out,
                family=hand.family.value,
                strike=hand.strike.value,
                layer=hand.layer,
                error_ms=None if told_of is None else (told_of.at.at_ns - at_ns) / 1e6,
                sd_ms=math.inf if told_of is None else told_of.at.sd_ns / 1e6,
                stepping_ms=(following[0] - at_ns) / 1e6 if following else math.nan,
            )
        )
    all_contacts = [at for hand in touching for at in hand.contacts_ns]

    def is_false(told: Contact) -> bool:
        return told.trusted and all(abs(told.at.at_ns - at) > _FALSE_MS * 1e6 for at in all_contacts)

    return ClipResult(
        tuple(results),
        *_orders(clip, seen),
        false_slaps=sum(map(is_false, free)),
        taken_back=sum(map(is_false, taken_back)),
        passes=len(truth.hands),
        watch_ms=spent * 1e3,
        pictures=len(stamps),
    )


def _orders(
    clip: SlapClip, seen: dict[Seat, Instant]
) -> tuple[bool | None, bool | None, bool | None, tuple[tuple[float, float], ...]]:
    """First, last, last of stacked hands, and pairs as told with sound."""
    truth = clip.truth
    order = truth.order
    if len(order) < 2 or len(seen) < 2:
        return None, None, None, ()
    heard = () if clip.audio is None else tuple(each.at for each in onsets(clip.audio, SAMPLE_RATE))
    both = joined(seen, heard)
    first, last = both.first(), both.last()
    whole = len(seen) == len(order)
    first_right = max(first, key=lambda who: first[who]) == order[0]
    last_right = max(last, key=lambda who: last[who]) == order[-1] if whole else False
    at: dict[Seat, int] = {}
    for hand in truth.hands:
        if hand.contact_ns is not None:
            at.setdefault(hand.seat, hand.contact_ns)
    stacked = None
    if any(hand.lies_on for hand in truth.hands) and at[order[-1]] - at[order[-2]] >= 12e6:
        stacked = last_right
    pairs = []
    for one, other in combinations([who for who in order if who in seen], 2):
        margin = (at[other] - at[one]) / 1e6
        if margin <= _CALLED_UP_TO_MS:
            pairs.append((margin, both.before(one, other)))
    return first_right, last_right, stacked, tuple(pairs)


# --- figures ----------------------------------------------------------------------------------------


def report(results: Sequence[ClipResult]) -> dict[str, object]:
    """Every figure, over all and broken down; held-out families apart."""
    known = [each for each in results if not any(hand.held_out for hand in each.hands)]
    nominal = [each for each in known if all(hand.nominal for hand in each.hands) and each.hands]
    figures = dict(_figures(known))
    hands = [hand for each in known for hand in each.hands]
    figures["nominal"] = {
        **_figures(nominal),
        "by_fps": _by(nominal, lambda hand: f"{hand.fps:g}"),
        "by_kind": _by(nominal, lambda hand: hand.strike),
    }
    figures["by_fps"] = _by(known, lambda hand: f"{hand.fps:g}")
    figures["by_family"] = _by(known, lambda hand: hand.family)
    figures["by_kind"] = _by(known, lambda hand: hand.strike)
    held = [each for each in results if any(hand.held_out for hand in each.hands)]
    figures["held_out"] = {**_figures(held), "by_family": _by(held, lambda hand: hand.family)}
    families = {
        family: [hand for hand in hands if hand.family == family and hand.error_ms is not None]
        for family in sorted({hand.family for hand in hands})
    }
    covered = {family: sum(h.covered for h in group) / len(group) for family, group in families.items() if group}
    figures["worst_family"] = min(covered, key=lambda family: covered[family]) if covered else None
    figures["families_held_out"] = sorted(family.value for family in HELD_OUT)
    figures["families_without_contact"] = sorted(family.value for family in NO_CONTACT)
    return figures


def _by(results: Sequence[ClipResult], key: Callable[[HandResult], str]) -> dict[str, dict[str, object]]:
    names = sorted({key(hand) for each in results for hand in each.hands})
    return {
        name: _hand_figures([tuple(hand for hand in each.hands if key(hand) == name) for each in results])
        for name in names
    }


def _figures(results: Sequence[ClipResult]) -> dict[str, object]:
    out = _hand_figures([each.hands for each in results])
    for name in ("first_right", "last_right", "stacked_last_right"):
        said = [getattr(each, name) for each in results if getattr(each, name) is not None]
        add_share(out, name, sum(said), len(said))
    pairs = [pair for each in results for pair in each.pairs_with_sound]
    decided = [p for _, p in pairs if p >= DECIDED or p <= 1 - DECIDED]
    add_share(out, "called_with_sound", len(decided), len(pairs))
    add_share(out, "wrong_of_called_with_sound", sum(p < 0.5 for p in decided), len(decided))
    passes = sum(each.passes for each in results)
    out["false_slaps"] = round(1000 * sum(each.false_slaps for each in results) / max(passes, 1), 2)
    taken_back = sum(each.taken_back for each in results)
    out["false_slaps_at_first"] = round(1000 * taken_back / max(passes, 1) + float(str(out["false_slaps"])), 2)
    pictures = sum(each.pictures for each in results)
    out["hands_ms_per_frame"] = round(sum(each.watch_ms for each in results) / max(pictures, 1), 2)
    out["clips"], out["hand_passes"] = len(results), passes
    return out


def _hand_figures(groups: Sequence[tuple[HandResult, ...]]) -> dict[str, object]:
    """What single hands and pairs of one clip give."""
    hands = [hand for group in groups for hand in group]
    out: dict[str, object] = {"hands": len(hands)}
    add_share(out, "timed", sum(hand.timed for hand in hands), len(hands))
    add_share(out, "lost", sum(hand.error_ms is None for hand in hands), len(hands))
    given = [hand for hand in hands if hand.error_ms is not None]
    add_share(out, "coverage95", sum(hand.covered for hand in given), len(given))
    timed = [hand for hand in hands if hand.timed]
    add_share(out, "coverage95_timed", sum(hand.covered for hand in timed), len(timed))
    errors = np.array([hand.error_ms for hand in timed], dtype=np.float64)
    out["rmse_ms"] = round(float(np.sqrt((errors**2).mean())), 2) if len(errors) else None
    out["bias_ms"] = round(float(errors.mean()), 2) if len(errors) else None
    out["median_error_ms"] = round(float(np.median(np.abs(errors))), 2) if len(errors) else None
    steps = np.array([hand.stepping_ms for hand in hands if math.isfinite(hand.stepping_ms)])
    out["stepping_rmse_ms"] = round(float(np.sqrt((steps**2).mean())), 2) if len(steps) else None
    out["stepping_bias_ms"] = round(float(steps.mean()), 2) if len(steps) else None
    pairs = [pair for group in groups for pair in combinations(group, 2)]
    _pair_figures(out, pairs)
    return out


def _pair_figures(out: dict[str, object], pairs: Sequence[tuple[HandResult, HandResult]]) -> None:
    """Forced choice and calls for pairs of one clip, each shifted to exactly the margin in question.

    The errors of two hands of a clip are as they are, whatever their true margin; moving one of them in time
    moves its instant by as much. So each pair serves at every margin, both ways round.
    """
    both = [(a, b) for a, b in pairs if a.error_ms is not None and b.error_ms is not None]
    # Hands that were not seen are a coin's toss.
    for margin in MARGINS_MS:
        right = sum(
            float((b.error_ms or 0) - (a.error_ms or 0) + margin > 0)
            + float((a.error_ms or 0) - (b.error_ms or 0) + margin > 0)
            for a, b in both
        )
        tossed = len(pairs) - len(both)
        add_share(out, f"right_at_{margin}ms", right / 2 + tossed / 2, len(pairs))
        stepped = [(a.stepping_ms, b.stepping_ms) for a, b in pairs]
        guessed = sum(_stepped(b - a + margin) + _stepped(a - b + margin) for a, b in stepped)
        out[f"stepping_right_at_{margin}ms"] = round(guessed / 2 / len(stepped), 4) if stepped else None
    called = wrong = 0.0
    steps = np.arange(0.5, _CALLED_UP_TO_MS, 1.0)
    for a, b in both:
        spread = math.hypot(a.sd_ms, b.sd_ms)
        for apart in steps:
            for difference in (b.error_ms - a.error_ms, a.error_ms - b.error_ms):  # type: ignore[operator]
                p = normal_cdf((float(apart) + difference) / max(spread, 1e-6))
                called += float(p >= DECIDED or p <= 1 - DECIDED)
                wrong += float(p <= 1 - DECIDED)
    add_share(out, "called", called / (2 * len(steps)), len(pairs))
    # As many independent samples as pairs, not as shifts of them.
    add_share(out, "wrong_of_called", wrong / (2 * len(steps)), max(1, round(called / (2 * len(steps)))))
    out["pairs"] = len(pairs)


def _stepped(difference: float) -> float:
    """Right, wrong, or a coin's toss where both came to rest in one picture."""
    return 0.5 if abs(difference) < 1e-6 else float(difference > 0)


def _table(figures: dict[str, object]) -> None:
    """The figures for people."""
    rows = [("all", figures), ("nominal", figures["nominal"]), ("held out", figures["held_out"])]
    for title, name in (("fps (nominal)", "by_fps"), ("kind (nominal)", "by_kind")):
        rows += [(f"{title} {key}", value) for key, value in figures["nominal"][name].items()]  # type: ignore[index]
    rows += [(f"family {key}", value) for key, value in figures["by_family"].items()]  # type: ignore[attr-defined]
    held = figures["held_out"]
    rows += [(f"held out {key}", value) for key, value in held["by_family"].items()]  # type: ignore[index]
    columns = ("hands", "timed", "rmse_ms", "bias_ms", "coverage95", "right_at_10ms", "right_at_20ms", "called",
               "wrong_of_called", "lost")  # fmt: skip
    print(f"{'':34s}" + "".join(f"{name:>16s}" for name in columns))
    for title, values in rows:
        assert isinstance(values, dict)
        cells = (values.get(name) for name in columns)
        print(f"{title:34s}" + "".join(f"{'-' if cell is None else cell:>16}" for cell in cells))


def _span(text: str) -> tuple[int, int]:
    low, _, high = text.partition("..")
    return int(low), int(high or low)


#: Left out while the product was developed; only this bench opens them.
FAMILIES_HELD_OUT: frozenset[Family] = HELD_OUT
