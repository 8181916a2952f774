"""The errors that Toxiproxy's control API can answer with, one class for each.

None of them is caused by a client under test: each is a problem of the environment, and makes a trial a harness error.
``ControlPlaneWedged`` is the most important one: in 2.12 a toxic that is added or removed while a peer has stopped
reading can lock a proxy for good, and then the whole API (issues 558, 427, 428 of Toxiproxy).
"""

from __future__ import annotations

from harness.model.errors import EnvironmentProblem
from harness.plugins.proxy import NoSuchToxic


class ToxiproxyError(EnvironmentProblem):
    """The server answered with an error that has no class here."""


class ProxyExists(ToxiproxyError):
    """409: a proxy with that name exists."""


class ToxicExists(ToxiproxyError):
    """409: the proxy has a toxic with that name."""


class NotFound(ToxiproxyError, NoSuchToxic):
    """404: no such proxy or toxic."""


class BadRequest(ToxiproxyError):
    """400: a field is missing or cannot be understood."""


class PortInUse(ToxiproxyError):
    """500 with the kernel's reason: something else listens on the proxy's port."""


class ControlPlaneWedged(ToxiproxyError):
    """The server runs but does not answer, or gives up on its own locks (503). It has to be ended."""


class ServerGone(ToxiproxyError):
    """The server no longer listens at the API's address."""
