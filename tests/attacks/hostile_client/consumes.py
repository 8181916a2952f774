"""Attacks of a member of a group: what it reports, and what it asks its coordinator for."""

from __future__ import annotations

import socket
import struct
import time
from typing import Any

from contract import ENOUGH_S, MIB, answer, at, crc32c, say
from sends import broker

#: As many as the load has, or more.
RECORDS = 1_200
#: An offset that no log reaches.
NEVER = 2**62
SECRET = "password=hunter2-of-a-consumer"
ESCAPES = "\x1b]0;owned\x07\x1b[2J\n::error file=a::b"


@at("subscribe")
def assigns_millions_of_partitions(command: Any) -> None:
    """Report an assignment of topics that are not subscribed, as long as a line may be."""
    answer(command)
    foreign = {"topic": "f", "partition": 0}
    say("partitions_assigned", partitions=[foreign] * 250_000)
    time.sleep(ENOUGH_S)


@at("subscribe")
def consumes_what_never_was(command: Any) -> None:
    """Report all records of the load where none is, and then records of seven MiB."""
    answer(command)
    say("partitions_assigned", partitions=[place(command, n) for n in range(3)])
    consumed(command, [value(command, n) for n in range(RECORDS)])
    consumed(command, ["v" * 7 * MIB])


@at("subscribe")
def commits_millions_of_offsets(command: Any) -> None:
    """Send OffsetCommit 2 with two million partitions."""
    answer(command)
    group = text(command["topics"][0])
    partitions = b"".join(struct.pack(">iqh", n, NEVER, -1) for n in range(95_000))
    topics = b"".join(text(f"t{n}") + (95_000).to_bytes(4, "big") + partitions for n in range(20))
    body = group + struct.pack(">i", -1) + text("") + struct.pack(">qi", -1, 20) + topics
    with socket.create_connection(broker(command)) as connection:
        connection.sendall(request(8, 2, body))
        connection.recv(MIB)
    say("fatal", error="Committed", message="millions of offsets")


@at("subscribe")
def joins_as_thousands(command: Any) -> None:
    """Send JoinGroup 3 with thousands of member ids, each as long as a string may be."""
    answer(command)
    with socket.create_connection(broker(command)) as connection:
        for n in range(3_000):
            body = (
                text(command["topics"][0])
                + struct.pack(">ii", 6_000, 6_000)
                + text(f"{n}".ljust(30_000, "x"))
            )
            connection.sendall(request(11, 3, body + text("consumer") + bytes(4)))
            connection.recv(MIB)
    say("fatal", error="Joined", message="thousands of times")


@at("subscribe")
def errors_without_end(command: Any) -> None:
    """Report errors with a secret and with commands for a terminal."""
    answer(command)
    for _ in range(100_000):
        say("consumer_error", call=ESCAPES, error=f"{ESCAPES} {SECRET}", message=SECRET)


@at("subscribe")
def never_closes(command: Any) -> None:
    """Report all records, so that the load is over at once. Then read no command."""
    answer(command)
    say("partitions_assigned", partitions=[place(command, n) for n in range(3)])
    consumed(command, [value(command, n) for n in range(RECORDS)])
    time.sleep(ENOUGH_S)


def place(command: Any, partition: int) -> dict[str, Any]:
    return {"topic": command["topics"][0], "partition": partition}


def consumed(command: Any, values: list[str]) -> None:
    """Report records at offsets that do not exist."""
    count, now_ns = len(values), time.monotonic_ns()
    bounds = {"minOffset": NEVER, "maxOffset": NEVER + count - 1}
    offsets = list(range(NEVER, NEVER + count))
    part = {**place(command, 0), "count": count, **bounds, "offsets": offsets, "values": values}
    say("records_consumed", count=count, partitions=[part], polled_ns=now_ns)


def value(command: Any, n: int) -> str:
    """Return the value of a record as the harness writes it, without padding."""
    body = f"kt1|{command['run_id']}|{command['topics'][0]}|p1|{n}||"
    return f"{body}{crc32c(body.encode()):08x}"


def text(value: str) -> bytes:
    return len(value).to_bytes(2, "big") + value.encode()


def request(api_key: int, version: int, body: bytes) -> bytes:
    data = struct.pack(">hhih", api_key, version, 7, -1) + body
    return len(data).to_bytes(4, "big") + data
