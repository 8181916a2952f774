"""Consumer interceptors: a chain, whose exceptions have no effect (KIP-42)."""

from __future__ import annotations

import logging

from clients.reference.consumer.consumer_record import ConsumerRecord, ConsumerRecords
from clients.reference.consumer.interceptors import ConsumerInterceptors
from clients.reference.consumer.subscription.positions import OffsetAndMetadata

RECORD = ConsumerRecord("t", 0, 1, 0, "CreateTime", None, b"v", (), None, -1, 1)
RECORDS = ConsumerRecords({("t", 0): [RECORD]})
EMPTY = ConsumerRecords({})


class Interceptor:
    def __init__(self, seen, returns=lambda records: records):
        self.seen, self.returns = seen, returns

    def on_consume(self, records):
        self.seen.append((self, records))
        return self.returns(records)

    def on_commit(self, offsets):
        self.seen.append((self, offsets))
        self.returns(offsets)


def fail(_):
    raise RuntimeError("mine")


def test_each_interceptor_gets_what_the_one_before_it_returned():
    seen: list = []
    first, second = Interceptor(seen, lambda _: EMPTY), Interceptor(seen)
    chain = ConsumerInterceptors([first, second])
    assert chain
    assert chain.on_consume(RECORDS) is EMPTY
    assert seen == [(first, RECORDS), (second, EMPTY)]


def test_an_exception_or_another_result_skips_the_interceptor(caplog):
    seen: list = []
    chain = ConsumerInterceptors(
        [Interceptor(seen, fail), Interceptor(seen, lambda _: None), Interceptor(seen)]
    )
    with caplog.at_level(logging.WARNING):
        assert chain.on_consume(RECORDS) is RECORDS
    assert [records for _, records in seen] == [RECORDS] * 3
    assert len(caplog.records) == 2


def test_commits_reach_every_interceptor(caplog):
    seen: list = []
    chain = ConsumerInterceptors([Interceptor(seen, fail), Interceptor(seen)])
    offsets = {("t", 0): OffsetAndMetadata(3)}
    with caplog.at_level(logging.WARNING):
        chain.on_commit(offsets)
    assert [told for _, told in seen] == [offsets, offsets]
    assert not ConsumerInterceptors([])
