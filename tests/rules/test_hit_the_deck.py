"""Hit the Deck clause by clause, each case told as a story."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from referee.cards import Card, Pile, shipped_deck
from referee.events import (
    Adjusted,
    Amend,
    Answer,
    Confirm,
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
    Shout,
    Shown,
    Slap,
    Taken,
    Tick,
    Turned,
)
from referee.game import NotInThisGame, OptionValue, set_up
from referee.games.hit_the_deck import GAME
from referee.games.hit_the_deck_state import DISCARD, DRAW, HitTheDeckState
from referee.instant import Instant
from referee.match import Begun, Match
from referee.ruling import Draw, NextTurn, PutTogether, Ruling, Score, TakeBack

NAMES = ("ana", "ben", "cal")
MS = 1_000_000


class Table:
    """A match told line by line in a few plain sentences; ``>`` lines are the rulings that the line before led to."""

    def __init__(self, names: tuple[str, ...], options: dict[str, OptionValue]) -> None:
        self.names = list(names)
        self.match = Match(GAME, set_up(GAME, names, shipped_deck("hit-the-deck"), options=options))
        self.ms = 0.0
        self.card_ms = 0.0
        self.id = 0

    @property
    def state(self) -> HitTheDeckState:
        return self.match.state

    @property
    def log(self) -> list[Event]:
        return list(self.match.log)

    def set(self, state: HitTheDeckState) -> None:
        """Go on from another state: sets a scene that would take long to play."""
        self.match = Match(GAME, self.match.setup, Begun(state, self.id, 0))

    def seat(self, name: str) -> int | None:
        return None if name == "somebody" else self.names.index(name)

    def events(self, line: str) -> list[Event]:
        """The events that a line stands for."""
        time = re.search(r" @(-?[\d.]+)(?:±([\d.]+))?", line)
        line = re.sub(r" @\S+", "", line)
        if time:
            self.ms = self.card_ms + float(time[1])
        else:
            self.ms += 2000
        at = Instant(round(self.ms * MS), round(float(time[2] or 0) * MS) if time else 0)
        maybe = line.endswith(" maybe")
        sure = re.search(r" sure ([\d.]+)", line)
        line = re.sub(r" sure \S+", "", line.removesuffix(" maybe"))
        told: dict[str, Any] = {"at": at, "provisional": maybe, "confidence": float(sure[1]) if sure else 1.0}
        who, _, rest = line.partition(" ")
        match line.split():
            case ["first", *card]:
                return [Shown(card=Card.parse(" ".join(card)), pile=DISCARD, **told)]
            case ["shuffle"]:
                return [Moved(source=DISCARD, target=DRAW, **told)]
            case ["shows", *card]:
                return [Shown(card=Card.parse(" ".join(card)), pile=DISCARD, source=DRAW, **told)]
            case ["below", "lies", *card]:
                return [Shown(card=Card.parse(" ".join(card)), pile=DISCARD, source=DISCARD, **told)]
            case ["tick"]:
                return [Tick(**told)]
            case ["end"]:
                return [Ended(**told)]
            case ["deal"]:
                return [Dealt(**told)]
            case ["joins", name]:
                self.names.append(name)
                return [Joined(name=name, **told)]
            case ["finish", *rows]:
                orders = [row.split("=") for row in rows]
                told_orders = tuple((tuple(map(self.names.index, names.split(","))), float(p)) for names, p in orders)
                return [Finish(pile=DISCARD, orders=told_orders, **told)]
            case ["it", "was", "a", "slap"]:
                unsure = next(event for event in reversed(self.log) if event.provisional)
                return [Confirm(of=unsure.id, **told)]
            case ["answer", *says]:
                text = " ".join(says)
                text = str(self.names.index(text)) if text in self.names else text
                return [Answer(question=GAME.board(self.state).questions[-1].key, says=text, **told)]
        told["seat"] = self.seat(who)
        laid = (
            Card.parse(rest.split(" ", 1)[1]) if rest.split(" ")[0] in ("plays", "cuts") and "?" not in rest else None
        )
        match rest.split():
            case ["plays", "?", *others]:
                text = " ".join(others).removeprefix("maybe ")
                or_cards = tuple(Card.parse(name) for name in text.split(" or ")) if text else ()
                return [Shown(card=None, pile=DISCARD, or_cards=or_cards, **told)]
            case ["plays", *_]:
                return [Shown(card=laid, pile=DISCARD, **told)]
            case ["cuts", *_]:
                return [Shown(card=laid, pile=DISCARD, source=DRAW, **told)]
            case ["turns", "draw", *top]:
                return [Turned(source=DRAW, target=DISCARD, card=Card.parse(" ".join(top)), **told)]
            case ["turns", "discards"]:
                return [Turned(source=DISCARD, target=DRAW, **told)]
            case ["flips", *top]:
                new = None if top == ["?"] else Card.parse(" ".join(top))
                return [
                    Turned(source=DRAW, target=DISCARD, card=new, **told),
                    Turned(source=DISCARD, target=DRAW, **told),
                ]
            case ["buries"]:
                return [Moved(source=DISCARD, target=DRAW, count=1, **told)]
            case ["buries", "under"]:
                return [Moved(source=DISCARD, target=DISCARD, count=1, **told)]
            case ["draws"]:
                return [Taken(pile=DRAW, **told)]
            case ["draws", count]:
                return [Taken(pile=DRAW, count=int(count), **told)]
            case ["takes", "it", "back"]:
                return [Taken(pile=DISCARD, **told)]
            case ["puts", "back", count]:
                return [Moved(source=Pile("hand", told["seat"]), target=DRAW, count=int(count), **told)]
            case ["slaps", *layer]:
                return [Slap(pile=DISCARD, layer=int(layer[1]) if layer else None, **told)]
            case ["lifts"]:
                return [Lifted(pile=DISCARD, **told)]
            case ["calls"]:
                return [Shout(phrase="Hit the deck with a hand!", **told)]
            case ["counts", *cards]:
                names = [] if cards == ["nothing"] else " ".join(cards).split(", ")
                return [Counted(cards=tuple(Card.parse(name) for name in names), **told)]
            case ["leaves"]:
                return [Left(**told)]
            case ["deals"]:
                return [Dealt(**told)]
        raise AssertionError(f"no such sentence: {line!r}")

    def tell(self, line: str) -> list[str]:
        """Tell one line; returns the rulings in words."""
        rulings: list[Ruling] = []
        for event in self.events(line):
            self.id += 1
            event = replace(event, id=self.id)
            if isinstance(event, Shown):
                self.card_ms = self.ms
            rulings.extend(self.match.tell(event).given)
            held = self.state.draw + self.state.discards + sum(self.state.hands)
            assert held == 110, f"the cards add up to {held} after {line!r}"
        return [self.words(ruling) for ruling in rulings]

    def words(self, ruling: Ruling) -> str:
        parts = [ruling.clause, str(ruling.verdict), ruling.what]
        if ruling.seat is not None:
            parts.insert(1, self.names[ruling.seat])
        effects = []
        for effect in ruling.effects:
            match effect:
                case Draw(seat, count):
                    effects.append(f"{self.names[seat]} draws {count}")
                case TakeBack(seat, card):
                    effects.append(f"{self.names[seat]} takes back {card}")
                case NextTurn(seat):
                    effects.append(f"{self.names[seat]} is next")
                case Score(seat, points):
                    effects.append(f"{self.names[seat]} {points:+d}")
                case PutTogether():
                    effects.append("shuffle")
        return " ".join(parts) + (": " + ", ".join(effects) if effects else "")

    def check(self, line: str) -> None:
        """A line after ``=``: what the board must show."""
        board = GAME.board(self.state)
        match line.split():
            case ["turn", name]:
                assert board.turn == self.names.index(name), f"turn is {self.names[board.turn or 0]}"
            case [name, "holds", count]:
                assert self.state.hands[self.names.index(name)] == int(count)
            case [name, "scores", points]:
                assert board.scores[self.names.index(name)] == int(points)
            case ["phase", phase]:
                assert board.phase == phase
            case ["draw", "pile", count]:
                assert board.counts[DRAW] == int(count)
            case ["discards", count]:
                assert board.counts[DISCARD] == int(count)
            case ["top", *card]:
                assert board.tops[DISCARD] == Card.parse(" ".join(card))
            case ["dealer", name]:
                assert board.dealer == self.names.index(name)
            case ["winners", *names]:
                assert [self.names[seat] for seat in board.winners] == names
            case ["asks", *choices]:
                seats = {str(seat): name for seat, name in enumerate(self.names)}
                assert [seats.get(choice, choice) for choice in board.questions[-1].choices] == choices
            case ["asks-nothing"]:
                assert not board.questions
            case _:
                raise AssertionError(f"no such check: {line!r}")

    def arrange(self, line: str) -> None:
        """A line in brackets sets the scene: how many cards somebody holds, or lie on the draw pile."""
        what, count = line.rsplit(" ", 1)
        state = self.state
        if what == "draw pile":
            moved = state.draw - int(count)
            self.set(replace(state, draw=int(count), discards=state.discards + moved))
        elif what.startswith("score of"):
            at = self.names.index(what.split()[-1])
            self.set(GAME.rule(state, Adjusted(at=Instant(0), seat=at, points=int(count), reason="scene"))[0])
        elif what == "discards":
            moved = state.discards - int(count)
            hands = (state.hands[0] + moved, *state.hands[1:])
            self.set(replace(state, discards=int(count), hands=hands))
        else:
            at = self.names.index(what)
            moved = state.hands[at] - int(count)
            hands = (*state.hands[:at], int(count), *state.hands[at + 1 :])
            self.set(replace(state, hands=hands, draw=state.draw + moved))


def play(story: str, *, names: tuple[str, ...] = NAMES, **options: OptionValue) -> Table:
    """Tell a story and compare every ruling with its ``>`` lines."""
    table = Table(names, options)
    lines = [line.strip() for line in story.strip().splitlines() if line.strip()]
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("= "):
            table.check(line[2:])
        elif line.startswith("["):
            table.arrange(line[1:-1])
        elif line.startswith("table "):
            table.tell("first " + line[6:])
        else:
            given = table.tell(line)
            expected = []
            while at < len(lines) and lines[at].startswith("> "):
                expected.append(lines[at][2:])
                at += 1
            assert given == expected, f"after {line!r}"
    return table


def case(name: str, story: str, *, names: tuple[str, ...] = NAMES, **options: OptionValue) -> object:
    return pytest.param(story, names, options, id=name)


SLAP = "> H15 ben note everyone_slaps"

CASES = [
    # --- H1 to H6: before the first turn ---
    case(
        "H1 the first card of the evening reminds of jewellery, H3 it starts the pile, H6 the dealer's left begins",
        """
        first red 4
        > H1 note jewellery_off
        > H3 note first_card
        > H6 ben note begins: ben is next
        = turn ben
        = ana holds 7
        = draw pile 88
        = discards 1
        """,
    ),
    case(
        "H2 a card that this deck doesn't have is asked about",
        """
        table red 4
        ben plays 7h
        > H2 ben ask not_of_this_deck
        answer red 2
        = turn cal
        = top red 2
        """,
    ),
    case(
        "H2 more of a card at the count than the deck has",
        """
        table red 4
        [ben 1]
        ben plays red 2
        > H20 ben won went_out
        ana counts hit colour red, hit colour red, red 1, red 1, red 1, red 1, red 2
        > H20 ana note counted: ana +26
        cal counts red 5, red 5, red 5, red 5, red 3, red 3, red 3
        > H20 cal note counted: cal +29
        > H2 fault more_than_the_deck
        > H33 ben note deal_passes
        """,
    ),
    case(
        "H4 a first Hit the Deck with a hand is buried and the next card starts",
        """
        first hit hand
        > H1 note jewellery_off
        > H4 ana note bury_first
        ana buries
        shows red 4
        > H3 note first_card
        > H6 ben note begins: ben is next
        = draw pile 88
        """,
    ),
    case(
        "H5 a first Cut binds the first player, whose turn is then over",
        """
        first red cut
        > H1 note jewellery_off
        > H3 note first_card
        > H6 ben note begins: ben is next
        > H5 ben note first_cut
        > H10 ben note cut_now
        ben cuts blue 3
        = turn cal
        = top blue 3
        = discards 2
        """,
    ),
    case(
        "H5 on a first Flip the first player turns the piles and the turn passes to that player's right",
        """
        first red flip
        > H1 note jewellery_off
        > H3 note first_card
        > H6 ben note begins: ben is next
        > H5 ben note first_flip
        > H11 ben note flip_now
        ben flips blue 3
        > H11 ana note reversed: ana is next
        ana plays blue 4
        = turn cal
        """,
    ),
    case(
        "H5 a first decree binds too",
        """
        first hit colour blue
        > H1 note jewellery_off
        > H3 note first_card
        > H6 ben note begins: ben is next
        > H5 ben note first_decree
        > H14 ben note decree
        ben plays red 3
        > H14 ben fault decree_disobeyed
        > H34 ben note goes_back: ben takes back red 3, ben draws 1, cal is next
        """,
    ),
    case(
        "H5 first_decree off: a first decree is followed by any card",
        """
        first hit colour blue
        > H1 note jewellery_off
        > H3 note first_card
        > H6 ben note begins: ben is next
        ben plays red 3
        """,
        first_decree=False,
    ),
    case(
        "H6 playing out of turn: the card goes back and the turn stays",
        """
        table red 4
        cal plays red 3
        > H6 cal fault out_of_turn: cal takes back red 3
        cal takes it back
        = turn ben
        = cal holds 7
        ben plays red 2
        = turn cal
        """,
    ),
    case(
        "H6 drawing out of turn",
        """
        table red 4
        cal draws
        > H6 cal fault drew_out_of_turn
        = cal holds 8
        cal puts back 1
        = cal holds 7
        = turn ben
        """,
    ),
    case(
        "H6 who neither discards nor draws hasn't had a turn",
        """
        table red 4
        ben plays red 1
        ana plays red 2
        > H6 ana fault out_of_turn: ana takes back red 2
        """,
    ),
    # --- H7, H8: what matches ---
    case("H7 the same colour is played", "table red 4\nben plays red 2\n= turn cal\n= ben holds 6"),
    case("H7 the same number is played", "table red 4\nben plays blue 4\n= turn cal"),
    case(
        "H7 neither number nor colour is a fault",
        """
        table red 4
        ben plays blue 3
        > H7 ben fault no_match
        > H34 ben note goes_back: ben takes back blue 3, ben draws 1, cal is next
        ben takes it back
        ben draws
        = ben holds 8
        = turn cal
        """,
    ),
    case(
        "H7 two Cuts match as symbols",
        """
        table red 4
        ben plays red cut
        > H10 cal note cut_now
        cal cuts blue cut
        > H26 ana note cut_exposed
        > H10 ana note cut_now
        ana cuts red 1
        ben plays red cut
        > H10 cal note cut_now
        """,
    ),
    case(
        "H7 a Flip may follow a Flip of another colour",
        """
        table red 4
        [draw pile 20]
        ben plays red flip
        > H11 cal note flip_now
        cal flips blue 2
        > H11 ben note reversed: ben is next
        ben plays blue flip
        > H11 ana note flip_now
        ana flips green flip
        > H11 ben note reversed: ben is next
        > H12 ana note bury_flip
        ana buries under
        below lies yellow 1
        ben plays yellow 3
        = turn cal
        """,
    ),
    case(
        "H7 symbols_match off: a Cut is matched by its colour only",
        """
        table red cut
        ben cuts blue cut
        cal plays red cut
        > H7 cal fault no_match
        > H34 cal note goes_back: cal takes back red cut, cal draws 1, ana is next
        """,
        symbols_match=False,
        exposed_acts=False,
    ),
    case(
        "H7 two cards discarded at once: the second goes back",
        """
        table red 4
        ben plays red 2
        ben plays red 3
        > H7 ben fault two_cards: ben takes back red 3
        = turn cal
        = ben holds 6
        """,
    ),
    case(
        "H8 a Hit the Deck card goes on any colour",
        """
        table red 4
        ben plays hit number 3
        > H13 cal note decree
        """,
    ),
    case(
        "H8 with no decree in force any card may follow a Hit the Deck card",
        """
        table hit number 3
        ben plays blue 1
        """,
        first_decree=False,
    ),
    # --- H9: drawing ---
    case(
        "H9 who can't discard draws one, and the turn passes",
        """
        table red 4
        ben draws
        = ben holds 8
        = turn ben
        cal plays red 1
        = turn ana
        """,
    ),
    case(
        "H9 the drawn card may be played at once; that it is that one may be disputed",
        """
        table red 4
        ben draws
        ben plays red 1
        > H9 ben note plays_what_it_drew
        = turn cal
        """,
    ),
    case(
        "H9 a second card drawn is a fault",
        """
        table red 4
        ben draws
        ben draws
        > H9 ben fault second_draw
        """,
    ),
    case(
        "H9 two cards taken together are one too many",
        """
        table red 4
        ben draws 2
        > H9 ben fault second_draw
        cal draws
        ana draws
        ben draws
        """,
    ),
    # --- H10: the cut ---
    case(
        "H10 the next player cuts and that turn is over",
        """
        table red 4
        ben plays red cut
        > H10 cal note cut_now
        = turn cal
        cal cuts blue 5
        = turn ana
        = draw pile 87
        = discards 3
        ana plays blue 1
        """,
    ),
    case(
        "H10 cut_skips off: the cutter then has a turn",
        """
        table red 4
        ben plays red cut
        > H10 cal note cut_now
        cal cuts blue 5
        = turn cal
        cal plays blue 1
        """,
        cut_skips=False,
    ),
    case(
        "H10 the wrong player cuts",
        """
        table red 4
        ben plays red cut
        > H10 cal note cut_now
        ana cuts blue 5
        > H10 ana fault wrong_cutter
        = turn ana
        """,
    ),
    case(
        "H10 a cut that nobody asked for goes back",
        """
        table red 4
        ben cuts blue 5
        > H10 ben fault no_cut_due
        = top red 4
        = draw pile 88
        ben plays red 1
        """,
    ),
    case(
        "H10 who plays instead of cutting takes the card back and still has to cut",
        """
        table red 4
        ben plays red cut
        > H10 cal note cut_now
        cal plays red 1
        > H10 cal fault not_cut: cal takes back red 1
        cal cuts blue 5
        = turn ana
        """,
    ),
    case(
        "H10 who draws instead of cutting still has to cut",
        """
        table red 4
        ben plays red cut
        > H10 cal note cut_now
        cal draws
        > H10 cal fault not_cut
        cal cuts blue 5
        = cal holds 8
        """,
    ),
    case(
        "H10 the player after the cutter goes on although nobody cut",
        """
        table red 4
        ben plays red cut
        > H10 cal note cut_now
        ana plays red 1
        > H10 cal fault not_cut
        = turn ben
        """,
    ),
    case(
        "H10 with fewer than two cards to cut the discards are shuffled first",
        """
        table red 4
        [draw pile 1]
        ben plays red cut
        > H10 note shuffle_first: shuffle
        > H10 cal note cut_now
        cal cuts blue 5
        = discards 2
        """,
    ),
    # --- H11, H12: the flip ---
    case(
        "H11 the next player turns both piles, direction reverses, and who played the Flip is next",
        """
        table red 4
        ben plays red flip
        > H11 cal note flip_now
        = turn cal
        cal flips blue 2
        > H11 ben note reversed: ben is next
        = top blue 2
        = draw pile 2
        = discards 88
        ben plays blue 1
        = turn ana
        """,
    ),
    case(
        "H11 the piles may be turned in either order",
        """
        table red 4
        ben plays red flip
        > H11 cal note flip_now
        cal turns discards
        cal turns draw blue 2
        > H11 ben note reversed: ben is next
        = top blue 2
        """,
    ),
    case(
        "H11 the wrong player flips",
        """
        table red 4
        ben plays red flip
        > H11 cal note flip_now
        ana flips blue 2
        > H11 ana fault wrong_flipper
        > H11 ben note reversed: ben is next
        """,
    ),
    case(
        "H11 who plays instead of flipping takes the card back",
        """
        table red 4
        ben plays red flip
        > H11 cal note flip_now
        cal plays red 1
        > H11 cal fault not_flipped: cal takes back red 1
        cal flips blue 2
        > H11 ben note reversed: ben is next
        """,
    ),
    case(
        "H11 play goes on although nobody flipped",
        """
        table red 4
        ben plays red flip
        > H11 cal note flip_now
        ben plays red 1
        > H11 cal fault not_flipped
        = turn ana
        """,
    ),
    case(
        "H11 only one pile was turned over",
        """
        table red 4
        ben plays red flip
        > H11 cal note flip_now
        cal turns draw blue 2
        ben plays blue 1
        > H11 cal fault half_flipped
        > H11 ben note reversed: ben is next
        """,
    ),
    case(
        "H11 a flip that nobody asked for",
        """
        table red 4
        ben flips blue 2
        > H11 ben fault no_flip_due
        ben flips red 4
        ben plays red 1
        """,
    ),
    case(
        "H12 a Flip on top after the flip is buried under the discard pile, until none is on top",
        """
        table red 4
        ben plays red flip
        > H11 cal note flip_now
        cal flips blue flip
        > H11 ben note reversed: ben is next
        > H12 cal note bury_flip
        cal buries under
        below lies green flip
        > H12 cal note bury_flip
        cal buries under
        below lies green 2
        = discards 88
        ben plays green 1
        = turn ana
        """,
    ),
    case(
        "H12 play goes on with the Flip not buried",
        """
        table red 4
        ben plays red flip
        > H11 cal note flip_now
        cal flips blue flip
        > H11 ben note reversed: ben is next
        > H12 cal note bury_flip
        ben plays blue 2
        > H12 cal fault not_buried
        """,
    ),
    case(
        "H12 with the draw pile empty at a Flip the discards are shuffled first",
        """
        table red 4
        [draw pile 0]
        ben plays red flip
        > H12 note shuffle_first: shuffle
        > H11 cal note flip_now
        cal flips blue 2
        > H11 ben note reversed: ben is next
        = draw pile 1
        """,
    ),
    case(
        "H12 a Flip exposed by a cut: the player after the cutter turns the piles and the cutter is next",
        """
        table red 4
        ben plays red cut
        > H10 cal note cut_now
        cal cuts blue flip
        > H12 ana note flip_exposed
        > H11 ana note flip_now
        ana flips red 2
        > H11 cal note reversed: cal is next
        cal plays red 1
        = turn ben
        """,
    ),
    # --- H13, H14, H22: decrees ---
    case(
        "H13 the next discard must be of that number",
        """
        table red 4
        ben plays hit number 3
        > H13 cal note decree
        cal plays red 4
        > H13 cal fault decree_disobeyed
        > H34 cal note goes_back: cal takes back red 4, cal draws 1, ana is next
        cal draws
        ana plays green 3
        ben plays green 5
        """,
    ),
    case(
        "H13 who can't obey draws one and may play it if it is right",
        """
        table red 4
        ben plays hit number 3
        > H13 cal note decree
        cal draws
        cal plays green 3
        > H9 cal note plays_what_it_drew
        """,
    ),
    case(
        "H13 the decree stands until it is met",
        """
        table red 4
        ben plays hit number 3
        > H13 cal note decree
        cal draws
        ana draws
        ben draws
        cal plays green 4
        > H13 cal fault decree_disobeyed
        > H34 cal note goes_back: cal takes back green 4, cal draws 1, ana is next
        """,
    ),
    case(
        "H14 likewise the colour; a coloured word card meets it and acts",
        """
        table red 4
        ben plays hit colour blue
        > H14 cal note decree
        cal plays blue cut
        > H10 ana note cut_now
        """,
    ),
    case(
        "H14 another colour disobeys",
        """
        table red 4
        ben plays hit colour blue
        > H14 cal note decree
        cal plays red 4
        > H14 cal fault decree_disobeyed
        > H34 cal note goes_back: cal takes back red 4, cal draws 1, ana is next
        """,
    ),
    case(
        "H22 a Hit the Deck card does not meet a decree",
        """
        table red 4
        ben plays hit colour blue
        > H14 cal note decree
        cal plays hit colour blue
        > H14 cal fault decree_disobeyed
        > H34 cal note goes_back: cal takes back hit colour blue, cal draws 1, ana is next
        """,
    ),
    case(
        "H22 decree_chain: a Hit the Deck card replaces the decree",
        """
        table red 4
        ben plays hit colour blue
        > H14 cal note decree
        cal plays hit number 2
        > H13 ana note decree
        ana plays red 2
        """,
        decree_chain=True,
    ),
    # --- H15 to H17, H24, H25, H28 to H31: the slap ---
    case(
        "H15 the last hand draws four and H17 the player after the discarder may play any card",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        cal slaps @300±2
        ana slaps @350±2
        ben slaps @400±2
        > H15 ben lost last_hand: ben draws 4
        ben draws 4
        = ben holds 10
        cal plays green 1
        = turn ana
        """,
    ),
    case(
        "H15 last_by top: the hand on top is the last one, whatever the times",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        cal slaps layer 0 @300±20
        ana slaps layer 2 @350±20
        ben slaps layer 1 @352±20
        > H15 ana lost hand_on_top: ana draws 4
        """,
        last_by="top",
    ),
    case(
        "H15 an order told by all witnesses stands in for the instants",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        cal slaps @300±10
        finish cal,ana,ben=0.004 cal,ben,ana=0.996
        ana slaps @305±10
        ben slaps @310±10
        > H15 ana lost last_hand: ana draws 4
        """,
    ),
    case(
        "H15 a penalty not taken is noticed when that player plays on",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200
        ana slaps @300
        > H24 cal lost never_came: cal draws 4
        cal plays red 1
        > H15 cal fault penalty_not_taken: cal draws 4
        cal draws 4
        = turn ana
        """,
    ),
    case(
        "H15 too few cards taken",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200
        ana slaps @300
        > H24 cal lost never_came: cal draws 4
        cal draws 3
        cal plays red 1
        > H15 cal fault penalty_too_few: cal draws 1
        """,
    ),
    case(
        "H15 too many cards taken",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200
        cal slaps @300
        > H24 ana lost never_came: ana draws 4
        ana draws 5
        > H15 ana fault penalty_too_many
        ana puts back 1
        = ana holds 11
        """,
    ),
    case(
        "H15 four single cards pay four, and the fifth is the turn's own",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200
        ana slaps @300
        > H24 cal lost never_came: cal draws 4
        cal draws
        cal draws
        cal draws
        cal draws
        cal draws
        = cal holds 12
        cal draws
        > H9 cal fault second_draw
        """,
    ),
    case(
        "H16 the call forgotten: the discarder draws four instead of the last hand",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        cal slaps @300
        ana slaps @400
        tick @1600
        > H16 ben fault call_forgotten: ben draws 4
        """,
        names=("ana", "ben", "cal", "dan"),
    ),
    case(
        "H16 a slap before the call",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben slaps @200
        > H16 ben fault slapped_before_call: ben draws 4
        ben calls @400
        cal slaps @500
        """,
    ),
    case(
        "H16 penalty not taken",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben slaps @200
        > H16 ben fault slapped_before_call: ben draws 4
        cal plays red 1
        ana plays red 2
        ben plays red 3
        > H16 ben fault penalty_not_taken: ben draws 4
        """,
    ),
    case(
        "H16 announce trust: the call is assumed",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben slaps @200
        cal slaps @500
        > H24 ana lost never_came: ana draws 4
        """,
        announce="trust",
    ),
    case(
        "H16 whether the slap or the call came first can't be told: a person is asked",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        cal slaps @150
        ben calls @200±20
        ben slaps @210±20
        > H28 ben ask called_in_time
        ana slaps @300
        answer forgotten
        > H16 ben fault call_forgotten: ben draws 4
        """,
    ),
    case(
        "H16 asked and found in time, the last hand draws after all",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        cal slaps @150
        ben calls @200±20
        ben slaps @210±20
        > H28 ben ask called_in_time
        ana slaps @300
        answer in time
        > H15 ana lost last_hand: ana draws 4
        = asks-nothing
        """,
    ),
    case(
        "H18 a slap at the wrong time draws two",
        """
        table red 4
        ben plays red 1
        cal slaps
        > H18 cal fault false_slap: cal draws 2
        cal draws 2
        = cal holds 9
        = turn cal
        cal plays red 2
        """,
    ),
    case(
        "H18 once until that hand lifts",
        """
        table red 4
        ben lifts
        cal slaps
        > H18 cal fault false_slap: cal draws 2
        cal slaps
        cal lifts
        cal slaps
        > H18 cal fault false_slap: cal draws 2
        """,
    ),
    case(
        "H18 penalty not taken, too few, too many",
        """
        table red 4
        cal slaps
        > H18 cal fault false_slap: cal draws 2
        cal draws
        ben plays red 1
        cal plays red 2
        > H18 cal fault penalty_too_few: cal draws 1
        cal draws 2
        > H18 cal fault penalty_too_many
        """,
    ),
    case(
        "H18 a slap on a decree is penalised",
        """
        table red 4
        ben plays hit number 3
        > H13 cal note decree
        ana slaps
        > H18 ana fault false_slap: ana draws 2
        """,
    ),
    case(
        "H18 false_slap_on_decree off: no fault on any Hit the Deck card",
        """
        table red 4
        ben plays hit number 3
        > H13 cal note decree
        ana slaps
        cal plays red 3
        ana slaps
        > H18 ana fault false_slap: ana draws 2
        """,
        false_slap_on_decree=False,
    ),
    case(
        "H18 an uncertain instant waits until no card can have come first",
        """
        table red 4
        ben plays red 1
        ana slaps @300±10
        cal plays red 2
        > H18 ana fault false_slap: ana draws 2
        """,
    ),
    case(
        "H18 a slap that may have come just after the card is a landing",
        f"""
        table red 4
        ana slaps @1995±10
        ben plays hit hand @2000±5
        {SLAP}
        ben calls @100
        ben slaps @300
        tick @400
        > H24 cal lost never_came: cal draws 4
        """,
    ),
    case(
        "H18 a doubtful slap is asked about while play goes on",
        """
        table red 4
        ana slaps sure 0.6
        > H18 ana ask was_it_a_slap
        ben plays red 1
        answer stands
        > H18 ana fault false_slap: ana draws 2
        """,
    ),
    case(
        "H18 a doubtful slap that was none",
        """
        table red 4
        ana slaps sure 0.6
        > H18 ana ask was_it_a_slap
        answer void
        > H18 ana note void
        """,
    ),
    case("H18 a provisional slap is not ruled on", "table red 4\nana slaps maybe\ncal slaps maybe\ntick"),
    case(
        "H24 once all but one have landed the missing one is last",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200
        cal slaps @300
        > H24 ana lost never_came: ana draws 4
        """,
    ),
    case(
        "H24 as soon as it is certain that the missing hand comes later",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200±10
        cal slaps @300±10
        tick @310
        tick @400
        > H24 ana lost never_came: ana draws 4
        """,
    ),
    case(
        "H24 several missing when the window ends: the referee asks",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200
        tick @3100
        tick @3300
        > H24 ben ask several_never_came
        = asks ana ben cal both none
        answer cal
        > H24 cal lost said_to_be_last: cal draws 4
        """,
    ),
    case(
        "H24 slap_window: a shorter one",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200
        tick @750
        > H24 ben ask several_never_came
        """,
        slap_window=0.5,
    ),
    case(
        "H24 the next discard closes it, and play goes on while a person is asked",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        cal plays blue 1
        > H24 ben ask several_never_came
        ana plays blue 2
        answer none
        > H24 note nobody_last
        = turn ben
        """,
    ),
    case(
        "H25 too close to tell: the referee asks",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200±5
        cal slaps @300±5
        ana slaps @303±5
        > H25 ben ask close_call
        answer cal
        > H15 cal lost last_hand: cal draws 4
        """,
    ),
    case(
        "H25 close_call both: both draw four",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200±5
        cal slaps @300±5
        ana slaps @303±5
        > H25 too close close_call_both: ana draws 4, cal draws 4
        """,
        close_call="both",
    ),
    case(
        "H25 close_call none: nobody draws",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200±5
        cal slaps @300±5
        ana slaps @303±5
        > H25 too close close_call_none
        """,
        close_call="none",
    ),
    case(
        "H25 what all witnesses say later settles it",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200±5
        cal slaps @300±5
        ana slaps @303±5
        > H25 ben ask close_call
        finish ben,ana,cal=0.995 ben,cal,ana=0.005
        > H15 cal lost last_hand: cal draws 4
        = asks-nothing
        """,
    ),
    case(
        "H28 others may slap before the call, and the call counts within its grace",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        cal slaps @300
        ben calls @1400
        ben slaps @1450
        > H24 ana lost never_came: ana draws 4
        """,
    ),
    case(
        "H28 a late call still counts before the first other hand",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        tick @1800
        ben calls @2000
        cal slaps @2100
        ben slaps @2200
        > H24 ana lost never_came: ana draws 4
        """,
    ),
    case(
        "H28 called while laying the card",
        f"""
        table red 4
        ben calls
        ben plays hit hand
        {SLAP}
        ben slaps @200
        cal slaps @300
        > H24 ana lost never_came: ana draws 4
        """,
    ),
    case(
        "H28 call_grace: none given",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        cal slaps @300
        > H16 ben fault call_forgotten: ben draws 4
        ben calls @400
        """,
        call_grace=0.0,
        names=("ana", "ben", "cal", "dan"),
    ),
    case(
        "H28 somebody else's call is not the discarder's",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        cal calls @100
        ben slaps @200
        > H16 ben fault slapped_before_call: ben draws 4
        """,
    ),
    case(
        "H28 a voice that nobody knows counts as the discarder's",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        somebody calls @100
        ben slaps @200
        cal slaps @300
        > H24 ana lost never_came: ana draws 4
        """,
    ),
    case(
        "H29 the discarder's hand that never left the pile has not slapped",
        f"""
        table red 4
        ben plays red 1
        ben lifts
        cal plays red 2
        cal lifts
        ana plays red 3
        ana lifts
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200
        > H29 ben note hand_never_left
        cal slaps @300
        ana slaps @400
        > H24 ben lost never_came: ben draws 4
        """,
    ),
    case(
        "H29 once lifted it may slap",
        f"""
        table red 4
        ben plays red 1
        ben lifts
        cal plays red 2
        cal lifts
        ana plays red 3
        ana lifts
        ben plays hit hand
        {SLAP}
        ben lifts @50
        ben calls @100
        ben slaps @200
        cal slaps @300
        > H24 ana lost never_came: ana draws 4
        """,
    ),
    case(
        "H29 a witness that tells no lift of hands that laid cards can't show that one stayed",
        f"""
        table red 4
        ana slaps
        > H18 ana fault false_slap: ana draws 2
        ana lifts
        ana draws 2
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200
        cal slaps @300
        > H24 ana lost never_came: ana draws 4
        """,
    ),
    case(
        "H30 a second hand or a second landing is ignored",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben lifts @50
        ben calls @100
        cal slaps @150
        cal lifts @180
        cal slaps @190
        ben slaps @200
        > H24 ana lost never_came: ana draws 4
        """,
    ),
    case(
        "H31 slaps after the race and before the next discard are free",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200
        cal slaps @300
        > H24 ana lost never_came: ana draws 4
        ana slaps @350
        cal slaps @900
        cal plays blue 1
        ana slaps
        > H18 ana fault false_slap: ana draws 2
        """,
    ),
    case(
        "H31 a slap that may still have come before the next discard is free",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200
        cal slaps @300
        > H24 ana lost never_came: ana draws 4
        cal plays blue 1 @2000±5
        ben slaps @2±5
        tick
        """,
    ),
    case(
        "H32 drawing although able to play is nobody's business",
        """
        table red 4
        ben draws
        cal draws
        ana draws
        ben plays red 1
        """,
    ),
    case(
        "a provisional slap holds the ruling until it is confirmed",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200
        cal slaps @300 maybe
        ana slaps @400
        tick @900
        it was a slap
        > H24 ana lost never_came: ana draws 4
        """,
    ),
    case(
        "a provisional slap at the wrong time is ruled on once it is confirmed",
        """
        table red 4
        ana slaps maybe
        ben plays red 1
        it was a slap
        > H18 ana fault false_slap: ana draws 2
        """,
    ),
    case(
        "H6 a doubtful draw out of turn is asked about while play goes on",
        """
        table red 4
        cal draws sure 0.7
        > H6 cal ask drew_out_of_turn
        ben plays red 1
        = turn cal
        answer stands
        > H6 cal fault drew_out_of_turn
        """,
    ),
    case(
        "H24 a hand that may have been none: the referee asks who was last",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200
        cal slaps @300 sure 0.8
        tick @900
        tick @3300
        > H24 ben ask several_never_came
        answer ana
        > H24 ana lost never_came: ana draws 4
        """,
    ),
    case(
        "H16 a call that was hardly heard is asked about",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100 sure 0.6
        > H28 ben ask called_in_time
        """,
    ),
    case(
        "H16 nobody slapped and nobody called: forgotten once the next card lies",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        cal plays red 1
        > H16 ben fault call_forgotten: ben draws 4
        """,
    ),
    # --- H19, H27: the draw pile ---
    case(
        "H19 the draw pile used up: the discards but the top are shuffled",
        """
        table red 4
        [draw pile 1]
        ben draws
        > H19 note draw_pile_used_up: shuffle
        shuffle
        = draw pile 87
        = discards 1
        cal draws
        """,
    ),
    case(
        "H27 draw what is there, shuffle, draw the rest",
        """
        table red 4
        [draw pile 1]
        cal slaps
        > H18 cal fault false_slap: cal draws 2
        > H27 cal note draw_shuffle_draw
        cal draws
        > H19 note draw_pile_used_up: shuffle
        shuffle
        cal draws
        = cal holds 9
        """,
    ),
    case(
        "H27 nothing left anywhere: the debt lapses and the turn passes",
        """
        table red 4
        [draw pile 0]
        [discards 1]
        cal slaps
        > H18 cal fault false_slap: cal draws 2
        > H27 cal note debt_lapses
        cal plays red 1
        ana plays red 2
        """,
    ),
    # --- H20, H21, H23: the end of a hand ---
    case(
        "H20 no cards left ends the hand; the others count: numbers as they are, all else ten",
        """
        table red 4
        [ben 1]
        [ana 2]
        [cal 2]
        ben plays red 2
        > H20 ben won went_out
        = phase count
        ana counts red 3, hit hand
        > H20 ana note counted: ana +13
        cal counts blue cut, blue 5
        > H20 cal note counted: cal +15
        > H33 ben note deal_passes
        = ana scores 13
        = cal scores 15
        """,
    ),
    case(
        "H20 fewer cards at the count than the hand should hold, and more",
        """
        table red 4
        [ben 1]
        [ana 3]
        [cal 2]
        ben plays red 2
        > H20 ben won went_out
        ana counts red 3
        > H20 ana note counted: ana +3
        > H20 ana fault cards_missing
        cal counts red 1, red 1, red 1
        > H20 cal note counted: cal +3
        > H20 cal fault cards_too_many
        > H33 ben note deal_passes
        """,
    ),
    case(
        "H20 counted again: the new count stands",
        """
        table red 4
        [ben 1]
        [ana 1]
        ben plays red 2
        > H20 ben won went_out
        ana counts red 3
        > H20 ana note counted: ana +3
        ana counts red 5
        > H20 ana note counted: ana +2
        = ana scores 5
        """,
    ),
    case(
        "H20 somebody did not count before the next deal",
        """
        table red 4
        [ben 1]
        ben plays red 2
        > H20 ben won went_out
        [ana 1]
        ana counts red 3
        > H20 ana note counted: ana +3
        ben deals
        > H20 cal fault not_counted
        > H33 ben note deal_passes
        """,
    ),
    case(
        "H20 a penalty not taken before the hand ended",
        """
        table red 4
        [ben 1]
        cal slaps
        > H18 cal fault false_slap: cal draws 2
        ben plays red 2
        > H20 ben won went_out
        > H18 cal fault penalty_not_taken: cal draws 2
        """,
    ),
    case(
        "H20 only the score is kept: counts alone make a hand",
        """
        ana counts red 3
        > H20 ana note counted: ana +3
        cal counts red 4
        > H20 cal note counted: cal +4
        ben counts nothing
        > H20 ben note counted: ben +0
        > H33 ben note deal_passes
        """,
    ),
    case(
        "H21 someone has a hundred: the lowest score wins",
        """
        table red 4
        [score of ana 95]
        [score of cal 20]
        [ben 1]
        [ana 1]
        [cal 1]
        ben plays red 2
        > H20 ben won went_out
        ana counts hit hand
        > H20 ana note counted: ana +10
        cal counts red 1
        > H20 cal note counted: cal +1
        > H21 ben won lowest_score
        = winners ben
        = phase over
        """,
    ),
    case(
        "H21 equal lowest scores share the win",
        """
        table red 4
        [score of ana 95]
        [score of ben 6]
        [score of cal 5]
        [ben 1]
        [ana 1]
        [cal 1]
        ben plays red 2
        > H20 ben won went_out
        ana counts hit hand
        > H20 ana note counted: ana +10
        cal counts red 1
        > H20 cal note counted: cal +1
        > H21 ben won shares_lowest_score
        > H21 cal won shares_lowest_score
        = winners ben cal
        """,
    ),
    case(
        "H21 tie play_on: another hand is played",
        """
        table red 4
        [score of ana 95]
        [score of ben 6]
        [score of cal 5]
        [ben 1]
        [ana 1]
        [cal 1]
        ben plays red 2
        > H20 ben won went_out
        ana counts hit hand
        > H20 ana note counted: ana +10
        cal counts red 1
        > H20 cal note counted: cal +1
        > H21 note tie_plays_on
        > H33 ben note deal_passes
        """,
        tie="play_on",
    ),
    case(
        "H21 the host ends the game: the lowest score wins",
        """
        table red 4
        [score of ana 5]
        [score of ben 6]
        [score of cal 7]
        end
        > H21 ana won ended_by_host
        """,
    ),
    case(
        "H23 Hit the Deck with a hand as the last card: the slap is played first, then the hand ends",
        f"""
        table red 4
        [ben 1]
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200
        cal slaps @300
        > H24 ana lost never_came: ana draws 4
        > H20 ben won went_out
        """,
    ),
    case(
        "H23 the discarder must draw, so the hand goes on",
        f"""
        table red 4
        [ben 1]
        ben plays hit hand
        {SLAP}
        ben calls @100
        ana slaps @200
        cal slaps @300
        > H24 ben lost never_came: ben draws 4
        > H23 ben note goes_on
        ben draws 4
        cal plays red 1
        """,
    ),
    case(
        "H23 a word card as the last card is not carried out",
        """
        table red 4
        [ben 1]
        ben plays red flip
        > H23 ben note not_carried_out
        > H20 ben won went_out
        """,
    ),
    # --- H26: exposed word cards ---
    case(
        "H26 a decree exposed by a cut binds the next player",
        """
        table red cut
        ben cuts hit colour green
        > H26 cal note hit_colour_exposed
        > H14 cal note decree
        cal plays red 1
        > H14 cal fault decree_disobeyed
        > H34 cal note goes_back: cal takes back red 1, cal draws 1, ana is next
        """,
    ),
    case(
        "H26 a Cut exposed by a flip is carried out by the next player",
        """
        table red 4
        ben plays red flip
        > H11 cal note flip_now
        cal flips blue cut
        > H11 ben note reversed: ben is next
        > H26 ben note cut_exposed
        > H10 ben note cut_now
        """,
    ),
    case(
        "H26 an exposed Hit the Deck with a hand is buried and the next card taken",
        """
        table red cut
        ben cuts hit hand
        > H26 ben note bury_exposed
        ben buries
        shows green 2
        = draw pile 87
        = top green 2
        cal plays green 1
        """,
    ),
    case(
        "H26 exposed_acts off: a coloured one is only matched, a colourless one followed by any card",
        """
        table red cut
        ben cuts blue flip
        cal plays red 1
        > H7 cal fault no_match
        > H34 cal note goes_back: cal takes back red 1, cal draws 1, ana is next
        cal draws
        ana plays blue cut
        > H10 ben note cut_now
        ben cuts hit hand
        cal plays yellow 3
        """,
        exposed_acts=False,
    ),
    # --- H33, H34 ---
    case(
        "H33 the deal passes left and the player on the dealer's left begins",
        """
        table red 4
        [ben 1]
        [ana 1]
        [cal 1]
        ben plays red 2
        > H20 ben won went_out
        ana counts red 1
        > H20 ana note counted: ana +1
        cal counts red 1
        > H20 cal note counted: cal +1
        > H33 ben note deal_passes
        ben deals
        first blue 2
        > H3 note first_card
        > H6 cal note begins: cal is next
        = dealer ben
        = ben holds 7
        """,
    ),
    case(
        "H33 the wrong player deals",
        """
        cal deals
        > H33 cal fault wrong_dealer
        first red 4
        > H1 note jewellery_off
        > H3 note first_card
        > H6 ana note begins: ana is next
        """,
    ),
    case(
        "H33 a leaver's cards go under the draw pile and the turn passes on",
        """
        table red 4
        ben leaves
        > H33 ben note leaves
        = draw pile 95
        = turn cal
        cal plays red 1
        = turn ana
        """,
    ),
    case(
        "H33 a joiner waits for the next hand and starts with the highest score",
        """
        table red 4
        [score of cal 40]
        joins dan
        > H33 dan note joins
        = dan scores 40
        = dan holds 0
        [ben 1]
        [ana 1]
        [cal 1]
        ben plays red 2
        > H20 ben won went_out
        ana counts red 1
        > H20 ana note counted: ana +1
        cal counts red 1
        > H20 cal note counted: cal +1
        > H33 ben note deal_passes
        deal
        = dan holds 7
        """,
    ),
    case(
        "H33 the last one at the table has won",
        """
        table red 4
        ben leaves
        > H33 ben note leaves
        cal leaves
        > H33 cal note leaves
        > H21 ana won last_at_the_table
        """,
    ),
    case(
        "H34 illegal_play stand: the card stays",
        """
        table red 4
        ben plays blue 3
        > H7 ben fault no_match
        = turn cal
        cal plays blue 1
        """,
        illegal_play="stand",
    ),
    case(
        "H34 illegal_play ask: a person decides, and what followed waits",
        """
        table red 4
        ben plays blue 3
        > H34 ben ask illegal_play
        cal plays blue 1
        answer stand
        > H7 ben fault no_match
        = turn ana
        = top blue 1
        """,
        illegal_play="ask",
    ),
    # --- at the edges ---
    case(
        "H9 who takes from the discards takes a card that is not to be had",
        """
        table red 4
        ben takes it back
        > H9 ben fault took_discards
        """,
    ),
    case(
        "H15 a person says that both of the last two draw",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200±5
        cal slaps @300±5
        ana slaps @303±5
        > H25 ben ask close_call
        answer both
        > H15 lost last_hand: cal draws 4, ana draws 4
        """,
    ),
    case(
        "H15 whose hand it was is asked",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben calls @100
        ben slaps @200
        somebody slaps @300
        > H15 ask who_was_it
        answer cal
        > H24 ana lost never_came: ana draws 4
        """,
    ),
    case(
        "H16 a slap before the call is certain only once no call can have come first",
        f"""
        table red 4
        ben plays hit hand
        {SLAP}
        ben slaps @200±10
        tick @210
        tick @300
        > H16 ben fault slapped_before_call: ben draws 4
        """,
    ),
    case(
        "H18 who slapped is asked",
        """
        table red 4
        somebody slaps
        > H18 ask who_was_it
        ben plays red 1
        answer cal
        > H18 cal fault false_slap: cal draws 2
        """,
    ),
    case(
        "H20 who still owes cards is not out",
        """
        table red 4
        [ben 1]
        ben slaps
        > H18 ben fault false_slap: ben draws 2
        ben plays red 1
        > H18 ben fault penalty_not_taken: ben draws 2
        = phase play
        ben draws 2
        cal plays red 2
        """,
    ),
    case(
        "H20 a new deal gives the hand up",
        """
        table red 4
        ben plays red 1
        deal
        > H20 note hand_abandoned
        = dealer ben
        = ana holds 7
        """,
    ),
    case(
        "H20 the one who had nothing to count need not lay it out",
        """
        ana counts red 3
        > H20 ana note counted: ana +3
        cal counts red 4
        > H20 cal note counted: cal +4
        deal
        > H33 ben note deal_passes
        """,
    ),
    case(
        "H20 a count after the last card's slap was left open",
        f"""
        table red 4
        [ben 1]
        [ana 1]
        [cal 1]
        ben plays hit hand
        {SLAP}
        ben calls @100
        ana counts red 1
        > H20 note ended_unseen
        > H20 ana note counted: ana +1
        cal counts red 1
        > H20 cal note counted: cal +1
        > H33 ben note deal_passes
        """,
    ),
    case(
        "H26 with no card to take next the discards are shuffled in first",
        """
        table red cut
        [draw pile 2]
        [discards 3]
        ben cuts red 1
        cal plays red cut
        > H10 note shuffle_first: shuffle
        > H10 ana note cut_now
        [draw pile 1]
        ana cuts hit hand
        > H26 note shuffle_first: shuffle
        > H26 ana note bury_exposed
        """,
    ),
    case(
        "H27 nothing to cut, nothing to turn over: play goes on",
        """
        table red 4
        [draw pile 0]
        [discards 0]
        ben plays red cut
        > H27 cal note nothing_to_cut
        [discards 0]
        cal plays red flip
        > H27 ana note nothing_to_flip
        ana plays red 1
        """,
    ),
    case(
        "H33 the cut of a player who leaves falls to the next",
        """
        table red 4
        ben plays red cut
        > H10 cal note cut_now
        cal leaves
        > H33 cal note leaves
        ana cuts blue 5
        = turn ben
        """,
    ),
    case(
        "H33 who leaves before the first card is not dealt in",
        """
        ana leaves
        > H33 ana note leaves
        = dealer ben
        = draw pile 96
        first red 4
        > H1 note jewellery_off
        > H3 note first_card
        > H6 cal note begins: cal is next
        """,
    ),
    case(
        "H33 who leaves during the count holds nobody up",
        """
        table red 4
        [ben 1]
        [ana 1]
        ben plays red 2
        > H20 ben won went_out
        ana counts red 1
        > H20 ana note counted: ana +1
        cal leaves
        > H33 cal note leaves
        > H33 ben note deal_passes
        """,
    ),
    case(
        "H33 the first card of the next hand deals it",
        """
        ana counts red 3
        > H20 ana note counted: ana +3
        cal counts red 4
        > H20 cal note counted: cal +4
        ben counts nothing
        > H20 ben note counted: ben +0
        > H33 ben note deal_passes
        first red 4
        > H1 note jewellery_off
        > H3 note first_card
        > H6 cal note begins: cal is next
        """,
    ),
    case(
        "what nobody answered before the count is not judged, and hands are not compared",
        """
        table red 4
        [ana 1]
        somebody plays red 1
        > H6 ask who_was_it
        cal plays ?
        ana counts red 1, red 1
        > H6 note never_answered
        > H20 note ended_unseen
        > H20 ana note counted: ana +2
        = asks-nothing
        """,
    ),
    # --- what a camera can't see ---
    case(
        "an unreadable card is asked for, and what followed is judged when it is known",
        """
        table red 4
        ben plays ? maybe red cut or red 1
        > H7 ben ask which_card
        cal cuts blue 2
        answer red cut
        > H10 cal note cut_now
        = top blue 2
        """,
    ),
    case(
        "an unreadable card that nobody names before the count accuses nobody",
        """
        table red 4
        [ben 2]
        [ana 1]
        [cal 2]
        ben plays ?
        > H7 ben ask which_card
        cal plays blue 2
        ana counts red 1
        > H7 note never_answered
        > H20 note ended_unseen
        > H20 ana note counted: ana +1
        cal counts red 1
        > H20 cal note counted: cal +1
        = asks-nothing
        """,
    ),
    case(
        "whose card it was is asked",
        """
        table red 4
        somebody plays red 1
        > H6 ask who_was_it
        cal plays red 2
        answer ben
        = turn ana
        """,
    ),
    case(
        "a card read with too much doubt is not a fault before a person says so",
        """
        table red 4
        ben plays blue 3 sure 0.8
        > H7 ben ask no_match
        answer void
        > H7 ben note void
        = turn cal
        """,
    ),
]


@pytest.mark.parametrize(("story", "names", "options"), CASES)
def test_the_rules(story: str, names: tuple[str, ...], options: dict[str, OptionValue]) -> None:
    play(story, names=names, **options)


OVERRULED = [
    ("H15 a person says who was last", ["ben plays hit hand", "ben calls @100", "ben slaps @200", "cal slaps @300"],
     "H24", "2", ["H24 cal lost never_came: cal draws 4"]),
    ("H15 a person says that nobody draws", ["ben plays hit hand", "ben calls @100", "ben slaps @200", "cal slaps @300"],
     "H24", "none", ["H24 note nobody_last"]),
    ("H16 a person heard the call", ["ben plays hit hand", "ben slaps @200", "cal slaps @300"],
     "H16", "in time", ["H24 ana lost never_came: ana draws 4"]),
    ("H9 a person saw that it was an old card", ["ben draws", "ben plays red 2"],
     "H9", "old", ["H9 ben fault old_card", "H34 ben note goes_back: ben takes back red 2, ben draws 1, cal is next"]),
    ("H7 a person lets it stand", ["ben plays blue 3"], "H7", "void", ["H7 ben note void"]),
    ("H6 a person says that it was in turn", ["cal plays red 1"], "H6", "void", ["H6 cal note void"]),
    ("H18 a person forgives the slap", ["cal slaps"], "H18", "void", ["H18 cal note void"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "clause", "says", "given"), [row[1:] for row in OVERRULED], ids=[r[0] for r in OVERRULED]
)
def test_a_person_overrules(lines: list[str], clause: str, says: str, given: list[str]) -> None:
    table = Table(NAMES, {})
    for line in ("first red 4", *lines):
        table.tell(line)
    match = Match(GAME, set_up(GAME, NAMES, shipped_deck("hit-the-deck")))
    judged = match.tell_all(table.log)
    ruling = next(r for j in judged for r in j.given if r.clause == clause and r.question)
    judgement = match.tell(Overrule(at=Instant(0), of=ruling.id, says=says, reason="we all saw it"))
    assert [table.words(r) for r in judgement.given] == given
    assert ruling in judgement.withdrawn


def test_overruling_keeps_later_rulings_that_do_not_depend_on_it() -> None:
    table = Table(NAMES, {})
    for line in ("first red 4", "ben plays red 1", "ana slaps", "cal plays red 2"):
        table.tell(line)
    match = Match(GAME, set_up(GAME, NAMES, shipped_deck("hit-the-deck")))
    match.tell_all(table.log)
    before = match.state
    ruling = next(r for r in match.rulings if r.clause == "H18")
    overruled = match.tell(Overrule(at=Instant(0), of=ruling.id, says="void", reason="a fly"))
    assert match.state.debts == ()
    assert match.state.top == before.top
    assert [r.what for r in overruled.given] == ["void"]


REFUSED = [
    ("a pile that the game doesn't have", Slap(at=Instant(0), seat=0, pile=Pile("pot"))),
    ("a seat that nobody has", Shown(at=Instant(0), seat=9, card=Card.parse("red 4"), pile=DISCARD)),
    ("no card taken", Taken(at=Instant(0), seat=0, pile=DRAW, count=0)),
    ("more cards than there are", Taken(at=Instant(0), seat=1, pile=DRAW, count=90)),
    ("a phrase of another game", Shout(at=Instant(0), seat=0, phrase="snap")),
    ("a count of nobody", Counted(at=Instant(0), cards=())),
    ("a count of cards of another deck", Counted(at=Instant(0), seat=0, cards=(Card.parse("7h"),))),
    ("a pile turned onto itself", Turned(at=Instant(0), seat=0, source=DRAW, target=DRAW)),
    ("a taken seat", Joined(at=Instant(0), seat=1, name="eve")),
    ("a name that is taken", Joined(at=Instant(0), name="ben")),
    ("more cards put back than held", Moved(at=Instant(0), source=Pile("hand", 1), target=DRAW, count=8)),
]  # fmt: skip


@pytest.mark.parametrize("event", [row[1] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_can_t_be_is_refused(event: Event) -> None:
    table = play("table red 4")
    with pytest.raises(NotInThisGame, match="hit-the-deck: expected"):
        GAME.rule(table.state, event)


def test_the_stated_probability_is_that_of_the_joint_order() -> None:
    """Three hands within their doubts: the last one's share is computed over all of them, not pair by pair."""
    table = play("table red 4")
    for line in ("ben plays hit hand", "ben calls @100", "ben slaps @200±4", "cal slaps @300±4"):
        table.tell(line)
    at = Instant(round((table.card_ms + 315) * MS), 4 * MS)
    _, rulings = GAME.rule(table.state, Slap(at=at, id=99, seat=0, pile=DISCARD))
    assert [ruling.clause for ruling in rulings] == ["H15"]
    assert rulings[0].probability == pytest.approx(0.996, abs=0.001)
    assert rulings[0].because == (2, 4, 5, 99)


def test_a_hand_that_brings_a_card_is_no_slap() -> None:
    """Seen coming down it may be a slap; once it has lifted and a card lies there, it was Cal's discard."""
    table = play("table red 4\nben plays red 1\ncal slaps maybe")
    slap = table.log[-1]
    becomes = Shown(at=slap.at, seat=2, card=Card.parse("red 2"), pile=DISCARD)
    judgement = table.match.tell(Amend(at=slap.at, of=slap.id, becomes=becomes))
    assert judgement.given == ()
    table.check("turn ana")
    table.check("top red 2")


def test_expects_the_hands_and_the_call_only_while_a_race_is_open() -> None:
    table = play("table red 4")
    assert GAME.expects(table.state).slaps == frozenset()
    table.tell("ben plays hit hand")
    assert GAME.expects(table.state).slaps == {DISCARD}
    assert GAME.expects(table.state).phrases == {"hit the deck with a hand"}
    for line in ("ben calls @100", "ben slaps @200"):
        table.tell(line)
    until = GAME.expects(table.state).until
    assert until is not None
    assert until.at_ns == round((table.card_ms + 3200) * MS)
    table.tell("cal slaps @300")
    assert GAME.expects(table.state).slaps == frozenset()


def test_expects_the_decreed_cards() -> None:
    table = play("table red 4\nben plays hit number 3\n> H13 cal note decree")
    assert {str(card) for card in GAME.expects(table.state).cards} == {"red 3", "yellow 3", "green 3", "blue 3"}
    assert GAME.expects(table.state).seats == {2}


def test_every_option_names_a_clause_that_exists() -> None:
    assert {option.clause for option in GAME.options if option.clause} <= set(GAME.clauses)
    assert list(GAME.clauses) == [f"H{n}" for n in range(1, 35)]
