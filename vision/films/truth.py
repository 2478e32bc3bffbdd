"""What really happened in a film, as JSON lines beside it: opened by benches and tests, never by detection."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from referee.events import Event
from referee.recording import Header, dump
from referee.ruling import Ruling
from vision.films.camera import Camera
from vision.films.encode import ns
from vision.films.render import Renderer
from vision.films.script import CARD_THICKNESS_MM, Lying, Script

_TIMES_A_LINE = 2000
"""Frame times in one line: well under a recording's longest line."""


def _line(what: str, **fields: Any) -> str:
    return json.dumps({"kind": "truth", "what": what, **fields}, separators=(", ", ": "))


def _pair(values: Sequence[float], digits: int = 2) -> list[float]:
    return [round(float(value), digits) for value in values]


def _card(renderer: Renderer, camera: Camera, card: Lying, level: int, *, with_quad: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "card": card.card,
        "face": "up" if card.face_up else "down",
        "at_mm": _pair((card.x_mm, card.y_mm)),
        "turn_deg": round(math.degrees(card.turn), 2),
    }
    if with_quad:
        quad = camera.project(renderer.corners_mm(card), (level + 1) * CARD_THICKNESS_MM)
        row["quad"] = [_pair(point) for point in quad]
    return row


def truth_lines(
    script: Script,
    renderer: Renderer,
    header: Header,
    rulings: Mapping[int, Sequence[Ruling]],
    frame_ticks: Sequence[int],
    about: Mapping[str, Any],
) -> Iterator[str]:
    """The truth of a film, a recording that `referee.recording.read` reads, with lines of its own between.

    `rulings` by the id of the event that they were given at. Quads are pixels, clockwise from the card's own
    top left; those of the top two cards of a pile only, since nothing else is seen. All times are exact.
    """
    cameras = renderer.cameras
    yield dump(header)
    yield _line("film", **about, camera=_camera(cameras[0][1]), table_mm=list(script.table_mm))
    for at_s, camera in cameras[1:]:
        yield _line("camera", at_ns=round(at_s * 1e9), camera=_camera(camera))
    for start in range(0, len(frame_ticks), _TIMES_A_LINE):
        times = [ns(tick) for tick in frame_ticks[start : start + _TIMES_A_LINE]]
        yield _line("frames", first=start, at_ns=times)
    timed: list[tuple[int, int, str]] = []
    for change in script.piles:
        count = len(change.stack)
        camera = renderer.camera_at(change.at_s)
        cards = [
            _card(renderer, camera, card, level, with_quad=level >= count - 2)
            for level, card in enumerate(change.stack)
        ]
        at_ns = round(change.at_s * 1e9)
        timed.append((at_ns, 0, _line("pile", at_ns=at_ns, pile=str(change.pile), cards=cards)))
    for move in script.moves:
        start_ns, end_ns = round(move.start_s * 1e9), round(move.end_s * 1e9)
        fields = {
            "at_ns": start_ns,
            "end_ns": end_ns,
            "cards": [card.card for card in move.stack],
            "from_mm": _pair((move.start.x_mm, move.start.y_mm)),
            "to_mm": _pair((move.end.x_mm, move.end.y_mm)),
            "turned_over": move.end.over > 0,
            "under": move.under is not None,
        }
        timed.append((start_ns, 1, _line("move", **fields)))
    for contact in script.contacts:
        at_ns = round(contact.at_s * 1e6) * 1000
        fields = {"at_ns": at_ns, "at_us": round(contact.at_s * 1e6), "seat": contact.seat}
        fields |= {
            "pile": str(contact.pile),
            "layer": contact.layer,
            "strike": contact.strike,
            "family": contact.family,
        }
        timed.append((at_ns, 2, _line("contact", **fields)))
    for heard in script.sounds:
        at_ns = round(heard.at_s * 1e9)
        said = {"seat": heard.seat, "words": heard.words} if heard.words else {}
        timed.append((at_ns, 3, _line("sound", at_ns=at_ns, sound=heard.kind, gain=round(heard.gain, 3), **said)))
    for event in script.events:
        timed.append((event.at.at_ns, 4, dump(event)))
        timed += [(event.at.at_ns, 5, dump(ruling)) for ruling in rulings.get(_number(event), ())]
    for _, _, text in sorted(timed, key=lambda row: row[:2]):
        yield text


def _number(event: Event) -> int:
    return event.id


def _camera(camera: Camera) -> dict[str, Any]:
    values = asdict(camera)
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def write_truth(path: Path, lines: Iterator[str]) -> None:
    """Write the lines; the file is whole or not there."""
    part = path.with_name(path.name + ".part")
    part.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    part.replace(path)
