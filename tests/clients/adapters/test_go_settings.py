"""How the Go clients translate settings whose meaning differs from Java's.

The programs themselves are asked.
"""

from __future__ import annotations

import json
import subprocess
from functools import cache
from typing import Any

import pytest

from clients.adapters import confluent_kafka_go, franz_go, kafka_go, sarama
from clients.adapters.go_lib import GoClient
from harness.plugins import registry

pytestmark = pytest.mark.long("builds the programs and asks them")

#: ``make test`` covers franz-go at its default version. ``make test-clients`` builds the others.
every_client = pytest.mark.every_client
IN_FLIGHT = "max.in.flight.requests.per.connection"


def argv(client: GoClient, version: str = "") -> tuple[str, ...]:
    return installed(client.name, version or client.default_version)


@cache
def installed(name: str, version: str) -> tuple[str, ...]:
    return registry.client(name).install(version).argv


def events_of(program: tuple[str, ...], *commands: dict[str, Any]) -> list[dict[str, Any]]:
    lines = "".join(json.dumps(command) + "\n" for command in commands)
    ended = subprocess.run(program, input=lines, capture_output=True, text=True, timeout=120, check=False)
    return [json.loads(line) for line in ended.stdout.splitlines()]


def answer_to(program: tuple[str, ...], nowhere: str, **settings: Any) -> dict[str, Any]:
    """Return the program's answer to these settings (underscores become dots) and an address."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    config = {"bootstrap.servers": nowhere, "enable.idempotence": False} | named
    events = events_of(program, {"cmd": "configure", "id": 1, "config": config})
    return next(event for event in events if event["name"] in ("configured", "fatal"))


@pytest.mark.parametrize(
    ("version", "tries"),
    [("", 0), pytest.param("1.18.1", 1, marks=every_client)],
    ids=["newest", "before 1.19"],
)
def test_franz_go_before_1_19_counts_the_first_attempt_as_a_retry(version, tries, nowhere):
    answer = answer_to(argv(franz_go.CLIENT, version), nowhere, retries=0)
    assert answer["applied"]["retries"] == ["RecordRetries", tries]


def test_franz_go_splits_request_timeout_and_needs_two_seconds(nowhere):
    own = "ProduceRequestTimeout + RequestTimeoutOverhead"
    program = argv(franz_go.CLIENT)
    assert answer_to(program, nowhere, request_timeout_ms=5_000)["applied"]["request.timeout.ms"] == [
        own,
        "2.5s + 2.5s",
    ]
    assert answer_to(program, nowhere, request_timeout_ms=2_500)["applied"]["request.timeout.ms"] == [
        own,
        "1.25s + 1.25s",
    ]
    assert (
        "is set to 1s + 1s"
        in answer_to(program, nowhere, request_timeout_ms=1_000)["not_set"]["request.timeout.ms"]
    )


def test_idempotent_franz_go_cannot_fail_a_record_of_unknown_outcome(nowhere):
    limits = {"delivery_timeout_ms": 30_000, "retries": 3}
    program = argv(franz_go.CLIENT)
    assert {"delivery.timeout.ms", "retries"} <= answer_to(program, nowhere, **limits)["applied"].keys()
    answer = answer_to(program, nowhere, enable_idempotence=True, **limits)
    assert "RecordDeliveryTimeout 30s is set, but" in answer["not_set"]["delivery.timeout.ms"]
    assert "RecordRetries 3 is set, but" in answer["not_set"]["retries"]


def test_franz_go_accepts_a_short_metadata_age(nowhere):
    answer = answer_to(argv(franz_go.CLIENT), nowhere, metadata_max_age_ms=1_000)
    assert answer["applied"]["metadata.max.age.ms"] == ["MetadataMaxAge", "1s"]


@pytest.mark.parametrize(
    "client",
    [
        franz_go.CLIENT,
        *(pytest.param(each.CLIENT, marks=every_client) for each in (sarama, confluent_kafka_go)),
    ],
)
def test_invalid_combination_is_refused_by_the_client(client, nowhere):
    answer = answer_to(argv(client), nowhere, enable_idempotence=True, acks="1")
    assert answer.get("error") == "ConfigRefused", answer


@every_client
def test_idempotent_sarama_has_one_request_in_flight(nowhere):
    settings = {IN_FLIGHT.replace(".", "_"): 5, "acks": "all"}
    program = argv(sarama.CLIENT)
    assert answer_to(program, nowhere, **settings)["applied"][IN_FLIGHT] == ["Net.MaxOpenRequests", 5]
    answer = answer_to(program, nowhere, enable_idempotence=True, **settings)
    assert "Net.MaxOpenRequests 1, which is set" in answer["not_set"][IN_FLIGHT]
    settings[IN_FLIGHT.replace(".", "_")] = 1
    answer = answer_to(program, nowhere, enable_idempotence=True, **settings)
    assert answer["applied"][IN_FLIGHT] == ["Net.MaxOpenRequests", 1]


@every_client
def test_sarama_retries_are_limited_to_10000(nowhere):
    program = argv(sarama.CLIENT)
    assert "is set to 10000" in answer_to(program, nowhere, retries=2_147_483_647)["not_set"]["retries"]
    assert answer_to(program, nowhere, retries=5)["applied"]["retries"] == ["Producer.Retry.Max", 5]


@every_client
@pytest.mark.parametrize("version", sarama.CLIENT.versions)
def test_idempotent_sarama_without_a_broker_fails_records(version, nowhere):
    config = {"bootstrap.servers": nowhere, "enable.idempotence": True, "acks": "all"}
    configure = {"cmd": "configure", "id": 1, "config": config}
    produce = {"cmd": "produce", "id": 2, "topic": "t", "first": 0, "keys": [None], "values": ["v"]}
    events = events_of(argv(sarama.CLIENT, version), configure, produce)
    [sent] = [event for event in events if event["name"] == "op_complete" and event["op"] == "send"]
    assert sent["outcome"] == ["fail"] and sent["error"] != [None]
    assert events[-1]["name"] == "shutdown_complete"


@every_client
def test_kafka_go_replaces_zero_linger(nowhere):
    program = argv(kafka_go.CLIENT)
    assert answer_to(program, nowhere, linger_ms=5)["applied"]["linger.ms"] == ["Writer.BatchTimeout", "5ms"]
    assert "is set to 1µs" in answer_to(program, nowhere, linger_ms=0)["not_set"]["linger.ms"]


@every_client
def test_kafka_go_has_no_idempotence_and_one_request_in_flight(nowhere):
    answer = answer_to(argv(kafka_go.CLIENT), nowhere, **{IN_FLIGHT.replace(".", "_"): 1})
    assert answer["not_set"]["enable.idempotence"] == "kafka-go has no idempotent producer"
    assert answer["applied"][IN_FLIGHT] == ["always", 1]


@every_client
def test_kafka_go_counts_the_first_attempt(nowhere):
    answer = answer_to(argv(kafka_go.CLIENT), nowhere, retries=0)
    assert answer["applied"]["retries"] == ["Writer.MaxAttempts", 1]


@every_client
@pytest.mark.parametrize(("version", "has"), [("1.9.2", False), ("", True)])
def test_librdkafka_reports_unknown_properties(version, has, nowhere):
    program = argv(confluent_kafka_go.CLIENT, version)
    answer = answer_to(
        program, nowhere, retry_backoff_max_ms=500, request_timeout_ms=3_000, buffer_memory=1_048_576
    )
    assert ("retry.backoff.max.ms" in answer["applied"]) == has
    assert answer["applied"]["request.timeout.ms"] == ["socket.timeout.ms, request.timeout.ms", "3000"]
    assert answer["applied"]["buffer.memory"] == ["queue.buffering.max.kbytes", "1024"]


#: The settings of transactions, and the names that each client has for them.
TRANSACTIONAL = {
    "transactional_id": "t",
    "transaction_timeout_ms": 40_000,
    "enable_idempotence": True,
    "acks": "all",
}
LIBRDKAFKAS = {
    "transactional.id": ["transactional.id", "t"],
    "transaction.timeout.ms": ["transaction.timeout.ms", "40000"],
}


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (
            franz_go.CLIENT,
            {
                "transactional.id": ["TransactionalID", "t"],
                "transaction.timeout.ms": ["TransactionTimeout", "40s"],
            },
        ),
        pytest.param(
            sarama.CLIENT,
            {
                "transactional.id": ["Producer.Transaction.ID", "t"],
                "transaction.timeout.ms": ["Producer.Transaction.Timeout", "40s"],
            },
            marks=every_client,
        ),
        pytest.param(confluent_kafka_go.CLIENT, LIBRDKAFKAS, marks=every_client),
    ],
)
def test_settings_of_transactions(client, expected, nowhere):
    answer = answer_to(argv(client), nowhere, **TRANSACTIONAL)
    assert {name: answer["applied"].get(name) for name in expected} == expected


@every_client
@pytest.mark.parametrize(
    ("client", "version"),
    [
        (kafka_go.CLIENT, kafka_go.CLIENT.default_version),
        *((sarama.CLIENT, version) for version in ("1.23.1", "1.30.0")),
    ],
)
def test_clients_without_transactions_do_not_take_their_settings(client, version, nowhere):
    events = events_of(argv(client, version))
    assert "transactions" not in events[0]["features"]
    answer = answer_to(argv(client, version), nowhere, **TRANSACTIONAL)
    assert {"transactional.id", "transaction.timeout.ms"} <= answer["not_set"].keys()
