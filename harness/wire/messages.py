"""Encode kio's message dataclasses into frames, and decode them from payloads.

kio describes each version of each message. Headers, frames and the decoding of untrusted bytes are implemented here. A
message knows its own API and version (``message.__api_key__``, ``message.__version__``).
"""

from __future__ import annotations

import struct
from functools import cache, lru_cache
from typing import Any, Final, Literal

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map, schema_name_map
from kio.static.protocol import RequestPayload, ResponsePayload

from harness.wire.apis import Api, api_name
from harness.wire.errors import WireError
from harness.wire.frames import frame
from harness.wire.headers import (
    REMEMBERED,
    REMEMBERED_BYTES,
    RequestHeader,
    read_request_header,
    read_response_header,
    request_header,
    write_response_header,
)
from harness.wire.makers import make, maker, nested
from harness.wire.primitives import Data, Reader
from harness.wire.readers import entity_reader
from harness.wire.writers import entity_writer

__all__ = [
    "WireError",
    "client_versions",
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_response",
    "make",
    "maker",
    "message_class",
    "nested",
    "read_request_body",
    "read_response",
]

Kind = Literal["request", "response"]

_UNSUPPORTED_VERSION: Final = int(ErrorCode.unsupported_version).to_bytes(2, "big")


@cache
def client_versions(api_key: int) -> tuple[int, int]:
    """Return the lowest and the highest version of an API that kio supports.

    Raises :class:`WireError` for an unknown API.
    """
    if api_key not in api_key_map:
        raise WireError("unknown-api", "{api} is not a known API", api=api_name(api_key))
    versions = schema_name_map[api_key_map[api_key]]
    return min(versions), max(versions)


@cache
def message_class(api_key: int, version: int, kind: Kind) -> Any:
    """Return kio's class, e.g. ``ProduceRequest`` of version 9. Raises :class:`WireError` if it does not exist."""
    lowest, highest = client_versions(api_key)
    if not lowest <= version <= highest:
        raise WireError(
            "unknown-version",
            "{api} version {version} is not known: {lowest} to {highest} are",
            api=api_name(api_key),
            version=version,
            lowest=lowest,
            highest=highest,
        )
    return (load_request_schema if kind == "request" else load_response_schema)(api_key, version)


def encode_request(message: RequestPayload, correlation_id: int, client_id: str | None) -> bytes:
    """Encode a request as a whole frame, with size and header."""
    header = request_header(message.__api_key__, message.__version__, correlation_id, client_id)
    return frame(header, _body(message))


def encode_response(message: ResponsePayload, correlation_id: int) -> bytes:
    """Encode a response as a whole frame, with size and header."""
    header = write_response_header(message.__api_key__, message.__version__, correlation_id)
    return frame(header, _body(message))


def decode_request(payload: bytes) -> tuple[RequestHeader, Any]:
    """Decode the payload of a request (a frame without its size) into its header and its message."""
    header, at = read_request_header(payload)
    return header, read_request_body(header, payload, at)[0]


def read_request_body(header: RequestHeader, payload: Data, at: int) -> tuple[Any, int]:
    """Decode the message of a request whose header ends at ``at``. Return it and the number of elements of its arrays.

    If the payload is a memoryview, the message's bytes fields are memoryviews too. WireError has the number as well.
    """
    if isinstance(payload, bytes) and len(payload) <= REMEMBERED_BYTES:
        return _read_request(header.api_key, header.api_version, payload, at)
    return _read_anew(header.api_key, header.api_version, "request", payload, at)


def decode_response(payload: Data, api_key: int, api_version: int) -> tuple[int, Any]:
    """Decode the response to a request of this API and version: return its correlation id and its message."""
    return read_response(payload, api_key, api_version)[:2]


def read_response(payload: Data, api_key: int, api_version: int) -> tuple[int, Any, int]:
    """Do the same as :func:`decode_response`, and also return the number of elements in the message's arrays.

    A broker that does not support the requested ApiVersions version responds UNSUPPORTED_VERSION in version 0
    (KIP-511). The message is then an ApiVersionsResponse of version 0.
    """
    correlation_id, at = read_response_header(payload, api_key, api_version)
    try:
        if isinstance(payload, bytes) and len(payload) <= REMEMBERED_BYTES:
            return correlation_id, *_read_response(api_key, api_version, payload[at:])
        return correlation_id, *_read_anew(api_key, api_version, "response", payload, at)
    except WireError:
        if api_key != Api.API_VERSIONS or payload[at : at + 2] != _UNSUPPORTED_VERSION:
            raise
        return correlation_id, *_read_anew(api_key, 0, "response", payload, at)


@cache
def _reader(api_key: int, version: int, kind: Kind) -> Reader:
    return entity_reader(message_class(api_key, version, kind))


# The witness reads each request, and then the peer does; many responses repeat. Messages are immutable, so they can be
# shared.
@lru_cache(REMEMBERED)
def _read_request(api_key: int, version: int, payload: bytes, at: int) -> tuple[Any, int]:
    return _read_anew(api_key, version, "request", payload, at)


@lru_cache(REMEMBERED)
def _read_response(api_key: int, version: int, body: bytes) -> tuple[Any, int]:
    return _read_anew(api_key, version, "response", body, 0)


def _read_anew(api_key: int, version: int, kind: Kind, payload: Data, at: int) -> tuple[Any, int]:
    value, end, elements = _reader(api_key, version, kind)(payload, at)
    if end == len(payload):
        return value, elements
    name = type(value).__name__
    if end > len(payload):
        raise WireError(
            "message-cut-off",
            "{name} is cut off: {end} bytes were claimed, there are {count}",
            name=name,
            end=end,
            count=len(payload),
        ).after(elements)
    raise WireError(
        "bytes-left-over", "{left} bytes are left over after a {name}", left=len(payload) - end, name=name
    ).after(elements)


def _body(message: RequestPayload | ResponsePayload) -> bytes:
    entity: Any = type(message)
    try:
        return entity_writer(entity)(message)
    except (struct.error, ArithmeticError, AttributeError, TypeError, ValueError) as error:
        # The errors that Python raises for a value that does not fit its field.
        raise WireError(
            "message-not-writable", "{entity} cannot be written: {why!r}", entity=entity.__name__, why=error
        ) from error
