"""A second opinion on Hit the Deck, written from the numbered clauses as a plain walk over everything that happened."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from referee.cards import Card, Deck, Seat
from referee.events import (
    Answer,
    Counted,
    Dealt,
    Ended,
    Event,
    Finish,
    Joined,
    Left,
    Lifted,
    Moved,
    Peeked,
    Shout,
    Shown,
    Slap,
    Taken,
    Tick,
    Turned,
)
from vision.benches.oracle import Opinion, PlainEffect, Sitting

_AT_THE_TABLE = (Shown, Taken, Moved, Turned, Peeked, Slap, Lifted, Finish, Shout, Tick)
_DRAW, _DISCARD = "draw", "discard"
_CALL = "hit the deck with a hand"
_HAND, _LAST_DRAWS, _FALSE_DRAWS, _ENOUGH = 7, 4, 2, 100
_DECREES = ("hit number", "hit colour")
#: What the sums below may be off by.
_ROUNDING = 1e-9
#: When something happened, and one standard deviation, ns.
When = tuple[int, int]


@dataclass(slots=True)
class _Debt:
    """Cards that a seat has to draw, by which clause, and since which event."""

    clause: str
    seat: Seat
    count: int
    since: int
    made_at: int
    taken: int = 0
    noticed: bool = False


@dataclass(slots=True)
class _Duty:
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
class _Landing:
    """A hand on the pile."""

    id: int
    at: When
    sure: float
    layer: int | None
    waits: bool


@dataclass(slots=True)
class _Race:
    """What follows a "with a hand" (H15)."""

    id: int
    seat: Seat
    at: When
    members: list[Seat]
    final: bool
    hands: dict[Seat, _Landing] = field(default_factory=dict)
    call: When | None = None
    call_sure: float = 1.0
    called_before: bool = False
    orders: tuple[tuple[tuple[Seat, ...], float], ...] = ()
    card_lies: bool = False
    asked_call: bool = False
    asked_last: bool = False
    done: bool = False


@dataclass(slots=True)
class _Loose:
    """A slap at what may be the wrong time, not judged yet (H18)."""

    id: int
    seat: Seat | None
    at: When
    sure: float
    layer: int | None
    waits: bool


class HitTheDeckOracle:
    """Judges Hit the Deck."""

    def judge(self, sitting: Sitting, course: Sequence[Event]) -> list[list[Opinion]]:
        """The opinions that each event leads to."""
        table = _Table(sitting)
        return [table.hear(event) for event in course]


ORACLE = HitTheDeckOracle()


class _Table:
    def __init__(self, sitting: Sitting) -> None:
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
        #: They begin with the next hand, and don't deal before that.
        self.joiners: set[Seat] = set()
        self.direction = 1
        self.hands = [_HAND if seat in self.playing else 0 for seat in range(self.seats)]
        self.draw = self.deck.size - sum(self.hands)
        self.discards = 0
        self.top: Card | None = None
        self.top_sure = 1.0
        self.decree: tuple[str, str, str] | None = None
        self.turn: Seat = self.after(self.dealer)
        self.drew = False
        self.duty: _Duty | None = None
        self.debts: list[_Debt] = []
        self.paid: dict[Seat, str] = {}
        self.back = 0
        self.last_player: Seat | None = None
        self.last_card: Card | None = None
        self.flip_told = False
        self.races: list[_Race] = []
        self.loose: list[_Loose] = []
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
        return self.deck.trait(card, "word")

    def hits(self, card: Card) -> bool:
        return (self.word(card) or "").startswith("hit")

    def after(self, seat: Seat, direction: int | None = None) -> Seat:
        step = self.direction if direction is None else direction
        found = (seat + step) % self.seats
        while found not in self.playing:
            found = (found + step) % self.seats
        return found

    def drawable(self) -> int:
        return self.draw + max(self.discards - 1, 0)

    def fits(self, card: Card) -> bool:
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
            self.say(clause, "ask", seat)
            if holds:
                self.waits = (clause, seat)
            return "ask"
        self.say(clause, "fault", seat, *effects)
        return "fault"

    def hold(self, clause: str, seat: Seat | None) -> None:
        """Ask, and let everything wait for the answer."""
        self.say(clause, "ask", seat)
        self.waits = (clause, seat)

    def owe(self, clause: str, seat: Seat, count: int, since: int) -> None:
        spoken_for = sum(debt.count - debt.taken for debt in self.debts)
        can = max(self.drawable() - spoken_for, 0)
        if count > can or count > self.draw - spoken_for:
            self.say("H27", "note", seat)
        count = min(count, can)
        if count:
            self.debts.append(_Debt(clause, seat, count, since, self.now_id))

    # --- hearing ----------------------------------------------------------------------------------------

    def hear(self, event: Event) -> list[Opinion]:
        self.out = []
        self.now_id = event.id
        if isinstance(event, Answer):
            self.answers[event.question] = event.says
            return []
        if self.over:
            return []
        watching = self.phase in ("play", "count") and self.waits is None
        if watching and not isinstance(event, _AT_THE_TABLE):
            self.settle_loose(event)
            if self.waits is None:
                self.look_at_races(event)
        if isinstance(event, Joined):
            self.joined()
        elif isinstance(event, Left):
            self.left(event)
        elif isinstance(event, Dealt):
            self.dealt(event)
        elif isinstance(event, Ended):
            self.unjudged()
            self.game_won()
        elif isinstance(event, Counted):
            self.count(event)
        elif self.waits is None:
            self.goes_on(event)
        return self.out

    def goes_on(self, event: Event) -> None:
        if self.phase == "between" and isinstance(event, Shown) and str(event.pile) == _DISCARD:
            self.deal()
        if self.phase == "deal":
            if isinstance(event, Shown) and str(event.pile) == _DISCARD:
                self.first_card(event)
            return
        if self.phase not in ("play", "count"):
            return
        was_empty = self.draw == 0
        self.settle_loose(event)
        looks = True
        if isinstance(event, Slap) and str(event.pile) == _DISCARD:
            looks = self.slap(event)
        elif isinstance(event, Shout):
            self.shout(event)
        elif isinstance(event, Finish) and str(event.pile) == _DISCARD:
            for race in self.open_races():
                race.orders = event.orders
        elif isinstance(event, Lifted) and str(event.pile) == _DISCARD and event.seat is not None:
            if event.seat in self.laid:
                self.lifts_told = True
            self.laid.discard(event.seat)
            self.punished.discard(event.seat)
        if looks and self.waits is None:
            self.look_at_races(event)
        if self.waits is not None:
            return
        if self.phase == "count":
            pass
        elif isinstance(event, Shown) and str(event.pile) == _DISCARD:
            self.shown(event)
        elif isinstance(event, Taken):
            self.taken(event)
        elif isinstance(event, Moved):
            self.moved(event)
        elif isinstance(event, Turned):
            self.turned(event)
        if isinstance(event, Shown) and self.waits is None:
            self.look_at_races(event)
        if self.phase == "play" and self.draw == 0 and not was_empty and self.discards > 1:
            self.say("H19", "note", None, ("put_together", (_DISCARD,), _DRAW))

    # --- dealing, joining, leaving ------------------------------------------------------------------------

    def dealt(self, event: Dealt) -> None:
        self.unjudged()
        if self.phase == "play":
            self.say("H20", "note")
            self.dealer = self.after(self.dealer, 1)
        elif self.phase == "count":
            self.not_counted(event)
            if self.over:
                return
        if event.seat is not None and event.seat != self.dealer:
            expected = self.dealer
            self.deal()
            if self.fault(f"{event.id}:wrong_dealer", "H33", event.seat, sure=event.confidence, holds=True) == "ask":
                self.dealer = expected
                return
            self.dealer = event.seat
        self.deal()

    def not_counted(self, event: Event) -> None:
        for seat in self.playing:
            if seat != self.winner and seat not in self.counted:
                self.fault(f"{event.id}:not_counted:{seat}", "H20", seat)
        self.hand_over()

    def joined(self) -> None:
        self.playing.append(self.seats)
        self.scores.append(max(self.scores[seat] for seat in self.playing[:-1]))
        self.hands.append(0)
        self.joiners.add(self.seats)
        self.say("H33", "note", self.seats)
        self.seats += 1
        if self.phase == "deal":
            self.deal()

    def left(self, event: Left) -> None:
        seat = event.seat
        if seat is None or seat not in self.playing:
            return
        self.say("H33", "note", seat)
        following = self.after(seat)
        dealing = self.after(seat, 1)
        while dealing in self.joiners and dealing != seat:
            dealing = self.after(dealing, 1)
        self.playing.remove(seat)
        self.draw += self.hands[seat]
        self.hands[seat] = 0
        self.debts = [debt for debt in self.debts if debt.seat != seat]
        if self.turn == seat:
            self.turn, self.drew = following, False
        if self.duty is not None:
            if self.duty.seat == seat:
                self.duty.seat = following
            if self.duty.follows == seat:
                self.duty.follows = following
        if self.dealer == seat and self.phase in ("between", "deal"):
            self.dealer = dealing
        for race in self.open_races():
            race.members = [member for member in race.members if member != seat]
        if len(self.playing) < 2:
            self.say("H21", "won", self.playing[0])
            self.over = True
        elif self.phase == "deal":
            self.deal()

    # --- the first card -----------------------------------------------------------------------------------

    def first_card(self, event: Shown) -> None:
        card = self.which(event, "H3", event.seat)
        if card is None:
            return
        if not self.told_jewellery:
            self.told_jewellery = True
            self.say("H1", "note")
        if self.word(card) == "hit hand":
            self.say("H4", "note", self.dealer)
            return
        self.phase = "play"
        self.draw -= 1
        self.discards = 1
        self.top, self.top_sure = card, event.confidence
        self.last_card = card
        first = self.after(self.dealer)
        self.turn = first
        self.say("H3", "note")
        self.say("H6", "note", first, ("next_turn", first))
        word = self.word(card)
        if word in ("cut", "flip") or (word is not None and self.first_decree):
            self.say("H5", "note", first)
            self.due(card, self.dealer)

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

    # --- what a card on top makes due ----------------------------------------------------------------------

    def due(self, card: Card, seat: Seat) -> None:
        """What is due once the seat has played the card: notes, the turn, a duty."""
        word = self.word(card)
        nxt = self.after(seat)
        self.turn, self.drew = nxt, False
        if word == "cut":
            self.due_cut(nxt)
        elif word == "flip":
            self.due_flip(nxt, seat)
        elif word in _DECREES:
            self.due_decree(card, nxt)

    def due_decree(self, card: Card, seat: Seat) -> None:
        number = self.word(card) == "hit number"
        clause = "H13" if number else "H14"
        self.decree = (clause, "number" if number else "colour", str(self.deck.trait(card, "says")))
        self.say(clause, "note", seat)

    def due_cut(self, seat: Seat) -> None:
        follows = self.after(seat) if self.cut_skips else seat
        if self.drawable() < 1:
            self.say("H27", "note", seat)
            self.turn = follows
            return
        self.say("H10", "note", seat)
        if self.draw < 2 and self.discards > 1:
            self.shuffle_first("H10")
        self.duty = _Duty("cut", seat, "H10", follows)
        self.turn = seat

    def due_flip(self, seat: Seat, player: Seat) -> None:
        if self.drawable() < 1:
            self.say("H27", "note", seat)
            return
        self.say("H11", "note", seat)
        if self.draw == 0:
            self.shuffle_first("H12")
        self.duty = _Duty("flip", seat, "H11", player)

    def shuffle_first(self, clause: str) -> None:
        self.say(clause, "note", None, ("put_together", (_DISCARD,), _DRAW))
        self.shuffle()

    def shuffle(self) -> None:
        if self.discards > 1:
            self.draw += self.discards - 1
            self.discards = 1

    # --- discards -------------------------------------------------------------------------------------------

    def shown(self, event: Shown) -> None:
        source = None if event.source is None else str(event.source)
        if source == _DRAW:
            if self.duty is not None and self.duty.what == "bury":
                self.buried(event, from_draw=True)
            else:
                self.cut(event)
            return
        burying = self.duty if self.duty is not None and self.duty.what == "bury" else None
        if source == _DISCARD or (burying is not None and event.seat in (None, burying.seat)):
            if burying is not None:
                self.buried(event, from_draw=False)
            return
        seat = self.who(event, "H6")
        if seat is None:
            return
        card = self.which(event, "H7", seat)
        if card is None:
            return
        self.discard(event, seat, card)

    def discard(self, event: Shown, seat: Seat, card: Card) -> None:
        sure = event.confidence
        back: PlainEffect = ("take_back", seat, str(card))
        self.notice_debts(event, seat)
        if self.duty is not None and not self.duty_passed_by(event, seat, sure, back):
            return
        self.pass_turns(seat)
        if seat != self.turn:
            twice = seat == self.last_player and not self.drew
            what, clause = ("two_cards", "H7") if twice else ("out_of_turn", "H6")
            stands = self.illegal_play == "stand"
            effects = () if stands else (back,)
            found = self.fault(f"{event.id}:{what}", clause, seat, *effects, sure=sure, holds=True)
            if found == "ask":
                return
            if found == "fault" and not stands:
                self.goes_back(event, seat)
                return
            self.turn, self.drew = seat, False
            self.duty = None
            self.lay(event, seat, card)
            return
        if self.drew and self.answers.get(f"drawn:{event.id}") == "old":
            self.say("H9", "fault", seat)
            if self.illegal(event, seat, back):
                self.lay(event, seat, card)
            return
        found = ""
        if not self.fits(card):
            if self.decree is not None:
                clause, what = self.decree[0], "decree_disobeyed"
            else:
                clause, what = "H7", "no_match"
            found = self.fault(f"{event.id}:{what}", clause, seat, sure=sure * self.top_sure, holds=True)
            if found == "ask":
                return
            if found == "fault" and not self.illegal(event, seat, back):
                return
        if self.drew and found != "fault":
            self.say("H9", "note", seat)
        self.lay(event, seat, card)

    def illegal(self, event: Shown, seat: Seat, back: PlainEffect) -> bool:
        """What comes of an illegal discard (H34): True where it stands."""
        if self.illegal_play == "stand":
            return True
        if self.illegal_play == "ask":
            said = self.answers.get(f"illegal:{event.id}")
            if said is None:
                self.hold("H34", seat)
                return False
            if said == "stand":
                return True
        nxt = self.after(seat)
        self.say("H34", "note", seat, back, ("draw", seat, 1), ("next_turn", nxt))
        self.owe("H34", seat, 1, event.id)
        self.turn, self.drew = nxt, False
        self.goes_back(event, seat)
        return False

    def goes_back(self, event: Event, seat: Seat) -> None:
        self.back += 1
        self.laid.add(seat)

    def pass_turns(self, seat: Seat) -> None:
        """Who has drawn, or can't, and sees the next player act has passed (H9)."""
        if seat == self.turn:
            return
        if (self.drew and seat == self.after(self.turn)) or self.drawable() == 0:
            self.turn, self.drew = seat, False

    def lay(self, event: Shown, seat: Seat, card: Card) -> None:
        """The card counts as played."""
        at = (event.at.at_ns, event.at.sd_ns)
        if self.free:
            self.freedom_ended = at
        self.free = False
        self.hands[seat] -= 1
        self.discards += 1
        self.top, self.top_sure = card, event.confidence
        self.last_card = card
        self.decree = None
        self.last_player = seat
        self.flip_told = False
        self.paid = {}
        self.laid.add(seat)
        self.back = 0
        calls, self.early_calls = self.early_calls, []
        out = self.hands[seat] <= 0 and not any(debt.seat == seat for debt in self.debts)
        word = self.word(card)
        if word == "hit hand":
            self.say("H15", "note", seat)
            self.turn, self.drew = self.after(seat), False
            self.next_card_lies()
            race = _Race(event.id, seat, at, list(self.playing), self.hands[seat] <= 0)
            race.called_before = any(who is None or who == seat for who, _ in calls)
            self.races.append(race)
            self.free = True
            self.freedom_ended = None
            for slap in list(self.loose):
                self.loose.remove(slap)
                if slap.seat is not None:
                    race.hands.setdefault(slap.seat, _Landing(slap.id, slap.at, slap.sure, slap.layer, slap.waits))
            return
        self.next_card_lies()
        if self.hands[seat] <= 0:
            if word is not None:
                self.say("H23", "note", seat)
            self.turn, self.drew = self.after(seat), False
            if out:
                self.goes_out(event, seat)
            return
        self.due(card, seat)

    def next_card_lies(self) -> None:
        for race in self.open_races():
            race.card_lies = True

    # --- cut, flip, bury -----------------------------------------------------------------------------------

    def duty_passed_by(self, event: Event, seat: Seat, sure: float, *effects: PlainEffect) -> bool:
        """Somebody plays or draws while a duty stands; True where that is judged on as a turn."""
        duty = self.duty
        assert duty is not None
        if duty.what == "bury":
            self.fault(f"{event.id}:not_buried", duty.clause, duty.seat)
            self.duty = None
            return True
        if duty.turned:
            self.fault(f"{event.id}:half_flipped", "H11", duty.seat, sure=sure)
            self.flip_done(event)
            return True
        what = "not_cut" if duty.what == "cut" else "not_flipped"
        key = f"{event.id}:{what}"
        if seat == duty.seat:
            found = self.fault(key, duty.clause, seat, *effects, sure=sure, holds=True)
            if found == "void":
                self.duty = None
                self.turn, self.drew = seat, False
                return True
            if found == "fault" and effects:
                self.goes_back(event, seat)
            return False
        if seat == duty.follows:
            found = self.fault(key, duty.clause, duty.seat, sure=sure, holds=True)
            if found == "ask":
                return False
            self.lapse(duty)
        else:
            self.turn = duty.seat
        return True

    def lapse(self, duty: _Duty) -> None:
        if duty.what == "flip":
            self.direction = -self.direction
        self.turn, self.drew = duty.follows, False
        self.duty = None

    def cut(self, event: Shown) -> None:
        duty = self.duty
        seat = event.seat
        if duty is None or duty.what != "cut":
            who = self.turn if seat is None else seat
            self.notice_debts(event, who)
            self.fault(f"{event.id}:no_cut_due", "H10", who, sure=event.confidence, holds=True)
            return
        card = self.which(event, "H10", seat)
        if card is None:
            return
        if seat is not None:
            self.notice_debts(event, seat)
        if seat is not None and seat != duty.seat:
            self.fault(f"{event.id}:wrong_cutter", "H10", seat, sure=event.confidence)
        if self.draw == 0:
            self.shuffle()
        self.duty = None
        self.draw -= 1
        self.discards += 1
        self.last_player = None
        self.top, self.top_sure = card, event.confidence
        self.last_card = card
        self.turn, self.drew = duty.follows, False
        self.exposed(card, duty.seat, by_cut=True)

    def exposed(self, card: Card, doer: Seat, *, by_cut: bool) -> None:
        """A card came to the top without being discarded (H12, H26)."""
        word = self.word(card)
        self.decree = None
        if word == "flip" and not by_cut:
            if self.discards > 1:
                self.say("H12", "note", doer)
                self.duty = _Duty("bury", doer, "H12", self.turn)
            return
        if word is None or not self.exposed_acts:
            return
        if word == "flip":
            nxt = self.after(doer)
            self.say("H12", "note", self.turn)
            self.due_flip(nxt, doer)
        elif word == "cut":
            self.say("H26", "note", self.turn)
            self.due_cut(self.turn)
        elif word == "hit hand":
            if self.discards < 2 and (self.draw == 0 or not by_cut):
                return
            self.say("H26", "note", doer)
            if self.draw == 0:
                self.shuffle_first("H26")
            self.duty = _Duty("bury", doer, "H26" if by_cut else "H12", self.turn)
        else:
            self.say("H26", "note", self.turn)
            self.due_decree(card, self.turn)

    def buried(self, event: Shown, *, from_draw: bool) -> None:
        duty = self.duty
        assert duty is not None
        card = self.which(event, duty.clause, event.seat)
        if card is None:
            return
        self.duty = None
        if from_draw and self.draw == 0:
            self.shuffle()
        self.top, self.top_sure = card, event.confidence
        self.last_card = card
        self.exposed(card, duty.seat, by_cut=duty.clause == "H26")

    def turned(self, event: Turned) -> None:
        pile = str(event.source)
        if pile not in (_DRAW, _DISCARD):
            return
        duty = self.duty
        if duty is None or duty.what != "flip":
            if not self.flip_told:
                seat = self.turn if event.seat is None else event.seat
                self.flip_told = True
                self.fault(f"{event.id}:no_flip_due", "H11", seat, sure=event.confidence, holds=True)
            return
        card = None
        if pile == _DRAW:
            card = self.which(event, "H11", event.seat)
            if card is None:
                return
        if not duty.turned and event.seat is not None:
            self.notice_debts(event, event.seat)
            if event.seat != duty.seat:
                self.fault(f"{event.id}:wrong_flipper", "H11", event.seat, sure=event.confidence)
        if card is not None:
            duty.found = (card, event.confidence)
        duty.turned.add(pile)
        if len(duty.turned) == 2:
            self.flip_done(event)

    def flip_done(self, event: Event) -> None:
        duty = self.duty
        assert duty is not None
        self.duty = None
        if self.draw == 0:
            self.shuffle()
        self.draw, self.discards = self.discards, self.draw
        self.direction = -self.direction
        self.turn, self.drew = duty.follows, False
        self.say("H11", "note", self.turn, ("next_turn", self.turn))
        self.flip_told = True
        self.last_player = None
        if duty.found is None:
            self.top = None
            return
        self.top, self.top_sure = duty.found
        self.last_card = self.top
        self.exposed(duty.found[0], duty.seat, by_cut=False)

    def moved(self, event: Moved) -> None:
        source, target = str(event.source), str(event.target)
        if event.source.kind == "hand" and target == _DRAW:
            seat = event.source.seat
            if seat is not None and seat < self.seats:
                count = self.hands[seat] if event.count is None else min(event.count, self.hands[seat])
                self.hands[seat] -= count
                self.draw += count
        elif source == _DISCARD and target == _DRAW and event.count is None:
            self.shuffle()

    # --- drawing -------------------------------------------------------------------------------------------

    def taken(self, event: Taken) -> None:
        pile = str(event.pile)
        if pile == _DISCARD:
            if self.back:
                self.back -= 1
                return
            seat = self.who(event, "H6")
            if seat is not None:
                self.fault(f"{event.id}:took_discards", "H9", seat, sure=event.confidence)
            return
        if pile != _DRAW:
            return
        seat = self.who(event, "H6")
        if seat is None:
            return
        left = event.count
        had = bool(self.drawable())
        if event.count > self.draw:
            there = self.draw
            self.draw = 0
            self.shuffle()
            self.draw = max(self.draw - (event.count - there), 0)
        else:
            self.draw -= event.count
        self.hands[seat] += event.count
        for debt in list(self.debts):
            if debt.seat == seat and left:
                paid = min(left, debt.count - debt.taken)
                debt.taken += paid
                left -= paid
                self.paid[seat] = debt.clause
                if debt.taken == debt.count:
                    self.debts.remove(debt)
        if not left:
            return
        if self.duty is not None and not self.duty_passed_by(event, seat, event.confidence):
            return
        if had:
            self.pass_turns(seat)
        if seat != self.turn:
            if seat in self.paid:
                self.fault(f"{event.id}:penalty_too_many", self.paid[seat], seat, sure=event.confidence)
            else:
                self.fault(f"{event.id}:drew_out_of_turn", "H6", seat, sure=event.confidence)
            return
        if self.drew or left > 1:
            self.fault(f"{event.id}:second_draw", "H9", seat, sure=event.confidence)
        self.drew = True

    def notice_debts(self, event: Event, seat: Seat) -> None:
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

    # --- hands on the pile -----------------------------------------------------------------------------------

    def open_races(self) -> list[_Race]:
        return [race for race in self.races if not race.done]

    def slap(self, event: Slap) -> bool:
        """A hand comes down; False where it stayed and so did not land (H29)."""
        at = (event.at.at_ns, event.at.sd_ns)
        races = [race for race in self.open_races() if not race.card_lies]
        seat = event.seat
        if races and seat is None:
            seat = self.who(event, "H15")
            if seat is None:
                return True
        if races and seat is not None:
            race = races[-1]
            if seat == race.seat and seat not in race.hands and seat in self.laid and self.lifts_told:
                self.say("H29", "note", seat)
                return False
            self.laid.discard(seat)
            if seat in race.members and seat not in race.hands:
                race.hands[seat] = _Landing(event.id, at, event.confidence, event.layer, event.provisional)
            return True
        if seat is not None:
            self.laid.discard(seat)
        if self.phase != "play" or self.free or seat in self.punished:
            return True
        if not self.decree_slap_costs and self.last_card is not None and self.word(self.last_card) in _DECREES:
            return True
        if self.freedom_ended is not None and _before(self.freedom_ended, at) < self.threshold:
            return True
        slap = _Loose(event.id, seat, at, event.confidence, event.layer, event.provisional)
        if seat is not None:
            self.punished.add(seat)
        if at[1] == 0 and not slap.waits:
            self.false_slap(slap)
        else:
            self.loose.append(slap)
        return True

    def settle_loose(self, event: Event) -> None:
        """Judge the slaps that surely came before this event (H18)."""
        now = (event.at.at_ns, event.at.sd_ns)
        for slap in list(self.loose) if self.phase == "play" else []:
            if slap.waits or _before(slap.at, now) < self.threshold:
                continue
            self.loose.remove(slap)
            self.false_slap(slap)

    def false_slap(self, slap: _Loose) -> None:
        seat = slap.seat
        if seat is None:
            said = self.answers.get(f"seat:{slap.id}")
            if said is None:
                self.hold("H18", None)
                return
            seat = int(said)
        effect: PlainEffect = ("draw", seat, _FALSE_DRAWS)
        if self.fault(f"{slap.id}:false_slap", "H18", seat, effect, sure=slap.sure) == "fault":
            self.owe("H18", seat, _FALSE_DRAWS, slap.id)

    def shout(self, event: Shout) -> None:
        if " ".join(event.phrase.lower().replace("!", " ").split()) != _CALL:
            return
        at = (event.at.at_ns, event.at.sd_ns)
        races = self.open_races()
        for race in races:
            if race.call is None and (event.seat is None or event.seat == race.seat):
                race.call, race.call_sure = at, event.confidence
        if not races and not self.free:
            self.early_calls.append((event.seat, at))

    def look_at_races(self, event: Event) -> None:
        for race in self.open_races():
            self.look(race, event)

    def look(self, race: _Race, event: Event) -> None:
        now = (event.at.at_ns, event.at.sd_ns)
        if any(hand.waits for hand in race.hands.values()):
            return
        missing = [seat for seat in race.members if seat not in race.hands]
        call = self.call_state(race, now)
        said = self.answers.get(f"call:{race.id}")
        only_discarder = missing == [race.seat]
        if call == "bad" and said != "in time":
            self.say("H16", "fault", race.seat, ("draw", race.seat, _LAST_DRAWS))
            self.race_over(race, event, "H16", [race.seat])
            return
        if call == "doubt":
            if said is None:
                if not race.asked_call:
                    race.asked_call = True
                    self.say("H28", "ask", race.seat)
            elif said == "forgotten":
                self.say("H16", "fault", race.seat, ("draw", race.seat, _LAST_DRAWS))
                self.race_over(race, event, "H16", [race.seat])
                return
            else:
                call = "good"
        if call == "bad":
            call = "good"
        if call != "good" and not only_discarder:
            return
        self.who_was_last(race, event, missing)

    def call_state(self, race: _Race, now: When) -> str:
        """Whether the call counted (H16, H28): ``good``, ``bad``, ``doubt``, or ``open``."""
        if self.trusts_call or race.called_before:
            return "good"
        own = race.hands.get(race.seat)
        others = [hand.at for seat, hand in race.hands.items() if seat != race.seat]
        grace = (race.at[0] + self.grace_ns, race.at[1])
        if race.call is not None:
            p_own = _before(race.call, own.at) if own is not None else 1.0
            p_grace = _before(race.call, grace)
            p_first = math.prod(_before(race.call, at) for at in others)
            sure = p_own * max(p_grace, p_first) * race.call_sure
            if sure >= self.threshold:
                return "good"
            return "bad" if sure <= 1 - self.threshold else "doubt"
        if own is not None and self.landed(own.at, now):
            return "bad" if own.sure >= self.threshold else "doubt"
        touched = race.card_lies or any(self.landed(at, now) for at in others)
        if touched and self.landed(grace, now):
            return "bad"
        return "open"

    def landed(self, at: When, now: When) -> bool:
        """Whether that is surely past: at once where it is exact."""
        return at[0] <= now[0] if at[1] == 0 else _before(at, now) >= self.threshold

    def who_was_last(self, race: _Race, event: Event, missing: list[Seat]) -> None:
        now = (event.at.at_ns, event.at.sd_ns)
        said = self.answers.get(f"last:{race.id}")
        hands = race.hands
        if not missing:
            self.all_landed(race, event, said)
            return
        first = min((hand.at for hand in hands.values()), default=None)
        over = first is not None and self.landed((first[0] + self.window_ns, first[1]), now)
        ended = race.card_lies or over
        if len(missing) == 1:
            doubt = max((hand.at[1] for hand in hands.values()), default=0)
            sure = 1.0
            if doubt:
                instants = {seat: hand.at for seat, hand in hands.items()}
                instants[missing[0]] = (now[0], doubt)
                sure = _last(instants)[missing[0]]
            sure *= math.prod(hand.sure for hand in hands.values())
            if sure + _ROUNDING >= self.threshold:
                self.lost(race, event, "H24", missing[0], said)
                return
        if ended:
            if said is None:
                if not race.asked_last:
                    race.asked_last = True
                    self.say("H24", "ask", race.seat)
                return
            self.lost(race, event, "H24", missing[0], said)

    def all_landed(self, race: _Race, event: Event, said: str | None) -> None:
        hands = race.hands
        if self.last_by_top and all(hand.layer is not None for hand in hands.values()):
            top = max(hands, key=lambda seat: hands[seat].layer or 0)
            shares = {seat: float(seat == top) for seat in hands}
        elif race.orders and all(set(order) >= set(hands) for order, _ in race.orders):
            shares = dict.fromkeys(hands, 0.0)
            for order, share in race.orders:
                shares[[seat for seat in order if seat in hands][-1]] += share
        else:
            shares = _last({seat: hand.at for seat, hand in hands.items()})
        shares = {seat: min(1.0, share + _ROUNDING) for seat, share in shares.items()}
        best = max(hands, key=lambda seat: shares[seat])
        if said is not None:
            self.lost(race, event, "H15", best, said)
            return
        if shares[best] * hands[best].sure >= self.threshold:
            self.lost(race, event, "H15", best, None)
            return
        close = sorted(
            (one for one in hands if shares[one] > 1 - self.threshold), key=lambda one: -shares[one] * hands[one].sure
        )
        if self.close_call == "ask" or shares[best] >= self.threshold:
            if not race.asked_last:
                race.asked_last = True
                self.say("H25", "ask", race.seat)
            return
        drawers = close if self.close_call == "both" else []
        self.say("H25", "too close", None, *(("draw", seat, _LAST_DRAWS) for seat in drawers))
        self.race_over(race, event, "H15", drawers)

    def lost(self, race: _Race, event: Event, clause: str, seat: Seat, said: str | None) -> None:
        if said == "none":
            self.say(clause, "note")
            self.race_over(race, event, "H15", [])
            return
        if said == "both":
            landed = sorted(race.hands, key=lambda one: (race.hands[one].at[0], race.hands[one].id))[-2:]
            if not landed:
                self.say(clause, "note")
            else:
                self.say(
                    clause,
                    "lost",
                    None if len(landed) > 1 else landed[0],
                    *(("draw", one, _LAST_DRAWS) for one in landed),
                )
            self.race_over(race, event, "H15", landed)
            return
        if said is not None:
            seat = int(said)
        self.say(clause, "lost", seat, ("draw", seat, _LAST_DRAWS))
        self.race_over(race, event, "H15", [seat])

    def race_over(self, race: _Race, event: Event, clause: str, drawers: list[Seat]) -> None:
        race.done = True
        since = max([race.id, *(hand.id for hand in race.hands.values())])
        for seat in drawers:
            self.owe(clause, seat, _LAST_DRAWS, since)
        if race.final:
            if race.seat in drawers:
                self.say("H23", "note", race.seat)
            elif not any(debt.seat == race.seat for debt in self.debts):
                self.goes_out(event, race.seat)

    # --- the end of a hand, counting ---------------------------------------------------------------------------

    def unjudged(self) -> None:
        """What waited for an answer is not judged."""
        if self.waits is not None:
            self.say(self.waits[0], "note", self.waits[1])
            self.waits = None
            self.compare = False

    def goes_out(self, event: Event, seat: Seat) -> None:
        self.say("H20", "won", seat)
        self.winner = seat
        self.hand_ends(event)

    def hand_ends(self, event: Event) -> None:
        self.phase = "count"
        self.counted = {}
        for seat in self.playing:
            self.notice_debts(event, seat)

    def count(self, event: Counted) -> None:
        self.unjudged()
        if event.seat is None or self.phase not in ("play", "count"):
            return
        if self.phase == "play":
            self.say("H20", "note")
            self.hand_ends(event)
        seat = event.seat
        if seat in self.counted:
            return
        points = sum(int(self.deck.trait(card, "number") or 10) for card in event.cards)
        self.counted[seat] = event.cards
        self.scores[seat] += points
        self.say("H20", "note", seat, ("score", seat, points))
        held = self.hands[seat]
        if self.compare and len(event.cards) != held:
            what = "cards_missing" if len(event.cards) < held else "cards_too_many"
            self.fault(f"{event.id}:{what}", "H20", seat, sure=event.confidence)
        if all(one in self.counted or one == self.winner for one in self.playing):
            laid = Counter(card for cards in self.counted.values() for card in cards)
            for card, number in laid.items():
                if number > self.deck.counts.get(card, 0):
                    self.fault(f"{event.id}:more_than_the_deck:{card}", "H2", None)
            self.hand_over()

    def hand_over(self) -> None:
        """All have counted: the game is won, or the deal passes."""
        if max(self.scores[seat] for seat in self.playing) >= _ENOUGH:
            lowest = self.lowest()
            if self.shares_ties or len(lowest) == 1:
                self.game_won()
                return
            self.say("H21", "note")
        self.phase = "between"
        self.dealer = self.after(self.dealer, 1)
        self.say("H33", "note", self.dealer)

    def lowest(self) -> list[Seat]:
        least = min(self.scores[seat] for seat in self.playing)
        return [seat for seat in self.playing if self.scores[seat] == least]

    def game_won(self) -> None:
        for seat in self.lowest():
            self.say("H21", "won", seat)
        self.over = True


# --- who was last ----------------------------------------------------------------------------------------------


def _before(one: When, other: When) -> float:
    """How surely `one` came before `other`."""
    spread = math.hypot(one[1], other[1])
    gap = other[0] - one[0]
    if spread == 0:
        return 0.5 if gap == 0 else 1.0 if gap > 0 else 0.0
    return _cdf(gap / spread)


def _cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _last(instants: Mapping[Seat, When]) -> dict[Seat, float]:
    """The probability of each to be the very last: its density times everybody else's chance to be earlier."""
    shares = {}
    for who, (at, sd) in instants.items():
        others = [instant for other, instant in instants.items() if other != who]
        if sd == 0:
            level = sum(1 for other in others if other == (at, 0))
            shares[who] = math.prod(_earlier(o, at) for o in others if o != (at, 0)) / (level + 1)
            continue
        shares[who] = _simpson(at, sd, others)
    return shares


def _simpson(at: int, sd: int, others: Iterable[When]) -> float:
    others = list(others)
    steps = 400
    width = 16 * sd / steps
    total = 0.0
    for step in range(steps + 1):
        x = at - 8 * sd + step * width
        weight = 1 if step in (0, steps) else 4 if step % 2 else 2
        density = math.exp(-0.5 * ((x - at) / sd) ** 2) / (sd * math.sqrt(2 * math.pi))
        total += weight * density * math.prod(_earlier(other, x) for other in others)
    return total * width / 3


def _earlier(instant: When, x: float) -> float:
    mean, sd = instant
    if sd == 0:
        return 1.0 if mean < x else 0.0 if mean > x else 0.5
    return _cdf((x - mean) / sd)
