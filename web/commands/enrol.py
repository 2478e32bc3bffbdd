"""`palmreader enrol`: teach the reader a deck from one photograph of each card."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from referee.bad_input import BadInput
from vision.cards.deck import DeckNamer
from vision.cards.enrol import enrolled, listed
from vision.cards.read import CardReader

HELP = "teach a deck: one photo of each card, named for the card"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "photos",
        nargs="+",
        type=Path,
        metavar="PHOTO",
        help="photos named for their card, folders, or card,picture CSV",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.deck", help="the deck file to write")
    parser.add_argument("--name", help="the deck's name (default: the file's)")


def run(args: argparse.Namespace) -> int:
    """Write the deck, say how many cards it has, which look alike, and which photos could not be used."""
    deck, wrong = enrolled(args.name or args.out.stem, listed(args.photos), CardReader.shipped())
    namer = DeckNamer(deck)
    deck.save(args.out)
    print(f"{args.out}: {len(set(deck.cards))} cards, {args.out.stat().st_size / 1e6:.1f} MB")
    for pair in namer.alike():
        if pair.mixed_up >= WORTH_SAYING:
            print(f"these two look alike: {pair.first}, {pair.second} ({pair.mixed_up:.0%} mixed up)")
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        raise BadInput(f"{args.out}: {len(wrong)} of the photos could not be used")
    return 0


#: Pairs that are mixed up less often than this are left to the reader's abstaining.
WORTH_SAYING = 0.05
