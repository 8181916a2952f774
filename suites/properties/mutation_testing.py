"""Whether a mutant is caught by its catchers, and the client without the defect is not accused by the same examples.

A catcher is a check, tried on simulated trials of the mutant's scenarios one after the other, or a property, tried on
the components of a mutant of the reference client. An example is an example of Hypothesis, or a trial. A catcher that
no mutant can trigger has a stand-in (:mod:`suites.properties.stand_ins`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import msgspec

from clients.reference.consumer.components import Components as ConsumerComponents
from clients.seeding.table import components_of, consumer_components_of
from harness.model.errors import UsageError, unknown
from harness.model.evidence import Evidence
from harness.model.spec import ClientRef, TrialSpec
from harness.plugins import registry
from harness.plugins.check import Check, Inconclusive, Unsupported
from harness.plugins.mutant import PREFIX
from harness.simulated.generated import spec_of
from harness.simulated.judged import RUN_ID
from harness.simulated.trial import SimulatedTrial
from suites.properties.property import AnyComponents, properties, try_property

#: At least the trials of one control, a few megabytes each.
KEPT_TRIALS = 24


@dataclass(frozen=True, slots=True)
class Caught:
    """What one catcher found on one client.

    ``examples`` is the number tried until then, or None if it found nothing.
    """

    name: str
    by: str
    examples: int | None


def all_catchers() -> tuple[str, ...]:
    """Return the ids of every property and every check."""
    return (*properties(), *registry.checks())


def idle_catchers() -> list[str]:
    """Return the properties and checks that no mutant names."""
    named = {by for mutant in registry.table("mutants").values() for by in mutant.caught_by}
    return [by for by in all_catchers() if by not in named]


def catch(name: str, by: str, examples: int, seed: int) -> Caught:
    """Try ``by`` on mutant ``name`` with up to ``examples`` examples. The same seed tries the same ones."""
    if by in properties():
        return _by_law(name, by, seeded(name, by), examples, seed)
    scenarios = registry.mutant(name).scenarios
    return Caught(name, by, _accused(f"{PREFIX}{name}", _check(by), scenarios, examples, seed, may_end=True))


def accuse(client: str, by: str, scenarios: tuple[str, ...], examples: int, seed: int) -> Caught:
    """Try ``by`` on a client without a defect, in the same trials as :func:`catch` does."""
    if by in properties():
        return _by_law(client, by, properties()[by].made_of(), examples, seed)
    return Caught(client, by, _accused(client, _check(by), scenarios, examples, seed, may_end=False))


def seeded(name: str, by: str) -> AnyComponents:
    """Return the components of a mutant that property ``by`` judges: those of its producer or of its consumer."""
    is_consumer = properties()[by].made_of is ConsumerComponents
    return consumer_components_of(name) if is_consumer else components_of(name)


def _by_law(name: str, by: str, components: AnyComponents, examples: int, seed: int) -> Caught:
    broken = try_property(properties()[by], components, examples, at_seed=seed)
    return Caught(name, by, broken.example if broken else None)


def _check(by: str) -> Check:
    if by not in registry.checks():
        raise unknown("property or check", by, all_catchers())
    return registry.checks()[by]


def _accused(
    client: str, check: Check, scenarios: Sequence[str], count: int, seed: int, *, may_end: bool
) -> int | None:
    """Return the number of the first trial in which the check accuses the client, None if there is none.

    With ``may_end``, a client that ends itself before it can be judged is not accused in that trial.
    """
    judged = [
        replace(scenario, guarantees=guarantees)
        for scenario in map(registry.scenario, scenarios)
        if (guarantees := tuple(each for each in scenario.guarantees if each in check.guarantees))
    ]
    if not judged:
        raise UsageError(
            "check-without-guarantee",
            "check {check!r} judges no guarantee of the scenarios {scenarios}",
            check=check.name,
            scenarios=tuple(scenarios),
        )
    ref = ClientRef(client, registry.client(client).default_version)
    for number in range(count):
        turn, place = divmod(number, len(judged))
        try:
            evidence = simulated(msgspec.json.encode(spec_of(judged[place], ref, seed + turn)))
        except Exception:
            if not may_end:
                raise
        else:
            if _accuses(check, evidence):
                return number + 1
    return None


@lru_cache(maxsize=KEPT_TRIALS)
def simulated(spec: bytes) -> Evidence:
    """Run the trial of a spec, given as JSON. The spec determines the evidence, which several checks judge in turn."""
    return SimulatedTrial(msgspec.json.decode(spec, type=TrialSpec), RUN_ID).run()


def _accuses(check: Check, evidence: Evidence) -> bool:
    """True if the check finds anything. A difference counts too, since the true client shows none here."""
    try:
        return bool(check.run(evidence))
    except (Unsupported, Inconclusive):
        return False
