"""The cost of a cluster: CPU time and delay until it is ready, CPU use while it is idle, resident memory.

``python -m benchmarks.cluster [--broker 4.3.1x3] [--idle-s 10]``; :mod:`harness.system.needs` contains the figures.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import psutil

from harness.brokers.local import LOCAL


def _nodes() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "kafka.Kafka" in child.cmdline()]


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _ended_s() -> float:
    """Return the CPU time of children that have ended, which format the nodes' data."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def measure(broker: str, idle_s: float) -> list[str]:
    """Start a cluster, leave it idle, and restart one node. Return one line per cost."""
    ended_s, began_s = _ended_s(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        async with LOCAL.cluster(broker, lanes=1, log_dir=Path(folder)) as cluster:
            wall_s, nodes = time.monotonic() - began_s, _nodes()
            started_s = sum(map(_cpu_s, nodes))
            formatted_s = _ended_s() - ended_s
            await asyncio.sleep(idle_s)
            idle_cores = (sum(map(_cpu_s, nodes)) - started_s) / idle_s
            told = [
                f"{broker} on {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}",
                f"ready after {wall_s:.1f} s; core-seconds: {formatted_s:.1f} to format, {started_s:.1f} to start"
                f" ({started_s / len(nodes):.1f} per node)",
                f"idle: {idle_cores:.3f} cores ({idle_cores / len(nodes):.3f} per node)",
                f"MiB resident per node: {max(node.memory_info().rss for node in nodes) >> 20}",
            ]
            await cluster.stop(1)
            before, began_s = set(_nodes()), time.monotonic()
            await cluster.restart(1)
            [new] = set(_nodes()) - before
            told += [f"restart of a node: {_cpu_s(new):.1f} core-seconds, {time.monotonic() - began_s:.1f} s"]
    return told


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", default="4.3.1x3")
    parser.add_argument("--idle-s", type=float, default=10.0)
    given = parser.parse_args()
    sys.stdout.write("\n".join(asyncio.run(measure(given.broker, given.idle_s))) + "\n")


if __name__ == "__main__":
    main()
