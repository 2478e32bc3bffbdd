"""Labelled stills for training a detector, cut out of films at random moments, in ultralytics' layout."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.films.conditions import CONDITIONS, ONLY_HEARD
from vision.films.film import FilmOrder, Shoot
from vision.films.installed_decks import installed

Picture = NDArray[np.uint8]
Quad = NDArray[np.float64]

CLASSES = ("card_face", "card_back", "hand")
LEAST_SEEN = 0.35
"""A card of which less is seen is not labelled: the detector is not to guess under hands."""
FRAMES_A_FILM = 12
"""Stills of one film: enough to pay for its setting up, few enough that tables and arms change."""
VALID_SHARE = 8
"""Every so-manyth film goes into `valid`."""
SIZES_PX = ((1280, 720), (960, 540), (1920, 1080), (1280, 960), (854, 480))


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """One still with everything on it that is known.

    `cards`: (name, face up, (4, 2) px quad, share seen); `hands`: (4, 2) px boxes around fingers and palm;
    `arms`: (h, w) uint8, 0 where no arm is, else 1 + the seat.
    """

    image: Picture
    cards: tuple[tuple[str, bool, Quad, float], ...]
    hands: tuple[Quad, ...]
    arms: Picture


def label(shot: Shoot, at_s: float) -> Labelled:
    """The still at a moment, and what is on it."""
    renderer = shot.renderer
    size = shot.camera.size_px
    flat = shot.sensor.expose(renderer.frame(at_s), at_s)
    image = np.asarray(cv2.cvtColor(flat, cv2.COLOR_YUV2BGR_I420), np.uint8)
    arms = renderer.arm_masks(at_s)
    covered = np.zeros((size[1], size[0]), np.uint8)
    seats = np.zeros((size[1], size[0]), np.uint8)
    hands = []
    for seat, whole, hand in arms:
        covered |= whole
        seats[whole > 127] = 1 + seat
        box = _box_of(hand)
        if box is not None:
            hands.append(renderer.lens.distort(box))
    cards = []
    seen_cards = renderer.cards_seen(at_s)
    over_piles = covered.copy()
    for _, _, quad, carried in seen_cards:
        if carried:
            cv2.fillConvexPoly(over_piles, quad.round().astype(np.int32), 255)
    for name, face_up, quad, carried in seen_cards:
        seen = _share_seen(quad, covered if carried else over_piles)
        if seen >= LEAST_SEEN:
            cards.append((name, face_up, renderer.lens.distort(quad), seen))
    return Labelled(image, tuple(cards), tuple(hands), seats)


def _box_of(mask: Picture) -> Quad | None:
    """(4, 2) px: the smallest turned rectangle around a hand of which enough is in the picture."""
    points = cv2.findNonZero((mask > 127).astype(np.uint8))
    if points is None or len(points) < 150:
        return None
    return np.asarray(cv2.boxPoints(cv2.minAreaRect(points)), np.float64)


def _share_seen(quad: Quad, covered: Picture) -> float:
    """How much of a quad is in the picture and under no arm."""
    whole = cv2.contourArea(quad.astype(np.float32))
    mask = np.zeros(covered.shape, np.uint8)
    cv2.fillConvexPoly(mask, quad.round().astype(np.int32), 1)
    return float((mask & (covered < 128)).sum()) / max(whole, 1.0)


def write_frames(
    game: str, count: int, folder: Path, seed: int = 1, *, progress: Callable[[int, int], None] | None = None
) -> int:
    """Write `count` stills with oriented-box labels, card names and arm masks; returns how many were written."""
    for split in ("train", "valid"):
        for kind in ("images", "labels", "masks"):
            (folder / kind / split).mkdir(parents=True, exist_ok=True)
    rows: list[list[object]] = []
    done = 0
    film = 0
    while done < count:
        rng = np.random.default_rng([seed, film, 0xF4A3])
        shot = _some_film(game, int(rng.integers(1 << 31)), rng)
        split = "valid" if film % VALID_SHARE == VALID_SHARE - 1 else "train"
        wanted = min(FRAMES_A_FILM, count - done)
        times = np.sort(rng.uniform(0.5, shot.script.duration_s - 0.5, wanted))
        for at_s in times:
            name = f"{game}-{seed}-{film:05d}-{round(at_s * 1000):06d}"
            rows += _write(folder, split, name, label(shot, float(at_s)))
            done += 1
            if progress is not None:
                progress(done - 1, count)
        film += 1
    with (folder / "cards.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["image", "card", "face", "seen", *(f"{axis}{i}" for i in range(4) for axis in "xy")])
        table.writerows(rows)
    names = "\n".join(f"  {i}: {name}" for i, name in enumerate(CLASSES))
    text = f"path: {folder.resolve()}\ntrain: images/train\nval: images/valid\nnames:\n{names}\n"
    (folder / "data.yaml").write_text(text, encoding="utf-8")
    return done


def _some_film(game: str, seed: int, rng: np.random.Generator) -> Shoot:
    """A film of the game under one or two conditions, at one of several sizes."""
    usable = [name for name in CONDITIONS if name not in ("vfr", "low-res", *ONLY_HEARD)]
    names = [str(name) for name in rng.choice(usable, size=1 + int(rng.random() < 0.4), replace=False)]
    size = SIZES_PX[int(rng.integers(len(SIZES_PX)))]
    designs = [None, *(installed() if game != "hit-the-deck" else ())]
    order = FilmOrder(
        game,
        seed,
        seconds=float(rng.uniform(20, 70)),
        size_px=size,
        condition="+".join(names),
        deck=designs[int(rng.integers(len(designs)))],
        sound=False,
    )
    return Shoot(order)


def _write(folder: Path, split: str, name: str, still: Labelled) -> list[list[object]]:
    height, width = still.image.shape[:2]
    cv2.imwrite(str(folder / "images" / split / f"{name}.jpg"), still.image, [cv2.IMWRITE_JPEG_QUALITY, 92])
    cv2.imwrite(str(folder / "masks" / split / f"{name}.png"), still.arms)
    lines = []
    for quads, kind in (
        ([quad for _, face_up, quad, _ in still.cards if face_up], 0),
        ([quad for _, face_up, quad, _ in still.cards if not face_up], 1),
        (list(still.hands), 2),
    ):
        for quad in quads:
            at = np.clip(quad / (width, height), 0, 1)
            lines.append(f"{kind} " + " ".join(f"{value:.6f}" for value in at.ravel()))
    (folder / "labels" / split / f"{name}.txt").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return [
        [f"{split}/{name}", card, "up" if up else "down", round(seen, 3), *(round(float(v), 2) for v in quad.ravel())]
        for card, up, quad, seen in still.cards
    ]
