"""SASL/PLAIN, from the login module's configuration to the producer's behaviour after a rejection."""

from __future__ import annotations

import socket
import threading
from dataclasses import fields
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from clients.adapters.reference.simulated import SimulatedSelector
from clients.reference import KafkaProducer
from clients.reference.errors import AuthenticationError, ConfigException
from clients.reference.network.channel import AuthenticationFailedError
from clients.reference.network.sasl import PlainAuthenticator, plain_credentials
from clients.reference.ports import ChannelState, Disconnection
from clients.reference.states import ConnectionState
from clients.reference.telemetry.trace import ConnectAttempt, ConnectionEnded, ReconnectBackoff
from harness.simulated.scheduler import NS_PER_MS
from harness.wire.apis import Api
from harness.wire.frames import FrameReader
from harness.wire.messages import decode_request, encode_response, message_class
from testkit.codes import coded, has_error, raises_code

JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required {};"
WAIT_S = 20


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")), st.text("ab\"'\\ =;"))
def test_credentials_with_special_characters_are_read(username, password):
    quoted = [value.replace("\\", "\\\\").replace('"', '\\"') for value in (username, password)]
    line = JAAS.format('username="{}" password="{}"'.format(*quoted))
    assert plain_credentials(line) == (username, password)


@pytest.mark.parametrize("line", [None, "", "nothing", JAAS.format('username="u"'), JAAS.format("")[:-1]])
def test_missing_credentials_are_refused(line):
    with pytest.raises(ConfigException):
        plain_credentials(line)


def answer(api, **values):
    message_type = message_class(api, 1, "response")
    values = {"auth_bytes": b"", "session_lifetime": timedelta(0)} | values
    known = {field.name for field in fields(message_type)}
    values["error_code"] = ErrorCode(values["error_code"])
    return message_type(**{name: value for name, value in values.items() if name in known})


def serve(data, handshake_error=0, authenticate_error=0):
    """Return a broker's response to a frame, as a payload, and the request that it received."""
    header, body = decode_request(data[4:])
    if header.api_key == Api.SASL_HANDSHAKE:
        response = answer(Api.SASL_HANDSHAKE, error_code=handshake_error, mechanisms=("SCRAM-SHA-256",))
    else:
        response = answer(Api.SASL_AUTHENTICATE, error_code=authenticate_error, error_message="go away")
    return header, body, encode_response(response, header.correlation_id)[4:]


def test_exchange_sends_handshake_and_token():
    """NET-INF-02: two requests with ids from a reserved range, and the token of RFC 4616."""
    authenticator = PlainAuthenticator("user", "secret", "me")
    first, handshake, consent = serve(authenticator.start())
    second, authenticate, done = serve(authenticator.answer(consent))
    assert authenticator.answer(done) is None
    assert handshake.mechanism == "PLAIN"
    assert bytes(authenticate.auth_bytes) == b"\0user\0secret"
    # SaslClientAuthenticator.MIN_RESERVED_CORRELATION_ID to MAX_RESERVED_CORRELATION_ID (NET-INF-02)
    assert {first.correlation_id, second.correlation_id} <= set(range(2**31 - 8, 2**31))
    assert first.correlation_id != second.correlation_id


@pytest.mark.parametrize(
    ("errors", "what"),
    [
        ({"handshake_error": 33}, coded("sasl-mechanism-not-supported", enabled="SCRAM-SHA-256")),
        ({"handshake_error": 34}, coded("credentials-refused", said="ILLEGAL_SASL_STATE")),
        ({"authenticate_error": 58}, coded("credentials-refused", said="go away")),
    ],
)
def test_rejection_fails_authentication(errors, what):
    """NET-CON-11."""
    authenticator = PlainAuthenticator("user", "secret", "me")
    with raises_code(AuthenticationFailedError, what):
        _, _, payload = serve(authenticator.start(), **errors)
        _, _, payload = serve(authenticator.answer(payload), **errors)
        authenticator.answer(payload)


@given(st.binary(max_size=30))
def test_garbage_fails_authentication(payload):
    authenticator = PlainAuthenticator("user", "secret", "me")
    authenticator.start()
    with pytest.raises(AuthenticationFailedError):
        authenticator.answer(payload)


def test_response_to_another_request_is_not_accepted():
    """NET-INF-01."""
    authenticator = PlainAuthenticator("user", "secret", "me")
    *_, consent = serve(authenticator.start())
    with raises_code(AuthenticationFailedError, "sasl-response-missing"):
        authenticator.answer(b"\0\0\0\x07" + consent[4:])


REFUSED = Disconnection(ChannelState.AUTHENTICATION_FAILED, "bad credentials")


def ending(end, until_ms=10**9):
    """Return a selector class whose connections end in this way once they are established, until ``until_ms``."""

    class Ending(SimulatedSelector):
        def poll(self):
            polled = super().poll()
            if self._network.scheduler.now_ns < until_ms * NS_PER_MS:
                polled.disconnected |= dict.fromkeys(polled.connected, end)
                for node_id in polled.connected:
                    self.close(node_id)
                polled.connected.clear()
            return polled

    return Ending


def test_rejecting_node_is_backed_off_and_its_error_kept(world):
    """NET-CON-11: there is no tight loop, and the error is kept until the node is READY."""
    w = world(selector=ending(REFUSED, 4_000), retry_backoff_ms=0, retry_backoff_max_ms=0)
    client = w.client
    w.run(2_600)
    assert client.connection_state(-1) is ConnectionState.AUTHENTICATION_FAILED
    error = client.authentication_error(-1)
    assert isinstance(error, AuthenticationError) and has_error(
        error, "authentication-failed", "bad credentials"
    )
    assert error.name == "SASL_AUTHENTICATION_FAILED"
    assert [event.delay_ms for event in w.told(ReconnectBackoff)][:4] == [50, 100, 200, 400]
    assert len(w.told(ConnectAttempt)) <= 5
    w.run(4_000)
    assert client.connection_state(-1) is ConnectionState.READY
    assert client.authentication_error(-1) is None


def test_next_metadata_wait_gets_the_error_once(world):
    """MET-16, NET-CON-11."""
    w = world(selector=ending(REFUSED))
    w.run(100)
    assert isinstance(w.metadata.take_fatal_error(), AuthenticationError)
    assert w.metadata.take_fatal_error() is None


def test_authentication_failure_is_fatal_for_idempotent_producer(world):
    """NET-CON-11: another request for a producer id would fail too, so the error is permanently fatal."""
    w = world(selector=ending(REFUSED))
    w.run(1_000)
    assert w.transactions.fatal_error.name == "SASL_AUTHENTICATION_FAILED"
    delivery = w.send(b"late")
    assert delivery.error.name == "SASL_AUTHENTICATION_FAILED"


def test_disconnect_during_authentication_is_not_a_rejection(world):
    w = world(selector=ending(Disconnection(ChannelState.AUTHENTICATE, "closed")))
    w.run(100)
    assert w.metadata.take_fatal_error() is None
    assert w.client.connection_state(-1) is ConnectionState.DISCONNECTED
    ended = w.told(ConnectionEnded)[0]
    assert ended.state == "AUTHENTICATE" and "another protocol" in ended.detail


@pytest.mark.parametrize("password", ["secret", "wrong"])
def test_authentication_on_a_real_socket(password):
    """A correct password leads to ApiVersions on the same socket, and a wrong one to no further request."""
    asked, closed = [], threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def broker():
        sock, _ = listener.accept()
        reader = FrameReader()
        with sock:
            while data := sock.recv(4_096):
                reader.feed(data)
                while (payload := reader.next_frame()) is not None:
                    header, body = decode_request(payload)
                    asked.append(header.api_key)
                    if header.api_key == Api.API_VERSIONS:
                        closed.set()
                        return
                    good = header.api_key == Api.SASL_HANDSHAKE or b"secret" in bytes(body.auth_bytes)
                    *_, reply = serve(b"size" + payload, authenticate_error=0 if good else 58)
                    for byte in len(reply).to_bytes(4, "big") + reply:
                        sock.sendall(bytes([byte]))
        closed.set()

    thread = threading.Thread(target=broker)
    thread.start()
    settings = {
        "bootstrap.servers": f"127.0.0.1:{listener.getsockname()[1]}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.jaas.config": JAAS.format(f'username="u" password="{password}"'),
        "max.block.ms": 0,
        "reconnect.backoff.ms": 600_000,
        "reconnect.backoff.max.ms": 600_000,
    }
    with KafkaProducer(settings) as producer:
        producer.send("t", b"x")
        assert closed.wait(WAIT_S)
    thread.join(WAIT_S)
    listener.close()
    expected = [Api.SASL_HANDSHAKE, Api.SASL_AUTHENTICATE]
    assert asked == ([*expected, Api.API_VERSIONS] if password == "secret" else expected)
