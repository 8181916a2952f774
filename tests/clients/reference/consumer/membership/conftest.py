"""Members of a group of KIP-848 against scripted brokers, in the world of the classic group's tests."""

from __future__ import annotations

from tests.clients.reference.consumer.coordinator.conftest import group

__all__ = ["group"]
