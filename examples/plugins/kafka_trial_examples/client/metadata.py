"""Metadata requests and responses as bytes. The messages are those of kio; the framing is done here.

A client brings its own protocol code: one that it shared with the harness would hide the defects of both.
"""

from __future__ import annotations

from io import BytesIO
from typing import Final

from kio.schema.metadata.v9.request import MetadataRequest, MetadataRequestTopic
from kio.schema.metadata.v9.response import MetadataResponse
from kio.schema.types import TopicName
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError
from kio.static.primitive import i16, i32

SIZE_BYTES: Final = 4
NO_ERROR: Final = 0
_HEADER = MetadataRequest.__header_schema__


class Unreadable(Exception):
    """The bytes are no answer to a Metadata request."""


def request(topic: str, correlation_id: int, client_id: str) -> bytes:
    """Return the request for one topic, with its size in front."""
    header = _HEADER(
        request_api_key=i16(MetadataRequest.__api_key__),
        request_api_version=i16(MetadataRequest.__version__),
        correlation_id=i32(correlation_id),
        client_id=client_id,
    )
    body = MetadataRequest(
        topics=(MetadataRequestTopic(name=TopicName(topic)),),
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )
    out = BytesIO()
    entity_writer(_HEADER)(out, header)
    entity_writer(MetadataRequest)(out, body)
    payload = out.getvalue()
    return len(payload).to_bytes(SIZE_BYTES) + payload


def response(received: bytes) -> tuple[int, int | None] | None:
    """Return the correlation id of the first response, and the number of the topic's partitions.

    The number is None if the broker reports an error. Return None if the response has not arrived in full. Raises
    Unreadable.
    """
    if len(received) < SIZE_BYTES or len(received) < SIZE_BYTES + int.from_bytes(received[:SIZE_BYTES]):
        return None
    try:
        header, header_bytes = entity_reader(MetadataResponse.__header_schema__)(received, SIZE_BYTES)
        body, _ = entity_reader(MetadataResponse)(received, SIZE_BYTES + header_bytes)
    except (SerialError, ValueError) as error:
        raise Unreadable(str(error)) from error
    topic = next(iter(body.topics or ()), None)
    known = topic is not None and topic.error_code == NO_ERROR
    return int(header.correlation_id), len(topic.partitions) if topic is not None and known else None
