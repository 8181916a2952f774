"""A plan is the finite list of trials that a campaign and one seed give: plain data, made by a pure function.

Everything that varies is decided here and written down before anything runs: fault windows, codecs, settings.
A plan can be printed, stored and compared; whoever runs it rolls no dice.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.dice import Dice
from harness.names import made_of
from harness.outcome import Guarantee
from harness.scenario import Scenario
from harness.spec import ClientRef, Plan, TrialSpec

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


#: Settings that every client gets, in the Java names, equal and explicit (clients.md 2.2: defaults differ).
PROFILE: dict[str, str | int | bool] = {
    "acks": "all",
    "batch.size": 16_384,
    "delivery.timeout.ms": 30_000,
    "linger.ms": 5,
    "max.block.ms": 10_000,
    "max.in.flight.requests.per.connection": 5,
    "metadata.max.age.ms": 10_000,
    "reconnect.backoff.max.ms": 1_000,
    "reconnect.backoff.ms": 50,
    "request.timeout.ms": 3_000,
    "retries": 2_147_483_647,
    "retry.backoff.max.ms": 1_000,
    "retry.backoff.ms": 100,
    "socket.connection.setup.timeout.ms": 3_000,
}


def producer_config(
    guarantee: Guarantee, codec: str, overrides: dict[str, str | int | bool]
) -> dict[str, str | int | bool]:
    """The Java-named settings that make a producer promise ``guarantee``."""
    promise: dict[str, str | int | bool] = {
        "compression.type": codec,
        "enable.idempotence": guarantee in (Guarantee.IDEMPOTENT, Guarantee.TRANSACTIONAL),
    }
    settings = PROFILE | promise | overrides
    if guarantee is Guarantee.AT_MOST_ONCE:
        settings["retries"] = 0  # whatever else is drawn: sending again is what is promised not to be done
    return dict(sorted(settings.items()))


def make_plan(
    scenarios: Sequence[Scenario], clients: Sequence[ClientRef], brokers: Sequence[str], seeds: Sequence[int]
) -> Plan:
    """Every client on every broker in every scenario under each of its guarantees, once a seed.

    The schedule and the codec depend on ``(seed, scenario)`` alone: all clients, and both guarantees, meet the
    very same faults.
    """
    trials = tuple(
        _trial(scenario, guarantee, client, broker, seed)
        for seed in seeds
        for broker in brokers
        for scenario in scenarios
        for guarantee in scenario.guarantees
        for client in clients
    )
    return Plan(seed=seeds[0] if seeds else 0, trials=trials)


def _trial(scenario: Scenario, guarantee: Guarantee, client: ClientRef, broker: str, seed: int) -> TrialSpec:
    name = scenario.name
    drawn = scenario.draw_config(Dice(seed, f"{name}/config")) if scenario.draw_config else {}
    workload = scenario.workload
    if scenario.draw_workload:
        workload = scenario.draw_workload(Dice(seed, f"{name}/workload"))
    label = "-".join((name.replace("/", "-"), guarantee, str(client), broker.replace(":", "-"), f"s{seed}"))
    return TrialSpec(
        trial=made_of(label),
        client=client,
        broker=broker,
        scenario=name,
        guarantee=guarantee,
        seed=seed,
        workload=workload,
        faults=scenario.schedule(Dice(seed, f"{name}/schedule")),
        config=producer_config(
            guarantee, Dice(seed, f"{name}/codec").choice(CODECS), scenario.config | drawn
        ),
        alone=scenario.alone,
    )
