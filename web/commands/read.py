"""`palmreader read`: the cards in photographs."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from referee.bad_input import BadInput
from vision.cards.drawing import drawn, save_picture
from vision.cards.photo import open_photo, photos_in
from vision.cards.read import CardReader
from vision.cards.seen import SeenCard

HELP = "name the cards in photographs"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("photos", nargs="+", type=Path, metavar="PHOTO", help="a photo, or a folder of photos")
    parser.add_argument("--json", action="store_true", help="one JSON line a photo")
    parser.add_argument("--show", type=Path, metavar="OUT.png", help="draw what was seen; several photos: OUT-NAME.png")


def run(args: argparse.Namespace) -> int:
    """Read each photo and print what lies there; photos that can't be read are named at the end."""
    photos = photos_in(args.photos)
    reader = CardReader.shipped()
    bad: list[BadInput] = []
    for photo in photos:
        try:
            image = open_photo(photo)
        except BadInput as error:
            bad.append(error)
            continue
        seen = reader.read(image)
        print(as_json(photo, seen) if args.json else f"{photo}: {in_words(seen)}", flush=True)
        if args.show:
            save_picture(_shown_path(args.show, photo, len(photos)), drawn(image, seen))
    if bad:
        raise BadInput("; ".join(str(error) for error in bad))
    return 0


def as_json(photo: Path, seen: Sequence[SeenCard]) -> str:
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
    return json.dumps({"photo": str(photo), "cards": cards})


def in_words(seen: Sequence[SeenCard]) -> str:
    """``10h, As, 2 face down, unsure: 7c or 7s``."""
    told = [one.card for one in seen if one.card is not None]
    down = sum(one.face == "down" for one in seen)
    if down:
        told.append(f"{down} face down")
    unsure = Counter(str(one).rstrip("?") for one in seen if one.face == "up" and one.card is None)
    told += [f"unsure: {words}" + (f" ({count} times)" if count > 1 else "") for words, count in unsure.items()]
    return ", ".join(told) or "no cards"


def _shown_path(out: Path, photo: Path, photos: int) -> Path:
    return out if photos == 1 else out.with_name(f"{out.stem}-{photo.stem}{out.suffix or '.png'}")
