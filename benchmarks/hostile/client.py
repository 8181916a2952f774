"""The reference client against hostile brokers: each record must have a result in time, whatever the result is."""

from __future__ import annotations

from benchmarks.hostile.brokers import HostileBrokers, any_answer
from benchmarks.hostile.steps import Result, steps
from clients.reference.network.channel import Channel
from clients.reference.network.sasl import PlainAuthenticator
from clients.reference.ports import Polled
from clients.reference.producer.producer import Components
from clients.reference.telemetry.trace import CallbackFailed
from harness.model.dice import Dice
from harness.wire.apis import Api
from harness.wire.frames import SIZE_BYTES
from harness.wire.headers import read_request_header
from suites.properties.simulation import Simulation
from testkit.hostile import wounded

ANSWERS = 40
MAX_BLOCK_MS, DELIVERY_TIMEOUT_MS, REQUEST_TIMEOUT_MS = 2_000, 3_000, 1_000
#: Counted from ``send()``. The last part is for the last poll.
RESULT_LIMIT_MS = MAX_BLOCK_MS + DELIVERY_TIMEOUT_MS + 100
#: Settings of a producer that gives up soon.
IMPATIENT = {
    "max.block.ms": MAX_BLOCK_MS,
    "delivery.timeout.ms": DELIVERY_TIMEOUT_MS,
    "request.timeout.ms": REQUEST_TIMEOUT_MS,
    "linger.ms": 0,
    "reconnect.backoff.max.ms": 100,
}


def run(seed: int, frames: int) -> Result:
    """Run producers one after the other until they have received ``frames`` frames."""
    return steps("client", step, seed, frames)


def step(dice: Dice) -> int:
    """Test one unauthenticated channel and one producer."""
    authenticate(dice)
    settings = {"enable.idempotence": bool(dice.between(0, 1)), "retry.backoff.max.ms": 100}
    bench = Simulation(Components(), IMPATIENT | settings, nodes=dice.between(1, 2), partitions=2)
    brokers = HostileBrokers(bench, dice, ANSWERS)
    for _ in range(ANSWERS):
        if brokers.are_done:
            break
        send_some(bench, dice)
    swallowed = [each for each in bench.told(CallbackFailed) if each.who.startswith("completion")]
    assert not swallowed, f"an exception was swallowed: {swallowed[0].who}: {swallowed[0].what}"
    is_closed = bench.close(timeout_ms=DELIVERY_TIMEOUT_MS, limit_ms=2 * DELIVERY_TIMEOUT_MS)
    assert is_closed, "close() never ended"
    return brokers.hurt + 1


def send_some(bench: Simulation, dice: Dice) -> None:
    """Send a few records, and wait until each has a result."""
    sent = [bench.send(partition=dice.between(0, 1)) for _ in range(dice.between(1, 3))]
    in_time = bench.run_until(lambda: all(each.is_done for each in sent), RESULT_LIMIT_MS)
    assert in_time, f"no result after {RESULT_LIMIT_MS} ms"


def authenticate(dice: Dice) -> None:
    """Feed a hostile response to a channel during its authentication."""
    channel = Channel(1, PlainAuthenticator("user", "secret", "client"))
    channel.established()
    for api in (Api.SASL_HANDSHAKE, Api.SASL_AUTHENTICATE):
        assert channel.outgoing is not None
        asked = bytes(channel.outgoing)
        header, _ = read_request_header(asked[SIZE_BYTES:])
        assert header.api_key == api
        channel.wrote(len(asked))
        channel.feed(wounded(dice, any_answer(dice, header))[1])
        channel.report(Polled())
        if channel.outgoing is None:
            return
