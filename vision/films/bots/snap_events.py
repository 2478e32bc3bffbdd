"""Snap played by bots as a stream of events: legal, clumsy and cheating tables, told as a camera would tell them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from referee.cards import Pile, Seat
from referee.events import Answer, Confirm, Dealt, Ended, Event, Lifted, Moved, Shout, Shown, Slap, Tick, Turned
from referee.game import Board
from referee.games.snap import POT, SPOT, SnapState
from referee.instant import Instant
from referee.match import Match

MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Manners:
    """How a table of bots behaves: chances per card turned."""

    misses: float = 0.05
    false_claims: float = 0.03
    early: float = 0.0
    out_of_turn: float = 0.0
    wrong_takes: float = 0.0
    forgets: float = 0.0
    unreadable: float = 0.01
    doubtful: float = 0.02
    ends: float = 0.003


MANNERS = {
    "legal": Manners(false_claims=0.0),
    "clumsy": Manners(misses=0.15, false_claims=0.2, early=0.1, out_of_turn=0.05, forgets=0.1, unreadable=0.03),
    "cheating": Manners(false_claims=0.15, early=0.2, out_of_turn=0.15, wrong_takes=0.3, forgets=0.3, doubtful=0.1),
}


def play(match: Match[SnapState], rng: Random, kind: str = "legal", most: int = 150) -> Iterator[Event]:
    """Tell `match` a game of at most `most` events, and yield each as it was logged."""
    table = _Table(match, rng, MANNERS[kind])
    yield from table.play(most)


class _Table:
    def __init__(self, match: Match[SnapState], rng: Random, manners: Manners) -> None:
        self._match, self._rng, self._manners = match, rng, manners
        self._now_ns = 0

    def play(self, most: int) -> Iterator[Event]:
        yield self._tell(Dealt(at=self._in(500), seat=self._match.setup.dealer))
        while not self._board.over and len(self._match.log) < most:
            if self._happens(self._manners.ends) and len(self._match.log) > 20:
                yield self._tell(Ended(at=self._in(500)))
                return
            yield from self._turn()
        if not self._board.over:
            yield self._tell(Tick(at=self._in(2000)))

    # --- one turn ---------------------------------------------------------------------------------

    def _turn(self) -> Iterator[Event]:
        board = self._board
        if board.turn is None:
            yield self._tell(Tick(at=self._in(1000)))
            return
        seat = board.turn
        if self._happens(self._manners.out_of_turn):
            seat = self._rng.choice(self._holders())
        down, up = Pile("down", seat), Pile("up", seat)
        if (not board.counts[down] and self._happens(0.5)) or (
            self._happens(self._manners.out_of_turn / 4) and board.counts[up]
        ):
            yield self._tell(Turned(at=self._in(400), seat=seat, source=up, target=down))
        early = self._happens(self._manners.early)
        if early:
            yield from self._claims([self._rng.choice(self._holders())], self._rng.randint(100, 500))
        shown_in = self._rng.randint(3, 60) if early and self._happens(0.5) else self._rng.randint(400, 1200)
        yield self._tell(self._card(seat, shown_in))
        if self._board.questions and self._happens(0.9):
            yield from self._answers()
        turn = self._match.state.turn
        if turn is not None and turn.race and not self._happens(self._manners.misses):
            racers = self._rng.sample(self._holders(), self._rng.randint(1, len(self._holders())))
            yield from self._claims(racers, self._rng.randint(250, 700))
        elif self._happens(self._manners.false_claims):
            yield from self._claims([self._rng.choice(range(len(self._match.setup.players)))], 400)
        if self._happens(0.6):
            yield self._tell(Tick(at=self._in(600)))
        if self._happens(0.7):
            yield from self._answers()
        yield from self._carry_out()
        if self._match.state.take_back is not None and self._happens(0.7):
            back = self._match.state.take_back
            yield self._tell(
                Moved(at=self._in(300), seat=back, source=Pile("up", back), target=Pile("down", back), count=1)
            )

    def _card(self, seat: Seat, after_ms: int) -> Shown:
        state = self._match.state
        lying = {face.card for pile in (*state.up, state.pot) for face in pile}
        hidden = [card for card in state.setup.deck.counts if card not in lying] or list(state.setup.deck.counts)
        card = self._rng.choice(hidden)
        at = self._in(after_ms, sd_ms=self._rng.choice((0, 10, 20)))
        if self._happens(self._manners.unreadable):
            others = tuple(self._rng.sample(hidden, min(2, len(hidden))))
            return Shown(at=at, seat=seat, pile=Pile("up", seat), card=None, or_cards=others)
        confidence = 0.9 if self._happens(self._manners.doubtful) else 0.9999
        return Shown(at=at, seat=seat, pile=Pile("up", seat), card=card, confidence=confidence)

    def _claims(self, seats: list[Seat], after_ms: int) -> Iterator[Event]:
        """Hands or calls, first to last; some told provisionally and confirmed when the hand lifts."""
        by_voice = self._match.setup.options["snap_by"] == "voice"
        tie = self._happens(0.1)
        waiting: list[Event] = []
        for place, seat in enumerate(seats):
            if place:
                after_ms = 0 if tie else self._rng.choice((0, 1, 3, 8, 20, 60, 120))
            at = self._in(after_ms, sd_ms=0 if tie else self._rng.choice((0, 1, 3, 5, 8)))
            confidence = 0.9 if self._happens(self._manners.doubtful) else 0.9999
            if by_voice:
                pot = self._match.state.turn is not None and self._match.state.turn.pot
                phrase = "snap pot" if (pot and self._happens(0.7)) or self._happens(0.03) else "snap"
                who = None if self._happens(0.03) else seat
                yield self._tell(Shout(at=at, seat=who, phrase=phrase, confidence=confidence))
                continue
            provisional = self._happens(0.3)
            slap = Slap(at=at, seat=seat, pile=SPOT, confidence=confidence, provisional=provisional)
            told = self._tell(slap)
            yield told
            if provisional:
                waiting.append(told)
        for told in waiting:
            yield self._tell(Lifted(at=self._in(50), seat=told.seat, pile=SPOT))
            yield self._tell(Confirm(at=self._in(1), of=told.id))

    # --- what follows from rulings ----------------------------------------------------------------

    def _answers(self) -> Iterator[Event]:
        for question in self._board.questions:
            if not any(question.key == still.key for still in self._board.questions):
                continue  # An answer before has settled this one too.
            says = self._rng.choice(question.choices or (str(self._rng.choice(list(self._match.setup.deck.counts))),))
            yield self._tell(Answer(at=self._in(200), question=question.key, says=says))

    def _carry_out(self) -> Iterator[Event]:
        state = self._match.state
        for pile, seat in state.awards:
            if self._happens(self._manners.forgets):
                continue
            taker = self._rng.choice(self._holders()) if self._happens(self._manners.wrong_takes) else seat
            target = POT if taker is None else Pile("down", taker)
            yield self._tell(Moved(at=self._in(300), seat=taker, source=pile, target=target))
        if state.contested and self._happens(0.5):
            # Nobody waits for the answer: the table settles it.
            taker = self._rng.choice((None, *self._holders()))
            target = POT if taker is None else Pile("down", taker)
            for pile in state.contested:
                if pile != target:
                    yield self._tell(Moved(at=self._in(300), seat=taker, source=pile, target=target))
        for giver, receiver in state.debts:
            if not self._happens(self._manners.forgets):
                source, target = Pile("down", giver), Pile("down", receiver)
                yield self._tell(Moved(at=self._in(300), seat=giver, source=source, target=target, count=1))

    # --- small things -----------------------------------------------------------------------------

    @property
    def _board(self) -> Board:
        return self._match.board

    def _holders(self) -> list[Seat]:
        state = self._match.state
        return [seat for seat in range(len(state.down)) if state.held(seat)] or [0]

    def _happens(self, chance: float) -> bool:
        return self._rng.random() < chance

    def _in(self, after_ms: int, sd_ms: int = 0) -> Instant:
        self._now_ns += after_ms * MS
        return Instant(self._now_ns, sd_ms * MS)

    def _tell(self, event: Event) -> Event:
        return self._match.tell(event).event


def house_rules(rng: Random) -> dict[str, object]:
    """House rules for a game: mostly the defaults."""
    if rng.random() < 0.5:
        return {}
    return {
        "match_scope": rng.choice(("rank", "rank_and_color", "suit")),
        "snap_by": rng.choice(("hand", "voice")),
        "moves": rng.choice(("trusted", "watched")),
        "confidence": rng.choice((0.9, 0.99)),
    }
