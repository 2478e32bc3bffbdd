"""Snap as a film: the bots' game, judged by the rules, acted out on the stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from referee.bad_input import BadInput
from referee.cards import Card, Deck, Pile, Seat
from referee.events import Dealt, Event, Lifted, Moved, Shout, Shown, Slap, Tick, Turned
from referee.games.snap import GAME, POT, SETTLE_NS, SNAP, SNAP_POT, SPOT, SnapState
from referee.ruling import Give, PutTogether, Ruling, TakeBack, WinPiles
from vision.films.arm_looks import ArmLook
from vision.films.bots.snap import SlapPlan, SnapTable, Temper, short_deck
from vision.films.dealing import dealt, gathered, shuffled
from vision.films.direct import LAST_DEAL_S, QUIET_S, Direction, at, players_arms
from vision.films.kinematics import Family, Strike
from vision.films.script import Script, Sound

MOST_PLAYERS = 8
"""With more, the piles of neighbours would lie on each other on any table that a camera can read cards on."""
SPOT_CARD = "snap spot"
"""The index card that says Snap!, by its name in the artwork."""
PACKET = Pile("packet")
CALLS = {SNAP: "Snap!", SNAP_POT: "Snap pot!"}
"""How the phrases are called."""
WRONG_CALLS = 0.04
"""Share of calls with the one phrase where the other is right."""


class SnapFilm(Direction[SnapState]):
    """Snap, game after game, from the dealt piles or the deal to the film's end."""

    def __init__(
        self,
        looks: Mapping[Seat, ArmLook],
        table_mm: tuple[float, float],
        rng: np.random.Generator,
        fouls: np.random.Generator,
        *,
        deck: Deck | None = None,
        dealer: Seat = 0,
        temper: Temper | None = None,
        options: Mapping[str, object] | None = None,
        deal: bool = False,
        written: bool = False,
    ) -> None:
        """Shuffle and deal, unseen unless `deal`; `rng` decides everything but the `fouls`."""
        super().__init__(GAME, looks, table_mm, rng, deck=deck, dealer=dealer, options=options, written=written)
        self.table = SnapTable(len(looks), rng, fouls, temper)
        self._fouls = fouls
        self.by_voice = self.setup.options["snap_by"] == "voice"
        self.stage.add_place(PACKET, 0.3 * table_mm[0], 0.5 * table_mm[1], 0.0)
        self._to_deal = deal
        cards = self.shuffled()
        if deal:
            self.stage.put(PACKET, cards, face_up=False)
        else:
            for seat, count in enumerate(self.match.state.down):
                self.stage.put(Pile("down", seat), cards[:count], face_up=False)
                cards = cards[count:]
        if not self.by_voice:
            self.stage.put(SPOT, [SPOT_CARD], face_up=True)

    def play(self, seconds: float, *, games: int | None = None) -> Script:
        """Play until the time is up (or so many `games` are won), and let the last hand leave the table."""
        now, played = QUIET_S, 0
        if self._to_deal:
            now = self.deal_anew(self.setup.dealer, now, seconds)
        while now < seconds - 2.5 and not self._to_deal:
            if not self.match.board.over:
                now = self._turn(now)
                continue
            played += 1
            if played == games or now > seconds - LAST_DEAL_S:
                break
            now = self.gather(now + 0.8)
            dealer = (self.match.state.dealer + 1) % len(self.setup.players)
            now = self.deal_anew(dealer, now, seconds)
        return self.end(now)

    def gather(self, now: float) -> float:
        """All cards come together before the next game: the winner's piles and what still lies elsewhere."""
        for seat in range(len(self.setup.players)):
            for kind in ("up", "down"):
                now = gathered(self.stage, seat, [Pile(kind, seat)], PACKET, now)
        return gathered(self.stage, 0, [POT], PACKET, now)

    def deal_anew(self, dealer: Seat, now: float, until_s: float) -> float:
        """Shuffle, and deal one card after another, from the dealer's left on; not whole where time runs out."""
        self._to_deal = True
        now = shuffled(self.stage, dealer, PACKET, self.shuffled(), now)
        players = len(self.setup.players)
        order = [Pile("down", (dealer + 1 + i) % players) for i in range(self.deck.size)]
        now, whole = dealt(self.stage, dealer, PACKET, order, now, until_s)
        if whole:
            self.tell(Dealt(at=at(now), seat=dealer))
            self._to_deal = False
        return now + 0.6

    def _turn(self, now: float) -> float:
        seat = self.match.board.turn
        if seat is None:
            return now + 1.0
        others = tuple(s for s in range(len(self.setup.players)) if s != seat and self.stage.stacks[Pile("down", s)])
        resting = self.table.rests(tuple(range(len(self.setup.players))))
        if resting is not None:
            self.stage.rest(resting[0], now, resting[1])
        hasty = self.table.out_of_turn(others)
        if hasty is not None:
            return self._foul(hasty, now)
        down, up = Pile("down", seat), Pile("up", seat)
        pace = self.pace()
        if not self.stage.stacks[down]:
            _, laid = self.stage.carry(seat, up, down, now, count=None, over=True, pace=pace)
            self.tell(Turned(at=at(laid), seat=seat, source=up, target=down))
            now = laid + 0.25
        _, laid = self.stage.carry(seat, down, up, now, over=True, pace=pace)
        top = self.stage.top(up)
        assert top is not None
        rulings = self.tell(Shown(at=at(laid), seat=seat, card=Card(top.card), pile=up, source=down))
        now = self._carry_out(rulings, laid)
        turn = self.match.state.turn
        eligible = tuple(s for s in range(len(self.setup.players)) if self.match.state.held(s))
        plans: tuple[SlapPlan, ...] = ()
        if turn is not None and turn.race:
            plans = self.table.race(eligible)
        else:
            others = tuple(s for s in eligible if s != seat)
            plans = self.table.error(others)
            if not plans and not self.by_voice and (shy := self.table.feint(others)) is not None:
                self._feint(shy, laid)
        if not plans:
            now += self.table.pause_s()
            again = self.table.plays_again() and turn is not None and not turn.race
            return self._foul(seat, now) if again and self.stage.stacks[down] else now
        lifted = self._calls(plans, laid) if self.by_voice else self._slaps(plans, laid)
        return lifted + float(self.rng.uniform(0.15, 0.4))

    def _foul(self, seat: Seat, now: float) -> float:
        """A card turned that should not have been: seen, called, and taken back."""
        down, up = Pile("down", seat), Pile("up", seat)
        _, laid = self.stage.carry(seat, down, up, now, over=True)
        top = self.stage.top(up)
        assert top is not None
        rulings = self.tell(Shown(at=at(laid), seat=seat, card=Card(top.card), pile=up, source=down))
        return self._carry_out(rulings, laid + 0.7) + 0.3

    def _slaps(self, plans: Sequence[SlapPlan], shown_s: float) -> float:
        """Bring the hands down, then judge, then do what the ruling says; returns when all is done."""
        told: list[Event] = []
        lifts: list[float] = []
        for plan in plans:
            contact = round(shown_s + plan.after_s, 6)
            lift = self.stage.strike(
                plan.seat,
                SPOT,
                contact,
                layer=len(lifts),
                how=plan.how,
                family=plan.family,
                stays_s=plan.stays_s,
            )
            if lift is None:
                continue
            told.append(Slap(at=at(contact), seat=plan.seat, pile=SPOT, layer=len(lifts)))
            told.append(Lifted(at=at(lift), seat=plan.seat, pile=SPOT))
            lifts.append(lift)
        rulings = self.tell_in_order(told)
        return self._carry_out(rulings, max([shown_s + 0.5, *lifts]) + 0.1)

    def _calls(self, plans: Sequence[SlapPlan], shown_s: float) -> float:
        """Let the players call, then judge, then do what the ruling says; returns when all is done."""
        turn = self.match.state.turn
        told: list[Event] = []
        for plan in plans:
            phrases = [SNAP] if turn is None or turn.piles or not turn.race else []
            phrases += [SNAP_POT] if turn is not None and turn.pot else []
            phrase = str(self._fouls.choice(phrases))
            if self._fouls.random() < WRONG_CALLS and len(phrases) == 1:
                phrase = SNAP_POT if phrase == SNAP else SNAP
            called = round(shown_s + plan.after_s, 6)
            told.append(Shout(at=at(called), seat=plan.seat, phrase=phrase))
            gain = float(self._fouls.uniform(0.6, 0.95))
            x_mm = self.stage.hands[plan.seat, True].edge[0]
            self.stage.sounds.append(Sound(called, "call", gain, x_mm, CALLS[phrase], plan.seat))
        last_s = max(event.at.at_ns for event in told) / 1e9
        told.append(Tick(at=at(last_s + SETTLE_NS / 1e9 + 0.05)))
        rulings = self.tell_in_order(told)
        return self._carry_out(rulings, last_s + 0.7)

    def _carry_out(self, rulings: Sequence[Ruling], now: float) -> float:
        """Do at the table what the rulings order."""
        for ruling in rulings:
            for effect in ruling.effects:
                match effect:
                    case WinPiles(seat=seat, piles=piles):
                        for pile in piles:
                            now = self._take(seat, pile, Pile("down", seat), now, over=True)
                    case PutTogether(piles=piles, target=target):
                        mover = piles[0].seat or 0
                        for pile in piles:
                            now = self._take(pile.seat if pile.seat is not None else mover, pile, target, now)
                    case Give(seat=giver, to=receiver, count=count):
                        for _ in range(count):
                            now = self._pay(giver, receiver, now)
                    case TakeBack(seat=seat):
                        now = self._take_back(seat, now)
                    case _:
                        pass
        return now

    def _take(self, seat: Seat, source: Pile, target: Pile, now: float, *, over: bool = False) -> float:
        if not self.stage.stacks[source]:
            return now
        _, laid = self.stage.carry(
            seat,
            source,
            target,
            now,
            count=None,
            over=over,
            under=over,
            pace=float(self.rng.uniform(0.9, 1.2)),
        )
        self.tell(Moved(at=at(laid), seat=seat, source=source, target=target))
        return laid + 0.12

    def _take_back(self, seat: Seat, now: float) -> float:
        source, target = Pile("up", seat), Pile("down", seat)
        _, laid = self.stage.carry(seat, source, target, now, over=True)
        self.tell(Moved(at=at(laid), seat=seat, source=source, target=target, count=1))
        return laid + 0.2

    def _pay(self, giver: Seat, receiver: Seat, now: float) -> float:
        source = Pile("down", giver)
        if not self.stage.stacks[source]:
            source = Pile("up", giver)
        if not self.stage.stacks[source]:
            return now
        _, laid = self.stage.carry(giver, source, Pile("down", receiver), now, over=source.kind == "up", under=True)
        self.tell(Moved(at=at(laid), seat=giver, source=source, target=Pile("down", receiver), count=1))
        return laid + 0.2

    def _feint(self, seat: Seat, shown_s: float) -> None:
        """A hand that comes near the spot and never touches it."""
        at_s = shown_s + float(self.rng.uniform(0.45, 0.8))
        family = Family.HOVER if self.rng.random() < 0.6 else Family.BRUSH
        self.stage.strike(seat, SPOT, at_s, how=Strike.OBLIQUE, family=family)


def snap_film(
    seed: int,
    *,
    seconds: float,
    players: int | None = None,
    short: bool = False,
    table_mm: tuple[float, float] | None = None,
    temper: Temper | None = None,
    deck: Deck | None = None,
    mesh: bool = False,
    options: Mapping[str, object] | None = None,
    fouls: float | None = None,
    deal: bool = False,
) -> tuple[SnapFilm, Script]:
    """The film of one seed: its game, and its script; a bigger party sits at a bigger table.

    `short`: one game with 16 cards. `fouls`: the chance a turn that somebody snaps at nothing, and half of it that
    somebody plays out of turn, or twice; None: as `temper` has it. `deal`: the first deal is seen too.
    """
    rng = np.random.default_rng([seed, 0x5A4B])
    count = players or int(rng.integers(2, 5))
    if not 2 <= count <= MOST_PLAYERS:
        raise BadInput.of("players", f"2 to {MOST_PLAYERS} in a film of Snap", count)
    if fouls is not None:
        temper = replace(temper or Temper(), false_slaps=fouls, out_of_turn=fouls / 2, two_cards=fouls / 2)
    bigger = {7: 1.2, 8: 1.55}.get(count, 1.0)
    film = SnapFilm(
        players_arms(count, rng, mesh=mesh),
        table_mm or (900.0 * bigger, 600.0 * bigger),
        rng,
        np.random.default_rng([seed, 0xF001]),
        deck=deck or (short_deck() if short else None),
        dealer=int(rng.integers(count)),
        temper=temper,
        options=options,
        deal=deal,
    )
    return film, film.play(seconds, games=1 if short else None)


__all__ = ["POT", "SPOT", "SnapFilm", "snap_film"]
