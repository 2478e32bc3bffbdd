"""Who was first and who was last on a pile: one verdict for all the hands that came down in one go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from referee.cards import Pile, Seat
from referee.events import Event, Finish, Shown, Slap
from referee.instant import Instant, first_probabilities, last_probabilities
from vision.hands.order import Joined, Offset

#: Hands that come down further apart than this belong to different slaps.
APART_NS = 1_500_000_000
#: The same word as in the benchmark: a hand timed to this or better.
WELL_TIMED_NS = 8_000_000


#: Sound counts as aligned with the picture where the offset is known better than this.
ALIGNED_NS = 15_000_000
#: A hand with this chance or more of having been first is one of those that the answer hangs on.
_IN_QUESTION = 0.01

#: What each grade promises; docs/slaps.md has how often each is right.
GRADES = {
    "A": "decided, and every hand timed to 8 ms or better",
    "B": "decided, though some hand was only roughly timed: its doubt is counted in",
    "C": "too close to call: the hands in question are timed to 8 ms or better, and came nearly together",
    "D": "can't be told: a hand that may have been first was only roughly timed",
}


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a verdict was reached under. None, or 0 pictures a second: not known."""

    fps: float = 0.0
    read_out_ns: int | None = None
    read_out_sd_ns: int = 0
    read_out_estimated: bool = False
    sound: bool | None = None

    def in_words(self, offset: Offset | None) -> str:
        """``60 fps, rolling shutter 11 ms estimated, sound aligned ±1 ms``; ``offset``: as the slap itself has it."""
        told = [f"{self.fps:.0f} fps"] if self.fps > 0 else []
        if self.read_out_ns:
            how = "estimated" if self.read_out_estimated else "known"
            told.append(f"rolling shutter {abs(self.read_out_ns) / 1e6:.0f} ms {how}")
        elif self.fps > 0:
            told.append("global shutter" if self.read_out_ns == 0 else "read-out not known")
        if offset is not None and offset.sd_ns <= ALIGNED_NS:
            told.append(f"sound aligned ±{offset.sd_ns / 1e6:.0f} ms")
        elif self.sound is not None:
            told.append("sound not aligned" if self.sound else "no sound")
        return ", ".join(told)


@dataclass(frozen=True, slots=True)
class SlapVerdict:
    """The order of the hands on a pile.

    order: seats, first to last, the likeliest order. ``first`` and ``last`` are None where nobody can be said
    to have been it with the confidence asked for. ``missing``: players whose hand never came.
    margin_ns: from the first hand to the second, None where only one came. grade: one of `GRADES`, and
    ``reasons`` why it is no better. ``offset``: of the sound, where it was weighed.
    """

    pile: Pile
    order: tuple[Seat, ...]
    instants: tuple[tuple[Seat, Instant], ...]
    missing: tuple[Seat, ...]
    first: Seat | None
    last: Seat | None
    p_first: float
    p_last: float
    margin_ns: int | None
    margin_sd_ns: int | None
    grade: str
    rough: tuple[Seat, ...] = ()
    """Whose hands were only roughly timed."""
    offset: Offset | None = None

    def to_json(self) -> dict[str, Any]:
        """The verdict as one JSON line has it."""
        return {
            "kind": "verdict",
            "pile": str(self.pile),
            "order": list(self.order),
            "at_ns": {str(seat): at.at_ns for seat, at in self.instants},
            "sd_ns": {str(seat): at.sd_ns for seat, at in self.instants},
            "missing": list(self.missing),
            "first": self.first,
            "last": self.last,
            "p_first": round(self.p_first, 6),
            "p_last": round(self.p_last, 6),
            "margin_ms": None if self.margin_ns is None else round(self.margin_ns / 1e6, 3),
            "margin_sd_ms": None if self.margin_sd_ns is None else round(self.margin_sd_ns / 1e6, 3),
            "grade": self.grade,
        }

    def in_words(self, players: Sequence[str], made: Conditions | None = None) -> str:
        """``Blue first by 14 ± 6 ms (P 0.999); last: Ana. 60 fps, sound aligned ±1 ms. Grade A``; ± is one sd."""
        under = made.in_words(self.offset) if made is not None else ""
        ends = f". {under}. Grade {self.grade}" if under else f". Grade {self.grade}"
        if len(self.order) == 1:
            return f"Only {players[self.order[0]]} slapped{ends}"
        assert self.margin_ns is not None
        assert self.margin_sd_ns is not None
        margin = f"{self.margin_ns / 1e6:.0f} ± {self.margin_sd_ns / 1e6:.0f} ms"
        if self.first is not None:
            head = f"{players[self.first]} first by {margin} (P {_p(self.p_first)})"
        else:
            one, two = (players[seat] for seat in self.order[:2])
            head = f"too close to call: {one} or {two} (P {_p(self.p_first)}), {margin} apart"
        if len(self.order) == 2:
            return head + ends
        tail = f"last: {players[self.last]}" if self.last is not None else f"last not sure (P {_p(self.p_last)})"
        return f"{head}; {tail}{ends}"

    def reasons(self, players: Sequence[str]) -> tuple[str, ...]:
        """What the grade means, and what kept it from being better."""
        told = [GRADES[self.grade]]
        sds = dict(self.instants)
        told += [f"{players[seat]}’s hand only to {sds[seat].sd_ns / 1e6:.0f} ms" for seat in self.rough]
        if self.offset is not None and self.offset.sd_ns > ALIGNED_NS:
            told.append("the sound did not tell whose slap is whose")
        return tuple(told)


def _p(probability: float) -> str:
    """Three digits, never rounded up to certainty."""
    return f"{min(probability, 0.999):.3f}"


def judge_slap(
    slaps: Sequence[Slap],
    players: int,
    confidence: float,
    finish: Finish | None = None,
    joined: Joined | None = None,
) -> SlapVerdict:
    """One verdict for slaps of one pile; each seat's first hand counts.

    ``joined``: what ``finish`` rests on; with it the margin is the joint one of picture and sound.
    """
    instants: dict[Seat, Instant] = {}
    for slap in sorted(slaps, key=lambda slap: slap.at.at_ns):
        if slap.seat is not None:
            instants.setdefault(slap.seat, slap.at)
    firsts, lasts = first_probabilities(instants), last_probabilities(instants)
    order = tuple(sorted(instants, key=lambda seat: (instants[seat].at_ns, seat)))
    told: dict[tuple[Seat, ...], float] = {}
    if finish is not None and finish.orders:
        told = {seats: p for seats, p in finish.orders if set(seats) == set(instants)}
    if told:
        firsts = {seat: sum(p for seats, p in told.items() if seats[0] == seat) for seat in instants}
        lasts = {seat: sum(p for seats, p in told.items() if seats[-1] == seat) for seat in instants}
        order = max(told, key=lambda seats: told[seats])
    best, worst = max(order, key=lambda seat: firsts[seat]), max(order, key=lambda seat: lasts[seat])
    first = best if firsts[best] >= confidence else None
    last = worst if len(order) > 1 and lasts[worst] >= confidence else None
    margin = margin_sd = None
    if len(order) > 1:
        apart = _apart(instants, order[0], order[1], joined if told else None)
        margin, margin_sd = apart.at_ns, apart.sd_ns
    rough = tuple(seat for seat in order if instants[seat].sd_ns > WELL_TIMED_NS)
    in_question = [seat for seat in order if firsts[seat] >= _IN_QUESTION]
    undecided = "D" if any(seat in rough for seat in in_question) else "C"
    return SlapVerdict(
        pile=slaps[0].pile,
        order=order,
        instants=tuple((seat, instants[seat]) for seat in order),
        missing=tuple(seat for seat in range(players) if seat not in instants),
        first=first,
        last=last,
        p_first=firsts[best],
        p_last=lasts[worst],
        margin_ns=margin,
        margin_sd_ns=margin_sd,
        grade=undecided if first is None else "B" if rough else "A",
        rough=rough,
        offset=None if joined is None or joined.heard == 0 else joined.offset,
    )


def _apart(instants: Mapping[Seat, Instant], one: Seat, other: Seat, joined: Joined | None) -> Instant:
    """How much later the second landed: by all witnesses where they were joined, else by the picture."""
    if joined is not None:
        if (one, other) in joined.apart:
            return joined.apart[one, other]
        if (other, one) in joined.apart:
            back = joined.apart[other, one]
            return Instant(-back.at_ns, back.sd_ns)
    a, b = instants[one], instants[other]
    return Instant(b.at_ns - a.at_ns, round((a.sd_ns**2 + b.sd_ns**2) ** 0.5))


def slaps_in(course: Iterable[Event]) -> Iterator[tuple[tuple[Slap, ...], Finish | None]]:
    """The slaps of a match, those that belong together together: apart in time, or by a card shown between."""
    together: list[Slap] = []
    finish: Finish | None = None
    for event in course:
        match event:
            case Slap() if event.seat is not None:
                apart = together and (
                    event.pile != together[0].pile or event.at.at_ns - together[-1].at.at_ns > APART_NS
                )
                if apart:
                    yield tuple(together), finish
                    together, finish = [], None
                together.append(event)
            case Finish():
                finish = event
            case Shown():
                if together:
                    yield tuple(together), finish
                together, finish = [], None
    if together:
        yield tuple(together), finish
