"""InitProducerId: a new producer id each time, or a transactional id's producer id with its epoch bumped.

An open transaction of the transactional id is aborted first, and the client asks again until it has ended. Without a
transactional id, the producer id and epoch in the request are only validated: an idempotent producer bumps its own
epoch (KIP-360).
"""

from __future__ import annotations

from typing import Final

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request, milliseconds
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.state import ClusterState
from harness.wire.apis import Api
from harness.wire.messages import encode_response
from harness.wire.records import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

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
    if not transactional_id:
        raise RequestRefused(ErrorCode.invalid_request)
    if not 0 < timeout_ms <= settings.transaction_max_timeout_ms:
        raise RequestRefused(ErrorCode.invalid_transaction_timeout)
    return state.transactions.init_producer_id(
        request.node_id, transactional_id, timeout_ms, None if expected[0] == NO_PRODUCER_ID else expected
    )
