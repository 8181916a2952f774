"""A network that accepts a frame at once reports the send in the same round."""

from __future__ import annotations

from clients.reference.network.channel import Channel
from clients.reference.ports import Polled
from clients.reference.producer.producer import ProducerCore
from clients.reference.telemetry.trace import BatchSent, TraceEvent
from harness.wire.apis import Api
from harness.wire.frames import frame
from suites.properties.state_transitions import wire

NODE, PARTITIONS = 1, 3


class AtOnce(wire.Wire):
    """A network that accepts each frame at once."""

    def send(self, node_id: int, data: bytes) -> bool:
        super().send(node_id, data)
        sent = node_id in self.polled.completed_sends
        self.polled.completed_sends.clear()
        return sent


def answer(request: wire.Request) -> object:
    """Return the response of a healthy cluster of one broker."""
    if request.api is Api.API_VERSIONS:
        return wire.api_versions(request.version)
    topics = {"t": (0, [(index, NODE, 0) for index in range(PARTITIONS)])}
    return wire.metadata(request.version, {NODE: ("node1", 9092)}, topics)


def connected(**settings: object) -> tuple[ProducerCore, AtOnce, list[TraceEvent]]:
    """Return a producer that has completed all requests that precede the first send."""
    network, events = AtOnce(), []
    config = wire.config(**{"enable_idempotence": False, "linger_ms": 0, "acks": 1} | settings)
    core = ProducerCore(config, network, jitter=float, trace=events.append)
    core.send("t", None, b"first", timestamp_ms=0, now_ms=0, partition=0)
    for _ in range(20):
        core.run_once(0)
        for node_id, is_open in list(network.open.items()):
            queue = network.requests.get(node_id)
            if not is_open:
                network.connected(node_id)
            elif queue and queue[0].api is not Api.PRODUCE:
                network.received(node_id, queue[0].answer(answer(queue[0])))
    return core, network, events


def test_channel_reports_an_immediate_send_once():
    channel = Channel(7)
    channel.established()
    channel.report(Polled())
    assert not channel.take_sent()
    channel.send(frame(b"abc"))
    channel.wrote(3)
    assert not channel.take_sent()
    channel.wrote(4)
    assert channel.take_sent() and not channel.take_sent()
    assert not channel.has_news
    channel.report(polled := Polled())
    assert polled.completed_sends == []


def test_requests_are_sent_in_one_round():
    """NET-INF-03, PRD-ACC-05: the ready batches need as many requests as max.request.size requires."""
    core, network, events = connected(
        max_request_size=120, max_in_flight_requests_per_connection=PARTITIONS + 1
    )
    assert [type(each) for each in events].count(BatchSent) == 1
    for partition in range(PARTITIONS):
        core.send("t", None, b"v", timestamp_ms=0, now_ms=1, partition=partition)
    core.run_once(1)
    sent = [each for each in network.frames if each.api is Api.PRODUCE]
    assert sum(len(each.body.topic_data[0].partition_data) for each in sent[1:]) == PARTITIONS
    assert len(sent) == 1 + PARTITIONS


def test_requests_in_flight_are_limited():
    """NET-INF-03."""
    core, network, _ = connected(max_request_size=120, max_in_flight_requests_per_connection=2)
    for partition in range(PARTITIONS):
        core.send("t", None, b"v", timestamp_ms=0, now_ms=1, partition=partition)
    core.run_once(1)
    assert len(network.requests[NODE]) == 2


def test_without_acks_a_batch_completes_when_written():
    """The core asks for the round in which the result is published (NET-INF-05, PRD-SND-01)."""
    core, *_ = connected(acks=0)
    delivery, _ = core.send("t", None, b"v", timestamp_ms=0, now_ms=1, partition=0)
    assert core.run_once(1) == 0
    core.run_once(1)
    core.publish(1)
    assert delivery.is_done and delivery.metadata.offset == -1
