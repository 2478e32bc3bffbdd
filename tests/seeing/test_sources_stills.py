"""A folder of photographs as a clip."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from referee.bad_input import BadInput
from vision.sources.stills import StillsFolder


def test_pictures_come_in_numeric_order(tmp_path: Path) -> None:
    for n in (10, 2, 1, 33):
        cv2.imwrite(str(tmp_path / f"img{n}.png"), np.full((8, 8, 3), n, np.uint8))
    (tmp_path / "labels.csv").write_text("not a picture")
    clip = list(StillsFolder(tmp_path))
    assert [int(frame.image[0, 0, 0]) for frame in clip] == [1, 2, 10, 33]
    assert [frame.at_ns for frame in clip] == [0, 10**9, 2 * 10**9, 3 * 10**9]
    assert all(frame.sd_ns == 10**9 for frame in clip)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="expected a folder with pictures"):
        StillsFolder(tmp_path)
    with pytest.raises(BadInput, match="expected a folder of pictures, got none"):
        StillsFolder(tmp_path / "none")


def test_a_bad_picture_is_named(tmp_path: Path) -> None:
    (tmp_path / "img1.png").write_bytes(b"")
    with pytest.raises(BadInput, match=r"img1\.png: expected a photo, got an empty file"):
        list(StillsFolder(tmp_path))
