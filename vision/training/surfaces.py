"""Tables, cloths and floors to lay cards on, and things that lie there but are no cards."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]
Rng = np.random.Generator

FELTS = ((40, 95, 25), (60, 110, 30), (90, 50, 25), (35, 30, 120), (70, 70, 70), (30, 60, 40), (120, 60, 90))
WOODS = ((50, 85, 130), (35, 55, 85), (90, 130, 170), (25, 35, 55), (120, 160, 190), (60, 75, 110))


@dataclass(slots=True)
class Textures:
    """Pictures of surfaces, read once and kept: at most `keep` of them, chosen by the seed."""

    images: list[Image]

    @classmethod
    def read(cls, cache: Path, rng: Rng, keep: int = 400) -> "Textures":
        """Read textures from the artwork cache; without any, surfaces are drawn."""
        files = sorted((cache / "textures").glob("*.jpg"))
        chosen = [files[i] for i in rng.permutation(len(files))[:keep]]
        images = [cv2.imread(str(file), cv2.IMREAD_COLOR) for file in chosen]
        return cls([np.asarray(image, np.uint8) for image in images if image is not None])

    def patch(self, tall: int, wide: int, rng: Rng) -> Image:
        """A random window of a random texture, brought to (tall, wide, 3) uint8 BGR."""
        image = self.images[int(rng.integers(len(self.images)))]
        height, width = image.shape[:2]
        share = rng.uniform(0.35, 1.0)
        cut_w = min(width, share * min(width, height * wide / tall))
        cut_h = min(height, cut_w * tall / wide)
        x, y = rng.uniform(0, width - cut_w), rng.uniform(0, height - cut_h)
        cut = image[int(y) : int(y + cut_h) + 1, int(x) : int(x + cut_w) + 1]
        if rng.random() < 0.5:
            cut = cut[:, ::-1]
        if rng.random() < 0.4:
            tint = rng.uniform(0.5, 1.4, 3)
            cut = np.clip(cut.astype(np.float32) * tint, 0, 255).astype(np.uint8)
        return np.asarray(cv2.resize(cut, (wide, tall), interpolation=cv2.INTER_LINEAR), np.uint8)


def surface(tall: int, wide: int, textures: Textures, rng: Rng) -> Image:
    """Something to lay cards on, (tall, wide, 3) uint8 BGR: texture, cloth, wood, plain or white table."""
    kind = rng.random()
    if kind < 0.42 and textures.images:
        return textures.patch(tall, wide, rng)
    if kind < 0.62:
        return _wood(tall, wide, rng)
    if kind < 0.80:
        return _cloth(tall, wide, rng)
    base = rng.uniform(190, 250, 3) if rng.random() < 0.5 else rng.uniform(10, 240, 3)
    if rng.random() < 0.5:
        base = np.full(3, base.mean()) + rng.normal(0, 6, 3)
    return np.clip(base + _noise(tall, wide, rng, 6.0)[:, :, None] * rng.uniform(0.2, 2.0), 0, 255).astype(np.uint8)


def pale_table(tall: int, wide: int, rng: Rng) -> Image:
    """A white or grey table top, (tall, wide, 3) uint8 BGR, little darker than paper, smooth, at times a cloth."""
    base = rng.uniform(150, 245) + rng.normal(0, 5, 3)
    slope = np.linspace(-1, 1, wide, dtype=np.float32)[None, :, None] * rng.normal(0, 14)
    slope = slope + np.linspace(-1, 1, tall, dtype=np.float32)[:, None, None] * rng.normal(0, 14)
    grain = rng.normal(0, rng.uniform(0, 2.5), (tall, wide, 1)) if rng.random() < 0.5 else 0.0
    mottled = _noise(tall, wide, rng, 12.0)[:, :, None] * rng.uniform(0, 0.6)
    return np.asarray(np.clip(base + slope + grain + mottled, 0, 255), np.uint8)


def _noise(tall: int, wide: int, rng: Rng, cell: float) -> npt.NDArray[np.float32]:
    """Smooth noise of standard deviation about 4, (tall, wide) float32."""
    small = rng.normal(0, 6, (max(2, int(tall / cell)), max(2, int(wide / cell)))).astype(np.float32)
    return np.asarray(cv2.resize(small, (wide, tall), interpolation=cv2.INTER_CUBIC), np.float32)


def _wood(tall: int, wide: int, rng: Rng) -> Image:
    base = np.array(WOODS[int(rng.integers(len(WOODS)))]) * rng.uniform(0.7, 1.3)
    across = rng.uniform(3, 14)
    along = across * rng.uniform(12, 50)
    small = rng.normal(0, 1, (max(2, int(tall / across)), max(2, int(wide / along)))).astype(np.float32)
    grain = cv2.resize(small, (wide, tall), interpolation=cv2.INTER_CUBIC)
    fine = cv2.resize(
        rng.normal(0, 1, (tall, max(2, wide // 40))).astype(np.float32), (wide, tall), interpolation=cv2.INTER_LINEAR
    )
    out = base + (grain * rng.uniform(5, 26) + fine * rng.uniform(1, 9))[:, :, None]
    if rng.random() < 0.35:
        step = int(rng.uniform(0.12, 0.4) * tall) + 4
        for y in range(int(rng.integers(step)), tall, step):
            out[y : y + 2] *= 0.55
    picture = np.clip(out, 0, 255).astype(np.uint8)
    return picture if rng.random() < 0.5 else np.ascontiguousarray(_turned(picture, tall, wide))


def _turned(picture: Image, tall: int, wide: int) -> Image:
    return np.asarray(cv2.resize(cv2.rotate(picture, cv2.ROTATE_90_CLOCKWISE), (wide, tall)), np.uint8)


def _cloth(tall: int, wide: int, rng: Rng) -> Image:
    base = np.array(FELTS[int(rng.integers(len(FELTS)))]) * rng.uniform(0.6, 1.7)
    if rng.random() < 0.35:
        base = rng.uniform(20, 235, 3)
    weave = rng.normal(0, rng.uniform(2, 12), (tall, wide)).astype(np.float32)
    weave = np.asarray(cv2.GaussianBlur(weave, (0, 0), float(rng.uniform(0.4, 1.4))), np.float32)
    folds = _noise(tall, wide, rng, max(tall, wide) / rng.uniform(2, 6)) * rng.uniform(0.3, 2.5)
    out = base + (weave + folds)[:, :, None]
    if rng.random() < 0.25:
        step = rng.uniform(8, 60)
        turn = rng.uniform(0, np.pi)
        ys, xs = np.mgrid[0:tall, 0:wide]
        stripes = np.sin((np.cos(turn) * xs + np.sin(turn) * ys) / step * 2 * np.pi) > 0
        out += stripes[:, :, None] * rng.uniform(-70, 70, 3)
    return np.clip(out, 0, 255).astype(np.uint8)


def skin(rng: Rng) -> npt.NDArray[np.float64]:
    """A colour of skin under neutral light, BGR."""
    light = np.array([150.0, 175.0, 225.0])
    dark = np.array([45.0, 65.0, 100.0])
    share = rng.uniform(0, 1)
    return np.asarray(light * (1 - share) + dark * share + rng.normal(0, 6, 3), np.float64)


def draw_hand(image: Image, reach: npt.NDArray[np.float64], size: float, rng: Rng) -> npt.NDArray[np.bool_]:
    """Draw an arm with a hand whose fingers end at about `reach` (x, y); returns the mask of what it covers.

    `size` is the breadth of the palm in pixels. The arm comes in from the nearest side, sleeve or bare.
    """
    tall, wide = image.shape[:2]
    mask = np.zeros((tall, wide), np.uint8)
    sides = np.array([[reach[0], tall + size], [reach[0], -size], [-size, reach[1]], [wide + size, reach[1]]])
    order = np.argsort(np.linalg.norm(sides - reach, axis=1))
    away = sides[order[0]] if rng.random() < 0.75 else sides[order[1]]
    away = away + rng.normal(0, 2.0 * size, 2)
    back = (away - reach) / (np.linalg.norm(away - reach) + 1e-6)
    across = np.array([-back[1], back[0]])
    palm = reach + back * size * rng.uniform(0.9, 1.4)
    for finger in range(4 if rng.random() < 0.8 else 2):
        spread = (finger - 1.5) * 0.27 * size
        knuckle = palm + across * spread
        length = size * rng.uniform(0.75, 1.1)
        tip = knuckle - back * length + across * (spread * rng.uniform(-0.2, 0.9))
        _limb(mask, knuckle, tip, size * 0.25, size * 0.19)
    thumb = palm + across * 0.45 * size * (1 if rng.random() < 0.5 else -1)
    _limb(mask, palm, thumb + (thumb - palm) * 0.7 - back * 0.35 * size, size * 0.3, size * 0.22)
    _limb(mask, palm - back * 0.15 * size, palm + back * 0.7 * size, size * 0.95, size * 0.8)
    wrist = palm + back * 0.8 * size
    _limb(mask, wrist, away, size * 0.66, size * 1.0)
    hand = mask > 0
    tone = skin(rng)
    depth = cv2.distanceTransform(mask, cv2.DIST_L2, 3)
    shading = 0.62 + 0.42 * np.clip(depth / (0.25 * size + 1), 0, 1)
    paint = tone[None, None, :] * shading[:, :, None] + _noise(tall, wide, rng, max(2.0, size / 10))[:, :, None]
    if rng.random() < 0.6:
        ys, xs = np.mgrid[0:tall, 0:wide]
        cuff = (xs - wrist[0]) * back[0] + (ys - wrist[1]) * back[1] > size * rng.uniform(0.2, 1.5)
        cloth = rng.uniform(10, 230, 3)
        paint[cuff] = cloth * (0.7 + 0.3 * shading[cuff])[:, None]
    shift = (rng.normal(0, 0.12, 2) * size).astype(np.float32)
    dark = cv2.warpAffine(mask, np.array([[1, 0, shift[0]], [0, 1, shift[1]]], np.float32), (wide, tall))
    dark = cv2.GaussianBlur(dark, (0, 0), float(0.08 * size + 0.5)).astype(np.float32) / 255
    image[:] = (image * (1 - 0.5 * dark[:, :, None])).astype(np.uint8)
    soft = cv2.GaussianBlur(mask, (0, 0), 0.8).astype(np.float32)[:, :, None] / 255
    image[:] = (np.clip(paint, 0, 255) * soft + image * (1 - soft)).astype(np.uint8)
    return np.asarray(hand, np.bool_)


def _limb(mask: Image, a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], broad_a: float, broad_b: float) -> None:
    along = (b - a) / (np.linalg.norm(b - a) + 1e-6)
    across = np.array([-along[1], along[0]])
    points = np.array(
        [a + across * broad_a / 2, b + across * broad_b / 2, b - across * broad_b / 2, a - across * broad_a / 2]
    )
    cv2.fillPoly(mask, [np.round(points).astype(np.int32)], 255)
    for centre, broad in ((a, broad_a), (b, broad_b)):
        cv2.circle(mask, tuple(np.round(centre).astype(int).tolist()), max(1, int(broad / 2)), 255, -1)


def thing(textures: Textures, rng: Rng) -> Image:
    """Something flat and rectangular that is no card, (h, w, 3) uint8 BGR: book, paper, phone, box, coaster."""
    kind = int(rng.integers(0, 9))
    tall, wide = int(rng.integers(90, 330)), int(rng.integers(60, 330))
    if kind == 0:  # a sheet of paper, a page, a letter
        page = np.full((tall, wide, 3), rng.uniform(205, 255), np.float64) + rng.normal(0, 2, 3)
        if rng.random() < 0.75:
            _write(page, rng)
        return np.clip(page, 0, 255).astype(np.uint8)
    if kind == 1:  # a newspaper: columns, pictures, headlines
        page = np.full((tall, wide, 3), rng.uniform(180, 240), np.float64)
        _write(page, rng, columns=int(rng.integers(2, 4)))
        for _ in range(int(rng.integers(0, 3))):
            if textures.images:
                y, x = int(rng.integers(0, tall // 2)), int(rng.integers(0, wide // 2))
                page[y : y + tall // 3, x : x + wide // 3] = textures.patch(tall // 3, wide // 3, rng)
        return np.clip(page, 0, 255).astype(np.uint8)
    if kind == 2:  # a book's or a box's cover: colour, title, picture
        page = np.empty((tall, wide, 3))
        page[:] = rng.uniform(10, 245, 3)
        if textures.images and rng.random() < 0.6:
            m = int(rng.uniform(0, 0.2) * min(tall, wide))
            page[m : tall - m, m : wide - m] = textures.patch(tall - 2 * m, wide - 2 * m, rng)
        _title(page, rng)
        return np.clip(page, 0, 255).astype(np.uint8)
    if kind == 3:  # a phone or a tablet
        page = np.full((tall, wide, 3), rng.uniform(5, 40), np.float64)
        if rng.random() < 0.5:
            m = max(3, int(0.05 * min(tall, wide)))
            page[m : tall - m, m : wide - m] = rng.uniform(0, 255, 3)
            _write(page[m : tall - m, m : wide - m], rng)
        return np.clip(page, 0, 255).astype(np.uint8)
    if kind == 4 and textures.images:  # anything printed
        return textures.patch(tall, wide, rng)
    if kind == 5:  # a bare white or plain rectangle, of a card's shape too
        page = np.full((tall, int(tall * rng.uniform(0.55, 0.85)), 3), 0, np.float64)
        page[:] = rng.uniform(200, 255, 3) if rng.random() < 0.6 else rng.uniform(10, 250, 3)
        return np.clip(page, 0, 255).astype(np.uint8)
    if kind == 6:  # keys of a keyboard, tiles of a floor
        page = np.full((tall, wide, 3), rng.uniform(15, 200), np.float64)
        step = int(rng.integers(14, 40))
        ink = rng.uniform(10, 250)
        for y in range(2, tall - step, step):
            for x in range(2, wide - step, step):
                cv2.rectangle(page, (x, y), (x + step - 3, y + step - 3), (ink, ink, ink), -1)
        return np.clip(page, 0, 255).astype(np.uint8)
    if kind == 7:  # a game's board or a ruled pad
        page = np.empty((tall, wide, 3))
        page[:] = rng.uniform(60, 255, 3)
        step = int(rng.integers(8, 40))
        ink = rng.uniform(0, 255, 3).tolist()
        for y in range(step, tall, step):
            cv2.line(page, (0, y), (wide, y), ink, 1)
        if rng.random() < 0.5:
            for x in range(step, wide, step):
                cv2.line(page, (x, 0), (x, tall), ink, 1)
        return np.clip(page, 0, 255).astype(np.uint8)
    side = int(rng.integers(60, 160))  # a banknote, a ticket, a business card
    page = np.empty((side, int(side * rng.uniform(1.5, 2.4)), 3))
    page[:] = rng.uniform(140, 250, 3)
    _title(page, rng)
    _write(page[side // 2 :], rng)
    return np.clip(page, 0, 255).astype(np.uint8)


def draw_chips(image: Image, size: float, rng: Rng) -> None:
    """Draw a few round chips, coins or coasters of about `size` pixels across."""
    tall, wide = image.shape[:2]
    centre = rng.uniform(0, 1, 2) * (wide, tall)
    for _ in range(int(rng.integers(1, 6))):
        at = tuple((centre + rng.normal(0, size, 2)).astype(int).tolist())
        radius = max(3, int(size * rng.uniform(0.3, 0.6)))
        colour = rng.uniform(0, 255, 3).tolist()
        cv2.circle(image, (at[0] + 2, at[1] + 2), radius, (20, 20, 20), -1, cv2.LINE_AA)
        cv2.circle(image, at, radius, colour, -1, cv2.LINE_AA)
        cv2.circle(image, at, max(1, int(radius * 0.7)), rng.uniform(0, 255, 3).tolist(), 2, cv2.LINE_AA)


_FACES: Sequence[int] = (
    cv2.FONT_HERSHEY_SIMPLEX, cv2.FONT_HERSHEY_DUPLEX, cv2.FONT_HERSHEY_TRIPLEX, cv2.FONT_HERSHEY_COMPLEX,
)  # fmt: skip
_LETTERS = "AAEEIOULMNRSTDCPBKQJ0123456789"


def _word(rng: Rng, length: int) -> str:
    return "".join(_LETTERS[int(i)] for i in rng.integers(0, len(_LETTERS), length))


def _write(page: npt.NDArray[np.float64], rng: Rng, columns: int = 1) -> None:
    """Lines of dark words, as text looks from afar."""
    tall, wide = page.shape[:2]
    step = int(rng.integers(5, 16))
    ink = rng.uniform(10, 110)
    column = wide // columns
    for c in range(columns):
        for y in range(step, tall - step // 2, step):
            x = c * column + 4
            while x < (c + 1) * column - 8:
                length = int(rng.integers(3, 22))
                if rng.random() < 0.85:
                    page[y : y + max(1, step // 3), x : min(x + length, (c + 1) * column - 4)] = ink
                x += length + 3


def _title(page: npt.NDArray[np.float64], rng: Rng) -> None:
    tall, wide = page.shape[:2]
    for _ in range(int(rng.integers(1, 4))):
        at = (int(rng.uniform(0, 0.5) * wide), int(rng.uniform(0.15, 1.0) * tall))
        scale = float(rng.uniform(0.4, 2.6))
        face = _FACES[int(rng.integers(len(_FACES)))]
        text = _word(rng, int(rng.integers(1, 9)))
        inked = np.clip(page, 0, 255).astype(np.uint8)  # OpenCV writes on 8 bits only
        cv2.putText(inked, text, at, face, scale, rng.uniform(0, 255, 3).tolist(), int(scale * 2) + 1, cv2.LINE_AA)
        page[:] = inked
