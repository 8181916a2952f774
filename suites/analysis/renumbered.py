"""Records that one producer session stored twice under different sequences, because a retry got new sequences."""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.evidence import Evidence, view
from harness.model.rows import LogRecord
from harness.workloads.produce import accounting


@view
def renumbered(evidence: Evidence) -> Mapping[int, list[LogRecord]]:
    """Map a record number to its copies, if copies of one producer id, epoch and partition have different sequences."""
    found: dict[int, list[LogRecord]] = {}
    for n, copies in accounting.duplicates(evidence).items():
        sessions: dict[tuple[int, int, int], set[int]] = {}
        for copy in copies:
            if copy.producer_id >= 0:
                session = (copy.partition, copy.producer_id, copy.producer_epoch)
                sessions.setdefault(session, set()).add(copy.sequence)
        if any(len(sequences) > 1 for sequences in sessions.values()):
            found[n] = copies
    return found
