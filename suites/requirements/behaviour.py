"""The fields of a behaviour, and the functions that declare one."""

from __future__ import annotations

from dataclasses import dataclass

from harness.model.verdicts import Level
from harness.plugins import behaviour

ANY_CLIENT = "any client"
REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Behaviour(behaviour.Behaviour):
    """One behaviour of the catalogue.

    ``scope`` says on which clients it can be judged: on any client, by the wire, the log and its answers, or
    only on the reference client, by its trace. ``implemented`` names places in this repository as "path:
    name". ``not_yet`` is the reason why the behaviour does not count as judged, or None if it does.
    ``not_yet_in_part`` says which part of it is not judged. ``on_any_client`` says which part checks judge, if it is
    not the whole: properties judge the rest on the reference client.
    """

    scope: str
    implemented: tuple[str, ...]
    not_yet: str | None
    not_yet_in_part: str | None = None
    on_any_client: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The behaviours whose ids start with ``prefix``, in the order of their numbers."""

    prefix: str
    title: str
    behaviours: tuple[Behaviour, ...]


def must(
    id: str,
    statement: str,
    source: str,
    *implemented: str,
    scope: str = ANY_CLIENT,
    not_yet: str | None = None,
    not_yet_in_part: str | None = None,
    on_any_client: str | None = None,
) -> Behaviour:
    """Declare a rule of the protocol or a safety promise. A client that differs is wrong."""
    return Behaviour(
        id, Level.MUST, statement, source, scope, implemented, not_yet, not_yet_in_part, on_any_client
    )


def should(
    id: str,
    statement: str,
    source: str,
    *implemented: str,
    scope: str = ANY_CLIENT,
    not_yet: str | None = None,
    not_yet_in_part: str | None = None,
    on_any_client: str | None = None,
) -> Behaviour:
    """Declare a behaviour of the Java client. A client that differs is merely different."""
    return Behaviour(
        id, Level.SHOULD, statement, source, scope, implemented, not_yet, not_yet_in_part, on_any_client
    )
