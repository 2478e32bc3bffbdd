"""The games there are: every file in `referee.games` that has a ``GAME``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any

import referee.games
from referee.bad_input import BadInput
from referee.game import Game


@cache
def games() -> Mapping[str, Game[Any]]:
    """Every game by its name on the command line, in alphabetical order."""
    found: dict[str, Game[Any]] = {}
    for module_info in pkgutil.iter_modules(referee.games.__path__):
        game: Game[Any] | None = getattr(importlib.import_module(f"referee.games.{module_info.name}"), "GAME", None)
        if game is not None:
            found[game.name] = game
    return dict(sorted(found.items()))


def game_named(name: str) -> Game[Any]:
    """The game of that name; spaces and underscores in it don't matter."""
    normal = name.strip().lower().replace("_", "-").replace(" ", "-")
    known = games()
    if normal not in known:
        raise BadInput.of("game", " or ".join(known), repr(name)[:60])
    return known[normal]
