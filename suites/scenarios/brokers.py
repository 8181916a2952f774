"""Producing while brokers restart, die, stand still, move their leaders or change their minds.

Each takes a cluster to itself. On one node some of them have nowhere to go, and say so: not exercised.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.dice import Dice
from harness.scenario import Config, Scenario
from harness.spec import Elapsed, FaultSpec, Workload
from suites.checks.traced import TRACED
from suites.scenarios import consequence
from suites.scenarios.produce import CLOSING, DELIVERY, EXPIRY

Schedule = Callable[[Dice], tuple[FaultSpec, ...]]

NODES = (1, 2, 3)
#: From one broker's going to the next one's: it has to be back, and in sync, in between.
STEP_MS = 10_000
#: What has to be done meanwhile: 10,000 records over the whole of a rolling restart.
LONG = Workload(records=10_000, chunk=100, interval_ms=330)


def _scenario(
    name: str,
    summary: str,
    schedule: Schedule,
    *,
    workload: Workload | None = None,
    config: Config | None = None,
    without: str = "",
) -> Scenario:
    return Scenario(
        name=name,
        summary=summary,
        requirements=tuple(each for each in DELIVERY + CLOSING + EXPIRY + TRACED if each != without),
        schedule=schedule,
        consequence=consequence.hit,
        workload=workload or Workload(),
        config=config or {},
        each_fault=False,
        worlds=frozenset({"live"}),
        alone=True,
    )


def _once(kind: str, duration_ms: int, *, one: bool = True, **params: int) -> Schedule:
    """One fault at a moment of the first half of load, on one broker or on all."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        start = Elapsed(dice.between(500, 3_000))
        brokers = (dice.choice(NODES),) if one else ()
        return (FaultSpec(kind, start, duration_ms, params, brokers),)

    return drawn


def _rolling(dice: Dice) -> tuple[FaultSpec, ...]:
    first = dice.between(1_000, 2_000)
    return tuple(
        FaultSpec("broker_restart", Elapsed(first + STEP_MS * index), 500, brokers=(node_id,))
        for index, node_id in enumerate(NODES)
    )


ROLLING_RESTART = _scenario(
    "broker/rolling-restart",
    "One broker after the other is shut down in good order and started again, under 10,000 records.",
    _rolling,
    workload=LONG,
)

RESTARTED = _scenario(
    "broker/restarted",
    "A broker is shut down in good order, and is back half a second later.",
    _once("broker_restart", 500),
)

KILLED = _scenario(
    "broker/killed",
    "A broker is killed, and is back two seconds later on the log that it had.",
    _once("broker_kill", 2_000),
)

PAUSED = _scenario(
    "broker/paused",
    "A broker stands still for longer than the request timeout.",
    _once("broker_pause", 4_500),
)

PAUSED_TOO_LONG = _scenario(
    "broker/paused-too-long",
    "All brokers stand still for longer than the delivery timeout.",
    _once("broker_pause", 11_000, one=False),
    config={"delivery.timeout.ms": 8_000},
)

LEADERS_MOVE = _scenario(
    "broker/leaders-move",
    "Three times every partition goes to another leader, with sends in flight.",
    lambda dice: tuple(
        FaultSpec("leader_move", Elapsed(1_500 * turn + dice.between(0, 800)), 600) for turn in range(3)
    ),
)

TOO_FEW_REPLICAS = _scenario(
    "broker/too-few-replicas",
    "A broker goes, and those that are left are too few for acks=all.",
    _once("min_isr", 1_500),
)

SMALLER_BATCHES = _scenario(
    "broker/smaller-batches",
    "For two seconds the topic takes batches of a few records only.",
    lambda dice: (
        FaultSpec("message_size_limit", Elapsed(1_500), 2_000, {"bytes": dice.between(500, 1_500)}),
    ),
    # A batch that is refused for its size was not given up: librdkafka, for one, never splits, and says so.
    without="PRD-SND-06",
)

TOPIC_GROWS = _scenario(
    "broker/topic-grows",
    "The topic gets two more partitions in the middle of load.",
    lambda dice: (FaultSpec("topic_growth", Elapsed(dice.between(500, 2_000)), 3_000, {"partitions": 2}),),
    config={"metadata.max.age.ms": 1_000},
)

PRODUCERS_FORGOTTEN = _scenario(
    "broker/producers-forgotten",
    "For two seconds the brokers forget every producer, again and again.",
    lambda dice: (FaultSpec("producer_id_expiry", Elapsed(dice.between(500, 2_000)), 2_000),),
)
