"""transaction.timeout.ms against the broker's maximum, which the broker applies in its InitProducerId answer."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from clients.reference.common.requests import init_producer_id_request, message_of
from clients.reference.producer.producer import Components
from harness.brokers.scripted.cluster import ScriptedCluster
from harness.model.dice import Dice
from harness.wire.apis import Api
from harness.wire.messages import decode_response, encode_request
from suites.properties.property import client_property

NODE = 1
DEFAULT_MAXIMUM_MS = 900_000
SIZE_BYTES = 4
VERSION = st.integers(0, 5)
MILLIS = st.integers(0, 2**31 - 1)


def ask(components: Components, version: int, message: Any, maximum_ms: int) -> Any:
    """Return the answer of a broker with transaction.max.timeout.ms of ``maximum_ms`` to an InitProducerId request."""
    brokers: type[ScriptedCluster] = getattr(components, "brokers", ScriptedCluster)
    cluster = brokers("4.3.1", {NODE: ("broker", 9092)}, Dice(0, "transaction-timeout"))
    cluster.settings.transaction_max_timeout_ms = maximum_ms
    answer = cluster.handle(NODE, 0, encode_request(message, 7, "prop")[SIZE_BYTES:], 0)
    assert answer.frame is not None and not answer.close
    return decode_response(answer.frame[SIZE_BYTES:], Api.INIT_PRODUCER_ID, version)[1]


@client_property(
    "CLI-CFG-08",
    maximum_ms=st.just(DEFAULT_MAXIMUM_MS) | MILLIS,
    timeout_ms=st.none() | MILLIS,
    beyond_ms=st.integers(-1, 1),
    version=VERSION,
)
def a_broker_refuses_transactions_longer_than_its_maximum(
    components: Components, maximum_ms: int, timeout_ms: int | None, beyond_ms: int, version: int
) -> None:
    """InitProducerId with a transactional id is refused exactly if its timeout is above transaction.max.timeout.ms."""
    asked_ms = timeout_ms if timeout_ms is not None else min(max(maximum_ms + beyond_ms, 0), 2**31 - 1)
    request = message_of(
        Api.INIT_PRODUCER_ID,
        version,
        transactional_id="t",
        transaction_timeout=timedelta(milliseconds=asked_ms),
        producer_id=-1,
        producer_epoch=-1,
    )
    answer = ask(components, version, request, maximum_ms)
    if 0 < asked_ms <= maximum_ms:
        assert answer.error_code is ErrorCode.none and answer.producer_id >= 0, answer
    else:
        assert answer.error_code is ErrorCode.invalid_transaction_timeout and answer.producer_id == -1, answer


@client_property("CLI-CFG-08", "PRD-IDM-01", version=VERSION, maximum_ms=MILLIS)
def a_producer_without_transactions_has_no_timeout_to_refuse(
    components: Components, version: int, maximum_ms: int
) -> None:
    """The idempotent producer's InitProducerId names no transactional id, so no maximum refuses it."""
    request = init_producer_id_request(version)
    assert request.transactional_id is None
    answer = ask(components, version, request, maximum_ms)
    assert answer.error_code is ErrorCode.none and (answer.producer_id, answer.producer_epoch) == (0, 0), (
        answer
    )
