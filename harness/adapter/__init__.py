"""The harness's side of a client program: its process, the contract for its output, and its limits.

``protocol_rules`` check the contract (pure). ``keeper`` makes sure that no descendant of the process survives.
``session`` sends commands and receives events. :mod:`harness.limits.meter` limits what one client may use.
"""

from harness.adapter.session import GRACE_S, ConfigRefused, Conversation

__all__ = ["GRACE_S", "ConfigRefused", "Conversation"]
