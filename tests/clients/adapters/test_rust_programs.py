"""The program for rdkafka and the contract library for Rust: what the contract tests do not cover."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from clients.adapters.confluent_kafka.settings import translate
from clients.adapters.python_lib.verifiable.commands import COMMANDS
from harness.model.verdicts import Guarantee
from harness.plugins import registry
from harness.workloads.consume.profile import PROFILE
from harness.workloads.produce.profile import producer_config

pytestmark = [pytest.mark.every_client, pytest.mark.long("builds a program and starts it for each test")]

CLIENT = registry.client("rdkafka")
STRATEGY = "partition.assignment.strategy"
SETTINGS = {"delivery.timeout.ms": 1_500, "linger.ms": 5}


def produce(count: int, value: str = "value", first: int = 0, id: int = 2) -> dict[str, Any]:
    keys = [f"key {n}" for n in range(count)]
    return {"cmd": "produce", "id": id, "topic": "t", "first": first, "keys": keys, "values": [value] * count}


def results(events: list[dict[str, Any]]) -> list[tuple[int, str, str | None]]:
    return [
        row
        for event in events
        if event["name"] == "op_complete" and event["op"] == "send"
        for row in zip(event["records"], event["outcome"], event["error"], strict=True)
    ]


@pytest.mark.parametrize(
    ("cmd", "field"), [(cmd, field) for cmd, fields in COMMANDS.items() for field in fields]
)
def test_command_without_a_field_is_fatal(run_to_end, configure, cmd, field):
    whole = {
        "configure": configure(),
        "produce": produce(1),
        "flush": {"cmd": "flush", "id": 3, "timeout_ms": 0},
        "close": {"cmd": "close", "id": 4, "timeout_ms": 0},
    }
    del whole[cmd][field]
    code, events = run_to_end(whole[cmd])
    assert (code, events[-1]["name"], events[-1]["error"]) == (2, "fatal", "BadCommand")


@pytest.mark.parametrize(
    "out_of_order", [[produce(1)], [{"cmd": "flush", "id": 3, "timeout_ms": 0}], "configure twice"]
)
def test_commands_in_the_wrong_order_are_fatal(run_to_end, configure, out_of_order):
    twice = [configure(), configure()]
    code, events = run_to_end(*(twice if out_of_order == "configure twice" else out_of_order))
    assert (code, events[-1]["error"]) == (1, "OutOfOrder")


def test_every_record_has_one_result_in_lines_of_limited_length(run_to_end, configure):
    code, events = run_to_end(configure(), produce(1_200), produce(30, first=1_200, id=3))
    assert (code, events[-1]["name"]) == (0, "shutdown_complete")
    told = results(events)
    assert sorted(n for n, _, _ in told) == list(range(1_230))
    assert {(outcome, error) for _, outcome, error in told} == {("info", "MessageTimedOut")}
    sends = [event for event in events if event["name"] == "op_complete" and event["op"] == "send"]
    assert max(len(event["records"]) for event in sends) <= 500


def test_sigterm_ends_flush_and_skips_queued_commands(started, configure):
    flush = {"cmd": "flush", "id": 3, "timeout_ms": 600_000}
    config = configure(**{"delivery.timeout.ms": 600_000})
    client = started()
    client.send(config, produce(2), flush, produce(2, first=2, id=4))
    client.until("op_invoke", op="flush")
    client.process.send_signal(signal.SIGTERM)
    client.until("op_complete", op="flush")
    events = client.rest()
    code, _ = client.end()
    ops = [(event["name"], event["op"]) for event in events if event["name"].startswith("op_")]
    # Results of sent records may arrive at any time before the client is closed.
    assert [op for name, op in ops if name == "op_invoke"] == ["close"]
    assert ops[-1] == ("op_complete", "close")
    assert (code, events[-1]["name"]) == (0, "shutdown_complete")


def test_settings_are_those_of_confluent_kafka(run_to_end, nowhere):
    config = producer_config(Guarantee.IDEMPOTENT, {"compression.type": "zstd", "buffer.memory": 33_554_432})
    config |= {"bootstrap.servers": nowhere, "client.id": "c", "max.request.size": 1_000_000}
    _, events = run_to_end({"cmd": "configure", "id": 1, "config": config})
    wanted, not_set = translate(config)
    assert events[1]["applied"] == {
        java: [", ".join(own), next(iter(own.values()))] for java, own in wanted.items()
    }
    assert events[1]["not_set"].keys() == not_set.keys()


def consuming(nowhere: str, **settings: Any) -> dict[str, Any]:
    config = PROFILE | {"bootstrap.servers": nowhere, "client.id": "c", "group.id": "g"}
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return {"cmd": "configure", "id": 1, "role": "consumer", "config": config | named}


def test_consumer_has_each_setting_once_and_renames_some(run_to_end, nowhere):
    asked = consuming(nowhere, auto_offset_reset="none", isolation_level="read_committed")
    _, events = run_to_end(asked)
    told = events[1]
    assert sorted([*told["applied"], *told["not_set"]]) == sorted(asked["config"])
    assert set(told["not_set"]) == {"default.api.timeout.ms", "max.poll.records"}
    assert told["applied"]["request.timeout.ms"] == ["socket.timeout.ms", "3000"]
    assert told["applied"]["fetch.max.wait.ms"] == ["fetch.wait.max.ms", "250"]
    assert told["applied"]["auto.offset.reset"] == ["auto.offset.reset", "error"]


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("org.apache.kafka.clients.consumer.RoundRobinAssignor, range", "roundrobin,range"),
        ("cooperative-sticky", "cooperative-sticky"),
        ("range,sticky", None),
    ],
)
def test_assignors_have_librdkafkas_names(run_to_end, nowhere, asked, given):
    _, events = run_to_end(consuming(nowhere, partition_assignment_strategy=asked))
    assert events[1]["applied"].get(STRATEGY, [STRATEGY, None]) == [STRATEGY, given]
    assert (STRATEGY in events[1]["not_set"]) == (given is None)


def test_what_the_coordinator_decides_is_not_set(run_to_end, nowhere):
    _, events = run_to_end(consuming(nowhere, group_protocol="consumer"))
    decided = {STRATEGY, "heartbeat.interval.ms", "session.timeout.ms"}
    assert decided <= set(events[1]["not_set"])
    assert events[1]["applied"]["group.protocol"] == ["group.protocol", "consumer"]


def test_librdkafkas_own_settings_do_not_override_the_harness(run_to_end, nowhere):
    asked = consuming(nowhere)
    asked["client_config"] = {"fetch.error.backoff.ms": "50", "fetch.wait.max.ms": "1", "no.such.thing": "1"}
    _, events = run_to_end(asked)
    assert set(events[1]["client_not_set"]) == {"fetch.wait.max.ms", "no.such.thing"}


def test_unknown_librdkafka_property_is_reported(run_to_end, configure):
    _, events = run_to_end(configure(**{"no.such.thing": 1, "nor.this": "x"}))
    assert set(events[1]["not_set"]) == {"no.such.thing", "nor.this"}
    assert events[1]["not_set"]["nor.this"].endswith("has no property nor.this")


def test_contradictory_settings_are_refused_with_the_clients_message(run_to_end, configure):
    odd = {"enable.idempotence": True, "max.in.flight.requests.per.connection": 6}
    code, events = run_to_end(configure(**odd))
    assert (code, events[-1]["error"]) == (1, "ConfigRefused")
    assert "max.in.flight" in events[-1]["message"]


def test_record_that_never_entered_the_queue_fails(run_to_end, configure):
    small = configure(**{"max.request.size": 1_000})
    _, events = run_to_end(small, produce(2, value="x" * 2_000))
    assert results(events) == [(0, "fail", "MessageSizeTooLarge"), (1, "fail", "MessageSizeTooLarge")]


def test_full_queue_blocks_and_then_refuses(run_to_end, configure):
    full = configure(**{"buffer.memory": 1_024, "max.block.ms": 300})
    _, events = run_to_end(full, produce(3, value="x" * 600))
    told = {n: (outcome, error) for n, outcome, error in results(events)}
    assert told[0] == ("info", "MessageTimedOut")
    assert told[1] == told[2] == ("fail", "QueueFull")
