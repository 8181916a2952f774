"""SASL/PLAIN: the exchange between an established TCP connection and "connected" (KIP-43, KIP-152).

SaslHandshake names the mechanism, and SaslAuthenticate carries its token. Both precede all other requests of a
connection. Their correlation ids are from a reserved range, so that a response cannot be mistaken for that of another
request (NET-INF-02).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from clients.reference.common.requests import message_of
from clients.reference.config.client_config import ClientConfig
from clients.reference.errors import ConfigException
from clients.reference.network.channel import AuthenticationFailedError, Authenticator
from clients.reference.ports import INT32_MAX
from harness.wire.apis import Api, api_name
from harness.wire.error_table import BY_NAME, error_for
from harness.wire.errors import WireError
from harness.wire.messages import decode_response, encode_request

RESERVED_CORRELATION_IDS = range(INT32_MAX - 7, INT32_MAX + 1)
HANDSHAKE_VERSION = 1  # from this version on, SaslAuthenticate requests carry the tokens
AUTHENTICATE_VERSION = 1
_UNSUPPORTED_SASL_MECHANISM = BY_NAME["UNSUPPORTED_SASL_MECHANISM"].code
_LOGIN_MODULE = re.compile(
    r"\s*[\w.$]*PlainLoginModule\s+(required|requisite|sufficient|optional)\b(.*);\s*", re.S
)
_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""")


def plain_credentials(jaas_config: str | None) -> tuple[str, str]:
    """Return (username, password) from a sasl.jaas.config. Raise ConfigException if they are missing."""
    module = _LOGIN_MODULE.fullmatch(jaas_config or "")
    if module is None:
        raise ConfigException(
            "jaas-config-format",
            "sasl.jaas.config: expected '...PlainLoginModule required username=... password=...;'",
        )
    options = {
        name: re.sub(r"\\(.)", r"\1", double or single or plain)
        for name, double, single, plain in _OPTION.findall(module[2])
    }
    missing = [name for name in ("username", "password") if name not in options]
    if missing:
        raise ConfigException(
            "jaas-config-option-missing", "sasl.jaas.config: {option} is missing", option=missing[0]
        )
    return options["username"], options["password"]


def authenticators(config: ClientConfig) -> Callable[[], Authenticator | None]:
    """Return a factory that makes an authenticator per connection, or None if the protocol has no authentication.

    Raise ConfigException if the credentials are missing.
    """
    if config.security_protocol == "PLAINTEXT":
        return lambda: None
    username, password = plain_credentials(config.sasl_jaas_config)
    return lambda: PlainAuthenticator(username, password, config.client_id, config.sasl_mechanism)


class PlainAuthenticator:
    """The Authenticator (see channel) for SASL/PLAIN, one per connection."""

    def __init__(self, username: str, password: str, client_id: str, mechanism: str = "PLAIN") -> None:
        self._token = b"\0".join((b"", username.encode(), password.encode()))
        self._client_id = client_id
        self._mechanism = mechanism
        self._correlation_id = RESERVED_CORRELATION_IDS.start
        self._asked = Api.SASL_HANDSHAKE

    def start(self) -> bytes:
        """Return the SaslHandshake request, which names the mechanism."""
        return self._request(Api.SASL_HANDSHAKE, HANDSHAKE_VERSION, mechanism=self._mechanism)

    def answer(self, payload: bytes) -> bytes | None:
        """Return the SaslAuthenticate request with the token, then None. Raise AuthenticationFailedError on failure."""
        if self._asked is Api.SASL_HANDSHAKE:
            self._read(payload, HANDSHAKE_VERSION)
            return self._request(Api.SASL_AUTHENTICATE, AUTHENTICATE_VERSION, auth_bytes=self._token)
        self._read(payload, AUTHENTICATE_VERSION)
        return None

    def _request(self, api: Api, version: int, **values: object) -> bytes:
        self._asked = api
        self._correlation_id += 1
        return encode_request(message_of(api, version, **values), self._correlation_id, self._client_id)

    def _read(self, payload: bytes, version: int) -> None:
        """Raise AuthenticationFailedError if the response does not accept the request."""
        name = api_name(self._asked)
        try:
            correlation_id, body = decode_response(payload, self._asked, version)
        except WireError as unreadable:
            raise AuthenticationFailedError(
                "sasl-response-unreadable",
                "no {name} response, is this a SASL listener? {why}",
                name=name,
                why=unreadable,
            ) from None
        if correlation_id != self._correlation_id:
            what = f"correlation id {correlation_id}, expected {self._correlation_id}"
            raise AuthenticationFailedError(
                "sasl-response-missing", "no {name} response: {what}", name=name, what=what
            )
        error = error_for(int(body.error_code))
        if error.code == _UNSUPPORTED_SASL_MECHANISM:
            enabled = ", ".join(body.mechanisms)
            raise AuthenticationFailedError(
                "sasl-mechanism-not-supported",
                "the broker does not support {mechanism}, but {enabled}",
                mechanism=self._mechanism,
                enabled=enabled,
            )
        if error.code:
            said = getattr(body, "error_message", None) or error.name
            raise AuthenticationFailedError("credentials-refused", "{said}", said=said)
