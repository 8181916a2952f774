"""The cost of the witness: latency and throughput compared with a bare relay and with Toxiproxy, and CPU time by stage.

``python -m benchmarks.witness [--rounds N] [--unpinned] [--json]``

Client, broker and relay are separate processes. The client's sockets are blocking, so that only the path is measured.
The bare relay and the witness are in one process, because two processes with the same code differ by more than a stage
costs. A round measures every path in turn, so other load on the machine affects all of them. A ratio is to the bare
relay of the same round, and the printed ratio is the median of all rounds. p99 is over all round trips together.

The processes on the path have one core, and client and broker share another. If the scheduler places them
(``--unpinned``), the relay sometimes shares a core with the broker, which then waits while the witness reads, so there
are two groups of figures.

Latency is the time of a round trip of one Produce request and its response, with one frame in transit. Throughput is
that of Produce requests of 64 KiB with small responses and eight in transit. The cost of a stage is the difference
between the relay's CPU time with and without this stage, where all later stages are left out (the minimum of all
rounds).
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
