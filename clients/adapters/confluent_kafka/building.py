"""Builds a client of librdkafka without the properties that its version does not have, since the versions differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import confluent_kafka  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clients.adapters.confluent_kafka.settings import ALIASES, unknown_property
    from clients.adapters.python_lib.verifiable import ConfigRefused
    from clients.adapters.python_lib.verifiable.adapter import Applied
else:
    from settings import ALIASES, unknown_property
    from verifiable import ConfigRefused


def first_text(version: Any) -> str:
    """Return the text of a version: old releases return a pair of text and number, new ones only the text."""
    return str(version[0] if isinstance(version, tuple) else version)


LIBRARY_VERSION = first_text(confluent_kafka.libversion())


def build(
    make: Callable[[dict[str, Any]], Any],
    wanted: dict[str, dict[str, Any]],
    not_set: dict[str, str],
    given: Mapping[str, str],
    given_not_set: dict[str, str],
) -> tuple[Any, Applied]:
    """Return what ``make`` builds, and which settings it has. ``wanted``: Java name -> librdkafka's properties.

    ``given`` are properties under their own names. What is not set is added to ``not_set`` and ``given_not_set``.
    Raises ConfigRefused.
    """
    left = dict(given)
    while True:
        own = {name: value for group in wanted.values() for name, value in group.items()}
        _keep_apart(left, own, given_not_set)
        try:
            made = make({**left, **own})
            break
        except confluent_kafka.KafkaException as error:
            name = unknown_property(error.args[0].str())
            why = f"librdkafka {LIBRARY_VERSION} has no property {name!r}"
            owner = next((java for java, group in wanted.items() if name in group), None)
            if owner is not None:
                del wanted[owner]
                not_set[owner] = why
            elif name in left:
                del left[name]
                given_not_set[name] = why
            else:
                raise ConfigRefused(error.args[0].str()) from error
        except ValueError as error:
            raise ConfigRefused(str(error)) from error
    return made, {java: (", ".join(group), next(iter(group.values()))) for java, group in wanted.items()}


def _keep_apart(given: dict[str, str], own: Mapping[str, Any], not_set: dict[str, str]) -> None:
    """Remove from ``given`` what the harness sets itself, under the same name or an older one."""
    for name in [name for name in given if ALIASES.get(name, name) in own]:
        del given[name]
        not_set[name] = "the harness sets it"
