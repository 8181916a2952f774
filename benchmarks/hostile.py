"""Hostile frames against whatever reads bytes here: the codec, the witness, the reference client.

``python -m benchmarks.hostile [--frames N] [--seed N] [--only codec|witness|client] [--json]``

Of all frames the codec is given six in ten, the witness three and the client one. Each target has a process of its own,
so that the growth of its memory is seen: of the highest that it ever took, over what it took after a tenth of the
frames. What is found is named by the seed and the name of the dice that made it. Exit code 1 if there is anything.

What counts as found: the codec raises anything but WireError; the witness loses or changes a byte that no rule is for,
fails, or keeps a connection; the client raises, or a record of it has no result when its time is over; growth of
more than 64 MiB; or a step that takes more than ten seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context

from clients.reference.channel import Channel
from clients.reference.ports import Polled
from clients.reference.producer import Components
from clients.reference.sasl import PlainAuthenticator
from clients.reference.trace import Misbehaved
from harness.brokers.scripted.answer import Answer
from harness.dice import Dice
from harness.hostile import (
    BREAKS_FRAMING,
    KEEPS_FRAMING,
    MAX_DECOMPRESSED_BYTES,
    HostileFrame,
    hostile_frame,
    real_frame,
    trickle,
    wounded,
)
from harness.ports import LaneAddress
from harness.ports_block import port_block
from harness.simulated.connection import Answer as AnyAnswer
from harness.spec import FrameMatch
from harness.wire.apis import Api, api_name
from harness.wire.errors import WireError
from harness.wire.frames import FrameReader
from harness.wire.headers import read_request_header
from harness.wire.messages import decode_request, decode_response, encode_request, encode_response
from harness.wire.records import read_batches, read_headers
from harness.witness import WitnessLane
from harness.witness.actions import SWAP, TWICE, Action, changed, delay, slices, tear
from harness.witness.rewrites import (
    CannotRewrite,
    error_code,
    leaders,
    rewrite,
    throttle_time,
    without_broker,
)
from harness.witness.splitter import FrameSplitter, NotAFrame
from harness.witness.transcript import Transcript
from suites.simulated.bench import Bench

SHARES = {"codec": 6, "witness": 3, "client": 1}
GROWTH_LIMIT_BYTES = 64 << 20
STEP_LIMIT_NS = 10_000_000_000
#: A real frame costs more to make than to hurt, so each is hurt several times.
WOUNDS_EACH = 4
EXCHANGES = 8
ANSWERS = 40
MAX_BLOCK_MS, DELIVERY_TIMEOUT_MS, REQUEST_TIMEOUT_MS = 2_000, 3_000, 1_000

Step = Callable[[Dice], int]


@dataclass
class Result:
    """What a target did with its frames; ``found`` names what it should not have done."""

    target: str
    frames: int = 0
    seconds: float = 0.0
    slowest_ms: float = 0.0
    growth_bytes: int = 0
    found: list[str] = field(default_factory=list)


def steps(target: str, step: Step, seed: int, frames: int) -> Result:
    """Steps of one target until it has had so many frames."""
    result = Result(target)
    began_ns, base_bytes, number = time.monotonic_ns(), 0, 0
    while result.frames < frames:
        name = f"{target}/{number}"
        step_ns = time.process_time_ns()
        try:
            result.frames += step(Dice(seed, name))
        except BaseException as error:  # a panic of a codec's library is no Exception
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            result.frames += 1
            result.found.append(f"{seed} {name}: {error!r}")
        step_ns = time.process_time_ns() - step_ns
        if step_ns > STEP_LIMIT_NS:
            result.found.append(f"{seed} {name}: {step_ns / 1e9:.1f} s")
        result.slowest_ms = max(result.slowest_ms, step_ns / 1e6)
        number += 1
        if not base_bytes and result.frames * 10 >= frames:
            base_bytes = _peak_bytes()
    result.seconds = (time.monotonic_ns() - began_ns) / 1e9
    result.growth_bytes = _peak_bytes() - base_bytes
    if result.growth_bytes > GROWTH_LIMIT_BYTES:
        result.found.append(f"{seed} {target}: grew by {result.growth_bytes >> 20} MiB")
    return result


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


# the codec


def codec_step(dice: Dice) -> int:
    """One real frame, hurt several times, read in every way that there is."""
    real = real_frame(dice)
    for _ in range(WOUNDS_EACH):
        read_in_every_way(hostile_frame(dice, real))
    return WOUNDS_EACH


def read_in_every_way(hostile: HostileFrame) -> None:
    """Raises whatever a reader should not have raised."""
    data, payload, real = hostile.data, hostile.payload, hostile.real
    with suppress(NotAFrame):
        list(FrameSplitter().feed(data))
    with suppress(WireError):
        reader = FrameReader()
        reader.feed(data)
        while reader.next_frame() is not None:
            pass
    transcript = Transcript(0, 1, 1, {})
    if real.kind == "request":
        list(transcript.sent(1, data))
        with suppress(WireError):
            read_request_header(payload)
        with suppress(WireError):
            header, message = decode_request(payload)
            encode_request(message, header.correlation_id, header.client_id)
            _read_records(message)
    else:
        list(transcript.sent(1, encode_request_of(real.api_key, real.api_version, payload)))
        list(transcript.answered(2, data))
        with suppress(WireError):
            correlation_id, message = decode_response(payload, real.api_key, real.api_version)
            encode_response(message, correlation_id)
            _read_records(message)
        with suppress(CannotRewrite):
            rewrite(payload, real.api_key, real.api_version, error_code(6))


def encode_request_of(api_key: int, version: int, payload: bytes) -> bytes:
    """A request that the response ``payload`` may answer; its body is nothing that can be read."""
    body = api_key.to_bytes(2) + version.to_bytes(2) + payload[:4].ljust(4, b"\0") + b"\xff\xff\0"
    return len(body).to_bytes(4) + body


def _read_records(message: object) -> None:
    for topic in getattr(message, "topic_data", None) or getattr(message, "responses", None) or ():
        for part in getattr(topic, "partition_data", None) or getattr(topic, "partitions", None) or ():
            if records := getattr(part, "records", None):
                with suppress(WireError):
                    read_headers(records)
                with suppress(WireError):
                    list(read_batches(records, max_decompressed_bytes=MAX_DECOMPRESSED_BYTES))


# the witness


Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
ON_ANY = (SWAP, TWICE, delay(1), slices(7, 1), tear(9, reset=False), tear(9, reset=True))
ON_RESPONSES = (*ON_ANY, changed(error_code(6)), changed(throttle_time(1)))
RULES: tuple[tuple[Api, str, tuple[Action, ...]], ...] = (
    (Api.PRODUCE, "request", ON_ANY),
    (Api.PRODUCE, "response", ON_RESPONSES),
    (Api.FETCH, "response", ON_RESPONSES),
    (Api.METADATA, "response", (*ON_RESPONSES, changed(leaders(2, 1)), changed(without_broker(1)))),
)


@asynccontextmanager
async def witnessed() -> AsyncIterator[tuple[WitnessLane, tuple[str, int], asyncio.Queue[Stream]]]:
    """A lane that leads to a server which queues its connections."""
    accepted: asyncio.Queue[Stream] = asyncio.Queue()
    server = await asyncio.start_server(lambda *stream: accepted.put_nowait(stream), "127.0.0.1", 0)
    lane = WitnessLane(0)
    with port_block(2) as ports:
        listener = server.sockets[0].getsockname()[:2]
        address = LaneAddress(0, 1, ("127.0.0.1", ports[0]), ("127.0.0.1", ports[1]), listener)
        await lane.open([address])
        lane.record(lambda row: None)
        try:
            yield lane, address.witness, accepted
        finally:
            await lane.close()
            server.close()


async def conversation(
    dice: Dice, lane: WitnessLane, address: tuple[str, int], accepted: asyncio.Queue[Stream]
) -> int:
    """Exchanges on one connection, most of them hostile; with no rule, an idle one, or one that acts."""
    mode = dice.choice(("plain", "idle rule", "rule"))
    requests, answers = _both_ways(dice)
    if mode == "idle rule":
        lane.arm("r", FrameMatch("Vote", "request", first=1 << 30), TWICE)
    elif mode == "rule":
        api, direction, actions = dice.choice(RULES)
        lane.arm("r", FrameMatch(api_name(api), direction, count=1 << 30), dice.choice(actions))
    lane.record(lambda row: None)  # and forget what went wrong before
    client = await asyncio.open_connection(*address)
    try:
        broker = await accepted.get()
        try:
            if mode == "rule":
                await _pour(client, broker, requests, answers)
            else:
                await _exchange(client, broker, requests, answers)
        finally:
            broker[1].transport.abort()
    finally:
        client[1].transport.abort()
        lane.disarm("r")
        await lane.idle.wait()
    assert lane.failure is None, lane.failure
    return len(requests) + len(answers)


def _both_ways(dice: Dice) -> tuple[list[bytes], list[bytes]]:
    """Requests and their answers; only behind the last may it be unknown where the next begins."""
    requests, answers = [], []
    for number in range(EXCHANGES):
        asked = real_frame(dice, kind="request", correlation_id=number)
        said = real_frame(dice, asked.api_key, asked.api_version, "response", number)
        wounds = BREAKS_FRAMING if number == EXCHANGES - 1 else KEEPS_FRAMING
        # A request that is hurt is seldom one whose answer is read: most are left alone.
        is_hurt = number == EXCHANGES - 1 or not dice.between(0, 3)
        requests.append(wounded(dice, asked.data, wounds)[1] if is_hurt else asked.data)
        answers.append(wounded(dice, said.data, wounds)[1])
    return requests, answers


async def _exchange(client: Stream, broker: Stream, requests: list[bytes], answers: list[bytes]) -> None:
    """One after the other, each seen at the other end before the next; then both end."""
    for request, answer in zip(requests[:-1], answers[:-1], strict=True):
        client[1].write(request)
        assert await broker[0].readexactly(len(request)) == request
        broker[1].write(answer)
        assert await client[0].readexactly(len(answer)) == answer
    for here, there, last in ((client, broker, requests[-1]), (broker, client, answers[-1])):
        here[1].write(last)
        here[1].write_eof()
        assert await there[0].read() == last


async def _pour(client: Stream, broker: Stream, requests: list[bytes], answers: list[bytes]) -> None:
    """All at once, with a rule that may do anything to it: what arrives is not looked at."""
    for here, there, data in ((client, broker, b"".join(requests)), (broker, client, b"".join(answers))):
        with suppress(OSError, RuntimeError):  # a rule may have ended the connection
            here[1].write(data)
            here[1].write_eof()
            await there[0].read()


def witness(seed: int, frames: int) -> Result:
    """Conversations one after the other, over real sockets."""
    with asyncio.Runner() as runner:
        ends = witnessed()
        opened = runner.run(ends.__aenter__())

        async def limited(dice: Dice) -> int:
            async with asyncio.timeout(STEP_LIMIT_NS / 1e9):
                return await conversation(dice, *opened)

        result = steps("witness", lambda dice: runner.run(limited(dice)), seed, frames)
        runner.run(ends.__aexit__(None, None, None))
        return result


# the client


class HostileBrokers:
    """Scripted brokers of which every other answer is hurt, until enough were; then they tell the truth."""

    def __init__(self, bench: Bench, dice: Dice, answers: int) -> None:
        self._bench, self._dice = bench, dice
        self._truth, bench.network.broker = bench.network.broker, self
        self.hurt, self._answers = 0, answers

    def accepts(self, node_id: int) -> bool:
        return self._truth.accepts(node_id)

    def handle(self, node_id: int, conn: int, payload: bytes, now_ns: int) -> AnyAnswer:
        answer = self._truth.handle(node_id, conn, payload, now_ns)
        if answer.frame is None or self.hurt >= self._answers or not self._dice.between(0, 1):
            return answer
        self.hurt += 1
        frame = answer.frame
        if not self._dice.between(0, 9):  # what a message says, rather than how
            header, _ = read_request_header(payload)
            frame = real_frame(
                self._dice, header.api_key, header.api_version, "response", header.correlation_id
            ).data
        _, hurt = wounded(self._dice, frame)
        if not self._dice.between(0, 19):
            self._trickle(conn, hurt)
            return Answer(None, answer.at_ns)
        return Answer(hurt * self._dice.choice((1, 1, 1, 2)), answer.at_ns, answer.close)

    def _trickle(self, conn: int, data: bytes) -> None:
        for number, byte in enumerate(trickle(data)):
            self._bench.network.later(number * 10_000_000, lambda byte=byte: self._push(conn, byte))

    def _push(self, conn: int, byte: bytes) -> None:
        for proxy in self._bench.network.proxies:
            for connection in proxy.connections:
                if connection.number == conn and connection.broker_open:
                    connection.down.push(byte)


def client_step(dice: Dice) -> int:
    """A producer among hostile brokers: each record has its result in time, whatever it is."""
    authenticate(dice)
    bench = Bench(
        Components(),
        {
            "max.block.ms": MAX_BLOCK_MS,
            "delivery.timeout.ms": DELIVERY_TIMEOUT_MS,
            "request.timeout.ms": REQUEST_TIMEOUT_MS,
            "linger.ms": 0,
            "enable.idempotence": bool(dice.between(0, 1)),
            "reconnect.backoff.max.ms": 100,
            "retry.backoff.max.ms": 100,
        },
        nodes=dice.between(1, 2),
        partitions=2,
    )
    brokers = HostileBrokers(bench, dice, ANSWERS)
    for _ in range(ANSWERS):
        if brokers.hurt >= ANSWERS:
            break
        deliveries = [bench.send(partition=dice.between(0, 1)) for _ in range(dice.between(1, 3))]
        limit_ms = MAX_BLOCK_MS + DELIVERY_TIMEOUT_MS + 100
        in_time = bench.run_until(lambda sent=deliveries: all(each.is_done for each in sent), limit_ms)
        assert in_time, f"no result after {limit_ms} ms"
    swallowed = [each for each in bench.told(Misbehaved) if each.who.startswith("completion")]
    assert not swallowed, f"an exception was swallowed: {swallowed[0].who}: {swallowed[0].what}"
    assert bench.close(timeout_ms=DELIVERY_TIMEOUT_MS, limit_ms=2 * DELIVERY_TIMEOUT_MS), (
        "close() never ended"
    )
    return brokers.hurt + 1


def authenticate(dice: Dice) -> None:
    """A channel that is fed a hostile answer before it is anybody's."""
    channel = Channel(1, PlainAuthenticator("user", "secret", "client"))
    channel.established()
    for api in (Api.SASL_HANDSHAKE, Api.SASL_AUTHENTICATE):
        assert channel.outgoing is not None
        asked = bytes(channel.outgoing)
        header, _ = read_request_header(asked[4:])
        channel.wrote(len(asked))
        real = real_frame(dice, api, header.api_version, "response", header.correlation_id)
        channel.feed(wounded(dice, real.data)[1])
        channel.report(Polled())
        if channel.outgoing is None:
            return


# all of them


def codec(seed: int, frames: int) -> Result:
    """See the module."""
    return steps("codec", codec_step, seed, frames)


def client(seed: int, frames: int) -> Result:
    """See the module."""
    return steps("client", client_step, seed, frames)


TARGETS: dict[str, Callable[[int, int], Result]] = {"codec": codec, "witness": witness, "client": client}


def results(seed: int, frames: int, only: str | None) -> Iterator[Result]:
    """Each target in a process of its own."""
    for target in [only] if only else list(TARGETS):
        share = frames if only else frames * SHARES[target] // sum(SHARES.values())
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            yield pool.submit(TARGETS[target], seed, share).result()


def main(argv: list[str]) -> int:
    """Run and print; 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="benchmarks.hostile", description=__doc__)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=TARGETS)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    is_bad = False
    for result in results(asked.seed, asked.frames, asked.only):
        is_bad |= bool(result.found)
        if asked.json:
            print(json.dumps(asdict(result)), flush=True)  # noqa: T201
            continue
        print(  # noqa: T201
            f"{result.target:>8}  {result.frames:>9,} frames  {result.seconds:7.1f} s  {len(result.found)} found  "
            f"grew by {result.growth_bytes / 2**20:.1f} MiB  slowest step {result.slowest_ms:.0f} ms",
            flush=True,
        )
        for found in result.found[:20]:
            print(f"          {found}", flush=True)  # noqa: T201
    return int(is_bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
