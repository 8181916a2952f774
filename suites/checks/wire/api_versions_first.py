"""# api-versions-first

## What it does

Checks that the first request of each connection asks for the broker's API versions.

## Why it is bad

During a rolling upgrade, the same address may support different versions from one connection to the next. A
client that reuses the versions from an earlier connection sends requests that the broker does not know, and
is disconnected.

## How it is judged per guarantee

- **all**: SHOULD. The protocol lets a client send any request first; the Java client asks on each connection.

## What it needs

The witness's frames. SaslHandshake and SaslAuthenticate may precede the request. Connections without a
request are not judged.

## References

NET-CON-01 (KIP-35). kafkajs and platformatic-kafka ask once and remember the answer.
"""

from __future__ import annotations

from harness.model.anomaly import Anomaly
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding, Frame, FrameKind
from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Check, Requirement
from suites.analysis.excuses import grants

SKIPPED = Anomaly(
    "api-versions-skipped", "{count} of {connections:connection} began with {apis}", Level.SHOULD
)
FIRST = "ApiVersions"
SASL = frozenset({"SaslHandshake", "SaslAuthenticate"})


@view
@grants("sasl-first")
def first_requests(evidence: Evidence) -> list[Frame]:
    """Return the first request of each connection that has one, not counting SASL."""
    first: dict[int, Frame] = {}
    for frame in sorted((*evidence.frames, *evidence.blocked_frames), key=lambda frame: frame.arrived_ns):
        if frame.kind is FrameKind.REQUEST and frame.api not in SASL:
            first.setdefault(frame.conn, frame)
    return list(first.values())


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts connections."""
    first = first_requests(evidence)
    skipped = [frame for frame in first if frame.api != FIRST]
    if not skipped:
        return []
    samples = (
        {
            "conn": frame.conn,
            "api": frame.api,
            "correlation_id": frame.correlation_id,
            "at_ns": frame.arrived_ns,
        }
        for frame in skipped
    )
    apis = tuple(sorted({frame.api or "an unknown API" for frame in skipped}))
    return [SKIPPED.found(len(skipped), samples, connections=len(first), apis=apis)]


CHECK = Check(
    name="api-versions-first",
    summary="Connections that begin with a request other than ApiVersions.",
    requirements=(
        Requirement("NET-CON-01", Level.SHOULD, arises=lambda evidence: len(first_requests(evidence))),
    ),
    guarantees=frozenset(Guarantee),
    requires=frozenset({"frames"}),
    killed_mutant="remembers_api_versions",
    run=run,
)
