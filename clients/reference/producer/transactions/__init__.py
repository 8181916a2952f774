"""Transactions of a producer: the state machine of TransactionManager, its requests, and their responses (KIP-98)."""
