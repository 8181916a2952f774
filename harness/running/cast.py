"""The client processes of one live trial: the producers of its load, or the members of a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from harness.adapter import Conversation
from harness.adapter.member import MemberConversation
from harness.adapter.trace_file import read as read_trace
from harness.limits.meter import Meter
from harness.model.consumer_contract import Subscribe
from harness.model.contract import TRACE_ENV, AnyEvent, Configured, LoadCommand, Setting, StartupComplete
from harness.model.evidence import PRODUCER
from harness.model.parts import BY
from harness.model.run_files import TRACE
from harness.model.spec import ClientRef, TrialSpec
from harness.plugins import registry
from harness.plugins.client import InstalledClient
from harness.plugins.cluster import Contents
from harness.running.members import Members
from harness.running.producers import Producers, heard_as
from harness.trial.contents import WRITERS
from harness.trial.group import place_of

Said = TypeVar("Said", bound=Conversation)
LOG_OF_CLIENT = "client.log"
LOGS = "client*.log"


class Cast(Protocol):
    """What the script of a trial does with its client processes."""

    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *error: Any) -> None: ...

    async def startup(self, timeout_s: float) -> list[StartupComplete]:
        """Wait until all processes have started."""

    async def configure(
        self, run_id: str, config: Mapping[str, Setting], *, role: str, own: Mapping[str, str]
    ) -> list[Configured]:
        """Configure each process with these settings, ``own`` under the client's names."""

    async def load(self, name: str, command: LoadCommand) -> None:
        """Hand over some elements of the load."""

    async def settle(self, timeout_s: float) -> None:
        """Wait until every element has a result. Raises TimeoutError."""

    async def flush(self, timeout_ms: int) -> None:
        """Wait until all elements have results, or for the time given."""

    async def close(self, timeout_ms: int) -> None:
        """Close the clients and end their processes."""

    async def until(self, seen: Callable[[], bool], timeout_s: float) -> None:
        """Wait until all elements have results or ``seen()`` is true after an event."""

    @property
    def settled(self) -> bool:
        """True if every element that was handed over has a result."""

    @property
    def left_out(self) -> dict[str, int]:
        """The number of numbered events of each process that the contract does not define."""


class Casting:
    """Makes the client processes of a trial, whose files are in ``folder`` and whose own folder is ``own``.

    ``clients`` has how to start the client under test and its companions.
    """

    def __init__(
        self,
        spec: TrialSpec,
        clients: Mapping[ClientRef, InstalledClient],
        folder: Path,
        own: Path,
        meter: Meter,
        hear: Callable[[AnyEvent], None],
    ) -> None:
        self._spec, self._clients, self._folder, self._own = spec, clients, folder, own
        self._meter, self._hear = meter, hear
        self._kind = registry.workload(spec.workload.kind)
        self._names = spec.workload.shape.names
        self._is_traced = spec.workload.is_traced and self._kind.members is None

    def members(self, contents: Contents, topic: str) -> Members | None:
        """Return the members of the trial's group, or None if its clients produce."""
        kind, spec = self._kind, self._spec
        if kind.members is None or kind.begin is None:
            return None
        places, begin = kind.members(spec), kind.begin(spec, topic)
        companions = {place: ref for place, ref in places.items() if ref != spec.client}

        def conversation(process: str, hear: Callable[[AnyEvent], None]) -> MemberConversation:
            ref = companions.get(place_of(process), spec.client)
            return self._conversation(process, hear, MemberConversation, ref)

        return Members(
            tuple(places),
            conversation,
            begin,
            contents,
            topic,
            self._hear,
            partitions=spec.workload.partitions,
            writers=WRITERS if spec.workload.params.get("transactions") else (),
            is_static=bool(spec.workload.params.get("static")),
            owners=min(len(places), spec.workload.partitions) if isinstance(begin, Subscribe) else 0,
            companions=companions,
            upgrades=spec.upgrades,
        )

    def producers(self, topic: str) -> Producers:
        """Return the producers of the trial's load, whose first topic is ``topic``."""
        return Producers(
            {
                name: self._conversation(
                    name, heard_as(self._names, name, self._hear), Conversation, self._spec.client
                )
                for name in self._names
            },
            partial(self._kind.identity, topic),
        )

    def traces(self) -> tuple[Any, ...]:
        """Return the traces of all producers, with the name of each but the first in its rows."""
        if not self._is_traced:
            return ()
        found = {name: read_trace(self._own / _named(TRACE, name), self._meter) for name in self._names}
        return tuple(
            row if name == PRODUCER else {**row, BY: name} for name, rows in found.items() for row in rows
        )

    def _conversation(
        self, name: str, hear: Callable[[AnyEvent], None], kind: type[Said], ref: ClientRef
    ) -> Said:
        """Return the conversation with a process of ``ref``. That of the first producer has the trial's usual files."""
        launch = self._clients[ref].launch
        trace = {TRACE_ENV: str((self._own / _named(TRACE, name)).resolve())} if self._is_traced else {}
        return kind(
            replace(launch, env={**launch.env, **trace}),
            self._folder / _named(LOG_OF_CLIENT, name),
            hear,
            meter=self._meter,
            name=str(ref),
        )


def logs_in(folder: Path) -> list[Path]:
    """Return the logs of all client processes that have started in a trial with this folder."""
    return list(folder.glob(LOGS))


def _named(file: str, producer: str) -> str:
    """Return the file's name for this process: that of the first producer is unchanged."""
    stem, _, kind = file.rpartition(".")
    return file if producer == PRODUCER else f"{stem}-{producer}.{kind}"
