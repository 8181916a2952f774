"""The settings of Java's consumer that the contract's test-suite asks clients about, beside those of every trial."""

from __future__ import annotations

from typing import Final

from harness.model.contract import Setting

#: Name -> a value that Java accepts.
FURTHER: Final[dict[str, Setting]] = {
    "allow.auto.create.topics": False,
    "client.rack": "rack-1",
    "connections.max.idle.ms": 540_000,
    "group.instance.id": "asked-1",
    "receive.buffer.bytes": 65_536,
    "send.buffer.bytes": 131_072,
}
ASSIGNORS: Final = ("range", "roundrobin", "sticky", "cooperative-sticky")
