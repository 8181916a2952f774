"""A producer on a healthy cluster: what is sent, where it is stored, and what the application receives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.errors import RecordTooLargeError
from harness.model.errors import UsageError
from harness.model.verdicts import Outcome
from harness.wire.apis import Api
from harness.wire.records import Codec


def test_record_is_stored_and_its_delivery_has_the_offset(world):
    """PRD-SND-01."""
    w = world()
    told = []
    delivery = w.send(value=b"hello", callback=lambda *result: told.append(result))
    w.settle(delivery)
    assert w.brokers.values() == [b"hello"]
    assert (delivery.metadata.topic, delivery.metadata.partition, delivery.metadata.offset) == ("t", 0, 0)
    assert delivery.metadata.timestamp_ms == 1_700_000_000_000
    assert told == [(delivery.metadata, None)]


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("idempotent", [True, False])
def test_every_codec_arrives_in_order(world, codec, idempotent):
    w = world(compression_type=codec.name.lower(), enable_idempotence=idempotent, batch_size=300)
    deliveries = [w.send() for _ in range(40)]
    w.settle(*deliveries)
    assert w.brokers.values() == [b"v%d" % i for i in range(40)]
    assert [d.metadata.offset for d in deliveries] == list(range(40))
    assert {batch.header.codec for batch in w.brokers.batches()} == {codec}


def test_only_api_versions_is_written_before_ready(world):
    """NET-CON-01."""
    w = world()
    w.settle(w.send())
    first: dict[int, Api] = {}
    for seen in w.brokers.seen:
        first.setdefault(seen.node_id, seen.api)
    assert w.brokers.seen[0].api is Api.API_VERSIONS
    assert set(first.values()) == {Api.API_VERSIONS}


def test_acks_zero_completes_without_a_response(world):
    """NET-INF-05: the callback runs once the bytes are written, and the request leaves no slot occupied."""
    w = world(acks=0, enable_idempotence=False, max_in_flight_requests_per_connection=1, linger_ms=0)
    for _ in range(5):
        delivery = w.send()
        w.settle(delivery)
        assert delivery.metadata.offset == -1
    w.run(1)
    assert len(w.brokers.values()) == 5


@pytest.mark.parametrize(("acks", "on_the_wire"), [("all", -1), (1, 1), (0, 0)])
def test_acks_is_the_configured_value(world, acks, on_the_wire):
    """PRD-SND-16."""
    w = world(acks=acks, enable_idempotence=False)
    w.settle(w.send())
    w.run(1)
    assert [seen.body.acks for seen in w.brokers.requests()] == [on_the_wire]


def test_batch_waits_for_linger_and_no_longer(world):
    """PRD-ACC-03, with a connection that is ready."""
    w = world(linger_ms=50)
    w.settle(w.send())
    sent_ms = w.now_ms
    w.send()
    w.run(10)
    w.settle(w.send())
    _, second = w.brokers.requests()
    assert second.at_ms == sent_ms + 50
    assert [header.record_count for header in second.batches] == [2]


def test_full_batch_is_sent_at_once(world):
    w = world(linger_ms=10_000, batch_size=200, delivery_timeout_ms=60_000)
    begin = [w.send(value=b"x" * 120) for _ in range(3)]
    w.settle(*begin[:2])
    assert w.now_ms < 2_000
    assert not begin[2].is_done  # the last batch is not full and lingers
    assert [h.record_count for seen in w.brokers.requests() for h in seen.batches] == [1, 1]


def test_flush_sends_at_once_and_covers_earlier_records(world):
    """PRD-CLS-01."""
    w = world(linger_ms=10_000)
    delivery = w.send()
    w.run(100)
    batches = w.core.begin_flush()
    w.until(lambda: all(batch.is_published for batch in batches), limit_ms=100)
    w.core.end_flush()
    assert delivery.is_done


def test_oversized_record_is_never_sent(world):
    """PRD-ACC-10."""
    w = world(max_request_size=1_000, buffer_memory=500)
    told = []
    for size in (2_000, 800):
        delivery = w.send(value=b"x" * size, callback=lambda *result: told.append(result))
        assert isinstance(delivery.error, RecordTooLargeError)
        assert delivery.error.outcome is Outcome.FAIL
    w.run(100)
    assert [type(error) for _, error in told] == [RecordTooLargeError] * 2
    assert w.brokers.requests() == []


@pytest.mark.parametrize(
    "record",
    [
        {"timestamp_ms": -1},
        {"timestamp_ms": 2**63},
        {"partition": -1},
        {"partition": 2**31},
        {"key": "text"},
        {"value": 7},
        {"headers": [("name", "text")]},
        {"headers": [(b"name", b"")]},
        {"headers": [("\ud800", b"")]},
        {"headers": ["name"]},
        {"headers": 7},
    ],
)
def test_invalid_record_is_refused_without_side_effects(world, record):
    """PRD-ISP-09."""
    w = world()
    w.settle(w.send())
    with pytest.raises(UsageError):
        w.send(**record)
    w.settle(w.send())
    assert len(w.brokers.values()) == 2


def test_callbacks_run_in_send_order_even_if_one_raises(world):
    """PRD-SND-13."""
    w = world(batch_size=100)
    told = []

    def tell(number):
        def callback(metadata, error):
            told.append((number, metadata.offset))
            if number == 1:
                raise RuntimeError("mine")

        return callback

    w.settle(*[w.send(callback=tell(number)) for number in range(6)])
    assert told == [(number, number) for number in range(6)]
    assert [event.what for event in w.trace if getattr(event, "who", "") == "callback"] == [
        "RuntimeError: mine"
    ]


@given(
    st.lists(
        st.tuples(
            st.none() | st.binary(max_size=40),
            st.none() | st.binary(max_size=200),
            st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=9)), max_size=3),
        ),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from(list(Codec)),
    st.sampled_from([0, 100, 400, 16_384]),
)
def test_stored_record_equals_sent_record(world, records, codec, batch_size):
    """PRD-ISP-08: null and empty are different, and headers keep their order and duplicates."""
    w = world(compression_type=codec.name.lower(), batch_size=batch_size)
    deliveries = [w.send(key=key, value=value, headers=headers) for key, value, headers in records]
    w.settle(*deliveries)
    stored = [record for batch in w.brokers.batches() for record in batch.records]
    assert [(r.key, r.value, list(r.headers)) for r in stored] == records
