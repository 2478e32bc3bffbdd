"""A drawn arm comes over the edge, lands on the spot and leaves: the watcher tells it, with times."""

import cv2
import numpy as np
import pytest

from referee.cards import Pile
from vision.films.kinematics import Strike
from vision.films.slap_clip import make_slap_clip
from vision.films.slap_spec import SlapSpec
from vision.frame import Frame
from vision.hands.background import Background
from vision.hands.news import Contact, Gone, Lift, Reached
from vision.hands.watcher import HandWatcher
from vision.table import PileSpot, SeatSpot, Table

SIZE = (480, 360)
PX_PER_MM = 0.8
SPOT = Pile("spot")


def _table() -> Table:
    width, height = SIZE
    size_mm = (width / PX_PER_MM, height / PX_PER_MM)
    return Table(
        ((0.0, 0.0), (width, 0.0), (width, height), (0.0, height)),
        size_mm,
        SIZE,
        (SeatSpot(0, (size_mm[0] / 2, size_mm[1])), SeatSpot(1, (size_mm[0] / 2, 0.0))),
        (PileSpot(SPOT, (size_mm[0] / 2, size_mm[1] / 2), 55.0),),
    )


def _top(rng: np.random.Generator) -> np.ndarray:
    grain = cv2.GaussianBlur(rng.normal(0, 1, (SIZE[1], SIZE[0])).astype(np.float32), (0, 0), 9, sigmaY=1)
    return np.clip(np.array([60, 95, 70]) * (1 + 0.1 * grain[..., None] / grain.std()), 0, 255).astype(np.float32)


def _arm(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A hand and forearm pointing up, fingertips at the top: BGR and coverage, at the picture's scale."""
    cover = np.zeros((420, 120), np.uint8)
    for x, top in ((38, 22), (52, 8), (66, 8), (80, 20)):
        cv2.line(cover, (x, top), (x, 70), 255, 11)
    cv2.ellipse(cover, (59, 92), (32, 38), 0, 0, 360, 255, -1)
    cv2.fillConvexPoly(cover, np.array([(40, 115), (78, 115), (86, 420), (32, 420)]), 255)
    skin = cv2.GaussianBlur(rng.normal(0, 1, cover.shape).astype(np.float32), (0, 0), 3)
    skin = np.array([110, 140, 190]) * (1 + 0.07 * skin[..., None] / skin.std())
    return skin.astype(np.float32), cv2.GaussianBlur(cover, (0, 0), 1).astype(np.float32) / 255


def _picture(top: np.ndarray, arm: tuple[np.ndarray, np.ndarray], to_go_px: float, from_above: bool) -> np.ndarray:
    """The arm with its fingertips ``to_go_px`` before the middle."""
    y = SIZE[1] / 2 - 12 + to_go_px
    warp = np.array([[1.0, 0.0, SIZE[0] / 2 - 59], [0.0, 1.0, y]])
    shadow = cv2.warpAffine(arm[1], warp + np.array([[0, 0, 2.5], [0, 0, 1]]), SIZE)
    cover = cv2.warpAffine(arm[1], warp, SIZE)[..., None]
    colour = cv2.warpAffine(arm[0], warp, SIZE)
    here = top[::-1] if from_above else top
    out = here * (1 - 0.35 * cv2.GaussianBlur(shadow, (0, 0), 4)[..., None]) * (1 - cover) + colour * cover
    return out[::-1] if from_above else out


def _slap(fps: float, contact_s: float, seed: int, from_above: bool = False) -> list[Frame]:
    """A hand that comes at 1.6 m/s, is stopped within milliseconds, stays and leaves."""
    rng = np.random.default_rng(seed)
    top, arm = _top(rng), _arm(rng)
    speed = 1600 * PX_PER_MM
    frames = []
    for k in range(int(1.1 * fps)):
        at_s = k / fps
        before = contact_s - at_s
        going = speed * (before + 0.004) if before > 0 else speed * 0.004 * np.exp(before / 0.004)
        leaving = 1500 * PX_PER_MM * max(0.0, at_s - contact_s - 0.25)
        image = _picture(top, arm, min(going + leaving, 400.0), from_above)
        frames.append(_frame(image, rng, at_s, k))
    return frames


@pytest.mark.parametrize(
    ("fps", "contact_s", "from_above"),
    [
        pytest.param(60.0, 0.4034, False, id="sixty frames a second, from below"),
        pytest.param(60.0, 0.4101, True, id="sixty frames a second, from above"),
        pytest.param(30.0, 0.4170, False, id="thirty frames a second"),
    ],
)
def test_a_slap_is_told_in_order_and_timed_between_frames(fps: float, contact_s: float, from_above: bool) -> None:
    watcher = HandWatcher(_table())
    told = [news for frame in _slap(fps, contact_s, 5, from_above) for news in watcher.watch(frame)]
    contacts = [news for news in told if isinstance(news, Contact)]
    assert [type(news) for news in told] == [Reached, *[Contact] * len(contacts), Lift, Gone]
    assert {news.seat for news in told} == {1 if from_above else 0}
    # It may be told anew as more is seen of it, each time instead of what was told before.
    assert [each.instead_of for each in contacts] == [None, *(each.rest_ns for each in contacts[:-1])]
    contact = contacts[-1]
    assert contact.pile == SPOT
    # This arm is drawn otherwise than any that the network has seen: how sure it is counts for nothing here.
    assert abs(contact.at.at_ns / 1e9 - contact_s) < 0.25 / fps
    assert abs(contact.at.at_ns / 1e9 - contact_s) < 3 * contact.at.sd_ns / 1e9


def test_rendered_slaps_are_timed_surely_and_right() -> None:
    sure = []
    for seed in (501, 502, 503):
        clip = make_slap_clip(SlapSpec(fps=60.0, hands=2, strike=Strike.SIDEWAYS), seed)
        watcher = HandWatcher(clip.table)
        told = [contact for frame in clip.frames() for contact in _contacts(watcher, frame)]
        taken_back = {(each.hand, each.instead_of) for each in told}
        truth = {hand.seat: hand.contact_ns for hand in clip.truth.hands}
        for each in told:
            if (each.hand, each.rest_ns) not in taken_back and each.trusted:
                assert each.seat is not None
                sure.append(((each.at.at_ns - (truth[each.seat] or 0)) / 1e6, each.at.sd_ns / 1e6))
    assert len(sure) >= 5
    assert all(abs(off) < 3.5 * sd for off, sd in sure)
    assert float(np.median([abs(off) for off, _ in sure])) < 5


def _frame(image: np.ndarray, rng: np.random.Generator, at_s: float, number: int) -> Frame:
    """The picture as a camera takes it: with noise."""
    noisy = np.clip(image + rng.normal(0, 1.5, image.shape), 0, 255).astype(np.uint8)
    return Frame(round(at_s * 1e9), 0, noisy, number)


def _contacts(watcher: HandWatcher, frame: Frame) -> list[Contact]:
    return [news for news in watcher.watch(frame) if isinstance(news, Contact)]


def test_a_hand_that_is_held_over_the_pile_first_has_landed_when_it_comes_down() -> None:
    rng = np.random.default_rng(5)
    top, arm = _top(rng), _arm(rng)
    fps, down_s = 60.0, 0.75
    watcher = HandWatcher(_table())
    told = []
    for k in range(int(1.2 * fps)):
        at_s = k / fps
        # It comes over the pile, 90 mm high under a camera at 1300 mm, stops there, and falls at 1.5 m/s.
        to_go = 1200 * PX_PER_MM * max(0.0, 0.4 - at_s)
        height = min(90.0, 1500.0 * max(0.0, down_s - at_s))
        bigger = 1300 / (1300 - height)
        image = _picture(top, arm, min(to_go, 400.0), False)
        raised = np.array([[bigger, 0, SIZE[0] / 2 * (1 - bigger)], [0, bigger, 60 - 60 * bigger]])
        image = cv2.warpAffine(image, raised, SIZE, borderMode=cv2.BORDER_REPLICATE) if at_s > 0.15 else image
        told += _contacts(watcher, _frame(image, rng, at_s, k))
    last = told[-1]
    assert abs(last.at.at_ns / 1e9 - down_s) < 2.5 * last.at.sd_ns / 1e9
    assert last.at.sd_ns < 60e6
    if len(told) > 1:
        assert last.instead_of == told[-2].rest_ns


def test_an_arm_over_a_pile_hides_it() -> None:
    watcher = HandWatcher(_table())
    hidden = []
    for frame in _slap(30.0, 0.4, 7):
        watcher.watch(frame)
        hidden.append(watcher.hides(SPOT))
    assert not any(hidden[:7])
    assert all(hidden[14:19])
    assert not any(hidden[-3:])


def test_a_shadow_is_no_arm_and_a_hand_in_it_is() -> None:
    rng = np.random.default_rng(3)
    top = _top(rng)
    quiet = [np.clip(top + rng.normal(0, 1.5, top.shape), 0, 255).astype(np.uint8) for _ in range(7)]
    table = Background.of(quiet)
    ys, xs = np.mgrid[: SIZE[1], : SIZE[0]]
    soft = np.exp(-((((xs - 240) / 90.0) ** 2 + ((ys - 180) / 70.0) ** 2) ** 2))
    shaded = np.clip(top * (1 - 0.45 * soft[..., None]) + rng.normal(0, 1.5, top.shape), 0, 255).astype(np.uint8)
    assert (table.difference(shaded) > 0).mean() < 0.01
    hand = shaded.copy()
    hand[150:210, 220:260] = np.clip(np.array([90, 110, 150]) + rng.normal(0, 4, (60, 40, 3)), 0, 255)
    assert (table.difference(hand)[150:210, 220:260] > 0).mean() > 0.9


def _held_then_down(down_s: float, held_mm: float, from_s: float) -> list[Frame]:
    """A hand that slows down over the pile, waits there higher, and comes down with little way in the picture."""
    rng = np.random.default_rng(8)
    top, arm = _top(rng), _arm(rng)
    fps = 60.0
    frames = []
    for k in range(int(1.25 * fps)):
        at_s = k / fps
        slowing = np.clip((at_s - from_s) / 0.3, 0.0, 1.0)
        to_go = 400.0 * (1 - slowing) ** 3 + 4.0 * np.clip((down_s - at_s) / 0.1, 0.0, 1.0)
        # It falls ever faster and is stopped at once.
        height = held_mm * (1 - np.clip((at_s - down_s + 0.1) / 0.1, 0.0, 1.0) ** 2)
        bigger = 1300 / (1300 - height)
        image = _picture(top, arm, float(to_go), False)
        raised = np.array([[bigger, 0, SIZE[0] / 2 * (1 - bigger)], [0, bigger, 60 - 60 * bigger]])
        image = cv2.warpAffine(image, raised, SIZE, borderMode=cv2.BORDER_REPLICATE) if at_s > from_s else image
        frames.append(_frame(image, rng, at_s, k))
    return frames


@pytest.mark.parametrize(("down_s", "held_mm"), [(0.83, 70.0), (0.957, 70.0), (0.83, 100.0), (0.957, 45.0)])
def test_a_hand_that_waited_and_comes_down_with_little_way_is_told_though_not_surely(
    down_s: float, held_mm: float
) -> None:
    watcher = HandWatcher(_table())
    frames = _held_then_down(down_s, held_mm, 0.15)
    told = [contact for frame in frames for contact in _contacts(watcher, frame)]
    # All that it waited for is taken back, and what stands is when it came down.
    last = told[-1]
    standing = [each for each in told if each.rest_ns not in {other.instead_of for other in told}]
    assert standing == [last]
    assert abs(last.at.at_ns / 1e9 - down_s) < 0.04
    assert abs(last.at.at_ns / 1e9 - down_s) < 2 * last.at.sd_ns / 1e9


def test_a_hand_that_lies_there_is_not_taken_back_when_another_comes_and_goes() -> None:
    rng = np.random.default_rng(12)
    top, arm = _top(rng), _arm(rng)
    fps, first_s, other_s = 60.0, 0.4, 0.7
    watcher = HandWatcher(_table())
    told = []
    for k in range(int(1.4 * fps)):
        at_s = k / fps
        to_go = min(1600 * PX_PER_MM * max(0.0, first_s - at_s), 400.0)
        below = _picture(top, arm, to_go, False)
        # The other's fingertips come to rest on the first hand and draw back.
        others = 1600 * PX_PER_MM * max(0.0, other_s - at_s, at_s - other_s - 0.2)
        above = _picture(top, arm, min(others, 400.0) - 20, True)
        bare = top
        covered = np.abs(above - bare).max(axis=2, keepdims=True) > 12
        image = np.where(covered, above, below)
        told += _contacts(watcher, _frame(image, rng, at_s, k))
    taken_back = {(each.hand, each.instead_of) for each in told}
    standing = [each for each in told if (each.hand, each.rest_ns) not in taken_back and each.seat == 0]
    assert any(abs(each.at.at_ns / 1e9 - first_s) < 0.02 for each in standing)


def test_where_only_the_fingers_come_down_a_hand_that_came_slowly_is_told_anew() -> None:
    rng = np.random.default_rng(5)
    top, arm = _top(rng), _arm(rng)
    fps, mmps, arrives_s, down_s = 60.0, 800, 0.4, 0.75
    watcher = HandWatcher(_table())
    told = []
    for k in range(int(1.1 * fps)):
        at_s = k / fps
        to_go = min(mmps * PX_PER_MM * max(0.0, arrives_s - at_s), 400.0)
        # Until then the fingers are cocked: nearer to the camera, so farther from the wrist and bigger.
        cocked = 1 + 0.25 * np.clip((down_s - at_s) / 0.04, 0.0, 1.0)
        hand, cover = (np.array(each) for each in arm)
        wrist = 110
        for each in (hand, cover):
            raised = np.array([[cocked, 0, 59 * (1 - cocked)], [0, cocked, wrist * (1 - cocked) + 30]])
            moved = cv2.warpAffine(np.vstack([np.zeros((30, *each.shape[1:]), each.dtype), each]), raised, (120, 450))
            each[:wrist] = moved[30 : 30 + wrist] if cocked > 1 else each[:wrist]
        image = _picture(top, (hand, cover), to_go, False)
        told += _contacts(watcher, _frame(image, rng, at_s, k))
    last = told[-1]
    assert last.instead_of == told[-2].rest_ns
    assert abs(last.at.at_ns / 1e9 - down_s) < 2.5 * last.at.sd_ns / 1e9
