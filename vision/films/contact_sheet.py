"""The contact sheet of the conditions: ``python -m vision.films.contact_sheet OUT.jpg`` makes it again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from vision.films.conditions import CONDITIONS, ONLY_HEARD
from vision.films.encode import CLOCK, write_film
from vision.films.film import FilmOrder, Shoot

Picture = NDArray[np.uint8]

TILE_PX = (400, 225)
COLUMNS = 4
FIRST_SEED = 7
SECONDS = 24.0
TAKEN_PX = (1280, 720)
ENLARGED = {"worn": 4, "hevc": 4, "mjpeg": 4}
"""Conditions that show only close by: so many times as large, around the first card that lies face up."""
UNSEEN = ("vfr", *ONLY_HEARD)
"""What no single picture shows."""


def still(name: str, seed: int) -> Picture:
    """(225, 400, 3) uint8 BGR: a telling moment of a film under that condition, as a player of films shows it."""
    shot = Shoot(FilmOrder("snap", seed, seconds=SECONDS, size_px=TAKEN_PX, condition=name, players=2, sound=False))
    contacts = shot.script.contacts
    at_s = contacts[0].at_s + 0.04 if contacts else shot.script.duration_s / 2
    if shot.sensor.balances:
        steps = [(abs(shot.sensor.warmth(t)), t) for t in np.arange(2.0, shot.script.duration_s - 1, 0.5).tolist()]
        at_s = max(steps)[1]
    first_up = next(change for change in shot.script.piles if change.pile.kind == "up" and change.stack)
    if name in ENLARGED:
        at_s = first_up.at_s + 0.6
    ticks = [tick for tick in shot.ticks if 0 <= at_s - tick / CLOCK < 0.35]
    image = _shown(shot, ticks)
    if name in ENLARGED:
        wide, high = TAKEN_PX[0] // ENLARGED[name], TAKEN_PX[1] // ENLARGED[name]
        x, y = shot.renderer.card_quad(first_up.stack[-1], 0.3).mean(axis=0).round().astype(int)
        left, top = max(0, min(x - wide // 2, TAKEN_PX[0] - wide)), max(0, min(y - high // 2, TAKEN_PX[1] - high))
        image = image[top : top + high, left : left + wide]
        return np.asarray(cv2.resize(image, TILE_PX, interpolation=cv2.INTER_CUBIC), np.uint8)
    return np.asarray(cv2.resize(image, TILE_PX, interpolation=cv2.INTER_AREA), np.uint8)


def _shown(shot: Shoot, ticks: Sequence[int]) -> Picture:
    """The last of those frames, encoded and decoded."""
    taken = ((tick, shot.sensor.expose(shot.renderer.frame(tick / CLOCK), tick / CLOCK)) for tick in ticks)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "still.mp4"
        write_film(path, taken, shot.camera.size_px, shot.order.fps, None, shot.encoding)
        with av.open(str(path)) as film:
            *_, last = film.decode(video=0)
            return np.asarray(last.to_ndarray(format="bgr24"), np.uint8)


def sheet(names: Sequence[str]) -> Picture:
    """Stills of those conditions, named, four in a row."""
    tiles = []
    for number, name in enumerate(names):
        tile = still(name, FIRST_SEED + number % 5)
        label = name + (f" ({ENLARGED[name]} times)" if name in ENLARGED else "")
        (wide, _), _ = cv2.getTextSize(label, cv2.FONT_HERSHEY_DUPLEX, 0.5, 1)
        cv2.rectangle(tile, (0, 0), (wide + 8, 20), (0, 0, 0), -1)
        cv2.putText(tile, label, (4, 15), cv2.FONT_HERSHEY_DUPLEX, 0.5, (255, 255, 255), 1, cv2.LINE_AA)
        tiles.append(tile)
    tiles += [np.zeros_like(tiles[0])] * (-len(tiles) % COLUMNS)
    rows = [np.hstack(tiles[start : start + COLUMNS]) for start in range(0, len(tiles), COLUMNS)]
    return np.asarray(np.vstack(rows), np.uint8)


def main(arguments: Sequence[str]) -> int:
    """Write the sheet."""
    made = sheet([name for name in CONDITIONS if name not in UNSEEN])
    return 0 if cv2.imwrite(arguments[0], made, [cv2.IMWRITE_JPEG_QUALITY, 84]) else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
