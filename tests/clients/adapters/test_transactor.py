"""The application of a transactional producer, in each contract library that runs here: it makes the same calls.

A story is a program whose calls fail in a stated way, the command, and what the application has to do and to report.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from clients.adapters.java import CLIENT
from clients.adapters.python_lib.verifiable import transactor
from clients.adapters.python_lib.verifiable.adapter import Adapter
from clients.adapters.python_lib.verifiable.transacting import ATTEMPTS
from clients.adapters.python_lib.verifiable.transactor import Transactor
from harness.provision.java_programs import compile_into

RECORDS = 3
BEGUN = [("init_transactions", "ok"), ("begin_transaction", "ok")]


class Story(NamedTuple):
    """Failures of calls (call -> ways out, or the number of the refused send), and what follows from them."""

    failures: dict[str, str]
    end: str
    calls: list[tuple[str, str]]
    outcome: str
    error: str | None
    sent: int = RECORDS


def steps(*calls: str) -> list[tuple[str, str]]:
    return [
        *BEGUN,
        *((f"{call}_transaction", outcome) for call, _, outcome in (c.partition(" ") for c in calls)),
    ]


STORIES = {
    "committed": Story({}, "commit", steps("commit ok"), "ok", None),
    "aborted": Story({}, "abort", steps("abort ok"), "ok", None),
    "repeated": Story(
        {"commit": "REPEAT,REPEAT"}, "commit", steps("commit info", "commit info", "commit ok"), "ok", None
    ),
    "repeated too often": Story(
        {"commit": ",".join(["REPEAT"] * ATTEMPTS)},
        "commit",
        steps(*["commit info"] * ATTEMPTS),
        "info",
        "REPEAT",
    ),
    "can only be aborted": Story(
        {"commit": "ABORT"}, "commit", steps("commit fail", "abort ok"), "fail", "ABORT"
    ),
    "cannot even be aborted": Story(
        {"commit": "ABORT", "abort": "CLOSE"}, "commit", steps("commit fail", "abort info"), "info", "ABORT"
    ),
    "repeated, then aborted": Story(
        {"commit": "REPEAT,ABORT"}, "commit", steps("commit info", "commit fail", "abort ok"), "fail", "ABORT"
    ),
    "closed": Story({"commit": "CLOSE"}, "commit", steps("commit info"), "info", "CLOSE"),
    "abort that is unknown": Story({"abort": "CLOSE"}, "abort", steps("abort info"), "ok", None),
    "refused record": Story({"send": "2"}, "commit", steps("abort ok"), "fail", "Refused", sent=1),
    "refused record of an abort": Story({"send": "2"}, "abort", steps("abort ok"), "ok", "Refused", sent=1),
    "not initialized": Story(
        {"init": "CLOSE"}, "commit", [("init_transactions", "info")], "fail", "CLOSE", sent=0
    ),
    "not begun": Story(
        {"begin": "CLOSE"},
        "commit",
        [("init_transactions", "ok"), ("begin_transaction", "info")],
        "fail",
        "CLOSE",
        sent=0,
    ),
}
#: After these stories the application has another producer, which it initializes.
RENEWED = {
    "repeated too often",
    "cannot even be aborted",
    "closed",
    "abort that is unknown",
    "not initialized",
    "not begun",
}


def command(id: int, end: str) -> dict[str, Any]:
    values = [str(n) for n in range(RECORDS)]
    told = {"cmd": "transact", "id": id, "topic": "t", "first": id * 10, "keys": values, "values": values}
    return told | {"end": end, "flush": True}


class Failing(Adapter):
    """The Python twin of TinyTransactions.java."""

    features = ("producer", "transactions")

    def __init__(self, failures: dict[str, str]) -> None:
        self._refused = int(failures.get("send", 0))
        self._ways = {call: deque(ways.split(",")) for call, ways in failures.items() if call != "send"}
        self._sent = 0
        self.renewed = 0

    def _maybe_fail(self, call: str) -> None:
        if self._ways.get(call):
            raise ValueError(self._ways[call].popleft())

    def send(self, topic, key, value, partition, result):
        self._sent += 1
        if self._sent == self._refused:
            result.fail("Refused")
        else:
            result.ok(0, self._sent)

    def flush(self, timeout_s):
        return True

    def init_transactions(self):
        self._maybe_fail("init")

    def begin_transaction(self):
        self._sent = 0
        self._maybe_fail("begin")

    def commit_transaction(self):
        self._maybe_fail("commit")

    def abort_transaction(self):
        self._maybe_fail("abort")

    def way_out(self, error):
        return str(error).lower()

    def name_of(self, error):
        return str(error)

    def renew(self):
        self.renewed += 1


class Kept:
    """Keeps events instead of writing them."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def event(self, name, fields, last=False):
        self.events.append({"name": name, **fields})


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(transactor, "ERROR_PAUSE_S", 0)


def in_python(
    story: Story, is_hurried: bool = False
) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]], int]:
    """Return the events of the story's transaction and of one more, and the rows of the first."""
    output, adapter = Kept(), Failing(story.failures)
    application = Transactor(adapter, output, lambda: is_hurried)
    rows = application.transact(command(1, story.end))
    application.transact(command(2, "commit"))
    return output.events, rows, adapter.renewed


def called(events: list[dict[str, Any]], id: int) -> list[tuple[str, str]]:
    """Return the calls of one command with their outcomes. Each has begun before."""
    ops = [event["op"] for event in events if event["name"] == "op_invoke" and event["id"] == id]
    told = [
        (event["op"], *event["outcome"])
        for event in events
        if event["name"] == "op_complete"
        and event["id"] == id
        and event["op"].endswith(("transactions", "transaction"))
    ]
    assert ops[0] == "transact" and ops[1:] == [op for op, _ in told]
    return told


@pytest.mark.parametrize("name", STORIES)
def test_application_does_what_the_error_lets_it_do(impatient, name):
    story = STORIES[name]
    events, rows, renewed = in_python(story)
    assert called(events, 1) == story.calls
    assert {row[:2] for row in rows} == {(story.outcome, story.error)}
    assert [row[4:] for row in rows] == [
        (10 + n, 0, n + 1) if n < story.sent else (10 + n, -1, -1) for n in range(RECORDS)
    ]
    assert (renewed, called(events, 2)[0]) == (1, BEGUN[0]) if name in RENEWED else (0, BEGUN[1])


def test_call_is_not_repeated_after_a_signal(impatient):
    events, rows, _ = in_python(STORIES["repeated"], is_hurried=True)
    assert called(events, 1) == steps("commit info")
    assert {row[:2] for row in rows} == {("info", "REPEAT")}


@pytest.mark.jvm
@pytest.mark.parametrize("name", STORIES)
def test_application_in_java_does_the_same(argv, begin, tiny, name):
    story = STORIES[name]
    *launch, _ = argv
    words = (f"{call}={ways}" for call, ways in story.failures.items())
    client = begin(*launch[:-1], f"{tiny}:{launch[-1]}", "TinyTransactions", *words)
    client.send({"cmd": "configure", "id": 0, "config": {}}, command(1, story.end), command(2, "commit"))
    code, events = client.end()
    assert (code, events[-1]["name"]) == (0, "shutdown_complete")
    assert called(events, 1) == story.calls
    lines = [e for e in events if e["name"] == "op_complete" and (e["op"], e["id"]) == ("transact", 1)]
    columns = ("records", "offset", "outcome", "error")
    rows = [row for line in lines for row in zip(*(line[name] for name in columns), strict=True)]
    assert rows == [
        (10 + n, n + 1 if n < story.sent else -1, story.outcome, story.error) for n in range(RECORDS)
    ]
    assert called(events, 2)[0] == (BEGUN[0] if name in RENEWED else BEGUN[1])


@pytest.fixture(scope="module")
def tiny(argv, tmp_path_factory):
    """Return the classes of the program in Java."""
    classes = tmp_path_factory.mktemp("classes")
    source = Path(__file__).parent / "java_tiny" / "TinyTransactions.java"
    compile_into(classes, [source], argv[-2], what="the program of the test")
    return classes


__all__ = ("CLIENT",)
