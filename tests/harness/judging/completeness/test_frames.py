"""The frames of a whole trial: each connection has its ends, each request its answer, each stored batch a request."""

from __future__ import annotations

from collections import Counter, defaultdict

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as restruct

from harness.judging.completeness import lacking
from harness.model.rows import Disposition, FrameKind
from tests.harness.judging.completeness.whole_trial import SEEDS, code_of, rows_of, whole, with_rows, without


@given(st.sampled_from(SEEDS), st.data())
def test_any_end_or_beginning_that_is_missing_from_the_frames_is_seen(seed, data):
    """But for a cut between two connections, which leaves whole ones: then what they did is looked for elsewhere."""
    rows = rows_of(whole(seed))
    at = data.draw(st.integers(1, len(rows) - 1))
    goes_through = {row.conn for row in rows[:at]} & {row.conn for row in rows[at:]}
    for kept in (rows[:at], rows[at:]):
        seen = code_of(with_rows(whole(seed), kept))
        assert seen == "frames-incomplete" if goes_through else seen in (None, "frames-incomplete")


def test_an_answer_needs_its_request_unless_a_rule_made_it():
    rows = [*rows_of(whole())]
    at = next(at for at, row in enumerate(rows) if row.kind is FrameKind.RESPONSE and row.fault is None)
    rows[at] = restruct(rows[at], correlation_id=-7)
    assert lacking(with_rows(whole(), rows)).params == {"lack": "request-of-answer", "count": 1}
    rows[at] = restruct(rows[at], fault="doubled", disposition=Disposition.CHANGED)
    assert lacking(with_rows(whole(), rows)) is None


def exchanged(evidence):
    """The answered requests that no rule touched: by connection, in order."""
    rows = [row for row in rows_of(evidence) if row.fault is None]
    answered = {(row.conn, row.correlation_id) for row in rows if row.kind is FrameKind.RESPONSE}
    asked = defaultdict(list)
    for row in rows:
        if row.kind is FrameKind.REQUEST and (row.conn, row.correlation_id) in answered:
            asked[row.conn].append(row.correlation_id)
    return asked


def an_answer(data, seed, *, last=False):
    """The place of an answer among the rows, of one behind which its connection went on, or of any."""
    asked = exchanged(whole(seed))
    conns = sorted(conn for conn, ids in asked.items() if last or len(ids) > 1)
    conn = data.draw(st.sampled_from(conns))
    id = data.draw(st.sampled_from(asked[conn] if last else asked[conn][:-1]))
    key = (FrameKind.RESPONSE, conn, id)
    return next(
        at for at, row in enumerate(rows_of(whole(seed))) if (row.kind, row.conn, row.correlation_id) == key
    )


@given(st.sampled_from(SEEDS), st.data())
def test_any_answer_that_is_missing_before_another_is_seen(seed, data):
    """A broker answers in order: only the last may never have come."""
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


def test_an_answer_with_another_id_stands_for_no_other_that_is_missing():
    """The first answer is missing; the last has another id, and came too late to be it."""
    rows = rows_of(whole())
    conn = next(conn for conn, ids in exchanged(whole()).items() if len(ids) > 2)
    answers = [at for at, row in enumerate(rows) if row.kind is FrameKind.RESPONSE and row.conn == conn]
    last = restruct(rows[answers[-1]], correlation_id=-7, fault="wrong", disposition=Disposition.CHANGED)
    changed = [*rows[: answers[-1]], last, *rows[answers[-1] + 1 :]]
    assert lacking(with_rows(whole(), changed)) is None
    found = lacking(with_rows(whole(), without(changed, answers[0])))
    assert found.params == {"lack": "answer", "count": 1}


@given(st.sampled_from(SEEDS), st.data())
def test_any_answer_that_is_there_twice_is_seen(seed, data):
    rows = rows_of(whole(seed))
    at = an_answer(data, seed, last=True)
    again = lacking(with_rows(whole(seed), [*rows[: at + 1], rows[at], *rows[at + 1 :]]))
    assert again.params == {"lack": "request-of-answer", "count": 1}


def test_a_request_that_a_rule_stopped_or_that_asks_for_no_answer_has_none():
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
    """The place of a Produce request whose batch is in the log, and which was sent only once."""
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


def test_the_request_of_another_batch_brought_none_into_the_log():
    """However many more records were sent in all: those of attempts that were not stored are not it."""
    rows = [*rows_of(whole())]
    at = a_stored_batch(whole())
    part = rows[at].produce[0]
    rows[at] = restruct(rows[at], produce=(restruct(part, crc=part.crc ^ 1, records=part.records + 1_000),))
    found = lacking(with_rows(whole(), rows))
    assert found.params == {"lack": "request-of-record", "count": part.records}


def test_bytes_that_cannot_be_read_excuse_a_batch_without_a_request_unless_they_end_a_connection():
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


def test_records_in_the_log_that_no_request_had():
    rows = [
        restruct(row, produce=tuple(restruct(part, records=0) for part in row.produce))
        if row.kind is FrameKind.REQUEST
        else row
        for row in rows_of(whole())
    ]
    found = lacking(with_rows(whole(), rows))
    assert found.params == {"lack": "request-of-record", "count": len(whole().log)}
