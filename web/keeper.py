"""Keeping score by hand: a person types what happens, the referee answers line by line."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from referee.bad_input import BadInput
from referee.events import Amend, Answer, Event, Insert, Overrule, Redo, Shout, Slap, Undo
from referee.game import NotInThisGame
from referee.instant import Instant
from referee.match import Judgement, Match
from referee.recording import Header, Note, dump, read
from referee.ruling import Ruling
from web.board import Shower
from web.config import Chosen
from web.notation import Notation, readable
from web.telling import Teller, clock, events_of, when
from web.typed import typed_event, typed_events
from web.words import Words

_MS = 1_000_000
_LONGEST_TYPED = 400


class KeptFile:
    """A recording that grows with every event; what `append` has returned from is on the disk."""

    def __init__(self, path: Path, chosen: Chosen) -> None:
        """Begin a recording, or go on with one of the same match; a last line that was cut off is dropped."""
        self._path = path
        try:
            whole, _, cut = path.read_bytes().rpartition(b"\n") if path.exists() else (b"", b"", b"")
            lines = list(read((whole + b"\n").decode("utf-8").splitlines())) if whole else []
            if lines and lines[0] != chosen.header:
                raise BadInput.of(str(path), "a recording of this match, or a new file", "a recording of another one")
            self.events = tuple(line for line in lines[1:] if not isinstance(line, Header | Ruling | Note))
            if cut:
                os.truncate(path, len(whole) + 1)
        except (OSError, UnicodeDecodeError, BadInput) as error:
            reason = str(error) if isinstance(error, BadInput) else getattr(error, "strerror", None) or "other bytes"
            raise BadInput(f"{path}: {reason}") from error
        if not lines:
            self._write(dump(chosen.header))

    def append(self, event: Event) -> None:
        """Keep one event."""
        self._write(dump(event))

    def _write(self, line: str) -> None:
        try:
            with self._path.open("ab") as file:
                file.write(line.encode("utf-8") + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise BadInput.of(str(self._path), "room to keep what was typed", error.strerror or "none") from error


class Keeper:
    """One match kept by typing; each line gives the lines to show."""

    def __init__(self, chosen: Chosen, words: Words, *, kept: KeptFile | None = None) -> None:
        """Begin with an empty log, or go on with the one in a file; every event is then kept in it at once."""
        self.chosen = chosen
        self._kept = kept
        self.words = words
        self.match: Match[Any] = Match(chosen.game, chosen.setup)
        self.shower = Shower.of(chosen, words.language)
        if kept is not None:
            self.match.tell_all(kept.events)
        self._teller = Teller(chosen.game, chosen.setup.players, words)
        self.commands: dict[str, Callable[[str], list[str]]] = {
            "help": self._help,
            "scores": self._scores,
            "figures": self._figures,
            "log": self._log,
            "rulings": self._rulings,
            "why": self._why,
            "clause": self._clause,
            "undo": self._undo,
            "redo": self._redo,
            "amend": self._amend,
            "after": self._after,
            "answer": self._answer,
            "overrule": self._overrule,
            "rules": self._rules,
            "save": self._save,
        }

    @property
    def teller(self) -> Teller:
        """Tells with the names of those who play now."""
        return self._teller.naming(self.match)

    @property
    def notation(self) -> Notation:
        """Reads and writes with the names of those who play now."""
        return self.shower.naming(self.match).notation

    def _tell(self, event: Event) -> Judgement:
        judgement = self.match.tell(event)
        if self._kept is not None:
            self._kept.append(judgement.event)
        return judgement

    def greeting(self) -> list[str]:
        """What is shown before the first line."""
        names = self.words.and_(self.teller.players)
        gone_on = [self.words.say("keeper", "gone_on", count=len(self.match.log))] if self.match.log else []
        return [
            *gone_on,
            self.words.say("keeper", "welcome", game=self.words.game(self.chosen.game.name), names=names),
            self._standing(),
        ]

    def type(self, line: str) -> list[str]:
        """What the referee says to a typed line."""
        if len(line) > _LONGEST_TYPED:
            return [self.words.say("keeper", "wrong", reason=f"expected a short line, got {len(line)} characters")]
        text = line.strip()
        if text.startswith("#") or (not text and not isinstance(self._latest(), Slap | Shout)):
            return []
        text = text or "wait"  # An empty line after hands: no more are coming.
        command, _, rest = text.partition(" ")
        try:
            if command.casefold() in self.commands:
                return self.commands[command.casefold()](rest.strip())
            return self._happened(text)
        except (BadInput, NotInThisGame) as error:
            return [self.words.say("keeper", "wrong", reason=str(error))]

    def complete(self, line: str) -> list[str]:
        """What the last word of the line may become."""
        first, _, rest = line.partition(" ")
        if first.casefold() in ("amend", "after") and " " in rest:
            return self.notation.complete(rest.partition(" ")[2])
        own = [name for name in self.commands if name.startswith(line.casefold())] if " " not in line else []
        if first.casefold() == "answer" and " " in line:
            own = [choice for choice in self._choices() if choice.casefold().startswith(rest.casefold())]
        if first.casefold() == "clause" and " " in line:
            own = [clause for clause in self.chosen.game.clauses if clause.casefold().startswith(rest.casefold())]
        return sorted({*own, *self.notation.complete(line)})

    # --- what happens ---------------------------------------------------------------------------------

    def _happened(self, text: str) -> list[str]:
        told = []
        for event in typed_events(text, self.notation, self.match.log):
            judgement = self._tell(event)
            told += [self._echo(judgement.event), *self._ruled(judgement)]
        return [*told, self._standing()]

    def _latest(self) -> Event | None:
        # What was undone counts too: it may be redone, and then still lies before what was told after it.
        return max(self.match.log, key=lambda event: event.at.at_ns, default=None)

    def _ruled(self, judgement: Judgement) -> list[str]:
        lines = [self.teller.withdrawn(ruling) for ruling in judgement.withdrawn]
        for ruling in judgement.given:
            lines += self.teller.ruling(ruling, when(ruling, self.match, judgement.event), numbered=True)
        return lines

    def _standing(self) -> str:
        return "  " + self.words.standing(self.match.board, self.teller.players)

    def _echo(self, event: Event) -> str:
        return f"{event.id:>4}  {self.shower.naming(self.match).event(event)['text']}"

    # --- commands ---------------------------------------------------------------------------------------

    def _help(self, about: str) -> list[str]:
        say = self.words.say
        lines = [say("keeper", "help_events")]
        seen: set[str] = set()
        for verb in self.notation.verbs:
            shown = readable(verb.forms[0])
            if shown not in seen:
                lines.append(f"  {shown:<34} {verb.help}")
                seen.add(shown)
        lines.append(say("keeper", "help_times"))
        lines.append(say("keeper", "help_commands"))
        usage = self.words.common["commands"]
        lines += [f"  {usage[name]['use']:<34} {usage[name]['help']}" for name in (*self.commands, "quit")]
        return lines

    def _scores(self, _: str) -> list[str]:
        return self.teller.board(self.match.board)

    def _figures(self, _: str) -> list[str]:
        return self.teller.figures(self.match)

    def _log(self, count: str) -> list[str]:
        newest = int(count) if count.isdecimal() else 12
        lines = []
        for event in self.match.log[-newest:] if newest else ():
            lines.append(self._echo(event))
        return lines or [self.words.say("keeper", "nothing_yet")]

    def _rulings(self, count: str) -> list[str]:
        newest = int(count) if count.isdecimal() else 12
        lines = []
        latest = self._latest()
        for ruling in self.match.rulings[-newest:] if newest and latest else ():
            lines += self.teller.ruling(ruling, when(ruling, self.match, latest), numbered=True)  # type: ignore[arg-type]  # a ruling rests on an event
        return lines or [self.words.say("keeper", "nothing_yet")]

    def _why(self, number: str) -> list[str]:
        ruling = self.match.rulings[-1] if not number and self.match.rulings else self.match.ruling(_number(number))
        lines = [
            f"{ruling.clause}: {self._title(ruling.clause)}",
            f"  {self.teller.sentence(ruling)}",
            *(f"  {effect}." for effect in self.words.effects(ruling, self.teller.players)),
            self.words.say("keeper", "rests_on"),
            *(
                f"{clock(event.at.at_ns):>11} {self._echo(event)}"
                + (f"  ± {event.at.sd_ns / _MS:.1f} ms" if event.at.sd_ns else "")
                for event in events_of(ruling, self.match.course)
            ),
        ]
        sure = self.words.sureness_of(ruling)
        if sure:
            lines.append(f"  {sure}")
        if ruling.question and ruling.choices:
            ways = zip(ruling.choices, self._worded(ruling.question, ruling.choices), strict=True)
            said = [
                f"overrule {ruling.id} {worded if choice.isdecimal() else choice} because …" for choice, worded in ways
            ]
            lines.append(self.words.say("keeper", "else", ways="; ".join(said)))
        return lines

    def _clause(self, clause: str) -> list[str]:
        known = {name.casefold(): name for name in self.chosen.game.clauses}
        if clause.casefold() not in known:
            raise BadInput.of("clause", f"one of {', '.join(self.chosen.game.clauses)}", repr(clause)[:40])
        name = known[clause.casefold()]
        return [f"{name}: {self._title(name)}"]

    def _title(self, clause: str) -> str:
        return self.words.title(self.chosen.game.name, clause) or self.chosen.game.clauses.get(clause, "")

    def _undo(self, number: str) -> list[str]:
        of = _number(number) if number else self._last_told()
        return self._corrected(Undo(at=self._now(), of=of))

    def _redo(self, number: str) -> list[str]:
        undone = [event.of for event in self.match.log if isinstance(event, Undo)]
        if not number and not undone:
            raise BadInput("expected something that was undone, got nothing")
        return self._corrected(Redo(at=self._now(), of=_number(number) if number else undone[-1]))

    def _last_told(self) -> int:
        """The newest event that still counts, a correction included."""
        undone: set[int] = set()
        for event in self.match.log:
            if isinstance(event, Undo):
                undone.add(event.of)
            elif isinstance(event, Redo):
                undone.discard(event.of)
        for event in reversed(self.match.log):
            if event.id not in undone and not isinstance(event, Undo | Redo):
                return event.id
        raise BadInput("expected something to undo, got an empty log")

    def _amend(self, text: str) -> list[str]:
        number, _, really = text.partition(" ")
        of = _number(number)
        if not really:
            raise BadInput("expected `amend NUMBER what really happened`, or `amend NUMBER nothing`, got no more")
        if really.casefold() in ("nothing", "-"):
            return self._corrected(Amend(at=self._now(), of=of, becomes=None))
        old = next((event for event in self.match.course if event.id == of), None)
        if old is None:
            raise BadInput.of("amend", "the number of an event, as `log` shows it", of)
        return self._corrected(
            Amend(at=self._now(), of=of, becomes=typed_event(really, self.notation, self.match.course, old.at))
        )

    def _after(self, text: str) -> list[str]:
        number, _, happened = text.partition(" ")
        after = _number(number)
        old = next((event for event in self.match.course if event.id == after), None)
        at = old.at.shifted(_MS) if old is not None else Instant(0)
        return self._corrected(
            Insert(at=self._now(), after=after, happened=typed_event(happened, self.notation, self.match.course, at))
        )

    def _answer(self, text: str) -> list[str]:
        questions = self.match.board.questions
        if not questions:
            raise BadInput("expected a question of the referee, got none open")
        number, _, rest = text.partition(" ")
        which = 0
        if rest and number.isdecimal() and 1 <= int(number) <= len(questions):
            which, text = int(number) - 1, rest
        question = questions[which]
        says = self._choice(question.key, question.choices, text)
        return self._told(Answer(at=self._now(), question=question.key, says=says))

    def _told(self, event: Event) -> list[str]:
        judgement = self._tell(event)
        return [self._echo(judgement.event), *self._ruled(judgement), self._standing()]

    def _overrule(self, text: str) -> list[str]:
        number, _, rest = text.partition(" ")
        ruling = self.match.ruling(_number(number))
        says, _, reason = rest.partition(" because ")
        if not says.strip() or not reason.strip():
            raise BadInput("expected `overrule NUMBER CHOICE because REASON`, got " + repr(text)[:60])
        choice = self._choice(ruling.question or "", ruling.choices, says.strip())
        return self._corrected(Overrule(at=self._now(), of=ruling.id, says=choice, reason=reason.strip()))

    def _corrected(self, event: Event) -> list[str]:
        judgement = self._tell(event)
        refused = [
            self.words.say("keeper", "refused", id=number, reason=reason)
            for number, reason in self.match.refused.items()
        ]
        return [self._echo(judgement.event), *refused, *self._ruled(judgement), self._standing()]

    def _now(self) -> Instant:
        latest = self._latest()
        return Instant(latest.at.at_ns if latest else 0)

    def _rules(self, _: str) -> list[str]:
        game = self.chosen.game
        options = self.chosen.setup.options
        return [
            f"  {option.name:<20} {self.words.value(options[option.name]):<12} {option.clause:<4} "
            f"{self.words.option(game.name, option.name)}".rstrip()
            for option in game.options
        ]

    def _save(self, path: str) -> list[str]:
        if not path:
            raise BadInput("expected `save FILE`, got no file")
        lines = [dump(self.chosen.header), *(dump(event) for event in self.match.log)]
        try:
            Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
        except OSError as error:
            raise BadInput.of(path, "a file that can be written", error.strerror or "none") from error
        return [self.words.say("keeper", "saved", count=len(self.match.log), path=path)]

    # --- choices ----------------------------------------------------------------------------------------

    def _choices(self) -> list[str]:
        questions = self.match.board.questions
        return self._worded(questions[0].key, questions[0].choices) if questions else []

    def _worded(self, question: str, choices: tuple[str, ...]) -> list[str]:
        return [self.words.choice(self.chosen.game.name, question, choice, self.teller.players) for choice in choices]

    def _choice(self, question: str, choices: tuple[str, ...], text: str) -> str:
        """The choice that was typed: as the referee knows it, as it is worded, or the beginning of either."""
        worded = dict(zip(choices, self._worded(question, choices), strict=True))
        folded = text.casefold()
        for fits in (str.__eq__, str.startswith):
            found = [c for c, said in worded.items() if fits(c.casefold(), folded) or fits(said.casefold(), folded)]
            if len(found) == 1:
                return found[0]
        if not choices:
            return text
        raise BadInput.of("answer", " or ".join(worded.values()), repr(text)[:60])


def keep(chosen: Chosen, words: Words, path: Path | None = None) -> None:
    """Let a person type until the input ends or they quit; ``path``: where every event is kept at once."""
    keeper = Keeper(chosen, words, kept=None if path is None else KeptFile(path, chosen))
    say = words.say
    typing = sys.stdin.isatty()
    if typing:
        _with_completion(keeper)
    _show(keeper.greeting())
    while True:
        try:
            line = input("> ")
        except EOFError:
            _show([""] if typing else [])
            break
        except UnicodeDecodeError:
            _show([say("keeper", "wrong", reason="expected text in UTF-8, got other bytes")])
            continue
        if not typing:
            _show([line])
        if line.strip().casefold() in ("quit", "exit"):
            break
        _show(keeper.type(line))
    _show(keeper.teller.board(keeper.match.board))


def _number(text: str) -> int:
    if not text.lstrip("#").isdecimal():
        raise BadInput.of("number", "one that `log` or `rulings` shows", repr(text)[:40])
    return int(text.lstrip("#"))


def _with_completion(keeper: Keeper) -> None:
    # Windows has no readline; typing works there without completion.
    with contextlib.suppress(ImportError):
        import readline

        found: list[str] = []

        def complete(_: str, state: int) -> str | None:
            if state == 0:
                found[:] = [word + " " for word in keeper.complete(readline.get_line_buffer())]
            return found[state] if state < len(found) else None

        readline.set_completer_delims(" ")
        readline.set_completer(complete)
        readline.parse_and_bind("tab: complete")


def _show(lines: list[str]) -> None:
    for line in lines:
        print(line, flush=True)  # noqa: T201 - the command's answer
