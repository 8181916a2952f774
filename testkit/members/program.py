"""A member of a group without a broker: it delivers the lines of a file, and works as long as it is told."""

from __future__ import annotations

import itertools
import json
import os
import selectors
import sys
import time
from pathlib import Path
from typing import Any

BEAT_S = 0.05
CALLS = {
    "attempt",
    "commit",
    "pause",
    "process",
    "resume",
    "seek",
    "subscribe",
    "throw",
    "unsubscribe",
    "wakeup",
}


class Member:
    """The program's state. ``turn`` delivers what is new in the file."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open()  # noqa: SIM115 it is open as long as the program runs
        self._seq = itertools.count()
        self._processing_ms = 0
        self._topic = ""
        self._is_paused = False
        self._throws = 0
        self._next = 0
        self.is_open = True

    def say(self, name: str, **fields: Any) -> None:
        """Write an event."""
        stamp = {"seq": next(self._seq), "mono_ns": time.monotonic_ns(), "wall_ns": time.time_ns()}
        sys.stdout.write(json.dumps({"name": name, **stamp, **fields}) + "\n")
        sys.stdout.flush()

    def done(self, op: str, id: int) -> None:
        """Write the end of a call."""
        now_ns = time.monotonic_ns()
        row = {"outcome": ["ok"], "error": [None], "invoke_ns": [now_ns], "complete_ns": [now_ns]}
        self.say("op_complete", op=op, id=id, **row)

    def command(self, asked: dict[str, Any]) -> None:
        """Do one command."""
        match asked["cmd"]:
            case "configure":
                applied = {name: (name, value) for name, value in asked["config"].items()}
                self.say("configured", id=asked["id"], applied=applied, not_set={})
            case "close":
                self.done("close", asked["id"])
                self.say("shutdown_complete")
                self.is_open = False
            case op if op in CALLS:
                self.call(op, asked)
                self.done(op, asked["id"])
            case op:
                self.say("unsupported", cmd=op, id=asked["id"])

    def call(self, op: str, asked: dict[str, Any]) -> None:
        """Do one call of the application. A subscription calls the listener."""
        self._processing_ms = asked.get("processing_ms", self._processing_ms)
        match op:
            case "subscribe":
                [self._topic] = asked["topics"]
                self.say("partitions_assigned", partitions=[{"topic": self._topic, "partition": 0}])
                if self._throws:
                    self._throws -= 1
                    self.say("consumer_error", call="poll", error="ListenerError")
            case "throw":
                self._throws = asked.get("times", 1)
            case "wakeup":
                self.say("consumer_error", call="poll", error="WakeupException")
            case "pause" | "resume":
                self._is_paused = op == "pause"
            case "seek":
                self._file.seek(0)
            case "commit":
                self.commit(asked.get("how", "sync"))

    def commit(self, how: str) -> None:
        """Report a commit of what was delivered, as if a coordinator had stored it."""
        now_ns = time.monotonic_ns()
        place = {"topic": self._topic, "partition": 0, "offset": self._next}
        self.say(
            "offsets_committed",
            offsets=[place],
            success=True,
            how=how,
            error=None,
            invoke_ns=now_ns,
            complete_ns=now_ns,
        )

    def turn(self) -> None:
        """Deliver the new lines of the topic's partition 0, and work on them."""
        found = [] if self._is_paused else [line.split() for line in self._file if self._topic]
        mine = [(int(offset), value) for *place, offset, value in found if place == [self._topic, "0"]]
        if not mine:
            self.say("stats", sent=0, completed=0)
            return
        polled_ns = time.monotonic_ns()
        time.sleep(self._processing_ms / 1_000)
        offsets, values = [offset for offset, _ in mine], [value for _, value in mine]
        self._next = max(offsets) + 1
        part = {
            "topic": self._topic,
            "partition": 0,
            "count": len(mine),
            "offsets": offsets,
            "values": values,
        }
        bounds = {"minOffset": min(offsets), "maxOffset": max(offsets)}
        self.say("records_consumed", count=len(mine), partitions=[part | bounds], polled_ns=polled_ns)


def main() -> None:
    """Speak the contract until the end of stdin, SIGTERM or ``close``."""
    member = Member(os.environ["KAFKA_TRIAL_MEMBERS_FILE"])
    member.say(
        "startup_complete",
        client="file",
        client_version="1",
        language="python",
        features=["consumer", "group"],
        contract_version=2,
    )
    waiting = selectors.DefaultSelector()
    waiting.register(sys.stdin, selectors.EVENT_READ)
    os.set_blocking(sys.stdin.fileno(), False)
    buffer = ""
    while member.is_open:
        if waiting.select(BEAT_S):
            buffer += sys.stdin.read() or ""
        *lines, buffer = buffer.split("\n")
        for line in filter(None, lines):
            member.command(json.loads(line))
        if member.is_open:
            member.turn()


if __name__ == "__main__":
    main()
