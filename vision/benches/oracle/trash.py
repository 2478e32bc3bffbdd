"""A second opinion on Trash, written from the numbered clauses as a plain walk over everything that happened."""

from __future__ import annotations

from collections.abc import Sequence

from referee.cards import Card, Deck, Seat
from referee.events import Answer, Dealt, Ended, Event, Moved, Peeked, Shown, Taken
from vision.benches.oracle import Opinion, PlainEffect, Sitting

_STOCK, _TRASH = "stock", "trash"
_NUMBERS = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10")


class TrashOracle:
    """Judges Trash."""

    def judge(self, sitting: Sitting, course: Sequence[Event]) -> list[list[Opinion]]:
        """The opinions that each event leads to."""
        table = _Table(sitting)
        return [table.hear(event) for event in course]


ORACLE = TrashOracle()


class _Table:
    def __init__(self, sitting: Sitting) -> None:
        options = sitting.options
        self.deck: Deck = sitting.deck
        self.threshold = float(options["confidence"])
        self.must_place = bool(options["trash_must_place"])
        self.may_decline = str(options["may_decline"])
        self.shrinking = options["match"] == "shrinking"
        self.jokers = options["jokers"] == "wild"
        self.wild_rank = "J" if options["wild"] == "jack" else "K"
        self.answers: dict[str, str] = {}
        self.out: list[Opinion] = []
        self.sizes = [10, 10]
        self.rounds = [0, 0]
        self.over = False
        self.lay(1 - sitting.dealer)

    def lay(self, first: Seat) -> None:
        """A new round: face-down layouts, the rest is the stock."""
        self.layouts: list[list[Card | None]] = [[None] * size for size in self.sizes]
        self.trash: list[Card] = []
        self.stock = self.deck.size - sum(self.sizes)
        self.turn = first
        self.first_turn = True
        self.between = self.waits = False
        self.drawn_any = False
        self.holding = False
        self.held: Card | None = None
        self.just_discarded: Seat | None = None
        self.takeable: Seat | None = None
        self.owed_discards = [0, 0]
        self.lying_wrong: str | None = None

    # --- what cards are ------------------------------------------------------------------------------

    def wild(self, card: Card) -> bool:
        return (self.jokers and card.is_joker) or card.rank == self.wild_rank

    def number(self, card: Card) -> int | None:
        rank = card.rank
        return _NUMBERS.index(rank) + 1 if rank in _NUMBERS else None

    def places_for(self, seat: Seat, card: Card) -> list[int]:
        layout = self.layouts[seat]
        if self.wild(card):
            return [i for i, lies in enumerate(layout, 1) if lies is None]
        number = self.number(card)
        if number is None or number > len(layout):
            return []
        lies = layout[number - 1]
        return [number] if lies is None or self.wild(lies) else []

    def may_be_declined(self, seat: Seat, card: Card) -> bool:
        if self.may_decline == "all":
            return True
        places = self.places_for(seat, card)
        if not places:
            return True
        if self.may_decline == "none":
            return False
        return self.wild(card) or self.layouts[seat][places[0] - 1] is not None

    # --- saying --------------------------------------------------------------------------------------

    def say(self, clause: str, verdict: str, seat: Seat | None = None, *effects: PlainEffect) -> None:
        self.out.append(Opinion(clause, verdict, seat, effects))

    def fault(
        self, event: Event, what: str, clause: str, seat: Seat, *effects: PlainEffect, sure: float, holds: bool = False
    ) -> str:
        """Raise a fault or ask for it: ``fault``, ``void`` or ``ask``."""
        said = self.answers.get(f"fault:{event.id}:{what}")
        if said == "void":
            self.say(clause, "note", seat)
            return "void"
        if said is None and sure < self.threshold:
            self.say(clause, "ask", seat)
            self.waits = self.waits or holds
            return "ask"
        self.say(clause, "fault", seat, *effects)
        return "fault"

    def who(self, event: Event, clause: str) -> Seat | None:
        """Who did it, as told or as a person says; None: asked, and what follows waits."""
        if event.seat is not None:
            return event.seat
        said = self.answers.get(f"seat:{event.id}")
        if said is None:
            self.say(clause, "ask")
            self.waits = True
            return None
        return int(said)

    # --- hearing -------------------------------------------------------------------------------------

    def hear(self, event: Event) -> list[Opinion]:
        self.out = []
        if isinstance(event, Answer):
            self.answers[event.question] = event.says
        elif self.over:
            pass
        elif isinstance(event, Dealt):
            self.dealt()
        elif isinstance(event, Ended):
            self.ended()
        elif self.between or self.waits:
            pass
        elif isinstance(event, Taken):
            self.taken(event)
        elif isinstance(event, Shown):
            self.shown(event)
        elif isinstance(event, Peeked):
            self.peeked(event)
        elif isinstance(event, Moved) and (str(event.source), str(event.target)) == (_TRASH, _STOCK):
            self.shuffle()
        return self.out

    def dealt(self) -> None:
        if self.between:
            self.lay(self.turn)
        elif self.drawn_any or self.waits:
            # What waits for an answer was play, too.
            self.say("T13", "note")
            self.lay(self.turn)

    def ended(self) -> None:
        most = max(self.rounds)
        for seat in (0, 1):
            if self.rounds[seat] == most:
                self.say("T13", "won", seat)
        self.over = True

    def shuffle(self) -> None:
        self.stock += max(len(self.trash) - 1, 0)
        self.trash = self.trash[-1:]

    # --- drawing -------------------------------------------------------------------------------------

    def taken(self, event: Taken) -> None:
        pile = str(event.pile)
        if event.pile.kind == "place":
            self.taken_off_place(event)
            return
        if pile not in (_STOCK, _TRASH):
            return
        seat = self.who(event, "T5")
        if seat is None:
            return
        sure = event.confidence
        if seat == self.takeable and pile == _TRASH and seat == self.just_discarded and not self.holding:
            # The card that was not to be declined is in hand again, and so is the turn (T10).
            self.turn, self.holding, self.held = seat, True, self.trash.pop()
            self.takeable = self.just_discarded = None
            return
        if seat != self.turn:
            if not self.holding:
                twice = seat == self.just_discarded
                what = "drew_twice" if twice else "drew_out_of_turn"
                self.fault(event, what, "T5", seat, sure=sure, holds=not twice)
                return
            if self.fault(event, "no_discard", "T9", self.turn, sure=sure) == "ask":
                return
            self.owed_discards[self.turn] += 1
            self.turn = seat
            self.holding, self.held, self.first_turn = False, None, False
        elif self.holding:
            self.fault(event, "drew_twice", "T5", seat, sure=sure)
            return
        self.draw(event, seat, pile)

    def draw(self, event: Taken, seat: Seat, pile: str) -> None:
        if pile == _TRASH and (self.first_turn or not self.trash):
            what = "trash_on_first_turn" if self.first_turn else "no_trash_pile"
            self.fault(event, what, "T5", seat, sure=event.confidence)
            return
        if event.count > 1:
            self.fault(event, "drew_twice", "T5", seat, sure=event.confidence)
        self.drawn_any = True
        self.holding, self.held = True, None
        self.just_discarded = self.takeable = None
        if pile == _TRASH:
            self.held = self.trash.pop()
            if self.must_place and not self.places_for(seat, self.held):
                self.fault(event, "trash_must_place", "T5", seat, sure=event.confidence)
            return
        if self.stock == 0:
            self.shuffle()
        self.stock = max(self.stock - 1, 0)
        if self.stock == 0 and len(self.trash) > 1:
            self.say("T12", "note", None, ("put_together", (_TRASH,), _STOCK))

    def taken_off_place(self, event: Taken) -> None:
        if str(event.pile) == self.lying_wrong:
            self.lying_wrong = None
            return
        self.look(event, str(event.pile))

    def peeked(self, event: Peeked) -> None:
        self.look(event, str(event.pile))

    def look(self, event: Event, pile: str) -> None:
        """A card that lies face down was looked at (T3)."""
        if pile == _TRASH:
            return
        if pile.startswith("place:"):
            _, owner, place = pile.split(":")
            layout = self.layouts[int(owner)]
            if int(place) > len(layout) or layout[int(place) - 1] is not None:
                return
        seat = self.who(event, "T3")
        if seat is not None:
            self.fault(event, "peek", "T3", seat, sure=event.confidence)

    # --- cards shown ---------------------------------------------------------------------------------

    def shown(self, event: Shown) -> None:
        pile = event.pile
        onto_trash = str(pile) == _TRASH
        if not onto_trash and pile.kind != "place":
            return
        if onto_trash:
            found = self.who(event, "T9")
            if found is None:
                return
            seat = found
        else:
            assert pile.seat is not None
            seat = pile.seat if event.seat is None else event.seat
        card = self.which(event, seat, onto_trash)
        if card is None:
            return
        if onto_trash:
            self.discard(event, seat, card)
        else:
            assert pile.seat is not None
            assert pile.place is not None
            self.place(event, seat, card, pile.seat, pile.place)

    def which(self, event: Shown, seat: Seat, onto_trash: bool) -> Card | None:
        """Which card it is; None: asked, and what follows waits."""
        said = self.answers.get(f"card:{event.id}")
        if said is not None:
            return Card.parse(said)
        if event.card is None:
            if self.holding and seat == self.turn and self.held is not None:
                return self.held
            self.say("T9" if onto_trash else "T6", "ask", seat)
            self.waits = True
            return None
        if self.holding and seat == self.turn and event.card == self.held:
            return event.card
        # What is known to be in the other's hand can't be here either.
        lying = [*self.layouts[0], *self.layouts[1], *self.trash, self.held]
        if event.card not in self.deck.counts or event.card in lying:
            self.say("T1", "ask", seat)
            self.waits = True
            return None
        return event.card

    def place(self, event: Shown, seat: Seat, card: Card, owner: Seat, place: int) -> None:
        back: PlainEffect = ("take_back", seat, str(card))
        sure = event.confidence
        mine = self.holding and seat == self.turn
        if owner != seat:
            self.lying_wrong = str(event.pile)
            self.fault(event, "other_layout", "T6", seat, back, sure=sure)
            return
        if not mine:
            self.lying_wrong = str(event.pile)
            if seat != self.turn:
                clause, what = ("T9", "goes_on") if seat == self.just_discarded else ("T5", "out_of_turn")
                self.fault(event, what, clause, seat, back, sure=sure)
                return
            if self.fault(event, "not_drawn", "T5", seat, back, sure=sure, holds=True) != "void":
                return
            # Without a fault a card was drawn from the stock, and it is this one.
            self.stock = max(self.stock - 1, 0)
            self.holding = self.drawn_any = True
            self.held, self.just_discarded, self.takeable = card, None, None
        if self.held is not None and self.held != card:
            self.fault(event, "not_the_card_in_hand", "T6", seat, sure=sure)
        places = self.places_for(seat, card)
        there = place <= len(self.layouts[seat])
        lies = self.layouts[seat][place - 1] if there else None
        if place not in places:
            if not places:
                clause, what = "T9", "cannot_be_placed"
            elif self.wild(card):
                clause, what = "T7", "wrong_place"
            else:
                clause, what = ("T6" if lies is None else "T8"), "wrong_place"
            self.held = card
            self.lying_wrong = str(event.pile)
            if self.fault(event, what, clause, seat, back, sure=sure, holds=True) != "void" or not there:
                return
        if lies is not None and self.wild(lies):
            self.say("T8", "note", seat)
        self.put(seat, place, card)

    def put(self, seat: Seat, place: int, card: Card) -> None:
        """The card lies there now, and what lay there is in hand."""
        self.lying_wrong = None
        self.held = self.layouts[seat][place - 1]
        self.layouts[seat][place - 1] = card
        if all(card is not None for card in self.layouts[seat]):
            self.win(seat)

    def win(self, seat: Seat) -> None:
        self.say("T11", "won", seat)
        self.rounds[seat] += 1
        self.between = True
        loser = 1 - seat
        if self.shrinking:
            if self.sizes[seat] == 1:
                self.say("T13", "won", seat)
                self.over = True
                return
            self.sizes[seat] -= 1
            self.say("T13", "note", seat)
        self.say("T5", "note", loser, ("next_turn", loser))
        self.turn = loser

    def discard(self, event: Shown, seat: Seat, card: Card) -> None:
        back: PlainEffect = ("take_back", seat, str(card))
        sure = event.confidence
        self.lying_wrong = None
        if self.owed_discards[seat] and not (seat == self.turn and self.holding):
            self.owed_discards[seat] -= 1
            self.trash.append(card)
            return
        if seat != self.turn or not self.holding:
            what = "not_drawn" if seat == self.turn else "discarded_out_of_turn"
            self.lying_wrong = _TRASH
            if self.fault(event, what, "T5", seat, back, sure=sure, holds=True) != "void":
                return
            # Without a fault it was that player's turn, and this card was drawn.
            self.lying_wrong = None
            if seat != self.turn:
                self.trash.append(card)
                self.pass_turn(seat)
                return
            self.held, self.drawn_any = card, True
            self.stock = max(self.stock - 1, 0)
        if self.held is not None and self.held != card:
            self.fault(event, "not_the_card_in_hand", "T6", seat, sure=sure)
        self.takeable = None
        if not self.may_be_declined(seat, card):
            said = self.fault(event, "declined", "T10", seat, back, sure=sure, holds=True)
            if said == "ask":
                return
            self.takeable = seat if said == "fault" else None
        self.trash.append(card)
        self.pass_turn(seat)

    def pass_turn(self, seat: Seat) -> None:
        self.turn, self.just_discarded = 1 - seat, seat
        self.holding, self.held, self.first_turn = False, None, False
