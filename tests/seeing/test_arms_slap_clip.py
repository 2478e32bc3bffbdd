"""Slap clips: what the truth says is in the pixels, the stamps and the sound."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
from scipy import signal

from referee.bad_input import BadInput
from vision.films.arms import ReadOut, paint_arm, paint_shadow
from vision.films.encode import SAMPLE_RATE, Encoding
from vision.films.kinematics import HELD_OUT, NO_CONTACT, NOT_NOMINAL, Family, Strike
from vision.films.slap_clip import SlapClip, make_slap_clip
from vision.films.slap_effects import CONDITIONS, effects
from vision.films.slap_paint import Painter
from vision.films.slap_spec import SlapSpec

PLAIN = SlapSpec(fps=120, hands=1, strike=Strike.SIDEWAYS, noise=0.8, shutter_s=1 / 500, px_per_mm=1.0, sound=False)


def _changes(clip: SlapClip) -> tuple[np.ndarray, np.ndarray]:
    """Between each two frames: the middle of their stamps, s, and how much of the picture changed."""
    stamps, changes, last = [], [], None
    for frame in clip.frames():
        small = frame.image[::2, ::2].astype(np.int16)
        if last is not None:
            moved = np.abs(small - last[1]).max(axis=2) > 18
            stamps.append((frame.at_ns + last[0]) / 2e9)
            changes.append(float(moved.mean()))
        last = (frame.at_ns, small)
    return np.array(stamps), np.array(changes)


@pytest.mark.parametrize("seed", [3, 7])
def test_the_picture_comes_to_rest_at_the_truths_contact(seed: int) -> None:
    clip = make_slap_clip(PLAIN, seed)
    (hand,) = clip.truth.hands
    at, changes = _changes(clip)
    contact = (hand.contact_ns or 0) / 1e9
    before = changes[(at > contact - 0.03) & (at < contact)].mean()
    resting = changes[(at > contact + 0.13) & (at < hand.lifts_ns / 1e9)]
    assert resting.max() < 0.1 * before
    moving = at[(changes > 0.5 * before) & (at < hand.lifts_ns / 1e9 - 0.01)]
    assert moving.max() == pytest.approx(contact, abs=0.018)


def test_the_same_seed_gives_the_same_clip_and_another_one_another() -> None:
    spec = replace(PLAIN, fps=30, shutter_s=1 / 100)
    one, same, other = (list(make_slap_clip(spec, seed).frames()) for seed in (8, 8, 9))
    assert len(one) == len(same)
    assert all(np.array_equal(a.image, b.image) and a.at_ns == b.at_ns for a, b in zip(one, same, strict=True))
    assert not np.array_equal(one[-30].image, other[-30].image)


def test_hands_are_where_the_table_says() -> None:
    """The pile's cards lie under the pile's place; the arm comes in from its own seat's side."""
    clip = make_slap_clip(replace(PLAIN, hands=2, fps=30), 11)
    table = clip.table
    (pile,) = table.piles
    frames = list(clip.rendered())
    first = frames[0].image.astype(np.int16)
    for hand in clip.truth.hands:
        # Just after it has come in and before any other: the change is on the seat's side of the pile.
        seat = next(spot for spot in table.seats if spot.seat == hand.seat)
        at = min(frames, key=lambda frame: abs(frame.at_ns - hand.lifts_ns)).image
        moved = np.abs(at.astype(np.int16) - first).max(axis=2) > 25
        ys, xs = np.nonzero(moved)
        mm = table.to_mm(np.column_stack([xs, ys]).astype(np.float64))
        towards = np.array(seat.at_mm) - np.array(pile.at_mm)
        towards /= np.linalg.norm(towards)
        along = (mm - np.array(pile.at_mm)) @ towards
        aside = np.abs((mm - np.array(pile.at_mm)) @ np.array([-towards[1], towards[0]]))
        assert ((along > 110) & (aside < 110)).sum() > 800


def test_sound_starts_at_contact_plus_the_clips_delay() -> None:
    spec = replace(PLAIN, sound=True, hands=3, gaps_s=(0.08, 0.11), sound_delay_s=0.037, sound_drift=50e-6)
    clip = make_slap_clip(spec, 21)
    audio = clip.audio
    assert audio is not None
    sharp = np.abs(signal.sosfilt(signal.butter(4, 4000, "highpass", fs=SAMPLE_RATE, output="sos"), audio))
    for hand in clip.truth.hands:
        heard = ((hand.contact_ns or 0) / 1e9 * (1 + spec.sound_drift) + spec.sound_delay_s) * SAMPLE_RATE
        at = round(heard)
        quiet = sharp[at - 240 : at - 3].max()
        onset = at - 6 + int(np.argmax(sharp[at - 6 : at + 60] > 2.0 * quiet))
        assert abs(onset - heard) / SAMPLE_RATE < 0.0001


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_a_coded_clip_keeps_every_stamp(codec: str, tmp_path: Path) -> None:
    spec = replace(
        PLAIN, fps=30, shutter_s=1 / 200, variable_rate=0.2, dropped=0.05, encoding=Encoding(codec, 26, "ultrafast")
    )
    clip = make_slap_clip(replace(spec, sound=True), 5)
    frames = list(clip.frames())
    assert tuple(frame.at_ns for frame in frames) == clip.pts_ns
    assert len(set(np.diff(clip.pts_ns) // 1_000_000)) > 3
    path = tmp_path / "clip.mp4"
    assert clip.write(path) == len(frames)
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stamps = [float(frame.pts * stream.time_base) for frame in container.decode(stream) if frame.pts is not None]
        assert container.streams.audio
    assert np.abs(np.array(stamps) * 1e9 - np.array(clip.pts_ns)).max() < 10_000


def test_lost_frames_are_missing_or_repeat_the_one_before() -> None:
    spec = replace(PLAIN, fps=60, dropped=0.3)
    clip = make_slap_clip(spec, 6)
    frames = list(clip.frames())
    steps = np.diff([frame.at_ns for frame in frames])
    assert (steps > 1.5e9 / 60).any()
    same = [np.array_equal(a.image, b.image) for a, b in itertools.pairwise(frames)]
    assert 3 < sum(same) < len(frames) / 2


def test_hands_at_exactly_the_margin_asked_for() -> None:
    clip = make_slap_clip(replace(PLAIN, hands=3, gaps_s=(0.010, 0.020)), 4)
    contacts = [hand.contact_ns or 0 for hand in clip.truth.hands]
    assert np.diff(contacts) == pytest.approx([10_000_000, 20_000_000], abs=2)
    assert len(clip.truth.order) == 3


def test_later_hands_lie_on_earlier_ones() -> None:
    clip = make_slap_clip(replace(PLAIN, hands=4, family=Family.HAND_ON_HAND), 2)
    hands = clip.truth.hands
    assert max(hand.layer for hand in hands) >= 2
    for number, hand in enumerate(hands):
        for under in hand.lies_on:
            assert under < number
            assert hand.layer > hands[under].layer
            assert hands[under].lifts_ns >= hand.lifts_ns


def test_one_player_may_use_both_hands() -> None:
    clip = make_slap_clip(replace(PLAIN, hands=3, family=Family.TWO_HANDS), 1)
    seats = [hand.seat for hand in clip.truth.hands]
    twice = next(seat for seat in seats if seats.count(seat) == 2)
    assert {hand.left for hand in clip.truth.hands if hand.seat == twice} == {True, False}
    assert len(clip.truth.order) == 2


def test_families_without_contact_have_hands_without_contact() -> None:
    for family in NO_CONTACT:
        clip = make_slap_clip(replace(PLAIN, hands=3, family=family), 1)
        assert any(hand.contact_ns is None for hand in clip.truth.hands)


def test_drawn_specs_never_open_what_is_held_out() -> None:
    rng = np.random.default_rng(0)
    easy = [SlapSpec.drawn(rng) for _ in range(300)]
    hard = [SlapSpec.drawn(rng, nominal=False) for _ in range(300)]
    assert not any(spec.held_out for spec in easy + hard)
    assert not any(spec.family in NOT_NOMINAL or spec.dropped for spec in easy)
    harder = ("lens_k1", "shake_px", "jolt_px", "exposure_steps", "flicker", "talk", "music", "knocks")
    assert not any(getattr(spec, name) for spec in easy for name in harder)
    assert all(40 < sum(getattr(spec, name) != 0 for spec in hard) < 200 for name in harder)
    assert {spec.family for spec in hard} == set(Family) - HELD_OUT
    assert any(not spec.read_out_known for spec in hard)
    opened = [SlapSpec.drawn(rng, held_out=True) for _ in range(200)]
    assert {spec.family for spec in opened} >= HELD_OUT
    assert {spec.mesh_hands for spec in opened} == {True, False}
    assert not any(spec.mesh_hands for spec in easy + hard)


def test_nonsense_is_refused_all_at_once() -> None:
    with pytest.raises(BadInput, match=r"hands: expected 1 to 12, got 0; shutter_s: expected at most"):
        SlapSpec(hands=0, shutter_s=0.1, read_out=ReadOut())


@pytest.mark.parametrize("along_x", [False, True])
@pytest.mark.parametrize("read_out_s", [0.0, 0.012])
def test_clips_are_painted_as_arms_are_painted_by_themselves(along_x: bool, read_out_s: float) -> None:
    """The clips' fast painter puts every line of a hand where the plain one does, in the midst of a strike."""
    spec = replace(PLAIN, shutter_s=1 / 400, read_out_s=read_out_s, read_out=ReadOut(along_x=along_x))
    clip = make_slap_clip(spec, 3)
    (visitor,) = clip._visitors()
    motion, size = visitor.motion, spec.size_px
    base = np.full((size[1], size[0], 3), 120, np.uint8)
    for at_s in (motion.arrives_s - 0.02, motion.arrives_s + 0.001, motion.lifts_s + 0.05):
        (fast,) = Painter(base, clip._camera, clip._light, (visitor,), spec).pictures([at_s])
        exposed = at_s + ((np.arange(40) + 0.5) / 40 - 0.5) * spec.shutter_s
        delays = spec.read_out.delays(size) * read_out_s if read_out_s else np.zeros(1)
        places = motion.places(exposed[:, None] + delays)
        plain = base.astype(np.float32)
        read_out = spec.read_out if read_out_s else None
        paint_shadow(plain, visitor.sprite, places, clip._camera, clip._light, read_out=read_out)
        paint_arm(plain, visitor.sprite, places, clip._camera, read_out)
        off = np.abs(fast - plain)
        assert (np.abs(plain - 120) > 20).mean() > 0.05
        assert off.mean() < 0.6
        assert np.percentile(off, 99.5) < 9


# How codecs, stamps and brightness change a clip is checked above; these are only told of in the table.
_ELSEWHERE = {"H.264, 18", "H.264, 34", "HEVC, 20", "HEVC, 34", "lost frames", "uneven time", "off-sync", "dim"}


@pytest.mark.parametrize("name", sorted(set(CONDITIONS) - _ELSEWHERE))
def test_each_condition_changes_what_is_seen_or_heard(name: str) -> None:
    for effect in effects(name):
        least = 3.0 if "dB" in effect.what else 0.25 * max(abs(effect.plain), abs(effect.changed))
        assert abs(effect.changed - effect.plain) > least, effect


def test_a_lens_leaves_the_pile_where_the_table_says() -> None:
    """The table's corners lie outside the picture; they are told so that the pile is found, to a few millimetres."""
    straight, bent = (make_slap_clip(replace(PLAIN, lens_k1=k1), 3).table for k1 in (0.0, -0.14))
    (pile,) = straight.piles
    at = straight.to_px(np.array([pile.at_mm]))
    assert bent.to_mm(at)[0] == pytest.approx(pile.at_mm, abs=6.0)
