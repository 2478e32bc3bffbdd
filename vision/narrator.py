"""Tells what happened at the table as events, in the order in which it happened, from what the watchers saw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from referee.cards import Card, Pile, Seat
from referee.events import Event, Lifted, Moved, Shown, Slap, Turned
from referee.game import Expectation, Layout
from referee.instant import Instant
from vision.hands.news import Contact, Gone, HandSeen, Lift, Reached
from vision.observation import Lies, Observation, PileChanged, Top

MS = 1_000_000

#: The kind of pile that is only slapped: no cards of the deck are laid there.
SPOT_KIND = "spot"

#: Nothing is told sooner: a contact is known some frames after it, and another may have come before it.
LEAST_HOLD_NS = 220 * MS
#: While something is going on at a pile, what came later waits for it; but no longer than this.
MOST_HOLD_NS = 2_500 * MS
#: A hand on its way to a pile that may be slapped is waited for so long.
HAND_HOLD_NS = 450 * MS
#: A hand that stays so long on a pile that may be slapped has come down on it.
STAYS_NS = 200 * MS
#: A hand that is gone again sooner, and was not stopped by anything hard, was only held over it.
HOVERED_NS = 160 * MS
#: From picking cards up to laying them down.
CARRY_NS = 2_500 * MS
#: Time of laying down what was seen picked up, where the laying itself can't be seen (slid under a pile).
LAYING_NS, LAYING_SD_NS = 300 * MS, 150 * MS
#: A card nudged, or laid once more after a look under it, is the same card: where a deck holds it once.
NUDGED_MM = 25.0
#: A contact by its measured check: one that failed it may be a hand held still over the pile.
UNCHECKED = 0.98


@dataclass(frozen=True, slots=True)
class Telling:
    """One thing told: ``event`` None takes back what was told under the same key, another one amends it.

    Keys count from 1 and mean nothing but which telling a later one corrects. ``late``: it happened before
    something told earlier, and ``after`` is the key of the telling that it comes right after (0: the start).
    """

    key: int
    event: Event | None
    late: bool = False
    after: int = 0


@dataclass(slots=True)
class _Waiting:
    key: int
    event: Event


@dataclass(slots=True)
class _PickedUp:
    """Cards that were taken from a pile and are not seen again yet."""

    source: Pile
    seat: Seat | None
    at: Instant
    top: Top
    seen_ns: int
    target: Pile | None = None
    target_ns: int = 0


@dataclass(slots=True)
class _Slapped:
    """A hand on a pile that may be slapped, until it is known what it did there."""

    key: int
    contact: Contact
    pile: Pile
    lifted: bool = False


@dataclass(frozen=True, slots=True)
class Places:
    """What the narrator must know of a game, as data: which piles are slapped, and which are whose.

    ``slapped``: where hands may come down. ``face_down``, ``face_up``: by seat, a player's own piles where
    cards lie so. ``once``: how often each card is in the deck; empty: unknown.
    """

    slapped: frozenset[Pile]
    face_down: Mapping[Seat, Pile] = field(default_factory=dict)
    face_up: Mapping[Seat, Pile] = field(default_factory=dict)
    counts: Mapping[Card, int] = field(default_factory=dict)

    def holds_once(self, card: Card) -> bool:
        """Whether the deck has the card only once."""
        return self.counts.get(card) == 1


def places_of(layout: Layout, slapped: frozenset[Pile], counts: Mapping[Card, int] | None = None) -> Places:
    """What a game's layout says: ``down`` and ``up`` piles by seat, and the spot, which holds no cards."""
    spots = frozenset(place.pile for place in layout.piles if place.pile.kind == SPOT_KIND)
    return Places(
        slapped=slapped or spots,
        face_down={p.pile.seat: p.pile for p in layout.piles if p.pile.kind == "down" and p.pile.seat is not None},
        face_up={p.pile.seat: p.pile for p in layout.piles if p.pile.kind == "up" and p.pile.seat is not None},
        counts=counts or {},
    )


class Narrator:
    """Keeps what lies where; hears observations, and tells events once nothing earlier can come any more."""

    def __init__(self, places: Places) -> None:
        """For a game with such places."""
        self._places = places
        self._expects = Expectation(slaps=places.slapped)
        self._stacks: dict[Pile, list[Card]] = {}
        self._queue: list[_Waiting] = []
        self._told_ns = -(1 << 62)
        self._told: list[tuple[int, int]] = []
        self._keys = 0
        self._now = -(1 << 62)
        self._picked: list[_PickedUp] = []
        self._slaps: dict[int, _Slapped] = {}
        self._coming: dict[int, int] = {}
        self._was_at: dict[int, list[tuple[Pile, int]]] = {}
        self._since_shown: set[Seat] = set()
        self._ready: list[Telling] = []

    def expect(self, expectation: Expectation) -> None:
        """What the rules wait for now."""
        self._expects = expectation

    # --- hearing -----------------------------------------------------------------------------------

    def hear(self, observation: Observation) -> None:
        """Take in what a watcher saw."""
        match observation:
            case PileChanged():
                self._pile(observation)
            case Contact():
                self._contact(observation)
            case Lift():
                self._lift(observation)
            case Reached():
                self._reached(observation)
            case Gone():
                self._gone(observation)

    def tell(
        self, now_ns: int, *, hands: tuple[HandSeen, ...] = (), undecided_since_ns: int | None = None
    ) -> Iterator[Telling]:
        """What can be told by now, in the order in which it happened; corrections of what was told come first.

        ``hands``: those over the table now. ``undecided_since_ns``: since when something goes on at a pile.
        """
        self._now = now_ns
        self._settle_slaps()
        self._settle_picked()
        until = self.told_until(hands=hands, undecided_since_ns=undecided_since_ns)
        ready = sorted((w for w in self._queue if w.event.at.at_ns <= until), key=lambda w: w.event.at.at_ns)
        self._queue = [w for w in self._queue if w.event.at.at_ns > until]
        for waiting in ready:
            yield self._telling(waiting)
        yield from self._ready
        self._ready.clear()

    def finish(self) -> Iterator[Telling]:
        """Tell all that is left: nothing more will be seen."""
        self._now += MOST_HOLD_NS + CARRY_NS
        self._coming.clear()
        yield from self.tell(self._now)

    def told_until(self, *, hands: tuple[HandSeen, ...] = (), undecided_since_ns: int | None = None) -> int:
        """Up to when everything is told: nothing that happened before will be told any more, but late."""
        until = self._now - LEAST_HOLD_NS
        if undecided_since_ns is not None:
            until = min(until, undecided_since_ns - 1)
        for slapped in self._slaps.values():
            if not slapped.lifted and self._now - slapped.contact.at.at_ns < STAYS_NS + LEAST_HOLD_NS:
                until = min(until, slapped.contact.at.at_ns)
        for hand in hands:
            since = self._coming.get(hand.hand)
            if since is not None and self._now - since < HAND_HOLD_NS:
                until = min(until, since - 1)
        return max(until, self._now - MOST_HOLD_NS, self._told_ns)

    def _telling(self, waiting: _Waiting) -> Telling:
        at_ns = waiting.event.at.at_ns
        late, after = at_ns < self._told_ns, 0
        if late:
            after = next((key for told_ns, key in reversed(self._told) if told_ns <= at_ns), 0)
        else:
            self._told_ns = at_ns
        self._told.append((at_ns, waiting.key))
        self._told.sort(key=lambda pair: pair[0])
        del self._told[:-200]
        return Telling(waiting.key, waiting.event, late, after)

    def _say(self, event: Event) -> int:
        self._keys += 1
        self._queue.append(_Waiting(self._keys, event))
        return self._keys

    def _correct(self, key: int, event: Event | None) -> None:
        """Say better what was said; what is not told yet is simply exchanged."""
        for waiting in self._queue:
            if waiting.key == key:
                if event is None:
                    self._queue.remove(waiting)
                else:
                    waiting.event = event
                return
        self._ready.append(Telling(key, event))

    # --- hands -------------------------------------------------------------------------------------

    def _reached(self, news: Reached) -> None:
        self._was_at.setdefault(news.hand, []).append((news.pile, news.at.at_ns))
        if news.pile in self._places.slapped:
            self._coming[news.hand] = news.at.at_ns
        for picked in self._picked:
            theirs = picked.seat == news.seat and picked.target is None and news.pile != picked.source
            if theirs and news.at.at_ns > picked.at.at_ns - LAYING_NS and self._takes_cards(news.pile):
                picked.target, picked.target_ns = news.pile, news.at.at_ns

    def _takes_cards(self, pile: Pile) -> bool:
        return pile not in self._places.slapped and pile not in self._places.face_up.values()

    def _contact(self, news: Contact) -> None:
        self._coming.pop(news.hand, None)
        pile = news.pile
        if news.seat is None or pile not in self._places.slapped:
            self._was_at.setdefault(news.hand, []).append((pile, news.at.at_ns))
            self._handed_over(news)
            return
        if news.hand in self._slaps:
            return  # it lies there already; that it moved a little is no second slap
        confidence = 1.0 - 0.5 * news.gentle if news.trusted else UNCHECKED
        slap = Slap(at=news.at, seat=news.seat, pile=pile, confidence=confidence, provisional=True)
        self._slaps[news.hand] = _Slapped(self._say(slap), news, pile)
        self._since_shown.add(news.seat)

    def _lift(self, news: Lift) -> None:
        slapped = self._slaps.get(news.hand)
        if slapped is None or slapped.lifted or news.pile != slapped.pile:
            return
        slapped.lifted = True
        stayed_ns = news.at.at_ns - slapped.contact.at.at_ns
        soft = not slapped.contact.trusted or slapped.contact.gentle > 0.5
        if stayed_ns < HOVERED_NS and soft:
            self._correct(slapped.key, None)
        else:
            self._confirm(slapped)
            self._say(Lifted(at=news.at, seat=news.seat, pile=slapped.pile))
        self._slaps.pop(news.hand)

    def _gone(self, news: Gone) -> None:
        self._coming.pop(news.hand, None)
        self._was_at.pop(news.hand, None)
        slapped = self._slaps.pop(news.hand, None)
        if slapped is not None:
            self._confirm(slapped)
            self._say(Lifted(at=news.at, seat=news.seat, pile=slapped.pile))

    def _settle_slaps(self) -> None:
        for slapped in self._slaps.values():
            if not slapped.lifted and self._now - slapped.contact.at.at_ns >= STAYS_NS:
                self._confirm(slapped)

    def _confirm(self, slapped: _Slapped) -> None:
        contact = slapped.contact
        if slapped.key == 0 or contact.seat is None:
            return
        # What stays is no hover: how gently it came down says no more about whether it did.
        event = Slap(at=contact.at, seat=contact.seat, pile=slapped.pile)
        key = slapped.key
        queued = next((waiting for waiting in self._queue if waiting.key == key), None)
        current = queued.event if queued is not None else None
        if current is None or current.provisional:
            self._correct(key, event)
        slapped.key = 0

    def _handed_over(self, news: Contact) -> None:
        """A card given to another player goes unseen from one face-down pile to another."""
        if news.seat is None:
            return
        own = self._places.face_down.get(news.seat)
        path = [pile for pile, at_ns in self._was_at.get(news.hand, ()) if at_ns > news.at.at_ns - CARRY_NS]
        others = {pile for seat, pile in self._places.face_down.items() if seat != news.seat}
        if own is None or news.pile not in others or news.seat not in self._since_shown:
            return
        earlier = [pile for pile in path if pile != news.pile]
        if earlier and earlier[-1] == own:
            self._say(Moved(at=news.at, seat=news.seat, source=own, target=news.pile, count=1, confidence=UNCHECKED))
            self._was_at[news.hand] = []

    # --- piles -------------------------------------------------------------------------------------

    def _pile(self, change: PileChanged) -> None:
        before, after = change.before, change.after
        if after.lies is Lies.FACE:
            self._face(change)
        elif after.lies is Lies.NOTHING and before.lies in (Lies.FACE, Lies.BACK):
            self._emptied(change)
        elif after.lies is Lies.BACK:
            self._back(change)

    def _face(self, change: PileChanged) -> None:
        pile, card = change.pile, change.after.card
        stack = self._stacks.setdefault(pile, [])
        if self._is_same(change):
            return
        carried = next((p for p in self._picked if card is not None and p.top.card == card), None)
        if carried is not None and carried.source != pile:
            self._picked.remove(carried)
            moved = self._stacks.pop(carried.source, [])
            self._stacks.setdefault(pile, []).extend(moved or [card] if card else [])
            seat = carried.seat if carried.seat is not None else self._by(change)
            self._say(Moved(at=change.at, seat=seat, source=carried.source, target=pile))
            return
        if card is not None and len(stack) >= 2 and stack[-2] == card and self._places.holds_once(card):
            stack.pop()
            self._picked.append(
                _PickedUp(pile, self._by(change), change.at, change.before, change.settled_ns)
            )
            return
        if card is not None and any(card in held for held in self._stacks.values()) and self._places.holds_once(card):
            # It lies elsewhere, covered or carried off unseen: it was misread, or a pile moved; a card that the
            # deck holds once can't be shown twice.
            self._forget(card)
        if card is not None:
            stack.append(card)
        seat = self._by(change)
        source = self._places.face_down.get(seat) if seat is not None else None
        self._since_shown.clear()
        self._say(
            Shown(
                at=change.at,
                seat=seat,
                card=card,
                pile=pile,
                source=source,
                or_cards=change.after.or_cards if card is None else (),
                confidence=change.after.confidence,
            )
        )

    def _forget(self, card: Card) -> None:
        for held in self._stacks.values():
            while card in held:
                held.remove(card)

    def _is_same(self, change: PileChanged) -> bool:
        """Whether the card is the one that lay there before, nudged at most."""
        before, after = change.before, change.after
        if before.lies is not Lies.FACE or before.card != after.card:
            return False
        if after.card is not None and self._places.holds_once(after.card):
            return True
        if before.middle_mm is None or after.middle_mm is None:
            return True
        dx, dy = after.middle_mm[0] - before.middle_mm[0], after.middle_mm[1] - before.middle_mm[1]
        return dx * dx + dy * dy < NUDGED_MM**2 and not change.visitors

    def _by(self, change: PileChanged) -> Seat | None:
        """Who did it: who was there; of several the pile's owner, else who was there longest; else the owner."""
        owner = change.pile.seat
        there = [seat for seat, _ in change.visitors]
        if owner is not None and (owner in there or not there):
            return owner
        return there[0] if there else None

    def _taker(self, change: PileChanged) -> Seat | None:
        """Who took it: the last to be there."""
        if not change.visitors:
            return change.pile.seat
        return max(change.visitors, key=lambda visit: visit[1])[0]

    def _emptied(self, change: PileChanged) -> None:
        picked = _PickedUp(change.pile, self._taker(change), change.at, change.before, change.settled_ns)
        if change.before.lies is Lies.FACE:
            # Where the taker's hand has been since, the cards may lie already.
            for path in self._was_at.values():
                for pile, at_ns in path:
                    own = picked.seat is not None and pile == self._places.face_down.get(picked.seat)
                    if own and at_ns > change.at.at_ns and picked.target is None:
                        picked.target, picked.target_ns = pile, at_ns
            self._picked.append(picked)
        self._stacks.pop(change.pile, None) if change.before.lies is Lies.BACK else None

    def _back(self, change: PileChanged) -> None:
        """A face-down pile was there, changed, or came to be: what was picked up may lie there now."""
        there = {seat for seat, _ in change.visitors}
        for picked in list(self._picked):
            theirs = picked.seat is not None and change.pile == self._places.face_down.get(picked.seat)
            if not theirs or (there and picked.seat not in there):
                continue
            if change.settled_ns < picked.at.at_ns:
                continue
            at = change.at if change.at.at_ns >= picked.at.at_ns else picked.at.shifted(LAYING_NS)
            self._laid(picked, change.pile, at, was_empty=change.before.lies is Lies.NOTHING)

    def _settle_picked(self) -> None:
        """What was picked up and not seen again has been laid where the hand went next, or under the own pile."""
        for picked in list(self._picked):
            waited = self._now - picked.seen_ns
            if picked.target is not None and waited > LAYING_NS:
                self._laid(picked, picked.target, Instant(picked.target_ns, LAYING_SD_NS), was_empty=False)
            elif waited > CARRY_NS:
                own = self._places.face_down.get(picked.seat) if picked.seat is not None else None
                if own is not None:
                    self._laid(picked, own, picked.at.shifted(LAYING_NS), was_empty=False)
                else:
                    self._picked.remove(picked)

    def _laid(self, picked: _PickedUp, target: Pile, at: Instant, *, was_empty: bool) -> None:
        self._picked.remove(picked)
        own = picked.seat is not None and picked.source == self._places.face_up.get(picked.seat)
        single = bool(self._stacks.get(picked.source)) and picked.top.lies is Lies.FACE
        if not single:
            self._stacks.pop(picked.source, None)
        at = Instant(at.at_ns, max(at.sd_ns, LAYING_SD_NS // 3))
        if own and was_empty and not self._since_shown:
            self._say(Turned(at=at, seat=picked.seat, source=picked.source, target=target))
            return
        self._say(Moved(at=at, seat=picked.seat, source=picked.source, target=target))
