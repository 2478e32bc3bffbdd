"""What a page shows of a match: the board, rulings and events as plain JSON values, in a reader's language."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from referee.cards import Card, Pile, Seat
from referee.events import CORRECTIONS, Answer, Event, Slap
from referee.game import Board, Question
from referee.match import Match
from referee.recording import to_json
from referee.ruling import Ruling, Verdict
from referee.statistics import evenings
from web.config import Chosen
from web.notation import Notation
from web.telling import cards_held, clock, events_of, reaction, when
from web.words import Words, words

#: Colours that a deck's card names begin with; the page paints them.
_COLOURS = frozenset({"red", "yellow", "green", "blue"})
_STANDARD_CARD = re.compile(r"\b(?:10|[2-9AJQK])[cdhs]\b")
#: How many rulings and events a page gets at once; older ones are in the log.
NEWEST = 60


@dataclass(frozen=True, slots=True, eq=False)
class Shower:
    """Shows one match in one language."""

    chosen: Chosen
    words: Words
    notation: Notation

    @classmethod
    def of(cls, chosen: Chosen, language: str) -> Shower:
        """Shows this match in that language."""
        catalogue = words(language)
        verbs = catalogue.verbs(chosen.game.name)
        return cls(chosen, catalogue, Notation.of(verbs, chosen.setup.players, chosen.setup.deck))

    @property
    def players(self) -> tuple[str, ...]:
        """Names by seat."""
        return self.notation.players

    def naming(self, match: Match[Any]) -> Shower:
        """The same with the names of those who play now: players may join between hands."""
        names = match.board.names or self.players
        return self if names == self.players else replace(self, notation=replace(self.notation, players=names))

    def state(self, match: Match[Any]) -> dict[str, Any]:
        """Everything that a page needs when it opens."""
        return {
            "board": self.board(match.board, match),
            "rulings": [self.ruling(ruling, match) for ruling in match.rulings[-NEWEST:]],
            "events": [self.event(event) for event in match.log[-NEWEST:]],
        }

    def board(self, board: Board, match: Match[Any]) -> dict[str, Any]:
        """Whose turn, scores, card counts, the cards on top, and what the referee asks."""
        asking = {ruling.question: ruling for ruling in match.rulings if ruling.verdict is Verdict.ASK}
        held = cards_held(board, len(self.players))
        piles = sorted(board.counts)
        return {
            "standing": self.words.standing(board, self.players),
            "hand": board.hand,
            "phase": board.phase,
            "over": board.over,
            "scored": any(board.scores),
            "players": [
                {
                    "name": name,
                    "score": _at(board.scores, seat, 0),
                    "score_text": self.words.say("board", "points", score=_at(board.scores, seat, 0)),
                    "cards": held[seat],
                    "cards_text": None if held[seat] is None else self.words.say("board", "cards", count=held[seat]),
                    "standing": _at(board.standing, seat, "in"),
                    "turn": board.turn == seat and not board.over,
                    "won": board.over and seat in board.winners,
                    "dealer": board.dealer == seat,
                    "piles": [self._pile(pile, board) for pile in piles if pile.seat == seat],
                }
                for seat, name in enumerate(self.players)
            ],
            "middle": [self._pile(pile, board) for pile in piles if pile.seat is None],
            "questions": [self._question(question, asking.get(question.key), match) for question in board.questions],
        }

    def _question(self, question: Question, asked: Ruling | None, match: Match[Any]) -> dict[str, Any]:
        """What the referee asks: in the words of the ruling that asks it, where that still stands."""
        game = self.chosen.game.name
        newest = match.log[-1] if match.log else None
        return {
            "key": question.key,
            "clause": question.clause,
            "text": self.words.question(game, question.key, question.clause, self.players)
            if asked is None
            else self.words.ruling(game, asked, self.players),
            "at": clock(when(asked, match, newest)) if asked is not None and newest is not None else "",
            "choices": self.choices(question.key, question.choices),
        }

    def ruling(self, ruling: Ruling, match: Match[Any]) -> dict[str, Any]:
        """A ruling in words, with its clause, how sure it is, what it rests on and what else may be decided."""
        game = self.chosen.game
        rests_on = list(events_of(ruling, match.course[-1000:]))
        newest = match.log[-1] if match.log else None
        return {
            "id": ruling.id,
            "clause": ruling.clause,
            "title": self.words.title(game.name, ruling.clause) or game.clauses.get(ruling.clause, ""),
            "verdict": ruling.verdict.value.replace(" ", "-"),
            "verdict_text": self.words.say("verdicts", ruling.verdict.value),
            "text": self.words.ruling(game.name, ruling, self.players),
            "seat": ruling.seat,
            "question": ruling.question or "",
            "effects": list(self.words.effects(ruling, self.players)),
            "sure": self.words.sureness_of(ruling),
            "probability": ruling.probability,
            "at": clock(when(ruling, match, newest)) if newest is not None else "",
            "because": [self.event(event) for event in rests_on],
            "hands": self._hands(rests_on),
            "choices": self.choices(ruling.question, ruling.choices) if ruling.question else [],
        }

    def figures(self, match: Match[Any]) -> list[dict[str, Any]]:
        """Each player's evening, a row a player."""
        return [
            {
                "name": self.players[evening.seat],
                "won": evening.wins,
                "faults": evening.faults,
                "races": evening.races,
                "first": evening.first,
                "last": evening.last,
                "reaction": "" if evening.median_reaction is None else reaction(evening.median_reaction),
            }
            for evening in evenings(len(self.players), match.course, match.rulings)
        ]

    def choices(self, question: str | None, choices: Sequence[str]) -> list[dict[str, str]]:
        """What may be said to a question, each with the words for its button."""
        told = (
            (choice, self.words.choice(self.chosen.game.name, question or "", choice, self.players))
            for choice in choices
        )
        return [{"says": choice, "text": text} for choice, text in told]

    def event(self, event: Event) -> dict[str, Any]:
        """An event as it would be typed, with its time and doubt."""
        correction = isinstance(event, (*CORRECTIONS, Answer))
        text = self._correction(event) if correction else self.notation.print(event) or self._plain(event)
        return {
            "id": event.id,
            "text": text,
            "shown": _STANDARD_CARD.sub(lambda match: self.words.card(Card.parse(match[0])), text),
            "at": clock(event.at.at_ns),
            "doubt_ms": round(event.at.sd_ns / 1e6, 1),
            "confidence": event.confidence,
            "provisional": event.provisional,
            "evidence": event.evidence,
            "slap": isinstance(event, Slap),
            "correction": correction,
        }

    def card(self, card: Card | None) -> dict[str, Any]:
        """A card for drawing: its words, and the colour that it is printed in."""
        if card is None:
            return {"text": "?", "colour": "unread"}
        if card.suit:
            return {"text": self.words.card(card), "colour": "red" if card.suit in "dh" else "black"}
        first, _, rest = card.name.partition(" ")
        if first in _COLOURS and rest:
            return {"text": rest, "colour": first}
        return {"text": self.words.card(card), "colour": "plain"}

    def _hands(self, events: Sequence[Event]) -> list[dict[str, Any]]:
        """The hands that a ruling compares, first to last, each with how long after the first it landed."""
        slaps = sorted((e for e in events if isinstance(e, Slap) and e.seat is not None), key=lambda e: e.at.at_ns)
        if len(slaps) < 2:
            return []
        first = slaps[0].at
        return [
            {
                "seat": slap.seat,
                "name": self._name(slap.seat),
                "after_ms": round((slap.at.at_ns - first.at_ns) / 1e6, 1),
                "doubt_ms": round(slap.at.sd_ns / 1e6, 1),
            }
            for slap in slaps
        ]

    def _pile(self, pile: Pile, board: Board) -> dict[str, Any]:
        count = board.counts[pile]
        shown = pile in board.tops and count > 0
        return {
            "pile": str(pile),
            "kind": pile.kind,
            "label": self.words.pile(pile, self.players),
            "count": count,
            "top": self.card(board.tops[pile]) if shown else None,
        }

    def _plain(self, event: Event) -> str:
        raw = to_json(event)
        rides = {"kind", "id", "event", "at_ns", "sd_ns", "seat", "confidence", "provisional", "evidence"}
        told = " ".join(f"{value}" for key, value in raw.items() if key not in rides and value is not None)
        return " ".join(part for part in (self._name(event.seat), raw["event"], told) if part)

    def _correction(self, event: Event) -> str:
        raw: Mapping[str, Any] = to_json(event)
        name = str(raw["event"])
        details = {key: raw.get(key) for key in ("of", "after", "says", "reason", "question")}
        inner = getattr(event, "becomes", None) or getattr(event, "happened", None)
        if inner is not None:
            details["happened"] = self.notation.print(inner) or self._plain(inner)
        if name in ("overrule", "answer"):
            key = str(details.get("question") or "")
            details["says"] = self.words.choice(self.chosen.game.name, key, str(details["says"]), self.players)
        if name == "amend" and inner is None:
            name = "amend_away"
        return self.words.say("corrections", name, **details)

    def _name(self, seat: Seat | None) -> str:
        return "" if seat is None or seat >= len(self.players) else self.players[seat]


def _at(items: Sequence[Any], index: int, otherwise: Any) -> Any:
    return items[index] if index < len(items) else otherwise


def parse_accept_language(header: str) -> list[str]:
    """A browser's languages, the most wanted first."""
    weighted = []
    for part in header[:400].split(","):
        tag, _, quality = part.strip().partition(";q=")
        if re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*", tag):
            weighted.append((-float(quality) if re.fullmatch(r"[01](\.\d{0,3})?", quality) else -1.0, tag))
    return [tag for _, tag in sorted(weighted, key=lambda pair: pair[0])]
