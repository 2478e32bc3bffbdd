"""Bench of verdicts: hands that land on hands, told by the product who came first, by grade, and who lies on whom."""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from referee.cards import Seat
from referee.events import Event
from referee.instant import Instant
from vision.benches.slaps import shutter_of
from vision.benches.wilson import add_share
from vision.ear import Ear
from vision.films.kinematics import Family
from vision.films.slap_clip import PILE, SlapClip, make_slap_clip
from vision.films.slap_spec import SlapSpec
from vision.hands.evidence import Witness
from vision.hands.watcher import HandWatcher
from vision.narrator import Narrator, Places, Telling
from vision.sources.pieces import Sound
from vision.sources.video import VideoFile
from vision.verdict import GRADES, SlapVerdict, judge_slap, slaps_in

HELP = "hands on hands: is the verdict's first right, by grade, and who lies on whom"

_QUICK_N, _FULL_N = 4, 200
_DECIDED = 0.99
#: A verdict is of the clip's slap where it holds the true first hand within this, or begins so near to it.
_SAME_NS = 300_000_000


@dataclass(frozen=True, slots=True)
class ClipVerdict:
    """What was told of one clip, beside the truth.

    first_right: of the likeliest first hand. decided: P ≥ 0.99. ``lies``: for each true overlap of two players'
    hands, True: told right, False: told the wrong way round, None: not told. ``invented``: told of hands that do
    not overlap.
    """

    clip: int
    grade: str
    decided: bool
    first_right: bool
    lies: tuple[bool | None, ...]
    gaps_ms: tuple[float, ...]
    invented: int


def add(parser: argparse.ArgumentParser) -> None:
    """The bench's own options."""
    parser.add_argument("--n", type=int, help=f"clips (default {_FULL_N}, quick {_QUICK_N})")
    parser.add_argument("--hands", type=int, default=0, help="hands a clip (default: 2 or 3)")
    parser.add_argument("--fps", type=float, default=60.0, help="pictures a second (default 60)")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no further clip after so long")


def run(args: argparse.Namespace) -> int:
    """Draw, watch, compare, print."""
    cv2.setNumThreads(1)
    began = time.monotonic()
    results: list[ClipVerdict] = []
    for k in range(args.n or (_QUICK_N if args.quick else _FULL_N)):
        if time.monotonic() - began > args.seconds:
            break
        results.append(measure(int(args.seed) * 1_000_003 + k, args.hands, args.fps))
    figures = {"bench": "layers", "seed": args.seed, "quick": args.quick, **report(results)}
    figures["seconds"] = round(time.monotonic() - began, 1)
    for name in ("first_right", "decided", "wrong_of_decided", "lies_told", "lies_right"):
        low, high = figures[f"{name}_low"], figures[f"{name}_high"]
        print(f"{name:16s} {figures[name]}  ({low} to {high})  n {figures[f'{name}_n']}")
    for grade, row in figures["by_grade"].items():
        print(f"grade {grade}          first right {row['first_right']} of {row['slaps']}")
    print(json.dumps(figures))
    return 0


def measure(seed: int, hands: int = 0, fps: float = 60.0) -> ClipVerdict:
    """Render one clip of hands on hands and let the product watch the video file."""
    rng = np.random.default_rng([seed, 13])
    count = hands or int(rng.integers(2, 4))
    spec = SlapSpec.drawn(rng, fps=fps, nominal=True, hands=count, family=Family.HAND_ON_HAND)
    clip = make_slap_clip(spec, seed)
    with tempfile.TemporaryDirectory(prefix="layers-") as folder:
        path = Path(folder) / "clip.mp4"
        clip.write(path)
        witness = Witness(HandWatcher(clip.table, shutter=shutter_of(spec), timed=frozenset({PILE})))
        verdicts = list(_verdicts(path, witness, clip))
    return compared(clip, verdicts, witness, seed)


def _verdicts(path: Path, witness: Witness, clip: SlapClip) -> Iterator[SlapVerdict]:
    """The verdicts on a clip, as review gives them where there is no game."""
    ear = Ear()

    def struck(from_ns: int, to_ns: int) -> tuple[Instant, ...] | None:
        if ear.until_ns is None:
            return ()
        return None if ear.until_ns < to_ns else ear.struck(from_ns, to_ns)

    narrator = Narrator(Places(frozenset({PILE})), clip.table, struck)
    told: dict[int, Event] = {}

    def take(telling: Telling) -> None:
        if telling.event is None:
            told.pop(telling.key, None)
        else:
            told[telling.key] = telling.event

    with VideoFile(path) as video:
        for piece in witness.pieces(video):
            if isinstance(piece, Sound):
                ear.hear(piece)
                continue
            for news in witness.watch(piece):
                narrator.hear(news)
            for telling in narrator.tell(piece.at_ns, hands=witness.hands):
                take(telling)
    for telling in narrator.finish():
        take(telling)
    course = sorted(told.values(), key=lambda event: event.at.at_ns)
    for slaps, finish in slaps_in(course):
        yield judge_slap(slaps, len(clip.table.seats), _DECIDED, finish)


def compared(clip: SlapClip, verdicts: Sequence[SlapVerdict], witness: Witness, seed: int) -> ClipVerdict:
    """One clip's verdict against the truth; no verdict at all counts as a wrong one that nobody was sure of."""
    truth = clip.truth
    landed = [hand for hand in truth.hands if hand.contact_ns is not None]
    first = min(landed, key=lambda hand: hand.contact_ns or 0)
    at_ns = first.contact_ns or 0
    near = [verdict for verdict in verdicts if any(abs(at.at_ns - at_ns) < _SAME_NS for _, at in verdict.instants)]
    verdict = max(near, key=lambda each: len(each.order), default=None)
    told: dict[tuple[Seat | None, Seat | None], float] = {}
    for overlap in witness.overlaps(PILE, 0, max(hand.lifts_ns for hand in landed)):
        told[overlap.below_seat, overlap.above_seat] = overlap.log_odds
        told[overlap.above_seat, overlap.below_seat] = -overlap.log_odds
    owners = Counter(hand.seat for hand in truth.hands)
    lies: list[bool | None] = []
    gaps: list[float] = []
    true: set[tuple[Seat, Seat]] = set()
    for above in landed:
        for below in (truth.hands[number] for number in above.lies_on):
            if owners[above.seat] == owners[below.seat] == 1:
                odds = told.get((below.seat, above.seat))
                lies.append(None if odds is None else odds > 0)
                gaps.append(((above.contact_ns or 0) - (below.contact_ns or 0)) / 1e6)
                true |= {(below.seat, above.seat), (above.seat, below.seat)}
    return ClipVerdict(
        clip=seed,
        grade="none" if verdict is None else verdict.grade,
        decided=verdict is not None and verdict.first is not None,
        first_right=verdict is not None and verdict.order[0] == first.seat,
        lies=tuple(lies),
        gaps_ms=tuple(gaps),
        invented=len([pair for pair in told if pair not in true]) // 2,
    )


def report(results: Sequence[ClipVerdict]) -> dict[str, object]:
    """The figures, with 95 % Wilson intervals."""
    out: dict[str, object] = {"clips": len(results)}
    lies = [told for each in results for told in each.lies]
    said = [told for told in lies if told is not None]
    _share(out, "first_right", sum(each.first_right for each in results), len(results))
    _share(out, "decided", sum(each.decided for each in results), len(results))
    decided = [each for each in results if each.decided]
    _share(out, "wrong_of_decided", sum(not each.first_right for each in decided), len(decided))
    _share(out, "lies_told", len(said), len(lies))
    _share(out, "lies_right", sum(said), len(said))
    out["lies_invented"] = sum(each.invented for each in results)
    out["by_grade"] = {
        grade: {
            "slaps": sum(each.grade == grade for each in results),
            "first_right": sum(each.grade == grade and each.first_right for each in results),
        }
        for grade in (*GRADES, "none")
    }
    return out


def _share(out: dict[str, object], name: str, hits: int, n: int) -> None:
    add_share(out, name, hits, n)
    out[f"{name}_n"] = n
