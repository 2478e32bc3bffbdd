"""Recordings: events and rulings as JSON lines that read back exactly as they were."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeAlias

from referee.bad_input import BadInput
from referee.cards import Card, Pile
from referee.events import CORRECTIONS, KINDS, Answer, Event
from referee.game import OptionValue
from referee.instant import Instant
from referee.ruling import EFFECTS, Effect, Ruling, Verdict

#: A line of a recording is short; a longer one is no recording of ours, and is not read into memory's limits.
LONGEST_LINE = 65_536
_LONGEST_TEXT = 400
_EVENT_NAMES = {kind: name for name, kind in KINDS.items()}
_EFFECT_NAMES = {kind: name for name, kind in EFFECTS.items()}


@dataclass(frozen=True, slots=True)
class Header:
    """A recording's first line: which game, who plays, under which house rules."""

    game: str
    players: tuple[str, ...]
    dealer: int = 0
    deck: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Note:
    """A line for people; the referee passes over it."""

    text: str


Line: TypeAlias = Header | Event | Ruling | Note


def dump(line: Line) -> str:
    """One line of a recording, without its line break."""
    return json.dumps(to_json(line), ensure_ascii=False, separators=(", ", ": "))


def load(text: str) -> Line | None:
    """Read one line back; None for kinds that are not the referee's (``verdict``, ``photo``…)."""
    if len(text) > LONGEST_LINE:
        raise BadInput.of("line", f"at most {LONGEST_LINE} characters", len(text))
    try:
        raw = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise BadInput.of("line", "one JSON object", repr(text[:40])) from error
    return from_json(raw)


def read(lines: Iterable[str]) -> Iterator[Line]:
    """Read a recording line by line; a bad line is refused with its number, and so is time that runs backward."""
    latest = None
    for number, text in enumerate(lines, 1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        try:
            line = load(text)
            if isinstance(line, _ORDERED):
                if latest is not None and line.at.at_ns < latest:
                    raise BadInput.of("at_ns", f"{latest} or later, since events are in order of time", line.at.at_ns)
                latest = line.at.at_ns
        except BadInput as bad:
            raise BadInput(f"line {number}: {bad}") from bad
        if line is not None:
            yield line


#: What a person says may come at any time; what happened comes in its order.
_ORDERED = tuple(kind for kind in KINDS.values() if kind not in (*CORRECTIONS, Answer))


def to_json(line: Line) -> dict[str, Any]:
    """A line as the JSON object that stands for it."""
    if isinstance(line, Note):
        return {"kind": "note", "text": line.text}
    if isinstance(line, Header):
        return {
            "kind": "recording",
            "game": line.game,
            "players": list(line.players),
            "dealer": line.dealer,
            "deck": line.deck,
            "options": dict(line.options),
        }
    if isinstance(line, Ruling):
        return _ruling_to_json(line)
    return {"kind": "event", **_event_to_json(line)}


def from_json(raw: object) -> Line | None:
    """The line that a JSON object stands for; says what was expected where it can't be."""
    if not isinstance(raw, dict):
        raise BadInput.of("line", "a JSON object", repr(raw)[:60])
    match raw.get("kind"):
        case "event":
            return _event_from_json({key: value for key, value in raw.items() if key != "kind"})
        case "ruling":
            return _ruling_from_json(raw)
        case "recording":
            return _header_from_json(raw)
        case "note":
            return Note(_text(raw.get("text", "")))
        case "verdict" | "photo" | "frame" | "truth":
            return None
        case other:
            raise BadInput.of("kind", "event, ruling, recording or note", repr(other)[:60])


# --- values ------------------------------------------------------------------------------------------


def _encode(value: Any) -> Any:
    match value:
        case Card() | Pile():
            return str(value)
        case tuple():
            return [_encode(item) for item in value]
        case _ if type(value) in _EVENT_NAMES:
            return _event_to_json(value)
        case _:
            return value


def _int(raw: object) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int) or abs(raw) > 2**62:
        raise BadInput("expected a whole number, got " + repr(raw)[:60])
    return raw


def _share(raw: object) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not 0 <= raw <= 1:
        raise BadInput("expected a number from 0 to 1, got " + repr(raw)[:60])
    return float(raw)


def _text(raw: object) -> str:
    if not isinstance(raw, str) or len(raw) > _LONGEST_TEXT:
        got = f"{len(raw)} characters" if isinstance(raw, str) else repr(raw)[:60]
        raise BadInput(f"expected a text of at most {_LONGEST_TEXT} characters, got {got}")
    return raw


def _bool(raw: object) -> bool:
    if not isinstance(raw, bool):
        raise BadInput("expected true or false, got " + repr(raw)[:60])
    return raw


def _list(raw: object) -> list[Any]:
    if not isinstance(raw, list) or len(raw) > 1000:
        raise BadInput("expected a list, got " + repr(raw)[:60])
    return raw


def _seat(raw: object) -> int:
    seat = _int(raw)
    if not 0 <= seat < 12:
        raise BadInput(f"expected a seat from 0 to 11, got {seat}")
    return seat


def _optional(decode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda raw: None if raw is None else decode(raw)


def _cards(raw: object) -> tuple[Card, ...]:
    return tuple(Card.parse(item) for item in _list(raw))


def _orders(raw: object) -> tuple[tuple[tuple[int, ...], float], ...]:
    orders = []
    for row in _list(raw):
        if len(_list(row)) != 2:
            raise BadInput("expected [[seats, first to last], probability], got " + repr(row)[:60])
        orders.append((tuple(_seat(seat) for seat in _list(row[0])), _share(row[1])))
    return tuple(orders)


def _nested(raw: object) -> Event:
    if not isinstance(raw, dict):
        raise BadInput("expected an event, got " + repr(raw)[:60])
    return _event_from_json(raw)


_DECODE: dict[str, Callable[[Any], Any]] = {
    "seat": _optional(_seat), "confidence": _share, "provisional": _bool, "evidence": _optional(_text), "id": _int,
    "card": _optional(Card.parse), "pile": Pile.parse, "source": _optional(Pile.parse), "target": Pile.parse,
    "or_cards": _cards, "cards": _cards, "count": _optional(_int), "layer": _optional(_int), "orders": _orders,
    "phrase": _text, "name": _text, "points": _int, "reason": _text, "question": _text, "says": _text,
    "of": _int, "after": _int, "becomes": _optional(_nested), "happened": _nested,
}  # fmt: skip

#: What rides on every event stands in every line, also where it is the default.
_ALWAYS = ("seat", "confidence", "provisional")


def _event_to_json(event: Event) -> dict[str, Any]:
    raw: dict[str, Any] = {
        "id": event.id,
        "event": _EVENT_NAMES[type(event)],
        "at_ns": event.at.at_ns,
        "sd_ns": event.at.sd_ns,
    }
    for item in fields(event):
        if item.name in ("at", "id"):
            continue
        value = getattr(event, item.name)
        if item.name in _ALWAYS or value != item.default:
            raw[item.name] = _encode(value)
    return raw


def _event_from_json(raw: Mapping[str, Any]) -> Event:
    name = raw.get("event")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise BadInput.of("event", "one of " + ", ".join(KINDS), repr(name)[:60])
    known = {item.name: item for item in fields(kind) if item.name != "at"}
    unknown = set(raw) - set(known) - {"event", "at_ns", "sd_ns"}
    if unknown:
        raise BadInput.of(f"{name}", f"the fields {', '.join(known)}", ", ".join(sorted(map(str, unknown)))[:60])
    values: dict[str, Any] = {}
    for key, item in known.items():
        if key not in raw:
            if item.default is MISSING:
                raise BadInput.of(f"{name}", f"the field {key}", "none")
            continue
        try:
            values[key] = _DECODE[key](raw[key])
        except BadInput as bad:
            raise BadInput(f"{name}.{key}: {bad}") from bad
    try:
        at_ns, sd_ns = _int(raw.get("at_ns")), _int(raw.get("sd_ns", 0))
        if sd_ns < 0:
            raise BadInput(f"expected an sd_ns of 0 or more, got {sd_ns}")
    except BadInput as bad:
        raise BadInput(f"{name}.at_ns: {bad}") from bad
    return kind(at=Instant(at_ns, sd_ns), **values)


def _ruling_to_json(ruling: Ruling) -> dict[str, Any]:
    raw: dict[str, Any] = {
        "kind": "ruling",
        "id": ruling.id,
        "clause": ruling.clause,
        "verdict": ruling.verdict.value,
        "what": ruling.what,
        "seat": ruling.seat,
        "effects": [_effect_to_json(effect) for effect in ruling.effects],
        "probability": ruling.probability,
        "because": list(ruling.because),
    }
    if ruling.question is not None:
        raw["question"] = ruling.question
        raw["choices"] = list(ruling.choices)
    if ruling.about:
        raw["about"] = dict(ruling.about)
    return raw


def _effect_to_json(effect: Effect) -> dict[str, Any]:
    values = {item.name: _encode(getattr(effect, item.name)) for item in fields(effect)}
    return {"effect": _EFFECT_NAMES[type(effect)], **values}


_EFFECT_DECODE: dict[str, Callable[[Any], Any]] = {
    "seat": _seat, "to": _seat, "count": _int, "points": _int, "target": Pile.parse,
    "piles": lambda raw: tuple(Pile.parse(item) for item in _list(raw)), "card": _optional(Card.parse),
}  # fmt: skip


def _effect_from_json(raw: object) -> Effect:
    kind = EFFECTS.get(str(raw.get("effect"))) if isinstance(raw, dict) else None
    if kind is None or not isinstance(raw, dict):
        raise BadInput.of("effect", "one of " + ", ".join(EFFECTS), repr(raw)[:60])
    names = [item.name for item in fields(kind)]
    missing = [name for name in names if name not in raw]
    if missing:
        raise BadInput.of(f"effect {raw['effect']}", f"the fields {', '.join(names)}", f"no {', '.join(missing)}")
    return kind(**{name: _EFFECT_DECODE[name](raw[name]) for name in names})


def _ruling_from_json(raw: Mapping[str, Any]) -> Ruling:
    try:
        verdict = Verdict(str(raw.get("verdict")))
    except ValueError:
        raise BadInput.of("verdict", " or ".join(Verdict), repr(raw.get("verdict"))[:60]) from None
    about = raw.get("about", {})
    if not isinstance(about, dict):
        raise BadInput.of("about", "an object", repr(about)[:60])
    return Ruling(
        clause=_text(raw.get("clause")),
        verdict=verdict,
        what=_text(raw.get("what")),
        seat=_optional(_seat)(raw.get("seat")),
        effects=tuple(_effect_from_json(effect) for effect in _list(raw.get("effects", []))),
        probability=_share(raw.get("probability", 1.0)),
        because=tuple(_int(event) for event in _list(raw.get("because", []))),
        question=_optional(_text)(raw.get("question")),
        choices=tuple(_text(choice) for choice in _list(raw.get("choices", []))),
        about=tuple((_text(key), _text(value)) for key, value in about.items()),
        id=_int(raw.get("id", 0)),
    )


def _header_from_json(raw: Mapping[str, Any]) -> Header:
    options = raw.get("options", {})
    if not isinstance(options, dict):
        raise BadInput.of("options", "an object", repr(options)[:60])
    return Header(
        game=_text(raw.get("game")),
        players=tuple(_text(name) for name in _list(raw.get("players"))),
        dealer=_seat(raw.get("dealer", 0)),
        deck=_text(raw.get("deck", "")),
        options=options,
    )
