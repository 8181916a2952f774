"""Is a mutant caught by what is meant to catch it, and is the true client left in peace by the same examples?

A catcher is a law, tried on the mutant's components, or a check, tried on generated simulated trials one after the
other. An example is an example of Hypothesis, or a trial.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from clients.mutants import MUTANTS, components_of
from clients.reference.producer import Components
from harness import registry
from harness.check import Check, Inconclusive, Unsupported
from harness.errors import unknown
from harness.evidence import Evidence
from harness.simulated.judged import RUN_ID
from harness.simulated.trial import SimulatedTrial
from harness.spec import ClientRef
from suites.simulated.generated import spec_of
from suites.simulated.law import laws, try_law

SCENARIO = "generated/any"
#: What chance seldom brings about is tried where it is brought about.
SCENARIOS = {
    "requests-in-flight": "produce/disconnect",
    "sequence-reused": "frame/error-after-append",
    "unsplit": "broker/smaller-batches",
    "unmended": "generated/sequences",
}
TRUE = "reference"
_TABLES = "the tables of states.py are the same for every variant"
_BROKER = "it judges what brokers say, and the one message that every variant sends"
_FACE = "the face with threads is no component"
_CONSUMER = "there is no consumer yet of which a variant could be made"
#: Catchers that no variant of the producer's components can be caught by, and why.
WITHOUT_MUTANT = {
    "delivery/flush_in_a_callback_is_refused": _FACE,
    "state_transitions/a_broker_refuses_transactions_longer_than_its_maximum": _BROKER,
    "state_transitions/a_heartbeat_is_more_frequent_than_sessions_end": _CONSUMER,
    "state_transitions/a_producer_without_transactions_has_no_timeout_to_refuse": _BROKER,
    "state_transitions/a_protocol_refuses_the_settings_of_the_other": _CONSUMER,
    "state_transitions/every_pair_is_the_catalogues": _TABLES,
    "state_transitions/isolation_and_reset_take_their_listed_values": _CONSUMER,
    "state_transitions/without_a_group_nothing_is_committed": _CONSUMER,
}


@dataclass(frozen=True, slots=True)
class Caught:
    """What one catcher found on one client; ``examples`` until then, None where it found nothing."""

    name: str
    by: str
    examples: int | None


def all_catchers() -> tuple[str, ...]:
    """Every law and every check."""
    return (*laws(), *registry.checks())


def idle_catchers() -> list[str]:
    """The laws and checks that no mutant names."""
    named = {by for mutant in MUTANTS.values() for by in mutant.caught_by}
    return [by for by in all_catchers() if by not in named]


def catch(name: str, by: str, examples: int, seed: int) -> Caught:
    """Try mutant ``name``, or the true client, on up to ``examples`` of what ``by`` tries. Same seed, same examples."""
    if by in laws():
        components = Components() if name == TRUE else components_of(name)
        broken = try_law(laws()[by], components, examples, at_seed=seed)
        return Caught(name, by, broken.example if broken else None)
    check = registry.checks().get(by)
    if check is None:
        raise unknown("law or check", by, all_catchers())
    found = (number for number, accused in enumerate(_trials(name, check, examples, seed), 1) if accused)
    return Caught(name, by, next(found, None))


def _trials(name: str, check: Check, count: int, seed: int) -> Iterator[bool]:
    """Whether the check accuses the client in each of these trials, which are of guarantees that it judges."""
    scenario = registry.scenario(SCENARIOS.get(check.name, SCENARIO))
    judged = replace(scenario, guarantees=tuple(g for g in scenario.guarantees if g in check.guarantees))
    client = TRUE if name == TRUE else f"mutant-{name}"
    ref = ClientRef(client, registry.client(client).default_version)
    for number in range(count):
        yield _accuses(check, SimulatedTrial(spec_of(judged, ref, seed + number), RUN_ID).run())


def _accuses(check: Check, evidence: Evidence) -> bool:
    try:
        return bool(check.find(evidence))
    except (Unsupported, Inconclusive):
        return False
