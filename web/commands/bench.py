"""`palmreader bench NAME`: run one of the benchmarks and print its figures."""

from __future__ import annotations

import argparse
import importlib
import importlib.util

HELP = "run a benchmark: prints a table, and as its last line one JSON object"

#: Each module has ``HELP``, ``add(parser)`` for its own options and ``run(args) -> int``.
BENCHES = {
    "cards": "vision.benches.cards",
    "hands": "vision.benches.hands",
    "poses": "vision.benches.hand_poses",
    "enrolment": "vision.benches.enrolment",
    "referee": "vision.benches.referee",
    "slaps": "vision.benches.slaps",
    "layers": "vision.benches.layers",
    "films": "vision.benches.films",
    "speed": "vision.benches.speed",
    "review": "web.review_bench",
    "web": "web.bench",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Add a sub-command for each benchmark there is."""
    names = parser.add_subparsers(dest="bench", required=True, metavar="NAME")
    for name, module_name in BENCHES.items():
        if importlib.util.find_spec(module_name) is None:
            continue
        module = importlib.import_module(module_name)
        bench = names.add_parser(name, help=module.HELP, description=module.HELP)
        bench.add_argument("--quick", action="store_true", help="a smaller sample: about a minute")
        bench.add_argument("--seed", type=int, default=1, help="what is drawn (default 1)")
        module.add(bench)
        bench.set_defaults(run_bench=module.run)


def run(args: argparse.Namespace) -> int:
    """Run the benchmark that was asked for."""
    return int(args.run_bench(args))
