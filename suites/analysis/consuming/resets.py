"""When a fault made a member's position out of range, so that it began at another one, as auto.offset.reset says."""

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
from suites.analysis.consuming.promised import is_earliest
from suites.analysis.consuming.timing import idle_bound_ms
from suites.analysis.excuses import grants

OUT_OF_RANGE: Final = BY_NAME["OFFSET_OUT_OF_RANGE"].code


@view
def _windows(evidence: Evidence) -> list[Span]:
    """Return when members may begin again: from a fault's begin until they must have used its answers."""
    bound_ns = idle_bound_ms(evidence) * NS_PER_MS
    return [
        Span(row.effective_ns[0], row.effective_ns[1] + bound_ns)
        for row in evidence.faults
        if row.effective_ns is not None and (row.spec.kind == "log_trim" or _is_out_of_range(row))
    ]


def may_reset(evidence: Evidence, at_ns: int) -> bool:
    """Return whether a member may have begun again shortly before."""
    return any(span.begin_ns <= at_ns <= span.end_ns for span in _windows(evidence))


@grants("position-out-of-range")
def may_begin_again(evidence: Evidence, got: Delivery) -> bool:
    """Return whether a member may have begun again with a record: then it is the first that the log has."""
    is_first = got.offset <= _starts(evidence).get(got.partition, 0)
    return is_first and may_reset(evidence, got.polled_ns)


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


def _is_out_of_range(row: FaultRow) -> bool:
    spec = row.spec
    api = spec.frames.api if spec.frames is not None else api_name(spec.params.get("api", Api.PRODUCE))
    return api == api_name(Api.FETCH) and spec.params.get("code") == OUT_OF_RANGE
