"""A condition counts when a figure, taken from what a camera would record, shows that it changes something."""

from __future__ import annotations

import pytest

from vision.films.conditions import CONDITIONS
from vision.films.effects import MEASURES, effects


@pytest.mark.parametrize(
    ("name", "at_least"),
    [
        ("dim", 20.0),
        ("glare", 4.0),
        ("bump", 3.0),
        ("vfr", 4.0),
        ("flicker", 2.0),
        ("lens", 4.0),
        ("off-sync", 100.0),
        ("worn", 4.0),
        ("half-off", 15.0),
        ("photo", 0.8),
        ("mjpeg", 0.4),
        ("white-balance", 15.0),
    ],
)
def test_a_condition_changes_what_it_is_named_for(name: str, at_least: float) -> None:
    first, *others = effects(name)
    assert abs(first.changed - first.clean) > at_least
    assert all(abs(other.changed - other.clean) > 1.0 for other in others)


def test_every_condition_has_its_measure() -> None:
    assert set(MEASURES) == set(CONDITIONS) - {"clean"}
