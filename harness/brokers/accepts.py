"""The connections that a broker's listeners serve, read from the broker's log (its network threads, at DEBUG).

Only the witness connects to a lane's listener, and the harness itself to check that it is ready. Any other connection
bypasses the lane: no fault applies to it and no row records it, so a verdict on its trial would rest on incomplete
evidence.

A network thread writes its log line before it reads from a connection, so every request comes from a connection with a
line. The acceptor's own line is not usable: it is written after the connection has been handed over, and is missing if
the connection is already closed by then.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from harness.files.log_tail import LogTail

#: ``kafka.network.Processor``, unchanged from 3.9 to 4.3. The name of its thread contains the listener's.
LOGGER = "kafka.network.Processor"
_SERVED = re.compile(
    rb"network-thread-\d+-(?:ListenerName\()?(\w+)\)?-\S+\] "
    rb"Processor \d+ listening to new connection from /[\d.]+:(\d+) "
)


class Accepts:
    """The connections to the brokers that write ``logs`` (node id -> log). Each is returned once.

    The present content of a log is skipped: it belongs to an earlier cluster, when a run is continued.
    """

    def __init__(self, logs: Mapping[int, Path]) -> None:
        self._logs = {node_id: LogTail(log) for node_id, log in logs.items()}
        self._peers: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)

    def of(self, listener: str) -> list[tuple[int, int]]:
        """Return (node id, source port) of each connection to a listener of that name since the last call."""
        for node_id, log in self._logs.items():
            for line in log.new_lines():
                if found := _SERVED.search(line):
                    self._peers[found[1].decode()].append((node_id, int(found[2])))
        return self._peers.pop(listener, [])
