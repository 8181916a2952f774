"""Two observers of one conversation: they agree, or it is said which frame only one of them saw."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from harness.capture.crosscheck import compare
from harness.rows import Fate, Frame, FrameKind


def witnessed(talk, conn=1, since_ns=0):
    """What the witness tells of the frames that a capture of the same connection has."""
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
    return rows


@pytest.fixture
def calm(talk, asked, answered):
    """Three requests and their answers."""
    calm = talk().open()
    for n in (1, 2, 3):
        calm.ask(asked(n, b"x" * n))
        calm.answer(answered(n, b"y" * n))
    return calm


def without(rows, kind, n, **instead):
    """The rows but one, or with that one changed."""
    return [
        replace(row, **instead) if (row.kind, row.correlation_id) == (kind, n) else row
        for row in rows
        if instead or (row.kind, row.correlation_id) != (kind, n)
    ]


def test_they_agree(calm):
    calm.close()
    found = compare(witnessed(calm), calm.connections)
    assert (found.connections, found.agreed, found.ruled, found.cut_off, found.gaps) == (1, 6, 0, 0, 0)
    assert found.disagreements == ()


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kind", [FrameKind.REQUEST, FrameKind.RESPONSE])
def test_a_frame_that_the_witness_lost_is_named(calm, kind, n):
    calm.close()
    [found] = compare(without(witnessed(calm), kind, n), calm.connections).disagreements
    assert (found.kind, found.correlation_id, found.seen_by) == (kind, n, "capture")
    assert (found.broker, found.client_port, found.conn) == (7, 40_001, 1)


@pytest.mark.parametrize("n", [1, 2])
def test_an_answer_that_the_client_never_got_is_named(calm, talk, asked, answered, n):
    rows = witnessed(calm)
    deaf = talk().open()
    for m in (1, 2, 3):
        deaf.ask(asked(m, b"x" * m))
        if m != n:
            deaf.answer(answered(m, b"y" * m))
    [found] = compare(rows, deaf.close().connections).disagreements
    assert (found.kind, found.correlation_id, found.seen_by) == (FrameKind.RESPONSE, n, "witness")


def test_what_the_witness_made_up_is_named(calm):
    calm.close()
    rows = [*witnessed(calm), Frame(9, 0, 7, 1, FrameKind.REQUEST, 20, correlation_id=77)]
    [found] = compare(rows, calm.connections).disagreements
    assert (found.correlation_id, found.seen_by) == (77, "witness")


def test_the_same_frame_of_another_size_is_another(calm):
    calm.close()
    rows = without(witnessed(calm), FrameKind.REQUEST, 2, size_bytes=999)
    assert Counter(one.seen_by for one in compare(rows, calm.connections).disagreements) == {
        "capture": 1,
        "witness": 1,
    }


def test_a_rule_stopped_an_answer_it_is_in_one_and_not_in_the_other(calm, talk, asked, answered):
    rows = without(witnessed(calm), FrameKind.RESPONSE, 2, fate=Fate.STOPPED, fault="f")
    deaf = talk().open()
    for n in (1, 2, 3):
        deaf.ask(asked(n, b"x" * n))
        if n != 2:
            deaf.answer(answered(n, b"y" * n))
    found = compare(rows, deaf.close().connections)
    assert (found.agreed, found.ruled, found.disagreements) == (5, 1, ())
    [lie] = compare(rows, calm.close().connections).disagreements
    assert (lie.correlation_id, lie.seen_by) == (2, "capture")


def test_a_rule_stopped_a_request_which_the_client_did_send(calm):
    calm.close()
    rows = without(witnessed(calm), FrameKind.REQUEST, 2, fate=Fate.STOPPED, fault="f")
    found = compare(rows, calm.connections)
    assert (found.ruled, found.disagreements) == (1, ())


def test_a_rule_doubled_an_answer_or_put_another_in_its_place(calm, answered):
    calm.answer(answered(3, b"y" * 3))
    calm.close()
    rows = witnessed(calm)[:-1]
    doubled = without(rows, FrameKind.RESPONSE, 3, fate=Fate.MARKED, fault="f")
    assert compare(doubled, calm.connections).disagreements == ()
    assert compare(doubled, calm.connections).ruled == 1
    assert len(compare(rows, calm.connections).disagreements) == 1
    strange = without(witnessed(calm), FrameKind.RESPONSE, 2, fate=Fate.CHANGED, fault="f", correlation_id=99)
    assert compare(strange, calm.connections).disagreements == ()


@pytest.mark.parametrize("flags", ["R", "FA"])
def test_what_was_under_way_when_the_connection_was_cut_is_no_disagreement(calm, talk, asked, flags):
    rows = witnessed(calm)
    cut = talk().open()
    cut.packets += calm.packets[3:]
    cut.seq = dict(calm.seq)
    cut.ask(asked(4), asked(5))
    cut.send(flags, client=False)
    found = compare(rows, cut.connections)
    assert (found.cut_off, found.disagreements) == (2, ())
    [inner] = compare(without(rows, FrameKind.REQUEST, 1), cut.connections).disagreements
    assert (inner.correlation_id, inner.seen_by) == (1, "capture")


def test_connections_are_told_apart_by_what_passed_on_them(talk, asked, answered):
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
        rows += witnessed(alone, conn=9 - number, since_ns=1_000_000 - number)
    found = compare(rows, talks[0].connections)
    assert (found.connections, found.agreed, found.disagreements) == (4, 8, ())


def test_a_connection_that_only_one_saw_is_told_frame_by_frame(calm):
    calm.close()
    assert len(compare([], calm.connections).disagreements) == 6
    assert {one.seen_by for one in compare([], calm.connections).disagreements} == {"capture"}
    assert {one.seen_by for one in compare(witnessed(calm), []).disagreements} == {"witness"}


def test_a_client_that_was_refused_is_nothing_to_disagree_about(talk):
    refused = talk()
    refused.send("S", client=True)
    refused.send("RA", client=False)
    assert compare([], refused.connections).disagreements == ()


def test_a_gap_is_counted(calm):
    del calm.packets[3]
    assert compare([], calm.connections).gaps == 1
