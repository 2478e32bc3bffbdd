"""Piles watched through drawn pictures: what is laid, taken, covered and passed over."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import cv2
import numpy as np
import pytest

from referee.bad_input import BadInput
from referee.cards import Card, Pile
from referee.instant import Instant
from vision.cards.seen import NO_CARD, SeenCard
from vision.frame import Frame, Image
from vision.hands.news import HandSeen
from vision.observation import Lies, PileChanged
from vision.piles import PileWatcher
from vision.table import PileSpot, SeatSpot, Table

MS = 1_000_000
STEP_MS = 33
AT = {Pile("up", 0): (150, 130), Pile("down", 0): (300, 130)}
TABLE = Table(
    ((0, 0), (450, 0), (450, 300), (0, 300)),
    (450, 300),
    (450, 300),
    (SeatSpot(0, (225, 300)),),
    tuple(PileSpot(pile, at) for pile, at in AT.items()),
)
INKS = {"7h": (40, 40, 200), "9c": (60, 60, 60), "2d": (200, 80, 40)}
BACK_INK = (140, 200, 140)


class DrawnCards:
    """Reads the test's own cards: white paper with a blot of one ink, which names it."""

    def read(self, image: Image, card_side_px: float | None = None) -> tuple[SeenCard, ...]:
        paper = (image.min(axis=2) > 215).astype(np.uint8)
        contours, _ = cv2.findContours(paper, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        seen = []
        for contour in contours:
            if cv2.contourArea(contour) < 500:
                continue
            quad = cv2.boxPoints(cv2.minAreaRect(contour))
            x, y = quad.mean(axis=0).round().astype(int)
            ink = image[y - 4 : y + 5, x - 4 : x + 5].reshape(-1, 3).mean(axis=0)
            if np.abs(ink - BACK_INK).max() < 25:
                seen.append(SeenCard(None, "down", 0.99, quad.astype(np.float32)))
                continue
            name = min(INKS, key=lambda card: float(np.abs(ink - INKS[card]).max()))
            seen.append(SeenCard(name, "up", 0.999, quad.astype(np.float32), ((name, 0.999),)))
        return tuple(seen)


def table(seed: int) -> Image:
    """Cloth with grain, the same each time but for the camera's noise."""
    grain = np.random.default_rng(1).normal(0, 6, (300, 450, 1))
    noise = np.random.default_rng(seed).normal(0, 1.5, (300, 450, 3))
    return np.clip(np.array([60.0, 100.0, 50.0]) + grain + noise, 0, 255).astype(np.uint8)


def lay(image: Image, pile: Pile, name: str | None, shift: int = 0) -> None:
    x, y = AT[pile]
    x, y = x + shift, y + shift
    cv2.rectangle(image, (x - 31, y - 44), (x + 31, y + 43), (245, 246, 247), -1)
    cv2.circle(image, (x, y), 16, BACK_INK if name is None else INKS[name], -1)


def arm(image: Image, x: int, tip_y: int) -> HandSeen:
    """An arm that comes in from below."""
    cv2.rectangle(image, (x - 30, tip_y), (x + 30, 300), (90, 130, 190), -1)
    over = tuple(pile for pile, (px, py) in AT.items() if abs(px - x) < 70 and tip_y < py + 50)
    return HandSeen(
        hand=1, seat=0, at=Instant(0), tip_mm=(x, tip_y), entry_mm=(x, 300), speed_mps=0.0, over=over, at_pile=None,
        outline_px=(0, 0, 1, 1),
    )  # fmt: skip


def watched(draw: Callable[[Image, int], Sequence[HandSeen]], until_ms: int) -> tuple[list[PileChanged], PileWatcher]:
    """What the watcher tells of drawn pictures: ``draw(image, now_ms)`` puts in what lies and moves there."""
    watcher = PileWatcher(TABLE, DrawnCards(), deck=frozenset(map(Card.parse, INKS)))
    told: list[PileChanged] = []
    for index, now_ms in enumerate(range(0, until_ms, STEP_MS)):
        image = table(index)
        hands = draw(image, now_ms)
        told += watcher.watch(Frame(now_ms * MS, 0, image, index), hands)
    return told, watcher


UP, DOWN = Pile("up", 0), Pile("down", 0)


def test_what_lies_there_at_first_is_known_and_not_told() -> None:
    def draw(image: Image, now_ms: int) -> list[HandSeen]:
        lay(image, UP, "7h")
        lay(image, DOWN, None)
        return []

    told, watcher = watched(draw, 900)
    assert told == []
    assert {str(pile): str(top) for pile, top in watcher.tops.items()} == {"up:0": "7h", "down:0": "back"}
    assert watcher.undecided_since_ns() is None


def visit(now_ms: int, from_ms: int, to_ms: int, x: int) -> int | None:
    """Where an arm's tip is: in within 200 ms, still, out within 200 ms; None while it is away."""
    if not from_ms <= now_ms <= to_ms:
        return None
    share = min(1.0, (now_ms - from_ms) / 200, (to_ms - now_ms) / 200)
    return round(300 - 165 * share)


def test_a_card_is_told_once_with_the_moment_it_came_to_lie() -> None:
    """The hand still holds it for a quarter of a second, and hides half of it."""

    def draw(image: Image, now_ms: int) -> list[HandSeen]:
        lay(image, DOWN, None)
        if now_ms >= 1300:
            lay(image, UP, "7h")
        tip = visit(now_ms, 1000, 1800, 150)
        return [] if tip is None else [arm(image, 150, tip)]

    told, watcher = watched(draw, 3000)
    assert [(str(c.pile), str(c.before), str(c.after)) for c in told] == [("up:0", "nothing", "7h")]
    assert abs(told[0].at.at_ns - 1300 * MS) < 2 * STEP_MS * MS
    assert told[0].at.sd_ns < 40 * MS
    assert told[0].visitors == (0,)
    assert told[0].settled_ns < 2100 * MS
    assert watcher.tops[UP].card == Card.parse("7h")


def test_a_card_laid_on_another_and_taken_again() -> None:
    def draw(image: Image, now_ms: int) -> list[HandSeen]:
        lay(image, UP, "7h")
        if 1300 <= now_ms < 3300:
            lay(image, UP, "9c", 2)
        tip = visit(now_ms, 1000, 1700, 150)
        tip = visit(now_ms, 3000, 3700, 150) if tip is None else tip
        return [] if tip is None else [arm(image, 150, tip)]

    told, _ = watched(draw, 5000)
    new = [(str(c.before), str(c.after)) for c in told if c.before.card != c.after.card]
    assert new == [("7h", "9c"), ("9c", "7h")]


@pytest.mark.parametrize("rests_ms", [300, 2500], ids=["passing by", "resting"])
@pytest.mark.parametrize("lies", ["7h", None], ids=["a card", "an empty place"])
def test_a_hand_over_a_pile_changes_nothing(rests_ms: int, lies: str | None) -> None:
    """A hand that rests on an empty place is no card, and a card under it is not gone."""

    def draw(image: Image, now_ms: int) -> list[HandSeen]:
        if lies is not None:
            lay(image, UP, lies)
        tip = visit(now_ms, 1000, 1400 + rests_ms, 150)
        return [] if tip is None else [arm(image, 150, tip - 60)]

    told, watcher = watched(draw, 5500)
    assert told == []
    assert watcher.undecided_since_ns() is None


def test_a_pile_taken_away_is_gone_once_the_place_is_seen_bare() -> None:
    def draw(image: Image, now_ms: int) -> list[HandSeen]:
        if now_ms < 1300:
            lay(image, DOWN, None)
        tip = visit(now_ms, 1000, 1800, 300)
        return [] if tip is None else [arm(image, 300, tip - 30)]

    told, watcher = watched(draw, 4000)
    assert [(str(c.pile), str(c.before), str(c.after)) for c in told] == [("down:0", "back", "nothing")]
    assert watcher.tops[DOWN].lies is Lies.NOTHING


def test_a_lamp_that_dims_is_no_card() -> None:
    def draw(image: Image, now_ms: int) -> list[HandSeen]:
        lay(image, UP, "7h")
        image[:] = (image * (1 - 0.25 * min(1.0, now_ms / 3000))).astype(np.uint8)
        return []

    told, _ = watched(draw, 4000)
    assert told == []


def test_a_reading_that_is_no_card_of_the_deck_is_a_back_on_a_pile_kept_face_down() -> None:
    """A patterned back was read as the joker that the game is not played with."""

    class Jokers(DrawnCards):
        def read(self, image: Image, card_side_px: float | None = None) -> tuple[SeenCard, ...]:
            return tuple(
                SeenCard("joker", "up", 0.98, seen.quad, (("joker", 0.98),)) if seen.face == "down" else seen
                for seen in super().read(image)
            )

    watcher = PileWatcher(TABLE, Jokers(), deck=frozenset(map(Card.parse, INKS)))
    for index in range(12):
        image = table(index)
        lay(image, DOWN, None)
        assert list(watcher.watch(Frame(index * STEP_MS * MS, 0, image, index))) == []
    assert watcher.tops[DOWN].lies is Lies.BACK


@pytest.mark.parametrize(
    ("no_card", "named"),
    [
        pytest.param(0.6, None, id="rather no card than any is not named"),
        pytest.param(0.3, "7h", id="rather one card than none is"),
    ],
)
def test_a_pile_is_not_named_after_what_is_rather_no_card(no_card: float, named: str | None) -> None:
    """Among the deck's cards only, the one card that an unsure reading listed was the whole of its belief."""
    told = tuple(sorted({NO_CARD: no_card, "7h": 0.9 - no_card}.items(), key=lambda one: -one[1]))

    class Unsure(DrawnCards):
        def read(self, image: Image, card_side_px: float | None = None) -> tuple[SeenCard, ...]:
            return tuple(SeenCard(None, "up", 0.9 - no_card, seen.quad, told) for seen in super().read(image))

    watcher = PileWatcher(TABLE, Unsure(), deck=frozenset(map(Card.parse, INKS)))
    for index in range(40):
        image = table(index)
        lay(image, UP, "7h")
        assert list(watcher.watch(Frame(index * STEP_MS * MS, 0, image, index))) == []
    top = watcher.tops[UP]
    assert (top.lies, top.card and str(top.card)) == (Lies.FACE, named)


def test_a_picture_of_another_size_than_the_table_files_is_refused() -> None:
    watcher = PileWatcher(TABLE, DrawnCards())
    with pytest.raises(BadInput, match="expected 450x300 as in the table file, got 64x48"):
        list(watcher.watch(Frame(0, 0, np.zeros((48, 64, 3), np.uint8), 0)))
