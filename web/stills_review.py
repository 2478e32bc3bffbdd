"""A folder of pictures reviewed: card and hand, picture by picture, and how that compares with labels by eye."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from referee.bad_input import BadInput
from vision.cards.read import CardReader
from vision.hands.over_card import Over
from vision.sources.stills import StillsFolder
from vision.stills_watch import StillSeen, StillsWatcher

_LARGEST_LABELS = 1 << 20
_HANDS = {
    Over.ABSENT: "no hand",
    Over.NEAR: "a hand near",
    Over.OVER: "a hand over it",
    Over.UNSURE: "perhaps a hand",
}


def review_stills(folder: Path, *, labels: Path | None = None, as_json: bool = False) -> Iterator[str]:
    """Lines that say what each picture shows, and at the end how many agree with the labels, if there are some.

    Labels are taken from the file given, else from a ``labels.csv`` in or beside the folder.
    """
    stills = StillsFolder(folder)
    said = _labels(labels, folder)
    watcher = StillsWatcher(CardReader.shipped())
    counts: Counter[str] = Counter()
    missed: list[str] = []
    for path, seen in zip(stills.pictures, watcher.watch(stills), strict=True):
        label = said.get(f"{folder.name}/{path.name}")
        if label is not None:
            missed += _compare(path.name, label, seen, counts)
        yield _json(path, seen) if as_json else _line(path, seen, label)
    if said and not as_json:
        yield from _summary(counts, missed)
    elif said:
        yield json.dumps({"kind": "labels", **counts, "differ": missed})


def _json(path: Path, seen: StillSeen) -> str:
    read = [card.card for card in seen.seen if card.face == "up"]
    return json.dumps({"kind": "frame", "picture": path.name, "card": seen.card, "hand": str(seen.hand), "read": read})


def _line(path: Path, seen: StillSeen, label: tuple[str, str] | None) -> str:
    now = "" if any(card.card == seen.card for card in seen.seen) else "  (not readable now)"
    hand = _HANDS[seen.hand]
    by_eye = f"   by eye: {label[0]}, {label[1]}" if label is not None else ""
    return f"{path.name:<12} {seen.card or 'no card':<8} {hand:<15}{by_eye}{now}"


def _compare(name: str, label: tuple[str, str], seen: StillSeen, counts: Counter[str]) -> list[str]:
    """Count one picture; a hand that the eye was unsure of is not counted."""
    card, hand = label
    wrong = []
    counts["pictures"] += 1
    counts["card_right"] += seen.card == card
    read = [one.card for one in seen.seen if one.card is not None]
    counts["card_read_now"] += card in read
    counts["card_wrong"] += bool(read) and card not in read
    if seen.card != card:
        wrong.append(f"{name}: card {seen.card}, by eye {card}")
    if hand != "unsure":
        counts["hands_sure"] += 1
        over = hand == "over"
        counts["hand_over_right"] += over == (seen.hand is Over.OVER)
        counts["hand_three_right"] += hand == str(seen.hand)
        if over != (seen.hand is Over.OVER):
            wrong.append(f"{name}: hand {seen.hand}, by eye {hand}")
    return wrong


def _summary(counts: Counter[str], missed: list[str]) -> Iterator[str]:
    yield ""
    yield f"card right         {counts['card_right']} of {counts['pictures']}"
    yield f"card read there    {counts['card_read_now']} of {counts['pictures']}, wrongly {counts['card_wrong']}"
    yield f"hand over or not   {counts['hand_over_right']} of {counts['hands_sure']} that the eye is sure of"
    yield f"over, near or none {counts['hand_three_right']} of {counts['hands_sure']}"
    yield from (f"  {line}" for line in missed)


def _labels(path: Path | None, folder: Path) -> dict[str, tuple[str, str]]:
    if path is None:
        beside = [place for place in (folder / "labels.csv", folder.resolve().parent / "labels.csv") if place.is_file()]
        if not beside:
            return {}
        path = beside[0]
    try:
        if path.stat().st_size > _LARGEST_LABELS:
            raise BadInput.of(str(path), "labels of at most 1 MB", f"{path.stat().st_size} bytes")
        rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput.of(str(path), "labels as CSV", getattr(error, "strerror", None) or str(error)) from error
    if not rows or not {"picture", "card", "hand"} <= set(rows[0]):
        raise BadInput.of(str(path), "columns picture, card and hand", ", ".join(rows[0]) if rows else "nothing")
    return {row["picture"]: (row["card"], row["hand"]) for row in rows}
