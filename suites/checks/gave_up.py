"""# gave-up

## What it does

Looks for records that the client reported as failed, or as unknown, while their delivery timeout had not passed and
it had been told to retry without limit.

## Why it is bad

A lost connection is what retries are for. A client that gives up at once hands the problem to the application, which
cannot know whether the record was written: sending it again may duplicate it, leaving it may lose it. A producer
that declares itself dead over a lost answer stops a service that a second's patience would have kept.

## How it is judged per guarantee

- **at-least-once, idempotent, transactional**: forbidden in scenarios whose faults are the network's alone and are
  over long before the delivery timeout.
- **at-most-once**: not judged; there retries are off.

## What it needs

The history. A client that cannot set the number of retries or the delivery timeout does not claim it: unsupported.
Where its process stood still, an early failure may stem from that, and is inconclusive. Failures that come after
the harness has begun to close the client are not counted.

## References

PRD-SND-06 (a lost connection is retried like a retriable error), KIP-91. librdkafka 2.2.0 to 2.4.0 give up so now and
then: "Unable to reconstruct MessageSet", issue 4736, mended in 2.5.0.
"""

from __future__ import annotations

from harness.check import Check, Requirement, Unsupported
from harness.evidence import Evidence, Send
from harness.outcome import Level, Outcome
from harness.rows import Finding
from suites.checks.disturbance import NS_PER_MS, doubt_if_starved
from suites.checks.findings import finding, of_send, some
from suites.checks.promises import DURABLE

TIMEOUT = "delivery.timeout.ms"
#: A client may count its delivery timeout from a little earlier than the call, or round it down.
SLACK_MS = 1_000


def find(evidence: Evidence) -> list[Finding]:
    """At most one finding, counting records that were given up. Unsupported if the client cannot be told to go on."""
    for setting in ("retries", TIMEOUT):
        if setting in evidence.record.not_set:
            raise Unsupported(f"the client cannot set {setting}: {evidence.record.not_set[setting]}")
    given_up = [send for send in evidence.sends.values() if _given_up(evidence, send)]
    if not given_up:
        return []
    errors = ", ".join(sorted({send.error or "no error" for send in given_up}))
    message = f"{some(len(given_up), 'record')} given up before the delivery timeout ({errors})"
    doubt_if_starved(evidence, message)
    return [finding("gave-up", message, len(given_up), map(of_send, given_up))]


def _given_up(evidence: Evidence, send: Send) -> bool:
    if send.complete_ns is None or send.outcome is Outcome.OK:
        return False
    closing_ns = evidence.record.phases.final_ns
    if closing_ns is not None and send.complete_ns >= closing_ns:
        return False
    limit_ms = int(evidence.record.spec.config[TIMEOUT]) - SLACK_MS
    return send.complete_ns - send.invoke_ns < limit_ms * NS_PER_MS


CHECK = Check(
    name="gave-up",
    summary="Records that the client gave up before their delivery timeout, over a network that came back.",
    requirements=(Requirement("PRD-SND-06", Level.MUST),),
    guarantees=DURABLE,
    channels=frozenset({"history"}),
    mutant="gives_up_on_disconnect",
    find=find,
)
