"""FindCoordinator: the coordinator of a group or transactional id; of many keys from version 4 on (KIP-699)."""

from __future__ import annotations

from typing import Any, Final

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request, milliseconds
from harness.brokers.scripted.apis.coordinators import GROUP, NO_NODE, TRANSACTION, coordinator
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.state import ClusterState
from harness.wire.apis import Api
from harness.wire.messages import encode_response

_BATCHED_FROM_VERSION: Final = 4


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request. The error is COORDINATOR_NOT_AVAILABLE if there is no coordinator at the moment."""
    body, version = request.body, request.version
    error = state.take_error(Api.FIND_COORDINATOR) if state.injected else None
    key_type = int(getattr(body, "key_type", GROUP))
    keys = body.coordinator_keys if version >= _BATCHED_FROM_VERSION else (body.key,)
    found = [_found(state, key_type, key, error.code if error else ErrorCode.none) for key in keys]
    if version >= _BATCHED_FROM_VERSION:
        entry = maker(Api.FIND_COORDINATOR, version, "Coordinator")
        values: dict[str, Any] = {"coordinators": tuple(entry(**each) for each in found)}
    else:
        values = found[0]
    message = maker(Api.FIND_COORDINATOR, version, "FindCoordinatorResponse")(
        throttle_time=milliseconds(request.throttle_ms), **values
    )
    return Answer(encode_response(message, request.header.correlation_id), request.now_ns)


def _found(state: ClusterState, key_type: int, key: str, code: ErrorCode) -> dict[str, Any]:
    node_id = NO_NODE
    if code is not ErrorCode.none:
        pass
    elif key_type not in (GROUP, TRANSACTION):
        code = ErrorCode.invalid_request
    elif key_type == TRANSACTION and key in state.settings.denied_transactional_ids:
        code = ErrorCode.transactional_id_authorization_failed
    else:
        node_id = coordinator(state, key, key_type)
        code = ErrorCode.coordinator_not_available if node_id == NO_NODE else ErrorCode.none
    host, port = state.nodes[node_id].address if node_id != NO_NODE else ("", -1)
    return {
        "key": key,
        "error_code": code,
        "error_message": None,
        "node_id": node_id,
        "host": host,
        "port": port,
    }
