"""A client program, seen from the harness: a process that is kept, what it may say, and how much of it.

``rules`` decide what may be said (pure); ``limits`` how much of the harness one client may take; ``keeper`` sees to it
that nothing of a process stays; ``conversation`` carries commands out and events in.
"""

from harness.adapter.session import GRACE_S, ConfigRefused, Conversation

__all__ = ["GRACE_S", "ConfigRefused", "Conversation"]
