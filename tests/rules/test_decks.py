"""The shipped decks: what is in them, what a game asks of them, and what an audit finds."""

from __future__ import annotations

from collections import Counter

import pytest

from referee.bad_input import BadInput
from referee.cards import Card, Deck, shipped_deck
from referee.game import set_up
from referee.games.hit_the_deck import GAME as HIT_THE_DECK

SIZES = {"standard52": 52, "standard54": 54, "hit-the-deck": 110, "snap-pictures": 52}


@pytest.mark.parametrize(("name", "size"), SIZES.items())
def test_a_shipped_deck_is_complete(name: str, size: int) -> None:
    deck = shipped_deck(name)
    assert deck.size == size
    assert deck.audit(deck.cards()).complete
    assert deck.edition


def test_the_jokers_come_on_top_of_the_standard_deck() -> None:
    extra = set(shipped_deck("standard54").counts) - set(shipped_deck("standard52").counts)
    assert {str(card) for card in extra} == {"red joker", "black joker"}
    assert all(card.is_joker for card in extra)


def test_h2_hit_the_deck_is_made_up_as_published() -> None:
    deck = shipped_deck("hit-the-deck")
    words = Counter(deck.trait(card, "word") or "number" for card in deck.cards())
    assert words == {"number": 80, "cut": 8, "flip": 4, "hit number": 10, "hit colour": 4, "hit hand": 4}
    colours = Counter(deck.trait(card, "colour") for card in deck.cards())
    assert colours == {"red": 23, "yellow": 23, "green": 23, "blue": 23, None: 18}
    assert {deck.trait(card, "number") for card in deck.counts} == {"1", "2", "3", "4", "5", None}
    assert deck.counts[Card.parse("red 4")] == 4


def test_snap_pictures_match_in_fours() -> None:
    deck = shipped_deck("snap-pictures")
    pairs = Counter(deck.trait(card, "pair") for card in deck.cards())
    assert len(pairs) == 13
    assert set(pairs.values()) == {4}


def test_an_audit_names_what_is_missing_doubled_and_foreign() -> None:
    deck = shipped_deck("hit-the-deck")
    laid = list(deck.cards())
    laid.remove(Card.parse("hit hand"))
    laid += [Card.parse("red 4"), Card.parse("7h")]
    audit = deck.audit(laid)
    assert not audit.complete
    assert audit.missing == ((Card.parse("hit hand"), 1),)
    assert audit.doubled == ((Card.parse("red 4"), 1),)
    assert audit.foreign == ((Card.parse("7h"), 1),)


BROKEN = [
    ("a standard deck", "standard52", "cards with colour and number"),
    ("a picture deck", "snap-pictures", "cards with colour and number"),
]


@pytest.mark.parametrize(("name", "expected"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_h2_hit_the_deck_refuses_a_deck_that_is_none_of_its_own(name: str, expected: str) -> None:
    with pytest.raises(BadInput, match=f"deck: expected {expected}"):
        HIT_THE_DECK.start(set_up(HIT_THE_DECK, ("ana", "ben"), shipped_deck(name)))


def test_h3_hit_the_deck_refuses_a_deck_too_small_to_deal() -> None:
    deck = Deck.parse('[[cards]]\nname = "red 1"\ncount = 14\ncolour = "red"\nnumber = "1"')
    with pytest.raises(BadInput, match="expected more than 14 cards for 2 players, got 14"):
        HIT_THE_DECK.start(set_up(HIT_THE_DECK, ("ana", "ben"), deck))
