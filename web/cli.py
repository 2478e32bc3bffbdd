"""The command line: finds the command, runs it, and turns bad input into one line and status 2."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from referee.bad_input import BadInput

#: Each is a module in ``web/commands`` with ``HELP``, ``add(parser)`` and ``run(args) -> int``; ``LATE`` names
#: an optional positional that may also come after options.
COMMANDS = {
    "demo": "web.commands.demo",
    "play": "web.commands.play",
    "matches": "web.commands.matches",
    "review": "web.commands.review",
    "read": "web.commands.read",
    "enrol": "web.commands.enrol",
    "audit": "web.commands.audit",
    "referee": "web.commands.referee",
    "film": "web.commands.film",
    "deck": "web.commands.deck",
    "bench": "web.commands.bench",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, or 2 with one line on stderr for bad input."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="palmreader", description="A referee for real card games: reads the table, judges the slap."
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    asked = next((word for word in arguments if not word.startswith("-")), None)
    for name, module_name in COMMANDS.items():
        # Only the command that is run is imported in full: `--help` of all stays quick.
        if name == asked or asked not in COMMANDS:
            module = importlib.import_module(module_name)
            command = subparsers.add_parser(name, help=module.HELP, description=module.HELP)
            module.add(command)
            command.set_defaults(run=module.run, late=getattr(module, "LATE", None))
        else:
            subparsers.add_parser(name)
    args, rest = parser.parse_known_args(arguments)
    # argparse gives up an optional positional at the first option: `film snap --seed 7 OUT.mp4` is meant all the same.
    if len(rest) == 1 and args.late and getattr(args, args.late) is None and not rest[0].startswith("-"):
        setattr(args, args.late, rest[0])
    elif rest:
        parser.error("unrecognized arguments: " + " ".join(rest))
    try:
        return int(args.run(args))
    except BadInput as bad:
        print(f"palmreader {args.command}: {bad}", file=sys.stderr)  # noqa: T201 - the command line speaks
        return 2
    except BrokenPipeError:
        # The reader of our output went away (`| head`): not an error of ours, and nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
