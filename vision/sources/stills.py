"""A folder of photographs as a clip: in numeric order, one picture a second, its times not to be trusted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from referee.bad_input import BadInput
from vision.cards.photo import SUFFIXES, open_photo
from vision.frame import Frame
from vision.sources.stamps import SECOND_NS


def numeric_order(path: Path) -> tuple[tuple[int, int, str], ...]:
    """The key that puts ``img2`` before ``img10``."""
    parts = re.split(r"(\d+)", path.name.lower())
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part)


class StillsFolder:
    """The pictures of one folder, each opened when its turn comes."""

    def __init__(self, path: Path | str) -> None:
        """Look which pictures there are."""
        self.path = Path(path)
        if not self.path.is_dir():
            raise BadInput.of(str(path), "a folder of pictures", "none")
        self.pictures = tuple(
            sorted(
                (entry for entry in self.path.iterdir() if entry.suffix.lower() in SUFFIXES and entry.is_file()),
                key=numeric_order,
            )
        )
        if not self.pictures:
            raise BadInput.of(str(path), f"a folder with pictures ({', '.join(SUFFIXES)})", "none in it")

    def __len__(self) -> int:
        """How many pictures."""
        return len(self.pictures)

    def __iter__(self) -> Iterator[Frame]:
        """One picture after another; a second apart, the time of each unknown by as much."""
        for index, picture in enumerate(self.pictures):
            yield Frame(index * SECOND_NS, SECOND_NS, open_photo(picture), index)
