"""The promises of each guarantee under any behaviour of network and brokers, with one property per guarantee.

All checks that judge live trials judge the evidence of a drawn trial. A trial that fails is printed as a plan
that ``kafka-trial replay`` can run again.
"""

from __future__ import annotations

import msgspec
from hypothesis import note

from clients.adapters.reference.simulated import start
from clients.reference.producer.producer import Components
from harness.judging.judge import judge
from harness.model.contract import Configure
from harness.model.dice import Dice
from harness.model.spec import Plan, TrialSpec
from harness.model.verdicts import Guarantee, Verdict
from harness.plugins import registry
from harness.simulated.network import Network
from harness.simulated.ports import Clock, SimulatedClient, SimulatedMember, Tell
from harness.simulated.trial import SimulatedTrial
from suites.properties.delivery.schedules import REFERENCE, brought_about, trials
from suites.properties.property import client_property, example
from suites.scenarios.generated import ANY_SCENARIO

#: A random schedule may have no effect, and a check may be unable to decide. Neither is an accusation.
NO_ACCUSATION = (Verdict.PASS, Verdict.NOT_EXERCISED, Verdict.INCONCLUSIVE, Verdict.UNSUPPORTED)
#: What a client promises under every guarantee, in addition to the checks of its trace.
PROMISED = (
    "E2E-DEL-01",
    "E2E-DEL-02",
    "E2E-DEL-03",
    "PRD-ACC-12",
    "PRD-SND-01",
    "PRD-SND-06",
    "PRD-SND-14",
    "PRD-SND-16",
    "PRD-CLS-01",
    "PRD-CLS-03",
    "PRD-EXP-01",
)


class Made:
    """A client kind made of given components, for a property that does not know names."""

    def __init__(self, components: Components) -> None:
        self._components = components

    def simulated(
        self, settings: Configure, network: Network, clock: Clock, dice: Dice, tell: Tell
    ) -> SimulatedClient | SimulatedMember | None:
        """See :class:`harness.simulated.ports.SimulatedClientKind`."""
        return start("drawn", REFERENCE.version, self._components, None, settings, network, clock, dice, tell)


def _keeps_its_promises(components: Components, spec: TrialSpec) -> None:
    evidence = SimulatedTrial(spec, "drawn", Made(components)).run()
    verdict = judge(evidence, ANY_SCENARIO, registry.checks())
    if verdict.verdict not in NO_ACCUSATION:
        plan = msgspec.json.encode(Plan(spec.seed, (spec,))).decode()
        note(f"kafka-trial replay - <<'PLAN'\n{plan}\nPLAN")
        raise AssertionError(f"{verdict.verdict}: {verdict.reason}")


@client_property("E2E-DEL-03", *PROMISED, spec=trials(Guarantee.AT_MOST_ONCE))
def at_most_once(components: Components, spec: TrialSpec) -> None:
    """Without retries no record is in the log twice, no record that certainly failed is in it, and every send ends."""
    _keeps_its_promises(components, spec)


@client_property("E2E-DEL-01", *PROMISED, spec=trials(Guarantee.AT_LEAST_ONCE))
@example(spec=brought_about("produce/disconnect", Guarantee.AT_LEAST_ONCE))
@example(spec=brought_about("produce/dropped-response", Guarantee.AT_LEAST_ONCE))
def at_least_once(components: Components, spec: TrialSpec) -> None:
    """No acknowledged record is missing, each duplicate and each change of order is explained, and every send ends."""
    _keeps_its_promises(components, spec)


@client_property("E2E-DEL-02", *PROMISED, spec=trials(Guarantee.IDEMPOTENT))
@example(spec=brought_about("produce/disconnect", Guarantee.IDEMPOTENT))
@example(spec=brought_about("produce/dropped-response", Guarantee.IDEMPOTENT))
def idempotent(components: Components, spec: TrialSpec) -> None:
    """Each acknowledged record is in the log exactly once and in the order of sending, and every send ends."""
    _keeps_its_promises(components, spec)
