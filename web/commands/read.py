"""`palmreader read`: the cards in photographs."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from referee.bad_input import BadInput
from referee.cards import Card, shipped_deck
from vision.cards.deck import Deck, shipped_decks
from vision.cards.drawing import drawn, save_picture
from vision.cards.photo import open_photo, photos_in
from vision.cards.read import CardReader
from vision.cards.seen import SeenCard

HELP = "name the cards in photographs"

#: What each game makes of cards that lie on the table.
GAMES = ("hit-the-deck", "snap", "trash")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("photos", nargs="+", type=Path, metavar="PHOTO", help="a photo, or a folder of photos")
    parser.add_argument(
        "--deck", metavar="D", help="a deck that was enrolled: FILE.deck, or hit-the-deck, snap-pictures"
    )
    parser.add_argument("--score", choices=GAMES, help="add up what lies there by the game's rules")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON line a photo")
    form.add_argument("--csv", action="store_true", help="one line a card: photo, card, face, confidence, corners")
    parser.add_argument("--show", type=Path, metavar="OUT.png", help="draw what was seen; several photos: OUT-NAME.png")


def run(args: argparse.Namespace) -> int:
    """Read each photo and print what lies there; photos that can't be read are named at the end."""
    if args.csv and args.score:
        raise BadInput.of("--csv and --score", "one of them", "both")
    photos = photos_in(args.photos)
    shown = shown_paths(args.show, photos) if args.show else {}
    deck = args.deck or (args.score if args.score in shipped_decks() else None)
    reader = CardReader.shipped(deck=Deck.named(deck) if deck else None)
    rows = csv.writer(sys.stdout, lineterminator="\n")
    if args.csv:
        rows.writerow(["photo", "card", "face", "confidence", *(f"{axis}{i}" for i in range(4) for axis in "xy")])
    bad: list[BadInput] = []
    for photo in with_bar(photos):
        try:
            image = open_photo(photo)
        except BadInput as error:
            bad.append(error)
            continue
        seen = reader.read(image)
        clear_bar()
        if args.json:
            print(as_json(photo, seen, args.score), flush=True)
        elif args.csv:
            rows.writerows(as_rows(photo, seen))
        else:
            told = f"; {in_score(args.score, seen)}" if args.score else ""
            print(f"{photo}: {in_words(seen)}{told}", flush=True)
        if args.show:
            save_picture(shown[photo], drawn(image, seen))
    if bad:
        raise BadInput("; ".join(str(error) for error in bad))
    return 0


def with_bar(photos: Sequence[Path]) -> Iterator[Path]:
    """The photos one after another, with a bar on top of long work where a person is watching."""
    shown = sys.stderr.isatty() and len(photos) > 1
    for number, photo in enumerate(photos):
        if shown:
            print(f"\r\x1b[K{bar(number, len(photos))} {photo.name:.40}", end="", file=sys.stderr, flush=True)
        yield photo
    if shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def clear_bar() -> None:
    """Make room for a line of the answer where the bar stands."""
    if sys.stderr.isatty() and sys.stdout.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def bar(done: int, of: int, width: int = 24) -> str:
    """A progress bar: ``[=====>      ] 5/12``."""
    full = width * done // max(of, 1)
    return f"[{'=' * full}{'>' * (full < width)}{' ' * (width - full - 1)}] {done}/{of}"


def as_json(photo: Path, seen: Sequence[SeenCard], game: str | None = None) -> str:
    """One photo's cards as a line of JSON."""
    cards = [
        {
            "card": one.card,
            "face": one.face,
            "confidence": round(one.confidence, 4),
            "quad": [[round(float(x), 1), round(float(y), 1)] for x, y in one.quad],
            "alternatives": [[card, round(probability, 4)] for card, probability in one.alternatives],
        }
        for one in seen
    ]
    told: dict[str, object] = {"photo": str(photo), "cards": cards}
    if game is not None:
        told["score"] = in_score(game, seen)
    return json.dumps(told)


def as_rows(photo: Path, seen: Sequence[SeenCard]) -> list[list[str]]:
    """One photo's cards as rows of CSV."""
    return [
        [str(photo), one.card or "", one.face, f"{one.confidence:.4f}", *(f"{value:.1f}" for value in one.quad.ravel())]
        for one in seen
    ]


def in_words(seen: Sequence[SeenCard]) -> str:
    """``10h, As, 2 face down, unsure: 7c or 7s``."""
    told = [one.card for one in seen if one.card is not None]
    down = sum(one.face == "down" for one in seen)
    if down:
        told.append(f"{down} face down")
    unsure = Counter(str(one).rstrip("?") for one in seen if one.face == "up" and one.card is None)
    told += [f"unsure: {words}" + (f" ({count} times)" if count > 1 else "") for words, count in unsure.items()]
    return ", ".join(told) or "no cards"


def in_score(game: str, seen: Sequence[SeenCard]) -> str:
    """What the cards that lie there face up come to; says when some could not be read."""
    cards = [Card.parse(one.card) for one in seen if one.card is not None]
    unread = sum(one.face == "up" and one.card is None for one in seen)
    beside = f", {unread} not read" if unread else ""
    match game:
        case "hit-the-deck":
            return f"{sum(points(card) for card in cards)} points (H20){beside}"
        case "snap":
            return f"{len(seen)} cards (S20)"
        case _:
            ranks = {card.rank for card in cards}
            filled = len(ranks & set(PLACES))
            kings = sum(card.rank == "K" for card in cards)
            return f"{min(10, filled + kings)} of 10 places (T4, {kings} by kings){beside}"


#: The ten places of a layout in Trash (T2).
PLACES = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10")


def points(card: Card) -> int:
    """H20: a number card counts its number, every other card ten."""
    deck = shipped_deck("hit-the-deck")
    if card not in deck.counts:
        raise BadInput.of("--score hit-the-deck", "cards of that deck (read with --deck)", card)
    number = deck.trait(card, "number")
    return int(number) if number is not None else 10


def shown_paths(out: Path, photos: Sequence[Path]) -> dict[Path, Path]:
    """Where the drawing of each photo goes: ``OUT.png``, or of several ``OUT-NAME.png``, no two to the same file."""
    if len(photos) == 1:
        return {photos[0]: out}
    told: dict[Path, Path] = {}
    taken: Counter[str] = Counter()
    for photo in photos:
        if photo in told:
            continue
        taken[photo.stem] += 1
        again = f"-{taken[photo.stem]}" if taken[photo.stem] > 1 else ""
        told[photo] = out.with_name(f"{out.stem}-{photo.stem}{again}{out.suffix or '.png'}")
    return told
