"""What else may set the position of a partition: its application, a new assignment, or what the group has stored."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from harness.model.evidence import Evidence
from suites.analysis.consuming.asked import of_group
from suites.analysis.consuming.calls import calls
from suites.analysis.consuming.declared import declared
from suites.analysis.excuses import grants
from suites.analysis.way import SLACK_NS

#: Calls of the application that set positions, some of them by the assignment that follows.
SETTING: Final = ("seek", "assign", "subscribe", "unsubscribe")


@grants("position-set-otherwise")
def may_be_set(evidence: Evidence, process: str, partition: int, begin_ns: int, end_ns: int) -> bool:
    """Return whether something else may have set a position in this period, or so shortly before that it shows now."""
    moments_ns = chain(
        chain.from_iterable(calls(evidence, process, SETTING)),
        (span.begin_ns for span in declared(evidence).get(process, {}).get(partition, ())),
        answered_ns(evidence, process, "OffsetFetch"),
    )
    return any(begin_ns - SLACK_NS <= at_ns <= end_ns for at_ns in moments_ns)


def answered_ns(evidence: Evidence, process: str, *apis: str) -> Iterator[int]:
    """Yield when answers of these APIs passed to the process."""
    for each in of_group(evidence, *apis)[process]:
        if each.answer is not None:
            yield each.answer.t_ns
