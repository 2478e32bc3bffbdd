"""Snap: race to the spot when a turned card matches another pile."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from referee.cards import Card, Deck, Pile, Seat
from referee.events import (
    Adjusted,
    Answer,
    Dealt,
    Ended,
    Event,
    Finish,
    Lifted,
    Moved,
    Shout,
    Shown,
    Slap,
    Tick,
    Turned,
)
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
from referee.instant import Instant, first_probabilities
from referee.ruling import Effect, Give, PutTogether, Ruling, TakeBack, Verdict, WinPiles

SPOT = Pile("spot")
POT = Pile("pot")
SNAP = "snap"
SNAP_POT = "snap pot"

#: A claim is judged once so much time has passed since it: no later claim, and no card turned later, can
#: then have come before it. Doubts that the referee would decide on are a tenth of this.
SETTLE_NS = 250_000_000
#: How sure the tops are that a race still asked about may have moved: not enough for any ruling.
UNSETTLED = 0.5


@dataclass(frozen=True, slots=True)
class Face:
    """A card lying face up: what it is (None: unreadable), how sure that is, and the event that showed it."""

    card: Card | None
    confidence: float
    event: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A hand on the spot, or a call: who claims, when, and for a call which phrase."""

    seat: Seat
    at: Instant
    event: int
    confidence: float
    provisional: bool
    phrase: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """The card turned last, and the race that it opened, if it did.

    ``piles`` are the other players' piles that it matched, ``pot`` whether it matched the Pot;
    ``sure`` is how sure that match (or that there is none) is; for calls, each kind by itself: ``piles_sure`` and
    ``pot_sure`` that these match, ``no_piles_sure`` and ``no_pot_sure`` that none does.
    """

    event: int
    at: Instant
    turner: Seat
    piles: tuple[Pile, ...] = ()
    pot: bool = False
    sure: float = 1.0
    piles_sure: float = 1.0
    pot_sure: float = 1.0
    no_piles_sure: float = 1.0
    no_pot_sure: float = 1.0
    closed: bool = False
    orders: tuple[tuple[tuple[Seat, ...], float], ...] = ()

    @property
    def race(self) -> bool:
        """Whether there was anything to snap."""
        return self.pot or bool(self.piles)


@dataclass(frozen=True, slots=True)
class SnapState:
    """A whole evening of Snap at one moment.

    ``down`` counts the face-down piles by seat, ``up`` holds the face-up ones, bottom first. ``after`` is who
    last had a regular turn. ``claims`` are not judged yet; ``paid`` have paid for this card (S9).
    ``contested`` are the piles of races that are asked about.
    ``awards`` (pile, new owner or None for the Pot) and ``debts`` (giver, receiver) wait to be carried out
    at the table; the counts already have them.
    """

    setup: Setup
    down: tuple[int, ...]
    up: tuple[tuple[Face, ...], ...]
    after: Seat
    dealer: Seat
    scores: tuple[int, ...]
    hand: int = 1
    pot: tuple[Face, ...] = ()
    turn: Turn | None = None
    before: Turn | None = None
    claims: tuple[Claim, ...] = ()
    paid: frozenset[Seat] = frozenset()
    take_back: Seat | None = None
    awards: tuple[tuple[Pile, Seat | None], ...] = ()
    debts: tuple[tuple[Seat, Seat], ...] = ()
    contested: tuple[Pile, ...] = ()
    tied: tuple[Seat, ...] = ()
    answers: Mapping[str, str] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    winners: tuple[Seat, ...] = ()

    def held(self, seat: Seat) -> int:
        """How many cards the seat has in both its piles."""
        return self.down[seat] + len(self.up[seat])

    def next_holder(self, seat: Seat, step: int = 1) -> Seat | None:
        """The nearest other player with cards, clockwise (or anticlockwise with ``step`` -1), else that one."""
        players = len(self.down)
        around = ((seat + step * i) % players for i in range(1, players + 1))
        return next((other for other in around if self.held(other)), None)


Rulings: TypeAlias = list[Ruling]
T = TypeVar("T")


class Snap:
    """The rules S1 to S20."""

    name = "snap"
    players = range(2, 13)  # S1
    deck = "standard52"
    phrases = (SNAP, SNAP_POT)
    options = (
        CONFIDENCE,
        Option("match_scope", "rank", "S12", ("rank", "rank_and_color", "suit")),
        Option("snap_by", "hand", "S8", ("hand", "voice")),
        # Who types the game in does not type who moved which pile; who films it sees that.
        Option("moves", "trusted", "S5", ("trusted", "watched")),
    )
    clauses: Mapping[str, str] = {
        "S1": "players and deck",
        "S2": "the deal",
        "S3": "turns go clockwise from the dealer's left",
        "S4": "a turn: one card onto one's own face-up pile",
        "S5": "a match: the first to snap wins both piles",
        "S6": "a tie goes to the Snap Pot",
        "S7": "Snap Pot",
        "S8": "how one snaps",
        "S9": "a wrong snap costs a card",
        "S10": "who holds all the cards wins",
        "S11": "a used-up pile is turned over",
        "S12": "what matches",
        "S13": "from when and until when a snap counts",
        "S14": "too close to tell is a tie",
        "S15": "who is next after a race",
        "S16": "only a newly turned card opens a race",
        "S17": "a card that matches several",
        "S18": "a tie while a Pot stands",
        "S19": "losing a race is no fault; an early snap is",
        "S20": "without cards; sharing; ending the game",
    }

    def layout(self, players: int) -> Layout:
        """Each player's two piles before them, the Pot and the spot in the middle."""
        seats = seats_around(players)
        piles = [PilePlace(SPOT, 0.5, 0.5), PilePlace(POT, 0.5, 0.5 - 0.17)]
        for place in seats:
            piles.append(before_seat(place, Pile("down", place.seat), inward=0.36, right=-0.08))
            piles.append(before_seat(place, Pile("up", place.seat), inward=0.36, right=0.08))
        return Layout(seats, tuple(piles))

    def start(self, setup: Setup) -> SnapState:
        """S2: all the cards are dealt, from the dealer's left on, as evenly as possible."""
        players = len(setup.players)
        return SnapState(
            setup=setup,
            down=_dealt(setup.deck.size, players, setup.dealer),
            up=((),) * players,
            after=setup.dealer,
            dealer=setup.dealer,
            scores=(0,) * players,
        )

    def board(self, state: SnapState) -> Board:
        """Whose turn, and how many cards everybody has."""
        counts = {POT: len(state.pot)}
        tops = {POT: state.pot[-1].card if state.pot else None}
        for seat, pile in enumerate(state.up):
            counts[Pile("down", seat)] = state.down[seat]
            counts[Pile("up", seat)] = len(pile)
            tops[Pile("up", seat)] = pile[-1].card if pile else None
        racing = state.turn is not None and state.turn.race and not state.turn.closed
        return Board(
            turn=None if state.winners else state.next_holder(state.after),
            phase="over" if state.winners else "race" if racing else "play",
            hand=state.hand,
            dealer=state.dealer,
            scores=state.scores,
            standing=tuple("in" if state.held(seat) else "out" for seat in range(len(state.down))),
            counts=counts,
            tops={pile: top for pile, top in tops.items() if counts[pile]},
            questions=state.questions,
            winners=state.winners,
            over=bool(state.winners),
        )

    def expects(self, state: SnapState) -> Expectation:
        """The next player's card; and hands or calls, which may come at any time."""
        seat = None if state.winners else state.next_holder(state.after)
        if seat is None:
            return Expectation()
        by_voice = state.setup.options["snap_by"] == "voice"
        return Expectation(
            seats=frozenset({seat}),
            piles=frozenset({Pile("up", seat)}),
            slaps=frozenset() if by_voice else frozenset({SPOT}),
            phrases=frozenset(self.phrases) if by_voice else frozenset(),
        )

    def rule(self, state: SnapState, event: Event) -> tuple[SnapState, tuple[Ruling, ...]]:
        """Judge one event; what waited for time to pass is judged first."""
        _must_fit(state, event)
        rulings: Rulings = []
        if isinstance(event, Answer):
            return replace(state, answers={**state.answers, event.question: event.says}), ()
        if isinstance(event, Dealt):
            return _deal(state, event), ()
        if isinstance(event, Adjusted) and event.seat is not None:
            scores = tuple(n + event.points * (seat == event.seat) for seat, n in enumerate(state.scores))
            return replace(state, scores=scores), ()
        if state.winners:
            return state, ()  # The game is over: gathering the cards in is not play.
        if isinstance(event, Finish) and event.pile == SPOT and state.turn is not None:
            state = replace(state, turn=replace(state.turn, orders=event.orders))
        owed = state
        if state.claims:
            state = _settle(state, event, rulings)
            if rulings and (state := _over(state, event, rulings)).winners:
                return state, tuple(rulings)
        match event:
            case Shown():
                state = _card_turned(_not_carried_out(state, owed, event, rulings), event, rulings)
            case Slap(pile=pile) if pile == SPOT and state.setup.options["snap_by"] == "hand":
                state = _claimed(state, event, None, rulings)
            case Shout(phrase=phrase) if phrase in self.phrases and state.setup.options["snap_by"] == "voice":
                state = _claimed(state, event, phrase, rulings)
            case Turned():
                state = _turned_over(state, event, rulings)
            case Moved():
                state = _moved(state, event, rulings)
            case Ended():
                state = _ended_by_host(state, event, rulings)
        if rulings:
            state = _over(state, event, rulings)
        return state, tuple(rulings)


GAME = Snap()


# --- S1, S2: who plays, with what ----------------------------------------------------------------------


def _must_fit(state: SnapState, event: Event) -> None:
    players = len(state.down)
    if not isinstance(
        event, Shown | Slap | Lifted | Finish | Shout | Turned | Moved | Tick | Dealt | Ended | Answer | Adjusted
    ):
        raise NotInThisGame(f"snap: expected an event of Snap, got {type(event).__name__.lower()}")
    if event.seat is not None and not 0 <= event.seat < players:
        raise NotInThisGame(f"snap: expected a seat from 0 to {players - 1}, got {event.seat}")
    match event:
        case Shown(pile=pile):
            piles: tuple[Pile, ...] = (pile,)
            kinds: tuple[str, ...] = ("up",)
            if event.card is not None and event.card not in state.setup.deck.counts:
                raise NotInThisGame(f"snap: expected a card of the {state.setup.deck.name}, got {event.card}")
        case Moved(source=source, target=target):
            piles, kinds = (source, target), ("up", "down", "pot")
        case Turned(source=source, target=target):
            piles, kinds = (source, target), ("up", "down")
        case _:
            return
    for pile in piles:
        if pile.kind not in kinds or pile.place is not None:
            raise NotInThisGame(f"snap: expected a pile {' or '.join(kinds)}, got {pile}")
        if (pile.kind == "pot") != (pile.seat is None) or not 0 <= (pile.seat or 0) < players:
            raise NotInThisGame(f"snap: expected a pile of a seat from 0 to {players - 1}, got {pile}")


def _dealt(cards: int, players: int, dealer: Seat) -> tuple[int, ...]:
    each, over = divmod(cards, players)
    return tuple(each + ((seat - dealer - 1) % players < over) for seat in range(players))


def _deal(state: SnapState, event: Dealt) -> SnapState:
    begun = state.turn is not None or bool(state.winners)
    players = len(state.down)
    dealer = event.seat if event.seat is not None else (state.dealer + 1) % players if begun else state.dealer
    return SnapState(
        setup=state.setup,
        down=_dealt(state.setup.deck.size, players, dealer),
        up=((),) * players,
        after=dealer,
        dealer=dealer,
        scores=state.scores,
        hand=state.hand + begun,
        answers=state.answers,
    )


# --- S3, S4, S11: a turn -------------------------------------------------------------------------------


def _card_turned(state: SnapState, event: Shown, rulings: Rulings) -> SnapState:
    seat = event.pile.seat or 0
    regular = state.next_holder(state.after)
    if not state.held(seat):
        state, _ = _fault(state, rulings, "S11", "no_cards", seat, event, effects=(TakeBack(seat, event.card),))
        return state
    if event.seat is not None and event.seat != seat:
        state, _ = _fault(state, rulings, "S4", "another_players_card", event.seat, event)
    take_back = None
    in_turn = seat == regular
    if not in_turn:
        twice = state.turn is not None and state.turn.turner == seat
        clause, what = ("S4", "two_cards") if twice else ("S3", "out_of_turn")
        back = TakeBack(seat, _read_card(state, event))
        state, stands = _fault(state, rulings, clause, what, seat, event, effects=(back,))
        take_back = seat if stands else None
        in_turn = state.answers.get(f"fault:{event.id}:{what}") == "void"
    if not state.down[seat]:
        state = replace(state, down=_put(state.down, seat, len(state.up[seat])), up=_put(state.up, seat, ()))
        rulings.append(Ruling(clause="S11", verdict=Verdict.NOTE, what="turned_over", seat=seat, because=(event.id,)))
    face = _read(state, event, rulings)
    turn = _matches(state, seat, face, event)
    return replace(
        state,
        down=_put(state.down, seat, state.down[seat] - 1),
        up=_put(state.up, seat, (*state.up[seat], face)),
        after=seat if in_turn else state.after,
        turn=turn,
        before=state.turn,
        take_back=take_back,
        paid=frozenset(),
        questions=state.questions if face.card else (*state.questions, _card_question(event)),
    )


def _read_card(state: SnapState, event: Shown) -> Card | None:
    said = state.answers.get(f"card:{event.id}")
    return event.card if said is None else Card.parse(said)


def _read(state: SnapState, event: Shown, rulings: Rulings) -> Face:
    """The card as shown, or as a person said; one that nobody can read is asked for."""
    key = f"card:{event.id}"
    said = state.answers.get(key)
    if said is not None:
        return Face(Card.parse(said), 1.0, event.id)
    if event.card is None:
        question = _card_question(event)
        rulings.append(
            Ruling(
                clause="S4",
                verdict=Verdict.ASK,
                what="which_card",
                seat=event.pile.seat,
                because=(event.id,),
                question=question.key,
                choices=question.choices,
            )
        )
    return Face(event.card, event.confidence, event.id)


def _card_question(event: Shown) -> Question:
    return Question(f"card:{event.id}", tuple(str(card) for card in event.or_cards), "S4")


def _turned_over(state: SnapState, event: Turned, rulings: Rulings) -> SnapState:
    """S11: who has no face-down card left turns over their own face-up pile."""
    seat = event.source.seat or 0
    if event.source != Pile("up", seat) or event.target != Pile("down", seat):
        state, _ = _fault(
            state, rulings, "S11", "wrong_pile_turned", event.seat if event.seat is not None else seat, event
        )
        return state
    if not state.up[seat]:
        return state  # Already known: the card turned next told it.
    if state.down[seat]:
        state, _ = _fault(state, rulings, "S11", "turned_over_early", seat, event)
    else:
        rulings.append(Ruling(clause="S11", verdict=Verdict.NOTE, what="turned_over", seat=seat, because=(event.id,)))
    down = _put(state.down, seat, state.down[seat] + len(state.up[seat]))
    return replace(state, down=down, up=_put(state.up, seat, ()))


# --- S5, S7, S12, S16, S17: what a card matches --------------------------------------------------------


def _matches(state: SnapState, turner: Seat, face: Face, event: Shown) -> Turn:
    """S16: the newly turned card against every other top, the Pot's included (S17)."""
    others = [(Pile("up", seat), pile[-1]) for seat, pile in enumerate(state.up) if seat != turner and pile]
    if state.pot:
        others.append((POT, state.pot[-1]))
    matched = [(pile, top) for pile, top in others if match(state.setup, face.card, top.card)]
    # A match rests on the cards that match, no match on all that lie there.
    # Where a race is still asked about, whose its piles are is not known, nor whether there is a Pot.
    unsettled = UNSETTLED if state.contested else 1.0
    unsettled_match = UNSETTLED if any(pile in state.contested for pile, _ in matched) else 1.0
    sure = _sure(face, *(top for _, top in matched or others)) * (unsettled_match if matched else unsettled)
    piles_sure = _sure(face, *(top for pile, top in matched if pile != POT)) * unsettled_match
    pot_sure = _sure(face, *(top for pile, top in matched if pile == POT)) * unsettled_match
    no_piles = _sure(face, *(top for pile, top in others if pile != POT)) * unsettled
    no_pot = _sure(face, *(top for pile, top in others if pile == POT)) * unsettled
    piles = tuple(pile for pile, _ in matched if pile != POT)
    return Turn(
        event.id, event.at, turner, piles, len(piles) < len(matched), sure, piles_sure, pot_sure, no_piles, no_pot
    )


def _sure(*faces: Face) -> float:
    """How sure all these readings are together."""
    return math.prod(face.confidence if face.card is not None else 0.0 for face in faces)


def match(setup: Setup, one: Card | None, other: Card | None) -> bool:
    """S12: whether two cards match; a made-for-Snap deck says it by its cards' ``pair`` (S1)."""
    if one is None or other is None:
        return False
    pairs = _trait(setup.deck, one), _trait(setup.deck, other)
    if pairs != (None, None):
        return pairs[0] == pairs[1]
    if one.is_joker or other.is_joker:
        return one.is_joker and other.is_joker
    match setup.options["match_scope"]:
        case "suit":
            return one.suit == other.suit
        case "rank_and_color":
            return one.rank == other.rank and (one.suit in ("d", "h")) == (other.suit in ("d", "h"))
        case _:
            return one.rank == other.rank


def _trait(deck: Deck, card: Card) -> str | None:
    return deck.trait(card, "pair")


# --- S8, S13, S19, S20: claims -------------------------------------------------------------------------


def _claimed(state: SnapState, event: Slap | Shout, phrase: str | None, rulings: Rulings) -> SnapState:
    seat = event.seat
    said = state.answers.get(f"who:{event.id}")
    if said is not None and said.isdigit() and int(said) < len(state.down):
        seat = int(said)
    if said == "nobody" or (state.turn is None and seat is not None):
        return state  # S9: before any card is turned there is no penalty.
    if seat is None:
        choices = (*(str(s) for s in range(len(state.down)) if state.held(s)), "nobody")
        question = Question(f"who:{event.id}", choices, "S8")
        rulings.append(
            Ruling(
                clause="S8",
                verdict=Verdict.ASK,
                what="who_snapped",
                because=(event.id,),
                question=question.key,
                choices=choices,
            )
        )
        return replace(state, questions=(*state.questions, question))
    if not state.held(seat):
        state, _ = _fault(state, rulings, "S20", "no_cards", seat, event)
        return state
    claim = Claim(seat, event.at, event.id, event.confidence, event.provisional, phrase)
    if any(earlier.seat == seat and earlier.phrase == phrase for earlier in state.claims):
        return state  # The first one counts.
    state = replace(state, claims=(*state.claims, claim))
    if state.turn is not None and state.turn.race and phrase is None:
        eligible = {s for s in range(len(state.down)) if state.held(s)}
        if eligible <= {claim.seat for claim in state.claims}:
            state = _judge(state, event, state.claims, rulings)
    return state


def _settle(state: SnapState, event: Event, rulings: Rulings) -> SnapState:
    """Judge the claims for which nothing that is still to come can make a difference."""
    turn = state.turn
    if turn is None:
        return replace(state, claims=())
    confidence = float(state.setup.options["confidence"])
    if isinstance(event, Shown):
        # S13: the card now turned ends the race; S19: a claim that may have come after it goes with it.
        doubtful = tuple(c for c in state.claims if c.at.before(event.at) < confidence)
        sure = tuple(c for c in state.claims if c not in doubtful)
        if turn.race and not turn.closed and not _fitting(sure, turn) and (late := _fitting(doubtful, turn)):
            state = _wrong_calls(state, sure, rulings)
            key = f"race:{turn.event}" + (":pot" if all(c.phrase == SNAP_POT for c in late) else "")
            state = _ask_who(state, late, "S13", "in_time", event, rulings, key)
            if state.answers.get(key, "nobody") != "nobody":
                doubtful = tuple(claim for claim in doubtful if claim not in late)  # It was in time, a person said.
            return replace(state, claims=doubtful)
        if sure:
            state = _judge(state, event, sure if turn.closed or not turn.race else state.claims, rulings)
        return replace(state, claims=doubtful)
    if isinstance(event, Ended) or (isinstance(event, Finish) and event.pile == SPOT):
        return _judge(state, event, state.claims, rulings)
    if turn.race and not turn.closed:
        # The first to land decides; once nobody can come before them any more, it is known.
        first = min(state.claims, key=lambda claim: claim.at.at_ns)
        if event.at.at_ns >= first.at.at_ns + SETTLE_NS + 4 * first.at.sd_ns:
            return _judge(state, event, state.claims, rulings)
        return state
    ripe = tuple(c for c in state.claims if event.at.at_ns >= c.at.at_ns + SETTLE_NS + 4 * c.at.sd_ns)
    return _judge(state, event, ripe, rulings) if ripe else state


def _judge(state: SnapState, event: Event, claims: tuple[Claim, ...], rulings: Rulings) -> SnapState:
    """Judge claims against the card turned last."""
    turn = state.turn
    assert turn is not None
    confidence = float(state.setup.options["confidence"])
    early = tuple(c for c in claims if c.at.before(turn.at) >= confidence)
    fair = tuple(c for c in claims if c not in early)
    waiting = tuple(c for c in state.claims if c not in claims)
    state = replace(state, claims=waiting)
    for claim in early if state.before is not None else ():
        turner = state.before.turner if state.before else 0
        state = _wrong_snap(state, claim, "S19", "early", turner, rulings, no_match=1.0)
    if turn.race:
        if turn.closed or not fair:
            return _wrong_calls(state, fair, rulings)  # S19: losing a valid race is no fault.
        leaders = _leaders(fair, turn, confidence)
        if any(claim.provisional for claim in leaders) and not isinstance(event, Shown | Ended):
            return replace(state, claims=(*fair, *waiting))  # What that hand did is known at its lift.
        return _race(state, fair, event, rulings)
    for claim in fair:
        state = _unfounded(state, claim, event, rulings)
    return state


def _unfounded(state: SnapState, claim: Claim, event: Event, rulings: Rulings) -> SnapState:
    """A claim where the card turned last matches nothing."""
    turn, before = state.turn, state.before
    assert turn is not None
    confidence = float(state.setup.options["confidence"])
    maybe_before = claim.at.before(turn.at) > 1 - confidence
    if maybe_before and before is not None and before.race:
        if before.closed:
            return state  # S19: it may have been a losing hand in the race before.
        return _ask_snap(state, claim, "S13", "in_time", rulings)
    if (
        maybe_before
        and before is not None
        and _receiver(state, claim.seat, before.turner) != _receiver(state, claim.seat, turn.turner)
    ):
        return _ask_snap(state, claim, "S9", "whose_card", rulings)
    if maybe_before and before is None:
        return state  # S9: it may have come before any card.
    late = before is not None and before.race and not before.closed
    clause, what = ("S13", "late") if late else ("S9", "wrong_snap")
    # If it may have come before, it is wrong only if the card before matched nothing either.
    no_match = turn.sure * (before.sure if maybe_before and before is not None else 1.0)
    return _wrong_snap(state, claim, clause, what, turn.turner, rulings, no_match=no_match)


def _wrong_snap(
    state: SnapState, claim: Claim, clause: str, what: str, turner: Seat, rulings: Rulings, *, no_match: float
) -> SnapState:
    """S9: the offender gives a card to the player who has just played, or to their right if they did.

    ``no_match``: how sure it is that there was nothing to snap.
    """
    seat = claim.seat
    if seat in state.paid or not state.held(seat):
        return state  # Each offender pays once per card turned.
    receiver = _receiver(state, seat, turner)
    if receiver is None:
        return state
    sure = claim.confidence * no_match
    if claim.provisional or sure < float(state.setup.options["confidence"]):
        key = f"snap:{claim.event}"
        if key not in state.answers:
            return _ask_snap(state, claim, clause, "was_it_wrong", rulings)
        sure = 1.0
    effect = Give(seat, receiver)
    key = f"snap:{claim.event}"
    state, stands = _fault(state, rulings, clause, what, seat, claim, effects=(effect,), probability=sure, key=key)
    if not stands:
        return state
    up, down = state.up, state.down
    if down[seat]:
        down = _put(down, seat, down[seat] - 1)
    else:
        up = _put(up, seat, up[seat][:-1])
    return replace(
        state,
        down=_put(down, receiver, down[receiver] + 1),
        up=up,
        paid=state.paid | {seat},
        debts=(*state.debts, (seat, receiver)),
    )


def _receiver(state: SnapState, offender: Seat, turner: Seat) -> Seat | None:
    """Who has just played, or for one who errs on their own turn the nearest player on the right still in."""
    if turner != offender:
        return turner
    right = state.next_holder(offender, -1)
    return None if right == offender else right


def _ask_snap(state: SnapState, claim: Claim, clause: str, what: str, rulings: Rulings) -> SnapState:
    key = f"snap:{claim.event}"
    said = state.answers.get(key)
    turn = state.turn
    if turn is None:
        return state
    if said == "void":
        return _fault(state, rulings, clause, what, claim.seat, claim, key=key)[0]
    if said == "stands":
        certain = replace(claim, confidence=1.0, provisional=False)
        return _wrong_snap(state, certain, clause, "wrong_snap", turn.turner, rulings, no_match=1.0)
    choices = ("stands", "void")
    rulings.append(
        Ruling(
            clause=clause,
            verdict=Verdict.ASK,
            what=what,
            seat=claim.seat,
            because=(turn.event, claim.event),
            question=key,
            choices=choices,
        )
    )
    return replace(state, questions=(*state.questions, Question(key, choices, clause)))


# --- S5, S6, S7, S14, S17, S18: the race ---------------------------------------------------------------


def _race(state: SnapState, claims: tuple[Claim, ...], event: Event, rulings: Rulings) -> SnapState:
    turn = state.turn
    assert turn is not None
    own = Pile("up", turn.turner)
    everything = (*turn.piles, *((POT,) if turn.pot else ()), own)
    if state.setup.options["snap_by"] == "hand":
        return _decide(state, claims, everything, event, rulings)
    # By voice each call claims its own part (S17); the first call of all wins the turner's pile too.
    state = _wrong_calls(state, claims, rulings)
    parts = {SNAP: turn.piles, SNAP_POT: (POT,) if turn.pot else ()}
    valid = tuple(claim for claim in claims if parts[claim.phrase or SNAP])
    if not valid:
        return state
    called = tuple(piles for phrase, piles in parts.items() if any(c.phrase == phrase for c in valid))
    if len(called) == 1:
        return _decide(state, valid, (*called[0], own), event, rulings)
    lead = min(valid, key=lambda claim: (claim.at.at_ns, claim.phrase != SNAP)).phrase
    for phrase, piles in parts.items():
        calls = tuple(claim for claim in valid if claim.phrase == phrase)
        state = _decide(state, calls, (*piles, own) if phrase == lead else piles, event, rulings)
    return state


def _fitting(claims: tuple[Claim, ...], turn: Turn) -> tuple[Claim, ...]:
    """The claims of what the card matches: a hand claims all of it, a call its own kind."""
    return tuple(c for c in claims if c.phrase is None or (turn.piles if c.phrase == SNAP else turn.pot))


def _wrong_calls(state: SnapState, claims: tuple[Claim, ...], rulings: Rulings) -> SnapState:
    """Calls of what does not match: "Snap!" where only the Pot does, "Snap Pot!" where it doesn't."""
    turn, before = state.turn, state.before
    assert turn is not None
    confidence = float(state.setup.options["confidence"])
    for claim in claims:
        if claim in _fitting((claim,), turn):
            continue
        if before is not None and before.race and before.closed and claim.at.before(turn.at) > 1 - confidence:
            continue  # S19: it may have been a losing call in the race before.
        no_match = turn.no_piles_sure if claim.phrase == SNAP else turn.no_pot_sure
        state = _wrong_snap(state, claim, "S9", "wrong_call", turn.turner, rulings, no_match=no_match)
    return state


def _first_shares(claims: Iterable[Claim], turn: Turn) -> dict[Seat, float]:
    """For each who claims, the probability of having been first: jointly over all claims."""
    instants: dict[Seat, Instant] = {}
    for claim in claims:
        if claim.seat not in instants or claim.at.at_ns < instants[claim.seat].at_ns:
            instants[claim.seat] = claim.at
    shares = dict.fromkeys(instants, 0.0)
    for order, p in turn.orders:
        first = next((seat for seat in order if seat in shares), None)
        if first is not None:
            shares[first] += p
    if not turn.orders or not set(instants) <= {seat for order, _ in turn.orders for seat in order}:
        return first_probabilities(instants)
    return shares


def _leaders(claims: tuple[Claim, ...], turn: Turn, threshold: float) -> tuple[Claim, ...]:
    """The claims that may have been first."""
    shares = _first_shares(claims, turn)
    return tuple(claim for claim in claims if shares[claim.seat] > 1 - threshold)


def _first(claims: Iterable[Claim], turn: Turn) -> tuple[Seat | None, float]:
    """Who most probably was first (None: no one rather than another), and the probability."""
    shares = _first_shares(claims, turn)
    best = max(shares, key=lambda seat: (shares[seat], -seat))
    alone = [seat for seat in shares if shares[seat] == shares[best]] == [best]
    return (best if alone else None), shares[best]


def _decide(
    state: SnapState, claims: tuple[Claim, ...], piles: tuple[Pile, ...], event: Event, rulings: Rulings
) -> SnapState:
    """Who wins these piles, or that they go to the Pot."""
    turn = state.turn
    assert turn is not None
    threshold = float(state.setup.options["confidence"])
    phrase = claims[0].phrase if claims else None
    sure = turn.sure if phrase is None else turn.piles_sure if phrase == SNAP else turn.pot_sure
    by_claim = {claim.event: claim for claim in claims}
    because = (turn.event, *by_claim)
    key = f"race:{turn.event}" if not claims or claims[0].phrase != SNAP_POT else f"race:{turn.event}:pot"
    choices = (*map(str, range(len(state.down))), "tie", "nobody")
    clause = "S7" if POT in piles and not set(turn.piles) & set(piles) else "S5"
    winner, p_first = _first(claims, turn)
    probability = p_first
    said = state.answers.get(key)
    if said == "nobody":
        rulings.append(_decided("S16", Verdict.NOTE, "nobody", None, because, key, choices))
        return replace(state, turn=replace(turn, closed=True))
    if said is not None and said != "tie":
        winner, probability = int(said), 1.0
    elif said is None and p_first >= threshold and winner is not None:
        theirs = min((c for c in claims if c.seat == winner), key=lambda claim: claim.at.at_ns)
        probability = p_first * theirs.confidence * sure
        if probability < threshold or theirs.provisional:
            return _ask_who(state, claims, clause, "who_first", event, rulings, key)
    elif said is None and sure < threshold:
        return _ask_who(state, claims, clause, "is_it_a_match", event, rulings, key)
    elif said is None and any(c.provisional or c.confidence < threshold for c in _leaders(claims, turn, threshold)):
        return _ask_who(state, claims, clause, "who_first", event, rulings, key)
    else:
        # Told as sure as can be that it can't be told: the ruling itself is certain.
        leaders = _leaders(claims, turn, threshold)
        if len(leaders) < 2:
            leaders = claims  # Many that are unlikely one by one.
        exact = said == "tie" or (len({claim.at for claim in leaders}) == 1 and leaders[0].at.sd_ns == 0)
        seats = tuple(dict.fromkeys(c.seat for c in sorted(leaders, key=lambda claim: claim.at.at_ns)))
        return _tie(state, seats, piles, exact, p_first, because, key, choices, rulings)
    assert winner is not None
    rulings.append(
        replace(
            _decided(clause, Verdict.WON, "won_race", winner, because, key, choices),
            effects=(WinPiles(winner, piles),),
            probability=probability,
        )
    )
    won = sum(len(_pile(state, pile)) for pile in piles)
    state = _emptied(state, piles)
    awards = (*_other_awards(state, piles), *((pile, winner) for pile in piles))
    down = _put(state.down, winner, state.down[winner] + won)
    return replace(state, down=down, turn=replace(turn, closed=True), awards=awards)


def _tie(
    state: SnapState,
    seats: tuple[Seat, ...],
    piles: tuple[Pile, ...],
    exact: bool,
    p_first: float,
    because: tuple[int, ...],
    key: str,
    choices: tuple[str, ...],
    rulings: Rulings,
) -> SnapState:
    """S6, S7, S18: the piles go face up onto the Pot, the newest matching card on top; S14: so does doubt."""
    turn = state.turn
    assert turn is not None
    clause = "S14" if not exact else "S18" if state.pot and POT not in piles else "S7" if POT in piles else "S6"
    ruling = _decided(clause, Verdict.TIE if exact else Verdict.TOO_CLOSE, "tie", None, because, key, choices)
    together = tuple(pile for pile in piles if pile != POT)
    about = (("players", ",".join(map(str, seats))), ("p_first", f"{p_first:.3f}"))
    rulings.append(replace(ruling, effects=(PutTogether(together, POT),), about=about))
    pot = (*state.pot, *(face for pile in together for face in _pile(state, pile)))
    state = _emptied(state, together)
    awards = (*_other_awards(state, together), *((pile, None) for pile in together))
    return replace(state, pot=pot, turn=replace(turn, closed=True), awards=awards, tied=seats)


def _ask_who(
    state: SnapState,
    claims: tuple[Claim, ...],
    clause: str,
    what: str,
    event: Event,
    rulings: Rulings,
    key: str | None = None,
) -> SnapState:
    turn = state.turn
    assert turn is not None
    key = key or f"race:{turn.event}"
    if key in state.answers:
        return _race(state, claims, event, rulings)
    choices = (*map(str, range(len(state.down))), "tie", "nobody")
    because = (turn.event, *(claim.event for claim in claims))
    rulings.append(_decided(clause, Verdict.ASK, what, None, because, key, choices))
    questions = (*state.questions, Question(key, choices, clause))
    stakes = (*turn.piles, *((POT,) if turn.pot else ()), Pile("up", turn.turner))
    contested = tuple(dict.fromkeys((*state.contested, *stakes)))
    return replace(state, questions=questions, contested=contested, turn=replace(turn, closed=True))


# --- moving what was won or is owed --------------------------------------------------------------------


def _moved(state: SnapState, event: Moved, rulings: Rulings) -> SnapState:
    source, target = event.source, event.target
    owner = target.seat if target.kind == "down" else None
    own = source.kind == "up" and target == Pile("down", source.seat)
    goes_back = own and event.count == 1
    # Who sees a card go back may not see how many lay under it; only the one that had to go back is meant.
    one = event.count == 1 or (event.count is None and (source, owner) not in state.awards)
    if own and one and state.take_back == source.seat:
        return _taken_back(state, event, rulings)
    if (source, owner) in state.awards and target.kind != "up":
        return replace(state, awards=tuple(award for award in state.awards if award != (source, owner)))
    debt = (source.seat, target.seat)
    if event.count == 1 and target.kind == "down" and debt in state.debts:
        at = state.debts.index((source.seat or 0, target.seat or 0))
        return replace(state, debts=state.debts[:at] + state.debts[at + 1 :])
    if goes_back:
        return _taken_back(state, event, rulings)
    if source in state.contested and target.kind in ("down", "pot") and event.count is None:
        return _settled_at_the_table(state, source, owner)
    offender = event.seat if event.seat is not None else owner
    rightful = next((seat for pile, seat in state.awards if pile == source), None)
    if rightful is not None:
        clause = "S7" if source == POT else "S5"
        state, _ = _fault(
            state, rulings, clause, "taken_by_another", offender, event, effects=(WinPiles(rightful, (source,)),)
        )
    elif event.count == 1:
        state, _ = _fault(state, rulings, "S9", "not_owed", offender, event)
    else:
        state, _ = _fault(state, rulings, "S7" if source == POT else "S5", "taken_unwon", offender, event)
    return state


def _settled_at_the_table(state: SnapState, source: Pile, owner: Seat | None) -> SnapState:
    """A pile that a race asked about was for is taken: the state follows; whether rightly, the answer will say."""
    cards = _pile(state, source)
    state = replace(_emptied(state, (source,)), contested=tuple(pile for pile in state.contested if pile != source))
    if owner is None:
        return replace(state, pot=(*state.pot, *cards))
    return replace(state, down=_put(state.down, owner, state.down[owner] + len(cards)))


def _taken_back(state: SnapState, event: Moved, rulings: Rulings) -> SnapState:
    seat = event.source.seat or 0
    if not state.up[seat]:
        return state
    if state.take_back != seat:
        state, _ = _fault(state, rulings, "S4", "taken_back", seat, event)
    turn = state.turn
    if turn is not None and turn.event == state.up[seat][-1].event:
        turn = replace(turn, piles=(), pot=False, closed=True)
    down = _put(state.down, seat, state.down[seat] + 1)
    return replace(state, down=down, up=_put(state.up, seat, state.up[seat][:-1]), turn=turn, take_back=None)


def _not_carried_out(state: SnapState, owed: SnapState, event: Shown, rulings: Rulings) -> SnapState:
    """With ``moves = watched``: what was won is taken, what is owed is given, before the next card.

    ``owed`` is the state before this event: what this event itself brought to a ruling is not late yet.
    """
    if state.setup.options["moves"] != "watched":
        return state
    for pile, seat in owed.awards:
        clause = "S7" if pile == POT else "S5" if seat is not None else "S6"
        right = PutTogether((pile,), POT) if seat is None else WinPiles(seat, (pile,))
        about = (("pile", str(pile)),)
        key = f"fault:{event.id}:not_taken:{pile}"
        # What was told to open the next turn is not what this rests on: it was not told, and that is certain.
        state, _ = _fault(
            state, rulings, clause, "not_taken", seat, event, effects=(right,), probability=1.0, about=about, key=key
        )
    debts = list(state.debts)
    for giver, receiver in owed.debts:
        if (giver, receiver) not in debts:
            continue
        debts.remove((giver, receiver))
        effects = (Give(giver, receiver),)
        key = f"fault:{event.id}:not_given:{giver}"
        state, _ = _fault(state, rulings, "S9", "not_given", giver, event, effects=effects, probability=1.0, key=key)
    awards = tuple(award for award in state.awards if award not in owed.awards)
    return replace(state, awards=awards, debts=tuple(debts))


# --- S10, S20: the end ---------------------------------------------------------------------------------


def _over(state: SnapState, event: Event, rulings: Rulings) -> SnapState:
    holders = [seat for seat in range(len(state.down)) if state.held(seat)]
    if len(holders) > 1 or state.winners:
        return state
    if holders:
        clause, what, winners = "S10", "won_game", tuple(holders)
    else:
        clause, what, winners = "S20", "shared_win", state.tied
    return _won(state, clause, what, winners, event, rulings)


def _ended_by_host(state: SnapState, event: Ended, rulings: Rulings) -> SnapState:
    """S20: the host ends the game: most cards wins, the Pot counts for nobody."""
    most = max(state.held(seat) for seat in range(len(state.down)))
    winners = tuple(seat for seat in range(len(state.down)) if state.held(seat) == most)
    return _won(state, "S20", "ended_by_host", winners, event, rulings)


def _won(
    state: SnapState, clause: str, what: str, winners: tuple[Seat, ...], event: Event, rulings: Rulings
) -> SnapState:
    for seat in winners:
        rulings.append(Ruling(clause=clause, verdict=Verdict.WON, what=what, seat=seat, because=(event.id,)))
    scores = tuple(n + (seat in winners) for seat, n in enumerate(state.scores))
    return replace(state, winners=winners, scores=scores)


# --- small things --------------------------------------------------------------------------------------


def _fault(
    state: SnapState,
    rulings: Rulings,
    clause: str,
    what: str,
    seat: Seat | None,
    event: Event | Claim,
    *,
    effects: tuple[Effect, ...] = (),
    probability: float | None = None,
    about: tuple[tuple[str, str], ...] = (),
    key: str | None = None,
) -> tuple[SnapState, bool]:
    """Raise a fault, or ask where it isn't sure; a person may have said that it does not stand. Whether it stands."""
    number = event.event if isinstance(event, Claim) else event.id
    key = key or f"fault:{number}:{what}"
    said = state.answers.get(key)
    sure = event.confidence if probability is None else probability
    asked = said is None and sure < float(state.setup.options["confidence"])
    stands = not asked and said != "void"
    turn = state.turn.event if isinstance(event, Claim) and state.turn is not None else None
    choices = ("stands", "void")
    rulings.append(
        Ruling(
            clause=clause,
            verdict=Verdict.FAULT if stands else Verdict.ASK if asked else Verdict.NOTE,
            what="void" if said == "void" else what,
            seat=seat,
            effects=effects if stands else (),
            probability=1.0 if said == "stands" else sure,
            because=(number,) if turn is None else (turn, number),
            question=key,
            choices=choices,
            about=about,
        )
    )
    if asked:
        state = replace(state, questions=(*state.questions, Question(key, choices, clause)))
    return state, stands


def _decided(
    clause: str,
    verdict: Verdict,
    what: str,
    seat: Seat | None,
    because: tuple[int, ...],
    key: str,
    choices: tuple[str, ...],
) -> Ruling:
    return Ruling(clause=clause, verdict=verdict, what=what, seat=seat, because=because, question=key, choices=choices)


def _pile(state: SnapState, pile: Pile) -> tuple[Face, ...]:
    return state.pot if pile == POT else state.up[pile.seat or 0]


def _other_awards(state: SnapState, piles: Iterable[Pile]) -> tuple[tuple[Pile, Seat | None], ...]:
    """What is still to be taken besides these piles: a pile is taken once, by whoever won it last."""
    return tuple(award for award in state.awards if award[0] not in piles)


def _emptied(state: SnapState, piles: Iterable[Pile]) -> SnapState:
    up, pot = state.up, state.pot
    for pile in piles:
        if pile == POT:
            pot = ()
        else:
            up = _put(up, pile.seat or 0, ())
    return replace(state, up=up, pot=pot)


def _put(items: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    return (*items[:at], value, *items[at + 1 :])
