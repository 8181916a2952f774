"""One direction of a TCP connection: its bytes in order, whatever became of the segments, and the frames in them. Pure.

Sequence numbers wrap, segments come twice, or one before another. What was never captured leaves a gap, behind which
nothing can be read: ``is_gapped`` says so, nothing is made up.
"""

from __future__ import annotations

from collections.abc import Iterator

_HALF, _WHOLE = 2**31, 2**32
_SIZE_BYTES = 4
#: No Kafka frame is larger, nor smaller than a correlation id.
_PAYLOAD_BYTES = range(4, 256 * 2**20)


class Flow:
    """The bytes that one side sent."""

    def __init__(self) -> None:
        self._next: int | None = None
        self._end: int | None = None
        self._ahead: dict[int, bytes] = {}

    @property
    def is_gapped(self) -> bool:
        """True if something is missing before what came last."""
        return bool(self._ahead)

    def begin(self, seq: int) -> None:
        """The first byte will be this one."""
        self._next = seq % _WHOLE

    def take(self, seq: int, payload: bytes, *, is_last: bool = False) -> tuple[bytes, bool]:
        """The bytes that are now in order, and whether the segment brought some again. A FIN counts as a byte."""
        if self._next is None:
            self.begin(seq)
        if is_last:
            self._end = (seq + len(payload)) % _WHOLE
        behind = self._behind(seq)
        # One byte, or none, just before the next asks whether the other side lives, or reads again.
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
    """Bytes in order to frames, each with its size field. What cannot be a frame ends it: ``is_lost``."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self.is_lost = False

    @property
    def rest_bytes(self) -> int:
        """How much is there of a frame that has not ended."""
        return len(self._kept)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The frames that ``data`` completes."""
        self._kept += data
        while len(self._kept) >= _SIZE_BYTES and not self.is_lost:
            size = int.from_bytes(self._kept[:_SIZE_BYTES], signed=True)
            self.is_lost = size not in _PAYLOAD_BYTES
            end = _SIZE_BYTES + size
            if self.is_lost or len(self._kept) < end:
                return
            yield bytes(self._kept[:end])
            del self._kept[:end]
