"""Trash played by bots as a stream of events: legal, clumsy and cheating tables, told as a camera would."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from referee.cards import Card, Pile, Seat
from referee.events import Answer, Dealt, Ended, Event, Lifted, Moved, Peeked, Shown, Taken, Tick
from referee.game import NotInThisGame
from referee.games.trash import STOCK, TRASH, TrashState
from referee.instant import Instant
from referee.match import Match

MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Manners:
    """How a table of bots behaves: chances per draw, per card placed, per turn."""

    wrong_place: float = 0.0
    other_layout: float = 0.0
    out_of_turn: float = 0.0
    peeks: float = 0.0
    draws_twice: float = 0.0
    declines: float = 0.0
    no_discard: float = 0.0
    goes_on: float = 0.0
    not_drawn: float = 0.0
    takes_back: float = 1.0
    unreadable: float = 0.01
    nobody: float = 0.005
    misread: float = 0.0
    doubtful: float = 0.01
    wrong_answers: float = 0.0
    ends: float = 0.002


MANNERS = {
    "legal": Manners(),
    "clumsy": Manners(
        wrong_place=0.06, other_layout=0.01, out_of_turn=0.03, peeks=0.02, draws_twice=0.03, declines=0.02,
        no_discard=0.05, goes_on=0.03, not_drawn=0.03, takes_back=0.8, misread=0.004,
        wrong_answers=0.2,
    ),
    "cheating": Manners(
        wrong_place=0.1, other_layout=0.03, out_of_turn=0.05, peeks=0.15, draws_twice=0.08, declines=0.08,
        no_discard=0.1, goes_on=0.08, not_drawn=0.05, takes_back=0.4, doubtful=0.05, wrong_answers=0.5,
    ),
}  # fmt: skip


def play(match: Match[TrashState], rng: Random, kind: str = "legal", most: int = 300) -> Iterator[Event]:
    """Tell `match` a game of about `most` events, and yield each as it was logged."""
    yield from _Table(match, rng, MANNERS[kind]).play(most)


def house_rules(rng: Random) -> dict[str, object]:
    """House rules for a game: mostly the defaults."""
    if rng.random() < 0.4:
        return {}
    choices: dict[str, tuple[object, ...]] = {
        "trash_must_place": (True, False),
        "may_decline": ("kings", "all", "none"),
        "match": ("single", "shrinking"),
        "jokers": ("none", "wild"),
        "wild": ("king", "jack"),
        "confidence": (0.9, 0.99),
    }
    return {name: rng.choice(values) for name, values in choices.items() if rng.random() < 0.6}


def deck_for(options: dict[str, object]) -> str:
    """The shipped deck that these house rules are played with."""
    return "standard54" if options.get("jokers") == "wild" else "standard52"


class _Table:
    """Two players, and the cards as they really lie: what the referee can't see."""

    def __init__(self, match: Match[TrashState], rng: Random, manners: Manners) -> None:
        self._match, self._rng, self._manners = match, rng, manners
        self._now_ns = 0
        self._truth: dict[str, str] = {}
        # Some tables decline whatever they may, and use up the stock.
        self._picky = rng.choice((0.1, 0.1, 0.9))

    def play(self, most: int) -> Iterator[Event]:
        if self._happens(0.7):
            yield from self._tell(Dealt(at=self._in(2000), seat=self._match.setup.dealer))
        while not self._match.board.over and len(self._match.log) < most:
            if self._state.phase == "between":
                yield from self._between()
            else:
                # Who forgot to discard thinks that the turn is over.
                turn = self._state.turn
                yield from self._turn(1 - turn if self._state.holding else turn)
            yield from self._answers(0.9)
        yield from self._answers(1.0)
        if self._happens(0.5):
            yield from self._tell(Ended(at=self._in(2000)))

    # --- a turn ---------------------------------------------------------------------------------------

    def _turn(self, seat: Seat) -> Iterator[Event]:
        manners, state = self._manners, self._state
        if self._happens(manners.ends):
            yield from self._tell(Ended(at=self._in(500)))
            return
        if self._happens(manners.peeks):
            yield from self._peek()
        if self._happens(manners.out_of_turn):
            yield from self._out_of_turn(1 - seat)
        top = state.trash[-1] if state.trash else None
        wants_top = top is not None and self._places_for(seat, top) and self._happens(0.8)
        careless = self._happens(0.05) and not state.house.trash_must_place
        first_try = state.first_turn and self._happens(manners.goes_on)
        from_trash = (top is not None and not state.first_turn and (wants_top or careless)) or first_try
        if not self._happens(manners.not_drawn):
            if not from_trash:
                yield from self._reshuffle()
                if not self._state.stock and len(self._state.trash) < 2:
                    yield from self._tell(Dealt(at=self._in(3000)))
                    return
            who = None if self._happens(manners.nobody) else seat
            told = list(self._tell(Taken(at=self._in(900), seat=who, pile=TRASH if from_trash else STOCK)))
            yield from told
            self._remember(told, seat)
            yield from self._answers(0.95)
        if self._happens(manners.draws_twice):
            yield from self._tell(Taken(at=self._in(400), seat=seat, pile=STOCK))
        yield from self._place_all(seat)

    def _place_all(self, seat: Seat) -> Iterator[Event]:
        """Place what can be placed, one card after another, then discard."""
        manners = self._manners
        for _ in range(30):
            state = self._state
            if state.phase != "play":
                return
            card = self._in_hand()
            places = self._places_for(seat, card)
            declined = self._may_decline(seat, card) and self._happens(self._picky)
            if not places or declined or self._happens(manners.declines):
                if not self._happens(manners.no_discard):
                    yield from self._discard(seat, card)
                if self._happens(manners.goes_on):
                    yield from self._shown(seat, self._in_hand(), Pile("place", seat, self._rng.randint(1, 10)))
                return
            place = Pile("place", seat, self._rng.choice(places))
            if self._happens(manners.other_layout):
                yield from self._shown(seat, card, Pile("place", 1 - seat, place.place))
            if self._happens(manners.wrong_place):
                wrong = Pile("place", seat, self._rng.randint(1, 10))
                yield from self._shown(seat, card, wrong)
                if self._state.back == wrong and self._happens(manners.takes_back):
                    yield from self._tell(Taken(at=self._in(400), seat=seat, pile=wrong))
                if self._happens(1 - manners.takes_back) or place == wrong:
                    continue
            before = self._state
            yield from self._shown(seat, card, place)
            if self._happens(0.3):
                yield from self._tell(Lifted(at=self._in(50), seat=seat, pile=place))
            if self._state.turn != seat or self._state is before:
                return

    def _discard(self, seat: Seat, card: Card) -> Iterator[Event]:
        yield from self._shown(seat, card, TRASH)
        if self._state.back == TRASH and self._happens(self._manners.takes_back / 2):
            yield from self._tell(Taken(at=self._in(600), seat=seat, pile=TRASH))
            if self._state.turn == seat and self._state.holding:
                places = self._places_for(seat, card)
                if places:
                    yield from self._shown(seat, card, Pile("place", seat, self._rng.choice(places)))
                    yield from self._place_all(seat)

    def _out_of_turn(self, seat: Seat) -> Iterator[Event]:
        if self._happens(0.4):
            yield from self._tell(Taken(at=self._in(500), seat=seat, pile=self._rng.choice((STOCK, TRASH))))
        elif self._happens(0.5):
            yield from self._shown(seat, self._in_hand(), Pile("place", seat, self._rng.randint(1, 10)))
        else:
            yield from self._shown(seat, self._in_hand(), TRASH)

    def _peek(self) -> Iterator[Event]:
        owner = self._rng.randrange(2)
        pile = STOCK if self._happens(0.2) else Pile("place", owner, self._rng.randint(1, 10))
        seat = self._rng.randrange(2)
        who = None if self._happens(0.1) else seat
        if pile != STOCK and self._happens(0.2):
            told = list(self._tell(Taken(at=self._in(300), seat=who, pile=pile)))
        else:
            told = list(self._tell(Peeked(at=self._in(300), seat=who, pile=pile)))
        yield from told
        self._remember(told, seat)
        yield from self._answers(0.9)

    def _between(self) -> Iterator[Event]:
        if self._happens(0.5):
            winner = 1 - self._state.turn
            yield from self._shown(winner, self._in_hand(), TRASH)
        if self._happens(0.1):
            yield from self._tell(Tick(at=self._in(1000)))
        if self._happens(0.1) and self._state.house.shrinking is False:
            yield from self._tell(Ended(at=self._in(1000)))
        yield from self._tell(Dealt(at=self._in(3000), seat=self._rng.choice((None, 0, 1))))

    def _reshuffle(self) -> Iterator[Event]:
        """T12: the trash but its top becomes the stock; sometimes nobody tells."""
        if not self._state.stock and len(self._state.trash) > 1 and self._happens(0.8):
            yield from self._tell(Moved(at=self._in(2500), source=TRASH, target=STOCK))

    # --- the cards ------------------------------------------------------------------------------------

    def _in_hand(self) -> Card:
        """The card in hand: as known, else any that lies nowhere face up."""
        state = self._state
        if state.holding and state.held is not None:
            return state.held
        lying = {card for layout in state.places for card in layout} | set(state.trash)
        return self._rng.choice([card for card in state.setup.deck.counts if card not in lying])

    def _places_for(self, seat: Seat, card: Card) -> list[int]:
        """Where the rules let the card be placed, as a player knows them."""
        house, layout = self._state.house, self._state.places[seat]
        if house.is_wild(card):
            return [number for number, lies in enumerate(layout, 1) if lies is None]
        number = house.number(card)
        if number is None or number > len(layout):
            return []
        lies = layout[number - 1]
        return [number] if lies is None or house.is_wild(lies) else []

    def _may_decline(self, seat: Seat, card: Card) -> bool:
        house, places = self._state.house, self._places_for(seat, card)
        if house.may_decline == "all":
            return True
        frees = bool(places) and self._state.places[seat][places[0] - 1] is not None
        return house.may_decline == "kings" and (house.is_wild(card) or frees)

    def _shown(self, seat: Seat, card: Card, pile: Pile) -> Iterator[Event]:
        manners = self._manners
        if pile.place is not None and pile.place > 10:
            return
        seen: Card | None = card
        others: tuple[Card, ...] = ()
        if self._happens(manners.unreadable):
            seen = None
            others = tuple(dict.fromkeys((card, self._in_hand()))) if self._happens(0.5) else ()
        elif self._happens(manners.misread):
            seen = self._rng.choice(list(self._state.setup.deck.counts))
        confidence = 0.9 if self._happens(manners.doubtful) else 0.9999
        who = None if pile == TRASH and self._happens(manners.nobody) else seat
        at = self._in(self._rng.randint(500, 1500), sd_ms=self._rng.choice((0, 10)))
        event = Shown(at=at, seat=who, card=seen, pile=pile, or_cards=others, confidence=confidence)
        told = list(self._tell(event))
        yield from told
        self._remember(told, seat, card)
        yield from self._answers(0.95)

    # --- small things ---------------------------------------------------------------------------------

    def _answers(self, chance: float) -> Iterator[Event]:
        if self._state.waiting:
            chance = 1.0  # Nobody knows how to go on before this is answered.
        for question in self._match.board.questions:
            if not self._happens(chance):
                continue
            if question.key not in {still.key for still in self._match.board.questions}:
                continue  # An answer before has settled this one too.
            says = self._truth.get(question.key, "void")
            if (question.choices and says not in question.choices) or self._happens(self._manners.wrong_answers):
                says = self._rng.choice(question.choices or tuple(map(str, self._state.setup.deck.counts)))
            yield from self._tell(Answer(at=self._in(300), question=question.key, says=says))

    def _remember(self, told: list[Event], seat: Seat, card: Card | None = None) -> None:
        for event in told:
            self._truth[f"seat:{event.id}"] = str(seat)
            if card is not None:
                self._truth[f"card:{event.id}"] = str(card)

    @property
    def _state(self) -> TrashState:
        return self._match.state

    def _happens(self, chance: float) -> bool:
        return self._rng.random() < chance

    def _in(self, after_ms: float, sd_ms: float = 0) -> Instant:
        self._now_ns += round(after_ms * MS)
        return Instant(self._now_ns, round(sd_ms * MS))

    def _tell(self, event: Event) -> Iterator[Event]:
        if self._match.board.over:
            return
        try:
            yield self._match.tell(event).event
        except NotInThisGame:
            return
