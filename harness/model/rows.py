"""The rows of evidence that the harness itself writes: frames, faults, the log, the trial's own record.

Times are ``CLOCK_MONOTONIC`` nanoseconds (``_ns``). The rows of what the client said are the events of
:mod:`harness.model.contract`. ``SCHEMA_VERSION`` is one number for all of them.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from harness.model.contract import Int64
from harness.model.spec import FaultSpec, TrialSpec

SCHEMA_VERSION = 3


class FrameKind(StrEnum):
    """What a row of the witness is about; ``OPAQUE`` are bytes that are no Kafka frame, passed on all the same."""

    OPEN = "open"
    REQUEST = "request"
    RESPONSE = "response"
    OPAQUE = "opaque"
    CLOSE = "close"


class Fate(StrEnum):
    """What became of a frame that a rule of the witness acted on; only what was ``STOPPED`` never passed whole.

    The row of a ``CHANGED`` frame is of what passed in its place; with a ``MARKED`` one something happened beside it.
    """

    STOPPED = "stopped"
    LATE = "late"
    CHANGED = "changed"
    MARKED = "marked"


class ProducePart(msgspec.Struct, frozen=True, gc=False):
    """One partition of a Produce request (what is sent) or of its response (what was answered).

    In a request ``base_offset`` and ``error_code`` are null; in a response the batch fields are. The timestamps are
    those of the batch's header: of its first record, and the largest.
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


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One frame (or one end of a connection) as it passed the witness at ``t_ns``.

    ``conn`` numbers connections from 1 in order of arrival on a lane. ``error_codes`` are the non-zero ones of a
    response. ``closed_by`` is ``client`` or ``broker`` on a close row. ``size_bytes`` includes the size field.
    ``fault`` names the rule that acted on the frame, and ``fate`` says how; null where none did. A frame without a
    rule of its own is ``STOPPED`` too if it waited behind another when the connection ended. ``came_ns`` is when the
    frame came to the witness; null where that was at ``t_ns``. ``throttle_ms``: how long a response says to hold back.
    ``acks`` and ``timeout_ms`` are those of a Produce request.
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
    fate: Fate | None = None
    came_ns: int | None = None
    throttle_ms: int = 0
    acks: int | None = None
    timeout_ms: int | None = None

    @property
    def arrived_ns(self) -> int:
        """When it came to the witness, whenever it left."""
        return self.t_ns if self.came_ns is None else self.came_ns


class FaultRow(msgspec.Struct, frozen=True):
    """A fault as it really was: when it was asked for, when it was in effect, and what it hit.

    ``effective_ns`` is null if it never took effect. ``hits`` counts frames or connections, as the kind says.
    """

    index: int
    spec: FaultSpec
    requested_ns: tuple[int, int] | None
    effective_ns: tuple[int, int] | None
    hits: int = 0


class LogRecord(msgspec.Struct, frozen=True, gc=False):
    """One record as it lies in the partition's log, read back over INTERNAL; ``value`` null for control records.

    ``headers`` counts the record's headers; null where the reader does not say.
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


class Phases(msgspec.Struct, frozen=True):
    """When each phase began and when the trial ended; null where it was never reached."""

    load_ns: Int64 | None = None
    heal_ns: Int64 | None = None
    final_ns: Int64 | None = None
    end_ns: Int64 | None = None


class Ending(StrEnum):
    """How the collecting of evidence ended: only ``COMPLETE`` evidence is judged."""

    COMPLETE = "complete"
    UNSUPPORTED = "unsupported"
    HARNESS_ERROR = "harness-error"


class CaptureRecord(msgspec.Struct, frozen=True):
    """What the capture of a trial got, or in ``lacks`` why there is none.

    ``dropped`` packets were the kernel's to drop, ``cut`` ones longer than a read, and ``unread`` connections have
    something that cannot be read, or is no Kafka: with any of these the capture proves nothing by what is not in it. By
    ``clock_moved_ns`` the wall clock moved meanwhile, beside the monotonic one.
    """

    packets: int = 0
    dropped: int = 0
    cut: int = 0
    clock_moved_ns: int = 0
    lacks: str | None = None
    #: Null in a record that is older than their rows.
    frames: int | None = None
    unread: int = 0

    @property
    def is_whole(self) -> bool:
        """True if all frames that passed on the client's side are among the rows."""
        return (
            self.lacks is None and self.frames is not None and not (self.dropped or self.cut or self.unread)
        )


class TrialRecord(msgspec.Struct, frozen=True):
    """``trial.json``: what was run, on what, and how collecting ended.

    ``code`` is the class of the error that ended it, ``reason`` its sentence; both are empty for complete evidence. So
    many numbered events of the client were ``left_out`` of its history, since the contract does not know them. In
    ``harness_stalls`` (monotonic ns) the harness itself did not keep time (:mod:`harness.system.pulse`).
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
    client: dict[str, str | int | bool | list[str] | None] = {}
    not_set: dict[str, str] = {}
    #: Null where none was asked for.
    capture: CaptureRecord | None = None
    harness_stalls: tuple[tuple[int, int], ...] = ()
    schema_version: int = SCHEMA_VERSION


#: A parameter of a finding or a reason: a number (never a cause's name), a name, or several names.
Param = int | str | tuple[str, ...]


class Reason(msgspec.Struct, frozen=True):
    """Why a verdict is what it is: a code, typed parameters, and the sentence that is made from them."""

    code: str
    params: dict[str, Param] = {}
    message: str = ""


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong, with the rows that show it (at most ``MAX_SAMPLES``; ``count`` is never trimmed).

    ``anomaly`` is its code, ``message`` the sentence made from it and ``params`` (:mod:`harness.model.anomaly`).
    ``requirement`` is the one that it violates; empty: all of those that its check judges. A finding of ``level``
    SHOULD is a difference, whatever the level of the requirement. ``explains`` are codes of findings that follow.
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

    ``not-exercised``: the situation that the behaviour is about did not arise in this trial.
    """

    id: str
    level: str
    verdict: str
    findings: tuple[Finding, ...] = ()
    checks: tuple[str, ...] = ()


class FaultVerdict(msgspec.Struct, frozen=True):
    """The accounting of one fault, as published in a verdict.

    ``hits`` are the frames or connections that it touched, ``effects`` what shows that it bit, as ``shown_by`` says.
    """

    kind: str
    requested_ns: tuple[int, int] | None
    effective_ns: tuple[int, int] | None
    hits: int
    effects: int | None = None
    shown_by: str = ""


class Availability(msgspec.Struct, frozen=True):
    """How much of its work the client got done, and how long it did not: said in every verdict.

    Of ``offered`` records so many were acknowledged, failed, or ended unknown. ``longest_gap_ms`` is the longest time
    without an acknowledgement while records waited. ``first_ack_ms`` and ``steady_ack_ms`` count from the end of the
    last fault: to the first acknowledgement, and to the first from which on there was no gap that is too long
    (:mod:`harness.judging.availability`). Null where there was none.
    """

    offered: Int64 = 0
    acked: Int64 = 0
    failed: Int64 = 0
    unknown: Int64 = 0
    longest_gap_ms: Int64 | None = None
    first_ack_ms: Int64 | None = None
    steady_ack_ms: Int64 | None = None

    @property
    def share(self) -> float:
        """Acknowledged of offered; 1.0 where nothing was offered."""
        return self.acked / self.offered if self.offered else 1.0


class TrialVerdict(msgspec.Struct, frozen=True):
    """``verdict.json``: the judgement of one trial. ``reason`` is the sentence of ``code`` and ``params``.

    ``counts`` are those of its workload; empty where nothing was counted.
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
    schema_version: int = SCHEMA_VERSION

    @classmethod
    def of(cls, spec: TrialSpec, verdict: str, reason: Reason) -> TrialVerdict:
        """The verdict of the trial that ``spec`` plans, with nothing but its reason."""
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
        )
