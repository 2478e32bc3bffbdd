"""Opens photographs as people's phones write them: EXIF rotation, HEIC, tens of megapixels."""

from __future__ import annotations

import warnings
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from referee.bad_input import BadInput

#: What Pillow opens at most unless its guard against bombs is taken off: 1 GB while converting.
MAX_PIXELS = 178_000_000

#: File names that are looked for in a folder.
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".heic", ".heif", ".bmp", ".tif", ".tiff")

#: EXIF orientation -> (transpose, flip up-down, flip left-right), applied in this order.
_TURNS = {
    2: (False, False, True),
    3: (False, True, True),
    4: (False, True, False),
    5: (True, False, False),
    6: (True, False, True),
    7: (True, True, True),
    8: (True, True, False),
}
_ORIENTATION = 0x0112


def open_photo(path: Path) -> NDArray[np.uint8]:
    """A photograph as it is meant to be seen, (height, width, 3) uint8 BGR."""
    name = str(path)
    if not path.exists():
        raise BadInput.of(name, "a photo", "no such file")
    if path.is_dir():
        raise BadInput.of(name, "a photo", "a folder")
    if path.suffix.lower() in (".heic", ".heif", ".hif"):
        _open_heif_too()
    try:
        if path.stat().st_size == 0:
            raise BadInput.of(name, "a photo", "an empty file")
        with warnings.catch_warnings():
            # Our own cap is checked below; Pillow would warn of half its own and of harmless EXIF faults.
            warnings.simplefilter("ignore")
            with Image.open(path) as picture:
                if picture.width * picture.height > MAX_PIXELS:
                    size = f"{picture.width} × {picture.height}"
                    raise BadInput.of(name, f"at most {MAX_PIXELS // 1_000_000} megapixels", size)
                picture.load()  # some formats are turned upright by this and say so afterwards
                turn = _TURNS.get(picture.getexif().get(_ORIENTATION, 1), (False, False, False))
                rgb = np.array(_flattened(picture))
    except UnidentifiedImageError:
        raise BadInput.of(name, "a photo (JPEG, PNG, HEIC …)", "something else") from None
    except Image.DecompressionBombError:
        raise BadInput.of(name, f"at most {MAX_PIXELS // 1_000_000} megapixels", "more") from None
    except (OSError, SyntaxError, ValueError, MemoryError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput.of(name, "a whole photo", str(error) or type(error).__name__) from None
    bgr = cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR, dst=rgb)
    transpose, upside, mirror = turn
    if transpose:
        bgr = cv2.transpose(bgr)
    if upside or mirror:
        bgr = cv2.flip(bgr, -1 if upside and mirror else 0 if upside else 1)
    return np.asarray(bgr, np.uint8)


def photos_in(paths: list[Path]) -> list[Path]:
    """The photos that are meant: files as named, and of folders all the pictures in them, by name."""
    chosen: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.suffix.lower() in SUFFIXES)
            if not inside:
                raise BadInput.of(str(path), "photos in the folder", "none")
            chosen += inside
        else:
            chosen.append(path)
    return chosen


def _flattened(picture: Image.Image) -> Image.Image:
    """As RGB; what is transparent lies on white, and 16-bit greys keep their upper eight bits."""
    if picture.mode.startswith("I;16"):
        grey = (np.asarray(picture) >> 8).astype(np.uint8)
        return Image.fromarray(grey).convert("RGB")
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        see_through = picture.convert("RGBA")
        ground = Image.new("RGBA", see_through.size, "white")
        ground.alpha_composite(see_through)
        return ground.convert("RGB")
    return picture if picture.mode == "RGB" else picture.convert("RGB")


def _open_heif_too() -> None:
    """Teach Pillow the format of iPhones; imported only when such a file comes."""
    from pillow_heif import register_heif_opener

    register_heif_opener()
