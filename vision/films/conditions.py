"""Under what conditions a film is shot: camera, light, table and transport, each by a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from referee.bad_input import BadInput
from vision.films.tables import PHOTO_TOPS


@dataclass(frozen=True, slots=True)
class Condition:
    """What a film is shot under; the defaults are a well-lit table under a good camera."""

    name: str = "clean"
    tilt_deg: tuple[float, float] = (0.0, 6.0)
    """The camera's slant is drawn from this span."""
    tops: tuple[str, ...] = ("oak", "walnut", "pine", "cherry", "cloth-green", "cloth-blue", "cloth-grey")
    level: float = 1.0
    """How bright the picture is beside a well-exposed one."""
    noise: float = 1.3
    """Standard deviation of the sensor's noise in steps of 255, on luma."""
    exposure_s: float = 1 / 120
    glare: float = 0.0
    """How much light the lamp's reflection adds on cards, in steps of 255."""
    passing_shadow: float = 0.0
    """How much light someone leaning over the lamp takes away, at most."""
    bump_mm: float = 0.0
    """How far the camera is knocked aside, once, as seen on the table."""
    uneven_time: float = 0.0
    """Share of frame times that are late or missing, as in a phone's recordings."""
    read_out_s: float = 0.0
    """The rolling shutter's time from first to last row."""
    flicker: float = 0.0
    """Depth of the mains' flicker in the picture's brightness."""
    exposure_steps: float = 0.0
    """Steps of the automatic exposure, up or down, as a share of the brightness."""
    clutter: int = 0
    """How many things that are no cards lie about."""
    resting: float = 0.0
    """Chance a turn that somebody lays their other hand on the table's edge for a while (Snap)."""
    mesh_hands: bool = False
    """Hands from the sheet of mesh hands instead of drawn ones."""
    worn: float = 0.0
    """How worn the cards are: 1 is a deck of many years, its edges dirty and some corners bent."""
    half_off: bool = False
    """Whether a card that nobody plays with lies half off the table's edge."""
    floors: tuple[str, ...] = ("dark",)
    """What is around the table: one of `tables.FLOORS`."""
    balance_steps: float = 0.0
    """Steps of the automatic white balance: up to so much more red and less blue, or the other way, as a share."""
    lens_k1: float = 0.0
    size_px: tuple[int, int] | None = None
    """Overrides the film's size."""
    quality: int = 24
    """The encoder's rate factor."""
    codec: str = "h264"
    tint: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """The lamp's red, green, blue."""
    sound_delay_s: float = 0.0
    sound_drift: float = 0.0
    """Sound that runs so much longer than the picture, as a share."""
    music: float = 0.0
    """Root mean square of music in the room, of full scale."""
    talk: float = 0.0
    """How loud people talk meanwhile, beside a good slap."""
    chairs: float = 0.0
    """How loud chairs are, beside a good slap."""
    reverb_s: float = 0.35
    """How long the room takes to let a sound die away by 60 dB."""
    gain_db: float = 0.0
    """How much fainter (below 0) all is heard, the microphone's own noise left out."""


CONDITIONS: Mapping[str, Condition] = {
    each.name: each
    for each in (
        Condition(),
        Condition("dim", level=0.42, noise=5.5, exposure_s=1 / 45, quality=27, tint=(1.0, 0.86, 0.68)),
        Condition("glare", glare=150.0),
        Condition("shadow", passing_shadow=0.5),
        Condition("bump", bump_mm=14.0),
        Condition("vfr", uneven_time=0.18),
        Condition("low-res", size_px=(640, 360), quality=29, noise=2.5),
        Condition("oblique", tilt_deg=(34.0, 45.0)),
        Condition("rolling", read_out_s=0.022, exposure_s=1 / 240),
        Condition("flicker", flicker=0.12, exposure_s=1 / 400),
        Condition("auto-exposure", exposure_steps=0.35),
        Condition("white-balance", balance_steps=0.22),
        Condition("clutter", clutter=9),
        Condition("half-off", half_off=True),
        Condition("worn", worn=1.0),
        Condition("resting", resting=0.35),
        Condition("other-hands", mesh_hands=True),
        Condition("patterned", tops=("patterned",)),
        Condition("photo", tops=PHOTO_TOPS, floors=("room",)),
        Condition("lens", lens_k1=-0.10),
        Condition("hevc", codec="hevc", quality=31),
        Condition("mjpeg", codec="mjpeg", quality=36),
        Condition("off-sync", sound_delay_s=0.140, sound_drift=60e-6),
        Condition("music", music=0.045),
        Condition("talk", talk=0.32),
        Condition("chairs", chairs=0.35),
        Condition("reverb", reverb_s=1.3),
        Condition("faint", gain_db=-22.0),
    )
}


def condition(names: str) -> Condition:
    """The condition of that name, or of several joined by `+`, the later ones over the earlier."""
    made = CONDITIONS["clean"]
    for name in names.split("+"):
        if name not in CONDITIONS:
            raise BadInput.of("condition", " or ".join(CONDITIONS), repr(name)[:60])
        plain, other = CONDITIONS["clean"], CONDITIONS[name]
        changed = {
            key: getattr(other, key)
            for key in Condition.__slots__
            if key != "name" and getattr(other, key) != getattr(plain, key)
        }
        made = replace(made, **changed)
    return replace(made, name=names)


ONLY_HEARD = ("off-sync", "music", "talk", "chairs", "reverb", "faint")
"""Conditions that change no picture."""
