"""Who was first and who was last on a pile: one verdict for all the hands that came down in one go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from referee.cards import Pile, Seat
from referee.events import Event, Finish, Shown, Slap
from referee.instant import Instant, first_probabilities, last_probabilities

#: Hands that come down further apart than this belong to different slaps.
APART_NS = 1_500_000_000
#: The same word as in the benchmark: a hand timed to this or better.
WELL_TIMED_NS = 8_000_000


@dataclass(frozen=True, slots=True)
class SlapVerdict:
    """The order of the hands on a pile.

    order: seats, first to last, the likeliest order. ``first`` and ``last`` are None where nobody can be said
    to have been it with the confidence asked for. ``missing``: players whose hand never came.
    margin_ns: from the first hand to the second, None where only one came. grade: A decided, all hands well
    timed; B decided, some hand roughly timed; C too close to call.
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

    def in_words(self, players: Sequence[str]) -> str:
        """``Blue first by 14 ± 6 ms (P 0.999); last: Ana. Grade A``."""
        if len(self.order) == 1:
            return f"Only {players[self.order[0]]} slapped. Grade {self.grade}"
        assert self.margin_ns is not None
        assert self.margin_sd_ns is not None
        margin = f"{self.margin_ns / 1e6:.0f} ± {self.margin_sd_ns / 1e6:.0f} ms"
        if self.first is not None:
            head = f"{players[self.first]} first by {margin} (P {self.p_first:.3f})"
        else:
            one, two = (players[seat] for seat in self.order[:2])
            head = f"Too close to call: {one} before {two} by {margin} (P {self.p_first:.3f})"
        if len(self.order) == 2:
            return f"{head}. Grade {self.grade}"
        tail = f"last: {players[self.last]}" if self.last is not None else f"last not sure (P {self.p_last:.3f})"
        return f"{head}; {tail}. Grade {self.grade}"


def judge_slap(slaps: Sequence[Slap], players: int, confidence: float, finish: Finish | None = None) -> SlapVerdict:
    """One verdict for slaps of one pile; each seat's first hand counts."""
    instants: dict[Seat, Instant] = {}
    for slap in sorted(slaps, key=lambda slap: slap.at.at_ns):
        if slap.seat is not None:
            instants.setdefault(slap.seat, slap.at)
    firsts, lasts = first_probabilities(instants), last_probabilities(instants)
    order = tuple(sorted(instants, key=lambda seat: (instants[seat].at_ns, seat)))
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
        one, two = instants[order[0]], instants[order[1]]
        margin, margin_sd = two.at_ns - one.at_ns, round((one.sd_ns**2 + two.sd_ns**2) ** 0.5)
    well = all(at.sd_ns <= WELL_TIMED_NS for at in instants.values())
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
        grade="C" if first is None else "A" if well else "B",
    )


def slaps_in(course: Iterable[Event]) -> Iterator[tuple[tuple[Slap, ...], Finish | None]]:
    """The slaps of a match, those that belong together together: apart in time, or by a card shown between."""
    together: list[Slap] = []
    finish: Finish | None = None
    for event in course:
        match event:
            case Slap():
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
