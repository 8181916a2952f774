"""Toxiproxy's control API: blocking calls, one server per object.

It is built on ``toxiproxy-python``, whose :class:`Toxiproxy` and :class:`Proxy` are the object model. Overrides add
what the library lacks: an address for every object (the library has one for the whole process), updates of toxics
(PATCH), a timeout on every call, independence from proxy settings in the environment, and errors that say what happened
instead of ``False`` or a JSON error. Names are restricted, because the library's URLs do not quote them.
"""

from __future__ import annotations

import re
import secrets
from typing import Any

import requests
import toxiproxy
from toxiproxy.toxic import Toxic

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
from harness.model.addresses import Address

#: A healthy server answers within milliseconds. A stuck removal gives up by itself after 25 s, which is too late.
CONNECT_TIMEOUT_S = 1.0
READ_TIMEOUT_S = 4.0

_NAME = re.compile(r"[A-Za-z0-9_.-]+")


class Endpoint:
    """One server's API. It is safe to use from several threads, because calls share only settings."""

    def __init__(self, address: Address, timeout_s: float = READ_TIMEOUT_S) -> None:
        self.address = address
        #: Distinguishes our requests from others in the server's log, since the API asks for no credentials.
        self.user_agent = f"kafka-trial/{secrets.token_hex(16)}"
        self._timeout_s = timeout_s
        self._url = "http://{}:{}".format(*address)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return the decoded answer (None if it is empty). Raise a :class:`ToxiproxyError` for anything but success."""
        try:
            response = self._request(method, path, body)
        except requests.Timeout as error:
            raise self._wedged(f"{method} {path} was not answered in time") from error
        except requests.RequestException as error:
            raise self._gone() from error
        if response.status_code in (200, 201):
            return _decoded(response)
        if response.status_code == 204:
            return None
        raise self._error(method, path, response)

    def version(self) -> str:
        """Return the server's version, ``2.12.0``; this is the one call that takes no lock."""
        return str(self.call("GET", "/version")["version"])

    def _request(self, method: str, path: str, body: Any) -> requests.Response:
        with requests.Session() as session:
            session.trust_env = False
            session.headers["User-Agent"] = self.user_agent
            timeout = (CONNECT_TIMEOUT_S, self._timeout_s)
            return session.request(
                method, self._url + path, json=body, timeout=timeout, allow_redirects=False
            )

    def _error(self, method: str, path: str, response: requests.Response) -> ToxiproxyError:
        said = _message(response)
        if response.status_code == 503:
            return self._wedged(f"{method} {path} timed out on a lock")
        return _class_of(response.status_code, said)(
            "toxiproxy-refused",
            "Toxiproxy answered {status} to {method} {path}: {said}",
            status=response.status_code,
            method=method,
            path=path,
            said=said,
        )

    def _wedged(self, what: str) -> ToxiproxyError:
        try:
            self._request("GET", "/version", None)
        except requests.Timeout:
            return ControlPlaneWedged(
                "toxiproxy-silent",
                "Toxiproxy at {url}: {what}; it does not even report its version",
                url=self._url,
                what=what,
            )
        except requests.RequestException:
            return self._gone()
        return ControlPlaneWedged(
            "control-plane-wedged",
            "Toxiproxy at {url}: {what}; it still reports its version, so its control API hangs",
            url=self._url,
            what=what,
        )

    def _gone(self) -> ServerGone:
        return ServerGone(
            "server-gone", "Toxiproxy at {url} is gone: nothing answers there any more", url=self._url
        )


def _class_of(status: int, said: str) -> type[ToxiproxyError]:
    """Return the class of an answer. Toxiproxy tells some of its errors apart by text alone."""
    if status == 409:
        return ToxicExists if "toxic" in said else ProxyExists
    if status == 500 and "address already in use" in said:
        return PortInUse
    return {400: BadRequest, 404: NotFound}.get(status, ToxiproxyError)


def _decoded(response: requests.Response) -> Any:
    try:
        return response.json()
    except requests.JSONDecodeError as error:
        raise ToxiproxyError(
            "toxiproxy-answer", "Toxiproxy answered {url} with something that is not JSON", url=response.url
        ) from error


def _message(response: requests.Response) -> str:
    try:
        return str(response.json()["error"])
    except (requests.JSONDecodeError, KeyError, TypeError):
        return response.text.strip()[:200] or "no reason given"


class ControlledProxy(toxiproxy.Proxy):  # type: ignore[misc]  # the library is untyped
    """A proxy of ``endpoint``, with the values that the server returned."""

    def __init__(self, endpoint: Endpoint, **values: Any) -> None:
        super().__init__(**values)
        self._endpoint = endpoint
        self._path = f"/proxies/{self.name}"

    def toxics(self) -> dict[str, Toxic]:
        """Return the server's current toxics by name, in the order in which they were added."""
        return {row["name"]: Toxic(**row) for row in self._endpoint.call("GET", f"{self._path}/toxics")}

    def row(self) -> dict[str, Any]:
        """Return the server's current ``listen``, ``upstream``, ``enabled`` and ``toxics`` in one call."""
        row = self._endpoint.call("GET", self._path)
        if not isinstance(row, dict) or not isinstance(row.get("toxics"), list):
            raise ToxiproxyError(
                "toxiproxy-answer",
                "Toxiproxy answered GET {path} with something that is not a proxy",
                path=self._path,
            )
        return row

    def add_toxic(self, **toxic: Any) -> None:
        """Add ``name, type, stream, toxicity, attributes``; all of them are sent, none is left to a default."""
        _check_name(toxic["name"])
        self._endpoint.call("POST", f"{self._path}/toxics", toxic)

    def update_toxic(self, name: str, change: dict[str, Any]) -> None:
        """Change ``toxicity``, ``attributes`` or both; the server ignores anything else."""
        self._endpoint.call("PATCH", f"{self._path}/toxics/{name}", change)

    def destroy_toxic(self, name: str) -> None:
        """Remove a toxic."""
        self._endpoint.call("DELETE", f"{self._path}/toxics/{name}")

    def destroy(self) -> None:
        """Remove the proxy and close its connections."""
        self._endpoint.call("DELETE", self._path)

    def enable(self) -> None:
        """Start listening."""
        self._switch(True)

    def disable(self) -> None:
        """Stop listening and close every connection."""
        self._switch(False)

    def _switch(self, enabled: bool) -> None:
        self._endpoint.call("PATCH", self._path, {"enabled": enabled})
        self.enabled = enabled


class ControlledServer(toxiproxy.Toxiproxy):  # type: ignore[misc]  # the library is untyped
    """The server at ``endpoint``."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def proxies(self) -> dict[str, ControlledProxy]:
        """Return every proxy by name."""
        rows = self._endpoint.call("GET", "/proxies")
        return {name: self._controlled(row) for name, row in rows.items()}

    def create(self, upstream: str, name: str, listen: str, enabled: bool = True) -> ControlledProxy:
        """Create a proxy from ``listen`` to ``upstream``, both ``host:port``."""
        _check_name(name)
        row = {"name": name, "listen": listen, "upstream": upstream, "enabled": enabled}
        return self._controlled(self._endpoint.call("POST", "/proxies", row))

    def version(self) -> str:
        """Return the server's version."""
        return self._endpoint.version()

    def _controlled(self, row: dict[str, Any]) -> ControlledProxy:
        return ControlledProxy(self._endpoint, **row)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise BadRequest(
            "proxy-name", "Toxiproxy: {name!r} is not a valid name for a proxy or a toxic", name=name
        )
