"""The Java producer's settings translated for librdkafka (its CONFIGURATION.md), and those without an equivalent.

Names that both share are passed unchanged, and librdkafka itself rejects those that it does not know. They depend on
its version (``retry.backoff.max.ms`` was added in 2.3.0).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    Setting = str | int | bool

#: Java name -> librdkafka's. Its ``request.timeout.ms`` is only the time that the broker waits for
#: acknowledgements. The client waits for a response for ``socket.timeout.ms``. Its ``metadata.max.age.ms``
#: is when cached metadata expires. The refresh interval has another name.
RENAMED = {
    "request.timeout.ms": ("socket.timeout.ms", "request.timeout.ms"),
    "metadata.max.age.ms": ("topic.metadata.refresh.interval.ms",),
    "max.request.size": ("message.max.bytes",),
    "buffer.memory": ("queue.buffering.max.kbytes",),
}

#: Java name -> why librdkafka does not receive it.
ABSENT = {
    "max.block.ms": "produce() of librdkafka never blocks; the adapter retries a full local queue for this long",
}

#: librdkafka's other names for its properties.
ALIASES = {
    "compression.codec": "compression.type",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "message.send.max.retries": "retries",
    "message.timeout.ms": "delivery.timeout.ms",
    "metadata.broker.list": "bootstrap.servers",
    "queue.buffering.max.ms": "linger.ms",
    "request.required.acks": "acks",
}

_UNKNOWN = re.compile(r'No such configuration property: "([^"]+)"')


def translate(config: Mapping[str, Setting]) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Translate settings in Java names to (Java name -> librdkafka's properties, Java name -> why it has none)."""
    applied = {}
    for name, value in config.items():
        if name not in ABSENT:
            applied[name] = {own: text(own, value) for own in RENAMED.get(name, (name,))}
    return applied, {name: ABSENT[name] for name in config if name in ABSENT}


def unknown_property(message: str) -> str | None:
    """Return the property that librdkafka rejected as unknown in its version. None if the error is another one."""
    found = _UNKNOWN.search(message)
    return found.group(1) if found else None


def text(own: str, value: Setting) -> str:
    """Return a value as librdkafka reads it for its property ``own``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if own == "queue.buffering.max.kbytes":
        return str(max(1, int(value) // 1024))
    return str(value)
