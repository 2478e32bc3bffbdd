"""Each player's evening in figures: faults, first and last hands, and how fast they were."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from referee.cards import Seat
from referee.events import Event, Shown, Slap
from referee.instant import Instant, first_probabilities, last_probabilities
from referee.ruling import Ruling, Verdict

#: Counted as first or last only where that is so sure; else the race counts as nobody's.
_SURE = 0.99


@dataclass(frozen=True, slots=True)
class Evening:
    """One player's figures.

    ``reactions`` are the times from the card to the hand, one a race in which a hand came down, each with
    its doubt: the card's and the hand's together.
    """

    seat: Seat
    wins: int = 0
    faults: int = 0
    races: int = 0
    first: int = 0
    last: int = 0
    reactions: tuple[Instant, ...] = field(default=())

    @property
    def median_reaction(self) -> Instant | None:
        """The middle reaction time with its doubt (of that one measurement); None without any."""
        if not self.reactions:
            return None
        in_order = sorted(self.reactions, key=lambda reaction: reaction.at_ns)
        return in_order[len(in_order) // 2]


def evenings(players: int, course: Sequence[Event], rulings: Iterable[Ruling]) -> tuple[Evening, ...]:
    """Figures by seat, from what happened and the rulings that stand."""
    by_id = {event.id: event for event in course}
    tallies = [_Tally() for _ in range(players)]
    timed: set[int] = set()
    for ruling in rulings:
        if ruling.seat is not None and ruling.verdict is Verdict.FAULT:
            tallies[ruling.seat].faults += 1
        if ruling.seat is not None and ruling.verdict is Verdict.WON:
            tallies[ruling.seat].wins += 1
        events = [by_id[number] for number in ruling.because if number in by_id]
        card = next((event for event in events if isinstance(event, Shown)), None)
        hands = {event.seat: event.at for event in events if isinstance(event, Slap) and event.seat is not None}
        if card is None or not hands or card.id in timed or ruling.verdict in (Verdict.FAULT, Verdict.ASK):
            continue  # A wrong slap is no race, and a race is counted once.
        timed.add(card.id)
        first, last = first_probabilities(hands), last_probabilities(hands)
        for seat, at in hands.items():
            tally = tallies[seat]
            tally.races += 1
            doubt = round(math.hypot(at.sd_ns, card.at.sd_ns))
            tally.reactions.append(Instant(at.at_ns - card.at.at_ns, doubt))
            tally.first += len(hands) > 1 and first[seat] >= _SURE
            tally.last += len(hands) > 1 and last[seat] >= _SURE
    return tuple(
        Evening(seat, t.wins, t.faults, t.races, t.first, t.last, tuple(t.reactions)) for seat, t in enumerate(tallies)
    )


@dataclass(slots=True)
class _Tally:
    wins: int = 0
    faults: int = 0
    races: int = 0
    first: int = 0
    last: int = 0
    reactions: list[Instant] = field(default_factory=list)
