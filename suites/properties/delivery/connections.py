"""Which connections to a broker are allowed: authentication, and a separate one for the coordinator."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from clients.adapters.reference.simulated import SimulatedSelector
from clients.reference.common.requests import ClientRequest, ClientResponse, message_of
from clients.reference.network.node_addresses import coordinator_node
from clients.reference.ports import ChannelState, Disconnection, Polled
from clients.reference.producer.producer import Components
from clients.reference.states import ConnectionState
from clients.reference.telemetry.trace import RequestSent, StateChanged
from harness.brokers.scripted.answer import Answer
from harness.simulated.scheduler import NS_PER_MS
from harness.wire.apis import Api
from suites.properties.property import client_property
from suites.properties.simulation import START_MS, Simulation

REFUSED = Disconnection(ChannelState.AUTHENTICATION_FAILED, "these credentials are not known")
REQUEST_MS = 5_000


def guarded(until_ms: int) -> type[SimulatedSelector]:
    """Return a selector whose brokers refuse every authentication until ``until_ms``."""

    class Guarded(SimulatedSelector):
        def poll(self) -> Polled:
            polled = super().poll()
            if self._network.scheduler.now_ns < until_ms * NS_PER_MS:
                for node_id in polled.connected:
                    polled.disconnected[node_id] = REFUSED
                    self.close(node_id)
                polled.connected.clear()
            return polled

    return Guarded


class SlowProduce:
    """Brokers of ``simulation`` that answer Produce requests, and no others, after a delay."""

    def __init__(self, simulation: Simulation, delay_ms: int) -> None:
        self._cluster, self._delay_ns = simulation.cluster, delay_ms * NS_PER_MS
        simulation.network.broker = self

    def accepts(self, node_id: int) -> bool:
        return self._cluster.accepts(node_id)

    def handle(self, node_id: int, conn: int, payload: bytes, now_ns: int) -> Answer:
        answer = self._cluster.handle(node_id, conn, payload, now_ns)
        is_produce = int.from_bytes(payload[:2], "big") == Api.PRODUCE
        return replace(answer, at_ns=answer.at_ns + self._delay_ns) if is_produce else answer


@client_property(
    "NET-CON-11", closed_ms=st.integers(1, 3_000), idempotent=st.booleans(), jitter=st.floats(-1, 1)
)
def a_refused_authentication_is_told_and_backed_off(
    components: Components, closed_ms: int, idempotent: bool, jitter: float
) -> None:
    """Waiting calls get a final authentication error at once. The next attempt never precedes its backoff."""
    simulation = Simulation(
        components,
        {"enable.idempotence": idempotent, "retry.backoff.ms": 0, "retry.backoff.max.ms": 0},
        jitter=lambda: jitter,
        selector=guarded(START_MS + closed_ms),
    )
    first = simulation.send()
    assert simulation.run_until(lambda: first.is_done, 200), "a refusal does not end the wait for metadata"
    assert first.error is not None and first.error.name == "SASL_AUTHENTICATION_FAILED"
    simulation.run(closed_ms)
    moves = [move for move in simulation.told(StateChanged) if move.machine == "connection"]
    failed = {move.subject: move.at_ms for move in reversed(moves) if move.after == "AUTHENTICATION_FAILED"}
    assert failed, "no connection reports that its authentication failed"
    for subject in failed:
        ends = [move.at_ms for move in moves if (move.subject, move.after) == (subject, "DISCONNECTED")]
        begins = [move.at_ms for move in moves if (move.subject, move.after) == (subject, "CONNECTING")]
        for count, (ended_ms, began_ms) in enumerate(zip(ends, begins[1:], strict=False)):
            least_ms = min(50 * 2**count, 1_000) * (1 + 0.2 * jitter)
            assert began_ms - ended_ms >= min(round(least_ms), 1_000), f"{subject} was tried again at once"
    if not idempotent:  # an idempotent producer ends with the refusal
        simulation.run(2_000)
        later = simulation.send()
        assert simulation.run_until(lambda: later.is_done, 10_000) and later.error is None


@client_property("NET-CON-16", backlog=st.integers(1, 5), nodes=st.integers(1, 3))
def a_coordinator_has_a_connection_of_its_own(components: Components, backlog: int, nodes: int) -> None:
    """While the data connection to a broker is stuck, a request to the same broker as coordinator is answered."""
    simulation = Simulation(
        components,
        {"linger.ms": 0, "batch.size": 0, "max.in.flight.requests.per.connection": backlog},
        nodes=nodes,
    )
    simulation.warm()
    client = simulation.core._client
    [leader] = {event.node for event in simulation.told(RequestSent) if event.api == "Produce"}
    node = client.node(leader)
    assert node is not None
    coordinator = coordinator_node(node)
    client.add_node(coordinator)
    client.ready(coordinator.id, simulation.now_ms)
    assert simulation.run_until(lambda: client.is_ready(coordinator.id, simulation.now_ms), REQUEST_MS)
    SlowProduce(simulation, 2 * REQUEST_MS)
    for _ in range(backlog):
        simulation.send()
        simulation.run(1)
    answers: list[ClientResponse] = []
    question = ClientRequest(
        coordinator.id,
        Api.FIND_COORDINATOR,
        lambda version: message_of(
            Api.FIND_COORDINATOR, version, key="g", key_type=0, coordinator_keys=("g",)
        ),
        lambda response, _: answers.append(response),
        timeout_ms=REQUEST_MS,
    )
    client.send(question, simulation.now_ms)
    assert simulation.run_until(lambda: bool(answers), REQUEST_MS - 1) and answers[0].body is not None
    assert client._states.state(leader) is ConnectionState.READY
