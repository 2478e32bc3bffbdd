"""What must always hold of Hit the Deck and Trash, whatever is told and whoever plays."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from referee.cards import Card, Pile, shipped_deck
from referee.events import (
    Adjusted,
    Amend,
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
    Overrule,
    Peeked,
    Shout,
    Shown,
    Slap,
    Taken,
    Tick,
    Turned,
)
from referee.game import NotInThisGame, set_up
from referee.games import hit_the_deck, trash
from referee.games.hit_the_deck_state import DISCARD, DRAW, HitTheDeckState
from referee.instant import Instant
from referee.match import Match
from referee.recording import dump
from referee.ruling import Ruling, Verdict
from vision.films.bots import hit_the_deck as hit_the_deck_bots
from vision.films.bots import trash as trash_bots

SEATS = st.one_of(st.none(), st.integers(0, 3))


def anything(cards: list[Card], piles: list[Pile], phrases: list[str]) -> st.SearchStrategy[Any]:
    """Any event at all, mostly of the game, in no sensible order."""
    card, pile = st.sampled_from(cards), st.sampled_from(piles)

    def told(kind: type[Event], **own: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        instants = st.builds(Instant, st.integers(0, 10**11), st.sampled_from([0, 0, 2_000_000, 30_000_000]))
        sure = st.sampled_from([1.0, 1.0, 0.999, 0.7])
        return st.builds(
            kind, at=instants, seat=SEATS, confidence=sure, provisional=st.sampled_from([False] * 5 + [True]), **own
        )

    orders = st.permutations([0, 1, 2]).map(lambda seats: ((tuple(seats), 0.75), (tuple(seats[::-1]), 0.25)))
    questions = st.sampled_from([f"{what}:{event}" for what in ("card", "seat", "last", "call") for event in range(9)])
    return st.one_of(
        told(Shown, card=st.one_of(st.none(), card), pile=pile, source=st.one_of(st.none(), pile)),
        told(Shown, card=card, pile=pile),
        told(Taken, pile=pile, count=st.integers(0, 5)),
        told(Moved, source=pile, target=pile, count=st.one_of(st.none(), st.integers(0, 9))),
        told(Turned, source=pile, target=pile, card=st.one_of(st.none(), card)),
        told(Peeked, pile=pile),
        told(Slap, pile=pile, layer=st.one_of(st.none(), st.integers(0, 3))),
        told(Lifted, pile=pile),
        told(Finish, pile=pile, orders=orders),
        told(Shout, phrase=st.sampled_from(phrases)),
        told(Counted, cards=st.lists(card, max_size=8).map(tuple)),
        told(Dealt),
        told(Tick),
        told(Joined, name=st.sampled_from(["dan", "eva", ""])),
        told(Left),
        told(Ended),
        told(Adjusted, points=st.integers(-50, 50), reason=st.just("so")),
        told(Answer, question=questions, says=st.sampled_from(["0", "1", "none", "void", "red 4", "5h", "in time"])),
    )


HIT_PILES = [DRAW, DISCARD, Pile("hand", 0), Pile("hand", 1)]
TRASH_PILES = [trash.STOCK, trash.TRASH, *(Pile("place", seat, place) for seat in (0, 1) for place in (1, 5, 10))]
GAMES: dict[str, Any] = {
    "hit-the-deck": (
        hit_the_deck.GAME,
        ("ana", "ben", "cal"),
        anything(list(shipped_deck("hit-the-deck").counts)[::2], [*HIT_PILES, *HIT_PILES[:2], Pile("pot")],
                 ["hit the deck with a hand", "snap"]),
    ),
    "trash": (
        trash.GAME,
        ("ana", "ben"),
        anything([Card.parse(text) for text in ("Ah", "5h", "5d", "10s", "Kc", "Qs", "red joker")],
                 [*TRASH_PILES, Pile("draw")], ["snap"]),
    ),
}  # fmt: skip


def cards_told(state: Any) -> int:
    """How many cards there are, wherever they lie."""
    if isinstance(state, HitTheDeckState):
        return state.draw + state.discards + sum(state.hands)
    in_hand = state.holding + len(state.late)
    return int(state.stock + len(state.trash) + sum(map(len, state.places)) + in_hand)


@pytest.mark.parametrize("name", GAMES)
@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_event_at_any_time_is_judged_or_refused_and_a_refusal_changes_nothing(name: str, data: Any) -> None:
    game, names, events = GAMES[name]
    state: Any = game.start(set_up(game, names, shipped_deck(game.deck)))
    for number, event in enumerate(data.draw(st.lists(events, min_size=5, max_size=60)), 1):
        before = repr(state)
        try:
            after, rulings = game.rule(state, replace(event, id=number))
        except NotInThisGame as refusal:
            assert "expected" in str(refusal)
            assert repr(state) == before
            continue
        assert repr(state) == before, "a state is never changed in place"
        state = after
        assert {ruling.clause for ruling in rulings} <= set(game.clauses)
        assert all(0 <= ruling.probability <= 1 for ruling in rulings)
        game.board(state)
        game.expects(state)
        assert cards_told(state) == shipped_deck(game.deck).size
        if name == "hit-the-deck":
            assert min(state.draw, state.discards, *state.hands) >= 0


TABLES = [
    (name, kind, seed)
    for name in ("hit-the-deck", "trash")
    for kind in ("legal", "clumsy", "cheating")
    for seed in range(4)
]
BOTS: dict[str, Any] = {"hit-the-deck": hit_the_deck_bots, "trash": trash_bots}


def evening(name: str, kind: str, seed: int, *, house: bool = True) -> Match[Any]:
    """A game that bots play."""
    game, bots, rng = GAMES[name][0], BOTS[name], Random(f"{name} {kind} {seed}")
    players = tuple(f"p{seat}" for seat in range(rng.randint(game.players.start, game.players.stop - 1)))
    options = bots.house_rules(rng) if house else {}
    deck = shipped_deck(bots.deck_for(options) if hasattr(bots, "deck_for") else game.deck)
    match: Match[Any] = Match(game, set_up(game, players, deck, options=options))
    for _ in bots.play(match, rng, kind, most=220):
        pass
    return match


def stood(match: Match[Any]) -> list[Ruling]:
    return [replace(ruling, id=0) for ruling in match.rulings]


@pytest.mark.parametrize(("name", "kind", "seed"), TABLES)
def test_a_game_told_again_gives_the_same_rulings(name: str, kind: str, seed: int) -> None:
    match = evening(name, kind, seed)
    again: Match[Any] = Match(match.game, match.setup)
    again.tell_all(match.log)
    assert [dump(ruling) for ruling in again.rulings] == [dump(ruling) for ruling in match.rulings]


@pytest.mark.parametrize(("name", "kind", "seed"), TABLES)
def test_amending_and_amending_back_changes_nothing(name: str, kind: str, seed: int) -> None:
    match = evening(name, kind, seed)
    rng = Random(seed)
    before, state = stood(match), repr(match.state)
    for _ in range(3):
        event = rng.choice([e for e in match.course if isinstance(e, Shown | Taken | Slap)])
        match.tell(Amend(at=event.at, of=event.id, becomes=None))
        match.tell(Amend(at=event.at, of=event.id, becomes=replace(event, id=0)))
    assert stood(match) == before
    assert repr(match.state) == state


@pytest.mark.parametrize(("name", "kind", "seed"), TABLES)
def test_any_ruling_that_decides_something_may_be_overruled(name: str, kind: str, seed: int) -> None:
    """Whatever a person says otherwise, the match goes on, and undoing it brings the rulings back."""
    match = evening(name, kind, seed)
    before = stood(match)
    rng = Random(seed)
    contestable = [ruling for ruling in match.rulings if ruling.choices]
    for ruling in rng.sample(contestable, min(4, len(contestable))):
        told = match.tell(
            Overrule(at=Instant(0), of=ruling.id, says=rng.choice(ruling.choices), reason="so we remember it")
        )
        assert told.event.id
        match.tell(_undo(told.event))
    assert stood(match) == before


def _undo(event: Event) -> Event:
    from referee.events import Undo

    return Undo(at=event.at, of=event.id)


@pytest.mark.parametrize(("name", "seed"), [(name, seed) for name in BOTS for seed in range(8)])
def test_a_legal_table_commits_no_fault(name: str, seed: int) -> None:
    match = evening(name, "legal", seed, house=False)
    assert [ruling for ruling in match.rulings if ruling.verdict is Verdict.FAULT] == []
    assert not match.refused
