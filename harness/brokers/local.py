"""Real Apache Kafka as processes of this machine: KRaft, each node broker and controller in one, all on 127.0.0.1.

A cluster belongs to one run. Its ports are a free block and its data is in a scratch folder; both are released with it,
while the nodes' logs are kept. A cluster is only handed out once every listener of every node responds in Kafka's
protocol.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import uuid
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from kio.schema.errors import ErrorCode

from harness.brokers import settings
from harness.brokers.accepts import Accepts
from harness.brokers.admin import LATEST, TIMEOUT_S, Admin
from harness.brokers.alterations import Alterations
from harness.brokers.connection import require
from harness.brokers.contents import Contents
from harness.brokers.credentials import Credentials
from harness.brokers.deadline import insist
from harness.brokers.layout import ClusterId, Layout, listener_name
from harness.brokers.log_reader import read_log
from harness.brokers.node import STOP_GRACE_S, BrokerNode, NodeState
from harness.brokers.readiness import assert_ready
from harness.brokers.renewal import AS_NEW_S, Renewal
from harness.files import make_folder, remove_tree
from harness.limits.meter import Meter
from harness.model.addresses import Address, LaneAddress
from harness.model.errors import BrokerDied, KafkaTrialError
from harness.model.rows import LogRecord
from harness.plugins.cluster import ClusterNeeds
from harness.provision import class_data
from harness.provision.java import find_java
from harness.provision.kafka import VERSIONS, kafka_jars
from harness.system import needs, processes
from harness.system.port_allocator import port_block

#: The limit for the start of the nodes. On a busy machine, a start has taken more than a minute.
START_TIMEOUT_S = 180.0
#: The limit for a node that writes its class data archive when it ends.
DUMP_TIMEOUT_S = 120.0

log = logging.getLogger(__name__)


class LocalCluster:
    """A running cluster (``ports.Cluster``). :meth:`LocalKind.cluster` starts and removes it."""

    def __init__(
        self,
        cluster_id: ClusterId,
        layout: Layout,
        java: tuple[str, ...],
        folder: Path,
        log_dir: Path,
        config: Mapping[str, str] | None = None,
        *,
        is_guarded: bool = True,
    ) -> None:
        self.version = cluster_id.version
        self.cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        #: The nodes with their own listeners, and the lanes.
        self.layout = layout
        #: The credentials that INTERNAL requires, or None.
        self.credentials = Credentials.drawn() if is_guarded else None
        self._java = java
        self._folder = folder
        self._config = config or {}
        self._nodes = {
            node.node_id: BrokerNode(
                node.node_id,
                (*self._jvm(), "kafka.Kafka", self.properties_file(node.node_id)),
                log_dir / f"node-{node.node_id}.log",
            )
            for node in layout.nodes
        }
        self._accepts = Accepts({node_id: node.log for node_id, node in self._nodes.items()})
        self._probes = defaultdict[Address, Counter[int]](Counter)
        self.admin = Admin(self._internal, self.credentials)
        self.alterations = Alterations(self.admin)
        self.contents = Contents(self.admin)
        self._renewal = Renewal(self.admin, self.alterations, self.node_ids, self._until_ready)

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The ids of all nodes, up or not."""
        return tuple(self._nodes)

    @property
    def addresses(self) -> tuple[LaneAddress, ...]:
        """The chains of all lanes on all nodes."""
        return self.layout.addresses

    @property
    def internal_addresses(self) -> Mapping[int, Address]:
        """Node id -> INTERNAL address, for the nodes that are up."""
        return self._internal()

    @property
    def up(self) -> tuple[int, ...]:
        """The nodes that run. A paused node does not count."""
        return tuple(self._internal())

    def died(self) -> str | None:
        """Return which node ended by itself, with the end of its log, or None."""
        return next((reason for node in self._nodes.values() if (reason := node.died())), None)

    async def create_topic(
        self, topic: str, partitions: int, config: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic with a replica on every node, and wait until every broker knows its leaders."""
        await self.admin.create_topic(topic, partitions, len(self._nodes), config)

    async def partitions(self, topic: str) -> list[int]:
        """Return the partitions of a topic, or an empty list if it does not exist."""

        async def known() -> list[int]:
            [found] = (await self.admin.metadata(None, topic)).topics
            if found.error_code == ErrorCode.unknown_topic_or_partition:
                return []
            require(found.error_code, f"asking for {topic!r}")
            return sorted(part.partition_index for part in found.partitions)

        return await insist(f"asking for {topic!r}", TIMEOUT_S, known)

    async def leader(self, topic: str, partition: int) -> int:
        """Return the node that leads a partition."""
        what = f"finding the leader of {topic}-{partition}"
        return await insist(what, TIMEOUT_S, lambda: self.admin.leader(topic, partition))

    async def in_sync(self, topic: str) -> None:
        """Wait until every running node reports all replicas of the topic in sync. Raises KafkaTrialError at 3 min."""
        what = f"having all replicas of {topic!r} in sync"
        await insist(what, START_TIMEOUT_S, lambda: self.admin.all_in_sync(topic))

    async def read_log(self, topic: str, meter: Meter | None = None) -> list[LogRecord]:
        """Return every record of the topic, ordered by partition and offset (:mod:`harness.brokers.log_reader`)."""
        return await read_log(self.admin, topic, meter)

    async def is_stable(self, topic: str) -> bool:
        """Return whether no transaction of the topic is open: each partition is stable up to its high watermark."""

        async def is_stable() -> bool:
            ends = self.admin.list_offsets
            return all(
                [
                    await ends(topic, each, LATEST, committed=True) == await ends(topic, each, LATEST)
                    for each in await self.admin.partitions(topic)
                ]
            )

        return await insist(f"finding open transactions of {topic!r}", TIMEOUT_S, is_stable)

    def came_to(self, lane: int) -> list[tuple[int, int]]:
        """Return (node id, source port) of each connection to a lane's listeners since the last call.

        The harness's own connections are left out.
        """
        listeners = {address.broker: address.listener for address in self.addresses if address.lane == lane}
        came = []
        for node_id, port in self._accepts.of(listener_name(lane)):
            probes = self._probes[listeners[node_id]]
            if probes[port]:
                probes[port] -= 1
            else:
                came.append((node_id, port))
        return came

    async def stop(self, node_id: int, grace_s: float = STOP_GRACE_S) -> None:
        """Stop a node in an orderly way, and kill it after ``grace_s``. Its data is kept."""
        await self._nodes[node_id].stop(grace_s)

    async def kill(self, node_id: int) -> None:
        """End a node by SIGKILL. Its data is kept."""
        await self._nodes[node_id].kill()

    async def restart(self, node_id: int) -> None:
        """Start a node on its old data (after stopping it if it is up), and wait until all running nodes are ready.

        After a kill this takes the controller's ``broker.session.timeout.ms``, 9 s: the id may not be used again before
        that.
        """
        node = self._nodes[node_id]
        await node.stop()
        await node.start()
        await self._until_ready()

    async def pause(self, node_id: int) -> None:
        """Freeze a node: its connections stay open, but it does not respond."""
        self._nodes[node_id].pause()

    async def resume(self, node_id: int) -> None:
        """Resume a frozen node."""
        self._nodes[node_id].resume()

    async def start(self) -> None:
        """Format and start all nodes. Raises BrokerDied if one of them is not ready within 3 min."""
        for node in self.layout.nodes:
            folder = self._node_folder(node.node_id)
            folder.mkdir()
            properties = settings.server_properties(self.layout, node, folder / "data", self.credentials)
            self.properties_file(node.node_id).write_text(settings.render(properties | dict(self._config)))
        _, name, text = settings.logging(self.version, self._folder)
        (self._folder / name).write_text(text)
        await self._format()
        for running in self._nodes.values():
            await running.start()
        await self._until_ready()
        await self._renewal.remember()

    async def renew(self, as_new_s: float = AS_NEW_S) -> str | None:
        """Restore the state of a new cluster (:mod:`harness.brokers.renewal`). Return None, or why it is impossible."""
        for node in self._nodes.values():
            if (reason := node.died()) is not None:
                return reason
            if node.state is not NodeState.UP:
                return f"broker {node.node_id} is {node.state}"
        return await self._renewal.renew(as_new_s)

    async def close(self) -> None:
        """Kill all processes at once. The data is removed too, so an orderly end would gain nothing."""
        self.admin.close()
        for node in self._nodes.values():
            await node.remove()

    async def _format(self) -> None:
        children = []
        try:
            for node in self._nodes.values():
                tool = (*self._jvm(), "kafka.tools.StorageTool", "format", f"--cluster-id={self.cluster_id}")
                argv = (*tool, "--config", str(self.properties_file(node.node_id)))
                children.append(await processes.spawn(argv, stdout=node.log, stderr=node.log))
            for child, node in zip(children, self._nodes.values(), strict=True):
                async with asyncio.timeout(START_TIMEOUT_S):
                    if await child.wait() != 0:
                        raise BrokerDied(
                            "format-failed",
                            "broker {node_id}'s data could not be formatted:\n{tail}",
                            node_id=node.node_id,
                            tail=node.tail(),
                        )
        except TimeoutError:
            raise BrokerDied(
                "format-timeout",
                "formatting the brokers' data took more than {timeout_s:g} s",
                timeout_s=START_TIMEOUT_S,
            ) from None
        finally:
            for child in children:
                if child.returncode is None:
                    await processes.stop(child, grace_s=0)

    async def _until_ready(self) -> None:
        up = self._internal().keys()
        nodes = [node for node in self.layout.nodes if node.node_id in up]
        internal = {node.internal for node in nodes}
        waiting = [at for node in nodes for at in (node.internal, *(lane.listener for lane in node.lanes))]

        async def ready() -> None:
            if (reason := self.died()) is not None:
                raise BrokerDied("broker-died", "{how}", how=reason)
            while waiting:
                told = self.layout.told(waiting[0])
                named = {node_id: told[node_id] for node_id in up}
                guarded = self.credentials if waiting[0] in internal else None
                await assert_ready(waiting[0], self.cluster_id, named, self._probes[waiting[0]], guarded)
                del waiting[0]

        try:
            await insist("starting the brokers", START_TIMEOUT_S, ready)
        except BrokerDied:
            raise
        except KafkaTrialError as error:
            logs = "\n".join(self._nodes[node_id].tail() for node_id in up)
            raise BrokerDied(
                "broker-not-ready", "{why}; the end of the logs:\n{logs}", why=error, logs=logs
            ) from error

    def _internal(self) -> dict[int, Address]:
        return {
            n.node_id: n.internal for n in self.layout.nodes if self._nodes[n.node_id].state is NodeState.UP
        }

    def _jvm(self) -> tuple[str, ...]:
        # Kafka extracts native codecs into the JVM's temporary folder and leaves them there when it is killed.
        own = f"-Djava.io.tmpdir={self._folder}"
        return (*self._java, own, settings.logging(self.version, self._folder)[0])

    def _node_folder(self, node_id: int) -> Path:
        return self._folder / f"node-{node_id}"

    def properties_file(self, node_id: int) -> Path:
        """Return the path of the node's server.properties, which contains the password of INTERNAL."""
        return self._node_folder(node_id) / "server.properties"


class LocalKind:
    """``local:VERSIONxNODES`` (``ports.BrokerKind``)."""

    name = "local"
    summary = "Apache Kafka as processes of this machine (KRaft), 1 or 3 nodes"
    examples = tuple(f"{version}x{nodes}" for version in VERSIONS for nodes in (1, 3))

    def validate(self, broker_id: str) -> None:
        """Raise UsageError unless ``broker_id`` is a known version, with or without a number of nodes."""
        ClusterId.parse(broker_id, VERSIONS)

    def needs(self, broker_id: str) -> ClusterNeeds:
        """Return what a cluster needs of the machine."""
        return needs.kraft(ClusterId.parse(broker_id, VERSIONS).nodes)

    @asynccontextmanager
    async def cluster(
        self,
        broker_id: str,
        lanes: int,
        log_dir: Path,
        config: Mapping[str, str] | None = None,
        *,
        is_guarded: bool = True,
    ) -> AsyncIterator[LocalCluster]:
        """Run a ready cluster with ``lanes`` lanes, and remove it afterwards. Its logs are ``log_dir/node-N.log``.

        ``config`` overrides the harness's own settings (:mod:`harness.brokers.settings`). With ``is_guarded`` False,
        INTERNAL is open to any client, for measurements without a lane.
        """
        wanted = ClusterId.parse(broker_id, VERSIONS)
        java = await _with_class_data(wanted.version)
        await asyncio.to_thread(make_folder, log_dir)
        async with _cluster(wanted, lanes, java, log_dir, config, is_guarded) as cluster:
            await cluster.start()
            yield cluster


@asynccontextmanager
async def _cluster(
    wanted: ClusterId,
    lanes: int,
    java: tuple[str, ...],
    log_dir: Path,
    config: Mapping[str, str] | None = None,
    is_guarded: bool = True,
) -> AsyncIterator[LocalCluster]:
    """Yield a cluster that is not started yet, with its own ports and folder."""
    with port_block(Layout.ports_needed(wanted.nodes, lanes)) as ports:
        folder = processes.scratch_dir()
        layout = Layout.deal(ports, wanted.nodes, lanes)
        cluster = LocalCluster(wanted, layout, java, folder, log_dir, config, is_guarded=is_guarded)
        try:
            yield cluster
        finally:
            await cluster.close()
            with suppress(OSError):
                await asyncio.to_thread(remove_tree, folder)


async def _with_class_data(version: str) -> tuple[str, ...]:
    """Return the command of :func:`java_command` with its archive, which is made first if it is missing.

    If it cannot be made, the command is returned without it.
    """
    java = await asyncio.to_thread(java_command, version)
    place = class_data.place_of(version, java)
    made = place.exists() or await _made(version, java, place)
    return (java[0], class_data.using(place), *java[1:]) if made else java


async def _made(version: str, java: tuple[str, ...], place: Path) -> bool:
    log.info("preparing Kafka %s, so that its brokers start faster from now on", version)
    folder = processes.scratch_dir()
    made = folder / "made.jsa"
    try:
        leaving = (java[0], class_data.leaving(made), *java[1:])
        async with _cluster(ClusterId(version, 1), 1, leaving, folder) as cluster:
            await cluster.start()
            await cluster.stop(1, DUMP_TIMEOUT_S)
        return class_data.keep(made, place)
    except BrokerDied as error:
        class_data.not_made(error)
        return False
    finally:
        with suppress(OSError):
            await asyncio.to_thread(remove_tree, folder)


def java_command(version: str) -> tuple[str, ...]:
    """Return the command that starts a main class of this Kafka. EnvironmentProblem: Java or the jars are missing."""
    return (str(find_java().path), *settings.JVM_OPTIONS, "-cp", kafka_jars(version).classpath)


LOCAL = LocalKind()
