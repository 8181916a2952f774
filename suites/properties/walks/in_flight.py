"""Walks of RequestsEndOnceAndInOrder: several requests in flight, and each way in which they end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from suites.properties.property import Step, step


def begin(limit: int, *, raises: bool = False) -> Step:
    return step("begin", limit=limit, raises=raises)


def send(timeout_ms: int = 30_000, *, answered: bool = True, careful: bool = True, node_id: int = 1) -> Step:
    return step("send", node_id=node_id, timeout_ms=timeout_ms, expects_response=answered, is_careful=careful)


def end(how: str) -> Step:
    return step("end", node_id=1, how=how)


ANSWER = step("answer", node_id=1, throttle_ms=0, known=True)
ROUND = step("round")

WALKS: Mapping[str, Sequence[Step]] = {
    "as many as may be, and one more": (begin(2), send(), send(), ROUND, send(careful=False)),
    "three are lost": (begin(5), send(), send(), send(), end("lost")),
    "three are ended by the caller": (begin(5), send(), send(), send(), end("disconnect"), ROUND),
    "a node is closed and forgotten": (begin(5), send(), send(), end("close"), ROUND, send(), ANSWER),
    "a request to a closed node": (begin(5), end("close"), send(careful=False)),
    "callbacks that raise": (begin(5, raises=True), send(), send(), end("lost"), send(), ANSWER),
    "acknowledgements that are not wanted": (begin(2), send(answered=False), ROUND, send(), ANSWER),
    "one of two takes too long": (begin(5), send(1_000), send(), step("wait", passed_ms=1_001)),
    "a throttled request": (
        begin(5),
        send(1_000),
        send(1_000),
        step("answer", node_id=1, throttle_ms=700, known=True),
        step("wait", passed_ms=1_001),
        step("wait", passed_ms=999),
    ),
    "an answer to another request": (
        begin(5),
        send(),
        send(),
        step("answer", node_id=1, throttle_ms=0, known=False),
    ),
    "an answer to nothing": (begin(5), end("unasked")),
    "a write that was held is over before the next connection": (
        begin(1),
        end("disconnect"),
        step("write", hold=True),
        send(answered=False, node_id=2),
        step("answers", count=1),
        send(),
        ROUND,
    ),
    "two nodes": (begin(5), send(), send(node_id=2), send(), step("answers", count=3)),
}
