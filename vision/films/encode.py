"""Films as files: pictures with exact times and sound, encoded through PyAV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE = 48_000
SOUND_BITS = 192_000
"""Bits a second: at 96,000 one slap in twenty is smeared by up to 1.8 ms; at this rate and twice it, of 24 isolated
slaps on hard wood three still were by 0.1 to 1.0 ms: the encoder's blocks, not its bits."""
CLOCK = 90_000
"""Ticks a second of the films' own clock: any common frame rate is a whole number of them."""
CODECS = {"h264": "libx264", "hevc": "libx265", "mjpeg": "mjpeg"}
"""What films can be squeezed with, and the encoder that does it."""
PRESETS = ("ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow")
"""Of libx264 and libx265. superfast takes half the time of veryfast, and twice the bytes for the same rate factor."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the pictures are squeezed."""

    codec: str = "h264"
    quality: int = 24
    """The constant rate factor of x264 and x265, 18 hides nothing, 34 is a bad phone; for MJPEG four times its
    quantiser, so that 8 is the best there is and 36 shows blocks."""
    preset: str = "superfast"


def ticks(at_s: float) -> int:
    """The film clock's nearest tick."""
    return round(at_s * CLOCK)


def ns(tick: int) -> int:
    """A tick in nanoseconds, as the truth writes it."""
    return round(tick * 1_000_000_000 / CLOCK)


def write_film(
    path: Path,
    pictures: Iterable[tuple[int, NDArray[np.uint8]]],
    size_px: tuple[int, int],
    fps: float,
    sound: NDArray[np.float32] | None,
    encoding: Encoding,
    tags: Sequence[tuple[str, str]] = (),
) -> int:
    """Write pictures ((height·1.5, width) uint8 I420, with their ticks) and sound; returns how many pictures.

    The file appears under its name only when it is whole.
    """
    part = path.with_name(path.name + ".part")
    count = 0
    try:
        with av.open(str(part), "w", format="mp4", options={"movflags": "+faststart"}) as container:
            for key, value in tags:
                container.metadata[key] = value
            video = _video_stream(container, size_px, fps, encoding)
            voice = None
            if sound is not None:
                voice = container.add_stream("aac", rate=SAMPLE_RATE, layout="mono")
                voice.bit_rate = SOUND_BITS
            for tick, picture in pictures:
                frame = av.VideoFrame.from_ndarray(picture, format="yuv420p")
                frame.pts, frame.time_base = tick, Fraction(1, CLOCK)
                for packet in video.encode(frame):
                    container.mux(packet)
                count += 1
            for packet in video.encode(None):
                container.mux(packet)
            if voice is not None and sound is not None:
                _write_sound(container, voice, sound)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return count


def _video_stream(container: Any, size_px: tuple[int, int], fps: float, encoding: Encoding) -> Any:
    options: dict[str, str] = {}
    if encoding.codec in ("h264", "hevc"):
        options = {"crf": str(encoding.quality), "preset": encoding.preset}
        if encoding.codec == "hevc":
            options["x265-params"] = "log-level=error"
    video = container.add_stream(CODECS[encoding.codec], rate=Fraction(fps).limit_denominator(1001), options=options)
    video.width, video.height = size_px
    video.pix_fmt = "yuvj420p" if encoding.codec == "mjpeg" else "yuv420p"
    video.time_base = Fraction(1, CLOCK)
    video.codec_context.time_base = Fraction(1, CLOCK)
    if encoding.codec == "mjpeg":
        video.codec_context.qmin = video.codec_context.qmax = max(2, encoding.quality // 4)
    else:
        video.codec_context.thread_count = 2
        video.codec_context.gop_size = max(12, round(2 * fps))
    return video


def _write_sound(container: Any, voice: Any, sound: NDArray[np.float32]) -> None:
    chunk = 1024
    for start in range(0, len(sound), chunk):
        piece = np.ascontiguousarray(sound[start : start + chunk], np.float32)[None, :]
        frame = av.AudioFrame.from_ndarray(piece, format="fltp", layout="mono")
        frame.sample_rate = SAMPLE_RATE
        frame.pts, frame.time_base = start, Fraction(1, SAMPLE_RATE)
        for packet in voice.encode(frame):
            container.mux(packet)
    for packet in voice.encode(None):
        container.mux(packet)
