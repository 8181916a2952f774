"""The Java consumer's settings translated for librdkafka, and those without an equivalent.

The meaning of an automatic commit differs: librdkafka commits what the application has taken, Java what it has taken
before its latest poll. The client is on trial with this default. librdkafka's manual describes another way for
at-least-once: ``enable.auto.offset.store=false``, with an application that stores each offset itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clients.adapters.confluent_kafka.settings import Setting, text
    from clients.adapters.python_lib.verifiable import java
else:
    from settings import text
    from verifiable import java

#: Java name -> librdkafka's. See ``settings`` for the first two.
RENAMED = {
    "request.timeout.ms": ("socket.timeout.ms",),
    "metadata.max.age.ms": ("topic.metadata.refresh.interval.ms",),
    "fetch.max.wait.ms": ("fetch.wait.max.ms",),
}

#: Java name -> why librdkafka does not receive it.
ABSENT = {
    "default.api.timeout.ms": "each call has a timeout of its own, and commit() has none",
    "max.poll.records": "poll() returns one record; the adapter takes up to so many for one turn",
}

AUTO_COMMIT, PROTOCOL, RESET = "enable.auto.commit", "group.protocol", "auto.offset.reset"
#: What librdkafka refuses with ``group.protocol=consumer``.
OF_CLASSIC = ("heartbeat.interval.ms", "session.timeout.ms", java.STRATEGY)
ASSIGNORS = ("range", "roundrobin", "cooperative-sticky")
RESETS = {"none": "error"}

#: What a consumer without a group is given, since librdkafka requires a group, and commits to it by default.
WITHOUT_GROUP = {"group.id": "no-group", AUTO_COMMIT: "false"}


def translate(config: Mapping[str, Setting]) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Translate settings in Java names to (Java name -> librdkafka's properties, Java name -> why it has none)."""
    wanted: dict[str, dict[str, str]] = {}
    not_set: dict[str, str] = {}
    for name, value in config.items():
        why = ABSENT.get(name) or _why_not(name, value, config)
        if why:
            not_set[name] = why
        else:
            wanted[name] = _properties(name, value)
    return wanted, not_set


def _why_not(name: str, value: Setting, config: Mapping[str, Setting]) -> str | None:
    if name in OF_CLASSIC and config.get(PROTOCOL) == "consumer":
        return f"the brokers decide it with {PROTOCOL}=consumer"
    if name == java.STRATEGY:
        missing = [each for each in java.assignor_names(str(value)) if each not in ASSIGNORS]
        return f"{missing[0]!r} is not one of {', '.join(ASSIGNORS)}" if missing else None
    return None


def _properties(name: str, value: Setting) -> dict[str, str]:
    if name == java.STRATEGY:
        return {name: ",".join(java.assignor_names(str(value)))}
    if name == RESET:
        return {name: RESETS.get(str(value), str(value))}
    return {own: text(own, value) for own in RENAMED.get(name, (name,))}
