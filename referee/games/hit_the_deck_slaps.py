"""The slaps of Hit the Deck: H15 to H18, H24, H25 and H28 to H31."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from referee.cards import Seat
from referee.events import Event, Finish, Lifted, Shout, Shown, Slap
from referee.game import Question
from referee.games.hit_the_deck_owed import goes_out, owes
from referee.games.hit_the_deck_says import Rulings, asking, fault, fault_key, note, whose
from referee.games.hit_the_deck_state import DISCARD, HitTheDeckState, Landing, Race
from referee.instant import Instant, first_probabilities, last_probabilities
from referee.ruling import Draw, Effect, Ruling, Verdict

# --- H15, H16, H24, H25, H28, H29, H30: everyone slaps ----------------------------------------------------


def everyone_slaps(state: HitTheDeckState, event: Shown, seat: Seat, rulings: Rulings) -> HitTheDeckState:
    """H15: the race opens. A slap that may have come before the card is a landing, not a fault."""
    call = None
    if state.shout is not None and state.shout[0] in (None, seat):
        call = state.shout[1:]
    landings = tuple(
        Landing(slap.seat, slap.at, slap.id, slap.layer, slap.confidence)
        for slap in state.early
        if slap.seat is not None and slap.seat != seat
    )
    race = Race(event.id, event.at, seat, state.playing, landings, call=call)
    rulings.append(note("H15", "everyone_slaps", seat, event.id))
    state = replace(state, races=(*state.races, race), early=(), shout=None)
    return settle(state, race, event, rulings)


def slapped(state: HitTheDeckState, event: Slap, rulings: Rulings) -> HitTheDeckState:
    """H15: a hand lands in the race; H18: or at the wrong time."""
    if event.pile != DISCARD or state.phase != "play":
        return state
    race = state.races[-1] if state.races else None
    if race is None or race.closed:
        return state if state.free else _wrong_time(state, event, rulings)  # H31
    if event.seat is None:
        event = replace(event, seat=whose(state, event, "H15"))
    seat = event.seat
    if seat not in race.racers or any(landing.seat == seat for landing in race.landings):
        return state  # H30: a second hand, or a second landing.
    if seat == race.discarder and state.laying == seat and state.lifts:
        rulings.append(note("H29", "hand_never_left", seat, event.id))
        return state
    if event.provisional:
        return _with_race(state, race, replace(race, doubtful=race.doubtful | {seat}))
    if seat == state.laying:
        state = replace(state, laying=None)
    landing = Landing(seat, event.at, event.id, event.layer, event.confidence)
    new = replace(race, landings=(*race.landings, landing), doubtful=race.doubtful - {seat})
    return settle(_with_race(state, race, new), new, event, rulings)


def lifted(state: HitTheDeckState, event: Lifted) -> HitTheDeckState:
    """H18, H29: a hand that has left the pile may slap, and may err again.

    From the first lift told of a hand that had laid a card, one that isn't told did not happen.
    """
    laid = event.seat is not None and event.seat == state.laying
    if not laid and event.seat not in state.down:
        return state
    laying = None if laid else state.laying
    return replace(state, lifts=state.lifts or laid, laying=laying, down=state.down - {event.seat})


def called(state: HitTheDeckState, event: Shout, rulings: Rulings) -> HitTheDeckState:
    """H28: the discarder's call; a voice that nobody knows counts for the discarder, who alone must call."""
    race = state.races[-1] if state.races else None
    if race is None or race.call is not None or race.closed:
        return state if state.free else replace(state, shout=(event.seat, event.at, event.id, event.confidence))
    if event.seat not in (None, race.discarder):
        return state
    new = replace(race, call=(event.at, event.id, event.confidence))
    return settle(_with_race(state, race, new), new, event, rulings)


def order_told(state: HitTheDeckState, event: Finish, rulings: Rulings) -> HitTheDeckState:
    """H15: the order as all witnesses tell it together."""
    race = state.races[-1] if state.races else None
    if race is None or event.pile != DISCARD:
        return state
    new = replace(race, orders=event.orders)
    return settle(_with_race(state, race, new), new, event, rulings)


def close_races(state: HitTheDeckState, event: Shown, rulings: Rulings) -> HitTheDeckState:
    """H31: the next discard ends the slapping."""
    for race in state.races:
        if not race.closed:
            new = replace(race, closed=True)
            state = settle(_with_race(state, race, new), new, event, rulings)
    return state


def settle(state: HitTheDeckState, race: Race, event: Event, rulings: Rulings) -> HitTheDeckState:
    """Rule on the race if that is certain by now, ask if it can't become certain, else wait."""
    now = event.at
    if race.doubtful:
        return _without_race(state, race) if race.closed else state
    landed = {landing.seat: landing for landing in race.landings}
    missing = [seat for seat in race.racers if seat not in landed and state.standing[seat] == "in"]
    call = _call_verdict(state, race, landed, now)
    if call == "ask":
        return _ask_race(state, race, _call_key(race), ("in time", "forgotten"), "H28", "called_in_time", rulings)
    if call not in ("good", "wait"):
        effects: tuple[Effect, ...] = (Draw(race.discarder, 4),)
        because = (race.card, *(landing.event for landing in race.landings if landing.seat == race.discarder))
        rulings.append(
            Ruling(
                clause="H16",
                verdict=Verdict.FAULT,
                what=call,
                seat=race.discarder,
                effects=effects,
                because=because,
                question=_call_key(race),
                choices=("in time", "forgotten"),
            )
        )
        return _decided(state, race, (race.discarder,), "H16", event, rulings)
    if call == "wait" and missing != [race.discarder]:
        return state
    said = state.answers.get(_last_key(race))
    choices = (*map(str, race.racers), "both", "none")
    if not missing:
        return _last_of_all(state, race, landed, choices, event, rulings)
    coming = event.seat if isinstance(event, Slap) else None
    if missing == [coming]:
        return state  # It comes just now.
    sure = _never_first(race, landed, missing, now)
    if len(missing) == 1 and (sure >= state.house.confidence or said is not None):
        lasts = _said_last(said, tuple(missing), race)
        _rule_last(state, race, lasts, "H24", "never_came", sure if said is None else 1.0, choices, rulings)
        return _decided(state, race, lasts, "H15", event, rulings)
    first = first_landing(race)
    ended = first is not None and first.shifted(state.house.slap_window_ns).before(now) >= state.house.confidence
    if not (ended or race.closed):
        return state
    if said is not None:
        lasts = _said_last(said, tuple(missing), race)
        _rule_last(state, race, lasts, "H24", "said_to_be_last", 1.0, choices, rulings)
        return _decided(state, race, lasts, "H15", event, rulings)
    about = (("players", ",".join(map(str, missing))),)
    return _ask_race(state, race, _last_key(race), choices, "H24", "several_never_came", rulings, about)


def _call_verdict(state: HitTheDeckState, race: Race, landed: Mapping[Seat, Landing], now: Instant) -> str:
    """H16, H28: ``good``, ``wait``, ``ask``, or what the discarder did wrong."""
    said = state.answers.get(_call_key(race))
    if state.house.announce == "trust" or said == "in time":
        return "good"
    if said == "forgotten":
        return "call_forgotten"
    confidence = state.house.confidence
    own = landed.get(race.discarder)
    others = {seat: landing.at for seat, landing in landed.items() if seat != race.discarder}
    grace = race.at.shifted(state.house.call_grace_ns)
    if race.call is None:
        if own is not None:
            if _by_now(own.at, now) < confidence:
                return "wait"
            return "slapped_before_call" if own.confidence >= confidence else "ask"
        first = min(others.values(), key=_moment, default=None)
        passed = race.closed if first is None else _by_now(first, now) >= confidence
        return "call_forgotten" if passed and grace.before(now) >= confidence else "wait"
    at, _, heard = race.call
    before_own = 1.0 if own is None else at.before(own.at)
    in_time = max(at.before(grace), first_probabilities({-1: at, **others})[-1]) if others else 1.0
    if min(before_own, in_time) * heard >= confidence:
        return "good"
    if before_own <= 1 - confidence and own is not None and own.confidence >= confidence:
        return "slapped_before_call"
    return "called_too_late" if in_time <= 1 - confidence else "ask"


def _last_of_all(
    state: HitTheDeckState,
    race: Race,
    landed: Mapping[Seat, Landing],
    choices: tuple[str, ...],
    event: Event,
    rulings: Rulings,
) -> HitTheDeckState:
    """H15: everybody has landed; H25 where two can't be told apart."""
    house = state.house
    said = state.answers.get(_last_key(race))
    shares = _last_shares(race, landed)
    layers = {seat: landing.layer for seat, landing in landed.items() if landing.layer is not None}
    what = "last_hand"
    if house.last_by == "top" and len(layers) == len(landed):
        what = "hand_on_top"
        highest = max(layers.values())
        above = [seat for seat, layer in layers.items() if layer == highest]
        shares = {seat: 1 / len(above) if seat in above else 0.0 for seat in landed}
    shares = {seat: share * landed[seat].confidence for seat, share in shares.items()}
    ranked = sorted(shares, key=lambda seat: (-shares[seat], seat))
    best = ranked[0]
    if said is not None or shares[best] >= house.confidence:
        lasts = _said_last(said, (best,), race)
        _rule_last(state, race, lasts, "H15", what, shares[best] if said is None else 1.0, choices, rulings)
        return _decided(state, race, lasts, "H15", event, rulings)
    close = tuple(seat for seat in ranked if shares[seat] > 1 - house.confidence)
    about = (("players", ",".join(map(str, close))), ("p_last", f"{shares[best]:.3f}"))
    if house.close_call == "ask" or len(close) < 2:  # one hand that may have been none is no close call
        return _ask_race(state, race, _last_key(race), choices, "H25", "close_call", rulings, about)
    lasts = close if house.close_call == "both" else ()
    rulings.append(
        Ruling(
            clause="H25",
            verdict=Verdict.TOO_CLOSE,
            what=f"close_call_{house.close_call}",
            effects=tuple(Draw(seat, 4) for seat in lasts),
            because=(race.card, *(landing.event for landing in race.landings)),
            question=_last_key(race),
            choices=choices,
            about=about,
        )
    )
    return _decided(state, race, lasts, "H15", event, rulings)


def _last_shares(race: Race, landed: Mapping[Seat, Landing]) -> dict[Seat, float]:
    """For each hand, the probability of having been the last: all witnesses jointly where they spoke."""
    if race.orders and set(landed) <= {seat for order, _ in race.orders for seat in order}:
        shares = dict.fromkeys(landed, 0.0)
        for order, p in race.orders:
            last = next((seat for seat in reversed(order) if seat in shares), None)
            if last is not None:
                shares[last] += p
        return shares
    return last_probabilities({seat: landing.at for seat, landing in landed.items()})


def _never_first(race: Race, landed: Mapping[Seat, Landing], missing: list[Seat], now: Instant) -> float:
    """How sure it is that a hand which has not landed by now is later than all that have."""
    if len(missing) != 1 or not landed:
        return 0.0
    doubt = max(landing.at.sd_ns for landing in landed.values())
    instants = {seat: landing.at for seat, landing in landed.items()}
    last = last_probabilities({**instants, missing[0]: Instant(now.at_ns + 1, doubt)})[missing[0]]
    return last * math.prod(landing.confidence for landing in landed.values())


def _said_last(said: str | None, otherwise: tuple[Seat, ...], race: Race) -> tuple[Seat, ...]:
    if said == "none":
        return ()
    if said == "both":
        return tuple(landing.seat for landing in sorted(race.landings, key=lambda one: _moment(one.at))[-2:])
    return otherwise if said is None or not said.isdecimal() else (int(said),)


def _rule_last(
    state: HitTheDeckState,
    race: Race,
    lasts: tuple[Seat, ...],
    clause: str,
    what: str,
    probability: float,
    choices: tuple[str, ...],
    rulings: Rulings,
) -> None:
    rulings.append(
        Ruling(
            clause=clause,
            verdict=Verdict.LOST if lasts else Verdict.NOTE,
            what=what if lasts else "nobody_last",
            seat=lasts[0] if len(lasts) == 1 else None,
            effects=tuple(Draw(seat, 4) for seat in lasts),
            probability=probability,
            because=(race.card, *(landing.event for landing in race.landings)),
            question=_last_key(race),
            choices=choices,
            about=(("count", "4"),) if lasts else (),
        )
    )


def _ask_race(
    state: HitTheDeckState,
    race: Race,
    key: str,
    choices: tuple[str, ...],
    clause: str,
    what: str,
    rulings: Rulings,
    about: tuple[tuple[str, str], ...] = (),
) -> HitTheDeckState:
    """Ask once who was last, or whether the call was in time; play goes on meanwhile."""
    if any(question.key == key for question in state.questions):
        return state
    because = (race.card, *(landing.event for landing in race.landings))
    question, ruling = asking(Question(key, choices, clause), what, race.discarder, because, about)
    rulings.append(ruling)
    return replace(state, questions=(*state.questions, question))


def _decided(
    state: HitTheDeckState, race: Race, lasts: tuple[Seat, ...], clause: str, event: Event, rulings: Rulings
) -> HitTheDeckState:
    """The race is over: the last draw four; H23 where the discarder had played the last card."""
    state = _without_race(state, race)
    for seat in lasts:
        state = owes(state, seat, 4, clause, event, rulings)
    if state.phase == "play" and state.hands[race.discarder] == 0:
        if race.discarder in lasts:
            rulings.append(note("H23", "goes_on", race.discarder, race.card))
            return state
        return goes_out(state, race.discarder, event, rulings)
    return state


def _with_race(state: HitTheDeckState, old: Race, new: Race) -> HitTheDeckState:
    return replace(state, races=tuple(new if race is old else race for race in state.races))


def _without_race(state: HitTheDeckState, race: Race) -> HitTheDeckState:
    keys = (_last_key(race), _call_key(race))
    questions = tuple(question for question in state.questions if question.key not in keys)
    return replace(state, races=tuple(one for one in state.races if one.card != race.card), questions=questions)


def first_landing(race: Race) -> Instant | None:
    """H24: when the window began to run."""
    return min((landing.at for landing in race.landings), key=_moment, default=None)


def _moment(at: Instant) -> int:
    return at.at_ns


def _by_now(at: Instant, now: Instant) -> float:
    """How sure it is that nothing from now on comes before ``at``."""
    return at.before(Instant(now.at_ns + 1, max(at.sd_ns, now.sd_ns)))


def _last_key(race: Race) -> str:
    return f"last:{race.card}"


def _call_key(race: Race) -> str:
    return f"call:{race.card}"


# --- H18, H31: slaps at the wrong time -------------------------------------------------------------------


def _wrong_time(state: HitTheDeckState, event: Slap, rulings: Rulings) -> HitTheDeckState:
    """H18: certain at once where its time is exact, else as soon as no card can have come before it."""
    if event.provisional or event.seat in state.down:
        return state
    if event.seat is not None and event.seat == state.laying:
        state = replace(state, laying=None)
    top = state.house.faces[state.top] if state.top is not None else None
    if top is not None and top.word in ("hit number", "hit colour") and not state.house.false_slap_on_decree:
        return state
    if state.freed_until is not None and state.freed_until.before(event.at) < state.house.confidence:
        return state  # It may still have come before that discard (H31).
    if event.at.sd_ns:
        return replace(state, early=(*state.early, event))
    return false_slap(state, event, rulings)


def false_slap(state: HitTheDeckState, slap: Slap, rulings: Rulings) -> HitTheDeckState:
    """H18: two cards, once until that hand lifts."""
    said = state.answers.get(f"seat:{slap.id}", "")
    seat = int(said) if slap.seat is None and said.isdecimal() else slap.seat
    if seat in state.down or state.phase != "play":
        return state
    key = fault_key(slap, "false_slap")
    asks: tuple[Question, str] | None = None
    if seat is None:
        asks = Question(f"seat:{slap.id}", tuple(map(str, state.playing)), "H18"), "who_was_it"
    elif slap.confidence < state.house.confidence and key not in state.answers:
        asks = Question(key, ("stands", "void"), "H18"), "was_it_a_slap"
    if seat is None or asks is not None:
        assert asks is not None
        question, ruling = asking(*asks, seat, (slap.id,))
        rulings.append(ruling)
        return replace(state, questions=(*state.questions, question))
    effects = (Draw(seat, 2),)
    if not fault(state, rulings, "H18", "false_slap", seat, slap, effects=effects, about=(("count", "2"),)):
        return state
    return owes(replace(state, down=state.down | {seat}), seat, 2, "H18", slap, rulings)
