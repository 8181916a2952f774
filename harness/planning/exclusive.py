"""Trials that need a cluster to themselves, and how long they affect later trials on it. Pure."""

from __future__ import annotations

import math

from harness.model.rows import TrialVerdict
from harness.model.spec import TrialSpec
from harness.model.verdicts import Verdict
from harness.plugins import registry


def needs_exclusive_cluster(spec: TrialSpec) -> bool:
    """True if the trial disturbs brokers, so that it needs its own cluster whatever its plan says."""
    return spec.exclusive_cluster or any(
        registry.fault(fault.kind).exclusive_cluster for fault in spec.faults
    )


def lingers_s(spec: TrialSpec, verdict: TrialVerdict) -> float:
    """Return how many seconds brokers may remember the trial if they cannot be asked.

    If infinite, the cluster is not reused.

    A kind that does not declare this is assumed to be remembered forever, and so is a trial that did not end regularly.
    """
    if verdict.verdict == Verdict.HARNESS_ERROR:
        return math.inf
    kinds = [registry.fault(fault.kind) for fault in spec.faults]
    return max(
        (getattr(kind, "lingers_s", math.inf) for kind in kinds if kind.exclusive_cluster), default=0.0
    )


def starts_nodes(spec: TrialSpec) -> bool:
    """True if nodes stop and start again during the trial, which causes most of its computing time."""
    return any(getattr(registry.fault(fault.kind), "starts_nodes", False) for fault in spec.faults)
