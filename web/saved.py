"""A game's state as text and back, so that a long match need not be judged anew from its first event.

Only the referee's own frozen dataclasses and enums are ever made from it: a saved state is data, not code.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import resources
from typing import Any

from referee.bad_input import BadInput
from referee.game import Setup

_SETUP = {"~": "setup"}


@cache
def rules_version() -> str:
    """Names the referee's rules as they are now; a state saved under other rules is of no use."""
    digest = hashlib.sha256()
    folder = resources.files("referee")
    for place in (folder, folder / "games", folder / "decks"):
        for entry in sorted(place.iterdir(), key=lambda entry: entry.name):
            if entry.name.endswith((".py", ".toml")):
                digest.update(entry.name.encode() + b"\0" + entry.read_bytes())
    return digest.hexdigest()[:16]


def save(state: object) -> str:
    """A state as text; the setup in it is left out, since it is known."""
    return json.dumps(_encoded(state), ensure_ascii=False, separators=(",", ":"))


def restore(text: str, setup: Setup) -> Any:
    """The state that was saved, with that setup."""
    return _decoded(json.loads(text), setup)


def _encoded(value: Any) -> Any:
    if isinstance(value, Setup):
        return _SETUP
    if isinstance(value, Enum):
        return {"~": _name(type(value)), "of": value.value}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {"~": _name(type(value)), **{item.name: _encoded(getattr(value, item.name)) for item in fields(value)}}
    if isinstance(value, tuple | list):
        return [_encoded(item) for item in value]
    if isinstance(value, frozenset | set):
        return {"~": "set", "of": sorted((_encoded(item) for item in value), key=json.dumps)}
    if isinstance(value, Mapping):
        return {"~": "map", "of": [[_encoded(key), _encoded(item)] for key, item in value.items()]}
    raise TypeError(f"state: expected the referee's values, got {type(value).__name__}")


def _decoded(raw: Any, setup: Setup) -> Any:
    if isinstance(raw, list):
        return tuple(_decoded(item, setup) for item in raw)
    if not isinstance(raw, dict):
        return raw
    name = raw.get("~")
    match name:
        case "setup":
            return setup
        case "set":
            return frozenset(_decoded(item, setup) for item in raw["of"])
        case "map":
            return {_decoded(key, setup): _decoded(item, setup) for key, item in raw["of"]}
        case _:
            kind = _kind(str(name))
            if issubclass(kind, Enum):
                return kind(raw["of"])
            return kind(**{key: _decoded(item, setup) for key, item in raw.items() if key != "~"})


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


@cache
def _kind(name: str) -> type:
    module_name, _, kind_name = name.partition(":")
    if module_name.partition(".")[0] != "referee":
        raise BadInput.of("saved state", "a value of the referee", repr(name)[:60])
    kind = getattr(importlib.import_module(module_name), kind_name, None)
    if not isinstance(kind, type) or not (is_dataclass(kind) or issubclass(kind, Enum)):
        raise BadInput.of("saved state", "a value of the referee", repr(name)[:60])
    return kind
