"""Where the shipped weights lie, and what their model.toml says of them."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from referee.bad_input import BadInput

#: Below a prefix (an installed wheel's data files).
SHARED = Path("share", "palmreader")


def data_folder(*parts: str) -> Path:
    """The folder of shipped data, e.g. ``data_folder("models", "card-reader")``, in a checkout or an install."""
    beside = Path(__file__).resolve().parent.parent
    places = [beside, Path(sys.prefix) / SHARED, *(parent / SHARED for parent in beside.parents)]
    for place in places:
        folder = place.joinpath(*parts)
        if folder.is_dir():
            return folder
    raise BadInput.of("/".join(parts), f"a folder beside the package or under {places[1]}", "nothing")


@dataclass(frozen=True, slots=True)
class Weights:
    """A network's file with what its ``model.toml`` says of it; sizes in pixels of its input."""

    name: str
    path: Path
    kind: str
    layout: str
    classes: tuple[str, ...]
    mean: float = 0.0
    std: float = 1.0
    stride_px: int = 32
    input_side_px: int = 640
    card_side_px: float = 150.0
    corner_card_side_px: float = 290.0
    input_width_px: int = 96
    input_height_px: int = 136
    temperature: float = 1.0
    min_confidence: float = 0.25

    def __post_init__(self) -> None:
        """Refuse what no network could be run with."""
        wrong = [
            f"{name} {value!r}"
            for name, value in [
                ("std", self.std),
                ("stride_px", self.stride_px),
                ("input_side_px", self.input_side_px),
                ("card_side_px", self.card_side_px),
                ("input_width_px", self.input_width_px),
                ("input_height_px", self.input_height_px),
                ("temperature", self.temperature),
            ]
            if not value > 0
        ]
        if not self.classes or len(set(self.classes)) != len(self.classes):
            wrong.append(f"classes {list(self.classes)}")
        if wrong:
            raise BadInput.of(self.name, "positive sizes and distinct classes", ", ".join(wrong))

    @classmethod
    def shipped(cls, name: str) -> Weights:
        """The weights that ship under ``models/<name>``."""
        return cls.load(data_folder("models", name))

    @classmethod
    def load(cls, folder: Path) -> Weights:
        """Read ``model.toml`` in a folder; ``model.onnx`` lies beside it."""
        described = folder / "model.toml"
        try:
            told: dict[str, Any] = tomllib.loads(described.read_text("utf-8"))
        except OSError as error:
            raise BadInput.of(str(described), "a readable file", error.strerror or type(error).__name__) from None
        except ValueError as error:
            raise BadInput.of(str(described), "TOML", error) from None
        known = {name: told[name] for name in cls.__dataclass_fields__ if name in told}
        missing = [name for name in ("kind", "layout", "classes") if name not in known]
        if missing:
            raise BadInput.of(str(described), "kind, layout and classes", f"no {', '.join(missing)}")
        known["classes"] = tuple(known["classes"])
        known |= {"name": folder.name, "path": folder / "model.onnx"}
        if not known["path"].is_file():
            raise BadInput.of(str(known["path"]), "the network's file", "nothing")
        return cls(**known)
