"""How many of one unit are another. Times are counted in nanoseconds and told in milliseconds."""

from __future__ import annotations

from typing import Final

NS_PER_MS: Final = 1_000_000
