"""Rendered tables for the detector: cards laid out in all the ways that occur, under any light, with exact labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from vision.training.artwork import Deck, Image
from vision.training.cards_art import BACK, CARDS, JOKER, Rng, Shelf, printed
from vision.training.crops import Quad, lay
from vision.training.light import light, take
from vision.training.surfaces import Textures, draw_chips, draw_hand, pale_table, surface, thing

#: A card's shape, short side by long side: poker 63 × 88 mm, bridge 57 × 88.
POKER, BRIDGE = 63 / 88, 57 / 88

#: Where the printed index (rank above suit) lies, in shares of the card's width and height: left, top, right, bottom.
INDEX = (0.015, 0.022, 0.168, 0.268)

#: Classes of the detector's labels.
FACE_CLASS, BACK_CLASS, CORNER_CLASS = 0, 1, 2

#: First line of a label file in which every index that shows is labelled: without it nothing is learnt about them.
CORNERS_LABELLED = "# corners labelled"

#: An index is labelled where at least this share of it can be seen.
INDEX_SEEN = 0.7

#: Of tables laid for the count, the share that is as pale as the cards.
PALE = 0.5

#: A card is labelled where at least this share of it can be seen: half an index corner's strip in a fan.
LABELLED_ABOVE = 0.16


@dataclass(frozen=True, slots=True, eq=False)
class Laid:
    """One card as composed.

    quad: (4, 2) float64 pixels, the printed top left corner first, clockwise, hidden parts included.
    number: the reader's class. visible: the share of the card that can be seen, in and out of the frame counted.
    indices: quads around the printed indices that can be seen.
    """

    quad: Quad
    number: int
    visible: float
    indices: tuple[Quad, ...] = ()

    @property
    def is_back(self) -> bool:
        """Whether it lies face down."""
        return self.number == BACK


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """A composed picture (h, w, 3) uint8 BGR with the cards in it, lowest first, and boxes around hands.

    owner: (h, w) int16, which of `cards` is seen at a pixel, −1 for none. hands: quads (n, 4, 2).
    """

    image: Image
    cards: tuple[Laid, ...]
    owner: npt.NDArray[np.int16]
    hands: tuple[Quad, ...]


def compose(
    shelf: Shelf,
    textures: Textures,
    rng: Rng,
    side: int = 512,
    crowded: bool = False,
    lean_degrees: tuple[float, float] | None = None,
) -> Scene:
    """A table with cards, `side` pixels square; `crowded`: laid on each other, most on a table as pale as they are.

    lean_degrees: from and to how far from overhead the camera leans; mostly little, up to 58, when None.
    """
    pale = crowded and rng.random() < PALE
    image = pale_table(side, side, rng) if pale else surface(side, side, textures, rng)
    long = float(np.exp(rng.normal(np.log(150.0), 0.38)) * side / 512)
    long = float(np.clip(long, 50 * side / 512, 330 * side / 512))
    short = long * (POKER if rng.random() < 0.8 else BRIDGE)
    lean = np.deg2rad(min(58.0, abs(rng.normal(0, 24))) if lean_degrees is None else rng.uniform(*lean_degrees))
    camera = _Camera(side, lean, rng.uniform(0, 2 * np.pi), rng.uniform(2.2, 7.0) * side)
    things = int(rng.poisson(1.1)) if rng.random() < 0.7 else 0
    for _ in range(things):
        picture = thing(textures, rng)
        scale = rng.uniform(0.5, 3.2) * long / max(picture.shape[:2])
        corners = _rectangle(picture.shape[1] * scale, picture.shape[0] * scale)
        at = rng.uniform(-0.6, 0.6, 2) * side
        spot = camera.see(_moved(corners, rng.uniform(0, 360), at))
        lay(image, np.dstack([picture, np.full(picture.shape[:2], 255, np.uint8)]), spot, rng.uniform(0, 0.5))
    if rng.random() < 0.12:
        draw_chips(image, long * 0.5, rng)
    deck = shelf.deck(rng)
    places = _crowd(short, long, side, rng) if crowded else _layout(short, long, side, rng)
    owner = np.full((side, side), -1, np.int16)
    quads: list[Quad] = []
    numbers: list[int] = []
    areas: list[float] = []
    shadow = float(rng.uniform(0, 0.6 if not pale else 0.35))
    design = shelf.back(rng)
    whole_sheet = rng.random() < 0.06  # everything face down
    for place, face_down in places:
        number = BACK if face_down or whole_sheet else int(rng.integers(0, JOKER + (rng.random() < 0.05)))
        quad = camera.see(place)
        picture = design if number == BACK else shelf.face(deck, number, rng)
        alpha = lay(image, printed(picture, rng), quad, shadow)
        owner[alpha > 0.5] = len(quads)
        quads.append(quad)
        numbers.append(number)
        areas.append(abs(float(cv2.contourArea(quad.astype(np.float32)))))
    hands: list[Quad] = []
    if rng.random() < 0.22:
        for _ in range(int(rng.integers(1, 3))):
            reach = rng.uniform(0.1, 0.9, 2) * side
            if quads and rng.random() < 0.6:
                reach = quads[int(rng.integers(len(quads)))].mean(axis=0) + rng.normal(0, 0.3, 2) * long
            mask = draw_hand(image, reach, rng.uniform(0.7, 1.3) * long * 0.95, rng)
            owner[mask] = -1
            hands.append(_around_hand(mask, reach, long))
    laid = []
    for k, (quad, number, area) in enumerate(zip(quads, numbers, areas, strict=True)):
        seen = float((owner == k).sum()) / max(area * 0.985, 1.0)
        four = number < 52 and has_four_indices(shelf, deck, rng)
        indices = index_quads(quad, four) if number < 52 else ()
        laid.append(Laid(quad, number, seen, tuple(index for index in indices if _in_sight(index, owner, k))))
    hard = float(rng.uniform(0, 0.6 if pale else 1))
    image = take(light(image, rng, hard), rng, float(rng.uniform(0, 1)), scale=min(1.2, long / 150))
    return Scene(image, tuple(laid), owner, tuple(hands))


def index_quads(quad: Quad, four: bool) -> tuple[Quad, ...]:
    """Quads around the indices of a card (4, 2): top left and bottom right, `four`: in every corner."""
    left, top, right, bottom = INDEX
    first = np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
    places = [first, 1 - first]
    if four:
        flipped = first[[1, 0, 3, 2]] * (-1, 1) + (1, 0)
        places += [flipped, 1 - flipped]
    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    matrix = cv2.getPerspectiveTransform(unit, quad.astype(np.float32))
    moved = cv2.perspectiveTransform(np.array(places, np.float32).reshape(1, -1, 2), matrix)
    return tuple(np.asarray(moved.reshape(-1, 4, 2), np.float64))


def _in_sight(index: Quad, owner: npt.NDArray[np.int16], card: int) -> bool:
    """Whether an index is in the picture and not covered."""
    shares = np.linspace(0.1, 0.9, 5)
    across = index[0] + shares[:, None] * (index[1] - index[0])
    down = index[3] - index[0]
    at = np.round(across[:, None] + shares[None, :, None] * down).astype(int).reshape(-1, 2)
    inside = (at >= 0).all(axis=1) & (at < (owner.shape[1], owner.shape[0])).all(axis=1)
    at = at[inside]
    return bool((owner[at[:, 1], at[:, 0]] == card).sum() >= INDEX_SEEN * len(inside))


def has_four_indices(shelf: Shelf, deck: Deck, rng: Rng) -> bool:
    """Whether a deck prints its indices in all four corners: as much ink at the top right of a five as at the left."""
    if deck.name not in FOUR:
        five = shelf.face(deck, CARDS.index("5c"), rng)[:, :, :3].astype(int)
        paper = np.median(five.reshape(-1, 3), axis=0)
        tall, wide = five.shape[:2]
        box = five[int(0.03 * tall) : int(0.2 * tall), int(0.03 * wide) : int(0.13 * wide)]
        other = five[int(0.03 * tall) : int(0.2 * tall), int(0.87 * wide) : int(0.97 * wide)]
        ink = [float((np.abs(part - paper).max(axis=2) > 60).mean()) for part in (box, other)]
        FOUR[deck.name] = ink[1] > 0.4 * ink[0]
    return FOUR[deck.name]


#: What `has_four_indices` has found out, by deck.
FOUR: dict[str, bool] = {}


@dataclass(frozen=True, slots=True)
class _Camera:
    """A pinhole that leans over the table; the table's middle is seen in the picture's."""

    side: int
    lean: float
    around: float
    distance: float

    def see(self, points: Quad) -> Quad:
        """Table points about the middle, in pixels as seen from overhead, to picture points (n, 2)."""
        cos, sin = np.cos(self.around), np.sin(self.around)
        turn = np.array([[cos, -sin], [sin, cos]])
        flat = points @ turn.T
        depth = 1 + flat[:, 1:] * np.sin(self.lean) / self.distance
        tilted = np.stack([flat[:, 0], flat[:, 1] * np.cos(self.lean)], axis=1) / np.maximum(depth, 0.2)
        return np.asarray(tilted @ turn + self.side / 2, np.float64)


def _rectangle(short: float, long: float) -> Quad:
    return np.array([[-short, -long], [short, -long], [short, long], [-short, long]]) / 2


def _moved(corners: Quad, degrees: float, to: npt.NDArray[np.float64]) -> Quad:
    turn = np.deg2rad(degrees)
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return np.asarray(corners @ matrix.T + to, np.float64)


def _layout(short: float, long: float, side: int, rng: Rng) -> list[tuple[Quad, bool]]:
    """Where cards lie, from the lowest up, about the table's middle, and whether face down."""
    card = _rectangle(short, long)
    places: list[tuple[Quad, bool]] = []
    backs = float(rng.choice([0.0, 0.12, 0.5], p=[0.45, 0.4, 0.15]))
    for _ in range(int(rng.integers(1, 4)) if rng.random() < 0.6 else 1):
        kind = rng.random()
        at = rng.uniform(-0.42, 0.42, 2) * side
        turn = rng.uniform(0, 360) if rng.random() < 0.6 else rng.normal(0, 6) + 90 * int(rng.integers(0, 4))
        if kind < 0.36:  # scattered
            for _ in range(int(rng.integers(1, 7))):
                spot = rng.uniform(-0.5, 0.5, 2) * side
                places.append((_moved(card, rng.uniform(0, 360), spot), rng.random() < backs))
        elif kind < 0.58:  # in rows
            rows, columns = int(rng.integers(1, 4)), int(rng.integers(2, 6))
            gap = rng.uniform(0.0, 0.3) * short
            face_down = rng.random() < backs
            for r in range(rows):
                for c in range(columns):
                    spot = np.array([(c - (columns - 1) / 2) * (short + gap), (r - (rows - 1) / 2) * (long + gap)])
                    spot = spot + rng.normal(0, 0.02, 2) * long
                    here = face_down if rng.random() < 0.8 else rng.random() < backs
                    places.append((_moved(_moved(card, rng.normal(0, 2.5), spot), turn, at), here))
        elif kind < 0.74:  # laid on each other like tiles, sideways or downwards
            count = int(rng.integers(2, 9))
            step = rng.uniform(0.14, 0.6) * (short if (sideways := rng.random() < 0.6) else long)
            face_down = rng.random() < backs
            order = range(count) if rng.random() < 0.7 else range(count - 1, -1, -1)
            for k in order:
                off = (k - (count - 1) / 2) * step
                spot = np.array([off, 0.0]) if sideways else np.array([0.0, off])
                places.append((_moved(_moved(card, rng.normal(0, 3), spot), turn, at), face_down))
        elif kind < 0.86:  # a fan
            count = int(rng.integers(2, 9))
            spread = rng.uniform(7, 24)
            radius = rng.uniform(0.9, 1.8) * long
            face_down = rng.random() < backs
            for k in range(count):
                lean = (k - (count - 1) / 2) * spread + rng.normal(0, 1.5)
                fanned = _moved(card + np.array([0.0, -radius]), lean, np.array([0.0, radius * 0.8]))
                places.append((_moved(fanned, turn, at), face_down))
        else:  # a heap or a squared pile
            loose = rng.uniform(0.01, 0.35)
            face_down = rng.random() < max(backs, 0.3)
            for _ in range(int(rng.integers(2, 7))):
                spot = at + rng.normal(0, loose, 2) * long
                lean = turn + rng.normal(0, 8 + 60 * loose)
                places.append((_moved(card, lean, spot), face_down))
    return places[:40]


def _crowd(short: float, long: float, side: int, rng: Rng) -> list[tuple[Quad, bool]]:
    """Cards laid out for the count, or thrown down: fans, rows and heaps in which most cards are partly covered."""
    card = _rectangle(short, long)
    places: list[tuple[Quad, bool]] = []
    backs = 0.0 if rng.random() < 0.7 else 0.2
    for _ in range(int(rng.integers(1, 4))):
        at = rng.uniform(-0.4, 0.4, 2) * side
        turn = rng.uniform(0, 360)
        count = int(rng.integers(2, 9)) if rng.random() < 0.75 else int(rng.integers(8, 22))
        kind = rng.random()
        if kind < 0.4:  # a row or a bent line, each card a little off the last, its index showing
            sideways = rng.random() < 0.6
            step = rng.uniform(0.13, 0.55) * short if sideways else rng.uniform(0.2, 0.5) * long
            drift, bend = rng.normal(0, 0.08, 2) * long, rng.normal(0, 4)
            spot, lean = np.zeros(2), 0.0
            for _ in range(count):
                places.append((_moved(_moved(card, lean, spot), turn, at), rng.random() < backs))
                heading = np.deg2rad(lean)
                ahead = np.array([step, 0.0]) if sideways else np.array([0.0, step])
                ahead = ahead * np.exp(rng.normal(0, 0.25)) + drift * rng.uniform(0, 1)
                cos, sin = np.cos(heading), np.sin(heading)
                spot = spot + np.array([cos * ahead[0] - sin * ahead[1], sin * ahead[0] + cos * ahead[1]])
                lean += bend + rng.normal(0, 4)
        elif kind < 0.6:  # a fan
            spread, radius = rng.uniform(3, 16), rng.uniform(0.9, 2.2) * long
            for k in range(count):
                lean = (k - (count - 1) / 2) * spread + rng.normal(0, 2)
                fanned = _moved(card + np.array([0.0, -radius]), lean, np.array([0.0, radius * 0.8]))
                places.append((_moved(fanned, turn, at), rng.random() < backs))
        else:  # thrown down near each other
            loose = rng.uniform(0.2, 0.8)
            for _ in range(min(count, 9)):
                spot = at + rng.normal(0, loose, 2) * long
                places.append((_moved(card, turn + rng.normal(0, 50), spot), rng.random() < backs))
    if rng.random() < 0.5:
        places = [places[k] for k in rng.permutation(len(places))] if rng.random() < 0.2 else places[::-1]
    return places[:45]


def _around_hand(mask: npt.NDArray[np.bool_], reach: npt.NDArray[np.float64], size: float) -> Quad:
    """A box about the hand, not the arm: what of the mask lies within a hand's length of the finger tips."""
    rows, columns = np.nonzero(mask)
    if len(rows) == 0:
        return np.zeros((4, 2))
    near = np.hypot(columns - reach[0], rows - reach[1]) < 1.9 * size
    inside = 0 <= reach[0] < mask.shape[1] and 0 <= reach[1] < mask.shape[0]
    if near.sum() < 0.15 * size * size or not inside:  # only an arm, or finger tips, are in the picture
        return np.zeros((4, 2))
    points = np.stack([columns[near], rows[near]], axis=1).astype(np.float32)
    return np.asarray(cv2.boxPoints(cv2.minAreaRect(points)), np.float64)


def in_frame(quad: npt.NDArray[np.floating], width: int, height: int) -> npt.NDArray[np.float32] | None:
    """The part of a quad inside a picture as a polygon (n, 2); None where less than a third is left."""
    frame = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    area, polygon = cv2.intersectConvexConvex(quad.astype(np.float32), frame)
    if polygon is None or area < 0.34 * abs(cv2.contourArea(quad.astype(np.float32))):
        return None
    return np.asarray(polygon.reshape(-1, 2), np.float32)


def yolo_line(number: int, polygon: npt.NDArray[np.float32], width: int, height: int) -> str:
    """A line of an oriented-box label file: class, then the corners relative to the picture."""
    relative = np.clip(polygon / np.array([width, height], np.float32), 0, 1)
    return " ".join([str(number), *(f"{value:.5f}" for value in relative.reshape(-1))])


def scene_lines(scene: Scene) -> list[str]:
    """Labels for the detector: faces, backs and index corners."""
    height, width = scene.image.shape[:2]
    lines = []
    for card in scene.cards:
        shapes = [(CORNER_CLASS, index) for index in card.indices]
        if card.visible >= LABELLED_ABOVE:
            shapes.append((BACK_CLASS if card.is_back else FACE_CLASS, card.quad))
        for number, quad in shapes:
            polygon = in_frame(quad, width, height)
            if polygon is not None:
                lines.append(yolo_line(number, polygon, width, height))
    return lines


def compose_scenes(cache: Path, out: Path, count: int, seed: int, side: int = 512, crowded: float = 0.0) -> None:
    """Write `count` pictures and label files to `out/images` and `out/labels`, a share of them `crowded`."""
    rng = np.random.default_rng(seed)
    shelf = Shelf.open(cache)
    textures = Textures.read(cache, np.random.default_rng(seed + 1))
    for folder in ("images", "labels"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    for i in range(count):
        scene = compose(shelf, textures, rng, side, rng.random() < crowded)
        name = f"rendered-{seed:04d}-{i:05d}"
        cv2.imwrite(str(out / "images" / f"{name}.jpg"), scene.image, [cv2.IMWRITE_JPEG_QUALITY, 93])
        (out / "labels" / f"{name}.txt").write_text(
            "\n".join([CORNERS_LABELLED, *scene_lines(scene)]) + "\n", encoding="utf-8"
        )
