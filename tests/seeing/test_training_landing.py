"""What the landing network is trained on: lanes of rendered slaps, and windows of them with the truth."""

from pathlib import Path

import numpy as np
import pytest

from vision.hands.landing import CHANNELS, PICTURES, SIZE_PX
from vision.training import landing
from vision.training.landing import Lanes, target, varied, window


@pytest.fixture(scope="module")
def lanes(tmp_path_factory: pytest.TempPathFactory) -> Lanes:
    """Of two clips, written and read again."""
    folder = tmp_path_factory.mktemp("lanes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(landing, "CLIPS_A_FILE", 2)
        landing.compose_lanes(folder, 2, 77)
    (path,) = folder.iterdir()
    return Lanes.load(path)


def test_each_lane_has_its_pictures_about_its_landing(lanes: Lanes) -> None:
    assert len(lanes.contact) >= 4
    assert lanes.first[-1] == len(lanes.stamps) == len(lanes.greys) == len(lanes.masks)
    for lane, contact in enumerate(lanes.contact):
        stamps = lanes.stamps[lanes.first[lane] : lanes.first[lane + 1]]
        assert (np.diff(stamps) >= 0).all()
        if contact >= 0:
            assert stamps[0] < contact < stamps[-1]
            # The lane changes while the hand comes, not long before.
            greys = lanes.greys[lanes.first[lane] : lanes.first[lane + 1]].astype(np.float32)
            there = np.abs(greys[-1] - greys[0]).mean()
            assert there > 4


def test_windows_carry_the_truth_that_their_pictures_show(lanes: Lanes) -> None:
    rng = np.random.default_rng(1)
    drawn = [window(lanes, int(rng.integers(len(lanes.contact))), rng) for _ in range(60)]
    seen = [each for each in drawn if each is not None]
    within = [each for each in seen if each.landed_ns is not None]
    assert len(seen) > 50
    assert 0.3 < len(within) / len(seen) < 0.9
    for each in within:
        told, landed = target(each)
        assert landed == 1.0
        assert each.stamps[0] < each.landed_ns <= each.stamps[-1]
        n = len(each.stamps)
        assert told[0, -n:] == pytest.approx((each.landed_ns - each.stamps) / 1e6, abs=0.01)
        assert told[2].sum() == n
    for each in seen:
        assert target(each)[1] == float(each.landed_ns is not None)


def test_a_mirrored_window_is_the_same_lane_turned_over(lanes: Lanes) -> None:
    rng = np.random.default_rng(2)
    seen = next(each for each in (window(lanes, 0, rng) for _ in range(20)) if each is not None)
    inputs = [varied(seen, np.random.default_rng(k)) for k in range(8)]
    assert all(each.shape == (CHANNELS, SIZE_PX[1], SIZE_PX[0]) for each in inputs)
    assert all(np.isfinite(each).all() for each in inputs)
    last = np.stack([each[PICTURES - 1] for each in inputs])
    # No two are cut and lit alike, and yet each shows the picture or its mirror image.
    plain = seen.greys[-1][4:-4, 4:-4].astype(np.float32)
    for each in last:
        alike = max(np.corrcoef(each.ravel(), way.ravel())[0, 1] for way in (plain, plain[::-1]))
        assert alike > 0.5
    assert len({round(float(each.mean()), 6) for each in last}) == len(last)


def test_lanes_that_are_not_there_are_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from vision.training.loop import Pace

    with pytest.raises(ValueError, match="lanes-"):
        landing.fit([tmp_path], Pace(tmp_path / "out", 0.1, 1))
