"""A second opinion on Hit the Deck, written from the numbered clauses as a plain walk over everything that happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from referee.cards import Card, Seat
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
from vision.benches.oracle.hit_the_deck_slaps import Slaps
from vision.benches.oracle.hit_the_deck_table import DISCARD, DRAW, Duty, Landing, Race

_AT_THE_TABLE = (Shown, Taken, Moved, Turned, Peeked, Slap, Lifted, Finish, Shout, Tick)
_DECREES = ("hit number", "hit colour")
_ENOUGH = 100


class HitTheDeckOracle:
    """Judges Hit the Deck."""

    def judge(self, sitting: Sitting, course: Sequence[Event]) -> list[list[Opinion]]:
        """The opinions that each event leads to."""
        table = _Table(sitting)
        return [table.hear(event) for event in course]


ORACLE = HitTheDeckOracle()


class _Table(Slaps):
    """Everything that can happen at the table."""

    # --- hearing ----------------------------------------------------------------------------------------

    def hear(self, event: Event) -> list[Opinion]:
        self.out = []
        self.now_id = event.id
        self.mark = 0
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
        if self.phase == "between" and isinstance(event, Shown) and str(event.pile) == DISCARD:
            self.deal()
        if self.phase == "deal":
            if isinstance(event, Shown) and str(event.pile) == DISCARD:
                self.first_card(event)
            return
        if self.phase not in ("play", "count"):
            return
        was_empty = self.draw == 0
        self.settle_loose(event)
        looks = True
        if isinstance(event, Slap | Shout):
            self.look_for_calls(event)
        if isinstance(event, Slap) and str(event.pile) == DISCARD:
            looks = self.slap(event)
        elif isinstance(event, Shout):
            self.shout(event)
        elif isinstance(event, Finish) and str(event.pile) == DISCARD:
            for race in self.open_races():
                race.orders = event.orders
        elif isinstance(event, Lifted) and str(event.pile) == DISCARD and event.seat is not None:
            if event.seat in self.laid:
                self.lifts_told = True
            self.laid.discard(event.seat)
            self.punished.discard(event.seat)
        if looks and self.waits is None:
            self.look_at_races(event)
        if self.waits is not None:
            return
        self.mark = len(self.out)
        if self.phase == "count":
            pass
        elif isinstance(event, Shown) and str(event.pile) == DISCARD:
            self.shown(event)
        elif isinstance(event, Taken):
            self.taken(event)
        elif isinstance(event, Moved):
            self.moved(event)
        elif isinstance(event, Turned):
            self.turned(event)
        if self.phase == "play" and self.draw == 0 and not was_empty and self.discards > 1:
            self.say("H19", "note", None, ("put_together", (DISCARD,), DRAW))

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
        missing = [seat for seat in self.playing if seat != self.winner and seat not in self.counted]
        if self.winner is None and len(missing) == 1:
            # The one who had no cards to lay out.
            missing = []
        for seat in missing:
            self.fault(f"{event.id}:not_counted:{seat}", "H20", seat)
        self.hand_over(event)

    def joined(self) -> None:
        self.scores.append(max(self.scores[seat] for seat in self.playing))
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
        elif self.phase == "count" and all(one in self.counted or one == self.winner for one in self.playing):
            self.hand_over(event)

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
        self.duty = Duty("cut", seat, "H10", follows)
        self.turn = seat

    def due_flip(self, seat: Seat, player: Seat) -> None:
        if self.drawable() < 1:
            self.say("H27", "note", seat)
            return
        self.say("H11", "note", seat)
        if self.draw == 0:
            self.shuffle_first("H12")
        self.duty = Duty("flip", seat, "H11", player)

    def shuffle_first(self, clause: str) -> None:
        self.say(clause, "note", None, ("put_together", (DISCARD,), DRAW))
        self.shuffle()

    def shuffle(self) -> None:
        if self.discards > 1:
            self.draw += self.discards - 1
            self.discards = 1

    # --- discards -------------------------------------------------------------------------------------------

    def shown(self, event: Shown) -> None:
        source = None if event.source is None else str(event.source)
        if source == DRAW:
            if self.duty is not None and self.duty.what == "bury":
                self.buried(event, from_draw=True)
            else:
                self.cut(event)
            return
        burying = self.duty if self.duty is not None and self.duty.what == "bury" else None
        if source == DISCARD or (burying is not None and event.seat in (None, burying.seat)):
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
        self.next_card_lies(event)
        if self.phase != "play":
            return
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
            race = Race(event.id, seat, at, list(self.playing), self.hands[seat] <= 0)
            race.called_before = any(who is None or who == seat for who, _ in calls)
            self.races.append(race)
            self.free = True
            self.freedom_ended = None
            for slap in list(self.loose):
                self.loose.remove(slap)
                if slap.seat is not None:
                    race.hands.setdefault(slap.seat, Landing(slap.id, slap.at, slap.sure, slap.layer, slap.waits))
            return
        if self.hands[seat] <= 0:
            if word is not None:
                self.say("H23", "note", seat)
            self.turn, self.drew = self.after(seat), False
            if out:
                self.goes_out(event, seat)
            return
        self.due(card, seat)

    def next_card_lies(self, event: Event) -> None:
        for race in self.open_races():
            race.card_lies = True
        self.look_at_races(event)

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

    def lapse(self, duty: Duty) -> None:
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
                self.duty = Duty("bury", doer, "H12", self.turn)
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
            self.duty = Duty("bury", doer, "H26" if by_cut else "H12", self.turn)
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
        if pile not in (DRAW, DISCARD):
            return
        duty = self.duty
        if duty is None or duty.what != "flip":
            if not self.flip_told:
                seat = self.turn if event.seat is None else event.seat
                self.flip_told = True
                self.fault(f"{event.id}:no_flip_due", "H11", seat, sure=event.confidence, holds=True)
            return
        card = None
        if pile == DRAW:
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
        if event.source.kind == "hand" and target == DRAW:
            seat = event.source.seat
            if seat is not None and seat < self.seats:
                count = self.hands[seat] if event.count is None else min(event.count, self.hands[seat])
                self.hands[seat] -= count
                self.draw += count
        elif source == DISCARD and target == DRAW and event.count is None:
            self.shuffle()

    # --- drawing -------------------------------------------------------------------------------------------

    def taken(self, event: Taken) -> None:
        pile = str(event.pile)
        if pile == DISCARD:
            if self.back:
                self.back -= 1
                return
            seat = self.who(event, "H6")
            if seat is not None:
                self.fault(f"{event.id}:took_discards", "H9", seat, sure=event.confidence)
            return
        if pile != DRAW:
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
            self.hand_over(event)

    def hand_over(self, event: Event) -> None:
        """All have counted: the game is won, or the deal passes."""
        laid = Counter(card for cards in self.counted.values() for card in cards)
        for card, number in laid.items():
            if number > self.deck.counts.get(card, 0):
                self.fault(f"{event.id}:more_than_the_deck:{card}", "H2", None)
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
