"""`palmreader matches`: the matches kept in a folder; write one out as a recording, or delete it for good."""

from __future__ import annotations

import argparse
from pathlib import Path

from referee.bad_input import BadInput
from web.hosting import open_store
from web.store import KeptLog, Store

HELP = "list the matches kept in a folder, write one out, or delete it for good"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the folder given to play or demo")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--export", type=int, metavar="N", help="write match N as a recording, for `palmreader referee`")
    what.add_argument("--delete", type=int, metavar="N", help="delete match N and all that belongs to it, for good")


def run(args: argparse.Namespace) -> int:
    """List, write out or delete."""
    if not args.data.is_dir():
        raise BadInput.of("--data", "a folder with matches", f"{args.data}, which is none")
    with open_store(args.data) as store:
        if args.export is not None:
            for line in KeptLog(store, args.export).lines():
                _say(line)
        elif args.delete is not None:
            store.header(args.delete)
            store.delete(args.delete)
        else:
            _list(store)
    return 0


def _list(store: Store) -> None:
    for kept in store.matches():
        names = ", ".join(kept.header.players)
        _say(f"{kept.id:>4}  {kept.begun:<25}  {kept.header.game:<12}  {kept.events:>6} events  {names}")


def _say(text: str) -> None:
    print(text, flush=True)
