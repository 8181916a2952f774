"""Which processes of a group are of the client under test, and what only the whole group can answer for. Pure.

A group may have companions: members of other clients, which are not judged. A check accuses the client under test of
what its own processes did. What the group as a whole did, or what its leader decided, may be a companion's doing: then
nothing can be said.
"""

from __future__ import annotations

from typing import Final

from harness.model.anomaly import ReasonKind
from harness.model.evidence import Evidence, view
from harness.model.harness_events import MemberStarted
from harness.model.rows import Finding
from harness.plugins.check import Inconclusive

SHARED: Final = ReasonKind(
    "group-shared", "{of}: {told}; the group had members of {companions} too, which may be the cause"
)


@view
def companions(evidence: Evidence) -> dict[str, str]:
    """Return process -> its client, such as "java@4.3.1", of the processes that are not of the client under test."""
    return {
        event.member: event.companion
        for event in evidence.history
        if isinstance(event, MemberStarted) and event.companion
    }


def is_tried(evidence: Evidence, process: str) -> bool:
    """Return whether a process is of the client under test."""
    return process not in companions(evidence)


def doubt_if_shared(evidence: Evidence, found: Finding) -> None:
    """Raise Inconclusive if a companion may be the cause of what was found about the group.

    The reason names the processes of the first sample with their clients.
    """
    others = companions(evidence)
    if not others:
        return
    first = found.samples[0] if found.samples else {}
    named = tuple(
        f"{process} ({others.get(str(process), evidence.record.spec.client)})"
        for key in ("member", "other")
        if (process := first.get(key)) is not None
    )
    told = f"{found.message}{': ' if named else ''}{' and '.join(named)}"
    raise Inconclusive(
        SHARED.reason(of=found.anomaly, told=told, companions=tuple(sorted(set(others.values()))))
    )
