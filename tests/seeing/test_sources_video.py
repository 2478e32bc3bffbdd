"""Video files: the stream's own times, upright pictures, sound on the same clock, and bad files in one line."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from referee.bad_input import BadInput
from vision.sources.mirrored import unmirrored
from vision.sources.pieces import Sound, frames, joined
from vision.sources.video import Limits, VideoFile

TICK = Fraction(1, 90_000)
SIZE = (160, 96)


def film(
    path: Path,
    stamps: list[int] | None = None,
    *,
    turn: int | None = None,
    click_s: float | None = None,
    size: tuple[int, int] = SIZE,
    codec: str = "libx264",
    recorded_hz: float | None = None,
) -> Path:
    """A clip whose picture n has brightness 4 n + 40, a white square in its top left corner, and a click."""
    stamps = [3000 * n for n in range(30)] if stamps is None else stamps
    # Android's recorders keep the camera's rate among the file's own keys.
    options = {} if recorded_hz is None else {"movflags": "use_metadata_tags"}
    with av.open(str(path), "w", options=options) as out:
        if recorded_hz is not None:
            out.metadata["com.android.capture.fps"] = f"{recorded_hz:.6f}"
        video = out.add_stream(codec, rate=30)
        video.width, video.height = size
        video.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        video.time_base = video.codec_context.time_base = TICK
        if turn is not None:
            video.set_display_rotation(turn)
        audio = None
        if click_s is not None:
            audio = out.add_stream("aac", rate=48_000)
            audio.layout = "mono"
        for n, pts in enumerate(stamps):
            image = np.full((size[1], size[0], 3), min(240, 40 + 4 * n), np.uint8)
            image[:32, :32] = 255
            frame = av.VideoFrame.from_ndarray(image, format="bgr24")
            frame.pts, frame.time_base = pts, TICK
            out.mux(video.encode(frame))
        out.mux(video.encode())
        if audio is not None and click_s is not None:
            samples = np.zeros(48_000, np.float32)
            samples[round(click_s * 48_000) :][:12] = 0.9
            for start in range(0, len(samples), 1024):
                block = av.AudioFrame.from_ndarray(samples[None, start : start + 1024], format="fltp", layout="mono")
                block.rate, block.pts, block.time_base = 48_000, start, Fraction(1, 48_000)
                out.mux(audio.encode(block))
            out.mux(audio.encode())
    return path


def test_times_are_the_streams_own(tmp_path: Path) -> None:
    """A phone's uneven rate, and a start that is not zero: no index ÷ fps anywhere."""
    stamps = [22_500, 25_500, 28_700, 31_000, 40_000, 41_500]
    with VideoFile(film(tmp_path / "a.mp4", stamps)) as video:
        seen = list(frames(video))
    assert [frame.at_ns for frame in seen] == [round(pts * 10**9 / 90_000) for pts in stamps]
    assert [frame.index for frame in seen] == list(range(6))
    brightness = [int(frame.image[60, 100, 0]) for frame in seen]
    assert np.allclose(np.diff(brightness), 4, atol=1)


@pytest.mark.parametrize(
    ("turn", "corner", "size"),
    [
        pytest.param(None, (0, 0), (160, 96), id="as stored"),
        pytest.param(90, (-1, 0), (96, 160), id="a quarter turn counter-clockwise"),
        pytest.param(-90, (0, -1), (96, 160), id="a quarter turn clockwise"),
        pytest.param(180, (-1, -1), (160, 96), id="upside down"),
    ],
)
def test_a_turned_phone_gives_upright_pictures(
    tmp_path: Path, turn: int | None, corner: tuple[int, int], size: tuple[int, int]
) -> None:
    with VideoFile(film(tmp_path / "a.mp4", turn=turn)) as video:
        assert video.info.size_px == size
        image = next(frames(video)).image
    inset = [8 if place == 0 else -8 for place in corner]
    assert image[inset[0], inset[1], 0] > 240
    assert image.shape[:2] == size[::-1]


@pytest.mark.parametrize(
    ("said", "asked", "slowed"),
    [
        pytest.param(240.0, None, 8.0, id="as the file says"),
        pytest.param(None, 240.0, 8.0, id="as a person says"),
        pytest.param(30.2, None, 1.0, id="at the speed it was recorded"),
        pytest.param(240.0, 120.0, 4.0, id="a person knows better than the file"),
        pytest.param(None, None, 1.0, id="nobody says"),
    ],
)
def test_slow_motion_is_told_in_the_recordings_time(
    tmp_path: Path, said: float | None, asked: float | None, slowed: float
) -> None:
    path = film(tmp_path / "a.mp4", recorded_hz=said, click_s=0.5)
    with VideoFile(path, recorded_hz=asked) as video:
        assert video.info.slowed == pytest.approx(slowed, rel=1e-6)
        assert video.info.rate_hz == pytest.approx(30 * slowed, rel=0.01)
        pieces = list(video)
    stamps = [frame.at_ns for frame in frames(pieces)]
    assert np.diff(stamps) == pytest.approx(1e9 / 30 / slowed, rel=1e-3)
    sound = joined(pieces)
    assert sound is not None
    click_ns = sound.at_ns + int(np.abs(sound.samples).argmax()) * 10**9 // sound.rate_hz
    assert abs(click_ns - 500_000_000 / slowed) < 1_000_000


def test_a_rate_that_no_camera_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"recorded fps: expected .* pictures a second for a\.mp4, got 90000"):
        VideoFile(film(tmp_path / "a.mp4"), recorded_hz=90_000.0)


def test_a_mirrored_clip_is_put_right(tmp_path: Path) -> None:
    with VideoFile(film(tmp_path / "a.mp4", click_s=0.5)) as video:
        pieces = list(unmirrored(video))
    image = next(frames(pieces)).image
    assert image[8, -8, 0] > 240
    assert image[8, 8, 0] < 200
    assert joined(pieces) is not None


def test_sound_lies_on_the_pictures_clock(tmp_path: Path) -> None:
    with VideoFile(film(tmp_path / "a.mp4", click_s=0.5)) as video:
        sound = joined(video)
    assert sound is not None
    click_ns = sound.at_ns + int(np.abs(sound.samples).argmax()) * 10**9 // sound.rate_hz
    assert abs(click_ns - 500_000_000) < 1_000_000


def test_joined_sound_keeps_gaps() -> None:
    ones = np.ones(100, np.float32)
    sound = joined([Sound(0, 1000, ones), Sound(150_000_000, 1000, ones)])
    assert sound is not None
    assert len(sound.samples) == 250
    assert sound.samples[100:150].max() == 0
    assert sound.end_ns == 250_000_000


def test_a_video_left_half_read_leaves_no_process_and_no_memory(tmp_path: Path) -> None:
    video = VideoFile(film(tmp_path / "a.mp4"))
    next(frames(video))
    process = video._process
    video.close()
    video.close()
    assert process.poll() is not None


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
def test_the_decoding_process_dies_with_its_parent(tmp_path: Path) -> None:
    path = film(tmp_path / "a.mp4", [3000 * n for n in range(200)])
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time; from vision.sources.video import VideoFile\n"
            "video = VideoFile(sys.argv[1]); print(video._process.pid, flush=True); time.sleep(60)",
            str(path),
        ],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and _runs(child):
        time.sleep(0.05)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False


def _text(path: Path) -> None:
    path.write_text("not a video\n" * 20)


def _playlist(path: Path) -> None:
    film(path.with_name("real.mp4"))
    path.write_text("ffconcat version 1.0\nfile real.mp4\n")


def _hls(path: Path) -> None:
    film(path.with_name("real.mp4"))
    path.write_text("#EXTM3U\n#EXTINF:1,\nreal.mp4\n#EXT-X-ENDLIST\n")


def _audio(path: Path) -> None:
    with av.open(str(path), "w") as out:
        audio = out.add_stream("aac", rate=48_000)
        audio.layout = "mono"
        block = av.AudioFrame.from_ndarray(np.zeros((1, 48_000), np.float32), format="fltp", layout="mono")
        block.rate, block.pts = 48_000, 0
        out.mux(audio.encode(block))
        out.mux(audio.encode())


def _cut_in_the_header(path: Path) -> None:
    film(path)
    path.write_bytes(path.read_bytes()[:-300])


def _cut_in_the_pictures(path: Path) -> None:
    """Its header comes first, as phones and the web write it, and the rest is missing."""
    film(path.with_name("slow.mp4"), [3000 * n for n in range(120)])
    slow = str(path.with_name("slow.mp4"))
    with av.open(slow) as whole, av.open(str(path), "w", options={"movflags": "faststart"}) as out:
        copy = out.add_stream_from_template(whole.streams.video[0])
        for packet in whole.demux(video=0):
            if packet.dts is not None:
                packet.stream = copy
                out.mux(packet)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])


def _huge(path: Path) -> None:
    film(path, [0, 3000], size=(1280, 720))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        pytest.param(_text, "expected a video .*, got invalid data", id="a text file"),
        pytest.param(lambda path: path.write_bytes(b""), "expected a video file, got an empty file", id="zero bytes"),
        pytest.param(lambda path: None, "expected a video file, got no such file", id="a missing file"),
        pytest.param(lambda path: path.mkdir(), "expected a video file, got a folder", id="a folder"),
        pytest.param(_playlist, "expected a video .*, got invalid", id="a playlist of ffmpeg's"),
        pytest.param(_hls, "expected a video .*, got invalid", id="a playlist of the web's"),
        pytest.param(_audio, "expected a video, got sound only", id="sound without pictures"),
        pytest.param(_cut_in_the_header, "expected ", id="cut off in its header"),
        pytest.param(_cut_in_the_pictures, "expected a whole file of at least .* it is cut off", id="cut off after it"),
        pytest.param(_huge, "expected pictures of at most 100000 pixels, got 1280x720", id="too many pixels"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(tmp_path: Path, make: object, says: str) -> None:
    path = tmp_path / "bad.mp4"
    make(path)
    with pytest.raises(BadInput, match=says) as caught, VideoFile(path, Limits(max_pixels=100_000)) as video:
        list(video)
    assert "\n" not in str(caught.value)
    assert "bad.mp4" in str(caught.value)


def test_a_long_video_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="expected at most 0 s of video, got 1 s"):
        VideoFile(film(tmp_path / "a.mp4"), Limits(max_seconds=0.4))


def test_a_decoder_that_needs_too_much_memory_is_ended(tmp_path: Path) -> None:
    path = film(tmp_path / "a.mp4", size=(1920, 1080))
    with pytest.raises(BadInput, match=r"a.mp4: expected a video"), VideoFile(path, Limits(memory_mb=90)) as video:
        list(video)


def test_a_process_that_stalls_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe in place of a file never gives a byte: the wait has an end."""
    with VideoFile(film(tmp_path / "a.mp4"), Limits(stall_s=0.5)) as video:
        # Nobody gives slots back, as if decoding the next picture took for ever.
        monkeypatch.setattr(video, "_send", lambda data: None)
        with pytest.raises(BadInput, match=r"expected a picture within 0\.5 s, got none: decoding was ended"):
            list(video)
        assert video._process.poll() is not None


@pytest.mark.parametrize("place", range(0, 100, 9))
def test_a_damaged_file_is_read_or_refused_never_a_traceback(tmp_path: Path, place: int) -> None:
    path = film(tmp_path / "a.mp4", [3000 * n for n in range(40)])
    data = bytearray(path.read_bytes())
    rng = np.random.default_rng(place)
    start = len(data) * place // 100
    for _ in range(30):
        data[min(len(data) - 1, start + int(rng.integers(len(data) // 9)))] = int(rng.integers(256))
    path.write_bytes(bytes(data))
    times: list[int] = []
    said = ""
    try:
        with VideoFile(path, Limits(stall_s=5)) as video:
            times = [frame.at_ns for frame in frames(video)]
    except BadInput as bad:
        said = str(bad)
    assert times == sorted(set(times))
    assert bool(times) != bool(said)
    assert "\n" not in said
