"""Responses that a healthy server never gives, from a scripted server."""

from __future__ import annotations

import http.server
import json
import re
import threading
from collections.abc import Iterator

import pytest

from faults.toxiproxy_api import ControlledServer, Endpoint
from faults.toxiproxy_errors import (
    BadRequest,
    ControlPlaneWedged,
    NotFound,
    PortInUse,
    ProxyExists,
    ServerGone,
    ToxicExists,
    ToxiproxyError,
)
from testkit.codes import coded, raises_code

VERSION = json.dumps({"version": "2.12.0"}).encode()


class Scripted(http.server.ThreadingHTTPServer):
    answer: tuple[int, bytes] = (200, b"{}")


class Handler(http.server.BaseHTTPRequestHandler):
    server: Scripted

    def do_GET(self) -> None:
        self._say(200, VERSION) if self.path == "/version" else self._say(*self.server.answer)

    def do_PATCH(self) -> None:
        self._say(*self.server.answer)

    def _say(self, status: int, body: bytes) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    with Scripted(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def endpoint(server: Scripted) -> Endpoint:
    return Endpoint(("127.0.0.1", server.server_address[1]))


@pytest.mark.parametrize(
    ("status", "said", "error", "words"),
    [
        (400, {"error": "bad request body"}, BadRequest, coded("toxiproxy-refused", said="bad request body")),
        (404, {"error": "proxy not found"}, NotFound, coded("toxiproxy-refused", said="proxy not found")),
        (
            409,
            {"error": "proxy already exists"},
            ProxyExists,
            coded("toxiproxy-refused", said="proxy already exists"),
        ),
        (
            409,
            {"error": "toxic already exists"},
            ToxicExists,
            coded("toxiproxy-refused", said="toxic already exists"),
        ),
        (
            500,
            {"error": "listen tcp: bind: address already in use"},
            PortInUse,
            coded("toxiproxy-refused", said=re.compile(r"address already in use")),
        ),
        (
            500,
            {"error": "something else"},
            ToxiproxyError,
            coded("toxiproxy-refused", status=500, method="PATCH", path="/x", said="something else"),
        ),
        (503, "<html>", ControlPlaneWedged, "control-plane-wedged"),
        (
            418,
            "",
            ToxiproxyError,
            coded("toxiproxy-refused", status=418, method="PATCH", path="/x", said="no reason given"),
        ),
        (302, "", ToxiproxyError, coded("toxiproxy-refused", status=302)),
        (200, "<html>", ToxiproxyError, "toxiproxy-answer"),
    ],
)
def test_every_failure_response_is_an_error(
    scripted: Scripted, status: int, said: object, error: type[Exception], words: str
) -> None:
    scripted.answer = (status, said.encode() if isinstance(said, str) else json.dumps(said).encode())
    with raises_code(ToxiproxyError, words) as raised:
        endpoint(scripted).call("PATCH", "/x", {})
    assert type(raised.value) is error


def test_success_with_and_without_a_body(scripted: Scripted) -> None:
    scripted.answer = (201, b'{"name": "x"}')
    assert endpoint(scripted).call("PATCH", "/x") == {"name": "x"}
    scripted.answer = (204, b"")
    assert endpoint(scripted).call("PATCH", "/x") is None


def test_proxy_of_the_environment_is_not_used(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert endpoint(scripted).version() == "2.12.0"


def test_two_servers_work_in_one_process(scripted: Scripted) -> None:
    first = ControlledServer(endpoint(scripted))
    second = ControlledServer(Endpoint(("127.0.0.1", 1)))
    assert first.version() == "2.12.0"
    with pytest.raises(ServerGone):
        second.version()


@pytest.mark.parametrize("name", ["", "a b", "a/b", "é"])
def test_names_that_urls_cannot_contain_are_refused(name: str) -> None:
    with raises_code(BadRequest, "proxy-name"):
        ControlledServer(Endpoint(("127.0.0.1", 1))).create("127.0.0.1:2", name, "127.0.0.1:3")
