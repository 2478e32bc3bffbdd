"""The options of `python -m vision.training …`, and what each command calls."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; status 0, or 2 and one line for bad input."""
    args = _parser().parse_args(argv)
    cv2.setNumThreads(1)
    try:
        status: int = args.run(args)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m vision.training", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    artwork = commands.add_parser("artwork", help="fetch deck artwork by package name and rasterise it")
    artwork.add_argument("--out", type=Path, required=True, metavar="DIR")
    artwork.set_defaults(run=_artwork)

    compose = commands.add_parser("compose", help="render training pictures: tables, or crops of cards or corners")
    compose.add_argument("--artwork", type=Path, required=True, metavar="DIR")
    compose.add_argument("--out", type=Path, required=True, metavar="DIR")
    compose.add_argument("--kind", choices=["tables", "crops", "indices"], default="tables")
    compose.add_argument("--count", type=int, default=500)
    compose.add_argument("--seed", type=int, default=1)
    compose.add_argument("--crowded", type=float, default=0.0, help="share of tables with cards laid on each other")
    compose.add_argument("--held-out", action="store_true", help="crops of the decks that no training sees")
    compose.set_defaults(run=_compose)

    oblique = commands.add_parser("oblique", help="measure oriented boxes against quads fitted to a card's edges")
    oblique.add_argument("--artwork", type=Path, required=True, metavar="DIR")
    oblique.add_argument("--tables", type=int, default=30, help="rendered tables for each lean of the camera")
    oblique.add_argument("--seed", type=int, default=1)
    oblique.set_defaults(run=_oblique)

    photos = commands.add_parser("photos", help="turn labelled photographs into oriented labels and crops")
    photos.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    photos.add_argument("--out", type=Path, required=True, metavar="DIR")
    photos.add_argument("--repeats", type=int, default=6, help="crops of each card, each cut and lit anew")
    photos.add_argument("--four", action="store_true", help="these decks print their index in all four corners")
    photos.add_argument("--never-mirrored", action="store_true", help="no picture of these sets is flipped")
    photos.set_defaults(run=_photos)

    reader = commands.add_parser("reader", help="train the reader for a while, resuming, and export it")
    _training(reader, rate=1.5e-3, steps=2800)
    reader.add_argument("--crops", type=Path, required=True, metavar="DIR", help="train-*.npz and real-train-*.npz")
    reader.add_argument("--data", choices=["both", "rendered", "real"], default="both")
    reader.add_argument("--frozen", type=int, default=0, help="first layers that keep their weights")
    reader.set_defaults(run=_reader)

    index = commands.add_parser("index", help="train the reader of index corners for a while, resuming, and export it")
    _training(index, rate=1.5e-3, steps=4000)
    index.add_argument("--crops", type=Path, required=True, metavar="DIR", help="index-train-*.npz, index-real-train-*")
    index.add_argument("--real-share", type=float, default=0.15, help="of the crops drawn, those from photographs")
    index.set_defaults(run=_index)

    lanes = commands.add_parser("lanes", help="render slaps and keep each seat's lane, to train the landing network")
    lanes.add_argument("--out", type=Path, required=True, metavar="DIR")
    lanes.add_argument("--clips", type=int, default=1000)
    lanes.add_argument("--seed", type=int, default=1)
    lanes.add_argument("--minutes", type=float, default=60.0, help="begin no further file after so long")
    lanes.set_defaults(run=_lanes)

    landing = commands.add_parser("landing", help="train the network that times landings for a while, resuming")
    _training(landing, rate=1.5e-3, steps=9000)
    landing.add_argument("--lanes", type=Path, required=True, action="append", metavar="DIR", help="lanes-*.npz")
    landing.set_defaults(run=_landing)

    detector = commands.add_parser("detector", help="train the detector for a while, resuming, and export it")
    _training(detector, rate=4e-4, steps=1600)
    detector.add_argument("--rendered", type=Path, action="append", default=[], metavar="DIR")
    detector.add_argument("--real", type=Path, action="append", default=[], metavar="DIR")
    detector.add_argument("--side", type=int, default=448)
    detector.add_argument("--frozen", type=int, default=3)
    detector.add_argument("--zoomed", type=float, default=0.3, help="share of views that look closely at corners")
    detector.set_defaults(run=_detector)
    return parser


def _training(parser: argparse.ArgumentParser, rate: float, steps: int) -> None:
    parser.add_argument("--start", type=Path, metavar="WEIGHTS", help="a .pt, or a reader's .onnx")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the checkpoint lies")
    parser.add_argument("--minutes", type=float, default=40.0, help="wall time of this piece")
    parser.add_argument("--steps", type=int, default=steps, help="length of the whole schedule, over all pieces")
    parser.add_argument("--rate", type=float, default=rate)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)


def _artwork(args: argparse.Namespace) -> int:
    from vision.training.artwork import collect

    for deck in collect(args.out):
        sys.stdout.write(f"{deck.name}: {len(deck.names('faces'))} faces{', held out' * deck.held_out}\n")
    return 0


def _compose(args: argparse.Namespace) -> int:
    if args.kind == "crops":
        from vision.training.crops import compose_crops

        name = f"{'held' if args.held_out else 'train'}-{args.seed:02d}.npz"
        compose_crops(args.artwork, args.out / name, args.count, args.seed, args.held_out)
        return 0
    if args.kind == "indices":
        from vision.training.index_reader import compose_index_crops

        compose_index_crops(args.artwork, args.out / f"index-train-{args.seed:02d}.npz", args.count, args.seed)
        return 0
    from vision.training.compose import compose_scenes

    compose_scenes(args.artwork, args.out, args.count, args.seed, crowded=args.crowded)
    return 0


def _oblique(args: argparse.Namespace) -> int:
    from vision.training.oblique import measured

    sys.stdout.write(measured(args.artwork, args.tables, args.seed) + "\n")
    return 0


def _photos(args: argparse.Namespace) -> int:
    from vision.cards.reader import FaceReader
    from vision.training.boxes import write_real
    from vision.training.index_reader import photo_crops, save
    from vision.training.photos import Labeller, held_out, real_crops

    labeller, reader = Labeller.shipped(), FaceReader.shipped()
    args.out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(5)
    for folder in args.folders:
        name = f"{folder.parent.name}_{folder.name}"
        photos = list(labeller.label(folder))
        for kind, chosen, repeats in [
            ("train", [photo for photo in photos if not held_out(photo.path)], args.repeats),
            ("valid", [photo for photo in photos if held_out(photo.path)], 1),
        ]:
            pictures = write_real(chosen, args.out / f"boxes-{kind}", name)
            crops, classes = real_crops(chosen, rng, repeats, reader, not args.never_mirrored)
            np.savez(args.out / f"real-{kind}-{name}.npz", crops=crops, classes=classes)
            indices = photo_crops(chosen, rng, args.four, not args.never_mirrored)
            save(indices, args.out / f"index-real-{kind}-{name}.npz")
            mirrored = sum(photo.mirrored for photo in chosen)
            counts = f"{pictures} pictures, {len(classes)} crops, {len(indices)} of indices, {mirrored} mirrored"
            sys.stdout.write(f"{name} {kind}: {counts}\n")
    return 0


def _reader(args: argparse.Namespace) -> int:
    from vision.training.classify import Plan
    from vision.training.reader import export, train

    rendered = (args.crops,) if args.data in ("both", "rendered") else ()
    real = (args.crops,) if args.data in ("both", "real") else ()
    plan = Plan(
        args.out, args.minutes, args.steps, rendered, real, start=args.start, rate=args.rate,
        seed=args.seed, threads=args.threads, frozen=args.frozen,
    )  # fmt: skip
    export(train(plan, sys.stdout), args.out / "model.onnx")
    return 0


def _index(args: argparse.Namespace) -> int:
    from vision.training.classify import Plan
    from vision.training.index_reader import export, train

    plan = Plan(
        args.out, args.minutes, args.steps, (args.crops,), (args.crops,), start=args.start, rate=args.rate,
        real_share=args.real_share,
        seed=args.seed, threads=args.threads,
    )  # fmt: skip
    export(train(plan, sys.stdout), args.out / "model.onnx")
    return 0


def _lanes(args: argparse.Namespace) -> int:
    from vision.training.landing import compose_lanes

    compose_lanes(args.out, args.clips, args.seed, minutes=args.minutes)
    return 0


def _landing(args: argparse.Namespace) -> int:
    from vision.training.landing import export, fit
    from vision.training.loop import Pace

    pace = Pace(args.out, args.minutes, args.steps, args.rate, args.seed, args.threads)
    export(fit(args.lanes, pace, sys.stdout, start=args.start), args.out / "model.onnx")
    return 0


def _detector(args: argparse.Namespace) -> int:
    from vision.training.detector import Plan, export, export_ultralytics, train

    if args.start is None:
        raise ValueError("--start: expected ultralytics weights with oriented boxes to begin from, got none")
    plan = Plan(
        args.start, args.out, tuple(args.rendered), tuple(args.real), args.minutes, args.steps, side=args.side,
        rate=args.rate, zoomed=args.zoomed, frozen=args.frozen, seed=args.seed, threads=args.threads,
    )  # fmt: skip
    checkpoint = train(plan, sys.stdout)
    export(args.start, checkpoint, args.out / "model.onnx")
    export_ultralytics(args.start, checkpoint, args.out / "model.pt")
    return 0
