"""A simulated trial and its verdict, in one call."""

from __future__ import annotations

from harness.judging.judge import judge
from harness.model.evidence import Evidence
from harness.model.rows import TrialVerdict
from harness.model.spec import ClientRef, TrialSpec
from harness.plugins import registry
from harness.simulated.generated import spec_of
from harness.simulated.selection import assert_simulated
from harness.simulated.trial import SimulatedTrial

#: The run id in every simulated record. Values contain it, and the sizes of compressed batches depend on it. It is
#: constant so that a spec means the same bytes in every run.
RUN_ID = "simulated"


def is_simulated(spec: TrialSpec) -> bool:
    """True if the spec's broker is a simulated one."""
    return spec.broker.startswith("scripted:")


def simulate(
    scenario: str, client: str, seed: int = 1, broker: str | None = None
) -> tuple[Evidence, TrialVerdict]:
    """Run one trial of registered parts in virtual time and judge it. The same arguments give the same trial.

    The guarantee is one of the scenario's, by the seed. ``broker`` is ``scripted:VERSIONxNODES``; drawn if None.
    Raises UsageError for an unknown name, and for a client that cannot run in simulated mode.
    """
    ref = assert_simulated(ClientRef(client, registry.client(client).default_version))
    return try_spec(spec_of(registry.scenario(scenario), ref, seed, broker))


def try_spec(spec: TrialSpec) -> tuple[Evidence, TrialVerdict]:
    """Run the trial, and judge it with the checks of its scenario."""
    evidence = SimulatedTrial(spec, RUN_ID).run()
    return evidence, judged(evidence)


def judged(evidence: Evidence) -> TrialVerdict:
    """Return the verdict of all registered checks on the evidence of one trial, of either mode. Pure."""
    return judge(evidence, registry.scenario(evidence.record.spec.scenario), registry.checks())
