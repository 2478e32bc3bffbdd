"""Joins what index corners tell with the cards that were found: names, doubts and lays them, and adds more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cards.fans import Corner, belongs, is_of_size, joint, together
from vision.cards.index import IndexReader
from vision.cards.placing import Placing, pulled
from vision.cards.quads import iou
from vision.cards.reader import NOTHING
from vision.cards.seen import SeenCard, likeliest
from vision.cards.settle import covered
from vision.cards.shape import Shape
from vision.detections import Detections

#: A box that is no index with this probability is none.
NO_INDEX = 0.5

#: An index that can't be named shows that a card is there, where the detector is as sure of it as this.
UNNAMED_SCORE = 0.5

#: IoU above which a card whose both ends show is one that was found, and one that shows an index is an unread one.
SAME_QUAD, LOOSE_QUAD = 0.65, 0.45

#: An index of a card that is named already may lie so far from its middle, in its longer sides: quads are loose.
SAME_NEAR = 0.8

#: An index that can't be named, this near to where a card prints one, is most likely that card's own.
MAY_BE_ITS_OWN = 3.5

#: The same, of one that looks like another card's.
BESIDE_ITS_OWN = 1.5

#: A card read as surely as this was found whole.
WHOLE = 0.97

#: IoU above which a card that shows an index on another would cover most of that other's pips.
HIDES = 0.5

#: What is likely one certain card by so much is an index, if not surely that card's, and may lie on cards that only
#: their own index told.
LIKE_AN_INDEX = 0.4

#: Corners so far from where a card prints its own may still be it, its quad being loose; and a quad is looked at so
#: much larger for what lies on it.
ABOUT_ITS_OWN, EDGE_GROWN = 2.0, 1.15

#: A single corner that the detector is less sure of than this adds no card.
ADDS_SCORE = 0.3

#: By how much more an index must be sure than the whole card's reading that it contradicts.
CLEARER = 0.1

#: A card that others may cover, and that no index of its own confirms, must be as sure as this to be named.
COVERED_CONFIDENCE = 0.97

#: Cards that overlap by this share of the smaller may cover others.
OVERLAP = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What corners of one card tell: `card`, how surely, and the `quad` that it has by them.

    place: which of the cards prints an index where they are. exact: whether the quad is told by both ends of the card.
    """

    group: Sequence[Corner]
    alternatives: tuple[tuple[str, float], ...]
    sure: bool
    quad: NDArray[np.float32]
    exact: bool
    place: int | None

    @property
    def card(self) -> str:
        """The likeliest card."""
        return self.alternatives[0][0]

    @property
    def confidence(self) -> float:
        """That it is this card."""
        return self.alternatives[0][1]

    @property
    def score(self) -> float:
        """How sure the detector is of the clearest of the corners."""
        return max(corner.score for corner in self.group)


class Joining:
    """The cards of a picture, while one card's corners after the other are joined with them.

    cards: at first those that were found, in their order; those that only corners show follow.
    """

    def __init__(
        self,
        image: NDArray[np.uint8],
        seen: Sequence[SeenCard],
        corners: Sequence[Corner],
        reader: IndexReader,
        side_px: float | None,
        shape: Shape | None = None,
    ) -> None:
        """Of cards `seen` in `image` and `corners` that `reader` read.

        side_px: a card's longer side. shape: what cards look like here. Both where they are known.
        """
        self.cards = list(seen)
        self._seen, self._corners = tuple(seen), tuple(corners)
        self._side_px = side_px
        self._classes, self._least = reader.weights.classes, reader.weights.min_confidence
        whole = [one.quad for one in seen if one.card and one.confidence >= WHOLE]
        self._placing = Placing(image, corners, whole, side_px, shape)
        self._agreed = set[int]()
        self._shown: dict[int, list[Corner]] = {}

    def joined(self) -> list[SeenCard]:
        """The cards, with what their corners tell: named or doubted by them, laid as they say, and those they add."""
        groups = [[self._corners[i] for i in group] for group in together(self._corners, self._side_px)]
        for group in sorted(groups, key=lambda group: -float(joint(group)[:-1].max())):
            self._take(self._told(group))
        self._lay_where_indices_say()
        return [one if k in self._agreed else _doubted_if_covered(one, self.cards) for k, one in enumerate(self.cards)]

    def _told(self, group: Sequence[Corner]) -> Told:
        alternatives = likeliest(self._classes, joint(group))
        card, confidence = alternatives[0]
        exact = self._placing.exact(group)
        quad = exact
        if quad is None:
            quad = self._placing.at(group[0], [one.quad for one in self.cards])
        place = _place_of(group, quad, exact is not None, self.cards)
        sure = card != NOTHING and confidence >= self._least
        return Told(group, alternatives, sure, quad, exact is not None, place)

    def _take(self, told: Told) -> None:
        """Join what the corners of one card tell with what is known so far; the surest come first."""
        if self._is_misread_print(told):
            return
        same = [j for j, one in enumerate(self.cards) if _guess(one) == told.card and _near(one.quad, told.group)]
        if same:
            self._confirm_near(told, same)
        elif told.place is None or (
            told.sure and told.place in self._agreed and self.cards[told.place].card != told.card
        ):
            self._add(told)
        else:
            self._tell(told, told.place)

    def _is_misread_print(self, told: Told) -> bool:
        """Whether the corners are rather a print of a card that was read whole, misread."""
        if told.place is not None:
            return False
        whole = [one for one in self._seen if one.confidence > max(told.confidence, WHOLE)]
        return any(_hides(one, told.group, told.quad, told.card) for one in whole)

    def _confirm_near(self, told: Told, same: Sequence[int]) -> None:
        """Another index of cards that are known, however loosely their quads fit."""
        for j in same:
            self._show(j, told)
            if told.sure:
                loose = told.exact and iou(told.quad, self.cards[j].quad) < SAME_QUAD
                self.cards[j] = replace(
                    self.cards[j],
                    card=told.card,
                    confidence=max(told.confidence, self.cards[j].confidence),
                    quad=told.quad if loose else self.cards[j].quad,
                )

    def _add(self, told: Told) -> None:
        """A card that was not found: where its index is sure, or where it can be no other card's."""
        like_one = told.confidence >= LIKE_AN_INDEX
        over, near = (self._seen, BESIDE_ITS_OWN) if like_one else (self.cards, MAY_BE_ITS_OWN)
        alone = told.score >= UNNAMED_SCORE and _is_alone(told.group, self.cards, over, near)
        if not alone and not (told.sure and told.score >= ADDS_SCORE):
            return
        self._show(len(self.cards), told)
        named = told.card if told.sure else None
        self.cards.append(SeenCard(named, "up", told.confidence, told.quad, told.alternatives, told.score))

    def _tell(self, told: Told, k: int) -> None:
        """Corners where card `k` prints its own: they confirm it, name it, or contradict it."""
        one = self.cards[k]
        if one.card == told.card:
            self._show(k, told)
            self.cards[k] = replace(one, confidence=max(told.confidence, one.confidence))
        elif told.sure and (one.card is None or one.confidence < told.confidence - CLEARER):
            self._show(k, told)
            self.cards[k] = replace(one, card=told.card, confidence=told.confidence, alternatives=told.alternatives)
        elif told.sure:  # print and pips tell different cards
            named = (told.card, told.confidence)
            both = ((one.alternatives or ((told.card, 0.0),))[0], named)
            self.cards[k] = replace(one, card=None, confidence=0.5, alternatives=both)

    def _show(self, k: int, told: Told) -> None:
        """Card `k` shows these corners, which agree with it."""
        self._agreed.add(k)
        self._shown.setdefault(k, []).extend(told.group)

    def _lay_where_indices_say(self) -> None:
        for k, its_own in self._shown.items():
            quad = self.cards[k].quad
            found = self._seen[k] if k < len(self._seen) else None
            if found is None or not _lies_right(found, quad, its_own):
                quad = self._placing.placed(its_own, quad)
            self.cards[k] = replace(self.cards[k], quad=pulled(its_own, quad))


def indices(reader: IndexReader, image: NDArray[np.uint8], found: Detections, side_px: float | None) -> list[Corner]:
    """What of the corners found shows an index, of a card's size, read."""
    read, boxes = reader.read(image, found.quads)
    nothing = reader.weights.classes.index(NOTHING)
    return [
        Corner(boxes[i], read[i], float(found.scores[i]))
        for i in range(len(found))
        if read[i][nothing] < NO_INDEX and (side_px is None or is_of_size(boxes[i], side_px))
    ]


def _lies_right(one: SeenCard, quad: NDArray[np.float32], its_own: Sequence[Corner]) -> bool:
    """Whether a card that its pips named lies where they and its indices are printed; `quad`: as it is laid now."""
    if one.card is None or one.quad is not quad:
        return False
    fits = [belongs(corner, quad) < 1 for corner in its_own]
    return any(fits) and (all(fits) or one.confidence >= WHOLE)


def _place_of(group: Sequence[Corner], quad: NDArray[np.float32], exact: bool, cards: Sequence[SeenCard]) -> int | None:
    """Which of the cards prints an index where these corners are; None where none does.

    quad: of the card that the corners show. Where it is exact, the whole of it must agree.
    """
    off = [min(belongs(corner, one.quad) for corner in group) if one.face == "up" else np.inf for one in cards]
    if exact:
        off = [away if iou(quad, one.quad) > SAME_QUAD else np.inf for away, one in zip(off, cards, strict=True)]
    best = int(np.argmin(off)) if off else 0
    if off and off[best] < 1:
        return best
    # No index is printed just here, but it may be that the quad of an unread card is loose.
    fits = [iou(quad, one.quad) if one.face == "up" and one.card is None else 0.0 for one in cards]
    best = int(np.argmax(fits)) if fits else 0
    return best if fits and fits[best] > LOOSE_QUAD else None


def _hides(one: SeenCard, group: Sequence[Corner], quad: NDArray[np.float32], card: str) -> bool:
    """Whether corners read as `card`, whose quad would be `quad`, lie on a card read whole that leaves no room for it.

    Where most of that one would be covered, or where it prints an index of the same rank itself.
    """
    if one.card is None or one.card == card or not _on(one.quad, group, EDGE_GROWN):
        return False
    same_rank = one.card[:-1] == card[:-1]
    return iou(quad, one.quad) > HIDES or (same_rank and min(belongs(it, one.quad) for it in group) < ABOUT_ITS_OWN)


def _is_alone(group: Sequence[Corner], cards: Sequence[SeenCard], over: Sequence[SeenCard], near: float) -> bool:
    """Whether corners that can't be named are an index of a card that was not found.

    They lie on none that may be `over` them, nor so `near` to where one of the `cards` prints its own that they may
    be it.
    """
    if any(_on(one.quad, group) for one in over if one.face == "up"):
        return False
    return all(belongs(corner, one.quad) > near for corner in group for one in cards if one.face == "up")


def _guess(one: SeenCard) -> str | None:
    """What a card is named, or would be if it were surer."""
    return one.card or (one.alternatives[0][0] if one.face == "up" and one.alternatives else None)


def _on(quad: NDArray[np.float32], group: Sequence[Corner], grown: float = 1.0) -> bool:
    """Whether one of the corners lies on a card, its quad grown about its middle."""
    return any(lies_on(quad, corner.middle, grown) for corner in group)


def lies_on(quad: NDArray[np.float32], point: NDArray[np.float32], grown: float = 1.0) -> bool:
    """Whether a point (2,) lies on a card, its quad grown about its middle."""
    middle = quad.mean(axis=0)
    outline = (middle + (quad - middle) * grown).astype(np.float32)
    return cv2.pointPolygonTest(outline, tuple(point.tolist()), False) >= 0


def _near(quad: NDArray[np.float32], group: Sequence[Corner]) -> bool:
    """Whether one of the corners lies so near to a card that it may be its own, however loose its quad is."""
    middle, reach = quad.mean(axis=0), SAME_NEAR * float(np.linalg.norm(quad - np.roll(quad, -1, axis=0), axis=1).max())
    return any(float(np.linalg.norm(corner.middle - middle)) < reach for corner in group)


def _doubted_if_covered(one: SeenCard, cards: Sequence[SeenCard]) -> SeenCard:
    """A card that others lie on, or under, is named by its pips only where they tell surely."""
    if one.card is None or one.confidence >= COVERED_CONFIDENCE:
        return one
    others = [other.quad for other in cards if other is not one and other.face == "up"]
    return replace(one, card=None) if covered(one.quad, others) > OVERLAP else one
