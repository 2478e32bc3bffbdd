"""A table file: what it says is measured rightly, and what can't be is refused by name, all of it at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.bad_input import BadInput
from referee.cards import Pile
from referee.game import Layout, PilePlace, seats_around
from vision.table import PileSpot, SeatSpot, Table

GOOD = """
[table]
corners = [[100, 50], [1180, 60], [1200, 700], [80, 690]]
size_mm = [900, 600]
image_size = [1280, 720]

[[seats]]
seat = 0
at_mm = [450, 600]

[[seats]]
seat = 1
at_mm = [450, 0]

[[piles]]
pile = "up:0"
at_mm = [450, 400]
angle_deg = 12.5
radius_mm = 70

[[piles]]
pile = "pot"
at_mm = [300, 300]
"""


def test_corners_are_where_the_file_says() -> None:
    table = Table.parse(GOOD)
    assert np.allclose(table.to_px([(0, 0), (900, 0), (900, 600), (0, 600)]), table.corners_px)
    assert np.allclose(table.to_mm(table.corners_px), [(0, 0), (900, 0), (900, 600), (0, 600)])


@given(x=st.floats(-100, 1000), y=st.floats(-100, 700))
def test_to_px_and_to_mm_are_inverses(x: float, y: float) -> None:
    table = Table.parse(GOOD)
    assert np.allclose(table.to_mm(table.to_px([(x, y)])), [(x, y)], atol=1e-6)


corner = st.floats(-60, 60)


@given(
    shifts=st.tuples(*[st.tuples(corner, corner)] * 4),
    angle=st.floats(-360, 360),
    radius=st.floats(5, 200),
    place=st.tuples(st.floats(0, 900), st.floats(0, 600)),
)
def test_a_written_table_is_read_back_the_same(
    shifts: tuple[tuple[float, float], ...], angle: float, radius: float, place: tuple[float, float]
) -> None:
    base = ((100, 50), (1180, 60), (1200, 700), (80, 690))
    corners = tuple((x + dx, y + dy) for (x, y), (dx, dy) in zip(base, shifts, strict=True))
    piles = (PileSpot(Pile("up", 0), place, radius, angle),)
    table = Table(corners, (900, 600), (1280, 720), (SeatSpot(0, (450, 600)),), piles)
    assert Table.parse(table.to_toml()) == table


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param(("[1200, 700], ", ""), "table.corners: expected 4 points, got 3", id="three corners"),
        pytest.param(("[1200, 700]", "[1200]"), r"table.corners\[2\]: expected two numbers", id="half a corner"),
        pytest.param(("[1180, 60], [1200, 700]", "[1200, 700], [1180, 60]"), "convex", id="crossed corners"),
        pytest.param(
            ("[100, 50], [1180, 60], [1200, 700], [80, 690]", "[80, 690], [1200, 700], [1180, 60], [100, 50]"),
            "counter-clockwise",
            id="corners the wrong way round",
        ),
        pytest.param(("size_mm = [900, 600]", ""), "table.size_mm: expected two numbers, got nothing", id="no size"),
        pytest.param(("[900, 600]", "[900, -600]"), "table.size_mm: expected 50 to 10000 mm", id="negative size"),
        pytest.param(("[900, 600]", "[900, nan]"), "table.size_mm: expected two numbers", id="size that is no number"),
        pytest.param(("seat = 1", "seat = 0"), "seats: expected each seat once", id="a seat twice"),
        pytest.param(('"pot"', '"up:0"'), "piles: expected each pile once, got up:0 twice", id="a pile twice"),
        pytest.param(('"pot"', '"the pot!"'), r"piles\[1\]: pile: expected a notation", id="no pile's name"),
        pytest.param(("[300, 300]", "[3000, 300]"), "pile pot.at_mm: expected a place on the table", id="far away"),
        pytest.param(("radius_mm = 70", "radius_mm = 0"), "pile up:0.radius_mm: expected 5", id="no radius"),
        pytest.param(("radius_mm = 70", "radius = 70"), r"piles\[0\]: expected pile, .*got radius", id="a typo"),
        pytest.param(("[table]", "[table"), "expected a table in TOML", id="no TOML"),
        pytest.param(("[table]", "[tisch]"), r"expected a \[table\] with corners", id="no table"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(change: tuple[str, str], says: str) -> None:
    assert change[0] in GOOD
    with pytest.raises(BadInput, match=says) as caught:
        Table.parse(GOOD.replace(*change))
    assert "\n" not in str(caught.value).replace("\\n", "")


def test_all_that_is_wrong_is_said_at_once() -> None:
    bad = GOOD.replace("seat = 1", "seat = 5").replace("radius_mm = 70", "radius_mm = 1").replace("900", "9")
    with pytest.raises(BadInput) as caught:
        Table.parse(bad)
    assert all(name in str(caught.value) for name in ("size_mm", "seats", "up:0.radius_mm"))


def test_a_missing_file_is_said_in_one_line(tmp_path) -> None:
    with pytest.raises(BadInput, match="expected a table file in TOML, got No such file"):
        Table.from_toml(tmp_path / "none.toml")


def test_a_games_layout_is_put_on_the_table() -> None:
    layout = Layout(seats_around(3), (PilePlace(Pile("pot"), 0.5, 0.25, math.pi / 2),))
    table = Table.laid_out(layout, [(0, 0), (900, 0), (900, 600), (0, 600)], (900, 600), (900, 600))
    assert table.seat(0).at_mm == (450, 600)
    assert table.pile(Pile("pot")) == PileSpot(Pile("pot"), (450, 150), 60, 90)
    assert table.pile_at((450, 180)) == Pile("pot")
    assert table.pile_at((450, 300)) is None
    with pytest.raises(KeyError, match="got draw"):
        table.pile(Pile("draw"))


def test_a_smaller_picture_of_the_same_shape_scales_the_table() -> None:
    table = Table.parse(GOOD)
    half = table.scaled_to((640, 360))
    assert np.allclose(half.to_px([(450, 300)]) * 2, table.to_px([(450, 300)]))
    with pytest.raises(BadInput, match="expected a picture shaped like 1280x720, got one of 720x1280"):
        table.scaled_to((720, 1280))


def test_a_patch_is_upright_in_its_own_frame() -> None:
    """A patch turned by a right angle has at its top what lies to the right of it on the table."""
    table = Table.parse(GOOD)
    matrix = table.patch_from_px((450, 300), (60, 90), 2.0, 90.0)
    pixel = table.to_px([(450 + 45, 300)])
    lifted = matrix @ [*pixel[0], 1.0]
    assert np.allclose(lifted[:2] / lifted[2], (60, 0), atol=1e-6)


def test_scale_is_pixels_a_millimetre() -> None:
    table = Table(((0, 0), (1800, 0), (1800, 1200), (0, 1200)), (900, 600), (1800, 1200))
    assert table.px_per_mm((450, 300)) == pytest.approx(2.0)
