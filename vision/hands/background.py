"""The empty table, learned while it is quiet, and what of a picture is not it: arms and hands, but not shadows."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.hands.pixels import Grey, Image, Mask

#: A shadow dims all colours alike, down to about this share; darker than that is an object (black sleeves).
_DARKEST_SHADOW = 0.38
#: How far brightness may rise or colour shares shift before it is no shadow, in noise units and at least in shares.
#: A hand on wood of its own colour differs by little more than 4 %.
_NOISE_UNITS = 5.0
_LEAST_BRIGHTER = 0.09
_LEAST_CHROMA = 0.022
#: How much texture must have gone or come (grey levels of the filter below), beside what noise makes of it.
_LEAST_TEXTURE = 2.5
#: What one grey level of noise leaves after the 3×3 mean and the filter for texture: mean magnitude.
_TEXTURE_NOISE = 0.9
#: On what is darker than this (three channels' sum) darkness tells nothing.
_TOO_DARK = 36.0


@dataclass(frozen=True, slots=True, eq=False)
class _Empty:
    """What `Background.difference` needs of the empty table, worked out once."""

    light: Grey
    share_blue: Grey
    share_red: Grey
    texture: Grey
    bright_floor: Grey
    lit: Mask


@dataclass(slots=True, eq=False)
class Background:
    """The picture of the empty table at one size; it follows slow changes of light.

    ``blue_green_red``: (h, w, 3) float32; ``noise``: grey levels, one standard deviation of a pixel.
    ``gain``: (3,) how much brighter each colour is now.
    """

    blue_green_red: Grey
    noise: float = 1.5
    gain: NDArray[np.float32] | None = None
    _empty: _Empty | None = None

    @classmethod
    def of(cls, pictures: list[Image]) -> Background:
        """The median of several pictures, and the noise between them."""
        stack = np.stack(pictures[:25])
        middle = np.median(stack, axis=0).astype(np.float32)
        noise = 1.5
        if len(pictures) > 1:
            steps = np.abs(np.diff(stack[:, ::2, ::2].astype(np.int16), axis=0))
            # The median magnitude of a difference of two is 0.954 standard deviations of one.
            noise = float(np.clip(_median(steps) / 0.954, 0.6, 12.0))
        return cls(middle, noise)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        height, width = self.blue_green_red.shape[:2]
        return width, height

    def difference(self, picture: Image, *, fine: bool = False) -> Mask:
        """Where the picture shows something that is not the table: 255 there; shadows are left out.

        Brightness ratio and colour shares tell shadows from things; where neither does (a hand on wood of its
        own colour) the table's texture having gone tells. ``fine`` keeps the gaps between fingers.
        """
        empty = self._worked_out()
        here = cv2.blur(picture, (3, 3)).astype(np.float32)
        if self.gain is not None:
            here *= 1 / self.gain
        blue, _, red = cv2.split(here)
        light = cv2.transform(here, _SUM)
        light += 3
        ratio = cv2.divide(light, empty.light)
        # After the 3×3 mean the noise of a channel is a third; a share's noise goes with 1 / light.
        floor = np.maximum(np.float32(_NOISE_UNITS * self.noise * 0.5) / light, np.float32(_LEAST_CHROMA))
        off_blue = cv2.absdiff(cv2.divide(blue, light), empty.share_blue)
        off_red = cv2.absdiff(cv2.divide(red, light), empty.share_red)
        thing = cv2.compare(cv2.max(off_blue, off_red), floor, cv2.CMP_GT)
        off_light = ratio - np.float32(1)
        brighter = cv2.compare(off_light, empty.bright_floor, cv2.CMP_GT)
        darker = (ratio < np.float32(_DARKEST_SHADOW)).view(np.uint8) * empty.lit * _ALL
        thing = cv2.bitwise_or(thing, cv2.bitwise_or(brighter, darker))
        changed = cv2.compare(np.abs(off_light), empty.bright_floor, cv2.CMP_GT)
        if cv2.countNonZero(changed):
            texture = _texture(light)
            gone = cv2.absdiff(texture, empty.texture * np.minimum(ratio, np.float32(1.2)))
            limit = _LEAST_TEXTURE + _TEXTURE_NOISE * self.noise
            thing = cv2.bitwise_or(thing, (cv2.blur(gone, (5, 5)) > np.float32(limit)).view(np.uint8) * changed)
        mask = cv2.morphologyEx(thing, cv2.MORPH_OPEN, _DISC3)
        return np.asarray(cv2.morphologyEx(mask, cv2.MORPH_CLOSE, _DISC3 if fine else _DISC5), dtype=np.uint8)

    def follow(self, picture: Image, settle: Mask, rate: float) -> None:
        """Take over what the picture shows where ``settle`` is above 0, ``rate`` of it at once."""
        if rate >= 1:
            where = settle > 0
            self.blue_green_red[where] = picture[where]
        else:
            cv2.accumulateWeighted(picture, self.blue_green_red, rate, settle)
        self._empty = None

    def match_light(self, picture: Image, free: Mask) -> None:
        """Learn the gain of each colour (exposure, white balance) from where the table is free."""
        sample = free[::4, ::4] > 0
        if sample.sum() < 50:
            return
        here = picture[::4, ::4][sample].astype(np.float32) + 1
        empty = self.blue_green_red[::4, ::4][sample] + 1
        gain = np.median(here / empty, axis=0).astype(np.float32)
        self.gain = gain if bool((np.abs(gain - 1) > 0.015).any()) else None

    def _worked_out(self) -> _Empty:
        if self._empty is None:
            smooth = cv2.blur(self.blue_green_red, (3, 3))
            blue, _, red = cv2.split(smooth)
            light = cv2.transform(smooth, _SUM)
            light += 3
            self._empty = _Empty(
                light=light,
                share_blue=cv2.divide(blue, light),
                share_red=cv2.divide(red, light),
                texture=_texture(light),
                bright_floor=np.maximum(_NOISE_UNITS * self.noise * 0.57 / light, _LEAST_BRIGHTER),
                lit=(light > np.float32(_TOO_DARK)).view(np.uint8),
            )
        return self._empty


_ALL = np.uint8(255)
_SUM = np.ones((1, 3), np.float32)
_DISC3 = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (3, 3))
_DISC5 = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (5, 5))


def _median(steps: NDArray[np.int16]) -> float:
    """The median of whole numbers, between them: noise of half a level is not told from none otherwise."""
    counts = np.bincount(steps.ravel())
    total = np.cumsum(counts)
    k = int(np.searchsorted(total, total[-1] / 2))
    below = total[k - 1] if k else 0
    return k - 0.5 + float((total[-1] / 2 - below) / counts[k]) if k else 0.5 * float(total[-1] / 2 / counts[0])


def _texture(light: Grey) -> Grey:
    """Strength of the finest texture, in grey levels of one channel."""
    edges = cv2.Laplacian(light, cv2.CV_32F, ksize=1, scale=1 / 3)
    return np.abs(edges)
