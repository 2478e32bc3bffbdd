"""Real labelled photographs for training: quads from loose labels, mirrored pictures found and left out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import cv2
import numpy as np
import numpy.typing as npt

from vision.benches.labelled import RANKS as RANK_WORDS
from vision.benches.labelled import Kind, Label, open_set
from vision.cards.find import CardFinder
from vision.cards.photo import open_photo
from vision.cards.reader import FaceReader
from vision.cards.refine import refined
from vision.detections import CARD_BACK, CARD_FACE, Detections
from vision.detectors.onnx import OnnxDetector
from vision.training.artwork import Image
from vision.training.cards_art import BACK, CARDS, JOKER, Rng
from vision.training.crops import CROP_HEIGHT, CROP_WIDTH, cut_out
from vision.training.light import light, take

# A predicted quad is taken for the labelled card when its bounding box and the label agree this well: looser
# ones are neighbours or half cards, stricter ones throw away cards whose label covers only the visible part.
AGREEMENT = 0.8
# Nats by which a picture must be likelier one way round than the other before the reader learns from it. Little
# tells: hearts and most arrangements of pips are the same in a mirror. A reader that has learnt from photographs,
# some of them mirrored unnoticed, tells less than one that has seen rendered cards only.
TOLD_ABOVE = 0.3
# One picture in eight of every train folder is kept for validation, chosen by its name so that it stays so.
HELD_OUT_OF = 8


@dataclass(frozen=True, slots=True, eq=False)
class PhotoCard:
    """A labelled card with the quad that was found for it.

    quad: (4, 2) float32 pixels, clockwise, a short side first; label: as labelled (`K` alone is a rank).
    """

    label: str
    quad: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Photo:
    """A photograph with the labelled cards whose quads are known, and all that was found.

    upright_gain: how much likelier its labels are as it is than in a mirror, in nats; 0 where nothing tells.
    """

    path: Path
    labels: tuple[Label, ...]
    cards: tuple[PhotoCard, ...]
    all_found: Detections
    upright_gain: float
    all_labelled: bool

    @property
    def mirrored(self) -> bool:
        """Whether it reads better in a mirror."""
        return self.upright_gain < 0


def held_out(path: Path) -> bool:
    """Whether a picture of a train folder is kept for validation."""
    return crc32(path.name.encode()) % HELD_OUT_OF == 0


def class_of(label: str) -> int | None:
    """The reader's class of a label; None for a rank or a suit alone."""
    if label in CARDS:
        return CARDS.index(label)
    if label.startswith("joker"):
        return JOKER
    return BACK if label == "back" else None


class Labeller:
    """Finds quads for loose labels with the weights at hand, and tells mirrored pictures."""

    def __init__(self, detector: OnnxDetector, reader: FaceReader) -> None:
        """Label with a detector and a reader that are good enough to begin with."""
        self._finder = CardFinder(detector)
        self._reader = reader

    @classmethod
    def shipped(cls) -> "Labeller":
        """With the weights that ship."""
        return cls(OnnxDetector.shipped(), FaceReader.shipped())

    def label(self, folder: Path) -> Iterator[Photo]:
        """The photographs of a labelled folder."""
        for photos in open_set(folder):
            for photo in photos:
                image = open_photo(photo.path)
                found = self._finder.detect(image)
                cards = matched(photo.labels, found, image)
                gain = upright_by_corners(photo.labels, cards)
                if gain == 0:
                    gain = self.upright_gain(image, cards)
                yield Photo(photo.path, photo.labels, cards, found, gain, photo.all_labelled)

    def upright_gain(self, image: Image, cards: Sequence[PhotoCard]) -> float:
        """How much likelier the labels are in the picture as it is than in its mirror image, in nats."""
        known = [(card.quad, number) for card in cards if (number := class_of(card.label)) is not None]
        known = [(quad, number) for quad, number in known if number <= JOKER]
        if not known:
            return 0.0
        crops = np.stack([cut_out(image, quad) for quad, _ in known])
        right = self._reader.probabilities(crops)
        flipped = self._reader.probabilities(np.ascontiguousarray(crops[:, :, ::-1]))
        rows, columns = np.arange(len(known)), np.array([number for _, number in known])
        return float((np.log(right[rows, columns] + 1e-3) - np.log(flipped[rows, columns] + 1e-3)).sum())


def upright_by_corners(labels: Sequence[Label], cards: Sequence[PhotoCard]) -> float:
    """By how many labelled index corners a picture is as it was taken rather than mirrored, in nats of 3 each.

    An index is printed at the left of either end of a card, in a mirror at the right: no reading is needed.
    """
    votes = 0
    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    for card in cards:
        onto = cv2.getPerspectiveTransform(card.quad.astype(np.float32), unit)
        for label in labels:
            if label.kind is Kind.CORNERS and label.card == card.label:
                middles = (label.boxes[:, :2] + label.boxes[:, 2:]) / 2
                at = cv2.perspectiveTransform(middles[None].astype(np.float32), onto)[0]
                votes += sum(1 if (x < 0.5) == (y < 0.5) else -1 for x, y in at)
    return 3.0 * votes


def matched(labels: Sequence[Label], found: Detections, image: Image) -> tuple[PhotoCard, ...]:
    """Each label's quad, where one fits it and it alone.

    Whole-card labels are compared with the quad fitted to the card's edges too: an oriented box about a card
    seen obliquely is larger than the card.
    """
    faces = found.labelled(CARD_FACE, CARD_BACK)
    height, width = image.shape[:2]
    limit = np.array([width, height, width, height], np.float32)
    fitted = np.stack([refined(image, quad)[0] for quad in faces.quads]) if len(faces) else faces.quads
    looks = [
        (quads, Detections(quads, faces.labels, faces.scores).boxes().clip(0, limit))
        for quads in (fitted, faces.quads)  # where both fit, the one fitted to the edges is taken
    ]
    taken: dict[int, list[tuple[Label, npt.NDArray[np.float32]]]] = {}
    for label in labels:
        fits = [
            (_agreement(label, boxes[i], quads[i]), i, quads[i]) for quads, boxes in looks for i in range(len(faces))
        ]
        fit, i, quad = max(fits, key=lambda entry: entry[0], default=(0.0, -1, None))
        if quad is not None and fit >= AGREEMENT:
            taken.setdefault(i, []).append((label, quad))
    return tuple(PhotoCard(fits[0][0].card, fits[0][1]) for fits in taken.values() if len(fits) == 1)


def _agreement(label: Label, box: npt.NDArray[np.float32], quad: npt.NDArray[np.float32]) -> float:
    if label.kind is Kind.WHOLE:
        return _iou(label.boxes[0], box)
    if label.kind is Kind.CORNERS:
        centres = (label.boxes[:, :2] + label.boxes[:, 2:]) / 2
        return 1.0 if all(in_a_corner(quad, centre) for centre in centres) else 0.0
    return 0.0


def in_a_corner(quad: npt.NDArray[np.float32], point: npt.NDArray[np.float32], share: float = 1 / 3) -> bool:
    """Whether a point lies in one of the four corner thirds of a quad."""
    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    matrix = cv2.getPerspectiveTransform(quad.astype(np.float32), unit)
    x, y = cv2.perspectiveTransform(point.reshape(1, 1, 2).astype(np.float32), matrix)[0, 0]
    inside = -0.05 <= x <= 1.05 and -0.05 <= y <= 1.05
    return bool(inside and (x < share or x > 1 - share) and (y < share or y > 1 - share))


def _iou(a: npt.NDArray[np.float32], b: npt.NDArray[np.float32]) -> float:
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    if (high <= low).any():
        return 0.0
    shared = float(np.prod(high - low))
    return shared / float(np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared)


def real_crops(
    photos: Sequence[Photo], rng: Rng, repeats: int, reader: FaceReader | None = None, may_be_mirrored: bool = True
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int16]]:
    """Crops of labelled cards, (n, h, w, 3) uint8 BGR, and classes (n,).

    Of a set that `may_be_mirrored`, mirrored photographs are turned back, and those of which it can't be told are
    left out.
    Each card is cut out `repeats` times: the quad as found, fitted to the edges or jittered, under other light.
    A rank alone gets the suit that `reader` is sure of among cards of that rank, else it is left out.
    """
    crops: list[Image] = []
    classes: list[int] = []
    for photo in photos:
        labelled = any(class_of(card.label) is not None for card in photo.cards)
        if may_be_mirrored and labelled and abs(photo.upright_gain) < TOLD_ABOVE:
            continue
        image, cards = open_photo(photo.path), photo.cards
        if may_be_mirrored and photo.mirrored:
            image, cards = in_a_mirror(image, cards)
        for card in cards:
            number = class_of(card.label)
            if number is None and reader is not None:
                number = _suit_read(image, card, reader)
            if number is None:
                continue
            fitted, support = refined(image, card.quad)
            for k in range(repeats):
                quad = fitted if support > 0 and rng.random() < 0.6 else card.quad
                crops.append(_jittered(image, quad, rng, plain=k == 0))
                classes.append(number)
    if not crops:
        return np.empty((0, CROP_HEIGHT, CROP_WIDTH, 3), np.uint8), np.empty(0, np.int16)
    return np.stack(crops), np.array(classes, np.int16)


def in_a_mirror(image: Image, cards: Sequence[PhotoCard]) -> tuple[Image, tuple[PhotoCard, ...]]:
    """A picture and its cards, left and right exchanged; quads stay clockwise with a short side first."""
    width = image.shape[1]
    swapped = []
    for card in cards:
        quad = card.quad[[1, 0, 3, 2]].copy()
        quad[:, 0] = width - 1 - quad[:, 0]
        swapped.append(PhotoCard(card.label, quad))
    return np.ascontiguousarray(image[:, ::-1]), tuple(swapped)


def _suit_read(image: Image, card: PhotoCard, reader: FaceReader) -> int | None:
    """The one card of the labelled rank that the reader is sure of, its suits compared among themselves."""
    if card.label not in RANK_WORDS:
        return None
    chances = reader.probabilities(cut_out(image, card.quad)[None])[0]
    numbers = [CARDS.index(card.label + suit) for suit in "cdhs"]
    suits = chances[numbers]
    total = float(suits.sum())
    best = int(suits.argmax())
    return numbers[best] if total > 0.3 and float(suits[best]) > 0.97 * total else None


def _jittered(image: Image, quad: npt.NDArray[np.float32], rng: Rng, plain: bool) -> Image:
    if plain:
        return cut_out(image, quad)
    side = float(np.linalg.norm(quad[1] - quad[2]))
    moved = quad + rng.normal(0, 0.012, (4, 2)) * side + rng.normal(0, 0.015, 2) * side
    if rng.random() < 0.5:
        moved = np.roll(moved, 2, axis=0)
    left, top = np.maximum(np.floor(moved.min(axis=0)).astype(int) - 6, 0)
    right, bottom = np.ceil(moved.max(axis=0)).astype(int) + 7
    part, corners = image[top:bottom, left:right], moved - (left, top)
    if part.size == 0 or min(part.shape[:2]) < 8:
        return cut_out(image, quad)
    shrink = min(1.0, float(np.exp(rng.uniform(np.log(45), np.log(260)))) / side)
    if shrink < 1:
        part = np.asarray(cv2.resize(part, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA), np.uint8)
    if rng.random() < 0.6:
        part = light(part, rng, hard=float(rng.uniform(0, 0.6)))
    if rng.random() < 0.5:
        part = take(part, rng, hard=float(rng.uniform(0, 0.6)), scale=max(0.25, min(1.0, side * shrink / 140)))
    return cut_out(part, corners * shrink)
