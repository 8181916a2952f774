"""What the witness costs: latency and throughput beside a bare relay and beside Toxiproxy, and where its time goes.

``python -m benchmarks.witness [--rounds N] [--unpinned] [--json]``

Client, broker and relay are processes of their own; the client's sockets block, so that nothing but the path is
measured. The bare relay and the witness live in one process, for two processes of the same code differ by more than a
stage takes. A round takes every path in turn, so whatever else the machine does meets them all. A ratio is to the bare
relay of the same round, and the median of all rounds is said; p99 is of all round trips together.

What is on the path has a core of its own, client and broker share another. Left to the scheduler (``--unpinned``), the
relay at times shares a core with the broker, which then waits for the witness's reading: the figures are of two kinds.

Latency is a round trip of one Produce request and its answer, with one frame under way; throughput is Produce requests
of 64 KiB with small answers and eight under way. The stages of the witness are told from each other by leaving them
out, the last first: the relay's CPU time then is that of the rest (of each the least of all rounds).
"""

from __future__ import annotations

import argparse
import json
import sys

from benchmarks.witness.figures import summed_up
from benchmarks.witness.rounds import measure


def main(argv: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.witness", description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--unpinned", action="store_true")
    asked = parser.parse_args(argv)
    figures = summed_up(measure(asked.rounds, is_pinned=not asked.unpinned))
    if asked.json:
        print(json.dumps(figures))  # noqa: T201
        return 0
    for path, row in figures.pop("paths").items():
        print(path)  # noqa: T201
        for name, value in row.items():
            print(f"{name:>24}  {value}")  # noqa: T201
    for name, value in figures.items():
        print(f"{name}  {value}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
