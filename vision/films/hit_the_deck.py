"""Hit the Deck as a film: one hand, from the first card turned up to the count."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from referee.cards import Card, Pile, Seat
from referee.events import Counted, Dealt, Event, Lifted, Moved, Shout, Shown, Slap, Taken, Turned
from referee.games.hit_the_deck import CALL, GAME
from referee.games.hit_the_deck_state import DISCARD, DRAW, HitTheDeckState
from vision.films.arm_looks import ArmLook
from vision.films.direct import QUIET_S, Direction, at, players_arms
from vision.films.kinematics import Family, Strike
from vision.films.script import Script, Sound

CARDS_EACH = 7
PACKET = Pile("packet")
FALSE_SLAPS = 0.05
"""Chance a turn that somebody slaps though nobody should."""


class HitTheDeckFilm(Direction[HitTheDeckState]):
    """One hand of Hit the Deck; the cards that players hold are off the table, out of the camera's sight."""

    def __init__(
        self,
        looks: Mapping[Seat, ArmLook],
        table_mm: tuple[float, float],
        rng: np.random.Generator,
        *,
        dealer: Seat = 0,
        cards_each: int = CARDS_EACH,
        voices: bool = True,
    ) -> None:
        """Deal unseen; `voices`: calls can be heard, else the call is taken on trust."""
        options = {"announce": "call" if voices else "trust"}
        super().__init__(GAME, looks, table_mm, rng, dealer=dealer, options=options)
        self.voices = voices
        cards = self.shuffled()
        while self.deck.trait(Card(cards[-1 - cards_each * len(looks)]), "word") is not None:
            cards = self.shuffled()  # a plain card opens the hand
        for seat in range(len(looks)):
            hand = self.stage.hands[seat, True]
            inward = self.stage.inward(seat)
            self.stage.add_place(Pile("hand", seat), *hand.home, math.atan2(inward[0], -inward[1]))
            self.stage.put(Pile("hand", seat), cards[-cards_each:], face_up=False)
            cards = cards[:-cards_each]
        x, y, turn = self.stage.places[DRAW]
        self.stage.add_place(PACKET, x - 0.135 * table_mm[0], y, turn)
        self.stage.put(DRAW, cards, face_up=False)

    def play(self, seconds: float) -> Script:
        """Play until somebody is out of cards and the others have laid theirs out, or the time is up."""
        self.tell(Dealt(at=at(0.0), seat=self.setup.dealer))
        now = self._show(self.setup.dealer, DRAW, QUIET_S, source=DRAW) + 0.4
        while now < seconds - 6 and self.match.state.phase == "play":
            now = self._step(now) + float(self.rng.uniform(0.2, 0.6))
        if self.match.state.phase == "count":
            now = self._count(now + 0.4)
        return self.end(now)

    # --- one thing after another ------------------------------------------------------------------

    def _step(self, now: float) -> float:
        state = self.match.state
        for debt in state.debts:
            if debt.taken < debt.count:
                return self._draw(debt.seat, debt.count - debt.taken, now)
        if state.duty is not None:
            return self._duty(now)
        seat = state.next_seat(state.turn) if state.drew else state.turn
        if self.rng.random() < FALSE_SLAPS:
            now = self._false_slap(now)
            if self.match.state.debts:
                return now
        fitting = [card for card in self._hand(seat) if self._fits(Card(card))]
        if fitting:
            return self._discard(seat, str(self.rng.choice(fitting)), now)
        now = self._draw(seat, 1, now)
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
        self.tell(Shown(at=at(laid), seat=seat, card=card, pile=DISCARD, source=source))
        if len(self.match.state.races) > races:
            return self._everybody_slaps(seat, laid)
        return laid

    def _draw(self, seat: Seat, count: int, now: float) -> float:
        now = self._reshuffle(seat, now)
        count = min(count, len(self.stage.stacks[DRAW]))
        if count < 1:
            return now + 0.5
        lifted, laid = self.stage.carry(seat, DRAW, Pile("hand", seat), now, count=count, pace=self.pace())
        self.tell(Taken(at=at(lifted), seat=seat, pile=DRAW, count=count))
        return laid

    def _reshuffle(self, seat: Seat, now: float) -> float:
        """The discards but the one on top become the draw pile, where that is used up."""
        stage = self.stage
        if stage.stacks[DRAW] or len(stage.stacks[DISCARD]) < 2:
            return now
        _, laid = stage.carry(seat, DISCARD, PACKET, now, right=False)
        _, laid = stage.carry(seat, DISCARD, DRAW, laid, count=None, over=True)
        names = [card.card for card in stage.stacks[DRAW]]
        stage.put(DRAW, [names[i] for i in self.rng.permutation(len(names))], face_up=False, at_s=laid)
        self.tell(Moved(at=at(laid), seat=seat, source=DISCARD, target=DRAW))
        _, laid = stage.carry(seat, PACKET, DISCARD, laid + 0.1, right=False)
        return laid + 0.2

    def _duty(self, now: float) -> float:
        duty = self.match.state.duty
        assert duty is not None
        match duty.what:
            case "cut":
                return self._cut(duty.seat, self._reshuffle(duty.seat, now))
            case "flip":
                return self._flip(duty.seat, self._reshuffle(duty.seat, now))
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
        if self.voices:
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

    # --- the count ----------------------------------------------------------------------------------

    def _count(self, now: float) -> float:
        """The others lay out what they hold, in a row before them."""
        for seat in self.match.state.playing:
            if seat == self.match.state.winner or self.match.state.phase != "count":
                continue
            now = self._lay_out(seat, now)
        return now + 0.8

    def _lay_out(self, seat: Seat, now: float) -> float:
        stage, hand = self.stage, Pile("hand", seat)
        edge, inward = stage.hands[seat, True].edge, stage.inward(seat)
        middle = np.array(stage.table_mm) / 2
        ways = (-inward[1], inward[0])
        turn = math.atan2(inward[0], -inward[1])
        cards = self._hand(seat)
        for number, _ in enumerate(cards):
            aside = (number - (len(cards) - 1) / 2) * 42.0
            place = Pile("count", seat, number)
            from_edge = 62.0
            x = edge[0] + inward[0] * from_edge + ways[0] * (aside - 95.0)
            y = edge[1] + inward[1] * from_edge + ways[1] * (aside - 95.0)
            x = float(np.clip(x, 55, 2 * middle[0] - 55))
            y = float(np.clip(y, 55, 2 * middle[1] - 55))
            stage.add_place(place, x, y, turn)
            _, now = stage.carry(seat, hand, place, now, over=True, pace=1.5)
        counted = tuple(Card(card) for card in reversed(cards))
        self.tell(Counted(at=at(now), seat=seat, cards=counted))
        return now + 0.3

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


def hit_the_deck_film(
    seed: int,
    *,
    seconds: float,
    players: int | None = None,
    table_mm: tuple[float, float] = (900.0, 600.0),
    voices: bool = True,
    mesh: bool = False,
) -> tuple[HitTheDeckFilm, Script]:
    """The film of one seed: its game, and its script."""
    rng = np.random.default_rng([seed, 0x417D])
    count = players or int(rng.integers(2, 5))
    film = HitTheDeckFilm(
        players_arms(count, rng, mesh=mesh),
        table_mm,
        rng,
        dealer=int(rng.integers(count)),
        voices=voices,
    )
    return film, film.play(seconds)
