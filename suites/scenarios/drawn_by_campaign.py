"""The scenario that a table of faults in a campaign file configures: any fault under which promises can be judged.

The file gives the kinds, their number, duration and strength. Without a table it has network faults. Faults
under which brokers break a promise themselves, or misreport what they did, are refused, because no client
could be judged under them.
"""

from __future__ import annotations

from harness.model.spec import FaultSpec
from harness.planning.fault_strategies import DrawnKind, DrawnScenario, FaultTable, OneOf
from harness.wire.apis import Api
from harness.wire.error_table import ERRORS
from suites.scenarios.drawn import ANYTHING, FAULTS, GUARANTEES
from suites.scenarios.effects import broker_errors, consequence

#: Kinds under which brokers forget acknowledged records or state, and the scenario that covers each.
FORGETFUL = {
    "log_trim": "broker/log-trimmed",
    "producer_id_expiry": "broker/producers-forgotten",
    "topic_recreate": "broker/topic-recreated",
}


def unfair(fault: FaultSpec) -> str | None:
    """Return why no client can be judged under this fault, or None if every client can."""
    if scenario := FORGETFUL.get(fault.kind):
        return f"brokers forget what they had acknowledged; the scenario {scenario} accounts for this"
    if fault.kind == "changed_error":
        return "answers would contradict what brokers did; use error_response instead"
    if fault.kind != "error_response":
        return None
    code = fault.params.get("code", broker_errors.NOT_LEADER)
    if fault.params.get("api", Api.PRODUCE) != Api.PRODUCE:
        return (
            None
            if code in ERRORS and ERRORS[code].retriable
            else f"no client has to continue after error {code}"
        )
    if code in broker_errors.OVER_APPENDS:
        return None
    may = ", ".join(map(str, broker_errors.OVER_APPENDS))
    return f"a broker does not answer an append with error {code}; it may with {may}"


NETWORK = FaultTable(
    faults=OneOf(FAULTS),
    kinds=(
        DrawnKind("latency", (200, 2_000), {"upstream_ms": (1, 400), "downstream_ms": (1, 400)}),
        *(DrawnKind(kind, (0, 1_000)) for kind in ("disconnect", "reset", "dropped_response", "refuse")),
    ),
)

SCENARIO = DrawnScenario(
    name="generated/campaign",
    summary="Faults as a table in a campaign file defines them, or network faults without one.",
    schedule=NETWORK.schedule,
    consequence=consequence.hit,
    exercises=(*ANYTHING, "NET-TMO-01", "NET-INF-06"),
    guarantees=GUARANTEES,
    workload=NETWORK.workload,
    require_all_faults=False,
    opt_in=True,
    unfair=unfair,
)
