"""Whether a mutant is caught by its catchers, and the true client is not accused by the same examples.

A catcher is a property, tried on the mutant's components, or a check, tried on generated simulated trials one
after the other. An example is an example of Hypothesis, or a trial. A catcher that no mutant can trigger has
a stand-in (:mod:`suites.properties.stand_ins`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from clients.reference.producer.producer import Components
from clients.seeding.table import components_of, mutants
from harness.model.errors import unknown
from harness.model.evidence import Evidence
from harness.model.spec import ClientRef
from harness.plugins import registry
from harness.plugins.check import Check, Inconclusive, Unsupported
from harness.simulated.judged import RUN_ID
from harness.simulated.trial import SimulatedTrial
from suites.properties.property import properties, try_property
from suites.simulate.generated import spec_of

#: Trials alternate between two situations in which most defects show, and a random one.
SCENARIOS = ("produce/disconnect", "produce/dropped-response", "generated/any")
#: Scenarios for a check whose defect shows in none of those.
OWN_SCENARIOS = {
    "connections-leaked": ("produce/calm",),
    "retry-spacing": ("frame/error-after-append",),
    "sequence-reused": ("frame/error-after-append",),
    "throttle-ignored": ("frame/throttled",),
    "oversized-batch-not-split": ("broker/smaller-batches",),
    "sequence-not-recovered": ("generated/sequences",),
}
TRUE = "reference"


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
    """The properties and checks that no mutant names."""
    named = {by for mutant in mutants().values() for by in mutant.caught_by}
    return [by for by in all_catchers() if by not in named]


def catch(name: str, by: str, examples: int, seed: int) -> Caught:
    """Try ``by`` on mutant ``name``, or on the true client, with up to ``examples`` examples.

    The same seed tries the same examples.
    """
    if by in properties():
        components = Components() if name == TRUE else components_of(name)
        broken = try_property(properties()[by], components, examples, at_seed=seed)
        return Caught(name, by, broken.example if broken else None)
    check = registry.checks().get(by)
    if check is None:
        raise unknown("property or check", by, all_catchers())
    found = (number for number, accused in enumerate(_trials(name, check, examples, seed), 1) if accused)
    return Caught(name, by, next(found, None))


def _trials(name: str, check: Check, count: int, seed: int) -> Iterator[bool]:
    """Yield whether the check accuses the client in each of these trials, whose guarantees it judges."""
    scenarios = [registry.scenario(each) for each in OWN_SCENARIOS.get(check.name, SCENARIOS)]
    judged = [
        replace(scenario, guarantees=guarantees)
        for scenario in scenarios
        if (guarantees := tuple(each for each in scenario.guarantees if each in check.guarantees))
    ]
    client = TRUE if name == TRUE else f"mutant-{name}"
    ref = ClientRef(client, registry.client(client).default_version)
    for number in range(count):
        turn, place = divmod(number, len(judged))
        try:
            evidence = SimulatedTrial(spec_of(judged[place], ref, seed + turn), RUN_ID).run()
        except Exception:
            # A defect may end its client before anything can be judged. The true client must not end.
            if name == TRUE:
                raise
            yield False
        else:
            yield _accuses(check, evidence)


def _accuses(check: Check, evidence: Evidence) -> bool:
    """True if the check finds anything. A difference counts too, since the true client shows none here."""
    try:
        return bool(check.run(evidence))
    except (Unsupported, Inconclusive):
        return False
