"""Producing while brokers restart, die, stall, move leaders or change their settings.

Each scenario needs a cluster of its own. Those about one broker of several need three brokers, and are
unsupported on fewer.
"""

from __future__ import annotations

from functools import partial

from harness.model.dice import Dice
from harness.model.mode import BOTH_MODES, LIVE_ONLY
from harness.model.spec import AtTime, FaultSpec, OnFrame, Workload
from harness.model.verdicts import Guarantee
from suites.scenarios.effects import broker_errors, connections, consequence, responses
from suites.scenarios.situation import NODES, Schedule, situation

#: A load that lasts for a whole rolling restart: 10,000 records.
LONG = Workload(records=10_000, records_per_command=100, interval_ms=400)


_scenario = partial(situation, "broker", exclusive_cluster=True, require_all_faults=False, modes=LIVE_ONLY)


#: Scenarios about one broker of several, or about partitions that move.
_of_several = partial(_scenario, needs_brokers=len(NODES))


def _once(kind: str, duration_ms: int, *, one: bool = True, **params: int) -> Schedule:
    """Return a schedule with one fault in the first half of the load, on one broker or on all."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        start = AtTime(dice.between(500, 3_000))
        brokers = (dice.choice(NODES),) if one else ()
        return (FaultSpec(kind, start, duration_ms, params, brokers),)

    return drawn


def _rolling(dice: Dice) -> tuple[FaultSpec, ...]:
    return (FaultSpec("broker_restart", AtTime(dice.between(1_000, 2_000)), 500, {"one_by_one": 1}),)


ROLLING_RESTART = _of_several(
    "rolling-restart",
    "One broker after the other is shut down cleanly and started again, under 10,000 records.",
    _rolling,
    connections.another_way,
    "MET-08",
    "NET-CON-05",
    "NET-CON-07",
    "PRD-SND-10",
    "PRD-SND-14",
    "PRD-SND-16",
    "E2E-DEL-01",
    "E2E-DEL-02",
    workload=LONG,
)

RESTARTED = _of_several(
    "restarted",
    "A broker is shut down cleanly, and is back half a second later.",
    _once("broker_restart", 500),
    connections.another_way,
    "MET-08",
    "NET-CON-05",
    "NET-CON-07",
    "PRD-SND-10",
    "E2E-DEL-01",
    "E2E-DEL-02",
)

KILLED = _of_several(
    "killed",
    "A broker is killed, and is back two seconds later with its previous log.",
    _once("broker_kill", 2_000),
    connections.another_way,
    "MET-02",
    "NET-CON-05",
    "NET-INF-06",
    "PRD-SND-06",
    "PRD-SND-16",
    "E2E-DEL-01",
    "E2E-DEL-02",
)

PAUSED = _of_several(
    "paused",
    "A broker stalls for longer than the request timeout.",
    _once("broker_pause", 4_500),
    responses.overdue,
    "NET-TMO-01",
    "NET-TMO-02",
    "NET-TMO-05",
    "PRD-IDM-05",
    "PRD-SND-06",
    modes=BOTH_MODES,
)

HALF_OPEN = _of_several(
    "half-open",
    "A broker accepts connections and requests but answers nothing, for so long that requests time out twice.",
    _once("broker_pause", 7_500),
    connections.in_vain,
    "NET-CON-01",
    "NET-CON-06",
    "NET-TMO-01",
    "NET-TMO-05",
    "PRD-SND-06",
)

PAUSED_TOO_LONG = _scenario(
    "paused-too-long",
    "All brokers stall for longer than the delivery timeout.",
    _once("broker_pause", 11_000, one=False),
    consequence.outwaited,
    "PRD-EXP-01",
    "PRD-EXP-02",
    "PRD-EXP-03",
    "PRD-EXP-06",
    "PRD-FIN-02",
    "PRD-IDM-13",
    config={"delivery.timeout.ms": 8_000},
    modes=BOTH_MODES,
)

#: A move has ended by then, so that the next one may choose another leader.
MOVE_MS = 3_000

LEADERS_MOVE = _of_several(
    "leaders-move",
    "Every partition gets another leader twice, with sends in flight.",
    lambda dice: tuple(
        FaultSpec("leader_move", AtTime(MOVE_MS * turn + dice.between(300, 900)), 600) for turn in range(2)
    ),
    connections.other_leaders,
    "MET-08",
    "MET-09",
    "PRD-IDM-03",
    "PRD-SND-10",
    "PRD-SND-14",
    "E2E-DEL-02",
)

TOO_FEW_REPLICAS = _of_several(
    "too-few-replicas",
    "A broker stops, and the remaining replicas are too few for acks=all.",
    _once("min_isr", 1_500),
    broker_errors.too_few_replicas,
    "PRD-IDM-03",
    "PRD-SND-02",
    "PRD-SND-09",
    "E2E-DEL-02",
    "E2E-DEL-03",
)

SMALLER_BATCHES = _scenario(
    "smaller-batches",
    "For two seconds the topic accepts only batches of a few records.",
    lambda dice: (
        FaultSpec("message_size_limit", AtTime(1_500), 2_000, {"bytes": dice.between(500, 1_500)}),
    ),
    broker_errors.too_large,
    "PRD-SND-14",
    "PRD-SPL-01",
    "PRD-SPL-04",
    "PRD-SPL-06",
    config={"compression.type": "none"},
    modes=BOTH_MODES,
)

TOPIC_GROWS = _scenario(
    "topic-grows",
    "The topic gets two more partitions during the load.",
    lambda dice: (FaultSpec("topic_growth", AtTime(dice.between(500, 2_000)), 3_000, {"partitions": 2}),),
    connections.new_partitions,
    "MET-01",
    "PRD-ISP-06",
    "PRD-IDM-02",
    config={"metadata.max.age.ms": 1_000},
)

PRODUCERS_FORGOTTEN = _scenario(
    "producers-forgotten",
    "For two seconds the brokers forget every producer, again and again.",
    lambda dice: (FaultSpec("producer_id_expiry", AtTime(dice.between(500, 2_000)), 2_000),),
    connections.went_on_unknown,
    "PRD-IDM-02",
    "PRD-IDM-15",
    "E2E-DEL-02",
    guarantees=(Guarantee.IDEMPOTENT,),
)

OVER_QUOTA = _scenario(
    "over-quota",
    "For five seconds the client exceeds its quota, and is told to hold back.",
    lambda dice: (
        FaultSpec("quota", AtTime(dice.between(0, 500)), 5_000, {"bytes_per_s": dice.between(4_000, 10_000)}),
    ),
    broker_errors.throttled,
    "NET-CON-12",
    "NET-TMO-04",
    "PRD-EXP-01",
    config={"compression.type": "none"},
)

#: Brokers that lose acknowledged records. Of the promises about the log, only that of at-most-once still applies.
LOG_TRIMMED = _scenario(
    "log-trimmed",
    "The log is trimmed to its end during the load.",
    lambda dice: (FaultSpec("log_trim", OnFrame("Produce", after_ms=dice.between(500, 3_000)), 1_000),),
    connections.trimmed,
    "PRD-SND-01",
    "PRD-SND-16",
    "PRD-CLS-03",
    guarantees=(Guarantee.AT_MOST_ONCE,),
)

TOPIC_RECREATED = _scenario(
    "topic-recreated",
    "The topic is deleted, and created again under the same name a second later.",
    lambda dice: (FaultSpec("topic_recreate", AtTime(dice.between(500, 2_500)), 1_000),),
    broker_errors.no_topic,
    "MET-05",
    "PRD-SND-11",
    "PRD-SND-15",
    guarantees=(Guarantee.AT_MOST_ONCE,),
)
