"""One connection of the harness to one broker: one request at a time, and each response matches its request.

A connection that failed in any way is closed, so that a late response to an abandoned request is not mistaken for the
response to the next one. The next request opens a new connection.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeVar

from kio.schema.api_versions.v0 import ApiVersionsRequest, ApiVersionsResponse
from kio.schema.sasl_authenticate.v2 import SaslAuthenticateRequest, SaslAuthenticateResponse
from kio.schema.sasl_handshake.v1 import SaslHandshakeRequest, SaslHandshakeResponse

from harness.brokers.credentials import MECHANISM, Credentials
from harness.model.addresses import Address
from harness.model.errors import KafkaTrialError
from harness.system.dial import dial
from harness.wire.apis import api_name
from harness.wire.error_table import KafkaError, error_for
from harness.wire.errors import WireError
from harness.wire.frames import MAX_FRAME_BYTES
from harness.wire.messages import decode_response, encode_request
from harness.wire.versions import UnsupportedVersion, negotiate

CLIENT_ID = "kafka-trial"
REQUEST_TIMEOUT_S = 5.0

Answer = TypeVar("Answer")


class NotYet(KafkaTrialError):
    """A missing or negative response that may be better the next time."""


class BrokerConnection:
    """Exchanges ``kio``'s messages with the broker at ``address``, each in the version of its class.

    The source port of every connection is counted in ``dialled`` before the connection is made. With ``credentials``,
    each connection starts with SASL/PLAIN.
    """

    def __init__(
        self,
        address: Address,
        dialled: Counter[int] | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        self.address = address
        self._dialled = Counter[int]() if dialled is None else dialled
        self._credentials = credentials
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._versions: Mapping[int, tuple[int, int]] = {}
        self._correlation_id = 0
        self._turn = asyncio.Lock()

    async def request(self, message: Any, answer: type[Answer]) -> Answer:
        """Return the broker's response to ``message``, an instance of ``answer``.

        Raises NotYet if there was none within 5 s, and KafkaTrialError if this broker does not support the version.
        """
        async with self._turn:
            try:
                async with asyncio.timeout(REQUEST_TIMEOUT_S):
                    if self._streams is None:
                        await self._open()
                    _speaks(self._versions, message)
                    return await self._exchange(message, answer)
            except UnsupportedVersion as error:
                raise KafkaTrialError(
                    "request-not-supported", "{request}: {why}", request=self._name(message), why=error
                ) from error
            except (OSError, EOFError, WireError) as error:  # TimeoutError is an OSError
                self.close()
                raise _no_response(self._name(message), error) from error
            except BaseException:
                self.close()
                raise

    async def versions(self) -> Mapping[int, tuple[int, int]]:
        """Return API key -> (lowest, highest) version that the broker supports."""
        answer = await self.request(ApiVersionsRequest(), ApiVersionsResponse)
        require(answer.error_code, "ApiVersions")
        return {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}

    async def streams(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return an open connection, for callers that write their own frames. Raises OSError, EOFError or WireError."""
        if self._streams is None:
            await self._open()
        assert self._streams is not None
        return self._streams

    def close(self) -> None:
        """Close the connection, if it is open."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None

    async def _open(self) -> None:
        self._streams = await asyncio.open_connection(sock=await dial(self.address, self._dialled))
        if self._credentials is not None:
            await self._authenticate(self._credentials)
        answer = await self._exchange(ApiVersionsRequest(), ApiVersionsResponse)
        require(answer.error_code, "ApiVersions")
        self._versions = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}

    async def _authenticate(self, credentials: Credentials) -> None:
        handshake = await self._exchange(SaslHandshakeRequest(mechanism=MECHANISM), SaslHandshakeResponse)
        require(handshake.error_code, "SaslHandshake")
        token = SaslAuthenticateRequest(auth_bytes=credentials.token)
        answer = await self._exchange(token, SaslAuthenticateResponse)
        require(answer.error_code, "SaslAuthenticate")

    async def _exchange(self, message: Any, answer: type[Answer]) -> Answer:
        assert self._streams is not None
        reader, writer = self._streams
        self._correlation_id = (self._correlation_id + 1) % 2**31
        writer.write(encode_request(message, self._correlation_id, CLIENT_ID))
        await writer.drain()
        size_bytes = int.from_bytes(await reader.readexactly(4))
        if size_bytes > MAX_FRAME_BYTES:
            raise WireError("frame-size", "a frame of {size_bytes} bytes", size_bytes=size_bytes)
        payload = await reader.readexactly(size_bytes)
        correlation_id, found = decode_response(payload, message.__api_key__, message.__version__)
        if correlation_id != self._correlation_id or not isinstance(found, answer):
            raise WireError(
                "correlation-id-mismatch",
                "the answer to another request ({correlation_id})",
                correlation_id=correlation_id,
            )
        return found

    def _name(self, message: Any) -> str:
        return f"{api_name(message.__api_key__)} to {self.address[0]}:{self.address[1]}"


def _speaks(versions: Mapping[int, tuple[int, int]], message: Any) -> None:
    negotiate(message.__api_key__, versions, lowest=message.__version__, highest=message.__version__)


def _no_response(request: str, error: OSError | EOFError | WireError) -> NotYet:
    match error:
        case TimeoutError():
            return NotYet(
                "answer-late",
                "{request}: no answer within {timeout_s:g} s",
                request=request,
                timeout_s=REQUEST_TIMEOUT_S,
            )
        case EOFError():
            return NotYet("connection-closed", "{request}: the broker closed the connection", request=request)
        case OSError():
            return NotYet(
                "connection-failed", "{request}: {why}", request=request, why=error.strerror or error
            )
        case _:
            return NotYet("answer-unreadable", "{request}: {why}", request=request, why=error)


def _error_of(error: KafkaError) -> type[KafkaTrialError]:
    return NotYet if error.retriable else KafkaTrialError


def require(code: int, what: str) -> None:
    """Raise unless ``code`` is 0: NotYet for a retriable error, KafkaTrialError for any other."""
    if code:
        error = error_for(code)
        raise _error_of(error)("broker-error", "{what} was answered {error}", what=what, error=error.name)
