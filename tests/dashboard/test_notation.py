"""What is typed for an event reads back as that event."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.bad_input import BadInput
from referee.cards import Card, Pile, shipped_deck
from referee.events import Adjusted, Dealt, Ended, Left, Lifted, Moved, Shout, Shown, Slap, Tick, Turned
from referee.instant import Instant
from web.notation import Notation
from web.words import words

PLAYERS = ("Ana", "Anabel", "Ben", "Cleo de la Cruz")
DECK = shipped_deck("standard52")
SNAP = Notation.of(words().verbs("snap"), PLAYERS, DECK)
AT = Instant(5)

cards = st.sampled_from(sorted(DECK.counts))
seats = st.integers(0, len(PLAYERS) - 1)
told = st.one_of(
    st.builds(lambda seat, card: Shown(at=AT, seat=seat, card=card, pile=Pile("up", seat)), seats, st.none() | cards),
    st.builds(lambda seat: Slap(at=AT, seat=seat, pile=Pile("spot")), seats),
    st.builds(lambda seat: Lifted(at=AT, seat=seat, pile=Pile("spot")), seats),
    st.builds(
        lambda seat, phrase: Shout(at=AT, seat=seat, phrase=phrase), seats, st.sampled_from(["snap", "snap pot"])
    ),
    st.builds(lambda seat: Turned(at=AT, seat=seat, source=Pile("up", seat), target=Pile("down", seat)), seats),
    st.builds(
        lambda seat, other: Moved(at=AT, seat=seat, source=Pile("up", other), target=Pile("down", seat)), seats, seats
    ),
    st.builds(lambda seat: Moved(at=AT, seat=seat, source=Pile("pot"), target=Pile("down", seat)), seats),
    st.builds(
        lambda seat, to: Moved(at=AT, seat=seat, source=Pile("down", seat), target=Pile("down", to), count=1),
        seats,
        seats,
    ),
    st.builds(lambda seat: Left(at=AT, seat=seat), seats),
    st.builds(lambda seat, n: Adjusted(at=AT, seat=seat, points=n, reason="late again"), seats, st.integers(-99, 99)),
    st.sampled_from([Tick(at=AT), Ended(at=AT), Dealt(at=AT), Dealt(at=AT, seat=2)]),
)


@given(told)
def test_what_is_written_reads_back(event):
    line = SNAP.print(event)
    assert line is not None
    assert SNAP.parse(line, at_ns=5) == event


@given(st.text(max_size=60))
def test_whatever_is_typed_is_an_event_or_refused_in_one_line(line):
    try:
        SNAP.parse(line, at_ns=0)
    except BadInput as bad:
        assert "\n" not in str(bad)


@pytest.mark.parametrize(
    ("typed", "event"),
    [
        pytest.param("ben turns 7h", Shown(at=AT, seat=2, card=Card("7h"), pile=Pile("up", 2)), id="a card"),
        pytest.param("BEN  turns 7H", Shown(at=AT, seat=2, card=Card("7h"), pile=Pile("up", 2)), id="any case"),
        pytest.param("b 7s", Shown(at=AT, seat=2, card=Card("7s"), pile=Pile("up", 2)), id="as short as can be"),
        pytest.param("cleo snaps", Slap(at=AT, seat=3, pile=Pile("spot")), id="a first name"),
        pytest.param("ana slaps", Slap(at=AT, seat=0, pile=Pile("spot")), id="a name that another begins with"),
        pytest.param("anab slaps", Slap(at=AT, seat=1, pile=Pile("spot")), id="the longer one by its beginning"),
        pytest.param(
            "ben turns one of 7h, 7d",
            Shown(at=AT, seat=2, card=None, or_cards=(Card("7h"), Card("7d")), pile=Pile("up", 2)),
            id="a card that may be one or the other",
        ),
    ],
)
def test_what_is_typed(typed, event):
    assert SNAP.parse(typed, at_ns=5) == event


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        pytest.param("dora turns 7h", "player: expected Ana or Anabel or Ben", id="somebody who doesn't play"),
        pytest.param("an slaps", "player: expected Ana or Anabel", id="a beginning that two share"),
        pytest.param("ben turns 11h", "card: expected one of the deck’s, like", id="a card that isn't in the deck"),
        pytest.param(
            "ben juggles", "expected something like `NAME turns CARD`", id="something that isn't of this game"
        ),
        pytest.param("it rains", "expected something like `NAME turns CARD`", id="nothing of the kind"),
    ],
)
def test_what_is_refused(typed, said):
    with pytest.raises(BadInput) as refused:
        SNAP.parse(typed, at_ns=0)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("typed", "next_words"),
    [
        pytest.param("be", ["Ben"], id="a name"),
        pytest.param("ben tu", ["turns"], id="a verb"),
        pytest.param("ben turns 10", ["10c", "10d", "10h", "10s"], id="a card"),
        pytest.param("slap cl", ["Cleo"], id="who slaps"),
        pytest.param("slap cleo de ", ["la"], id="a name of several words"),
        pytest.param("ben gives a", ["Ana", "Anabel"], id="who gets a card"),
    ],
)
def test_what_can_be_completed(typed, next_words):
    assert SNAP.complete(typed) == next_words
