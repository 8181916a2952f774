"""Run one target step by step. A step passes frames drawn from its dice to the target, and raises on a defect."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.model.dice import Dice

GROWTH_LIMIT_BYTES = 64 << 20
STEP_LIMIT_NS = 10_000_000_000

#: Returns the number of frames that it used.
Step = Callable[[Dice], int]


@dataclass
class Result:
    """The result of one target. ``found`` lists its failures."""

    target: str
    frames: int = 0
    seconds: float = 0.0
    slowest_ms: float = 0.0
    growth_bytes: int = 0
    found: list[str] = field(default_factory=list)


def steps(target: str, step: Step, seed: int, frames: int) -> Result:
    """Run steps of one target until it has received ``frames`` frames."""
    result = Result(target)
    began_ns, base_bytes, number = time.monotonic_ns(), 0, 0
    while result.frames < frames:
        name = f"{target}/{number}"
        step_ns = time.process_time_ns()
        try:
            result.frames += step(Dice(seed, name))
        except BaseException as error:  # a panic in a codec's library is a BaseException
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            result.frames += 1
            result.found.append(f"{seed} {name}: {error!r}")
        step_ns = time.process_time_ns() - step_ns
        if step_ns > STEP_LIMIT_NS:
            result.found.append(f"{seed} {name}: {step_ns / 1e9:.1f} s")
        result.slowest_ms = max(result.slowest_ms, step_ns / 1e6)
        number += 1
        if not base_bytes and result.frames * 10 >= frames:
            base_bytes = _peak_bytes()
    result.seconds = (time.monotonic_ns() - began_ns) / 1e9
    result.growth_bytes = _peak_bytes() - base_bytes
    if result.growth_bytes > GROWTH_LIMIT_BYTES:
        result.found.append(f"{seed} {target}: grew by {result.growth_bytes >> 20} MiB")
    return result


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
