"""EndTxn: a producer commits or aborts its transaction. The response does not wait for the markers.

From version 5 on, the response has the producer id and epoch of the next transaction (KIP-890).
"""

from __future__ import annotations

from typing import Final

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request
from harness.brokers.scripted.producer_state import BUMPS_FROM_VERSION
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replies import Reply
from harness.brokers.scripted.state import ClusterState
from harness.brokers.scripted.transactions.ending import EndAsked
from harness.wire.apis import Api
from harness.wire.records import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

_FENCED_FROM_VERSION: Final = 2
_BUMPS_FROM_VERSION: Final = 5


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request."""
    reply, code = Reply(state, request), ErrorCode.none
    producer_id, epoch = NO_PRODUCER_ID, NO_PRODUCER_EPOCH
    try:
        producer_id, epoch = _end(state, request)
    except RequestRefused as refused:
        code = refused.code
    if request.version < _FENCED_FROM_VERSION and code is ErrorCode.producer_fenced:
        code = ErrorCode.invalid_producer_epoch
    reply.send(error_code=code, producer_id=producer_id, producer_epoch=epoch)
    return reply.answer()


def _end(state: ClusterState, request: Request) -> tuple[int, int]:
    body = request.body
    error = state.take_error(Api.END_TXN) if state.injected else None
    if error is not None:
        raise RequestRefused(error.code)
    if body.transactional_id in state.settings.denied_transactional_ids:
        raise RequestRefused(ErrorCode.transactional_id_authorization_failed)
    asked = EndAsked(body.producer_id, body.producer_epoch, body.committed)
    version = BUMPS_FROM_VERSION if request.version >= _BUMPS_FROM_VERSION else 0
    return state.transactions.end(request.node_id, body.transactional_id, asked, version)
