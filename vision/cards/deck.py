"""A deck that was enrolled by showing its cards: a small file without code, and the namer that reads with it."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from vision.cards.embed import CROP_SIZE_PX, embedded, varied
from vision.cards.reader import NOTHING

#: The file's format; a reader refuses what it doesn't know.
FORMAT = "palmreader deck 1"

#: More than any deck needs; a file that claims more is refused before it is unpacked.
MOST_CROPS, MOST_CROP_BYTES = 2000, 200_000

#: Views made of each crop when a deck is opened, beside the crop itself, and further ones that it is judged by,
#: which differ from the crop by so much more.
VIEWS, TRIALS, TRIALS_HARDER = 12, 4, 1.6

#: Directions of the embedding that are kept, and how much of their mean spread every one is given: chosen on
#: decks rendered for training.
AXES, SHRINKAGE = 200, 0.05

#: Of the deck's own trial views the share that may be called unknown, and how much further than those a card
#: in a real photo may be.
OWN_UNKNOWN, FURTHER_THAN_TRIALS = 0.02, 1.0


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
        bad = [card for card in self.cards if not card or card == NOTHING or len(card) > 60 or "\n" in card]
        if bad or not self.cards:
            raise BadInput.of(f"deck {self.name}: cards", "names of 1 to 60 letters", bad or "none")

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
    def load(cls, path: Path) -> Deck:
        """Open a deck file; nothing in it is run, and what is larger than a deck can be is refused."""
        try:
            with zipfile.ZipFile(path) as packed:
                told = json.loads(_member(packed, "deck.json", path))
                if not isinstance(told, dict) or told.get("format") != FORMAT:
                    raise BadInput.of(str(path), f"a file of the format {FORMAT!r}", "another")
                cards = tuple(str(card) for card in told["cards"])
                if len(cards) > MOST_CROPS:
                    raise BadInput.of(str(path), f"at most {MOST_CROPS} crops", len(cards))
                crops = [_crop(_member(packed, f"{i:04}.png", path), path) for i in range(len(cards))]
        except OSError as error:
            raise BadInput.of(str(path), "a deck file", error.strerror or error) from None
        except (zipfile.BadZipFile, KeyError, ValueError, NotImplementedError, RuntimeError) as error:
            if isinstance(error, BadInput):
                raise
            raise BadInput.of(str(path), "a deck file", f"something else ({error})") from None
        if not crops:
            raise BadInput.of(str(path), "a deck with cards", "none")
        return cls(str(told.get("name", path.stem)), cards, np.stack(crops))


def _member(packed: zipfile.ZipFile, name: str, path: Path) -> bytes:
    if packed.getinfo(name).file_size > MOST_CROP_BYTES:
        raise BadInput.of(f"{path}: {name}", f"at most {MOST_CROP_BYTES} bytes", packed.getinfo(name).file_size)
    return packed.read(name)


def _crop(data: bytes, path: Path) -> NDArray[np.uint8]:
    from PIL import Image

    with Image.open(io.BytesIO(data), formats=["PNG"]) as picture:
        if picture.size != CROP_SIZE_PX:
            raise BadInput.of(str(path), f"crops of {CROP_SIZE_PX}", picture.size)
        return np.array(picture.convert("RGB"))[..., ::-1]


@dataclass(frozen=True, slots=True)
class Alike:
    """Two cards of a deck that are hard to tell apart; ``mixed_up`` of their trial views were."""

    first: str
    second: str
    mixed_up: float


class DeckNamer:
    """Names crops by what tells the deck's cards apart; what is like none of them is no card of the deck.

    From varied views of every crop it learns which differences a photo makes (they count little) and which
    make another card (they count much): linear discriminants of the embedding, refitted for every deck.
    """

    #: A namer abstains below this; the temperature is fitted so that the probability means what it says.
    min_confidence = 0.9
    crop_size_px = CROP_SIZE_PX

    def __init__(self, deck: Deck, seed: int = 1) -> None:
        """Learn the deck, and from further views how near is near enough."""
        rng = np.random.default_rng(seed)
        self.deck = deck
        self._names = tuple(dict.fromkeys(deck.cards))
        self.classes = (*self._names, NOTHING)
        #: A card may have several crops (both its faces, another print): each is a middle of its own.
        self._owner = np.array([self._names.index(card) for card in deck.cards])
        views = [view for crop in deck.crops for view in (crop, *(varied(crop, rng) for _ in range(VIEWS)))]
        self._learn(embedded(np.stack(views)), np.repeat(np.arange(len(deck.crops)), 1 + VIEWS))
        trials = np.stack([varied(crop, rng, TRIALS_HARDER) for crop in deck.crops for _ in range(TRIALS)])
        self._trial_owner = np.repeat(self._owner, TRIALS)
        self._trials = self._distances(trials)
        own = self._trials[np.arange(len(trials)), self._trial_owner]
        #: Up to here a crop is of the deck: real photos differ more than the trial views that are made.
        self._far = float(np.quantile(own, 1 - OWN_UNKNOWN)) * FURTHER_THAN_TRIALS
        self._temperature = _fitted_temperature(self._trials, self._trial_owner)

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

    def probabilities(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(n, classes) float32 for (n, 136, 96, 3) uint8 BGR crops; the last class is no card of the deck."""
        if not len(crops):
            return np.zeros((0, len(self.classes)), np.float32)
        near = np.minimum(self._distances(crops), self._distances(crops[:, ::-1, ::-1]))
        scaled = -near / self._temperature
        powers = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        among = powers / powers.sum(axis=1, keepdims=True)
        # At the limit known and unknown are alike likely; a fifth of it away one of them is nearly sure.
        over = (near.min(axis=1) - self._far) / (0.05 * self._far)
        known = 1 / (1 + np.exp(np.clip(over, -50, 50)))
        return np.asarray(np.concatenate([among * known[:, None], 1 - known[:, None]], axis=1), np.float32)

    def alike(self) -> tuple[Alike, ...]:
        """Pairs of cards of which trial views were taken for each other, or nearly; the worst first."""
        pairs: dict[tuple[str, str], float] = {}
        shown = {name: TRIALS * self.deck.cards.count(name) for name in self._names}
        for row, owner in zip(self._trials, self._trial_owner, strict=True):
            powers = np.exp(-(row - row.min()) / self._temperature)
            for other in np.flatnonzero(powers / powers.sum() > 0.05):
                if other != owner:
                    first, second = sorted((self._names[owner], self._names[other]))
                    share = float(powers[other] / powers.sum()) / (shown[first] + shown[second])
                    pairs[first, second] = pairs.get((first, second), 0.0) + share
        found = [Alike(first, second, share) for (first, second), share in pairs.items()]
        return tuple(sorted(found, key=lambda one: -one.mixed_up))

    def _distances(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(n, cards) squared distances to each card's nearest middle, in within-card deviations."""
        told = (embedded(crops) - self._mean) @ self._axes
        squared = (told**2).sum(axis=1)[:, None] + (self._middles**2).sum(axis=1) - 2 * told @ self._middles.T
        near = np.stack([squared[:, self._owner == k].min(axis=1) for k in range(len(self._names))], axis=1)
        return np.asarray(np.maximum(near, 0), np.float32)


def _fitted_temperature(distances: NDArray[np.float32], owner: NDArray[np.intp]) -> float:
    """The temperature under which the trial views' own cards are least surprising."""
    tried = np.geomspace(0.5, 500, 40)
    rows = np.arange(len(owner))
    surprise = []
    for temperature in tried:
        scaled = -distances / temperature
        top = scaled.max(axis=1)
        total = top + np.log(np.exp(scaled - top[:, None]).sum(axis=1))
        surprise.append(float((total - scaled[rows, owner]).mean()))
    return float(tried[int(np.argmin(surprise))])
