from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.model.rows import Disposition, Frame, FrameKind, ProducePart
from harness.wire.records import read_headers
from harness.witness.rewrites import other_correlation_id
from harness.witness.transcript import Transcript

PLACES = st.lists(st.integers(0, 2**16), max_size=20)
Cut = Callable[[bytes, list[int]], list[bytes]]


def transcript(**settings: Any) -> Transcript:
    return Transcript(lane=3, broker=2, conn=9, names={}, **settings)


def feed(account: Transcript, requests: Iterable[bytes] = (), responses: Iterable[bytes] = ()) -> list[Frame]:
    rows = [row for data in requests for row in account.sent(1, data)]
    return rows + [row for data in responses for row in account.answered(2, data)]


def sent_part(batch: bytes) -> ProducePart:
    """Return what a row contains about the batch that ``make.produce`` sends."""
    [header] = read_headers(batch)
    return ProducePart(
        "t",
        2,
        7,
        1,
        40,
        records=3,
        crc=int.from_bytes(batch[17:21]),
        compression="none",
        first_timestamp_ms=header.base_timestamp_ms,
        max_timestamp_ms=header.max_timestamp_ms,
    )


def test_a_produce_request_and_its_response_are_recorded(make: Any) -> None:
    sent, answered = feed(transcript(), [make.produce(5)], [make.produced(5, error=6, offset=-1)])
    header = {"lane": 3, "broker": 2, "conn": 9, "api_key": 0, "api": "Produce", "api_version": 9}
    assert sent == Frame(
        t_ns=1,
        kind=FrameKind.REQUEST,
        size_bytes=len(make.produce(5)),
        correlation_id=5,
        client_id="p1",
        produce=(sent_part(make.batch()),),
        acks=-1,
        timeout_ms=3_000,
        **header,
    )
    assert answered == Frame(
        t_ns=2,
        kind=FrameKind.RESPONSE,
        size_bytes=len(make.produced(5)),
        correlation_id=5,
        client_id="p1",
        error_codes=(6,),
        produce=(ProducePart("t", 2, base_offset=-1, error_code=6),),
        **header,
    )


@given(
    versions=st.lists(st.booleans(), min_size=1, max_size=12),
    request_places=PLACES,
    response_places=PLACES,
)
def test_pipelined_requests_are_paired_in_any_fragmentation(
    versions: list[bool], request_places: list[int], response_places: list[int], make: Any, chunked: Cut
) -> None:
    requests = [make.versions(n) if it else make.produce(n) for n, it in enumerate(versions)]
    responses = [make.versions_told(n) if it else make.produced(n) for n, it in enumerate(versions)]
    account = transcript()
    rows = feed(
        account,
        chunked(b"".join(requests), request_places),
        chunked(b"".join(responses), response_places),
    )
    told = [(row.kind, row.correlation_id, row.api, row.size_bytes, row.note) for row in rows]
    names = ["ApiVersions" if it else "Produce" for it in versions]
    assert told == [
        (kind, n, names[n], len(data), None)
        for kind, frames in (("request", requests), ("response", responses))
        for n, data in enumerate(frames)
    ]
    assert list(account.ended(3)) == []


@given(acks=st.lists(st.sampled_from([0, 1, -1]), max_size=12))
def test_a_produce_request_without_acks_has_no_response(acks: list[int], make: Any) -> None:
    requests = [make.produce(n, acks=ack) for n, ack in enumerate(acks)]
    responses = [make.produced(n, offset=n) for n, ack in enumerate(acks) if ack != 0]
    rows = feed(transcript(), requests, responses)
    assert [(row.kind, row.correlation_id, row.note) for row in rows] == [
        *(("request", n, None) for n in range(len(acks))),
        *(("response", n, None) for n, ack in enumerate(acks) if ack != 0),
    ]


def test_the_correlation_id_of_a_request_without_response_can_be_reused(make: Any) -> None:
    rows = feed(transcript(), [make.produce(1, acks=0), make.versions(1)], [make.versions_told(1)])
    assert [(row.kind, row.api, row.note) for row in rows[2:]] == [("response", "ApiVersions", None)]


def test_requests_with_the_same_correlation_id_are_paired_in_order(make: Any) -> None:
    rows = feed(transcript(), [make.produce(1), make.versions(1)], [make.produced(1), make.versions_told(1)])
    assert [(row.api, row.note) for row in rows[2:]] == [("Produce", None), ("ApiVersions", None)]


def test_an_unsolicited_response_is_recorded_and_changes_nothing(make: Any) -> None:
    rows = feed(transcript(), [make.versions(1)], [make.versions_told(77), make.versions_told(1)])
    astray, paired = rows[1:]
    assert (astray.kind, astray.correlation_id, astray.api) == ("response", 77, None)
    assert astray.note == "answers no request that is waiting"
    assert (paired.api, paired.note) == ("ApiVersions", None)


@pytest.mark.parametrize("version", [3, 120])
def test_an_api_versions_answer_in_version_0_is_read(version: int, make: Any) -> None:
    request = bytearray(make.versions(1))
    request[6:8] = version.to_bytes(2)
    rows = feed(transcript(), [bytes(request)], [make.versions_told(1, version=0, error=35)])
    assert rows[1].api == "ApiVersions"
    assert (rows[1].error_codes, rows[1].note) == ((35,), None)


def test_topic_ids_are_replaced_by_names_known_from_metadata(make: Any) -> None:
    topic = UUID(int=12345)
    account = transcript()
    before = feed(account, [make.produce(1, version=13, topic=topic)])
    feed(account, [make.metadata(2)], [make.metadata_told(2, "orders", topic)])
    after = feed(account, [make.produce(3, version=13, topic=topic)])
    assert [row.produce[0].topic for row in before + after] == [str(topic), "orders"]


def test_nested_error_codes_are_recorded(make: Any) -> None:
    rows = feed(transcript(), [make.metadata(1)], [make.metadata_told(1, "orders", UUID(int=1), error=3)])
    assert rows[1].error_codes == (3,)


def test_a_frame_over_the_limit_is_recorded_by_its_header(make: Any) -> None:
    account = transcript(whole_limit_bytes=5000)
    requests = [make.produce(1, records=1000), make.produce(2)]
    rows = feed(account, requests, [make.produced(1), make.produced(2)])
    assert [(row.correlation_id, row.api, row.note, len(row.produce)) for row in rows] == [
        (1, "Produce", "too large to be read", 0),
        (2, "Produce", None, 1),
        (1, "Produce", None, 1),
        (2, "Produce", None, 1),
    ]
    assert rows[0].size_bytes == len(requests[0])


def test_a_frame_with_an_unreadable_body_is_recorded_by_its_header(make: Any) -> None:
    unknown = bytearray(make.versions(1))
    unknown[4:6] = (300).to_bytes(2)
    torn = make.produce(2)
    torn = (len(torn) - 14).to_bytes(4) + torn[4:-10]
    rows = feed(transcript(), [bytes(unknown), torn, make.versions(3)])
    assert [(row.kind, row.api, row.correlation_id) for row in rows] == [
        ("request", "Api(300)", 1),
        ("request", "Produce", 2),
        ("request", "ApiVersions", 3),
    ]
    assert rows[0].note == "an API that is not known here"
    assert rows[1].note is not None
    assert rows[1].note.startswith("body not read: ")


GARBAGE = st.one_of(
    st.binary(max_size=300), st.binary(min_size=8, max_size=40).map(lambda data: len(data).to_bytes(4) + data)
)


@given(steps=st.lists(st.tuples(st.booleans(), GARBAGE), max_size=20))
@example([(True, b"GET / HTTP/1.1\r\n\r\n"), (False, b"HTTP/1.1 400\r\n"), (True, b"more")])
@example([(False, b"\x00\x00"), (True, b"\xff\xff\xff\xff\x00")])
def test_garbage_never_raises_and_every_byte_is_recorded(steps: list[tuple[bool, bytes]]) -> None:
    account = transcript()
    rows = []
    for upstream, data in steps:
        rows += account.sent(1, data) if upstream else account.answered(1, data)
    rows += account.closed(2, "client")
    rows += account.ended(3)
    assert sum(row.size_bytes for row in rows) == sum(len(data) for _, data in steps)


@given(good=st.integers(0, 3), garbage=GARBAGE, places=PLACES)
def test_frames_before_garbage_are_read(
    good: int, garbage: bytes, places: list[int], make: Any, chunked: Cut
) -> None:
    frames = [make.versions(n) for n in range(good)]
    account = transcript()
    rows = feed(account, chunked(b"".join(frames) + garbage, places))
    rows += account.ended(3)
    assert [row.correlation_id for row in rows[:good]] == list(range(good))
    assert sum(row.size_bytes for row in rows) == len(b"".join(frames) + garbage)


def test_data_after_garbage_is_not_read(make: Any) -> None:
    account = transcript()
    rows = feed(
        account, [make.versions(1), b"\x16\x03\x01\x02\x00", make.versions(2)], [make.versions_told(1)]
    )
    assert [row.kind for row in rows] == ["request", "opaque"]
    assert [row.kind for row in account.ended(9)] == ["opaque"]


def test_an_incomplete_frame_is_recorded_at_the_end(make: Any) -> None:
    account = transcript()
    assert feed(account, [make.versions(1)[:11]]) == []
    (torn,) = account.ended(9)
    assert (torn.kind, torn.size_bytes, torn.note) == (
        "opaque",
        11,
        "the beginning of a request that never ended",
    )


def test_the_first_to_close_is_named_and_late_answers_are_marked(make: Any) -> None:
    account = transcript()
    feed(account, [make.produce(1)])
    (closed,) = account.closed(5, "client")
    assert (closed.kind, closed.closed_by) == ("close", "client")
    assert list(account.closed(6, "broker")) == []
    (late,) = account.answered(7, make.produced(1))
    assert late.note == "after the client had closed"
    assert late.produce


def test_a_delayed_frame_has_both_times_and_the_note_of_its_departure(make: Any) -> None:
    account = transcript()
    asked, answered, astray = feed(account, [make.produce(1)], [make.produced(1), make.produced(5)])
    at_once = account.passed(answered, answered.t_ns)
    assert (at_once, at_once.arrived_ns) == (answered, 2)
    list(account.closed(5, "client"))
    late = account.passed(answered, 7)
    assert (late.t_ns, late.received_ns, late.arrived_ns, late.note) == (
        7,
        2,
        2,
        "after the client had closed",
    )
    assert account.passed(late, 7).note == late.note
    assert account.passed(asked, 7).note is None and account.passed(astray, 7).note == astray.note
    gone = account.stopped(answered, 9)
    assert (gone.t_ns, gone.received_ns, gone.disposition, gone.note) == (9, 2, Disposition.BLOCKED, None)


def test_a_replaced_payload_is_recorded(make: Any) -> None:
    account = transcript()
    _, answered = feed(account, [make.produce(7)], [make.produced(7)])
    changed = account.changed(answered, other_correlation_id(make.produced(7, error=6)[4:]))
    assert (changed.correlation_id, changed.error_codes) == (7 ^ 0x7FFF_FFFF, (6,))
