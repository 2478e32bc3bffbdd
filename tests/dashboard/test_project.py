"""The project's own conventions: data is data, weights are small, and an install carries what it needs."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_an_install_carries_every_model() -> None:
    carried = PROJECT["tool"]["setuptools"]["data-files"]
    for folder in (ROOT / "models").iterdir():
        if folder.is_dir():
            assert carried.get(f"share/palmreader/models/{folder.name}") == [f"models/{folder.name}/*"]


def test_every_model_has_its_card_and_is_small() -> None:
    for folder in (ROOT / "models").iterdir():
        if folder.is_dir():
            assert (folder / "README.md").read_text(encoding="utf-8").strip()
            assert (folder / "model.onnx").stat().st_size < 12 * 2**20


def test_models_and_datasets_hold_no_code() -> None:
    assert [path for name in ("models", "datasets") for path in (ROOT / name).rglob("*.py")] == []


def test_the_demo_is_small() -> None:
    assert (ROOT / "datasets" / "recordings" / "demo.mp4").stat().st_size <= 4 * 2**20
