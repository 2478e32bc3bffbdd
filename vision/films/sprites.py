"""Cards as pictures that can be laid anywhere over a table: warped, lit, shadowed and composited."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.films.artwork import CARD_MM, DeckArt, corner_mask
from vision.films.wear import Wear

Picture = NDArray[np.uint8]
Quad = NDArray[np.float64]

_BACK_OF = "back of "
PAD_MM = 3.5
"""Room around a card for the soft dark line that it throws on what it lies on."""


def card_corners(width_mm: float = CARD_MM[0], height_mm: float = CARD_MM[1], pad_mm: float = 0.0) -> Quad:
    """(4, 2) mm around the card's middle: top left, top right, bottom right, bottom left."""
    x, y = width_mm / 2 + pad_mm, height_mm / 2 + pad_mm
    return np.array([(-x, -y), (x, -y), (x, y), (-x, y)])


class CardSprites:
    """Premultiplied BGRA pictures of a deck's cards at about the size at which the camera sees them."""

    def __init__(self, deck: DeckArt, px_per_mm: float, wear: Wear | None = None) -> None:
        """Shrink the artwork once, so that warping it never skips pixels; `wear`: of cards that are no longer new."""
        self.deck, self._wear = deck, wear
        self.px_per_mm = px_per_mm
        self._pad = max(2, round(PAD_MM * px_per_mm))
        self._size = (round(CARD_MM[0] * px_per_mm), round(CARD_MM[1] * px_per_mm))
        self._made: dict[str | None, Picture] = {}
        width, height = self._size
        mask = np.zeros((height + 2 * self._pad, width + 2 * self._pad), np.uint8)
        mask[self._pad : -self._pad, self._pad : -self._pad] = cv2.resize(
            corner_mask(), self._size, interpolation=cv2.INTER_AREA
        )
        self._mask = mask
        blur = 1.1 * px_per_mm
        self._rim = cv2.GaussianBlur(mask, (0, 0), blur) * 0.30
        self.shadow = cv2.GaussianBlur(mask, (0, 0), 0.8 * blur)
        self.corners_px = np.array(
            [
                (self._pad - 0.5, self._pad - 0.5),
                (self._pad + width - 0.5, self._pad - 0.5),
                (self._pad + width - 0.5, self._pad + height - 0.5),
                (self._pad - 0.5, self._pad + height - 0.5),
            ],
            np.float32,
        )

    def of(self, card: str | None) -> Picture:
        """(h, w, 4) uint8 premultiplied BGRA of a face, or of the back for None."""
        made = self._made.get(card)
        if made is None:
            art, outline, rim = self._side(card)
            alpha = outline.astype(np.float32) / 255
            colour = np.zeros((*self._mask.shape, 3), np.float32)
            colour[self._pad : -self._pad, self._pad : -self._pad] = art
            total = alpha + (1 - alpha) * rim
            made = np.dstack([colour * alpha[..., None], total * 255]).round().astype(np.uint8)
            self._made[card] = made
        return made

    def key(self, card: str, *, face_up: bool) -> str | None:
        """What `of` and `draw` know a card's side by: all backs of a new deck are one."""
        if face_up:
            return card
        return None if self._wear is None else _BACK_OF + card

    def _side(self, key: str | None) -> tuple[Picture, Picture, NDArray[np.float32]]:
        """The side's colours, its coverage, and (0 to 1) the soft dark line around it."""
        if self._wear is None or key is None:
            art = cv2.resize(self.deck.side(key), self._size, interpolation=cv2.INTER_AREA)
            return np.asarray(art, np.uint8), self._mask, np.asarray(self._rim / 255, np.float32)
        face_up = not key.startswith(_BACK_OF)
        card = key.removeprefix(_BACK_OF)
        colour, outline = self._wear.worn(self.deck.side(card if face_up else None), card, face_up=face_up)
        art = cv2.resize(colour, self._size, interpolation=cv2.INTER_AREA)
        mask = np.zeros_like(self._mask)
        mask[self._pad : -self._pad, self._pad : -self._pad] = cv2.resize(
            outline, self._size, interpolation=cv2.INTER_AREA
        )
        return np.asarray(art, np.uint8), mask, np.asarray(self._rim / 255, np.float32)

    def draw(
        self,
        canvas: Picture,
        origin: tuple[int, int],
        card: str | None,
        quad_px: Quad,
        gain: float = 1.0,
        glare: Picture | None = None,
    ) -> None:
        """Lay a card on the canvas; `quad_px` are its corners in the picture, `origin` the canvas's own place.

        `glare`: (height, width) uint8 over the whole picture, the light that glossy cards reflect.
        """
        place(canvas, origin, [(self.of(card), quad_px)], self.corners_px, gain, glare)

    def smear(
        self,
        canvas: Picture,
        origin: tuple[int, int],
        steps: Sequence[tuple[str | None, Quad]],
        of: int,
        gain: float = 1.0,
        glare: Picture | None = None,
    ) -> None:
        """Lay a card on the canvas as it is seen over `of` equal steps, in some of which it is seen at all.

        `steps`: the face or back (None) that is seen, and its corners then.
        """
        seen = [(self.of(card), quad) for card, quad in steps]
        place(canvas, origin, seen, self.corners_px, gain, glare, of=of)

    def cast(
        self, canvas: Picture, origin: tuple[int, int], quads_px: Sequence[Quad], strength: float, blur_px: float
    ) -> None:
        """Darken the canvas where the card's shadow falls, which is at each of those places for an equal time."""
        x0, y0, x1, y1 = _clipped(np.concatenate(quads_px), 3 * blur_px + 4, origin, canvas)
        if x1 <= x0 or y1 <= y0:
            return
        # A blurred shadow is painted smaller: no one sees the difference, and blurring costs a quarter or less.
        times = 4 if blur_px > 5 else 2 if blur_px > 2 else 1
        size = (-(-(x1 - x0) // times), -(-(y1 - y0) // times))
        masks = []
        for quad_px in quads_px:
            corners = (quad_px - (origin[0] + x0, origin[1] + y0) + 0.5) / times - 0.5
            matrix = cv2.getPerspectiveTransform(self.corners_px, corners.astype(np.float32))
            masks.append(np.asarray(cv2.warpPerspective(self.shadow, matrix, size, flags=cv2.INTER_LINEAR), np.uint8))
        mask = _mean(masks, len(masks))
        if blur_px > 0.7:
            mask = np.asarray(cv2.GaussianBlur(mask, (0, 0), blur_px / times), np.uint8)
        if times > 1:
            grown = (size[0] * times, size[1] * times)
            mask = np.asarray(cv2.resize(mask, grown, interpolation=cv2.INTER_LINEAR), np.uint8)[: y1 - y0, : x1 - x0]
        darken(canvas[y0:y1, x0:x1], mask, strength)


def _clipped(quad_px: Quad, margin: float, origin: tuple[int, int], canvas: Picture) -> tuple[int, int, int, int]:
    """The part of the canvas that a quad may touch: x0, y0, x1, y1 in the canvas's own pixels."""
    low = np.floor(quad_px.min(axis=0) - margin).astype(int) - np.array(origin)
    high = np.ceil(quad_px.max(axis=0) + margin).astype(int) + 1 - np.array(origin)
    height, width = canvas.shape[:2]
    return max(0, int(low[0])), max(0, int(low[1])), min(width, int(high[0])), min(height, int(high[1]))


def place(
    canvas: Picture,
    origin: tuple[int, int],
    seen: Sequence[tuple[Picture, Quad]],
    corners_px: NDArray[np.float32],
    gain: float = 1.0,
    glare: Picture | None = None,
    *,
    of: int = 1,
) -> None:
    """Warp premultiplied sprites so that `corners_px` come to each one's quad, and lay their mean over the canvas.

    `of`: how many equal steps the mean is over; in those not in `seen` nothing is there.
    """
    x0, y0, x1, y1 = _clipped(np.concatenate([quad for _, quad in seen]), 8, origin, canvas)
    if x1 <= x0 or y1 <= y0:
        return
    shift = np.array([origin[0] + x0, origin[1] + y0])
    warped = []
    for sprite, quad in seen:
        matrix = cv2.getPerspectiveTransform(corners_px, (quad - shift).astype(np.float32))
        warped.append(
            np.asarray(cv2.warpPerspective(sprite, matrix, (x1 - x0, y1 - y0), flags=cv2.INTER_LINEAR), np.uint8)
        )
    laid = _mean(warped, of)
    if gain != 1.0:
        laid = np.asarray(cv2.multiply(laid, np.array((gain, gain, gain, 1.0))), np.uint8)
    over(canvas[y0:y1, x0:x1], laid)
    if glare is not None:
        left, top = origin[0] + x0, origin[1] + y0
        shine = glare[top : top + y1 - y0, left : left + x1 - x0]
        on_card = cv2.multiply(shine, cv2.extractChannel(laid, 3), scale=1 / 255)
        canvas[y0:y1, x0:x1] = cv2.add(canvas[y0:y1, x0:x1], cv2.cvtColor(on_card, cv2.COLOR_GRAY2BGR))


def _mean(pictures: Sequence[Picture], of: int) -> Picture:
    """The sum of pictures over `of`."""
    if of == 1:
        return pictures[0]
    total = np.zeros(pictures[0].shape, np.float32)
    for picture in pictures:
        cv2.accumulate(picture, total)
    return np.asarray(cv2.convertScaleAbs(total, alpha=1 / of), np.uint8)


def over(canvas: Picture, laid: Picture) -> None:
    """Lay a premultiplied BGRA picture over the canvas, in place."""
    rest = cv2.bitwise_not(cv2.extractChannel(laid, 3))
    kept = cv2.multiply(canvas, cv2.cvtColor(rest, cv2.COLOR_GRAY2BGR), scale=1 / 255)
    canvas[...] = cv2.add(kept, cv2.cvtColor(laid, cv2.COLOR_BGRA2BGR))


def darken(canvas: Picture, mask: Picture, strength: float) -> None:
    """Multiply the canvas by 1 - strength·mask, in place."""
    rest = cv2.LUT(mask, (255 - strength * np.arange(256)).clip(0, 255).astype(np.uint8))
    canvas[...] = cv2.multiply(canvas, cv2.merge([rest, rest, rest]), scale=1 / 255)
