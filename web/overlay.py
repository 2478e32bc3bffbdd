"""Draws what was seen over the table's picture: cards with their names, hands with their players."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from referee.cards import Card, Pile, Seat
from vision.frame import Image as Picture
from vision.hands.news import HandSeen
from vision.observation import Lies, Top
from vision.table import Table

#: Width in pixels that pictures are shown at: sharp on a laptop, 40 kB a picture.
SHOWN_WIDTH_PX = 960
_INK, _PAPER = (24, 27, 20), (246, 250, 251)
_RED, _BLACK = (28, 38, 190), (24, 26, 28)
#: BGR by seat: told apart from one another, from wood and from felt, by day and night.
_SEATS = (
    (79, 170, 34),
    (36, 134, 245),
    (190, 92, 40),
    (150, 60, 170),
    (30, 190, 220),
    (170, 160, 20),
    (60, 60, 205),
    (120, 120, 120),
)
_OUTLINE = (250, 252, 250)
#: Sprites are drawn so much larger and then made small, for smooth edges.
_FINER = 4
_JPEG_QUALITY = 82


class Overlay:
    """Draws over the pictures of one table."""

    def __init__(self, table: Table, players: Sequence[str], *, width_px: int = SHOWN_WIDTH_PX) -> None:
        """``table`` as its camera sees it; ``players``: names by seat."""
        scale = min(1.0, width_px / table.image_size_px[0])
        self._size = tuple(round(side * scale) for side in table.image_size_px)
        self._table = table.scaled_to((self._size[0], self._size[1]))
        self._scale = scale
        self._players = tuple(players)

    def drawn(self, image: Picture, tops: Mapping[Pile, Top], hands: Sequence[HandSeen]) -> Picture:
        """The picture made small, with the cards on top of the piles and the hands over the table."""
        width, height = self._size
        # Down to half the size a weighted mean of four is smooth enough, at a fifth of the cost.
        how = cv2.INTER_LINEAR if self._scale >= 0.5 else cv2.INTER_AREA
        shown = np.ascontiguousarray(cv2.resize(image, (width, height), interpolation=how), np.uint8)
        for top in tops.values():
            if top.lies is Lies.FACE and top.quad_mm is not None:
                self._card(shown, top)
        for hand in hands:
            self._hand(shown, hand)
        return shown

    def _card(self, shown: Picture, top: Top) -> None:
        corners = self._table.to_px(top.quad_mm if top.quad_mm is not None else [])
        outline = np.round(corners * 16).astype(np.int32)
        cv2.polylines(shown, [outline], True, _INK, 4, cv2.LINE_AA, shift=4)
        cv2.polylines(shown, [outline], True, _OUTLINE, 2, cv2.LINE_AA, shift=4)
        x, y = corners.mean(axis=0)
        _paste(shown, _card_label(top.card, sure=top.card is not None), x, y)

    def _hand(self, shown: Picture, hand: HandSeen) -> None:
        (x, y), *_ = self._table.to_px([hand.tip_mm])
        colour = seat_colour(hand.seat)
        centre = (round(x * 16), round(y * 16))
        radius = round(16 * max(10.0, 22 * self._table.px_per_mm(hand.tip_mm)))
        cv2.circle(shown, centre, radius, _INK, 5, cv2.LINE_AA, shift=4)
        cv2.circle(shown, centre, radius, colour, 3, cv2.LINE_AA, shift=4)
        if hand.seat is not None and hand.seat < len(self._players):
            _paste(shown, _name_label(self._players[hand.seat], hand.seat), x, y - radius / 16 - 14)


def as_jpeg(shown: Picture) -> bytes:
    """The picture as a JPEG file."""
    good, data = cv2.imencode(".jpg", shown, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
    if not good:
        raise ValueError(f"picture: expected one that can be a JPEG, got {shown.shape}")
    return data.tobytes()


def seat_colour(seat: Seat | None) -> tuple[int, int, int]:
    """The colour, blue, green, red, that a player is drawn in."""
    return (200, 200, 200) if seat is None else _SEATS[seat % len(_SEATS)]


def _paste(shown: Picture, label: NDArray[np.uint8], x: float, y: float) -> None:
    """Lay a label, (h, w, 4) blue, green, red, alpha, with its middle at a point; kept inside the picture."""
    height, width = label.shape[:2]
    left = int(np.clip(round(x - width / 2), 0, max(0, shown.shape[1] - width)))
    top = int(np.clip(round(y - height / 2), 0, max(0, shown.shape[0] - height)))
    under = shown[top : top + height, left : left + width]
    label = label[: under.shape[0], : under.shape[1]]
    alpha = label[..., 3:].astype(np.uint16)
    under[:] = ((under * (255 - alpha) + label[..., :3] * alpha + 127) // 255).astype(np.uint8)


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


@cache
def _card_label(card: Card | None, *, sure: bool) -> NDArray[np.uint8]:
    """A small white plate with the card's rank and suit, or a question mark."""
    text = "?" if card is None else card.rank or card.name
    suit = card.suit if card is not None and card.rank else None
    colour = _RED if suit in ("d", "h") else _BLACK
    size = 17 * _FINER
    left, top, right, bottom = _font(size).getbbox(text)
    text_width, suit_width = round(right - left), (13 * _FINER if suit else 0)
    width = text_width + suit_width + (15 if suit else 12) * _FINER
    height = 24 * _FINER
    plate = Image.new("RGBA", (width, height), (0, 0, 0, 0))
    draw = ImageDraw.Draw(plate)
    draw.rounded_rectangle(
        (0, 0, width - 1, height - 1), 7 * _FINER, fill=(*_PAPER[::-1], 238), outline=(*_INK[::-1], 150), width=_FINER
    )
    draw.text((6 * _FINER - left, (height - (bottom + top)) / 2), text, font=_font(size), fill=(*colour[::-1], 255))
    if suit:
        _draw_suit(draw, suit, 8 * _FINER + text_width, height / 2, 12 * _FINER, (*colour[::-1], 255))
    return _finished(plate)


@cache
def _name_label(name: str, seat: Seat) -> NDArray[np.uint8]:
    """A small plate in the player's colour with their name."""
    size = 14 * _FINER
    shown = name if len(name) <= 14 else name[:13] + "…"
    left, top, right, bottom = _font(size).getbbox(shown)
    width, height = round(right - left) + 14 * _FINER, 21 * _FINER
    plate = Image.new("RGBA", (width, height), (0, 0, 0, 0))
    draw = ImageDraw.Draw(plate)
    dark = tuple(round(channel * 0.72) for channel in seat_colour(seat)[::-1])
    draw.rounded_rectangle((0, 0, width - 1, height - 1), height // 2, fill=(*dark, 235))
    draw.text((7 * _FINER - left, (height - (bottom + top)) / 2), shown, font=_font(size), fill=(255, 255, 255, 255))
    return _finished(plate)


def _draw_suit(
    draw: ImageDraw.ImageDraw, suit: str, left: float, middle: float, size: float, fill: tuple[int, ...]
) -> None:
    """A suit's sign in a square of that size; the fonts at hand need not have it."""

    def at(x: float, y: float) -> tuple[float, float]:
        return left + x * size, middle + (y - 0.5) * size

    def disc(x: float, y: float, r: float) -> None:
        draw.ellipse((*at(x - r, y - r), *at(x + r, y + r)), fill=fill)

    match suit:
        case "d":
            draw.polygon([at(0.5, 0), at(0.88, 0.5), at(0.5, 1), at(0.12, 0.5)], fill=fill)
        case "h":
            disc(0.28, 0.3, 0.26)
            disc(0.72, 0.3, 0.26)
            draw.polygon([at(0.05, 0.42), at(0.95, 0.42), at(0.5, 1)], fill=fill)
        case "s":
            disc(0.27, 0.58, 0.25)
            disc(0.73, 0.58, 0.25)
            draw.polygon([at(0.04, 0.48), at(0.96, 0.48), at(0.5, 0)], fill=fill)
            draw.polygon([at(0.5, 0.5), at(0.7, 1), at(0.3, 1)], fill=fill)
        case _:
            disc(0.5, 0.25, 0.23)
            disc(0.25, 0.6, 0.23)
            disc(0.75, 0.6, 0.23)
            draw.polygon([at(0.5, 0.4), at(0.7, 1), at(0.3, 1)], fill=fill)


def _finished(plate: Image.Image) -> NDArray[np.uint8]:
    small = plate.resize((plate.width // _FINER, plate.height // _FINER), Image.Resampling.LANCZOS)
    return np.asarray(small, np.uint8)[..., [2, 1, 0, 3]].copy()
