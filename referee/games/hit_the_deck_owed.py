"""What players of Hit the Deck owe until a hand is over."""

from __future__ import annotations

from dataclasses import replace

from referee.cards import Seat
from referee.events import Event
from referee.game import NotInThisGame
from referee.games.hit_the_deck_says import Rulings, fault, fault_key, note
from referee.games.hit_the_deck_state import DISCARD, DRAW, Debt, HitTheDeckState
from referee.ruling import Draw, PutTogether, Ruling, Verdict


def owes(
    state: HitTheDeckState, seat: Seat, count: int, clause: str, event: Event, rulings: Rulings
) -> HitTheDeckState:
    """H27: draw what is there, shuffle, draw the rest; what nobody could draw lapses."""
    owed = sum(debt.count - debt.taken for debt in state.debts)
    there = state.draw + max(state.discards - 1, 0) - owed
    if there < count:
        lapses = count - max(there, 0)
        about = (("lapses", str(lapses)), ("count", str(count)))
        rulings.append(note("H27", "debt_lapses", seat, event.id, about=about))
        count -= lapses
    elif state.draw < count + owed:
        about = (("there", str(state.draw)), ("count", str(count)))
        rulings.append(note("H27", "draw_shuffle_draw", seat, event.id, about=about))
    return replace(state, debts=(*state.debts, Debt(seat, clause, count, event.id))) if count else state


def pays(state: HitTheDeckState, seat: Seat, count: int) -> tuple[HitTheDeckState, int, Debt | None]:
    """Take off what the seat owes; returns how many cards were drawn beyond that, and the debt last paid."""
    paid = None
    debts = list(state.debts)
    for at, debt in enumerate(debts):
        if debt.seat == seat:
            pays = min(count, debt.count - debt.taken)
            debts[at] = paid = replace(debt, taken=debt.taken + pays)
            count -= pays
    return (state, count, None) if paid is None else (replace(state, debts=tuple(debts)), count, paid)


def penalties_due(state: HitTheDeckState, seat: Seat, event: Event, rulings: Rulings) -> HitTheDeckState:
    """A player who acts with cards still owed has not taken a penalty, or too few."""
    for debt in state.debts:
        if debt.seat == seat and debt.taken < debt.count and not debt.flagged and debt.event != event.id:
            state = penalty_missing(state, debt, event, rulings)
    return state


def penalty_missing(state: HitTheDeckState, debt: Debt, event: Event, rulings: Rulings) -> HitTheDeckState:
    """H15, H16, H18: a penalty not taken, or too few cards of it; it stays owed, and is blamed once."""
    what = "penalty_too_few" if debt.taken else "penalty_not_taken"
    effects = (Draw(debt.seat, debt.count - debt.taken),)
    about = (("owed", str(debt.count)), ("taken", str(debt.taken)))
    key = f"{fault_key(event, what)}:{debt.event}:{debt.seat}"
    stands = fault(
        state, rulings, debt.clause, what, debt.seat, event, effects=effects, about=about, key=key, probability=1.0
    )
    left = (replace(debt, flagged=True),) if stands else ()
    debts = tuple(part for one in state.debts for part in (left if one is debt else (one,)))
    return replace(state, debts=debts)


def nothing_to_draw(state: HitTheDeckState) -> bool:
    """H27: whether nothing is left anywhere."""
    return state.draw == 0 and state.discards <= 1


def make_room(state: HitTheDeckState, count: int) -> HitTheDeckState:
    """More is drawn than lay there: the discards were shuffled in unseen (H19)."""
    if state.draw >= count:
        return state
    if state.draw + state.discards - 1 < count:
        there = state.draw + max(state.discards - 1, 0)
        raise NotInThisGame(f"hit-the-deck: expected at most {there} cards drawn, got {count}")
    return replace(state, draw=state.draw + state.discards - 1, discards=1)


def shuffled(state: HitTheDeckState, clause: str, event: Event, rulings: Rulings) -> HitTheDeckState:
    """H19, before what ``clause`` asks for."""
    if state.discards <= 1:
        return state
    rulings.append(note(clause, "shuffle_first", None, event.id, effects=(PutTogether((DISCARD,), DRAW),)))
    return replace(state, draw=state.draw + state.discards - 1, discards=1)


def used_up(state: HitTheDeckState, event: Event, rulings: Rulings) -> HitTheDeckState:
    """H19: all the discards but the card in play are shuffled into a new draw pile."""
    if state.draw == 0 and state.discards > 1:
        rulings.append(note("H19", "draw_pile_used_up", None, event.id, effects=(PutTogether((DISCARD,), DRAW),)))
    return state


def goes_out(state: HitTheDeckState, seat: Seat, event: Event, rulings: Rulings) -> HitTheDeckState:
    """H20: a player has no cards left; what is still owed now was not taken."""
    rulings.append(Ruling(clause="H20", verdict=Verdict.WON, what="went_out", seat=seat, because=(event.id,)))
    for debt in state.debts:
        if debt.taken < debt.count and not debt.flagged and debt.event != event.id:
            state = penalty_missing(state, debt, event, rulings)
    return replace(state, phase="count", winner=seat, duty=None, decree=None, debts=(), drew=0, early=())
