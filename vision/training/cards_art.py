"""The cards that training pictures draw from: decks by weight, printed and worn."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from vision.training.artwork import HEIGHT, RANKS, SUITS, WIDTH, Deck, Image, decks

Rng = np.random.Generator

CARDS: tuple[str, ...] = tuple(rank + suit for suit in SUITS for rank in RANKS)
JOKER, BACK, NOTHING = 52, 53, 54
CLASSES: tuple[str, ...] = (*CARDS, "joker", "back", "nothing")

# How often a deck is drawn: the everyday look is what lies on most tables.
EVERYDAY = {"younestouati": 5.0, "heruka": 2.0, "anglo": 1.6, "standard": 2.0, "gnomangelo": 1.4, "bonded": 1.5}


@dataclass(slots=True)
class Shelf:
    """Decks opened for drawing; pictures are read once and kept."""

    decks: Sequence[Deck]
    weights: npt.NDArray[np.float64]
    backs: list[Image]
    jokers: list[Image]
    kept: dict[tuple[str, str], Image] = field(default_factory=dict)

    @classmethod
    def open(cls, cache: Path, *, held_out: bool = False, readable: bool = True) -> "Shelf":
        """The decks in the cache that are held out of training, or those that are not; `readable`: with indices."""
        every = decks(cache)
        chosen = [deck for deck in every if deck.held_out == held_out and (deck.indices or not readable)]
        if not chosen:
            raise ValueError(f"{cache}: expected decks with held_out = {held_out}, got none")
        weights = np.array([_weight(deck.name) for deck in chosen])
        backs = [deck.picture(name) for deck in every for name in deck.names("backs")]
        jokers = [deck.picture(name) for deck in every for name in deck.names("jokers")]
        return cls(chosen, weights / weights.sum(), backs, jokers)

    def deck(self, rng: Rng) -> Deck:
        """A deck, the everyday ones more often."""
        return self.decks[int(rng.choice(len(self.decks), p=self.weights))]

    def face(self, deck: Deck, number: int, rng: Rng) -> Image:
        """The picture of class `number` (JOKER: of any deck that has one), HEIGHT × WIDTH × 4 BGRA."""
        if number == JOKER:
            return self.jokers[int(rng.integers(len(self.jokers)))]
        card = CARDS[number]
        if (deck.name, card) not in self.kept:
            self.kept[deck.name, card] = deck.picture(card)
        return self.kept[deck.name, card]

    def back(self, rng: Rng) -> Image:
        """A back: of a deck, in another colour, or drawn."""
        if rng.random() < 0.5:
            picture = self.backs[int(rng.integers(len(self.backs)))].copy()
            hsv = cv2.cvtColor(picture[:, :, :3], cv2.COLOR_BGR2HSV)
            hsv[:, :, 0] = (hsv[:, :, 0].astype(int) + int(rng.integers(0, 180))) % 180
            picture[:, :, :3] = cv2.cvtColor(hsv, cv2.COLOR_HSV2BGR)
            return picture
        return drawn_back(rng)


def _weight(name: str) -> float:
    return max((weight for word, weight in EVERYDAY.items() if word in name), default=1.0)


def drawn_back(rng: Rng) -> Image:
    """A back drawn from lattices, rings and borders, HEIGHT × WIDTH × 4 uint8 BGRA, point-symmetric."""
    ink = rng.uniform(0, 200, 3)
    paper = np.full(3, rng.uniform(225, 255)) if rng.random() < 0.75 else rng.uniform(0, 255, 3)
    ys, xs = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    ys, xs = ys - HEIGHT / 2, xs - WIDTH / 2
    step = rng.uniform(8, 60)
    kind = int(rng.integers(0, 6))
    if kind == 0:
        field_ = np.cos(2 * np.pi * (xs + ys) / step) * np.cos(2 * np.pi * (xs - ys) / step)
    elif kind == 1:
        field_ = np.cos(2 * np.pi * np.hypot(xs, ys) / step)
    elif kind == 2:
        field_ = np.cos(2 * np.pi * xs / step) + np.cos(2 * np.pi * ys / step)
    elif kind == 3:
        field_ = np.cos(np.arctan2(ys, xs) * int(rng.integers(2, 12)) * 2) + np.cos(2 * np.pi * np.hypot(xs, ys) / step)
    elif kind == 4:
        small = rng.normal(0, 1, (int(rng.integers(6, 40)), int(rng.integers(4, 30)))).astype(np.float32)
        half = cv2.resize(small, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC)
        field_ = half + half[::-1, ::-1]
    else:
        field_ = np.full((HEIGHT, WIDTH), -1.0, np.float32)
    share = (field_ > rng.uniform(-0.6, 0.8)).astype(np.float32)
    share = cv2.GaussianBlur(share, (0, 0), 0.8)
    out = ink + (paper - ink) * share[:, :, None]
    border = int(rng.integers(0, 26))
    if border > 3:
        frame = np.ones((HEIGHT, WIDTH), bool)
        frame[border:-border, border:-border] = False
        out[frame] = paper if rng.random() < 0.8 else ink
        if rng.random() < 0.5:
            cv2.rectangle(out, (border + 4, border + 4), (WIDTH - border - 4, HEIGHT - border - 4), paper.tolist(), 2)
    if rng.random() < 0.4:
        radius = int(rng.integers(20, 90))
        cv2.circle(out, (WIDTH // 2, HEIGHT // 2), radius, rng.uniform(0, 255, 3).tolist(), -1, cv2.LINE_AA)
        cv2.circle(out, (WIDTH // 2, HEIGHT // 2), radius, paper.tolist(), 3, cv2.LINE_AA)
    mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    round_ = int(rng.integers(6, 22))
    cv2.rectangle(mask, (round_, round_), (WIDTH - 1 - round_, HEIGHT - 1 - round_), 255, -1)
    mask = np.asarray(cv2.dilate(mask, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * round_ + 1,) * 2)), np.uint8)
    return np.dstack([np.clip(out, 0, 255).astype(np.uint8), mask])


def printed(picture: Image, rng: Rng) -> Image:
    """A card as it lies there: off-white paper, faded or rich ink, worn edges; HEIGHT × WIDTH × 4 uint8 BGRA."""
    colour = picture[:, :, :3].astype(np.float32)
    if rng.random() < 0.6:
        paper = np.array([1.0, 1.0, 1.0]) - rng.uniform(0, 0.12, 3) * np.array([1.6, 1.0, 0.6])
        colour *= paper.astype(np.float32)
    if rng.random() < 0.4:
        colour = 255 - (255 - colour) * rng.uniform(0.6, 1.0)
    out = np.clip(colour, 0, 255).astype(np.uint8)
    if rng.random() < 0.3:
        hsv = cv2.cvtColor(out, cv2.COLOR_BGR2HSV)
        hsv[:, :, 0] = (hsv[:, :, 0].astype(int) + int(rng.integers(-6, 7))) % 180
        out = np.asarray(cv2.cvtColor(hsv, cv2.COLOR_HSV2BGR), np.uint8)
    alpha = picture[:, :, 3]
    if rng.random() < 0.12:  # worn: grey along the edge
        worn = cv2.GaussianBlur(cv2.erode(alpha, np.ones((5, 5), np.uint8)), (0, 0), 2).astype(np.float32) / 255
        out = (out * (0.75 + 0.25 * worn[:, :, None])).astype(np.uint8)
    return np.dstack([out, alpha])
