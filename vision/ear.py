"""Keeps the last seconds of sound, and says what was struck in a stretch of them."""

from __future__ import annotations

from collections import deque

from referee.instant import Instant
from vision.sound.onsets import onsets
from vision.sources.pieces import Sound, joined

#: Kept for asking back: a slap is asked about within a second or two.
KEEP_NS = 8_000_000_000
#: Heard before and after the stretch asked for, so that the room's own noise is known.
AROUND_NS = 400_000_000


class Ear:
    """Hears a source's sound as it comes."""

    def __init__(self) -> None:
        """Nothing is heard yet."""
        self._kept: deque[Sound] = deque()

    @property
    def until_ns(self) -> int | None:
        """Up to when there is sound; None where there was none at all."""
        return self._kept[-1].end_ns if self._kept else None

    def hear(self, sound: Sound) -> None:
        """Take the next stretch."""
        self._kept.append(sound)
        while self._kept[0].end_ns < sound.at_ns - KEEP_NS:
            self._kept.popleft()

    def sound(self, from_ns: int, to_ns: int) -> Sound | None:
        """What is still kept of a stretch, whole pieces; None: nothing."""
        return joined(s for s in tuple(self._kept) if s.end_ns > from_ns and s.at_ns < to_ns)

    def struck(self, from_ns: int, to_ns: int) -> tuple[Instant, ...]:
        """The onsets between two moments of the sound's own clock."""
        sound = self.sound(from_ns - AROUND_NS, to_ns + AROUND_NS)
        if sound is None:
            return ()
        found = onsets(sound.samples, sound.rate_hz, sound.at_ns)
        return tuple(onset.at for onset in found if from_ns <= onset.at.at_ns <= to_ns)
