"""Snap, clause by clause: what happens at the table, and what the referee says to it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pytest

from referee.bad_input import BadInput
from referee.cards import Card, Deck, Pile, shipped_deck
from referee.events import (
    Answer,
    Confirm,
    Dealt,
    Ended,
    Event,
    Finish,
    Moved,
    Overrule,
    Shout,
    Shown,
    Slap,
    Taken,
    Tick,
    Turned,
)
from referee.game import NotInThisGame, set_up
from referee.games.snap import GAME, POT, SPOT, SnapState
from referee.instant import Instant
from referee.match import Match

PLAYERS = ("ana", "ben", "cleo", "dan")


@dataclass
class Table:
    """A match told in short lines: ``ben: 7h`` turns a card, ``slap ana 1500~3`` lands a hand (ms ± ms)."""

    players: int = 3
    options: dict[str, object] = field(default_factory=dict)
    deck: Deck = field(default_factory=lambda: shipped_deck("standard52"))
    dealer: int = 0

    def __post_init__(self) -> None:
        setup = set_up(GAME, PLAYERS[: self.players], self.deck, dealer=self.dealer, options=self.options)
        self.match: Match[SnapState] = Match(GAME, setup)
        self.now = 0.0

    def play(self, story: str) -> list[str]:
        """Tell a story, lines separated by ``;`` or line breaks; returns the standing rulings in short."""
        for line in re.split(r"[;\n]", story):
            if line.strip():
                self.match.tell(self.event(line.strip()))
        self.match.tell(Tick(at=self._at("")))
        return [short(self.match, ruling) for ruling in self.match.rulings]

    def event(self, line: str) -> Event:
        if found := re.fullmatch(r"(\w+): (.+?)(?: (\d\S*~?\S*))?", line):
            seat = PLAYERS.index(found[1])
            card, sure = [*found[2].split("%"), "1"][:2]
            read = None if card.startswith("?") else Card.parse(card)
            or_cards = tuple(Card.parse(c) for c in card[1:].split(",") if c)
            at = self._at(found[3])
            pile = Pile("up", seat)
            return Shown(at=at, seat=seat, pile=pile, card=read, or_cards=or_cards, confidence=float(sure))
        verb, *words = line.split()
        seat = PLAYERS.index(words[0]) if words and words[0] in PLAYERS else None
        last = words[-1] if words and verb != "moved" and re.fullmatch(r"\d+(\.\d+)?(~\d+)?", words[-1]) else ""
        at = self._at(last)
        match verb:
            case "slap" | "maybe":
                sure = next((float(w[:-1]) / 100 for w in words if w.endswith("%")), 1.0)
                return Slap(at=at, seat=seat, pile=SPOT, provisional=verb == "maybe", confidence=sure)
            case "snap" | "snappot":
                return Shout(at=at, seat=seat, phrase="snap" if verb == "snap" else "snap pot")
            case "finish":
                orders = [(tuple(PLAYERS.index(n) for n in w.split("=")[0].split(",")), w) for w in words[:-1]]
                return Finish(at=at, pile=SPOT, orders=tuple((o, float(w.split("=")[1])) for o, w in orders))
            case "moved":
                count = int(words[3]) if len(words) > 3 and words[3].isdigit() and len(words[3]) < 3 else None
                source, target = Pile.parse(words[1]), Pile.parse(words[2])
                return Moved(at=at, seat=seat, source=source, target=target, count=count)
            case "turned":
                return Turned(at=at, seat=seat, source=Pile.parse(words[1]), target=Pile.parse(words[2]))
            case "deal":
                return Dealt(at=at, seat=seat)
            case "tick":
                return Tick(at=at)
            case "end":
                return Ended(at=at)
            case _:
                raise AssertionError(f"no such line: {line}")

    def _at(self, words: str | None) -> Instant:
        """Said like ``1500~3``: at 1500 ms, sd 3 ms; unsaid: a second later."""
        at, _, sd = (words or "").partition("~")
        self.now = float(at) if at else self.now + 1000
        return Instant(int(self.now * 1e6), int(float(sd or 0) * 1e6))


def short(match: Match[SnapState], ruling: object) -> str:
    seat = "" if ruling.seat is None else " " + PLAYERS[ruling.seat]  # type: ignore[attr-defined]
    return f"{ruling.clause} {ruling.what}{seat}"  # type: ignore[attr-defined]


OPENING = "ben: 7h 0\n cleo: 7s 1000\n"

STORIES = [
    # S3, S4: turns
    ("S3 the player on the dealer's left starts, then clockwise", {}, "ben: 2h; cleo: 3c; ana: 4d; ben: 5s", []),
    ("S3 turning out of turn is a fault", {}, "cleo: 2h", ["S3 out_of_turn cleo"]),
    ("S3 the rightful player keeps the turn", {}, "cleo: 2h; ben: 3h; cleo: 9c", ["S3 out_of_turn cleo"]),
    ("S4 two cards at once is a fault", {}, "ben: 2h; ben: 3h", ["S4 two_cards ben"]),
    ("S4 taking back an illegal card is right", {}, "cleo: 2h; moved cleo up:2 down:2 1", ["S3 out_of_turn cleo"]),
    ("S4 taking back a legal card is a fault", {}, "ben: 2h; moved ben up:1 down:1 1", ["S4 taken_back ben"]),
    ("S4 an unreadable card is asked for", {}, "ben: ?7h,7d", ["S4 which_card ben"]),
    # S5: the race
    ("S5 the first hand wins both piles", {}, OPENING + "slap ana 1500; slap ben 1600", ["S5 won_race ana"]),
    ("S5 who turned the card may win too", {}, OPENING + "slap cleo 1500; slap ben 1600", ["S5 won_race cleo"]),
    ("S5 one hand alone wins once nobody else can come before", {}, OPENING + "slap ben 1500", ["S5 won_race ben"]),
    ("S5 a hand that is not surely a slap is asked about", {}, OPENING + "slap ben 80% 1500", ["S5 who_first"]),
    ("S5 a card not surely read is asked about", {}, "ben: 7h 0; cleo: 7s%0.9 1000; slap ana 1500", ["S5 who_first"]),
    (
        "S5 two doubtful hands on a doubtful match are asked about",
        {},
        "ben: 7h 0; cleo: 7s%0.9 1000; slap ana 1500~5; slap ben 1503~5",
        ["S5 is_it_a_match"],
    ),
    (
        "S5 a pile taken by one who did not win it is a fault",
        {},
        OPENING + "slap ana 1500; moved ben up:1 down:1; moved ben up:2 down:1",
        ["S5 won_race ana", "S5 taken_by_another ben", "S5 taken_by_another ben"],
    ),
    (
        "S5 piles that are asked about may be taken: the table settles it, and the answer judges it later",
        {},
        OPENING
        + "slap ana 80% 1500; tick 2500; moved ana up:1 down:0; moved ana up:2 down:0; ana: 9c 5000; slap ben 5500",
        ["S5 who_first", "S9 wrong_snap ben"],
    ),
    ("S5 a pile taken that nobody won is a fault", {}, "ben: 2h; moved ben up:1 down:2", ["S5 taken_unwon ben"]),
    (
        "S5 piles won and not taken before the next card, where moves are watched",
        {"moves": "watched"},
        OPENING + "slap ana 1500; moved ana up:1 down:0; ana: 9c 5000",
        ["S5 won_race ana", "S5 not_taken ana"],
    ),
    # S6, S14: ties
    ("S6 hands at the very same moment tie", {}, OPENING + "slap ana 1500; slap ben 1500", ["S6 tie"]),
    ("S14 hands that can't be told apart tie", {}, OPENING + "slap ana 1500~5; slap ben 1505~5", ["S14 tie"]),
    ("S14 the same gap seen sharper decides", {}, OPENING + "slap ana 1500~1; slap ben 1505~1", ["S5 won_race ana"]),
    (
        "S14 all witnesses together may decide what the instants can't",
        {},
        OPENING + "slap ana 1500~5; slap ben 1505~5; finish ana,ben=0.995 ben,ana=0.005 1600",
        ["S5 won_race ana"],
    ),
    (
        "S14 at a lower confidence of the host's the same hands decide",
        {"confidence": 0.7},
        OPENING + "slap ana 1500~5; slap ben 1505~5",
        ["S5 won_race ana"],
    ),
    # S7: Snap Pot
    (
        "S7 a card matching the Pot's top: the first wins Pot and pile",
        {},
        OPENING + "slap ana 1500; slap ben 1500; ana: 7d 5000; slap ben 5500",
        ["S6 tie", "S7 won_race ben"],
    ),
    (
        "S7 a tie for the Pot adds the pile to it",
        {},
        OPENING + "slap ana 1500; slap ben 1500; ana: 7d 5000; slap ben 5500; slap cleo 5500",
        ["S6 tie", "S7 tie"],
    ),
    (
        "S7 the Pot taken by one who did not win it is a fault",
        {},
        OPENING + "slap ana 1500; slap ben 1500; moved ana pot down:0",
        ["S6 tie", "S7 taken_unwon ana"],
    ),
    # S8, S17: by voice
    ("S8 by hand, calls are nothing", {}, OPENING + "snap ana 1500", []),
    ("S8 by voice, hands are nothing", {"snap_by": "voice"}, OPENING + "slap ana 1500", []),
    ("S8 by voice the first call wins", {"snap_by": "voice"}, OPENING + "snap ana 1500", ["S5 won_race ana"]),
    ("S8 a call by nobody knows whom is asked about", {"snap_by": "voice"}, OPENING + "snap 1500", ["S8 who_snapped"]),
    (
        "S8 Snap Pot called where no Pot matches is a wrong call",
        {"snap_by": "voice"},
        OPENING + "snappot ana 1500; snap ben 1600",
        ["S9 wrong_call ana", "S5 won_race ben"],
    ),
    # S9: wrong snaps
    ("S9 a wrong snap costs a card", {}, "ben: 2h; slap ana 1500", ["S9 wrong_snap ana"]),
    ("S9 before any card is turned it costs nothing", {}, "slap ana 100", []),
    (
        "S9 each offender pays once per card",
        {},
        "ben: 2h 0; slap ana 500; slap ana 900; slap cleo 950",
        ["S9 wrong_snap ana", "S9 wrong_snap cleo"],
    ),
    (
        "S9 and again for the next card",
        {},
        "ben: 2h 0; slap ana 500; cleo: 3h 2000; slap ana 2500",
        ["S9 wrong_snap ana"] * 2,
    ),
    (
        "S9 a card given that was not owed is a fault",
        {},
        "ben: 2h; moved ana down:0 down:2 1",
        ["S9 not_owed ana"],
    ),
    (
        "S9 a card owed and not given, where moves are watched",
        {"moves": "watched"},
        "ben: 2h; slap ana 1500; tick 2500; cleo: 3h 4000",
        ["S9 wrong_snap ana", "S9 not_given ana"],
    ),
    (
        "S9 a card owed and given is right",
        {"moves": "watched"},
        "ben: 2h; slap ana 1500; moved ana down:0 down:1 1; cleo: 3h 5000",
        ["S9 wrong_snap ana"],
    ),
    (
        "S9 a hand that only may have been a slap is asked about",
        {},
        "ben: 2h; slap ana 90% 1500",
        ["S9 was_it_wrong ana"],
    ),
    # S12: what matches
    ("S12 by suit", {"match_scope": "suit"}, "ben: 7h 0; cleo: 9h 1000; slap ana 1500", ["S5 won_race ana"]),
    (
        "S12 by rank and colour a red and a black 7 don't match",
        {"match_scope": "rank_and_color"},
        OPENING + "slap ana 1500",
        ["S9 wrong_snap ana"],
    ),
    (
        "S12 by rank and colour two red 7s do",
        {"match_scope": "rank_and_color"},
        "ben: 7h 0; cleo: 7d 1000; slap ana 1500",
        ["S5 won_race ana"],
    ),
    # S13, S16, S19: in time, late, early
    ("S13 a snap after the next card is turned is late", {}, OPENING + "ana: 9c 2000; slap ben 2500", ["S13 late ben"]),
    (
        "S13 a snap that may have come after the next card is asked about",
        {},
        OPENING + "slap ben 1990~20; ana: 9c 2000~20",
        ["S13 in_time"],
    ),
    ("S16 a match that nobody claims dies with the next card", {}, OPENING + "ana: 9c 2000; ben: 3d 3000", []),
    (
        "S16 tops uncovered by a win open no race",
        {},
        "ben: 9c 0; cleo: 4d 1000; ana: 9d 2000; slap ana 2400; slap ben 5000",
        ["S5 won_race ana"],
    ),
    ("S19 losing a valid race is no fault", {}, OPENING + "slap ana 1500; slap cleo 1900", ["S5 won_race ana"]),
    (
        "S19 a slap that may have preceded the card is no fault",
        {},
        "ben: 7h 0; slap ana 995~5; cleo: 7s 1000~5; slap ben 1300",
        ["S5 won_race ana"],
    ),
    (
        "S19 a surely early slap is wrong and can't win that race",
        {},
        "ben: 7h 0; slap ana 900~5; cleo: 7s 1000~5; slap ben 1300",
        ["S9 wrong_snap ana", "S5 won_race ben"],
    ),
    # S17, S18
    (
        "S17 a card that matches two piles opens one race for all",
        {"players": 4},
        "ben: 7h 0; cleo: 8c 1000; dan: 7c 2000; slap ana 2001; ana: 2c 4000; ben: 3h 5000; cleo: 4h 6000",
        ["S5 won_race ana"],
    ),
    (
        "S17 by voice each call claims its own, the first the turner's pile too",
        {"snap_by": "voice", "players": 4},
        "ben: 7h 0; cleo: 7s 1000; snap ana 1500; snap ben 1500; dan: 2c 5000; ana: 2d 6000; ben: 7c 7000"
        "; cleo: 3s 8000; dan: 7d 9000; snappot cleo 9400; snap ana 9500",
        ["S6 tie", "S5 won_race ana", "S7 won_race cleo"],
    ),
    (
        "S18 a tie while a Pot stands joins that Pot",
        {},
        OPENING + "slap ana 1500; slap ben 1500; ana: 9c 5000; ben: 9d 6000; slap ana 6500; slap ben 6500",
        ["S6 tie", "S18 tie"],
    ),
    # S20
    (
        "S20 the host may end the game",
        {},
        "ben: 2h; slap ana 1500; end",
        ["S9 wrong_snap ana", "S20 ended_by_host ben"],
    ),
]


@pytest.mark.parametrize(
    ("options", "story", "expected"), [row[1:] for row in STORIES], ids=[row[0] for row in STORIES]
)
def test_the_referee_says(options: dict[str, object], story: str, expected: list[str]) -> None:
    options = dict(options)
    table = Table(players=int(options.pop("players", 3)), options=options)  # type: ignore[call-overload]
    assert table.play(story) == expected
    assert sum(table.match.board.counts.values()) == 52


def test_s1_two_to_twelve_players() -> None:
    for names, message in [(("ana",), "2 to 12"), (tuple("abcdefghijklm"), "2 to 12"), (("a", "a"), "different names")]:
        with pytest.raises(BadInput, match=message):
            set_up(GAME, names, shipped_deck("standard52"))


def test_s1_a_made_for_snap_deck_matches_by_its_pairs() -> None:
    rows = "".join(
        f'[[cards]]\nname = "cat {i}"\npair = "cat"\n[[cards]]\nname = "dog {i}"\npair = "dog"\n' for i in (1, 2)
    )
    table = Table(deck=Deck.parse(f'name = "pets"\n{rows}'))
    assert table.play("ben: cat 1 0; cleo: cat 2 1000; slap ana 1500")[-1] == "S5 won_race ana"


@pytest.mark.parametrize(
    ("players", "dealer", "down"),
    [(2, 0, (26, 26)), (3, 0, (17, 18, 17)), (3, 2, (18, 17, 17)), (4, 1, (13, 13, 13, 13))],
    ids=["two alike", "the dealer's left has one more", "whoever deals", "four alike"],
)
def test_s2_all_the_cards_are_dealt_as_evenly_as_possible(players: int, dealer: int, down: tuple[int, ...]) -> None:
    assert Table(players=players, dealer=dealer).match.state.down == down


def test_s5_the_winner_has_both_piles_under_their_own() -> None:
    table = Table()
    table.play(OPENING + "slap ana 1500")
    assert table.match.state.down == (19, 17, 16)
    assert table.match.state.up == ((), (), ())


def test_s6_the_pot_lies_face_up_with_a_matching_card_on_top() -> None:
    table = Table()
    table.play(OPENING + "slap ana 1500; slap ben 1500")
    board = table.match.board
    assert (board.counts[POT], board.tops[POT]) == (2, Card.parse("7s"))


def test_s9_one_who_errs_on_their_own_turn_gives_to_their_right() -> None:
    table = Table()
    table.play("ben: 2h 0; slap ben 500")
    assert table.match.state.down == (18, 16, 17)


def test_s9_others_give_to_who_turned_the_card() -> None:
    table = Table()
    table.play("ben: 2h 0; slap ana 500")
    assert table.match.state.down == (16, 18, 17)


def test_s9_s11_with_no_face_down_card_left_the_top_face_up_one_is_given() -> None:
    table = Table(players=2, deck=_small_deck())
    rulings = table.play("ben: 2h 0; ana: 3h 1000; ben: 4h 2000; ana: 5h 3000; slap ben 3400; slap ana 3500")
    assert rulings == ["S9 wrong_snap ben", "S9 wrong_snap ana"]
    # Ben's last face-up card goes under ana's pile; ana, who turned, gives her face-down card to her right.
    assert table.match.state.down == (0, 1)


def test_s10_who_holds_all_the_cards_wins() -> None:
    table = Table(players=2, deck=_small_deck())
    rulings = table.play("ben: 2h 0; ana: 2s 1000; slap ana 1400; ben: 3h 3000; ana: 3s 4000; slap ana 4400")
    assert rulings == ["S5 won_race ana", "S5 won_race ana", "S10 won_game ana"]
    assert table.match.board.winners == (0,)


def test_s11_a_used_up_pile_is_turned_over() -> None:
    table = Table(players=2, deck=_small_deck())
    assert table.play("ben: 2h; ana: 3h; ben: 4h; ana: 5h; turned ben up:1 down:1; ben: 2h") == ["S11 turned_over ben"]
    assert table.play("ana: 3h") == ["S11 turned_over ben", "S11 turned_over ana"], "the card turned tells it too"


def test_s11_turned_over_too_early_is_a_fault() -> None:
    table = Table()
    assert table.play("ben: 2h; turned ben up:1 down:1") == ["S11 turned_over_early ben"]


def test_s15_after_a_win_or_a_tie_the_player_after_the_last_turner_goes_on() -> None:
    for slaps in ("slap ben 1500", "slap ana 1500; slap ben 1500"):
        table = Table()
        table.play(OPENING + slaps)
        assert table.match.board.turn == 0


def test_s20_if_nobody_holds_cards_the_players_of_the_last_tie_share_the_win() -> None:
    table = Table(players=2, deck=Deck.parse('name="two"\n[[cards]]\nname="2h"\n[[cards]]\nname="2s"\n'))
    rulings = table.play("ben: 2h 0; ana: 2s 1000; slap ana 1500; slap ben 1500")
    assert rulings == ["S6 tie", "S20 shared_win ben", "S20 shared_win ana"] or rulings == [
        "S6 tie",
        "S20 shared_win ana",
        "S20 shared_win ben",
    ]


def test_s20_a_player_without_cards_may_not_snap() -> None:
    table = Table(players=3, deck=_small_deck(3))
    rulings = table.play("ben: 2h 0; cleo: 2s 1000; slap ana 1400; ana: 4h 3000; slap ben 3500")
    assert rulings == ["S5 won_race ana", "S10 won_game ana"]
    table = Table(players=4, deck=_small_deck(4))
    rulings = table.play("ben: 2h 0; cleo: 2s 1000; slap ana 1400; dan: 4h 3000; slap ben 3500")
    assert rulings == ["S5 won_race ana", "S20 no_cards ben"]


def test_a_provisional_slap_waits_for_its_confirmation() -> None:
    """A hand seen coming down may have brought a card: no ruling rests on it until it lifts."""
    table = Table()
    assert table.play(OPENING + "maybe ana 1500; slap ben 1600") == []
    slap = table.match.log[2]
    table.match.tell(Confirm(at=Instant(9_000_000_000), of=slap.id))
    assert [short(table.match, r) for r in table.match.rulings] == ["S5 won_race ana"]


def test_a_provisional_slap_that_came_second_does_not_hold_up_the_first() -> None:
    assert Table().play(OPENING + "slap ben 1500; maybe ana 1600") == ["S5 won_race ben"]


def test_an_answer_counts_from_where_the_question_was_asked() -> None:
    table = Table()
    table.play("ben: 7h 0; cleo: ?7s,7c 1000; slap ana 1500; ana: 9c 4000")
    question = table.match.board.questions[0]
    assert question.choices == ("7s", "7c")
    table.match.tell(Answer(at=Instant(5_000_000_000), question=question.key, says="7s"))
    assert [short(table.match, r) for r in table.match.rulings] == ["S5 won_race ana"]


def test_an_overruled_race_is_judged_anew_with_everything_after_it() -> None:
    table = Table()
    table.play(OPENING + "slap ana 1500; slap ben 1600")
    won = table.match.rulings[0]
    table.match.tell(Overrule(at=Instant(9_000_000_000), of=won.id, says="1", reason="we all saw ben"))
    assert table.match.state.down == (17, 19, 16)
    with pytest.raises(BadInput, match="says: expected 0 or 1"):
        table.match.tell(Overrule(at=Instant(9_000_000_000), of=won.id, says="7", reason="no such player"))


@pytest.mark.parametrize(
    "event",
    [
        Shown(at=Instant(0), pile=Pile("discard"), card=Card.parse("2h")),
        Shown(at=Instant(0), pile=Pile("up", 7), card=Card.parse("2h")),
        Shown(at=Instant(0), pile=Pile("up", 1), card=Card.parse("red 4")),
        Slap(at=Instant(0), pile=SPOT, seat=5),
        Taken(at=Instant(0), pile=Pile("draw"), seat=1),
    ],
    ids=["a pile of another game", "a seat too many", "a card of another deck", "a stranger's hand", "a drawn card"],
)
def test_what_can_not_be_in_snap_is_refused_and_changes_nothing(event: Event) -> None:
    table = Table()
    before = table.match.state
    with pytest.raises(NotInThisGame):
        table.match.tell(event)
    assert table.match.state is before
    assert table.match.log == ()


def _small_deck(cards: int = 4) -> Deck:
    """Cards enough for stories that end: 2h 2s 3h 3s 4h 5h…, as many as asked for and a few to name."""
    names = ["2h", "2s", "3h", "3s", "4h", "5h"]
    deck = Deck.parse("".join(f'[[cards]]\nname = "{name}"\n' for name in names))
    # Only `cards` are dealt; which ones is never known, so all of them may show.
    return _Dealing(deck.name, deck.edition, deck.counts, deck.traits, dealt=cards)


@dataclass(frozen=True)
class _Dealing(Deck):
    dealt: int = 4

    @property
    def size(self) -> int:
        return self.dealt
