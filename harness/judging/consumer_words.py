"""What a request of a consumer or its response says, in a few words for the excerpt of the wire."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.consumer_rows import CoordinatorPart, FetchPart, MemberPart, OffsetPart
from harness.model.rows import Frame

#: How many partitions are named one by one.
MOST = 4


def consumer_words(frame: Frame) -> list[str]:
    """Return the parts in words. Errors are left out: the excerpt has those of the whole frame."""
    found = [_member(part) for part in frame.members]
    found += [_coordinator(part) for part in frame.coordinators]
    found += [_fetch(frame.fetch)] if frame.fetch is not None else []
    found += [_offset(part) for part in frame.offsets[:MOST]]
    if left := len(frame.offsets) - MOST:
        found += [f"{left} more"] if left > 0 else []
    return [words for words in found if words]


def _member(part: MemberPart) -> str:
    return " ".join(_of_member(part))


def _of_member(part: MemberPart) -> Iterator[str]:
    if part.member_id is not None:
        yield f"member {part.member_id}" if part.member_id else "no member id"
    if part.instance_id is not None:
        yield f"instance {part.instance_id}"
    if part.epoch is not None:
        yield f"generation {part.epoch}"
    if part.protocols:
        yield f"offers {', '.join(part.protocols)}"
    if part.protocol:
        yield f"protocol {part.protocol}"
    if part.said:
        yield f"with {', '.join(part.said)}"


def _coordinator(part: CoordinatorPart) -> str:
    return (
        f"{part.key or 'coordinator'}" if part.node is None else f"{part.key or ''} node {part.node}".strip()
    )


def _fetch(part: FetchPart) -> str:
    if not part.session_id and part.session_epoch in (None, -1):
        return ""
    epoch = "" if part.session_epoch is None else f" epoch {part.session_epoch}"
    return f"session {part.session_id}{epoch}"


def _offset(part: OffsetPart) -> str:
    if part.forgotten:
        return f"p{part.partition} forgotten"
    if part.data_bytes is not None:
        damaged = "" if part.damaged is None else f", batch at {part.damaged[0]} damaged"
        return f"p{part.partition}: {part.data_bytes} B{damaged}"
    if part.offset is not None and part.offset >= 0:
        return f"p{part.partition} at {part.offset}"
    return f"p{part.partition}"
