"""Names for pictures and numbers: OpenCV's stubs don't tell which dtype comes back, so the names say it."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Image: TypeAlias = NDArray[Any]
"""(height, width, 3) uint8, blue, green, red; or (height, width) uint8 grey."""
Mask: TypeAlias = NDArray[Any]
"""(height, width) uint8, 255 where something is."""
Grey: TypeAlias = NDArray[Any]
"""(height, width) float32, grey levels."""
Array: TypeAlias = NDArray[np.float64]
