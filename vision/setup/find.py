"""Finds the table, its piles and its seats in a clip, and says what it assumed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from referee.cards import Pile
from vision.detections import CARD_BACK, CARD_FACE, CARD_OUTLINE, Detections
from vision.frame import Image
from vision.setup.arms import CELL, ArmsSeen, Crossing, arms_in
from vision.setup.outline import look_at_card
from vision.setup.pictures import FirstLook
from vision.setup.plane import CardLook, Plane, edges_of_table, plane_of_arms, plane_of_cards
from vision.table import CARD_MM, Matrix, PileSpot, Point, SeatSpot, Table, apply

Array = NDArray[np.float64]

#: A detector's find below this score is not counted as a card to measure by, nor as a place where cards lie.
_SURE = 0.6
#: Arms and cards must tell the same scale within this (logarithm): children's bare arms, coats, and tilt.
_ARMS_AGREE = 0.7
#: Cards whose middles lie nearer than this lie on one pile, mm.
_ONE_PILE_MM = 62.0
#: A hand's middle lies so far from its tips, mm.
_PALM_MM = 80.0
#: A hand counts at a place within about this, mm.
_AT_PLACE_MM = 60.0
#: A hand in so many small pictures counts half; cards are where hands meet if hands come there this much.
_STAYS, _CARDS_LIE = 4.0, 0.25
#: Arms whose ways to the pile differ by less are one player's; how sharply ways are told apart (degrees).
_ONE_SEAT_DEG, _SPREAD_DEG = 30.0, 9.0
#: A seat is one from which arms were at the pile for so long at least, and so long beside the busiest one.
_LEAST_SEEN_NS, _LEAST_BESIDE = 160_000_000, 0.04
#: An arm within this of the pile's middle is at it; others count so much for where players sit.
_AT_PILE_MM, _ON_ITS_WAY = 45.0, 0.1
#: A dark arm reaches to within this of the pile's middle: there other hands hide it. Its width is within these, mm.
_DARK_AT_PILE_MM, _DARK_WIDE_MM = 90.0, (35.0, 160.0)
#: What crosses the border over more than this is several arms: one that comes in aslant may be so wide, mm.
_ONE_ARM_MM = 190.0
#: The table is taken to reach no farther than this from its pile, mm.
_FARTHEST_MM = 1500.0
#: How far a rectangle's sides and corners may be from it for edges seen to be a table's.
_ASKEW = 0.09
#: A pile found is as large as its cards, and so much more for what lies askew, mm.
_PILE_RADIUS_MM = 75.0


@dataclass(frozen=True, slots=True, eq=False)
class FoundTable:
    """A table found in a clip.

    ``seat_names``: from which side of the picture each seat's arms come. ``cards_mm``: (n, 2) where else
    cards lay. ``scale_doubt``: of the scale, as a share, one standard deviation. ``edges_seen``: the table's own
    edges were seen, else the picture's borders stand for them.
    """

    table: Table
    seat_names: tuple[str, ...]
    scale_doubt: float
    scale_source: str
    edges_seen: bool
    cards_lie: bool
    cards_mm: Array
    tilt_deg: float

    def in_words(self) -> str:
        """What was assumed, in one line."""
        table = self.table
        why = "where cards lie and hands meet" if self.cards_lie else "where hands meet"
        places = [table.to_px([spot.at_mm])[0] for spot in table.piles]
        at = "; ".join(f"{x:.0f}, {y:.0f} px" for x, y in places)
        piles = "one pile" if len(places) == 1 else f"{len(places)} piles"
        seats = f"{len(table.seats)} seat{'s' if len(table.seats) != 1 else ''}: {', '.join(self.seat_names)}"
        scale = table.px_per_mm(table.piles[0].at_mm)
        doubt = f" ± {100 * self.scale_doubt:.0f} %" if self.scale_doubt >= 0.1 else ""
        edges = "the table's edges as seen" if self.edges_seen else "the picture's borders for the table's edges"
        return (
            f"assumed: {piles} at {at} ({why}); {seats}; scale from {self.scale_source}, "
            f"{scale:.2f} px/mm{doubt}; {edges}"
        )


def find_table(
    look: FirstLook, find_cards: Callable[[Image], Detections], *, card_mm: Point = CARD_MM, name: str = "clip"
) -> FoundTable:
    """The table of a clip; `BadInput` where no hand comes into the picture, or none of its size.

    ``find_cards``: the card finder, for pictures at full size.
    """
    arms = arms_in(look)
    if all(each.dark for each in arms.crossings):
        expected = "hands that come in over the picture's border (or --table T.toml)"
        raise BadInput.of(f"{name}: table", expected, "none in the whole clip")
    by_arms = plane_of_arms([each.arm_wide_px for each in arms.crossings if each.tip is not None], look.size_px)
    quads, cards = _cards(look, find_cards, card_mm, by_arms)
    plane = plane_of_cards(cards, look.size_px, card_mm) or by_arms
    if plane is None:
        raise BadInput.of(f"{name}: table", "cards or single arms to tell the scale by (or --table T.toml)", "neither")
    places = _places(plane, quads, look)
    middle, lie = _where_hands_meet(plane, arms, places)
    ways = _seats(plane, arms, middle, look)
    if not ways:
        raise BadInput.of(
            f"{name}: table", "arms that come from somewhere (or --table T.toml)", "none to be told apart"
        )
    return _laid_out(look, plane, middle, lie, places, ways, card_mm)


# --- cards and hands -------------------------------------------------------------------------------


def _cards(
    look: FirstLook, find_cards: Callable[[Image], Detections], card_mm: Point, by_arms: Plane | None
) -> tuple[list[NDArray[np.float32]], list[CardLook]]:
    """Where cards were found in the stills, and what of that tells their size.

    Outlines of which it isn't known what they are count only where no card is known.
    """
    quads: list[NDArray[np.float32]] = []
    cards: list[CardLook] = []
    found = [find_cards(still) for still in look.stills]
    for label in ((CARD_FACE, CARD_BACK), (CARD_OUTLINE,)):
        for still, each in zip(look.stills, found, strict=True):
            chosen = each.labelled(*label)
            for quad in chosen.where(chosen.scores >= _SURE).quads:
                if not _is_whole(quad, look.size_px):
                    continue
                card = look_at_card(still, quad, card_mm)
                if card is None or not _fits_arms(card, by_arms, card_mm):
                    continue
                quads.append(quad)
                cards.append(card)
        if cards:
            break
    return quads, cards


def _fits_arms(card: CardLook, by_arms: Plane | None, card_mm: Point) -> bool:
    """Whether arms are about as wide as arms are if it is a card: a table or a phone is none."""
    if by_arms is None:
        return True
    x, y = card.quad.mean(axis=0)
    return abs(math.log(card.scale(card_mm) / by_arms.px_per_mm((x, y)))) < _ARMS_AGREE


def _is_whole(quad: NDArray[np.float32], size_px: tuple[int, int]) -> bool:
    margin = 2.0
    return bool((quad > margin).all() and (quad < np.array(size_px) - 1 - margin).all())


def _places(plane: Plane, quads: Sequence[NDArray[np.float32]], look: FirstLook) -> Array:
    """(n, 3) x, y in mm of the places where cards lie, and how often one was seen there."""
    places: list[list[float]] = []
    for quad in quads:
        x, y = apply(plane.mm_from_px, [quad.mean(axis=0)])[0]
        for place in places:
            if math.dist((x, y), place[:2]) < _ONE_PILE_MM:
                n = place[2]
                place[0], place[1], place[2] = (place[0] * n + x) / (n + 1), (place[1] * n + y) / (n + 1), n + 1
                break
        else:
            places.append([float(x), float(y), 1.0])
    return np.array(places, np.float64).reshape(-1, 3)


def _where_hands_meet(plane: Plane, arms: ArmsSeen, places: Array) -> tuple[Array, bool]:
    """(2,) mm: the place that most seats' hands reach; whether cards lie there."""
    height, width = arms.met.shape
    ys, xs = np.mgrid[:height:4, :width:4]
    small = np.column_stack([xs.ravel(), ys.ravel()]).astype(np.float64)
    grid = apply(plane.mm_from_px, (small + 0.5) / arms.scale - 0.5)
    score = _reached(plane, arms, grid)
    best = grid[score > score.max() - 0.08].mean(axis=0)
    if len(places):
        there = _reached(plane, arms, places[:, :2])
        k = int(np.argmax(there + 0.02 * np.minimum(places[:, 2], 5)))
        if there[k] > _CARDS_LIE * score.max():
            return places[k, :2], True
    return best, False


def _reached(plane: Plane, arms: ArmsSeen, points: Array) -> Array:
    """(n,) how much hands come to each point in mm: from how many sides, and how often arms meet over it."""
    total = np.zeros(len(points))
    singles = [each for each in arms.crossings if each.tip is not None]
    if singles:
        entries = apply(plane.mm_from_px, [each.entry for each in singles])
        tips = apply(plane.mm_from_px, [each.tip for each in singles if each.tip is not None])
        along = tips - entries
        inward = along / np.maximum(np.hypot(*along.T), 1e-6)[:, None]
        palms = tips - _PALM_MM * inward
        # From the middle of all entries: a first way to tell sides apart.
        ways = np.degrees(np.arctan2(*(entries - np.median(np.concatenate([entries, palms]), axis=0)).T[::-1]))
        for side in _clusters(ways, np.ones(len(ways))):
            own = np.abs(_turn(ways - side)) < _ONE_SEAT_DEG
            away = np.hypot(*(points[:, None] - palms[None, own]).transpose(2, 0, 1))
            stays = np.exp(-0.5 * (away / _AT_PLACE_MM) ** 2).sum(axis=1)
            total += stays / (stays + _STAYS)
    if arms.met.max() > 0:
        met = cv2.GaussianBlur(arms.met / arms.met.max(), (0, 0), 3.0)
        px = (apply(plane.px_from_mm, points) + 0.5) * arms.scale - 0.5
        x, y = px.T.astype(np.float32)
        looked = cv2.remap(met, x[None], y[None], cv2.INTER_LINEAR)
        total += 1.5 * np.asarray(looked, np.float64).ravel()
    return total


# --- seats -----------------------------------------------------------------------------------------


def _turn(degrees: Array) -> Array:
    return (degrees + 180.0) % 360.0 - 180.0


def _clusters(ways: Array, weights: Array, least: float = 1.0) -> list[float]:
    """Directions in degrees around which others gather, at least a seat apart and of some weight, by density."""
    steps = np.arange(0.0, 360.0, 1.0)
    off = _turn(steps[:, None] - ways[None])
    density = (np.exp(-0.5 * (off / _SPREAD_DEG) ** 2) * weights).sum(axis=1)
    peaks = (density >= np.roll(density, 1)) & (density > np.roll(density, -1))
    chosen: list[float] = []
    for k in sorted(np.flatnonzero(peaks), key=lambda k: -density[k]):
        way = float(steps[k])
        if any(abs(float(_turn(np.array(way - other)))) < _ONE_SEAT_DEG for other in chosen):
            continue
        own = weights[np.abs(_turn(ways - way)) < _ONE_SEAT_DEG / 2].sum()
        if own >= least and density[k] >= _LEAST_BESIDE * density.max():
            chosen.append(way)
    return chosen


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """From where a seat's arms come: the direction as seen from the pile, and a point on the picture's border."""

    way_deg: float
    entry_px: Array
    side: str
    entry_mm: Array


def _seats(plane: Plane, arms: ArmsSeen, middle: Array, look: FirstLook) -> list[_Way]:
    """The seats, clockwise as seen from the near side on."""
    size_px = look.size_px
    step_ns = float(np.median(np.diff(look.at_ns))) if len(look.at_ns) > 1 else 0.0
    least = max(2.0, _LEAST_SEEN_NS / max(step_ns, 1.0)) if step_ns else 1.0
    sure = [each for each in arms.crossings if not each.dark]
    narrow = [each for each in sure if _wide_mm(plane, each) < _ONE_ARM_MM]
    chosen: list[Crossing] = narrow or sure
    entries_px = np.array([each.entry for each in chosen])
    entries = apply(plane.mm_from_px, entries_px)
    ways = np.degrees(np.arctan2(*(entries - middle).T[::-1]))
    # An arm on its way may swing in from elsewhere; from where it comes is told best while it is at the pile.
    at_pile = _at_pile(plane, arms, middle, _AT_PILE_MM)
    reaching = np.array([bool((each.cover & at_pile).any()) for each in chosen])
    weights = np.where(reaching, 1.0, _ON_ITS_WAY)
    seats = []
    for way in _clusters(ways, weights, least):
        own = np.abs(_turn(ways - way)) < _ONE_SEAT_DEG / 2
        entry_px = np.median(entries_px[own], axis=0)
        entry = np.median(entries[own], axis=0)
        seats.append(_Way(way, entry_px, _side(entry_px, size_px), entry))
    seats += _left_over(plane, arms, middle, seats, least, size_px)
    # 90° is straight down in the picture: the near side; clockwise as seen is growing with y downwards.
    nearest = min(seats, key=lambda seat: abs(float(_turn(np.array(seat.way_deg - 90.0)))), default=None)
    if nearest is None:
        return []
    return sorted(seats, key=lambda seat: (seat.way_deg - nearest.way_deg) % 360.0)


def _left_over(
    plane: Plane, arms: ArmsSeen, middle: Array, found: Sequence[_Way], least: float, size_px: tuple[int, int]
) -> list[_Way]:
    """Seats of arms that were at the pile, but far from where any seat was found.

    Crossings too wide for one arm, and dark arms: what is only darker than the table may be a shadow, but a shadow
    lies beside the arm that throws it, and is as narrow as an arm only by chance.
    """
    near, nearer = _at_pile(plane, arms, middle, _DARK_AT_PILE_MM), _at_pile(plane, arms, middle, _AT_PILE_MM)
    sure_ways: dict[int, list[float]] = {}
    for each in arms.crossings:
        if not each.dark:
            sure_ways.setdefault(each.picture, []).append(_way_of(plane, each, middle))
    kept: list[Crossing] = []
    for each in arms.crossings:
        way = _way_of(plane, each, middle)
        if each.dark:
            beside = sure_ways.get(each.picture, [])
            fits = _DARK_WIDE_MM[0] < _wide_mm(plane, each) < _DARK_WIDE_MM[1] and bool((each.cover & near).any())
        else:
            beside, fits = [], bool((each.cover & nearer).any())
        others = np.array([*beside, *(seat.way_deg for seat in found)])
        if fits and (np.abs(_turn(others - way)) >= _ONE_SEAT_DEG).all():
            kept.append(each)
    if not kept:
        return []
    entries_px = np.array([each.entry for each in kept])
    entries = apply(plane.mm_from_px, entries_px)
    ways = np.degrees(np.arctan2(*(entries - middle).T[::-1]))
    seats = []
    for way in _clusters(ways, np.ones(len(ways)), least):
        own = np.abs(_turn(ways - way)) < _ONE_SEAT_DEG / 2
        entry_px = np.median(entries_px[own], axis=0)
        seats.append(_Way(way, entry_px, _side(entry_px, size_px), np.median(entries[own], axis=0)))
    return seats


def _way_of(plane: Plane, crossing: Crossing, middle: Array) -> float:
    x, y = apply(plane.mm_from_px, [crossing.entry])[0] - middle
    return math.degrees(math.atan2(y, x))


def _wide_mm(plane: Plane, crossing: Crossing) -> float:
    return crossing.wide_px / plane.px_per_mm((float(crossing.entry[0]), float(crossing.entry[1])))


def _at_pile(plane: Plane, arms: ArmsSeen, middle: Array, within_mm: float) -> NDArray[np.bool_]:
    """(h, w) the cells of the arms' covers that are at the pile."""
    height, width = arms.crossings[0].cover.shape
    ys, xs = np.mgrid[:height, :width]
    cells = np.column_stack([xs.ravel(), ys.ravel()]).astype(np.float64) * CELL
    lie = apply(plane.mm_from_px, (cells + 0.5) / arms.scale - 0.5)
    return np.asarray((np.hypot(*(lie - middle).T) < within_mm).reshape(height, width))


def _side(entry_px: Array, size_px: tuple[int, int]) -> str:
    x, y = entry_px
    away = {"near": size_px[1] - y, "left": x, "far": y, "right": size_px[0] - x}
    return min(away, key=lambda side: away[side])


def _names(seats: Sequence[_Way]) -> tuple[str, ...]:
    """``near``, ``left``, ``far``, ``right``; two on one side are told apart by where along it they are."""
    names = []
    for seat in seats:
        beside = [other for other in seats if other.side == seat.side]
        if len(beside) == 1:
            names.append(seat.side)
            continue
        axis, ends = (0, ("left", "right")) if seat.side in ("near", "far") else (1, ("far", "near"))
        beside.sort(key=lambda other: float(other.entry_px[axis]))
        place = beside.index(seat)
        words = {2: ends, 3: (ends[0], "middle", ends[1])}.get(len(beside), tuple(map(str, range(1, len(beside) + 1))))
        names.append(f"{seat.side} {words[place]}")
    return tuple(names)


# --- the table -------------------------------------------------------------------------------------


def _laid_out(
    look: FirstLook, plane: Plane, middle: Array, lie: bool, places: Array, seats: Sequence[_Way], card_mm: Point
) -> FoundTable:
    px_from_plane = plane.px_from_mm
    middle_px = apply(px_from_plane, [middle])[0]
    corners_px, size_mm, seen = _corners(look, plane, middle, middle_px)
    bare = Table(corners_px, size_mm, look.size_px)
    pile_mm = bare.to_mm([middle_px])[0]
    spots = []
    for number, seat in enumerate(seats):
        entry = bare.to_mm([seat.entry_px])[0]
        spots.append(SeatSpot(number, _on_edge(pile_mm, entry, size_mm) if seen else _point(entry)))
    pile = PileSpot(Pile("pile"), _point(pile_mm), _PILE_RADIUS_MM)
    others = bare.to_mm(apply(px_from_plane, places[:, :2])) if len(places) else np.zeros((0, 2))
    table = Table(corners_px, size_mm, look.size_px, tuple(spots), (pile,), card_mm)
    return FoundTable(table, _names(seats), plane.doubt, plane.source, seen, lie, others, plane.tilt_deg)


def _point(values: Array) -> Point:
    return round(float(values[0]), 1), round(float(values[1]), 1)


def _corners(look: FirstLook, plane: Plane, middle: Array, middle_px: Array) -> tuple[tuple[Point, ...], Point, bool]:
    """The table's corners in pixels, its size in mm, and whether its own edges were seen."""
    edges = edges_of_table(look.empty(), _point((middle_px + 0.5) * look.scale - 0.5))
    if edges is not None:
        edges = (edges + 0.5) / look.scale - 0.5
        sides = apply(plane.mm_from_px, edges)
        lengths = np.hypot(*(np.roll(sides, -1, axis=0) - sides).T)
        width, height = float(lengths[0] + lengths[2]) / 2, float(lengths[1] + lengths[3]) / 2
        even = max(abs(lengths[0] - lengths[2]) / width, abs(lengths[1] - lengths[3]) / height)
        diagonals = math.dist(sides[0], sides[2]), math.dist(sides[1], sides[3])
        if even < 2 * _ASKEW and abs(diagonals[0] - diagonals[1]) < _ASKEW * sum(diagonals):
            return tuple(_point(corner) for corner in edges), (round(width, 1), round(height, 1)), True
    width_px, height_px = look.size_px
    border = _border_points(width_px, height_px)
    shown = apply(plane.mm_from_px, border)
    # Towards the horizon a picture shows more than any table: what is far away, or beyond it, is left out.
    inside = np.hypot(*(shown - middle).T) < _FARTHEST_MM
    low, high = shown[inside].min(axis=0), shown[inside].max(axis=0)
    corners = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]
    px = apply(plane.px_from_mm, corners)
    return tuple(_point(corner) for corner in px), _point(high - low), False


def _border_points(width: int, height: int) -> Matrix:
    across, down = np.linspace(0, width - 1, 41), np.linspace(0, height - 1, 41)
    return np.concatenate(
        [np.column_stack([across, np.full(41, y)]) for y in (0, height - 1)]
        + [np.column_stack([np.full(41, x), down]) for x in (0, width - 1)]
    )


def _on_edge(pile_mm: Array, entry_mm: Array, size_mm: Point) -> Point:
    """Where the way from the pile to where an arm comes in leaves the table."""
    way = entry_mm - pile_mm
    reach = 1.0
    for axis in (0, 1):
        if way[axis] > 0:
            reach = min(reach, (size_mm[axis] - pile_mm[axis]) / way[axis])
        elif way[axis] < 0:
            reach = min(reach, -pile_mm[axis] / way[axis])
    return _point(pile_mm + max(reach, 0.05) * way)
