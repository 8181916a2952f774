"""When a fault made a member's position invalid, so that it began at another one.

Out of range, it begins where auto.offset.reset says. Beyond a log that has lost its end, it may also go back to where
the logs part (KIP-320).
"""

from __future__ import annotations

from typing import Final

from harness.judging.availability import Span
from harness.model.evidence import Evidence, view
from harness.model.rows import FaultRow
from harness.model.units import NS_PER_MS
from harness.wire.apis import Api, api_name
from harness.wire.error_table import BY_NAME
from harness.workloads.consume import accounting
from harness.workloads.consume.accounting import Delivery
from suites.analysis.consuming.ownership import ownerships
from suites.analysis.consuming.promised import is_earliest
from suites.analysis.consuming.timing import idle_bound_ms
from suites.analysis.excuses import grants

#: Faults that take records away from the begin or the end of logs.
OF_LOGS: Final = ("log_trim", "unclean_election")
OUT_OF_RANGE: Final = BY_NAME["OFFSET_OUT_OF_RANGE"].code


@view
def _windows(evidence: Evidence) -> list[Span]:
    """Return when members may begin again: from a fault's begin until they must have used its answers."""
    bound_ns = idle_bound_ms(evidence) * NS_PER_MS
    return [
        Span(row.effective_ns[0], row.effective_ns[1] + bound_ns)
        for row in evidence.faults
        if row.effective_ns is not None and (row.spec.kind in OF_LOGS or _is_out_of_range(row))
    ]


def may_reset(evidence: Evidence, at_ns: int) -> bool:
    """Return whether a member may have begun again shortly before."""
    return any(span.begin_ns <= at_ns <= span.end_ns for span in _windows(evidence))


@grants("position-out-of-range")
def may_begin_again(evidence: Evidence, got: Delivery) -> bool:
    """Return whether a member may have begun again with a record.

    Then it is the first that the log has, or not behind the first one that was lost at its end.
    """
    first = max(_starts(evidence).get(got.partition, 0), parted(evidence).get(got.partition, -1))
    return got.offset <= first and may_reset(evidence, got.polled_ns)


@grants("position-out-of-range")
def may_pass_over(evidence: Evidence, got: Delivery) -> bool:
    """Return whether a member may have passed over what lies before a record, to the log's end at that time."""
    return not is_earliest(evidence) and may_reset(evidence, got.polled_ns)


@view
def _starts(evidence: Evidence) -> dict[int, int]:
    starts: dict[int, int] = {}
    for partition, offset in accounting.items(evidence):
        starts[partition] = min(starts.get(partition, offset), offset)
    return starts


@grants("stored-offset-outlived-its-log")
def began_behind(evidence: Evidence, place: tuple[int, int]) -> bool:
    """Return whether a new owner may have begun behind a record, at an offset that was stored for a lost one."""
    partition, offset = place
    lost = _lost(evidence).get(partition, range(0))
    return offset in lost and any(
        each.is_declared
        and each.partition == partition
        and may_reset(evidence, each.begin_ns)
        and any(run[0].offset in range(offset + 1, lost.stop + 1) for run in each.runs[:1] if run)
        for each in ownerships(evidence)
    )


@view
def _lost(evidence: Evidence) -> dict[int, range]:
    """Return partition -> the offsets from the first to the last record that was lost at the log's end."""
    stored = accounting.contents(evidence)
    lost: dict[int, range] = {}
    for (partition, offset), values in accounting.written_aside(evidence).items():
        if stored.get((partition, offset)) not in values:
            known = lost.get(partition, range(offset, offset))
            lost[partition] = range(min(known.start, offset), max(known.stop, offset + 1))
    return lost


def parted(evidence: Evidence) -> dict[int, int]:
    """Return partition -> the offset of the first record that was lost at the log's end."""
    return {partition: offsets.start for partition, offsets in _lost(evidence).items()}


def _is_out_of_range(row: FaultRow) -> bool:
    spec = row.spec
    api = spec.frames.api if spec.frames is not None else api_name(spec.params.get("api", Api.PRODUCE))
    return api == api_name(Api.FETCH) and spec.params.get("code") == OUT_OF_RANGE
