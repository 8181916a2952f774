"""One broker process, which is started, stopped, killed, paused and resumed on purpose.

One table defines the states and the actions that change them. An action that is not in the table is rejected. If the
process ended by itself, every action is rejected, so that no restart can hide a crash.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from harness.files import tail
from harness.model.errors import BrokerDied, KafkaTrialError
from harness.system import processes

TAIL_LINES = 20
TAIL_BYTES = 16_384
STOP_GRACE_S = 15.0


class NodeState(StrEnum):
    """The intended state of a node."""

    DOWN = "down"
    UP = "up"
    PAUSED = "paused"


TRANSITIONS: dict[tuple[NodeState, str], NodeState] = {
    (NodeState.DOWN, "start"): NodeState.UP,
    (NodeState.UP, "stop"): NodeState.DOWN,
    (NodeState.UP, "kill"): NodeState.DOWN,
    (NodeState.UP, "pause"): NodeState.PAUSED,
    (NodeState.PAUSED, "resume"): NodeState.UP,
    (NodeState.PAUSED, "stop"): NodeState.DOWN,
    (NodeState.PAUSED, "kill"): NodeState.DOWN,
    # Code that ends a fault may not know how far its start got, so these actions change nothing.
    (NodeState.DOWN, "stop"): NodeState.DOWN,
    (NodeState.DOWN, "kill"): NodeState.DOWN,
    (NodeState.UP, "resume"): NodeState.UP,
}


class BrokerNode:
    """The process of one broker, started with the command ``argv``. Its output goes to ``log``."""

    def __init__(self, node_id: int, argv: Sequence[str | Path], log: Path) -> None:
        self.node_id = node_id
        self.log = log
        self.state = NodeState.DOWN
        self._argv = tuple(argv)
        self._process: processes.Child | None = None

    @property
    def pid(self) -> int | None:
        """The id of the process, unless it was stopped on purpose."""
        return self._process.pid if self._process is not None else None

    def died(self) -> str | None:
        """Return how the process ended by itself, with the end of its log, or None if it did not."""
        if self._process is None or self._process.returncode is None:
            return None
        code = self._process.returncode
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        return f"broker {self.node_id} ended by itself ({how}); the end of {self.log}:\n{self.tail()}"

    def tail(self) -> str:
        """Return the last lines of the log."""
        return "\n".join(tail(self.log, TAIL_BYTES).splitlines()[-TAIL_LINES:])

    async def start(self) -> None:
        """Start the process. This does not wait until it is ready."""
        after = self._after("start")
        self._process = await processes.spawn(self._argv, stdout=self.log, stderr=self.log)
        self.state = after

    async def stop(self, grace_s: float = STOP_GRACE_S) -> None:
        """Stop it by SIGTERM, on which a broker first hands over its leaderships, and kill it after ``grace_s``."""
        await self._end("stop", grace_s)

    async def kill(self) -> None:
        """End it at once (SIGKILL)."""
        await self._end("kill", 0)

    def pause(self) -> None:
        """Freeze it (SIGSTOP): its connections stay open, but it does not respond."""
        self._signal("pause", signal.SIGSTOP)

    def resume(self) -> None:
        """Resume it (SIGCONT)."""
        self._signal("resume", signal.SIGCONT)

    async def remove(self) -> None:
        """Kill the process in any state, and reap it."""
        process, self._process, self.state = self._process, None, NodeState.DOWN
        if process is not None:
            _kill(process)
            await process.wait()

    def _after(self, action: str) -> NodeState:
        if (reason := self.died()) is not None:
            raise BrokerDied("broker-died", "{how}", how=reason)
        after = TRANSITIONS.get((self.state, action))
        if after is None:
            raise KafkaTrialError(
                "broker-state",
                "broker {node_id} is {state}: it cannot {action}",
                node_id=self.node_id,
                state=self.state,
                action=action,
            )
        return after

    async def _end(self, action: str, grace_s: float) -> None:
        self.state = self._after(action)
        process, self._process = self._process, None
        if process is None:
            return
        if grace_s:
            await processes.stop(process, grace_s)
        else:
            _kill(process)
            await process.wait()

    def _signal(self, action: str, number: signal.Signals) -> None:
        self.state = self._after(action)
        assert self._process is not None
        self._process.send_signal(number)


def _kill(process: processes.Child) -> None:
    if process.returncode is None:
        process.kill()
