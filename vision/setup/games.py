"""A game's piles and seats on a table that was found in a clip."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from referee.bad_input import BadInput
from referee.game import Layout
from vision.setup.find import FoundTable
from vision.table import DEFAULT_RADIUS_MM, PileSpot, SeatSpot

Array = NDArray[np.float64]

#: A pile is where cards were seen to lie, if that is so near to where the game has it; hands meet likewise.
_NEAR_MM = 130.0
#: Cards nearer than this to the spot's middle lie on it.
_MARK_MM = 55.0
#: The kind of pile that holds no cards: where hands meet is where it is.
_SPOT_KIND = "spot"


def for_game(found: FoundTable, layout: Layout, *, name: str = "clip") -> FoundTable:
    """The same table with the game's seats, from the near side on clockwise, and its piles.

    Piles are laid out before their players and about the middle as the game has them, then moved to where cards
    were seen. `BadInput` where arms come from fewer or more sides than there are players.
    """
    table = found.table
    if len(table.seats) != len(layout.seats):
        expected = f"arms from {len(layout.seats)} sides, one a player (or --table T.toml)"
        got = f"{len(table.seats)}: {', '.join(found.seat_names)}"
        raise BadInput.of(f"{name}: seats", expected, got)
    size = np.array(table.size_mm)
    meet = np.array(table.piles[0].at_mm)
    middle = size / 2 if found.edges_seen else meet
    seats = {spot.seat: np.array(spot.at_mm) for spot in table.seats}
    ways = {place.seat: (np.array([place.x, place.y]) - 0.5) * size for place in layout.seats}
    spots = []
    for place in layout.piles:
        at = (np.array([place.x, place.y]) - 0.5) * size
        turn = 0.0
        if place.pile.seat is not None:
            at, turn = _before(at, ways[place.pile.seat], seats[place.pile.seat] - middle)
        spots.append(PileSpot(place.pile, _point(middle + at), DEFAULT_RADIUS_MM, math.degrees(place.angle + turn)))
    spots = [
        replace(spot, at_mm=_point(meet))
        if spot.pile.kind == _SPOT_KIND and math.dist(spot.at_mm, _point(meet)) < _NEAR_MM
        else spot
        for spot in spots
    ]
    # What lies on the spot marks it: it is no pile.
    marks = [spot.at_mm for spot in spots if spot.pile.kind == _SPOT_KIND]
    cards = [at for at in found.cards_mm if all(math.dist(at, mark) > _MARK_MM for mark in marks)]
    laid = _moved_to_cards(spots, cards)
    table = replace(table, seats=tuple(SeatSpot(seat, _point(at)) for seat, at in seats.items()), piles=tuple(laid))
    return replace(found, table=table)


def _before(at: Array, way: Array, real: Array) -> tuple[Array, float]:
    """A place before a seat that sits elsewhere than the game has it: turned with it, and as near to the middle."""
    turn = math.atan2(real[1], real[0]) - math.atan2(way[1], way[0])
    cos, sin = math.cos(turn), math.sin(turn)
    outward = way / max(float(np.hypot(*way)), 1e-6)
    along = float(at @ outward)
    farther = (float(np.hypot(*real)) / max(float(np.hypot(*way)), 1e-6) - 1) * along
    moved = at + farther * outward
    return np.array([cos * moved[0] - sin * moved[1], sin * moved[0] + cos * moved[1]]), turn


def _moved_to_cards(spots: list[PileSpot], cards_mm: list[Array]) -> list[PileSpot]:
    """Piles moved to where cards lie, the nearest pairs first; no two piles to one place."""
    pairs = sorted(
        (math.dist(spot.at_mm, at), i, k)
        for i, spot in enumerate(spots)
        if spot.pile.kind != _SPOT_KIND
        for k, at in enumerate(cards_mm)
    )
    laid, taken, moved = list(spots), set[int](), set[int]()
    for apart, i, k in pairs:
        if apart < _NEAR_MM and i not in moved and k not in taken:
            laid[i] = replace(laid[i], at_mm=_point(cards_mm[k]))
            moved.add(i)
            taken.add(k)
    return laid


def _point(at: Array) -> tuple[float, float]:
    return round(float(at[0]), 1), round(float(at[1]), 1)
