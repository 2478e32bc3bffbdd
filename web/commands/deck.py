"""`palmreader deck NAME`: a deck of this project's own, to print and cut."""

from __future__ import annotations

import argparse
from pathlib import Path

from referee.bad_input import BadInput

HELP = "write a deck of our own as a PDF to print and cut, and its cards as SVG"
DECKS = ("hit-the-deck", "snap-pictures")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("deck", metavar="DECK", help=" or ".join(DECKS))
    parser.add_argument("--out", type=Path, metavar="OUT.pdf", help="the document (default DECK.pdf)")
    parser.add_argument("--enrolled", type=Path, metavar="FILE.deck", help="how its cards look, for `read --deck`, too")
    parser.add_argument("--svg", type=Path, metavar="DIR", help="each different card as an SVG file, too")


def run(args: argparse.Namespace) -> int:
    """Write the deck."""
    from referee.cards import shipped_deck
    from vision.cards.deck import SUFFIX
    from vision.films.print_deck import drawings, enrolled, printable, svg

    if args.deck not in DECKS:
        raise BadInput.of("deck", " or ".join(DECKS), repr(args.deck)[:60])
    if args.enrolled is not None and args.enrolled.suffix != SUFFIX:
        raise BadInput.of("--enrolled", f"a name that ends in {SUFFIX}", args.enrolled.name)
    if args.enrolled is not None:
        enrolled(args.deck).save(args.enrolled)
    path = args.out or Path(f"{args.deck}.pdf")
    deck = shipped_deck(args.deck)
    try:
        path.write_bytes(printable(args.deck))
        if args.svg is not None:
            args.svg.mkdir(parents=True, exist_ok=True)
            for name, shapes in drawings(deck).items():
                (args.svg / f"{name.replace(' ', '-')}.svg").write_text(svg(shapes), encoding="utf-8")
    except OSError as error:
        raise BadInput.of("deck", "a place that can be written", f"{error.filename}: {error.strerror}") from error
    print(f"{path}: {deck.size} cards, nine a page; print at full size on thick paper and cut along the marks")
    return 0
