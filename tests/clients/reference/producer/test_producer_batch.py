"""A single batch: one result, the same bytes at each attempt, and what the result says about its records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.errors import SendError
from clients.reference.producer.buffer_pool import Grant
from clients.reference.producer.producer_batch import ProducerBatch, ProducerId
from clients.reference.states import BatchState, IllegalTransition
from clients.reference.telemetry.trace import no_trace
from harness.model.verdicts import Outcome
from harness.wire.error_table import BY_NAME, ERRORS
from harness.wire.records import BatchBuilder, Codec, read_batches


def batch(codec: Codec = Codec.NONE) -> ProducerBatch:
    made = ProducerBatch(("t", 0), 1, BatchBuilder(codec), Grant(100), 1_000, 0, no_trace)
    for number in range(3):
        made.append(100 + number, None, b"v%d" % number, (), None)
    return made


def in_flight() -> ProducerBatch:
    made = batch()
    made.drained(1)
    made.was_sent = True
    return made


def test_completed_batch_rejects_further_transitions():
    """PRD-FIN-03."""
    made = in_flight()
    assert made.succeed(5, -1, 2)
    for again in (
        lambda: made.succeed(6, -1, 3),
        lambda: made.fail(SendError("made-up", "x"), 3),
        lambda: made.abort(SendError("made-up", "x"), 3),
    ):
        with pytest.raises(IllegalTransition):
            again()
        assert made.state is BatchState.SUCCEEDED
        assert made.metadata_of(0, 100).offset == 5


@pytest.mark.parametrize("end", ["fail", "abort"])
def test_result_after_a_failure_is_ignored(end):
    """PRD-FIN-02, -03."""
    made = in_flight()
    first = SendError("made-up", "first")
    getattr(made, end)(first, 2)
    state = made.state
    assert not made.succeed(5, -1, 3)
    assert not made.fail(SendError("made-up", "second"), 4)
    with pytest.raises(IllegalTransition):
        made.abort(SendError("made-up", "third"), 5)
    assert made.state is state
    assert made.error_of(0) is first


@pytest.mark.parametrize("codec", list(Codec))
def test_every_attempt_has_the_same_bytes(codec):
    """PRD-SND-02, PRD-IDM-03."""
    made = batch(codec)
    made.assign_sequence(ProducerId(7, 3), 41)
    first = made.payload()
    made.drained(1)
    made.reenqueued(2, 3)
    made.drained(4)
    assert made.payload() == first
    made.restart_sequence(ProducerId(7, 4), 0)
    (before,), (after,) = read_batches(first), read_batches(made.payload())
    assert after.crc_ok
    assert after.records == before.records
    assert (after.header.producer_id, after.header.producer_epoch, after.header.base_sequence) == (7, 4, 0)


@given(st.lists(st.sampled_from(sorted(ERRORS)), max_size=4), st.sampled_from(sorted(ERRORS)), st.booleans())
def test_failure_is_definite_only_if_every_attempt_was(earlier, last, was_sent):
    made = batch()
    made.was_sent = was_sent
    if was_sent:
        for code in earlier:
            made.attempt_ended(ERRORS[code])
    all_definite = all(ERRORS[code].produced == "definite" for code in [*earlier, last])
    certain = not was_sent or all_definite
    assert made.outcome_of(ERRORS[last]) is (Outcome.FAIL if certain else Outcome.INFO)


def test_batch_on_the_wire_is_in_doubt():
    made = in_flight()
    made.on_the_wire = True
    assert made.outcome_of(BY_NAME["MESSAGE_TOO_LARGE"]) is Outcome.INFO


def test_reported_absence_settles_storage_but_not_the_outcome():
    made = in_flight()
    made.attempt_ended(BY_NAME["NETWORK_EXCEPTION"])
    assert made.may_be_stored
    made.attempt_ended(BY_NAME["OUT_OF_ORDER_SEQUENCE_NUMBER"], tells_absence=True)
    assert not made.may_be_stored
    assert made.is_in_doubt


def test_log_append_time_replaces_the_records_timestamp():
    """PRD-ISP-09."""
    made = in_flight()
    made.succeed(10, 777, 2)
    assert [made.metadata_of(index, 100 + index) for index in (0, 2)] == [
        made.metadata_of(0, 100),
        made.metadata_of(2, 102),
    ]
    assert made.metadata_of(2, 102).timestamp_ms == 777
    assert made.metadata_of(2, 102).offset == 12
