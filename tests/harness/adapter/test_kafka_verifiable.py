"""Results in the format of Apache Kafka's own verifiable producers."""

from __future__ import annotations

import json

import pytest

from harness.adapter.protocol_rules import ProtocolRules, RuleBroken
from harness.model.contract import Configure, OpComplete
from harness.model.payload import Identity, encode
from harness.workloads.produce.commands import Produce
from testkit.codes import raises_code

NOW_NS = 10_000
VALUES = [encode(Identity("r", "t", "p1", n), 80) for n in range(2)]


@pytest.fixture
def rules() -> ProtocolRules:
    """Return the rules after a client has been asked for two records and has invoked them."""
    rules = ProtocolRules(0)
    rules.asked(Configure(1, "r", "p1", "producer", {}))
    rules.asked(Produce(2, "t", 0, [None, None], VALUES))
    started = {"client": "c", "client_version": "1", "language": "l", "features": [], "contract_version": 2}
    for seq, event in enumerate(
        (
            {"name": "startup_complete", **started},
            {"name": "configured", "id": 1, "applied": {}, "not_set": {}},
            {"name": "op_invoke", "op": "send", "id": 2, "first": 0, "count": 2},
        )
    ):
        rules.said(json.dumps({"seq": seq, "mono_ns": seq, "wall_ns": 0} | event).encode(), NOW_NS)
    return rules


def said(rules: ProtocolRules, **event: object) -> OpComplete:
    complete = rules.said(json.dumps(event).encode(), NOW_NS)
    assert isinstance(complete, OpComplete)
    return complete


def test_success_is_ok_with_partition_and_offset(rules):
    event = said(
        rules,
        name="producer_send_success",
        timestamp=1,
        topic="t",
        key=None,
        value=VALUES[1],
        partition=2,
        offset=7,
    )
    assert (event.id, event.records, event.outcome, event.partition, event.offset) == (
        2,
        [1],
        ["ok"],
        [2],
        [7],
    )
    assert (event.invoke_ns, event.complete_ns) == ([2], [NOW_NS])
    assert (event.is_unnumbered, event.seq) == (True, 2)
    assert rules.outstanding == 1


def test_an_error_is_info(rules):
    event = said(
        rules,
        name="producer_send_error",
        topic="t",
        key=None,
        value=VALUES[0],
        exception="class E",
        message="late",
    )
    assert (event.records, event.outcome, event.error) == ([0], ["info"], ["class E"])


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        ({"value": "somebody else's", "partition": 0, "offset": 0}, "upstream-value-unknown"),
        (
            {"value": encode(Identity("r", "t", "p1", 5), 80), "partition": 0, "offset": 0},
            "upstream-value-unknown",
        ),
        ({"value": VALUES[0]}, "upstream-misfit"),
    ],
)
def test_an_unexpected_value_breaks_the_contract(rules, event, sentence):
    with raises_code(RuleBroken, sentence):
        said(rules, name="producer_send_success", **event)


def test_a_second_result_is_refused(rules):
    success = {"name": "producer_send_success", "value": VALUES[0], "partition": 0, "offset": 0}
    said(rules, **success)
    with raises_code(RuleBroken, "result-twice", element="record", n=0):
        said(rules, **success)
