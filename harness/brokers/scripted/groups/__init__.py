"""The group coordinator: classic groups, groups of KIP-848, and the offsets that both commit.

:class:`~harness.brokers.scripted.groups.coordinator.GroupCoordinator` finds the groups of a broker, and moves them when
another broker becomes their coordinator. The facts come from Kafka's ``GroupMetadataManager`` and ``ClassicGroup``.
"""
