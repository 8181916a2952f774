"""The reference client: the Java client's design in Python, as a sans-IO core and a transport on sockets.

``from clients.reference import KafkaProducer`` is all that an application needs; it is loaded on first use, so
that importing the core imports no sockets and threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clients.reference.transport.kafka_producer import KafkaProducer

__all__ = ["KafkaProducer"]


def __getattr__(name: str) -> Any:
    if name == "KafkaProducer":
        from importlib import import_module

        return import_module("clients.reference.transport.kafka_producer").KafkaProducer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
