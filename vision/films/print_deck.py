"""Decks of this project's own, drawn from a few shapes: as pictures, as SVG, and as a PDF to print and cut."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from xml.sax.saxutils import escape

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from referee.cards import Card, Deck, shipped_deck
from vision.cards.deck import Deck as EnrolledDeck
from vision.cards.embed import CROP_SIZE_PX
from vision.cards.reader import BACK
from vision.films.artwork import CARD_MM, CARD_PX, DeckArt, lattice_back
from vision.films.artwork import INKS as BACK_INKS
from vision.films.shapes import DARK, INKS, WHITE, Polygon, Shape, Text, both_ways, circle, hand, rounded, star
from vision.films.snap_pictures import snap_picture_card

# Advance widths of Helvetica Bold in thousandths of the size, as every PDF reader knows them.
_WIDTHS = {
    **dict.fromkeys("0123456789", 556),
    **dict(zip("ABCDEFGHIJKLM", (722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833), strict=True)),
    **dict(zip("NOPQRSTUVWXYZ", (722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611), strict=True)),
    " ": 278,
    "!": 333,
}
_CAP_HEIGHT = 0.718


def hit_the_deck_card(deck: Deck, card: Card) -> list[Shape]:
    """This project's own drawing of one card."""
    word, colour = deck.trait(card, "word"), deck.trait(card, "colour")
    number, says = deck.trait(card, "number"), deck.trait(card, "says")
    middle = (CARD_MM[0] / 2, CARD_MM[1] / 2)
    if word is not None and word.startswith("hit"):
        shapes: list[Shape] = [rounded(3, 3, 57, 82, 4, DARK)]
        if word == "hit hand":
            shapes += [star(middle, 27, 20, 14, INKS["yellow"]), *hand((middle[0] + 2, middle[1] + 2), 17, DARK)]
            return [*shapes, *both_ways((31.5, 9.5), 6.5, "HAND", WHITE)]
        ink = INKS.get(says or "", WHITE)
        shapes.append(star(middle, 26, 18, 12, ink))
        if says in INKS:
            shapes += [*both_ways((31.5, 9.5), 6.5, (says or "").upper(), ink), Text(middle, 11, "HIT", WHITE)]
            return shapes
        shapes += [Text(middle, 24, says or "", DARK)]
        return [*shapes, *both_ways((12, 11), 9, says or "", WHITE), *both_ways((40, 10), 6, "HIT", WHITE)]
    ink = INKS[colour or "blue"]
    shapes = [rounded(3, 3, 57, 82, 4, ink)]
    if number is not None:
        shapes += [circle(middle, 21, WHITE), Text(middle, 30, number, ink)]
        pips = int(number)
        for i in range(pips):
            x = middle[0] + (i - (pips - 1) / 2) * 6
            shapes += [circle((x, 72.5), 1.8, WHITE, 20), circle((CARD_MM[0] - x, 15.5), 1.8, WHITE, 20)]
        return [*shapes, *both_ways((9.5, 11), 10, number, WHITE)]
    if word == "cut":
        x, y = middle
        shapes += [
            rounded(x - 15, y - 24, 30, 20, 2, WHITE),
            rounded(x - 9, y + 4, 30, 20, 2, WHITE),
            *(rounded(x - 24 + 8 * i, y - 0.8, 5, 1.6, 0.6, WHITE) for i in range(6)),
        ]
        return [*shapes, *both_ways((15, 10.5), 7, "CUT", WHITE)]
    x, y = middle
    for side in (1, -1):
        shapes.append(rounded(x - 4 + side * 9, y - 14, 8, 28, 2, WHITE))
        tip = y - side * 27
        shapes.append(
            Polygon(((x + side * 9 - 9, y - side * 13), (x + side * 9 + 9, y - side * 13), (x + side * 9, tip)), WHITE)
        )
    return [*shapes, *both_ways((16, 10.5), 7, "FLIP", WHITE)]


def drawings(deck: Deck) -> dict[str, list[Shape]]:
    """Every different card of a deck of our own, by its name."""
    if all(deck.trait(card, "pair") for card in deck.counts):
        return {card.name: snap_picture_card(deck, card) for card in deck.counts}
    return {card.name: hit_the_deck_card(deck, card) for card in deck.counts}


def picture(shapes: Iterable[Shape], size_px: tuple[int, int] = CARD_PX) -> NDArray[np.uint8]:
    """(h, w, 3) uint8 BGR of a drawing."""
    times = 3
    scale = times * size_px[0] / CARD_MM[0]
    image = Image.new("RGB", (size_px[0] * times, size_px[1] * times), WHITE)
    pen = ImageDraw.Draw(image)
    for shape in shapes:
        if isinstance(shape, Polygon):
            pen.polygon([(x * scale, y * scale) for x, y in shape.points], fill=shape.ink)
            continue
        font = ImageFont.load_default(shape.size_mm * scale)
        box = font.getbbox(shape.words, stroke_width=shape.size_mm * scale * 0.02)
        label = Image.new("L", (int(box[2] - box[0]) + 8, int(box[3] - box[1]) + 8), 0)
        bold = shape.size_mm * scale * 0.02
        ImageDraw.Draw(label).text((4 - box[0], 4 - box[1]), shape.words, fill=255, font=font, stroke_width=bold)
        if shape.upside_down:
            label = label.rotate(180)
        corner = (
            round(shape.middle[0] * scale - label.width / 2),
            round(shape.middle[1] * scale - label.height / 2),
        )
        image.paste(Image.new("RGB", label.size, shape.ink), corner, label)
    small = image.resize(size_px, Image.Resampling.LANCZOS)
    return np.ascontiguousarray(np.asarray(small)[:, :, ::-1])


@lru_cache(maxsize=2)
def own_deck(name: str = "hit-the-deck", ink: str = "black") -> DeckArt:
    """A deck of our own as artwork for films."""
    deck = shipped_deck(name)
    faces = {card: picture(shapes) for card, shapes in drawings(deck).items()}
    return DeckArt(f"{name}-{ink}", faces, lattice_back(BACK_INKS[ink]))


def enrolled(name: str = "hit-the-deck") -> EnrolledDeck:
    """The deck as if each card had been shown once, without a camera; with the backs that films print."""
    looks = [*own_deck(name).faces.items(), *((BACK, lattice_back(ink)) for ink in BACK_INKS.values())]
    crops = [cv2.resize(picture, CROP_SIZE_PX, interpolation=cv2.INTER_AREA).astype(np.uint8) for _, picture in looks]
    return EnrolledDeck(name, tuple(card for card, _ in looks), np.stack(crops))


# --- on paper ----------------------------------------------------------------------------------------


def svg(shapes: Iterable[Shape]) -> str:
    """One card as an SVG document, 63 by 88 mm."""
    width, height = CARD_MM
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}mm" height="{height:g}mm" '
        f'viewBox="0 0 {width:g} {height:g}">',
        f'<rect width="{width:g}" height="{height:g}" rx="3.4" fill="rgb{WHITE}"/>',
    ]
    for shape in shapes:
        if isinstance(shape, Polygon):
            points = " ".join(f"{x:.2f},{y:.2f}" for x, y in shape.points)
            rows.append(f'<polygon points="{points}" fill="rgb{shape.ink}"/>')
            continue
        x, y = shape.middle
        turn = f' transform="rotate(180 {x:g} {y:g})"' if shape.upside_down else ""
        rows.append(
            f'<text x="{x:g}" y="{y + _CAP_HEIGHT * shape.size_mm / 2:.2f}" font-size="{shape.size_mm:g}" '
            f'font-family="Helvetica, Arial, sans-serif" font-weight="bold" text-anchor="middle" '
            f'fill="rgb{shape.ink}"{turn}>{escape(shape.words)}</text>'
        )
    return "\n".join([*rows, "</svg>"]) + "\n"


_POINTS_A_MM = 72 / 25.4
PAGE_MM = (210.0, 297.0)
"""A4."""
_COLUMNS, _ROWS = 3, 3


def _pdf_card(shapes: Iterable[Shape], left: float, top: float) -> str:
    """Drawing commands of one card whose top left corner lies at (left, top) mm of the page."""

    def put(x: float, y: float) -> str:
        return f"{(left + x) * _POINTS_A_MM:.2f} {(PAGE_MM[1] - top - y) * _POINTS_A_MM:.2f}"

    width, height = CARD_MM
    rows = ["0.75 G 0.3 w"]
    for x, y, dx, dy in ((0, 0, -4, -4), (width, 0, 4, -4), (0, height, -4, 4), (width, height, 4, 4)):
        rows.append(f"{put(x + dx, y)} m {put(x, y)} l S {put(x, y + dy)} m {put(x, y)} l S")
    for shape in shapes:
        red, green, blue = (value / 255 for value in shape.ink)
        rows.append(f"{red:.3f} {green:.3f} {blue:.3f} rg")
        if isinstance(shape, Polygon):
            first, *others = shape.points
            rows.append(f"{put(*first)} m " + " ".join(f"{put(*point)} l" for point in others) + " f")
            continue
        size = shape.size_mm * _POINTS_A_MM
        wide = sum(_WIDTHS[letter] for letter in shape.words) / 1000 * shape.size_mm
        sign = -1 if shape.upside_down else 1
        x, y = shape.middle[0] - sign * wide / 2, shape.middle[1] + sign * _CAP_HEIGHT * shape.size_mm / 2
        rows.append(f"BT /F1 {size:.2f} Tf {sign} 0 0 {sign} {put(x, y)} Tm ({shape.words}) Tj ET")
    return "\n".join(rows)


def pdf(cards: Sequence[Sequence[Shape]]) -> bytes:
    """An A4 document of all those cards, nine a page, with marks to cut along."""
    pages = [cards[i : i + _COLUMNS * _ROWS] for i in range(0, len(cards), _COLUMNS * _ROWS)]
    left = (PAGE_MM[0] - _COLUMNS * CARD_MM[0]) / 2
    top = (PAGE_MM[1] - _ROWS * CARD_MM[1]) / 2
    objects: list[bytes] = []
    size = f"[0 0 {PAGE_MM[0] * _POINTS_A_MM:.2f} {PAGE_MM[1] * _POINTS_A_MM:.2f}]"
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects.append(b"<< /Type /Catalog /Pages 2 0 R >>")
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode())
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>")
    for i, page in enumerate(pages):
        drawn = "\n".join(
            _pdf_card(shapes, left + (n % _COLUMNS) * CARD_MM[0], top + (n // _COLUMNS) * CARD_MM[1])
            for n, shapes in enumerate(page)
        )
        packed = zlib.compress(drawn.encode("ascii"))
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox {size} /Contents {5 + 2 * i} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        head = f"<< /Length {len(packed)} /Filter /FlateDecode >>\nstream\n".encode()
        objects.append(head + packed + b"\nendstream")
    out, starts = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        starts.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{start:010d} 00000 n \n".encode() for start in starts)
    out += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n".encode()
    return bytes(out)


def printable(name: str = "hit-the-deck") -> bytes:
    """The whole deck as a PDF: every card as often as the deck holds it."""
    deck = shipped_deck(name)
    drawn = drawings(deck)
    return pdf([drawn[card.name] for card in deck.cards()])
