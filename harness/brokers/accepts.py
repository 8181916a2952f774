"""The connections that a broker's listeners serve, from the broker's own log (its network threads, at DEBUG).

Only the witness dials a lane's listener, and the harness to see whether it is ready. Any other connection went
around the lane: no fault met it and no row tells of it, so a verdict on its trial would rest on half of what happened.

A network thread writes its line before it reads from a connection, so no request comes from one without a line. The
acceptor's own line comes after it has handed the connection on, and fails where that has been closed by then.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from harness.files.log_tail import LogTail

#: ``kafka.network.Processor``, the same from 3.9 to 4.3; the name of its thread has that of the listener.
LOGGER = "kafka.network.Processor"
_SERVED = re.compile(
    rb"network-thread-\d+-(?:ListenerName\()?(\w+)\)?-\S+\] "
    rb"Processor \d+ listening to new connection from /[\d.]+:(\d+) "
)


class Accepts:
    """The connections that come to the brokers which will write ``logs`` (node id -> log), each told once.

    What a log has already is another cluster's: of the run that this one goes on with.
    """

    def __init__(self, logs: Mapping[int, Path]) -> None:
        self._logs = {node_id: LogTail(log) for node_id, log in logs.items()}
        self._peers: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)

    def of(self, listener: str) -> list[tuple[int, int]]:
        """(Node id, port it came from) of each connection to a listener of that name since the last call."""
        for node_id, log in self._logs.items():
            for line in log.new_lines():
                if found := _SERVED.search(line):
                    self._peers[found[1].decode()].append((node_id, int(found[2])))
        return self._peers.pop(listener, [])
