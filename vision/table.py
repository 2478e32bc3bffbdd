"""The table under the camera: pixels to millimetres and back, where players sit and where piles lie."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from referee.bad_input import BadInput
from referee.cards import Pile, Seat
from referee.game import Layout, PilePlace, SeatPlace

Point = tuple[float, float]
Matrix = NDArray[np.float64]

CARD_MM: Point = (63.0, 88.0)
"""Width and height of a poker card; a table file may say otherwise."""
DEFAULT_RADIUS_MM = 60.0
"""Reaches from a card's middle past its corners (54 mm for a poker card)."""
_LARGEST_FILE = 1 << 20
_LARGEST_MM = 10_000.0
_LARGEST_PX = 16_384
_LONGEST_READOUT_MS = 60.0


@dataclass(frozen=True, slots=True)
class SeatSpot:
    """Where a player sits: a point on the table's edge, in mm from the table's top-left corner."""

    seat: Seat
    at_mm: Point


@dataclass(frozen=True, slots=True)
class PileSpot:
    """Where a pile lies: its middle, how far from there its cards may reach, and the turn of its cards.

    ``angle_deg``: clockwise as seen in the picture; 0: the cards' long side runs along the table's y.
    """

    pile: Pile
    at_mm: Point
    radius_mm: float = DEFAULT_RADIUS_MM
    angle_deg: float = 0.0


@dataclass(frozen=True, slots=True)
class ReadOut:
    """How the camera reads its picture: ``readout_ms`` from the first line to the last, 0 for all at once.

    ``lines``: the direction in which lines follow each other in the upright picture: down, up, right or left.
    """

    readout_ms: float
    lines: str = "down"


#: The direction in which lines follow each other, as (x, y) in the picture.
LINES: Mapping[str, Point] = {"down": (0.0, 1.0), "up": (0.0, -1.0), "right": (1.0, 0.0), "left": (-1.0, 0.0)}


@dataclass(frozen=True, slots=True)
class Table:
    """A table as its camera sees it.

    Millimetres: origin in the table's top-left corner in the picture, x right, y down. ``corners_px``: the
    table's corners in the picture, clockwise from its top-left one; they may lie outside the picture.
    ``image_size_px``: width and height of the picture that the corners are measured in.
    """

    corners_px: tuple[Point, ...]
    size_mm: Point
    image_size_px: tuple[int, int]
    seats: tuple[SeatSpot, ...] = ()
    piles: tuple[PileSpot, ...] = ()
    card_mm: Point = CARD_MM
    camera: ReadOut | None = None
    """None: it isn't known how the camera reads its picture."""
    _px_from_mm: Matrix = field(init=False, repr=False, compare=False)
    _mm_from_px: Matrix = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse nonsense by name, all of it at once."""
        wrong = _wrong(self)
        if wrong:
            raise BadInput("; ".join(wrong))
        width, height = self.size_mm
        matrix = homography([(0, 0), (width, 0), (width, height), (0, height)], self.corners_px)
        object.__setattr__(self, "_px_from_mm", matrix)
        object.__setattr__(self, "_mm_from_px", np.linalg.inv(matrix))

    # --- reading and writing -----------------------------------------------------------------------

    @classmethod
    def from_toml(cls, path: Path | str) -> Table:
        """Read a table file; see `parse`."""
        path = Path(path)
        try:
            if path.stat().st_size > _LARGEST_FILE:
                raise BadInput.of(str(path), "a table file of less than 1 MB", f"{path.stat().st_size} bytes")
            text = path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise BadInput.of(str(path), "a table file in TOML", reason) from error
        return cls.parse(text, source=path.name)

    @classmethod
    def parse(cls, text: str, *, source: str = "table") -> Table:
        """Read a table's TOML.

        ::

            [table]
            corners = [[66.1, 28.0], [1214.0, 28.4], [1214.3, 692.0], [65.8, 691.7]]  # px, clockwise from top-left
            size_mm = [900, 600]
            image_size = [1280, 720]
            card_mm = [63, 88]          # may be left out

            [camera]                    # may be left out where it isn't known
            readout_ms = 11.0           # from the first line to the last; 0: all at once
            lines = "down"              # how lines follow each other in the picture: down, up, right, left

            [[seats]]
            seat = 0
            at_mm = [450, 600]

            [[piles]]
            pile = "up:0"
            at_mm = [450, 420]
            angle_deg = 0               # may be left out
            radius_mm = 60              # may be left out
        """
        try:
            raw = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise BadInput.of(source, "a table in TOML", str(error)) from error
        wrong: list[str] = []
        table = raw.get("table")
        if not isinstance(table, dict):
            raise BadInput.of(source, "a [table] with corners, size_mm and image_size", "none")
        corners = table.get("corners")
        if not isinstance(corners, list) or len(corners) != 4:
            got = f"{len(corners)}" if isinstance(corners, list) else repr(corners)[:40]
            wrong.append(f"table.corners: expected 4 points, got {got}")
            corners = []
        points = tuple(_point(f"table.corners[{i}]", point, wrong) for i, point in enumerate(corners))
        size_mm = _point("table.size_mm", table.get("size_mm"), wrong)
        image = _point("table.image_size", table.get("image_size"), wrong)
        card_mm = _point("table.card_mm", table.get("card_mm", list(CARD_MM)), wrong)
        _only("table", table, ("corners", "size_mm", "image_size", "card_mm"), wrong)
        _only(source, raw, ("table", "camera", "seats", "piles"), wrong)
        camera = _camera(raw["camera"], wrong) if "camera" in raw else None
        seats = tuple(_seat(i, row, wrong) for i, row in enumerate(_rows(raw, "seats", wrong)))
        piles = tuple(_pile(i, row, wrong) for i, row in enumerate(_rows(raw, "piles", wrong)))
        if not wrong:
            try:
                return cls(points, size_mm, (int(image[0]), int(image[1])), seats, piles, card_mm, camera)
            except BadInput as bad:
                wrong.append(str(bad))
        raise BadInput(f"{source}: " + "; ".join(wrong))

    @classmethod
    def laid_out(
        cls,
        layout: Layout,
        corners_px: Iterable[Point],
        size_mm: Point,
        image_size_px: tuple[int, int],
        *,
        radius_mm: float = DEFAULT_RADIUS_MM,
    ) -> Table:
        """A table with a game's own layout on it."""
        width, height = size_mm
        return cls(
            tuple((float(x), float(y)) for x, y in corners_px),
            (float(width), float(height)),
            image_size_px,
            tuple(SeatSpot(place.seat, (place.x * width, place.y * height)) for place in layout.seats),
            tuple(
                PileSpot(place.pile, (place.x * width, place.y * height), radius_mm, math.degrees(place.angle))
                for place in layout.piles
            ),
        )

    def layout(self) -> Layout:
        """The seats and piles as a game would declare them."""
        width, height = self.size_mm
        return Layout(
            tuple(SeatPlace(spot.seat, spot.at_mm[0] / width, spot.at_mm[1] / height) for spot in self.seats),
            tuple(
                PilePlace(spot.pile, spot.at_mm[0] / width, spot.at_mm[1] / height, math.radians(spot.angle_deg))
                for spot in self.piles
            ),
        )

    def to_toml(self) -> str:
        """The table file's text: `parse` reads the same table from it."""
        lines = [
            "[table]",
            f"corners = [{', '.join(map(_pair, self.corners_px))}]",
            f"size_mm = {_pair(self.size_mm)}",
            f"image_size = [{self.image_size_px[0]}, {self.image_size_px[1]}]",
            f"card_mm = {_pair(self.card_mm)}",
        ]
        if self.camera is not None:
            lines += ["", "[camera]", f"readout_ms = {float(self.camera.readout_ms)!r}"]
            lines += [f'lines = "{self.camera.lines}"']
        for seat in self.seats:
            lines += ["", "[[seats]]", f"seat = {seat.seat}", f"at_mm = {_pair(seat.at_mm)}"]
        for spot in self.piles:
            lines += ["", "[[piles]]", f'pile = "{spot.pile}"', f"at_mm = {_pair(spot.at_mm)}"]
            lines += [f"angle_deg = {float(spot.angle_deg)!r}", f"radius_mm = {float(spot.radius_mm)!r}"]
        return "\n".join(lines) + "\n"

    # --- measures ----------------------------------------------------------------------------------

    @property
    def px_from_mm(self) -> Matrix:
        """(3, 3) float64: homogeneous mm on the table top to homogeneous pixels."""
        return self._px_from_mm

    @property
    def mm_from_px(self) -> Matrix:
        """(3, 3) float64: homogeneous pixels to homogeneous mm on the table top."""
        return self._mm_from_px

    def to_px(self, points_mm: ArrayLike) -> Matrix:
        """(n, 2) float64 pixels of (n, 2) points on the table top in mm."""
        return apply(self._px_from_mm, points_mm)

    def to_mm(self, points_px: ArrayLike) -> Matrix:
        """(n, 2) float64 mm on the table top of (n, 2) pixels."""
        return apply(self._mm_from_px, points_px)

    def px_per_mm(self, at_mm: Point) -> float:
        """The picture's scale at a point of the table: square root of the area that a square mm has there."""
        x, y = at_mm
        corner, right, down = self.to_px([(x, y), (x + 1, y), (x, y + 1)])
        (a, b), (c, d) = right - corner, down - corner
        return float(math.sqrt(abs(a * d - b * c)))

    def patch_from_px(self, at_mm: Point, size_mm: Point, px_per_mm: float, angle_deg: float = 0.0) -> Matrix:
        """(3, 3) float64: pixels to a rectified patch's pixels.

        The patch is ``size_mm`` around ``at_mm``, turned by ``angle_deg`` (clockwise as seen), upright,
        ``px_per_mm`` fine: what ``cv2.warpPerspective`` takes.
        """
        turn = math.radians(angle_deg)
        c, s = math.cos(turn), math.sin(turn)
        width, height = size_mm
        k = px_per_mm
        # mm → patch: move the middle to 0, turn back, scale, move to the patch's middle.
        patch_from_mm = np.array(
            [
                [k * c, k * s, k * (width / 2 - c * at_mm[0] - s * at_mm[1])],
                [-k * s, k * c, k * (height / 2 + s * at_mm[0] - c * at_mm[1])],
                [0.0, 0.0, 1.0],
            ]
        )
        return patch_from_mm @ self._mm_from_px

    def scaled_to(self, image_size_px: tuple[int, int]) -> Table:
        """The same table seen in a picture of another size but the same shape."""
        if image_size_px == self.image_size_px:
            return self
        across, down = image_size_px[0] / self.image_size_px[0], image_size_px[1] / self.image_size_px[1]
        if abs(across - down) > 0.02 * across:
            expected = f"a picture shaped like {self.image_size_px[0]}x{self.image_size_px[1]}"
            raise BadInput.of("table.image_size", expected, f"one of {image_size_px[0]}x{image_size_px[1]}")
        corners = tuple((x * across, y * down) for x, y in self.corners_px)
        return Table(corners, self.size_mm, image_size_px, self.seats, self.piles, self.card_mm, self.camera)

    # --- places ------------------------------------------------------------------------------------

    def pile(self, pile: Pile) -> PileSpot:
        """Where a pile lies; KeyError where the table has no such pile."""
        for spot in self.piles:
            if spot.pile == pile:
                return spot
        raise KeyError(f"expected a pile of the table ({', '.join(str(s.pile) for s in self.piles)}), got {pile}")

    def has_pile(self, pile: Pile) -> bool:
        """Whether the table has a place for the pile."""
        return any(spot.pile == pile for spot in self.piles)

    def seat(self, seat: Seat) -> SeatSpot:
        """Where a player sits; KeyError where the table has no such seat."""
        for spot in self.seats:
            if spot.seat == seat:
                return spot
        raise KeyError(f"expected a seat of the table ({', '.join(str(s.seat) for s in self.seats)}), got {seat}")

    def pile_at(self, point_mm: Point) -> Pile | None:
        """The pile whose place holds the point, the nearest if there are several; None where nothing lies."""
        best: tuple[float, Pile] | None = None
        for spot in self.piles:
            distance = math.dist(spot.at_mm, point_mm)
            if distance <= spot.radius_mm and (best is None or distance < best[0]):
                best = (distance, spot.pile)
        return best[1] if best else None


def homography(source: ArrayLike, target: ArrayLike) -> Matrix:
    """(3, 3) float64 that takes four (4, 2) points to four others."""
    rows = []
    for (x, y), (u, v) in zip(np.asarray(source, float), np.asarray(target, float), strict=True):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y, u])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y, v])
    system = np.array(rows)
    solved = np.linalg.solve(system[:, :8], system[:, 8])
    return np.append(solved, 1.0).reshape(3, 3)


def apply(matrix: Matrix, points: ArrayLike) -> Matrix:
    """(n, 2) float64: (n, 2) points taken through a homography."""
    flat = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    lifted = np.column_stack([flat, np.ones(len(flat))]) @ matrix.T
    return np.asarray(lifted[:, :2] / lifted[:, 2:])


# --- what can be wrong with a table ----------------------------------------------------------------


def _wrong(table: Table) -> list[str]:
    wrong: list[str] = []
    width, height = table.size_mm
    if not (50 <= width <= _LARGEST_MM and 50 <= height <= _LARGEST_MM):
        wrong.append(f"table.size_mm: expected 50 to {_LARGEST_MM:.0f} mm each way, got {width:g} x {height:g}")
    across, down = table.image_size_px
    if not (16 <= across <= _LARGEST_PX and 16 <= down <= _LARGEST_PX):
        wrong.append(f"table.image_size: expected 16 to {_LARGEST_PX} px each way, got {across} x {down}")
    if not all(10 <= side <= 300 for side in table.card_mm):
        wrong.append(f"table.card_mm: expected 10 to 300 mm each way, got {table.card_mm[0]:g} x {table.card_mm[1]:g}")
    if len(table.corners_px) != 4:
        wrong.append(f"table.corners: expected 4 points, got {len(table.corners_px)}")
    else:
        wrong += _wrong_corners(table)
    if table.camera is not None:
        if not 0 <= table.camera.readout_ms <= _LONGEST_READOUT_MS:
            got = f"{table.camera.readout_ms:g}"
            wrong.append(f"camera.readout_ms: expected 0 to {_LONGEST_READOUT_MS:g}, got {got}")
        if table.camera.lines not in LINES:
            wrong.append(f"camera.lines: expected {' or '.join(LINES)}, got {table.camera.lines!r}")
    seats = [spot.seat for spot in table.seats]
    if sorted(seats) != list(range(len(seats))):
        wrong.append(f"seats: expected each seat once, counted from 0, got {', '.join(map(str, seats))[:60]}")
    piles = [str(spot.pile) for spot in table.piles]
    for name in sorted({name for name in piles if piles.count(name) > 1}):
        wrong.append(f"piles: expected each pile once, got {name} twice")
    places = [(f"seat {spot.seat}", spot.at_mm) for spot in table.seats]
    places += [(f"pile {spot.pile}", spot.at_mm) for spot in table.piles]
    for name, (x, y) in places:
        # A player may sit a little off the table's edge, and a pile may lie half over it.
        if not (-0.25 * width <= x <= 1.25 * width and -0.25 * height <= y <= 1.25 * height):
            wrong.append(f"{name}.at_mm: expected a place on the table of {width:g} x {height:g} mm, got {x:g}, {y:g}")
    for spot in table.piles:
        if not 5 <= spot.radius_mm <= max(width, height):
            wrong.append(f"pile {spot.pile}.radius_mm: expected 5 to {max(width, height):g}, got {spot.radius_mm:g}")
        if not math.isfinite(spot.angle_deg):
            wrong.append(f"pile {spot.pile}.angle_deg: expected degrees, got {spot.angle_deg}")
    return wrong


def _wrong_corners(table: Table) -> list[str]:
    corners = np.asarray(table.corners_px, float)
    if not np.isfinite(corners).all() or np.abs(corners).max() > 4 * _LARGEST_PX:
        return ["table.corners: expected points in or near the picture, got some far outside"]
    turns = []
    for i in range(4):
        one, two, three = corners[i], corners[(i + 1) % 4], corners[(i + 2) % 4]
        turns.append(_cross(two - one, three - two))
    smallest = 1e-4 * table.image_size_px[0] * table.image_size_px[1]
    if all(turn < -smallest for turn in turns):
        return ["table.corners: expected the corners clockwise from the top-left one, got them counter-clockwise"]
    if not all(turn > smallest for turn in turns):
        return ["table.corners: expected 4 corners of a convex shape, got points in line or crossed over"]
    return []


def _cross(one: Matrix, two: Matrix) -> float:
    return float(one[0] * two[1] - one[1] * two[0])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _point(name: str, value: object, wrong: list[str]) -> Point:
    if isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)):
        return float(value[0]), float(value[1])
    wrong.append(f"{name}: expected two numbers, got {'nothing' if value is None else repr(value)[:40]}")
    return 0.0, 0.0


def _rows(raw: Mapping[str, object], name: str, wrong: list[str]) -> list[dict[str, object]]:
    rows = raw.get(name, [])
    if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
        return rows
    wrong.append(f"{name}: expected [[{name}]] tables, got {rows!r}"[:100])
    return []


def _only(name: str, row: Mapping[str, object], known: tuple[str, ...], wrong: list[str]) -> None:
    strange = [key for key in row if key not in known]
    if strange:
        wrong.append(f"{name}: expected {', '.join(known)}, got {', '.join(strange)[:60]}")


def _camera(row: object, wrong: list[str]) -> ReadOut | None:
    if not isinstance(row, dict):
        wrong.append(f"camera: expected [camera] with readout_ms, got {row!r}"[:100])
        return None
    _only("camera", row, ("readout_ms", "lines"), wrong)
    readout_ms, lines = row.get("readout_ms"), row.get("lines", "down")
    if not _is_number(readout_ms):
        wrong.append(f"camera.readout_ms: expected a number, got {readout_ms!r}"[:100])
        return None
    return ReadOut(float(readout_ms), str(lines))  # type: ignore[arg-type]  # a number, as was seen


def _seat(i: int, row: Mapping[str, object], wrong: list[str]) -> SeatSpot:
    _only(f"seats[{i}]", row, ("seat", "at_mm"), wrong)
    seat = row.get("seat")
    if not isinstance(seat, int) or isinstance(seat, bool) or not 0 <= seat < 100:
        wrong.append(f"seats[{i}].seat: expected a seat's number from 0, got {seat!r}"[:100])
        seat = i
    return SeatSpot(seat, _point(f"seats[{i}].at_mm", row.get("at_mm"), wrong))


def _pile(i: int, row: Mapping[str, object], wrong: list[str]) -> PileSpot:
    _only(f"piles[{i}]", row, ("pile", "at_mm", "radius_mm", "angle_deg"), wrong)
    pile = Pile("unknown")
    try:
        pile = Pile.parse(row.get("pile"))  # type: ignore[arg-type]  # it refuses what is no text
    except BadInput as bad:
        wrong.append(f"piles[{i}]: {bad}")
    numbers = []
    for name, default in (("radius_mm", DEFAULT_RADIUS_MM), ("angle_deg", 0.0)):
        value = row.get(name, default)
        if not _is_number(value):
            wrong.append(f"piles[{i}].{name}: expected a number, got {value!r}"[:100])
            value = default
        numbers.append(float(value))  # type: ignore[arg-type]  # a number, or replaced by one
    return PileSpot(pile, _point(f"piles[{i}].at_mm", row.get("at_mm"), wrong), numbers[0], numbers[1])


def _pair(point: Point) -> str:
    return f"[{float(point[0])!r}, {float(point[1])!r}]"
