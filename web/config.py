"""What a person chose for a match, read once: players, dealer, deck and house rules, refused by name."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from referee.bad_input import BadInput
from referee.cards import shipped_deck
from referee.game import Game, Setup, set_up
from referee.recording import Header
from web.games import game_named, games

#: A file of house rules has a few lines; more than this is another file by mistake.
_LARGEST_RULES = 65_536


@dataclass(frozen=True, slots=True)
class Chosen:
    """A game and how it is set up."""

    game: Game[Any]
    setup: Setup
    deck_name: str

    @property
    def header(self) -> Header:
        """The same as a recording's first line."""
        setup = self.setup
        return Header(self.game.name, setup.players, setup.dealer, self.deck_name, dict(setup.options))


def choose(
    game: Game[Any],
    players: tuple[str, ...],
    *,
    dealer: int = 0,
    deck: str = "",
    options: Mapping[str, object] | None = None,
) -> Chosen:
    """Check everything that was chosen and fill in the game's defaults; says all that is wrong at once."""
    name = deck or game.deck
    return Chosen(game, set_up(game, players, shipped_deck(name), dealer=dealer, options=options), name)


def from_header(header: Header, *, options: Mapping[str, object] | None = None) -> Chosen:
    """The match that a recording says it is of; ``options`` stand in for its house rules where given."""
    game = game_named(header.game)
    chosen = header.options if options is None else options
    return choose(game, header.players, dealer=header.dealer, deck=header.deck, options=chosen)


def read_rules(path: Path) -> dict[str, object]:
    """House rules from a TOML file: ``name = value`` a line, by themselves or under ``[rules]``."""
    try:
        if path.stat().st_size > _LARGEST_RULES:
            raise BadInput.of(str(path), f"house rules of at most {_LARGEST_RULES} bytes", path.stat().st_size)
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput.of(str(path), "a file of house rules", error.strerror or "none") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput.of(str(path), 'house rules in TOML, like `tie = "share"`', str(error)[:120]) from error
    rules = raw.get("rules", raw)
    if not isinstance(rules, dict):
        raise BadInput.of(f"{path}: rules", "a table of options", repr(rules)[:60])
    return rules


def names_in(text: str) -> tuple[str, ...]:
    """Players' names from ``Ana,Ben,Cleo``."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def add_match_options(parser: argparse.ArgumentParser, *, game_option: bool) -> None:
    """The options that every command which judges has."""
    if game_option:
        parser.add_argument("--game", metavar="GAME", help=" or ".join(games()))
    parser.add_argument(
        "--players", type=names_in, metavar="A,B,C", help="names in seat order, clockwise seen from above"
    )
    parser.add_argument(
        "--dealer", metavar="NAME|N", help="who deals first: a player's name or place in --players, from 1"
    )
    parser.add_argument("--rules", type=Path, metavar="OPTIONS.toml", help="house rules")


def dealer_seat(text: str | None, players: tuple[str, ...]) -> int:
    """The seat of a dealer given by name or by place counted from 1; the first one where none is given."""
    if text is None:
        return 0
    folded = [name.casefold() for name in players]
    if text.casefold() in folded:
        return folded.index(text.casefold())
    if text.isdecimal() and 1 <= int(text) <= len(players):
        return int(text) - 1
    raise BadInput.of("dealer", f"a player's name or a number from 1 to {len(players)}", repr(text)[:60])
