"""The rows of evidence that the harness itself writes: frames, faults, the log, the trial's own record.

Times are ``CLOCK_MONOTONIC`` nanoseconds (``_ns``). The rows that the client reports are the events of
:mod:`harness.model.contract`. ``SCHEMA_VERSION`` is one number for all of them.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from harness.model.consumer_rows import CoordinatorPart, FetchPart, MemberPart, OffsetPart
from harness.model.contract import Int64
from harness.model.spec import FaultSpec, TrialSpec

SCHEMA_VERSION = 4


class FrameKind(StrEnum):
    """The kind of a witness row. ``OPAQUE`` is for bytes that are not a Kafka frame; they are forwarded too."""

    OPEN = "open"
    REQUEST = "request"
    RESPONSE = "response"
    OPAQUE = "opaque"
    CLOSE = "close"


class Disposition(StrEnum):
    """What happened to a frame that a rule of the witness acted on. Only ``BLOCKED`` frames did not pass whole.

    The row of a ``CHANGED`` frame describes the frame that passed instead. For a ``ANNOTATED`` frame, the rule acted on
    something other than the frame.
    """

    BLOCKED = "blocked"
    DELAYED = "delayed"
    CHANGED = "changed"
    ANNOTATED = "annotated"


class ProducePart(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One partition of a Produce request or of its response.

    In a request ``base_offset`` and ``error_code`` are null; in a response the batch fields are null. The timestamps
    are those of the batch header: of its first record, and the largest.
    """

    topic: str
    partition: int
    producer_id: int | None = None
    producer_epoch: int | None = None
    base_sequence: int | None = None
    records: int | None = None
    crc: int | None = None
    base_offset: int | None = None
    error_code: int | None = None
    compression: str | None = None
    first_timestamp_ms: int | None = None
    max_timestamp_ms: int | None = None


class Frame(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One frame (or one end of a connection) as it passed the witness at ``t_ns``.

    ``conn`` numbers the connections of a lane from 1 in order of arrival. ``error_codes`` are the non-zero codes of a
    response. ``closed_by`` is ``client`` or ``broker`` on a close row. ``size_bytes`` includes the size field.
    ``fault`` names the rule that acted on the frame, and ``disposition`` says how; both are null if none did. A frame
    without a rule of its own is also ``BLOCKED`` if it waited for another frame when the connection ended.
    ``received_ns`` is when the frame arrived at the witness; null if that was at ``t_ns``. ``throttle_ms`` is the
    throttle time of a response. ``acks`` and ``timeout_ms`` are those of a Produce request. ``members``,
    ``coordinators``, ``fetch`` and ``offsets`` are what an API of a consumer says; ``is_cut`` if only a part
    of that is kept: 4,096 of a kind, and no assignments that cannot be read.
    """

    t_ns: int
    lane: int
    broker: int
    conn: int
    kind: FrameKind
    size_bytes: int = 0
    api_key: int | None = None
    api: str | None = None
    api_version: int | None = None
    correlation_id: int | None = None
    client_id: str | None = None
    error_codes: tuple[int, ...] = ()
    produce: tuple[ProducePart, ...] = ()
    closed_by: str | None = None
    note: str | None = None
    fault: str | None = None
    disposition: Disposition | None = None
    received_ns: int | None = None
    throttle_ms: int = 0
    acks: int | None = None
    timeout_ms: int | None = None
    members: tuple[MemberPart, ...] = ()
    coordinators: tuple[CoordinatorPart, ...] = ()
    fetch: FetchPart | None = None
    offsets: tuple[OffsetPart, ...] = ()
    is_cut: bool = False

    @property
    def arrived_ns(self) -> int:
        """When the frame arrived at the witness."""
        return self.t_ns if self.received_ns is None else self.received_ns


class FaultRow(msgspec.Struct, frozen=True):
    """A fault as it happened: when it was requested, when it was in effect, and how much it hit.

    ``effective_ns`` is null if it never took effect. It has the outer bounds: from the first call that began the fault
    to the return of the last one that ended it. ``certain_ns`` has the inner ones, and is null if the fault was at no
    time certain to be in effect. ``hits`` counts frames or connections, depending on the kind.
    """

    index: int
    spec: FaultSpec
    requested_ns: tuple[int, int] | None
    effective_ns: tuple[int, int] | None
    hits: int = 0
    certain_ns: tuple[int, int] | None = None


class LogRecord(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One record of the partition's log, read back over INTERNAL; ``value`` is null for control records.

    ``headers`` is the number of record headers; null if the reader does not report it. ``value_bytes`` is the size of
    the value in the log if ``value`` is its short form: the same identity without its body.
    """

    topic: str
    partition: int
    offset: int
    base_offset: int
    timestamp_ms: int
    producer_id: int
    producer_epoch: int
    sequence: int
    control: bool
    crc_ok: bool
    key: str | None
    value: str | None
    batch_crc: int | None = None
    compression: str | None = None
    headers: int | None = None
    value_bytes: int | None = None


class Phases(msgspec.Struct, frozen=True):
    """When each phase began and when the trial ended; null for a phase that was not reached."""

    load_ns: Int64 | None = None
    heal_ns: Int64 | None = None
    final_ns: Int64 | None = None
    end_ns: Int64 | None = None


class Ending(StrEnum):
    """How the collection of evidence ended. Only ``COMPLETE`` evidence is judged."""

    COMPLETE = "complete"
    UNSUPPORTED = "unsupported"
    HARNESS_ERROR = "harness-error"


class CaptureRecord(msgspec.Struct, frozen=True):
    """The result of a trial's packet capture, or in ``unavailable_reason`` why there is none.

    ``dropped`` counts packets that the kernel dropped, ``cut`` packets longer than a read, and ``unread`` connections
    with bytes that cannot be read or are not Kafka. With any of these, the absence of something from the capture proves
    nothing. ``clock_moved_ns`` is how far the wall clock moved against the monotonic clock during the capture.
    """

    packets: int = 0
    dropped: int = 0
    cut: int = 0
    clock_moved_ns: int = 0
    unavailable_reason: str | None = None
    #: Null in a record written before frame rows existed.
    frames: int | None = None
    unread: int = 0

    @property
    def is_whole(self) -> bool:
        """True if the rows hold all frames that passed on the client's side."""
        return (
            self.unavailable_reason is None
            and self.frames is not None
            and not (self.dropped or self.cut or self.unread)
        )


class TrialRecord(msgspec.Struct, frozen=True):
    """``trial.json``: what was run, on what, and how collection ended.

    ``code`` is the code of the error that ended it, and ``reason`` its sentence; both are empty for complete evidence.
    ``left_out`` counts the client's numbered events that are missing from its history, since the contract does not
    define them. ``harness_stalls`` are intervals (monotonic ns) in which the harness itself was delayed
    (:mod:`harness.system.pulse`).
    """

    spec: TrialSpec
    run_id: str
    topic: str
    lane: int
    phases: Phases
    ending: Ending
    reason: str = ""
    code: str = ""
    left_out: int = 0
    #: The same for each producer, if there are several.
    left_outs: dict[str, int] = {}
    client: dict[str, str | int | bool | list[str] | None] = {}
    not_set: dict[str, str] = {}
    #: Null if no capture was requested.
    capture: CaptureRecord | None = None
    harness_stalls: tuple[tuple[int, int], ...] = ()
    schema_version: int = SCHEMA_VERSION


#: A parameter of a finding or a reason: a number (which never names a cause), a name, or several names.
Param = int | str | tuple[str, ...]


class Reason(msgspec.Struct, frozen=True):
    """Why a verdict was given: a code, typed parameters, and the sentence made from them."""

    code: str
    params: dict[str, Param] = {}
    message: str = ""


class Finding(msgspec.Struct, frozen=True):
    """One defect that a check found, with sample rows that show it.

    There are at most ``MAX_SAMPLES`` samples; ``count`` is never trimmed. ``anomaly`` is the finding's code, and
    ``message`` the sentence made from it and ``params`` (:mod:`harness.model.anomaly`). ``requirement`` is the
    requirement that it violates; empty means all those that its check judges. A finding of ``level`` SHOULD is a
    difference, whatever the level of the requirement. ``explains`` are the codes of findings that follow from it.
    """

    anomaly: str
    message: str
    count: int = 1
    samples: tuple[dict[str, str | int | None], ...] = ()
    requirement: str = ""
    params: dict[str, Param] = {}
    level: str = "MUST"
    explains: tuple[str, ...] = ()


MAX_SAMPLES = 16


class RequirementVerdict(msgspec.Struct, frozen=True):
    """The judgement of one behaviour id in one trial, by these ``checks``.

    ``not-exercised`` means that the situation that the behaviour describes did not arise in this trial.
    """

    id: str
    level: str
    verdict: str
    findings: tuple[Finding, ...] = ()
    checks: tuple[str, ...] = ()


class FaultVerdict(msgspec.Struct, frozen=True):
    """The accounting of one fault, as published in a verdict.

    ``hits`` counts the frames or connections that it affected, ``effects`` the observations that show that it took
    effect; ``shown_by`` says what was counted.
    """

    kind: str
    requested_ns: tuple[int, int] | None
    effective_ns: tuple[int, int] | None
    hits: int
    effects: int | None = None
    shown_by: str = ""


class Availability(msgspec.Struct, frozen=True):
    """How much of its work the client completed, and its longest gaps. Part of every verdict.

    ``offered`` elements of the load, such as records, were passed to the client; ``acked``, ``failed`` and ``unknown``
    count their outcomes. An element with the outcome ok is *acknowledged*, whatever its workload calls that.
    ``longest_gap_ms`` is the longest time without an acknowledgement while elements waited. ``first_ack_ms`` and
    ``steady_ack_ms`` count from the end of the last fault: to the first acknowledgement, and to the first
    acknowledgement after which no gap was too long (:mod:`harness.judging.availability`). They are null if there was
    none. ``recovered`` is whether there was a steady one; null if no fault took effect, or if no element waited after
    the last fault.

    Of the elements with a result, 50 % and 99 % had it at most ``p50_ns`` and ``p99_ns`` after their call. ``requests``
    and ``request_bytes`` are those of the API that carries the load, as they passed the witness. These are null in a
    verdict of an earlier version.
    """

    offered: Int64 = 0
    acked: Int64 = 0
    failed: Int64 = 0
    unknown: Int64 = 0
    longest_gap_ms: Int64 | None = None
    first_ack_ms: Int64 | None = None
    steady_ack_ms: Int64 | None = None
    recovered: bool | None = None
    p50_ns: Int64 | None = None
    p99_ns: Int64 | None = None
    requests: Int64 | None = None
    request_bytes: Int64 | None = None

    @property
    def share(self) -> float:
        """The share of offered elements that were acknowledged; 1.0 if nothing was offered."""
        return self.acked / self.offered if self.offered else 1.0


class TrialVerdict(msgspec.Struct, frozen=True):
    """``verdict.json``: the judgement of one trial. ``reason`` is the sentence of ``code`` and ``params``.

    ``counts`` are those of its workload; empty if nothing was counted. ``not_set`` are the settings that the user chose
    and the client could not apply, with the reasons. ``is_command`` is whether the client is a command of the user, and
    ``client_env`` names the environment variables that it got besides the usual ones: a replay needs both as options.
    ``companions`` are the other clients of its group, which are not judged.
    """

    trial: str
    client: str
    broker: str
    scenario: str
    guarantee: str
    seed: int
    verdict: str
    reason: str
    requirements: tuple[RequirementVerdict, ...] = ()
    faults: tuple[FaultVerdict, ...] = ()
    counts: dict[str, Int64] = {}
    variant: str = ""
    attempt: int = 1
    code: str = ""
    params: dict[str, Param] = {}
    availability: Availability = Availability()
    not_set: dict[str, str] = {}
    is_command: bool = False
    client_env: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    schema_version: int = SCHEMA_VERSION

    @classmethod
    def of(cls, spec: TrialSpec, verdict: str, reason: Reason) -> TrialVerdict:
        """Return the verdict of the trial that ``spec`` plans, with only a reason."""
        return cls(
            trial=spec.trial,
            client=str(spec.client),
            broker=spec.broker,
            scenario=spec.scenario,
            guarantee=spec.guarantee,
            seed=spec.seed,
            verdict=verdict,
            reason=reason.message,
            variant=spec.variant,
            attempt=spec.attempt,
            code=reason.code,
            params=reason.params,
            companions=tuple(map(str, spec.companions)),
            is_command=bool(spec.client.command),
            client_env=spec.client.env,
        )
