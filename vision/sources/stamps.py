"""From the stamps that a stream's pictures carry to times that never run backward, with their doubt."""

from __future__ import annotations

import math
from fractions import Fraction

from referee.bad_input import BadInput

SECOND_NS = 1_000_000_000

#: A clip with more faulty stamps than this has no clock to judge slaps by. One in ten, once there are enough to tell.
MOST_FAULTY = 0.1
ENOUGH_FAULTY = 10
#: A stamp this far behind the one before is no reordered or repeated picture but another recording's clock.
RESTART_NS = SECOND_NS
#: A step forward longer than this is no pause of a camera that still runs.
LONGEST_GAP_NS = 600 * SECOND_NS


def to_ns(pts: int, time_base: Fraction) -> int:
    """A stamp in integer nanoseconds: ``pts × time_base``, rounded to the nearest; halves up."""
    return (2 * pts * time_base.numerator * SECOND_NS + time_base.denominator) // (2 * time_base.denominator)


class StampReader:
    """Turns stamps into (at_ns, sd_ns), one picture after another.

    A good stamp is taken as it is; its doubt is what the time base rounds away (a step ÷ √12). A missing,
    repeated or backward one is put where it must lie, with a doubt of a whole picture's time.
    """

    def __init__(self, time_base: Fraction, usual_step_ns: int, *, name: str = "video") -> None:
        """``usual_step_ns``: the time from picture to picture that the stream's header promises."""
        if time_base <= 0:
            raise BadInput.of(f"{name}: time base", "a unit of time above 0", time_base)
        self._time_base = time_base
        self._step_ns = max(1, usual_step_ns)
        self._rounded_ns = math.ceil(float(time_base) * SECOND_NS / math.sqrt(12))
        self._name = name
        self._last_ns: int | None = None
        self._read = 0
        self.faulty = 0
        """How many stamps were missing, repeated or ran backward."""

    def read(self, pts: int | None) -> tuple[int, int]:
        """When the next picture was taken, and the doubt, both in integer nanoseconds."""
        self._read += 1
        last = self._last_ns
        at_ns = None if pts is None else to_ns(pts, self._time_base)
        if last is None:
            self._last_ns = 0 if at_ns is None else at_ns
            return self._last_ns, self._rounded_ns if at_ns is not None else self._fault()
        if at_ns is not None and at_ns < last - RESTART_NS:
            got = f"a jump back by {(last - at_ns) / 1e9:.3f} s"
            raise BadInput.of(f"{self._name}: times", "times that go on", got)
        if at_ns is not None and at_ns > last + LONGEST_GAP_NS:
            raise BadInput.of(f"{self._name}: times", "times that go on", f"a gap of {(at_ns - last) / 1e9:.0f} s")
        if at_ns is not None and at_ns > last:
            # The step seen is the best guess of what a missing stamp would have said.
            self._step_ns += (min(at_ns - last, 4 * self._step_ns) - self._step_ns) // 8
            self._last_ns = at_ns
            return at_ns, self._rounded_ns
        doubt_ns = self._fault()
        # Half a step on: before where the next good stamp will lie, and never in the past.
        self._last_ns = last + max(1, self._step_ns if at_ns is None else self._step_ns // 2)
        return self._last_ns, doubt_ns

    def _fault(self) -> int:
        self.faulty += 1
        if self.faulty > ENOUGH_FAULTY and self.faulty > MOST_FAULTY * self._read:
            got = f"{self.faulty} of {self._read} missing, repeated or running backward"
            raise BadInput.of(f"{self._name}: times", "pictures that say when they were taken", got)
        return self._step_ns
