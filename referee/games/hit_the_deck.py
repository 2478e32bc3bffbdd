"""Hit the Deck: match the top card, obey what it says, and don't be the last hand on the pile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from referee.bad_input import BadInput
from referee.cards import Card, Pile, Seat
from referee.events import (
    Adjusted,
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
    seats_around,
)
from referee.games.hit_the_deck_owed import (
    goes_out,
    make_room,
    nothing_to_draw,
    owes,
    pays,
    penalties_due,
    shuffled,
    used_up,
)
from referee.games.hit_the_deck_says import (
    Rulings,
    Wait,
    asking,
    fault,
    fault_key,
    note,
    read_card,
    whose,
)
from referee.games.hit_the_deck_slaps import (
    called,
    close_races,
    everyone_slaps,
    false_slap,
    first_landing,
    lifted,
    order_told,
    settle,
    slapped,
)
from referee.games.hit_the_deck_state import (
    DISCARD,
    DRAW,
    Debt,
    Duty,
    Face,
    HitTheDeckState,
    House,
    put,
)
from referee.ruling import Draw, Effect, NextTurn, Ruling, Score, TakeBack, Verdict

CALL = "hit the deck with a hand"
_SECOND_NS = 1_000_000_000


class HitTheDeck:
    """The rules H1 to H34."""

    name = "hit-the-deck"
    players = range(2, 7)  # H1
    deck = "hit-the-deck"
    phrases = (CALL,)
    options = (
        CONFIDENCE,
        Option("first_decree", True, "H5", (True, False)),
        Option("symbols_match", True, "H7", (True, False)),
        Option("cut_skips", True, "H10", (True, False)),
        # Which card of the two at the cut is exposed: people need to know; the count is the same.
        Option("cut_exposes", "lifted", "H10", ("lifted", "remaining")),
        Option("last_by", "time", "H15", ("time", "top")),
        Option("false_slap_on_decree", True, "H18", (True, False)),
        Option("tie", "share", "H21", ("share", "play_on")),
        Option("decree_chain", False, "H22", (True, False)),
        Option("slap_window", 3.0, "H24", low=0.1, high=60.0),
        Option("close_call", "ask", "H25", ("ask", "both", "none")),
        Option("exposed_acts", True, "H26", (True, False)),
        Option("call_grace", 1.5, "H28", low=0.0, high=60.0),
        Option("announce", "call", "H28", ("call", "trust")),
        Option("illegal_play", "take_back", "H34", ("take_back", "stand", "ask")),
    )
    clauses: Mapping[str, str] = {
        "H1": "players; jewellery off",
        "H2": "the deck",
        "H3": "the deal and the first card",
        "H4": "a first Hit the Deck with a hand is buried",
        "H5": "a first Cut, Flip or decree binds the first player",
        "H6": "whose turn",
        "H7": "a turn: one card that matches",
        "H8": "Hit the Deck cards go on any colour",
        "H9": "who can't discard draws one",
        "H10": "Cut the Deck",
        "H11": "Flip the Deck",
        "H12": "a Flip exposed by a flip or a cut",
        "H13": "Hit the Deck with a number",
        "H14": "Hit the Deck with a colour",
        "H15": "Hit the Deck with a hand: the last draws four",
        "H16": "the call forgotten, or a slap before it",
        "H17": "who plays after the slap",
        "H18": "a slap at the wrong time draws two",
        "H19": "the draw pile used up",
        "H20": "the end of a hand and the count",
        "H21": "a hundred points; the lowest wins",
        "H22": "what meets a decree",
        "H23": "a word card as the last card",
        "H24": "hands that never come",
        "H25": "last hands too close to tell",
        "H26": "a word card exposed by a cut or a flip",
        "H27": "too few cards for what is owed",
        "H28": "when the call counts",
        "H29": "the discarder's hand must leave the pile first",
        "H30": "a player's first landing counts",
        "H31": "slaps before the next discard are free",
        "H32": "drawing although able to play",
        "H33": "the deal passes; leaving and joining",
        "H34": "an illegal discard",
    }

    def layout(self, players: int) -> Layout:
        """The two piles side by side in the middle."""
        return Layout(seats_around(players), (PilePlace(DRAW, 0.42, 0.5), PilePlace(DISCARD, 0.58, 0.5)))

    def start(self, setup: Setup) -> HitTheDeckState:
        """H3: seven cards each; the rest is the draw pile."""
        players = len(setup.players)
        state = HitTheDeckState(
            setup=setup,
            house=_house(setup),
            names=setup.players,
            standing=("in",) * players,
            scores=(0,) * players,
            hands=(),
            draw=0,
            discards=0,
            dealer=setup.dealer,
            turn=setup.dealer,
        )
        if setup.deck.size <= 7 * players:
            raise BadInput.of("deck", f"more than {7 * players} cards for {players} players", setup.deck.size)
        return _deal(state, setup.dealer)

    def board(self, state: HitTheDeckState) -> Board:
        """Whose turn, how many cards everybody holds, and the scores."""
        counts = {DRAW: state.draw, DISCARD: state.discards}
        counts.update((Pile("hand", seat), count) for seat, count in enumerate(state.hands))
        playing = state.phase == "play"
        return Board(
            turn=(state.duty.seat if state.duty else state.turn) if playing else None,
            phase="slap" if playing and state.races and not state.races[-1].closed else state.phase,
            hand=state.hand,
            dealer=state.dealer,
            scores=state.scores,
            standing=tuple("out" if standing == "next" else standing for standing in state.standing),
            counts=counts,
            tops={DISCARD: state.top} if state.discards else {},
            questions=state.questions,
            winners=state.winners,
            over=state.phase == "over",
            names=state.names,
        )

    def expects(self, state: HitTheDeckState) -> Expectation:
        """The player in turn and who owes cards; hands and the call while a race is open."""
        if state.phase == "over":
            return Expectation()
        if state.phase != "play":
            return Expectation(seats=frozenset(state.playing), piles=frozenset((DRAW, DISCARD)))
        seats = {state.turn} if state.duty is None else {state.duty.seat}
        if state.drew:
            seats.add(state.next_seat(state.turn))
        seats.update(debt.seat for debt in state.debts if debt.taken < debt.count)
        racing = bool(state.races) and not state.races[-1].closed
        until = None
        if racing and (first := first_landing(state.races[-1])) is not None:
            until = first.shifted(state.house.slap_window_ns)
        cards: frozenset[Card] = frozenset()
        if state.decree is not None and state.duty is None:
            cards = frozenset(card for card, face in state.house.faces.items() if _meets(state, face))
        return Expectation(
            seats=frozenset(seats),
            piles=frozenset((DRAW, DISCARD)),
            slaps=frozenset((DISCARD,)) if racing else frozenset(),
            phrases=frozenset(self.phrases) if racing else frozenset(),
            cards=cards,
            until=until,
        )

    def rule(self, state: HitTheDeckState, event: Event) -> tuple[HitTheDeckState, tuple[Ruling, ...]]:
        """Judge one event; what waited for time to pass is judged first."""
        _must_fit(state, event)
        rulings: Rulings = []
        if isinstance(event, Answer):
            state = replace(state, answers={**state.answers, event.question: event.says})
        elif isinstance(event, Adjusted):
            if event.seat is not None:
                score = state.scores[event.seat] + event.points
                state = replace(state, scores=put(state.scores, event.seat, score))
        elif state.phase == "over" or (event.provisional and not isinstance(event, Slap)):
            return state, ()  # After the end nothing is play; what isn't known yet is told again.
        elif state.waiting and not isinstance(event, Counted | Dealt | Ended | Joined | Left):
            state = replace(state, waiting=(*state.waiting, event))
        else:
            if state.waiting and not isinstance(event, Joined | Left):
                state = _never_answered(state, rulings)
            state = _happens(state, event, rulings)
        return state, tuple(rulings)


GAME = HitTheDeck()


def _house(setup: Setup) -> House:
    faces: dict[Card, Face] = {}
    for card in setup.deck.counts:
        word = setup.deck.trait(card, "word") or "number"
        face = Face(word, *(setup.deck.trait(card, name) for name in ("colour", "number", "says")))
        fits = {
            "number": bool(face.colour) and (face.number or "").isdecimal(),
            "cut": bool(face.colour),
            "flip": bool(face.colour),
            "hit number": bool(face.says),
            "hit colour": bool(face.says),
            "hit hand": True,
        }
        if not fits.get(word):
            raise BadInput.of("deck", "cards with colour and number, or a word and what it says", f"{card}")
        faces[card] = face
    given = {option.name: setup.options.get(option.name, option.default) for option in HitTheDeck.options}
    return House(
        deck=setup.deck,
        faces=faces,
        confidence=float(given["confidence"]),
        first_decree=bool(given["first_decree"]),
        symbols_match=bool(given["symbols_match"]),
        cut_skips=bool(given["cut_skips"]),
        last_by=str(given["last_by"]),
        false_slap_on_decree=bool(given["false_slap_on_decree"]),
        tie=str(given["tie"]),
        decree_chain=bool(given["decree_chain"]),
        slap_window_ns=round(float(given["slap_window"]) * _SECOND_NS),
        close_call=str(given["close_call"]),
        exposed_acts=bool(given["exposed_acts"]),
        call_grace_ns=round(float(given["call_grace"]) * _SECOND_NS),
        announce=str(given["announce"]),
        illegal_play=str(given["illegal_play"]),
    )


# --- one event -----------------------------------------------------------------------------------------


def _must_fit(state: HitTheDeckState, event: Event) -> None:
    """What can't happen in this game at all is refused."""
    match event:
        case Shown(pile=pile, source=source):
            piles = ((pile, ("discard",)), *(((source, ("draw", "discard", "hand")),) if source else ()))
        case Taken(pile=pile) | Peeked(pile=pile) | Slap(pile=pile) | Lifted(pile=pile) | Finish(pile=pile):
            piles = ((pile, ("draw", "discard")),)
        case Moved(source=source, target=target):
            piles = ((source, ("discard", "hand")), (target, ("draw", "discard")))
        case Turned(source=source, target=target):
            piles = ((source, ("draw", "discard")), (target, ("draw", "discard")))
        case Shout() | Counted() | Dealt() | Tick() | Joined() | Left() | Ended() | Adjusted() | Answer():
            piles = ()
        case _:
            raise NotInThisGame(f"hit-the-deck: expected an event of the game, got {type(event).__name__.lower()}")
    seats = len(state.names)
    for pile, kinds in piles:
        own = pile.kind == "hand"
        if pile.kind not in kinds or pile.place is not None or own != (pile.seat is not None):
            raise NotInThisGame(f"hit-the-deck: expected a pile {' or '.join(kinds)}, got {pile}")
        if own and not 0 <= (pile.seat or 0) < seats:
            raise NotInThisGame(f"hit-the-deck: expected a hand from 0 to {seats - 1}, got {pile}")
    if isinstance(event, Turned) and event.source == event.target:
        raise NotInThisGame(f"hit-the-deck: expected a pile turned over onto the other, got {event.source} twice")
    if isinstance(event, Taken) and event.count < 1:
        raise NotInThisGame(f"hit-the-deck: expected 1 card or more taken, got {event.count}")
    if isinstance(event, Shout) and _normal(event.phrase) != CALL:
        raise NotInThisGame(f"hit-the-deck: expected the call {CALL!r}, got {event.phrase[:60]!r}")
    if isinstance(event, Counted | Left) and event.seat is None:
        raise NotInThisGame(f"hit-the-deck: expected whose it is, got {type(event).__name__.lower()} without a seat")
    if isinstance(event, Joined | Answer) or event.seat is None:
        return
    if not 0 <= event.seat < seats:
        raise NotInThisGame(f"hit-the-deck: expected a seat from 0 to {seats - 1}, got {event.seat}")
    if state.standing[event.seat] != "in" and not isinstance(event, Adjusted | Tick | Lifted):
        raise NotInThisGame(f"hit-the-deck: expected a seat that plays, got {event.seat}, who doesn't")


def _normal(phrase: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in phrase.lower()).split())


def _happens(state: HitTheDeckState, event: Event, rulings: Rulings) -> HitTheDeckState:
    """Time passes, then the event itself; what a person must say first holds it back."""
    if state.early or state.races:
        state = _time_passes(state, event, rulings)
    so_far = len(rulings)
    before = state
    try:
        match event:
            case Shown():
                state = _shown(state, event, rulings)
            case Taken():
                state = _taken(state, event, rulings)
            case Slap():
                state = slapped(state, event, rulings)
            case Lifted():
                state = lifted(state, event)
            case Shout():
                state = called(state, event, rulings)
            case Finish():
                state = order_told(state, event, rulings)
            case Turned():
                state = _turned(state, event, rulings)
            case Moved():
                state = _moved(state, event)
            case Counted():
                state = _counted(state, event, rulings)
            case Dealt():
                state = _dealt(state, event, rulings)
            case Joined():
                state = _joined(state, event, rulings)
            case Left():
                state = _left(state, event, rulings)
            case Ended():
                state = _ended(state, "ended_by_host", event, rulings)
    except Wait as wait:
        del rulings[so_far:]
        rulings.append(wait.ruling)
        return replace(before, waiting=(event,), questions=(*before.questions, wait.question))
    return _with_questions(state, rulings)


def _with_questions(state: HitTheDeckState, rulings: Rulings) -> HitTheDeckState:
    """What was asked while play goes on stands open."""
    if not any(ruling.verdict is Verdict.ASK for ruling in rulings):
        return state
    known = {question.key for question in state.questions}
    asked = [(r.question, r.choices, r.clause) for r in rulings if r.verdict is Verdict.ASK and r.question]
    new = tuple(Question(*one) for one in asked if one[0] not in known)
    return replace(state, questions=(*state.questions, *new))


def _never_answered(state: HitTheDeckState, rulings: Rulings) -> HitTheDeckState:
    """The hand is over and nobody has answered: what was held back is not judged, and nobody knows who holds what."""
    question = state.questions[-1]
    rulings.append(note(question.clause, "never_answered", None, state.waiting[0].id))
    return replace(state, waiting=(), questions=state.questions[:-1], hands_known=False)


def _time_passes(state: HitTheDeckState, event: Event, rulings: Rulings) -> HitTheDeckState:
    """Windows run out, and what was too soon to tell becomes certain."""
    now = event.at
    if state.early:
        # Had a card come to lie there before the slap, it would have been told before this.
        certain = [slap for slap in state.early if slap.at.before(now) >= state.house.confidence]
        if certain:
            state = replace(state, early=tuple(slap for slap in state.early if slap not in certain))
            for slap in certain:
                state = false_slap(state, slap, rulings)
    for race in state.races:
        state = settle(state, race, event, rulings)
    return state


# --- H1, H3, H4, H5, H6: the deal and the first card -----------------------------------------------------


def _deal(state: HitTheDeckState, dealer: Seat) -> HitTheDeckState:
    """H3: seven each. Nothing of the last hand goes on but scores and answers."""
    standing = tuple("in" if one == "next" else one for one in state.standing)
    hands = tuple(7 if one == "in" else 0 for one in standing)
    return HitTheDeckState(
        setup=state.setup,
        house=state.house,
        names=state.names,
        standing=standing,
        scores=state.scores,
        hands=hands,
        draw=state.house.deck.size - sum(hands),
        discards=0,
        dealer=dealer,
        turn=dealer,
        hand=state.hand,
        lifts=state.lifts,
        counted=(None,) * len(standing),
        begun=state.begun,
        answers=state.answers,
    )


def _dealt(state: HitTheDeckState, event: Dealt, rulings: Rulings) -> HitTheDeckState:
    """H33: the deal passes left."""
    due = state.dealer
    if state.phase in ("play", "count"):
        due = state.next_seat(state.dealer, 1)
        state = _close_count(state, event, rulings)
        if state.phase == "over":
            return state
    dealer = due if event.seat is None else event.seat
    if dealer != due:
        key = fault_key(event, "wrong_dealer")
        if not fault(state, rulings, "H33", "wrong_dealer", dealer, event, about=(("expected", str(due)),), key=key):
            dealer = due
    hand = state.hand + (state.phase != "deal")
    return _deal(replace(state, hand=hand), dealer)


def _first_card(state: HitTheDeckState, event: Shown, rulings: Rulings) -> HitTheDeckState:
    card = read_card(state, event, "H3")
    face = state.house.faces[card]
    if not state.begun:
        rulings.append(note("H1", "jewellery_off", None, event.id))
    state = replace(state, begun=True)
    if face.word == "hit hand":  # H4: it goes back into the draw pile, and the next one is the first card.
        rulings.append(note("H4", "bury_first", state.dealer, event.id, about=(("card", str(card)),)))
        return state
    first = state.next_seat(state.dealer, 1)
    about = (("card", str(card)),)
    rulings.append(note("H3", "first_card", None, event.id, about=about))
    rulings.append(note("H6", "begins", first, event.id, effects=(NextTurn(first),)))
    state = replace(
        state, phase="play", draw=state.draw - 1, discards=1, turn=first, top=card, top_sure=event.confidence
    )
    if face.word == "number" or (face.hits and not state.house.first_decree):
        return state
    what = "first_decree" if face.hits else f"first_{face.word}"
    rulings.append(note("H5", what, first, event.id, about=about))
    return _obey(state, face, state.dealer, event, rulings)


# --- H6 to H9: a turn ----------------------------------------------------------------------------------


def _shown(state: HitTheDeckState, event: Shown, rulings: Rulings) -> HitTheDeckState:
    """A card came to lie on the discard pile: the first one, a cut, a new top after burying, or a discard."""
    if state.phase == "between":
        state = _deal(replace(state, hand=state.hand + 1), state.dealer)
    if state.phase == "deal":
        return _first_card(state, event, rulings)
    if state.phase != "play":
        return state  # Cards laid out for the count.
    duty = state.duty
    buries = duty is not None and duty.what == "bury"
    if duty is not None and buries and (event.source in (DRAW, DISCARD) or event.seat in (None, duty.seat)):
        return _new_top(state, event, duty, rulings)
    if event.source == DRAW:
        return _cut(state, event, rulings)
    if event.source == DISCARD:
        raise NotInThisGame("hit-the-deck: expected a card from a hand or the draw pile, got discard onto discard")
    return _discarded(state, event, rulings)


def _discarded(state: HitTheDeckState, event: Shown, rulings: Rulings) -> HitTheDeckState:
    seat = whose(state, event, "H6")
    card = read_card(state, event, "H7")
    face = state.house.faces[card]
    if state.hands[seat] == 0:
        raise NotInThisGame(f"hit-the-deck: expected a card of a player who holds some, got {card} of seat {seat}")
    about: tuple[tuple[str, str], ...] = (("card", str(card)),)
    state = penalties_due(state, seat, event, rulings)
    if state.duty is not None:
        after = state.duty
        state, goes_on = _not_done(state, seat, event, rulings, about, (TakeBack(seat, card),))
        if not goes_on:
            return replace(state, back=state.back + 1)
        if after is state.duty:
            return _out_of_turn(state, event, seat, card, rulings)
    passes = (state.drew or nothing_to_draw(state)) and seat == state.next_seat(state.turn)
    if seat != state.turn and not passes:
        return _out_of_turn(state, event, seat, card, rulings)
    legal = True
    sure = event.confidence * state.top_sure
    if state.decree is not None:
        clause, _, value = state.decree
        if not _meets(state, face):
            what, about = "decree_disobeyed", (*about, ("decree", value))
            legal = not fault(state, rulings, clause, what, seat, event, about=about, probability=sure)
    elif not _matches(state, face):
        about = (*about, ("on", str(state.top)))
        legal = not fault(state, rulings, "H7", "no_match", seat, event, about=about, probability=sure)
    if state.drew and seat == state.turn and legal:
        legal = _is_the_drawn_card(state, event, seat, card, rulings)
    if not legal and not _illegal_stands(state, event, rulings):
        return _taken_back(state, event, seat, card, rulings)
    return _plays(state, event, seat, card, rulings)


def _matches(state: HitTheDeckState, face: Face) -> bool:
    """H7, H8: number or colour; two symbols; a "Hit the Deck" card goes with everything."""
    if state.top is None or face.hits:
        return True
    top = state.house.faces[state.top]
    if top.hits or face.colour == top.colour:
        return True
    if face.word == top.word == "number":
        return face.number == top.number
    return face.word == top.word and state.house.symbols_match


def _meets(state: HitTheDeckState, face: Face) -> bool:
    """H13, H14, H22: the number or the colour decreed."""
    if state.decree is None:
        return True
    if face.hits:
        return state.house.decree_chain
    _, kind, value = state.decree
    return value == (face.number if kind == "number" else face.colour)


def _out_of_turn(state: HitTheDeckState, event: Shown, seat: Seat, card: Card, rulings: Rulings) -> HitTheDeckState:
    """H6; H7 where the player of the last card lays another one at once."""
    clause, what = ("H7", "two_cards") if seat == state.last_player and not state.drew else ("H6", "out_of_turn")
    stands = state.house.illegal_play == "stand"
    effects = () if stands else (TakeBack(seat, card),)
    about = (("card", str(card)), ("expected", str(state.duty.seat if state.duty else state.turn)))
    if fault(state, rulings, clause, what, seat, event, effects=effects, about=about) and not stands:
        return replace(state, back=state.back + 1)
    return _plays(replace(state, duty=None), event, seat, card, rulings)


def _is_the_drawn_card(state: HitTheDeckState, event: Shown, seat: Seat, card: Card, rulings: Rulings) -> bool:
    """H9: only the card just drawn may still be played; that it is that one nobody can see, so it may be disputed."""
    key = f"drawn:{event.id}"
    if state.answers.get(key) == "old":
        about = (("card", str(card)),)
        return not fault(state, rulings, "H9", "old_card", seat, event, about=about, key=key, choices=("drawn", "old"))
    rulings.append(
        Ruling(
            clause="H9",
            verdict=Verdict.NOTE,
            what="plays_what_it_drew",
            seat=seat,
            because=(state.drew_event, event.id),
            question=key,
            choices=("drawn", "old"),
            about=(("card", str(card)),),
        )
    )
    return True


def _illegal_stands(state: HitTheDeckState, event: Shown, rulings: Rulings) -> bool:
    """H34: whether an illegal discard stays on the pile."""
    key = f"illegal:{event.id}"
    said = state.answers.get(key)
    if said is None and state.house.illegal_play == "ask":
        raise Wait(*asking(Question(key, ("take_back", "stand"), "H34"), "illegal_play", event.seat, (event.id,)))
    return (said or state.house.illegal_play) == "stand"


def _taken_back(state: HitTheDeckState, event: Shown, seat: Seat, card: Card, rulings: Rulings) -> HitTheDeckState:
    """H34: the card goes back, that player draws one and the turn passes."""
    following = state.next_seat(seat)
    effects = (TakeBack(seat, card), Draw(seat, 1), NextTurn(following))
    rulings.append(note("H34", "goes_back", seat, event.id, effects=effects, about=(("card", str(card)),)))
    state = replace(state, turn=following, drew=0, back=state.back + 1)
    return owes(state, seat, 1, "H34", event, rulings)


def _plays(state: HitTheDeckState, event: Shown, seat: Seat, card: Card, rulings: Rulings) -> HitTheDeckState:
    """The card lies; what it says is done next, or the hand is over."""
    face = state.house.faces[card]
    state = close_races(state, event, rulings)
    held = state.hands[seat] - 1
    state = replace(
        state,
        hands=put(state.hands, seat, held),
        discards=state.discards + 1,
        turn=state.next_seat(seat),
        drew=0,
        top=card,
        top_sure=event.confidence,
        decree=None,
        last_player=seat,
        back=0,
        stray=False,
        debts=tuple(debt for debt in state.debts if debt.taken < debt.count) if state.debts else (),
        free=face.word == "hit hand",
        freed_until=event.at if state.free else state.freed_until,
        down=state.down if state.lifts else frozenset(),
        laying=seat,
        shout=state.shout if face.word == "hit hand" else None,
    )
    if face.word == "hit hand":
        return everyone_slaps(state, event, seat, rulings)
    if held == 0:
        return _went_out(state, seat, face, event, rulings)
    return state if face.word == "number" else _obey(state, face, seat, event, rulings)


def _taken(state: HitTheDeckState, event: Taken, rulings: Rulings) -> HitTheDeckState:
    """Cards drawn: first what is owed, then the one of H9."""
    if state.phase != "play":
        return state  # The deal itself.
    seat = whose(state, event, "H6")
    if event.pile == DISCARD:
        if state.back >= event.count:
            return replace(state, back=state.back - event.count)
        fault(state, rulings, "H9", "took_discards", seat, event, about=(("count", str(event.count)),), waits=False)
        return state
    state = make_room(state, event.count)
    hands = put(state.hands, seat, state.hands[seat] + event.count)
    state = replace(state, draw=state.draw - event.count, hands=hands)
    state, left, paid = pays(state, seat, event.count)
    if left:
        state = _draws(state, seat, left, paid, event, rulings)
    return used_up(state, event, rulings)


def _draws(
    state: HitTheDeckState, seat: Seat, count: int, paid: Debt | None, event: Taken, rulings: Rulings
) -> HitTheDeckState:
    """H9: who can't discard draws one; H32: who could, may. More is a fault."""
    if state.duty is not None:
        duty = state.duty
        state, goes_on = _not_done(state, seat, event, rulings, (("count", str(count)),), ())
        if not goes_on:
            return state
        if duty is state.duty:
            return _drew_out_of_turn(state, seat, count, paid, event, rulings)
    if state.drew and seat == state.next_seat(state.turn):  # The turn has passed.
        state = replace(state, turn=seat, drew=0)
    if seat != state.turn:
        return _drew_out_of_turn(state, seat, count, paid, event, rulings)
    extra = count - 1 if not state.drew else count
    state = replace(state, drew=state.drew + count, drew_event=state.drew_event if state.drew else event.id)
    if extra:
        fault(state, rulings, "H9", "second_draw", seat, event, about=(("count", str(extra)),), waits=False)
    return state


def _drew_out_of_turn(
    state: HitTheDeckState, seat: Seat, count: int, paid: Debt | None, event: Taken, rulings: Rulings
) -> HitTheDeckState:
    if paid is not None:
        about = (("owed", str(paid.count)), ("surplus", str(count)))
        fault(state, rulings, paid.clause, "penalty_too_many", seat, event, about=about, waits=False)
    else:
        about = (("count", str(count)), ("expected", str(state.duty.seat if state.duty else state.turn)))
        fault(state, rulings, "H6", "drew_out_of_turn", seat, event, about=about, waits=False)
    return state


# --- H10, H11, H12, H26: cutting, flipping, burying ------------------------------------------------------


def _obey(state: HitTheDeckState, face: Face, by: Seat, event: Event, rulings: Rulings) -> HitTheDeckState:
    """What a word card orders once it is on top; ``state.turn`` is who is next."""
    if face.word in ("hit number", "hit colour"):
        clause, kind = ("H13", "number") if face.word == "hit number" else ("H14", "colour")
        value = face.says or ""
        rulings.append(note(clause, "decree", state.turn, event.id, about=(("decree", value),)))
        return replace(state, decree=(clause, kind, value))
    if face.word == "cut":
        if state.draw < 2:
            state = shuffled(state, "H10", event, rulings)
        if state.draw < 1:
            rulings.append(note("H27", "nothing_to_cut", state.turn, event.id))
            return state
        rulings.append(note("H10", "cut_now", state.turn, event.id))
        return replace(state, duty=Duty("cut", state.turn, by, "H10"))
    if state.draw < 1:
        state = shuffled(state, "H12", event, rulings)
    if state.draw < 1:
        rulings.append(note("H27", "nothing_to_flip", state.turn, event.id))
        return state
    flipper = state.next_seat(by)
    rulings.append(note("H11", "flip_now", flipper, event.id))
    return replace(state, duty=Duty("flip", flipper, by, "H11"))


def _not_done(
    state: HitTheDeckState,
    seat: Seat,
    event: Shown | Taken,
    rulings: Rulings,
    about: tuple[tuple[str, str], ...],
    effects: tuple[Effect, ...],
) -> tuple[HitTheDeckState, bool]:
    """H10, H11: somebody acts while a cut or a flip is due; says whether that play is still to be judged."""
    duty = state.duty
    assert duty is not None
    if duty.what == "bury":
        fault(state, rulings, duty.clause, "not_buried", duty.seat, event, waits=False)
        return replace(state, duty=None), True
    what = "not_cut" if duty.what == "cut" else "not_flipped"
    if duty.what == "flip" and duty.turned:  # One pile was turned over, and play went on.
        fault(state, rulings, "H11", "half_flipped", duty.seat, event, waits=False)
        return _flipped(state, duty, event, rulings), True
    if seat == duty.seat:
        if fault(state, rulings, duty.clause, what, seat, event, effects=effects, about=about):
            return state, False
        return replace(state, duty=None, turn=seat), True
    past = state.next_seat(duty.seat) if duty.what == "cut" else duty.by
    if seat != past or (duty.what == "cut" and not state.house.cut_skips):
        return state, True
    fault(state, rulings, duty.clause, what, duty.seat, event, waits=False)
    direction = -state.direction if duty.what == "flip" else state.direction
    return replace(state, duty=None, turn=seat, drew=0, direction=direction), True


def _cut(state: HitTheDeckState, event: Shown, rulings: Rulings) -> HitTheDeckState:
    """H10: the next player exposes a card of the draw pile; then that player's turn is over."""
    card = read_card(state, event, "H10")
    duty = state.duty
    if duty is None or duty.what != "cut":
        if fault(state, rulings, "H10", "no_cut_due", event.seat, event, about=(("card", str(card)),)):
            return replace(state, back=state.back + 1)
        duty = Duty("cut", event.seat if event.seat is not None else state.turn, state.turn, "H10")
    seat = duty.seat if event.seat is None else event.seat
    if seat != duty.seat:
        about = (("card", str(card)), ("expected", str(duty.seat)))
        fault(state, rulings, "H10", "wrong_cutter", seat, event, about=about, waits=False)
    else:
        state = penalties_due(state, seat, event, rulings)
    state = make_room(state, 1)
    state = replace(
        state,
        draw=state.draw - 1,
        discards=state.discards + 1,
        duty=None,
        decree=None,
        turn=state.next_seat(duty.seat) if state.house.cut_skips else duty.seat,
        drew=0,
        top=card,
        top_sure=event.confidence,
        last_player=None,
    )
    return used_up(_exposed(state, card, duty.seat, "H26", event, rulings), event, rulings)


def _turned(state: HitTheDeckState, event: Turned, rulings: Rulings) -> HitTheDeckState:
    """H11: both piles are turned over and change places."""
    if state.phase != "play":
        return state
    duty = state.duty
    if duty is None or duty.what != "flip":
        if not state.stray:
            fault(state, rulings, "H11", "no_flip_due", event.seat, event, waits=False)
        return replace(state, stray=True)
    if event.seat not in (None, duty.seat) and not duty.blamed:
        about = (("expected", str(duty.seat)),)
        fault(state, rulings, "H11", "wrong_flipper", event.seat, event, about=about, waits=False)
        duty = replace(duty, blamed=True)
    elif not duty.turned:
        state = penalties_due(state, duty.seat, event, rulings)
    if event.source == DRAW:
        card = read_card(state, event, "H11")
        state = replace(state, top=card, top_sure=event.confidence)
    duty = replace(duty, turned=duty.turned | {event.source})
    state = replace(state, duty=duty)
    return _flipped(state, duty, event, rulings) if len(duty.turned) == 2 else state


def _flipped(state: HitTheDeckState, duty: Duty, event: Event, rulings: Rulings) -> HitTheDeckState:
    """H11: direction reverses, and who played the Flip has the next turn."""
    rulings.append(note("H11", "reversed", duty.by, event.id, effects=(NextTurn(duty.by),)))
    top = state.top if DRAW in duty.turned else None
    state = replace(
        state,
        draw=state.discards,
        discards=state.draw,
        direction=-state.direction,
        turn=duty.by,
        drew=0,
        duty=None,
        decree=None,
        top=top,
        last_player=None,
    )
    return state if top is None else _exposed(state, top, duty.seat, "H12", event, rulings)


def _exposed(state: HitTheDeckState, card: Card, by: Seat, how: str, event: Event, rulings: Rulings) -> HitTheDeckState:
    """H12, H26: a word card that came to the top by a cut (``how`` H26) or a flip (H12)."""
    face = state.house.faces[card]
    about = (("card", str(card)),)
    if face.word == "flip" and how == "H12":
        if state.discards < 2:
            return state  # Nothing lies under it that could become the top.
        rulings.append(note("H12", "bury_flip", by, event.id, about=about))
        return replace(state, duty=Duty("bury", by, by, "H12"))
    if face.word == "number" or not state.house.exposed_acts:
        return state
    if face.word == "hit hand":
        if state.draw < 1 and how == "H26":
            state = shuffled(state, "H26", event, rulings)
        if state.discards < 2 if how == "H12" else state.draw < 1:
            return state
        rulings.append(note("H26", "bury_exposed", by, event.id, about=about))
        return replace(state, duty=Duty("bury", by, by, how))
    clause, what = ("H12", "flip_exposed") if face.word == "flip" else ("H26", f"{face.word.replace(' ', '_')}_exposed")
    rulings.append(note(clause, what, state.turn, event.id, about=about))
    return _obey(state, face, by, event, rulings)


def _new_top(state: HitTheDeckState, event: Shown, duty: Duty, rulings: Rulings) -> HitTheDeckState:
    """What lies on top once a Flip or a "Hit the Deck with a hand" was buried."""
    card = read_card(state, event, duty.clause)
    below = duty.clause == "H12" and (duty.moved == DISCARD or event.source is None)
    source = DISCARD if below or event.source == DISCARD else DRAW
    into = duty.moved or (DISCARD if source == DISCARD else DRAW)
    # A card from the draw pile replaces one buried in it; else the card below simply shows.
    draw = state.draw + (duty.moved is None and into == DRAW) - (source == DRAW)
    cards = state.draw + state.discards
    state = replace(state, draw=draw, discards=cards - draw, duty=None, top=card, top_sure=event.confidence)
    return _exposed(state, card, duty.by, duty.clause, event, rulings)


def _moved(state: HitTheDeckState, event: Moved) -> HitTheDeckState:
    """H19: discards shuffled into a draw pile; H4, H12, H26: a card buried; cards put right."""
    source, target, count = event.source, event.target, event.count
    if source.kind == "hand":
        seat = source.seat or 0
        number = state.hands[seat] if count is None else count
        if not 0 <= number <= state.hands[seat] or target != DRAW:
            raise NotInThisGame(f"hit-the-deck: expected up to {state.hands[seat]} cards to the draw pile, got {count}")
        return replace(state, hands=put(state.hands, seat, state.hands[seat] - number), draw=state.draw + number)
    if state.phase != "play":
        return state
    duty = state.duty
    if duty is not None and duty.what == "bury" and count == 1 and duty.moved is None:
        state = replace(state, duty=replace(duty, moved=target))
        moves = target == DRAW
        return replace(state, draw=state.draw + moves, discards=state.discards - moves)
    if target == DISCARD:
        return state
    if count is not None and count <= state.back:
        return replace(state, back=state.back - count)
    number = state.discards - 1 if count is None else count
    if not 0 <= number < max(state.discards, 1):
        raise NotInThisGame(f"hit-the-deck: expected up to {state.discards - 1} discards moved, got {number}")
    return replace(state, draw=state.draw + number, discards=state.discards - number)


# --- H20, H21, H23: the end of a hand --------------------------------------------------------------------


def _went_out(state: HitTheDeckState, seat: Seat, face: Face, event: Event, rulings: Rulings) -> HitTheDeckState:
    """H20: no cards left. H23: a word card as the last one is not carried out."""
    if face.word != "number":
        rulings.append(note("H23", "not_carried_out", seat, event.id))
    if any(debt.seat == seat and debt.taken < debt.count for debt in state.debts):
        return state  # Cards are owed: whoever must draw is not out.
    return goes_out(state, seat, event, rulings)


def _counted(state: HitTheDeckState, event: Counted, rulings: Rulings) -> HitTheDeckState:
    """H20: add up the cards laid out, and compare them with what the hand should hold."""
    seat = event.seat
    assert seat is not None
    for card in event.cards:
        if card not in state.house.faces:
            raise NotInThisGame(f"hit-the-deck: expected cards of the {state.house.deck.name}, got {card}")
    if state.phase == "play":  # The last card was not seen, or its slap is still open.
        rulings.append(note("H20", "ended_unseen", None, event.id))
        out = next((race.discarder for race in state.races if state.hands[race.discarder] == 0), None)
        state = replace(state, phase="count", duty=None, decree=None, debts=(), races=(), early=(), winner=out)
    if state.phase == "between":
        raise NotInThisGame(f"hit-the-deck: expected a hand in play, got a count of seat {seat} after the last count")
    if state.phase == "deal":  # Only the score is kept: nothing of the hand was seen.
        state = replace(state, phase="count", hands_known=False)
    points = sum(state.house.faces[card].points for card in event.cards)
    before = state.counted[seat]
    earned = points - sum(state.house.faces[card].points for card in before or ())
    about = (("points", str(points)), ("cards", str(len(event.cards))))
    rulings.append(note("H20", "counted", seat, event.id, effects=(Score(seat, earned),), about=about))
    scores = put(state.scores, seat, state.scores[seat] + earned)
    off = len(event.cards) - state.hands[seat]
    if off and state.hands_known:
        what = "cards_missing" if off < 0 else "cards_too_many"
        about = (("count", str(abs(off))), ("held", str(state.hands[seat])))
        fault(state, rulings, "H20", what, seat, event, about=about, waits=False)
    state = replace(state, scores=scores, counted=put(state.counted, seat, event.cards))
    uncounted = [one for one in state.playing if state.counted[one] is None and one != state.winner]
    return state if uncounted else _hand_over(state, event, rulings)


def _close_count(state: HitTheDeckState, event: Event, rulings: Rulings) -> HitTheDeckState:
    """A new hand is dealt before everybody has counted."""
    if state.phase == "play":
        rulings.append(note("H20", "hand_abandoned", None, event.id))
        return state
    uncounted = [seat for seat in state.playing if state.counted[seat] is None and seat != state.winner]
    if state.winner is None and len(uncounted) == 1:
        uncounted = []  # The one who had no cards to lay out.
    for seat in uncounted:
        key = f"{fault_key(event, 'not_counted')}:{seat}"
        fault(state, rulings, "H20", "not_counted", seat, event, key=key, waits=False)
    return _hand_over(state, event, rulings)


def _hand_over(state: HitTheDeckState, event: Event, rulings: Rulings) -> HitTheDeckState:
    """H2: more of a card than the deck has; H21: a hundred points; H33: the deal passes left."""
    laid = Counter(card for cards in state.counted if cards for card in cards)
    for card, count in sorted(laid.items()):
        if count > state.house.deck.counts[card]:
            about = (("card", str(card)), ("count", str(count)), ("deck", str(state.house.deck.counts[card])))
            key = f"{fault_key(event, 'more_than_the_deck')}:{card}"
            fault(state, rulings, "H2", "more_than_the_deck", None, event, about=about, key=key, waits=False)
    if max(state.scores[seat] for seat in state.playing) >= 100:
        lowest = min(state.scores[seat] for seat in state.playing)
        shared = sum(state.scores[seat] == lowest for seat in state.playing) > 1
        if not shared or state.house.tie == "share":
            return _ended(state, "shares_lowest_score" if shared else "lowest_score", event, rulings)
        rulings.append(note("H21", "tie_plays_on", None, event.id))
    dealer = state.next_seat(state.dealer, 1)
    rulings.append(note("H33", "deal_passes", dealer, event.id))
    return replace(state, phase="between", dealer=dealer, races=(), early=(), winner=None)


def _ended(state: HitTheDeckState, what: str, event: Event, rulings: Rulings) -> HitTheDeckState:
    """H21: the lowest score wins; equal lowest scores share."""
    lowest = min(state.scores[seat] for seat in state.playing)
    winners = tuple(seat for seat in state.playing if state.scores[seat] == lowest)
    for seat in winners:
        about = (("points", str(lowest)),)
        rulings.append(
            Ruling(clause="H21", verdict=Verdict.WON, what=what, seat=seat, because=(event.id,), about=about)
        )
    return replace(state, phase="over", winners=winners, races=(), early=(), questions=(), duty=None, waiting=())


# --- H33: joining and leaving ----------------------------------------------------------------------------


def _joined(state: HitTheDeckState, event: Joined, rulings: Rulings) -> HitTheDeckState:
    """H33: a joiner starts, between hands, with the highest score at the table."""
    seat = len(state.names) if event.seat is None else event.seat
    taken = seat < len(state.names) and state.standing[seat] != "left"
    if taken or not 0 <= seat <= len(state.names) or seat not in range(HitTheDeck.players.stop - 1):
        raise NotInThisGame(f"hit-the-deck: expected a free seat, got {seat}")
    if not event.name.strip() or len(event.name) > 40 or event.name in state.names[:seat] + state.names[seat + 1 :]:
        raise NotInThisGame(f"hit-the-deck: expected a new name of 1 to 40 letters, got {event.name[:40]!r}")
    highest = max(state.scores[other] for other in state.playing)
    if seat == len(state.names):
        state = replace(
            state,
            names=(*state.names, ""),
            standing=(*state.standing, "left"),
            scores=(*state.scores, 0),
            hands=(*state.hands, 0),
            counted=(*state.counted, None),
        )
    about = (("points", str(highest)), ("name", event.name))
    rulings.append(note("H33", "joins", seat, event.id, about=about))
    state = replace(
        state,
        names=put(state.names, seat, event.name),
        standing=put(state.standing, seat, "next"),
        scores=put(state.scores, seat, highest),
    )
    # Before the first card nothing of the hand is seen yet, so the joiner is dealt in.
    return _deal(state, state.dealer) if state.phase == "deal" else state


def _left(state: HitTheDeckState, event: Left, rulings: Rulings) -> HitTheDeckState:
    """H33: a leaver's cards go under the draw pile."""
    seat = event.seat
    assert seat is not None
    held = state.hands[seat]
    rulings.append(note("H33", "leaves", seat, event.id, about=(("count", str(held)),)))
    turn, duty = state.turn, state.duty
    gone = replace(state, standing=put(state.standing, seat, "left"))
    if len(gone.playing) < 2:
        return _ended(gone, "last_at_the_table", event, rulings)
    following = gone.next_seat(seat)
    if duty is not None:
        by = gone.next_seat(seat, -gone.direction) if duty.by == seat else duty.by
        duty = replace(duty, seat=following if duty.seat == seat else duty.seat, by=by)
    state = replace(
        gone,
        hands=put(state.hands, seat, 0),
        draw=state.draw + held,
        turn=following if turn == seat else turn,
        drew=0 if turn == seat else state.drew,
        duty=duty,
        debts=tuple(debt for debt in state.debts if debt.seat != seat),
        races=tuple(race for race in state.races if race.discarder != seat),
        dealer=gone.next_seat(seat, 1) if state.phase == "between" and state.dealer == seat else state.dealer,
    )
    if state.phase == "deal":
        return _deal(state, gone.next_seat(seat, 1) if state.dealer == seat else state.dealer)
    for race in state.races:
        state = settle(state, race, event, rulings)
    if state.phase == "count":
        uncounted = [one for one in state.playing if state.counted[one] is None and one != state.winner]
        return state if uncounted else _hand_over(state, event, rulings)
    return state
