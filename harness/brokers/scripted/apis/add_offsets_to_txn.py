"""AddOffsetsToTxn: a producer adds the offsets of a group to its transaction, before it commits them with it."""

from __future__ import annotations

from typing import Final

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request
from harness.brokers.scripted.apis.coordinators import OFFSETS_TOPIC, offsets_partition
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replies import Reply
from harness.brokers.scripted.state import ClusterState
from harness.wire.apis import Api

_FENCED_FROM_VERSION: Final = 2


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request: the group's partition of ``__consumer_offsets`` becomes part of the transaction."""
    reply = Reply(state, request)
    try:
        _add(state, request)
        code = ErrorCode.none
    except RequestRefused as refused:
        code = refused.code
    if request.version < _FENCED_FROM_VERSION and code is ErrorCode.producer_fenced:
        code = ErrorCode.invalid_producer_epoch
    reply.send(error_code=code)
    return reply.answer()


def _add(state: ClusterState, request: Request) -> None:
    body, settings = request.body, state.settings
    error = state.take_error(Api.ADD_OFFSETS_TO_TXN) if state.injected else None
    if error is not None:
        raise RequestRefused(error.code)
    if body.transactional_id in settings.denied_transactional_ids:
        raise RequestRefused(ErrorCode.transactional_id_authorization_failed)
    if body.group_id in settings.denied_groups:
        raise RequestRefused(ErrorCode.group_authorization_failed)
    state.transactions.add_partitions(
        request.node_id,
        body.transactional_id,
        (body.producer_id, body.producer_epoch),
        [(OFFSETS_TOPIC, offsets_partition(state, body.group_id))],
        0,
    )
