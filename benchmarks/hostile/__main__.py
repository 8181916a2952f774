"""Feed hostile frames to the code that reads untrusted bytes: the codec, the witness, the reference client.

``python -m benchmarks.hostile [--frames N] [--seed N] [--only codec|witness|client] [--json]``

The codec gets six of ten frames, the witness three, and the client one. Each target runs in a separate process, so that
its memory growth can be measured: the peak at the end compared with the peak after a tenth of the frames. A failure is
identified by the seed and the name of the dice that produced it. The exit code is 1 if there is any failure.

These are failures: the codec raises an error other than WireError; the witness loses or changes a byte without a rule,
raises, or keeps a connection open; the client raises, or one of its records has no result within the time limit; memory
grows by more than 64 MiB; a step takes more than ten seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context

from benchmarks.hostile import client, codec, witness
from benchmarks.hostile.steps import Result

TARGETS: dict[str, Callable[[int, int], Result]] = {
    "codec": codec.run,
    "witness": witness.run,
    "client": client.run,
}
SHARES = {"codec": 6, "witness": 3, "client": 1}


def results(seed: int, frames: int, only: str | None) -> Iterator[Result]:
    """Run each target in a separate process and yield its result."""
    for target in [only] if only else list(TARGETS):
        share = frames if only else frames * SHARES[target] // sum(SHARES.values())
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            yield pool.submit(TARGETS[target], seed, share).result()


def main(argv: list[str]) -> int:
    """Run the targets and print the results. Return 1 if there was any failure, else 0."""
    parser = argparse.ArgumentParser(prog="benchmarks.hostile", description=__doc__)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=TARGETS)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    is_bad = False
    for result in results(asked.seed, asked.frames, asked.only):
        is_bad |= bool(result.found)
        print(json.dumps(asdict(result)) if asked.json else _told(result), flush=True)  # noqa: T201
    return int(is_bad)


def _told(result: Result) -> str:
    total = (
        f"{result.target:>8}  {result.frames:>9,} frames  {result.seconds:7.1f} s  {len(result.found)} failures  "
        f"grew by {result.growth_bytes / 2**20:.1f} MiB  slowest step {result.slowest_ms:.0f} ms"
    )
    return "\n".join([total, *(f"          {found}" for found in result.found[:20])])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
