"""The output: numbered events on a private stdout, and the results of sends grouped into columns."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

RESULTS_MAX_ROWS = 500


class Result:
    """Receives the result of one record. It is created just before the record is passed to the client."""

    __slots__ = ("_id", "_invoke_ns", "_n", "_results")

    def __init__(self, results: Results, id: int, n: int) -> None:
        self._results, self._id, self._n = results, id, n
        self._invoke_ns = time.monotonic_ns()

    def ok(self, partition: int, offset: int) -> None:
        """Record that the record was certainly written. The offset is -1 if the client does not know it."""
        self._put("ok", None, partition, offset)

    def fail(self, error: str) -> None:
        """Record that the record was certainly not written, and never will be."""
        self._put("fail", error, -1, -1)

    def info(self, error: str) -> None:
        """Record that the client gave up. It is unknown whether the record was written."""
        self._put("info", error, -1, -1)

    def _put(self, outcome: str, error: str | None, partition: int, offset: int) -> None:
        row = (outcome, error, self._invoke_ns, time.monotonic_ns(), self._n, partition, offset)
        self._results.add(self._id, row)


class Output:
    """Writes events, numbered without gaps, to a private copy of stdout. All other output goes to stderr."""

    def __init__(self) -> None:
        self._fd = os.dup(1)
        os.dup2(2, 1)
        self._lock = threading.Lock()
        self._seq = 0
        self._ended = False

    def event(self, name: str, fields: Mapping[str, Any], last: bool = False) -> None:
        """Write one event. Nothing is written after the ``last`` one."""
        with self._lock:
            if self._ended:
                return
            self._ended = last
            stamp = {"seq": self._seq, "mono_ns": time.monotonic_ns(), "wall_ns": time.time_ns()}
            self._write(json.dumps({"name": name, **stamp, **fields}, separators=(",", ":")).encode() + b"\n")
            self._seq += 1

    def _write(self, line: bytes) -> None:
        try:
            while line:
                line = line[os.write(self._fd, line) :]
        except BrokenPipeError:
            os._exit(1)  # the harness has exited, so nothing reads the events


def invoke(output: Output, op: str, id: int) -> int:
    """Write that ``op`` begins. Return the time, for :func:`complete`."""
    output.event("op_invoke", {"op": op, "id": id})
    return time.monotonic_ns()


def complete(output: Output, op: str, id: int, invoke_ns: int, error: str | None) -> None:
    """Write the result of ``op``. An ``error`` means that it failed."""
    row = {"outcome": ["fail" if error else "ok"], "error": [error]}
    times = {"invoke_ns": [invoke_ns], "complete_ns": [time.monotonic_ns()]}
    output.event("op_complete", {"op": op, "id": id, **row, **times})


class Results:
    """Groups the results of sends into columns: one line per command, every 20 ms or 500 rows."""

    COLUMNS = ("outcome", "error", "invoke_ns", "complete_ns", "records", "partition", "offset")

    def __init__(self, output: Output) -> None:
        self.count = 0
        self._output = output
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, int], list[tuple[Any, ...]]] = {}

    def add(self, id: int, row: tuple[Any, ...], op: str = "send") -> None:
        """Store one row. Its line is written later, or now if it is full."""
        with self._lock:
            self.count += 1
            rows = self._rows.setdefault((op, id), [])
            rows.append(row)
            if len(rows) >= RESULTS_MAX_ROWS:
                self._write(op, id)

    def write(self) -> None:
        """Write all stored rows."""
        with self._lock:
            for op, id in list(self._rows):
                self._write(op, id)

    def _write(self, op: str, id: int) -> None:
        columns = zip(*self._rows.pop((op, id)))  # noqa: B905 - strict= is not in Python 3.8
        named = {name: list(column) for name, column in zip(self.COLUMNS, columns)}  # noqa: B905
        self._output.event("op_complete", {"op": op, "id": id, **named})
