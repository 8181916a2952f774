"""A borrowed lane: addresses for any program, topics, any fault at any moment, and the frames that passed.

All methods are called from another thread than that of the loop that has the lane.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from harness.model.errors import UsageError
from harness.model.mode import Mode
from harness.model.rows import Frame, LogRecord
from harness.model.spec import AtTime, FaultSpec, FrameMatch
from harness.plugins import registry
from harness.plugins.cluster import Cluster
from harness.plugins.fault import LiveLane
from harness.running.lane import Lane

T = TypeVar("T")


@dataclass(frozen=True)
class LaneHandle:
    """A lane of a running cluster, while it is borrowed."""

    cluster: Cluster
    lane: Lane
    loop: asyncio.AbstractEventLoop
    _frames: list[Frame] = field(default_factory=list)
    _topics: dict[str, int] = field(default_factory=dict)

    @property
    def bootstrap(self) -> str:
        """The ``bootstrap.servers`` for a client."""
        return self.lane.bootstrap

    @property
    def frames(self) -> tuple[Frame, ...]:
        """All frames that have passed the witness since the lane was borrowed."""
        return tuple(self._frames)

    def topic(self, name: str | None = None, partitions: int = 1, **config: str) -> str:
        """Create a topic and return its name. If none is given, the name is unique."""
        name = name or f"lab-{uuid.uuid4().hex[:8]}"
        self._call(
            self.cluster.create_topic(name, partitions, {k.replace("_", "."): v for k, v in config.items()})
        )
        self._topics[name] = partitions
        return name

    def log(self, topic: str) -> list[LogRecord]:
        """Return every record in a topic, including control records. They are read without passing the lane."""
        return self._call(self.cluster.read_log(topic))

    @contextmanager
    def fault(
        self,
        kind: str,
        *,
        brokers: tuple[int, ...] = (),
        frames: Mapping[str, Any] | None = None,
        topic: str | None = None,
        **params: int,
    ) -> Iterator[None]:
        """Inject a fault of any kind until the end of the ``with``.

        ``params`` are the kind's own (``kafka-trial explain KIND``). ``frames`` restricts the fault to some frames, and
        ``topic`` to a topic, for kinds that have one. Raise UsageError for parameters that the kind does not have.
        """
        known = registry.fault(kind)
        if known.exclusive_cluster:
            raise UsageError(
                "fault-hurts-others",
                "fault {fault!r} affects brokers that others share; use it in a trial, which has its own cluster",
                fault=kind,
            )
        match = FrameMatch(**frames) if frames is not None else None
        spec = FaultSpec(kind, AtTime(0), 0, dict(params), brokers, match)
        known.check(spec, Mode.LIVE)
        name = topic or next(iter(self._topics), "")
        mine = LiveLane(self.lane.proxies, self.lane.witness, self.cluster, name, self._topics.get(name, 1))
        self._call(known.prepare(spec, mine))
        try:
            self._call(known.inject_live(spec, mine))
            yield
        finally:
            self._call(known.heal_live(spec, mine))

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


@asynccontextmanager
async def borrowed(
    cluster: Cluster, lane: Lane, loop: asyncio.AbstractEventLoop
) -> AsyncIterator[LaneHandle]:
    """Lend a lane. Raise EnvironmentProblem if a fault is on it before or afterwards."""
    await lane.assert_pristine()
    mine = LaneHandle(cluster, lane, loop)
    lane.witness.record(mine._frames.append)
    try:
        yield mine
    finally:
        lane.witness.record(None)
    await lane.assert_pristine()
