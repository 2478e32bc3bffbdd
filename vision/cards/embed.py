"""Turns a card's crop into numbers that lie near each other for one card under any light, far for two cards."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

#: Size of the crops, as of the reader's.
CROP_SIZE_PX = (96, 136)

#: Cells of this side, and directions of edges counted in each.
CELL_PX, DIRECTIONS = 8, 8

#: How much colours weigh against shapes: one card's two colours must differ more than its print under two lamps.
COLOUR_WEIGHT = 1.5

#: What a colour's share is divided by in the dark: below this brightness, of 1, sensors' colours are noise.
DARK = 0.12


def embedded(crops: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(n, d) float32 for (n, 136, 96, 3) uint8 BGR crops; squared distances are 0 to about 2."""
    return np.stack([_embedded(crop) for crop in crops]) if len(crops) else np.zeros((0, 1), np.float32)


def _embedded(crop: NDArray[np.uint8]) -> NDArray[np.float32]:
    seen = np.asarray(crop.astype(np.float32) / 255, np.float32)
    return np.concatenate([_shape(seen), _colour(seen) * np.float32(COLOUR_WEIGHT)])


def _shape(seen: NDArray[np.float32]) -> NDArray[np.float32]:
    """Where edges run in which direction, whatever the light's strength; of length 1."""
    grey = cv2.GaussianBlur(seen.mean(axis=2), (0, 0), 1.0)
    dx = cv2.Sobel(grey, cv2.CV_32F, 1, 0, ksize=3, borderType=cv2.BORDER_REPLICATE)
    dy = cv2.Sobel(grey, cv2.CV_32F, 0, 1, ksize=3, borderType=cv2.BORDER_REPLICATE)
    strength = np.sqrt(dx * dx + dy * dy)
    turn = cv2.phase(dx, dy) * np.float32(DIRECTIONS / (2 * np.pi))
    maps = np.empty((*grey.shape, DIRECTIONS), np.float32)
    for k in range(DIRECTIONS):
        # Each edge counts for the two directions that it lies between; the last one is next to the first.
        off = np.abs(turn - np.float32(k))
        maps[..., k] = strength * np.maximum(1 - np.minimum(off, DIRECTIONS - off), 0)
    cells = _cells(maps)
    # Each place against its surroundings: a shadow over half the card changes nothing, blank paper stays blank.
    around = cv2.GaussianBlur(cells.sum(axis=2), (0, 0), 2.0)[..., None]
    told = np.sqrt(cells / (around + 0.25 * around.mean() + 1e-4)).ravel()
    return np.asarray(told / max(float(np.linalg.norm(told)), 1e-6), np.float32)


def _colour(seen: NDArray[np.float32]) -> NDArray[np.float32]:
    """Red against green and blue against yellow in each cell, after the lamp's colour is taken out."""
    smooth = cv2.GaussianBlur(seen, (0, 0), 2.0)
    # The brightest of each colour is taken for white, as far as it is bright: paper, numbers or rims.
    white = np.percentile(smooth.reshape(-1, 3), 95, axis=0)
    balanced = smooth / np.maximum(white, 0.6 * white.max())
    blue, green, red = (balanced[..., i] for i in range(3))
    bright = balanced.mean(axis=2) + DARK
    maps = np.stack([(red - green) / bright, (blue - (red + green) / 2) / bright], axis=2).clip(-1.5, 1.5)
    cells = _cells(maps.astype(np.float32))
    return np.asarray(cells.ravel() / np.sqrt(cells.shape[0] * cells.shape[1]), np.float32)


def _cells(maps: NDArray[np.float32]) -> NDArray[np.float32]:
    """Maps (h, w, k) averaged into overlapping cells (h / 8, w / 8, k)."""
    quarter = CELL_PX // 4
    small = cv2.resize(
        maps, (maps.shape[1] // quarter, maps.shape[0] // quarter), interpolation=cv2.INTER_AREA
    ).reshape(maps.shape[0] // quarter, maps.shape[1] // quarter, -1)
    smooth = cv2.sepFilter2D(small, -1, _BELL, _BELL)
    return np.asarray(smooth[2::4, 2::4], np.float32)


#: A cell's reach, at a quarter of its side a step: most of it, and a little of its neighbours.
_BELL = cv2.getGaussianKernel(11, 0.6 * CELL_PX / (CELL_PX // 4), cv2.CV_32F)


def varied(crop: NDArray[np.uint8], rng: np.random.Generator, hard: float = 1.0) -> NDArray[np.uint8]:
    """The crop as another photo might show it: a little shifted, turned, in other light, less sharp.

    hard: how much; 1 is what a phone held by hand over a table does.
    """
    width, height = crop.shape[1], crop.shape[0]
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    spread = hard * np.array([0.02 * width, 0.02 * height])
    moved = corners + rng.normal(0, spread, 2) + rng.normal(0, spread * 0.7, (4, 2))
    middle = moved.mean(axis=0)
    moved = middle + (moved - middle) * (1 + rng.normal(0, 0.02 * hard))
    homography = cv2.getPerspectiveTransform(corners, moved.astype(np.float32))
    seen = cv2.warpPerspective(crop, homography, (width, height), borderMode=cv2.BORDER_REPLICATE)
    light = seen.astype(np.float32) / 255
    light = light ** np.float32(np.exp(rng.normal(0, 0.2 * hard)))
    light = light * np.exp(rng.normal(0, 0.10 * hard, 3)).astype(np.float32) * np.float32(rng.uniform(0.6, 1.15))
    slope = rng.normal(0, 0.15 * hard, 2)
    down, right = np.mgrid[-0.5 : 0.5 : height * 1j, -0.5 : 0.5 : width * 1j]
    light = light * (1 + slope[0] * down + slope[1] * right)[..., None].astype(np.float32)
    light = cv2.GaussianBlur(light, (0, 0), float(0.3 + abs(rng.normal(0, 0.8 * hard))))
    light = light + rng.normal(0, 0.015 * hard, light.shape).astype(np.float32)
    return np.asarray((light * 255).clip(0, 255), np.uint8)
