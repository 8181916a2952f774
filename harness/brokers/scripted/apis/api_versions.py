"""ApiVersions: the versions that the broker supports. An unsupported version is answered in version 0 (KIP-511)."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request, milliseconds
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.releases import RELEASES, Ranges
from harness.brokers.scripted.state import ClusterState
from harness.wire.apis import Api
from harness.wire.headers import RequestHeader
from harness.wire.messages import encode_response

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_NAMED_FROM_VERSION: Final = 3


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request. The error is INVALID_REQUEST if the client's software name or version is malformed."""
    code, is_well_named = ErrorCode.none, True
    if request.version >= _NAMED_FROM_VERSION and not _is_well_named(request.body):
        code, is_well_named = ErrorCode.invalid_request, False
    if state.injected and (error := state.take_error(Api.API_VERSIONS)):
        code = error.code
    if is_well_named:
        message = _of_release(request.version, code, state.release.version, request.throttle_ms)
    else:
        message = _message(request.version, code, {}, request.throttle_ms)
    return Answer(encode_response(message, request.header.correlation_id), request.now_ns)


def unsupported(state: ClusterState, header: RequestHeader, now_ns: int) -> Answer:
    """Answer an unsupported version in version 0, with only the range of ApiVersions."""
    offered = {int(Api.API_VERSIONS): state.release.ranges[Api.API_VERSIONS]}
    message = _message(0, ErrorCode.unsupported_version, offered, 0)
    return Answer(encode_response(message, header.correlation_id), now_ns)


def _is_well_named(body: Any) -> bool:
    return all(
        _SOFTWARE.fullmatch(name) for name in (body.client_software_name, body.client_software_version)
    )


@cache
def _of_release(version: int, code: ErrorCode, release: str, throttle_ms: int) -> Any:
    """Return the response of a release. It is cached because it is long, and requested on every connection."""
    return _message(version, code, RELEASES[release].ranges, throttle_ms)


def _message(version: int, code: ErrorCode, offered: Ranges, throttle_ms: int) -> Any:
    entry = maker(Api.API_VERSIONS, version, "ApiVersion")
    return maker(Api.API_VERSIONS, version, "ApiVersionsResponse")(
        error_code=code,
        api_keys=tuple(
            entry(api_key=int(key), min_version=low, max_version=high) for key, (low, high) in offered.items()
        ),
        throttle_time=milliseconds(throttle_ms),
    )
