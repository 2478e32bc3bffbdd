"""One match that is being followed: told from one thread, watched from many."""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from referee.bad_input import BadInput
from referee.events import Answer, Event, Overrule
from referee.game import Board, Expectation
from referee.instant import Instant
from referee.match import Judgement, Match
from referee.recording import dump
from web.config import Chosen
from web.report import Watched

#: A page that was away for longer than so many updates gets everything anew.
_KEPT_UPDATES = 2_000

#: Some browsers show a picture only when the next one comes: the last one before a pause is sent twice.
_REPEAT_S = 0.2
#: A picture now and then where nothing changes finds out who has left.
_ALIVE_S = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """What one event led to, as pages are told it; ``number`` counts from 1."""

    number: int
    judgement: Judgement
    board: Board


class Log(Protocol):
    """Where a match's events are kept; what `append` has returned from is never lost."""

    def append(self, event: Event, match: Match[Any]) -> None:
        """Keep one event that the match has just taken."""
        ...

    def reaches(self, event: Event) -> bool:
        """Whether the match at hand reaches back to what the event is about."""
        ...

    def open(self, about: Event | None = None) -> Match[Any]:
        """The match as the log tells it, reaching back to what that event is about."""
        ...

    def lines(self) -> Iterator[str] | None:
        """The whole log as a recording; None where nothing is kept but the match at hand."""
        ...


class Unkept:
    """A log that keeps nothing: for a match that nobody wants again."""

    def append(self, event: Event, match: Match[Any]) -> None:
        """Do nothing."""

    def reaches(self, event: Event) -> bool:
        """Always: the match at hand is all there is."""
        return True

    def open(self, about: Event | None = None) -> Match[Any]:
        """There is no other than the match at hand."""
        raise LookupError("expected a log that is kept, got one that isn't")

    def lines(self) -> Iterator[str] | None:
        """None: the match at hand is all there is."""
        return None


class LiveMatch:
    """A match, the updates that led to where it is, and those who wait for the next one."""

    def __init__(self, chosen: Chosen, log: Log, *, match: Match[Any] | None = None, seeing: bool = False) -> None:
        """Follow a match; ``match`` where one is gone on with, its events already in the log.

        ``seeing``: a source of pictures tells what happens; else a person does.
        """
        self.chosen = chosen
        self.run = secrets.token_hex(4)
        """Names this run of the program: an update's number means nothing to another."""
        self._log = log
        self._match: Match[Any] = match if match is not None else Match(chosen.game, chosen.setup)
        self._updates: deque[Update] = deque(maxlen=_KEPT_UPDATES)
        self._number = 0
        self._changed = threading.Condition(threading.RLock())
        self._broken: str | None = None
        self._unkept: Judgement | None = None
        self._ended = False
        self._seeing = seeing
        self.evidence: Watched | None = None
        """What the slaps rest on, where a source of pictures is watched."""

    # --- telling --------------------------------------------------------------------------------------

    def tell(self, event: Event) -> Judgement:
        """Judge an event and keep it; when this returns it is in the log for good."""
        with self._changed:
            if self._unkept is not None:
                self._keep(self._unkept)
            if not self._log.reaches(event):
                self._match = self._log.open(event)
            judgement = self._match.tell(event)
            self._keep(judgement)
            return judgement

    def _keep(self, judgement: Judgement) -> None:
        try:
            self._log.append(judgement.event, self._match)
        except OSError as error:
            # The match in memory is one event ahead of what is kept, and of what people were told: it is kept
            # before anything else is taken.
            self._unkept = judgement
            self._broken = str(error)
            self._changed.notify_all()
            raise BadInput(self._broken) from error
        self._unkept = self._broken = None
        self._number += 1
        self._updates.append(Update(self._number, judgement, self._match.board))
        self._changed.notify_all()

    def say(self, event: Event) -> Judgement:
        """Tell what a person says now: it takes the time of the newest event."""
        with self._changed:
            return self.tell(replace(event, at=self.now))

    def overrule(self, ruling: int, says: str, reason: str) -> Judgement:
        """Decide a ruling otherwise."""
        return self.say(Overrule(at=Instant(0), of=ruling, says=says, reason=reason))

    def answer(self, question: str, says: str) -> Judgement:
        """Answer what the referee asks."""
        return self.say(Answer(at=Instant(0), question=question, says=says))

    def end(self) -> None:
        """Nothing more will be seen: the film is over, or the camera gone."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    # --- looking --------------------------------------------------------------------------------------

    @property
    def now(self) -> Instant:
        """The time of the newest event of the course, exact."""
        with self._changed:
            course = self._match.course
            return Instant(max((event.at.at_ns for event in course[-50:]), default=0))

    @property
    def seeing(self) -> bool:
        """Whether a source of pictures tells what happens now."""
        return self._seeing and not self._ended

    @property
    def ended(self) -> bool:
        """Whether nothing more will be seen."""
        return self._ended

    @property
    def broken(self) -> str | None:
        """Why nothing more is taken, if so."""
        return self._broken

    @property
    def expects(self) -> Expectation:
        """What the rules are waiting for."""
        with self._changed:
            return self._match.expects

    def lines(self) -> Iterator[str]:
        """The whole log as a recording."""
        kept = self._log.lines()
        if kept is not None:
            return kept
        with self._changed:
            return iter([dump(self.chosen.header), *(dump(event) for event in self._match.log)])

    def looking(self) -> _Looking:
        """Hold the match still while it is looked at."""
        return _Looking(self._changed, lambda: self._match)

    @property
    def number(self) -> int:
        """The newest update's number."""
        return self._number

    def since(self, number: int) -> list[Update] | None:
        """The updates after that number; None where they are no longer all kept."""
        with self._changed:
            if number > self._number:
                return None
            updates = [update for update in self._updates if update.number > number]
            return updates if len(updates) == self._number - number else None

    @property
    def status(self) -> tuple[bool, str | None]:
        """Whether the film is over, and why nothing more is taken, if so."""
        return self._ended, self._broken

    def wait(self, number: int, status: tuple[bool, str | None], timeout_s: float) -> bool:
        """Wait for an update after that number or another status than that; False: the time was up."""
        with self._changed:
            return self._changed.wait_for(lambda: self._number > number or self.status != status, timeout_s)


@dataclass(frozen=True, slots=True)
class _Looking:
    """A context in which nobody tells the match anything."""

    lock: threading.Condition
    match: Callable[[], Match[Any]]

    def __enter__(self) -> Match[Any]:
        self.lock.acquire()
        return self.match()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


class Picture:
    """The newest picture of the table as JPEG, for any number of viewers; older ones are dropped, never queued."""

    def __init__(self) -> None:
        """Begin with no picture."""
        self._changed = threading.Condition()
        self._jpeg = b""
        self._number = 0
        self._closed = False
        self._viewers = 0

    @property
    def watched(self) -> bool:
        """Whether anybody looks: nothing need be encoded where nobody does."""
        return self._viewers > 0

    def wait_for_viewer(self, timeout_s: float) -> bool:
        """Wait until somebody looks; False: nobody came."""
        with self._changed:
            return self._changed.wait_for(lambda: self._viewers > 0, timeout_s)

    @property
    def newest(self) -> bytes:
        """The newest picture, empty where there is none yet."""
        return self._jpeg

    def put(self, jpeg: bytes) -> None:
        """Show a new picture."""
        with self._changed:
            self._jpeg = jpeg
            self._number += 1
            self._changed.notify_all()

    def close(self) -> None:
        """No more pictures: viewers keep the last one."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def pictures(self) -> Iterator[bytes]:
        """Each new picture as it comes, for one viewer; one who is slow misses some."""
        seen = 0
        with self._changed:
            self._viewers += 1
            self._changed.notify_all()
        repeated = True
        try:
            while True:
                with self._changed:
                    if self._number == seen and not self._closed:
                        self._changed.wait(timeout=_ALIVE_S if repeated else _REPEAT_S)
                    repeated = self._number == seen
                    seen, jpeg, closed = self._number, self._jpeg, self._closed
                if jpeg:
                    yield jpeg
                if closed:
                    if jpeg and not repeated:
                        yield jpeg
                    return
        finally:
            with self._changed:
                self._viewers -= 1
