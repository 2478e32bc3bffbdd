"""A written game acted out: the events of a recording, in their order and as far as can be at their times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from referee.bad_input import BadInput
from referee.cards import Card, Deck, Pile, Seat, shipped_deck
from referee.events import (
    CORRECTIONS,
    Amend,
    Answer,
    Confirm,
    Counted,
    Dealt,
    Event,
    Joined,
    Left,
    Lifted,
    Moved,
    Peeked,
    Shout,
    Shown,
    Slap,
    Taken,
    Tick,
    Turned,
)
from referee.game import NotInThisGame
from referee.games.hit_the_deck_state import DISCARD, DRAW
from referee.games.trash import TRASH
from referee.recording import LONGEST_LINE, Header, load
from referee.ruling import Ruling, TakeBack
from vision.films.bots.snap import short_deck
from vision.films.dealing import peeked
from vision.films.direct import QUIET_S, Direction, at, players_arms
from vision.films.hit_the_deck import PACKET, HitTheDeckFilm
from vision.films.kinematics import Family, Strike
from vision.films.script import CardMove, Lying, Script, Sound
from vision.films.snap import MOST_PLAYERS, SnapFilm
from vision.films.trash import TrashFilm

LARGEST_BYTES = 32 * 1024 * 1024
LONGEST_S = 7200.0
_PACE = 1.15
_LATER_S = 0.25
"""A hand that is not free for a slap comes so much later, and everything after it too."""
_TRIES = 10


@dataclass(frozen=True, slots=True)
class Line:
    """An event of a written game, and the number of the line that it stands in."""

    number: int
    event: Event


def read_written(path: Path) -> tuple[Header, list[Line]]:
    """The game and its events; `BadInput` names the file and the line where something is wrong."""
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise BadInput.of(str(path), f"a recording of at most {LARGEST_BYTES} bytes", path.stat().st_size)
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput.of(str(path), "a recording", error.strerror or "none") from error
    except UnicodeDecodeError as error:
        raise BadInput.of(str(path), "a recording in UTF-8", f"byte {error.start}") from error
    header: Header | None = None
    lines: list[Line] = []
    latest_ns = 0
    for number, row in enumerate(text.splitlines(), 1):
        if not row.strip() or row.lstrip().startswith("#"):
            continue
        if len(row) > LONGEST_LINE and '"truth"' in row[:40]:
            continue  # a film's own truth may be filmed again
        try:
            line = load(row)
            if isinstance(line, Header):
                if header is not None:
                    raise BadInput.of("kind", "event", "a second recording")
                header = line
            elif header is None:
                raise BadInput.of("kind", "recording, with the game and its players, first", "something else")
            elif line is not None and isinstance(line, Event):
                if isinstance(line, (Confirm, Amend)):
                    _put_right(lines, line)
                    continue
                if isinstance(line, (*CORRECTIONS, Answer, Joined, Left)):
                    raise BadInput.of("event", "what happens at the table", type(line).__name__.lower())
                if line.at.at_ns < latest_ns:
                    raise BadInput.of("at_ns", f"{latest_ns} or later, in order of time", line.at.at_ns)
                latest_ns = line.at.at_ns
                lines.append(Line(number, line))
        except BadInput as bad:
            raise BadInput(f"{path}: line {number}: {bad}") from bad
    for told in lines:
        if told.event.provisional:
            raise BadInput.of(f"{path}: line {told.number}: event", "one that a later line confirms", "provisional")
    if header is None or not lines:
        raise BadInput.of(str(path), "a recording's first line, and events", "no recording" if not header else "none")
    if lines[-1].event.at.at_ns > LONGEST_S * 1e9:
        last = lines[-1]
        raise BadInput.of(f"{path}: line {last.number}: at_ns", f"at most {LONGEST_S:g} s", last.event.at.at_ns)
    return header, lines


def _put_right(lines: list[Line], correction: Confirm | Amend) -> None:
    """An event told before is what it seemed, is another one, or did not happen."""
    place = next((i for i, line in enumerate(lines) if line.event.id == correction.of), None)
    if correction.of == 0 or place is None:
        raise BadInput.of("of", "the id of an event told before", correction.of)
    if isinstance(correction, Confirm):
        lines[place] = replace(lines[place], event=replace(lines[place].event, provisional=False))
    elif correction.becomes is None:
        del lines[place]
    else:
        earlier = lines[place - 1].event.at.at_ns if place else 0
        later = lines[place + 1].event.at.at_ns if place + 1 < len(lines) else correction.becomes.at.at_ns
        if not earlier <= correction.becomes.at.at_ns <= later:
            raise BadInput.of("at_ns", f"{earlier} to {later}, in order of time", correction.becomes.at.at_ns)
        lines[place] = replace(lines[place], event=replace(correction.becomes, id=correction.of))


def written_film(
    path: Path,
    game: str,
    seed: int,
    *,
    deck: Deck | None = None,
    mesh: bool = False,
    options: Mapping[str, object] | None = None,
) -> tuple[Direction[Any], Script]:
    """The film of a written game; the seed decides what the script leaves open: arms, strikes, unseen cards."""
    header, lines = read_written(path)
    if header.game != game:
        raise BadInput.of(f"{path}: line 1: game", repr(game), repr(header.game)[:40])
    rng = np.random.default_rng([seed, 0x5C21])
    try:
        film = _film(header, deck, rng, mesh=mesh, options={**header.options, **(options or {})})
    except BadInput as bad:
        raise BadInput(f"{path}: line 1: {bad}") from bad
    acted = _Acted(film, lines, path)
    acted.play()
    script = film.end(acted.now_s)
    assert film.unseen is not None
    return film, _named(script, film.unseen.names(rng))


def _film(
    header: Header, deck: Deck | None, rng: np.random.Generator, *, mesh: bool, options: Mapping[str, object]
) -> Direction[Any]:
    """The game's film, its cards laid out but without names."""
    players, dealer = len(header.players), header.dealer
    most = {"snap": MOST_PLAYERS, "trash": 2, "hit-the-deck": 6}[header.game]
    if not 2 <= players <= most:
        raise BadInput.of("players", f"2 to {most} in a film of {header.game}", players)
    looks = players_arms(players, rng, mesh=mesh)
    fouls = np.random.default_rng(0)
    if header.game == "snap":
        cards = deck or (short_deck() if header.deck == short_deck().name else shipped_deck("standard52"))
        if header.deck not in ("", "standard52" if deck is None else deck.name, cards.name):
            raise BadInput.of("deck", f"{cards.name}, or another one asked for by --deck", header.deck)
        bigger = {7: 1.2, 8: 1.55}.get(players, 1.0)
        table_mm = (900.0 * bigger, 600.0 * bigger)
        return SnapFilm(looks, table_mm, rng, fouls, deck=cards, dealer=dealer, options=options, written=True)
    own = "standard52" if header.game == "trash" else "hit-the-deck"
    if header.deck not in ("", own, shipped_deck(own).name):
        raise BadInput.of("deck", own, header.deck)
    if header.game == "trash":
        return TrashFilm(looks, (960.0, 640.0), rng, dealer=dealer, options=options, written=True)
    return HitTheDeckFilm(looks, (900.0, 600.0), rng, dealer=dealer, options=options, written=True)


def _named(script: Script, names: Mapping[str, str]) -> Script:
    """The script with every card's name instead of its number."""

    def stack(cards: tuple[Lying, ...]) -> tuple[Lying, ...]:
        return tuple(replace(card, card=names.get(card.card, card.card)) for card in cards)

    def move(one: CardMove) -> CardMove:
        return replace(one, stack=stack(one.stack))

    piles = tuple(replace(change, stack=stack(change.stack)) for change in script.piles)
    return replace(script, piles=piles, moves=tuple(move(one) for one in script.moves))


class _Acted:
    """A written game on the stage: each event is acted so that it happens at its time, or as soon as it can."""

    def __init__(self, film: Direction[Any], lines: list[Line], path: Path) -> None:
        self.film, self.stage = film, film.stage
        self._lines, self._path = lines, path
        self._at = 0
        self._lifts: dict[tuple[Seat, Pile], float] = {}
        self._slapped_s = -10.0
        self._flipped_s: float | None = None
        self.now_s = 0.0
        first = next((line.event for line in lines if not isinstance(line.event, Dealt | Tick)), lines[0].event)
        self._lag_s = max(0.0, QUIET_S + 0.8 - first.at.at_ns / 1e9)
        self._acts: dict[str, Callable[[Event, float], float | None]] = {
            "snap": self._snap,
            "trash": self._trash,
            "hit-the-deck": self._hit_the_deck,
        }

    def play(self) -> None:
        """Act all of it."""
        for number, line in enumerate(self._lines):
            self._at = number
            try:
                self._act(line.event)
            except (BadInput, NotInThisGame) as bad:
                raise BadInput(f"{self._path}: line {line.number}: {bad}") from bad

    def _act(self, event: Event) -> None:
        written_s = event.at.at_ns / 1e9
        wish_s = max(written_s + (0.0 if isinstance(event, Dealt) and not self.now_s else self._lag_s), self.now_s)
        if event.seat is not None and not 0 <= event.seat < len(self.film.setup.players):
            raise BadInput.of("seat", f"0 to {len(self.film.setup.players) - 1}", event.seat)
        happened_s: float | None
        match event:
            case Slap():
                happened_s = self._slap(event, wish_s)
            case Lifted(seat=int(seat), pile=pile) if (seat, pile) in self._lifts:
                happened_s = max(wish_s, self._lifts.pop((seat, pile)))
            case Shout(phrase=phrase):
                seat = self._whose(event)
                words = phrase[:1].upper() + phrase[1:] + "!"
                self.stage.sounds.append(Sound(wish_s, "call", 0.8, self.stage.hands[seat, True].edge[0], words, seat))
                happened_s = wish_s
            case Dealt() if self._begun():
                happened_s = None
                self._deals(event, wish_s)
            case _:
                happened_s = self._acts[self.stage.game](event, wish_s)
        if happened_s is not None:
            self._told(event, happened_s)
        self._lag_s = max(self._lag_s, self.now_s - written_s) if self.now_s > wish_s + 1e-6 else self._lag_s

    def _told(self, event: Event, happened_s: float) -> tuple[Ruling, ...]:
        self.now_s = max(self.now_s, happened_s)
        return self.film.tell(replace(event, at=at(self.now_s), id=0))

    def _begun(self) -> bool:
        return any(not isinstance(event, Dealt | Tick) for event in self.stage.events)

    def _deals(self, event: Dealt, wish_s: float) -> None:
        """The cards are gathered, shuffled and dealt; the film tells the deal itself."""
        film = self.film
        if isinstance(film, SnapFilm):
            dealer = (film.match.state.dealer + 1) % len(film.setup.players)
            self.now_s = film.deal_anew(dealer if event.seat is None else event.seat, film.gather(wish_s), LONGEST_S)
        elif isinstance(film, TrashFilm):
            film.dealer = 1 - film.dealer if event.seat is None else event.seat
            self.now_s = film.deal_anew(film.gather(wish_s), LONGEST_S)
        elif isinstance(film, HitTheDeckFilm):
            state = film.match.state
            due = state.dealer if state.phase in ("deal", "between") else state.next_seat(state.dealer, 1)
            film.dealer = due if event.seat is None else event.seat
            self.now_s = film.deal_anew(film.gather(wish_s), LONGEST_S)

    # --- hands and cards ------------------------------------------------------------------------------

    def _whose(self, event: Event) -> Seat:
        if event.seat is None:
            raise BadInput.of("seat", "who does it, since a film shows that", "none")
        return event.seat

    def _ready_s(self, pile: Pile) -> float:
        """When all that was brought to the pile lies there."""
        return next((change.at_s for change in reversed(self.stage.changes) if change.pile == pile), 0.0)

    def _some(self, pile: Pile, count: int = 1) -> None:
        lying = len(self.stage.stacks.get(pile, ()))
        if lying < count:
            raise BadInput.of("pile", f"{count} card{'s' * (count > 1)} or more on {pile}", lying)

    def _carry(
        self,
        seat: Seat,
        source: Pile,
        target: Pile,
        wish_s: float,
        *,
        count: int | None = 1,
        over: bool = False,
        under: bool = False,
        right: bool = True,
        away: bool = True,
        lifted: bool = False,
    ) -> tuple[float, float]:
        """Carry cards so that they lie (or with `lifted` are taken up) at that time, or as soon as it can be."""
        self._some(source, count or 1)
        if target not in self.stage.places:
            raise BadInput.of("pile", "one of this game", str(target))
        top = self.stage.top(source)
        assert top is not None
        x, y, _ = self.stage.places[target]
        far = float(np.hypot(x - top.x_mm, y - top.y_mm))
        flight_s = max(0.34 if over else 0.26, far / 800.0) / _PACE
        start_s = wish_s - 0.07 / _PACE - (0.0 if lifted else flight_s)
        start_s = max(start_s, self._ready_s(source), self._ready_s(target) - flight_s)
        return self.stage.carry(
            seat, source, target, start_s, count=count, over=over, under=under, right=right, pace=_PACE, away=away
        )

    def _see(self, pile: Pile, card: Card | None, depth: int = -1) -> None:
        """The top card of a pile (or another one) turns out to be that card."""
        self._some(pile)
        if card is None:
            raise BadInput.of("card", "which card it is, since a film shows that", "none")
        unseen = self.film.unseen
        assert unseen is not None
        number = self.stage.stacks[pile][depth].card
        if not unseen.show(number, card.name):
            known = unseen.known(number)
            expected = "one that does not lie elsewhere already" if known is None else f"{known}, which lies there"
            raise BadInput.of("card", expected, card.name)

    def _slap(self, event: Slap, wish_s: float) -> float:
        seat = self._whose(event)
        if event.pile not in self.stage.places:
            raise BadInput.of("pile", "one of this game", str(event.pile))
        key = (seat, event.pile)
        ahead = (line.event for line in self._lines[self._at + 1 :])
        lift = next(
            (e for e in ahead if isinstance(e, Slap | Lifted) and e.seat == seat and e.pile == event.pile), None
        )
        stays_s = 0.6
        if isinstance(lift, Lifted):
            stays_s = min(max((lift.at.at_ns - event.at.at_ns) / 1e9, 0.08), 20.0)
        how = (Strike.SIDEWAYS, Strike.OBLIQUE, Strike.OBLIQUE, Strike.DOWN)[int(self.film.rng.integers(4))]
        family = (Family.STRAIGHT, Family.CURVED, Family.BRAKING)[int(self.film.rng.integers(3))]
        for _ in range(_TRIES):
            contact_s = round(wish_s, 6)
            layer = event.layer
            if layer is None:
                layer = sum(pile == event.pile and until > contact_s for (_, pile), until in self._lifts.items())
            lifts_s = self.stage.strike(
                seat, event.pile, contact_s, layer=layer, how=how, family=family, stays_s=stays_s
            )
            if lifts_s is not None:
                self._lifts[key] = lifts_s
                self._slapped_s = contact_s
                return contact_s
            if wish_s - self._slapped_s < 1.5:
                break  # the times between the slaps of one race are never changed
            wish_s += _LATER_S
        raise BadInput.of("seat", f"a hand of seat {seat} that is free and off the table", "both are busy")

    # --- the games ------------------------------------------------------------------------------------

    def _snap(self, event: Event, wish_s: float) -> float | None:
        stage = self.stage
        match event:
            case Shown(pile=Pile(kind="up", seat=int(owner)), card=card):
                down = Pile("down", owner)
                self._see(down, card)
                return self._carry(owner if event.seat is None else event.seat, down, event.pile, wish_s, over=True)[1]
            case Moved(source=source, target=target, count=count):
                self._some(source, count or 1)
                seat = event.seat if event.seat is not None else (source.seat or target.seat or 0)
                top = stage.top(source)
                over = target.kind == "down" and top is not None and top.face_up
                # A card turned out of turn comes back to where it was, what is won or paid goes below.
                back = count == 1 and (source.kind, source.seat) == ("up", target.seat)
                under = target.kind == "down" and not back
                return self._carry(seat, source, target, wish_s, count=count, over=over, under=under)[1]
            case Turned(source=source, target=target):
                seat = event.seat if event.seat is not None else source.seat or 0
                return self._carry(seat, source, target, wish_s, count=None, over=True)[1]
            case Shown() | Taken() | Peeked() | Counted():
                raise BadInput.of("event", "one of Snap", f"{type(event).__name__.lower()}")
            case _:
                return wish_s

    def _trash(self, event: Event, wish_s: float) -> float | None:
        stage = self.stage
        match event:
            case Taken(pile=pile) if pile.kind == "place":
                seat = self._whose(event)
                self._some(pile)
                if len(stage.stacks[pile]) < 2:
                    return peeked(stage, seat, pile, max(wish_s - 0.42, self._ready_s(pile)))[0]
                return self._carry(seat, pile, Pile("held", seat), wish_s, away=False, lifted=True)[0]
            case Taken(pile=pile):
                return self._draws(event, self._whose(event), pile, wish_s)
            case Shown(pile=pile) if pile == TRASH:
                seat = self._whose(event)
                hand = Pile("held", seat) if stage.stacks[Pile("held", seat)] else Pile("next", seat)
                self._see(hand, event.card)
                top = stage.top(hand)
                return self._carry(seat, hand, TRASH, wish_s, over=top is not None and not top.face_up)[1]
            case Shown(pile=pile):
                return self._places(event, self._whose(event), pile, wish_s)
            case Peeked(pile=pile):
                self._some(pile)
                return peeked(stage, self._whose(event), pile, max(wish_s - 0.42, self._ready_s(pile)))[0]
            case Moved():
                self._some(TRASH, 2)
                film = self.film
                assert isinstance(film, TrashFilm)
                start_s = max(wish_s - 1.5, self.now_s, self._ready_s(TRASH))
                self.now_s = film.reshuffle(self._whose(event), start_s)
                return None
            case Turned() | Counted():
                raise BadInput.of("event", "one of Trash", f"{type(event).__name__.lower()}")
            case _:
                return wish_s

    def _draws(self, event: Taken, seat: Seat, pile: Pile, wish_s: float) -> float | None:
        """A card taken to the hand; one that should not have been goes back at once."""
        held, aside = Pile("held", seat), Pile("next", seat)
        too_much = bool(self.stage.stacks[held])
        target = aside if too_much else held
        top = self.stage.top(pile) if pile in self.stage.stacks else None
        over = top is not None and not top.face_up and not too_much
        lifted, laid = self._carry(seat, pile, target, wish_s, over=over, right=not too_much, away=False, lifted=True)
        self._told(event, lifted)
        counts = self.film.match.board.counts
        if len(self.stage.stacks[pile]) < counts[pile]:
            back = self.stage.top(target)
            turned = over and back is not None and back.face_up
            self.stage.carry(seat, target, pile, laid + 0.5, over=turned, right=not too_much)
        return None

    def _places(self, event: Shown, seat: Seat, pile: Pile, wish_s: float) -> float | None:
        """The right hand lays its card on a place; the left one takes up what lay there, if it lies rightly."""
        stage, held, waits = self.stage, Pile("held", seat), Pile("next", seat)
        if stage.stacks[waits] and not stage.stacks[held]:
            held, waits = waits, held
        self._see(held, event.card)
        self._some(pile)
        match_ = self.film.match
        _, rulings = match_.game.rule(match_.state, replace(event, id=len(match_.log) + 1))
        wrong = any(isinstance(effect, TakeBack) for ruling in rulings for effect in ruling.effects)
        if wrong or pile.seat != seat:
            return self._carry(seat, held, pile, wish_s)[1]
        below = stage.top(pile)
        aside_s = self._carry(seat, pile, waits, wish_s - 0.5, right=False, away=False)[1]
        laid_s = self._carry(seat, held, pile, max(wish_s, aside_s), away=False)[1]
        self._told(event, laid_s)
        stage.retire(seat, aside_s, right=False)
        if match_.state.phase == "play":
            hidden = below is not None and not below.face_up
            stage.carry(seat, waits, held, laid_s + 0.08, over=hidden, pace=_PACE, away=False)
        return None

    def _hit_the_deck(self, event: Event, wish_s: float) -> float | None:
        stage, film = self.stage, self.film
        assert isinstance(film, HitTheDeckFilm)
        match event:
            case Shown(pile=pile, source=source) if pile == DISCARD and source == DRAW:
                return self._exposes(event, self._whose(event), wish_s)
            case Shown(pile=pile, source=source) if pile == DISCARD and source == DISCARD:
                self._see(DISCARD, event.card)
                return wish_s
            case Shown(pile=pile) if pile == DISCARD:
                seat = self._whose(event)
                self._choose(seat, event.card)
                return self._carry(seat, Pile("hand", seat), DISCARD, wish_s, over=True)[1]
            case Taken(pile=pile, count=count):
                seat = self._whose(event)
                hand = Pile("hand", seat)
                return self._carry(seat, pile, hand, wish_s, count=count, over=pile == DISCARD, lifted=True)[0]
            case Moved(source=source, target=target, count=1) if source == target == DISCARD:
                seat = self._whose(event)
                self._some(DISCARD, 2)
                _, laid = self._carry(seat, DISCARD, PACKET, wish_s - 0.6)
                return self._carry(seat, PACKET, DISCARD, max(wish_s, laid), under=True)[1]
            case Moved(source=source, target=target, count=None) if (source, target) == (DISCARD, DRAW):
                self._some(DISCARD, 2)
                if stage.stacks[DRAW]:
                    raise BadInput.of("pile", "no card left on draw before the discards are shuffled", "some")
                start_s = max(wish_s - 1.5, self.now_s, self._ready_s(DISCARD))
                self.now_s = film.reshuffle(self._whose(event), start_s)
                return None
            case Moved(source=source, target=target, count=count):
                over = source == DISCARD and target == DRAW
                return self._carry(self._whose(event), source, target, wish_s, count=count, over=over, under=over)[1]
            case Turned():
                return self._flips(event, wish_s)
            case Counted(cards=cards):
                seat = self._whose(event)
                self._some(Pile("hand", seat), len(cards))
                for place, card in enumerate(cards):
                    self._choose(seat, card, below=place)
                return film.spread(seat, len(cards), max(wish_s - 0.3 * len(cards), self.now_s))
            case Shown() | Peeked():
                raise BadInput.of("event", "one of Hit the Deck", f"{type(event).__name__.lower()}")
            case _:
                return wish_s

    def _choose(self, seat: Seat, card: Card | None, below: int = 0) -> None:
        """One of the cards held turns out to be that one, and comes to lie on top, or below so many others."""
        if card is None:
            raise BadInput.of("card", "which card it is, since a film shows that", "none")
        unseen, hand = self.film.unseen, self.stage.stacks[Pile("hand", seat)]
        assert unseen is not None
        free = range(len(hand) - below)
        chosen = next((i for i in free if unseen.known(hand[i].card) == card.name), None)
        if chosen is None:
            unknown = (i for i in free if unseen.known(hand[i].card) is None)
            chosen = next((i for i in unknown if unseen.show(hand[i].card, card.name)), None)
        if chosen is None:
            raise BadInput.of("card", f"one that seat {seat} may hold", card.name)
        hand.insert(len(hand) - 1 - below, hand.pop(chosen))

    def _exposes(self, event: Shown, seat: Seat, wish_s: float) -> float | None:
        """The draw pile's top card is turned up; at a cut the one under the packet that is lifted off first."""
        stage, duty = self.stage, self.film.match.state.duty
        height = len(stage.stacks[DRAW])
        packet = height // 2 if duty is not None and duty.what == "cut" else 0
        self._some(DRAW)
        lifted_s = 0.0
        if packet:
            lifted_s = self._carry(seat, DRAW, PACKET, wish_s - 0.6, count=packet, right=False, away=False)[1]
        self._see(DRAW, event.card)
        laid_s = self._carry(seat, DRAW, DISCARD, max(wish_s, lifted_s), over=True)[1]
        self._told(event, laid_s)
        if packet:
            stage.carry(seat, PACKET, DRAW, laid_s, count=None, right=False)
        return None

    def _flips(self, event: Turned, wish_s: float) -> float | None:
        """Both piles turned over, at the first of the two events; the second one follows from that."""
        if self._flipped_s is not None:
            happened_s, self._flipped_s = self._flipped_s, None
            if event.card is not None and event.target == DISCARD:
                self._see(DISCARD, event.card)
            return max(happened_s, wish_s)
        seat, other = self._whose(event), event.target
        self._some(event.source)
        self._some(other)
        first_s = self._carry(seat, other, PACKET, wish_s - 0.7, count=None, over=True, right=False)[1]
        turned_s = self._carry(seat, event.source, other, max(wish_s, first_s), count=None, over=True)[1]
        if event.card is not None and other == DISCARD:
            self._see(DISCARD, event.card)
        self._flipped_s = self.stage.carry(seat, PACKET, event.source, turned_s, count=None, right=False)[1]
        return turned_s
