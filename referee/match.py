"""A match: the append-only log of events, and the fold of it into rulings and a board."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic

from referee.bad_input import BadInput
from referee.events import Amend, Answer, Confirm, Event, Insert, Overrule, Redo, Undo
from referee.game import Board, Expectation, Game, NotInThisGame, S, Setup
from referee.ruling import Ruling, Verdict

#: States kept for judging anew: every one of the newest, and of the older ones each so-many-th.
_NEWEST = 256
_EACH = 256


@dataclass(frozen=True, slots=True)
class Judgement:
    """What telling one event led to: the event as logged, rulings given now, and earlier ones withdrawn."""

    event: Event
    given: tuple[Ruling, ...] = ()
    withdrawn: tuple[Ruling, ...] = ()


@dataclass(frozen=True, slots=True)
class Begun(Generic[S]):
    """Where a match is gone on from: the state after event ``newest``, when ``rulings`` had been given.

    What came before can't be corrected from there: for that the whole log is told again.
    """

    state: S
    newest: int
    rulings: int


class Match(Generic[S]):
    """Folds events into rulings; an earlier point amended is judged anew with everything after it.

    The log only grows. What counts is the *course*: the log with the corrections carried out. The scores
    shown are always the fold of the course, never stored beside it.
    """

    def __init__(self, game: Game[S], setup: Setup, begun: Begun[S] | None = None) -> None:
        """Begin a match, or go on with one; ``setup`` comes from `referee.game.set_up`."""
        self._begun = begun if begun is not None else Begun(game.start(setup), 0, 0)
        self.game = game
        self.setup = setup
        self._log: list[Event] = []
        self._course: list[Event] = []
        self._rulings: list[tuple[Ruling, ...]] = []
        self._refused: dict[int, str] = {}
        self._states: dict[int, S] = {0: self._begun.state}
        self._state: S = self._begun.state
        # Every ruling ever given with the event that it was made at; an id is never given to another one,
        # and a ruling that comes back after a correction of a correction gets its own id back.
        self._known: dict[int, tuple[int, Ruling]] = {}
        self._ids: dict[tuple[int, Ruling, int], int] = {}

    # --- what people ask of it ----------------------------------------------------------------------

    @property
    def log(self) -> Sequence[Event]:
        """Everything that was ever told, corrections included, in the order told."""
        return tuple(self._log)

    @property
    def course(self) -> Sequence[Event]:
        """What happened as it stands now, corrections carried out."""
        return tuple(self._course)

    @property
    def rulings(self) -> tuple[Ruling, ...]:
        """The rulings that stand, in the order of what they rest on."""
        return tuple(ruling for made in self._rulings for ruling in made)

    @property
    def numbered(self) -> int:
        """How many rulings have been given so far, withdrawn ones included."""
        return self._begun.rulings + len(self._ids)

    @property
    def refused(self) -> dict[int, str]:
        """Events of the course that can't be after a correction, by id, each with the reason."""
        return dict(self._refused)

    @property
    def board(self) -> Board:
        """The state of play for people."""
        return self.game.board(self._state)

    @property
    def expects(self) -> Expectation:
        """What the rules are waiting for."""
        return self.game.expects(self._state)

    @property
    def state(self) -> S:
        """The game's own state."""
        return self._state

    def ruling(self, number: int) -> Ruling:
        """A ruling that was given at some time, by its id; withdrawn ones too."""
        if number not in self._known:
            raise BadInput.of("ruling", f"the id of a ruling given, up to {len(self._known)}", number)
        return self._known[number][1]

    # --- telling ------------------------------------------------------------------------------------

    def tell(self, event: Event) -> Judgement:
        """Take one event into the log and judge it; a refused one leaves the match as it was.

        Raises `NotInThisGame` for what can't happen in this game, `BadInput` for a correction of what isn't there.
        """
        newest = self._log[-1].id if self._log else self._begun.newest
        if event.id == 0:
            event = replace(event, id=newest + 1)
        elif event.id <= newest:
            raise BadInput.of("id", f"one after {newest}", event.id)
        if isinstance(event, Confirm | Amend | Insert | Overrule | Undo | Redo):
            return self._correct(event)
        if isinstance(event, Answer):
            return self._answered(event)
        return self._append(event)

    def tell_all(self, events: Iterable[Event]) -> list[Judgement]:
        """Tell events one after another."""
        return [self.tell(event) for event in events]

    def _append(self, event: Event) -> Judgement:
        state, rulings = self.game.rule(self._state, event)
        rulings = self._number(rulings, event.id)
        self._log.append(event)
        self._course.append(event)
        self._rulings.append(rulings)
        self._keep(state)
        return Judgement(event, rulings)

    def _keep(self, state: S) -> None:
        self._state = state
        at = len(self._course)
        self._states[at] = state
        old = at - _NEWEST
        if old > 0 and old % _EACH:
            self._states.pop(old, None)

    def _number(self, rulings: tuple[Ruling, ...], made_at: int) -> tuple[Ruling, ...]:
        numbered: list[Ruling] = []
        for ruling in rulings:
            twins = sum(replace(earlier, id=0, probability=ruling.probability) == ruling for earlier in numbered)
            number = self._ids.setdefault((made_at, ruling, twins), self.numbered + 1)
            if number not in self._known:
                # A millionth of doubt is nobody's: without it, two machines' mathematics give the same line.
                probability = round(ruling.probability, 6)
                self._known[number] = (made_at, replace(ruling, id=number, probability=probability))
            numbered.append(self._known[number][1])
        return tuple(numbered)

    # --- correcting ---------------------------------------------------------------------------------

    def _correct(self, event: Confirm | Amend | Insert | Overrule | Undo | Redo | Answer) -> Judgement:
        self._check(event)
        before = self._course
        at = self._find(event.of) if isinstance(event, Confirm | Amend) else None
        if at is not None and (corrected := _corrected(before[at], event)) is not None:
            # The common case, many times a minute: no need to look through the whole log.
            course = [*before[:at], corrected, *before[at + 1 :]]
            first = at
        else:
            course = self._course_of([*self._log, event])
            differs = (i for i, (old, new) in enumerate(zip(before, course, strict=False)) if old != new)
            first = next(differs, min(len(before), len(course)))
        changed = {event.of} if isinstance(event, Amend | Confirm | Redo) else {event.id}
        judgement = self._judge_anew(course, first, event, changed)
        self._log.append(event)
        return judgement

    def _answered(self, event: Answer) -> Judgement:
        """An answer counts from where the question was asked: what came after is judged anew."""
        asked = next((q for q in self.board.questions if q.key == event.question), None)
        if asked is None:
            open_ones = ", ".join(question.key for question in self.board.questions) or "none, since none is open"
            raise BadInput.of("question", open_ones, repr(event.question)[:60])
        if asked.choices and event.says not in asked.choices:
            raise BadInput.of("says", " or ".join(asked.choices), repr(event.says)[:60])
        return self._correct(event)

    def _find(self, number: int) -> int | None:
        """Where in the course an event stands, looked for from the newest on."""
        return next((i for i in range(len(self._course) - 1, -1, -1) if self._course[i].id == number), None)

    def _check(self, event: Confirm | Amend | Insert | Overrule | Undo | Redo | Answer) -> None:
        match event:
            case Overrule(of=number):
                ruling = self.ruling(number)
                if ruling.question is None:
                    raise BadInput.of("ruling", "one that decides something", f"{ruling.clause} {ruling.what}")
                if ruling.choices and event.says not in ruling.choices:
                    raise BadInput.of("says", " or ".join(ruling.choices), repr(event.says)[:60])
            case Insert(after=number, happened=happened):
                if number and not self._told(number):
                    raise BadInput.of("after", "the id of an event told before, or 0", number)
                _must_be_of_the_world(happened)
            case Confirm(of=number) | Amend(of=number) | Undo(of=number) | Redo(of=number):
                if not self._told(number):
                    raise BadInput.of("of", "the id of an event told before", number)
                if isinstance(event, Amend) and event.becomes is not None:
                    _must_be_of_the_world(event.becomes)

    def _told(self, number: int) -> bool:
        low, high = 0, len(self._log)
        while low < high:
            middle = (low + high) // 2
            if self._log[middle].id < number:
                low = middle + 1
            else:
                high = middle
        return low < len(self._log) and self._log[low].id == number

    def _course_of(self, log: Sequence[Event]) -> list[Event]:
        undone: set[int] = set()
        for event in log:
            match event:
                case Undo(of=number):
                    undone.add(number)
                case Redo(of=number):
                    undone.discard(number)
        # What did not happen keeps its place as None, so that a later correction finds it again.
        course: list[Event | None] = []
        places: dict[int, int] = {}
        rest: list[Confirm | Amend | Insert | Overrule | Answer] = []
        for event in log:
            if event.id in undone or isinstance(event, Undo | Redo):
                continue
            if isinstance(event, Confirm | Amend | Insert | Overrule | Answer):
                rest.append(event)
            else:
                places[event.id] = len(course)
                course.append(event)
        asked_at = {
            ruling.question: made_at for made_at, ruling in self._known.values() if ruling.verdict is Verdict.ASK
        }
        inserted: dict[int, list[Event]] = defaultdict(list)
        answers: dict[int, list[Event]] = defaultdict(list)
        extra: dict[int, Event | None] = {}
        for correction in rest:
            match correction:
                case Confirm(of=number) | Amend(of=number):
                    if number in places:
                        course[places[number]] = _corrected(course[places[number]], correction)
                    elif number in extra:
                        extra[number] = _corrected(extra[number], correction)
                case Insert(after=number, happened=happened):
                    extra[correction.id] = replace(happened, id=correction.id)
                    inserted[number].append(extra[correction.id] or happened)
                case Overrule():
                    made_at, ruling = self._known[correction.of]
                    answers[made_at].append(_answer(correction, ruling))
                case Answer(question=question):
                    answers[asked_at[question]].append(correction)
        return list(_woven(course, places, inserted, answers, extra))

    def _judge_anew(self, course: list[Event], first: int, cause: Event, changed: set[int]) -> Judgement:
        start = max(at for at in self._states if at <= first)
        state = self._states[start]
        kept = self._rulings[:start]
        old = {ruling.id: ruling for made in self._rulings[start:] for ruling in made}
        states: dict[int, S] = {}
        refused: dict[int, str] = {}
        made: list[tuple[tuple[Ruling, ...], int]] = []
        for at in range(start, len(course)):
            event = course[at]
            try:
                state, rulings = self.game.rule(state, event)
            except NotInThisGame as error:
                if event.id in changed or (event.id == cause.id):
                    raise
                refused[event.id] = str(error)
                rulings = ()
            made.append((rulings, event.id))
            if at + 1 > len(course) - _NEWEST or (at + 1) % _EACH == 0:
                states[at + 1] = state
        # From here on nothing can fail: the new course takes the old one's place as a whole.
        numbered = [self._number(rulings, event_id) for rulings, event_id in made]
        new = {ruling.id: ruling for row in numbered for ruling in row}
        given = tuple(ruling for number, ruling in new.items() if number not in old)
        withdrawn = tuple(ruling for number, ruling in old.items() if number not in new)
        self._course = course
        self._rulings = kept + numbered
        self._states = {at: kept_state for at, kept_state in self._states.items() if at <= start} | states
        self._state = state
        gone = {event.id for event in course[start:]}
        self._refused = {k: v for k, v in self._refused.items() if k not in gone} | refused
        return Judgement(cause, given, withdrawn)


def _must_be_of_the_world(event: Event) -> None:
    if isinstance(event, Confirm | Amend | Insert | Overrule | Undo | Redo | Answer):
        raise BadInput.of("correction", "something that happened at the table", type(event).__name__.lower())


def _corrected(event: Event | None, correction: Event) -> Event | None:
    if isinstance(correction, Confirm):
        return None if event is None else replace(event, provisional=False)
    if isinstance(correction, Amend) and correction.becomes is not None:
        return replace(correction.becomes, id=correction.of)
    return None


def _answer(overrule: Overrule, ruling: Ruling) -> Event:
    return Answer(
        at=overrule.at, seat=overrule.seat, question=ruling.question or "", says=overrule.says, id=overrule.id
    )


def _woven(
    course: Sequence[Event | None],
    places: dict[int, int],
    inserted: dict[int, list[Event]],
    answers: dict[int, list[Event]],
    extra: dict[int, Event | None],
) -> Iterable[Event]:
    """The course with insertions after their events, and answers before the events that they decide."""

    def after(number: int) -> Iterable[Event]:
        for event in inserted.get(number, ()):
            current = extra.get(event.id)
            if current is not None:
                yield from answers.get(event.id, ())
                yield current
            yield from after(event.id)

    yield from after(0)
    for number, place in places.items():
        event = course[place]
        if event is not None:
            yield from answers.get(number, ())
            yield event
        yield from after(number)
