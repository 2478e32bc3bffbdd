"""What the second opinion on Hit the Deck keeps of a table: cards, turns, what is owed; and how it speaks."""

from __future__ import annotations

from dataclasses import dataclass, field

from referee.cards import Card, Deck, Seat
from referee.events import Event, Shown, Turned
from vision.benches.oracle import Opinion, PlainEffect, Sitting

DRAW, DISCARD = "draw", "discard"
_HAND = 7
#: When something happened, and one standard deviation, ns.
When = tuple[int, int]


@dataclass(slots=True)
class Debt:
    """Cards that a seat has to draw, by which clause, and since which event."""

    clause: str
    seat: Seat
    count: int
    since: int
    made_at: int
    taken: int = 0
    noticed: bool = False


@dataclass(slots=True)
class Duty:
    """A cut, a flip or a burying that is due."""

    what: str
    seat: Seat
    clause: str
    follows: Seat
    """Whose turn it is once that is done."""
    turned: set[str] = field(default_factory=set)
    found: tuple[Card, float] | None = None
    moved: bool = False


@dataclass(slots=True)
class Landing:
    """A hand on the pile."""

    id: int
    at: When
    sure: float
    layer: int | None
    waits: bool


@dataclass(slots=True)
class Race:
    """What follows a "with a hand" (H15)."""

    id: int
    seat: Seat
    at: When
    members: list[Seat]
    final: bool
    hands: dict[Seat, Landing] = field(default_factory=dict)
    call: When | None = None
    call_sure: float = 1.0
    called_before: bool = False
    orders: tuple[tuple[tuple[Seat, ...], float], ...] = ()
    card_lies: bool = False
    asked_call: bool = False
    asked_last: bool = False
    done: bool = False


@dataclass(slots=True)
class Loose:
    """A slap at what may be the wrong time, not judged yet (H18)."""

    id: int
    seat: Seat | None
    at: When
    sure: float
    layer: int | None
    waits: bool


class Table:
    """The state of play as plain lists."""

    def __init__(self, sitting: Sitting) -> None:
        """The house rules, and the first hand dealt."""
        options = sitting.options
        self.deck: Deck = sitting.deck
        self.threshold = float(options["confidence"])
        self.first_decree = bool(options["first_decree"])
        self.symbols_match = bool(options["symbols_match"])
        self.cut_skips = bool(options["cut_skips"])
        self.last_by_top = options["last_by"] == "top"
        self.decree_slap_costs = bool(options["false_slap_on_decree"])
        self.shares_ties = options["tie"] == "share"
        self.decree_chain = bool(options["decree_chain"])
        self.window_ns = round(float(options["slap_window"]) * 1e9)
        self.close_call = str(options["close_call"])
        self.exposed_acts = bool(options["exposed_acts"])
        self.grace_ns = round(float(options["call_grace"]) * 1e9)
        self.trusts_call = options["announce"] == "trust"
        self.illegal_play = str(options["illegal_play"])
        self.now_id = 0
        self.mark = 0
        #: They begin with the next hand.
        self.joiners: set[Seat] = set()
        self.answers: dict[str, str] = {}
        self.out: list[Opinion] = []
        self.playing = list(range(sitting.players))
        self.seats = sitting.players
        self.scores = [0] * sitting.players
        self.dealer: Seat = sitting.dealer
        self.told_jewellery = False
        self.lifts_told = False
        self.over = False
        self.deal()

    def deal(self) -> None:
        """A new hand: seven cards each, the rest is the draw pile."""
        self.phase = "deal"
        self.playing = sorted({*self.playing, *self.joiners})
        self.joiners = set()
        self.direction = 1
        self.hands = [_HAND if seat in self.playing else 0 for seat in range(self.seats)]
        self.draw = self.deck.size - sum(self.hands)
        self.discards = 0
        self.top: Card | None = None
        self.top_sure = 1.0
        self.decree: tuple[str, str, str] | None = None
        self.turn: Seat = self.after(self.dealer)
        self.drew = False
        self.duty: Duty | None = None
        self.debts: list[Debt] = []
        self.paid: dict[Seat, str] = {}
        self.back = 0
        self.last_player: Seat | None = None
        self.last_card: Card | None = None
        self.flip_told = False
        self.races: list[Race] = []
        self.loose: list[Loose] = []
        self.punished: set[Seat] = set()
        self.laid: set[Seat] = set()
        self.early_calls: list[tuple[Seat | None, When]] = []
        self.freedom_ended: When | None = None
        self.free = False
        self.winner: Seat | None = None
        self.counted: dict[Seat, tuple[Card, ...]] = {}
        self.waits: tuple[str, Seat | None] | None = None
        self.compare = True

    # --- cards and seats --------------------------------------------------------------------------------

    def word(self, card: Card) -> str | None:
        """Which word is on the card, if any."""
        return self.deck.trait(card, "word")

    def hits(self, card: Card) -> bool:
        """Whether it is a "Hit the Deck" card."""
        return (self.word(card) or "").startswith("hit")

    def after(self, seat: Seat, direction: int | None = None) -> Seat:
        """Who comes after the seat."""
        step = self.direction if direction is None else direction
        found = (seat + step) % self.seats
        while found not in self.playing:
            found = (found + step) % self.seats
        return found

    def drawable(self) -> int:
        """How many cards can be drawn at all."""
        return self.draw + max(self.discards - 1, 0)

    def fits(self, card: Card) -> bool:
        """Whether the card may be played now (H7, H8, H13, H14, H22)."""
        if self.decree is not None:
            _, kind, value = self.decree
            return self.decree_chain if self.hits(card) else self.deck.trait(card, kind) == value
        if self.top is None or self.hits(card) or self.hits(self.top):
            return True
        top, trait = self.top, self.deck.trait
        if trait(card, "colour") == trait(top, "colour"):
            return True
        if trait(card, "number") is not None:
            return trait(card, "number") == trait(top, "number")
        return self.symbols_match and self.word(card) == self.word(top)

    # --- saying -----------------------------------------------------------------------------------------

    def say(self, clause: str, verdict: str, seat: Seat | None = None, *effects: PlainEffect) -> None:
        """One opinion."""
        self.out.append(Opinion(clause, verdict, seat, effects))

    def fault(
        self, key: str, clause: str, seat: Seat | None, *effects: PlainEffect, sure: float = 1.0, holds: bool = False
    ) -> str:
        """Raise a fault or ask for it: ``fault``, ``void`` or ``ask``."""
        said = self.answers.get(f"fault:{key}")
        if said == "void":
            self.say(clause, "note", seat)
            return "void"
        if said is None and sure < self.threshold:
            if holds:
                self.hold(clause, seat)
            else:
                self.say(clause, "ask", seat)
            return "ask"
        self.say(clause, "fault", seat, *effects)
        return "fault"

    def hold(self, clause: str, seat: Seat | None) -> None:
        """Ask, and let everything wait for the answer."""
        del self.out[self.mark :]
        self.say(clause, "ask", seat)
        self.waits = (clause, seat)

    def owe(self, clause: str, seat: Seat, count: int, since: int) -> None:
        """The seat owes cards (H27 where there are too few)."""
        spoken_for = sum(debt.count - debt.taken for debt in self.debts)
        can = max(self.drawable() - spoken_for, 0)
        if count > can or count > self.draw - spoken_for:
            self.say("H27", "note", seat)
        count = min(count, can)
        if count:
            self.debts.append(Debt(clause, seat, count, since, self.now_id))

    def which(self, event: Shown | Turned, clause: str, seat: Seat | None) -> Card | None:
        """Which card it is; None: asked, and what follows waits."""
        said = self.answers.get(f"card:{event.id}")
        if said is not None:
            return Card.parse(said)
        if event.card is None:
            self.hold(clause, seat)
            return None
        if event.card not in self.deck.counts:
            self.hold("H2", seat)
            return None
        return event.card

    def who(self, event: Event, clause: str) -> Seat | None:
        """Who did it; None: asked, and what follows waits."""
        if event.seat is not None:
            return event.seat
        said = self.answers.get(f"seat:{event.id}")
        if said is None:
            self.hold(clause, None)
            return None
        return int(said)

    def notice_debts(self, event: Event, seat: Seat) -> None:
        """Who acts with cards still owed has not taken a penalty."""
        for debt in list(self.debts):
            if debt.seat != seat or debt.noticed:
                continue
            if debt.made_at == event.id and debt.clause != "H18":
                # What is owed since this very event nobody can have drawn yet.
                continue
            debt.noticed = True
            what = "penalty_too_few" if debt.taken else "penalty_not_taken"
            key = f"{event.id}:{what}:{debt.since}:{seat}"
            if self.fault(key, debt.clause, seat, ("draw", seat, debt.count - debt.taken)) == "void":
                self.debts.remove(debt)

    # --- the end of a hand, counting ---------------------------------------------------------------------------

    def unjudged(self) -> None:
        """What waited for an answer is not judged."""
        if self.waits is not None:
            self.say(self.waits[0], "note")
            self.waits = None
            self.compare = False

    def goes_out(self, event: Event, seat: Seat) -> None:
        """The seat has no cards left (H20)."""
        self.say("H20", "won", seat)
        self.winner = seat
        self.hand_ends(event)

    def hand_ends(self, event: Event) -> None:
        """The hand is over; the count begins."""
        self.phase = "count"
        self.counted = {}
        for seat in self.playing if self.compare else []:
            self.notice_debts(event, seat)
