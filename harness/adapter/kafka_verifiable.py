"""Translate the results of Apache Kafka's verifiable producers, one event per record, into ``op_complete``.

Upstream's events have no number and no monotonic time. The record counts as invoked with its ``op_invoke``, and as
complete when the line was read. Upstream does not say whether a failed record may have been written, so the outcome is
``info``.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from harness.limits.parsed import UNREADABLE, cut, why
from harness.model.contract import Int64, OpComplete
from harness.model.payload import decode
from harness.model.verdicts import Outcome
from harness.text.sentences import Coded


class SendSuccess(msgspec.Struct, tag="producer_send_success", tag_field="name"):
    """The record was acknowledged at ``offset`` (-1: not known)."""

    value: str
    partition: Int64
    offset: Int64


class SendError(msgspec.Struct, tag="producer_send_error", tag_field="name"):
    """The record failed with ``exception`` (a class) or ``message``."""

    value: str
    exception: str | None = None
    message: str | None = None


NAMES = frozenset({"producer_send_success", "producer_send_error"})
_result = msgspec.json.Decoder(SendSuccess | SendError)


class NotUpstream(Coded):
    """A line of upstream's contract cannot be translated."""


def translated(line: bytes, seq: int, now_ns: int, invoked: Mapping[int, tuple[int, int]]) -> OpComplete:
    """Return the event in ``line``, numbered ``seq``. ``invoked``: record -> its command and its invocation time.

    Raises NotUpstream if the line does not match upstream's contract, or if its record was not
    invoked.
    """
    try:
        result = _result.decode(line)
    except UNREADABLE as misfit:
        raise NotUpstream(
            "upstream-misfit", "it does not fit upstream's contract: {why}", why=why(misfit, line)
        ) from None
    identity = decode(result.value)
    if identity is None or identity.n not in invoked:
        raise NotUpstream(
            "upstream-value-unknown",
            "value {value!r} of a result is not of a record that was invoked",
            value=result.value[:80],
        )
    id, invoke_ns = invoked[identity.n]
    if isinstance(result, SendSuccess):
        outcome, error, partition, offset = Outcome.OK, None, result.partition, result.offset
    else:
        error = cut(result.exception or result.message or "") or None
        outcome, partition, offset = Outcome.INFO, -1, -1
    return OpComplete(
        seq=seq,
        mono_ns=now_ns,
        wall_ns=0,
        op="send",
        id=id,
        outcome=[outcome],
        error=[error],
        invoke_ns=[invoke_ns],
        complete_ns=[now_ns],
        records=[identity.n],
        partition=[partition],
        offset=[offset],
    )
