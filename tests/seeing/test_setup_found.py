"""A table found in a clip: where arms come from, where cards lie, how large a card is; refused in one line else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import cv2
import numpy as np
import pytest

from referee.bad_input import BadInput
from referee.cards import Pile
from referee.game import Layout, PilePlace, before_seat, seats_around
from vision.detections import CARD_FACE, Detections
from vision.frame import Frame
from vision.setup.find import find_table
from vision.setup.games import for_game
from vision.setup.outline import look_at_card
from vision.setup.pictures import look_over
from vision.setup.plane import CardLook, edges_of_table, plane_of_cards
from vision.table import Table, apply

SIZE = (640, 360)
PILE = (330.0, 190.0)
CARD_PX = (69.0, 97.0)
GREEN, SKIN, WHITE = (62, 104, 38), (130, 160, 210), (235, 238, 240)


def card(at: tuple[float, float], turn_deg: float = 0.0, size: tuple[float, float] = CARD_PX) -> np.ndarray:
    """(4, 2) corners of a card in pixels, clockwise from a short side."""
    c, s = math.cos(math.radians(turn_deg)), math.sin(math.radians(turn_deg))
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * np.array(size) / 2
    return corners @ np.array([[c, s], [-s, c]]) + np.array(at)


def clip(
    arms: dict[float, tuple[float, float]], *, cards: tuple[np.ndarray, ...] = (), dark: tuple[float, ...] = ()
) -> Iterator[Frame]:
    """A second and a half at 30 a second: arms from these directions (degrees, 90 is near) lie on the pile between.

    ``dark``: arms that are the table's colour, but darker. Every arm throws a shadow to its left.
    """
    rng = np.random.default_rng(3)
    table = np.full((SIZE[1], SIZE[0], 3), GREEN, np.float32)
    table += cv2.GaussianBlur(rng.normal(0, 20, table.shape).astype(np.float32), (0, 0), 2.0)
    for quad in cards:
        cv2.fillConvexPoly(table, np.round(quad).astype(np.int32), WHITE)
    for n in range(45):
        picture = table.copy()
        for way, (comes_s, goes_s) in arms.items():
            t = n / 30
            away = 420 * max(0.0, (comes_s - t) / 0.2, (t - goes_s) / 0.2)
            dx, dy = math.cos(math.radians(way)), math.sin(math.radians(way))
            tip = np.array(PILE) + (away + 10) * np.array([dx, dy])
            far = tip + 700 * np.array([dx, dy])
            aside = np.array([dy, -dx]) * 45
            shade = np.zeros(SIZE[::-1], np.float32)
            cv2.line(shade, _whole(tip + aside), _whole(far + 1.5 * aside), 0.4, 70)
            picture *= 1 - cv2.GaussianBlur(shade, (0, 0), 4)[..., None]
            colour = tuple(round(0.55 * each) for each in GREEN) if way in dark else SKIN
            cv2.line(picture, _whole(tip), _whole(far), colour, 70)
        noisy = np.clip(picture + rng.normal(0, 1.5, picture.shape), 0, 255).astype(np.uint8)
        yield Frame(n * 33_333_333, 0, noisy, n)


def _whole(point: np.ndarray) -> tuple[int, int]:
    return round(float(point[0])), round(float(point[1]))


def finder(*quads: np.ndarray) -> Callable[[np.ndarray], Detections]:
    found = Detections(
        np.array(quads, np.float32).reshape(-1, 4, 2), np.full(len(quads), CARD_FACE), np.full(len(quads), 0.9)
    )
    return lambda picture: found


HEAP = card(PILE, 10)
ASIDE = card((120, 80), 30)


@pytest.mark.parametrize(
    ("arms", "names"),
    [
        pytest.param({90: (0.6, 1.1), 270: (0.7, 1.1)}, ("near", "far"), id="opposite each other"),
        pytest.param({95: (0.6, 1.1), 182: (0.7, 1.1), 355: (0.7, 1.0)}, ("near", "left", "right"), id="three sides"),
        pytest.param({70: (0.6, 1.1), 125: (0.65, 1.1)}, ("near right", "near left"), id="two on one side"),
    ],
)
def test_piles_seats_and_scale_are_found(arms: dict[float, tuple[float, float]], names: tuple[str, ...]) -> None:
    found = find_table(look_over(clip(arms, cards=(HEAP, ASIDE))), finder(HEAP, ASIDE))
    assert found.seat_names == names
    table = found.table
    assert math.dist(table.to_px([table.piles[0].at_mm])[0], PILE) < 12
    assert table.px_per_mm(table.piles[0].at_mm) == pytest.approx(1.1, rel=0.05)
    assert Table.parse(table.to_toml()) == table
    for spot, way in zip(table.seats, arms, strict=True):
        dx, dy = table.to_px([spot.at_mm])[0] - PILE
        assert abs((math.degrees(math.atan2(dy, dx)) - way + 180) % 360 - 180) < 12
    assert found.in_words().startswith("assumed: one pile at 3")
    assert f"{len(names)} seats: {', '.join(names)}; scale from a card of 63×88 mm, 1.1" in found.in_words()


def test_a_dark_arm_on_a_dark_table_has_a_seat_and_a_shadow_has_none() -> None:
    arms = {90: (0.6, 1.1), 182: (0.7, 1.1), 270: (0.65, 1.1)}
    found = find_table(look_over(clip(arms, cards=(HEAP,), dark=(182,))), finder(HEAP))
    assert found.seat_names == ("near", "left", "far")


def test_shadows_alone_are_no_hands() -> None:
    with pytest.raises(BadInput, match="hands that come in over the picture's border"):
        find_table(look_over(clip({90: (0.6, 1.1)}, cards=(HEAP,), dark=(90,))), finder(HEAP))


def test_without_cards_arms_tell_the_scale_with_doubt() -> None:
    found = find_table(look_over(clip({90: (0.6, 1.1), 180: (0.7, 1.1)})), finder())
    assert not found.cards_lie
    assert found.scale_doubt >= 0.2
    assert "± 25 %" in found.in_words()
    assert math.dist(found.table.to_px([found.table.piles[0].at_mm])[0], PILE) < 110


def test_a_clip_without_hands_is_refused_in_one_line() -> None:
    with pytest.raises(BadInput, match=r"^a\.mp4: table: expected hands that come in over the picture's border"):
        find_table(look_over(clip({}, cards=(HEAP,))), finder(HEAP), name="a.mp4")


def test_hands_in_the_first_picture_are_not_taken_for_table() -> None:
    """A clip cut tight begins with hands on the pile: they are told from the table when they have gone."""
    look = look_over(clip({90: (-1.0, 0.5), 180: (-1.0, 0.6)}, cards=(HEAP,)))
    assert float(np.abs(look.empty()[-8:, 128].astype(int) - GREEN).mean()) < 12
    assert find_table(look, finder(HEAP)).seat_names == ("near", "left")


@pytest.mark.parametrize("tilt_deg", [0.0, 20.0, 40.0])
def test_cards_tell_from_where_the_camera_looks(tilt_deg: float) -> None:
    tilt, focal = math.radians(tilt_deg), 900.0
    seen = []
    for x, y, turn in [(-150, -90, 20), (0, 0, 75), (170, 60, -30), (-60, 110, 5)]:
        flat = card((x, y), turn, (63, 88))
        depth = 800 + flat[:, 1] * math.sin(tilt)
        px = np.column_stack([focal * flat[:, 0] / depth, focal * flat[:, 1] * math.cos(tilt) / depth])
        seen.append(CardLook(px + (np.array(SIZE) - 1) / 2, 0.025, True))
    plane = plane_of_cards(seen, SIZE, (63, 88))
    assert plane is not None
    assert plane.tilt_deg == pytest.approx(tilt_deg, abs=6)
    for look in seen:
        sides = np.linalg.norm(np.diff(apply(plane.mm_from_px, look.quad), axis=0), axis=1)
        assert sorted(sides)[0] == pytest.approx(63, rel=0.04)
        assert sorted(sides)[-1] == pytest.approx(88, rel=0.04)


def test_a_heap_of_cards_does_not_pass_for_a_larger_card() -> None:
    rng = np.random.default_rng(5)
    picture = np.full((SIZE[1], SIZE[0], 3), GREEN, np.uint8)
    for _ in range(20):
        quad = card((PILE[0] + rng.normal(0, 4), PILE[1] + rng.normal(0, 4)), rng.normal(0, 8))
        cv2.fillConvexPoly(picture, np.round(quad).astype(np.int32), WHITE)
    look = look_at_card(picture, card(PILE, 0, (86, 110)).astype(np.float32), (63, 88))
    assert look is not None
    assert not look.whole
    assert look.scale((63, 88)) == pytest.approx(CARD_PX[0] / 63, rel=0.08)


def test_the_tables_edges_are_seen_where_they_are_in_the_picture() -> None:
    picture = np.full((180, 320, 3), (30, 28, 26), np.uint8)
    corners = np.array([[60, 20], [270, 24], [285, 160], [40, 156]])
    cv2.fillConvexPoly(picture, corners.astype(np.int32), GREEN)
    seen = edges_of_table(picture, (160, 90))
    assert seen is not None
    assert np.abs(seen - corners).max() < 4
    assert edges_of_table(np.full((180, 320, 3), GREEN, np.uint8), (160, 90)) is None


def test_a_games_piles_lie_before_its_players_and_where_cards_are() -> None:
    found = find_table(look_over(clip({90: (0.6, 1.1), 270: (0.7, 1.1)}, cards=(HEAP, ASIDE))), finder(HEAP, ASIDE))
    seats = seats_around(2)
    layout = Layout(
        seats, (PilePlace(Pile("spot"), 0.5, 0.5), before_seat(seats[0], Pile("up", 0), inward=0.4, right=0.1))
    )
    table = for_game(found, layout).table
    assert math.dist(table.pile(Pile("spot")).at_mm, found.table.piles[0].at_mm) < 1
    below = table.to_px([table.pile(Pile("up", 0)).at_mm])[0]
    assert below[1] > PILE[1]
    assert below[0] > PILE[0]
    with pytest.raises(BadInput, match=r"seats: expected arms from 3 sides, one a player .*, got 2: near, far"):
        for_game(found, Layout(seats_around(3), layout.piles), name="a.mp4")
