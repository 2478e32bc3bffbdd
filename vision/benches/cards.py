"""The benchmark of reading cards in real labelled photographs."""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]  # it ships no types

from referee.bad_input import BadInput
from vision.benches.card_speed import costs
from vision.benches.labelled import BACK, Kind, Label, LabelledPhoto, LabelledSet, open_set
from vision.benches.wilson import wilson
from vision.cards.deck import Deck
from vision.cards.enrol import crops_of, listed
from vision.cards.photo import open_photo
from vision.cards.quads import area
from vision.cards.read import CardReader
from vision.cards.seen import SeenCard
from vision.detections import CARD_BACK, CARD_FACE, CARD_OUTLINE

HELP = "cards in real labelled photographs: found, read, abstained, invented"

#: Pictures of a set that `--quick` reads, drawn with the seed.
QUICK_PICTURES = 44

#: An index takes 4 to 7 % of its card, a loosely drawn box around it up to twice that.
LEAST_CARD_TO_INDEX = 6.0

#: Thresholds of the curve of wrong against abstained.
THRESHOLDS = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995)

#: Pictures on which backends are timed.
SPEED_PICTURES = 10

#: Bins of the stated confidence in `ece`.
ECE_BINS = 10


def add(parser: argparse.ArgumentParser) -> None:
    """Add the bench's own options."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="a folder of labelled photos")
    parser.add_argument("--missed", action="store_true", help="name each picture in which something went wrong")
    parser.add_argument("--deck", type=Path, help="read with a deck that was enrolled")
    parser.add_argument("--enrol", type=Path, metavar="FILE.csv", help="enrol from these pictures; leave them out")
    parser.add_argument("--plot", type=Path, metavar="OUT.png", help="wrong against abstained, and reliability")
    parser.add_argument("--speed", action="store_true", help="also ms a picture and a card, by backend")
    parser.add_argument("--checkpoint", type=Path, help="with --speed: the same weights as an ultralytics .pt")
    parser.add_argument("--backend", help="onnxruntime or openvino (default: what is installed)")


def run(args: argparse.Namespace) -> int:
    """Read the folders, print a table, and as the last line one JSON object."""
    if args.deck and args.enrol:
        raise BadInput.of("--deck and --enrol", "one of them", "both")
    if args.plot and find_spec("matplotlib") is None:  # said before minutes of measuring, not after
        raise BadInput.of("--plot", "matplotlib: pip install 'palmreader[plot]'", "none installed")
    sets = [found for folder in args.folders for found in open_set(folder)]
    deck, left_out = Deck.load(args.deck) if args.deck else None, frozenset[Path]()
    if args.enrol:
        deck, left_out = enrolled_from_labels(args.enrol, sets, CardReader.shipped(args.backend))
    reader = CardReader.shipped(args.backend, deck)
    tallies = measure(sets, reader, args, left_out)
    total = Tally.added(tallies.values())
    _print(table(tallies))
    figures: dict[str, object] = {"bench": "cards", "seed": args.seed, "quick": args.quick, **total.figures()}
    figures["by_class"] = total.by_class()
    figures["confusions"] = total.confusions()
    figures["curve"] = total.curve()
    figures["reliability"] = total.reliability()
    if args.speed:
        pictures = [open_photo(path) for path in sets[0].pictures[:SPEED_PICTURES]]
        figures["by_backend"] = costs(pictures, args.checkpoint)
        _print("\n".join(f"{name}: {told}" for name, told in figures["by_backend"].items()))  # type: ignore[attr-defined]
    if args.plot:
        plot(total, args.plot)
    figures["by_folder"] = {name: tally.figures() for name, tally in tallies.items()}
    _print(json.dumps(figures))
    return 0


def _print(text: str) -> None:
    print(text, flush=True)


@dataclass(slots=True)
class Tally:
    """What was counted over some pictures."""

    images: int = 0
    images_all_labelled: int = 0
    cards: int = 0
    found: int = 0
    false: int = 0
    milliseconds: float = 0.0
    read: list[tuple[str, str | None, str, float]] = field(default_factory=list)
    """Of each card found: as labelled, as named (None: abstained), the best guess, the stated confidence."""
    fits: list[bool] = field(default_factory=list)
    """Of each of them: whether the best guess is right."""

    @classmethod
    def added(cls, parts: Iterable[Tally]) -> Tally:
        """All of several."""
        total = cls()
        for part in parts:
            total.images += part.images
            total.images_all_labelled += part.images_all_labelled
            total.cards += part.cards
            total.found += part.found
            total.false += part.false
            total.milliseconds += part.milliseconds
            total.read += part.read
            total.fits += part.fits
        return total

    def figures(self) -> dict[str, object]:
        """The figures of the benchmark, flat."""
        named = [card is not None for _, card, _, _ in self.read]
        right = sum(n and fit for n, fit in zip(named, self.fits, strict=True))
        wrong = sum(n and not fit for n, fit in zip(named, self.fits, strict=True))
        found = len(self.read)
        shares: dict[str, object] = {"images": self.images, "cards": self.cards}
        for name, count, of in [
            ("cards_found", self.found, self.cards),
            ("read_right", right, found),
            ("read_wrong", wrong, found),
            ("abstained", found - right - wrong, found),
        ]:
            low, high = wilson(count, of)
            shares |= {
                name: round(count / of, 4) if of else None,
                f"{name}_n": of,
                f"{name}_low": round(low, 4),
                f"{name}_high": round(high, 4),
            }
        images = self.images_all_labelled
        shares["cards_false"] = round(self.false / images, 4) if images else None
        shares["ece"] = expected_calibration_error(
            np.array([confidence for *_, confidence in self.read]), np.array(self.fits, np.float64)
        )
        shares["ms_per_image"] = round(self.milliseconds / self.images, 1) if self.images else None
        return shares

    def curve(self) -> list[dict[str, float]]:
        """For thresholds of confidence, the shares of the cards found that are abstained from and named wrongly."""
        stated, fits = np.array([confidence for *_, confidence in self.read]), np.array(self.fits, np.bool_)
        return [
            {
                "threshold": threshold,
                "abstained": round(float((stated < threshold).mean()), 4),
                "wrong": round(float(((stated >= threshold) & ~fits).mean()), 4),
            }
            for threshold in (THRESHOLDS if len(fits) else ())
        ]

    def reliability(self) -> list[dict[str, float]]:
        """For each bin of the stated confidence: how many cards, the mean stated, the share right."""
        stated, fits = np.array([confidence for *_, confidence in self.read]), np.array(self.fits, np.float64)
        bins = np.clip((stated * ECE_BINS).astype(int), 0, ECE_BINS - 1) if len(fits) else np.zeros(0, int)
        return [
            {
                "cards": int((bins == b).sum()),
                "stated": round(float(stated[bins == b].mean()), 4),
                "right": round(float(fits[bins == b].mean()), 4),
            }
            for b in range(ECE_BINS)
            if (bins == b).any()
        ]

    def by_class(self) -> dict[str, dict[str, int]]:
        """For each labelled card, how often it was named what; ``?`` where the reader abstained."""
        table: dict[str, Counter[str]] = {}
        for label, card, _, _ in self.read:
            table.setdefault(label, Counter())[card or "?"] += 1
        return {label: dict(named.most_common()) for label, named in sorted(table.items())}

    def confusions(self) -> dict[str, int]:
        """Wrong names by kind: colours, 6 with 9, 10 with 7, another suit, another rank."""
        counted: Counter[str] = Counter()
        for (label, card, _, _), fit in zip(self.read, self.fits, strict=True):
            if card is not None and not fit:
                counted[confusion(label, card)] += 1
        return dict(counted.most_common())


def confusion(label: str, card: str) -> str:
    """The kind of a wrong name."""
    rank, suit, other_rank, other_suit = label[:-1], label[-1], card[:-1], card[-1]
    if "joker" in label or "joker" in card:
        return "joker"
    if suit != other_suit and len(label) > 1 and rank == other_rank:
        return "red for black" if (suit in "dh") != (other_suit in "dh") else "suit of the same colour"
    ranks = {label if len(label) == 1 or label == "10" else rank, other_rank}
    if ranks == {"6", "9"}:
        return "6 for 9"
    if ranks == {"10", "7"}:
        return "10 for 7"
    return "another rank" if suit == other_suit or label[-1] not in "cdhs" else "another rank and suit"


def enrolled_from_labels(
    listed_in: Path, sets: Sequence[LabelledSet], reader: CardReader
) -> tuple[Deck, frozenset[Path]]:
    """A deck from the pictures that a CSV names, and those pictures; their labels tell which quad is the card.

    Where the card's quad is not found, a person would take another photo: the bench says so and goes on.
    """
    wanted: dict[Path, list[str]] = {}
    for shown in listed([listed_in]):
        wanted.setdefault(shown.photo.resolve(), []).append(shown.card)
    cards: list[str] = []
    crops: list[NDArray[np.uint8]] = []
    missing: list[str] = []
    for photo in (photo for one in sets for photo in one if photo.path.resolve() in wanted):
        image = open_photo(photo.path)
        quads = reader.find(image).labelled(CARD_FACE, CARD_BACK, CARD_OUTLINE).quads
        places = [SeenCard(None, "up", 0.0, quad, (("", 0.0),)) for quad in quads]
        pairs = matched(photo.labels, places, (image.shape[1], image.shape[0]))
        for card in wanted[photo.path.resolve()]:
            quad = next((quads[j] for i, j in pairs.items() if photo.labels[i].card == card), None)
            if quad is None:
                missing.append(card)
                continue
            for crop in crops_of(image, quad):
                cards.append(card)
                crops.append(crop)
    if not crops:
        raise BadInput.of(str(listed_in), "pictures of the folders in which the card is found", "none")
    _print(f"enrolled {len(set(cards))} cards" + (f"; not found: {', '.join(missing)}" if missing else ""))
    return Deck(listed_in.stem, tuple(cards), np.stack(crops)), frozenset(wanted)


def measure(
    sets: Sequence[LabelledSet], reader: CardReader, args: argparse.Namespace, left_out: frozenset[Path]
) -> dict[str, Tally]:
    """Read all pictures of the sets but those left out; a tally for each."""
    tallies: dict[str, Tally] = {}
    for one in sets:
        tally = tallies.setdefault(f"{one.folder.parent.name}/{one.folder.name}", Tally())
        photos = [photo for photo in one if not left_out or photo.path.resolve() not in left_out]
        if args.quick and len(photos) > QUICK_PICTURES:
            photos = random.Random(args.seed).sample(photos, QUICK_PICTURES)
        for number, photo in enumerate(photos, 1):
            image = open_photo(photo.path)
            began = time.perf_counter()
            seen = reader.read(image)
            tally.milliseconds += 1000 * (time.perf_counter() - began)
            story = count(tally, photo, seen, (image.shape[1], image.shape[0]))
            if args.missed and story:
                _print(f"{photo.path.name}: {story}")
            if sys.stderr.isatty():
                print(f"\r{one.folder.name} {number}/{len(photos)} ", end="", file=sys.stderr)
    return tallies


def count(tally: Tally, photo: LabelledPhoto, seen: Sequence[SeenCard], size_px: tuple[int, int]) -> str:
    """Add one picture to a tally; returns in words what went wrong."""
    pairs = matched(photo.labels, seen, size_px)
    wrong: list[str] = []
    tally.images += 1
    for i, label in enumerate(photo.labels):
        if i not in pairs:
            if not label.may_be_hidden:
                tally.cards += 1
                wrong.append(f"{label.card} not found")
            continue
        one = seen[pairs[i]]
        tally.cards += 1
        tally.found += 1
        named = BACK if one.face == "down" else one.card
        guess = BACK if one.face == "down" else one.or_cards[0] if one.or_cards else ""
        fit = label.fits(guess)
        tally.read.append((label.card, named, guess, one.confidence))
        tally.fits.append(fit)
        if not fit or named is None:
            wrong.append(f"{label.card} read as {one}")
    if photo.all_labelled:
        tally.images_all_labelled += 1
        taken = set(pairs.values())
        false = [one for j, one in enumerate(seen) if j not in taken and (photo.backs_labelled or one.face == "up")]
        tally.false += len(false)
        wrong += [f"nothing read as {one}" for one in false]
    return ", ".join(wrong)


def matched(labels: Sequence[Label], seen: Sequence[SeenCard], size_px: tuple[int, int]) -> dict[int, int]:
    """One to one: which of ``seen`` shows which label; as many as can be, then the nearest."""
    if not labels or not seen:
        return {}
    cost = np.array([[_distance(label, one, size_px) for one in seen] for label in labels])
    # What can't be matched costs more than all possible matches together: their number comes first.
    finite = np.where(np.isfinite(cost), cost, 1000.0)
    rows, columns = linear_sum_assignment(finite)
    return {int(i): int(j) for i, j in zip(rows, columns, strict=True) if np.isfinite(cost[i, j])}


def _distance(label: Label, one: SeenCard, size_px: tuple[int, int]) -> float:
    """0 where a label and a quad agree best, infinite where they don't show one card."""
    match label.kind:
        case Kind.NO_PLACE:
            if one.face != "up":
                return np.inf
            # Several that nothing tells apart: the reading decides, and the surest quad among equals.
            return (0.0 if label.fits(one.card) else 2.0) + 1 - one.score
        case Kind.WHOLE:
            overlap = box_iou(label.boxes[0], clipped_box(one.quad, size_px))
            return 1 - overlap if overlap >= 0.5 else np.inf
        case Kind.CORNERS:
            centres = (label.boxes[:, :2] + label.boxes[:, 2:]) / 2
            index_area = float((label.boxes[:, 2:] - label.boxes[:, :2]).prod(axis=1).max())
            if area(one.quad) < LEAST_CARD_TO_INDEX * index_area:
                return np.inf  # a quad around the index itself, not around the card
            inside = card_coordinates(one.quad, centres)
            from_edge = np.minimum(inside, 1 - inside)
            if (from_edge < 0).any() or (from_edge > 1 / 3).any():
                return np.inf
            # An index lies about a tenth of the card's width and height from its corner.
            return float(np.abs(from_edge - 0.1).max())


def clipped_box(quad: NDArray[np.float32], size_px: tuple[int, int]) -> NDArray[np.float32]:
    """The axis-aligned box (4,) of a quad, clipped to the picture."""
    box = np.concatenate([quad.min(axis=0), quad.max(axis=0)])
    limit = np.array([*size_px, *size_px], np.float32)
    return np.asarray(np.clip(box, 0, limit), np.float32)


def box_iou(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    """Intersection over union of two boxes (left, top, right, bottom)."""
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    if (sides <= 0).any():
        return 0.0
    shared = float(sides.prod())
    union = float((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod()) - shared
    return shared / union if union > 0 else 0.0


def card_coordinates(quad: NDArray[np.float32], points: NDArray[np.floating]) -> NDArray[np.float64]:
    """Points (n, 2) in pixels, as shares (n, 2) of the card's width and height; 0 to 1 inside."""
    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    homography = cv2.getPerspectiveTransform(np.asarray(quad, np.float32), unit)
    told = cv2.perspectiveTransform(np.asarray(points, np.float32)[None], homography)
    return np.asarray(told[0], np.float64)


def expected_calibration_error(confidence: NDArray[np.float64], right: NDArray[np.float64]) -> float | None:
    """Mean distance of stated confidence and share right, over ten equal bins weighted by how many fall in."""
    if not len(confidence):
        return None
    bins = np.clip((confidence * ECE_BINS).astype(int), 0, ECE_BINS - 1)
    error = sum(
        abs(confidence[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean()
        for b in range(ECE_BINS)
        if (bins == b).any()
    )
    return round(float(error), 4)


def plot(total: Tally, path: Path) -> None:
    """Draw wrong against abstained, and the reliability of the stated confidence; needs the extra `plot`."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4), layout="constrained")
    curve, bins = total.curve(), total.reliability()
    left.plot([one["abstained"] for one in curve], [one["wrong"] for one in curve], "o-")
    left.set(xlabel="abstained", ylabel="named wrongly", title=f"{len(total.fits)} cards found")
    right.plot([0, 1], [0, 1], ":", color="grey")
    right.scatter([one["stated"] for one in bins], [one["right"] for one in bins], [10 + one["cards"] for one in bins])
    right.set(xlabel="confidence stated", ylabel="share right", title="reliability")
    try:
        figure.savefig(path, dpi=80)
    except (OSError, ValueError) as error:
        raise BadInput.of(str(path), "a place and a name ending in .png", error) from None
    pyplot.close(figure)


def table(tallies: dict[str, Tally]) -> str:
    """The figures for people."""
    titles = ["images", "cards", "found", "false", "right", "wrong", "abst.", "ece", "ms"]
    rows = [f"{'folder':34} " + " ".join(f"{title:>6}" for title in titles)]

    def cell(value: object, digits: int = 3) -> str:
        return f"{value:6.{digits}f}" if isinstance(value, float) else f"{'–':>6}" if value is None else f"{value:>6}"

    for name, tally in [*tallies.items(), *([("all", Tally.added(tallies.values()))] if len(tallies) > 1 else [])]:
        f = tally.figures()
        numbers = [f["images"], f["cards"], f["cards_found"], f["cards_false"], f["read_right"], f["read_wrong"]]
        cells = [cell(v) for v in [*numbers, f["abstained"], f["ece"]]] + [cell(f["ms_per_image"], 0)]
        rows.append(f"{name:34} " + " ".join(cells))
    return "\n".join(rows)
