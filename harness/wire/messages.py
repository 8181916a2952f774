"""Messages: kio's generated dataclasses, in frames and out of frames.

kio knows how each version of each message looks; headers, frames and the reading of untrusted bytes are ours.
A message knows its API and version (``message.__api_key__``, ``message.__version__``).
"""

from __future__ import annotations

from functools import cache
from io import BytesIO
from typing import Any, Final, Literal

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map, schema_name_map
from kio.serial import entity_writer
from kio.static.protocol import RequestPayload, ResponsePayload

from harness.wire.apis import Api, api_name
from harness.wire.errors import WireError
from harness.wire.frames import frame
from harness.wire.headers import (
    RequestHeader,
    read_request_header,
    read_response_header,
    write_request_header,
    write_response_header,
)
from harness.wire.schema import entity_reader

__all__ = [
    "WireError",
    "client_versions",
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_response",
    "message_class",
]

_UNSUPPORTED_VERSION: Final = int(ErrorCode.unsupported_version).to_bytes(2, "big")


@cache
def client_versions(api_key: int) -> tuple[int, int]:
    """The lowest and the highest version of an API that kio speaks. Raises :class:`WireError` for no API."""
    if api_key not in api_key_map:
        raise WireError(f"{api_name(api_key)} is not a known API")
    versions = schema_name_map[api_key_map[api_key]]
    return min(versions), max(versions)


@cache
def message_class(api_key: int, version: int, kind: Literal["request", "response"]) -> type[Any]:
    """kio's class, e.g. ``ProduceRequest`` of version 9. Raises :class:`WireError` where there is none."""
    lowest, highest = client_versions(api_key)
    if not lowest <= version <= highest:
        raise WireError(f"{api_name(api_key)} version {version} is not known: {lowest} to {highest} are")
    return (load_request_schema if kind == "request" else load_response_schema)(api_key, version)


def encode_request(message: RequestPayload, correlation_id: int, client_id: str | None) -> bytes:
    """The whole frame of a request, size and header included."""
    header = RequestHeader(message.__api_key__, message.__version__, correlation_id, client_id)
    return frame(write_request_header(header) + _body(message))


def encode_response(message: ResponsePayload, correlation_id: int) -> bytes:
    """The whole frame of a response, size and header included."""
    header = write_response_header(message.__api_key__, message.__version__, correlation_id)
    return frame(header + _body(message))


def decode_request(payload: bytes) -> tuple[RequestHeader, Any]:
    """The header and the message of a request's payload (a frame without its size)."""
    header, at = read_request_header(payload)
    return header, _read(message_class(header.api_key, header.api_version, "request"), payload, at)


def decode_response(payload: bytes, api_key: int, api_version: int) -> tuple[int, Any]:
    """The correlation id and the message of the answer to a request of ``api_key`` and ``api_version``.

    A broker that does not know the ApiVersions version asked for answers UNSUPPORTED_VERSION in version 0,
    whatever was asked (KIP-511): then the message is version 0's.
    """
    correlation_id, at = read_response_header(payload, api_key, api_version)
    try:
        return correlation_id, _read(message_class(api_key, api_version, "response"), payload, at)
    except WireError:
        if api_key != Api.API_VERSIONS or payload[at : at + 2] != _UNSUPPORTED_VERSION:
            raise
        return correlation_id, _read(message_class(api_key, 0, "response"), payload, at)


def _read(message: Any, payload: bytes, at: int) -> Any:
    value, end = entity_reader(message)(payload, at)
    if end != len(payload):
        raise WireError(f"{len(payload) - end} bytes are left over behind a {message.__name__}")
    return value


def _body(message: RequestPayload | ResponsePayload) -> bytes:
    out = BytesIO()
    try:
        entity_writer(type(message))(out, message)
    except Exception as error:
        # The one seam to a foreign writer: struct, type and attribute errors all mean the same thing here.
        raise WireError(f"{type(message).__name__} cannot be written: {error!r}") from error
    return out.getvalue()
