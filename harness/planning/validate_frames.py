"""Check the frames that a schedule names: APIs of the workload's clients, their versions, partitions of the trial."""

from __future__ import annotations

from collections.abc import Iterable

from kio.schema.errors import ErrorCode

from harness.model.errors import UsageError, unknown
from harness.model.spec import FaultSpec, FrameMatch, OnFrame, TrialSpec
from harness.plugins.registry import workload
from harness.wire.apis import Api, api_name
from harness.wire.messages import client_versions

APIS = {api_name(api): api for api in Api}
DIRECTIONS = ("request", "response")
CODES = frozenset(map(int, ErrorCode))


def check_frames(meant: OnFrame | FrameMatch, spec: FaultSpec, trial: TrialSpec) -> None:
    """Raise UsageError for frames that no client under test and no broker ever sends."""
    if meant.api not in APIS:
        raise unknown(f"API, for fault {spec.kind!r}", meant.api, _asked(trial))
    _check_asked(meant.api, meant.api, spec, trial)
    one_of(DIRECTIONS, meant.direction, f"direction, for fault {spec.kind!r}")
    last = trial.workload.partitions - 1
    if meant.partition is None:
        return
    if not 0 <= meant.partition <= last:
        raise UsageError(
            "frames-partition-range",
            "fault {fault!r} names partition {partition}, but those of the trial are 0 to {last}",
            fault=spec.kind,
            partition=meant.partition,
            last=last,
        )
    if meant.api != api_name(Api.PRODUCE):
        raise UsageError(
            "frames-partition-of-api",
            "fault {fault!r} names a partition of {api}; only Produce frames can be selected by partition",
            fault=spec.kind,
            api=meant.api,
        )


def check_match(match: FrameMatch, spec: FaultSpec, trial: TrialSpec) -> None:
    """As :func:`check_frames`, and check the other conditions of a match."""
    check_frames(match, spec, trial)
    if match.error_code is not None and match.direction != "response":
        raise UsageError(
            "frames-error-code-of-request",
            "fault {fault!r} names an error code of a request; only a response has one",
            fault=spec.kind,
        )
    if match.error_code is not None and match.error_code not in CODES:
        raise UsageError(
            "frames-error-code-range",
            "fault {fault!r} names the error code {error_code}; error codes are {lowest} to {highest}",
            fault=spec.kind,
            error_code=match.error_code,
            lowest=min(CODES),
            highest=max(CODES),
        )
    low, high = client_versions(APIS[match.api])
    if match.version is not None and not low <= match.version <= high:
        raise UsageError(
            "frames-version-range",
            "fault {fault!r} names version {version} of {api}, which has {low} to {high}",
            fault=spec.kind,
            version=match.version,
            api=match.api,
            low=low,
            high=high,
        )
    if match.connection is not None and match.connection < 1:
        raise UsageError(
            "frames-connection-range",
            "fault {fault!r} names connection {connection}, but connections are numbered from 1",
            fault=spec.kind,
            connection=match.connection,
        )


def check_key(spec: FaultSpec, trial: TrialSpec) -> None:
    """As :func:`check_frames`, for a kind whose parameter ``api`` is the key of an API."""
    if (key := spec.params.get("api")) is not None:
        name = next((name for name, api in APIS.items() if api == key), None)
        _check_asked(str(key), name, spec, trial)


def _asked(trial: TrialSpec) -> tuple[str, ...]:
    kind = workload(trial.workload.kind)
    return (kind.api, *kind.apis)


def _check_asked(told: str, name: str | None, spec: FaultSpec, trial: TrialSpec) -> None:
    if name not in (asked := _asked(trial)):
        raise UsageError(
            "frames-api-never-sent",
            "fault {fault!r} names the API {api}, which a workload {workload} never requests; it requests {asked}",
            fault=spec.kind,
            api=told,
            workload=trial.workload.kind,
            asked=tuple(f"{each} ({APIS[each].value})" for each in asked),
        )


def one_of(known: Iterable[str], name: str, what: str) -> None:
    """Raise UsageError for an unknown name."""
    if name not in (names := list(known)):
        raise unknown(what, name, names)
