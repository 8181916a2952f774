"""Request and response headers: what the peers need to know before they can read a message.

Two generations each. A request's header says which API in which version follows, and in flexible versions
(KIP-482) it ends with tagged fields. A response's header has the correlation id alone, so that only who
remembers the request can read the answer; in flexible versions it has tagged fields, except for ApiVersions:
a client that does not know the broker yet must be able to read that answer in any case (KIP-511).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from kio.index import load_request_schema
from kio.schema.index import api_key_map, schema_name_map

from harness.wire import primitives as p
from harness.wire.apis import Api
from harness.wire.errors import WireError

_NO_TAGS = b"\x00"


@dataclass(frozen=True, slots=True)
class RequestHeader:
    """Whose request this is, and how to read it."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


@cache
def _flexible(api_key: int, known_version: int) -> bool:
    return load_request_schema(api_key, known_version).__flexible__


def is_flexible(api_key: int, api_version: int) -> bool:
    """Whether an API's version is a flexible one, also for versions that kio does not know.

    Flexible is never taken back, so a version above kio's range is like its highest and one below like its
    lowest; and an API that kio does not know is newer than kio, hence flexible from birth.
    """
    if api_key not in api_key_map:
        return True
    known = schema_name_map[api_key_map[api_key]]
    return _flexible(api_key, min(max(api_version, min(known)), max(known)))


def write_request_header(header: RequestHeader) -> bytes:
    """The header as bytes, of the generation that its API and version ask for."""
    try:
        fixed = (
            header.api_key.to_bytes(2, "big", signed=True)
            + header.api_version.to_bytes(2, "big", signed=True)
            + header.correlation_id.to_bytes(4, "big", signed=True)
        )
        # In both generations the client id is a legacy string: a broker of any age can read that far.
        name = (header.client_id or "").encode()
        size = (-1 if header.client_id is None else len(name)).to_bytes(2, "big", signed=True)
    except (OverflowError, UnicodeEncodeError) as error:
        raise WireError(f"{header} does not fit a request header: {error}") from error
    return fixed + size + name + (_NO_TAGS if is_flexible(header.api_key, header.api_version) else b"")


def read_request_header(payload: bytes) -> tuple[RequestHeader, int]:
    """The header of a request's payload, and where its body begins. Raises :class:`WireError`."""
    api_key, at = p.read_int16(payload, 0)
    api_version, at = p.read_int16(payload, at)
    correlation_id, at = p.read_int32(payload, at)
    size, at = p.read_length(payload, at, flexible=False, legacy=p.read_int16)
    client_id = None
    if size >= 0:
        raw, at = p.take(payload, at, size)
        try:
            client_id = raw.decode()
        except UnicodeDecodeError:
            raise WireError("the client id of a request is not UTF-8") from None
    if is_flexible(api_key, api_version):
        _, at = p.read_tags(payload, at)
    return RequestHeader(api_key, api_version, correlation_id, client_id), at


def write_response_header(api_key: int, api_version: int, correlation_id: int) -> bytes:
    """The header of an answer to a request of this API and version."""
    try:
        fixed = correlation_id.to_bytes(4, "big", signed=True)
    except OverflowError as error:
        raise WireError(f"the correlation id {correlation_id} is no int32") from error
    return fixed + (_NO_TAGS if _response_is_tagged(api_key, api_version) else b"")


def read_response_header(payload: bytes, api_key: int, api_version: int) -> tuple[int, int]:
    """The correlation id of a response's payload, and where its body begins. Raises :class:`WireError`."""
    correlation_id, at = p.read_int32(payload, 0)
    if _response_is_tagged(api_key, api_version):
        _, at = p.read_tags(payload, at)
    return correlation_id, at


def _response_is_tagged(api_key: int, api_version: int) -> bool:
    return api_key != Api.API_VERSIONS and is_flexible(api_key, api_version)
