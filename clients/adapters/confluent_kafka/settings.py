"""The Java producer's settings in librdkafka's words (its CONFIGURATION.md), and those that it has no word for.

Names that both share pass through unchanged, and librdkafka itself says which of them it does not know: that
depends on its version (``retry.backoff.max.ms`` came with 2.3.0).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    Setting = str | int | bool

#: Java name -> librdkafka's. Its ``request.timeout.ms`` is only what the broker is told to wait for
#: acknowledgements; how long the client waits for an answer is ``socket.timeout.ms``. Its ``metadata.max.age.ms``
#: is when cached metadata dies, the refresh has another name.
RENAMED = {
    "request.timeout.ms": ("socket.timeout.ms", "request.timeout.ms"),
    "metadata.max.age.ms": ("topic.metadata.refresh.interval.ms",),
    "max.request.size": ("message.max.bytes",),
    "buffer.memory": ("queue.buffering.max.kbytes",),
}

#: Java name -> why it is not given to librdkafka.
ABSENT = {
    "max.block.ms": "produce() of librdkafka never blocks; the adapter retries a full local queue for this long",
}

_UNKNOWN = re.compile(r'No such configuration property: "([^"]+)"')


def translate(config: Mapping[str, Setting]) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Settings in Java names -> (Java name -> librdkafka's properties, Java name -> why it has none)."""
    applied = {}
    for name, value in config.items():
        if name not in ABSENT:
            applied[name] = {own: _text(own, value) for own in RENAMED.get(name, (name,))}
    return applied, {name: ABSENT[name] for name in config if name in ABSENT}


def unknown_property(message: str) -> str | None:
    """The property that librdkafka refused because its version has none of that name; None if that is not why."""
    found = _UNKNOWN.search(message)
    return found.group(1) if found else None


def _text(own: str, value: Setting) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if own == "queue.buffering.max.kbytes":
        return str(max(1, int(value) // 1024))
    return str(value)
