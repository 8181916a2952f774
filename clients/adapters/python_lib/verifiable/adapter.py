"""What a program supplies: one client, behind five methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .output import Result

    Applied = dict[str, tuple[str, str | int | bool]]
    NotSet = dict[str, str]


class ConfigRefused(Exception):
    """Raised by ``configure``: the client itself says that it cannot be built from these settings."""


class Adapter:
    """One client as the contract sees it. Any exception that leaves a method is fatal: it is the adapter's defect."""

    client = ""
    client_version = ""
    library_version: str | None = None
    language = "python"
    features: tuple[str, ...] = ("producer",)

    #: True if the client runs its callbacks only inside :meth:`poll`, which then gets a thread of its own.
    polls = False

    def configure(self, config: Mapping[str, Any]) -> tuple[Applied, NotSet]:
        """Build the client from settings in the Java names.

        Returns Java name -> (own name, value), and Java name -> why it cannot be set: every name in one of them.
        Raises ConfigRefused if the client refuses them; no other error is taken for a refusal.
        """
        raise NotImplementedError

    def send(self, topic: str, key: str | None, value: str, partition: int | None, result: Result) -> None:
        """Hand one record to the client; ``result`` is to be called once, now or later, on any thread."""
        raise NotImplementedError

    def poll(self, timeout_s: float) -> None:
        """Serve callbacks, at most ``timeout_s`` long."""

    def flush(self, timeout_s: float) -> bool:
        """Have the client flush, at most ``timeout_s``; True if it says that all is done.

        Its word is passed on, true or not: whether all records have results then is for the harness to see.
        """
        raise NotImplementedError

    def close(self, timeout_s: float) -> bool:
        """Close the client within ``timeout_s``; True if it says that every record has a result."""
        raise NotImplementedError
