"""The referee's values in a reader's language: rulings, effects, cards and places, from message catalogues."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import Any

from referee.bad_input import BadInput
from referee.cards import Card, Pile
from referee.game import Board, OptionValue
from referee.ruling import EFFECTS, Effect, NextTurn, PutTogether, Ruling, Verdict

DEFAULT_LANGUAGE = "en"
_FIELD = re.compile(r"\{([a-z_]+)(?::([^{}]*))?\}")
_EFFECT_NAMES = {kind: name for name, kind in EFFECTS.items()}
#: Details of a ruling whose value is a seat's number.
_SEATS = frozenset({
    "seat", "to", "turn", "next", "first", "last", "winner", "loser", "by", "owner", "giver", "receiver", "player",
    "dealer", "other", "seats", "winners", "among", "missing", "starter", "caller", "offender", "turner", "expected",
    "players",
})  # fmt: skip
#: Details whose value is a pile's notation.
_PILES = frozenset({"pile", "piles", "source", "target", "from", "onto", "place_pile"})
_SUIT_SIGNS = {"c": "♣", "d": "♦", "h": "♥", "s": "♠"}


@dataclass(frozen=True, slots=True)
class Words:
    """One language's messages: what all games share, and each game's own, a table per clause.

    A message may hold ``{name}`` for a detail and ``{count:card|cards}`` for a word that follows a number.
    """

    language: str
    common: Mapping[str, Any]
    games: Mapping[str, Mapping[str, Any]]

    # --- a game's own ---------------------------------------------------------------------------------

    def game(self, name: str) -> str:
        """What a game is called."""
        return str(_at(self.common, "games", name) or name.replace("-", " ").capitalize())

    def title(self, game: str, clause: str) -> str:
        """What a clause is about, in a few words; empty where the catalogue doesn't say."""
        return str(_at(self.games, game, clause, "title") or "")

    def has(self, game: str, clause: str, what: str) -> bool:
        """Whether the catalogue has words for this case of a clause."""
        return self._message(game, clause, what) is not None

    def ruling(self, game: str, ruling: Ruling, players: Sequence[str]) -> str:
        """A ruling as a sentence; a case without a message is told by its own name."""
        message = self._message(game, ruling.clause, ruling.what)
        if message is None:
            message = ("{seat}: " if ruling.seat is not None else "") + ruling.what.replace("_", " ")
        details: dict[str, object] = {**dict(ruling.about), "seat": ruling.seat}
        return _sentence(self.fill(message, details, players))

    def _message(self, game: str, clause: str, what: str) -> str | None:
        """The clause's own message, or the one that all clauses of the game, or of all games, share."""
        shared = ((self.games, game, clause), (self.games, game, "any"), (self.common, "any"))
        found = (_at(table, *path, what) for table, *path in shared)
        return next((message for message in found if isinstance(message, str)), None)

    def choice(self, game: str, question: str, choice: str, players: Sequence[str]) -> str:
        """What a button says that answers a question; a seat's number is told as the player's name."""
        own = _at(self.games, game, "choices", choice)
        shared = _at(self.common, "choices", choice)
        if isinstance(own, str) or isinstance(shared, str):
            return str(own if isinstance(own, str) else shared)
        if choice.isdecimal() and int(choice) < len(players):
            return players[int(choice)]
        card = _card(choice)
        return self.card(card) if card is not None else choice.replace("_", " ")

    def question(self, game: str, key: str, clause: str, players: Sequence[str]) -> str:
        """A standing question in words: the part of its key before a colon names it."""
        name = key.split(":")[0]
        message = _at(self.games, game, "questions", name) or _at(self.common, "questions", name)
        if isinstance(message, str):
            rest = key.split(":")[1:]
            seat = int(rest[0]) if rest and rest[0].isdecimal() else None
            return _sentence(self.fill(message, {"seat": seat}, players))
        return self.title(game, clause) or name.replace("_", " ")

    def verbs(self, game: str) -> tuple[Mapping[str, Any], ...]:
        """How a person types what happened in this game, then what can be typed in every game."""
        return (*(_at(self.games, game, "verbs") or ()), *(_at(self.common, "verbs") or ()))

    def option(self, game: str, name: str) -> str:
        """A house rule in a few words."""
        return str(_at(self.games, game, "options", name) or _at(self.common, "options", name) or name)

    # --- what all games share ---------------------------------------------------------------------------

    def say(self, *path: str, **details: object) -> str:
        """A message that belongs to no game, by its place in the catalogue."""
        message = _at(self.common, *path)
        if not isinstance(message, str):
            raise KeyError(f"{self.language}.toml: expected a message {'.'.join(path)}, got {message!r}")
        players = details.pop("players", ())
        return self.fill(message, details, tuple(players) if isinstance(players, Iterable) else ())

    def effects(self, ruling: Ruling, players: Sequence[str]) -> tuple[str, ...]:
        """What a ruling does at the table, a sentence each; whose turn is next is told last."""
        ordered = sorted(ruling.effects, key=lambda effect: isinstance(effect, NextTurn))
        return tuple(self.effect(effect, players) for effect in ordered)

    def effect(self, effect: Effect, players: Sequence[str]) -> str:
        """One effect as a sentence."""
        details: dict[str, object] = {item.name: getattr(effect, item.name) for item in fields(effect)}
        name = _EFFECT_NAMES[type(effect)]
        if isinstance(effect, PutTogether) and len(effect.piles) == 1:
            name = "put_onto"
        message = str(_at(self.common, "effects", name))
        return _sentence(self.fill(message, details, players))

    def card(self, card: Card | None) -> str:
        """``7♥``, or the deck's own name of the card; words for one that couldn't be read."""
        if card is None:
            return str(_at(self.common, "cards", "unread"))
        if card.rank and card.suit:
            return card.rank + _SUIT_SIGNS[card.suit]
        return str(_at(self.common, "cards", card.name) or card.name)

    def pile(self, pile: Pile, players: Sequence[str]) -> str:
        """A place in words: ``Ana’s face-up pile``."""
        message = _at(self.common, "piles", pile.kind)
        if not isinstance(message, str):
            return str(pile)
        return self.fill(message, {"seat": pile.seat, "place": pile.place}, players)

    def sureness_of(self, ruling: Ruling) -> str:
        """How sure a ruling is; of one too close to call, how likely the likeliest was."""
        if ruling.verdict == Verdict.TOO_CLOSE:
            likeliest = dict(ruling.about).get("p_first") or dict(ruling.about).get("p_last")
            return self.say("sureness", "likeliest", percent=f"{float(likeliest) * 100:.1f}") if likeliest else ""
        return "" if ruling.verdict == Verdict.ASK else self.sureness(ruling.probability)

    def sureness(self, probability: float) -> str:
        """``99.8 %``; certainty has no figure, and nothing short of it is rounded up to it."""
        if probability >= 1:
            return ""
        decimals = 1 if probability < 0.999 else 2
        shown = min(round(probability * 100, decimals), 99.99)
        return self.say("sureness", "percent", percent=f"{shown:.{decimals}f}")

    def standing(self, board: Board, players: Sequence[str]) -> str:
        """Who has won, or whose turn it is."""
        if board.over:
            winners = self.and_(_name(seat, players) for seat in board.winners)
            return (
                self.say("board", "won" if len(board.winners) == 1 else "shared", winners=winners)
                if winners
                else (self.say("board", "over"))
            )
        if board.turn is None:
            return self.say("board", "nobodys_turn")
        return self.say("board", "turn", seat=board.turn, players=players)

    def value(self, value: OptionValue) -> str:
        """An option's value as it is written in a file of house rules."""
        return str(value).lower() if isinstance(value, bool) else str(value)

    def and_(self, items: Iterable[str]) -> str:
        """``Ana, Ben and Cleo``."""
        told = list(items)
        if len(told) < 2:
            return "".join(told)
        return ", ".join(told[:-1]) + f" {self.say('lists', 'and')} " + told[-1]

    def fill(self, message: str, details: Mapping[str, object], players: Sequence[str]) -> str:
        """Put details into a message; nothing in a detail is ever read as a message itself."""

        def put(match: re.Match[str]) -> str:
            name, form = match.groups()
            value = details.get(name)
            if form is not None and "|" in form:
                one, many = form.split("|", 1)
                return f"{value} {one if str(value) == '1' else many}"
            return self._detail(name, value, players)

        return _FIELD.sub(put, message)

    def _detail(self, name: str, value: object, players: Sequence[str]) -> str:
        match value:
            case None:
                key = "seat" if name in _SEATS else "card" if "card" in name else "nothing"
                return str(_at(self.common, "unknown", key) or "?")
            case Card():
                return self.card(value)
            case Pile():
                return self.pile(value, players)
            case tuple():
                return self.and_(self._detail(name, item, players) for item in value)
            case int() if name in _SEATS:
                return _name(value, players)
            case str():
                return self._notation(name, value, players)
            case _:
                return str(value)

    def _notation(self, name: str, text: str, players: Sequence[str]) -> str:
        """A detail that came as notation: seats, piles or cards, one or several."""
        parts = [part for part in re.split(r"[,;]\s*", text) if part]
        if name in _SEATS and parts and all(part.isdecimal() for part in parts):
            return self.and_(_name(int(part), players) for part in parts)
        if name in _PILES and parts and all(re.fullmatch(r"[a-z]{1,12}(:\d{1,2}){0,2}", part) for part in parts):
            return self.and_(self.pile(Pile.parse(part), players) for part in parts)
        cards = [_card(part) for part in parts]
        if parts and all(card is not None and (card.rank or "card" in name) for card in cards):
            return self.and_(self.card(card) for card in cards)
        return text


def languages() -> tuple[str, ...]:
    """The languages there are words in, by their files' names."""
    folder = resources.files("web") / "words"
    return tuple(sorted(entry.name[:2] for entry in folder.iterdir() if re.fullmatch(r"[a-z]{2}\.toml", entry.name)))


@cache
def words(language: str = DEFAULT_LANGUAGE) -> Words:
    """A language's catalogue; what it lacks is taken from the default language's."""
    if language not in languages():
        raise BadInput.of("language", " or ".join(languages()), repr(language)[:20])
    folder = resources.files("web") / "words"
    common = tomllib.loads((folder / f"{language}.toml").read_text(encoding="utf-8"))
    games = {
        entry.name.removesuffix(".toml")[len(language) + 1 :].replace("_", "-"): tomllib.loads(
            entry.read_text(encoding="utf-8")
        )
        for entry in folder.iterdir()
        if entry.name.startswith(f"{language}_") and entry.name.endswith(".toml")
    }
    if language == DEFAULT_LANGUAGE:
        return Words(language, common, games)
    fallback = words(DEFAULT_LANGUAGE)
    return Words(language, _over(common, fallback.common), _over(games, fallback.games))


def best_language(accept: Iterable[str]) -> str:
    """The first of a reader's languages that there are words in."""
    known = languages()
    return next((tag[:2].lower() for tag in accept if tag[:2].lower() in known), DEFAULT_LANGUAGE)


def _at(table: Mapping[str, Any], *path: str) -> Any:
    here: Any = table
    for step in path:
        if not isinstance(here, Mapping) or step not in here:
            return None
        here = here[step]
    return here


def _over(own: Mapping[str, Any], under: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for key, value in own.items():
        below = under.get(key)
        merged[key] = _over(value, below) if isinstance(value, Mapping) and isinstance(below, Mapping) else value
    return merged


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _name(seat: int, players: Sequence[str]) -> str:
    return players[seat] if 0 <= seat < len(players) else f"seat {seat}"


def _card(text: str) -> Card | None:
    try:
        return Card.parse(text)
    except BadInput:
        return None
