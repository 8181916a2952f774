"""Request and response headers: what each side needs to know before it can read a message.

Each has two generations. A request header names the API and the version of the message that follows. In flexible
versions (KIP-482) it ends with tagged fields. A response header contains only the correlation id, so a response can be
read only with knowledge of its request. In flexible versions it has tagged fields too, except for ApiVersions: a client
that does not know the broker yet must always be able to read that response (KIP-511).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from kio.index import load_request_schema
from kio.schema.index import api_key_map, schema_name_map

from harness.wire import primitives as p
from harness.wire.apis import Api
from harness.wire.errors import WireError
from harness.wire.makers import filler

#: The size of the caches of recent messages (the same bytes are often read again), and the longest message cached.
REMEMBERED, REMEMBERED_BYTES = 64, 16_384

_NO_TAGS: Final = b"\x00"
#: API key, version, correlation id, and the size of the client id.
_FIXED: Final = struct.Struct(">hhih")


@dataclass(frozen=True, slots=True)
class RequestHeader:
    """The header of a request: its API and version, its correlation id and its client id."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


_make_header: Final = filler(RequestHeader)


# The cache is bounded because a hostile peer may claim any of the 2^32 combinations of key and version.
@lru_cache(maxsize=4096)
def is_flexible(api_key: int, api_version: int) -> bool:
    """Return whether a version of an API is flexible. Versions that kio does not know are supported too.

    An API never goes back from flexible to inflexible versions, so a version above kio's range is like its highest and
    one below is like its lowest. An API that kio does not know is newer than kio, so it is flexible from its
    first version.
    """
    if api_key not in api_key_map:
        return True
    known = schema_name_map[api_key_map[api_key]]
    return load_request_schema(api_key, min(max(api_version, min(known)), max(known))).__flexible__


def write_request_header(header: RequestHeader) -> bytes:
    """Encode a request header, in the generation that its API and version require."""
    return request_header(header.api_key, header.api_version, header.correlation_id, header.client_id)


def request_header(api_key: int, api_version: int, correlation_id: int, client_id: str | None) -> bytes:
    """Encode a request header from its fields. Raises :class:`WireError` if a value does not fit its field."""
    tail = _NO_TAGS if is_flexible(api_key, api_version) else b""
    try:
        # The client id is a legacy string in both generations, so that a broker of any age can read it.
        if client_id is None:
            return _FIXED.pack(api_key, api_version, correlation_id, -1) + tail
        name = client_id.encode()
        return _FIXED.pack(api_key, api_version, correlation_id, len(name)) + name + tail
    except (struct.error, UnicodeEncodeError) as error:
        header = RequestHeader(api_key, api_version, correlation_id, client_id)
        raise WireError(
            "request-header-range", "{header} does not fit a request header: {why}", header=header, why=error
        ) from error


def read_request_header(payload: p.Data) -> tuple[RequestHeader, int]:
    """Return the header of a request's payload, and the position where its body begins. Raises :class:`WireError`."""
    if isinstance(payload, bytes) and len(payload) <= REMEMBERED_BYTES:
        return _remembered(payload)
    return _read_request_header(payload)


def _read_request_header(payload: p.Data) -> tuple[RequestHeader, int]:
    try:
        api_key, api_version, correlation_id, size = _FIXED.unpack_from(payload)
    except struct.error:
        raise WireError(
            "request-header-cut-off",
            "a request of {count} bytes is cut off in its header",
            count=len(payload),
        ) from None
    at = _FIXED.size + max(size, 0)
    if size < -1 or at > len(payload):
        raise WireError(
            "client-id-cut-off",
            "the client id of a request claims {size} bytes, {left} are left",
            size=size,
            left=len(payload) - _FIXED.size,
        )
    try:
        client_id = None if size < 0 else str(payload[_FIXED.size : at], "utf-8")
    except UnicodeDecodeError:
        raise WireError("client-id-not-utf-8", "the client id of a request is not UTF-8") from None
    if is_flexible(api_key, api_version):
        at = at + 1 if payload[at : at + 1] == _NO_TAGS else p.skip_tags(payload, at)
    return _make_header(api_key, api_version, correlation_id, client_id), at


#: The witness and the peer read the same header shortly after each other.
_remembered: Final = lru_cache(REMEMBERED)(_read_request_header)


def write_response_header(api_key: int, api_version: int, correlation_id: int) -> bytes:
    """Encode the header of a response to a request of this API and version."""
    try:
        fixed = correlation_id.to_bytes(4, "big", signed=True)
    except OverflowError as error:
        raise WireError(
            "correlation-id-range",
            "the correlation id {correlation_id} does not fit an int32",
            correlation_id=correlation_id,
        ) from error
    return fixed + (_NO_TAGS if _response_is_tagged(api_key, api_version) else b"")


def read_response_header(payload: p.Data, api_key: int, api_version: int) -> tuple[int, int]:
    """Return the correlation id of a response's payload, and the position of its body. Raises :class:`WireError`."""
    if len(payload) < 4:
        raise WireError(
            "response-header-cut-off",
            "a response of {count} bytes is cut off in its header",
            count=len(payload),
        )
    correlation_id = int.from_bytes(payload[:4], "big", signed=True)
    if _response_is_tagged(api_key, api_version):
        return correlation_id, 5 if payload[4:5] == _NO_TAGS else p.skip_tags(payload, 4)
    return correlation_id, 4


@lru_cache(maxsize=4096)
def _response_is_tagged(api_key: int, api_version: int) -> bool:
    return api_key != Api.API_VERSIONS and is_flexible(api_key, api_version)
