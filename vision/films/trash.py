"""Trash as a film: two players fill their layouts, card by card, by the rules."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from referee.cards import Card, Pile, Seat
from referee.events import Dealt, Moved, Shown, Taken
from referee.games.trash import GAME, PLACES, STOCK, TRASH, TrashState
from vision.films.arm_looks import ArmLook
from vision.films.direct import QUIET_S, Direction, at, players_arms
from vision.films.script import Lying, Script


class TrashFilm(Direction[TrashState]):
    """One round of Trash: the right hand lays cards, the left one takes up what they displace."""

    def __init__(
        self,
        looks: Mapping[Seat, ArmLook],
        table_mm: tuple[float, float],
        rng: np.random.Generator,
        *,
        dealer: Seat = 0,
    ) -> None:
        """Lay out ten cards each; `rng` decides everything."""
        super().__init__(GAME, looks, table_mm, rng, dealer=dealer)
        cards = self.shuffled()
        for seat in range(2):
            for number in range(1, PLACES + 1):
                self.stage.put(Pile("place", seat, number), [cards.pop()], face_up=False)
            width, height = table_mm
            side = 1 if seat == 0 else -1
            _, y, turn = self.stage.places[Pile("place", seat, 8)]
            # Where a card waits between two places: at the hand that holds it, clear of the layout.
            self.stage.add_place(Pile("held", seat), width / 2 + side * 0.37 * width, (y + height / 2) / 2, turn)
            self.stage.add_place(Pile("next", seat), width / 2 - side * 0.37 * width, (y + height / 2) / 2, turn)
        self.stage.put(STOCK, cards, face_up=False)
        self.tell(Dealt(at=at(0.0), seat=dealer))

    def play(self, seconds: float) -> Script:
        """Play until the round is won or the time is up."""
        now = QUIET_S
        while now < seconds - 3 and not self.match.board.over and self.match.state.phase == "play":
            now = self._turn(self.match.state.turn, now) + float(self.rng.uniform(0.25, 0.7))
        return self.end(now)

    def _turn(self, seat: Seat, now: float) -> float:
        state, stage = self.match.state, self.stage
        top = stage.top(TRASH)
        wants = top is not None and not state.first_turn and bool(self._places(seat, Card(top.card)))
        source = TRASH if wants and self.rng.random() < 0.85 else STOCK
        if source == STOCK and not stage.stacks[STOCK]:
            now = self._reshuffle(seat, now)
        held = Pile("held", seat)
        lifted, laid = stage.carry(seat, source, held, now, over=source == STOCK, pace=self.pace(), away=False)
        self.tell(Taken(at=at(lifted), seat=seat, pile=source))
        now = laid + 0.1
        while self.match.state.phase == "play" and self.match.state.turn == seat:
            card = Card(stage.stacks[held][-1].card)
            places = self._places(seat, card)
            if not places:
                _, laid = stage.carry(seat, held, TRASH, now, pace=self.pace())
                self.tell(Shown(at=at(laid), seat=seat, card=card, pile=TRASH))
                return laid
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

    def _reshuffle(self, seat: Seat, now: float) -> float:
        """The trash but its top becomes the stock."""
        stage, waits = self.stage, Pile("next", seat)
        _, laid = stage.carry(seat, TRASH, waits, now, right=False)
        _, laid = stage.carry(seat, TRASH, STOCK, laid, count=None, over=True)
        names = [card.card for card in stage.stacks[STOCK]]
        stage.put(STOCK, [names[i] for i in self.rng.permutation(len(names))], face_up=False, at_s=laid)
        self.tell(Moved(at=at(laid), seat=seat, source=TRASH, target=STOCK))
        _, laid = stage.carry(seat, waits, TRASH, laid + 0.1, right=False)
        return laid + 0.2


def trash_film(
    seed: int, *, seconds: float, table_mm: tuple[float, float] = (960.0, 640.0), mesh: bool = False
) -> tuple[TrashFilm, Script]:
    """The film of one seed: its game, and its script."""
    rng = np.random.default_rng([seed, 0x7245])
    dealer = int(rng.integers(2))
    film = TrashFilm(players_arms(2, rng, mesh=mesh), table_mm, rng, dealer=dealer)
    return film, film.play(seconds)
