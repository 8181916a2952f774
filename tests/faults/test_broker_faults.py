"""The faults of the scripted brokers: their effect on a cluster, their end, and what counts as a hit."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from kio.schema.api_versions.v3 import ApiVersionsRequest
from kio.schema.errors import ErrorCode
from kio.schema.produce.v9 import ProduceRequest
from kio.schema.produce.v9.request import PartitionProduceData, TopicProduceData
from kio.schema.types import TopicName
from kio.static.primitive import Records, i16, i32, i32Timedelta

from harness.brokers.scripted.cluster import ScriptedCluster
from harness.model.dice import Dice
from harness.model.errors import UsageError
from harness.model.mode import BOTH_MODES
from harness.model.rows import FaultRow, Frame, FrameKind, ProducePart
from harness.model.spec import AtTime, FaultSpec
from harness.plugins.fault import Fault
from harness.plugins.registry import fault as fault_kind
from harness.wire.apis import Api
from harness.wire.messages import decode_response, encode_request
from harness.wire.records import BatchBuilder

KINDS = (
    "leader_move",
    "broker_kill",
    "broker_pause",
    "topic_recreate",
    "topic_growth",
    "min_isr",
    "message_size_limit",
    "throttle",
    "error_response",
    "producer_id_expiry",
    "log_trim",
)


@dataclass
class Lane:
    """A lane that has only brokers."""

    cluster: ScriptedCluster
    topic: str = "t"
    now_ns: int = 1_000_000
    proxies: list[Any] = field(default_factory=list)

    def ask(self, message):
        """Return broker 1's response, encoded and decoded."""
        answer = self.cluster.handle(1, 1, encode_request(message, 1, "client")[4:], self.now_ns)
        return decode_response(answer.frame[4:], message.__api_key__, message.__version__)[1]

    def produce(self, base_sequence, producer_id=-1):
        """Return the result of a batch for partition 0."""
        builder = BatchBuilder()
        builder.append(1_700_000_000_000, b"k", b"v")
        epoch = 0 if producer_id >= 0 else -1
        part = PartitionProduceData(
            index=i32(0), records=Records(builder.build(producer_id, epoch, base_sequence))
        )
        answer = self.ask(
            ProduceRequest(
                transactional_id=None,
                acks=i16(1),
                timeout=i32Timedelta.parse(timedelta(seconds=10)),
                topic_data=(TopicProduceData(name=TopicName("t"), partition_data=(part,)),),
            )
        )
        return answer.responses[0].partition_responses[0]

    def on(self, spec):
        return (
            SimpleNamespace(node_id=i) for i in self.cluster.node_ids if not spec.brokers or i in spec.brokers
        )


def lane(nodes=3):
    cluster = ScriptedCluster("4.3.1", {i: ("b", i) for i in range(1, nodes + 1)}, Dice(1, "c"))
    cluster.create_topic("t", 3)
    return Lane(cluster)


def spec(kind, brokers=(), **params):
    return FaultSpec(kind, AtTime(0), 5_000, params, brokers)


def state(cluster):
    """Return all state of a cluster that a fault can change."""
    inner = cluster.state
    return (
        [(n.is_alive, n.paused_until_ns) for n in inner.nodes.values()],
        {name: (t.settings, len(t.partitions)) for name, t in inner.topics.items()},
        [set(p.isr) for _, p in inner.partitions()],
        [p.lagging for _, p in inner.partitions()],
        inner.throttles_ms,
        inner.injected,
        inner.out_of_sync,
    )


@pytest.mark.parametrize("name", KINDS)
def test_fault_that_never_began_can_be_healed(name):
    it = lane()
    before = state(it.cluster)
    fault_kind(name).heal_sim(spec(name), it)
    assert state(it.cluster) == before


@pytest.mark.parametrize("name", [name for name in KINDS if name != "topic_growth"])
@pytest.mark.parametrize("brokers", [(), (2,)])
@pytest.mark.parametrize("nodes", [1, 3])
def test_cluster_is_restored_after_the_fault(name, brokers, nodes):
    it = lane(nodes)
    before = state(it.cluster)
    fault = fault_kind(name)
    fault.inject_sim(spec(name, brokers), it)
    fault.inject_sim(spec(name, brokers), it)
    fault.heal_sim(spec(name, brokers), it)
    assert state(it.cluster) == before
    assert all(it.cluster.leader("t", partition)[0] != -1 for partition in range(3))


@pytest.mark.parametrize("name", KINDS)
def test_kind_validates_parameters_and_worlds(name):
    fault = fault_kind(name)
    assert isinstance(fault, Fault)
    assert fault.modes == BOTH_MODES
    assert fault.exclusive_cluster == (name not in ("throttle", "error_response"))
    with pytest.raises(UsageError):
        fault.values(spec(name, nonsense=1))


def test_leaders_move_away_from_the_named_brokers():
    it = lane()
    fault_kind("leader_move").inject_sim(spec("leader_move", (2,)), it)
    assert [it.cluster.leader("t", partition) for partition in range(3)] == [(1, 0), (3, 1), (3, 0)]


def test_brokers_die_and_return():
    it = lane()
    fault = fault_kind("broker_kill")
    fault.inject_sim(spec("broker_kill", (1, 3)), it)
    assert [it.cluster.accepts(node) for node in (1, 2, 3)] == [False, True, False]
    assert {it.cluster.leader("t", partition)[0] for partition in range(3)} == {2}
    fault.heal_sim(spec("broker_kill", (1, 3)), it)
    assert all(it.cluster.accepts(node) for node in (1, 2, 3))


def test_pause_lasts_as_long_as_the_fault():
    it = lane()
    fault_kind("broker_pause").inject_sim(spec("broker_pause", (2,)), it)
    answer = it.cluster.handle(2, 1, b"", it.now_ns)
    assert (answer.again, answer.at_ns) == (True, it.now_ns + 5_000 * 1_000_000)
    assert it.cluster.handle(1, 1, b"", it.now_ns).close


@pytest.mark.twin("topic_recreate")
def test_topics_are_deleted_recreated_and_grown():
    it = lane()
    fault = fault_kind("topic_recreate")
    fault.inject_sim(spec("topic_recreate"), it)
    assert not it.cluster.has_topic("t")
    for name in KINDS:  # faults overlap, so each must work with the other in effect
        fault_kind(name).inject_sim(spec(name), it)
        fault_kind(name).heal_sim(spec(name), it)
    assert it.cluster.has_topic("t")
    before = it.cluster.partition_count("t")
    fault_kind("topic_growth").inject_sim(spec("topic_growth", partitions=4), it)
    assert it.cluster.partition_count("t") == before + 4


def test_settings_change_during_the_fault():
    it = lane()
    fault_kind("message_size_limit").inject_sim(spec("message_size_limit", bytes=99), it)
    assert it.cluster.config("t") == {"max.message.bytes": "99"}
    fault_kind("message_size_limit").heal_sim(spec("message_size_limit", bytes=99), it)
    assert it.cluster.config("t") == {}


@pytest.mark.twin("throttle")
def test_responses_have_a_throttle_time_during_the_fault():
    it, fault, of_it = lane(), fault_kind("throttle"), spec("throttle", api=Api.API_VERSIONS, throttle_ms=300)
    asked = ApiVersionsRequest(client_software_name="c", client_software_version="1")
    fault.inject_sim(of_it, it)
    assert it.ask(asked).throttle_time == timedelta(milliseconds=300)
    fault.heal_sim(of_it, it)
    assert it.ask(asked).throttle_time == timedelta()


@pytest.mark.twin("producer_id_expiry")
def test_producer_ids_expire():
    it, fault = lane(), fault_kind("producer_id_expiry")
    assert it.produce(0, producer_id=5).error_code is ErrorCode.none
    assert it.produce(7, producer_id=5).error_code is ErrorCode.out_of_order_sequence_number
    fault.inject_sim(spec("producer_id_expiry"), it)
    assert it.produce(7, producer_id=5).error_code is ErrorCode.none
    assert it.produce(99, producer_id=5).error_code is ErrorCode.out_of_order_sequence_number


@pytest.mark.twin("log_trim")
def test_log_is_trimmed():
    it = lane()
    assert [it.produce(-1).base_offset for _ in range(3)] == [0, 1, 2]
    fault_kind("log_trim").inject_sim(spec("log_trim"), it)
    assert it.cluster.read_log("t") == []
    later = it.produce(-1)
    assert (later.base_offset, later.log_start_offset) == (3, 3)


def row(name, brokers=(), **params):
    return FaultRow(0, spec(name, brokers, **params), (1_000, 2_000), (1_000, 2_000))


def frame(kind=FrameKind.RESPONSE, api=Api.PRODUCE, t_ns=1_500, broker=1, **given):
    return Frame(t_ns=t_ns, lane=0, broker=broker, conn=1, kind=kind, api_key=int(api), **given)


BATCH = ProducePart("t", 0, producer_id=5, producer_epoch=0, base_sequence=0, records=1, crc=1)
PLAIN = ProducePart("t", 0, producer_id=-1, producer_epoch=-1, base_sequence=-1, records=1, crc=1)
HITS = {
    "leader_move": (frame(error_codes=(6,)), frame(error_codes=(7,))),
    "broker_kill": (
        frame(FrameKind.CLOSE, closed_by="broker"),
        frame(FrameKind.CLOSE, closed_by="client"),
    ),
    "broker_pause": (frame(FrameKind.REQUEST), frame()),
    "topic_recreate": (frame(error_codes=(0, 100)), frame(error_codes=(6,))),
    "topic_growth": (frame(api=Api.METADATA), frame()),
    "min_isr": (frame(error_codes=(19,)), frame(error_codes=(6,))),
    "message_size_limit": (frame(error_codes=(10,)), frame(error_codes=(6,))),
    "throttle": (frame(throttle_ms=300), frame(), frame(api=Api.METADATA, throttle_ms=300)),
    "error_response": (frame(error_codes=(6,)), frame(api=Api.METADATA, error_codes=(6,))),
    "producer_id_expiry": (
        frame(FrameKind.REQUEST, produce=(BATCH, PLAIN)),
        frame(FrameKind.REQUEST, produce=(PLAIN,)),
    ),
    "log_trim": (frame(), frame(api=Api.METADATA)),
}


@pytest.mark.parametrize("name", KINDS)
def test_hits_are_frames_that_show_the_fault(name):
    hit, *misses = HITS[name]
    before, after = (
        Frame(**{**{f: getattr(hit, f) for f in hit.__struct_fields__}, "t_ns": t}) for t in (999, 2_001)
    )
    fault = fault_kind(name)
    assert fault.hits(row(name), [before, hit, *misses, *misses, after]) == 1
    assert fault.simulated_hits(row(name), [hit], lane()) == 1
    elsewhere = name == "min_isr"  # the leaders respond, whichever replica is behind
    assert fault.hits(row(name, brokers=(2,)), [hit]) == elsewhere
    never = FaultRow(0, spec(name), None, None)
    assert fault.hits(never, [hit]) == 0
