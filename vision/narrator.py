"""Tells what happened at the table as events, in the order in which it happened, from what the watchers saw."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from referee.cards import Card, Pile, Seat
from referee.events import Event, Finish, Lifted, Moved, Shown, Slap, Turned
from referee.game import Expectation, Layout
from referee.instant import Instant
from vision.hands.layers import Overlap, with_layers
from vision.hands.news import Contact, Gone, HandSeen, Lift, Reached
from vision.hands.order import Joined, Offset, joined
from vision.observation import Lies, Observation, PileChanged, Top
from vision.table import Point, Table

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
#: The probability that nothing hard stopped a hand, above which it did not strike.
SOFT = 0.3
#: And above which it was only brought there: held ready over the pile. If it strikes later, that is the slap.
SMOOTH = 0.7
#: Two contacts of one hand closer together than this are a tap and its echo; further apart, the first was a hand
#: held ready over the pile.
TAP_NS = 200 * MS
#: Fingertips are never faster; what was said to be, was another thing a moment ago. A slap that comes down slower
#: than this in the picture comes straight down, and then the hand was there before.
FASTEST_MPS, SLOWEST_MPS, JUMPED_NS = 8.0, 0.35, 1_000 * MS
#: Fingertips that moved less are still at rest; when a hand began to lift is known to about a frame.
STIRS_MM, LIFT_SD_NS = 15.0, 30 * MS
#: Hands that come down later than this after the last one belong to another slap; then the order is told.
RACE_NS = 240 * MS
#: Onsets are looked for so far around the hands, beside the offset's own doubt; and sound is waited for so long.
HEARD_NS, SOUND_WAIT_NS = 60 * MS, 1_200 * MS
#: An offset is kept where nearly all hands were heard; it stays open by this much.
WELL_HEARD, LEAST_OFFSET_SD_NS = 0.8, 3 * MS
#: A hand is held ready for no longer than this before it comes down; half as long where that can't be checked,
#: since hands are pushed about when others lift.
READY_NS = 1_200 * MS
#: A hand whose fingertips end so far short of a pile's middle is not on its card (half a card is 44 mm).
SHORT_MM = 50.0
#: A hand from wrist to fingertips, and half its breadth and half a card's.
HAND_MM, ASIDE_MM = 190.0, 75.0
#: An instant this long before the hand was seen at the pile is none; what is put in its place, and one that failed
#: its check, is this rough (on films with hands on hands: 75 ms).
EARLY_NS, ROUGH_NS = 70 * MS, 70 * MS
#: From picking cards up to laying them down.
CARRY_NS = 2_500 * MS
#: Time of laying down what was seen picked up, where the laying itself can't be seen (slid under a pile).
LAYING_NS, LAYING_SD_NS = 350 * MS, 120 * MS
#: From a hand's coming to a pile to its cards lying there.
REACHED_NS = 120 * MS
#: Visits remembered of each player; races remembered.
MOST_VISITS, MOST_RACES = 40, 2_000
#: A card nudged, or laid once more after a look under it, is the same card: where a deck holds it once.
NUDGED_MM = 25.0
#: A contact by its measured check: one that failed it may be a hand held still over the pile.
UNCHECKED = 0.98
#: One that passed it and stayed; one that was heard besides; one that was not, at a table where others were.
CHECKED, STRUCK, UNHEARD = 0.995, 0.9995, 0.8
#: A card laid is heard so near to when it was seen to lie; nobody's hand answers a card so fast (300 ms and more).
LAID_NS = 110 * MS
#: A card is hidden by the hands that slap for no longer than this.
HIDDEN_NS = 1_500 * MS
#: Onsets so near to each other may be one slap's (fingers, then palm); sound and picture are in tune to within this.
ONE_SOUND_NS, TUNED_NS = 6 * MS, 15 * MS
#: At a table where slaps are heard, hardly one is not.
HEARD_THERE = 0.97
#: From a card's being laid to its being read, hands over it apart.
READ_NS = 900 * MS
#: What the rules decide at unless the host says otherwise.
DECIDES = 0.99
#: Which cards went where is inferred from where they lie afterwards: the rules ask before they call it a fault.
INFERRED = 0.97


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


@dataclass(slots=True)
class _Slapped:
    """A hand on a pile that may be slapped, until it is known what it did there."""

    told: int
    """The key under which it is told."""
    contact: Contact
    pile: Pile
    confirmed: bool = False
    rested_mm: Point | None = None
    rested_ns: int = 0
    """Where its fingertips came to rest, and when they were last seen there."""


@dataclass(frozen=True, slots=True)
class Raced:
    """One race as it was settled: what was seen of each seat's first hand, what was heard, and all joined.

    ``layers``: log odds that the first seat's hand lies below the second's, as they were weighed in.
    """

    pile: Pile
    landed: Mapping[Seat, Instant]
    heard: tuple[Instant, ...]
    joined: Joined
    layers: Mapping[tuple[Seat, Seat], float] = field(default_factory=dict)


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


def _past(hand: HandSeen, point_mm: Point) -> tuple[float, float]:
    """How far the fingertips are past a point, along the arm, and how far the point is aside of it; mm."""
    (x1, y1), (x2, y2) = hand.entry_mm, hand.tip_mm
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    px, py = x2 - point_mm[0], y2 - point_mm[1]
    return px * dx + py * dy, py * dx - px * dy


Struck: TypeAlias = Callable[[int, int], tuple[Instant, ...] | None]


class Narrator:
    """Keeps what lies where; hears observations, and tells events once nothing earlier can come any more."""

    def __init__(self, places: Places, table: Table | None = None, struck: Struck | None = None) -> None:
        """For a game with such places.

        ``table`` tells where they are, to see whether a hand reaches them; ``struck(from_ns, to_ns)`` the onsets
        heard between two moments, None while the sound has not come so far.
        """
        self._struck = struck
        self._offset = Offset()
        self._hears = False
        self._undecided_ns: int | None = None
        self._covered: deque[tuple[int, int]] = deque(maxlen=8)
        """From when until when something went on at a pile, so that a card laid there was not seen at once."""
        self._laid_ns: deque[int] = deque(maxlen=8)
        self._listened_for: dict[int, _Slapped] = {}
        self._race: list[_Slapped] = []
        self.raced: deque[Raced] = deque(maxlen=MOST_RACES)
        """The races settled lately, for those who show what an order rests on."""
        self._overlaps: dict[tuple[int, int], Overlap] = {}
        self._places = places
        self._spots = {} if table is None else {spot.pile: spot.at_mm for spot in table.piles}
        self._seen: dict[int, HandSeen] = {}
        self._jumped: dict[int, int] = {}
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
        self._went: dict[Seat, list[tuple[Pile, int]]] = {}
        self._came: dict[int, list[tuple[Pile, int]]] = {}
        self._since_shown: set[Seat] = set()
        """Who has come down on a pile since the last card was shown; and who has taken cards since."""
        self._collected: set[Seat] = set()
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
            case Overlap():
                self._overlaps[observation.below, observation.above] = observation

    def tell(
        self, now_ns: int, *, hands: tuple[HandSeen, ...] = (), undecided_since_ns: int | None = None
    ) -> Iterator[Telling]:
        """What can be told by now, in the order in which it happened; corrections of what was told come first.

        ``hands``: those over the table now. ``undecided_since_ns``: since when something goes on at a pile.
        """
        self._now = now_ns
        self._undecided_ns = undecided_since_ns
        if undecided_since_ns is not None:
            goes_on = self._covered and self._covered[-1][1] >= undecided_since_ns
            since_ns = min(self._covered.pop()[0], undecided_since_ns) if goes_on else undecided_since_ns
            self._covered.append((since_ns, now_ns))
        self._follow(hands)
        self._settle_slaps()
        self._settle_race()
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
            if not slapped.confirmed:
                until = min(until, slapped.contact.at.at_ns)
        if self._race:
            until = min(until, max(slapped.contact.at.at_ns for slapped in self._race))
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
        if isinstance(event, Shown):
            self._laid_ns.append(event.at.at_ns)
        self._queue.append(_Waiting(self._keys, event))
        return self._keys

    def _correct(self, key: int, event: Event | None) -> None:
        """Say better what was said; what is not told yet is simply exchanged."""
        if event is None:
            self._listened_for.pop(key, None)
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
        self._came.setdefault(news.hand, []).append((news.pile, news.at.at_ns))
        self._visit(news)
        if news.pile in self._places.slapped:
            self._coming[news.hand] = news.at.at_ns

    def _takes_cards(self, pile: Pile) -> bool:
        return pile not in self._places.slapped and pile not in self._places.face_up.values()

    def _contact(self, news: Contact) -> None:
        self._coming.pop(news.hand, None)
        pile = self._slapped_at(news)
        if news.seat is None or pile is None:
            self._handed_over(news.seat, pile=news.pile, at=news.at)
            self._visit(news)
            return
        if self._is_mistaken(news):
            return
        news = self._possible(news, pile)
        lying = self._slaps.get(news.hand)
        if lying is not None and not self._comes_down_anew(lying, news):
            return
        if news.gentle > SMOOTH:
            return
        if self._is_again(news, pile):
            return
        key = self._say(
            self._slap(news, pile, 1.0 - 0.5 * news.gentle if news.trusted else UNCHECKED, provisional=True)
        )
        self._slaps[news.hand] = _Slapped(key, news, pile)
        if self._race and (self._race[0].pile != pile or self._ended_ns(self._race) < news.at.at_ns):
            self._race = []
        self._race.append(self._slaps[news.hand])
        if news.seat is not None:
            self._since_shown.add(news.seat)

    def _slap(self, news: Contact, pile: Pile, confidence: float, *, provisional: bool) -> Slap:
        return Slap(at=news.at, seat=news.seat, pile=pile, confidence=confidence, provisional=provisional)

    def _comes_down_anew(self, lying: _Slapped, news: Contact) -> bool:
        """Whether a hand that lay on the pile by what was seen so far only now comes down; then that is taken back.

        Held over the pile first and brought down now: this is the slap. That it only stirred, or tapped twice, is
        none. The watcher has compared how it lay where it says so. Where neither instant is sure, both may be the
        slap, and the doubt spans them.
        """
        before = lying.contact
        apart_ns = news.at.at_ns - before.at.at_ns
        taken_back = news.instead_of == before.rest_ns
        if not taken_back and not TAP_NS < apart_ns <= (READY_NS if news.trusted else READY_NS // 2):
            return False
        strikes = news.gentle < SOFT and news.speed_mps >= SLOWEST_MPS
        if (strikes and (news.trusted or not before.trusted)) or (taken_back and news.gentle <= SMOOTH):
            # Not amended but taken back: in its new place it may come after a card that was shown meanwhile.
            self._correct(lying.told, None)
            self._race = [slapped for slapped in self._race if slapped is not lying]
            return True
        if taken_back or not before.trusted:
            middle = Instant(before.at.at_ns + apart_ns // 2, max(ROUGH_NS, abs(apart_ns) // 2))
            rest_ns = news.rest_ns if taken_back else before.rest_ns
            lying.contact = replace(before, at=middle, trusted=False, rest_ns=rest_ns)
            self._correct(lying.told, self._slap(lying.contact, lying.pile, UNCHECKED, provisional=not lying.confirmed))
        return False

    def _sureness(self, news: Contact) -> float | None:
        """How sure it is that a hand that stayed did come down; None while the sound has not come so far.

        A hand held still just over the pile looks like one that lies on it, and two hands that overlap may be
        one: each makes a sound of its own only if it strikes.
        """
        seen = CHECKED if news.trusted else UNCHECKED
        if self._struck is None:
            return seen
        reach = HEARD_NS // 2 + round(2 * math.hypot(self._offset.sd_ns, news.at.sd_ns))
        middle = news.at.at_ns + self._offset.ns
        heard = self._struck(middle - reach, middle + reach)
        if heard is not None:
            heard = self._without_cards(heard)
        # A card that is still to be told may be what was heard.
        unread = self._now < news.at.at_ns + READ_NS or (
            self._undecided_ns is not None and self._undecided_ns < news.at.at_ns + reach
        )
        if heard is None and self._now < middle + reach + SOUND_WAIT_NS:
            return None
        if unread and self._now < news.at.at_ns + MOST_HOLD_NS:
            return None
        if not heard:
            return UNHEARD if self._hears else UNCHECKED
        self._hears = True
        if self._shares(news, heard) or self._may_answer_a_card(news.at.at_ns):
            return UNCHECKED
        return STRUCK if news.trusted else CHECKED

    def _may_answer_a_card(self, at_ns: int) -> bool:
        """Whether a card seen only after the slap may have lain there before it, with hands over it."""
        covered = any(since <= at_ns <= until for since, until in self._covered)
        return covered and any(at_ns < laid_ns < at_ns + HIDDEN_NS for laid_ns in self._laid_ns)

    def _shares(self, news: Contact, heard: tuple[Instant, ...]) -> bool:
        """Whether another hand may have made the same sound: two at once, or one hand taken for two."""

        def nearest(at: Instant) -> Instant:
            return min(heard, key=lambda onset: abs(onset.at_ns - self._offset.ns - at.at_ns))

        own = nearest(news.at)
        others = [slapped.contact for slapped in self._race if slapped.contact.hand != news.hand]
        shared = [other for other in others if abs(nearest(other.at).at_ns - own.at_ns) < ONE_SOUND_NS]
        reach = round(2 * math.hypot(news.at.sd_ns, self._offset.sd_ns))
        return any(abs(other.at.at_ns - news.at.at_ns) <= reach + 2 * other.at.sd_ns for other in shared)

    def _without_cards(self, heard: tuple[Instant, ...]) -> tuple[Instant, ...]:
        """The onsets that no card made that was laid just then: it snaps against the table too."""
        at_ns = [onset.at_ns - self._offset.ns for onset in heard]
        return tuple(
            onset
            for onset, when in zip(heard, at_ns, strict=True)
            if all(abs(when - laid_ns) > LAID_NS for laid_ns in self._laid_ns)
        )

    def _is_again(self, news: Contact, pile: Pile) -> bool:
        """Whether that player's hand lies there already, under another number.

        Hands that overlap are lost and found again. Of two measurements of one slap the checked one counts.
        """
        for slapped in [other for other in self._race if other.contact.seat == news.seat and other.pile == pile]:
            apart_ns = news.at.at_ns - slapped.contact.at.at_ns
            if not news.trusted or (slapped.contact.trusted and apart_ns <= TAP_NS):
                return apart_ns < RACE_NS + STAYS_NS or slapped.contact.hand in self._slaps
            if not slapped.contact.trusted and abs(apart_ns) <= TAP_NS:
                self._correct(slapped.told, None)
                self._slaps.pop(slapped.contact.hand, None)
                self._race.remove(slapped)
        return False

    def _is_mistaken(self, news: Contact) -> bool:
        """Whether it is no hand that came down: it was not seen to come, and nothing moved where it lies.

        A card just laid is taken for its hand left behind, and given the way of a hand that slaps nearby.
        """
        jumped_ns = self._jumped.get(news.hand)
        lately = jumped_ns is not None and news.rest_ns - jumped_ns < JUMPED_NS
        return lately and not news.trusted and news.speed_mps < SLOWEST_MPS

    def _slapped_at(self, news: Contact) -> Pile | None:
        """The pile that may be slapped on which the hand lies: it reaches its card, however far beyond."""
        if not self._spots:
            return news.pile if news.pile in self._places.slapped else None
        hand = self._seen.get(news.hand)
        for pile in sorted(self._places.slapped, key=str):
            if hand is None:
                return pile if news.pile == pile else None
            if (pile == news.pile or pile in hand.over) and self._reaches(hand, pile):
                return pile
        return None

    def _possible(self, news: Contact, pile: Pile) -> Contact:
        """A hand can't touch a pile before it came to it: an instant that says so is no instant."""
        came = [at_ns for where, at_ns in self._came.get(news.hand, ()) if where == pile]
        if not came or news.at.at_ns >= came[-1] - EARLY_NS:
            return news if news.trusted else replace(news, at=Instant(news.at.at_ns, max(news.at.sd_ns, ROUGH_NS)))
        middle = (came[-1] + news.rest_ns) // 2
        rough = max(ROUGH_NS, (news.rest_ns - came[-1]) // 2)
        reason = "timed before the hand was there"
        return replace(news, at=Instant(middle, rough), trusted=False, reason=reason)

    def _lift(self, news: Lift) -> None:
        slapped = self._slaps.get(news.hand)
        # Where the table is known, the hand's own fingertips tell when it leaves the card (see `_follow`).
        if slapped is not None and not self._spots and news.pile == slapped.pile:
            self._end(slapped, news.at)

    def _follow(self, hands: tuple[HandSeen, ...]) -> None:
        """Where hands are now; one that has drawn back from a pile has lifted when it began to."""
        for hand in hands:
            if hand.speed_mps > FASTEST_MPS and hand.hand in self._seen:
                self._jumped[hand.hand] = hand.at.at_ns
            self._seen[hand.hand] = hand
            slapped = self._slaps.get(hand.hand)
            if slapped is None or not self._spots:
                continue
            if slapped.rested_mm is None:
                slapped.rested_mm = hand.tip_mm
            if math.dist(hand.tip_mm, slapped.rested_mm) <= STIRS_MM:
                slapped.rested_ns = hand.at.at_ns
            if not self._reaches(hand, slapped.pile):
                self._end(slapped, Instant(max(slapped.rested_ns, slapped.contact.at.at_ns), LIFT_SD_NS))

    def _reaches(self, hand: HandSeen, pile: Pile) -> bool:
        """Whether the hand lies over the middle of a pile, or ends not far short of it."""
        ahead, aside = _past(hand, self._spots[pile])
        return -SHORT_MM <= ahead <= HAND_MM and abs(aside) <= ASIDE_MM

    def _gone(self, news: Gone) -> None:
        self._coming.pop(news.hand, None)
        self._came.pop(news.hand, None)
        self._seen.pop(news.hand, None)
        self._jumped.pop(news.hand, None)
        self._overlaps = {pair: each for pair, each in self._overlaps.items() if news.hand not in pair}
        slapped = self._slaps.get(news.hand)
        if slapped is not None:
            self._end(slapped, news.at)

    def _end(self, slapped: _Slapped, at: Instant) -> None:
        """The hand is off the pile: now it is known what it did there."""
        contact = slapped.contact
        del self._slaps[contact.hand]
        stayed_ns = at.at_ns - contact.at.at_ns
        if stayed_ns < HOVERED_NS and (contact.gentle > SOFT or not contact.trusted):
            if not slapped.confirmed:
                self._correct(slapped.told, None)
                self._race = [other for other in self._race if other is not slapped]
            return
        self._confirm(slapped)
        self._say(Lifted(at=Instant(max(at.at_ns, contact.at.at_ns), at.sd_ns), seat=contact.seat, pile=slapped.pile))

    def _settle_slaps(self) -> None:
        for slapped in tuple(self._listened_for.values()):
            self._confirm(slapped)
        for slapped in self._slaps.values():
            if self._now - slapped.contact.at.at_ns >= STAYS_NS:
                self._confirm(slapped)

    @staticmethod
    def _ended_ns(race: list[_Slapped]) -> int:
        return max(slapped.contact.at.at_ns for slapped in race) + RACE_NS

    def _settle_race(self) -> None:
        """Once all hands are down: in which order, by picture and sound jointly."""
        race = self._race
        if not race or self._now < self._ended_ns(race) or not all(slapped.confirmed for slapped in race):
            return
        landed: dict[Seat, Instant] = {}
        for slapped in sorted(race, key=lambda slapped: slapped.contact.at.at_ns):
            if slapped.contact.seat is not None:
                landed.setdefault(slapped.contact.seat, slapped.contact.at)
        if len(landed) < 2:
            self._race = []
            return
        first, last = min(at.at_ns for at in landed.values()), max(at.at_ns for at in landed.values())
        reach = HEARD_NS + 2 * self._offset.sd_ns
        heard = self._struck(first + self._offset.ns - reach, last + self._offset.ns + reach) if self._struck else ()
        if heard is None:
            if self._now < self._ended_ns(race) + SOUND_WAIT_NS:
                return
            heard = ()
        heard = self._without_cards(heard)
        self._race = []
        if self._offset.sd_ns < TUNED_NS:
            both = joined(landed, heard, self._offset, hears=HEARD_THERE)
        else:
            both = joined(landed, heard, self._offset)
        if both.heard >= WELL_HEARD * len(landed):
            # Drift between the clocks of sound and picture, and what the next slap's picture leaves open.
            self._offset = Offset(both.offset.ns, max(both.offset.sd_ns, LEAST_OFFSET_SD_NS))
        layers = self._layers(race)
        both = with_layers(both, layers)
        self.raced.append(Raced(race[0].pile, landed, heard, both, layers))
        orders = tuple((tuple(seat for seat in order if isinstance(seat, int)), p) for order, p in both.orders)
        leading = max(both.first().values(), default=0.0)
        for slapped in race:
            # Where nothing decides, a hand that was not timed is to be asked about; it makes no tie.
            if leading < DECIDES and not slapped.contact.trusted:
                vague = self._slap(slapped.contact, slapped.pile, UNCHECKED, provisional=False)
                self._correct(slapped.told, vague)
        if orders:
            self._say(Finish(at=Instant(last), pile=race[0].pile, orders=orders))

    def _layers(self, race: list[_Slapped]) -> dict[tuple[Seat, Seat], float]:
        """Of two seats of a race: the log odds that the first's hand lies below the second's."""
        seats = {slapped.contact.hand: slapped.contact.seat for slapped in race}
        out: dict[tuple[Seat, Seat], float] = {}
        for (below, above), overlap in self._overlaps.items():
            one, other = seats.get(below), seats.get(above)
            if one is not None and other is not None and overlap.pile == race[0].pile:
                out[one, other] = overlap.log_odds
        return out

    def _confirm(self, slapped: _Slapped) -> None:
        """What stays is no hover, if it was heard: how gently it came down says no more about whether it did."""
        if slapped.confirmed:
            return
        sure = self._sureness(slapped.contact)
        if sure is None:
            self._listened_for[slapped.told] = slapped
            return
        self._listened_for.pop(slapped.told, None)
        if sure == UNHEARD and not slapped.contact.trusted and self._offset.sd_ns < TUNED_NS:
            # Neither timed nor heard, where slaps are heard to the moment: a hand held there, or none.
            self._correct(slapped.told, None)
            self._slaps.pop(slapped.contact.hand, None)
            self._race = [other for other in self._race if other is not slapped]
            return
        slapped.confirmed = True
        self._correct(slapped.told, self._slap(slapped.contact, slapped.pile, sure, provisional=False))

    def _visit(self, news: Reached | Contact) -> None:
        if news.seat is None:
            return
        went = self._went.setdefault(news.seat, [])
        went.append((news.pile, news.at.at_ns))
        del went[:-MOST_VISITS]

    def _handed_over(self, seat: Seat | None, pile: Pile, at: Instant) -> None:
        """A card given to another player goes unseen from one face-down pile to another."""
        if seat is None or seat not in self._since_shown or seat in self._collected:
            return  # nobody owes a card who has not come down on a pile since the last one was shown
        own = self._places.face_down.get(seat)
        others = {other for who, other in self._places.face_down.items() if who != seat}
        if own is None or pile not in others:
            return
        earlier = [
            was
            for was, at_ns in self._went.get(seat, ())
            if at.at_ns - CARRY_NS < at_ns < at.at_ns + EARLY_NS and was != pile
        ]
        if own in earlier:
            self._since_shown.discard(seat)
            self._say(Moved(at=at, seat=seat, source=own, target=pile, count=1, confidence=INFERRED))

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
            self._say(Moved(at=change.at, seat=seat, source=carried.source, target=pile, confidence=INFERRED))
            return
        if card is not None and len(stack) >= 2 and stack[-2] == card and self._places.holds_once(card):
            stack.pop()
            self._picked.append(_PickedUp(pile, self._by(change), change.at, change.before, change.settled_ns))
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
        self._collected.clear()
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
        """Who did it: the pile's owner where theirs was among the hands, else the nearest hand, else the owner."""
        owner = change.pile.seat
        there = change.at_hand or change.visitors
        if owner is not None and (owner in there or not there):
            return owner
        return there[0] if there else None

    def _taker(self, change: PileChanged) -> Seat | None:
        """Who took what lay there: the nearest hand at that moment, else who was there longest."""
        there = change.at_hand or change.visitors
        return there[0] if there else change.pile.seat

    def _emptied(self, change: PileChanged) -> None:
        if change.before.lies is Lies.FACE:
            taker = self._taker(change)
            self._picked.append(_PickedUp(change.pile, taker, change.at, change.before, change.settled_ns))
            if taker is not None:
                self._collected.add(taker)

    def _back(self, change: PileChanged) -> None:
        """A pile turned face down where none lay: what was picked up lies there now."""
        if change.before.lies is not Lies.NOTHING:
            # Seen less surely than a hand at rest there: only where there is no doubt who may owe a card.
            for seat in dict.fromkeys((*change.at_hand, *change.visitors)) if len(self._since_shown) == 1 else ():
                self._handed_over(seat, change.pile, change.at)
            return
        for picked in list(self._picked):
            if change.pile.seat in (picked.seat, picked.source.seat) and change.at.at_ns >= picked.at.at_ns - CARRY_NS:
                self._laid(picked, change.pile, change.at, was_empty=True)
                return

    def _settle_picked(self) -> None:
        """What was picked up and not seen again has been laid where the hand went next, or under the own pile."""
        for picked in list(self._picked):
            if picked.seat is None:
                self._picked.remove(picked)
                continue
            waited = self._now - picked.seen_ns
            own = self._places.face_down.get(picked.seat)
            # Who takes cards up puts them under their own pile; what is laid face up again is seen there.
            went = next(
                (
                    (pile, at_ns)
                    for pile, at_ns in self._went.get(picked.seat, ())
                    if at_ns > picked.at.at_ns and (pile == own if own is not None else self._takes_cards(pile))
                ),
                None,
            )
            if went is not None and waited > LAYING_NS:
                self._laid(picked, went[0], Instant(went[1] + REACHED_NS, LAYING_SD_NS), was_empty=False)
            elif waited > CARRY_NS and own is not None:
                self._laid(picked, own, Instant(picked.at.at_ns + LAYING_NS, LAYING_SD_NS), was_empty=False)
            elif waited > CARRY_NS:
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
        self._say(Moved(at=at, seat=picked.seat, source=picked.source, target=target, confidence=INFERRED))
