"""Bytes of a connection or of a log are decoded to rows, or refused with one error message."""

from __future__ import annotations

import msgspec
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from harness.brokers.log_reader import _decoded
from harness.limits.meter import Meter, OverLimit
from harness.model.dice import Dice
from harness.wire.errors import FrameError, TooLarge, WireError
from harness.wire.frames import SIZE_BYTES, FrameReader
from harness.wire.headers import read_request_header
from harness.wire.messages import decode_request, decode_response
from harness.wire.records import BatchBuilder, Codec, read_batches, read_headers
from harness.witness.transcript import Transcript
from testkit.hostile import hostile_records, real_frame, wounded
from tests.attacks.formats.edits import BYTE_EDITS, bytewise, fewer, many

SEEDS = st.integers(0, 2**32)
WHOLE_LIMIT_BYTES = 1 << 20


@many
@given(SEEDS, BYTE_EDITS, st.booleans())
def test_witness_accounts_for_every_byte(survives, seed, edits, is_wounded):
    """The witness never fails, whatever bytes it relays."""
    dice = Dice(seed, "frames")
    asked = real_frame(dice, kind="request")
    answered = real_frame(
        dice, asked.api_key, asked.api_version, "response", correlation_id=_correlation(asked.data)
    )
    requests, responses = (
        asked.data + bytewise(asked.data, edits),
        answered.data + bytewise(answered.data, edits),
    )
    if is_wounded:
        _, requests = wounded(dice, asked.data)
        _, responses = wounded(dice, answered.data)

    def relay() -> bytes:
        account = Transcript(1, 1, 1, {}, WHOLE_LIMIT_BYTES)
        rows = [account.opened(0)]
        for take, data in ((account.sent, requests), (account.answered, responses)):
            cut = dice.between(0, len(data))
            for piece in (data[:cut], data[cut:]):
                if piece:
                    rows += take(1, piece)
        rows += account.closed(2, "client")
        rows += account.ended(3)
        assert sum(row.size_bytes for row in rows) == len(requests) + len(responses)
        return msgspec.json.Encoder().encode_lines(rows)

    survives(relay)


def _correlation(data: bytes) -> int:
    return read_request_header(data[SIZE_BYTES:])[0].correlation_id


@many
@given(SEEDS, BYTE_EDITS)
def test_edited_frames_are_decoded_or_refused(survives, seed, edits):
    real = real_frame(Dice(seed, "messages"))
    data = real.data[:SIZE_BYTES] + bytewise(real.data[SIZE_BYTES:], edits)
    payload = data[SIZE_BYTES:]
    if real.kind == "request":
        survives(lambda: decode_request(payload), WireError)
    else:
        survives(lambda: decode_response(payload, real.api_key, real.api_version), WireError)

    def framed() -> None:
        reader = FrameReader(WHOLE_LIMIT_BYTES)
        reader.feed(bytewise(real.data, edits))
        while reader.next_frame() is not None:
            pass

    survives(framed, FrameError)


def batch(codec: Codec) -> bytes:
    builder = BatchBuilder(codec)
    for index in range(3):
        builder.append(1_700_000_000_000 + index, b"key", b"value" * index, (("name", b"header"),))
    return builder.build(7, 1, 40)


BATCHES = {codec: batch(codec) for codec in Codec}


def with_valid_checksum(data: bytes) -> bytes:
    """Return the batch with a valid length and CRC, so that a reader does not stop at these."""
    if len(data) < 61:
        return data
    changed = bytearray(data)
    changed[8:12] = (len(changed) - 12).to_bytes(4)
    changed[17:21] = crc32c(bytes(changed[21:])).to_bytes(4)
    return bytes(changed)


@many
@given(st.sampled_from(list(Codec)), BYTE_EDITS, st.booleans())
def test_edited_batches_are_decoded_or_refused(survives, codec, edits, is_summed):
    """Batches are read as by the reader of the log, which counts each against a limit before it decodes it."""
    data = bytewise(BATCHES[codec], edits)
    data = BATCHES[codec] + (with_valid_checksum(data) if is_summed else data)
    read(survives, data)


@fewer
@given(SEEDS)
def test_hostile_batches_are_decoded_or_refused(survives, seed):
    """The batches are compression bombs, or contain false sizes and counts."""
    read(survives, hostile_records(Dice(seed, "batches")))


def read(survives, data):
    meter = Meter("c", 3, 10)
    piece = survives(lambda: _decoded("t", 0, data, 0, meter), WireError, TooLarge, OverLimit)
    if piece is not None:
        msgspec.json.Encoder().encode_lines(piece.rows)
    survives(lambda: read_headers(data), WireError)
    survives(lambda: list(read_batches(data, max_decompressed_bytes=1 << 20)), WireError, TooLarge)
