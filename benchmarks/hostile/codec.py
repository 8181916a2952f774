"""The codec against damaged frames: every reader may reject them with its own error, and must not raise any other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from benchmarks.hostile.steps import Result, steps
from harness.model.dice import Dice
from harness.wire.errors import WireError
from harness.wire.frames import FrameReader, frame
from harness.wire.headers import read_request_header
from harness.wire.messages import decode_request, decode_response, encode_request, encode_response
from harness.wire.records import read_batches, read_headers
from harness.witness.rewrites import CannotRewrite, error_code, rewrite
from harness.witness.splitter import FrameSplitter, NotAFrame
from harness.witness.transcript import Transcript
from testkit.hostile import MAX_DECOMPRESSED_BYTES, HostileFrame, hostile_frame, real_frame

#: The number of damaged copies per real frame, since encoding a real frame costs more than damaging it.
WOUNDS_EACH = 4
#: The functions that read a ``records`` field.
RECORD_READERS: tuple[Callable[[bytes], object], ...] = (
    read_headers,
    lambda records: list(read_batches(records, max_decompressed_bytes=MAX_DECOMPRESSED_BYTES)),
)


def run(seed: int, frames: int) -> Result:
    """Read ``frames`` hostile frames."""
    return steps("codec", step, seed, frames)


def step(dice: Dice) -> int:
    """Read several damaged copies of one real frame."""
    real = real_frame(dice)
    for _ in range(WOUNDS_EACH):
        read_in_every_way(hostile_frame(dice, real))
    return WOUNDS_EACH


def read_in_every_way(hostile: HostileFrame) -> None:
    """Read a frame with every reader. Raise the first error that a reader must not raise."""
    with suppress(NotAFrame):
        list(FrameSplitter().feed(hostile.data))
    with suppress(WireError):
        reader = FrameReader()
        reader.feed(hostile.data)
        while reader.next_frame() is not None:
            pass
    if hostile.real.kind == "request":
        _read_request(hostile)
    else:
        _read_response(hostile)


def _read_request(hostile: HostileFrame) -> None:
    list(Transcript(0, 1, 1, {}).sent(1, hostile.data))
    with suppress(WireError):
        read_request_header(hostile.payload)
    with suppress(WireError):
        header, message = decode_request(hostile.payload)
        encode_request(message, header.correlation_id, header.client_id)
        _read_records(message)


def _read_response(hostile: HostileFrame) -> None:
    payload, api_key, version = hostile.payload, hostile.real.api_key, hostile.real.api_version
    transcript = Transcript(0, 1, 1, {})
    list(transcript.sent(1, bare_request(api_key, version, payload[:4].ljust(4, b"\0"), b"\0")))
    list(transcript.answered(2, hostile.data))
    with suppress(WireError):
        correlation_id, message = decode_response(payload, api_key, version)
        encode_response(message, correlation_id)
        _read_records(message)
    with suppress(CannotRewrite):
        rewrite(payload, api_key, version, error_code(6))


def bare_request(api_key: int, version: int, correlation_id: bytes, body: bytes = b"") -> bytes:
    """Return a request without a client id. Its body may be invalid."""
    return frame(api_key.to_bytes(2), version.to_bytes(2), correlation_id, b"\xff\xff", body)


def _read_records(message: object) -> None:
    for topic in getattr(message, "topic_data", None) or getattr(message, "responses", None) or ():
        for part in getattr(topic, "partition_data", None) or getattr(topic, "partitions", None) or ():
            if records := getattr(part, "records", None):
                for read in RECORD_READERS:
                    with suppress(WireError):
                        read(records)
