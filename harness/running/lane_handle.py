"""A lane in somebody's hands: addresses for any program, topics, any fault at any moment, and what really passed.

Everything here is called from another thread than the loop that has the lane.
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
    """One lane of a running cluster, for as long as it is borrowed."""

    cluster: Cluster
    lane: Lane
    loop: asyncio.AbstractEventLoop
    _frames: list[Frame] = field(default_factory=list)
    _topics: dict[str, int] = field(default_factory=dict)

    @property
    def bootstrap(self) -> str:
        """What to give a client as ``bootstrap.servers``."""
        return self.lane.bootstrap

    @property
    def frames(self) -> tuple[Frame, ...]:
        """Every frame that passed the witness since the lane was borrowed."""
        return tuple(self._frames)

    def topic(self, name: str | None = None, partitions: int = 1, **config: str) -> str:
        """Create a topic, of a name that nobody else has where none is given; its name."""
        name = name or f"lab-{uuid.uuid4().hex[:8]}"
        self._call(
            self.cluster.create_topic(name, partitions, {k.replace("_", "."): v for k, v in config.items()})
        )
        self._topics[name] = partitions
        return name

    def log(self, topic: str) -> list[LogRecord]:
        """Every record that lies in a topic, control records included, read past the lane."""
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
        """A fault of any kind that a plan may have, in effect until the end of the ``with``.

        ``params`` are the kind's own (``kafka-trial explain KIND``), ``frames`` say which single frames it is for, and
        ``topic`` which topic, for kinds that have one. UsageError for what the kind does not know.
        """
        known = registry.fault(kind)
        if known.exclusive_cluster:
            raise UsageError(
                "fault-hurts-others",
                "fault {fault!r} hurts brokers that others share; have it in a trial, which is then alone",
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
    """A lane on loan. EnvironmentProblem if a fault is on it, before or behind."""
    await lane.assert_pristine()
    mine = LaneHandle(cluster, lane, loop)
    lane.witness.record(mine._frames.append)
    try:
        yield mine
    finally:
        lane.witness.record(None)
    await lane.assert_pristine()
