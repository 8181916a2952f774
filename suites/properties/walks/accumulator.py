"""Walks of BatchesGoWhenTheyMayAndInOrder: linger, limits of requests, muted partitions, retries, expiry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from suites.properties.property import Step, step

BEGIN, LOOK = step("begin"), step("look")
LINGERED = step("wait", passed_ms=40)
LARGE = 200


def append(partition: int, size_bytes: int) -> Step:
    return step("append", partition=partition, size_bytes=size_bytes)


def drain(*nodes: int) -> Step:
    return step("drain", nodes=set(nodes))


def muted(value: bool) -> Step:
    return step("mute", partition=0, muted=value)


WALKS: Mapping[str, Sequence[Step]] = {
    "a record joins the open batch": (BEGIN, append(0, 10), append(0, 10), LOOK, LINGERED, LOOK, drain(1)),
    "a record opens the next batch": (BEGIN, append(0, 70), append(0, 70), LOOK, drain(1), drain(1)),
    "a record beyond batch.size": (BEGIN, append(0, 10), append(0, LARGE), append(0, 10), LOOK, drain(1)),
    "two large batches for one node": (BEGIN, append(0, LARGE), append(2, LARGE), LOOK, drain(1), drain(1)),
    "a muted partition": (BEGIN, append(0, LARGE), muted(True), LOOK, drain(1), muted(False), LOOK, drain(1)),
    "a batch goes again": (
        BEGIN,
        append(0, LARGE),
        drain(1),
        append(0, LARGE),
        step("fails", which=0),
        LOOK,
        drain(1),
        step("wait", passed_ms=20),
        LOOK,
        drain(1),
        step("ends", which=0),
        drain(1),
    ),
    "batches expire in the queue": (
        BEGIN,
        append(0, LARGE),
        append(1, 10),
        *3 * (step("wait", passed_ms=1_000),),
        LOOK,
    ),
    "a flush": (BEGIN, append(0, 10), step("flush", flushing=True), LOOK, drain(1)),
    "no leader": (BEGIN, append(0, LARGE), step("move", partition=0, leader=-1), LOOK, drain(1, 2)),
    "a new leader": (
        BEGIN,
        append(0, LARGE),
        drain(1),
        step("fails", which=0),
        step("move", partition=0, leader=2),
        LOOK,
        drain(2),
    ),
}
