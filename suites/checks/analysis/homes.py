"""To which partition a record belongs that may never have got there: as its client said, or where its key is."""

from __future__ import annotations

from harness.evidence import Evidence, Send, view
from harness.workload import key_of


def home(evidence: Evidence, send: Send) -> int | None:
    """The partition of a record; None where nothing tells."""
    if send.partition >= 0:
        return send.partition
    return _homes(evidence).get(key_of(evidence.record.spec.workload, send.n))


@view
def _homes(evidence: Evidence) -> dict[str | None, int]:
    """Key -> the partition where its records are; without a key a record may go anywhere."""
    copies = (copy for copies in evidence.copies.values() for copy in copies)
    return {copy.key: copy.partition for copy in copies if copy.key is not None}
