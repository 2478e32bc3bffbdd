"""Watches every pile's place: when it is disturbed, when it comes to rest, and what lies there then."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from referee.cards import Card, Pile, Seat
from referee.instant import Instant
from vision.cards.seen import NO_CARD, SeenCard
from vision.cards.vote import Vote
from vision.frame import Frame, Image
from vision.hands.news import HandSeen
from vision.observation import Lies, PileChanged, Top
from vision.table import PileSpot, Table, apply

MS = 1_000_000

#: Patches are compared at this scale: a card's pips are 2 pixels and more, noise averages out.
PATCH_PX_PER_MM = 0.5
#: Grey levels by which a pixel of a patch must change to count, and at least so many times the clip's noise.
LEAST_CHANGE = 14.0
NOISE_UNITS = 5.0
#: Share of a patch's pixels that must change. A card exchanged for another changes 3 % and more (a two for a
#: three), a fingertip at the rim 1 %.
DISTURBED = 0.012
MOVING = 0.006
#: Frames closer together than this are not compared for movement: at 240 fps a slow hand moves too little.
STEP_NS = 30 * MS
#: A pile at rest for so long is looked at; a hand that lays a card pauses for less.
REST_NS = 70 * MS
#: Where a look told nothing (a hand covers it), the next one comes so much later.
AGAIN_NS = 180 * MS
#: A place must look empty on looks so far apart before it counts as empty: one missed card is no empty place.
EMPTY_FOR_NS = 240 * MS
#: How sure it is that nothing lies where no card is found and no empty place was seen there before.
UNSEEN_EMPTY = 0.9
#: Looks that vote on one card, and the confidence that ends the vote earlier.
MOST_VOTES = 5
ENOUGH = 0.995
#: A look's field beside the card: cards lie askew and aside.
VIEW_CARDS = 1.9
#: A quad whose sides are this far from a card's own is a part of one, or two.
SIDE_TOLERANCE = 0.16
#: A reading that gives the deck's own cards less than this together is of something else.
LEAST_OF_THE_DECK = 0.3
#: The kind of pile that is kept face down.
FACE_DOWN_KIND = "down"
#: How long the past is kept to find when a card came to lie: longer than any hand stays over it.
PAST_NS = 4_000 * MS
#: Frames kept of the past are at least so far apart.
PAST_STEP_NS = 8 * MS
#: Share of the telling pixels that must look as at rest for a card to lie there: a hand still on it covers half.
LANDED_SHARE = 0.5
#: An arm seen over the pile so near the moment of the change was there when it happened.
AT_HAND_NS = 150 * MS
#: Beside the time between frames: a card is down a little before it looks as at rest.
LANDING_SD_NS = 25 * MS


class Reader(Protocol):
    """Finds and reads cards in a picture; `vision.cards.read.CardReader` is one."""

    def read(self, image: Image, card_side_px: float | None = None) -> tuple[SeenCard, ...]:
        """The cards in ``image``; ``card_side_px``: a card's longer side in it, where it is known."""
        ...


@dataclass(slots=True, eq=False)
class _Place:
    """One pile's place and what is known of it."""

    spot: PileSpot
    matrix: NDArray[np.float64]
    """(3, 3): pixels of the frame to the patch's own at double scale (halved after warping)."""
    side_px: int
    top: Top
    look: NDArray[np.float32] | None = None
    """The patch as it looked at rest."""
    empty: NDArray[np.float32] | None = None
    """The patch with nothing on it, once that was seen."""
    past: deque[tuple[int, NDArray[np.uint8]]] = field(default_factory=deque)
    disturbed_ns: int | None = None
    still_since_ns: int = 0
    look_again_ns: int = 0
    hidden_ns: int = -(1 << 62)
    """When an arm was last over it."""
    nothing_since_ns: int | None = None
    vote: Vote = field(default_factory=Vote)
    stays: Counter[Seat] = field(default_factory=Counter)
    there: list[tuple[int, tuple[tuple[float, Seat], ...]]] = field(default_factory=list)
    """Since the pile was disturbed: when, and whose arms were over it, their fingertips how far from its middle."""


class PileWatcher:
    """Looks at every pile of a table in every frame, cheaply; reads cards only where something came to rest."""

    def __init__(
        self,
        table: Table,
        reader: Reader,
        *,
        unread: frozenset[Pile] = frozenset(),
        deck: frozenset[Card] = frozenset(),
    ) -> None:
        """``unread``: places where no cards are laid (a spot to slap). ``deck``: what cards there are, if known."""
        self._deck = frozenset(card.name for card in deck)
        self._table = table
        self._reader = reader
        self._places = [self._place(spot) for spot in table.piles if spot.pile not in unread]
        self._noise = 2.0
        self._begun = False
        self.reads = 0
        """How often cards were looked for, for the books."""

    def _place(self, spot: PileSpot) -> _Place:
        side = max(8, round(2 * spot.radius_mm * PATCH_PX_PER_MM))
        matrix = self._table.patch_from_px(
            spot.at_mm, (2 * spot.radius_mm, 2 * spot.radius_mm), 2 * PATCH_PX_PER_MM, spot.angle_deg
        )
        return _Place(spot, matrix, side, Top(Lies.UNKNOWN))

    @property
    def tops(self) -> dict[Pile, Top]:
        """What lies on top of every pile, as far as it is known."""
        return {place.spot.pile: place.top for place in self._places}

    def undecided_since_ns(self) -> int | None:
        """Since when something is going on that isn't told yet; None while all is at rest."""
        times = [place.disturbed_ns for place in self._places if place.disturbed_ns is not None]
        return min(times, default=None)

    def watch(self, frame: Frame, hands: Sequence[HandSeen] = ()) -> Iterator[PileChanged]:
        """Take one frame; tells what has changed and come to rest."""
        if frame.size_px != self._table.image_size_px:
            expected = "x".join(map(str, self._table.image_size_px))
            raise BadInput.of("picture", f"{expected} as in the table file", "x".join(map(str, frame.size_px)))
        grey = np.asarray(cv2.cvtColor(frame.image, cv2.COLOR_BGR2GRAY), np.uint8)
        for place in self._places:
            yield from self._watch(place, frame, grey, hands)
        self._begun = True

    # --- one place ---------------------------------------------------------------------------------

    def _patch(self, place: _Place, grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
        double = 2 * place.side_px
        fine = cv2.warpPerspective(
            grey, place.matrix, (double, double), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
        )
        return np.asarray(cv2.resize(fine, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA), np.uint8)

    def _watch(
        self, place: _Place, frame: Frame, grey: NDArray[np.uint8], hands: Sequence[HandSeen]
    ) -> Iterator[PileChanged]:
        now = frame.at_ns
        patch = self._patch(place, grey)
        past = place.past
        earlier = next((old for at, old in reversed(past) if at <= now - STEP_NS), None)
        if not past or now - past[-1][0] >= PAST_STEP_NS:
            past.append((now, patch))
        while past[0][0] < now - PAST_NS:
            past.popleft()
        if earlier is None:
            place.still_since_ns = now
            return
        if self._changed(patch, earlier) > MOVING:
            place.still_since_ns = now
        self._note_visitors(place, now, hands)
        if place.look is None:  # never seen at rest yet
            if now - place.still_since_ns >= REST_NS and now >= place.look_again_ns:
                self._first_look(place, frame, patch)
            return
        if place.disturbed_ns is None:
            if self._changed(patch, place.look) <= DISTURBED:
                self._settle_in(place, patch)
                return
            place.disturbed_ns = now
            place.vote = Vote()
            place.nothing_since_ns = None
            place.look_again_ns = now
        if now - place.still_since_ns < REST_NS or now < place.look_again_ns:
            return
        if self._changed(patch, place.look) <= DISTURBED:
            self._rest(place, patch)
            return
        after = self._look(place, frame, patch)
        if after is None:
            return
        yield from self._settled(place, frame, patch, after)

    def _changed(self, patch: NDArray[np.uint8], other: NDArray[np.uint8] | NDArray[np.float32]) -> float:
        """Share of the pixels that differ, a common change of light left out."""
        difference = patch.astype(np.float32) - other
        difference -= float(np.median(difference))
        return float((np.abs(difference) > max(LEAST_CHANGE, NOISE_UNITS * self._noise)).mean())

    def _settle_in(self, place: _Place, patch: NDArray[np.uint8]) -> None:
        """Follow slow changes of light while nothing happens."""
        assert place.look is not None
        cv2.accumulateWeighted(patch, place.look, 0.05)
        if place.top.lies is Lies.NOTHING:
            place.empty = place.look
        place.stays.clear()
        place.there.clear()

    def _rest(self, place: _Place, patch: NDArray[np.uint8]) -> None:
        place.disturbed_ns = None
        place.look = patch.astype(np.float32)
        place.vote = Vote()
        place.nothing_since_ns = None
        place.stays.clear()
        place.there.clear()

    def _note_visitors(self, place: _Place, now: int, hands: Sequence[HandSeen]) -> None:
        over = [hand for hand in hands if place.spot.pile in hand.over]
        if not over:
            return
        place.hidden_ns = now
        known = sorted((math.dist(hand.tip_mm, place.spot.at_mm), h) for hand in over if (h := hand.seat) is not None)
        place.stays.update({seat for _, seat in known})
        place.there.append((now, tuple(known)))

    def _first_look(self, place: _Place, frame: Frame, patch: NDArray[np.uint8]) -> None:
        top = self._look(place, frame, patch)
        if top is not None:
            place.top = top
            self._rest(place, patch)

    # --- looking -----------------------------------------------------------------------------------

    def _look(self, place: _Place, frame: Frame, patch: NDArray[np.uint8]) -> Top | None:
        """What lies there, None while it can't be told yet."""
        now = frame.at_ns
        if place.empty is not None and self._changed(patch, place.empty) <= DISTURBED:
            return Top(Lies.NOTHING)
        seen = self._read(place, frame)
        if seen is None:
            place.look_again_ns = now + AGAIN_NS
            place.vote = Vote()
            since = max(place.still_since_ns, place.hidden_ns)
            if place.nothing_since_ns is None or place.nothing_since_ns < since:
                place.nothing_since_ns = now
            bare = now - place.nothing_since_ns >= EMPTY_FOR_NS
            return Top(Lies.NOTHING, confidence=UNSEEN_EMPTY) if bare else None
        place.nothing_since_ns = None
        place.vote = place.vote.with_frame(seen)
        verdict = place.vote.verdict(ENOUGH)
        assert verdict is not None
        if verdict.face == "down" and place.hidden_ns == now:
            place.look_again_ns = now + AGAIN_NS
            return None  # the pattern of a back is not so sure to read that a hand can't be taken for one
        if verdict.face == "down":
            return Top(Lies.BACK, confidence=verdict.confidence, quad_mm=verdict.quad.astype(np.float64))
        if verdict.card is None and place.vote.frames < MOST_VOTES:
            place.look_again_ns = now + STEP_NS
            return None
        named = place.vote.verdict(0.5) or verdict
        return Top(
            Lies.FACE,
            Card.parse(named.card) if named.card else None,
            named.confidence,
            tuple(Card.parse(card) for card in named.or_cards if card != named.card and card != "nothing"),
            named.quad.astype(np.float64),
        )

    def _read(self, place: _Place, frame: Frame) -> SeenCard | None:
        """The card on the pile, its quad in mm; None where there is none to be seen whole."""
        table, spot = self._table, place.spot
        scale = table.px_per_mm(spot.at_mm)
        width = height = VIEW_CARDS * max(table.card_mm)
        matrix = table.patch_from_px(spot.at_mm, (width, height), scale, spot.angle_deg)
        size = (max(16, round(width * scale)), max(16, round(height * scale)))
        view = cv2.warpPerspective(frame.image, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        self.reads += 1
        found = self._reader.read(np.asarray(view, np.uint8), max(table.card_mm) * scale)
        to_mm = table.mm_from_px @ np.linalg.inv(matrix)
        best: tuple[float, SeenCard] | None = None
        for seen in found:
            quad_mm = apply(to_mm, seen.quad)
            aside = float(np.hypot(*(quad_mm.mean(axis=0) - spot.at_mm)))
            if aside > spot.radius_mm * 0.75 or not _is_whole(quad_mm, table.card_mm):
                continue
            if best is None or aside < best[0]:
                best = (aside, _moved(self._of_the_deck(seen, spot.pile), quad_mm))
        return best[1] if best else None

    def _of_the_deck(self, seen: SeenCard, pile: Pile) -> SeenCard:
        """The reading among the cards that there are.

        Where none of them is likely, something else lies there: on a pile that is kept face down, a back that
        the reader took for a face. What is rather no card than any is not named, however often it is seen so.
        """
        if not self._deck or seen.face == "down":
            return seen
        known = tuple((card, p) for card, p in seen.alternatives if card in self._deck)
        total = sum(p for _, p in known)
        if total < LEAST_OF_THE_DECK:
            face = "down" if pile.kind == FACE_DOWN_KIND else "up"
            return replace(seen, card=None, face=face, alternatives=() if face == "down" else known)
        if seen.alternatives[0][0] == NO_CARD:
            return replace(seen, card=None, alternatives=())
        card = seen.card if seen.card in self._deck else None
        return replace(seen, card=card, alternatives=tuple((name, p / total) for name, p in known))

    # --- what it means -----------------------------------------------------------------------------

    def _settled(self, place: _Place, frame: Frame, patch: NDArray[np.uint8], after: Top) -> Iterator[PileChanged]:
        began = place.disturbed_ns if place.disturbed_ns is not None else frame.at_ns
        before = place.top
        at = self._landed(place, frame, patch, before, after)
        visitors = tuple(seat for seat, _ in place.stays.most_common())
        at_hand: tuple[Seat, ...] = ()
        if place.there:
            near_ns, known = min(place.there, key=lambda visit: abs(visit[0] - at.at_ns))
            if abs(near_ns - at.at_ns) <= AT_HAND_NS:
                at_hand = tuple(dict.fromkeys(seat for _, seat in known))
        self._rest(place, patch)
        place.top = after
        yield PileChanged(
            pile=place.spot.pile,
            at=at,
            began_ns=began,
            settled_ns=frame.at_ns,
            before=before,
            after=after,
            visitors=visitors,
            at_hand=at_hand,
        )

    def _landed(self, place: _Place, frame: Frame, patch: NDArray[np.uint8], before: Top, after: Top) -> Instant:
        """The earliest frame, with the next one, in which the place looks as now.

        Only pixels that tell now from before are asked, and those of an arm in between tell neither.
        """
        assert place.look is not None
        now, was = patch.astype(np.float32), place.look
        level = max(LEAST_CHANGE, NOISE_UNITS * self._noise)
        mask = (np.abs(now - was) > level) & (self._card_mask(place, after) | self._card_mask(place, before))
        if not mask.any():
            return Instant(frame.at_ns, LANDING_SD_NS)
        began = place.disturbed_ns if place.disturbed_ns is not None else frame.at_ns
        earliest, earlier = frame.at_ns, frame.at_ns
        gone = after.lies is Lies.NOTHING
        later_too = True
        for at_ns, old in reversed(place.past):
            earlier = at_ns
            as_before = float((np.abs(was[mask] - old[mask]) <= level).mean())
            as_now = float((np.abs(now[mask] - old[mask]) <= level).mean())
            # What is gone is gone for good: an arm can look like the bare table for a moment. A card, though, may
            # be hidden again by what looks like the one before.
            if at_ns < began - STEP_NS or (gone and as_before >= LANDED_SHARE):
                break
            here = as_now >= LANDED_SHARE and as_now > as_before
            if here and later_too:
                earliest = at_ns
            later_too = here
        previous = max((at_ns for at_ns, _ in place.past if at_ns < earliest), default=earlier)
        step = earliest - previous
        return Instant(earliest - step // 2, round((frame.sd_ns**2 + LANDING_SD_NS**2 + step**2 / 12) ** 0.5))

    def _card_mask(self, place: _Place, top: Top) -> NDArray[np.bool_]:
        side = place.side_px
        if top.quad_mm is None:
            return np.ones((side, side), np.bool_)
        px = apply(place.matrix, self._table.to_px(top.quad_mm)) / 2
        mask = np.zeros((side, side), np.uint8)
        cv2.fillConvexPoly(mask, np.round(px).astype(np.int32), 1)
        return mask.astype(np.bool_) if mask.any() else np.ones((side, side), np.bool_)


def _is_whole(quad_mm: NDArray[np.float64], card_mm: tuple[float, float]) -> bool:
    """Whether the quad has a card's size: one half covered, or two askew, have not."""
    sides = np.hypot(*(quad_mm - np.roll(quad_mm, -1, axis=0)).T)
    one, two = (sides[0] + sides[2]) / 2, (sides[1] + sides[3]) / 2
    short, long = sorted((float(one), float(two)))
    return abs(short / min(card_mm) - 1) < SIDE_TOLERANCE and abs(long / max(card_mm) - 1) < SIDE_TOLERANCE


def _moved(seen: SeenCard, quad_mm: NDArray[np.float64]) -> SeenCard:
    return SeenCard(seen.card, seen.face, seen.confidence, quad_mm.astype(np.float32), seen.alternatives, seen.score)
