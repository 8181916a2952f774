"""ApiVersions: the versions that the broker supports. An unsupported version is answered in version 0 (KIP-511).

Of the cluster's features, the response has the one that clients follow: ``transaction.version`` (KIP-890).
"""

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
_FROM_LEVEL_0_FROM_VERSION: Final = 4
_TRANSACTION_VERSION: Final = "transaction.version"
#: Clients compare the epochs of several brokers. The level is a setting of the whole cluster.
_FEATURES_EPOCH: Final = 1


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request. The error is INVALID_REQUEST if the client's software name or version is malformed."""
    code, is_well_named = ErrorCode.none, True
    if request.version >= _NAMED_FROM_VERSION and not _is_well_named(request.body):
        code, is_well_named = ErrorCode.invalid_request, False
    if state.injected and (error := state.take_error(Api.API_VERSIONS)):
        code = error.code
    if is_well_named:
        level = state.settings.transaction_version
        message = _of_release(request.version, code, state.release.version, level, request.throttle_ms)
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
def _of_release(
    version: int, code: ErrorCode, release: str, transaction_version: int, throttle_ms: int
) -> Any:
    """Return the response of a release. It is cached because it is long, and requested on every connection."""
    found = RELEASES[release]
    features: dict[str, Any] = {}
    if found.transaction_version and version >= _NAMED_FROM_VERSION:
        features = _features(version, found.transaction_version, transaction_version)
    return _message(version, code, found.ranges, throttle_ms, features)


def _features(version: int, highest: int, finalized: int) -> dict[str, Any]:
    """Return the feature ``transaction.version`` (KIP-584). Before version 4, features from level 0 on are left out."""
    supported = maker(Api.API_VERSIONS, version, "SupportedFeatureKey")
    level = maker(Api.API_VERSIONS, version, "FinalizedFeatureKey")
    return {
        "supported_features": (supported(name=_TRANSACTION_VERSION, min_version=0, max_version=highest),)
        if version >= _FROM_LEVEL_0_FROM_VERSION
        else (),
        "finalized_features": (
            level(name=_TRANSACTION_VERSION, max_version_level=finalized, min_version_level=finalized),
        )
        if finalized
        else (),
        "finalized_features_epoch": _FEATURES_EPOCH,
    }


def _message(
    version: int, code: ErrorCode, offered: Ranges, throttle_ms: int, features: dict[str, Any] | None = None
) -> Any:
    entry = maker(Api.API_VERSIONS, version, "ApiVersion")
    return maker(Api.API_VERSIONS, version, "ApiVersionsResponse")(
        error_code=code,
        api_keys=tuple(
            entry(api_key=int(key), min_version=low, max_version=high) for key, (low, high) in offered.items()
        ),
        throttle_time=milliseconds(throttle_ms),
        **(features or {}),
    )
