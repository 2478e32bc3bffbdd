"""Hit the Deck played by bots as a stream of events: legal, clumsy and cheating tables, told as a camera would."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from referee.cards import Card, Pile, Seat
from referee.events import (
    Answer,
    Confirm,
    Counted,
    Dealt,
    Ended,
    Event,
    Finish,
    Joined,
    Left,
    Lifted,
    Moved,
    Shout,
    Shown,
    Slap,
    Taken,
    Tick,
    Turned,
)
from referee.game import NotInThisGame
from referee.games.hit_the_deck import CALL
from referee.games.hit_the_deck_state import DISCARD, DRAW, Face, HitTheDeckState
from referee.instant import Instant, order_probabilities
from referee.match import Match
from referee.ruling import Verdict

MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Manners:
    """How a table of bots behaves: chances per turn, per slap, per penalty."""

    illegal: float = 0.0
    out_of_turn: float = 0.0
    two_cards: float = 0.0
    draws_more: float = 0.0
    forgets_duty: float = 0.0
    wrong_duty: float = 0.0
    false_slaps: float = 0.0
    forgets_call: float = 0.0
    forgets_penalty: float = 0.0
    wrong_penalty: float = 0.0
    wrong_count: float = 0.0
    misses: float = 0.05
    unreadable: float = 0.004
    nobody: float = 0.004
    doubtful: float = 0.01
    wrong_answers: float = 0.0


MANNERS = {
    "legal": Manners(),
    "clumsy": Manners(
        illegal=0.05, out_of_turn=0.03, two_cards=0.02, draws_more=0.03, forgets_duty=0.1, wrong_duty=0.1,
        false_slaps=0.05, forgets_call=0.2, forgets_penalty=0.15, wrong_penalty=0.1, wrong_count=0.2, misses=0.15,
        wrong_answers=0.2,
    ),
    "cheating": Manners(
        illegal=0.12, out_of_turn=0.08, two_cards=0.05, draws_more=0.02, forgets_duty=0.15, false_slaps=0.03,
        forgets_call=0.1, forgets_penalty=0.4, wrong_penalty=0.3, wrong_count=0.4, doubtful=0.05,
        wrong_answers=0.5,
    ),
}  # fmt: skip


def play(match: Match[HitTheDeckState], rng: Random, kind: str = "legal", most: int = 400) -> Iterator[Event]:
    """Tell `match` a game of about `most` events, and yield each as it was logged."""
    yield from _Table(match, rng, MANNERS[kind]).play(most)


def house_rules(rng: Random) -> dict[str, object]:
    """House rules for a game: mostly the defaults."""
    if rng.random() < 0.4:
        return {}
    yes_no = ("first_decree", "symbols_match", "cut_skips", "false_slap_on_decree", "decree_chain", "exposed_acts")
    rules: dict[str, object] = {name: rng.random() < 0.5 for name in yes_no if rng.random() < 0.5}
    choices: dict[str, tuple[object, ...]] = {
        "last_by": ("time", "top"),
        "tie": ("share", "play_on"),
        "close_call": ("ask", "both", "none"),
        "announce": ("call", "trust"),
        "illegal_play": ("take_back", "stand", "ask"),
        "confidence": (0.9, 0.99),
        "slap_window": (1.0, 3.0),
        "call_grace": (0.0, 0.5, 1.5),
    }
    return rules | {name: rng.choice(values) for name, values in choices.items() if rng.random() < 0.4}


class _Table:
    """The players, and the cards as they really lie: what the referee can't see."""

    def __init__(self, match: Match[HitTheDeckState], rng: Random, manners: Manners) -> None:
        self._match, self._rng, self._manners = match, rng, manners
        self._now_ns = 0
        self._card_ns = 0
        self._hands: list[list[Card]] = []
        self._draw: list[Card] = []
        self._discards: list[Card] = []
        self._truth: dict[str, str] = {}
        self._shuffle()

    def play(self, most: int) -> Iterator[Event]:
        while not self._match.board.over and len(self._match.log) < most:
            self._sync()
            before = len(self._match.log)
            match self._state.phase:
                case "deal" | "between":
                    yield from self._new_hand()
                case "count":
                    yield from self._count()
                case _:
                    yield from self._step()
            yield from self._answers(0.9)
            if len(self._match.log) == before:  # Nobody did anything that this game knows: somebody deals anew.
                yield from self._tell(Dealt(at=self._in(3000)))
        yield from self._answers(1.0)
        if not self._match.board.over and self._happens(0.5):
            yield from self._tell(Ended(at=self._in(3000)))

    # --- the cards as they lie ------------------------------------------------------------------------

    def _shuffle(self) -> None:
        self._draw = list(self._state.house.deck.cards())
        self._rng.shuffle(self._draw)
        self._hands, self._discards = [[] for _ in self._state.hands], []
        self._sync()

    def _sync(self) -> None:
        """Bring the real cards in line with the referee's counts, whatever a ruling or an answer changed."""
        state = self._state
        while len(self._hands) < len(state.hands):
            self._hands.append([])
        lies = [(self._draw, state.draw), (self._discards, state.discards)]
        lies += [(hand, count) for hand, count in zip(self._hands, state.hands, strict=True)]
        spare: list[Card] = []
        for cards, count in lies:
            while len(cards) > count:
                spare.append(cards.pop())
        for cards, count in reversed(lies):
            while len(cards) < count:
                cards.append(spare.pop())

    # --- dealing and counting -------------------------------------------------------------------------

    def _new_hand(self) -> Iterator[Event]:
        state = self._state
        if state.phase == "between":
            if len(state.names) < 6 and self._happens(0.1):
                yield from self._tell(Joined(at=self._in(500), name=f"joiner {len(state.names)}"))
            if len(state.playing) > 2 and self._happens(0.1):
                yield from self._tell(Left(at=self._in(500), seat=self._rng.choice(state.playing)))
        if self._match.board.over:
            return
        dealer: Seat | None = self._state.dealer if self._happens(0.7) else None
        if self._happens(self._manners.wrong_duty):
            dealer = self._rng.choice(self._state.playing)
        yield from self._tell(Dealt(at=self._in(3000), seat=dealer))
        self._shuffle()
        for _ in range(6):
            if self._state.phase != "deal":
                return
            yield from self._shown(None, self._draw[-1], source=DRAW if self._happens(0.5) else None)
            if self._state.phase == "deal" and self._happens(0.7):
                yield from self._tell(Moved(at=self._in(800), source=DISCARD, target=DRAW, count=1))
            self._rng.shuffle(self._draw)
            yield from self._answers(1.0)

    def _count(self) -> Iterator[Event]:
        state = self._state
        for seat in state.playing:
            if seat == state.winner or self._state.phase != "count":
                continue
            cards = list(self._hands[seat])
            if self._happens(self._manners.wrong_count):
                if cards and self._happens(0.5):
                    cards.pop()
                else:
                    cards.append(self._rng.choice(self._draw or self._discards))
            if not self._happens(self._manners.wrong_count / 4):
                yield from self._tell(Counted(at=self._in(2000), seat=seat, cards=tuple(cards)))
        if self._state.phase == "count" and not self._match.board.over:
            yield from self._tell(Dealt(at=self._in(2000)))
            self._shuffle()

    # --- a turn ---------------------------------------------------------------------------------------

    def _step(self) -> Iterator[Event]:
        manners, state = self._manners, self._state
        for debt in state.debts:
            if debt.taken < debt.count and not self._happens(manners.forgets_penalty):
                count = debt.count - debt.taken
                if self._happens(manners.wrong_penalty):
                    count = max(1, count + self._rng.choice((-1, 1)))
                yield from self._taken(debt.seat, min(count, self._drawable()))
                if self._state.phase != "play":
                    return
        if self._happens(manners.false_slaps):
            yield from self._slaps([self._rng.choice(state.playing)], 200)
        state = self._state
        seat = state.duty.seat if state.duty else state.next_seat(state.turn) if state.drew else state.turn
        if state.duty is not None and not self._happens(manners.forgets_duty):
            yield from self._does_duty()
            return
        if self._happens(manners.out_of_turn):
            seat = self._rng.choice(state.playing)
        yield from self._takes_turn(seat)
        if self._happens(manners.two_cards) and self._hands[seat] and self._state.phase == "play":
            yield from self._shown(seat, self._rng.choice(self._hands[seat]))
        if self._happens(0.02):
            yield from self._tell(Tick(at=self._in(500)))

    def _takes_turn(self, seat: Seat) -> Iterator[Event]:
        hand = self._hands[seat]
        fitting = [card for card in hand if self._fits(card)]
        if hand and self._happens(self._manners.illegal):
            yield from self._shown(seat, self._rng.choice(hand))
            return
        if fitting and not self._happens(0.05):
            yield from self._shown(seat, self._rng.choice(fitting))
            return
        if not self._drawable():
            if fitting:
                yield from self._shown(seat, fitting[0])
            else:
                yield from self._passes(seat)
            return
        yield from self._taken(seat, 2 if self._happens(self._manners.draws_more) and self._drawable() > 1 else 1)
        if self._state.phase == "play" and hand and self._fits(hand[-1]) and self._happens(0.8):
            yield from self._shown(seat, hand[-1])

    def _passes(self, seat: Seat) -> Iterator[Event]:
        """Nobody can draw: the turn goes round to the first who has something to play; if nobody has, it is over."""
        other = self._state.next_seat(seat)
        fitting = [card for card in self._hands[other] if self._fits(card)]
        if fitting:
            yield from self._shown(other, fitting[0])
        else:
            yield from self._tell(Dealt(at=self._in(5000)))
            self._shuffle()

    def _does_duty(self) -> Iterator[Event]:
        duty = self._state.duty
        assert duty is not None
        seat = self._rng.choice(self._state.playing) if self._happens(self._manners.wrong_duty) else duty.seat
        if duty.what == "cut":
            yield from self._reshuffle()
            self._draw.insert(len(self._draw) - 1, self._draw.pop(self._rng.randrange(len(self._draw))))
            yield from self._shown(seat, self._draw[-1], source=DRAW)
        elif duty.what == "flip":
            yield from self._reshuffle()
            top = None if self._happens(self._manners.unreadable) else self._draw[0]
            turned = [
                Turned(at=self._in(900), seat=seat, source=DRAW, target=DISCARD, card=top),
                Turned(at=self._in(0), seat=seat, source=DISCARD, target=DRAW),
            ]
            if self._happens(0.3):
                turned.reverse()
            for event in turned:
                truth = self._draw[0]
                told = list(self._tell(event))
                yield from told
                self._remember(told, seat, truth)
            self._draw, self._discards = self._discards[::-1], self._draw[::-1]
        else:
            below = duty.clause == "H12"
            if self._happens(0.7):
                into = DISCARD if below else DRAW
                yield from self._tell(Moved(at=self._in(800), seat=seat, source=DISCARD, target=into, count=1))
            if below and len(self._discards) > 1:
                self._discards.insert(0, self._discards.pop())
                yield from self._shown(seat, self._discards[-1], source=DISCARD)
            elif not below and self._draw:
                self._draw.insert(0, self._discards.pop())
                yield from self._shown(seat, self._draw[-1], source=DRAW)
            else:
                yield from self._tell(Tick(at=self._in(900)))
                yield from self._takes_turn(self._state.turn)

    def _reshuffle(self) -> Iterator[Event]:
        """H19: the discards but the top one become the draw pile; sometimes nobody tells."""
        if len(self._draw) < 1 and self._state.draw < 1 and self._state.discards > 1:
            yield from self._tell(Moved(at=self._in(2500), source=DISCARD, target=DRAW))
            self._sync()
            self._rng.shuffle(self._draw)

    # --- the slap -------------------------------------------------------------------------------------

    def _race(self, discarder: Seat) -> Iterator[Event]:
        """Everybody slaps, nearly; the discarder calls first, mostly."""
        rng, manners = self._rng, self._manners
        start = self._card_ns
        events: list[Event] = []

        def at(ms: float, sd_ms: float = 0.0) -> Instant:
            return Instant(start + round(ms * MS), round(sd_ms * MS))

        called_ms = rng.uniform(60, 300)
        if not self._happens(manners.forgets_call):
            late = self._happens(manners.forgets_call)
            who = None if self._happens(0.1) else discarder
            phrase = CALL if self._happens(0.5) else "Hit the deck with a hand!"
            shout = at(called_ms + 700 * late, rng.choice((0, 5, 20)))
            events.append(Shout(at=shout, seat=who, phrase=phrase))
        lift_ms = rng.uniform(20, called_ms)
        if not self._happens(0.02):
            events.append(Lifted(at=at(lift_ms), seat=discarder, pile=DISCARD))
        sd_ms = rng.choice((0.0, 0.0, 2.0, 4.0, 8.0))
        hands = [seat for seat in self._state.playing if not self._happens(manners.misses)]
        lands: dict[Seat, Instant] = {}
        for seat in hands:
            ms = rng.uniform(250, 800) + (called_ms if seat == discarder else 0)
            if lands and self._happens(0.15):
                ms = rng.choice(list(lands.values())).at_ns / MS - start / MS + rng.choice((0, 1, 3, 8))
            soonest = called_ms + 100 if seat == discarder and not manners.forgets_call else lift_ms + 1
            lands[seat] = at(max(ms, soonest), sd_ms)
        order = sorted(lands, key=lambda seat: lands[seat].at_ns)
        layers = self._happens(0.3)
        for layer, seat in enumerate(order):
            slap = Slap(at=lands[seat], seat=seat, pile=DISCARD, layer=layer if layers else None)
            provisional = self._happens(0.2)
            events.append(replace(slap, provisional=provisional, confidence=self._confidence()))
            if self._happens(0.05):
                events.append(replace(slap, at=lands[seat].shifted(150 * MS), layer=None))
        if len(lands) == len(self._state.playing) and sd_ms and self._happens(0.2):
            orders = order_probabilities(lands)
            if orders:
                told = tuple(sorted(((seats, round(p, 6)) for seats, p in orders.items()), key=lambda row: -row[1]))
                last = max(instant.at_ns for instant in lands.values())
                events.append(Finish(at=Instant(last + MS), pile=DISCARD, orders=told))
        events.append(Tick(at=at(rng.choice((1200, 2500, 4200)))))
        unsure: list[int] = []
        for event in sorted(events, key=lambda one: one.at.at_ns):
            self._now_ns = max(self._now_ns, event.at.at_ns)
            for told_event in self._tell(event):
                yield told_event
                if told_event.provisional:
                    unsure.append(told_event.id)
        for number in unsure:
            yield from self._tell(Confirm(at=self._in(1), of=number))
        for seat in order:
            yield from self._tell(Lifted(at=self._in(60), seat=seat, pile=DISCARD))

    def _slaps(self, seats: list[Seat], after_ms: int) -> Iterator[Event]:
        for seat in seats:
            at = self._in(after_ms, sd_ms=self._rng.choice((0, 0, 3, 8)))
            who = None if self._happens(self._manners.nobody) else seat
            told = list(self._tell(Slap(at=at, seat=who, pile=DISCARD, confidence=self._confidence())))
            yield from told
            self._remember(told, seat)
            if self._happens(0.9):
                yield from self._tell(Lifted(at=self._in(300), seat=seat, pile=DISCARD))

    # --- small things ---------------------------------------------------------------------------------

    def _shown(self, seat: Seat | None, card: Card, *, source: Pile | None = None) -> Iterator[Event]:
        """A card comes to lie on the discards; the hand that brought it leaves, or stays for the slap."""
        manners, before = self._manners, len(self._match.state.races)
        at = self._in(self._rng.randint(700, 2000), sd_ms=self._rng.choice((0, 0, 10)))
        self._card_ns = at.at_ns
        who = None if seat is not None and source is None and self._happens(manners.nobody) else seat
        event = Shown(at=at, seat=who, card=card, pile=DISCARD, source=source, confidence=self._confidence())
        if self._happens(manners.unreadable):
            others = tuple(self._rng.sample(sorted(self._state.house.faces), 2))
            event = replace(event, card=None, or_cards=(card, *others) if self._happens(0.5) else ())
        told = list(self._tell(event))
        yield from told
        self._remember(told, seat, card)
        if told and source is None and seat is not None and card in self._hands[seat]:
            self._hands[seat].remove(card)
            self._discards.append(card)
        elif told and source in (DRAW, None) and card in self._draw:
            self._draw.remove(card)
            self._discards.append(card)
        self._sync()
        if seat is not None and len(self._state.races) > before:
            yield from self._race(seat)
        elif seat is not None and self._happens(0.8):
            yield from self._tell(Lifted(at=self._in(60), seat=seat, pile=DISCARD))
        yield from self._answers(0.9)
        if self._state.back and self._happens(0.8) and source is None:
            yield from self._tell(Taken(at=self._in(500), seat=seat, pile=DISCARD))
        self._sync()

    def _taken(self, seat: Seat, count: int) -> Iterator[Event]:
        yield from self._reshuffle()
        if count < 1:
            return
        who = None if self._happens(self._manners.nobody) else seat
        told = list(self._tell(Taken(at=self._in(800), seat=who, pile=DRAW, count=count)))
        yield from told
        self._remember(told, seat)
        for _ in range(count if told else 0):
            if self._draw:
                self._hands[seat].append(self._draw.pop())
        yield from self._answers(0.95)
        self._sync()

    def _answers(self, chance: float) -> Iterator[Event]:
        """A person answers what is asked: who was last as it was, a fault mostly as the referee thinks."""
        if self._state.waiting:
            chance = 1.0  # Nobody knows how to go on before this is answered.
        for question in self._match.board.questions:
            open_now = {still.key for still in self._match.board.questions}
            if question.key not in open_now or not self._happens(chance):
                continue  # An answer before has settled this one too.
            says = self._truth.get(question.key, "void" if "void" in question.choices else "")
            if not says or self._happens(self._manners.wrong_answers):
                says = self._rng.choice(question.choices or tuple(map(str, self._state.house.faces)))
            yield from self._tell(Answer(at=self._in(300), question=question.key, says=says))
        self._sync()

    def _remember(self, told: list[Event], seat: Seat | None, card: Card | None = None) -> None:
        """Who it was and which card, for when a person is asked."""
        for event in told:
            self._truth[f"seat:{event.id}"] = "" if seat is None else str(seat)
            self._truth[f"card:{event.id}"] = "" if card is None else str(card)

    def _fits(self, card: Card) -> bool:
        """Whether the rules let the card be played now, as a player sees it."""
        state = self._state
        face = state.house.faces[card]
        if state.decree is not None:
            _, kind, value = state.decree
            return (
                state.house.decree_chain if face.hits else value == (face.number if kind == "number" else face.colour)
            )
        if state.top is None or face.hits:
            return True
        return _goes_on(face, state.house.faces[state.top], state.house.symbols_match)

    def _drawable(self) -> int:
        return self._state.draw + max(self._state.discards - 1, 0)

    def _confidence(self) -> float:
        return 0.9 if self._happens(self._manners.doubtful) else 0.9999

    @property
    def _state(self) -> HitTheDeckState:
        return self._match.state

    def _happens(self, chance: float) -> bool:
        return self._rng.random() < chance

    def _in(self, after_ms: float, sd_ms: float = 0) -> Instant:
        self._now_ns += round(after_ms * MS)
        return Instant(self._now_ns, round(sd_ms * MS))

    def _tell(self, event: Event) -> Iterator[Event]:
        """Tell one event; what this game doesn't know (one card more than there are) nobody does."""
        if self._match.board.over and not isinstance(event, Confirm):
            return
        try:
            yield self._match.tell(event).event
        except NotInThisGame:
            return


def _goes_on(face: Face, top: Face, symbols: bool) -> bool:
    """H7, H8 as a player knows them."""
    if top.hits or face.colour == top.colour:
        return True
    return face.word == top.word and (symbols if face.number is None else face.number == top.number)


def faults(match: Match[HitTheDeckState]) -> int:
    """How many faults were ruled: none at a legal table."""
    return sum(ruling.verdict is Verdict.FAULT for ruling in match.rulings)
