"""InitProducerId: a new producer id each time, or a transactional id's producer id with its epoch bumped.

Without a transactional id, the producer id and epoch in the request are only validated: an idempotent producer bumps
its own epoch (KIP-360).
"""

from __future__ import annotations

from typing import Final

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request, milliseconds
from harness.brokers.scripted.apis.coordinators import TRANSACTION, coordinator
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.state import ClusterState, TransactionalProducer
from harness.wire.apis import Api
from harness.wire.messages import encode_response
from harness.wire.records import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

#: The last epoch that is assigned; ``TransactionMetadata#isEpochExhausted``.
LAST_EPOCH: Final = 2**15 - 2
_FENCED_FROM_VERSION: Final = 4


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request: respond with the id and epoch, or with only an error code."""
    producer_id, epoch, code = NO_PRODUCER_ID, NO_PRODUCER_EPOCH, ErrorCode.none
    error = state.take_error(Api.INIT_PRODUCER_ID) if state.injected else None
    if error is not None:
        code = error.code
    else:
        try:
            producer_id, epoch = _assign(state, request)
        except RequestRefused as refused:
            code = refused.code
    if code == ErrorCode.producer_fenced and request.version < _FENCED_FROM_VERSION:
        code = ErrorCode.invalid_producer_epoch
    message = maker(Api.INIT_PRODUCER_ID, request.version, "InitProducerIdResponse")(
        throttle_time=milliseconds(request.throttle_ms),
        error_code=code,
        producer_id=producer_id,
        producer_epoch=epoch,
    )
    return Answer(encode_response(message, request.header.correlation_id), request.now_ns)


def _assign(state: ClusterState, request: Request) -> tuple[int, int]:
    body = request.body
    transactional_id = body.transactional_id
    settings = state.settings
    if transactional_id is None:
        if settings.cluster_denied:
            raise RequestRefused(ErrorCode.cluster_authorization_failed)
    elif transactional_id in settings.denied_transactional_ids:
        raise RequestRefused(ErrorCode.transactional_id_authorization_failed)
    expected = (
        getattr(body, "producer_id", NO_PRODUCER_ID),
        getattr(body, "producer_epoch", NO_PRODUCER_EPOCH),
    )
    if (expected[0] == NO_PRODUCER_ID) != (expected[1] == NO_PRODUCER_EPOCH):
        raise RequestRefused(ErrorCode.invalid_request)
    if transactional_id is None:
        return state.generate_producer_id(request.node_id), 0
    timeout_ms = body.transaction_timeout // milliseconds(1)
    return _assign_transactional(state, request, transactional_id, timeout_ms, expected)


def _assign_transactional(
    state: ClusterState, request: Request, transactional_id: str, timeout_ms: int, expected: tuple[int, int]
) -> tuple[int, int]:
    settings = state.settings
    if not transactional_id:
        raise RequestRefused(ErrorCode.invalid_request)
    if not 0 < timeout_ms <= settings.transaction_max_timeout_ms:
        raise RequestRefused(ErrorCode.invalid_transaction_timeout)
    if settings.coordinator_load_in_progress:
        raise RequestRefused(ErrorCode.coordinator_load_in_progress)
    if coordinator(state, transactional_id, TRANSACTION) != request.node_id:
        raise RequestRefused(ErrorCode.not_coordinator)
    known = state.transactions.get(transactional_id)
    if known is None:
        new_id = state.generate_producer_id(request.node_id)
        known = TransactionalProducer(new_id, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
        state.transactions[transactional_id] = known
    return _bump(state, request, known, None if expected[0] == NO_PRODUCER_ID else expected)


def _bump(
    state: ClusterState, request: Request, known: TransactionalProducer, expected: tuple[int, int] | None
) -> tuple[int, int]:
    """Return the next epoch, or a new id after the last epoch. Another expected epoch is fenced (KIP-360)."""
    is_new = known.producer_epoch == NO_PRODUCER_EPOCH
    if expected is not None and not is_new and expected != (known.producer_id, known.producer_epoch):
        if expected == (known.last_producer_id, known.last_producer_epoch):
            return known.producer_id, known.producer_epoch  # a retry of an attempt whose response was lost
        raise RequestRefused(ErrorCode.producer_fenced)
    is_retryable = expected is not None
    known.last_producer_id = known.producer_id if is_retryable else NO_PRODUCER_ID
    known.last_producer_epoch = known.producer_epoch if is_retryable else NO_PRODUCER_EPOCH
    if known.producer_epoch >= LAST_EPOCH:
        known.producer_id, known.producer_epoch = state.generate_producer_id(request.node_id), 0
    else:
        known.producer_epoch += 1
    return known.producer_id, known.producer_epoch
