"""The capturing process: ``python -m harness.capture FOLDER PORT:BROKER...``.

It prints ``capturing`` once no packet can be missed any more, and stops at the end of its standard input, which also
happens when its harness ends. It then writes ``tcp.jsonl`` and ``capture.pcapng`` into the folder, each as a whole and
in that order: if the capture exists, its facts exist too. Its last line of output is a CaptureRecord. If nothing can be
captured, that is the only line.
"""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec

from harness.capture.connections import connections, facts
from harness.capture.pcapng import Writer, parsed
from harness.capture.tap import LACKS_RIGHT, Tap, wall_ahead_ns
from harness.files import new_file
from harness.files.row_files import write_rows
from harness.model.rows import CaptureRecord
from harness.model.run_files import CAPTURE, TCP
from harness.model.tcp_facts import What

CAPTURING = "capturing"


def main(folder: Path, brokers: Mapping[int, int]) -> CaptureRecord:
    """Capture until the end of standard input."""
    try:
        tap = Tap(tuple(brokers))
    except PermissionError:
        return CaptureRecord(unavailable_reason=LACKS_RIGHT)
    with new_file(folder / CAPTURE, folder.parent) as file:
        try:
            _write(tap, file, brokers)
        finally:
            tap.close()
        file.seek(0)
        recording = parsed(file.read(), CAPTURE)
        followed = connections(recording)
        told = facts(followed)
        write_rows(folder / TCP, told, folder.parent)
    (begin, end) = recording.ahead_ns
    return CaptureRecord(
        packets=len(recording.packets),
        dropped=recording.dropped,
        cut=recording.cut,
        clock_moved_ns=end - begin,
        frames=sum(row.what is What.FRAME for row in told),
        unread=sum(one.is_unread for one in followed),
    )


def _write(tap: Tap, file: BinaryIO, brokers: Mapping[int, int]) -> None:
    writer = Writer(file, brokers, time.time_ns(), wall_ahead_ns())
    _say(CAPTURING)
    poll = select.poll()
    for one in (tap, sys.stdin):
        poll.register(one, select.POLLIN | select.POLLHUP)
    is_over = False
    while not is_over:
        is_over = any(ready == sys.stdin.fileno() for ready, _ in poll.poll())
        while (packet := tap.read()) is not None:
            writer.packet(packet)
    tap.count()
    writer.end(time.time_ns(), wall_ahead_ns(), tap.seen, tap.dropped)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    pairs = (word.split(":") for word in sys.argv[2:])
    record = main(Path(sys.argv[1]), {int(port): int(broker) for port, broker in pairs})
    _say(msgspec.json.encode(record).decode())
