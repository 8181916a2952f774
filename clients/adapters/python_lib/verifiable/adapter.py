"""What a program supplies: one client, as an adapter with five methods. Its consumer is a second one (``consumer``)."""

from __future__ import annotations

from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .output import Result

    Applied = dict[str, tuple[str, str | int | bool]]
    NotSet = dict[str, str]


#: What an application may do after an error of a transaction: the same call again, abort, or close the producer.
REPEAT, ABORT, CLOSE = "repeat", "abort", "close"


class ConfigRefused(Exception):
    """Raised by ``configure`` if the client itself rejects these settings."""


class Role:
    """One role of a client: its producer or its consumer."""

    #: Settings under the client's own names, as text, for an adapter that declares the feature ``client_config``.
    own: Mapping[str, str] = MappingProxyType({})

    @cached_property
    def own_not_set(self) -> NotSet:
        """Why some of ``own`` are not applied. The adapter fills it."""
        return {}

    def configure(self, config: Mapping[str, Any]) -> tuple[Applied, NotSet]:
        """Build the client from settings in the Java names.

        Return Java name -> (own name, value), and Java name -> why it cannot be set. Every name is in one of them.
        Raise ConfigRefused if the client rejects the settings. No other error counts as a rejection.
        """
        raise NotImplementedError

    def close(self, timeout_s: float) -> bool:
        """Close the client within ``timeout_s``. Return True if it reports that it is done.

        A producer is done if every record has a result.
        """
        raise NotImplementedError


class Adapter(Role):
    """One client, as the contract defines it. An exception from a method is fatal: a defect of the adapter.

    ``features`` are those of the whole client, with ``consumer`` if :func:`run` is also given a consumer.
    """

    client = ""
    client_version = ""
    library_version: str | None = None
    language = "python"
    features: tuple[str, ...] = ("producer",)

    #: True if the client runs its callbacks only inside :meth:`poll`. A separate thread then calls it.
    polls = False

    def send(self, topic: str, key: str | None, value: str, partition: int | None, result: Result) -> None:
        """Pass one record to the client. Call ``result`` once, now or later, on any thread."""
        raise NotImplementedError

    def init_transactions(self) -> None:
        """Prepare the producer for transactions. Like the next three, only with the feature ``transactions``.

        Each of the four waits at most as long as max.block.ms, or as the client's own limit. It raises the client's
        exception, and :meth:`way_out` says what the application may do then.
        """
        raise NotImplementedError

    def begin_transaction(self) -> None:
        """Begin a transaction."""
        raise NotImplementedError

    def commit_transaction(self) -> None:
        """Commit the transaction, after all of its records have a result."""
        raise NotImplementedError

    def abort_transaction(self) -> None:
        """Abort the transaction."""
        raise NotImplementedError

    def way_out(self, error: Exception) -> str:
        """Return what the client lets the application do after an error of these calls: repeat, abort or close."""
        raise NotImplementedError

    def name_of(self, error: Exception) -> str:
        """Return the client's own name for an error of these calls."""
        return type(error).__name__

    def renew(self) -> None:
        """Close the producer without waiting, and build another one with the same settings."""
        raise NotImplementedError

    def poll(self, timeout_s: float) -> None:
        """Serve callbacks, for at most ``timeout_s``."""

    def flush(self, timeout_s: float) -> bool:
        """Flush the client, for at most ``timeout_s``. Return True if the client reports that it is done.

        The answer is passed on unchecked. The harness determines whether all records have results then.
        """
        raise NotImplementedError
