"""The witness under hostile traffic on real sockets: without a rule, with an idle rule, and with an active one."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from benchmarks.hostile.ends import Ends, Stream, witnessed
from benchmarks.hostile.steps import STEP_LIMIT_NS, Result, steps
from benchmarks.witness.lane import held
from harness.model.dice import Dice
from harness.model.spec import FrameMatch
from harness.wire.apis import Api, api_name
from harness.witness.actions import SWAP, TWICE, Action, changed, delay, slices, tear
from harness.witness.rewrites import error_code, leaders, throttle_time, without_broker
from testkit.hostile import BREAKS_FRAMING, KEEPS_FRAMING, real_frame, wounded

EXCHANGES = 8
#: More frames than any run has.
ALWAYS = 1 << 30
ON_ANY = (SWAP, TWICE, delay(1), slices(7, 1), tear(9, reset=False), tear(9, reset=True))
ON_RESPONSES = (*ON_ANY, changed(error_code(6)), changed(throttle_time(1)))
RULES: tuple[tuple[Api, str, tuple[Action, ...]], ...] = (
    (Api.PRODUCE, "request", ON_ANY),
    (Api.PRODUCE, "response", ON_RESPONSES),
    (Api.FETCH, "response", ON_RESPONSES),
    (Api.METADATA, "response", (*ON_RESPONSES, changed(leaders(2, 1)), changed(without_broker(1)))),
)


def run(seed: int, frames: int) -> Result:
    """Run conversations one after the other until they have used ``frames`` frames."""
    with asyncio.Runner() as runner, held(runner, witnessed()) as ends:

        async def limited(dice: Dice) -> int:
            async with asyncio.timeout(STEP_LIMIT_NS / 1e9):
                return await conversation(dice, ends)

        return steps("witness", lambda dice: runner.run(limited(dice)), seed, frames)


async def conversation(dice: Dice, ends: Ends) -> int:
    """Run the exchanges of one connection. Return the number of frames."""
    mode = dice.choice(("plain", "idle rule", "rule"))
    requests, answers = _both_ways(dice)
    if mode == "idle rule":
        ends.lane.arm("r", FrameMatch("Vote", "request", first=ALWAYS), TWICE)
    elif mode == "rule":
        api, direction, actions = dice.choice(RULES)
        ends.lane.arm("r", FrameMatch(api_name(api), direction, count=ALWAYS), dice.choice(actions))
    ends.lane.record(lambda row: None)  # and reset the lane's failure
    talk = _pour if mode == "rule" else _exchange
    try:
        async with ends.connected() as (client, broker):
            await talk(client, broker, requests, answers)
    finally:
        ends.lane.disarm("r")
        await ends.lane.idle.wait()
    assert ends.lane.failure is None, ends.lane.failure
    return len(requests) + len(answers)


def _both_ways(dice: Dice) -> tuple[list[bytes], list[bytes]]:
    """Return requests and their responses. Only the last of each may break the framing."""
    requests, answers = [], []
    for number in range(EXCHANGES):
        asked = real_frame(dice, kind="request", correlation_id=number)
        said = real_frame(dice, asked.api_key, asked.api_version, "response", number)
        wounds = BREAKS_FRAMING if number == EXCHANGES - 1 else KEEPS_FRAMING
        # The response to a damaged request is rarely read, so most requests are left unchanged.
        is_hurt = number == EXCHANGES - 1 or not dice.between(0, 3)
        requests.append(wounded(dice, asked.data, wounds)[1] if is_hurt else asked.data)
        answers.append(wounded(dice, said.data, wounds)[1])
    return requests, answers


async def _exchange(client: Stream, broker: Stream, requests: list[bytes], answers: list[bytes]) -> None:
    """Exchange frames one by one, and check that each arrives unchanged. Then end both directions."""
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
    """Send everything at once, with a rule that may change anything. The received data is not checked."""
    for here, there, data in ((client, broker, b"".join(requests)), (broker, client, b"".join(answers))):
        with suppress(OSError, RuntimeError):  # a rule may have ended the connection
            here[1].write(data)
            here[1].write_eof()
            await there[0].read()
