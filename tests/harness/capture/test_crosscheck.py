"""Two observers of one conversation: they agree, or the frames that only one of them saw are reported."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.capture.connections import facts
from harness.judging.crosscheck import compare
from harness.model.rows import Disposition, Frame, FrameKind
from harness.model.tcp_facts import By, TcpFact, What


def witnessed(talk, conn=1, since_ns=0, closed_by="client"):
    """Return the witness rows for the frames that a capture of the same connection has."""
    [one] = talk.connections
    rows = [Frame(since_ns, 0, 7, conn, FrameKind.OPEN)]
    for kind, frames in ((FrameKind.REQUEST, one.requests), (FrameKind.RESPONSE, one.responses)):
        rows += [
            Frame(
                since_ns + 1 + frame.t_ns,
                0,
                7,
                conn,
                kind,
                frame.size_bytes,
                correlation_id=frame.correlation_id,
            )
            for frame in frames
        ]
    rows.append(Frame(since_ns + 10**9, 0, 7, conn, FrameKind.CLOSE, closed_by=closed_by))
    return rows


@pytest.fixture
def calm(talk, asked, answered):
    """A connection with three requests and their answers."""
    calm = talk().open()
    for n in (1, 2, 3):
        calm.ask(asked(n, b"x" * n))
        calm.answer(answered(n, b"y" * n))
    return calm


def without(rows, kind, n, **instead):
    """Return the rows without one of them, or with that one changed."""
    return [
        replace(row, **instead) if (row.kind, row.correlation_id) == (kind, n) else row
        for row in rows
        if instead or (row.kind, row.correlation_id) != (kind, n)
    ]


def test_complete_observations_agree(calm):
    calm.close()
    found = compare(witnessed(calm), facts(calm.connections))
    assert (found.connections, found.agreed, found.ruled, found.cut_off) == (1, 6, 0, 0)
    assert found.disagreements == ()


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kind", [FrameKind.REQUEST, FrameKind.RESPONSE])
def test_a_frame_missing_at_the_witness_is_reported(calm, kind, n):
    calm.close()
    [found] = compare(without(witnessed(calm), kind, n), facts(calm.connections)).disagreements
    assert (found.kind, found.correlation_id, found.seen_by) == (kind, n, "capture")
    assert (found.broker, found.client_port, found.conn) == (7, 40_001, 1)


@pytest.mark.parametrize("n", [1, 2])
def test_an_answer_missing_in_the_capture_is_reported(calm, talk, asked, answered, n):
    rows = witnessed(calm)
    deaf = talk().open()
    for m in (1, 2, 3):
        deaf.ask(asked(m, b"x" * m))
        if m != n:
            deaf.answer(answered(m, b"y" * m))
    [found] = compare(rows, facts(deaf.close().connections)).disagreements
    assert (found.kind, found.correlation_id, found.seen_by) == (FrameKind.RESPONSE, n, "witness")


def test_a_frame_made_up_by_the_witness_is_reported(calm):
    calm.close()
    rows = [*witnessed(calm), Frame(9, 0, 7, 1, FrameKind.REQUEST, 20, correlation_id=77)]
    [found] = compare(rows, facts(calm.connections)).disagreements
    assert (found.correlation_id, found.seen_by) == (77, "witness")


def test_a_different_size_is_a_disagreement(calm):
    calm.close()
    rows = without(witnessed(calm), FrameKind.REQUEST, 2, size_bytes=999)
    assert Counter(one.seen_by for one in compare(rows, facts(calm.connections)).disagreements) == {
        "capture": 1,
        "witness": 1,
    }


def test_an_answer_stopped_by_a_rule_must_not_be_captured(calm, talk, asked, answered):
    rows = without(witnessed(calm), FrameKind.RESPONSE, 2, disposition=Disposition.BLOCKED, fault="f")
    deaf = talk().open()
    for n in (1, 2, 3):
        deaf.ask(asked(n, b"x" * n))
        if n != 2:
            deaf.answer(answered(n, b"y" * n))
    found = compare(rows, facts(deaf.close().connections))
    assert (found.agreed, found.ruled, found.disagreements) == (5, 1, ())
    [lie] = compare(rows, facts(calm.close().connections)).disagreements
    assert (lie.correlation_id, lie.seen_by) == (2, "capture")


def test_a_request_stopped_by_a_rule_may_be_captured(calm):
    calm.close()
    rows = without(witnessed(calm), FrameKind.REQUEST, 2, disposition=Disposition.BLOCKED, fault="f")
    found = compare(rows, facts(calm.connections))
    assert (found.ruled, found.disagreements) == (1, ())


def test_an_answer_doubled_by_a_rule_may_be_captured_twice(calm, answered):
    calm.answer(answered(3, b"y" * 3))
    calm.close()
    *rows, _, close = witnessed(calm)
    rows.append(close)
    doubled = without(rows, FrameKind.RESPONSE, 3, disposition=Disposition.ANNOTATED, fault="f")
    assert compare(doubled, facts(calm.connections)).disagreements == ()
    assert compare(doubled, facts(calm.connections)).ruled == 1
    assert len(compare(rows, facts(calm.connections)).disagreements) == 1


def test_a_replaced_answer_is_compared_in_its_changed_form(talk, asked, answered):
    calm = talk().open()
    calm.ask(asked(1), asked(2))
    calm.answer(answered(99), answered(2))
    rows = without(
        witnessed(calm.close()), FrameKind.RESPONSE, 99, disposition=Disposition.CHANGED, fault="f"
    )
    assert compare(rows, facts(calm.connections)).disagreements == ()
    old = without(rows, FrameKind.RESPONSE, 99, correlation_id=1)
    assert {one.seen_by for one in compare(old, facts(calm.connections)).disagreements} == {
        "capture",
        "witness",
    }


@pytest.mark.parametrize("flags", ["R", "FA"])
def test_frames_in_flight_when_the_connection_is_cut_may_be_missing(calm, talk, asked, flags):
    rows = witnessed(calm)
    cut = talk().open()
    cut.packets += calm.packets[3:]
    cut.seq = dict(calm.seq)
    cut.ask(asked(4), asked(5))
    cut.send(flags, client=False)
    found = compare(rows, facts(cut.connections))
    assert (found.cut_off, found.disagreements) == (2, ())
    [inner] = compare(without(rows, FrameKind.REQUEST, 1), facts(cut.connections)).disagreements
    assert (inner.correlation_id, inner.seen_by) == (1, "capture")


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 0, 2, 3), (1, 0, 3, 2)])
def test_connections_are_matched_by_their_frames(talk, asked, answered, order):
    packets, rows = [], []
    talks = [talk(40_000 + n, packets=packets) for n in range(4)]
    for one in talks:
        one.open()
    for number, one in enumerate(talks):
        one.ask(asked(1, b"x" * number))
        one.answer(answered(1))
        alone = talk(one.client_port).open()
        alone.ask(asked(1, b"x" * number))
        alone.answer(answered(1))
        place = order.index(number)
        rows += witnessed(alone, conn=9 + place, since_ns=1_000_000 + place)
    found = compare(rows, facts(talks[0].connections))
    assert (found.connections, found.agreed, found.disagreements) == (4, 8, ())


def test_similar_connections_are_matched_together(talk, asked, answered):
    """The first got few answers, and the last requests of the second were lost:

    taken alone, it looks like the first.
    """
    packets, rows = [], []
    for number, (heard, arrived) in enumerate([(1, 7), (5, 5)]):
        client, path = talk(40_000 + number, packets=packets).open(), talk().open()
        for n in range(1, 8):
            client.ask(asked(n))
            if n <= arrived:
                path.ask(asked(n))
                path.answer(answered(n))
            if n <= heard:
                client.answer(answered(n))
        client.send("R", client=False)
        rows += witnessed(path, conn=number + 1, since_ns=number * 30_000)
    found = compare(rows, facts(client.connections))
    assert (found.connections, found.cut_off, found.disagreements) == (2, 8, ())


def test_a_connection_of_one_observer_is_reported_frame_by_frame(calm):
    calm.close()
    assert len(compare([], facts(calm.connections)).disagreements) == 6
    assert {one.seen_by for one in compare([], facts(calm.connections)).disagreements} == {"capture"}
    assert {one.seen_by for one in compare(witnessed(calm), []).disagreements} == {"witness"}


def test_a_refused_connection_is_not_a_disagreement(talk):
    refused = talk()
    refused.send("S", client=True)
    refused.send("RA", client=False)
    assert compare([], facts(refused.connections)).disagreements == ()


def swallowed(talk, asked, answered):
    """Return a client whose last two requests were lost before a normal close, and the rows of the witness."""
    path, client = talk().open(), talk().open()
    for one, asks in ((path, (1, 2)), (client, (1, 2, 3, 4))):
        for n in asks:
            one.ask(asked(n))
            if n < 3:
                one.answer(answered(n))
        one.close()
    return client, witnessed(path)


def test_requests_lost_during_a_fault_are_not_a_disagreement(talk, asked, answered):
    client, rows = swallowed(talk, asked, answered)
    tcp = facts(client.connections)
    since_ns = next(row.t_ns for row in tcp if row.correlation_id == 3)
    until_ns = tcp[-1].t_ns
    assert [one.correlation_id for one in compare(rows, tcp).disagreements] == [3, 4]
    for window, cut_off in (
        ((since_ns - 1, since_ns), 2),
        ((until_ns, until_ns + 1), 2),
        ((0, since_ns - 1), 0),
        ((until_ns + 1, until_ns + 2), 0),
    ):
        assert compare(rows, tcp, [window]).cut_off == cut_off, window


@pytest.mark.parametrize("end", ["broker", None, "opaque", "none"])
def test_requests_after_the_end_at_the_witness_may_be_missing(talk, asked, answered, end):
    client, (*rows, close) = swallowed(talk, asked, answered)
    if end == "opaque":
        rows += [replace(close, kind=FrameKind.OPAQUE, closed_by=None), close]
    elif end != "none":
        rows.append(replace(close, closed_by=end))
    found = compare(rows, facts(client.connections))
    assert (found.cut_off, found.disagreements) == (2, ())


def test_answers_that_the_witness_could_not_read_may_be_missing(calm):
    calm.close()
    *rows, close = witnessed(calm)
    unread = replace(close, kind=FrameKind.OPAQUE, closed_by=None, t_ns=close.t_ns + 1)
    less = [row for row in rows if row.correlation_id != 3]
    assert compare([*less, unread, close], facts(calm.connections)).disagreements == ()
    assert len(compare([*less, close], facts(calm.connections)).disagreements) == 2


def test_connections_that_began_before_the_capture_are_ignored(calm):
    _, *rows = witnessed(calm)
    assert compare(rows, []).disagreements == ()


sizes = st.lists(st.integers(8, 9), max_size=5)


@given(
    st.lists(st.tuples(st.integers(0, 2), sizes, sizes, st.integers(0, 5), st.integers(0, 5)), max_size=5),
    st.booleans(),
)
@example([(1, [8], [], 1, 0), (0, [8, 8], [], 0, 0)], True)
def test_frames_cut_off_at_the_end_are_not_a_disagreement(talks, swap):
    """Each connection loses its last requests before the witness, and its last answers after it."""
    rows, tcp = [], []
    for conn, (first, asked, answered, arrived, heard) in enumerate(talks, 1):
        begin_ns = conn * 1_000
        rows.append(Frame(begin_ns + 10, 0, 7, conn, FrameKind.OPEN))
        tcp.append(TcpFact(begin_ns, 7, 40_000 + conn, What.SYN, By.CLIENT, conn))
        requests, responses = list(enumerate(asked, first)), list(enumerate(answered[:arrived], first))
        for kind, passed in (
            (FrameKind.REQUEST, requests[:arrived]),
            (FrameKind.RESPONSE, responses[: len(requests)]),
        ):
            rows += [Frame(begin_ns + 20, 0, 7, conn, kind, size, correlation_id=n) for n, size in passed]
        for by, passed in ((By.CLIENT, requests), (By.PROXY, responses[: min(heard, len(requests))])):
            tcp += [TcpFact(begin_ns, 7, 40_000 + conn, What.FRAME, by, conn, n, size) for n, size in passed]
        tcp.append(TcpFact(begin_ns + 500, 7, 40_000 + conn, What.RST, By.PROXY, conn))
    if swap:  # as when two threads of a client connect at once
        places = {1: 2_005, 2: 1_995}
        rows = [
            replace(row, t_ns=places.get(row.conn, row.t_ns) + (row.kind is not FrameKind.OPEN))
            for row in rows
        ]
    assert compare(rows, tcp).disagreements == ()
