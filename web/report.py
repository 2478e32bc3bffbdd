"""The evidence for each slap as one self-contained page: strips, pictures, sound, instants, order, what was assumed."""

from __future__ import annotations

import argparse
import base64
import math
import sys
import tempfile
import webbrowser
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import cv2
import jinja2
import numpy as np

from referee.bad_input import BadInput
from referee.cards import Seat
from referee.events import Event, Finish, Slap
from referee.instant import Instant, order_probabilities
from vision.hands.evidence import STEP_NS, HandEvidence, Heard, Witness
from vision.hands.order import Joined
from vision.hands.watcher import HandWatcher
from vision.narrator import Raced
from vision.pipeline import Pipeline
from vision.table import Table
from vision.verdict import Conditions, SlapVerdict, judge_slap, slaps_in
from web.telling import clock
from web.words import DEFAULT_LANGUAGE, Words, words

#: Drawn so long before the first hand and after the last one, beside their doubt, which counts up to so much.
_AROUND_NS, _MOST_DOUBT_NS = 110_000_000, 90_000_000
#: A strip's picture: the whole window would be so many pixels wide; and so high.
_WINDOW_PX, _STRIP_HEIGHT_PX = 880, 150
#: Likelier orders are listed, at most so many.
_ORDERS = 6
#: The track is drawn up to so far from where the arm came to rest.
_TRACK_MM = 160.0
#: Layers are told from a hand's coming to rest until it is withdrawn.
_COMES_NS, _GOES_NS = 100_000_000, 3_000_000_000
#: Instants of a race and of its slaps are the same to within this.
_SAME_NS = 250_000_000
_JPEG_QUALITY = 82
#: 95 % of a normal distribution lie within so many standard deviations.
_Z95 = 1.96


@dataclass(frozen=True, slots=True)
class Judged:
    """One slap: what was told of it, and the verdict."""

    slaps: tuple[Slap, ...]
    finish: Finish | None
    joined: Joined | None
    verdict: SlapVerdict


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """A table that was watched: who keeps the evidence, the races as they were settled, and what was assumed.

    ``assumed``: in words, beside what the report says by itself.
    """

    witness: Witness
    raced: Sequence[Raced]
    assumed: tuple[str, ...] = ()

    @property
    def conditions(self) -> Conditions:
        """What verdicts were reached under."""
        return conditions_of(self.witness)

    def judged(self, course: Iterable[Event], players: int, confidence: float) -> list[Judged]:
        """The slaps of a course of events, each with its verdict."""
        out = []
        for slaps, finish in slaps_in(course):
            joined = joined_of(self.raced, slaps)
            out.append(Judged(slaps, finish, joined, judge_slap(slaps, players, confidence, finish, joined)))
        return out


def attended(pipeline: Pipeline, assumed: Sequence[str] = (), *, most: int = 2_000) -> Watched:
    """Let the evidence of the newest ``most`` hands be kept of what a pipeline is going to watch.

    Call it before the first picture.
    """
    if not isinstance(pipeline.hands, HandWatcher):
        raise TypeError(f"hands: expected a HandWatcher, got {type(pipeline.hands).__name__}")
    witness = Witness(pipeline.hands, most=most)
    pipeline.hands = witness
    return Watched(witness, pipeline.narrator.raced, tuple(assumed))


def conditions_of(witness: Witness) -> Conditions:
    """Rate, read-out and sound as the witness knows them."""
    shutter = witness.shutter
    return Conditions(
        fps=witness.fps,
        read_out_ns=None if shutter is None else round(shutter.readout_s * 1e9),
        read_out_sd_ns=0 if shutter is None else round(shutter.sd_s * 1e9),
        read_out_estimated=shutter is not None and shutter.sd_s > 0,
        sound=witness.has_sound,
    )


def joined_of(raced: Sequence[Raced], slaps: Sequence[Slap]) -> Joined | None:
    """What picture and sound jointly say of these slaps, where they were settled as a race."""
    seats = {slap.seat for slap in slaps}
    first = min(slap.at.at_ns for slap in slaps)
    for race in reversed(tuple(raced)):
        began = min(at.at_ns for at in race.landed.values())
        if race.pile == slaps[0].pile and set(race.landed) == seats and abs(began - first) < _SAME_NS:
            return race.joined
    return None


# --- the command's options ------------------------------------------------------------------------------


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """``--report DIR`` and ``--open``."""
    parser.add_argument(
        "--report", type=Path, metavar="DIR", help="write the evidence for every slap as one page for each video"
    )
    parser.add_argument("--open", action="store_true", help="open the page of the evidence in a browser")


def write_report(folder: Path, video: str, page: str) -> Path:
    """Write a page into a folder, which is made where it isn't there; returns where it lies."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{Path(video).stem}.html"
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise BadInput.of(str(folder), "a folder that can be written to", error.strerror or "none") from error
    return path


def show_report(
    args: argparse.Namespace, video: Path, judged: Sequence[Judged], watched: Watched, players: Sequence[str]
) -> None:
    """Write the page where it is wanted, and open it in a browser where that is."""
    if args.report is None and not args.open:
        return
    folder = args.report or Path(tempfile.mkdtemp(prefix="palmreader-"))
    language = words(getattr(args, "lang", DEFAULT_LANGUAGE))
    # Clips of one name from several folders each have their own page.
    twins = [each for each in args.videos if each.stem == video.stem]
    name = video.name if len(twins) < 2 else f"{twins.index(video) + 1}-{video.name}"
    path = write_report(folder, name, report_page(video.name, judged, watched, players, language))
    print(f"evidence: {path}", file=sys.stderr, flush=True)  # noqa: T201 - the command speaks through it
    if args.open:
        webbrowser.open(path.resolve().as_uri())


# --- the page -------------------------------------------------------------------------------------------


def report_page(
    title: str, judged: Sequence[Judged], watched: Watched, players: Sequence[str], spoken: Words, *, back: str = ""
) -> str:
    """The page as HTML: nothing in it is loaded from elsewhere. ``back``: a link to where it was come from."""
    say = spoken.common["report"]
    conditions = watched.conditions
    slaps = [_slap(n, each, watched, players, spoken) for n, each in enumerate(judged, 1)]
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("web"), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    return environment.get_template("report.html").render(
        title=title,
        language=spoken.language,
        say=say,
        slaps=slaps,
        conditions=conditions.in_words(None),
        grades=[(grade, say[f"grade_{grade.lower()}"]) for grade in "ABCD"],
        assumed=_assumed(watched, spoken),
        back=back,
        style="".join(_static(name) for name in ("base.css", "report.css")),
    )


def _static(name: str) -> str:
    return (resources.files("web") / "static" / name).read_text(encoding="utf-8")


def _slap(number: int, judged: Judged, watched: Watched, players: Sequence[str], spoken: Words) -> dict[str, Any]:
    verdict = judged.verdict
    seats = [seat for seat, _ in verdict.instants]
    found = {slap.seat: watched.witness.of(slap) for slap in reversed(judged.slaps)}
    instants = dict(verdict.instants)
    window = _Window.around(instants.values())
    first = instants[verdict.order[0]]
    offset_ns = 0 if verdict.offset is None else verdict.offset.ns
    return {
        "number": number,
        "at": clock(first.at_ns),
        "pile": spoken.pile(verdict.pile, players),
        "line": verdict.in_words(players, watched.conditions),
        "grade": verdict.grade,
        "reasons": verdict.reasons(players),
        "margin": _margin(verdict, spoken),
        "missing": [players[seat] for seat in verdict.missing],
        "hands": [_hand(seat, instants[seat], first, found.get(seat), window, players, spoken) for seat in seats],
        "curves": [(seat % 8, window.bell(instants[seat], instants.values())) for seat in seats],
        "sound": _sound([kept.heard for kept in found.values() if kept is not None], offset_ns, window),
        "offset": _offset(verdict, watched, spoken),
        "ticks": window.ticks(first.at_ns),
        "orders": _orders(judged, players),
        "layers": _layers(verdict, watched, players, spoken),
    }


def _hand(
    seat: Seat,
    at: Instant,
    first: Instant,
    found: HandEvidence | None,
    window: _Window,
    players: Sequence[str],
    spoken: Words,
) -> dict[str, Any]:
    say = spoken.common["report"]
    after = (at.at_ns - first.at_ns) / 1e6
    row: dict[str, Any] = {
        "name": players[seat],
        "colour": seat % 8,
        "at": f"{at.at_ns / 1e9:.4f} s",
        "after": f"{after:+.1f} ms",
        "sd": f"± {at.sd_ns / 1e6:.1f} ms",
        "interval": f"{after - _Z95 * at.sd_ns / 1e6:+.1f} … {after + _Z95 * at.sd_ns / 1e6:+.1f} ms",
        "line": window.share(at.at_ns),
        "band": window.band(at),
        "how": say["not_kept"],
        "strip": "",
        "strip_at": (0.0, 0.0),
        "track": "",
        "frames": [],
        "speed": "–",
    }
    if found is None:
        return row
    measured = say["measured" if found.fitted else "measured_in_lane"]
    how = measured if found.trusted else spoken.fill(say["rough"], {"reason": found.reason}, ())
    px_per_ms = _WINDOW_PX * 1e6 / (window.to_ns - window.from_ns)
    strip, from_ns, to_ns = found.strip_over_time(window.from_ns, window.to_ns, px_per_ms)
    row |= {
        "how": how,
        "strip": _strip_uri(strip),
        "strip_at": (window.share(from_ns), round(window.share(to_ns) - window.share(from_ns), 3)),
        "track": window.track(found),
        "frames": _frames(found, at),
        "speed": f"{found.speed_mps:.1f} m/s" if found.fitted else "–",
    }
    return row


def _frames(found: HandEvidence, at: Instant) -> list[dict[str, Any]]:
    """The pictures around a contact; the two that it lies between are marked."""
    times = [shown.at_ns for shown in found.frames]
    next_one = next((i for i, at_ns in enumerate(times) if at_ns >= at.at_ns), len(times))
    return [
        {
            "image": f"data:image/jpeg;base64,{base64.b64encode(shown.jpeg).decode('ascii')}",
            "size": shown.size_px,
            "after": f"{(shown.at_ns - at.at_ns) / 1e6:+.1f} ms",
            "at": clock(shown.at_ns),
            "nearest": i in (next_one - 1, next_one),
        }
        for i, shown in enumerate(found.frames)
    ]


def _strip_uri(picture: Any) -> str:
    """The strip as a JPEG file in a link; empty where there is none."""
    if picture.shape[1] < 2:
        return ""
    picture = cv2.resize(picture, (picture.shape[1], _STRIP_HEIGHT_PX), interpolation=cv2.INTER_AREA)
    good, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
    assert good, "a strip of fixed size"
    return f"data:image/jpeg;base64,{base64.b64encode(data.tobytes()).decode('ascii')}"


def _margin(verdict: SlapVerdict, spoken: Words) -> str:
    if verdict.margin_ns is None or verdict.margin_sd_ns is None:
        return ""
    margin, reach = verdict.margin_ns / 1e6, _Z95 * verdict.margin_sd_ns / 1e6
    return spoken.fill(
        spoken.common["report"]["margin"],
        {
            "margin": f"{margin:.1f}",
            "sd": f"{verdict.margin_sd_ns / 1e6:.1f}",
            "low": f"{margin - reach:.1f}",
            "high": f"{margin + reach:.1f}",
        },
        (),
    )


def _orders(judged: Judged, players: Sequence[str]) -> list[tuple[str, str, float]]:
    """(names first to last, probability in words, probability) of the likeliest orders."""
    orders: Sequence[tuple[tuple[Seat, ...], float]] = ()
    told = () if judged.finish is None else judged.finish.orders
    if told and set(told[0][0]) == set(judged.verdict.order):
        orders = told
    elif len(judged.verdict.order) > 1:
        orders = tuple(order_probabilities(dict(judged.verdict.instants)).items())
    ranked = sorted(orders, key=lambda pair: -pair[1])[:_ORDERS]
    return [
        (" → ".join(players[seat] for seat in order), f"{min(p, 0.9999):.4f}", p) for order, p in ranked if p >= 5e-5
    ]


def _layers(verdict: SlapVerdict, watched: Watched, players: Sequence[str], spoken: Words) -> list[tuple[str, str]]:
    """(who lies below whom, probability) for each two hands of which something was seen."""
    say = spoken.common["report"]
    first, last = (pick(at.at_ns for _, at in verdict.instants) for pick in (min, max))
    out = []
    for lying in watched.witness.overlaps(verdict.pile, first - _COMES_NS, last + _GOES_NS):
        seats = lying.below_seat, lying.above_seat
        if lying.log_odds == 0 or not set(seats) <= set(verdict.order):
            continue
        below, above = seats if lying.log_odds > 0 else seats[::-1]
        assert below is not None
        assert above is not None
        p = max(lying.probability, 1 - lying.probability)
        names = spoken.fill(say["below"], {"one": players[below], "two": players[above]}, ())
        out.append((names, f"{p:.2f}"))
    return out


def _offset(verdict: SlapVerdict, watched: Watched, spoken: Words) -> str:
    say = spoken.common["report"]
    if not watched.witness.has_sound:
        return str(say["no_sound"])
    if verdict.offset is None:
        return str(say["sound_unjoined"])
    details = {"offset": f"{verdict.offset.ns / 1e6:+.1f}", "sd": f"{verdict.offset.sd_ns / 1e6:.1f}"}
    return spoken.fill(say["sound_joined"], details, ())


def _assumed(watched: Watched, spoken: Words) -> list[str]:
    """What the instants rest on that nobody measured in this clip, and how it was come by."""
    say = spoken.common["report"]
    table: Table = watched.witness.table
    conditions = watched.conditions
    told = [
        spoken.fill(
            say["scale"],
            {"scale": f"{table.px_per_mm(spot.at_mm):.2f}", "pile": spot.pile},
            (),
        )
        for spot in table.piles[:1]
    ]
    if conditions.read_out_ns is None:
        told.append(say["read_out_unknown"])
    else:
        key = "read_out_estimated" if conditions.read_out_estimated else "read_out_known"
        details = {"ms": f"{conditions.read_out_ns / 1e6:.1f}", "sd": f"{conditions.read_out_sd_ns / 1e6:.1f}"}
        told.append(spoken.fill(say[key], details, ()))
    told += [say["offset_from_slaps"] if watched.witness.has_sound else say["no_sound"], say["contact"]]
    return [*watched.assumed, *told]


@dataclass(frozen=True, slots=True)
class _Window:
    """The stretch of time that a slap's pictures show; places in it are shares of its width, in percent."""

    from_ns: int
    to_ns: int

    @classmethod
    def around(cls, instants: Iterable[Instant]) -> _Window:
        """Around some instants, with their doubt as far as it can be shown."""
        spans = [(at.at_ns, min(2 * at.sd_ns, _MOST_DOUBT_NS)) for at in instants]
        return cls(min(at - doubt for at, doubt in spans) - _AROUND_NS, max(at + d for at, d in spans) + _AROUND_NS)

    def share(self, at_ns: float) -> float:
        """Where a moment lies, 0 to 100."""
        share = 100 * (at_ns - self.from_ns) / (self.to_ns - self.from_ns)
        return round(min(max(share, 0.0), 100.0), 3)

    def band(self, at: Instant) -> tuple[float, float]:
        """Left and width of the 95 % interval."""
        low, high = (self.share(at.at_ns + sign * _Z95 * at.sd_ns) for sign in (-1, 1))
        return low, round(high - low, 3)

    def ticks(self, zero_ns: int) -> list[tuple[float, str]]:
        """(place, label): milliseconds after a moment, six to twelve of them."""
        span_ms = (self.to_ns - self.from_ns) / 1e6
        step = next((each for each in (20, 50, 100, 200, 500) if span_ms / each <= 9), 1000)
        first = math.ceil((self.from_ns - zero_ns) / 1e6 / step)
        last = math.floor((self.to_ns - zero_ns) / 1e6 / step)
        places = (
            (self.share(zero_ns + n * step * 1e6), f"{n * step:+d}" if n else "0 ms") for n in range(first, last + 1)
        )
        return [(place, label) for place, label in places if 3 <= place <= 97]

    def bell(self, at: Instant, among: Iterable[Instant]) -> str:
        """A filled path in a box of 1000 × 100: how likely each moment is; the surest of them all is the highest."""
        surest = max(min(other.sd_ns for other in among), 1)
        sd = max(at.sd_ns, 1)
        height = 94 * max(math.sqrt(surest / sd), 0.16)
        x = np.linspace(-3.5, 3.5, 57)
        places = [10 * self.share(at.at_ns + float(each) * sd) for each in x]
        points = " ".join(
            f"{a:.1f},{98 - height * math.exp(-0.5 * float(b) ** 2):.1f}" for a, b in zip(places, x, strict=True)
        )
        return f"{places[0]:.1f},98 {points} {places[-1]:.1f},98"

    def track(self, found: HandEvidence) -> str:
        """Points in a box of 1000 × 100: how far the arm was from where it came to rest, the rest below."""
        if not len(found.track_ns):
            return ""
        away = np.hypot.reduce(found.track_mm[:, :2], axis=1)
        inside = (found.track_ns >= self.from_ns) & (found.track_ns <= self.to_ns)
        return " ".join(
            f"{10 * self.share(int(at)):.1f},{96 - 92 * min(float(mm) / _TRACK_MM, 1.0):.1f}"
            for at, mm in zip(found.track_ns[inside], away[inside], strict=True)
        )


def _sound(heard: Sequence[Heard | None], offset_ns: int, window: _Window) -> dict[str, Any] | None:
    """The envelope as a filled path in a box of 1000 × 100 and the onsets, all earlier by the offset."""
    known = [each for each in heard if each is not None]
    if not known:
        return None
    levels: dict[int, float] = {}
    for each in known:
        start = each.starts_ns // STEP_NS
        levels |= {start + i: float(level) for i, level in enumerate(each.loud)}
    first, last = ((at + offset_ns) // STEP_NS for at in (window.from_ns, window.to_ns))
    shown = np.sqrt([levels.get(step, 0.0) for step in range(first, last + 1)])
    # No more than 700 points: the loudest of each few steps.
    group = max(1, len(shown) // 700)
    edges = np.arange(0, len(shown), group)
    tops = np.maximum.reduceat(shown, edges)
    loudest = max(float(tops.max()), 1e-6)
    at_ns = (first + edges + group / 2) * STEP_NS - offset_ns
    places = [10 * window.share(float(at)) for at in at_ns]
    points = " ".join(f"{x:.1f},{98 - 94 * float(y) / loudest:.1f}" for x, y in zip(places, tops, strict=True))
    onsets = sorted({onset.at_ns for each in known for onset in each.struck})
    struck = [at - offset_ns for at in onsets if window.from_ns < at - offset_ns < window.to_ns]
    return {"path": f"{places[0]:.1f},98 {points} {places[-1]:.1f},98", "struck": [window.share(at) for at in struck]}
