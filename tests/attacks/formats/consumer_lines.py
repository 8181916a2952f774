"""The commands of a consumer and the lines that it writes: each event and each call of the contract at least once."""

from __future__ import annotations

from typing import Any

from harness.model.consumer_contract import (
    Assign,
    Attempt,
    Commit,
    Pause,
    Place,
    Position,
    Process,
    Resume,
    Seek,
    Subscribe,
    Throw,
    Unsubscribe,
    Wakeup,
)
from harness.model.contract import Close, Command, Configure
from harness.model.payload import Identity, encode

CONFIG: dict[str, Any] = {"group.id": "t", "enable.auto.commit": False, "max.poll.records": 500}
COMMANDS: tuple[Command, ...] = (
    Configure(1, "r", "m1", "consumer", CONFIG),
    Subscribe(2, ["t"], None, "sync", 5),
    Pause(3, [Place("t", 0)]),
    Resume(4, [Place("t", 0)]),
    Seek(5, Position("t", 0, 7)),
    Commit(6, "async"),
    Process(7, 20),
    Throw(8, "revoked", 2),
    Wakeup(9),
    Attempt(10, "assign", [Position("t", 1, -1)]),
    Unsubscribe(11),
    Assign(12, [Position("t", 1, -2)], "none"),
    Close(13, 1_000),
)
PLACES = [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 1}]


def at(seq: int, name: str, **fields: Any) -> dict[str, Any]:
    """Return an event of the contract."""
    return {"name": name, "seq": seq, "mono_ns": 100 + seq, "wall_ns": 10**18 + seq, **fields}


def done(op: str, id: int, error: str | None = None) -> dict[str, Any]:
    """Return the fields of an ``op_complete`` without elements."""
    columns = {
        "outcome": ["fail" if error else "ok"],
        "error": [error],
        "invoke_ns": [105],
        "complete_ns": [106],
    }
    return {"op": op, "id": id, **columns}


def consumed(partition: int, *numbers: int | None) -> dict[str, Any]:
    """Return the records of one partition with these numbers; None is a record without a value."""
    offsets = list(range(7, 7 + len(numbers)))
    values = [None if n is None else encode(Identity("r", "t", "p1", n), 60) for n in numbers]
    bounds = {"minOffset": offsets[0], "maxOffset": offsets[-1]}
    return {
        "topic": "t", "partition": partition, "count": len(numbers), **bounds, "offsets": offsets, "values": values,
    }  # fmt: skip


LINES = [
    at(
        *(0, "startup_complete"), client="c", client_version="1", language="l", features=["group", "attempt"],
        contract_version=2, library_version="2",
    ),
    at(
        *(1, "configured"), id=1, applied={name: [name, value] for name, value in CONFIG.items()}, not_set={},
        client_not_set={},
    ),
    at(2, "op_invoke", op="subscribe", id=2),
    at(3, "op_complete", **done("subscribe", 2)),
    at(4, "partitions_assigned", partitions=PLACES, generation=1, member_id="m1-uuid"),
    at(5, "records_consumed", count=3, partitions=[consumed(0, 0, None), consumed(1, 1)], polled_ns=105),
    at(
        *(6, "offsets_committed"), offsets=[{"topic": "t", "partition": 0, "offset": 9}], success=True, how="sync",
        invoke_ns=105, complete_ns=106, error=None,
    ),
    at(7, "op_complete", **done("pause", 3)),
    at(8, "op_complete", **done("resume", 4)),
    at(9, "op_complete", **done("seek", 5)),
    at(
        *(10, "records_consumed"), count=1, polled_ns=110,
        partitions=[{**consumed(0, 0), "keys": ["k"], "leader_epochs": [3]}],
    ),
    at(
        *(11, "offsets_committed"), offsets=[], success=False, how="async", invoke_ns=105, complete_ns=106,
        error="CommitFailed",
    ),
    at(12, "op_complete", **done("commit", 6)),
    at(13, "op_complete", **done("process", 7)),
    at(14, "op_complete", **done("throw", 8)),
    at(15, "consumer_error", call="poll", error="Wakeup", message="it was woken", retriable=None),
    at(16, "op_complete", **done("wakeup", 9)),
    at(17, "op_complete", **done("attempt", 10, "IllegalState")),
    at(18, "partitions_lost", partitions=PLACES[1:]),
    at(19, "partitions_revoked", partitions=PLACES[:1]),
    at(20, "op_complete", **done("unsubscribe", 11)),
    at(21, "unsupported", cmd="assign", id=12),
    at(22, "stats", sent=0, completed=4),
    at(23, "news", of="nothing"),
    at(24, "op_complete", **done("close", 13)),
    at(25, "shutdown_complete"),
]  # fmt: skip
