"""The connections that a broker's listeners accepted, from the broker's own log (its acceptor, at DEBUG).

Only the witness dials a lane's listener, and the harness to see whether it is ready. Any other connection went
around the lane: no fault met it and no row tells of it, so a verdict on its trial would rest on half of what happened.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from harness.log_tail import LogTail

#: ``kafka.network.DataPlaneAcceptor``, the same from 3.9 to 4.3.
LOGGER = "kafka.network.DataPlaneAcceptor"
_ACCEPTED = re.compile(rb"Accepted connection from /[\d.]+:(\d+) on /[\d.]+:(\d+) ")


class Accepts:
    """The connections that the brokers which will write ``logs`` accept, each told once.

    What a log has already is another cluster's: of the run that this one goes on with.
    """

    def __init__(self, logs: Iterable[Path]) -> None:
        self._logs = [LogTail(log) for log in logs]
        self._peers: defaultdict[int, list[int]] = defaultdict(list)

    def of(self, listener_port: int) -> list[int]:
        """The ports of those who have come to a listener since the last call."""
        for line in (line for log in self._logs for line in log.new_lines()):
            for peer_port, port in _ACCEPTED.findall(line):
                self._peers[int(port)].append(int(peer_port))
        return self._peers.pop(listener_port, [])
