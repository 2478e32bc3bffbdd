"""Matches kept on disk: an append-only log of events, from which every match can be judged again.

One thread alone opens the database, writes and checkpoints it; what `Store.append` has returned from is on
the disk. The address may name another database than SQLite: nothing below the thread is SQLite's own but
its pragmas.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    delete,
    event,
    func,
    insert,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from referee.bad_input import BadInput
from referee.events import Amend, Confirm, Event, Insert, Overrule, Redo, Undo
from referee.match import Begun, Match
from referee.recording import Header, dump, load
from web.config import Chosen, from_header
from web.saved import restore, rules_version, save

T = TypeVar("T")

#: The layout of the tables; a file of a newer one is not touched.
LAYOUT = 1
#: A state is saved every so many events: opening a log then judges at most so many.
SAVE_EVERY = 2_000
_TOGETHER = 256
_BUSY_MS = 1_000

_meta = MetaData()
_matches = Table(
    "matches",
    _meta,
    Column("id", Integer, primary_key=True),
    Column("begun", String(40), nullable=False),
    Column("header", Text, nullable=False),
)
_events = Table(
    "events",
    _meta,
    Column("match", Integer, primary_key=True, autoincrement=False),
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("line", Text, nullable=False),
    sqlite_with_rowid=False,
)
_states = Table(
    "states",
    _meta,
    Column("match", Integer, primary_key=True, autoincrement=False),
    Column("newest", Integer, primary_key=True, autoincrement=False),
    Column("rulings", Integer, nullable=False),
    Column("rules", String(40), nullable=False),
    Column("state", Text, nullable=False),
)


class NotKept(OSError):
    """The log could not be written: nothing is lost that was told before, but this event is not kept."""


@dataclass(frozen=True, slots=True)
class KeptMatch:
    """A match in the store."""

    id: int
    begun: str
    header: Header
    events: int


class Store:
    """A database of matches, opened by this program alone."""

    def __init__(self, address: str | Path) -> None:
        """Open a file (made where there is none), or a database by its URL (``postgresql://…``)."""
        self._engine = _engine(address)
        self.name = self._engine.url.render_as_string(hide_password=True)
        self._work: queue.SimpleQueue[tuple[Callable[[Connection], Any], Future[Any]] | None] = queue.SimpleQueue()
        opened: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, args=(opened,), name="store", daemon=True)
        self._thread.start()
        try:
            opened.result()
        except (SQLAlchemyError, OSError) as error:
            raise BadInput.of(
                str(address), "a database of matches that no other program has open", _reason(error)
            ) from error

    def __enter__(self) -> Store:
        """The store is open already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Write what waits and let go of the file."""
        self._work.put(None)
        self._thread.join()

    # --- matches --------------------------------------------------------------------------------------

    def begin(self, header: Header, begun: str) -> int:
        """A new match; ``begun`` says when, for people. Returns its number."""

        def insert_match(connection: Connection) -> int:
            result = connection.execute(insert(_matches).values(begun=begun, header=dump(header)))
            return int(result.inserted_primary_key[0])  # type: ignore[index]  # there is one: it is an insert

        return self._do(insert_match)

    def matches(self) -> list[KeptMatch]:
        """Every match, the newest first."""

        def all_matches(connection: Connection) -> list[KeptMatch]:
            counted = select(_events.c.match, func.count().label("events")).group_by(_events.c.match).subquery()
            rows = connection.execute(
                select(_matches, func.coalesce(counted.c.events, 0).label("events"))
                .join_from(_matches, counted, _matches.c.id == counted.c.match, isouter=True)
                .order_by(_matches.c.id.desc())
            )
            return [KeptMatch(row.id, row.begun, _header(row.header), row.events) for row in rows]

        return self._do(all_matches)

    def header(self, match: int) -> Header:
        """Which game, who plays, under which rules."""
        line = self._do(lambda c: c.execute(select(_matches.c.header).where(_matches.c.id == match)).scalar())
        if line is None:
            raise BadInput.of("match", "the number of a match in the store", match)
        return _header(line)

    def append(self, match: int, event: Event) -> None:
        """Keep one event; when this returns it is on the disk."""
        line = dump(event)
        self._do(lambda c: c.execute(insert(_events).values(match=match, id=event.id, line=line)) and None)

    def events(self, match: int, after: int = 0, before: int | None = None) -> Iterator[Event]:
        """The events of a match in the order told, those with an id after and before these."""
        size = 20_000
        while True:
            wanted = (
                select(_events.c.id, _events.c.line)
                .where(_events.c.match == match, _events.c.id > after)
                .order_by(_events.c.id)
                .limit(size)
            )
            if before is not None:
                wanted = wanted.where(_events.c.id < before)
            rows = self._do(lambda c, wanted=wanted: list(c.execute(wanted)))  # type: ignore[misc]  # bound now
            for row in rows:
                line = load(row.line)
                if line is not None and hasattr(line, "at"):
                    yield line  # type: ignore[misc]  # nothing but events is appended
            if len(rows) < size:
                return
            after = rows[-1].id

    def save_state(self, match: int, begun: Begun[Any]) -> None:
        """Keep a state to go on from. Nothing depends on it: it only saves judging what came before anew."""
        values = {
            "match": match,
            "newest": begun.newest,
            "rulings": begun.rulings,
            "rules": rules_version(),
            "state": save(begun.state),
        }

        def keep(connection: Connection) -> None:
            same = (_states.c.match == match) & (_states.c.newest == begun.newest)
            connection.execute(delete(_states).where(same))
            connection.execute(insert(_states).values(values))

        self._do(keep)

    def saved_state(self, match: int, chosen: Chosen, before: int | None = None) -> Begun[Any] | None:
        """The newest state to go on from, saved under the rules as they are now, and before that event."""
        wanted = select(_states).where(_states.c.match == match, _states.c.rules == rules_version())
        if before is not None:
            wanted = wanted.where(_states.c.newest < before)
        row = self._do(lambda c: c.execute(wanted.order_by(_states.c.newest.desc()).limit(1)).first())
        return None if row is None else Begun(restore(row.state, chosen.setup), row.newest, row.rulings)

    def delete(self, match: int) -> None:
        """Delete a match and all that belongs to it, for good: its bytes are overwritten."""

        def drop(connection: Connection) -> None:
            for table, column in ((_events, _events.c.match), (_states, _states.c.match), (_matches, _matches.c.id)):
                connection.execute(delete(table).where(column == match))

        self._do(drop)
        if self._sqlite:
            # The log that SQLite writes ahead holds the deleted pages until it is emptied.
            self._do(lambda c: c.execute(text("PRAGMA wal_checkpoint(TRUNCATE)")) and None)

    def check(self) -> str:
        """``ok``, or what the database says is wrong with it."""
        if not self._sqlite:
            return "ok"
        return str(self._do(lambda c: c.execute(text("PRAGMA quick_check(1)")).scalar()))

    # --- the one thread -------------------------------------------------------------------------------

    @property
    def _sqlite(self) -> bool:
        return self._engine.dialect.name == "sqlite"

    def _do(self, work: Callable[[Connection], T]) -> T:
        """Have the thread do it in a transaction; returns once that is committed."""
        if not self._thread.is_alive():
            raise NotKept(f"{self.name}: expected an open store, got one that is closed")
        done: Future[T] = Future()
        self._work.put((work, done))
        try:
            return done.result()
        except SQLAlchemyError as error:
            raise NotKept(
                f"the log can’t be written ({_reason(error)}); nothing told before is lost: make room and try again"
            ) from error

    def _run(self, opened: Future[None]) -> None:
        try:
            connection = self._engine.connect()
            with connection.begin():
                _meta.create_all(connection)
                _check_layout(connection, sqlite=self._sqlite)
        except BaseException as error:
            opened.set_exception(error)
            self._engine.dispose()
            return
        opened.set_result(None)
        try:
            while (first := self._work.get()) is not None:
                batch = [first]
                while len(batch) < _TOGETHER and not self._work.empty():
                    following = self._work.get()
                    if following is None:
                        self._work.put(None)
                        break
                    batch.append(following)
                self._carry_out(connection, batch)
        finally:
            connection.close()
            self._engine.dispose()

    def _carry_out(self, connection: Connection, batch: list[tuple[Callable[[Connection], Any], Future[Any]]]) -> None:
        """All in one transaction; where that fails, each in its own, so that one can't spoil another."""
        if len(batch) > 1:
            try:
                with connection.begin():
                    results = [work(connection) for work, _ in batch]
            except SQLAlchemyError:
                pass
            else:
                for (_, done), result in zip(batch, results, strict=True):
                    done.set_result(result)
                return
        for work, done in batch:
            try:
                with connection.begin():
                    result = work(connection)
            except BaseException as error:
                done.set_exception(error)
            else:
                done.set_result(result)


class KeptLog:
    """The log of one match in the store, and that match gone on with."""

    def __init__(self, store: Store, match: int) -> None:
        """The log of that match."""
        self._store = store
        self._match = match
        self.chosen = from_header(store.header(match))
        self._begun: Begun[Any] | None = None
        self._since_saved = 0

    def open(self, about: Event | None = None) -> Match[Any]:
        """The match as the log tells it, from the newest saved state on that gives the same.

        ``about``: a correction that is to be told next; the match then reaches back to what it is about.
        """
        begun = self._store.saved_state(self._match, self.chosen)
        tail: list[Event] = []
        while begun is not None:
            tail = [*self._store.events(self._match, begun.newest, tail[0].id if tail else None), *tail]
            oldest = _oldest([*tail, *([about] if about is not None else [])], begun)
            if oldest is None:
                break
            begun = self._store.saved_state(self._match, self.chosen, before=min(oldest, begun.newest))
        if begun is None:
            tail = list(self._store.events(self._match))
        match: Match[Any] = Match(self.chosen.game, self.chosen.setup, begun)
        match.tell_all(tail)
        self._begun = begun
        self._since_saved = len(tail)
        return match

    def reaches(self, event: Event) -> bool:
        """Whether the match that was opened reaches back to what an event is about."""
        return self._begun is None or _oldest([event], self._begun) is None

    def lines(self) -> Iterator[str]:
        """The whole log as a recording."""
        yield dump(self.chosen.header)
        yield from (dump(told) for told in self._store.events(self._match))

    def append(self, event: Event, match: Match[Any]) -> None:
        """Keep one event that the match has taken; when this returns it is on the disk."""
        self._store.append(self._match, event)
        self._since_saved += 1
        # An answer counts from where its question was asked: a state with open questions is no place to go on from.
        if self._since_saved >= SAVE_EVERY and not match.board.questions:
            self._store.save_state(self._match, Begun(match.state, event.id, match.numbered))
            self._since_saved = 0


def _oldest(events: Iterable[Event], begun: Begun[Any]) -> int | None:
    """The oldest event from before a state that these are about; 0 where it isn't known which; None: none."""
    oldest: list[int] = []
    for told in events:
        match told:
            case Confirm(of=number) | Amend(of=number) | Undo(of=number) | Redo(of=number) | Insert(after=number):
                oldest += [number] if number <= begun.newest else []
            case Overrule(of=number):
                oldest += [0] if number <= begun.rulings else []
    return min(oldest, default=None)


def _engine(address: str | Path) -> Engine:
    if isinstance(address, Path) or "://" not in address:
        path = Path(address)
        if path.exists() and not path.is_file():
            raise BadInput.of(str(path), "a file", "a folder")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput.of(str(path.parent), "a folder that can be made", error.strerror or "none") from error
        address = f"sqlite:///{path}"
    try:
        engine = create_engine(make_url(address))
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise BadInput.of("database", "a file or an address like postgresql://…", str(error)[:80]) from error
    if engine.dialect.name == "sqlite":

        @event.listens_for(engine, "connect")
        def prepare(connection: Any, _: object) -> None:
            # One program, one connection: none but our own thread ever checkpoints (two connections doing so at
            # once can corrupt the file in SQLite before 3.51.3), and what is committed is on the disk.
            for pragma in (
                f"busy_timeout={_BUSY_MS}",
                "locking_mode=EXCLUSIVE",
                "journal_mode=WAL",
                "synchronous=FULL",
                "secure_delete=ON",
            ):
                connection.execute(f"PRAGMA {pragma}").fetchall()

    return engine


def _check_layout(connection: Connection, *, sqlite: bool) -> None:
    if not sqlite:
        return
    found = connection.execute(text("PRAGMA user_version")).scalar() or 0
    if found > LAYOUT:
        raise OSError(f"one made by a newer version of this program (layout {found}, here {LAYOUT})")
    if found < LAYOUT:
        connection.execute(text(f"PRAGMA user_version={LAYOUT}"))


def _header(line: str) -> Header:
    header = load(line)
    if not isinstance(header, Header):
        raise BadInput.of("match", "a recording's header", line[:60])
    return header


def _reason(error: BaseException) -> str:
    cause = getattr(error, "orig", None) or error
    return " ".join(str(cause).split())[:120] or type(cause).__name__
