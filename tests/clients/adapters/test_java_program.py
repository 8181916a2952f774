"""The program for kafka-clients and the contract library for Java: what the contract tests do not cover."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from clients.adapters.java import CLIENT
from clients.adapters.python_lib.verifiable.commands import COMMANDS
from harness.model.consumer_contract import ConsumerCommand
from harness.model.errors import UsageError
from harness.provision.java_programs import compile_into
from harness.provision.versions import in_order
from testkit.codes import raises_code

SETTINGS = {"max.block.ms": 200}
#: How long the application pauses after a failed commit, so that it does not fail again at once.
PAUSE_NS = 100_000_000


def produce(count: int, first: int = 0, id: int = 2) -> dict[str, Any]:
    keys = [f"key {n}" for n in range(count)]
    return {"cmd": "produce", "id": id, "topic": "t", "first": first, "keys": keys, "values": keys}


def transact(end: str = "commit") -> dict[str, Any]:
    return produce(3) | {"cmd": "transact", "end": end, "flush": True}


def test_versions_are_in_order():
    assert in_order(CLIENT.versions) == list(CLIENT.versions)


@pytest.mark.parametrize("version", ["", "latest", "latest.integration", "[2.0,3.0)", "4.+", "-settings"])
def test_version_range_is_rejected(version):
    with raises_code(UsageError, "client-version-format", client="java"):
        CLIENT.install(version)


@pytest.mark.jvm
@pytest.mark.parametrize("cmd", COMMANDS)
def test_command_without_a_field_is_fatal(run_to_end, configure, cmd):
    whole = {
        "configure": configure(),
        "produce": produce(1),
        "transact": transact(),
        "flush": {"cmd": "flush", "id": 3, "timeout_ms": 0},
        "close": {"cmd": "close", "id": 4, "timeout_ms": 0},
        **{
            str(kind.__struct_config__.tag): {
                "cmd": kind.__struct_config__.tag,
                **dict.fromkeys(COMMANDS[str(kind.__struct_config__.tag)], 1),
            }
            for kind in ConsumerCommand.__args__
        },
    }
    del whole[cmd][COMMANDS[cmd][-1]]
    code, events = run_to_end(whole[cmd])
    assert (code, events[-1]["name"], events[-1]["error"]) == (2, "fatal", "BadCommand")


@pytest.mark.jvm
@pytest.mark.parametrize(
    "line", ["", "null", '{"cmd": 7}', '{"cmd": "flush", "id": "x", "timeout_ms": 1}', "{} {}"]
)
def test_malformed_command_is_fatal(started, line):
    client = started()
    client.write(line.encode())
    code, events = client.end()
    assert (code, events[-1]["error"]) == (2, "BadCommand")


@pytest.mark.jvm
def test_text_is_encoded_and_decoded_unchanged(run_to_end):
    name = 'récite "un" poème \\ ☃ 🜚'
    _, events = run_to_end({"cmd": name, "id": 5})
    assert [(event["cmd"], event["id"]) for event in events if event["name"] == "unsupported"] == [(name, 5)]


@pytest.mark.jvm
@pytest.mark.parametrize("out_of_order", ["produce", "flush", "configure twice"])
def test_commands_in_the_wrong_order_are_fatal(run_to_end, configure, out_of_order):
    commands = {
        "produce": [produce(1)],
        "flush": [{"cmd": "flush", "id": 3, "timeout_ms": 0}],
        "configure twice": [configure(), configure()],
    }
    code, events = run_to_end(*commands[out_of_order])
    assert (code, events[-1]["error"]) == (1, "IllegalStateException")


@pytest.mark.jvm
def test_settings_keep_javas_names_and_unknown_ones_are_reported(run_to_end, configure):
    odd = {"no.such.setting": 1, "linger.ms": 5, "enable.idempotence": False}
    _, events = run_to_end(configure(**odd))
    [told] = [event for event in events if event["name"] == "configured"]
    assert told["applied"]["linger.ms"] == ["linger.ms", "5"]
    assert told["applied"]["enable.idempotence"] == ["enable.idempotence", "false"]
    why = f"kafka-clients {CLIENT.default_version} has no setting of this name"
    assert told["not_set"] == {"no.such.setting": why}


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"acks": "banana"}, "banana for configuration acks"),
        ({"delivery.timeout.ms": 1}, "should be equal to or larger than"),
        ({"compression.type": "banana"}, "banana"),
        ({"bootstrap.servers": "nowhere"}, "bootstrap.servers"),
    ],
)
def test_refused_settings_are_reported_with_the_clients_message(run_to_end, configure, settings, why):
    code, events = run_to_end(configure(**settings))
    assert (code, events[-1]["error"]) == (1, "ConfigRefused")
    assert why in events[-1]["message"]


@pytest.mark.jvm
def test_record_that_never_entered_a_batch_fails(run_to_end, configure):
    """Without metadata ``send()`` gives up after ``max.block.ms``, before anything can be sent."""
    code, events = run_to_end(configure(), produce(3), produce(1, first=3, id=3))
    sends = [event for event in events if event["name"] == "op_complete" and event["op"] == "send"]
    rows = [
        row for event in sends for row in zip(event["records"], event["outcome"], event["error"], strict=True)
    ]
    assert rows == [(n, "fail", "TimeoutException") for n in range(4)]
    assert (code, events[-1]["name"]) == (0, "shutdown_complete")


@pytest.mark.jvm
def test_sigterm_skips_queued_commands(started, configure):
    config = configure(**{"max.block.ms": 1_000})
    client = started()
    client.send(config, produce(1_000), produce(2, first=1_000, id=3))
    client.until("op_invoke")
    client.process.send_signal(signal.SIGTERM)
    events = client.rest()
    code, _ = client.end()
    ops = [(event["name"], event["op"]) for event in events if event["name"].startswith("op_")]
    # Results of sent records may arrive at any time before the client is closed.
    assert [op for name, op in ops if name == "op_invoke"] == ["close"]
    assert ops[-1] == ("op_complete", "close")
    assert (code, events[-1]["name"]) == (0, "shutdown_complete")


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("words", "expected"), [((), [0, 1, 2]), (("cannot-seek",), [2])], ids=["seeks", "cannot seek"]
)
def test_records_that_could_not_be_committed_first_are_not_processed(argv, begin, tmp_path, words, expected):
    *launch, _ = argv
    classpath = launch[-1]
    source = Path(__file__).parent / "java_tiny" / "Tiny.java"
    compile_into(tmp_path, [source], classpath, what="the program of the test")
    client = begin(*launch[:-1], f"{tmp_path}:{classpath}", "Tiny", *words)
    client.send(
        {"cmd": "configure", "id": 1, "role": "consumer", "config": {}},
        {"cmd": "subscribe", "id": 2, "topics": ["t"], "commit": "sync-first"},
    )
    failed = client.until("offsets_committed")
    assert (failed["success"], failed["error"]) == (False, "IllegalStateException")
    read: list[int] = []
    polled_ns = []
    while read[-1:] != expected[-1:]:
        turn = client.until("records_consumed")
        polled_ns.append(turn["polled_ns"])
        for part in turn["partitions"]:
            read += part["offsets"]
    assert read == expected
    assert polled_ns[0] - failed["complete_ns"] >= PAUSE_NS
    client.send({"cmd": "close", "id": 3, "timeout_ms": 1_000})
    assert client.end()[0] == 0


@pytest.mark.jvm
def test_transaction_without_a_producer_id_fails_and_begins_with_a_new_producer(run_to_end, configure):
    """Without a broker ``initTransactions()`` ends with a timeout each time, and nothing can be committed."""
    code, events = run_to_end(configure(**{"transactional.id": "t", "max.block.ms": 50}), transact())
    told = [event for event in events if event["name"] == "op_complete" and event["op"] != "close"]
    rows = [row for event in told for row in zip(event["outcome"], event["error"], strict=True)]
    assert [event["op"] for event in told[:5]] == ["init_transactions"] * 5
    assert {event["op"] for event in told[5:]} == {"transact"}
    assert rows == [("info", "TimeoutException")] * 5 + [("fail", "TimeoutException")] * 3
    assert (code, events[-1]["name"]) == (0, "shutdown_complete")
