"""What the referee of Hit the Deck says of an event."""

from __future__ import annotations

from typing import TypeAlias

from referee.bad_input import BadInput
from referee.cards import Card, Seat
from referee.events import Event, Shown, Slap, Taken, Turned
from referee.game import Question
from referee.games.hit_the_deck_state import HitTheDeckState
from referee.ruling import Effect, Ruling, Verdict

Rulings: TypeAlias = list[Ruling]


class Wait(Exception):
    """The event can't be judged before a person has answered."""

    def __init__(self, question: Question, ruling: Ruling) -> None:
        """Wait for ``question``, which ``ruling`` asks."""
        super().__init__(question.key)
        self.question = question
        self.ruling = ruling


def read_card(state: HitTheDeckState, event: Shown | Turned, clause: str) -> Card:
    """The card as shown, or as a person said; what can't be read, or is not of this deck, is asked for."""
    key = f"card:{event.id}"
    if key in state.answers:
        said = card_of(state.answers[key])
        if said in state.house.faces:
            return said
    if event.card is not None and event.card in state.house.faces:
        return event.card
    others = event.or_cards if isinstance(event, Shown) else ()
    choices = tuple(str(card) for card in others if card in state.house.faces)
    foreign = event.card is not None
    about = (("card", str(event.card)),) if foreign else ()
    what = "not_of_this_deck" if foreign else "which_card"
    clause = "H2" if foreign else clause
    raise Wait(*asking(Question(key, choices, clause), what, event.seat, (event.id,), about))


def card_of(text: str) -> Card:
    """The card of a notation; one that no deck has where it is none."""
    try:
        return Card.parse(text)
    except BadInput:
        return Card("none")


def whose(state: HitTheDeckState, event: Shown | Taken | Slap, clause: str) -> Seat:
    """Whose doing it was; where that isn't known a person is asked."""
    if event.seat is not None:
        return event.seat
    key = f"seat:{event.id}"
    choices = tuple(str(seat) for seat in state.playing)
    said = state.answers.get(key)
    if said in choices:
        return int(said)
    raise Wait(*asking(Question(key, choices, clause), "who_was_it", None, (event.id,)))


def asking(
    question: Question, what: str, seat: Seat | None, because: tuple[int, ...], about: tuple[tuple[str, str], ...] = ()
) -> tuple[Question, Ruling]:
    """A question, with the ruling that asks it."""
    return question, Ruling(
        clause=question.clause,
        verdict=Verdict.ASK,
        what=what,
        seat=seat,
        because=because,
        question=question.key,
        choices=question.choices,
        about=about,
    )


def note(
    clause: str,
    what: str,
    seat: Seat | None,
    event: int,
    *,
    effects: tuple[Effect, ...] = (),
    about: tuple[tuple[str, str], ...] = (),
) -> Ruling:
    """A ruling without fault: what comes next by the rules."""
    return Ruling(
        clause=clause, verdict=Verdict.NOTE, what=what, seat=seat, effects=effects, because=(event,), about=about
    )


def fault(
    state: HitTheDeckState,
    rulings: Rulings,
    clause: str,
    what: str,
    seat: Seat | None,
    event: Event,
    *,
    effects: tuple[Effect, ...] = (),
    about: tuple[tuple[str, str], ...] = (),
    probability: float | None = None,
    key: str | None = None,
    choices: tuple[str, ...] = ("stands", "void"),
    waits: bool = True,
) -> bool:
    """Raise a fault unless a person has said that it does not stand; says whether it stands.

    One that rests on too little is asked about; where play would go on otherwise, what follows waits for that.
    """
    key = key or fault_key(event, what)
    said = state.answers.get(key)
    probability = event.confidence if probability is None else probability
    if said is None and probability < state.house.confidence:
        wait = Wait(*asking(Question(key, choices, clause), what, seat, (event.id,), about))
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
            probability=probability if said is None else 1.0,
            because=(event.id,),
            question=key,
            choices=choices,
            about=about,
        )
    )
    return stands


def fault_key(event: Event, what: str) -> str:
    """By what name a person answers for a fault."""
    return f"fault:{event.id}:{what}"
