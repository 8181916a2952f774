"""The client's side of the contract: events, numbered and timed, with a heartbeat once a second."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kafka_trial.api import (
    CONTRACT_VERSION,
    AnyEvent,
    Configure,
    Configured,
    Fatal,
    OpComplete,
    OpInvoke,
    Setting,
    ShutdownComplete,
    StartupComplete,
    Stats,
    UnknownCommand,
)
from kafka_trial_examples.lookup.commands import Lookup
from kafka_trial_examples.lookup.kind import FEATURE, PROFILE

STATS_INTERVAL_NS = 1_000_000_000
#: The settings that the client has besides those of the profile.
OWN = ("bootstrap.servers", "client.id")


class Voice:
    """Tells events. ``clock`` is the monotonic clock and ``wall_clock`` the time of day, both in nanoseconds."""

    def __init__(
        self, clock: Callable[[], int], wall_clock: Callable[[], int], tell: Callable[[AnyEvent], None]
    ) -> None:
        self._clock, self._wall_clock, self._tell = clock, wall_clock, tell
        self._seq = self._asked = self._completed = 0
        self._stats_ns = clock() + STATS_INTERVAL_NS

    def _event(self, kind: Callable[..., AnyEvent], **fields: Any) -> int:
        now_ns = self._clock()
        self._tell(kind(seq=self._seq, mono_ns=now_ns, wall_ns=self._wall_clock(), **fields))
        self._seq += 1
        return now_ns

    def started(self, client: str, version: str) -> None:
        """Tell that the client has started."""
        self._event(
            StartupComplete,
            client=client,
            client_version=version,
            language="python",
            features=[FEATURE],
            contract_version=CONTRACT_VERSION,
        )

    def configured(self, command: Configure) -> dict[str, Setting]:
        """Tell which settings the client has and which it lacks, and return the former.

        Raises ValueError for a timeout that is not a whole number, before anything is told.
        """
        known = {name: value for name, value in command.config.items() if name in (*PROFILE, *OWN)}
        for name in known.keys() & PROFILE.keys():
            int(known[name])
        lacks = {name: "this client has no such setting" for name in command.config if name not in known}
        applied = {name: (name, value) for name, value in known.items()}
        self._event(Configured, id=command.id, applied=applied, not_set=lacks)
        return known

    def unsupported(self, command: Mapping[str, Any]) -> None:
        """Tell that the client does not know a command."""
        self._event(UnknownCommand, cmd=command["cmd"], id=command.get("id", -1))

    def began(self, command: Lookup) -> int:
        """Tell that all lookups of a command begin, and return when."""
        self._asked += command.count
        return self._event(OpInvoke, op=command.op, id=command.id, first=command.first, count=command.count)

    def result(self, id: int, n: int, invoke_ns: int, value: str | None, error: str | None) -> None:
        """Tell the result of one lookup: a value, or an error."""
        self._completed += 1
        outcome = "ok" if error is None else "fail"
        self._done(Lookup.op, id, invoke_ns, outcome, error, records=[n], value=[value])

    def invoked(self, op: str, id: int) -> int:
        """Tell that a flush or a close begins, and return when."""
        return self._event(OpInvoke, op=op, id=id)

    def ended(self, op: str, id: int, invoke_ns: int, error: str | None = None) -> None:
        """Tell that a flush or a close has ended."""
        self._done(op, id, invoke_ns, "fail" if error else "ok", error)

    def failed(self, error: str, message: str) -> None:
        """Tell why the client cannot go on."""
        self._event(Fatal, error=error, message=message)

    def shut_down(self) -> None:
        """Tell that nothing follows."""
        self._event(ShutdownComplete)

    def beat(self) -> int:
        """Tell the heartbeat if it is due, and return when the next one is."""
        if self._clock() >= self._stats_ns:
            self._stats_ns = (
                self._event(Stats, sent=self._asked, completed=self._completed) + STATS_INTERVAL_NS
            )
        return self._stats_ns

    def _done(
        self, op: str, id: int, invoke_ns: int, outcome: str, error: str | None, **columns: list[Any]
    ) -> None:
        times = {"invoke_ns": [invoke_ns], "complete_ns": [self._clock()]}
        self._event(OpComplete, op=op, id=id, outcome=[outcome], error=[error], **times, **columns)
