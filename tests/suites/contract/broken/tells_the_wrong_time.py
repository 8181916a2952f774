"""Uses the wall clock for its timestamps."""

from __future__ import annotations

import time

from polite import Polite
from verifiable import run

time.monotonic_ns = time.time_ns


if __name__ == "__main__":
    run(Polite)
