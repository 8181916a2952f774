"""The controls of transactions: the cluster's transaction version, and what is known of a transactional id."""

from __future__ import annotations

from harness.brokers.scripted.apis.coordinators import TRANSACTION, coordinator
from harness.brokers.scripted.group_controls import GroupControls
from harness.brokers.scripted.transactions.metadata import TransactionMetadata
from harness.model.errors import UsageError


class TransactionControls(GroupControls):
    """Changes of transactions from outside of Kafka's protocol. More are in :attr:`settings`."""

    def set_transaction_version(self, level: int) -> None:
        """Set the level of the feature ``transaction.version``. Raises UsageError if the release lacks it.

        Clients learn it with their next ApiVersions.
        """
        highest = self._state.release.transaction_version
        if not 0 <= level <= highest:
            raise UsageError(
                "transaction-version",
                "transaction.version {level} is not supported: 0 to {highest} are",
                level=level,
                highest=highest,
            )
        self.settings.transaction_version = level

    def transaction(self, transactional_id: str) -> TransactionMetadata | None:
        """Return what the coordinator has stored of a transactional id, or None."""
        return self._state.transactions.metadata(transactional_id)

    def transaction_coordinator(self, transactional_id: str) -> int:
        """Return the node that coordinates a transactional id, or -1."""
        return coordinator(self._state, transactional_id, TRANSACTION)
