"""One direction of a TCP connection: reassemble its bytes in order, and split them into frames. Pure.

Sequence numbers wrap, and segments may be repeated or reordered. Bytes that were not captured leave a gap, and nothing
after it can be read. ``is_gapped`` reports this; no data is made up.
"""

from __future__ import annotations

from collections.abc import Iterator

_HALF, _WHOLE = 2**31, 2**32
_SIZE_BYTES = 4
#: The valid sizes of a Kafka payload: at least a correlation id.
_PAYLOAD_BYTES = range(4, 256 * 2**20)


class Flow:
    """The bytes that one side sent."""

    def __init__(self) -> None:
        self._next: int | None = None
        self._end: int | None = None
        self._ahead: dict[int, bytes] = {}

    @property
    def is_gapped(self) -> bool:
        """True if bytes are missing before the latest segment."""
        return bool(self._ahead)

    def begin(self, seq: int) -> None:
        """Set the sequence number of the first byte."""
        self._next = seq % _WHOLE

    def take(self, seq: int, payload: bytes, *, is_last: bool = False) -> tuple[bytes, bool]:
        """Return the bytes that are now in order, and whether the segment repeated some. A FIN counts as a byte."""
        if self._next is None:
            self.begin(seq)
        if is_last:
            self._end = (seq + len(payload)) % _WHOLE
        behind = self._behind(seq)
        # A segment of at most one byte just before the next byte is a keep-alive or window probe.
        is_repeated = behind > 0 and len(payload) > 1
        if behind < 0:
            self._ahead[seq] = max(payload, self._ahead.get(seq, b""), key=len)
            return b"", is_repeated
        data = self._advance(payload[behind:])
        while (seq := next((seq for seq in self._ahead if self._behind(seq) >= 0), -1)) >= 0:
            data += self._advance(self._ahead.pop(seq)[self._behind(seq) :])
        return data, is_repeated

    def _behind(self, seq: int) -> int:
        assert self._next is not None
        return (self._next - seq + _HALF) % _WHOLE - _HALF

    def _advance(self, data: bytes) -> bytes:
        assert self._next is not None
        self._next = (self._next + len(data)) % _WHOLE
        if self._next == self._end:
            self._next, self._end = (self._next + 1) % _WHOLE, None
        return data


class Cutter:
    """Splits ordered bytes into frames with their size fields. ``is_lost`` is set at an impossible size."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self.is_lost = False

    @property
    def rest_bytes(self) -> int:
        """The number of bytes of an incomplete frame."""
        return len(self._kept)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the frames that ``data`` completes."""
        self._kept += data
        while len(self._kept) >= _SIZE_BYTES and not self.is_lost:
            size = int.from_bytes(self._kept[:_SIZE_BYTES], signed=True)
            self.is_lost = size not in _PAYLOAD_BYTES
            end = _SIZE_BYTES + size
            if self.is_lost or len(self._kept) < end:
                return
            yield bytes(self._kept[:end])
            del self._kept[:end]
