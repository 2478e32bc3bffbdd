"""A rendered table's camera: what it says about pixels must be geometry, not habit."""

from __future__ import annotations

import numpy as np
import pytest

from vision.films.camera import Camera

TABLE = (900.0, 600.0)


@pytest.mark.parametrize("tilt", [0.0, 20.0, 45.0])
def test_the_whole_table_is_in_the_picture(tilt: float) -> None:
    camera = Camera.over(TABLE, (1280, 720), tilt_deg=tilt)
    corners = camera.project([(0, 0), (900, 0), (900, 600), (0, 600)])
    assert corners.min() >= 0
    assert (corners.max(axis=0) <= [1279, 719]).all()
    assert corners[0, 0] < corners[1, 0]
    assert corners[0, 1] < corners[3, 1]


@pytest.mark.parametrize("tilt", [0.0, 33.0])
@pytest.mark.parametrize("height", [0.0, 120.0])
def test_the_homography_of_a_height_agrees_with_projection(tilt: float, height: float) -> None:
    camera = Camera.over(TABLE, (1280, 720), tilt_deg=tilt, turn_deg=4)
    points = np.array([(10.0, 20.0), (870.0, 33.0), (440.0, 580.0)])
    by_matrix = np.column_stack([points, np.ones(3)]) @ camera.homography_at(height).T
    assert np.allclose(by_matrix[:, :2] / by_matrix[:, 2:], camera.project(points, height), atol=1e-6)


def test_a_lifted_card_seen_from_above_grows_away_from_the_middle() -> None:
    camera = Camera.over(TABLE, (1280, 720))
    low, high = camera.project([(900, 600)], 0), camera.project([(900, 600)], 100)
    assert (high > low).all()
    ratio = camera.px_per_mm((450, 300), 100) / camera.px_per_mm((450, 300))
    assert ratio == pytest.approx(1400 / 1300, rel=1e-6)


def test_a_tilted_camera_sees_the_far_edge_smaller() -> None:
    camera = Camera.over(TABLE, (1280, 720), tilt_deg=40)
    assert camera.px_per_mm((450, 0)) < 0.8 * camera.px_per_mm((450, 600))


def test_the_lens_map_undoes_the_distortion() -> None:
    camera = Camera.over(TABLE, (320, 180), k1=-0.12, k2=0.02)
    ideal = camera.lens_map()[[10, 90, 170], [12, 160, 300]]
    assert np.allclose(camera.distort(ideal), [(12, 10), (160, 90), (300, 170)], atol=0.01)


def test_a_camera_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="expected a tilt of 0 to 60 degrees, got 80"):
        Camera.over(TABLE, (320, 180), tilt_deg=80)
