"""Random schedules: faults of any kind at any time of the load, which may overlap.

Everything is drawn from the scenario's own random streams, so a seed determines a schedule.
``generated/network`` has only kinds that live mode has too, and is short. ``generated/any`` adds kinds
of simulated mode, small limits that are reached, and brokers that are far away for a while. One fault
with an effect is enough, since a random fault may come too late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from harness.model.dice import Dice
from harness.model.mode import SIMULATED_ONLY
from harness.model.spec import AtTime, FaultSpec
from harness.model.verdicts import Guarantee
from harness.planning.fault_strategies import any_moment, on_its_way, unlike
from harness.plugins.scenario import Config, Scenario
from suites.analysis.attempts import PRODUCE
from suites.analysis.contradicted import SAID
from suites.scenarios.drawn import (
    ANYTHING,
    FAULTS,
    GUARANTEES,
    SHORT_LOAD_MS,
    any_batching,
    any_workload,
)
from suites.scenarios.effects import broker_errors, consequence

LONG_LOAD_MS = 20_000
MAX_DURATION_MS = 4_000
UNLIMITED = 2_147_483_647
#: How much longer than its request timeout a producer's delivery timeout is at least, linger included.
SHORTLY_MS = 200

#: Kinds that always affect something if they begin with a request in transit, and their shortest duration.
SURE = ("latency", "disconnect", "reset", "dropped_response", "refuse")
SURE_MS = 1_000

Params = Callable[[Dice], dict[str, int]]


def _none(_: Dice) -> dict[str, int]:
    return {}


def _latency(dice: Dice) -> dict[str, int]:
    return {"upstream_ms": dice.between(1, 400), "downstream_ms": dice.between(1, 400)}


def _bandwidth(dice: Dice) -> dict[str, int]:
    return {
        "upstream_bytes_per_s": dice.choice((300, 2_000, 20_000)),
        "downstream_bytes_per_s": dice.choice((0, 100, 2_000)),
    }


def _slicer(dice: Dice) -> dict[str, int]:
    # Single bytes cost an event each. They are sent without a delay so that they end soon; larger pieces may
    # have one.
    size_bytes = dice.choice((1, 3, 7, 64, 256))
    return {"size_bytes": size_bytes, "delay_us": 0 if size_bytes < 64 else dice.between(0, 100_000)}


def _torn_frame(dice: Dice) -> dict[str, int]:
    return {
        "upstream": dice.between(0, 1),
        "at_byte": dice.choice((0, 1, 3, 4, 5, 11, 40, 1_000_000)),
        "reset": dice.between(0, 1),
    }


def _error_response(dice: Dice) -> dict[str, int]:
    # Codes that a client may retry. Codes 7 and 20 may be used after an append.
    code = dice.choice((3, 5, 6, 7, 19, 20))
    after_append = int(code in (7, 20)) * dice.between(0, 1)
    return {"api": 0, "code": code, "count": dice.between(1, 3), "after_append": after_append}


def _throttle(dice: Dice) -> dict[str, int]:
    return {"api": 0, "throttle_ms": dice.between(10, 3_000)}


def _size_limit(dice: Dice) -> dict[str, int]:
    # Never below one record, which would rightly be refused permanently.
    return {"bytes": dice.between(400, 2_000)}


NETWORK: Mapping[str, Params] = {
    "latency": _latency,
    "disconnect": _none,
    "reset": _none,
    "dropped_response": _none,
    "refuse": _none,
}

#: Kinds under which every promise still holds. Brokers that forget records (``topic_recreate``, ``log_trim``)
#: or sequences (``producer_id_expiry``) break promises themselves, and are left to scenarios that account for
#: it.
ANY: Mapping[str, Params] = dict(NETWORK) | {
    "bandwidth": _bandwidth,
    "slicer": _slicer,
    "half_open": _none,
    "dropped_request": _none,
    "connect_timeout": _none,
    "torn_frame": _torn_frame,
    "broker_kill": _none,
    "broker_pause": _none,
    "error_response": _error_response,
    "leader_move": _none,
    "message_size_limit": _size_limit,
    "min_isr": _none,
    "throttle": _throttle,
    "topic_growth": _none,
}


def _schedule(kinds: Mapping[str, Params], load_ms: int) -> Callable[[Dice], tuple[FaultSpec, ...]]:
    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        more = (_fault(dice, kinds, load_ms) for _ in range(dice.choice(FAULTS) - 1))
        return unlike((_sure(dice, kinds, load_ms), *more))

    return drawn


def _sequences(dice: Dice) -> tuple[FaultSpec, ...]:
    return unlike(
        FaultSpec(
            "error_response",
            AtTime(dice.between(0, SHORT_LOAD_MS // 2)),
            SHORT_LOAD_MS // 2,
            {"api": 0, "code": dice.choice(SAID), "count": dice.between(1, 4)},
        )
        for _ in range(dice.between(1, 3))
    )


def _sure(dice: Dice, kinds: Mapping[str, Params], load_ms: int) -> FaultSpec:
    """Draw a fault that meets a request in transit, so that every schedule proves something about the client."""
    kind = dice.choice(SURE)
    return FaultSpec(
        kind, on_its_way(dice, load_ms, PRODUCE), dice.between(SURE_MS, 2 * SURE_MS), kinds[kind](dice)
    )


def _fault(dice: Dice, kinds: Mapping[str, Params], load_ms: int) -> FaultSpec:
    kind = dice.choice(sorted(kinds))
    duration_ms = dice.choice((0, 200, 2_000, MAX_DURATION_MS, MAX_DURATION_MS))
    return FaultSpec(
        kind=kind,
        start=any_moment(dice, load_ms, PRODUCE),
        duration_ms=dice.between(duration_ms // 2, duration_ms),
        params=kinds[kind](dice),
    )


def _any_config(dice: Dice) -> Config:
    request_ms = dice.choice((1_000, 3_000, 5_000))
    return any_batching(dice) | {
        "buffer.memory": dice.choice((32_768, 33_554_432, 33_554_432)),
        # The shortest timeout passes before most faults end.
        "delivery.timeout.ms": dice.choice((request_ms + SHORTLY_MS, 6_000, 12_000, 30_000)),
        "request.timeout.ms": request_ms,
        "retries": dice.choice((2, UNLIMITED, UNLIMITED, UNLIMITED)),
        "retry.backoff.ms": dice.choice((10, 100, 500)),
    }


NETWORK_SCENARIO = Scenario(
    name="generated/network",
    summary="Two to six faults of the network at random moments, overlapping, for a few seconds.",
    schedule=_schedule(NETWORK, SHORT_LOAD_MS),
    consequence=consequence.hit,
    exercises=ANYTHING,
    guarantees=GUARANTEES,
    draw_config=any_batching,
    draw_workload=any_workload(SHORT_LOAD_MS),
    require_all_faults=False,
    opt_in=True,
)

ANY_SCENARIO = Scenario(
    name="generated/any",
    summary="Two to six faults of any simulated kind at random moments, overlapping, over twenty virtual seconds.",
    schedule=_schedule(ANY, LONG_LOAD_MS),
    consequence=consequence.hit,
    exercises=ANYTHING,
    guarantees=GUARANTEES,
    draw_config=_any_config,
    draw_workload=any_workload(LONG_LOAD_MS),
    require_all_faults=False,
    modes=SIMULATED_ONLY,
    opt_in=True,
)

SEQUENCES_SCENARIO = Scenario(
    name="generated/sequences",
    summary="Brokers refuse batches that they have not stored, although their sequence is the next one.",
    schedule=_sequences,
    consequence=broker_errors.sequence_refused,
    exercises=("PRD-IDM-07", "PRD-IDM-08", "PRD-IDM-09", "PRD-IDM-10", "PRD-IDM-12"),
    guarantees=(Guarantee.IDEMPOTENT,),
    draw_config=any_batching,
    draw_workload=any_workload(SHORT_LOAD_MS),
    require_all_faults=False,
    modes=SIMULATED_ONLY,
    opt_in=True,
)
