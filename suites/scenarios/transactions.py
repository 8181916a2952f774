"""Transactions that are committed and aborted, while the network and their coordinator misbehave.

Each client meets a fault at the same request, which is counted from before its start or from the beginning of the load.
A refusal of EndTxn that ends a transaction is only simulated: a real broker has executed the request before the witness
can change the answer, so the client would be told the opposite of what happened.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from harness.model.dice import Dice
from harness.model.mode import BOTH_MODES, SIMULATED_ONLY
from harness.model.spec import AtTime, FaultSpec, FrameMatch, OnPhase, Workload
from harness.model.verdicts import Guarantee
from harness.plugins.scenario import Config
from harness.wire.apis import Api, api_name
from harness.wire.error_table import BY_NAME
from harness.workloads.transactions.commands import ABORT_PERCENT
from suites.scenarios.effects import consequence, reading
from suites.scenarios.produce import cuts
from suites.scenarios.situation import Schedule, situation

LOAD: Final = Workload(
    kind="transactions", records=1_200, records_per_command=30, interval_ms=250, params={ABORT_PERCENT: 20}
)
LOAD_MS: Final = LOAD.load_ms
#: From before the client starts until long afterwards.
FROM_START_MS: Final = 30_000
#: Beyond the profile's request.timeout.ms of 3 s.
BEYOND_TIMEOUT_MS: Final = 3_800
#: With it, a batch expires before its transaction may take too long.
IMPATIENT: Final[Config] = {"delivery.timeout.ms": 2_500, "request.timeout.ms": 1_000}
#: A coordinator that loads, is another broker, or has not ended the transaction before.
ELSEWHERE: Final = ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
BUSY: Final = (*ELSEWHERE, "CONCURRENT_TRANSACTIONS")

#: Whatever happens, readers see each transaction as a whole, once, and as the client reported it.
WHOLE: Final = ("PRD-TXN-05", "PRD-TXN-07", "PRD-TXN-16")

_scenario = partial(
    situation,
    "transactions",
    workload=LOAD,
    guarantees=(Guarantee.TRANSACTIONAL,),
    modes=BOTH_MODES,
    require_all_faults=False,
)


def _calm(_: Dice) -> tuple[FaultSpec, ...]:
    return ()


def _disconnect(dice: Dice) -> tuple[FaultSpec, ...]:
    return cuts(dice, "disconnect")


def _at_start(kind: str, api: Api, direction: str = "response", **params: int) -> Schedule:
    """Return a schedule with a fault of the first frame of an API, from before the client starts."""
    match = FrameMatch(api_name(api), direction)
    return lambda dice: (FaultSpec(kind, OnPhase("startup"), FROM_START_MS, params, frames=match),)


def _in_load(kind: str, api: Api, direction: str = "response", **params: int) -> Schedule:
    """Return a schedule with faults of two frames of an API."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        first = dice.between(1, 5)
        return tuple(
            FaultSpec(
                kind, AtTime(0), LOAD_MS, params, frames=FrameMatch(api_name(api), direction, first=nth)
            )
            for nth in (first, first + dice.between(3, 6))
        )

    return drawn


def _refused_at_start(api: Api, *names: str) -> Schedule:
    """Return a schedule in which the first answers of an API report one of the errors."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        params = {"api": int(api), "code": _code(dice, names), "count": dice.between(1, 3)}
        return (FaultSpec("error_response", OnPhase("startup"), FROM_START_MS, params),)

    return drawn


def _refused(api: Api, *names: str, most: int = 2, **more: int) -> Schedule:
    """Return a schedule in which the next answers of an API report one of the errors, some time into the load."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        params = {"api": int(api), "code": _code(dice, names), "count": dice.between(1, most), **more}
        return (FaultSpec("error_response", AtTime(dice.between(500, 3_000)), LOAD_MS, params),)

    return drawn


def _expired(dice: Dice) -> tuple[FaultSpec, ...]:
    match = FrameMatch("Produce", "request", first=dice.between(2, 6), count=50, partition=dice.between(0, 2))
    return (FaultSpec("dropped_frame", AtTime(0), LOAD_MS, frames=match),)


def _code(dice: Dice, names: tuple[str, ...]) -> int:
    return BY_NAME[dice.choice(names)].code


CALM = _scenario(
    "calm",
    "No fault at all. A client that makes a mistake here makes it everywhere.",
    _calm,
    consequence.traffic,
    *WHOLE,
)

DISCONNECT = _scenario(
    "disconnect",
    "All connections are cut three times, with requests in transit.",
    _disconnect,
    reading.ended,
    *WHOLE,
)

INIT_LOST = _scenario(
    "init-answer-lost",
    "The first answer to InitProducerId is lost.",
    _at_start("dropped_frame", Api.INIT_PRODUCER_ID),
    reading.unanswered,
    *WHOLE,
)

INIT_REFUSED = _scenario(
    "init-refused",
    "The first answers to InitProducerId report a coordinator that loads or is another broker, or an open transaction.",
    _refused_at_start(Api.INIT_PRODUCER_ID, *BUSY),
    reading.refused,
    *WHOLE,
)

COORDINATOR_LOST = _scenario(
    "coordinator-answer-lost",
    "The first answer to FindCoordinator is lost.",
    _at_start("dropped_frame", Api.FIND_COORDINATOR),
    reading.unanswered,
    *WHOLE,
)

END_LOST = _scenario(
    "end-answer-lost",
    "Two answers to EndTxn are lost, after the coordinator has ended the transaction.",
    _in_load("dropped_frame", Api.END_TXN),
    reading.unanswered,
    *WHOLE,
)

END_REQUEST_LOST = _scenario(
    "end-request-lost",
    "Two EndTxn requests are lost.",
    _in_load("dropped_frame", Api.END_TXN, "request"),
    reading.unasked,
    *WHOLE,
)

END_LATE = _scenario(
    "end-answer-late",
    "Two answers to EndTxn are kept back until their request has timed out.",
    _in_load("late_frame", Api.END_TXN, delay_ms=BEYOND_TIMEOUT_MS),
    reading.late,
    *WHOLE,
)

END_DOUBLED = _scenario(
    "end-answer-doubled",
    "Two answers to EndTxn arrive twice.",
    _in_load("duplicated_response", Api.END_TXN),
    reading.doubled,
    *WHOLE,
)

END_REFUSED = _scenario(
    "end-refused",
    "Answers to EndTxn report a coordinator that loads, is another broker, or is busy.",
    _refused(Api.END_TXN, *BUSY),
    reading.refused,
    *WHOLE,
)

END_ABORTABLE = _scenario(
    "end-abortable",
    "An answer to EndTxn reports that the transaction can only be aborted.",
    _refused(Api.END_TXN, "TRANSACTION_ABORTABLE", most=1),
    reading.refused,
    *WHOLE,
    modes=SIMULATED_ONLY,
)

END_FENCED = _scenario(
    "end-fenced",
    "An answer to EndTxn reports that another producer has taken the transactional id.",
    _refused(Api.END_TXN, "PRODUCER_FENCED", most=1),
    reading.refused,
    *WHOLE,
    modes=SIMULATED_ONLY,
)

EXPIRED = _scenario(
    "expired-batch",
    "Every Produce request of one partition is lost until its batches expire.",
    _expired,
    reading.unasked,
    *WHOLE,
    config=IMPATIENT,
)

PRODUCE_LOST = _scenario(
    "produce-answer-lost",
    "Two answers to Produce are lost, after the broker has stored the batches.",
    _in_load("dropped_frame", Api.PRODUCE),
    reading.unanswered,
    *WHOLE,
)

PRODUCE_REFUSED = _scenario(
    "produce-refused",
    "An answer to Produce reports that the client may not write to the topic, although the batch is stored.",
    _refused(Api.PRODUCE, "TOPIC_AUTHORIZATION_FAILED", most=1, after_append=1),
    reading.refused,
    *WHOLE,
)
