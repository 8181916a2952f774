"""What Toxiproxy's control API can answer but yes, told apart.

None of these is ever the fault of a client under test: each is a problem of the environment, and ends a trial as
a harness error. ``ControlPlaneWedged`` is the one to know: in 2.12 a toxic that is added or removed while a peer
has stopped reading can lock a proxy for good, and then the whole API (issues 558, 427, 428 of Toxiproxy).
"""

from __future__ import annotations

from harness.model.errors import EnvironmentProblem


class ToxiproxyError(EnvironmentProblem):
    """The server answered with an error that has no name of its own."""


class ProxyExists(ToxiproxyError):
    """409: there is a proxy of that name."""


class ToxicExists(ToxiproxyError):
    """409: the proxy carries a toxic of that name."""


class NotFound(ToxiproxyError):
    """404: no such proxy or toxic."""


class BadRequest(ToxiproxyError):
    """400: a field is missing or cannot be understood."""


class PortInUse(ToxiproxyError):
    """500 with the kernel's reason: something else listens on the proxy's port."""


class ControlPlaneWedged(ToxiproxyError):
    """The server lives but does not answer, or gives up on its own locks (503). Only ending it helps."""


class ServerGone(ToxiproxyError):
    """Nobody listens at the API's address any more."""
