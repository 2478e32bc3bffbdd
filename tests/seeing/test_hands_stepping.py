"""The first picture in which a drawn arm lies where it rests, and whether it had been held higher before."""

import cv2
import numpy as np
import pytest

from vision.hands.stepping import stepped

SIZE = (320, 240)


def _texture(seed: int, size: tuple[int, int]) -> np.ndarray:
    grain = cv2.GaussianBlur(np.random.default_rng(seed).normal(0, 1, size[::-1]).astype(np.float32), (0, 0), 2.5)
    return 130 + 25 * grain / grain.std()


def _picture(place: tuple[float, float], bigger: float = 0.0, cover_to: int = 0, shade: float = 1.0) -> np.ndarray:
    """An arm from the right edge, its tip at the place; from the left another one that covers it up to a column."""
    noise = np.random.default_rng(int(1000 * place[0] + cover_to)).normal(0, 1.5, SIZE[::-1])
    arm, scale = _texture(1, (220, 90)), 1 + bigger
    warp = np.array([[scale, 0, place[0]], [0, scale, place[1]]])
    inside = cv2.warpAffine(np.ones(arm.shape, np.float32), warp, SIZE) > 0.5
    out = np.where(inside, cv2.warpAffine(arm, warp, SIZE) * shade, _texture(2, SIZE))
    if cover_to:
        out[90:150, :cover_to] = _texture(3, SIZE)[90:150, :cover_to]
    return np.clip(out + noise, 0, 255)[..., None].repeat(3, axis=2).astype(np.uint8)


def _mask(left: int) -> np.ndarray:
    mask = np.zeros(SIZE[::-1], np.uint8)
    mask[80:162, left:314] = 255
    return mask


@pytest.mark.parametrize(
    ("covered", "shaded"),
    [
        pytest.param(False, False, id="alone"),
        pytest.param(True, False, id="another hand comes to lie on it afterwards"),
        pytest.param(False, True, id="a shadow passes over it afterwards"),
    ],
)
def test_the_first_picture_at_rest_is_told_whatever_happens_afterwards(covered: bool, shaded: bool) -> None:
    pictures = []
    for k in range(14):
        cover = min(60 * (k - 8), 180) if covered and k > 8 else 0
        pictures.append(_picture((100 + 9 * max(0, 6 - k), 76), 0.0, cover, 0.6 if shaded and 8 < k < 12 else 1.0))
    found = stepped(pictures, [k * 16_000_000 for k in range(14)], _mask(186 if covered else 106), 1.5)
    assert found is not None
    assert found.share > 0.8
    assert 5.5 < found.at_ns / 16_000_000 < 6.5
    assert found.before_ns < 6 * 16_000_000 <= found.after_ns


def test_an_arm_that_never_moved_came_at_no_time() -> None:
    assert stepped([_picture((100, 76))] * 6, list(range(6)), _mask(106), 1.5) is None
