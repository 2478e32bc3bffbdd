"""What an arm over the table looks like: size, skin, sleeve, glove and what is worn on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

Rgb = tuple[float, float, float]
"""Red, green, blue, 0 to 1, as a screen shows them under white light."""

SKIN_TONES: tuple[Rgb, ...] = (
    (0.925, 0.765, 0.680),
    (0.870, 0.680, 0.565),
    (0.775, 0.575, 0.445),
    (0.635, 0.440, 0.320),
    (0.465, 0.305, 0.215),
    (0.315, 0.215, 0.165),
)
"""Six tones from pale to dark, after the Fitzpatrick scale's six steps."""

CLOTHS: tuple[Rgb, ...] = (
    (0.14, 0.17, 0.26),
    (0.25, 0.36, 0.52),
    (0.55, 0.64, 0.74),
    (0.82, 0.81, 0.78),
    (0.42, 0.42, 0.43),
    (0.11, 0.11, 0.12),
    (0.52, 0.16, 0.17),
    (0.22, 0.34, 0.26),
    (0.67, 0.50, 0.28),
    (0.46, 0.33, 0.26),
    (0.60, 0.40, 0.52),
    (0.78, 0.68, 0.52),
)
"""Colours of common sleeves: navy, denim, light blue, white, grey, black, wine, green, ochre, brown…"""

GLOVES: tuple[Rgb, ...] = (
    (0.10, 0.10, 0.11),
    (0.36, 0.24, 0.17),
    (0.80, 0.79, 0.76),
    (0.22, 0.33, 0.50),
    (0.55, 0.15, 0.16),
)


class Pose(Enum):
    """How the hand is held."""

    FLAT = "flat"
    """A slap: fingers straight and a little spread."""
    REACHING = "reaching"
    """On its way: fingers together and slightly bent."""
    PINCH = "pinch"
    """Thumb and forefinger hold a card."""
    REST = "rest"
    """Lying loosely bent."""
    FIST = "fist"
    POINT = "point"


class Pattern(Enum):
    """How a sleeve is woven or printed."""

    PLAIN = "plain"
    STRIPES = "stripes"
    CHECKS = "checks"
    KNIT = "knit"


@dataclass(frozen=True, slots=True)
class Sleeve:
    """A sleeve that ends `cuff_mm` behind the wrist."""

    cuff_mm: float
    cloth: Rgb
    pattern: Pattern = Pattern.PLAIN
    second: Rgb = (0.8, 0.8, 0.8)
    """The other colour of stripes and checks."""
    looseness_mm: float = 7.0
    folds_mm: float = 2.0
    band_mm: float = 30.0
    """Width of the cuff's own band."""

    def __post_init__(self) -> None:
        """Refuse a sleeve that would hide the fingers."""
        if self.cuff_mm < -25.0:
            raise ValueError(f"expected a cuff no more than 25 mm over the hand, got {self.cuff_mm}")


@dataclass(frozen=True, slots=True)
class ArmLook:
    """One person's arm, as seen from above.

    `size` scales everything: 1 is a grown hand of 185 mm, 0.68 a six-year-old's.
    """

    seed: int
    left: bool = False
    size: float = 1.0
    slender: float = 1.0
    """Breadth of fingers and palm beside the usual one."""
    skin: Rgb = SKIN_TONES[1]
    sleeve: Sleeve | None = None
    glove: Rgb | None = None
    glove_is_knit: bool = False
    watch: bool = False
    watch_strap: Rgb = (0.10, 0.10, 0.11)
    rings: tuple[int, ...] = ()
    """Fingers that wear a ring: 0 the forefinger, 3 the little one."""
    ring_is_gold: bool = True
    hair: float = 0.0
    """0 none, 1 a hairy forearm."""
    age: float = 0.3
    """Veins, tendons and creases: 0 a child's, 1 an old hand's."""
    painted_nails: Rgb | None = None
    mesh: bool = False
    """A hand from the sheet of mesh hands instead of one drawn from bones."""

    def __post_init__(self) -> None:
        """Refuse sizes that no one has."""
        if not 0.55 <= self.size <= 1.25:
            raise ValueError(f"expected an arm's size of 0.55 to 1.25, got {self.size}")

    @property
    def length_mm(self) -> float:
        """Of the hand, wrist to the middle finger's tip."""
        return HAND_MM * self.size

    @property
    def forearm_mm(self) -> float:
        """From wrist to elbow."""
        return FOREARM_MM * self.size

    @classmethod
    def seeded(
        cls,
        rng: np.random.Generator,
        *,
        left: bool | None = None,
        sleeved: bool | None = None,
        gloved: bool = False,
        mesh: bool = False,
    ) -> ArmLook:
        """Draw a person's arm; `sleeved` None leaves it to chance, gloves are worn only when asked for."""
        child = rng.random() < 0.15
        tone = np.array(SKIN_TONES[rng.integers(len(SKIN_TONES))])
        skin = np.clip(tone * (1 + rng.normal(0, 0.03, 3)) * (1 + rng.normal(0, 0.04)), 0.1, 0.97)
        has_sleeve = bool(rng.random() < 0.6) if sleeved is None else sleeved
        adorned = not child and not gloved
        return cls(
            seed=int(rng.integers(2**31)),
            left=bool(rng.random() < 0.35) if left is None else left,
            size=float(rng.uniform(0.68, 0.85) if child else np.clip(rng.normal(0.98, 0.055), 0.86, 1.12)),
            slender=float(np.clip(rng.normal(1.0, 0.05), 0.88, 1.14)),
            skin=_rgb(skin),
            sleeve=_sleeve(rng) if has_sleeve else None,
            glove=_rgb(np.array(GLOVES[rng.integers(len(GLOVES))])) if gloved else None,
            glove_is_knit=bool(rng.random() < 0.5),
            watch=bool(adorned and rng.random() < 0.22),
            watch_strap=((0.10, 0.10, 0.11), (0.36, 0.23, 0.15), (0.68, 0.68, 0.70))[rng.integers(3)],
            rings=tuple(sorted(rng.choice(4, 1 + int(rng.random() < 0.25), replace=False).tolist()))
            if adorned and rng.random() < 0.3
            else (),
            ring_is_gold=bool(rng.random() < 0.6),
            hair=float(0.0 if child or rng.random() < 0.5 else rng.uniform(0.2, 1.0)),
            age=float(0.05 if child else rng.uniform(0.15, 0.9)),
            painted_nails=_rgb(rng.uniform(0.1, 0.8, 3)) if adorned and rng.random() < 0.12 else None,
            mesh=mesh,
        )


HAND_MM = 185.0
"""Wrist to the middle finger's tip of a grown hand."""

FOREARM_MM = 260.0


def _rgb(values: np.ndarray) -> Rgb:
    red, green, blue = (float(value) for value in values)
    return red, green, blue


def _sleeve(rng: np.random.Generator) -> Sleeve:
    """A sleeve as people wear them: long ones end at the wrist, some are rolled up or short."""
    kind = rng.random()
    cuff = rng.uniform(-8, 35) if kind < 0.7 else rng.uniform(90, 190) if kind < 0.85 else rng.uniform(250, 330)
    first, second = rng.choice(len(CLOTHS), 2, replace=False)
    pattern = list(Pattern)[rng.choice(4, p=[0.5, 0.15, 0.15, 0.2])]
    return Sleeve(
        cuff_mm=float(cuff),
        cloth=_rgb(np.clip(np.array(CLOTHS[first]) * (1 + rng.normal(0, 0.08, 3)), 0.03, 0.95)),
        pattern=pattern,
        second=CLOTHS[second],
        looseness_mm=float(rng.uniform(3, 13)),
        folds_mm=float(rng.uniform(1.2, 3.4)),
        band_mm=float(rng.uniform(14, 55)),
    )
