"""The program that opens a video nobody vouches for: it runs as a process of its own, which can be killed.

It is started by `vision.sources.video` as ``python -m vision.sources.decoding``; its first line of input is a
JSON object (path, limits, where to put pictures). Pictures go into shared memory, all else through its
standard output, one message after another (see `MESSAGE`). It ends when its input does: with its parent.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import struct
import sys
import threading
from collections.abc import Iterator
from typing import Any, BinaryIO

import av
import av.error
import numpy as np
from av.stream import Disposition
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

from vision.sources.stamps import to_ns

#: What phones, cameras and recorders write. Playlists, image sequences and network formats are not among them.
FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg"
CODECS = (
    "h264,hevc,av1,libdav1d,vp8,libvpx,vp9,libvpx-vp9,mpeg4,mpeg2video,mpeg1video,mjpeg,prores,ffv1,rawvideo,h263,"
    "aac,mp3,mp3float,mp2,mp2float,opus,libopus,vorbis,flac,alac,ac3,eac3,pcm_s16le,pcm_s16be,pcm_s24le,pcm_s32le,"
    "pcm_f32le,pcm_u8,pcm_mulaw,pcm_alaw,adpcm_ima_wav,amrnb,amrwb"
)

#: Android's recorders write the camera's own rate under this key. Apple's keep true times and write none.
CAPTURE_RATE = "com.android.capture.fps"

#: kind (one letter), slot or length, stamp, stamp is known, width, height, rate.
MESSAGE = struct.Struct("<c i q ? i i i")
INFO, PICTURE, SOUND, END, REFUSED = b"I", b"P", b"S", b"E", b"X"

#: A file with more broken packets than this share has lost too much to be judged by.
MOST_BROKEN = 0.05
ENOUGH_BROKEN = 5
#: The header's promise is held when no more than this is missing at the end.
END_TOLERANCE_S = 0.5


class Refused(Exception):
    """The file can't be used; the message says what was expected and what came."""


def main() -> int:
    """Decode what the first line of input asks for."""
    request = json.loads(sys.stdin.buffer.readline())
    _cap(request)
    slots = threading.Semaphore(request["slots"])
    threading.Thread(target=_listen, args=(sys.stdin.buffer, slots), daemon=True).start()
    out = sys.stdout.buffer
    try:
        _decode(request, slots, out)
    except Refused as refused:
        _say(out, REFUSED, str(refused).encode())
    except MemoryError:
        expected = f"a video that is decoded within {request['memory_mb']} MB"
        _say(out, REFUSED, f"expected {expected}, got one that needs more".encode())
    except av.error.FFmpegError as error:
        _say(out, REFUSED, f"expected a video that can be decoded, got {_reason(error)}".encode())
    except BrokenPipeError:
        return 1
    except Exception as error:  # whatever a hostile file brings the libraries to raise: the file is the cause
        _say(out, REFUSED, f"expected a video that can be decoded, got {type(error).__name__}: {error}"[:200].encode())
    return 0


def _cap(request: dict[str, Any]) -> None:
    av.logging.set_level(None)
    with contextlib.suppress(ImportError):  # Windows has no such limits; the time caps hold there too
        import resource

        memory = request["memory_mb"] << 20
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _listen(source: BinaryIO, slots: threading.Semaphore) -> None:
    """Each byte that comes gives a slot back; the end of the input means that the parent is gone."""
    while source.read(1):
        slots.release()
    os._exit(1)


def _say(out: BinaryIO, kind: bytes, data: bytes = b"", **fields: int) -> None:
    names = ("slot", "stamp", "known", "width", "height", "rate")
    slot, stamp, known, width, height, rate = (fields.get(name, 0) for name in names)
    out.write(MESSAGE.pack(kind, len(data) if data else slot, stamp, bool(known), width, height, rate))
    out.write(data)
    out.flush()


def _reason(error: BaseException) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).splitlines()[0][:120].lower()


def _decode(request: dict[str, Any], slots: threading.Semaphore, out: BinaryIO) -> None:
    path = request["path"]
    options = {"format_whitelist": FORMATS, "codec_whitelist": CODECS, "protocol_whitelist": "file"}
    try:
        container = av.open(path, options=options)
    except av.error.FFmpegError as error:
        raise Refused(f"expected a video (MP4, MOV, MKV, WebM, AVI, TS), got {_reason(error)}") from error
    with container:
        video = next((stream for stream in container.streams.video if not _is_cover(stream)), None)
        if video is None:
            held = "sound only" if container.streams.audio else "no pictures in it"
            raise Refused(f"expected a video, got {held}")
        context = video.codec_context
        if context is None:
            raise Refused("expected a whole header, got one that does not say how the pictures are stored")
        width, height = context.width, context.height
        if width * height == 0:
            raise Refused("expected pictures of a known size, got none")
        if width * height > request["max_pixels"]:
            raise Refused(f"expected pictures of at most {request['max_pixels']} pixels, got {width}x{height}")
        # As an option of the codec: as one of the container it does nothing.
        context.options = {"max_pixels": str(request["max_pixels"])}
        context.thread_count = request["threads"]
        audio = container.streams.audio[0] if container.streams.audio and request["sound"] else None
        _check_whole(video, os.path.getsize(path))
        promised_s = _promised_s(container, video)
        if promised_s is not None and promised_s > request["max_seconds"]:
            raise Refused(f"expected at most {request['max_seconds']:.0f} s of video, got {promised_s:.0f} s")
        writer = _Writer(request, slots, out, video, audio, _recorded_hz(container, video))
        streams = [video] if audio is None else [video, audio]
        for packet in container.demux(streams):
            writer.take(packet)
        writer.finish(promised_s)


def _is_cover(stream: Any) -> bool:
    return bool(stream.disposition & Disposition.attached_pic)


def _check_whole(video: Any, file_bytes: int) -> None:
    """Refuse a file whose own index points past its end: it was cut off while copied or recorded."""
    entries = video.index_entries
    if entries is None or not len(entries):
        return
    last = max(entry.pos + entry.size for entry in (entries[0], entries[-1]))
    if last > file_bytes:
        raise Refused(f"expected a whole file of at least {last} bytes, got {file_bytes}: it is cut off")


def _promised_s(container: Any, video: Any) -> float | None:
    if video.duration and video.time_base:
        return float(video.duration * video.time_base)
    return container.duration / av.time_base if container.duration else None


def _recorded_hz(container: Any, video: Any) -> float | None:
    """Pictures a second as the camera took them, where the file says that it plays slowed down or sped up."""
    for tags in (container.metadata, video.metadata):
        with contextlib.suppress(KeyError, ValueError):
            rate = float(tags[CAPTURE_RATE])
            if 0.01 <= rate <= 100_000:
                return rate
    return None


class _Writer:
    """Decodes packets and hands pictures and sound over."""

    def __init__(
        self,
        request: dict[str, Any],
        slots: threading.Semaphore,
        out: BinaryIO,
        video: Any,
        audio: Any,
        recorded_hz: float | None,
    ) -> None:
        self._recorded_hz = recorded_hz
        self._request, self._slots, self._out = request, slots, out
        self._video, self._audio = video, audio
        self._reformatter = VideoReformatter()
        self._next_slot = 0
        self._size: tuple[int, int] | None = None
        self._memory: mmap.mmap | None = None
        self._packets = self._broken = self._pictures = 0
        self._first_s: float | None = None
        self._last_s = 0.0
        self._resampler = av.AudioResampler(format="flt", layout="mono") if audio is not None else None

    def take(self, packet: Any) -> None:
        self._packets += packet.size > 0
        try:
            decoded = packet.decode()
        except av.error.InvalidDataError:
            self._broken += 1
            if self._broken > ENOUGH_BROKEN and self._broken > MOST_BROKEN * self._packets:
                got = f"{self._broken} of {self._packets} broken"
                raise Refused(f"expected a video with sound packets, got {got}") from None
            return
        for frame in decoded:
            if isinstance(frame, av.VideoFrame):
                self._picture(frame)
            else:
                self._heard(frame)

    def finish(self, promised_s: float | None) -> None:
        if self._pictures == 0:
            raise Refused("expected a video, got not one picture in it")
        shown_s = self._last_s - (self._first_s or 0.0)
        if promised_s is not None and shown_s < promised_s - max(END_TOLERANCE_S, 0.05 * promised_s):
            expected = f"{promised_s:.1f} s of video as its header says"
            raise Refused(f"expected {expected}, got {shown_s:.1f} s: it is cut off")
        _say(self._out, END, json.dumps({"pictures": self._pictures, "broken": self._broken}).encode())

    def _picture(self, frame: Any) -> None:
        # One reformatter and one thread: by default every picture starts threads of its own.
        plain = self._reformatter.reformat(frame, format="bgr24", threads=1)
        image = upright(np.asarray(plain.to_ndarray(), dtype=np.uint8), _display_matrix(frame))
        height, width = image.shape[:2]
        if self._size is None:
            self._begin(width, height)
        elif self._size != (width, height):
            expected = f"{self._size[0]}x{self._size[1]}"
            raise Refused(f"expected every picture to be {expected} as the first one, got {width}x{height}")
        assert self._memory is not None
        self._slots.acquire()
        offset = self._next_slot * image.nbytes
        place = np.frombuffer(self._memory, np.uint8, image.nbytes, offset).reshape(image.shape)
        place[:] = image
        if frame.pts is not None:
            self._last_s = float(frame.pts * frame.time_base)
            self._first_s = self._last_s if self._first_s is None else self._first_s
            if self._last_s - self._first_s > self._request["max_seconds"]:
                raise Refused(f"expected at most {self._request['max_seconds']:.0f} s of video, got more")
        known = frame.pts is not None
        _say(self._out, PICTURE, slot=self._next_slot, stamp=frame.pts or 0, known=known, width=width, height=height)
        self._next_slot = (self._next_slot + 1) % self._request["slots"]
        self._pictures += 1

    def _begin(self, width: int, height: int) -> None:
        """The first picture tells the real size: say what the video is, and make room for pictures."""
        self._size = (width, height)
        video, audio = self._video, self._audio
        rate = video.average_rate or video.guessed_rate
        info = {
            "width": width,
            "height": height,
            "time_base": [video.time_base.numerator, video.time_base.denominator],
            "rate": [rate.numerator, rate.denominator] if rate else None,
            "codec": video.codec_context.name,
            "pictures": video.frames,
            "duration_s": float(video.duration * video.time_base) if video.duration else None,
            "sound": audio is not None,
            "recorded_hz": self._recorded_hz,
        }
        with open(self._request["memory"], "r+b") as file:
            length = self._request["slots"] * width * height * 3
            file.truncate(length)
            self._memory = mmap.mmap(file.fileno(), length)
        _say(self._out, INFO, json.dumps(info).encode())

    def _heard(self, frame: Any) -> None:
        assert self._resampler is not None
        for part in self._resampler.resample(frame):
            samples = np.ascontiguousarray(part.to_ndarray().reshape(-1), np.float32)
            if not len(samples):
                continue
            pts, base = part.pts, part.time_base
            known = pts is not None and base is not None
            # In nanoseconds at once: the resampler's time base is not the stream's.
            stamp = to_ns(pts, base) if pts is not None and base is not None else 0
            _say(self._out, SOUND, samples.tobytes(), stamp=stamp, known=known, rate=part.sample_rate)


def _display_matrix(frame: Any) -> tuple[int, int, int, int] | None:
    """a, b, c, d of the matrix that says how the picture is to be shown; None: as it is stored."""
    for side in frame.side_data:
        if str(side.type).endswith("DISPLAYMATRIX"):
            a, b, _, c, d = np.frombuffer(bytes(side), np.int32)[:5].tolist()
            return a, b, c, d
    return None


def upright(image: NDArray[np.uint8], matrix: tuple[int, int, int, int] | None) -> NDArray[np.uint8]:
    """The picture as it is meant to be seen: quarter turns and mirroring by the display matrix.

    The matrix takes a stored point (p, q) to (a·p + c·q, b·p + d·q).
    """
    if matrix is None:
        return image
    a, b, c, d = matrix
    if abs(a) + abs(d) >= abs(b) + abs(c):
        across, down = a, d
    else:
        image = image.transpose(1, 0, 2)
        across, down = c, b
    image = image[:: -1 if down < 0 else 1, :: -1 if across < 0 else 1]
    return np.ascontiguousarray(image)


def messages(source: BinaryIO) -> Iterator[tuple[bytes, tuple[int, int, bool, int, int, int], bytes]]:
    """What the parent reads: kind, the numbers, and the data if any; ends where the stream does."""
    while len(head := source.read(MESSAGE.size)) == MESSAGE.size:
        kind, slot, *rest = MESSAGE.unpack(head)
        data = source.read(slot) if kind in (INFO, SOUND, END, REFUSED) else b""
        yield kind, (slot, *rest), data


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)
