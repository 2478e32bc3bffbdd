"""Deck artwork: fetched by package name, rasterised once into one folder of equal pictures a deck."""

import gzip
import json
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

RECIPE = Path(__file__).resolve().parents[2] / "datasets" / "cards" / "artwork.toml"

RANKS = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")
SUITS = ("c", "d", "h", "s")
# Pixels of a rasterised card: two and a half times what the reader sees, 63:88 rounded to whole pixels.
WIDTH, HEIGHT = 240, 336
# A cut-out card is between a tarot's and a bridge card's shape; anything else was cropped wrongly.
SLENDEREST, STOUTEST = 0.5, 0.85

Image = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Deck:
    """One design: where its pictures lie, and whether its indices are A 2 … 10 J Q K.

    Pictures are PNG, HEIGHT × WIDTH × 4, BGRA: `faces` names cards like `10h`, and `joker…`.
    """

    name: str
    folder: Path
    indices: bool
    held_out: bool

    def picture(self, card: str) -> Image:
        """The picture of one card, HEIGHT × WIDTH × 4 uint8, BGRA."""
        image = cv2.imread(str(self.folder / f"{card}.png"), cv2.IMREAD_UNCHANGED)
        if image is None or image.ndim != 3 or image.shape[2] != 4:
            raise ValueError(f"{self.folder.name}/{card}.png: expected a picture with transparency")
        return np.asarray(image, np.uint8)

    def names(self, kind: str) -> tuple[str, ...]:
        """The names of its `faces`, `jokers` or `backs`."""
        stems = sorted(path.stem for path in self.folder.glob("*.png"))
        if kind == "jokers":
            return tuple(stem for stem in stems if stem.startswith("joker"))
        if kind == "backs":
            return tuple(stem for stem in stems if stem.startswith("back"))
        return tuple(stem for stem in stems if not stem.startswith(("joker", "back")))


def read_recipe(path: Path = RECIPE) -> dict[str, Any]:
    """The recipe of deck artwork: packages, layouts, licences, held-out designs."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def decks(cache: Path) -> tuple[Deck, ...]:
    """The decks that were rasterised into `cache`, in the order of their names."""
    listing = cache / "decks.json"
    if not listing.is_file():
        raise ValueError(f"{listing}: not there; make it with `python -m vision.training artwork --out {cache}`")
    rows = json.loads(listing.read_text(encoding="utf-8"))
    return tuple(Deck(row["name"], cache / "decks" / row["name"], row["indices"], row["held_out"]) for row in rows)


def collect(out: Path) -> tuple[Deck, ...]:
    """Fetch every package of the recipe and rasterise its decks and textures under `out`."""
    recipe = read_recipe()
    held_out = set(recipe["held_out"]["decks"])
    rows: list[dict[str, Any]] = []
    for package in recipe["package"]:
        root = fetch(package["name"], package["fetch"], out / "packages")
        plain = package["name"].replace("@", "").replace("/", "-")
        groups: dict[str, list[Path]] = {}
        for file in sorted(root.glob(package["pattern"])):
            one_file_a_card = package["layout"] == "files"
            groups.setdefault(file.parent.name if one_file_a_card else file.stem, []).append(file)
        for design, files in groups.items():
            if package.get("only") and design not in package["only"]:
                continue
            name = f"{plain}-{design}"
            pictures = _cut(package, files, out / "sheets")
            if len([card for card in pictures if not card.startswith(("joker", "back"))]) < 52:
                continue
            _save(pictures, out / "decks" / name)
            indices = design not in package.get("no_indices", ())
            rows.append({"name": name, "indices": indices, "held_out": name in held_out})
    from vision.training import drawn

    bases = [Deck(row["name"], out / "decks" / row["name"], row["indices"], False) for row in rows]
    bases = [deck for deck in bases if deck.indices and deck.name not in held_out]
    for number, font in enumerate(recipe["drawn"]["fonts"]):
        name = f"drawn-{number:02d}"
        _save(drawn.draw_deck(font, bases, seed=number), out / "decks" / name)
        rows.append({"name": name, "indices": True, "held_out": name in held_out})
    _collect_textures(recipe, out)
    (out / "decks.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return decks(out)


def fetch(name: str, how: str, out: Path) -> Path:
    """Fetch a package through its own client (`apt-get download`, `npm pack`) and unpack it; returns the folder."""
    folder = out / name.replace("@", "").replace("/", "-")
    if folder.is_dir():
        return folder
    scratch = folder.with_suffix(".part")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    if how == "debian":
        subprocess.run(["apt-get", "download", name], cwd=scratch, check=True, capture_output=True)
        for archive in scratch.glob("*.deb"):
            subprocess.run(["dpkg", "-x", str(archive), str(scratch)], check=True)
            archive.unlink()
    elif how == "npm":
        subprocess.run(["npm", "pack", "--silent", name], cwd=scratch, check=True, capture_output=True)
        for archive in scratch.glob("*.tgz"):
            with tarfile.open(archive) as tar:
                tar.extractall(scratch, filter="data")
            archive.unlink()
    else:
        raise ValueError(f"{name}: expected fetch = debian or npm, got {how!r}")
    scratch.rename(folder)
    return folder


def _render(svg: Path, png: Path, *options: str) -> Image | None:
    done = subprocess.run(["rsvg-convert", *options, str(svg), "-o", str(png)], capture_output=True, check=False)
    if done.returncode != 0:
        return None
    image = cv2.imread(str(png), cv2.IMREAD_UNCHANGED)
    return None if image is None else _with_alpha(np.asarray(image, np.uint8))


def _with_alpha(image: Image) -> Image:
    if image.ndim == 2:
        image = np.asarray(cv2.cvtColor(image, cv2.COLOR_GRAY2BGR), np.uint8)
    if image.shape[2] == 3:
        image = np.dstack([image, np.full(image.shape[:2], 255, np.uint8)])
    return image


def _fit(image: Image) -> Image | None:
    """Cut to what is opaque and bring to WIDTH × HEIGHT; None where the shape is not a card's."""
    opaque = image[:, :, 3] > 100
    rows, columns = np.flatnonzero(opaque.any(axis=1)), np.flatnonzero(opaque.any(axis=0))
    if len(rows) < 20 or len(columns) < 20:
        return None
    cut = image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    if not SLENDEREST <= cut.shape[1] / cut.shape[0] <= STOUTEST:
        return None
    return np.asarray(cv2.resize(cut, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA), np.uint8)


def _cut(package: dict[str, Any], files: list[Path], scratch: Path) -> dict[str, Image]:
    scratch.mkdir(parents=True, exist_ok=True)
    layout = package["layout"]
    found: dict[str, Image | None] = {}
    if layout == "files":
        by_name = {file.name: file for file in files}
        wanted = dict(package.get("others", {}))
        for suit, suit_word in zip(SUITS, package["suits"], strict=True):
            for rank, rank_word in zip(RANKS, package["ranks"], strict=True):
                wanted[package["names"].format(rank=rank_word, suit=suit_word)] = rank + suit
        for file_name, card in wanted.items():
            if file_name in by_name:
                found[card] = _one_file(by_name[file_name], scratch)
        return {card: picture for card, picture in found.items() if picture is not None}
    svg = scratch / (files[0].stem + ".svg")
    svg.write_bytes(gzip.decompress(files[0].read_bytes()))
    png = svg.with_suffix(".png")
    if layout == "ids":
        for suit, suit_word in zip(SUITS, package["suits"], strict=True):
            for rank, rank_word in zip(RANKS, package["ranks"], strict=True):
                name = package["names"].format(rank=rank_word, suit=suit_word)
                image = _render(svg, png, "--export-id", name, "-h", "1400")
                found[rank + suit] = None if image is None else _fit(image)
        image = _render(svg, png, "--export-id", "back", "-h", "1400")
        found["back"] = None if image is None else _fit(image)
        return {card: picture for card, picture in found.items() if picture is not None}
    sheet = _render(svg, png, "-w", str(13 * WIDTH))
    if sheet is None:
        return {}
    tall, wide = sheet.shape[0] / 5, sheet.shape[1] / 13
    for row in range(5):
        for column in range(13):
            cell = sheet[round(row * tall) : round((row + 1) * tall), round(column * wide) : round((column + 1) * wide)]
            if row < 4:
                found[RANKS[column] + SUITS[row]] = _fit(cell)
            elif column < 3:
                found[("joker", "joker2", "back")[column]] = _fit(cell)
    return {card: picture for card, picture in found.items() if picture is not None}


def _one_file(file: Path, scratch: Path) -> Image | None:
    if file.suffix == ".svg":
        image = _render(file, scratch / "one.png", "-h", "672")
    else:
        read = cv2.imread(str(file), cv2.IMREAD_UNCHANGED)
        image = None if read is None else _with_alpha(np.asarray(read, np.uint8))
    return None if image is None else _fit(image)


def _save(pictures: dict[str, Image], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for card, picture in pictures.items():
        cv2.imwrite(str(folder / f"{card}.png"), picture)


def _collect_textures(recipe: dict[str, Any], out: Path) -> None:
    """Textures as JPEG of at most 512 pixels a side, numbered, under `out/textures`."""
    folder = out / "textures"
    if folder.is_dir():
        return
    scratch = folder.with_suffix(".part")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    number = 0
    for package in recipe["textures"]:
        root = fetch(package["name"], package["fetch"], out / "packages")
        blobs = [path.read_bytes() for path in sorted(root.rglob("*.jpg")) + sorted(root.rglob("*.png"))]
        for archive in sorted(root.rglob("*.pk3")):
            with zipfile.ZipFile(archive) as pack:
                blobs += [pack.read(name) for name in sorted(pack.namelist()) if name.endswith((".jpg", ".png"))]
        for blob in blobs:
            image = cv2.imdecode(np.frombuffer(blob, np.uint8), cv2.IMREAD_COLOR)
            if image is None or min(image.shape[:2]) < 128:
                continue
            shrink = min(1.0, 768 / min(image.shape[:2]))
            image = cv2.resize(image, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
            cv2.imwrite(str(scratch / f"{number:05d}.jpg"), image, [cv2.IMWRITE_JPEG_QUALITY, 92])
            number += 1
    scratch.rename(folder)
