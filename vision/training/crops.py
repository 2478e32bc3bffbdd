"""Rendered crops for the reader: one card as the detector would cut it out, and what is no card."""

from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from vision.training.artwork import Image
from vision.training.cards_art import BACK, JOKER, NOTHING, Rng, Shelf, printed
from vision.training.light import light, take
from vision.training.surfaces import Textures, draw_hand, surface, thing

CROP_WIDTH, CROP_HEIGHT = 96, 136
Quad = npt.NDArray[np.float64]

# Canvas on which one card is laid, in pixels; the card's long side in it; 63 x 88 mm.
CANVAS = 360
LONG = 205.0
SHORT = LONG * 63 / 88
#: Less of a card than this in sight is called nothing, even with an index: a fan leaves a seventh of each card.
COVERED_BELOW = 0.12
_CORNERS = np.array([[-SHORT, -LONG], [SHORT, -LONG], [SHORT, LONG], [-SHORT, LONG]]) / 2


def lay(canvas: Image, picture: Image, quad: Quad, shadow: float) -> npt.NDArray[np.float32]:
    """Lay a card (BGRA) with its corners (top left, clockwise) at `quad`; returns its alpha on the canvas."""
    tall, wide = canvas.shape[:2]
    longest = max(float(np.linalg.norm(quad[k] - quad[k - 1])) for k in range(4))
    shrink = longest / max(picture.shape[:2])
    if shrink < 0.7:  # average, or thin strokes are skipped
        size = (max(4, round(picture.shape[1] * shrink)), max(4, round(picture.shape[0] * shrink)))
        picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
    opaque = picture[:, :, 3:].astype(np.uint16)
    picture = np.dstack([(picture[:, :, :3] * opaque // 255).astype(np.uint8), picture[:, :, 3]])
    height, width = picture.shape[:2]
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    matrix = cv2.getPerspectiveTransform(corners - 0.5, quad.astype(np.float32))
    left, top = np.maximum(np.floor(quad.min(axis=0)).astype(int) - 8, 0)
    right, bottom = np.minimum(np.ceil(quad.max(axis=0)).astype(int) + 9, (wide, tall))
    alpha = np.zeros((tall, wide), np.float32)
    if right <= left or bottom <= top:
        return alpha
    move = np.array([[1, 0, -left], [0, 1, -top], [0, 0, 1]], np.float64)
    size = (int(right - left), int(bottom - top))
    warped = cv2.warpPerspective(picture, move @ matrix, size, flags=cv2.INTER_LINEAR)
    cover = warped[:, :, 3].astype(np.float32) / 255
    under = canvas[top:bottom, left:right].astype(np.float32)
    if shadow > 0:
        dark = cv2.GaussianBlur(cover, (0, 0), 2.5)
        dark = np.pad(dark, ((2, 0), (2, 0)))[:-2, :-2]
        under *= 1 - shadow * dark[:, :, None]
    mixed = warped[:, :, :3] + under * (1 - cover[:, :, None])
    canvas[top:bottom, left:right] = np.minimum(mixed, 255).astype(np.uint8)
    alpha[top:bottom, left:right] = cover
    return alpha


def _turned(corners: Quad, degrees: float) -> Quad:
    turn = np.deg2rad(degrees)
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return np.asarray(corners @ matrix.T, np.float64)


def seen_from(points: Quad, rng: Rng, steepest: float = 50.0) -> Quad:
    """Points on a table (about the origin, pixels) as a camera leaning 0° to `steepest` from overhead sees them."""
    lean = np.deg2rad(abs(rng.normal(0, steepest / 2.2)))
    lean = min(lean, np.deg2rad(steepest))
    around = rng.uniform(0, 360)
    flat = _turned(points, around)
    distance = rng.uniform(1.6, 6.0) * LONG
    depth = 1 + flat[:, 1:] * np.sin(lean) / distance
    tilted = np.stack([flat[:, 0], flat[:, 1] * np.cos(lean)], axis=1) / depth
    return _turned(tilted, -around)


def rendered_crop(shelf: Shelf, textures: Textures, rng: Rng) -> tuple[Image, int]:
    """One crop, CROP_HEIGHT × CROP_WIDTH × 3 uint8 BGR, and its class."""
    roll = rng.random()
    if roll < 0.035:
        return _nothing(shelf, textures, rng), NOTHING
    number = BACK if roll < 0.075 else JOKER if roll < 0.095 else int(rng.integers(0, 52))
    canvas = surface(CANVAS, CANVAS, textures, rng)
    deck = shelf.deck(rng)
    centre = np.array([CANVAS, CANVAS]) / 2
    shadow = float(rng.uniform(0, 0.55))
    turn = float(rng.normal(0, 25)) if rng.random() < 0.5 else float(rng.uniform(0, 360))

    below: list[Quad] = []
    above: list[Quad] = []
    if rng.random() < 0.5:
        for _ in range(int(rng.integers(1, 4))):
            far = np.array([rng.normal(0, 0.6) * SHORT, rng.normal(0, 0.6) * LONG])
            below.append(_turned(_CORNERS, rng.normal(0, 30) if rng.random() < 0.6 else rng.uniform(0, 360)) + far)
    if rng.random() < 0.38:
        above.append(_covering(rng))
    quads = [_turned(q, turn) for q in [*below, _CORNERS, *above]]
    flat = np.concatenate(quads)
    tilted = seen_from(flat, rng).reshape(-1, 4, 2)
    tilted = tilted - tilted[len(below)].mean(axis=0) + centre
    covered = np.zeros((CANVAS, CANVAS), np.float32)
    own = covered
    for place, quad in enumerate(tilted):
        if place == len(below):
            face = shelf.back(rng) if number == BACK else shelf.face(deck, number, rng)
            own = lay(canvas, printed(face, rng), quad, shadow)
            continue
        other = shelf.back(rng) if rng.random() < 0.15 else shelf.face(deck, int(rng.integers(0, 52)), rng)
        alpha = lay(canvas, printed(other, rng), quad, shadow)
        if place > len(below):
            covered = np.maximum(covered, alpha)
    target = tilted[len(below)]
    if rng.random() < 0.16:
        reach = target.mean(axis=0) + rng.normal(0, 0.42, 2) * LONG
        hand = draw_hand(canvas, reach, rng.uniform(0.5, 1.1) * SHORT, rng)
        covered = np.maximum(covered, hand.astype(np.float32))
    visible = 1 - float((own * covered).sum() / max(1.0, own.sum()))
    if visible < COVERED_BELOW or (number < 52 and not _index_seen(target, own, covered)):
        number = NOTHING
    return _photographed(canvas, target, rng), number


def _covering(rng: Rng) -> Quad:
    """A card lying over part of ours: shifted along an axis or turned over a corner."""
    if rng.random() < 0.5:
        side = rng.integers(0, 4)
        share = rng.uniform(0.14, 0.9)
        far = np.array([(share * SHORT, 0), (-share * SHORT, 0), (0, share * LONG), (0, -share * LONG)][int(side)])
        far = far + rng.normal(0, 0.04, 2) * LONG
        return np.asarray(_turned(_CORNERS, rng.normal(0, 8)) + far, np.float64)
    turn = rng.uniform(0, 2 * np.pi)
    far = np.array([np.cos(turn) * SHORT, np.sin(turn) * LONG]) * rng.uniform(0.55, 1.0)
    return _turned(_CORNERS, rng.uniform(0, 360)) + far


def _index_seen(quad: Quad, own: npt.NDArray[np.float32], covered: npt.NDArray[np.float32]) -> bool:
    """Whether one of the two printed indices (top left, bottom right) is mostly in sight."""
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    matrix = cv2.getPerspectiveTransform(corners, quad.astype(np.float32))
    for x, y in ((0.0, 0.0), (0.82, 0.74)):
        grid = np.array([[[x + 0.03 + 0.12 * i, y + 0.03 + 0.2 * j] for i in (0, 0.5, 1) for j in (0, 0.5, 1)]])
        at = cv2.perspectiveTransform(grid.astype(np.float32), matrix)[0]
        columns = np.clip(np.round(at[:, 0]).astype(int), 0, own.shape[1] - 1)
        rows = np.clip(np.round(at[:, 1]).astype(int), 0, own.shape[0] - 1)
        if float(covered[rows, columns].mean()) < 0.25:
            return True
    return False


def _nothing(shelf: Shelf, textures: Textures, rng: Rng) -> Image:
    """A crop of something that a detector may take for a card, or of two half cards."""
    canvas = surface(CANVAS, CANVAS, textures, rng)
    centre = np.array([CANVAS, CANVAS]) / 2
    deck = shelf.deck(rng)
    kind = rng.random()
    quad = _turned(_CORNERS, rng.uniform(0, 360)) + centre
    if kind < 0.5:
        for _ in range(int(rng.integers(1, 3))):
            spot = _turned(_CORNERS, rng.uniform(0, 360)) * rng.uniform(0.7, 2.2) + centre
            picture = thing(textures, rng)
            opaque = np.dstack([picture, np.full(picture.shape[:2], 255, np.uint8)])
            lay(canvas, opaque, spot + rng.normal(0, 20, 2), 0.3)
    elif kind < 0.85:  # between cards: a quad over two halves, or over a middle
        far = _turned(np.array([[SHORT * rng.uniform(0.75, 1.1), 0]]), float(rng.uniform(0, 360)))[0]
        for sign in (-0.5, 0.5):
            face = shelf.face(deck, int(rng.integers(0, 52)), rng)
            lay(canvas, printed(face, rng), quad + far * sign, 0.3)
    elif rng.random() < 0.6:
        draw_hand(canvas, centre, rng.uniform(0.5, 1.1) * SHORT, rng)
    return _photographed(canvas, quad, rng, jitter=0.06)


def _photographed(canvas: Image, quad: Quad, rng: Rng, jitter: float | None = None) -> Image:
    """Light it, photograph it at a card size that occurs, cut it out as a detector would."""
    left, top = np.maximum(np.floor(quad.min(axis=0) - 12).astype(int), 0)
    right, bottom = np.minimum(np.ceil(quad.max(axis=0) + 13).astype(int), CANVAS)
    canvas, quad = canvas[top:bottom, left:right], quad - (left, top)
    long_px = float(np.exp(rng.uniform(np.log(34), np.log(LONG))))
    shrink = min(1.0, long_px / LONG)
    small = np.asarray(cv2.resize(canvas, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA), np.uint8)
    small = light(small, rng, hard=float(rng.uniform(0, 1)))
    small = take(small, rng, hard=float(rng.uniform(0, 1)), scale=max(0.25, min(1.0, long_px / 140)))
    cut = quad * shrink
    if rng.random() < 0.6:  # the detector's boxes are rectangles, perspective or not
        cut = _rectangle(cut)
    spread = rng.uniform(0.0, 0.035) if jitter is None else jitter
    side = float(np.linalg.norm(cut[1] - cut[2]))
    cut = cut + rng.normal(0, spread, (4, 2)) * side * 0.6
    cut = cut + rng.normal(0, spread, 2) * side * 0.6
    cut = (cut - cut.mean(axis=0)) * (1 + rng.normal(0.0, spread)) + cut.mean(axis=0)
    if rng.random() < 0.5:
        cut = np.roll(cut, 2, axis=0)
    return cut_out(small, cut)


def _rectangle(quad: Quad) -> Quad:
    """The least rectangle about a quad, its corners in the quad's order."""
    box = cv2.boxPoints(cv2.minAreaRect(quad.astype(np.float32))).astype(np.float64)
    turns = [np.roll(box, -k, axis=0) for k in range(4)]
    far = [float(np.linalg.norm(turned - quad, axis=1).sum()) for turned in turns]
    return turns[int(np.argmin(far))]


def cut_out(image: Image, quad: npt.NDArray[np.floating]) -> Image:
    """Rectify a quad (4, 2) of a picture to CROP_HEIGHT × CROP_WIDTH × 3, exactly as the reader is served."""
    from vision.cards.reader import rectified

    return np.asarray(rectified(image, quad.astype(np.float32), (CROP_WIDTH, CROP_HEIGHT)), np.uint8)


def compose_crops(cache: Path, out: Path, count: int, seed: int, held_out: bool = False) -> None:
    """Write `count` rendered crops and classes to `out` (.npz: crops uint8 (n, h, w, 3) BGR, classes int16)."""
    rng = np.random.default_rng(seed)
    shelf = Shelf.open(cache, held_out=held_out)
    textures = Textures.read(cache, np.random.default_rng(seed + 1))
    crops = np.empty((count, CROP_HEIGHT, CROP_WIDTH, 3), np.uint8)
    classes = np.empty(count, np.int16)
    for i in range(count):
        crops[i], classes[i] = rendered_crop(shelf, textures, rng)
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = out.with_suffix(".part.npz")
    np.savez(scratch, crops=crops, classes=classes)
    scratch.rename(out)
