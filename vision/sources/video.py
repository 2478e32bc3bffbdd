"""Video files: pictures and sound with the stream's own times, decoded in a process that can be killed."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO

import numpy as np

from referee.bad_input import BadInput
from vision.frame import Frame
from vision.sources import decoding
from vision.sources.pieces import Piece, Sound
from vision.sources.stamps import SECOND_NS, StampReader


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a video may ask of this machine."""

    max_pixels: int = 40_000_000
    """Of one picture: an 8K camera has 33 million."""
    max_seconds: float = 6 * 3600.0
    """Of playing time."""
    stall_s: float = 20.0
    """Of waiting for the next picture or stretch of sound: a phone's 4K takes a tenth of a second."""
    memory_mb: int = 3072
    """Of the decoding process's whole address space, of which an 8K picture's buffers take most."""


@dataclass(frozen=True, slots=True)
class VideoInfo:
    """What a video's header says; ``size_px`` as the picture is meant to be seen."""

    size_px: tuple[int, int]
    rate_hz: float | None
    time_base: Fraction
    codec: str
    duration_ns: int | None
    pictures: int
    """As the header counts them, 0 where it doesn't."""
    has_sound: bool
    slowed: float = 1.0
    """How many times slower the file plays than it was recorded; all times here are the recording's."""


#: A file whose own rate and the camera's differ by less than this share plays at the speed it was recorded.
SAME_SPEED = 0.2
#: Beyond these nobody slows down or speeds up a recording; a wrong number is more likely.
_SLOWEST, _FASTEST = 100.0, 0.01


class VideoFile:
    """A video file, opened: an iterator of frames and sound, once through.

    ::

        with VideoFile("game.mp4") as video:
            for piece in video:
                ...
    """

    #: Pictures decoded ahead; a moment's work of whoever takes them is bridged by so many.
    SLOTS = 6

    def __init__(
        self,
        path: Path | str,
        limits: Limits | None = None,
        *,
        sound: bool = True,
        threads: int = 1,
        recorded_hz: float | None = None,
    ) -> None:
        """Start decoding; `BadInput` where the file is no video that can be used.

        ``sound`` False leaves the audio out. ``threads``: how many the decoder may use. ``recorded_hz``: how many
        pictures a second the camera took, where the file plays slowed down; None: as the file says, if it does.
        """
        self.path = Path(path)
        _must_be_a_file(self.path)
        self._limits = limits or Limits()
        self._memory: mmap.mmap | None = None
        self._messages: queue.Queue[tuple[bytes, tuple[int, int, bool, int, int, int], bytes] | None]
        # Bounded by the slots for pictures; sound is small, and this keeps a stream of only sound in check.
        self._messages = queue.Queue(256)
        # In memory where the system has such a place, so that pictures never touch a disk.
        folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
        with tempfile.NamedTemporaryFile(prefix="palmreader-", dir=folder, delete=False) as file:
            self._memory_path: str | None = file.name
        request = {
            "path": str(self.path.resolve()),
            "sound": sound,
            "slots": self.SLOTS,
            "threads": threads,
            "memory": self._memory_path,
            **asdict(self._limits),
        }
        self._stopped = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "vision.sources.decoding"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": _import_path()},
        )
        try:
            self._send(json.dumps(request).encode() + b"\n")
            assert self._process.stdout is not None
            self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
            self._reader.start()
            self._waiting: list[Sound] = []
            self.info = self._open(recorded_hz)
        except BaseException:
            self.close()
            raise
        assert self.info is not None
        # Stamps are read as the file has them, and told as they were recorded.
        rate_hz = self.info.rate_hz / self.info.slowed if self.info.rate_hz else 30.0
        step_ns = round(SECOND_NS / rate_hz)
        self._stamps = StampReader(self.info.time_base, step_ns, name=self.path.name)

    def __enter__(self) -> VideoFile:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the decoding process."""
        self.close()

    def __iter__(self) -> Iterator[Piece]:
        """Pictures and sound as the stream has them."""
        yield from self._waiting
        self._waiting = []
        index = 0
        width, height = self.info.size_px
        while True:
            kind, (slot, stamp, known, *_, rate), data = self._next()
            if kind == decoding.PICTURE:
                at_ns, sd_ns = (self._recorded(ns) for ns in self._stamps.read(stamp if known else None))
                assert self._memory is not None
                length = width * height * 3
                view = np.frombuffer(self._memory, np.uint8, length, slot * length)
                image = view.reshape(height, width, 3).copy()
                del view
                self._send(b".")
                yield Frame(at_ns, sd_ns, image, index)
                index += 1
            elif kind == decoding.SOUND:
                sound = self._sound(stamp, known, rate, data)
                if sound is not None:
                    yield sound
            elif kind == decoding.END:
                return

    def close(self) -> None:
        """End the decoding process and give its memory back; more than once does no harm."""
        self._stopped = True
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._forget_path()
        if self._memory is not None:
            with contextlib.suppress(BufferError):
                self._memory.close()
            self._memory = None

    # --- the other side ----------------------------------------------------------------------------

    def _recorded(self, ns: int) -> int:
        """A time of the file's as it was when it was recorded."""
        return ns if self.info.slowed == 1.0 else round(ns / self.info.slowed)

    def _open(self, recorded_hz: float | None) -> VideoInfo:
        sounds: list[tuple[int, bool, int, bytes]] = []
        while True:
            kind, (_, stamp, known, *_, rate), data = self._next()
            if kind == decoding.SOUND:
                sounds.append((stamp, known, rate, data))
            elif kind == decoding.INFO:
                break
        raw = json.loads(data)
        with open(self._memory_path or "", "r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)
        self._forget_path()
        rate = raw["rate"]
        rate_hz = rate[0] / rate[1] if rate else None
        slowed = _slowed(self.path.name, rate_hz, recorded_hz, raw["recorded_hz"])
        self.info = VideoInfo(
            size_px=(raw["width"], raw["height"]),
            rate_hz=rate_hz * slowed if rate_hz else None,
            time_base=Fraction(*raw["time_base"]),
            codec=raw["codec"],
            duration_ns=None if raw["duration_s"] is None else round(raw["duration_s"] * SECOND_NS / slowed),
            pictures=raw["pictures"],
            has_sound=raw["sound"],
            slowed=slowed,
        )
        self._waiting = [each for each in (self._sound(*sound) for sound in sounds) if each is not None]
        return self.info

    _last_sound_ns: int = 0

    def _sound(self, stamp_ns: int, known: bool, rate: int, data: bytes) -> Sound | None:
        """A stretch without a stamp follows the one before it; None where it was slowed beyond what sound can be."""
        rate_hz = round(rate * self.info.slowed)
        if not 1000 <= rate_hz <= 400_000:
            return None
        at_ns = self._recorded(stamp_ns) if known else self._last_sound_ns
        sound = Sound(at_ns, rate_hz, np.frombuffer(data, np.float32))
        self._last_sound_ns = sound.end_ns
        return sound

    def _read(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(ValueError, OSError):  # closed under its hands by close()
            for message in decoding.messages(pipe):  # type: ignore[arg-type]  # a pipe reads like any file
                while not self._stopped:
                    try:
                        self._messages.put(message, timeout=0.5)
                        break
                    except queue.Full:
                        continue
                if self._stopped:
                    return
        with contextlib.suppress(queue.Full):
            self._messages.put(None, timeout=1.0)

    def _next(self) -> tuple[bytes, tuple[int, int, bool, int, int, int], bytes]:
        try:
            message = self._messages.get(timeout=self._limits.stall_s)
        except queue.Empty:
            self.close()
            expected = f"a picture within {self._limits.stall_s:g} s"
            raise BadInput.of(self.path.name, expected, "none: decoding was ended") from None
        if message is None:
            self.close()
            raise BadInput.of(self.path.name, "a video that can be decoded", "the end of the decoding process")
        if message[0] == decoding.REFUSED:
            self.close()
            raise BadInput(f"{self.path.name}: {message[2].decode(errors='replace')}")
        return message

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended: its last messages say why
            self._process.stdin.write(data)
            self._process.stdin.flush()

    def _forget_path(self) -> None:
        if self._memory_path is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._memory_path)
            self._memory_path = None


def _slowed(name: str, rate_hz: float | None, asked_hz: float | None, said_hz: float | None) -> float:
    """How many times slower a file plays than it was recorded: as asked for, else as it says itself, else not."""
    recorded_hz = asked_hz if asked_hz is not None else said_hz
    if recorded_hz is None or rate_hz is None:
        return 1.0
    slowed = recorded_hz / rate_hz
    if asked_hz is not None:
        if not _FASTEST <= slowed <= _SLOWEST:
            expected = f"{_FASTEST * rate_hz:g} to {_SLOWEST * rate_hz:g} pictures a second for {name}"
            raise BadInput.of("recorded fps", expected, f"{asked_hz:g}")
        return slowed
    return slowed if abs(slowed - 1) > SAME_SPEED and _FASTEST <= slowed <= _SLOWEST else 1.0


def _must_be_a_file(path: Path) -> None:
    if path.is_dir():
        raise BadInput.of(str(path), "a video file", "a folder")
    try:
        if not path.is_file():
            raise BadInput.of(str(path), "a video file", "no such file" if not path.exists() else "something else")
        if path.stat().st_size == 0:
            raise BadInput.of(str(path), "a video file", "an empty file")
        with path.open("rb"):
            pass
    except OSError as error:
        raise BadInput.of(str(path), "a video file", error.strerror or type(error).__name__) from None


def _import_path() -> str:
    """So that the child finds this very package, from wherever it is run."""
    here = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
