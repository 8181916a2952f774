"""The mapping from Java's settings to those of the Node clients, and the values that each accepts."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from clients.adapters import kafkajs, platformatic_kafka
from harness.model.verdicts import Guarantee
from harness.provision.node import node_runtime
from harness.workloads.produce.profile import CODECS, producer_config

pytestmark = pytest.mark.long("starts Node for each test")

IN_FLIGHT = "max.in.flight.requests.per.connection"
BESIDES = {"bootstrap.servers": "a:1,b:2", "client.id": "p1", "max.request.size": 1}
TRANSACTIONAL = {"transactional.id": "t", "transaction.timeout.ms": 40_000}
FULL = producer_config(Guarantee.AT_LEAST_ONCE, {"compression.type": "gzip", "buffer.memory": 1}) | BESIDES
IDEMPOTENT = FULL | {"enable.idempotence": True}

#: The adapter, the name of its mapping function, and the function's other arguments.
MAPPINGS = {
    "kafkajs": (kafkajs, "kafkajsOptions", "{ None: 0, GZIP: 1, Snappy: 2, LZ4: 3, ZSTD: 4 }"),
    "platformatic": (
        platformatic_kafka,
        "producerOptions",
        "{ none: { available: true }, gzip: { available: true }, zstd: { available: false } }, given.version",
    ),
}

Mapped = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> Mapped:
    """Return a function that returns a client's mapping of each configuration."""

    def run(client: str, *configs: dict[str, Any], version: str = "2.12.1") -> list[dict[str, Any]]:
        adapter, function, more = MAPPINGS[client]
        folder = tmp_path_factory.mktemp(client)
        for source in adapter.SOURCES:
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, folder / source.name)
        code = f"""
            import {{ {function} }} from {json.dumps((folder / "settings.mjs").as_uri())};
            import {{ writeSync }} from "node:fs";
            const given = {json.dumps({"configs": configs, "version": version})};
            writeSync(1, JSON.stringify(given.configs.map((config) => {function}(config, {more}))));"""
        words = [node_runtime(kafkajs.OLDEST_NODE).path, "--input-type=module"]
        return json.loads(subprocess.run(words, input=code.encode(), capture_output=True, check=True).stdout)

    return run


@pytest.mark.parametrize("client", MAPPINGS)
def test_every_setting_is_reported_once_whatever_its_value(mapped, client):
    values = ["banana", "", -1, 0, 1, 7, 1.5, True, False, *CODECS]
    bases = (FULL, IDEMPOTENT, IDEMPOTENT | TRANSACTIONAL)
    configs = [base | {name: value} for base in bases for name in base for value in values]
    for config, told in zip(configs, mapped(client, *configs), strict=True):
        assert sorted([*told["applied"], *told["notSet"]]) == sorted(config)
        assert all(isinstance(why, str) and why for why in told["notSet"].values())
        for own, value in told["applied"].values():
            assert isinstance(own, str)
            assert isinstance(value, str | int | bool)


@pytest.mark.parametrize("client", MAPPINGS)
def test_unsupported_value_is_not_set(mapped, client):
    odd = {
        "acks": ["banana", 2, "constructor"],
        "compression.type": ["brotli", "constructor", "zstd"],
        "enable.idempotence": ["yes", 1],
        "request.timeout.ms": [1.5, True],
        "retries": ["many", -1],
    }
    asked = [(name, FULL | {name: value}) for name, values in odd.items() for value in values]
    told = mapped(client, *(config for _, config in asked))
    for (name, config), one in zip(asked, told, strict=True):
        assert name in one["notSet"], (name, config[name])


def test_options_of_kafkajs(mapped):
    [told] = mapped("kafkajs", FULL)
    assert told["client"] == {
        "brokers": ["a:1", "b:2"],
        "clientId": "p1",
        "connectionTimeout": 3_000,
        "requestTimeout": 3_000,
        "retry": {"retries": 2_147_483_647, "maxRetryTime": 1_000, "initialRetryTime": 100},
    }
    assert told["producer"] == {"idempotent": False, "maxInFlightRequests": 5, "metadataMaxAge": 10_000}
    assert told["send"] == {"acks": -1, "compression": 1, "timeout": 3_000}
    assert told["applied"]["bootstrap.servers"] == ["brokers", "a:1,b:2"]


def test_options_of_platformatic(mapped):
    [told] = mapped("platformatic", FULL)
    assert told["producer"] == {
        "bootstrapBrokers": ["a:1", "b:2"],
        "clientId": "p1",
        "connectTimeout": 3_000,
        "idempotent": False,
        "maxInflights": 5,
        "metadataMaxAge": 10_000,
        "requestTimeout": 3_000,
        "retries": 2_147_483_647,
        "retryDelay": 100,
        "timeout": 3_000,
    }
    assert told["send"] == {"acks": -1, "compression": "gzip"}


@pytest.mark.parametrize("client", MAPPINGS)
def test_acks_are_kafkas_numbers(mapped, client):
    numbers = {"all": -1, "-1": -1, -1: -1, "1": 1, 1: 1, "0": 0, 0: 0}
    told = mapped(client, *(FULL | {"acks": acks} for acks in numbers))
    for one, number in zip(told, numbers.values(), strict=True):
        assert (one["send"]["acks"], one["applied"]["acks"]) == (number, ["send.acks", number])


@pytest.mark.parametrize("client", MAPPINGS)
def test_idempotent_producer_has_one_request_in_flight(mapped, client):
    five, one = mapped(client, IDEMPOTENT, IDEMPOTENT | {IN_FLIGHT: 1})
    assert " 1 " in five["notSet"][IN_FLIGHT] + " "
    assert one["applied"][IN_FLIGHT][1] == 1


def test_idempotent_platformatic_producer_has_unlimited_retries(mapped):
    *few, enough = mapped("platformatic", *(IDEMPOTENT | {"retries": n} for n in (0, 1, 2)))
    assert all("unlimited" in one["notSet"]["retries"] for one in few)
    assert enough["applied"]["retries"] == ["retries", 2]


def test_platformatic_before_1_23_has_no_request_timeout(mapped):
    for version, waits in {"1.22.0": False, "1.23.0": True, "1.35.0": True, "2.4.0": True}.items():
        [told] = mapped("platformatic", FULL, version=version)
        assert ("request.timeout.ms" in told["applied"]) == ("requestTimeout" in told["producer"]) == waits


def test_kafkajs_has_the_settings_of_transactions(mapped):
    [told] = mapped("kafkajs", IDEMPOTENT | TRANSACTIONAL)
    assert told["producer"].items() >= {"transactionalId": "t", "transactionTimeout": 40_000}.items()


def test_platformatic_has_one_timeout_for_transactions_and_brokers(mapped):
    [told] = mapped("platformatic", IDEMPOTENT | TRANSACTIONAL)
    options = {"transactionalId": "t", "timeout": 40_000, "requestTimeout": 3_000}
    assert told["producer"].items() >= options.items()
    assert told["applied"]["request.timeout.ms"] == ["requestTimeout", 3_000]


def test_platformatic_before_1_27_has_no_transactions(mapped):
    for version, has in {"1.16.0": False, "1.22.0": False, "1.27.0": True, "2.12.1": True}.items():
        [told] = mapped("platformatic", IDEMPOTENT | TRANSACTIONAL, version=version)
        assert all((name in told["applied"]) == has for name in TRANSACTIONAL)
        assert ("transactionalId" in told["producer"]) == has
