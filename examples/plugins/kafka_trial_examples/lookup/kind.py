"""The workload ``lookup``, as kafka-trial knows it."""

from __future__ import annotations

from typing import Final

from kafka_trial.api import Config, Guarantee, TrialSpec, WorkloadKind
from kafka_trial_examples.lookup.accounting import MEANING, count
from kafka_trial_examples.lookup.commands import Lookup, lookup
from kafka_trial_examples.lookup.tables import LOOKUPS

#: The feature that a client declares if it understands the command.
FEATURE: Final = "partition-lookup"

#: The settings of every client, in the names of Java's clients. There is no producer, and none of its settings.
PROFILE: Final[Config] = {
    "default.api.timeout.ms": 20_000,
    "reconnect.backoff.ms": 50,
    "request.timeout.ms": 3_000,
}


def config(guarantee: Guarantee, overrides: Config) -> Config:
    """Return the settings of a trial. The guarantee changes none of them."""
    return dict(sorted((PROFILE | overrides).items()))


def shown(spec: TrialSpec) -> dict[str, str]:
    """Return what pages show of a trial's load."""
    load = spec.workload
    return {"lookups": f"{load.records:,}, of {load.partitions:,} partitions"}


WORKLOAD: Final = WorkloadKind(
    name="lookup",
    summary="the client looks up how many partitions the topic has",
    command=lookup,
    commands=(Lookup,),
    features={Guarantee.AT_LEAST_ONCE: FEATURE},
    config=config,
    counts=count,
    meaning=MEANING,
    api="Metadata",
    apis=("ApiVersions",),
    done="answered",
    shown=shown,
    settings={name: range(2**31) for name in PROFILE},
    tables={"lookups": LOOKUPS},
)
