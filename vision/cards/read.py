"""Reads the cards in a picture: finds their quads, rectifies each, names it or abstains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vision.cards.corners import OVERLAP, Joining, indices, lies_on
from vision.cards.deck import SEEN, Deck, DeckNamer
from vision.cards.fans import Corner
from vision.cards.fans import card_side_px as card_side_px_of
from vision.cards.find import CardFinder
from vision.cards.index import IndexReader
from vision.cards.looks import Look
from vision.cards.outlines import OutlineDetector
from vision.cards.quads import area, is_nearly_square, overlap_area
from vision.cards.reader import BACK, NOTHING, FaceReader, Namer, rectified
from vision.cards.refine import refined
from vision.cards.seen import SeenCard, likeliest
from vision.cards.settle import settled
from vision.cards.shape import Shape
from vision.cards.stretch import Stretch
from vision.detections import CARD_BACK, CARD_FACE, CARD_OUTLINE, CORNER, Detections
from vision.detectors.onnx import OnnxDetector


class Finder(Protocol):
    """A detector that can be told how large a card is in the picture."""

    def detect(self, image: NDArray[np.uint8], card_side_px: float | None = None) -> Detections:
        """What is in ``image``, (h, w, 3) uint8 BGR."""
        ...

    def corners(self, image: NDArray[np.uint8], card_side_px: float | None) -> Detections:
        """Index corners in ``image``, looked for at a closer look; none where the finder knows none."""
        ...


class CardReader:
    """Reads cards in pictures; built once, used for many."""

    def __init__(self, finder: Finder, namer: Namer, index_reader: IndexReader | None = None) -> None:
        """Find with ``finder``, name with ``namer``, and what is mostly covered with ``index_reader``."""
        self._finder = finder
        self._namer = namer
        self._index_reader = index_reader
        #: Of a deck that was enrolled, what is so likely one of its cards is seen, if unsurely, however it was found.
        self._seen_from = SEEN if isinstance(namer, DeckNamer) else np.inf

    @classmethod
    def shipped(cls, backend: str | None = None, deck: Deck | None = None) -> CardReader:
        """With the weights that ship with the project; with a deck that was enrolled, its cards."""
        detector = OnnxDetector.shipped(backend=backend)
        corners = detector if CORNER in detector.weights.classes else None
        finder = CardFinder(detector, OutlineDetector(), corners)
        if deck is not None:
            return cls(finder, DeckNamer(deck))
        return cls(finder, FaceReader.shipped(backend=backend), IndexReader.shipped(backend=backend))

    def with_namer(self, namer: Namer) -> CardReader:
        """The same, naming the cards of another deck."""
        return CardReader(self._finder, namer, self._index_reader if isinstance(namer, FaceReader) else None)

    def read(self, image: NDArray[np.uint8], card_side_px: float | None = None) -> tuple[SeenCard, ...]:
        """The cards in ``image``, (h, w, 3) uint8 BGR; those that only a corner tells come last.

        card_side_px: a card's longer side in the picture, where it is known. Where it isn't, and not all can be read,
        the picture may be stretched: it is read with that undone too, and counts the way in which more can be read.
        """
        best = first = self._look(image, card_side_px)
        if card_side_px is not None or self._index_reader is None or not _may_hide_more(first.cards):
            return first.cards
        looks = [first]
        for stretch in self._stretches(image, first.cards):
            looks.append(self._look(stretch.undone(image), None, stretch))
            if _told(looks[-1].cards) > _told(best.cards) + (0.0 if stretch.told else MORE_TOLD):
                best = looks[-1]
        corners = best.with_corners_of([look for look in looks if look is not best])
        cards = self._joined(best.image, best.found, corners, best.side_px)
        return tuple(replace(one, quad=best.back(one.quad)) for one in cards)

    def _stretches(self, image: NDArray[np.uint8], seen: Sequence[SeenCard]) -> list[Stretch]:
        """Ways in which the picture may be stretched: as its cards tell, else as square files are made."""
        size_px = (image.shape[1], image.shape[0])
        told = Stretch.told_by(_fitted(image, seen), size_px)
        return [told] if told is not None else Stretch.of_square_files(size_px)

    def _look(self, image: NDArray[np.uint8], card_side_px: float | None, stretch: Stretch | None = None) -> Look:
        """What is seen in `image`, which may be a picture with a `stretch` undone."""
        found = self._finder.detect(image, card_side_px)
        seen = self.read_found(image, found)
        if self._index_reader is None or not (_may_hide_more(seen) or _has_stray_corners(found, seen)):
            return Look(image, stretch, seen, (), card_side_px, seen)
        side = card_side_px_of(seen) if card_side_px is None else card_side_px
        corners = tuple(indices(self._index_reader, image, self._finder.corners(image, side), side))
        return Look(image, stretch, seen, corners, side, self._joined(image, seen, corners, side))

    def _joined(
        self, image: NDArray[np.uint8], seen: tuple[SeenCard, ...], corners: Sequence[Corner], side_px: float | None
    ) -> tuple[SeenCard, ...]:
        """The cards that were found, and what corners tell of them and of others."""
        assert self._index_reader is not None
        shape = Shape.told_by(_fitted(image, seen)) if corners else None
        joined = Joining(image, seen, corners, self._index_reader, side_px, shape).joined()
        # What lies under others and shows no more than an index that can't be named is a card nevertheless.
        glimpsed = [one for one in joined[len(seen) :] if one.card is None]
        return (*settled([one for one in joined if one not in glimpsed], len(seen)), *glimpsed)

    def find(self, image: NDArray[np.uint8], card_side_px: float | None = None) -> Detections:
        """What the finder finds in ``image``, before anything is named."""
        return self._finder.detect(image, card_side_px)

    def read_quads(self, image: NDArray[np.uint8], quads: NDArray[np.float32]) -> tuple[SeenCard, ...]:
        """Name the cards in known quads, (n, 4, 2) pixels, in their order; far faster than finding them too."""
        n = len(quads)
        return self._named(image, Detections(quads, np.full(n, CARD_FACE), np.ones(n, np.float32)))

    def read_found(self, image: NDArray[np.uint8], found: Detections) -> tuple[SeenCard, ...]:
        """Name the cards among what a detector found, leaving out what can't be one."""
        cards = found.labelled(CARD_FACE, CARD_BACK, CARD_OUTLINE)
        named = zip(self._named(image, cards), cards.labels, strict=True)
        return settled([seen for seen, label in named if self._is_seen(seen) or not _is_nothing(seen, str(label))])

    def _is_seen(self, seen: SeenCard) -> bool:
        return sum(share for card, share in seen.alternatives if card != NOTHING) >= self._seen_from

    def _named(self, image: NDArray[np.uint8], cards: Detections) -> tuple[SeenCard, ...]:
        quads = cards.quads.copy()
        probabilities = self._probabilities(image, quads)
        doubtful = np.flatnonzero(self._belief(probabilities) < self._namer.min_confidence)
        # A loose quad may be why: fitted to the card's edges it is read again, and the clearer reading counts. Of
        # a quad that is nearly square (seen obliquely) it can't be told which side is the short one.
        for_decks = (self._namer.laid, _with_its_rim) if isinstance(self._namer, DeckNamer) else ()
        for again in (_tightened, _turned_if_square, *for_decks):
            offered = [(k, again(image, quads[k])) for k in doubtful]
            tried = [(k, quad) for k, quad in offered if quad is not None]
            if tried:
                which = np.array([k for k, _ in tried])
                others = np.stack([quad for _, quad in tried])
                told = self._probabilities(image, others)
                for k, quad, row in zip(which, others, told, strict=True):
                    before = probabilities[k]
                    if self._belief(row[None])[0] > self._belief(before[None])[0]:
                        quads[k] = quad
                        probabilities[k] = row if self._agree(row, before) else (row + before) / 2
        labels, scores = cards.labels, cards.scores
        return tuple(
            self._seen(quads[i], str(labels[i]), float(scores[i]), probabilities[i]) for i in range(len(cards))
        )

    def _probabilities(self, image: NDArray[np.uint8], quads: NDArray[np.float32]) -> NDArray[np.float32]:
        """For (n, 4, 2) quads, (n, classes): what the namer says of each."""
        crops = np.zeros((len(quads), *self._namer.crop_size_px[::-1], 3), np.uint8)
        for k, quad in enumerate(quads):
            crops[k] = rectified(image, quad, self._namer.crop_size_px)
        return self._namer.probabilities(crops)

    def _agree(self, row: NDArray[np.float32], other: NDArray[np.float32]) -> bool:
        """Whether two readings name the same card, or one of them names hardly any."""
        if row.argmax() == other.argmax():
            return True
        if isinstance(self._namer, DeckNamer):  # near its limit a card of the deck is none of it, and yet the same card
            cards = np.array([name != NOTHING for name in self._namer.classes])
            if (row * cards).argmax() == (other * cards).argmax():
                return True
        return float(min(self._belief(row[None])[0], self._belief(other[None])[0])) < CONTRADICTS

    def _belief(self, probabilities: NDArray[np.float32]) -> NDArray[np.float32]:
        """Of each row, how much the likeliest card has; that it is no card doesn't count."""
        cards = np.array([name != NOTHING for name in self._namer.classes])
        return np.asarray((probabilities * cards).max(axis=1, initial=0.0), np.float32)

    def _seen(
        self, quad: NDArray[np.float32], label: str, score: float, probabilities: NDArray[np.float32]
    ) -> SeenCard:
        alternatives = likeliest(self._namer.classes, probabilities)
        best, confidence = alternatives[0]
        if best == BACK:
            return SeenCard(None, "down", confidence, quad, (), score)
        sure = confidence >= self._namer.min_confidence and best != NOTHING
        told = SeenCard(best if sure else None, "up", confidence, quad, alternatives, score)
        if label == CARD_BACK and not sure and not self._is_seen(told):
            # A face that glares may be taken for a back; what can be read is a face.
            return SeenCard(None, "down", score, quad, (), score)
        if best == NOTHING and told.or_cards:  # if it is a card, how sure is it which?
            return replace(told, confidence=dict(alternatives)[told.or_cards[0]])
        return told


#: Readings of one card from two quads that name different cards count both, if each gives its own this much.
CONTRADICTS = 0.25


#: A picture whose cards don't tell so counts as stretched where so much more is read with that undone: half a card.
MORE_TOLD = 0.5


#: An index corner of the first look that the detector is as sure of shows a card, where it lies on none: quads so much
#: larger than found.
STRAY_SCORE, STRAY_GROWN = 0.4, 1.15


def _told(seen: Sequence[SeenCard]) -> float:
    """How much was read: the different cards that are named, each as far as it is sure."""
    surest: dict[str, float] = {}
    for one in seen:
        if one.card is not None:
            surest[one.card] = max(one.confidence, surest.get(one.card, 0.0))
    return sum(surest.values())


def _may_hide_more(seen: tuple[SeenCard, ...]) -> bool:
    """Whether a closer look at index corners may pay: something is unread, or cards lie on each other."""
    if not seen or any(one.face == "up" and one.card is None for one in seen):
        return True
    return any(
        overlap_area(a.quad, b.quad) > OVERLAP * min(area(a.quad), area(b.quad))
        for i, a in enumerate(seen)
        for b in seen[:i]
    )


def _has_stray_corners(found: Detections, seen: Sequence[SeenCard]) -> bool:
    """Whether the first look already shows an index corner that is on none of the cards."""
    corners = found.labelled(CORNER)
    corners = corners.where(corners.scores >= STRAY_SCORE)
    return any(not any(lies_on(one.quad, middle, STRAY_GROWN) for one in seen) for middle in corners.quads.mean(axis=1))


def _fitted(image: NDArray[np.uint8], seen: Sequence[SeenCard]) -> list[NDArray[np.float32]]:
    """Of the cards that are named: their quads, fitted to their edges, where those are seen."""
    fitted = [refined(image, one.quad) for one in seen if one.card is not None]
    return [quad for quad, support in fitted if support > 0]


def _tightened(image: NDArray[np.uint8], quad: NDArray[np.float32]) -> NDArray[np.float32] | None:
    fitted, support = refined(image, quad)
    return fitted if support > 0 else None


def _with_its_rim(image: NDArray[np.uint8], quad: NDArray[np.float32]) -> NDArray[np.float32]:
    """The quad of a card of which the frame of its picture was found, and would be found again."""
    middle = quad.mean(axis=0)
    return np.asarray(middle + (quad - middle) * np.float32(RIM_GROWN), np.float32)


def _turned_if_square(image: NDArray[np.uint8], quad: NDArray[np.float32]) -> NDArray[np.float32] | None:
    return np.roll(quad, 1, axis=0) if is_nearly_square(quad) else None


#: So much larger than the frame of its picture a card is, about: rims are 3 to 5 mm of 56 to 63.
RIM_GROWN = 1.14

#: A find that the detector itself is unsure of and that no reading supports is most likely no card: on
#: ``ranks_on_carpet/train`` such finds are books, boxes and grain.
UNSUPPORTED_SCORE = 0.5
UNSUPPORTED_CONFIDENCE = 0.5


def _is_nothing(seen: SeenCard, label: str) -> bool:
    if label == CARD_OUTLINE and seen.card is None:
        return True  # a box, a book, a mat: only what can be read is a card
    if seen.alternatives and seen.alternatives[0][0] == NOTHING:
        return True
    if label == CARD_BACK and seen.face == "down":
        return seen.score < UNSUPPORTED_SCORE
    return seen.face == "up" and seen.score < UNSUPPORTED_SCORE and seen.confidence < UNSUPPORTED_CONFIDENCE
