"""Whether an EndTxn of a client may end a transaction (``TransactionCoordinator#endTransaction``).

A client that has lost a response sends its EndTxn again. Before transaction version 2, the state alone shows whether
the transaction has ended as the client wants. Since then the epoch shows it: a retry has the one before the current.
With the current epoch a client may abort at any time, because it need not know whether a transaction has begun.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.transactions.metadata import LAST_EPOCH, TransactionMetadata
from harness.brokers.scripted.transactions.states import TransactionState

_S = TransactionState
_ENDED: Final = {True: _S.COMPLETE_COMMIT, False: _S.COMPLETE_ABORT}


class EndAsked(NamedTuple):
    """What an EndTxn asks for."""

    producer_id: int
    producer_epoch: int
    commits: bool


def may_end_v1(known: TransactionMetadata, asked: EndAsked) -> bool:
    """Return whether the transaction ends now; False if it has already ended so. Raises RequestRefused."""
    if known.producer_id != asked.producer_id:
        raise RequestRefused(ErrorCode.invalid_producer_id_mapping)
    if known.producer_epoch != asked.producer_epoch:
        raise RequestRefused(ErrorCode.producer_fenced)
    if known.is_pending:
        raise RequestRefused(ErrorCode.concurrent_transactions)
    if known.state not in (_S.ONGOING, _ENDED[asked.commits]):
        raise RequestRefused(ErrorCode.invalid_txn_state)
    return known.state is _S.ONGOING


def may_end_v2(known: TransactionMetadata, asked: EndAsked) -> bool:
    """Do the same for a client with transaction version 2."""
    if known.is_pending:
        raise RequestRefused(ErrorCode.concurrent_transactions)
    is_current = known.producer_epoch == asked.producer_epoch
    is_rotated = (
        known.previous_producer_id == asked.producer_id
        and asked.producer_epoch == LAST_EPOCH
        and known.producer_epoch == 0
    )
    is_retry = known.producer_epoch == asked.producer_epoch + 1 or is_rotated
    if known.producer_id != asked.producer_id and not is_rotated:
        raise RequestRefused(ErrorCode.invalid_producer_id_mapping)
    has_ended = known.state in _ENDED.values()
    if not (is_current or (has_ended and is_retry)):
        raise RequestRefused(ErrorCode.producer_fenced)
    if known.state is _S.ONGOING:
        return True
    if has_ended and is_retry:
        if known.state is not _ENDED[asked.commits]:
            raise RequestRefused(ErrorCode.invalid_txn_state)
        return False
    if asked.commits:
        raise RequestRefused(ErrorCode.invalid_txn_state)
    return True
