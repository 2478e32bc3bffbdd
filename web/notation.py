"""What a person types for what happened (``ben turns 7h``), read and written by each game's own verbs.

The verbs are data, in the message catalogues: forms to type, and the event that they stand for. Every
form reads back what it writes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from referee.bad_input import BadInput
from referee.cards import Card, Deck
from referee.events import Event
from referee.recording import from_json, to_json

_PLACEHOLDER = re.compile(r"\{([a-z]+)\}")
_PATTERNS = {
    "count": r"\d{1,3}",
    "place": r"\d{1,2}",
    "points": r"[+-]?\d{1,4}",
    "pile": r"[a-z]{1,12}(?::\d{1,2}){0,2}",
    "target": r"[a-z]{1,12}(?::\d{1,2}){0,2}",
}
_SEATS = ("seat", "other")
_NUMBERS = (*_SEATS, "count", "place", "points")
#: Stands for a card that can't be read.
_UNREAD = "?"
#: Details that most verbs leave out.
_DETAILS = frozenset({"source", "or_cards"})
_SHOWN = {"seat": "NAME", "other": "NAME", "cards": "CARD, CARD"}
#: What rides on an event without being what happened.
_RIDES = frozenset({"kind", "id", "event", "at_ns", "sd_ns", "confidence", "provisional", "evidence", "layer"})


@dataclass(frozen=True, slots=True)
class Verb:
    """Forms to type and the event that they stand for; ``{seat}``, ``{card}``… stand for what is typed there."""

    forms: tuple[str, ...]
    help: str
    event: str
    values: Mapping[str, Any]

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Verb:
        """A verb from its table in a catalogue."""
        say = table["say"]
        forms = (say,) if isinstance(say, str) else tuple(say)
        values = {key: value for key, value in table.items() if key not in ("say", "help", "event")}
        return cls(forms, str(table.get("help", "")), str(table["event"]), values)


@dataclass(frozen=True, slots=True)
class Notation:
    """One match's notation: a game's verbs, the players' names and the deck's cards."""

    verbs: tuple[Verb, ...]
    players: tuple[str, ...]
    deck: Deck

    @classmethod
    def of(cls, verbs: Iterable[Mapping[str, Any]], players: Sequence[str], deck: Deck) -> Notation:
        """The notation for these players; ``verbs`` as the catalogue has them."""
        return cls(tuple(Verb.of(table) for table in verbs), tuple(players), deck)

    def parse(self, text: str, *, at_ns: int, sd_ns: int = 0) -> Event:
        """The event that a line stands for; says what could have been meant where it stands for none."""
        line = " ".join(text.split())
        for verb, form in self._forms():
            found = re.fullmatch(self._pattern(form), line, re.IGNORECASE)
            if found is not None:
                values = {name: self._value(name, said) for name, said in found.groupdict().items()}
                return self._event(verb, values, at_ns, sd_ns)
        raise BadInput(self._nearest(line))

    def print(self, event: Event) -> str | None:
        """The line that tells this event; None where no verb does.

        It reads back as the same event, but for where a card came from and what else it may be, where a verb
        doesn't tell that.
        """
        told = to_json(event)
        raw = {key: value for key, value in told.items() if key not in _RIDES and value is not None}
        if told.get("card", "") is None:
            raw["card"] = _UNREAD
        bare = {key: value for key, value in raw.items() if key not in _DETAILS}
        for values in (raw, bare):
            for verb in self.verbs:
                bound = _unified(verb.values, values) if verb.event == told["event"] else None
                for form in verb.forms if bound is not None else ():
                    if set(bound or ()) == set(_PLACEHOLDER.findall(form)):
                        return self._written(form, bound or {})
        return None

    def complete(self, line: str) -> list[str]:
        """What the last word of the line may become; the line may end in a space."""
        *before, last = line.split(" ")
        options: set[str] = set()
        for _, form in self._forms():
            options.update(self._next_words(form, [word for word in before if word]))
        return sorted(word for word in options if word.casefold().startswith(last.casefold()))

    def seat(self, text: str) -> int:
        """The player of that name; the beginning of a name is enough where only one begins so."""
        found = self._found(text.strip().casefold())
        if found is None:
            raise BadInput.of("player", " or ".join(self.players), repr(text)[:60])
        return found

    # --- reading --------------------------------------------------------------------------------------

    def _forms(self) -> Iterator[tuple[Verb, str]]:
        return ((verb, form) for verb in self.verbs for form in verb.forms)

    def _pattern(self, form: str, *, anything: bool = False) -> str:
        """What fits a form; ``anything``: with whatever in place of names and cards."""
        parts = []
        end = 0
        for match in _PLACEHOLDER.finditer(form):
            parts.append(re.escape(form[end : match.start()]))
            name = match[1]
            parts.append(f"(?P<{name}>{self._slot(name, anything=anything)})")
            end = match.end()
        parts.append(re.escape(form[end:]))
        return "".join(parts)

    def _slot(self, name: str, *, anything: bool) -> str:
        if name in _SEATS:
            return r"\S+" if anything else self._who()
        if name in ("card", "cards"):
            card = ".+?" if anything else "|".join(re.escape(str(card)) for card in self.deck.counts) + r"|\?"
            return card if name == "card" else rf"(?:{card})(?:\s*,\s*(?:{card}))*"
        return _PATTERNS.get(name, ".+?")

    def _who(self) -> str:
        """Every name and every beginning of one that no other name has, the longest first."""
        starts = {name[:length].casefold() for name in self.players for length in range(1, len(name) + 1)}
        known = [start for start in starts if self._found(start) is not None]
        return "|".join(re.escape(start) for start in sorted(known, key=lambda start: (-len(start), start)))

    def _found(self, folded: str) -> int | None:
        names = [name.casefold() for name in self.players]
        begins = [seat for seat, name in enumerate(names) if folded and name.startswith(folded)]
        if folded in names:
            return names.index(folded)
        return begins[0] if len(begins) == 1 else None

    def _value(self, name: str, said: str) -> Any:
        match name:
            case "seat" | "other":
                return self.seat(said)
            case "count" | "place" | "points":
                return int(said)
            case "card":
                return said if said == _UNREAD else str(self.card(said))
            case "cards":
                return [str(self.card(part)) for part in re.split(r"\s*,\s*", said) if part]
            case "pile" | "target":
                return said.lower()
            case _:
                return said.strip()

    def card(self, text: str) -> Card:
        """A card of the deck that is played with."""
        card = Card.parse(text.removeprefix("the "))
        if card not in self.deck.counts:
            near = difflib.get_close_matches(str(card), [str(known) for known in self.deck.counts], n=3, cutoff=0.4)
            raise BadInput.of(
                "card", "one of the deck’s" + (f", like {', '.join(near)}" if near else ""), repr(text)[:60]
            )
        return card

    def _event(self, verb: Verb, values: Mapping[str, Any], at_ns: int, sd_ns: int) -> Event:
        raw: dict[str, Any] = {"kind": "event", "event": verb.event, "at_ns": at_ns, "sd_ns": sd_ns}
        if "seat" in values:
            raw["seat"] = values["seat"]
        for key, template in verb.values.items():
            filled = _filled(template, values)
            if filled is not None:
                raw[key] = None if filled == _UNREAD else filled
        event = from_json(raw)
        if event is None or not hasattr(event, "at"):
            raise BadInput.of("verb", "one that stands for an event", verb.event)
        return event  # type: ignore[return-value]  # from_json gives an Event for this kind

    def _nearest(self, line: str) -> str:
        """What is wrong with a line that fits no form: a name, a card, or the whole of it."""
        for _, form in self._forms():
            found = re.fullmatch(self._pattern(form, anything=True), line, re.IGNORECASE) if _literal(form) else None
            for name, said in found.groupdict().items() if found is not None else ():
                try:
                    self._value(name, said)
                except BadInput as bad:
                    return str(bad)
        words = set(line.casefold().split())
        forms = [form for _, form in self._forms()]
        near = [form for form in forms if _literal(form) & words][:3] or forms[:3]
        shown = " or ".join(f"`{readable(form)}`" for form in near)
        return f"expected something like {shown}, got {line[:60]!r}"

    # --- writing --------------------------------------------------------------------------------------

    def _written(self, form: str, bound: Mapping[str, Any]) -> str:
        return _PLACEHOLDER.sub(lambda match: self._said(match[1], bound), form)

    def _said(self, name: str, bound: Mapping[str, Any]) -> str:
        value = bound[name]
        if name in _SEATS:
            return self.players[value] if value < len(self.players) else f"seat {value}"
        return ", ".join(value) if isinstance(value, list) else str(value)

    # --- completing -----------------------------------------------------------------------------------

    def _next_words(self, form: str, before: list[str]) -> Iterable[str]:
        """The words that may follow ``before`` in a form; nothing where they don't fit."""
        slots = form.split()
        # Where one may be: at which slot, and which words of a name or a card of several words are said.
        reached: set[tuple[int, tuple[str, ...]]] = {(0, ())}
        for word in before:
            reached = {
                onward for at, inside in reached if at < len(slots) for onward in self._onward(slots, at, inside, word)
            }
        for at, inside in reached:
            if at < len(slots):
                yield from self._continued(slots[at], inside)

    def _onward(
        self, slots: list[str], at: int, inside: tuple[str, ...], word: str
    ) -> Iterator[tuple[int, tuple[str, ...]]]:
        slot = slots[at]
        if "{" not in slot:
            if slot.casefold() == word.casefold():
                yield at + 1, ()
            return
        said = (*inside, word.casefold())
        for known in self._known(slot):
            parts = tuple(known.casefold().split())
            if parts[: len(said)] == said:
                yield (at + 1, ()) if len(parts) == len(said) else (at, said)
        if not inside and _seat_slot(slot) and self._found(word.casefold()) is not None:
            yield at + 1, ()

    def _continued(self, slot: str, inside: tuple[str, ...]) -> Iterator[str]:
        if "{" not in slot:
            yield slot
        for known in self._known(slot):
            parts = known.split()
            if tuple(part.casefold() for part in parts[: len(inside)]) == inside and len(parts) > len(inside):
                yield parts[len(inside)]

    def _known(self, slot: str) -> Iterable[str]:
        if _seat_slot(slot):
            return self.players
        if "{card" in slot:
            return [str(card) for card in self.deck.counts]
        return [str(number) for number in range(1, 11)] if any(f"{{{n}}}" in slot for n in ("count", "place")) else ()


def _literal(form: str) -> set[str]:
    """The words of a form that stand there as they are typed."""
    return {word.casefold() for word in form.split() if "{" not in word}


def _seat_slot(slot: str) -> bool:
    return any(f"{{{name}}}" in slot for name in _SEATS)


def readable(form: str) -> str:
    """A form as help shows it: ``NAME turns CARD``."""
    return _PLACEHOLDER.sub(lambda match: _SHOWN.get(match[1], match[1].upper()), form)


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """A template with what was typed; None where it needs what was not typed."""
    if not isinstance(template, str):
        return template
    names = _PLACEHOLDER.findall(template)
    if any(name not in values for name in names):
        return None
    if len(names) == 1 and template == f"{{{names[0]}}}":
        return values[names[0]]
    return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), template)


def _unified(templates: Mapping[str, Any], raw: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the placeholders stand for so that the templates give exactly these values; None where they can't."""
    bound: dict[str, Any] = {}
    if "seat" in raw:
        bound["seat"] = raw["seat"]
    for key, template in templates.items():
        names = _PLACEHOLDER.findall(template) if isinstance(template, str) else []
        if key not in raw:
            if names:  # an optional value that was not typed
                continue
            return None
        value = raw[key]
        if not names:
            if value != template:
                return None
            continue
        if template == f"{{{names[0]}}}":
            found: Mapping[str, Any] = {names[0]: value}
        else:
            pattern = re.escape(template).replace(r"\{", "{").replace(r"\}", "}")
            match = re.fullmatch(_PLACEHOLDER.sub(lambda m: f"(?P<{m[1]}>.+?)", pattern), str(value))
            if match is None:
                return None
            found = {name: int(part) if name in _NUMBERS else part for name, part in match.groupdict().items()}
        for name, part in found.items():
            if bound.setdefault(name, part) != part:
                return None
    if set(raw) - set(templates) - {"seat"}:
        return None
    return bound
