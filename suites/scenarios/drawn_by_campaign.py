"""What stands behind the tables of faults in a campaign file: any fault that a promise can be judged under.

The file says which kinds, how many, how long and how strong; by itself it has those of the network. Where brokers
break a promise themselves, or lie about what they did, no client could be judged, whatever it does.
"""

from __future__ import annotations

from harness.model.spec import FaultSpec
from harness.planning.fault_strategies import DrawnKind, DrawnScenario, FaultTable, OneOf
from harness.wire.apis import Api
from harness.wire.error_table import ERRORS
from suites.scenarios.drawn import ANYTHING, FAULTS, GUARANTEES
from suites.scenarios.effects import broker_errors, consequence

#: Kinds under which brokers forget what they had acknowledged, and the scenario that knows it.
FORGETFUL = {
    "log_trim": "broker/log-trimmed",
    "producer_id_expiry": "broker/producers-forgotten",
    "topic_recreate": "broker/topic-recreated",
}


def unfair(fault: FaultSpec) -> str | None:
    """Why nobody can be judged under this fault; None if everybody can."""
    if scenario := FORGETFUL.get(fault.kind):
        return f"brokers forget what they had acknowledged; the scenario {scenario} reckons with it"
    if fault.kind == "changed_error":
        return "answers would deny what brokers did; error_response says what can be true"
    if fault.kind != "error_response":
        return None
    code = fault.params.get("code", broker_errors.NOT_LEADER)
    if fault.params.get("api", Api.PRODUCE) != Api.PRODUCE:
        return (
            None
            if code in ERRORS and ERRORS[code].retriable
            else f"no client has to go on after error {code}"
        )
    if code in broker_errors.OVER_APPENDS:
        return None
    may = ", ".join(map(str, broker_errors.OVER_APPENDS))
    return f"after an append a broker does not answer with error {code}; it may with {may}"


NETWORK = FaultTable(
    faults=OneOf(FAULTS),
    kinds=(
        DrawnKind("latency", (200, 2_000), {"upstream_ms": (1, 400), "downstream_ms": (1, 400)}),
        *(DrawnKind(kind, (0, 1_000)) for kind in ("disconnect", "reset", "dropped_response", "refuse")),
    ),
)

SCENARIO = DrawnScenario(
    name="generated/campaign",
    summary="Faults as a table of a campaign file has them; without one, some of the network.",
    schedule=NETWORK.schedule,
    consequence=consequence.hit,
    exercises=(*ANYTHING, "NET-TMO-01", "NET-INF-06"),
    guarantees=GUARANTEES,
    workload=NETWORK.workload,
    each_fault=False,
    on_request=True,
    unfair=unfair,
)
