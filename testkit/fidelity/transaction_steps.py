"""The elements of plans about transactions: the requests of transactional producers, zombies among them.

A producer has the plan's own name, and keeps the producer id and epoch that it was told last. Several producers may
have the same transactional id: the ones that were replaced are zombies. What a step sends is relative to what its
producer knows, so that a plan is played alike by brokers that choose other ids.
"""

from __future__ import annotations

from dataclasses import dataclass

from testkit.fidelity.group_steps import OWN, CommitPart
from testkit.fidelity.targets import COORDINATOR


@dataclass(frozen=True, slots=True)
class InitTransactions:
    """InitProducerId. With ``continues`` the producer sends the ids that it has (KIP-360), ``ahead`` of its epoch."""

    version: int
    transactional_id: str
    producer: str
    continues: bool = False
    ahead: int = 0
    timeout_ms: int = 600_000
    node: int = COORDINATOR


@dataclass(frozen=True, slots=True)
class AddToTransaction:
    """AddPartitionsToTxn. From version 4 on it may only verify (``verify_only``)."""

    version: int
    transactional_id: str
    producer: str
    parts: tuple[tuple[str, int], ...]
    ahead: int = 0
    verify_only: bool = False
    node: int = COORDINATOR


@dataclass(frozen=True, slots=True)
class ProduceInTransaction:
    """Produce one batch for each part. ``sequence_ahead`` is the distance from the right sequence."""

    version: int
    transactional_id: str
    producer: str
    parts: tuple[tuple[str, int], ...]
    tag: str
    count: int = 1
    ahead: int = 0
    sequence_ahead: int = 0
    transactional: bool = True


@dataclass(frozen=True, slots=True)
class AddGroupToTransaction:
    """AddOffsetsToTxn."""

    version: int
    transactional_id: str
    producer: str
    group: str
    ahead: int = 0
    node: int = COORDINATOR


@dataclass(frozen=True, slots=True)
class CommitInTransaction:
    """TxnOffsetCommit. Without ``member``, for a client outside of the group."""

    version: int
    transactional_id: str
    producer: str
    group: str
    parts: tuple[CommitPart, ...]
    ahead: int = 0
    member: str | None = None
    member_id: str = OWN
    generation_ahead: int = 0
    node: int = COORDINATOR


@dataclass(frozen=True, slots=True)
class FinishTransaction:
    """EndTxn. The next step follows when the markers are written."""

    version: int
    transactional_id: str
    producer: str
    commit: bool
    ahead: int = 0
    node: int = COORDINATOR


TransactionStep = (
    InitTransactions
    | AddToTransaction
    | ProduceInTransaction
    | AddGroupToTransaction
    | CommitInTransaction
    | FinishTransaction
)
