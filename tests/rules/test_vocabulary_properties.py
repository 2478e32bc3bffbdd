"""What must always hold of cards, instants, recordings and matches, whatever is told."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from referee.bad_input import BadInput
from referee.cards import Card, Deck, Pile, shipped_deck
from referee.events import (
    Adjusted,
    Amend,
    Confirm,
    Counted,
    Dealt,
    Ended,
    Event,
    Finish,
    Insert,
    Lifted,
    Moved,
    Overrule,
    Peeked,
    Redo,
    Shout,
    Shown,
    Slap,
    Taken,
    Tick,
    Turned,
    Undo,
)
from referee.game import NotInThisGame, set_up
from referee.games.snap import GAME, SPOT
from referee.instant import Instant, first_probabilities, last_probabilities, order_probabilities
from referee.match import Match
from referee.recording import dump, load, read

cards = st.sampled_from([*shipped_deck("standard52").counts, Card("joker"), Card("red 4"), Card("hit colour blue")])
seats = st.integers(0, 3)
piles = st.one_of(
    st.sampled_from([SPOT, Pile("pot"), Pile("draw"), Pile("discard"), Pile("stock")]),
    st.builds(Pile, st.sampled_from(["up", "down"]), seats),
    st.builds(Pile, st.just("place"), seats, st.integers(1, 10)),
)
instants = st.builds(Instant, st.integers(0, 10**12), st.integers(0, 50_000_000))
shares = st.floats(0, 1)
texts = st.text(max_size=40)
numbers = st.integers(0, 60)


def told(kind: Any, **own: Any) -> st.SearchStrategy[Any]:
    return st.builds(
        kind,
        at=instants,
        seat=st.none() | seats,
        confidence=shares,
        provisional=st.booleans(),
        evidence=st.none() | texts,
        **own,
    )


world = st.one_of(
    told(Shown, card=st.none() | cards, pile=piles, source=st.none() | piles, or_cards=st.tuples(cards, cards)),
    told(Taken, pile=piles, count=st.integers(0, 9)),
    told(Moved, source=piles, target=piles, count=st.none() | st.integers(0, 9)),
    told(Turned, source=piles, target=piles, card=st.none() | cards),
    told(Peeked, pile=piles),
    told(Slap, pile=piles, layer=st.none() | st.integers(0, 5)),
    told(Lifted, pile=piles),
    told(Finish, pile=piles, orders=st.just((((0, 1), 0.7), ((1, 0), 0.3)))),
    told(Shout, phrase=texts),
    told(Counted, cards=st.lists(cards, max_size=5).map(tuple)),
    told(Dealt),
    told(Tick),
    told(Ended),
    told(Adjusted, points=st.integers(-50, 50), reason=texts),
)
anything = st.one_of(
    world,
    told(Confirm, of=numbers),
    told(Amend, of=numbers, becomes=st.none() | world),
    told(Insert, after=numbers, happened=world),
    told(Overrule, of=numbers, says=texts, reason=texts),
    told(Undo, of=numbers),
    told(Redo, of=numbers),
)

#: Events as a real table of Snap gives them: turns in order, hands on the spot.
plausible = st.one_of(
    st.builds(
        lambda seat, card: (Shown, {"pile": Pile("up", seat), "card": card, "seat": seat}), st.integers(0, 2), cards
    ),
    st.builds(lambda seat: (Slap, {"pile": SPOT, "seat": seat}), st.integers(0, 2)),
    st.just((Tick, {})),
)


def snap(players: int = 3) -> Match[Any]:
    return Match(GAME, set_up(GAME, ("ana", "ben", "cleo", "dan")[:players], shipped_deck("standard52")))


@given(cards)
def test_a_card_parses_as_it_prints(card: Card) -> None:
    assert Card.parse(str(card)) == card
    assert Card.parse(f"  {str(card).upper()} ") == card
    assert eval(repr(card)) == card


@given(piles)
def test_a_pile_parses_as_it_prints(pile: Pile) -> None:
    assert Pile.parse(str(pile)) == pile


@given(st.text(max_size=60))
def test_a_text_is_a_card_or_a_bad_input_and_nothing_else(text: str) -> None:
    try:
        card = Card.parse(text)
    except BadInput as bad:
        assert "expected" in str(bad)
        assert "\n" not in str(bad)
    else:
        assert Card.parse(str(card)) == card


@given(anything)
def test_an_event_reads_back_exactly(event: Event) -> None:
    assert load(dump(event)) == event


@given(st.lists(anything, max_size=40))
@settings(max_examples=150, deadline=None)
def test_any_event_at_any_time_raises_nothing_but_what_is_documented(events: list[Event]) -> None:
    match = snap()
    for event in events:
        before = (match.state, match.log, match.rulings)
        try:
            match.tell(event)
        except (NotInThisGame, BadInput):
            assert (match.state, match.log, match.rulings) == before, "a refused event leaves the match as it was"
        assert sum(match.board.counts.values()) == 52


@given(st.lists(plausible, max_size=60), st.data())
@settings(max_examples=80, deadline=None)
def test_a_match_replayed_gives_the_same_rulings_and_amended_back_is_as_before(
    story: list[tuple[Any, dict[str, Any]]], data: st.DataObject
) -> None:
    match = snap()
    for i, (kind, own) in enumerate(story):
        try:
            match.tell(kind(at=Instant(i * 300_000_000, 4_000_000), **own))
        except NotInThisGame:
            continue
    again = snap()
    lines = [dump(event) for event in match.log]
    for event in read(lines):
        again.tell(event)  # type: ignore[arg-type]
    assert [dump(r) for r in again.rulings] == [dump(r) for r in match.rulings]
    if match.log:
        target = data.draw(st.sampled_from(match.log))
        before = [dump(ruling) for ruling in match.rulings]
        state = match.state
        late = Instant(10**12)
        match.tell(Amend(at=late, of=target.id, becomes=data.draw(st.none() | st.just(Tick(at=target.at)))))
        match.tell(Amend(at=late, of=target.id, becomes=target))
        assert [dump(ruling) for ruling in match.rulings] == before
        assert match.state == state


@given(st.lists(plausible, min_size=1, max_size=30), st.data())
@settings(max_examples=60, deadline=None)
def test_undone_and_redone_is_as_before_and_undone_is_as_never_told(
    story: list[tuple[Any, dict[str, Any]]], data: st.DataObject
) -> None:
    events = [kind(at=Instant(i * 300_000_000), id=i + 1, **own) for i, (kind, own) in enumerate(story)]
    match = snap()
    try:
        match.tell_all(events)
    except NotInThisGame:
        return
    gone = data.draw(st.sampled_from(events))
    state = match.state
    match.tell(Undo(at=Instant(10**12), of=gone.id))
    without = snap()
    without.tell_all([event for event in events if event is not gone])
    assert match.state == without.state
    match.tell(Redo(at=Instant(10**12), of=gone.id))
    assert match.state == state


# --- instants ------------------------------------------------------------------------------------------

exact = st.builds(Instant, st.integers(0, 10**9), st.integers(10**5, 10**7))


@given(exact, exact)
def test_before_and_after_add_up_to_one(one: Instant, other: Instant) -> None:
    assert one.before(other) + other.before(one) == pytest.approx(1)


@given(st.lists(exact, min_size=2, max_size=4))
@settings(deadline=None, max_examples=40)
def test_joint_probabilities_add_up_and_agree_with_the_orders(several: list[Instant]) -> None:
    hands = dict(enumerate(several))
    first, last, orders = first_probabilities(hands), last_probabilities(hands), order_probabilities(hands)
    for shares_ in (first, last, orders):
        assert sum(shares_.values()) == pytest.approx(1)  # type: ignore[union-attr]
    for seat in hands:
        assert sum(p for order, p in orders.items() if order[0] == seat) == pytest.approx(first[seat], abs=0.01)
        assert sum(p for order, p in orders.items() if order[-1] == seat) == pytest.approx(last[seat], abs=0.01)


def test_joint_probabilities_agree_with_sampling() -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        hands = {i: Instant(int(rng.uniform(0, 2e7)), int(rng.uniform(1e6, 1e7))) for i in range(4)}
        at = np.array([[h.at_ns] for h in hands.values()]) + np.array([[h.sd_ns] for h in hands.values()]) * rng.normal(
            size=(4, 200_000)
        )
        sampled = np.bincount(at.argmin(axis=0), minlength=4) / at.shape[1]
        stated = first_probabilities(hands)
        assert np.abs(sampled - [stated[i] for i in range(4)]).max() < 0.006


# --- bad recordings ------------------------------------------------------------------------------------

GOOD = dump(Tick(at=Instant(5), id=1))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (GOOD[:-4], "one JSON object"),
        ("[1, 2]", "expected a JSON object"),
        ('{"kind": "event", "event": "sneeze", "at_ns": 1}', "event: expected one of shown, taken"),
        ('{"kind": "event", "event": "slap", "at_ns": 9}', "slap: expected the field pile, got none"),
        ('{"kind": "event", "event": "tick", "at_ns": 1}', "at_ns: expected 5 or later"),
        ('{"kind": "event", "event": "tick", "at_ns": "now"}', "tick.at_ns: expected a whole number"),
        ('{"kind": "event", "event": "shown", "at_ns": 9, "pile": "up:0", "card": "1x!"}', "shown.card: card: expected"),
        ('{"kind": "event", "event": "shout", "at_ns": 9, "phrase": "' + "a" * 5000 + '"}', "got 5000 characters"),
        ('{"kind": "event", "event": "shout", "at_ns": 9, "phrase": "' + "a" * 10**6 + '"}', "at most 65536 characters"),
        ("[" * 20000, "one JSON object"),
        ('{"kind": "event", "event": "tick", "at_ns": 9, "colour": 3}', "got colour"),
    ],
    ids=[
        "a cut line", "not an object", "an unknown event", "a field missing", "time running backward", "a time in words",
        "a card that isn't one", "a phrase far too long", "a line of a million characters", "nested without end",
        "a field too many",
    ],
)  # fmt: skip
def test_a_bad_line_is_one_clear_error_with_its_number(line: str, says: str) -> None:
    with pytest.raises(BadInput) as error:
        list(read([GOOD, "", line]))
    assert str(error.value).startswith("line 3: ")
    assert says in str(error.value)
    assert len(str(error.value)) < 400
    assert "\n" not in str(error.value)


def test_a_json_line_is_as_the_design_says() -> None:
    event = Slap(at=Instant(17, 3), seat=2, pile=Pile("discard"), confidence=0.97, id=17)
    assert json.loads(dump(event)) == {
        "kind": "event", "id": 17, "event": "slap", "at_ns": 17, "sd_ns": 3, "seat": 2, "pile": "discard",
        "confidence": 0.97, "provisional": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = ", "expected a deck in TOML"),
        ("name = 'x'", r"expected \[\[cards\]\] tables"),
        ("[[cards]]\nname='red 4'\ncount=0", "count of red 4: expected a number from 1 to 200, got 0"),
        ("[[cards]]\nname='red 4'\n[[cards]]\nname='red 4'", "expected each card once"),
    ],
    ids=["not TOML", "no cards", "none of a card", "a card named twice"],
)
def test_a_bad_deck_is_refused_by_name(text: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        Deck.parse(text)


def test_an_audit_names_what_is_missing_doubled_and_foreign() -> None:
    deck = shipped_deck("standard52")
    laid_out = [card for card in deck.cards() if str(card) != "7h"] + [Card("As"), Card("joker")]
    audit = deck.audit(laid_out)
    assert audit.missing == ((Card("7h"), 1),)
    assert audit.doubled == ((Card("As"), 1),)
    assert audit.foreign == ((Card("joker"), 1),)
    assert not audit.complete
    assert deck.audit(deck.cards()).complete
