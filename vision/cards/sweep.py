"""Finds in a video the moments at which cards are shown, one after another, each at rest for a moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cards.enrol import main_quad
from vision.cards.quads import iou
from vision.cards.read import CardReader
from vision.cards.reader import rectified
from vision.frame import Frame, Image

#: Frames closer together than this tell no more: a card at rest is looked at about ten times a second.
STEP_NS = 90_000_000

#: What is at rest for so long is shown: a hand that lays a card pauses for less.
REST_NS = 350_000_000

#: Frames are compared with this longer side; a pixel has changed that differs by so many levels of 255, after the
#: whole picture's change of brightness is taken out; so large a share of changed pixels is movement.
COMPARED_PX, CHANGED_LEVELS, MOVING_SHARE = 240, 18.0, 0.0015

#: A showing at the same place and with the same look as the one before is the same card, seen again after a hand
#: passed: quads that agree by this much, and crops of which no more than this share differs.
SAME_PLACE_IOU, SAME_LOOK_SHARE = 0.9, 0.006

#: The crop in which looks are compared, width and height.
LOOK_PX = (96, 136)


@dataclass(frozen=True, slots=True, eq=False)
class Showing:
    """A card shown: the sharpest of the frames in which it lay at rest, and its quad (4, 2) in pixels."""

    at_ns: int
    image: Image
    quad: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class _Still:
    at_ns: int
    image: Image
    sharp: float


def showings(frames: Iterable[Frame], reader: CardReader) -> Iterator[Showing]:
    """Each card that comes to rest in front of the camera, once, in order of time.

    A rest in which no card is found (the empty table) shows nothing.
    """
    before: Showing | None = None
    for still in rests(frames):
        quad = main_quad(still.image, reader.find(still.image))
        if quad is None:
            continue
        now = Showing(still.at_ns, still.image, quad)
        if before is None or not _same(before, now):
            if before is not None:
                yield before
            before = now
        elif _sharpness(now.image) > _sharpness(before.image):
            before = replace(now, at_ns=before.at_ns)
    if before is not None:
        yield before


def rests(frames: Iterable[Frame]) -> Iterator[_Still]:
    """The sharpest frame of every stretch of time in which nothing moves."""
    last: NDArray[np.float32] | None = None
    looked_ns = since_ns = -STEP_NS
    best: _Still | None = None
    for frame in frames:
        if frame.at_ns - looked_ns < STEP_NS:
            continue
        small = _small(frame.image)
        moving = last is None or small.shape != last.shape or _moved(small, last)
        if moving and best is not None and looked_ns - since_ns >= REST_NS:
            yield best
        if moving:
            since_ns, best = frame.at_ns, None
        last, looked_ns = small, frame.at_ns
        sharp = _sharpness(frame.image)
        if best is None or sharp > best.sharp:
            best = _Still(frame.at_ns, frame.image, sharp)
    if best is not None and looked_ns - since_ns >= REST_NS:
        yield best


def _small(image: Image) -> NDArray[np.float32]:
    scale = min(1.0, COMPARED_PX / max(image.shape[:2]))
    grey = cv2.cvtColor(cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2GRAY)
    return np.asarray(cv2.GaussianBlur(grey, (0, 0), 1.0), np.float32)


def _moved(small: NDArray[np.float32], before: NDArray[np.float32]) -> bool:
    away = small - before
    away -= np.float32(np.median(away))
    return float((np.abs(away) > CHANGED_LEVELS).mean()) > MOVING_SHARE


def _sharpness(image: Image) -> float:
    """How much fine detail a picture has: the variance of its Laplacian, at a common size."""
    scale = min(1.0, 4 * COMPARED_PX / max(image.shape[:2]))
    grey = cv2.cvtColor(cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2GRAY)
    return float(cv2.Laplacian(grey, cv2.CV_32F).var())


def _same(before: Showing, now: Showing) -> bool:
    """Whether the same card still lies there: a card laid exactly on another looks different."""
    if before.image.shape != now.image.shape or iou(before.quad, now.quad) < SAME_PLACE_IOU:
        return False
    first, second = (
        cv2.GaussianBlur(rectified(one.image, before.quad, LOOK_PX), (0, 0), 1.5).astype(np.float32)
        for one in (before, now)
    )
    away = np.abs(second - first - np.median(second - first, axis=(0, 1))).max(axis=2)
    return float((away > 1.5 * CHANGED_LEVELS).mean()) < SAME_LOOK_SHARE
