"""The consumer's half of the contract library for Rust, with a client that misbehaves as a test requires."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import clients.adapters
from harness.provision.cargo import find_cargo

pytestmark = [pytest.mark.every_client, pytest.mark.long("builds a program and starts it for each test")]

LIBRARY = Path(clients.adapters.__file__).parent / "rust_lib" / "verifiable"
FEATURES = ("consumer", "group", "seek", "wakeup")
CONFIGURE = {"cmd": "configure", "id": 1, "role": "consumer", "config": {}}
CLOSE = {"cmd": "close", "id": 9, "timeout_ms": 60_000}
PLACES = [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 1}]
#: How long the application pauses after a failed commit, so that it does not fail again at once.
PAUSE_NS = 100_000_000

Event = dict[str, Any]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    shutil.copytree(LIBRARY, folder / "verifiable", ignore=shutil.ignore_patterns("target"))
    program = shutil.copytree(Path(__file__).with_name("rust_tiny"), folder / "program")
    ended = find_cargo().run(
        folder / "home",
        "build",
        *("--manifest-path", program / "Cargo.toml", "--target-dir", folder / "target"),
    )
    assert ended.returncode == 0, ended.output
    return folder / "target" / "debug" / "tiny"


@pytest.fixture
def start(tiny: Path, begin: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that starts the program as a configured consumer with some features."""

    def started(*features: str, **config: Any) -> Any:
        client = begin(tiny, *(features or FEATURES))
        client.send(CONFIGURE | {"config": config})
        return client

    return started


def subscribe(**fields: Any) -> Event:
    return {"cmd": "subscribe", "id": 2, "topics": ["t"], **fields}


def read(events: list[Event]) -> dict[int, list[int]]:
    """Return the offsets that were processed, by partition."""
    offsets: dict[int, list[int]] = {}
    for event in events:
        for part in event["partitions"] if event["name"] == "records_consumed" else ():
            offsets.setdefault(part["partition"], []).extend(part["offsets"])
    return offsets


def until_read(client: Any, count: int) -> list[Event]:
    """Return the events until this many records were processed."""
    events = []
    while sum(map(len, read(events).values())) < count:
        events.append(json.loads(client.process.stdout.readline()))
    return events


def test_records_are_columns(start):
    client = start()
    client.send(subscribe())
    assert client.until("op_invoke", op="subscribe")["id"] == 2
    assigned = client.until("partitions_assigned")
    assert (assigned["partitions"], assigned["generation"], assigned["member_id"]) == (PLACES, 7, "m")
    assert client.until("op_complete", op="subscribe")["outcome"] == ["ok"]
    turn = client.until("records_consumed")
    common = {"topic": "t", "count": 2, "offsets": [0, 1], "minOffset": 0, "maxOffset": 1}
    common |= {"values": ["v", "v"], "keys": [None, None]}
    assert turn["partitions"] == [
        {**common, "partition": 0, "leader_epochs": [4, 4]},
        {**common, "partition": 1, "leader_epochs": []},
    ]
    assert (turn["count"], turn["polled_ns"] <= turn["mono_ns"]) == (4, True)


@pytest.mark.parametrize(("features", "expected"), [(FEATURES, [0, 1, 2]), (("consumer", "group"), [2])])
def test_records_that_could_not_be_committed_first_are_not_processed(start, features, expected):
    client = start(*features, unlucky=True)
    client.send(subscribe(commit="sync-first"))
    failed = client.until("offsets_committed")
    assert (failed["success"], failed["error"], failed["how"]) == (False, "Unlucky", "sync")
    assert client.until("consumer_error")["call"] == "commit"
    turns = until_read(client, 2 * len(expected))
    assert read(turns) == {0: expected, 1: expected}
    first = next(event for event in turns if event["name"] == "records_consumed")
    assert first["polled_ns"] - failed["complete_ns"] >= PAUSE_NS


def test_commits_cover_what_was_processed(start):
    client = start()
    client.send(subscribe(commit="sync"))
    ends = [client.until("offsets_committed")["offsets"] for _ in range(2)]
    assert [[row["offset"] for row in offsets] for offsets in ends] == [[2, 2], [3, 3]]
    client.send({"cmd": "commit", "id": 3})
    again = client.until("offsets_committed")
    assert (again["offsets"], again["success"]) == ([{**place, "offset": 3} for place in PLACES], True)


def test_result_of_a_commit_that_nobody_waits_for_comes_later(start):
    client = start()
    client.send(subscribe(commit="async"))
    told = client.until("offsets_committed")
    assert (told["how"], told["success"], told["error"]) == ("async", False, "Late")


def test_records_of_a_poll_are_processed_before_their_partition_is_revoked(start):
    client = start(revokes=3)
    client.send(subscribe())
    events = until_read(client, 4)
    revoked = next(n for n, event in enumerate(events) if event["name"] == "partitions_revoked")
    assert read(events[:revoked]) == {0: [0, 1], 1: [0]}
    assert read(events) == {0: [0, 1, 2], 1: [0]}
    client.send({"cmd": "commit", "id": 4})
    client.until("op_invoke", id=4)
    assert client.until("offsets_committed")["offsets"] == [{**PLACES[0], "offset": 3}]


def test_wakeup_ends_a_poll_with_an_error(start):
    client = start()
    client.send(subscribe())
    until_read(client, 6)
    client.send({"cmd": "wakeup", "id": 3})
    told = client.until("consumer_error")
    assert (told["call"], told["error"], told["retriable"]) == ("poll", "Woken", False)


def test_error_of_the_listener_reaches_the_client(start):
    client = start()
    client.send({"cmd": "throw", "id": 3, "callback": "assigned"}, subscribe())
    assert client.until("op_complete", op="throw")["outcome"] == ["ok"]
    failed = client.until("op_complete", op="subscribe")
    assert (failed["outcome"], failed["error"]) == (["fail"], ["ListenerFailed"])
    client.send(subscribe())
    assert client.until("op_complete", op="subscribe")["outcome"] == ["ok"]


@pytest.mark.parametrize(
    "command",
    [
        {"cmd": "assign", "partitions": []},
        {"cmd": "attempt", "call": "poll"},
        {"cmd": "pause", "partitions": PLACES},
        {"cmd": "produce", "topic": "t", "first": 0, "keys": [None], "values": ["v"]},
        {"cmd": "subscribe", "pattern": "t"},
        {"cmd": "throw", "callback": "revoked"},
    ],
    ids=lambda command: command["cmd"],
)
def test_what_the_client_does_not_declare_is_unsupported(start, command):
    client = start()
    client.send(command | {"id": 3})
    assert client.until("unsupported")["cmd"] == command["cmd"]


def test_close_ends_the_work_on_records(start):
    client = start()
    client.send(subscribe(processing_ms=600_000))
    client.until("op_complete", op="subscribe")
    client.send(CLOSE)
    code, events = client.end()
    assert (code, [event["name"] for event in events][-2:]) == (0, ["op_complete", "shutdown_complete"])
    assert events[-2]["outcome"] == ["ok"]


@pytest.mark.parametrize(
    "command",
    [
        {"cmd": "assign"},
        {"cmd": "attempt", "call": "sing"},
        {"cmd": "commit", "how": "never"},
        {"cmd": "pause", "partitions": [{"topic": "t"}]},
        {"cmd": "process"},
        {"cmd": "seek"},
        {"cmd": "subscribe", "commit": "twice"},
        {"cmd": "throw"},
    ],
    ids=lambda command: command["cmd"],
)
def test_malformed_call_is_fatal(start, command):
    client = start()
    client.send(command | {"id": 3})
    assert client.until("fatal")["error"] == "BadCommand"
    assert client.end() == (2, [])
