"""Situations that cannot arise because a cluster or a client lacks what the scenario needs. Such trials are not run.

The plan gives the number of brokers if their kind knows it. The client reports its number of requests in flight when it
is configured. Each function returns the error of the unsupported trial, or None. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.errors import KafkaTrialError, UsageError
from harness.model.spec import ClientRef, TrialSpec
from harness.plugins import registry

ASSIGNOR = "partition.assignment.strategy"
IN_FLIGHT = "max.in.flight.requests.per.connection"


class NotOffered(KafkaTrialError):
    """The client or the cluster lacks what the guarantee or the scenario needs."""


def by_plan(spec: TrialSpec) -> NotOffered | None:
    """Return the error if the plan has fewer brokers than the scenario needs."""
    kind, _, broker_id = spec.broker.partition(":")
    try:
        say = getattr(registry.broker(kind), "needs", None)
    except UsageError:
        return None
    return None if say is None else on_brokers(spec, say(broker_id).nodes)


def on_brokers(spec: TrialSpec, nodes: int) -> NotOffered | None:
    """Return the same for a cluster of ``nodes`` brokers."""
    least = registry.scenario(spec.scenario).needs_brokers
    if nodes >= least:
        return None
    return NotOffered(
        "too-few-brokers",
        "scenario {scenario} needs {least} brokers, and {broker} has {nodes}",
        scenario=spec.scenario,
        least=least,
        broker=spec.broker,
        nodes=nodes,
    )


def feature(client: ClientRef, needed: str) -> NotOffered:
    """Return the error for a client without the feature that the guarantee needs."""
    return NotOffered("feature-not-offered", "{client} does not offer {needed}", client=client, needed=needed)


def in_flight(spec: TrialSpec, not_set: Mapping[str, str]) -> NotOffered | None:
    """Return the error if a client has one request in flight and the scenario needs several.

    A client that does not accept a number of requests in flight has one, whatever reason it gives.
    """
    least = registry.scenario(spec.scenario).needs_in_flight
    if least > 1 and IN_FLIGHT in not_set:
        return NotOffered(
            "too-few-in-flight",
            "scenario {scenario} needs {least} requests in flight on a connection, and {client} "
            "cannot be given their number: {why}",
            scenario=spec.scenario,
            least=least,
            client=spec.client,
            why=not_set[IN_FLIGHT],
        )
    return None


def assignor(spec: TrialSpec, not_set: Mapping[str, str]) -> NotOffered | None:
    """Return the error if a client cannot be given the assignor on which it must agree with its companions."""
    if spec.companions and ASSIGNOR in not_set:
        return NotOffered(
            "assignor-not-agreed",
            "scenario {scenario} needs one assignor for all clients of a group, and {client} cannot be given it: {why}",
            scenario=spec.scenario,
            client=spec.client,
            why=not_set[ASSIGNOR],
        )
    return None


def upgrade(
    process: str, change: Mapping[str, str | int | bool | None], not_set: Mapping[str, str]
) -> NotOffered | None:
    """Return the error if a process cannot be given a setting that its upgrade changes."""
    for name, value in change.items():
        if value is not None and name in not_set:
            return NotOffered(
                "upgrade-not-offered",
                "process {process} is an upgrade that needs {setting} {value}, which cannot be set: {why}",
                process=process,
                setting=name,
                value=str(value),
                why=not_set[name],
            )
    return None


def companions_here(spec: TrialSpec) -> NotOffered:
    """Return the error of a simulated trial with several clients in one group."""
    return NotOffered(
        "companions-not-simulated",
        "simulated mode has the reference client only, and the group of trial {trial!r} has {companions} too",
        trial=spec.trial,
        companions=tuple(map(str, spec.companions)),
    )
