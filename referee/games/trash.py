"""Trash: be the first whose ten places all lie face up, ace to ten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from referee.bad_input import BadInput
from referee.cards import RANKS, Card, Pile, Seat
from referee.events import Adjusted, Answer, Dealt, Ended, Event, Lifted, Moved, Peeked, Shown, Taken, Tick
from referee.game import (
    CONFIDENCE,
    Board,
    Expectation,
    Layout,
    NotInThisGame,
    Option,
    PilePlace,
    Question,
    Setup,
    before_seat,
    seats_around,
)
from referee.ruling import Effect, NextTurn, PutTogether, Ruling, TakeBack, Verdict

STOCK = Pile("stock")
TRASH = Pile("trash")
PLACES = 10

About: TypeAlias = tuple[tuple[str, str], ...]
Rulings: TypeAlias = list[Ruling]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class House:
    """The house rules of one match, read once."""

    confidence: float
    trash_must_place: bool
    may_decline: str
    shrinking: bool
    wild: str

    def number(self, card: Card) -> int | None:
        """T6: the place of an ace to ten; None for a card that has no place of its own."""
        at = RANKS.index(card.rank) + 1 if card.rank is not None else PLACES + 1
        return at if at <= PLACES else None

    def is_wild(self, card: Card) -> bool:
        """T7, T14: whether the card may stand for any."""
        return card.is_joker or card.rank == self.wild


@dataclass(frozen=True, slots=True)
class TrashState:
    """A whole match at one moment.

    ``places`` holds for each seat its layout, place 1 first: the card lying face up, or None face down.
    ``holding``: the player in turn has a card in hand; ``held`` is which, where that is known (it came from
    the trash pile, or it is a freed king), and ``source`` is where it came from: ``stock``, ``trash`` or ``place``.
    ``back`` is where a card lies that must be taken back; ``late`` are those who still have a card to discard.
    """

    setup: Setup
    house: House
    scores: tuple[int, ...]
    sizes: tuple[int, ...]
    places: tuple[tuple[Card | None, ...], ...]
    stock: int
    turn: Seat
    trash: tuple[Card, ...] = ()
    phase: str = "play"
    hand: int = 1
    first_turn: bool = True
    touched: bool = False
    holding: bool = False
    held: Card | None = None
    source: str = ""
    before: Seat | None = None
    back: Pile | None = None
    late: tuple[Seat, ...] = ()
    answers: Mapping[str, str] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    waiting: tuple[Event, ...] = ()
    winners: tuple[Seat, ...] = ()


class _Wait(Exception):
    """The event can't be judged before a person has answered."""

    def __init__(self, question: Question, ruling: Ruling) -> None:
        super().__init__(question.key)
        self.question = question
        self.ruling = ruling


class Trash:
    """The rules T1 to T14."""

    name = "trash"
    players = range(2, 3)  # T1
    deck = "standard52"
    phrases: tuple[str, ...] = ()
    options = (
        CONFIDENCE,
        Option("trash_must_place", False, "T5", (True, False)),
        Option("may_decline", "kings", "T10", ("kings", "all", "none")),
        Option("match", "single", "T13", ("single", "shrinking")),
        Option("jokers", "none", "T14", ("none", "wild")),
        Option("wild", "king", "T14", ("king", "jack")),
    )
    clauses: Mapping[str, str] = {
        "T1": "players and deck",
        "T2": "ten places in two rows",
        "T3": "dealt face down, unseen",
        "T4": "the aim: ace to ten face up",
        "T5": "drawing: from the stock or the trash",
        "T6": "ace to ten on its own place",
        "T7": "a king on any face-down place",
        "T8": "a king freed by the card of its place",
        "T9": "what can't be placed is discarded; the turn passes",
        "T10": "what may be discarded instead of placed",
        "T11": "the tenth place wins",
        "T12": "the stock used up",
        "T13": "rounds and matches",
        "T14": "jokers and wild cards",
    }

    def layout(self, players: int) -> Layout:
        """T2: two rows of five before each player, place 1 at the upper left as that player sees it."""
        seats = seats_around(players)
        piles = [PilePlace(STOCK, 0.43, 0.5), PilePlace(TRASH, 0.57, 0.5)]
        for place in seats:
            for number in range(1, PLACES + 1):
                row, column = divmod(number - 1, 5)
                pile = Pile("place", place.seat, number)
                piles.append(before_seat(place, pile, inward=(0.66, 0.28)[row], right=0.12 * (column - 2)))
        return Layout(seats, tuple(piles))

    def start(self, setup: Setup) -> TrashState:
        """T5: the host names player 1, who is the one that does not deal."""
        given = {option.name: setup.options.get(option.name, option.default) for option in self.options}
        jokers = sum(count for card, count in setup.deck.counts.items() if card.is_joker)
        if bool(jokers) != (given["jokers"] == "wild"):
            expected = "jokers, since they are wild here" if not jokers else "no jokers, or the option jokers = 'wild'"
            raise BadInput.of("deck", expected, setup.deck.name)
        house = House(
            confidence=float(given["confidence"]),
            trash_must_place=bool(given["trash_must_place"]),
            may_decline=str(given["may_decline"]),
            shrinking=given["match"] == "shrinking",
            wild="J" if given["wild"] == "jack" else "K",
        )
        players = len(setup.players)
        state = TrashState(
            setup=setup,
            house=house,
            scores=(0,) * players,
            sizes=(PLACES,) * players,
            places=(),
            stock=0,
            turn=(setup.dealer + 1) % players,
        )
        return _deal(state)

    def board(self, state: TrashState) -> Board:
        """Whose turn, what lies face up, how many cards are left."""
        counts = {STOCK: state.stock, TRASH: len(state.trash)}
        tops: dict[Pile, Card | None] = {TRASH: state.trash[-1]} if state.trash else {}
        for seat, layout in enumerate(state.places):
            for number, card in enumerate(layout, 1):
                pile = Pile("place", seat, number)
                counts[pile] = 1
                if card is not None:
                    tops[pile] = card
        return Board(
            turn=state.turn if state.phase == "play" else None,
            phase=("place" if state.holding else "draw") if state.phase == "play" else state.phase,
            hand=state.hand,
            dealer=None,
            scores=state.scores,
            standing=("in",) * len(state.scores),
            counts=counts,
            tops=tops,
            questions=state.questions,
            winners=state.winners,
            over=state.phase == "over",
        )

    def expects(self, state: TrashState) -> Expectation:
        """A card drawn, or the card in hand placed or discarded."""
        if state.phase == "over":
            return Expectation()
        if state.phase != "play":
            return Expectation(seats=frozenset(range(len(state.scores))))
        if not state.holding:
            piles = {STOCK} | ({TRASH} if state.trash and not state.first_turn else set())
            return Expectation(seats=frozenset({state.turn}), piles=frozenset(piles))
        layout = state.places[state.turn]
        open_places = {Pile("place", state.turn, n) for n, card in enumerate(layout, 1) if not _stays(state, card, n)}
        cards = frozenset() if state.held is None else frozenset({state.held})
        return Expectation(seats=frozenset({state.turn}), piles=frozenset({TRASH, *open_places}), cards=cards)

    def rule(self, state: TrashState, event: Event) -> tuple[TrashState, tuple[Ruling, ...]]:
        """Judge one event."""
        _must_fit(state, event)
        rulings: Rulings = []
        if isinstance(event, Answer):
            return replace(state, answers={**state.answers, event.question: event.says}), ()
        if isinstance(event, Adjusted):
            if event.seat is None:
                return state, ()
            score = state.scores[event.seat] + event.points
            return replace(state, scores=_put(state.scores, event.seat, score)), ()
        if state.phase == "over" or event.provisional or isinstance(event, Tick | Lifted):
            return state, ()
        if state.waiting and not isinstance(event, Dealt | Ended):
            return replace(state, waiting=(*state.waiting, event)), ()
        before = state
        try:
            match event:
                case Taken():
                    state = _taken(state, event, rulings)
                case Shown(pile=pile) if pile == TRASH:
                    state = _discarded(state, event, rulings)
                case Shown():
                    state = _placed(state, event, rulings)
                case Peeked():
                    _peeked(state, event, rulings)
                case Moved():
                    state = _shuffled_in(state)
                case Dealt():
                    state = _next_round(state, event, rulings)
                case Ended():
                    state = _ended_by_host(state, event, rulings)
        except _Wait as wait:
            return replace(before, waiting=(event,), questions=(*before.questions, wait.question)), (wait.ruling,)
        asked = [(r.question, r.choices, r.clause) for r in rulings if r.verdict is Verdict.ASK and r.question]
        if asked and state.phase == "play":
            state = replace(state, questions=(*state.questions, *(Question(*one) for one in asked)))
        return state, tuple(rulings)


GAME = Trash()


# --- T1 to T3: who plays, with what ----------------------------------------------------------------------


def _must_fit(state: TrashState, event: Event) -> None:
    """What can't happen in this game at all is refused."""
    match event:
        case Shown(pile=pile):
            piles: tuple[Pile, ...] = (pile,)
            kinds: tuple[str, ...] = ("place", "trash")
        case Taken(pile=pile) | Peeked(pile=pile) | Lifted(pile=pile):
            piles, kinds = (pile,), ("stock", "trash", "place")
        case Moved(source=source, target=target):
            if (source, target) != (TRASH, STOCK):
                raise NotInThisGame(f"trash: expected the trash moved to the stock, got {source} to {target}")
            return
        case Answer() | Adjusted() | Dealt() | Ended() | Tick():
            piles, kinds = (), ()
        case _:
            raise NotInThisGame(f"trash: expected an event of Trash, got {type(event).__name__.lower()}")
    players = len(state.scores)
    for pile in piles:
        known = pile.kind in kinds and (pile.kind == "place") == (pile.place is not None)
        if not known or (pile.kind != "place" and pile.seat is not None):
            raise NotInThisGame(f"trash: expected a pile {' or '.join(kinds)}, got {pile}")
        if pile.place is not None and not (0 <= (pile.seat or 0) < players and 1 <= pile.place <= PLACES):
            raise NotInThisGame(f"trash: expected a place from place:0:1 to place:{players - 1}:{PLACES}, got {pile}")
    if event.seat is not None and not 0 <= event.seat < players:
        raise NotInThisGame(f"trash: expected a seat from 0 to {players - 1}, got {event.seat}")
    if isinstance(event, Taken) and event.count < 1:
        raise NotInThisGame(f"trash: expected 1 card or more taken, got {event.count}")


def _deal(state: TrashState) -> TrashState:
    """T2, T3: the layouts are dealt face down; the rest is the stock; there is no trash pile yet."""
    return replace(
        state,
        places=tuple((None,) * size for size in state.sizes),
        stock=state.setup.deck.size - sum(state.sizes),
        trash=(),
        phase="play",
        first_turn=True,
        touched=False,
        holding=False,
        held=None,
        source="",
        before=None,
        back=None,
        late=(),
        questions=(),
        waiting=(),
    )


def _peeked(state: TrashState, event: Peeked, rulings: Rulings) -> None:
    """T3: what lies face down stays unseen."""
    pile = event.pile
    if state.phase != "play" or pile == TRASH:
        return
    if pile.place is not None:
        layout = state.places[pile.seat or 0]
        if pile.place > len(layout) or layout[pile.place - 1] is not None:
            return
    _fault(state, rulings, "T3", "peek", _who(state, event, "T3"), event, about=(("pile", str(pile)),), waits=False)


# --- T5: drawing -------------------------------------------------------------------------------------------


def _taken(state: TrashState, event: Taken, rulings: Rulings) -> TrashState:
    if state.phase != "play":
        return state  # Gathering the cards in.
    pile = event.pile
    if pile.kind == "place":
        return _lifted_off(state, event, rulings)
    seat = _who(state, event, "T5")
    if pile == state.back == TRASH and seat == state.before:
        return _takes_discard_back(state, seat)
    if seat != state.turn and state.holding:  # T9: the turn ended with a card still in hand.
        state = _without_discard(state, event, rulings)
    about: About = (("pile", str(pile)),)
    if seat != state.turn:
        what = "drew_twice" if seat == state.before else "drew_out_of_turn"
        if _fault(state, rulings, "T5", what, seat, event, about=about):
            return state
        state = replace(state, turn=seat)
    elif state.holding:
        _fault(state, rulings, "T5", "drew_twice", seat, event, about=about, waits=False)
        return state
    if event.count > 1:
        _fault(state, rulings, "T5", "drew_twice", seat, event, about=about, waits=False)
    state = replace(state, back=None)
    if pile == STOCK:
        return replace(_from_stock(state, event, rulings), touched=True)
    if state.first_turn or not state.trash:
        what = "trash_on_first_turn" if state.first_turn else "no_trash_pile"
        _fault(state, rulings, "T5", what, seat, event, about=about, waits=False)
        if not state.trash:
            return state
    top = state.trash[-1]
    state = replace(state, trash=state.trash[:-1], holding=True, held=top, source="trash", touched=True)
    if state.house.trash_must_place and not _placeable(state, seat, top):
        _fault(state, rulings, "T5", "trash_must_place", seat, event, about=(("card", str(top)),), waits=False)
    return state


def _from_stock(state: TrashState, event: Taken, rulings: Rulings) -> TrashState:
    """T12: the stock used up, the trash pile except its top card is shuffled into a new one."""
    if state.stock == 0:
        state = _shuffled_in(state)  # Nobody saw it, but there is no other way.
    if state.stock == 0:
        raise NotInThisGame("trash: expected a card left in stock or trash, got a draw from nothing")
    state = replace(state, stock=state.stock - 1, holding=True, held=None, source="stock")
    if state.stock == 0 and len(state.trash) > 1:
        effects = (PutTogether((TRASH,), STOCK),)
        rulings.append(_note("T12", "stock_used_up", None, event.id, effects=effects))
    return state


def _shuffled_in(state: TrashState) -> TrashState:
    if state.phase != "play" or len(state.trash) < 2:
        return state
    return replace(state, stock=state.stock + len(state.trash) - 1, trash=state.trash[-1:])


def _lifted_off(state: TrashState, event: Taken, rulings: Rulings) -> TrashState:
    """A card taken off a place: one that must go back to the hand, the one just displaced, or a peek."""
    pile = event.pile
    if pile == state.back:
        return replace(state, back=None)
    layout = state.places[pile.seat or 0]
    if pile.place is not None and pile.place <= len(layout) and layout[pile.place - 1] is None:
        _fault(state, rulings, "T3", "peek", _who(state, event, "T3"), event, about=(("pile", str(pile)),), waits=False)
    return state


def _takes_discard_back(state: TrashState, seat: Seat) -> TrashState:
    """A card that should have been placed comes back to the hand, and the turn with it."""
    return replace(
        state, trash=state.trash[:-1], turn=seat, holding=True, held=state.trash[-1], source="place", back=None
    )


# --- T6 to T8: placing ---------------------------------------------------------------------------------------


def _stays(state: TrashState, card: Card | None, number: int) -> bool:
    """Whether what lies on the place stays there: a face-up card that is no wild one."""
    return card is not None and not state.house.is_wild(card)


def _placeable(state: TrashState, seat: Seat, card: Card) -> bool:
    """T6, T7, T8, T13: whether the rules let the card be placed anywhere."""
    layout = state.places[seat]
    if state.house.is_wild(card):
        return None in layout
    number = _own_number(state, card)
    return number is not None and number <= len(layout) and not _stays(state, layout[number - 1], number)


def _own_number(state: TrashState, card: Card) -> int | None:
    return None if state.house.is_wild(card) else state.house.number(card)


def _placed(state: TrashState, event: Shown, rulings: Rulings) -> TrashState:
    if state.phase != "play":
        return state
    owner, number = event.pile.seat or 0, event.pile.place or 0
    seat = owner if event.seat is None else event.seat
    card = _read(state, event, state.held if seat == state.turn else None, "T6")
    about: About = (("card", str(card)), ("place", str(number)))
    if seat != state.turn or owner != seat or not state.holding:
        return _turned_up_wrongly(state, event, seat, owner, card, about, rulings)
    _not_the_card_in_hand(state, event, card, seat, rulings)
    return _put_there(state, event, seat, card, about, rulings)


def _put_there(state: TrashState, event: Shown, seat: Seat, card: Card, about: About, rulings: Rulings) -> TrashState:
    """The card in hand put on an own place, rightly or wrongly."""
    number = event.pile.place or 0
    state = replace(state, held=card, back=None)
    clause, what = _wrong_place(state, seat, card, number)
    if what and _fault(state, rulings, clause, what, seat, event, effects=(TakeBack(seat, card),), about=about):
        return replace(state, back=event.pile)
    if number > len(state.places[seat]):
        return state
    return _lies(state, event, seat, card, number, rulings)


def _wrong_place(state: TrashState, seat: Seat, card: Card, number: int) -> tuple[str, str]:
    """Which clause the placing breaks and how; an empty ``what`` where it is right."""
    layout = state.places[seat]
    if not _placeable(state, seat, card):
        return "T9", "cannot_be_placed"
    wild = state.house.is_wild(card)
    if wild and number <= len(layout) and layout[number - 1] is None:
        return "T7", ""
    if wild:
        return "T7", "wrong_place"
    frees = number <= len(layout) and layout[number - 1] is not None
    return ("T8" if frees else "T6"), ("" if number == _own_number(state, card) else "wrong_place")


def _lies(state: TrashState, event: Shown, seat: Seat, card: Card, number: int, rulings: Rulings) -> TrashState:
    """T6, T7: the card displaced is the next to place; T8: a freed king may be placed again."""
    layout = state.places[seat]
    freed = layout[number - 1]
    if freed is not None and state.house.is_wild(freed):
        about: About = (("card", str(freed)), ("place", str(number)))
        rulings.append(_note("T8", "frees_a_king", seat, event.id, about=about))
    places = _put(state.places, seat, _put(layout, number - 1, card))
    state = replace(state, places=places, holding=True, held=freed, source="place", touched=True)
    return state if None in places[seat] else _won_round(state, seat, event, rulings)


def _turned_up_wrongly(
    state: TrashState, event: Shown, seat: Seat, owner: Seat, card: Card, about: About, rulings: Rulings
) -> TrashState:
    """T5, T6, T9: a place turned up out of turn, in the other's layout, or after one's turn was over."""
    effects = (TakeBack(seat, card),)
    if owner != seat:
        stands = _fault(state, rulings, "T6", "other_layout", seat, event, effects=effects, about=about, waits=False)
        return replace(state, back=event.pile) if stands else state
    if seat == state.turn:
        if _fault(state, rulings, "T5", "not_drawn", seat, event, effects=effects, about=about):
            return replace(state, back=event.pile)
        state = _from_stock(state, Taken(at=event.at, pile=STOCK, id=event.id), rulings)
        return _put_there(state, event, seat, card, about, rulings)
    goes_on = seat == state.before and not state.holding
    clause, what = ("T9", "goes_on") if goes_on else ("T5", "out_of_turn")
    stands = _fault(state, rulings, clause, what, seat, event, effects=effects, about=about, waits=False)
    return replace(state, back=event.pile) if stands else state


def _not_the_card_in_hand(state: TrashState, event: Shown, card: Card, seat: Seat, rulings: Rulings) -> None:
    """The card in hand is known, and another one is shown: the player went on with what lay under it."""
    if state.held is not None and card != state.held:
        about: About = (("card", str(card)), ("held", str(state.held)))
        _fault(state, rulings, "T6", "not_the_card_in_hand", seat, event, about=about, waits=False)


# --- T9, T10: discarding -------------------------------------------------------------------------------------


def _discarded(state: TrashState, event: Shown, rulings: Rulings) -> TrashState:
    if state.phase != "play":
        return state  # T11: the card still in the winner's hand.
    seat = _who(state, event, "T9")
    card = _read(state, event, state.held if seat == state.turn else None, "T9")
    about: About = (("card", str(card)),)
    if seat in state.late and not (seat == state.turn and state.holding):
        at = state.late.index(seat)
        return replace(state, late=state.late[:at] + state.late[at + 1 :], trash=(*state.trash, card))
    if seat != state.turn or not state.holding:
        what = "not_drawn" if seat == state.turn else "discarded_out_of_turn"
        if _fault(state, rulings, "T5", what, seat, event, effects=(TakeBack(seat, card),), about=about):
            return state
        if seat == state.turn:
            state = _from_stock(state, Taken(at=event.at, pile=STOCK, id=event.id), rulings)
    else:
        _not_the_card_in_hand(state, event, card, seat, rulings)
    back = None
    if seat == state.turn and not _may_discard(state, seat, card):
        effects = (TakeBack(seat, card),)
        if _fault(state, rulings, "T10", "declined", seat, event, effects=effects, about=about):
            back = TRASH
    return replace(
        state,
        trash=(*state.trash, card),
        turn=(seat + 1) % len(state.scores),
        before=seat,
        first_turn=False,
        holding=False,
        held=None,
        source="",
        back=back,
    )


def _may_discard(state: TrashState, seat: Seat, card: Card) -> bool:
    """T9: what can't be placed must go; T10: what may be declined."""
    if state.house.may_decline == "all" or not _placeable(state, seat, card):
        return True
    if state.house.may_decline == "none":
        return False
    number = _own_number(state, card)
    return number is None or state.places[seat][number - 1] is not None


def _without_discard(state: TrashState, event: Event, rulings: Rulings) -> TrashState:
    """T9: a turn ends with a discard. The card still in hand is to be discarded late."""
    seat = state.turn
    about: About = () if state.held is None else (("card", str(state.held)),)
    _fault(state, rulings, "T9", "no_discard", seat, event, about=about, waits=False)
    return replace(
        state,
        turn=(seat + 1) % len(state.scores),
        before=seat,
        first_turn=False,
        holding=False,
        held=None,
        source="",
        back=None,
        late=(*state.late, seat),
    )


# --- T4, T11, T13: the end of a round --------------------------------------------------------------------------


def _won_round(state: TrashState, seat: Seat, event: Event, rulings: Rulings) -> TrashState:
    """T11: the last place turns face up; T13: what comes next."""
    rulings.append(_won("T11", "all_face_up", seat, event))
    state = replace(state, scores=_put(state.scores, seat, state.scores[seat] + 1), phase="between", questions=())
    if state.house.shrinking and state.sizes[seat] == 1:
        rulings.append(_won("T13", "won_match", seat, event))
        return replace(state, phase="over", winners=(seat,))
    if state.house.shrinking:
        sizes = _put(state.sizes, seat, state.sizes[seat] - 1)
        state = replace(state, sizes=sizes)
        rulings.append(_note("T13", "one_place_fewer", seat, event.id, about=(("count", str(sizes[seat])),)))
    loser = (seat + 1) % len(state.scores)
    rulings.append(_note("T5", "loser_begins", loser, event.id, effects=(NextTurn(loser),)))
    return replace(state, turn=loser)


def _next_round(state: TrashState, event: Dealt, rulings: Rulings) -> TrashState:
    """T13: another round. Who deals it is nobody's business (T5 says who begins)."""
    if state.phase == "play" and not state.touched and not state.waiting:
        return state  # The deal of the round that the match began with.
    if state.phase == "play":
        rulings.append(_note("T13", "round_abandoned", None, event.id))
    return _deal(replace(state, hand=state.hand + 1))


def _ended_by_host(state: TrashState, event: Ended, rulings: Rulings) -> TrashState:
    """T13: most rounds won."""
    most = max(state.scores)
    winners = tuple(seat for seat, score in enumerate(state.scores) if score == most)
    rulings.extend(_won("T13", "ended_by_host", seat, event) for seat in winners)
    return replace(state, phase="over", winners=winners, questions=(), waiting=())


# --- what is asked, noted, flagged -------------------------------------------------------------------------------


def _read(state: TrashState, event: Shown, held: Card | None, clause: str) -> Card:
    """The card as shown, or as a person said; one that can't be read, or can't be this one, is asked for."""
    key = f"card:{event.id}"
    said = _card(state.answers[key]) if key in state.answers else None
    counts = state.setup.deck.counts
    if said is not None and said in counts:
        return said
    card = event.card if event.card is not None else held
    what = "which_card"
    about: About = ()
    if card is not None:
        about = (("card", str(card)),)
        if card not in counts:
            what, clause = "not_of_this_deck", "T1"
        elif card != held and _lying(state, card) >= counts[card]:
            what, clause = "lies_already", "T1"
        else:
            return card
    choices = tuple(str(other) for other in event.or_cards if other in counts)
    raise _Wait(*_ask(Question(key, choices, clause), what, event.seat, event.id, about))


def _lying(state: TrashState, card: Card) -> int:
    """How many of the card lie face up, or are known to be in hand."""
    return sum(layout.count(card) for layout in state.places) + state.trash.count(card) + (state.held == card)


def _card(text: str) -> Card | None:
    try:
        return Card.parse(text)
    except BadInput:
        return None


def _who(state: TrashState, event: Event, clause: str) -> Seat:
    """Whose doing it was; where that isn't known a person is asked."""
    if event.seat is not None:
        return event.seat
    choices = tuple(str(seat) for seat in range(len(state.scores)))
    said = state.answers.get(f"seat:{event.id}")
    if said in choices:
        return int(said)
    raise _Wait(*_ask(Question(f"seat:{event.id}", choices, clause), "who_was_it", None, event.id))


def _ask(question: Question, what: str, seat: Seat | None, event: int, about: About = ()) -> tuple[Question, Ruling]:
    return question, Ruling(
        clause=question.clause,
        verdict=Verdict.ASK,
        what=what,
        seat=seat,
        because=(event,),
        question=question.key,
        choices=question.choices,
        about=about,
    )


def _note(
    clause: str, what: str, seat: Seat | None, event: int, *, effects: tuple[Effect, ...] = (), about: About = ()
) -> Ruling:
    return Ruling(
        clause=clause, verdict=Verdict.NOTE, what=what, seat=seat, effects=effects, because=(event,), about=about
    )


def _won(clause: str, what: str, seat: Seat, event: Event) -> Ruling:
    return Ruling(clause=clause, verdict=Verdict.WON, what=what, seat=seat, because=(event.id,))


def _fault(
    state: TrashState,
    rulings: Rulings,
    clause: str,
    what: str,
    seat: Seat,
    event: Event,
    *,
    effects: tuple[Effect, ...] = (),
    about: About = (),
    waits: bool = True,
) -> bool:
    """Raise a fault unless a person has said that it does not stand; says whether it stands.

    One that rests on too little is asked about; where play would go on otherwise, what follows waits for that.
    """
    key = f"fault:{event.id}:{what}"
    said = state.answers.get(key)
    if said is None and event.confidence < state.house.confidence:
        wait = _Wait(*_ask(Question(key, ("stands", "void"), clause), what, seat, event.id, about))
        if waits:
            raise wait
        rulings.append(wait.ruling)
        return False
    stands = said != "void"
    rulings.append(
        Ruling(
            clause=clause,
            verdict=Verdict.FAULT if stands else Verdict.NOTE,
            what=what if stands else "void",
            seat=seat,
            effects=effects if stands else (),
            probability=event.confidence if said is None else 1.0,
            because=(event.id,),
            question=key,
            choices=("stands", "void"),
            about=about,
        )
    )
    return stands


def _put(items: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    return (*items[:at], value, *items[at + 1 :])
