"""The benchmark of enrolled decks: one look at each card, then the film renderer's photographs under six lights."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]  # it ships no types

from referee.bad_input import BadInput
from vision.benches.wilson import wilson
from vision.cards.deck import Deck, DeckNamer
from vision.cards.enrol import enrolled_from
from vision.cards.quads import iou
from vision.cards.read import CardReader
from vision.cards.seen import SeenCard
from vision.films.artwork import DeckArt, standard_deck
from vision.films.installed_decks import installed, installed_deck
from vision.films.laid_out import LIGHTS, Photo, Rng, photographs
from vision.films.print_deck import own_deck

HELP = "enrolled decks: one look at each card, then photographs under six lights"

OURS = ("hit-the-deck", "snap-pictures", "standard")

#: Photographs under each light, fifteen cards in each, and of how many the table and the camera are the same.
PHOTOS, QUICK_PHOTOS, A_TABLE = 24, 1, 6
CELLS = (5, 3)
SIZES_PX = ((1280, 720), (1600, 1200), (1920, 1080))

#: The one look at each card: a photo of it alone, in the way in which a person would take it.
LOOK_TABLE_MM, LOOK_SIZE_PX, LOOK_TILT_DEG, LOOK_FILL = 300.0, (960, 720), (0.0, 12.0), (1.4, 1.6)

#: Every so-manyth card is left out of the deck, in a second reading, to see whether it is then named as another.
LEFT_OUT = 4

#: A quad shows the card that it agrees with by this much.
SAME_CARD_IOU = 0.5


def add(parser: argparse.ArgumentParser) -> None:
    """Add the bench's own options."""
    known = ", ".join(OURS)
    parser.add_argument("--decks", default=",".join(OURS), metavar="A,B", help=f"{known} or designs installed here")
    parser.add_argument("--look", choices=tuple(LIGHTS), default="lamp", help="the light of the one look")
    parser.add_argument("--photos", type=int, metavar="N", help=f"photographs under each light (default {PHOTOS})")
    parser.add_argument("--missed", action="store_true", help="say of each wrong name what it was and where")
    parser.add_argument("--backend", help="onnxruntime or openvino (default: what is installed)")


def run(args: argparse.Namespace) -> int:
    """Enrol and photograph each deck, print a table, and as the last line one JSON object."""
    arts = {name: artwork(name) for name in args.decks.split(",")}
    photos = args.photos or (QUICK_PHOTOS if args.quick else PHOTOS)
    finder = CardReader.shipped(args.backend)
    by_deck: dict[str, dict[str, Tally]] = {}
    missing: dict[str, Tally] = {}
    alike: dict[str, list[str]] = {}
    for name, art in arts.items():
        rng = np.random.default_rng([args.seed, *name.encode()])
        deck = one_look(name, art, args.look, finder, rng)
        namer = DeckNamer(deck)
        alike[name] = [f"{pair.first}, {pair.second}" for pair in namer.alike()]
        absent = frozenset(tuple(art.faces)[::LEFT_OUT])
        whole, lacking = finder.with_namer(namer), finder.with_namer(DeckNamer(deck.without(absent)))
        tallies = by_deck[name] = {light: Tally() for light in LIGHTS}
        missing[name] = Tally()
        for light, photo in views(art, tuple(art.faces), rng, photos):
            began = time.perf_counter()
            found = finder.find(photo.image)
            seen = whole.read_found(photo.image, found)
            tallies[light].milliseconds += 1000 * (time.perf_counter() - began)
            tallies[light].count(photo, seen, f"{name}, {light}" if args.missed else "")
            missing[name].count(photo.only(absent), lacking.read_found(photo.image, found))
    _print(table(by_deck, missing))
    total = Tally.added(tally for tallies in by_deck.values() for tally in tallies.values())
    figures: dict[str, object] = {"bench": "enrolment", "seed": args.seed, "quick": args.quick, "look": args.look}
    figures |= total.figures()
    left_out = Tally.added(missing.values())
    figures |= share("missing_named", left_out.right + left_out.wrong, left_out.cards)
    figures["by_deck"] = {name: Tally.added(tallies.values()).figures() for name, tallies in by_deck.items()}
    figures["by_light"] = {
        light: Tally.added(tallies[light] for tallies in by_deck.values()).figures() for light in LIGHTS
    }
    figures["mixed_up"] = dict(total.mixed_up.most_common(20))
    figures["alike"] = alike
    _print(json.dumps(figures))
    return 0


def artwork(name: str) -> DeckArt:
    """The pictures of a deck by its name."""
    if name == "standard":
        return standard_deck()
    if name in OURS:
        return own_deck(name)
    if name not in installed():
        raise BadInput.of("--decks", ", ".join((*OURS, *installed())), repr(name)[:60])
    return installed_deck(name)


def one_look(name: str, art: DeckArt, light: str, finder: CardReader, rng: Rng) -> Deck:
    """The deck as enrolled from one photograph of each card, all under one light."""
    looks = photographs(
        art,
        [[card] for card in art.faces],
        LIGHTS[light],
        rng,
        size_px=LOOK_SIZE_PX,
        cells=(1, 1),
        cell_mm=LOOK_TABLE_MM,
        tilt_deg=LOOK_TILT_DEG,
        fill=LOOK_FILL,
    )
    shown = ((photo.cards[0][0], photo.image) for photo in looks)
    deck, wrong = enrolled_from(name, shown, finder)
    for line in wrong:
        _print(line)
    return deck


def views(art: DeckArt, cards: Sequence[str], rng: Rng, photos: int) -> Iterator[tuple[str, Photo]]:
    """Photographs of the cards under every light in turn; all cards are shown before any is shown again."""
    a_photo = CELLS[0] * CELLS[1]
    for light, told in LIGHTS.items():
        rounds = 1 + a_photo * photos // len(cards)
        drawn = [cards[i] for _ in range(rounds) for i in rng.permutation(len(cards))]
        layouts = [drawn[i * a_photo : (i + 1) * a_photo] for i in range(photos)]
        for first in range(0, photos, A_TABLE):
            size = SIZES_PX[int(rng.integers(len(SIZES_PX)))]
            some = layouts[first : first + A_TABLE]
            for photo in photographs(art, some, told, rng, size_px=size, cells=CELLS):
                yield light, photo


@dataclass(slots=True)
class Tally:
    """What was counted over some photographs."""

    images: int = 0
    cards: int = 0
    found: int = 0
    right: int = 0
    wrong: int = 0
    false: int = 0
    milliseconds: float = 0.0
    mixed_up: Counter[str] = field(default_factory=Counter)

    @classmethod
    def added(cls, parts: Iterable[Tally]) -> Tally:
        """All of several."""
        total = cls()
        for part in parts:
            for name in ("images", "cards", "found", "right", "wrong", "false", "milliseconds"):
                setattr(total, name, getattr(total, name) + getattr(part, name))
            total.mixed_up += part.mixed_up
        return total

    def count(self, photo: Photo, seen: Sequence[SeenCard], say: str = "") -> None:
        """Count what was seen in one photograph; `say`: name what went wrong, after these words."""
        self.images += 1
        self.cards += len(photo.cards)
        pairs = matched(photo, seen)
        self.found += len(pairs)
        for i, j in pairs.items():
            card, one = photo.cards[i][0], seen[j]
            if one.card is None:
                continue
            self.right += one.card == card
            if one.card != card:
                self.wrong += 1
                self.mixed_up[f"{card} as {one.card}"] += 1
                if say:
                    _print(f"{say}: {card} named {one.card} ({one.confidence:.3f})")
        alone = [one for j, one in enumerate(seen) if j not in set(pairs.values())]
        self.false += sum(one.card is not None for one in alone)
        if sys.stderr.isatty():
            print(f"\r{self.images} photographs ", end="", file=sys.stderr)

    def figures(self) -> dict[str, object]:
        """The figures, flat: right, wrong and abstained are shares of the cards found."""
        told: dict[str, object] = {"images": self.images, "cards": self.cards}
        told |= share("cards_found", self.found, self.cards)
        told |= share("read_right", self.right, self.found)
        told |= share("read_wrong", self.wrong, self.found)
        told |= share("abstained", self.found - self.right - self.wrong, self.found)
        told["cards_false"] = round(self.false / self.images, 4) if self.images else None
        told["ms_per_image"] = round(self.milliseconds / self.images, 1) if self.images else None
        return told


def matched(photo: Photo, seen: Sequence[SeenCard]) -> dict[int, int]:
    """One to one: which of the cards each of those seen is at; a face-down reading is no find of a face."""
    up = [j for j, one in enumerate(seen) if one.face == "up"]
    if not up or not photo.cards:
        return {}
    agree = np.array([[iou(quad.astype(np.float32), seen[j].quad) for j in up] for _, quad in photo.cards])
    rows, columns = linear_sum_assignment(-agree)
    return {int(i): up[k] for i, k in zip(rows, columns, strict=True) if agree[i, k] >= SAME_CARD_IOU}


def share(name: str, count: int, of: int) -> dict[str, object]:
    """A share with its n and its 95 % Wilson interval."""
    low, high = wilson(count, of)
    return {
        name: round(count / of, 4) if of else None,
        f"{name}_n": of,
        f"{name}_low": round(low, 4),
        f"{name}_high": round(high, 4),
    }


def table(by_deck: dict[str, dict[str, Tally]], missing: dict[str, Tally]) -> str:
    """The figures for people: by deck and light, and what becomes of cards that are not in the deck."""
    titles = f"{'deck':14} {'light':8} {'cards':>6} {'found':>6} {'right':>22} {'wrong':>24} {'abst.':>6} {'false':>6}"
    rows = [titles]

    def row(name: str, light: str, tally: Tally) -> str:
        def cell(count: int, digits: int) -> str:
            low, high = wilson(count, tally.found)
            at = count / max(tally.found, 1)
            return f"{at:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"

        found = tally.found / max(tally.cards, 1)
        abstained = (tally.found - tally.right - tally.wrong) / max(tally.found, 1)
        return (
            f"{name:14} {light:8} {tally.cards:6} {found:6.3f} {cell(tally.right, 3):>22} {cell(tally.wrong, 4):>24} "
            f"{abstained:6.3f} {tally.false / max(tally.images, 1):6.2f}"
        )

    for name, tallies in by_deck.items():
        rows += [row(name, light, tally) for light, tally in tallies.items()]
        rows.append(row(name, "all", Tally.added(tallies.values())))
        absent = missing[name]
        low, high = wilson(absent.right + absent.wrong, absent.cards)
        named = (absent.right + absent.wrong) / max(absent.cards, 1)
        rows.append(f"{name:14} not in the deck: {absent.cards} cards, named {named:.4f} ({low:.4f}–{high:.4f})")
    return "\n".join(rows)


def _print(text: str) -> None:
    print(text, flush=True)
