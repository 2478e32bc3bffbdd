"""How rulings, events and the state of play are told in lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from referee.cards import Pile
from referee.events import Event
from referee.game import Board, Game
from referee.instant import Instant
from referee.match import Judgement, Match
from referee.ruling import Ruling
from referee.statistics import evenings
from web.words import Words


@dataclass(frozen=True, slots=True)
class Teller:
    """Tells one match in one language."""

    game: Game[Any]
    players: tuple[str, ...]
    words: Words

    def naming(self, match: Match[Any]) -> Teller:
        """The same with the names of those who play now: players may join between hands."""
        names = match.board.names or self.players
        return self if names == self.players else replace(self, players=names)

    def judgement(self, judgement: Judgement, match: Match[Any]) -> list[str]:
        """What one event led to: earlier rulings that no longer hold, then those given now."""
        lines = [self.withdrawn(ruling) for ruling in judgement.withdrawn]
        for ruling in judgement.given:
            lines += self.ruling(ruling, when(ruling, match, judgement.event))
        return lines

    def ruling(self, ruling: Ruling, at_ns: int, *, numbered: bool = False) -> list[str]:
        """A ruling with its clause, how sure it is, and what it does; ``numbered``: with its number, for `why`."""
        sure = self.words.sureness_of(ruling)
        notes = [*([sure] if sure else []), *([f"#{ruling.id}"] if numbered else [])]
        head = f"{clock(at_ns):>9}  {ruling.clause:<4} {self.sentence(ruling)}"
        head += f"  ({', '.join(notes)})" if notes else ""
        after = "".join(f" {effect}." for effect in self.words.effects(ruling, self.players))
        choices = self.choices(ruling)
        lines = [head]
        if after:
            lines.append(" " * 16 + after.strip())
        if choices:
            lines.append(" " * 16 + choices)
        return lines

    def sentence(self, ruling: Ruling) -> str:
        """The ruling in words, without its clause."""
        return self.words.ruling(self.game.name, ruling, self.players)

    def choices(self, ruling: Ruling) -> str:
        """What may be said to a question: ``[Ana / Ben / A tie]``; empty where nothing is asked."""
        if ruling.verdict != "ask":
            return ""
        if not ruling.choices:
            return "[" + self.words.say("keeper", "type_it") + "]"
        said = [
            self.words.choice(self.game.name, ruling.question or "", choice, self.players) for choice in ruling.choices
        ]
        return "[" + " / ".join(said) + "]"

    def withdrawn(self, ruling: Ruling) -> str:
        """An earlier ruling that a correction has overtaken."""
        return f"{'':>9}  {ruling.clause:<4} {self.words.say('keeper', 'withdrawn', ruling=self.sentence(ruling))}"

    def board(self, board: Board) -> list[str]:
        """The scores as a small table, and whose turn it is."""
        held = cards_held(board, len(self.players))
        wide = max(map(len, self.players))
        scored = any(board.scores)
        lines = []
        for seat, name in enumerate(self.players):
            standing = board.standing[seat] if seat < len(board.standing) else "in"
            cells = [f"{name:<{wide}}"]
            if scored or held[seat] is None:
                cells.append(f"{board.scores[seat] if seat < len(board.scores) else 0:>4}")
            if held[seat] is not None:
                cells.append(self.words.say("board", "cards", count=held[seat]))
            places = [pile for pile in sorted(board.counts) if pile.seat == seat and pile.place is not None]
            if places:
                cells.append(" ".join(self._place(board, pile) for pile in places))
            if standing != "in":
                cells.append(self.words.say("board", standing))
            lines.append("  " + "  ".join(cells))
        lines.append("  " + self.words.standing(board, self.players))
        return lines

    def figures(self, match: Match[Any]) -> list[str]:
        """Each player's evening: faults, first and last hands, and how fast they were."""
        wide = max(map(len, self.players))
        lines = []
        for evening in evenings(len(self.players), match.course, match.rulings):
            say = self.words.say
            told = [say("figures", "won", count=evening.wins), say("figures", "faults", count=evening.faults)]
            if evening.races:
                told += [say("figures", "first", count=evening.first, races=evening.races)]
                told += [say("figures", "last", count=evening.last)]
            if evening.median_reaction is not None:
                told.append(say("figures", "reaction", time=reaction(evening.median_reaction)))
            lines.append(f"  {self.players[evening.seat]:<{wide}}  " + ", ".join(told))
        return lines

    def _place(self, board: Board, pile: Pile) -> str:
        """The card on a place of a layout; a dot where it lies face down."""
        top = board.tops.get(pile)
        return f"{self.words.card(top) if top is not None else '·':>3}"


def cards_held(board: Board, players: int) -> list[int | None]:
    """How many cards each player has in their own piles; None where the game doesn't count them."""
    held: list[int | None] = [None] * players
    for pile, count in board.counts.items():
        if pile.seat is not None and pile.seat < players and pile.place is None:
            held[pile.seat] = (held[pile.seat] or 0) + count
    return held


def when(ruling: Ruling, match: Match[Any], told: Event) -> int:
    """The time of the newest event that a ruling rests on, in nanoseconds of the recording's clock."""
    if not ruling.because or told.id in ruling.because:
        return told.at.at_ns
    times = [event.at.at_ns for event in events_of(ruling, match.course)]
    return max(times, default=told.at.at_ns)


def events_of(ruling: Ruling, course: Sequence[Event]) -> Iterable[Event]:
    """The events that a ruling rests on."""
    wanted = set(ruling.because)
    return (event for event in course if event.id in wanted)


def reaction(took: Instant) -> str:
    """``312 ± 4 ms``."""
    doubt = f" ± {took.sd_ns / 1e6:.0f}" if took.sd_ns else ""
    return f"{took.at_ns / 1e6:.0f}{doubt} ms"


def clock(at_ns: int) -> str:
    """``1:02.345``: minutes, seconds and milliseconds of the recording's own clock."""
    ms = abs(at_ns) // 1_000_000
    return f"{'-' if at_ns < 0 else ''}{ms // 60_000}:{ms // 1000 % 60:02}.{ms % 1000:03}"
