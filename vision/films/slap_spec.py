"""What a rendered slap is to be like: rate, shutter, hands, kind of strike, family, noise and sound."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from referee.bad_input import BadInput
from vision.films.arms import ReadOut
from vision.films.encode import Encoding
from vision.films.kinematics import HELD_OUT, NOT_NOMINAL, Family, Strike
from vision.films.tables import TOPS

RATES = (30, 60, 120, 240)
_AT_MOST = {
    "variable_rate": 1.0, "dropped": 0.9, "shake_px": 10.0, "jolt_px": 10.0, "exposure_steps": 0.8, "flicker": 0.8,
    "talk": 2.0, "music": 2.0, "knocks": 20.0,
}  # fmt: skip
ORDINARY_TOPS = tuple(top for top in TOPS if top != "patterned")


@dataclass(frozen=True, slots=True)
class SlapSpec:
    """One clip of hands that come to a pile; everything else is drawn from the clip's seed."""

    fps: float = 60.0
    hands: int = 2
    strike: Strike | None = Strike.SIDEWAYS
    """None: each hand strikes in its own way."""
    family: Family = Family.STRAIGHT
    mesh_hands: bool = False
    """Hands of the mesh sheet: the kind of hand that is kept from all development."""
    shutter_s: float = 1 / 250
    read_out_s: float = 0.0
    """A rolling shutter's time from first to last line; 0 is a global shutter."""
    read_out: ReadOut = field(default_factory=ReadOut)
    read_out_known: bool = True
    """Whether the product may be told the read-out time."""
    variable_rate: float = 0.0
    """How much the interval between frames varies, as a share."""
    dropped: float = 0.0
    """Share of frames that are missing or repeat the one before."""
    noise: float = 1.6
    """Standard deviation at mid grey, steps of 255."""
    level: float = 1.0
    """Brightness beside a well-exposed picture."""
    top: str = "oak"
    tilt_deg: float = 4.0
    size_px: tuple[int, int] = (640, 360)
    px_per_mm: float = 1.1
    lens_k1: float = 0.0
    """Radial distortion (Brown), the picture's half diagonal being 1: negative is a barrel."""
    shake_px: float = 0.0
    """How far a camera held by hand sways, one standard deviation a coordinate."""
    jolt_px: float = 0.0
    """How far the camera's stand is shaken by a hand that lands hard."""
    exposure_steps: float = 0.0
    """How much the automatic exposure and white balance change at most, as a share of the brightness."""
    flicker: float = 0.0
    """Depth of the lamp's flicker at twice the mains' frequency."""
    encoding: Encoding | None = None
    """None: frames come as rendered, without a codec."""
    sound: bool = True
    sound_delay_s: float = 0.0
    sound_drift: float = 0.0
    talk: float = 0.0
    """How loud people talk, beside a good slap."""
    music: float = 0.0
    """How loud music plays: root mean square, where full scale is 1."""
    knocks: float = 0.0
    """Cups put down, knuckles and dropped things, a second: clicks that no hand on the pile made."""
    gaps_s: tuple[float, ...] | None = None
    """Between one hand's contact and the next's; None draws them."""
    nominal: bool = True
    """Global shutter or known row time, no drops, ordinary light, a family that makes contact."""

    def __post_init__(self) -> None:
        """Say all that is wrong, not the first thing."""
        wrong = []
        if not 10 <= self.fps <= 1000:
            wrong.append(f"fps: expected 10 to 1000, got {self.fps}")
        if not 1 <= self.hands <= 12:
            wrong.append(f"hands: expected 1 to 12, got {self.hands}")
        if not 0 < self.shutter_s <= 1 / self.fps:
            wrong.append(f"shutter_s: expected at most a frame's time, 1/{self.fps:g}, got {self.shutter_s}")
        if not 0 <= self.read_out_s <= 0.05:
            wrong.append(f"read_out_s: expected 0 to 0.05, got {self.read_out_s}")
        if not abs(self.lens_k1) <= 0.14:  # beyond it a corner of the picture would show no place at all
            wrong.append(f"lens_k1: expected -0.14 to 0.14, got {self.lens_k1}")
        for name, most in _AT_MOST.items():
            if not 0 <= getattr(self, name) <= most:
                wrong.append(f"{name}: expected 0 to {most:g}, got {getattr(self, name)}")
        if self.gaps_s is not None and len(self.gaps_s) != self.hands - 1:
            wrong.append(f"gaps_s: expected {self.hands - 1} gaps for {self.hands} hands, got {len(self.gaps_s)}")
        if wrong:
            raise BadInput("; ".join(wrong))

    @property
    def held_out(self) -> bool:
        """Its family or its kind of hand is kept from all development."""
        return self.mesh_hands or self.family in HELD_OUT

    @classmethod
    def drawn(
        cls,
        rng: np.random.Generator,
        *,
        fps: float | None = None,
        hands: int | None = None,
        strike: Strike | None = None,
        family: Family | None = None,
        nominal: bool = True,
        held_out: bool = False,
        coded: bool = True,
        gaps_s: tuple[float, ...] | None = None,
    ) -> SlapSpec:
        """Draw a clip's conditions.

        `nominal` keeps to ordinary ones. `held_out` False never draws a family that is left out of development
        (asking for one by name opens it).
        """
        rate = float(fps if fps is not None else rng.choice(RATES))
        families = [
            each for each in Family if (held_out or each not in HELD_OUT) and not (nominal and each in NOT_NOMINAL)
        ]
        chosen = family if family is not None else families[rng.integers(len(families))]
        count = hands if hands is not None else int(rng.choice([2, 3, 4, 5, 6], p=[0.4, 0.25, 0.2, 0.1, 0.05]))
        if chosen is Family.TWO_HANDS:
            count = max(count, 2)
        rolling = rng.random() < 0.6
        shutter = float(np.exp(rng.uniform(np.log(1 / 1000), np.log(1 / 50))))
        spec = cls(
            fps=rate,
            hands=count,
            strike=strike if strike is not None else list(Strike)[rng.choice(4, p=[0.4, 0.3, 0.2, 0.1])],
            family=chosen,
            mesh_hands=bool(held_out and rng.random() < 0.3),
            shutter_s=min(shutter, 0.98 / rate),
            read_out_s=float(min(rng.uniform(0.002, 0.030), 0.95 / rate)) if rolling else 0.0,
            read_out=ReadOut(along_x=bool(rng.random() < 0.5), backwards=bool(rng.random() < 0.5)),
            noise=float(rng.uniform(0.8, 3.0)),
            top=str(rng.choice(ORDINARY_TOPS)),
            tilt_deg=float(rng.uniform(0, 12)),
            px_per_mm=float(rng.uniform(1.0, 1.2)),
            encoding=_encoding(rng, (18, 27)) if coded else None,
            sound=bool(rng.random() < 0.7),
            sound_delay_s=float(rng.normal(0, 0.03)),
            sound_drift=float(rng.normal(0, 40e-6)),
            gaps_s=gaps_s,
        )
        return spec if nominal else _harder(rng, spec, coded)

    def silent(self) -> SlapSpec:
        """The same without sound."""
        return replace(self, sound=False)


def _encoding(rng: np.random.Generator, quality: tuple[int, int]) -> Encoding:
    hevc = rng.random() < 0.3
    preset = "superfast" if hevc else "veryfast"
    return Encoding("hevc" if hevc else "h264", int(rng.integers(quality[0], quality[1] + 1)), preset)


def _harder(rng: np.random.Generator, spec: SlapSpec, coded: bool) -> SlapSpec:
    """Everything at once that a real table may bring, each with its own chance.

    Unknown read-out, uneven time, lost frames, dim light, patterned cloth, worse codecs, a slanted or shaken camera,
    a lens that bends, exposure that changes, lamps that flicker, talk, music and knocks.
    """
    harder = replace(
        spec,
        nominal=False,
        read_out_known=bool(rng.random() < 0.4),
        variable_rate=float(rng.uniform(0.02, 0.3)) if rng.random() < 0.4 else 0.0,
        dropped=float(rng.uniform(0.0, 0.05)) if rng.random() < 0.6 else 0.0,
        noise=float(rng.uniform(1.0, 6.0)),
        level=float(rng.uniform(0.35, 1.15)),
        top=str(rng.choice(TOPS)),
        tilt_deg=float(rng.uniform(0, 30)),
        encoding=_encoding(rng, (20, 34)) if coded else None,
        sound_delay_s=float(rng.normal(0, 0.08)),
    )

    def now_and_then(chance: float, low: float, high: float) -> float:
        drawn = float(rng.uniform(low, high))
        return drawn if rng.random() < chance else 0.0

    return replace(
        harder,
        lens_k1=now_and_then(0.4, -0.14, 0.05),
        shake_px=now_and_then(0.3, 0.3, 2.0),
        jolt_px=now_and_then(0.3, 0.3, 2.5),
        exposure_steps=now_and_then(0.3, 0.1, 0.4),
        flicker=now_and_then(0.3, 0.04, 0.25),
        talk=now_and_then(0.5, 0.03, 0.4),
        music=now_and_then(0.3, 0.004, 0.05),
        knocks=now_and_then(0.3, 0.5, 3.0),
    )
