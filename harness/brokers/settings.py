"""The configuration of a node: ``server.properties`` and its logging, rendered from the layout. Pure.

The settings make a cluster start fast and stay stable under observation: no topic is created automatically, no leader
moves to balance load, and no log data is deleted before it has been read back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.brokers.accepts import LOGGER
from harness.brokers.credentials import GUARDED, Credentials
from harness.brokers.layout import Layout, NodeLayout, listener_name
from harness.model.addresses import Address
from harness.wire.frames import REQUEST_LIMIT_BYTES

#: Heap and metaspace start at the size that a broker soon needs. Growing them takes a sixth of the CPU time of a start
#: (`python -m benchmarks.cluster`: 4.0 core-seconds per node, 3.4 with both options).
JVM_OPTIONS = (
    "-Xms128m",
    "-Xmx512m",
    "-XX:MetaspaceSize=128m",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djava.net.preferIPv4Stack=true",
)

_LOG4J2 = f"""\
appender.stdout.type = Console
appender.stdout.name = STDOUT
appender.stdout.layout.type = PatternLayout
appender.stdout.layout.pattern = [%d] %p [%t] %m (%c)%n
rootLogger.level = INFO
rootLogger.appenderRef.stdout.ref = STDOUT
logger.processor.name = {LOGGER}
logger.processor.level = DEBUG
"""

_RELOAD4J = f"""\
log4j.rootLogger = INFO, stdout
log4j.appender.stdout = org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout = org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern = [%d] %p [%t] %m (%c)%n
log4j.logger.{LOGGER} = DEBUG
"""


def server_properties(
    layout: Layout, node: NodeLayout, data: Path, credentials: Credentials | None
) -> dict[str, str]:
    """Return the settings of ``node`` (KRaft, broker and controller in one), with its log in ``data``.

    Without ``credentials`` all of its listeners are open.
    """
    addresses = _addresses(layout, node, GUARDED if credentials else ())
    guard = credentials.properties() if credentials else {}
    durability = _durability(len(layout.nodes))
    return addresses | guard | durability | _GROUPS | _QUIET | {"log.dirs": str(data)}


def _addresses(layout: Layout, node: NodeLayout, guarded: Sequence[str]) -> dict[str, str]:
    lanes = {listener_name(address.lane): address for address in node.lanes}
    bound = {"CONTROLLER": node.controller, "INTERNAL": node.internal}
    bound |= {name: address.listener for name, address in lanes.items()}
    told = {"INTERNAL": node.internal} | {name: address.advertised for name, address in lanes.items()}
    return {
        "process.roles": "broker,controller",
        "node.id": str(node.node_id),
        "controller.quorum.voters": ",".join(f"{n.node_id}@{_authority(n.controller)}" for n in layout.nodes),
        "listeners": _listeners(bound),
        "advertised.listeners": _listeners(told),
        "listener.security.protocol.map": ",".join(
            f"{name}:{'SASL_PLAINTEXT' if name in guarded else 'PLAINTEXT'}" for name in bound
        ),
        "inter.broker.listener.name": "INTERNAL",
        "controller.listener.names": "CONTROLLER",
    }


def _authority(address: Address) -> str:
    return f"{address[0]}:{address[1]}"


def _listeners(named: Mapping[str, Address]) -> str:
    return ",".join(f"{name}://{_authority(address)}" for name, address in named.items())


def _durability(nodes: int) -> dict[str, str]:
    replicas, in_sync = str(min(3, nodes)), str(min(2, nodes))
    return {
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
    }


#: With KIP-848 the brokers decide what the common profile decides for classic groups (45 s and 5 s by default).
_GROUPS = {
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.initial.rebalance.delay.ms": "0",
}

_QUIET = {
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    # The cleaner looks for work every fifteen seconds by default. The fault compaction waits for it.
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.retention.ms": "-1",
    # An idle controller writes to its log twice per second by default: a third of an idle cluster's CPU time.
    "metadata.max.idle.interval.ms": "5000",
    "num.network.threads": "1",
    "num.partitions": "1",
    "offsets.topic.num.partitions": "4",
    # Nothing expires within a day by default. A fault that lowers producer.id.expiration.ms should not have to wait ten
    # minutes for this check.
    "producer.id.expiration.check.interval.ms": "500",
    "share.coordinator.state.topic.num.partitions": "4",
    "socket.request.max.bytes": str(REQUEST_LIMIT_BYTES),
    "transaction.state.log.num.partitions": "4",
}


def render(properties: Mapping[str, str]) -> str:
    """Render Java's ``.properties`` syntax for values without line breaks. Only backslashes need escaping."""
    return "".join(f"{name}={value.replace(chr(92), chr(92) * 2)}\n" for name, value in properties.items())


def logging(version: str, folder: Path) -> tuple[str, str, str]:
    """Return how a broker of ``version`` logs to standard output: JVM option, file name, and the file's text."""
    if int(version.partition(".")[0]) >= 4:
        return f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}", "log4j2.properties", _LOG4J2
    return f"-Dlog4j.configuration=file:{folder / 'log4j.properties'}", "log4j.properties", _RELOAD4J
