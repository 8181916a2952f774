"""The OffsetCommit requests of the client under test, as the witness saw them. Pure views.

A commit of the client's own (``enable.auto.commit``) may come without an event, so that only its request shows it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final, NamedTuple

from harness.model.consumer_contract import OffsetsCommitted
from harness.model.contract import OpComplete
from harness.model.evidence import Evidence, view
from harness.wire.error_table import BY_NAME
from suites.analysis.consuming.asked import Asked, of_group
from suites.analysis.consuming.tried import is_tried

COMMIT: Final = "OffsetCommit"
AUTO: Final = "enable.auto.commit"
#: Errors of a coordinator that loads, is away or is another broker. The same commit may succeed a moment later.
ELSEWHERE: Final = tuple(
    BY_NAME[name].code
    for name in ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
)

#: What a coordinator answers that has removed the member.
REMOVED: Final = tuple(
    BY_NAME[name].code
    for name in (
        "ILLEGAL_GENERATION",
        "UNKNOWN_MEMBER_ID",
        "FENCED_INSTANCE_ID",
        "FENCED_MEMBER_EPOCH",
        "UNRELEASED_INSTANCE_ID",
        "STALE_MEMBER_EPOCH",
    )
)


class Sent(NamedTuple):
    """One OffsetCommit request of a process. ``offsets`` are those of the trial's topic, by partition."""

    asked: Asked
    offsets: dict[int, int]

    @property
    def arrived_ns(self) -> int:
        """When the request arrived at the witness."""
        return self.asked.request.arrived_ns


def is_automatic(evidence: Evidence) -> bool:
    """Return whether the members leave commits to their client, as far as their settings are known."""
    return AUTO not in evidence.record.not_set and all(
        config.get(AUTO) is True for config in evidence.record.spec.configs
    )


@view
def sent(evidence: Evidence) -> dict[str, list[Sent]]:
    """Return process -> its commits, in the order of their arrival. Processes of companions are left out."""
    topic = evidence.record.topic
    return {
        process: [
            Sent(
                each,
                {
                    at.partition: at.offset
                    for at in each.request.offsets
                    if at.topic == topic and at.offset is not None
                },
            )
            for each in requests
        ]
        for process, requests in of_group(evidence, COMMIT).items()
        if is_tried(evidence, process)
    }


def during(evidence: Evidence, event: OffsetsCommitted) -> list[Sent]:
    """Return the requests of a commit: those with its offsets that arrived while it lasted."""
    offsets = {at.partition: at.offset for at in event.offsets if at.topic == evidence.record.topic}
    requests = sent(evidence).get(str(event.producer), [])
    first = bisect_left(requests, event.invoke_ns, key=_arrived_ns)
    last = bisect_right(requests, event.complete_ns, key=_arrived_ns)
    return [each for each in requests[first:last] if each.offsets == offsets]


def _arrived_ns(each: Sent) -> int:
    return each.arrived_ns


def automatic(evidence: Evidence) -> list[Sent]:
    """Return the commits that clients made by themselves."""
    return [each for made in sent(evidence).values() for each in made] if is_automatic(evidence) else []


@view
def alone(evidence: Evidence) -> frozenset[str]:
    """Return the processes that have assigned themselves partitions, and have never subscribed."""
    called: dict[str, set[str]] = {"assign": set(), "subscribe": set()}
    for event in evidence.history:
        if isinstance(event, OpComplete) and event.op in called:
            called[event.op].add(str(event.producer))
    return frozenset(called["assign"] - called["subscribe"])
