"""Trash as a film: two players fill their layouts, card by card, by the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from referee.bad_input import BadInput
from referee.cards import Card, Pile, Seat
from referee.events import Dealt, Moved, Peeked, Shown, Taken
from referee.games.trash import GAME, PLACES, STOCK, TRASH, TrashState
from vision.films.arm_looks import ArmLook
from vision.films.bots.fouls import Fouls
from vision.films.dealing import dealt, gathered, peeked, shuffled, swept
from vision.films.direct import LAST_DEAL_S, QUIET_S, Direction, at, players_arms
from vision.films.script import Lying, Script

FOULS = ("peeks", "draws_out_of_turn", "draws_twice", "wrong_place", "other_layout", "declines", "no_discard")
"""What can go wrong in a turn of a film; each is called, and put right as the ruling says."""
_ROUND = (1, 2, 3, 4, 5, 10, 9, 8, 7, 6)
"""The places in the order in which a hand sweeps them together."""
CALLED_S = 0.8
"""How long it takes until somebody has called a foul."""


class TrashFilm(Direction[TrashState]):
    """Trash, round after round: the right hand lays cards, the left one takes up what they displace."""

    def __init__(
        self,
        looks: Mapping[Seat, ArmLook],
        table_mm: tuple[float, float],
        rng: np.random.Generator,
        *,
        dealer: Seat = 0,
        options: Mapping[str, object] | None = None,
        fouls: Fouls | None = None,
        deal: bool = False,
        written: bool = False,
    ) -> None:
        """Lay out ten cards each, unseen unless `deal`; `rng` decides everything but the `fouls`."""
        super().__init__(GAME, looks, table_mm, rng, dealer=dealer, options=options, written=written)
        self._fouls = fouls or Fouls(np.random.default_rng(0), 0.0, FOULS)
        self._late: Seat | None = None
        self._to_deal = deal
        self.dealer = dealer
        cards = self.shuffled()
        for seat in range(2):
            for number in range(1, PLACES + 1) if not deal else ():
                self.stage.put(Pile("place", seat, number), [cards.pop()], face_up=False)
            width, height = table_mm
            side = 1 if seat == 0 else -1
            _, y, turn = self.stage.places[Pile("place", seat, 8)]
            # Where a card waits between two places: at the hand that holds it, clear of the layout.
            self.stage.add_place(Pile("held", seat), width / 2 + side * 0.37 * width, (y + height / 2) / 2, turn)
            self.stage.add_place(Pile("next", seat), width / 2 - side * 0.37 * width, (y + height / 2) / 2, turn)
        self.stage.put(STOCK, cards, face_up=False)
        if not deal and not written:
            self.tell(Dealt(at=at(0.0), seat=dealer))

    def play(self, seconds: float, *, rounds: int | None = None) -> Script:
        """Play until so many rounds are won (None: as many as fit), the match is over or the time is up."""
        now, played = QUIET_S, 0
        if self._to_deal:
            now = self.deal_anew(now, seconds)
        while now < seconds - 3 and not self.match.board.over and not self._to_deal:
            if self.match.state.phase == "play":
                seat = self.match.state.turn if self._late is None else 1 - self._late
                now = self._turn(seat, now) + float(self.rng.uniform(0.25, 0.7))
                continue
            played += 1
            if played == rounds or now > seconds - LAST_DEAL_S:
                break
            self.dealer = 1 - self.dealer
            now = self.deal_anew(self.gather(now + 0.8), seconds)
        return self.end(now)

    def gather(self, now: float) -> float:
        """Both players sweep their layouts together at once; then one after the other puts them on the stock."""
        stage = self.stage
        blocks: list[tuple[Seat, Pile]] = []
        swept_s = [now, now]
        for seat in range(2):
            for face_up in (True, False):
                lying = [(pile, stage.top(pile)) for pile in (Pile("place", seat, n) for n in _ROUND)]
                same = [pile for pile, top in lying if top is not None and top.face_up is face_up]
                last = swept(stage, seat, same, swept_s[seat])
                if last is not None:
                    blocks.append((seat, last[0]))
                    swept_s[seat] = last[1] + 0.1
            blocks += [(seat, Pile(kind, seat)) for kind in ("held", "next")]
        now = max(swept_s)
        for seat, pile in [*blocks, (self.dealer, TRASH)]:
            now = gathered(stage, seat, [pile], STOCK, now)
        return now

    def deal_anew(self, now: float, until_s: float) -> float:
        """Shuffle, and deal the layouts card by card; not whole where time runs out."""
        self._to_deal = True
        self._late = None
        dealer = self.dealer
        now = shuffled(self.stage, dealer, STOCK, self.shuffled(), now)
        sizes = self.match.state.sizes
        order = [
            Pile("place", seat, number)
            for number in range(1, max(sizes) + 1)
            for seat in (1 - dealer, dealer)
            if number <= sizes[seat]
        ]
        now, whole = dealt(self.stage, dealer, STOCK, order, now, until_s)
        if whole:
            self.tell(Dealt(at=at(now), seat=dealer))
            self._to_deal = False
        return now + 0.6

    def _turn(self, seat: Seat, now: float) -> float:
        fouls = self._fouls
        fouls.turn_begins()
        if fouls.is_due("peeks"):
            now = self._peek(seat, now)
        if fouls.is_due("draws_out_of_turn") and self._late is None:
            fouls.done()
            now = self._takes_too_much(1 - seat, now)
        state, stage = self.match.state, self.stage
        top = stage.top(TRASH)
        wants = top is not None and not state.first_turn and bool(self._places(seat, Card(top.card)))
        source = TRASH if wants and self.rng.random() < 0.85 else STOCK
        if source == STOCK and not stage.stacks[STOCK]:
            now = self.reshuffle(seat, now)
        held = Pile("held", seat)
        lifted, laid = stage.carry(seat, source, held, now, over=source == STOCK, pace=self.pace(), away=False)
        self.tell(Taken(at=at(lifted), seat=seat, pile=source))
        now = laid + 0.1
        if self._late is not None:
            now = max(now, self._discards_late(now))
        if fouls.is_due("draws_twice") and len(stage.stacks[STOCK]) > 1:
            fouls.done()
            now = self._takes_too_much(seat, now)
        while self.match.state.phase == "play" and self.match.state.turn == seat:
            card = Card(stage.stacks[held][-1].card)
            places = self._places(seat, card)
            now = self._lays_wrongly(seat, card, places, now)
            if not places:
                if fouls.is_due("no_discard") and not self.match.state.first_turn:
                    fouls.done()
                    stage.retire(seat, now)
                    self._late = seat
                    return now
                _, laid = stage.carry(seat, held, TRASH, now, pace=self.pace())
                self.tell(Shown(at=at(laid), seat=seat, card=card, pile=TRASH))
                return laid
            if fouls.is_due("declines") and self._must_place(seat, card):
                fouls.done()
                now = self._declines(seat, card, now)
                continue
            now = self._place(seat, card, Pile("place", seat, int(self.rng.choice(places))), now)
        if stage.stacks[held]:
            _, now = stage.carry(seat, held, TRASH, now, pace=self.pace())
        return now

    def _place(self, seat: Seat, card: Card, place: Pile, now: float) -> float:
        """Take up what lies there with the left hand, lay the card with the right, and hold what was taken."""
        stage, held, waits = self.stage, Pile("held", seat), Pile("next", seat)
        below: Lying | None = stage.top(place)
        _, aside = stage.carry(seat, place, waits, now, right=False, pace=self.pace(), away=False)
        _, laid = stage.carry(seat, held, place, max(now, aside - 0.35), pace=self.pace(), away=False)
        self.tell(Shown(at=at(laid), seat=seat, card=card, pile=place))
        stage.retire(seat, aside, right=False)
        if self.match.state.phase != "play":
            return laid
        turned = below is not None and not below.face_up
        _, laid = stage.carry(seat, waits, held, laid + 0.08, over=turned, pace=self.pace(), away=False)
        return laid + 0.12

    def _places(self, seat: Seat, card: Card) -> list[int]:
        """Where the rules let the card be laid, as a player knows them."""
        house, layout = self.match.state.house, self.match.state.places[seat]
        if house.is_wild(card):
            return [number for number, lies in enumerate(layout, 1) if lies is None]
        number = house.number(card)
        if number is None or number > len(layout):
            return []
        lies = layout[number - 1]
        return [number] if lies is None or house.is_wild(lies) else []

    # --- fouls ----------------------------------------------------------------------------------------

    def _peek(self, seat: Seat, now: float) -> float:
        """T3: a card of one's own layout is looked at."""
        hidden = [n for n, lies in enumerate(self.match.state.places[seat], 1) if lies is None]
        pile = Pile("place", seat, self._fouls.choice(hidden))
        up, lies = peeked(self.stage, seat, pile, now)
        self._fouls.done()
        self.tell(Peeked(at=at(up), seat=seat, pile=pile))
        return lies + 0.4

    def _takes_too_much(self, seat: Seat, now: float) -> float:
        """T5: a card taken that should not have been goes back on the stock."""
        stage, aside = self.stage, Pile("next", seat)
        if not stage.stacks[STOCK]:
            return now
        lifted, laid = stage.carry(seat, STOCK, aside, now, right=False, away=False)
        self.tell(Taken(at=at(lifted), seat=seat, pile=STOCK))
        _, laid = stage.carry(seat, aside, STOCK, laid + CALLED_S, right=False)
        return laid + 0.3

    def _lays_wrongly(self, seat: Seat, card: Card, places: Sequence[int], now: float) -> float:
        """T6, T7, T9: a card laid on a wrong place, or in the other's layout, comes back to the hand."""
        fouls, layouts = self._fouls, self.match.state.places
        owner = 1 - seat if fouls.is_due("other_layout") else seat
        if owner == seat and not fouls.is_due("wrong_place"):
            return now
        wrong = [n for n, lies in enumerate(layouts[owner], 1) if lies is None and (owner != seat or n not in places)]
        if not wrong:
            return now
        fouls.done()
        held, place = Pile("held", seat), Pile("place", owner, fouls.choice(wrong))
        _, laid = self.stage.carry(seat, held, place, now, pace=self.pace())
        self.tell(Shown(at=at(laid), seat=seat, card=card, pile=place))
        lifted, laid = self.stage.carry(seat, place, held, laid + CALLED_S, pace=self.pace(), away=False)
        self.tell(Taken(at=at(lifted), seat=seat, pile=place))
        return laid + 0.3

    def _must_place(self, seat: Seat, card: Card) -> bool:
        """T10: whether discarding the card would be a fault."""
        state = self.match.state
        number = state.house.number(card)
        plain = number is not None and not state.house.is_wild(card) and state.places[seat][number - 1] is None
        return state.house.may_decline == "none" or (plain and state.house.may_decline != "all")

    def _declines(self, seat: Seat, card: Card, now: float) -> float:
        """T10: a card that has its place is discarded, and taken back."""
        held = Pile("held", seat)
        _, laid = self.stage.carry(seat, held, TRASH, now, pace=self.pace())
        self.tell(Shown(at=at(laid), seat=seat, card=card, pile=TRASH))
        lifted, laid = self.stage.carry(seat, TRASH, held, laid + CALLED_S, away=False)
        self.tell(Taken(at=at(lifted), seat=seat, pile=TRASH))
        return laid + 0.3

    def _discards_late(self, now: float) -> float:
        """T9: who ended a turn with a card in hand lays it down once that is called."""
        seat = self._late
        assert seat is not None
        self._late = None
        held = Pile("held", seat)
        card = Card(self.stage.stacks[held][-1].card)
        _, laid = self.stage.carry(seat, held, TRASH, now + CALLED_S)
        self.tell(Shown(at=at(laid), seat=seat, card=card, pile=TRASH))
        return laid + 0.3

    def reshuffle(self, seat: Seat, now: float) -> float:
        """The trash but its top becomes the stock."""
        stage, waits = self.stage, Pile("next", seat)
        _, laid = stage.carry(seat, TRASH, waits, now, right=False)
        _, laid = stage.carry(seat, TRASH, STOCK, laid, count=None, over=True)
        names = [card.card for card in stage.stacks[STOCK]]
        stage.put(STOCK, self.mixed(names), face_up=False, at_s=laid)
        self.tell(Moved(at=at(laid), seat=seat, source=TRASH, target=STOCK))
        _, laid = stage.carry(seat, waits, TRASH, laid + 0.1, right=False)
        return laid + 0.2


def trash_film(
    seed: int,
    *,
    seconds: float,
    table_mm: tuple[float, float] = (960.0, 640.0),
    mesh: bool = False,
    short: bool = False,
    options: Mapping[str, object] | None = None,
    fouls: float | None = None,
    deal: bool = False,
) -> tuple[TrashFilm, Script]:
    """The film of one seed: its game, and its script.

    `short`: one round. `fouls`: the share of turns in which something goes wrong. `deal`: the first deal is seen too.
    """
    if (options or {}).get("jokers", "none") != "none":
        raise BadInput.of("option jokers", "'none' in a film, whose deck has none", repr((options or {})["jokers"]))
    rng = np.random.default_rng([seed, 0x7245])
    dealer = int(rng.integers(2))
    film = TrashFilm(
        players_arms(2, rng, mesh=mesh),
        table_mm,
        rng,
        dealer=dealer,
        options=options,
        fouls=Fouls(np.random.default_rng([seed, 0xF001]), fouls or 0.0, FOULS),
        deal=deal,
    )
    return film, film.play(seconds, rounds=1 if short else None)
