"""What a person types, with times: typing tells in which order things happened, not when."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from referee.bad_input import BadInput
from referee.events import Event, Shout, Shown, Slap, Tick
from referee.instant import Instant
from web.notation import Notation

_MS = 1_000_000
#: Turns are two seconds apart, so that no window of the rules runs out while somebody types; hands and
#: shouts follow one another at a tenth of that; waiting is longer than any time that the rules give.
_APART_NS = 2000 * _MS
_QUICK_NS = 200 * _MS
_WAIT_NS = 10_000 * _MS
#: `312ms` or `312±4ms` at a line's end: that long after the newest card. (Not seconds: `7s` is a card.)
_AFTER_CARD = re.compile(r"\s+\+?(\d+(?:\.\d+)?)(?:\s?(?:±|\+-)\s?(\d+(?:\.\d+)?))?\s?ms$")


def typed_events(text: str, notation: Notation, log: Sequence[Event]) -> Iterator[Event]:
    """A line's events, after everything in the log; ``slap ana, ben`` is two, ``slap ana = ben`` two at once."""
    # What was undone counts too: it may be redone, and then still lies before what was told after it.
    newest = max((event.at.at_ns for event in log), default=-_APART_NS)
    text, given = _timed(text, log, None)
    at = given or Instant(newest)
    for part, same in _parted(text):
        event = notation.parse(part, at_ns=0)
        if given is None and not same:
            at = at.shifted(_step_ns(event))
        yield replace(event, at=at)


def typed_event(text: str, notation: Notation, log: Sequence[Event], at: Instant) -> Event:
    """One event that takes another's time, unless a time is typed: then counted from the card before."""
    text, given = _timed(text, log, at.at_ns)
    return replace(notation.parse(text, at_ns=0), at=given or at)


def _step_ns(event: Event) -> int:
    match event:
        case Slap() | Shout():
            return _QUICK_NS
        case Tick():
            return _WAIT_NS
        case _:
            return _APART_NS


def _timed(text: str, log: Sequence[Event], until_ns: int | None) -> tuple[str, Instant | None]:
    """The line without its time, and that time counted from the newest card."""
    given = _AFTER_CARD.search(text)
    if given is None:
        return text, None
    cards = (e for e in reversed(log) if isinstance(e, Shown) and (until_ns is None or e.at.at_ns <= until_ns))
    card = next(cards, None)
    if card is None:
        raise BadInput("expected a card before a time that counts from the newest card, got none yet")
    at_ns = card.at.at_ns + round(float(given[1]) * _MS)
    return text[: given.start()], Instant(at_ns, round(float(given[2] or 0) * _MS))


def _parted(text: str) -> Iterator[tuple[str, bool]]:
    """``slap ana, ben = cleo`` as three lines, each with whether it is at the same moment as the one before."""
    head = re.fullmatch(r"(slaps?)\s+(.+)", text.strip(), re.IGNORECASE)
    if head is None:
        yield text, False
        return
    same = False
    for piece in re.split(r"\s*([,=])\s*", head[2]):
        if piece in (",", "="):
            same = piece == "="
        elif piece:
            yield f"{head[1]} {piece}", same
