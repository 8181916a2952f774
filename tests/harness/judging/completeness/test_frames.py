"""The frames of a complete trial: missing ends of connections, requests and answers are detected."""

from __future__ import annotations

from collections import Counter, defaultdict

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as restruct

from harness.judging.completeness import lacking
from harness.model.rows import Disposition, FrameKind
from tests.harness.judging.completeness.whole_trial import SEEDS, code_of, rows_of, whole, with_rows, without


@given(st.sampled_from(SEEDS), st.data())
def test_truncated_frames_are_detected(seed, data):
    """Only a cut between two connections is not detected here, because both parts are complete."""
    rows = rows_of(whole(seed))
    at = data.draw(st.integers(1, len(rows) - 1))
    goes_through = {row.conn for row in rows[:at]} & {row.conn for row in rows[at:]}
    for kept in (rows[:at], rows[at:]):
        seen = code_of(with_rows(whole(seed), kept))
        assert seen == "frames-incomplete" if goes_through else seen in (None, "frames-incomplete")


def test_an_answer_without_a_request_is_detected_unless_a_rule_made_it():
    rows = [*rows_of(whole())]
    at = next(at for at, row in enumerate(rows) if row.kind is FrameKind.RESPONSE and row.fault is None)
    rows[at] = restruct(rows[at], correlation_id=-7)
    assert lacking(with_rows(whole(), rows)).params == {"lack": "request-of-answer", "count": 1}
    rows[at] = restruct(rows[at], fault="doubled", disposition=Disposition.CHANGED)
    assert lacking(with_rows(whole(), rows)) is None


def exchanged(evidence):
    """Return the answered requests that no rule touched, by connection and in order."""
    rows = [row for row in rows_of(evidence) if row.fault is None]
    answered = {(row.conn, row.correlation_id) for row in rows if row.kind is FrameKind.RESPONSE}
    asked = defaultdict(list)
    for row in rows:
        if row.kind is FrameKind.REQUEST and (row.conn, row.correlation_id) in answered:
            asked[row.conn].append(row.correlation_id)
    return asked


def an_answer(data, seed, *, last=False):
    """Draw the index of an answer; if not ``last``, of one that another answer of its connection follows."""
    asked = exchanged(whole(seed))
    conns = sorted(conn for conn, ids in asked.items() if last or len(ids) > 1)
    conn = data.draw(st.sampled_from(conns))
    id = data.draw(st.sampled_from(asked[conn] if last else asked[conn][:-1]))
    key = (FrameKind.RESPONSE, conn, id)
    return next(
        at for at, row in enumerate(rows_of(whole(seed))) if (row.kind, row.conn, row.correlation_id) == key
    )


@given(st.sampled_from(SEEDS), st.data())
def test_a_missing_answer_before_another_is_detected(seed, data):
    """A broker answers in order, so that only the last answer of a connection can be missing."""
    rows = rows_of(whole(seed))
    at = an_answer(data, seed)
    found = lacking(with_rows(whole(seed), without(rows, at)))
    assert found.params == {"lack": "answer", "count": 1}
    stopped = [*rows]
    stopped[at] = restruct(rows[at], fault="dropped", disposition=Disposition.BLOCKED)
    assert lacking(with_rows(whole(seed), stopped)) is None
    other_id = [*rows]
    other_id[at] = restruct(rows[at], correlation_id=-7, fault="wrong", disposition=Disposition.CHANGED)
    assert lacking(with_rows(whole(seed), other_id)) is None


def test_an_answer_with_a_wrong_id_does_not_replace_an_earlier_one():
    """The first answer is missing, and the last one, with a wrong id, is too late to be it."""
    rows = rows_of(whole())
    conn = next(conn for conn, ids in exchanged(whole()).items() if len(ids) > 2)
    answers = [at for at, row in enumerate(rows) if row.kind is FrameKind.RESPONSE and row.conn == conn]
    last = restruct(rows[answers[-1]], correlation_id=-7, fault="wrong", disposition=Disposition.CHANGED)
    changed = [*rows[: answers[-1]], last, *rows[answers[-1] + 1 :]]
    assert lacking(with_rows(whole(), changed)) is None
    found = lacking(with_rows(whole(), without(changed, answers[0])))
    assert found.params == {"lack": "answer", "count": 1}


@given(st.sampled_from(SEEDS), st.data())
def test_a_duplicated_answer_is_detected(seed, data):
    rows = rows_of(whole(seed))
    at = an_answer(data, seed, last=True)
    again = lacking(with_rows(whole(seed), [*rows[: at + 1], rows[at], *rows[at + 1 :]]))
    assert again.params == {"lack": "request-of-answer", "count": 1}


def test_a_stopped_or_acks_0_request_needs_no_answer():
    rows = [*rows_of(whole())]
    early = {(conn, id) for conn, ids in exchanged(whole()).items() for id in ids[:-1]}
    at = next(
        at for at, row in enumerate(rows) if row.api == "Produce" and (row.conn, row.correlation_id) in early
    )
    key = (FrameKind.RESPONSE, rows[at].conn, rows[at].correlation_id)
    rows = [row for row in rows if (row.kind, row.conn, row.correlation_id) != key]
    assert code_of(with_rows(whole(), rows)) == "frames-incomplete"
    rows[at] = restruct(rows[at], acks=0)
    assert lacking(with_rows(whole(), rows)) is None
    rows[at] = restruct(rows[at], acks=-1, fault="late", disposition=Disposition.DELAYED)
    assert lacking(with_rows(whole(), rows)) is None


def a_stored_batch(evidence):
    """Return the index of a Produce request whose batch is in the log and was sent once."""
    rows = rows_of(evidence)
    sent = Counter((part.partition, part.crc) for row in rows for part in row.produce if part.crc is not None)
    log = {(record.partition, record.batch_crc) for record in evidence.log}
    return next(
        at
        for at, row in enumerate(rows)
        if len(row.produce) == 1
        and (key := (row.produce[0].partition, row.produce[0].crc)) in log
        and sent[key] == 1
    )


def test_a_stored_batch_without_its_request_is_detected():
    """The number of records in other requests does not matter."""
    rows = [*rows_of(whole())]
    at = a_stored_batch(whole())
    part = rows[at].produce[0]
    rows[at] = restruct(rows[at], produce=(restruct(part, crc=part.crc ^ 1, records=part.records + 1_000),))
    found = lacking(with_rows(whole(), rows))
    assert found.params == {"lack": "request-of-record", "count": part.records}


def test_unread_bytes_explain_a_missing_request():
    rows = [*rows_of(whole())]
    at = a_stored_batch(whole())
    part = rows[at].produce[0]
    rows[at] = restruct(rows[at], produce=(restruct(part, crc=part.crc ^ 1),))
    assert code_of(with_rows(whole(), rows)) == "frames-incomplete"
    close = max(at for at, row in enumerate(rows) if row.kind is FrameKind.CLOSE)
    unread = restruct(rows[close], kind=FrameKind.OPAQUE, closed_by=None, size_bytes=10)
    assert (
        code_of(with_rows(whole(), [*rows[: close + 1], unread, *rows[close + 1 :]])) == "frames-incomplete"
    )
    assert lacking(with_rows(whole(), [*rows[:close], unread, *rows[close:]])) is None


def test_records_in_the_log_without_a_request_are_detected():
    rows = [
        restruct(row, produce=tuple(restruct(part, records=0) for part in row.produce))
        if row.kind is FrameKind.REQUEST
        else row
        for row in rows_of(whole())
    ]
    found = lacking(with_rows(whole(), rows))
    assert found.params == {"lack": "request-of-record", "count": len(whole().log)}
