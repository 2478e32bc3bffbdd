"""A deck that was enrolled by showing its cards: a small file without code, and the namer that reads with it."""

from __future__ import annotations

import io
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from referee.bad_input import BadInput
from vision.cards.compare import CORNERS_PX, Look, apart, onto
from vision.cards.embed import CROP_SIZE_PX, embedded, varied
from vision.cards.reader import NOTHING, rectified
from vision.weights import data_folder

#: The file's format; a reader refuses what it doesn't know.
FORMAT = "palmreader deck 1"

#: More than any deck needs; a file that claims more is refused before it is unpacked.
MOST_CROPS, MOST_CROP_BYTES, MOST_FILE_BYTES = 2000, 200_000, 100_000_000

#: A card's name and a deck's have at most so many letters.
LONGEST_NAME = 60

#: What a deck file's name ends in.
SUFFIX = ".deck"

#: Views made of each crop when a deck is opened, beside the crop itself.
VIEWS = 8

#: Directions of the embedding that are kept, and how much of their mean spread every one is given: chosen on
#: decks rendered for training.
AXES, SHRINKAGE = 200, 0.05

#: Crops that are compared place by place: the nearest by the embedding, each the likelier way up, or both where the
#: other is not so much further.
COMPARED, EITHER_WAY = 4, 1.4

#: What each measure of `compare.apart` is for a card in another photo where the two are rather unlike. The mean of the
#: two of print counts, or that of the two of colour if it is larger: cards that differ in one of these only differ.
#: So, in rendered photographs under six lights, a card is mostly 0.4 to 1.2 from itself, 1.6 to 15 from the next.
USUAL = np.array([0.07, 0.16, 0.06, 0.12], np.float32)

#: A crop further than this from every card is none of them, and nearer where the deck has cards nearer than that to
#: each other: this share of a card's distance to the next one, as if the card that is seen were missing, or of what
#: this quantile of the deck's cards have to their next, as if it were one of such a pair of which the other is missing.
LIMIT, SHARE_OF_NEXT, DECK_QUANTILE = 3.2, 0.95, 0.05

#: How sharply belief falls beyond the limit, and how sharply it goes to the nearer of two cards, as powers of the
#: distances' ratio: nine to one at 0.85 of the limit, and where one card is at 0.7 of the other's distance.
LIMIT_POWER, RATIO_POWER = 13.5, 6.2

#: What is further than its limit is believed to be no card of the deck, but may be one as far as this: there, belief in
#: a card is still so much. Of 119 finds in photographs of standard cards none was nearer to a card of ours than 10.
SEEN_WITHIN, SEEN = 6.5, 0.05

#: Two cards nearer to each other than this are said to look alike: photos of them are often abstained from.
ALIKE = 2.2


@dataclass(frozen=True, slots=True, eq=False)
class Deck:
    """Names of cards and crops that show them.

    cards: (n,) names, one a crop; a card may have several crops.
    crops: (n, 136, 96, 3) uint8 BGR, upright as the cards were enrolled.
    """

    name: str
    cards: tuple[str, ...]
    crops: NDArray[np.uint8]

    def __post_init__(self) -> None:
        """Validate names and crops together."""
        width, height = CROP_SIZE_PX
        if self.crops.shape != (len(self.cards), height, width, 3) or self.crops.dtype != np.uint8:
            raise BadInput.of(f"deck {self.name}", f"{len(self.cards)} crops of {width} × {height}", self.crops.shape)
        bad = [card for card in (self.name, *self.cards) if not _is_a_name(card)]
        if bad or not self.cards:
            expected = f"names of 1 to {LONGEST_NAME} letters"
            raise BadInput.of("deck: cards", expected, ", ".join(repr(card)[:80] for card in bad[:3]) or "none")

    def without(self, cards: Collection[str]) -> Deck:
        """The deck with some of its cards left out."""
        kept = [i for i, card in enumerate(self.cards) if card not in cards]
        return Deck(self.name, tuple(self.cards[i] for i in kept), self.crops[kept])

    def save(self, path: Path) -> None:
        """Write the deck: a zip of PNG crops and one JSON file, so that anyone can look inside."""
        told = {"format": FORMAT, "name": self.name, "cards": list(self.cards)}
        try:
            with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as packed:
                packed.writestr("deck.json", json.dumps(told, indent=1))
                for i, crop in enumerate(self.crops):
                    packed.writestr(f"{i:04}.png", cv2.imencode(".png", crop)[1].tobytes())
        except OSError as error:
            raise BadInput.of(str(path), "a place that can be written", error.strerror or error) from None

    @classmethod
    def named(cls, text: str) -> Deck:
        """The deck file at a path, or a shipped deck by its name, like ``hit-the-deck``."""
        path = Path(text)
        if path.suffix == SUFFIX or path.exists():
            return cls.load(path)
        known = shipped_decks()
        if text not in known:
            raise BadInput.of("deck", f"a {SUFFIX} file, or one of {', '.join(known)}", repr(text)[:60])
        return cls.load(known[text])

    @classmethod
    def load(cls, path: Path) -> Deck:
        """Open a deck file; nothing in it is run or unpacked to disk, and what no deck can be is refused."""
        try:
            if path.stat().st_size > MOST_FILE_BYTES:
                raise BadInput.of(str(path), f"at most {MOST_FILE_BYTES // 1_000_000} MB", "more")
            with zipfile.ZipFile(path) as packed:
                told = json.loads(_member(packed, "deck.json", path))
                if not isinstance(told, dict) or told.get("format") != FORMAT:
                    raise BadInput.of(str(path), f"a file of the format {FORMAT!r}", "another")
                name, cards = told.get("name", path.stem), told.get("cards")
                if not isinstance(cards, list) or not all(isinstance(card, str) for card in [name, *cards]):
                    raise BadInput.of(str(path), "a deck's name and a list of its cards' names", "something else")
                bad = [word for word in [name, *cards] if not _is_a_name(word)]
                if bad:
                    raise BadInput.of(str(path), f"names of 1 to {LONGEST_NAME} letters", repr(bad[0])[:80])
                if not 1 <= len(cards) <= MOST_CROPS:
                    raise BadInput.of(str(path), f"a deck of 1 to {MOST_CROPS} crops", len(cards))
                crops = [_crop(_member(packed, f"{i:04}.png", path), path) for i in range(len(cards))]
        except OSError as error:
            raise BadInput.of(str(path), "a deck file", error.strerror or _in_a_line(error)) from None
        except _BROKEN as error:
            if isinstance(error, BadInput):
                raise
            raise BadInput.of(str(path), "a deck file", f"something else ({_in_a_line(error)})") from None
        return cls(name, tuple(cards), np.stack(crops))


def shipped_decks() -> dict[str, Path]:
    """The enrolled decks that ship with the project, by name."""
    try:
        folder = data_folder("datasets", "decks")
    except BadInput:
        return {}
    return {path.stem: path for path in sorted(folder.glob(f"*{SUFFIX}"))}


def shipped_deck_of(cards: Collection[str]) -> Deck | None:
    """The shipped deck that shows all of these cards; None where there is none."""
    for path in shipped_decks().values():
        deck = Deck.load(path)
        if cards and set(cards) <= set(deck.cards):
            return deck
    return None


#: What broken and hostile files raise: in their zip, their JSON, their PNGs.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    KeyError,
    ValueError,
    RuntimeError,
    EOFError,
    SyntaxError,
    OverflowError,
    MemoryError,
    Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)


def _in_a_line(error: Exception) -> str:
    told = " ".join(str(error).split())[:100]
    return told if told.isprintable() and told else type(error).__name__


def _is_a_name(text: str) -> bool:
    """Whether it can be shown to a person as it stands: no line breaks, no terminal's control characters."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable() and text.strip() == text and text != NOTHING


def _member(packed: zipfile.ZipFile, name: str, path: Path) -> bytes:
    told = packed.getinfo(name)
    if told.file_size > MOST_CROP_BYTES:
        raise BadInput.of(f"{path}: {name}", f"at most {MOST_CROP_BYTES} bytes", told.file_size)
    with packed.open(told) as stream:  # what it holds, not what it says that it holds, is what counts
        data = stream.read(MOST_CROP_BYTES + 1)
    if len(data) > MOST_CROP_BYTES:
        raise BadInput.of(f"{path}: {name}", f"at most {MOST_CROP_BYTES} bytes", "more")
    return data


def _crop(data: bytes, path: Path) -> NDArray[np.uint8]:
    with Image.open(io.BytesIO(data), formats=["PNG"]) as picture:
        if picture.size != CROP_SIZE_PX:
            raise BadInput.of(str(path), "crops of {} × {}".format(*CROP_SIZE_PX), "{} × {}".format(*picture.size))
        return np.array(picture.convert("RGB"))[..., ::-1]


def _known(away: float, limit: float) -> float:
    """How much is believed that a crop shows a card that it is so far from: one half at the card's own limit."""
    beyond = away / limit
    power = LIMIT_POWER if beyond < 1 else np.log(1 / SEEN - 1) / np.log(max(SEEN_WITHIN / limit, 1.2))
    return float(1 / (1 + beyond**power))


@dataclass(frozen=True, slots=True)
class Alike:
    """Two cards of a deck that are hard to tell apart; ``apart``: 1 is what two photos of one card are."""

    first: str
    second: str
    apart: float


class DeckNamer:
    """Names crops by what tells the deck's cards apart; what is like none of them is no card of the deck.

    From varied views of every crop it learns which differences a photo makes (they count little) and which
    make another card (they count much): linear discriminants of the embedding, refitted for every deck. The
    nearest few are then fitted onto the crop and compared place by place.
    """

    #: A namer abstains below this.
    min_confidence = 0.9
    crop_size_px = CROP_SIZE_PX

    def __init__(self, deck: Deck, seed: int = 1) -> None:
        """Learn the deck, and from its own cards how near is near enough."""
        rng = np.random.default_rng(seed)
        self.deck = deck
        self._names = tuple(dict.fromkeys(deck.cards))
        self.classes = (*self._names, NOTHING)
        #: A card may have several crops (both its faces, another print): each is a middle of its own.
        self._owner = np.array([self._names.index(card) for card in deck.cards])
        self._looks = [Look.of(crop) for crop in deck.crops]
        views = [view for crop in deck.crops for view in (crop, *(varied(crop, rng) for _ in range(VIEWS)))]
        self._learn(embedded(np.stack(views)), np.repeat(np.arange(len(deck.crops)), 1 + VIEWS))
        self._next = self._nearest_others()
        nexts = np.array([near for near, _ in self._next])
        self._limits = np.minimum(LIMIT, SHARE_OF_NEXT * np.minimum(nexts, np.quantile(nexts, DECK_QUANTILE)))

    def _learn(self, told: NDArray[np.float32], crop: NDArray[np.intp]) -> None:
        self._mean = told.mean(axis=0)
        away = told - self._mean
        # The views' principal axes, from their products with each other: there are fewer views than numbers.
        sizes, turned = np.linalg.eigh(away @ away.T)
        kept = np.argsort(-sizes)[: min(AXES, len(told) - 1)]
        kept = kept[sizes[kept] > 1e-6 * sizes.max()]
        axes = away.T @ (turned[:, kept] / np.sqrt(sizes[kept]))
        inside = away @ axes
        middles = np.stack([inside[crop == k].mean(axis=0) for k in range(len(self._owner))])
        spread = inside - middles[crop]
        within = spread.T @ spread / len(spread)
        within += SHRINKAGE * np.trace(within) / len(within) * np.eye(len(within), dtype=np.float32)
        whiten = np.linalg.cholesky(np.linalg.inv(within))
        self._axes = np.asarray(axes @ whiten, np.float32)
        self._middles = np.asarray(middles @ whiten, np.float32)

    def _nearest_others(self) -> list[tuple[float, int]]:
        """Of each crop, how far the most similar crop of another card is, and which that is."""
        told: list[tuple[float, int]] = []
        ways = self._by_embedding(self.deck.crops)
        for k, look in enumerate(self._looks):
            others = [(way, i) for way, i in self._nearest(ways[:, k], leave_out=int(self._owner[k]))]
            told.append(min(((self._apart(i, look, way), i) for way, i in others), default=(np.inf, k)))
        return told

    def probabilities(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(n, classes) float32 for (n, 136, 96, 3) uint8 BGR crops; the last class is no card of the deck."""
        told = np.zeros((len(crops), len(self.classes)), np.float32)
        if not len(crops):
            return told
        ways = self._by_embedding(crops)
        for n, crop in enumerate(crops):
            look = Look.of(crop)
            near: dict[int, tuple[float, float]] = {}
            for way, k in self._nearest(ways[:, n]):
                away = max(self._apart(k, look, way), 1e-3)
                owner = int(self._owner[k])
                if owner not in near or away < near[owner][0]:
                    near[owner] = away, float(self._limits[k])
            owners = list(near)
            aways = np.array([near[owner][0] for owner in owners])
            limits = np.array([near[owner][1] for owner in owners])
            among = (aways.min() / aways) ** RATIO_POWER
            best = int(np.argmin(aways))
            known = _known(float(aways[best]), max(float(limits[best]), 1e-6))
            told[n, owners] = known * among / among.sum()
            told[n, -1] = 1 - known
        return told

    def laid(self, image: NDArray[np.uint8], quad: NDArray[np.float32]) -> NDArray[np.float32] | None:
        """The quad (4, 2) laid so that its print lies on the print of the card that it is most like; None: on none."""
        crop = rectified(image, quad, self.crop_size_px)
        upright = Look.of(crop)
        looks = upright, upright.turned()
        near = self._nearest(self._by_embedding(crop[None])[:, 0])
        way, k = min(near, key=lambda one: self._apart(one[1], upright, one[0]))
        move = onto(self._looks[k], looks[way])
        if move is None:
            return None
        seen_at = cv2.perspectiveTransform(CORNERS_PX[None], move)[0]
        if way:
            seen_at = np.roll(CORNERS_PX[2] + CORNERS_PX[0] - seen_at, 2, axis=0)
        back = cv2.getPerspectiveTransform(CORNERS_PX, quad.astype(np.float32))
        return np.asarray(cv2.perspectiveTransform(seen_at[None].astype(np.float32), back)[0], np.float32)

    def alike(self) -> tuple[Alike, ...]:
        """Pairs of cards that are hard to tell apart; the nearest first."""
        pairs: dict[tuple[str, str], float] = {}
        for k, (away, other) in enumerate(self._next):
            first, second = sorted((self.deck.cards[k], self.deck.cards[other]))
            if away < ALIKE:
                pairs[first, second] = min(away, pairs.get((first, second), np.inf))
        return tuple(sorted((Alike(*pair, away) for pair, away in pairs.items()), key=lambda one: one.apart))

    def _by_embedding(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(2, n, enrolled crops) squared distances in within-card deviations, upright and upside down."""
        ways = []
        for way in (crops, crops[:, ::-1, ::-1]):
            told = (embedded(way) - self._mean) @ self._axes
            ways.append((told**2).sum(axis=1)[:, None] + (self._middles**2).sum(axis=1) - 2 * told @ self._middles.T)
        return np.asarray(np.stack(ways), np.float32)

    def _nearest(self, ways: NDArray[np.float32], leave_out: int = -1) -> list[tuple[int, int]]:
        """Of (2, enrolled crops) distances the nearest few: which way up (0 or 1), and the enrolled crop.

        Both ways where neither is far likelier: a nine's pips are nearly the same upside down.
        """
        either = np.where(self._owner == leave_out, np.inf, ways.min(axis=0))
        order = [int(k) for k in np.argsort(either, kind="stable")[:COMPARED] if np.isfinite(either[k])]
        return [
            (int(way), k) for k in order for way in np.argsort(ways[:, k]) if ways[way, k] <= EITHER_WAY * either[k]
        ]

    def _apart(self, k: int, look: Look, way: int) -> float:
        """How far a look is from an enrolled crop; 1 is usual for two photos of one card."""
        measures = apart(self._looks[k], look.turned() if way else look) / USUAL
        return float(max(measures[:2].mean(), measures[2:].mean()))
