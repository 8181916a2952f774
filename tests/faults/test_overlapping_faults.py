"""Two overlapping faults of brokers: when one ends, in either order, the other stays in effect."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kio.schema.api_versions.v3 import ApiVersionsRequest
from kio.schema.errors import ErrorCode

from harness.brokers.scripted.cluster import ScriptedCluster
from harness.model.dice import Dice
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import AtTime, FaultSpec
from harness.plugins.fault import LiveLane
from harness.plugins.registry import fault as fault_kind
from harness.wire.apis import Api
from harness.wire.messages import decode_response, encode_request

ASKED = ApiVersionsRequest(client_software_name="c", client_software_version="1")


def pair(
    kind: str, first: dict[str, int] | None = None, second: dict[str, int] | None = None
) -> list[FaultSpec]:
    """Two faults of a kind, one longer than the other."""
    return [
        FaultSpec(kind, AtTime(0), 5_000, first or {}, (2,)),
        FaultSpec(kind, AtTime(1_000), 9_000, second or first or {}, (2,)),
    ]


# in simulated mode


@dataclass
class Scripted:
    """A lane that has only brokers."""

    cluster: ScriptedCluster = field(
        default_factory=lambda: ScriptedCluster("4.3.1", {n: ("b", n) for n in (1, 2, 3)}, Dice(1, "c"))
    )
    topic: str = "t"
    now_ns: int = 1_000_000

    def __post_init__(self) -> None:
        self.cluster.create_topic("t", 1)

    def on(self, spec: FaultSpec) -> Any:
        return (SimpleNamespace(node_id=node_id) for node_id in spec.brokers)

    def told(self, node_id: int = 1) -> Any:
        """Return a broker's response, or None without one."""
        answer = self.cluster.handle(node_id, 1, encode_request(ASKED, 1, "c")[4:], self.now_ns)
        if answer.frame is None:
            return None
        return decode_response(answer.frame[4:], ASKED.__api_key__, ASKED.__version__)[1]


NEVER = 10**6
VERSIONS = int(Api.API_VERSIONS)
HOLDS: dict[str, tuple[dict[str, int], Callable[[Scripted], bool]]] = {
    "broker_kill": ({}, lambda it: not it.cluster.accepts(2)),
    "broker_pause": ({}, lambda it: it.told(2) is None),
    "error_response": (
        {"api": VERSIONS, "code": 41, "count": NEVER},
        lambda it: it.told().error_code is ErrorCode(41),
    ),
    "message_size_limit": ({"bytes": 99}, lambda it: it.cluster.config("t") == {"max.message.bytes": "99"}),
    "min_isr": ({}, lambda it: 2 not in it.cluster.state.topics["t"].partitions[0].isr),
    "throttle": ({"api": VERSIONS, "throttle_ms": 7}, lambda it: bool(it.told().throttle_time)),
    "topic_recreate": ({}, lambda it: not it.cluster.has_topic("t")),
}


@pytest.mark.parametrize("kind", HOLDS)
@pytest.mark.parametrize("is_first_over_first", [True, False])
def test_scripted_brokers_keep_the_other_fault(kind: str, is_first_over_first: bool) -> None:
    it, fault, (params, holds) = Scripted(), cast(Any, fault_kind(kind)), HOLDS[kind]
    over, still = pair(kind, params)[:: 1 if is_first_over_first else -1]
    for spec in pair(kind, params):
        fault.inject_sim(spec, it)
        assert holds(it)
    fault.heal_sim(over, it)
    fault.heal_sim(over, it)
    assert holds(it)
    fault.heal_sim(still, it)
    assert not holds(it)


def test_second_throttle_is_reported_after_the_first_ends() -> None:
    it, fault = Scripted(), cast(Any, fault_kind("throttle"))
    first, second = pair("throttle", *({"api": VERSIONS, "throttle_ms": ms} for ms in (300, 100)))
    said_ms = []
    for change, spec in (
        (fault.inject_sim, first),
        (fault.inject_sim, second),
        (fault.heal_sim, first),
        (fault.heal_sim, second),
    ):
        change(spec, it)
        said_ms.append(it.told().throttle_time.total_seconds() * 1_000)
    assert said_ms == [300, 300, 100, 0]


def test_only_response_with_a_throttle_time_is_a_hit() -> None:
    spec = FaultSpec("throttle", AtTime(0), 5_000)
    row = FaultRow(0, spec, (0, 9), (0, 9))
    plain = Frame(t_ns=5, lane=0, broker=1, conn=1, kind=FrameKind.RESPONSE, api_key=int(Api.PRODUCE))
    said = Frame(**{name: getattr(plain, name) for name in plain.__struct_fields__} | {"throttle_ms": 1})
    assert fault_kind("throttle").hits(row, [plain, said, plain]) == 1


# in live mode


class Brokers:
    """A fake cluster that does as told, sometimes slowly, and is its own administration."""

    node_ids = (1, 2, 3)

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.down: set[int] = set()
        self.paused: set[int] = set()
        self.topics = {"t"}

    @property
    def alterations(self) -> Brokers:
        return self

    @property
    def up(self) -> tuple[int, ...]:
        return tuple(node for node in self.node_ids if node not in self.down | self.paused)

    async def _set(self, name: str, value: Any) -> None:
        for _ in range(1 if value else 5):  # undoing a change takes longer than making it
            await asyncio.sleep(0)
        self.settings.pop(name, None)
        if value is not None:
            self.settings[name] = value

    async def alter_topic(self, topic: str, name: str, value: str | None) -> None:
        await self._set(f"{topic} {name}", value)

    async def alter_brokers(self, name: str, value: str | None) -> None:
        await self._set(name, value)

    async def forget_producers(self, topic: str, partition: int) -> None:
        assert self.settings["producer.id.expiration.ms"] == "1"

    async def alter_quota(self, name: str, value: float | None) -> None:
        await self._set(name, value)

    async def partitions(self, topic: str) -> list[int]:
        return [0] if topic in self.topics else []

    async def delete_topic(self, topic: str) -> None:
        self.topics.discard(topic)

    async def create_topic(self, topic: str, partitions: int) -> None:
        await asyncio.sleep(0)
        self.topics.add(topic)

    async def kill(self, node_id: int) -> None:
        self.down.add(node_id)

    stop = kill

    async def restart(self, node_id: int) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        self.down.discard(node_id)

    async def pause(self, node_id: int) -> None:
        assert node_id in self.up, "a stopped process is not stopped again"
        self.paused.add(node_id)

    async def resume(self, node_id: int) -> None:
        self.paused.discard(node_id)


@dataclass(eq=False)
class Door:
    """A proxy that is enabled or disabled."""

    address: Any
    is_open: bool = True

    async def disable(self) -> None:
        self.is_open = False

    async def enable(self) -> None:
        self.is_open = True


def live() -> tuple[LiveLane, Brokers]:
    brokers = Brokers()
    doors = tuple(Door(SimpleNamespace(broker=node)) for node in brokers.node_ids)
    return LiveLane(cast(Any, doors), cast(Any, None), cast(Any, brokers), "t"), brokers


LIVE: dict[str, tuple[dict[str, int], dict[str, int], Callable[[Brokers], Any]]] = {
    "broker_kill": ({}, {}, lambda it: it.down),
    "broker_pause": ({}, {}, lambda it: it.paused),
    "broker_restart": ({}, {}, lambda it: it.down),
    "message_size_limit": ({"bytes": 99}, {"bytes": 199}, lambda it: it.settings),
    "min_isr": ({}, {}, lambda it: (it.settings, it.down)),
    "producer_id_expiry": ({}, {}, lambda it: it.settings),
    "quota": ({"bytes_per_s": 99}, {"bytes_per_s": 199}, lambda it: it.settings),
    "topic_recreate": ({}, {}, lambda it: it.topics),
}


async def seen(shows: Callable[[Brokers], Any], *begun: FaultSpec) -> Any:
    """Return the cluster's state with only these faults in effect."""
    lane, brokers = live()
    for spec in begun:
        await fault_kind(spec.kind).inject_live(spec, lane)
    return shows(brokers)


@pytest.mark.parametrize("kind", LIVE)
@pytest.mark.parametrize("is_first_over_first", [True, False])
def test_brokers_keep_the_other_fault(kind: str, is_first_over_first: bool) -> None:
    first_params, second_params, shows = LIVE[kind]
    specs = pair(kind, first_params, second_params)

    async def scenario() -> None:
        (lane, brokers), fault = live(), fault_kind(kind)
        over, still = specs[:: 1 if is_first_over_first else -1]
        for spec in specs:
            await fault.inject_live(spec, lane)
            assert shows(brokers) == await seen(shows, spec)  # the later of two values applies
        await fault.heal_live(over, lane)
        await fault.heal_live(over, lane)
        assert shows(brokers) == await seen(shows, still)
        assert all(door.is_open for door in cast(Any, lane.proxies)) == (not brokers.down)
        await fault.heal_live(still, lane)
        assert shows(brokers) == await seen(shows)
        assert all(door.is_open for door in cast(Any, lane.proxies))

    asyncio.run(scenario())


@pytest.mark.parametrize("kind", LIVE)
def test_fault_that_begins_while_another_ends_is_in_effect(kind: str) -> None:
    """Whichever change the brokers complete first."""
    first_params, second_params, shows = LIVE[kind]
    over, begun = pair(kind, first_params, second_params)

    async def scenario() -> None:
        (lane, brokers), fault = live(), fault_kind(kind)
        await fault.inject_live(over, lane)
        await asyncio.gather(fault.heal_live(over, lane), fault.inject_live(begun, lane))
        assert shows(brokers) == await seen(shows, begun)
        await fault.heal_live(begun, lane)
        assert shows(brokers) == await seen(shows)

    asyncio.run(scenario())
