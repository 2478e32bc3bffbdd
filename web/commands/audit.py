"""`palmreader audit`: lay a deck out in any number of photos, and get what is missing or doubled."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from referee.cards import Audit, Card, shipped_deck
from referee.cards import Deck as DeckList
from vision.cards.deck import Deck, shipped_decks
from vision.cards.photo import open_photo, photos_in
from vision.cards.read import CardReader
from web.commands.read import in_words, with_bar

HELP = "count a deck laid out in photos: what is missing, doubled, foreign"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("photos", nargs="+", type=Path, metavar="PHOTO", help="photos, or folders of photos")
    parser.add_argument(
        "--deck", metavar="D", help="a deck that was enrolled: FILE.deck, or hit-the-deck, snap-pictures"
    )
    parser.add_argument(
        "--against",
        metavar="NAME",
        help="what should be there: standard52, standard54, hit-the-deck … (default: one of each enrolled card, else "
        "standard52)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON line")


def run(args: argparse.Namespace) -> int:
    """Read all photos and compare what lies in them, together, with the deck."""
    # Decks that ship both as rules know them and as they look go by one name.
    shipped = shipped_decks()
    name = args.deck or (args.against if args.against in shipped else None)
    deck = Deck.named(name) if name else None
    wanted = should_be(args.against or (name if name in shipped else None), deck)
    reader = CardReader.shipped(deck=deck)
    cards: list[Card] = []
    unread: list[str] = []
    for photo in with_bar(photos_in(args.photos)):
        for one in reader.read(open_photo(photo)):
            if one.card is not None:
                cards.append(Card.parse(one.card))
            elif one.face == "up":
                unread.append(f"{photo.name}: {in_words([one])}")
    audit = wanted.audit(cards)
    print(as_json(audit, cards, unread) if args.json else in_lines(wanted, audit, cards, unread))
    return 0


def should_be(name: str | None, deck: Deck | None) -> DeckList:
    """The deck that is asked for, one of each enrolled card, or the standard 52."""
    if name is not None or deck is None:
        return shipped_deck(name or "standard52")
    counts = {Card.parse(card): 1 for card in deck.cards if card != "back"}
    return DeckList(deck.name, "as enrolled", counts)


def in_lines(wanted: DeckList, audit: Audit, cards: Iterable[Card], unread: list[str]) -> str:
    """For people."""
    seen = len(list(cards))
    lines = [f"{wanted.name}: {seen} cards read, {wanted.size} expected"]
    if audit.complete:
        lines.append("complete, but for what was not read" if unread else "complete")
    for name, found in (("missing", audit.missing), ("more than there should be", audit.doubled)):
        if found:
            lines.append(f"{name}: {_listed(found)}")
    if audit.foreign:
        lines.append(f"not of this deck: {_listed(audit.foreign)}")
    lines += [f"not read: {words}" for words in unread]
    return "\n".join(lines)


def as_json(audit: Audit, cards: Iterable[Card], unread: list[str]) -> str:
    """For programs."""
    told = {
        "cards": sorted(str(card) for card in cards),
        **{
            name: {str(card): count for card, count in getattr(audit, name)}
            for name in ("missing", "doubled", "foreign")
        },
        "unread": len(unread),
        "complete": audit.complete and not unread,
    }
    return json.dumps(told)


def _listed(found: Iterable[tuple[Card, int]]) -> str:
    return ", ".join(str(card) + (f" × {count}" if count > 1 else "") for card, count in found)
