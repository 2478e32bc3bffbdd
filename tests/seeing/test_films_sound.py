"""What is heard in films: slaps on their sample on every table, voices, chairs, music and the room."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from scipy import signal

from referee.games.hit_the_deck import CALL
from referee.games.snap import SNAP
from vision.films import heard
from vision.films.conditions import CONDITIONS, ONLY_HEARD, condition
from vision.films.encode import SAMPLE_RATE
from vision.films.film import FilmOrder, Shoot, make_film
from vision.films.music import music
from vision.films.script import Sound
from vision.films.soundtrack import CHAIRS, SURFACES, chair, slap, soundtrack, surface_of
from vision.films.table_talk import SENTENCES
from vision.films.voices import VOICES, can_speak, murmured, spoken
from vision.sound.onsets import onsets

speaks = pytest.mark.skipif(not can_speak(), reason="espeak-ng is not installed")


@pytest.mark.parametrize("reverb_s", [0.35, 1.3])
@pytest.mark.parametrize("surface", list(SURFACES))
def test_a_slap_is_heard_on_its_sample_on_every_table(surface: str, reverb_s: float) -> None:
    """By plain threshold, and by the watcher's own onsets, to a tenth of a millisecond."""
    at_s = [0.61237, 1.28411, 1.93702]
    sounds = [Sound(each, "slap", gain, 0.0) for each, gain in zip(at_s, (1.0, 0.5, 1.3), strict=True)]
    sound = soundtrack(sounds, 2.6, np.random.default_rng(5), surface=surface, reverb_s=reverb_s)
    high = np.abs(signal.sosfilt(signal.butter(2, 2000, "highpass", fs=SAMPLE_RATE, output="sos"), sound))
    found = np.array([onset.at.at_ns / 1e9 for onset in onsets(sound, SAMPLE_RATE)])
    for each in at_s:
        start = round(each * SAMPLE_RATE) - 480
        window = high[start : start + 960]
        plain_s = (start + int(np.argmax(window > 0.35 * window.max()))) / SAMPLE_RATE
        assert abs(plain_s - each) < 1e-4
        assert np.abs(found - each).min() < 1e-4


def test_a_table_top_has_its_own_sound() -> None:
    assert [surface_of(top) for top in ("oak", "pine", "cloth-blue", "cloth-green", "patterned")] == [
        "wood", "softwood", "cloth", "felt", "cloth",
    ]  # fmt: skip
    rings = {}
    for surface in SURFACES:
        wave = slap(np.random.default_rng(2), surface)
        rings[surface] = float(np.sum(wave[2400:] ** 2) / np.sum(wave**2))
    assert sorted(rings, key=lambda name: rings[name]) == ["felt", "cloth", "wood", "softwood"]


@lru_cache
def _figure(name: str, measure: int) -> tuple[float, float]:
    """(clean, changed) of one of the condition's figures."""
    made = [
        Shoot(FilmOrder("snap", 7, seconds=24, size_px=(160, 120), condition=c, players=2)) for c in ("clean", name)
    ]
    figure = heard.MEASURES[name][measure]
    return figure(made[0]), figure(made[1])


@pytest.mark.parametrize(
    ("name", "measure", "at_least"),
    [
        pytest.param("music", 0, 60.0, id="music strikes"),
        pytest.param("music", 1, 10.0, id="music is loud"),
        pytest.param("talk", 0, 15.0, id="talk triggers onsets"),
        pytest.param("chairs", 0, 30.0, id="chairs trigger onsets"),
    ],
)
def test_what_is_heard_beside_slaps_is_measured(name: str, measure: int, at_least: float) -> None:
    clean, changed = _figure(name, measure)
    assert changed - clean > at_least


def test_the_room_dies_away_as_long_as_it_says() -> None:
    clean, changed = _figure("reverb", 0)
    assert clean == pytest.approx(CONDITIONS["clean"].reverb_s, abs=0.12)
    assert changed == pytest.approx(CONDITIONS["reverb"].reverb_s, rel=0.2)


def test_a_far_microphone_hears_slaps_fainter() -> None:
    clean, changed = _figure("faint", 0)
    assert changed - clean == pytest.approx(CONDITIONS["faint"].gain_db, abs=3)


def test_sounds_join_with_each_other_and_with_pictures() -> None:
    joined = condition("music+talk+chairs+reverb+dim")
    for field in ("music", "talk", "chairs", "reverb_s", "level"):
        assert getattr(joined, field) != getattr(CONDITIONS["clean"], field)
    assert set(ONLY_HEARD) <= set(CONDITIONS)


def test_the_truth_names_who_says_what_and_when_chairs_are_moved(tmp_path: Path) -> None:
    path = tmp_path / "talk.mp4"
    order = FilmOrder("snap", 3, seconds=9, size_px=(160, 120), fps=5, condition="talk+chairs+music")
    make_film(order, path)
    lines = [json.loads(line) for line in path.with_suffix(".truth.jsonl").read_text().splitlines()]
    sounds = [line for line in lines if line.get("what") == "sound"]
    talk = [line for line in sounds if line["sound"] == "talk"]
    assert {line["words"] for line in talk} <= set(SENTENCES)
    assert len({line["seat"] for line in talk}) > 1
    assert any(line["sound"] in CHAIRS for line in sounds)
    film = next(line for line in lines if line.get("what") == "film")
    assert film["surface"] in SURFACES
    assert film["music"] > 0
    assert film["voices"] in ("espeak-ng", "murmured")


def test_a_sound_track_is_the_same_twice() -> None:
    order = FilmOrder("snap", 5, seconds=8, size_px=(160, 120), condition="music+talk+chairs")
    first, second = (Shoot(order) for _ in range(2))
    sound = first.sound()
    assert sound is not None
    assert np.array_equal(sound, first.sound())  # type: ignore[arg-type]  # a film with sound
    assert np.array_equal(sound, second.sound())  # type: ignore[arg-type]


def test_nobody_says_a_games_phrase_in_passing() -> None:
    assert not [said for said in SENTENCES if SNAP in said.lower() or CALL in said.lower()]


@speaks
def test_the_same_call_is_another_sound_in_every_voice_and_begins_at_once() -> None:
    calls = [spoken("Snap!", voice, shouted=True) for voice in VOICES]
    assert all(call is not None and len(call) > 0.15 * SAMPLE_RATE for call in calls)
    for i, one in enumerate(calls):
        assert one is not None
        begins = np.flatnonzero(np.abs(one) > 0.02)[0]
        assert begins < 0.012 * SAMPLE_RATE
        for other in calls[i + 1 :]:
            assert other is not None
            assert len(one) != len(other) or not np.allclose(one, other, atol=0.05)


def test_without_a_synthesiser_people_murmur_and_nobody_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    spoken.cache_clear()
    assert not can_speak()
    assert spoken("Snap!", VOICES[0]) is None
    short, long = (murmured(words, VOICES[1]) for words in ("Nice one.", "She said she would come after dinner."))
    assert len(long) > 2 * len(short) > 0.5 * SAMPLE_RATE
    sounds = [Sound(0.5, "call", 1.0, 0.0, "Snap!", 0)]
    assert np.abs(soundtrack(sounds, 2.0, np.random.default_rng(1))).max() < 0.03
    sounds = [Sound(0.5, "talk", 1.0, 0.0, "Mind the cup.", 0)]
    assert np.abs(soundtrack(sounds, 2.0, np.random.default_rng(1))).max() > 0.2
    spoken.cache_clear()


@pytest.mark.parametrize("kind", CHAIRS)
def test_a_chair_is_heard_and_dies_away(kind: str) -> None:
    wave = chair(kind, np.random.default_rng(4))
    assert np.abs(wave).max() == pytest.approx(1.0, abs=1e-3)
    assert np.abs(wave[-48:]).max() < 0.2


def test_music_has_the_loudness_asked_for_and_every_seed_its_own() -> None:
    one, other = (music(4.0, np.random.default_rng(seed)) for seed in (1, 2))
    assert float(np.sqrt(np.mean(one**2))) == pytest.approx(1.0, rel=0.3)
    assert not np.allclose(one, other)
