"""Hit the Deck as a film: one hand, from the first card turned up to the count."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from referee.cards import Card, Pile, Seat
from referee.events import Counted, Dealt, Event, Lifted, Moved, Shout, Shown, Slap, Taken, Turned
from referee.games.hit_the_deck import CALL, GAME
from referee.games.hit_the_deck_state import DISCARD, DRAW, HitTheDeckState
from referee.ruling import Ruling, TakeBack
from vision.films.arm_looks import ArmLook
from vision.films.bots.fouls import Fouls
from vision.films.dealing import dealt, gathered, shuffled
from vision.films.direct import LAST_DEAL_S, QUIET_S, Direction, at, players_arms
from vision.films.kinematics import Family, Strike
from vision.films.script import Script, Sound

CARDS_EACH = 7
PACKET = Pile("packet")
FALSE_SLAPS = 0.05
"""Chance a turn that somebody slaps though nobody should, where no share of fouls is set."""
FOULS = ("false_slap", "illegal", "out_of_turn", "two_cards", "second_draw", "draws_out_of_turn")
"""What can go wrong in a turn of a film; a cut, a flip, a call, a penalty or a count may go wrong besides."""
CALLED_S = 0.8
"""How long it takes until somebody has called a foul."""


class HitTheDeckFilm(Direction[HitTheDeckState]):
    """Hit the Deck, hand after hand; the cards that players hold are off the table, out of the camera's sight."""

    def __init__(
        self,
        looks: Mapping[Seat, ArmLook],
        table_mm: tuple[float, float],
        rng: np.random.Generator,
        *,
        dealer: Seat = 0,
        cards_each: int = CARDS_EACH,
        voices: bool = True,
        options: Mapping[str, object] | None = None,
        fouls: Fouls | None = None,
        deal: bool = False,
        written: bool = False,
    ) -> None:
        """Deal, unseen unless `deal`; `voices`: calls can be heard, else the call is taken on trust.

        `fouls`: what goes wrong beside slaps now and then; None: nothing.
        """
        chosen = {"announce": "call" if voices else "trust", **(options or {})}
        super().__init__(GAME, looks, table_mm, rng, dealer=dealer, options=chosen, written=written)
        self.voices = voices and chosen["announce"] == "call"
        self._fouls = fouls
        self.dealer = dealer
        self._to_deal = deal
        self._cards_each = cards_each
        cards = self._in_order()
        for seat in range(len(looks)):
            hand = self.stage.hands[seat, True]
            inward = self.stage.inward(seat)
            self.stage.add_place(Pile("hand", seat), *hand.home, math.atan2(inward[0], -inward[1]))
            edge = hand.edge
            before = (edge[0] + inward[0] * 80.0, edge[1] + inward[1] * 80.0)
            self.stage.add_place(Pile("dealt", seat), *before, math.atan2(inward[0], -inward[1]))
            if not deal:
                self.stage.put(Pile("hand", seat), cards[-cards_each:], face_up=False)
                cards = cards[:-cards_each]
        x, y, turn = self.stage.places[DRAW]
        self.stage.add_place(PACKET, x - 0.135 * table_mm[0], y, turn)
        self.stage.put(DRAW, cards, face_up=False)

    def play(self, seconds: float, *, hands: int | None = None) -> Script:
        """Play hand after hand, each to its count, until so many are over (None: as many as fit) or the time is up."""
        now, played = QUIET_S, 0
        if self._to_deal:
            now = self.deal_anew(now, seconds)
        else:
            self.tell(Dealt(at=at(0.0), seat=self.setup.dealer))
        while not self._to_deal:
            now = self._hand_through(now, seconds)
            played += 1
            if self.match.state.phase != "between" or played == hands or now > seconds - LAST_DEAL_S:
                break
            self.dealer = self.match.state.dealer
            now = self.deal_anew(self.gather(now), seconds)
        return self.end(now)

    def _hand_through(self, now: float, seconds: float) -> float:
        now = self._show(self.dealer, DRAW, now, source=DRAW) + 0.4
        while now < seconds - 6 and self.match.state.phase == "play":
            now = self._step(now) + float(self.rng.uniform(0.2, 0.6))
        if self.match.state.phase == "count":
            now = self._count(now + 0.4)
        return now

    def gather(self, now: float) -> float:
        """Everybody pushes together what they laid out; then all of it goes onto the draw pile."""
        stage = self.stage
        players = range(len(self.setup.players))
        for seat in players:
            laid_out = [pile for pile in stage.stacks if pile.kind == "count" and pile.seat == seat]
            now = gathered(stage, seat, laid_out, DRAW, now)
            now = gathered(stage, seat, [Pile("hand", seat)], DRAW, now)
        return gathered(stage, self.dealer, [DISCARD], DRAW, now)

    def deal_anew(self, now: float, until_s: float) -> float:
        """Shuffle, deal one card after another, and let everybody pick theirs up; not whole where time runs out."""
        self._to_deal = True
        players = len(self.setup.players)
        cards = self._in_order()
        now = shuffled(self.stage, self.dealer, DRAW, cards, now)
        order = [Pile("dealt", (self.dealer + 1 + i) % players) for i in range(players * self._cards_each)]
        now, whole = dealt(self.stage, self.dealer, DRAW, order, now, until_s)
        if not whole:
            return now
        picked = [
            self.stage.carry(seat, Pile("dealt", seat), Pile("hand", seat), now, count=None)[1]
            for seat in range(players)
        ]
        self.tell(Dealt(at=at(max(picked)), seat=self.dealer))
        self._to_deal = False
        return max(picked) + 0.5

    def _in_order(self) -> list[str]:
        """A shuffled deck; the card that will open the hand is a plain one."""
        dealt_out = self._cards_each * len(self.setup.players)
        cards = self.shuffled()
        while self.unseen is None and self.deck.trait(Card(cards[-1 - dealt_out]), "word") is not None:
            cards = self.shuffled()
        return cards

    # --- one thing after another ------------------------------------------------------------------

    def _step(self, now: float) -> float:
        state = self.match.state
        for debt in state.debts:
            if debt.taken < debt.count:
                too_many = self._goes_wrong()
                return self._draw(debt.seat, debt.count - debt.taken + too_many, now)
        if state.duty is not None:
            return self._duty(now)
        seat = state.next_seat(state.turn) if state.drew else state.turn
        if self._fouls is not None:
            self._fouls.turn_begins()
            before = now
            now = self._foul(seat, now)
            if now > before:
                return now
        elif self.rng.random() < FALSE_SLAPS:
            now = self._false_slap(now)
            if self.match.state.debts:
                return now
        fitting = [card for card in self._hand(seat) if self._fits(Card(card))]
        if fitting:
            return self._discard(seat, str(self.rng.choice(fitting)), now)
        now = self._draw(seat, 1 + self._is_due("second_draw"), now)
        drawn = self._hand(seat)[-1]
        if self.match.state.phase == "play" and self._fits(Card(drawn)) and self.rng.random() < 0.85:
            return self._discard(seat, drawn, now + 0.2)
        return now

    def _hand(self, seat: Seat) -> list[str]:
        return [card.card for card in self.stage.stacks[Pile("hand", seat)]]

    def _discard(self, seat: Seat, card: str, now: float) -> float:
        hand = self.stage.stacks[Pile("hand", seat)]
        chosen = max(i for i, held in enumerate(hand) if held.card == card)
        hand.append(hand.pop(chosen))
        return self._show(seat, Pile("hand", seat), now)

    def _show(self, seat: Seat, pile: Pile, now: float, *, source: Pile | None = None) -> float:
        """Turn the top card of a pile onto the discards, and play out the slap that it may call for."""
        races = len(self.match.state.races)
        card = Card(self.stage.stacks[pile][-1].card)
        _, laid = self.stage.carry(seat, pile, DISCARD, now, over=True, pace=self.pace())
        rulings = self.tell(Shown(at=at(laid), seat=seat, card=card, pile=DISCARD, source=source))
        if _goes_back(rulings):
            return self._takes_back(seat, laid + CALLED_S)
        if len(self.match.state.races) > races:
            return self._everybody_slaps(seat, laid)
        state = self.match.state
        goes_on = source is None and state.phase == "play" and state.duty is None and not state.debts
        if goes_on and self._hand(seat) and self._is_due("two_cards"):
            return self._discard(seat, self._hand(seat)[-1], laid + 0.15)
        return laid

    def _draw(self, seat: Seat, count: int, now: float) -> float:
        now = self.reshuffle(seat, now)
        count = min(count, len(self.stage.stacks[DRAW]))
        if count < 1:
            return now + 0.5
        lifted, laid = self.stage.carry(seat, DRAW, Pile("hand", seat), now, count=count, pace=self.pace())
        self.tell(Taken(at=at(lifted), seat=seat, pile=DRAW, count=count))
        return laid

    def reshuffle(self, seat: Seat, now: float) -> float:
        """The discards but the one on top become the draw pile, where that is used up."""
        stage = self.stage
        if stage.stacks[DRAW] or len(stage.stacks[DISCARD]) < 2:
            return now
        _, laid = stage.carry(seat, DISCARD, PACKET, now, right=False)
        _, laid = stage.carry(seat, DISCARD, DRAW, laid, count=None, over=True)
        names = [card.card for card in stage.stacks[DRAW]]
        stage.put(DRAW, self.mixed(names), face_up=False, at_s=laid)
        self.tell(Moved(at=at(laid), seat=seat, source=DISCARD, target=DRAW))
        _, laid = stage.carry(seat, PACKET, DISCARD, laid + 0.1, right=False)
        return laid + 0.2

    def _duty(self, now: float) -> float:
        duty = self.match.state.duty
        assert duty is not None
        match duty.what:
            case "cut":
                seat = self._someone_else(duty.seat) if self._goes_wrong() else duty.seat
                return self._cut(seat, self.reshuffle(seat, now))
            case "flip":
                seat = self._someone_else(duty.seat) if self._goes_wrong() else duty.seat
                return self._flip(seat, self.reshuffle(seat, now))
            case _:
                return self._bury(duty.seat, now, below=duty.clause == "H12")

    def _cut(self, seat: Seat, now: float) -> float:
        """Lift about half, put the card so exposed on the discards, and put the packet back."""
        height = len(self.stage.stacks[DRAW])
        packet = max(0, min(height - 1, round(height * float(self.rng.uniform(0.35, 0.65)))))
        if packet:
            _, now = self.stage.carry(seat, DRAW, PACKET, now, count=packet, right=False, away=False)
        done = self._show(seat, DRAW, now, source=DRAW)
        if packet:
            _, back = self.stage.carry(seat, PACKET, DRAW, done, count=None, right=False)
            done = max(done, back)
        return done

    def _flip(self, seat: Seat, now: float) -> float:
        """Turn both piles over and let them change places."""
        stage = self.stage
        _, aside = stage.carry(seat, DRAW, PACKET, now, count=None, over=True, right=False)
        _, first = stage.carry(seat, DISCARD, DRAW, aside, count=None, over=True)
        self.tell(Turned(at=at(first), seat=seat, source=DISCARD, target=DRAW))
        _, second = stage.carry(seat, PACKET, DISCARD, first, count=None, right=False)
        top = Card(stage.stacks[DISCARD][-1].card)
        self.tell(Turned(at=at(second), seat=seat, source=DRAW, target=DISCARD, card=top))
        return second

    def _bury(self, seat: Seat, now: float, *, below: bool) -> float:
        stage = self.stage
        if not below:
            _, laid = stage.carry(seat, DISCARD, DRAW, now, over=True, under=True)
            self.tell(Moved(at=at(laid), seat=seat, source=DISCARD, target=DRAW, count=1))
            return self._show(seat, DRAW, laid + 0.2, source=DRAW)
        _, laid = stage.carry(seat, DISCARD, PACKET, now)
        _, laid = stage.carry(seat, PACKET, DISCARD, laid, under=True)
        self.tell(Moved(at=at(laid), seat=seat, source=DISCARD, target=DISCARD, count=1))
        top = Card(stage.stacks[DISCARD][-1].card)
        self.tell(Shown(at=at(laid + 0.05), seat=seat, card=top, pile=DISCARD, source=DISCARD))
        return laid + 0.3

    # --- slaps --------------------------------------------------------------------------------------

    def _everybody_slaps(self, discarder: Seat, laid: float) -> float:
        """The discarder lifts the hand and calls; everyone slaps; the last is what it is about."""
        rng, stage = self.rng, self.stage
        told: list[Event] = [Lifted(at=at(laid + 0.12), seat=discarder, pile=DISCARD)]
        called = laid + float(rng.uniform(0.2, 0.4))
        if self.voices and not self._goes_wrong():
            told.append(Shout(at=at(called), seat=discarder, phrase=CALL))
            stage.sounds.append(Sound(called, "call", 0.8, stage.places[DISCARD][0], CALL, discarder))
        # The discarder's own hand must be back and out of sight before it can come down again.
        times = {seat: laid + float(rng.uniform(0.55, 1.1)) for seat in self.match.state.playing}
        times[discarder] = max(times[discarder], called + float(rng.uniform(0.75, 1.0)))
        ordered = sorted(times, key=lambda seat: times[seat])
        for earlier, later in pairwise(ordered):
            times[later] = max(times[later], times[earlier] + 0.015)
        lifts: list[float] = []
        for seat in ordered:
            how = (Strike.SIDEWAYS, Strike.OBLIQUE, Strike.OBLIQUE, Strike.DOWN)[int(rng.integers(4))]
            family = (Family.STRAIGHT, Family.CURVED, Family.BRAKING)[int(rng.integers(3))]
            contact = round(times[seat], 6)
            # Whoever is on top lifts first.
            stays = times[ordered[-1]] - contact + 0.5 + 0.12 * (len(ordered) - len(lifts))
            layer = len(lifts)
            lift = stage.strike(seat, DISCARD, contact, layer=layer, how=how, family=family, stays_s=stays)
            if lift is not None:
                lifts.append(lift)
                told.append(Slap(at=at(contact), seat=seat, pile=DISCARD, layer=layer))
                told.append(Lifted(at=at(lift), seat=seat, pile=DISCARD))
        self.tell_in_order(told)
        return max([laid + 1.0, *lifts]) + 0.4

    def _false_slap(self, now: float) -> float:
        seat = int(self.rng.choice(self.match.state.playing))
        contact = round(now + 0.9, 6)
        lift = self.stage.strike(seat, DISCARD, contact, how=Strike.OBLIQUE, stays_s=0.6)
        if lift is None:
            return now
        slap = Slap(at=at(contact), seat=seat, pile=DISCARD, layer=0)
        self.tell_in_order([slap, Lifted(at=at(lift), seat=seat, pile=DISCARD)])
        return lift + 0.5

    # --- fouls --------------------------------------------------------------------------------------

    def _is_due(self, kind: str) -> bool:
        """Whether that foul is to happen now; if so it is taken to have happened."""
        if self._fouls is None or not self._fouls.is_due(kind):
            return False
        self._fouls.done()
        return True

    def _goes_wrong(self) -> bool:
        """Whether an occasion outside the turns goes wrong."""
        return self._fouls is not None and self._fouls.happens()

    def _someone_else(self, seat: Seat) -> Seat:
        assert self._fouls is not None
        return self._fouls.choice([other for other in self.match.state.playing if other != seat])

    def _foul(self, seat: Seat, now: float) -> float:
        """What goes wrong instead of the turn, if anything does: then it is later than `now`."""
        state, fouls = self.match.state, self._fouls
        assert fouls is not None
        if self._is_due("false_slap"):
            return self._false_slap(now)
        wrong = [card for card in self._hand(seat) if not self._fits(Card(card))]
        if wrong and self._is_due("illegal"):
            return self._discard(seat, fouls.card(wrong), now)
        others = [other for other in state.playing if other not in (seat, state.turn, state.last_player)]
        if others and fouls.is_due("out_of_turn"):
            other = fouls.choice(others)
            fouls.done()
            return self._discard(other, fouls.card(self._hand(other)), now)
        if others and fouls.is_due("draws_out_of_turn"):
            fouls.done()
            return self._draw(fouls.choice(others), 1, now)
        return now

    def _takes_back(self, seat: Seat, now: float) -> float:
        """H34: a card that should not lie there goes back to its hand."""
        lifted, laid = self.stage.carry(seat, DISCARD, Pile("hand", seat), now, over=True)
        self.tell(Taken(at=at(lifted), seat=seat, pile=DISCARD))
        return laid + 0.3

    # --- the count ----------------------------------------------------------------------------------

    def _count(self, now: float) -> float:
        """The others lay out what they hold, in a row before them."""
        for seat in self.match.state.playing:
            if seat == self.match.state.winner or self.match.state.phase != "count":
                continue
            now = self._lay_out(seat, now)
        return now + 0.8

    def _lay_out(self, seat: Seat, now: float) -> float:
        cards = self._hand(seat)
        if len(cards) > 1 and self._goes_wrong():
            cards = cards[1:]  # one is kept back
        now = self.spread(seat, len(cards), now)
        self.tell(Counted(at=at(now), seat=seat, cards=tuple(Card(card) for card in reversed(cards))))
        return now + 0.3

    def spread(self, seat: Seat, count: int, now: float) -> float:
        """So many cards of a hand, the last first, face up in a row before the seat; returns when all lie."""
        stage, hand = self.stage, Pile("hand", seat)
        edge, inward = stage.hands[seat, True].edge, stage.inward(seat)
        middle = np.array(stage.table_mm) / 2
        ways = (-inward[1], inward[0])
        turn = math.atan2(inward[0], -inward[1])
        for number in range(count):
            aside = (number - (count - 1) / 2) * 42.0
            place = Pile("count", seat, number)
            from_edge = 62.0
            x = edge[0] + inward[0] * from_edge + ways[0] * (aside - 95.0)
            y = edge[1] + inward[1] * from_edge + ways[1] * (aside - 95.0)
            x = float(np.clip(x, 55, 2 * middle[0] - 55))
            y = float(np.clip(y, 55, 2 * middle[1] - 55))
            stage.add_place(place, x, y, turn)
            _, now = stage.carry(seat, hand, place, now, over=True, pace=1.5)
        return now

    def _fits(self, card: Card) -> bool:
        """Whether the rules let the card be played now, as a player knows them."""
        state = self.match.state
        face = state.house.faces[card]
        if state.decree is not None:
            _, kind, value = state.decree
            if face.hits:
                return state.house.decree_chain
            return value == (face.number if kind == "number" else face.colour)
        if state.top is None or face.hits:
            return True
        top = state.house.faces[state.top]
        if top.hits or face.colour == top.colour:
            return True
        same = face.number == top.number if face.number is not None else state.house.symbols_match
        return face.word == top.word and same


def _goes_back(rulings: Sequence[Ruling]) -> bool:
    """Whether a ruling orders a card off the discards."""
    return any(isinstance(effect, TakeBack) for ruling in rulings for effect in ruling.effects)


def hit_the_deck_film(
    seed: int,
    *,
    seconds: float,
    players: int | None = None,
    table_mm: tuple[float, float] = (900.0, 600.0),
    voices: bool = True,
    mesh: bool = False,
    short: bool = False,
    options: Mapping[str, object] | None = None,
    fouls: float | None = None,
    deal: bool = False,
) -> tuple[HitTheDeckFilm, Script]:
    """The film of one seed: its game, and its script.

    `short`: one hand. `fouls`: the share of turns in which something goes wrong; None: false slaps only, now and
    then. `deal`: the first deal is seen too.
    """
    rng = np.random.default_rng([seed, 0x417D])
    count = players or int(rng.integers(2, 5))
    film = HitTheDeckFilm(
        players_arms(count, rng, mesh=mesh),
        table_mm,
        rng,
        dealer=int(rng.integers(count)),
        voices=voices,
        options=options,
        fouls=None if fouls is None else Fouls(np.random.default_rng([seed, 0xF001]), fouls, FOULS),
        deal=deal,
    )
    return film, film.play(seconds, hands=1 if short else None)
