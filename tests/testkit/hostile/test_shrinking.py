"""Hostile bytes that shrink: Hypothesis draws them, and scapy writes headers with arbitrary field values.

The seeds of :mod:`testkit.hostile` search a million frames for a defect. These tests find the smallest example of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.hostile.brokers import Untrue
from benchmarks.hostile.client import IMPATIENT, RESULT_LIMIT_MS
from clients.reference.producer.producer import Components
from harness.brokers.scripted.answer import Answer
from harness.capture.layers import KafkaRequest, KafkaResponse
from harness.model.dice import Dice
from harness.wire.apis import Api
from harness.wire.errors import WireError
from harness.wire.messages import client_versions, decode_request, decode_response
from harness.witness.transcript import Transcript
from suites.properties.simulation import Simulation
from testkit.hostile import real_frame

INT16, INT32 = st.integers(-(2**15), 2**15 - 1), st.integers(-(2**31), 2**31 - 1)
#: None: the valid value.
SIZE = st.none() | st.sampled_from([-1, 0, 3, 4, 2**31 - 1]) | INT32
API_KEY = st.sampled_from(list(map(int, Api))) | INT16
BODY = st.binary(max_size=60)

HEADS = st.builds(
    lambda **fields: bytes(KafkaRequest(**fields)),
    size=SIZE,
    api_key=API_KEY,
    api_version=st.integers(-1, 20) | INT16,
    correlation_id=INT32,
    client_id_size=st.none() | INT16,
    client_id=st.binary(max_size=5),
    body=BODY,
)
ANSWERS = st.builds(
    lambda **fields: bytes(KafkaResponse(**fields)), size=SIZE, correlation_id=INT32, body=BODY
)

#: An edit of bytes: the position, how many bytes to remove, and the bytes to insert.
EDITS = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 8), st.binary(max_size=8)), min_size=1, max_size=3
)
Edits = list[tuple[int, int, bytes]]


def edited(data: bytes, edits: Edits) -> bytes:
    for place, gone, come in edits:
        at = place % (len(data) + 1)
        data = data[:at] + come + data[at + gone :]
    return data


def real(kind: Any) -> st.SearchStrategy[bytes]:
    """Return real frames of any API and version, unchanged or damaged."""
    frames = st.integers(0, 2**16).map(lambda seed: real_frame(Dice(seed, "shrinking"), kind=kind).data)
    return frames | st.builds(edited, frames, EDITS)


@given(
    asked=st.lists(HEADS | real("request") | BODY, max_size=5).map(b"".join),
    answered=st.lists(ANSWERS | real("response") | BODY, max_size=5).map(b"".join),
    places=st.lists(st.integers(0, 2**12), max_size=6),
)
def test_witness_accounts_for_every_byte(
    asked: bytes, answered: bytes, places: list[int], chunked: Callable[[bytes, list[int]], list[bytes]]
) -> None:
    transcript = Transcript(0, 1, 1, {})
    rows = [row for chunk in chunked(asked, places) for row in transcript.sent(1, chunk)]
    rows += [row for chunk in chunked(answered, places) for row in transcript.answered(2, chunk)]
    rows += transcript.ended(3)
    assert sum(row.size_bytes for row in rows) == len(asked) + len(answered)


@given(payload=st.builds(lambda frame: frame[4:], HEADS | real("request")) | BODY)
def test_request_is_decoded_or_refused(payload: bytes) -> None:
    try:
        decode_request(payload)
    except WireError:
        pass


@given(data=st.data(), api=st.sampled_from(list(Api)), seed=st.integers(0, 2**16), edits=EDITS)
def test_response_is_decoded_or_refused(data: st.DataObject, api: Api, seed: int, edits: Edits) -> None:
    version = data.draw(st.integers(*client_versions(api)))
    frame = real_frame(Dice(seed, "shrinking"), api, version, "response").data
    try:
        decode_response(edited(frame[4:], edits), api, version)
    except WireError:
        pass


class Editing(Untrue):
    """Brokers whose first responses are edited."""

    def __init__(self, bench: Simulation, edits: list[Edits]) -> None:
        super().__init__(bench)
        self._edits = edits

    def said(self, conn: int, payload: bytes, frame: bytes, answer: Any) -> Any:
        if not self._edits:
            return answer
        return Answer(edited(frame, self._edits.pop(0)), answer.at_ns, answer.close)


@given(edits=st.lists(EDITS, max_size=8), is_idempotent=st.booleans())
def test_every_record_has_its_result_after_edited_responses(edits: list[Edits], is_idempotent: bool) -> None:
    bench = Simulation(Components(), IMPATIENT | {"enable.idempotence": is_idempotent})
    Editing(bench, edits)
    sent = bench.send()
    assert bench.run_until(lambda: sent.is_done, RESULT_LIMIT_MS)
    assert bench.close(0, 1_000)
