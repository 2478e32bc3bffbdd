"""Trash clause by clause, each case told as a story."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from referee.bad_input import BadInput
from referee.cards import Card, Pile, shipped_deck
from referee.events import (
    Adjusted,
    Answer,
    Dealt,
    Ended,
    Event,
    Moved,
    Overrule,
    Peeked,
    Shown,
    Slap,
    Taken,
    Tick,
)
from referee.game import NotInThisGame, OptionValue, set_up
from referee.games.trash import GAME, STOCK, TRASH, TrashState
from referee.instant import Instant
from referee.match import Begun, Match
from referee.ruling import NextTurn, PutTogether, Ruling, TakeBack

NAMES = ("ana", "ben")
SECOND = 1_000_000_000


class Table:
    """A match told line by line; ``>`` lines are the rulings that the line before led to."""

    def __init__(self, options: dict[str, OptionValue]) -> None:
        deck = shipped_deck("standard54" if options.get("jokers") == "wild" else "standard52")
        # Ben deals, so Ana is player 1.
        self.match = Match(GAME, set_up(GAME, NAMES, deck, dealer=1, options=options))
        self.id = 0

    @property
    def state(self) -> TrashState:
        return self.match.state

    def set(self, state: TrashState) -> None:
        """Go on from another state: sets a scene that would take long to play."""
        self.match = Match(GAME, self.match.setup, Begun(state, self.id, 0))

    def event(self, line: str) -> Event:
        """The event that a line stands for."""
        self.id += 1
        sure = re.search(r" sure ([\d.]+)", line)
        line = re.sub(r" sure \S+", "", line)
        told: dict[str, Any] = {"at": Instant(self.id * SECOND), "id": self.id}
        told["confidence"] = float(sure[1]) if sure else 1.0
        match line.split():
            case ["deal"]:
                return Dealt(**told)
            case ["end"]:
                return Ended(**told)
            case ["tick"]:
                return Tick(**told)
            case ["shuffle"]:
                return Moved(source=TRASH, target=STOCK, **told)
            case ["answer", *says]:
                text = " ".join(says)
                text = str(NAMES.index(text)) if text in NAMES else text
                return Answer(question=self.match.board.questions[-1].key, says=text, **told)
        name, _, rest = line.partition(" ")
        told["seat"] = None if name == "somebody" else NAMES.index(name)
        match rest.split():
            case ["draws"]:
                return Taken(pile=STOCK, **told)
            case ["draws", "two"]:
                return Taken(pile=STOCK, count=2, **told)
            case ["draws", "trash"] | ["takes", "it", "back"]:
                return Taken(pile=TRASH, **told)
            case ["takes", "it", "off", place]:
                return Taken(pile=self.place(name, place), **told)
            case ["places", *card, "on", place]:
                return Shown(card=self.card(card), pile=self.place(name, place), **told)
            case ["discards", *card]:
                return Shown(card=self.card(card), pile=TRASH, **told)
            case ["peeks", "at", "stock"]:
                return Peeked(pile=STOCK, **told)
            case ["peeks", "at", place]:
                return Peeked(pile=self.place(name, place), **told)
        raise AssertionError(f"no such sentence: {line!r}")

    @staticmethod
    def card(words: list[str]) -> Card | None:
        return None if words == ["?"] else Card.parse(" ".join(words))

    @staticmethod
    def place(name: str, text: str) -> Pile:
        """``5`` is one's own place 5, ``ben:5`` is Ben's."""
        owner, _, number = text.rpartition(":")
        return Pile("place", NAMES.index(owner or name), int(number))

    def tell(self, line: str) -> list[str]:
        """Tell one line; returns the rulings in words."""
        return [self.words(ruling) for ruling in self.match.tell(self.event(line)).given]

    @staticmethod
    def words(ruling: Ruling) -> str:
        parts = [ruling.clause, str(ruling.verdict), ruling.what]
        if ruling.seat is not None:
            parts.insert(1, NAMES[ruling.seat])
        effects = []
        for effect in ruling.effects:
            match effect:
                case TakeBack(seat, card):
                    effects.append(f"{NAMES[seat]} takes back {card}")
                case NextTurn(seat):
                    effects.append(f"{NAMES[seat]} is next")
                case PutTogether():
                    effects.append("shuffle")
        return " ".join(parts) + (": " + ", ".join(effects) if effects else "")

    def check(self, line: str) -> None:
        """A line after ``=``: what the board must show."""
        board = self.match.board
        match line.split():
            case ["turn", name]:
                assert board.turn == NAMES.index(name), f"turn is {board.turn}"
            case ["phase", phase]:
                assert board.phase == phase
            case ["stock", count]:
                assert board.counts[STOCK] == int(count)
            case ["trash", count]:
                assert board.counts[TRASH] == int(count)
            case ["trash-top", card]:
                assert board.tops[TRASH] == Card.parse(card)
            case ["held", card]:
                assert self.state.held == Card.parse(card)
            case ["held-unknown"]:
                assert self.state.holding
                assert self.state.held is None
            case [name, "scores", points]:
                assert board.scores[NAMES.index(name)] == int(points)
            case [name, "lays", size]:
                assert len(self.state.places[NAMES.index(name)]) == int(size)
            case ["winners", *names]:
                assert [NAMES[seat] for seat in board.winners] == names
            case _:
                raise AssertionError(f"no such check: {line!r}")

    def arrange(self, line: str) -> None:
        """A line in brackets sets the scene: what lies face up, or how many cards are left."""
        state = self.state
        what, *rest = line.split()
        if what == "stock":
            self.set(replace(state, stock=int(rest[0])))
        elif what == "trash":
            self.set(replace(state, trash=tuple(map(Card.parse, rest)), first_turn=False))
        elif rest[:1] == ["lays"]:
            seat = NAMES.index(what)
            size = int(rest[1])
            layout = (None,) * size
            self.set(
                replace(
                    state,
                    sizes=(*state.sizes[:seat], size, *state.sizes[seat + 1 :]),
                    places=(*state.places[:seat], layout, *state.places[seat + 1 :]),
                )
            )
        else:
            seat = NAMES.index(what)
            layout_now = list(state.places[seat])
            for item in rest:
                place, card = item.split("=")
                layout_now[int(place) - 1] = Card.parse(card)
            self.set(replace(state, places=(*state.places[:seat], tuple(layout_now), *state.places[seat + 1 :])))


def play(story: str, **options: OptionValue) -> Table:
    """Tell a story and compare every ruling with its ``>`` lines."""
    table = Table(options)
    lines = [line.strip() for line in story.strip().splitlines() if line.strip()]
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("= "):
            table.check(line[2:])
        elif line.startswith("["):
            table.arrange(line[1:-1])
        else:
            given = table.tell(line)
            expected = []
            while at < len(lines) and lines[at].startswith("> "):
                expected.append(lines[at][2:])
                at += 1
            assert given == expected, f"after {line!r}"
    return table


def case(name: str, story: str, **options: OptionValue) -> object:
    return pytest.param(story, options, id=name)


NINE = "1=As 2=2s 3=3s 4=4s 5=5s 6=6s 7=7s 8=8s 9=9s"

CASES = [
    case("T1 two players, fifty-two cards", "= stock 32"),
    case(
        "T1 a card of another deck is asked about",
        """
        ana draws
        ana places red joker on 5
        > T1 ana ask not_of_this_deck
        answer 5h
        = held-unknown
        """,
    ),
    case(
        "T1 a card that lies already can't be another one",
        """
        ana draws
        ana places 5h on 5
        ana discards 5h
        > T1 ana ask lies_already
        answer 5d
        = trash-top 5d
        """,
    ),
    case("T3 the deal: ten places each face down, no trash pile", "deal\n= ana lays 10\n= ben lays 10\n= trash 0"),
    case(
        "T3 a face-down card lifted and put back",
        """
        ana peeks at 3
        > T3 ana fault peek
        ana peeks at ben:4
        > T3 ana fault peek
        ana takes it off 3
        > T3 ana fault peek
        """,
    ),
    case("T3 the stock is unseen too", "ben peeks at stock\n> T3 ben fault peek"),
    case("T3 looking at a face-up card is no peek", "[ana 3=3h]\nana peeks at 3"),
    case("T3 who peeked is asked where nobody knows", "somebody peeks at ana:3\n> T3 ask who_was_it"),
    case(
        "T5 player 1 draws from the stock and places what may be placed",
        """
        = turn ana
        = phase draw
        ana draws
        = phase place
        ana places 5h on 5
        ana discards Qh
        = turn ben
        = stock 31
        """,
    ),
    case(
        "T5 later turns may start with the top of the trash pile",
        """
        ana draws
        ana discards Qh
        ben draws trash
        = held Qh
        = trash 0
        ben discards Qh
        ana draws
        """,
    ),
    case(
        "T5 from the trash on player 1's first turn",
        """
        ana draws trash
        > T5 ana fault trash_on_first_turn
        ana draws
        ana discards Qh
        """,
    ),
    case(
        "T5 drawing twice",
        """
        ana draws
        ana draws
        > T5 ana fault drew_twice
        ana discards Qh
        ana draws
        > T5 ana fault drew_twice
        = turn ben
        """,
    ),
    case("T5 two cards drawn at once", "ana draws two\n> T5 ana fault drew_twice\nana discards Qh"),
    case(
        "T5 drawing out of turn",
        """
        ben draws
        > T5 ben fault drew_out_of_turn
        = turn ana
        = stock 32
        """,
    ),
    case(
        "T5 placing before drawing, and discarding before drawing",
        """
        ana places 5h on 5
        > T5 ana fault not_drawn: ana takes back 5h
        ana discards 5h
        > T5 ana fault not_drawn: ana takes back 5h
        """,
    ),
    case(
        "T5 a place turned up out of turn",
        """
        ana draws
        ben places 5h on 5
        > T5 ben fault out_of_turn: ben takes back 5h
        ben discards 6h
        > T5 ben fault discarded_out_of_turn: ben takes back 6h
        ana places 5h on 5
        """,
    ),
    case(
        "T5 drawing a trash top that can't be placed is legal",
        "[trash Qh]\nana draws trash\nana discards Qh",
    ),
    case(
        "T5 trash_must_place: then it is not",
        """
        [trash Qh]
        ana draws trash
        > T5 ana fault trash_must_place
        """,
        trash_must_place=True,
    ),
    case(
        "T5 trash_must_place: one that can be placed",
        "[trash 5h]\nana draws trash\nana places 5h on 5",
        trash_must_place=True,
    ),
    case(
        "T6 the card displaced is the next to place",
        """
        ana draws
        ana places 5h on 5
        ana places 7h on 7
        ana places Ah on 1
        ana discards Jh
        = turn ben
        """,
    ),
    case(
        "T6 a card on the wrong place goes back to the hand",
        """
        ana draws
        ana places 5h on 6
        > T6 ana fault wrong_place: ana takes back 5h
        = held 5h
        ana takes it off 6
        ana places 5h on 5
        = held-unknown
        """,
    ),
    case(
        "T6 in the other player's layout",
        """
        ana draws
        ana places 5h on ben:5
        > T6 ana fault other_layout: ana takes back 5h
        ana places 5h on 5
        """,
    ),
    case(
        "T6 another card than the one in hand",
        """
        [trash 5h]
        ana draws trash
        ana places 7h on 7
        > T6 ana fault not_the_card_in_hand
        """,
    ),
    case(
        "T7 a king goes on any face-down place",
        """
        ana draws
        ana places Kh on 9
        ana places 2h on 2
        ana discards Qh
        """,
    ),
    case(
        "T7 a king on a place that is face up",
        """
        [ana 2=2h]
        ana draws
        ana places Kh on 2
        > T7 ana fault wrong_place: ana takes back Kh
        ana places Kh on 3
        """,
    ),
    case(
        "T8 the card of a place that a king holds frees the king",
        """
        [ana 4=Kh]
        ana draws
        ana places 4s on 4
        > T8 ana note frees_a_king
        = held Kh
        ana places Kh on 9
        ana discards Qh
        """,
    ),
    case(
        "T8 another number on a king's place",
        """
        [ana 4=Kh]
        ana draws
        ana places 5s on 4
        > T8 ana fault wrong_place: ana takes back 5s
        """,
    ),
    case(
        "T9 a number whose place already holds it can't be placed",
        """
        [ana 4=4h]
        ana draws
        ana places 4s on 4
        > T9 ana fault cannot_be_placed: ana takes back 4s
        ana takes it off 4
        ana discards 4s
        = turn ben
        """,
    ),
    case(
        "T9 a queen can't be placed",
        """
        ana draws
        ana places Qs on 10
        > T9 ana fault cannot_be_placed: ana takes back Qs
        ana discards Qs
        """,
    ),
    case(
        "T9 going on after the turn is over",
        """
        ana draws
        ana discards Qs
        ana places 4s on 4
        > T9 ana fault goes_on: ana takes back 4s
        = turn ben
        """,
    ),
    case(
        "T9 ending a turn without a discard; the late discard mends it",
        """
        ana draws
        ana places 4s on 4
        ben draws
        > T9 ana fault no_discard
        ana discards Qs
        ben discards Js
        = trash 2
        = turn ana
        """,
    ),
    case(
        "T10 a placeable card may not be declined",
        """
        ana draws
        ana discards 4s
        > T10 ana fault declined: ana takes back 4s
        ana takes it back
        = turn ana
        = held 4s
        ana places 4s on 4
        """,
    ),
    case(
        "T10 what was declined lies there if nobody takes it back",
        """
        ana draws
        ana discards 4s
        > T10 ana fault declined: ana takes back 4s
        ben draws trash
        ben places 4s on 4
        """,
    ),
    case("T10 kings may be declined", "ana draws\nana discards Ks"),
    case("T10 a card that would free a king may be declined", "[ana 4=Kh]\nana draws\nana discards 4s"),
    case("T10 may_decline all", "ana draws\nana discards 4s", may_decline="all"),
    case(
        "T10 may_decline none: not even a king",
        """
        ana draws
        ana discards Ks
        > T10 ana fault declined: ana takes back Ks
        """,
        may_decline="none",
    ),
    case(
        "T10 may_decline none: nor a card that would free one",
        """
        [ana 4=Kh]
        ana draws
        ana discards 4s
        > T10 ana fault declined: ana takes back 4s
        """,
        may_decline="none",
    ),
    case(
        "T4 T11 the tenth place wins at once; T5 the loser begins the next round",
        f"""
        [ana {NINE}]
        ana draws
        ana places 10s on 10
        > T11 ana won all_face_up
        > T5 ben note loser_begins: ben is next
        = ana scores 1
        = phase between
        ana discards Qh
        deal
        = turn ben
        = stock 32
        = trash 0
        """,
    ),
    case(
        "T4 a king in a place counts as the card of that place",
        f"""
        [ana {NINE}]
        ana draws
        ana places Ks on 10
        > T11 ana won all_face_up
        > T5 ben note loser_begins: ben is next
        """,
    ),
    case(
        "T12 the stock used up: the trash except its top is shuffled",
        """
        [stock 1]
        [trash 2h 3h Qh]
        ana draws
        > T12 note stock_used_up: shuffle
        ana discards Js
        shuffle
        = stock 3
        = trash 1
        = trash-top Js
        """,
    ),
    case(
        "T12 shuffled unseen",
        """
        [stock 1]
        [trash 2h 3h Qh]
        ana draws
        > T12 note stock_used_up: shuffle
        ana discards Js
        ben draws
        = stock 2
        """,
    ),
    case(
        "T13 single: each round scores one, and the host ends the match",
        f"""
        [ana {NINE}]
        ana draws
        ana places 10s on 10
        > T11 ana won all_face_up
        > T5 ben note loser_begins: ben is next
        deal
        = ana lays 10
        end
        > T13 ana won ended_by_host
        = winners ana
        """,
    ),
    case("T13 nobody ahead: the win is shared", "end\n> T13 ana won ended_by_host\n> T13 ben won ended_by_host"),
    case(
        "T13 a round given up",
        """
        ana draws
        deal
        > T13 note round_abandoned
        = phase draw
        """,
    ),
    case(
        "T13 shrinking: the winner lays one place fewer",
        f"""
        [ana {NINE}]
        ana draws
        ana places 10s on 10
        > T11 ana won all_face_up
        > T13 ana note one_place_fewer
        > T5 ben note loser_begins: ben is next
        deal
        = ana lays 9
        = ben lays 10
        = stock 33
        """,
        match="shrinking",
    ),
    case(
        "T13 shrinking: a number above the layout's size can't be placed",
        """
        [ana lays 3]
        ana draws
        ana places 4s on 3
        > T9 ana fault cannot_be_placed: ana takes back 4s
        ana discards 4s
        """,
        match="shrinking",
    ),
    case(
        "T13 shrinking: the first to win with one place wins the match",
        """
        [ana lays 1]
        ana draws
        ana places As on 1
        > T11 ana won all_face_up
        > T13 ana won won_match
        = winners ana
        = phase over
        """,
        match="shrinking",
    ),
    case(
        "T14 a joker is wild like a king",
        """
        ana draws
        ana places red joker on 4
        ana places 4s on 4
        > T8 ana note frees_a_king
        ana discards red joker
        """,
        jokers="wild",
    ),
    case(
        "T14 wild jack: kings and queens can't be placed",
        """
        ana draws
        ana places Ks on 4
        > T9 ana fault cannot_be_placed: ana takes back Ks
        ana discards Ks
        ben draws
        ben places Jh on 4
        ben discards Qs
        """,
        wild="jack",
    ),
    case(
        "T3 a doubtful peek is asked about while play goes on",
        """
        ana peeks at 3 sure 0.6
        > T3 ana ask peek
        ana draws
        answer void
        > T3 ana note void
        """,
    ),
    case(
        "T5 who drew is asked where nobody knows",
        """
        somebody draws
        > T5 ask who_was_it
        ana places 5h on 5
        answer ana
        = held-unknown
        """,
    ),
    case(
        "an unreadable card is asked for, and what followed is judged when it is known",
        """
        ana draws
        ana places ? on 5
        > T6 ana ask which_card
        ana places 7s on 8
        answer 5h
        > T6 ana fault wrong_place: ana takes back 7s
        """,
    ),
    case(
        "a card known to be in hand need not be read",
        """
        [trash 5h]
        ana draws trash
        ana places ? on 5
        """,
    ),
    case(
        "a card read with too much doubt is no fault before a person says so",
        """
        ana draws
        ana places 5h on 6 sure 0.8
        > T6 ana ask wrong_place
        answer stands
        > T6 ana fault wrong_place: ana takes back 5h
        """,
    ),
]


@pytest.mark.parametrize(("story", "options"), CASES)
def test_the_rules(story: str, options: dict[str, OptionValue]) -> None:
    play(story, **options)


def test_t2_place_one_is_the_upper_left_as_its_player_sees_it() -> None:
    """Seat 0 looks up the picture, seat 1 down it: their places mirror each other through the middle."""
    places = {str(place.pile): (place.x, place.y) for place in GAME.layout(2).piles}
    one, five, six = places["place:0:1"], places["place:0:5"], places["place:0:6"]
    assert one[0] < five[0]
    assert one[1] == pytest.approx(five[1])
    assert one[1] < six[1]
    assert one[0] == pytest.approx(six[0])
    for number in range(1, 11):
        (x, y), (mirror_x, mirror_y) = places[f"place:0:{number}"], places[f"place:1:{number}"]
        assert (x + mirror_x, y + mirror_y) == pytest.approx((1, 1))


OVERRULED = [
    ("T6 a person says that it lay on its own place", ["ana draws", "ana places 5h on 6"], "T6"),
    ("T5 a person says that it was in turn", ["ben draws"], "T5"),
    ("T5 the draw was missed, the card placed rightly", ["ana places 5h on 5"], "T5"),
    ("T5 the draw was missed, the card discarded rightly", ["ana discards Qh"], "T5"),
    ("T9 a person saw the discard", ["ana draws", "ana places 4s on 4", "ben draws"], "T9"),
    ("T10 the card was misread, and rightly discarded", ["ana draws", "ana discards 4s"], "T10"),
    ("T3 nobody looked", ["ana peeks at 3"], "T3"),
]


@pytest.mark.parametrize(("lines", "clause"), [row[1:] for row in OVERRULED], ids=[row[0] for row in OVERRULED])
def test_a_person_overrules(lines: list[str], clause: str) -> None:
    table = Table({})
    for line in lines:
        table.tell(line)
    ruling = next(r for r in table.match.rulings if r.clause == clause and r.question)
    judgement = table.match.tell(Overrule(at=Instant(0), of=ruling.id, says="void", reason="we all saw it"))
    assert [given.what for given in judgement.given] == ["void"]
    assert judgement.withdrawn == (ruling,)


def test_points_adjusted_by_the_host_count() -> None:
    table = Table({})
    table.match.tell(Adjusted(at=Instant(0), seat=1, points=2, reason="two rounds before the camera ran"))
    assert table.match.board.scores == (0, 2)


REFUSED = [
    ("a pile of another game", Taken(at=Instant(0), seat=0, pile=Pile("draw"))),
    ("a place that no layout has", Shown(at=Instant(0), seat=0, card=Card.parse("5h"), pile=Pile("place", 0, 11))),
    ("a third player", Taken(at=Instant(0), seat=2, pile=STOCK)),
    ("a pile moved the wrong way", Moved(at=Instant(0), source=STOCK, target=TRASH)),
    ("nothing taken", Taken(at=Instant(0), seat=0, pile=STOCK, count=0)),
    ("a slap", Slap(at=Instant(0), seat=0, pile=TRASH)),
]


@pytest.mark.parametrize("event", [row[1] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_can_t_be_is_refused(event: Event) -> None:
    with pytest.raises(NotInThisGame, match="trash: expected"):
        GAME.rule(Table({}).state, event)


def test_nothing_left_to_draw_is_refused() -> None:
    table = play("[stock 0]\n[trash Qh]")
    with pytest.raises(NotInThisGame, match="expected a card left in stock or trash"):
        table.tell("ana draws")


@pytest.mark.parametrize(("deck", "jokers"), [("standard54", "none"), ("standard52", "wild")])
def test_t14_the_deck_must_fit_the_option(deck: str, jokers: str) -> None:
    with pytest.raises(BadInput, match="deck: expected"):
        GAME.start(set_up(GAME, NAMES, shipped_deck(deck), options={"jokers": jokers}))


def test_expects_what_may_come_next() -> None:
    table = Table({})
    assert GAME.expects(table.state).piles == {STOCK}
    table.tell("ana draws")
    assert Pile("place", 0, 10) in GAME.expects(table.state).piles
    table.tell("ana places 5h on 5")
    assert Pile("place", 0, 5) not in GAME.expects(table.state).piles
    table.tell("ana discards Qh")
    assert GAME.expects(table.state).piles == {STOCK, TRASH}
    assert GAME.expects(table.state).seats == {1}


def test_every_option_names_a_clause_that_exists() -> None:
    assert {option.clause for option in GAME.options if option.clause} <= set(GAME.clauses)
    assert list(GAME.clauses) == [f"T{n}" for n in range(1, 15)]
