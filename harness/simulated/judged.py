"""A simulated trial and its verdict, in one call: what commands, suites and benchmarks do with a spec."""

from __future__ import annotations

from harness.judging.judge import judge
from harness.model.evidence import Evidence
from harness.model.rows import TrialVerdict
from harness.model.spec import TrialSpec
from harness.plugins import registry
from harness.simulated.trial import SimulatedTrial

#: The run that every simulated record names: its values, and so the sizes of compressed batches, depend on it, and
#: a spec must mean the same bytes in every run.
RUN_ID = "simulated"


def is_simulated(spec: TrialSpec) -> bool:
    """True if the spec's broker lives in simulated mode."""
    return spec.broker.startswith("scripted:")


def try_spec(spec: TrialSpec) -> tuple[Evidence, TrialVerdict]:
    """Run the trial and judge it, with the checks of its scenario."""
    evidence = SimulatedTrial(spec, RUN_ID).run()
    return evidence, judge(evidence, registry.scenario(spec.scenario), registry.checks())
