"""Producing while brokers answer with errors. The witness puts them into single answers, as truthfully as possible.

An error after which a batch may be stored is used after an append. An error that says that nothing was stored is used
if nothing was stored. A false one would cause duplicates for which no client is to blame.
"""

from __future__ import annotations

from functools import partial

from harness.model.dice import Dice
from harness.model.mode import LIVE_ONLY
from harness.model.spec import AtTime, FaultSpec, FrameMatch, OnPhase
from harness.model.verdicts import Guarantee
from harness.wire.apis import Api
from suites.scenarios.effects import broker_errors
from suites.scenarios.frames import LOAD_MS
from suites.scenarios.situation import NODES, Schedule, situation

#: From before the client starts until long afterwards.
FROM_START_MS = 30_000
#: The error of brokers that have no block of producer ids to assign from.
LOADING = 14
EVERY = 1_000_000
#: Less than the header of a batch.
TOO_SMALL_BYTES = 50


_scenario = partial(situation, "frame", require_all_faults=False, modes=LIVE_ONLY)


def _refused_as(code: int) -> Schedule:
    """Return a schedule in which the topic accepts no batch for a second, and answers give ``code`` as the reason."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        start, duration_ms = AtTime(dice.between(700, 2_500)), dice.between(800, 1_200)
        match = FrameMatch("Produce", "response", count=EVERY, error_code=broker_errors.TOO_LARGE)
        return (
            FaultSpec("message_size_limit", start, duration_ms, {"bytes": TOO_SMALL_BYTES}),
            FaultSpec("changed_error", AtTime(0), LOAD_MS, {"code": code}, frames=match),
        )

    return drawn


def _too_large_once_each(dice: Dice) -> tuple[FaultSpec, ...]:
    """Refuse one batch of each partition, but not its parts: the client could no longer know that they were stored."""
    return tuple(
        FaultSpec(
            "error_response",
            AtTime(1_000 + 1_500 * partition + dice.between(0, 500)),
            1_000,
            {"api": Api.PRODUCE, "code": broker_errors.TOO_LARGE, "partition": partition, "after_append": 1},
        )
        for partition in range(3)
    )


OLD_BROKER = _scenario(
    "old-broker",
    "The first two ApiVersions answers are UNSUPPORTED_VERSION in version 0.",
    lambda dice: (FaultSpec("unsupported_version", OnPhase("startup"), FROM_START_MS, {"count": 2}),),
    broker_errors.asked_lower,
    "NET-CON-01",
    "NET-CON-02",
    "NET-CON-04",
)

INIT_PRODUCER_ID_FAILS = _scenario(
    "init-producer-id-fails",
    "The first answers to InitProducerId report that no producer id is available yet.",
    lambda dice: (
        FaultSpec(
            "error_response",
            OnPhase("startup"),
            FROM_START_MS,
            {"api": Api.INIT_PRODUCER_ID, "code": LOADING, "count": dice.between(1, 4)},
        ),
    ),
    broker_errors.identity_refused,
    "PRD-IDM-01",
    "PRD-IDM-02",
    "PRD-EXP-01",
    guarantees=(Guarantee.IDEMPOTENT,),
)

ERROR_AFTER_APPEND = _scenario(
    "error-after-append",
    "Five Produce answers report, after the append, that the broker is not the leader or has too few replicas.",
    lambda dice: (
        FaultSpec(
            "error_response",
            AtTime(dice.between(0, LOAD_MS // 2)),
            LOAD_MS // 2,
            {
                "api": Api.PRODUCE,
                "code": dice.choice(broker_errors.OVER_APPENDS),
                "count": 5,
                "after_append": 1,
            },
        ),
    ),
    broker_errors.over_appends,
    "MET-03",
    "MET-08",
    "PRD-IDM-03",
    "PRD-IDM-05",
    "PRD-SND-02",
    "PRD-SND-09",
    "PRD-SND-10",
    "E2E-DEL-02",
    "E2E-DEL-03",
)

MESSAGE_TOO_LARGE = _scenario(
    "message-too-large",
    "A stored batch of each partition is answered as too large. A copy of it is not the client's fault.",
    _too_large_once_each,
    broker_errors.too_large,
    "PRD-SPL-01",
    "PRD-SPL-06",
    "E2E-DEL-01",
    guarantees=(Guarantee.AT_LEAST_ONCE,),
)

OUT_OF_ORDER = _scenario(
    "out-of-order",
    "For a second batches are refused and not stored, and the answers report a sequence that is out of order.",
    _refused_as(broker_errors.OUT_OF_ORDER),
    broker_errors.out_of_order,
    "PRD-IDM-07",
    "PRD-IDM-08",
    "PRD-IDM-09",
    "PRD-IDM-10",
    "PRD-SND-14",
    "E2E-DEL-02",
    guarantees=(Guarantee.IDEMPOTENT,),
)

UNKNOWN_PRODUCER_ID = _scenario(
    "unknown-producer-id",
    "For a second batches are refused and not stored, and the answers report an unknown producer.",
    _refused_as(broker_errors.UNKNOWN_PRODUCER),
    broker_errors.unknown_producer,
    "PRD-IDM-07",
    "PRD-IDM-12",
    "PRD-SND-14",
    "E2E-DEL-02",
    guarantees=(Guarantee.IDEMPOTENT,),
)

STALE_METADATA = _scenario(
    "stale-metadata",
    "For two seconds Metadata wrongly names one broker as the leader of all partitions.",
    lambda dice: (
        FaultSpec(
            "stale_metadata", AtTime(dice.between(300, 1_500)), 2_500, {"leader_id": dice.choice(NODES)}
        ),
    ),
    broker_errors.not_leader,
    "MET-03",
    "MET-08",
    "PRD-SND-02",
    "PRD-SND-10",
    "PRD-SND-14",
    needs_brokers=len(NODES),
    config={"metadata.max.age.ms": 1_000},
)

THROTTLED = _scenario(
    "throttled",
    "For three seconds each Produce answer has a throttle time of about two seconds.",
    # Much longer than a busy machine delays frames, or it would be unknown when a request was sent.
    lambda dice: (
        FaultSpec(
            "throttle", AtTime(1_000), 3_000, {"api": Api.PRODUCE, "throttle_ms": dice.between(1_500, 2_500)}
        ),
    ),
    broker_errors.throttled,
    "NET-CON-12",
    "NET-TMO-04",
    "PRD-SND-01",
)
