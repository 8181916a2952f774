"""Record batches of format 2 (KIP-98): the payload of Produce and Fetch, and the format of the log.

::

    base offset i64 | length i32 | leader epoch i32 | magic i8 = 2 | CRC-32C u32 |
    attributes i16 | last offset delta i32 | base timestamp i64 | max timestamp i64 |
    producer id i64 | producer epoch i16 | base sequence i32 | record count i32 | records, compressed as one

The CRC covers the fields after it. A broker can therefore assign offsets and its leader epoch without changing the CRC,
and a client can restamp the producer id, epoch and sequence of a finished batch at the cost of one checksum. Offsets
and timestamps inside the records are relative to the header and encoded as zigzag varints, so the records are encoded
only once as well.
"""

from harness.wire.records.builder import BatchBuilder, assign_offset, end_transaction_marker, restamp
from harness.wire.records.codecs import Codec
from harness.wire.records.decoding import record_loop
from harness.wire.records.encoding import record_size_bytes
from harness.wire.records.model import (
    BATCH_OVERHEAD_BYTES,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    BatchHeader,
    Record,
    RecordBatch,
    control_type,
    increment_sequence,
)
from harness.wire.records.reader import (
    MAX_DECOMPRESSED_BYTES,
    UnreadBatch,
    read_batches,
    read_headers,
    unread_batches,
)

__all__ = [
    "BATCH_OVERHEAD_BYTES",
    "MAX_DECOMPRESSED_BYTES",
    "NO_PRODUCER_EPOCH",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "BatchBuilder",
    "BatchHeader",
    "Codec",
    "Record",
    "RecordBatch",
    "UnreadBatch",
    "assign_offset",
    "control_type",
    "end_transaction_marker",
    "increment_sequence",
    "read_batches",
    "read_headers",
    "record_loop",
    "record_size_bytes",
    "restamp",
    "unread_batches",
]
