"""The commands and events of a Go program, with an adapter whose client misbehaves as a test requires."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from clients.adapters.go_lib import VERIFIABLE
from harness.provision.go import go_tool, run_go

pytestmark = pytest.mark.long("builds a program and starts it for each test")

PRODUCE = {"cmd": "produce", "id": 2, "topic": "t", "first": 7, "keys": ["abc", None], "values": ["x", "y"]}
FLUSH = {"cmd": "flush", "id": 3, "timeout_ms": 60_000}
CLOSE = {"cmd": "close", "id": 4, "timeout_ms": 60_000}
#: How long the application pauses after a failed commit, so that it does not fail again at once.
PAUSE_NS = 100_000_000


def configure(mode: str = "", **settings: Any) -> dict[str, Any]:
    return {"cmd": "configure", "id": 1, "config": {"mode": mode, **settings}}


@pytest.fixture(scope="module")
def argv(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path]:
    folder = tmp_path_factory.mktemp("tiny")
    module = shutil.copytree(Path(__file__).with_name("go_tiny"), folder / "module")
    shutil.copytree(VERIFIABLE, module / "verifiable")
    (module / "go.mod").write_text("module adapter\n\ngo 1.23\n")
    ended = run_go(go_tool(), "build", "-C", module, "-o", folder / "tiny", ".")
    assert ended.returncode == 0, ended.output
    return (folder / "tiny",)


def test_events_from_startup_to_shutdown(started):
    client = started()
    client.send(configure(), PRODUCE, FLUSH, CLOSE)
    code, events = client.end()
    assert (code, [event["seq"] for event in events]) == (0, list(range(len(events))))
    assert [event["mono_ns"] for event in events] == sorted(event["mono_ns"] for event in events)
    ops = [(event["name"], event.get("op")) for event in events if event["name"] != "stats"]
    assert ops == [
        ("startup_complete", None),
        ("configured", None),
        ("op_invoke", "send"),
        ("op_invoke", "flush"),
        ("op_complete", "send"),
        ("op_complete", "flush"),
        ("op_invoke", "close"),
        ("op_complete", "close"),
        ("shutdown_complete", None),
    ]
    startup = {"client": "tiny", "client_version": "1.0.0", "library_version": "0.9", "language": "go"}
    assert startup.items() <= events[0].items()


def test_results_are_columns(started):
    client = started()
    client.send(configure(), PRODUCE | {"partitions": [0, 4]})
    invoke, done = client.until("op_invoke"), client.until("op_complete")
    assert (invoke["first"], invoke["count"]) == (7, 2)
    assert (done["id"], done["records"]) == (2, [7, 8])
    assert (done["outcome"], done["error"]) == (["ok", "ok"], [None, None])
    assert (done["partition"], done["offset"]) == ([0, 4], [2**60, 2**60])
    for invoke_ns, complete_ns in zip(done["invoke_ns"], done["complete_ns"], strict=True):
        assert invoke["mono_ns"] <= invoke_ns <= complete_ns <= done["mono_ns"]


def test_without_partitions_the_client_partitions_by_key(started):
    client = started()
    client.send(configure(), PRODUCE)
    assert client.until("op_complete")["partition"] == [3, 0]


def test_no_line_has_more_than_500_rows(started):
    client = started()
    client.send(configure(), PRODUCE | {"keys": [None] * 1_200, "values": ["v"] * 1_200}, CLOSE)
    _, events = client.end()
    sent = [event["records"] for event in events if event["name"] == "op_complete" and event["op"] == "send"]
    assert max(map(len, sent)) <= 500
    assert [n for records in sent for n in records] == list(range(7, 1_207))


def test_failed_record_has_no_partition_and_offset(started):
    client = started()
    client.send(configure("fails"), PRODUCE)
    done = client.until("op_complete")
    assert (done["outcome"], done["error"]) == (["fail"] * 2, ["TooLarge"] * 2)
    assert (done["partition"], done["offset"]) == ([-1, -1], [-1, -1])


def test_flush_waits_for_results_if_the_client_has_no_flush(started):
    client = started()
    client.send(configure("late"), PRODUCE, FLUSH)
    assert client.until("op_complete", op="send")["outcome"][0] == "info"
    assert client.until("op_complete", op="flush")["outcome"] == ["ok"]


def test_flush_and_close_fail_at_their_timeout(started):
    client = started()
    client.send(configure("holds"), PRODUCE, FLUSH | {"timeout_ms": 50}, CLOSE)
    code, events = client.end()
    ends = [event for event in events if event["name"] == "op_complete"]
    assert [(event["op"], event["outcome"], event["error"]) for event in ends] == [
        ("flush", ["fail"], ["the client is not done"]),
        ("close", ["fail"], ["the client is not done"]),
    ]
    assert code == 0


def test_hanging_close_fails_at_its_timeout(started):
    client = started()
    client.send(configure("hangs"), CLOSE | {"timeout_ms": 50})
    code, events = client.end()
    assert (code, [event["name"] for event in events][-2:]) == (0, ["op_complete", "shutdown_complete"])
    assert events[-2]["outcome"] == ["fail"]


def test_sigterm_ends_flush_and_skips_queued_commands(started):
    client = started()
    client.send(configure("holds"), PRODUCE, FLUSH, PRODUCE | {"id": 5, "first": 100})
    client.until("op_invoke", op="flush")
    client.process.send_signal(signal.SIGTERM)
    assert client.until("op_complete", op="flush")["outcome"] == ["fail"]
    code, events = client.end()
    begun = [(event["op"], event["id"]) for event in events if event["name"] == "op_invoke"]
    assert (code, begun) == (0, [("close", -1)])


def test_panic_is_fatal(started):
    client = started()
    client.send(configure("panics"), PRODUCE)
    fatal = client.until("fatal")
    assert (fatal["error"], fatal["message"]) == ("AdapterError", "beyond me")
    assert client.end() == (1, [])


@pytest.mark.parametrize(
    ("mode", "error", "message"),
    [("refuses", "ConfigRefused", "not with me"), ("errs", "AdapterError", "a defect")],
)
def test_refused_configuration_differs_from_defect(started, mode, error, message):
    client = started()
    client.send(configure(mode))
    fatal = client.until("fatal")
    assert (fatal["error"], fatal["message"]) == (error, message)


@pytest.mark.parametrize("command", [PRODUCE, FLUSH])
def test_command_before_configure_is_fatal(started, command):
    client = started()
    client.send(command)
    assert client.until("fatal")["message"] == f"{command['cmd']} before configure"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"1",
        b'{"cmd":1}',
        b'{"id":1}',
        b'{"cmd":"flush","id":1}',
        b'{"cmd":"flush","id":"x","timeout_ms":1}',
        json.dumps(PRODUCE | {"keys": [None]}).encode(),
        json.dumps(PRODUCE | {"partitions": [0]}).encode(),
    ],
)
def test_malformed_command_is_fatal(started, line):
    client = started()
    client.write(line)
    assert client.until("fatal")["error"] == "BadCommand"
    assert client.end() == (2, [])


def test_client_output_does_not_reach_stdout(started):
    client = started()
    client.send(configure("prints"), CLOSE)
    code, events = client.end()
    assert (code, events[-1]["name"]) == (0, "shutdown_complete")


def test_every_setting_is_reported_with_its_own_name_and_value(started):
    given = {"choice": "one", "duration": 1_500, "fixed": 5, "int": "12", "list": "a,b", "truth": False}
    client = started()
    client.send(configure(**given))
    told = client.until("configured")
    assert told["applied"] == {
        "choice": ["own.choice", "one"],
        "duration": ["own.duration", "1.5s"],
        "fixed": ["always", 5],
        "int": ["own.int", 12],
        "list": ["own.list", "a,b"],
        "mode": ["own.mode", ""],
        "truth": ["own.truth", False],
    }
    assert told["not_set"] == {}


def test_invalid_values_are_not_set(started):
    given = {
        "choice": "two",
        "duration": -1,
        "fixed": 1,
        "int": "1.5",
        "truth": "yes",
        "absent": 1,
        "unheard.of": 1,
    }
    client = started()
    client.send(configure(**given))
    told = client.until("configured")
    assert told["not_set"] == {
        "absent": "it has none",
        "choice": 'the client does not support "two"',
        "duration": "-1 is not a time in milliseconds",
        "fixed": "it is always 5",
        "int": '"1.5" is not a whole number',
        "truth": '"yes" is neither true nor false',
        "unheard.of": "the client has no such setting",
    }


@pytest.mark.parametrize(
    ("mode", "expected"), [("", [0, 1, 2]), ("cannot seek", [2])], ids=["seeks", "cannot seek"]
)
def test_records_that_could_not_be_committed_first_are_not_processed(started, mode, expected):
    client = started()
    client.send(
        configure(mode) | {"role": "consumer"},
        {"cmd": "subscribe", "id": 2, "topics": ["t"], "commit": "sync-first"},
    )
    failed = client.until("offsets_committed")
    assert (failed["success"], failed["error"]) == (False, "Unlucky")
    read: dict[int, list[int]] = {0: [], 1: []}
    polled_ns = []
    while read[0][-1:] != expected[-1:]:
        turn = client.until("records_consumed")
        polled_ns.append(turn["polled_ns"])
        for part in turn["partitions"]:
            read[part["partition"]] += part["offsets"]
    assert read == {0: expected, 1: expected}
    assert polled_ns[0] - failed["complete_ns"] >= PAUSE_NS
    client.send(CLOSE)
    assert client.end()[0] == 0
