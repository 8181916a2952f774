"""Trials that have a cluster to themselves while they last, and what they leave to the next one. Pure."""

from __future__ import annotations

import math

from harness.model.rows import TrialVerdict
from harness.model.spec import TrialSpec
from harness.model.verdicts import Verdict
from harness.plugins import registry


def needs_exclusive_cluster(spec: TrialSpec) -> bool:
    """True if the trial hurts brokers, and has its cluster to itself whatever its plan says."""
    return spec.exclusive_cluster or any(
        registry.fault(fault.kind).exclusive_cluster for fault in spec.faults
    )


def lingers_s(spec: TrialSpec, verdict: TrialVerdict) -> float:
    """How long brokers may remember the trial where they cannot be asked; infinite: no other trial has its cluster.

    A kind that does not say so is taken to be remembered for ever, and so is a trial that did not end in order.
    """
    if verdict.verdict == Verdict.HARNESS_ERROR:
        return math.inf
    kinds = [registry.fault(fault.kind) for fault in spec.faults]
    return max(
        (getattr(kind, "lingers_s", math.inf) for kind in kinds if kind.exclusive_cluster), default=0.0
    )


def starts_nodes(spec: TrialSpec) -> bool:
    """True if nodes end and start again in the trial, which is most of what it computes."""
    return any(getattr(registry.fault(fault.kind), "starts_nodes", False) for fault in spec.faults)
