"""The sets of guarantees that requirements bind. The checks share them."""

from __future__ import annotations

from harness.model.evidence import Evidence
from harness.model.verdicts import Guarantee

AT_LEAST_ONCE = frozenset({Guarantee.AT_LEAST_ONCE})
#: Those that a consumer keeps by when it commits.
BY_COMMITS = AT_LEAST_ONCE | {Guarantee.AT_MOST_ONCE}
EXACTLY_ONCE = frozenset({Guarantee.IDEMPOTENT, Guarantee.TRANSACTIONAL})
#: That of the workload of transactions.
TRANSACTIONAL = frozenset({Guarantee.TRANSACTIONAL})
DURABLE = AT_LEAST_ONCE | EXACTLY_ONCE
EVERY = frozenset(Guarantee)


def exactly_once(evidence: Evidence) -> bool:
    """True if the client promised to write each record to the log once and in order."""
    return evidence.record.spec.guarantee in EXACTLY_ONCE
