"""The sample rows of findings, and the reasons that several checks share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.model.anomaly import ReasonKind, Sample
from harness.model.evidence import Evidence, Operation
from harness.model.rows import Finding, LogRecord
from harness.plugins.check import Inconclusive, NotExercised, Unsupported

UNLIMITED = 2_147_483_647

ACKS = ReasonKind("acks-not-all", "acks={acks} promises nothing about a record that a broker acknowledged")
LIMITED = ReasonKind("retries-limited", "retries={retries} lets the client give up after that many")
CHOSEN = ReasonKind("setting-of-yours", "not exercised: {setting}={value} is your setting")
NOT_SET = ReasonKind("setting-not-offered", "the client cannot set {setting}: {told}")
UNREADABLE = ReasonKind("frames-unreadable", "{of}: {told}, but the witness could not read {count:frame}")


def require_acks_all(evidence: Evidence) -> None:
    """Raise Unsupported unless acks=all. With less, the broker itself may lose what it has acknowledged.

    Raise NotExercised if the user has chosen less.
    """
    acks = str(evidence.record.spec.config.get("acks"))
    if acks not in ("all", "-1"):
        _raise_if_chosen(evidence, "acks")
        raise Unsupported(ACKS.reason(acks=acks))


def require_unlimited_retries(evidence: Evidence) -> None:
    """Raise Unsupported if retries are limited, because the client may then give up after that many.

    Raise NotExercised if the user has limited them.
    """
    if (retries := int(evidence.record.spec.config.get("retries", UNLIMITED))) < UNLIMITED:
        _raise_if_chosen(evidence, "retries")
        raise Unsupported(LIMITED.reason(retries=retries))


def _raise_if_chosen(evidence: Evidence, setting: str) -> None:
    if (value := evidence.record.spec.chosen.get(setting)) is not None:
        raise NotExercised(CHOSEN.reason(setting=setting, value=str(value)))


def require_settable(evidence: Evidence, *settings: str) -> None:
    """Raise Unsupported if the client does not offer one of the settings."""
    for setting in settings:
        if setting in evidence.record.not_set:
            raise Unsupported(NOT_SET.reason(setting=setting, told=evidence.record.not_set[setting]))


def doubt_if_unreadable(found: Finding, hidden: int) -> None:
    """Raise Inconclusive if ``hidden`` frames that the witness could not read may explain the finding."""
    if hidden:
        raise Inconclusive(UNREADABLE.reason(of=found.anomaly, told=found.message, count=hidden))


def listed_errors(sends: Iterable[Operation]) -> tuple[str, ...]:
    """Return the sorted names of the errors of these records. The length of a client's texts is limited elsewhere."""
    return tuple(sorted({send.error or "no error" for send in sends}))


def of_send(send: Operation) -> Sample:
    """Return the sample row of a record as the client reported it."""
    return {
        "n": send.n,
        "partition": send.partition,
        "offset": send.offset,
        "outcome": send.outcome,
        "error": send.error,
        "invoke_ns": send.invoke_ns,
        "complete_ns": send.complete_ns,
    }


def of_copy(record: LogRecord, n: int | None) -> Sample:
    """Return the sample row of a record as it is in the log."""
    return {
        "n": n,
        "partition": record.partition,
        "offset": record.offset,
        "producer_id": record.producer_id,
        "producer_epoch": record.producer_epoch,
        "sequence": record.sequence,
    }


def of_copies(n: int, copies: Sequence[LogRecord]) -> Sample:
    """Return the sample row of a record that is in the log several times."""
    places = ", ".join(f"{copy.partition}/{copy.offset}" for copy in copies)
    return {"n": n, "copies": len(copies), "places": places}
