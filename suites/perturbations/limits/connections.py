"""The limits of the excuses for too many connections, and too many requests on one connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import Frame, ProducePart
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.attempts import REMEMBERED
from suites.analysis.promises import EVERY, EXACTLY_ONCE
from suites.checks.wire.connections_leaked import LIMIT
from suites.checks.wire.on_the_way import wall_offsets_ns
from suites.checks.wire.requests_in_flight import LIMIT as IN_FLIGHT
from suites.checks.wire.requests_in_flight import TIMEOUT
from suites.perturbations.edits import inserted_id, with_frames, with_frames_added
from suites.perturbations.exchanges import Spot, asked, request_of
from suites.perturbations.limits.scene import (
    MORE_MS,
    During,
    Stage,
    lacking,
    metadata,
    refusal,
    spots,
    timeout_ms,
)
from suites.perturbations.perturbation import channels

NOT_LEADER = 6
OPEN, REQUESTS, BATCHES = ("connections-open",), ("too-many-in-flight",), ("too-many-batches",)
CONNECTIONS = LIMIT + 6
#: For this long after a fault, the ends of connections may be hidden.
HIDDEN_MS = 1_000
#: Until the answers to requests in flight pass.
ANSWERED_MS = 20


def _opened(evidence: Evidence, spot: Spot, first_ms: int) -> list[Frame]:
    """Return a few more connections than a client may need, which all end 200 ms after the last was opened."""
    stage = Stage(evidence, spot)
    rows: list[Frame] = []
    for n in range(CONNECTIONS):
        rows += stage.connection(first_ms + 50 + n, first_ms + 50 + CONNECTIONS + 200 + n, stage.conn + n)
    return rows


def _beyond(evidence: Evidence, spot: Spot) -> Evidence:
    waited = Stage(evidence, spot).pause(500)
    return with_frames_added(waited, _opened(evidence, spot, 0))


def _after_fault(evidence: Evidence, spot: Spot) -> Evidence:
    """A fault ended more than a second before."""
    stage, first_ms = Stage(evidence, spot), HIDDEN_MS + 2 * MORE_MS
    waited = stage.faulted(
        stage.pause(first_ms + 500), [During("latency", 0, MORE_MS, (("upstream_ms", 1),))]
    )
    return with_frames_added(waited, _opened(evidence, spot, first_ms))


def _limit(evidence: Evidence) -> int | None:
    record = evidence.record
    is_known = IN_FLIGHT in record.spec.config and not {IN_FLIGHT, TIMEOUT} & record.not_set.keys()
    return int(record.spec.config[IN_FLIGHT]) if is_known else None


def _dated(evidence: Evidence, stage: Stage, part: ProducePart, at_ms: float) -> ProducePart:
    """Return the part with records that were created right before."""
    wall_ms = (stage.ns(at_ms) + wall_offsets_ns(evidence)[1]) // NS_PER_MS
    dated: ProducePart = changed(part, first_timestamp_ms=wall_ms, max_timestamp_ms=wall_ms)
    return dated


def _in_flight(evidence: Evidence, spot: Spot, count: int, every_ms: float, answered_ms: float) -> Evidence:
    """Send ``count`` requests of a batch on a separate connection.

    Each is refused ``answered_ms`` after the first one.
    """
    stage = Stage(evidence, spot)
    sent = asked(evidence, stage.batch.exchange)
    told = refusal(sent, NOT_LEADER)
    rows = [*stage.connection(-1, answered_ms + count + 50, stage.conn)]
    for n in range(count):
        at_ms = n * every_ms
        part = _dated(evidence, stage, sent, at_ms)
        rows += stage.exchange(part, told, at_ms, answered_ms + n * 0.1, stage.conn)
    return with_frames_added(stage.pause(int(answered_ms) + count + MORE_MS), rows)


def _dates(evidence: Evidence) -> list[Spot]:
    """Return the batches with timestamps of their records, if the client reports its wall clock."""
    if wall_offsets_ns(evidence)[1] == 0:
        return []
    stages = ((spot, Stage(evidence, spot)) for spot in spots(evidence))
    return [spot for spot, stage in stages if _is_dated(evidence, stage)]


def _is_dated(evidence: Evidence, stage: Stage) -> bool:
    has_acks = request_of(evidence, stage.batch).acks not in (None, 0)
    return has_acks and asked(evidence, stage.batch.exchange).max_timestamp_ms is not None


def _limited(evidence: Evidence) -> list[Spot]:
    return _dates(evidence) if (_limit(evidence) or 100) < 100 else []


def _young(evidence: Evidence, spot: Spot) -> Evidence:
    """Send one more request than allowed, spread over four fifths of the request timeout."""
    count = (_limit(evidence) or 0) + 1
    spread_ms = timeout_ms(evidence) * 4 // 5
    return _in_flight(evidence, spot, count, spread_ms / count, spread_ms)


def _before_confusion(evidence: Evidence, spot: Spot) -> Evidence:
    """Send one more request than allowed. Afterwards two answers are swapped on the connection."""
    stage, found = Stage(evidence, spot), metadata(evidence)
    assert found is not None
    count = (_limit(evidence) or 0) + 1
    full = _in_flight(evidence, spot, count, 1, ANSWERED_MS)
    at_ms, ids = ANSWERED_MS + count * 0.1 + 10, inserted_id(evidence) + 10_000
    own: dict[str, Any] = {"conn": stage.conn, "broker": request_of(evidence, stage.batch).broker}
    own |= {"received_ns": None, "fault": None, "disposition": None}
    rows = [
        changed(row, correlation_id=ids + n, t_ns=stage.ns(at_ms + later), **own)
        for row, n, later in ((found[0], 0, 0), (found[0], 1, 0.1), (found[1], 1, 0.3), (found[1], 0, 0.4))
    ]
    return with_frames_added(full, rows)


def _without_limit(evidence: Evidence, spot: Spot) -> Evidence:
    """Send one batch more than a broker remembers, from a client that could not be given the limit."""
    return lacking(_in_flight(evidence, spot, REMEMBERED + 1, 1, ANSWERED_MS), IN_FLIGHT)


def _numbered(evidence: Evidence) -> list[Spot]:
    return _dates(evidence) if TIMEOUT not in evidence.record.not_set else []


def _begins_by_asking(evidence: Evidence) -> list[int]:
    """Return the connections that begin with ApiVersions and carry other requests."""
    first: dict[int, list[str | None]] = {}
    for row in evidence.frames:
        if row.correlation_id is not None:
            first.setdefault(row.conn, []).append(row.api)
    return [conn for conn, apis in first.items() if apis[0] == "ApiVersions" and {*apis} - {"ApiVersions"}]


def _sasl_instead(evidence: Evidence, conn: int) -> Evidence:
    """Replace ApiVersions with SaslHandshake."""
    own = {"api": "SaslHandshake", "api_key": 17, "api_version": 1}
    return with_frames(
        evidence,
        [
            changed(row, **own) if row.conn == conn and row.api == "ApiVersions" else row
            for row in evidence.frames
        ],
    )


def _kind(
    name: str,
    defect: str,
    places: Callable[[Evidence], list[Spot]] | Callable[[Evidence], list[int]],
    apply: Callable[[Evidence, Spot], Evidence] | Callable[[Evidence, int], Evidence],
    caught_by: tuple[str, ...],
    also: tuple[str, ...] = ("history", "log"),
    is_forbidden: bool = False,
) -> Perturbation:
    verdict = Verdict.FAIL if is_forbidden else Verdict.DIFFERS
    promised = EXACTLY_ONCE if is_forbidden else EVERY
    return Perturbation(name, channels("frames", *also), defect, caught_by, places, apply, verdict, promised)


PERTURBATIONS = (
    _kind(
        "connections-a-few-too-many",
        "has 26 connections to a broker at the same time",
        spots,
        _beyond,
        OPEN,
    ),
    _kind(
        "connections-too-many-after-fault",
        "opens 26 connections to a broker more than a second after a fault has ended",
        spots,
        _after_fault,
        OPEN,
        ("history", "log", "faults"),
    ),
    _kind(
        "in-flight-for-most-of-the-timeout",
        "has one request too many in flight, all younger than the request timeout",
        _limited,
        _young,
        REQUESTS,
    ),
    _kind(
        "in-flight-before-answers-out-of-turn",
        "has one request too many in flight, before answers are out of order on the connection",
        lambda evidence: _limited(evidence) if metadata(evidence) else [],
        _before_confusion,
        REQUESTS,
    ),
    _kind(
        "in-flight-beyond-what-is-remembered",
        "has six batches of a partition in flight, and cannot set a lower limit",
        _numbered,
        _without_limit,
        BATCHES,
        ("history", "log", "record"),
        is_forbidden=True,
    ),
    _kind(
        "no-api-versions-after-sasl",
        "begins a connection with SaslHandshake and never asks for ApiVersions",
        _begins_by_asking,
        _sasl_instead,
        ("api-versions-skipped",),
        (),
    ),
)
