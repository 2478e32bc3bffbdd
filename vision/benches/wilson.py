"""How sure a share is that was counted: its Wilson interval, and how it stands among a bench's figures."""

from __future__ import annotations

from math import sqrt

_Z = 1.959964
"""95 % of a normal distribution lie within so many standard deviations."""


def wilson(count: float, of: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a share (Wilson 1927); 0 to 1 where nothing was counted."""
    if of == 0:
        return 0.0, 1.0
    p = count / of
    middle = (p + _Z**2 / (2 * of)) / (1 + _Z**2 / of)
    half = _Z * sqrt(p * (1 - p) / of + _Z**2 / (4 * of**2)) / (1 + _Z**2 / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def add_share(out: dict[str, object], name: str, count: float, of: int) -> None:
    """Put a share among a bench's figures: ``name`` (None where nothing was counted), ``name_low``, ``name_high``."""
    low, high = wilson(count, of)
    out[name] = round(count / of, 4) if of else None
    out[f"{name}_low"], out[f"{name}_high"] = round(low, 4), round(high, 4)
