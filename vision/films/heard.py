"""What each condition changes in a film's sound: figures for `vision.films.effects`, and a sheet of spectra."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import signal  # type: ignore[import-untyped]  # scipy ships no types

from referee.bad_input import BadInput
from vision.films.encode import SAMPLE_RATE
from vision.films.film import FilmOrder, Shoot
from vision.sound.onsets import onsets

Wave = NDArray[np.float32]
Picture = NDArray[np.uint8]

NEAR_SLAP_S = 0.03
"""An onset this near to a slap's contact is that slap's own, or its first echo."""


def _sound(shot: Shoot) -> Wave:
    sound = shot.sound()
    if sound is None:
        raise BadInput.of("sound", "a film with sound", "a silent one")
    return sound


def _slaps_s(shot: Shoot) -> NDArray[np.float64]:
    return np.array([heard.at_s for heard in shot.script.sounds if heard.kind == "slap"])


def stray_onsets(shot: Shoot) -> float:
    """Onsets a minute that `vision.sound.onsets` finds where no slap is."""
    found = np.array([onset.at.at_ns / 1e9 for onset in onsets(_sound(shot), SAMPLE_RATE)])
    slaps = _slaps_s(shot)
    stray = [at_s for at_s in found if not len(slaps) or np.abs(slaps - at_s).min() > NEAR_SLAP_S]
    return 60 * len(stray) / shot.script.duration_s


def level_between(shot: Shoot) -> float:
    """Level between the slaps, dB of full scale."""
    sound = _sound(shot).copy()
    keep = np.ones(len(sound), bool)
    for at_s in _slaps_s(shot):
        keep[round((at_s - 0.01) * SAMPLE_RATE) : round((at_s + 0.4) * SAMPLE_RATE)] = False
    return 10 * float(np.log10(np.mean(sound[keep] ** 2)))


def slap_level(shot: Shoot) -> float:
    """Median peak of the slaps, dB of full scale."""
    sound = np.abs(_sound(shot))
    starts = [round(at_s * SAMPLE_RATE) for at_s in _slaps_s(shot)]
    peaks = [float(sound[max(0, k - 48) : k + 2400].max()) for k in starts]
    return 20 * float(np.log10(np.median(peaks)))


def reverberation(shot: Shoot) -> float:
    """Seconds in which a slap dies away by 60 dB, from its decay between 5 and 25 dB (500 to 4000 Hz)."""
    sos = signal.butter(4, (500, 4000), "bandpass", fs=SAMPLE_RATE, output="sos")
    band = signal.sosfilt(sos, _sound(shot))
    heard = np.array(sorted(sound.at_s for sound in shot.script.sounds))
    block = round(0.01 * SAMPLE_RATE)
    found = []
    for at_s in _slaps_s(shot):
        after = heard[heard > at_s + 1e-6]
        quiet_s = float(after.min() - at_s - 0.07) if len(after) else shot.script.duration_s - at_s
        start = round((at_s + 0.03) * SAMPLE_RATE)
        count = round((quiet_s - 0.03) * SAMPLE_RATE) // block
        if count < 12:
            continue
        blocks = band[start : start + count * block].reshape(-1, block)
        falls_db = 10 * np.log10(np.mean(blocks**2, axis=1) + 1e-12)
        falls_db -= falls_db[0]
        end = int(np.argmax(falls_db < -25)) if (falls_db < -25).any() else len(falls_db)
        begin = int(np.argmax(falls_db < -5))
        if end - begin >= 5:
            found.append(-60 * 0.01 / float(np.polyfit(np.arange(begin, end), falls_db[begin:end], 1)[0]))
    return float(np.median(found)) if found else float("nan")


MEASURES: dict[str, tuple[Callable[[Shoot], float], ...]] = {
    "music": (stray_onsets, level_between),
    "talk": (stray_onsets, level_between),
    "chairs": (stray_onsets,),
    "reverb": (reverberation,),
    "faint": (slap_level,),
}
"""What shows that a condition that is only heard does something."""


def spectrum(sound: Wave, name: str, size_px: tuple[int, int] = (960, 150)) -> Picture:
    """(height, width, 3) uint8 BGR: the power of a sound by time and frequency (0 to 16 kHz), 90 dB deep."""
    hop = 512
    _, _, power = signal.stft(sound, SAMPLE_RATE, nperseg=1024, noverlap=1024 - hop)
    shown = 20 * np.log10(np.abs(power[: round(16000 / SAMPLE_RATE * 1024)]) + 1e-7)[::-1]
    grey = np.clip((shown + 110) / 90 * 255, 0, 255).astype(np.uint8)
    coloured = cv2.applyColorMap(cv2.resize(grey, size_px, interpolation=cv2.INTER_AREA), cv2.COLORMAP_INFERNO)
    cv2.putText(coloured, name, (8, 22), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (255, 255, 255), 1, cv2.LINE_AA)
    return np.asarray(coloured, np.uint8)


def main() -> int:
    """Write the sheet of spectra, `datasets/films/sounds.jpg`: the same 24 seconds under every condition."""
    if len(sys.argv) != 2:
        raise BadInput.of("heard", "a picture's name, like sounds.jpg", " ".join(sys.argv[1:]) or "none")
    rows = []
    for name in ("clean", *MEASURES):
        shot = Shoot(FilmOrder("snap", 7, seconds=24.0, size_px=(320, 180), condition=name, players=2))
        rows.append(spectrum(_sound(shot), name))
    cv2.imwrite(str(Path(sys.argv[1])), np.concatenate(rows), [cv2.IMWRITE_JPEG_QUALITY, 80])
    return 0


if __name__ == "__main__":
    sys.exit(main())
