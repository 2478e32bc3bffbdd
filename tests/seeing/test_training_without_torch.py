"""Trainings import without torch; what they say of themselves is checked on small arrays."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vision.training.calibrate import Reading, best_temperature
from vision.training.cards_art import BACK, NOTHING
from vision.training.classify import Pool, normalised
from vision.training.cli import main
from vision.training.reader import augmented


def test_training_imports_without_torch() -> None:
    code = "import sys, vision.training.cli, vision.training.reader, vision.training.index_reader, vision.training.detector, vision.training.landing; print('torch' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"


@pytest.mark.skipif(
    importlib.util.find_spec("torchvision") is not None, reason="a working torchvision needs no stand-in"
)
def test_a_stand_in_answers_for_a_missing_torchvision() -> None:
    code = (
        "from vision.training.torchvision_stub import install; told = install();"
        "import torchvision, importlib.metadata as m; print(told, m.version('torchvision'), callable(torchvision.ops.nms))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["True", "0.26.0", "True"]


def sure(*rows: tuple[int, float]) -> np.ndarray:
    """Logits, (2, n, 55), that name a class with about a given chance."""
    out = np.zeros((2, len(rows), 55), np.float32)
    for row, (number, chance) in enumerate(rows):
        out[:, row, number] = np.log(chance / ((1 - chance) / 54))
    return out


def test_what_is_called_nothing_is_no_name() -> None:
    truth = np.array([3, 3, 3, 3])
    reading = Reading.of(sure((3, 0.9), (4, 0.9), (NOTHING, 0.9), (3, 0.4)), truth, 1.0)
    assert reading.shares(0.5) == (0.25, 0.25, 0.5)
    assert reading.shares(0.3) == (0.5, 0.25, 0.25)
    assert reading.confusions() == [("5c for 4c", 1), ("nothing for 4c", 1)]


def test_backs_count_as_cards() -> None:
    assert Reading.of(sure((BACK, 0.9)), np.array([BACK]), 1.0).shares(0.5) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize(("right", "sharper"), [(99, True), (60, False)])
def test_a_reader_that_is_righter_than_it_says_is_made_surer(right: int, sharper: bool) -> None:
    """It says 0.8 of a hundred crops; of them 99 are right, or only 60."""
    logits = sure(*[(7, 0.8)] * 100)
    truth = np.array([7] * right + [8] * (100 - right))
    assert (best_temperature(logits, truth) < 1) is sharper


def test_crops_become_what_the_network_takes() -> None:
    crops = np.zeros((2, 136, 96, 3), np.uint8)
    crops[..., 2] = 255  # red, as BGR
    taken = normalised(crops)
    assert taken.shape == (2, 3, 136, 96)
    assert taken.dtype == np.float32
    assert taken[0, :, 0, 0].tolist() == [2.0, -2.0, -2.0]


def test_augmentation_is_seeded_and_never_mirrors() -> None:
    crops = np.zeros((16, 136, 96, 3), np.uint8)
    crops[:, :68, :48] = 255  # white at the top left: turned it is at the bottom right
    one, again = (augmented(crops, np.random.default_rng(4)) for _ in range(2))
    assert np.array_equal(one, again)
    quarters = one.mean(axis=1)
    straight = quarters[:, :68, :48].mean(axis=(1, 2)) + quarters[:, 68:, 48:].mean(axis=(1, 2))
    mirrored = quarters[:, :68, 48:].mean(axis=(1, 2)) + quarters[:, 68:, :48].mean(axis=(1, 2))
    assert (straight > mirrored).all()


def test_pools_say_what_they_lack() -> None:
    with pytest.raises(ValueError, match="expected files of crops"):
        Pool.read([], 1.0)


def test_the_detector_asks_for_weights_to_begin_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detector", "--out", str(tmp_path)]) == 2
    assert "--start: expected" in capsys.readouterr().err
