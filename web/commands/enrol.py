"""`palmreader enrol`: teach the reader a deck from one look at each card, in photographs or in a video."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from referee.bad_input import BadInput
from referee.cards import Card
from vision.cards.deck import SUFFIX, Deck, DeckNamer
from vision.cards.enrol import crops_of, enrolled, listed
from vision.cards.read import CardReader
from vision.cards.sweep import Showing, showings
from vision.frame import Frame
from vision.sources.video import VideoFile

HELP = "teach a deck: one photo of each card, named for the card, or a video that shows them one after another"

#: A list of names has a few lines; more than this is another file by mistake.
LARGEST_LIST = 200_000


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "photos",
        nargs="*",
        type=Path,
        metavar="PHOTO",
        help="photos named for their card, folders, or card,picture CSV",
    )
    parser.add_argument("--video", type=Path, metavar="SWEEP", help="a video: each card at rest for half a second")
    parser.add_argument("--names", type=Path, metavar="NAMES.txt", help="with --video: the cards in order, one a line")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.deck", help="the deck file to write")
    parser.add_argument("--name", help="the deck's name (default: the file's)")


def run(args: argparse.Namespace) -> int:
    """Write the deck, say how many cards it has, which look alike, and which photos could not be used."""
    if bool(args.photos) == bool(args.video) or bool(args.video) != bool(args.names):
        given = {"photos": args.photos, "--video": args.video, "--names": args.names}
        got = " and ".join(name for name, value in given.items() if value) or "neither"
        raise BadInput.of("enrol", "photos, or --video with --names", got)
    if args.out.suffix != SUFFIX:
        raise BadInput.of("--out", f"a name that ends in {SUFFIX}", args.out.name)
    name, reader = args.name or args.out.stem, CardReader.shipped()
    wrong: list[str] = []
    if args.video:
        deck = from_video(name, args.video, listed_names(args.names), reader)
    else:
        deck, wrong = enrolled(name, listed(args.photos), reader)
    deck.save(args.out)
    print(f"{args.out}: {len(set(deck.cards))} cards, {args.out.stat().st_size / 1e6:.1f} MB")
    for pair in DeckNamer(deck).alike():
        print(f"these two look alike: {pair.first}, {pair.second}")
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        raise BadInput(f"{args.out}: {len(wrong)} of the photos could not be used")
    return 0


def from_video(name: str, path: Path, cards: list[str], reader: CardReader) -> Deck:
    """The deck that a video shows, a card at each rest; `BadInput` where they are not as many as the names."""
    with VideoFile(path, sound=False) as video:
        shown = list(showings((piece for piece in video if isinstance(piece, Frame)), reader))
    if len(shown) != len(cards):
        raise BadInput.of(str(path), f"{len(cards)} cards, one at each rest", f"{len(shown)}{_times(shown)}")
    crops = [(card, crop) for card, one in zip(cards, shown, strict=True) for crop in crops_of(one.image, one.quad)]
    return Deck(name, tuple(card for card, _ in crops), np.stack([crop for _, crop in crops]))


def listed_names(path: Path) -> list[str]:
    """The cards of a list, one a line; empty lines and those that begin with # are left out."""
    try:
        if path.stat().st_size > LARGEST_LIST:
            raise BadInput.of(str(path), f"names, at most {LARGEST_LIST} bytes", path.stat().st_size)
        lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except OSError as error:
        raise BadInput.of(str(path), "a list of cards' names", error.strerror or type(error).__name__) from None
    except UnicodeDecodeError:
        raise BadInput.of(str(path), "a list of cards' names in UTF-8", "something else") from None
    names = [line for line in lines if line and not line.startswith("#")]
    if not names:
        raise BadInput.of(str(path), "a card's name a line", "none")
    return [Card.parse(name).name for name in names]


def _times(shown: list[Showing]) -> str:
    """When they were shown, for people to find the one that is missing or twice."""
    if not shown:
        return ""
    times = [f"{one.at_ns // 60_000_000_000}:{one.at_ns / 1e9 % 60:04.1f}" for one in shown[:60]]
    return f", at {', '.join(times)}" + (" …" if len(shown) > len(times) else "")
