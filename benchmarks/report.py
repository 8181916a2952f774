"""How long the report of a large run takes, stage by stage, with its memory and its size on disk.

``python -m benchmarks.report [--trials N] [--new N] [--from RUN] [--keep FOLDER] [--json]``

The run is made from a few trials: those of RUN, or else simulated trials of the reference client of 2,400 records each.
Its trials are copies of these under other names, clients and seeds; their evidence is a copy of the originals' files.
They are packed while they are written, whenever a run would do that. Then ``kafka-trial report`` is started four times:
on the whole run, again without any change, again after further trials were added, and on the same run without anything
packed, as a merged one is. Each is a process of its own, so the time to start it counts. Before them it reports a run
of two trials, so that Python has compiled its modules, as on any machine that has used it once.

The CPU time is that of the process and of all its children, the JVM among them; the wall time also depends on what else
the machine does. As a peer, the same machine counts the delivery of the same packed tables with pyarrow alone: the
number of acknowledged records and of records in the log, by trial. No verdict depends on any of these figures.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil
import pyarrow.dataset as ds

from benchmarks.many_trials import Copies
from harness.files import remove_tree
from harness.plugins import registry
from harness.running.packing import is_due
from harness.storage.parquet_writer import TABLES_FOLDER, pack
from harness.storage.run_store import RunStore
from reports.place import OWN

#: A look at the memory of all processes takes some ten milliseconds of one core, which the report does not have.
PERIOD_S = 0.5
#: With it, each process would compile its modules again.
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"


def main(argv: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.report", description=__doc__)
    parser.add_argument("--trials", type=int, default=840)
    parser.add_argument("--new", type=int, default=10)
    parser.add_argument("--from", dest="source", type=Path, default=None)
    parser.add_argument("--keep", type=Path, default=None, help="build the run here and leave it")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    with ExitStack() as stack:
        folder = asked.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        measured = measure(folder, asked.source, asked.trials, asked.new)
    if asked.json:
        print(json.dumps(measured))  # noqa: T201
        return 0
    for name, figures in measured.items():
        print(f"{name:>10}  " + "  ".join(f"{key} {value}" for key, value in figures.items()))  # noqa: T201
    return 0


def measure(folder: Path, source: Path | None, trials: int, new: int) -> dict[str, dict[str, Any]]:
    """Return the figures of each report, and those of the peer."""
    _reported(Copies(folder / "few", source).write(2, planned=2))
    copies = Copies(folder, source)
    run = copies.write(0, planned=trials + new)
    _packed_while_written(copies, RunStore(run), trials)
    found = {"first": _reported(run), "unchanged": _reported(run)}
    copies.write_more(new)
    found["new"] = _reported(run)
    for name in (TABLES_FOLDER, OWN):
        remove_tree(run / name)
    found["unpacked"] = _reported(run)
    found["peer"] = _peer(run)
    found["size"] = {
        f"{name}_mb": round(sum(_sizes(run / name)) / 1e6, 1) for name in ("trials", "tables", "report")
    }
    return found


def _packed_while_written(copies: Copies, store: RunStore, trials: int) -> None:
    packed = 0
    for finished in range(1, trials + 1):
        copies.write_more(1)
        if is_due(finished, packed):
            pack(store, registry.table("anomalies"))
            packed = finished


def _reported(run: Path) -> dict[str, Any]:
    began = time.monotonic()
    with subprocess.Popen(
        [Path(sys.executable).with_name("kafka-trial"), "report", run, "--json", "--quiet"],
        stdout=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name != NO_BYTECODE},
    ) as process:
        most_mb, most_own_mb, cpu_s = _used(process)
        out = process.stdout.read() if process.stdout else b""
    told = json.loads(out)
    return {
        "exit": process.returncode,
        "wall_s": round(time.monotonic() - began, 1),
        "cpu_s": round(cpu_s, 1),
        "most_mb": round(most_mb),
        "most_own_mb": round(most_own_mb),
        **{f"{stage}_s": seconds for stage, seconds in told.get("seconds", {}).items()},
    }


def _used(process: subprocess.Popen[bytes]) -> tuple[float, float, float]:
    """Return the most memory, in MB, and the CPU time, in s, of a process and its descendants until it ends.

    The memory is the sum of what is resident, then the same with each shared page counted once. All are sampled,
    because no process waits for all of the others.
    """
    root, most_mb, most_own_mb = psutil.Process(process.pid), 0.0, 0.0
    cpu_s = dict[psutil.Process, float]()
    while process.poll() is None:
        now_mb = own_mb = 0.0
        for each in _family(root):
            with suppress(psutil.Error):
                memory = each.memory_full_info()
                now_mb += memory.rss / 1e6
                own_mb += memory.pss / 1e6
                cpu_s[each] = sum(each.cpu_times()[:2])
        most_mb, most_own_mb = max(most_mb, now_mb), max(most_own_mb, own_mb)
        time.sleep(PERIOD_S)
    return most_mb, most_own_mb, sum(cpu_s.values())


def _family(root: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.Error):
        return [root, *root.children(recursive=True)]
    return []


def _peer(run: Path) -> dict[str, Any]:
    """Count two of nine counts with pyarrow, in this process."""
    cpu, began = time.process_time(), time.monotonic()
    done = ds.dataset(run / "tables" / "operations").to_table(["trial", "outcome"])
    log = ds.dataset(run / "tables" / "log_records").to_table(["trial", "control"])
    groups = done.group_by(["trial", "outcome"]).aggregate([([], "count_all")]).num_rows
    groups += log.group_by(["trial", "control"]).aggregate([([], "count_all")]).num_rows
    return {
        "wall_s": round(time.monotonic() - began, 2),
        "cpu_s": round(time.process_time() - cpu, 2),
        "operations": done.num_rows,
        "log_records": log.num_rows,
        "groups": groups,
    }


def _sizes(folder: Path) -> Iterator[int]:
    return (path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
