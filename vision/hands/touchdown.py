"""When a hand touched down, by both witnesses: the network that reads its lane, and the arm that was followed."""

from __future__ import annotations

import math
from dataclasses import replace

from referee.instant import Instant
from vision.hands.landing import ABSENT, Landing
from vision.hands.timing import Timed

#: An instant is doubted by so much for each part of the probability that the hand did not land yet, beyond the first
#: few hundredths: it may only be held there, and land later.
_ABSENT_FREE, _LATER_NS = 0.03, 300_000_000
#: Of slower pictures than the network was trained on, 30 a second, a share of what their step is longer.
_LONGEST_STEP_NS, _STEP_SHARE = 36_000_000.0, 0.5
#: An instant is trusted up to this doubt.
TRUSTED_SD_NS = 15_000_000
#: What nothing times is known so well at best.
_ROUGH_NS, _LOST_NS = 40_000_000, 90_000_000
#: How often what was followed is another arm or movement: where it passed its own check, and where it did not; what it
#: says is doubted by so much more, where it did not (its own wide doubt says just that) beside so much at most. Set on
#: 173 contacts of 60 development clips at 60 fps, by likelihood, as is what is added to every doubt.
_ASTRAY, _MORE_NS = 0.4, 3_000_000
_UNCHECKED_ASTRAY, _UNCHECKED_MORE_NS, _UNCHECKED_NS = 0.9, 6_000_000, 8_000_000
_DOUBT_NS = 1_500_000
#: Where an arm that passed its check stopped farther than this from what its lane says, neither is believed. That is
#: rare (4 of 109 contacts); but of arms such as the network never saw it may be the network that is wrong.
_APART_NS = 20_000_000

HELD = "it is held there, or lay there before"
DISAGREE = "its lane and its arm say different moments"
TWICE = "it came down twice, or was held there first"
OPEN = "when it landed is not seen clearly"


def is_sure(landing: Landing | None) -> bool:
    """Whether the network alone says surely that, and when, a hand landed."""
    return landing is not None and landing.absent < ABSENT and _doubted(landing, landing.instant()) < TRUSTED_SD_NS


def _doubted(landing: Landing, at: Instant) -> float:
    """The instant's doubt with that of a hand that may only be held there, ns."""
    slow_ns = _STEP_SHARE * max(0.0, landing.step_ns - _LONGEST_STEP_NS)
    return math.hypot(at.sd_ns, _DOUBT_NS, slow_ns, _LATER_NS * max(0.0, landing.absent - _ABSENT_FREE))


def by_both(timed: Timed, landing: Landing | None) -> Timed:
    """The contact that was followed, corrected by what the network reads; without that as it is."""
    if landing is None:
        rough = max(timed.at.sd_ns, 0 if timed.trusted else _ROUGH_NS)
        return replace(timed, at=Instant(timed.at.at_ns, rough))
    if landing.absent > ABSENT:
        rough = max(timed.at.sd_ns, _ROUGH_NS if timed.kink is not None else _LOST_NS)
        return replace(timed, at=Instant(timed.at.at_ns, rough), trusted=False, reason=HELD)
    at = landing.instant(*_followed(timed))
    at = Instant(at.at_ns, round(_doubted(landing, at)))
    apart_ns = abs(timed.at.at_ns - at.at_ns)
    if timed.trusted and apart_ns > max(_APART_NS, 3 * math.hypot(at.sd_ns, timed.at.sd_ns)):
        at = Instant(at.at_ns, max(at.sd_ns, apart_ns // 2))
        return replace(timed, at=at, trusted=False, reason=DISAGREE)
    trusted = at.sd_ns < TRUSTED_SD_NS
    if timed.kink is not None and apart_ns > 3 * math.hypot(at.sd_ns, timed.at.sd_ns):
        timed = _unfollowed(timed)  # it was another arm
    return replace(timed, at=at, trusted=trusted, reason="" if trusted else OPEN)


def _unfollowed(timed: Timed) -> Timed:
    return replace(timed, kink=None, followed=timed.followed[:0], moved_mm=timed.moved_mm[:0], likeness=0.0)


def _followed(timed: Timed) -> tuple[Instant | None, float]:
    """What the arm that was followed says, and the probability that it was another arm or another movement."""
    if timed.kink is None:
        return None, 1.0
    if timed.trusted:
        return Instant(timed.at.at_ns, round(math.hypot(timed.at.sd_ns, _MORE_NS))), _ASTRAY
    sd_ns = math.hypot(min(timed.at.sd_ns, _UNCHECKED_NS), _UNCHECKED_MORE_NS)
    return Instant(timed.at.at_ns, round(sd_ns)), _UNCHECKED_ASTRAY
