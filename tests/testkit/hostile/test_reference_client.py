"""The reference client retries after hostile responses, and every record has its result in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchmarks.hostile.brokers import Untrue
from benchmarks.hostile.client import IMPATIENT, RESULT_LIMIT_MS, authenticate, run
from clients.reference.network.channel import Channel
from clients.reference.ports import ChannelState, Polled
from clients.reference.producer.producer import Components
from harness.brokers.scripted.answer import Answer
from harness.model.dice import Dice
from harness.wire.apis import Api
from harness.wire.headers import read_request_header
from suites.properties.simulation import Simulation
from testkit.hostile import real_frame, trickle


@pytest.mark.long("thousands of hostile frames")
def test_every_record_has_its_result_after_hostile_responses() -> None:
    assert run(seed=13, frames=2_500).found == []


class Stubborn(Untrue):
    """Brokers that damage all responses of one API in the same way, and no others."""

    def __init__(self, bench: Simulation, api: Api, hurt: Callable[[bytes], bytes]) -> None:
        super().__init__(bench)
        self._api, self._hurt = api, hurt
        self.asked = 0

    def said(self, conn: int, payload: bytes, frame: bytes, answer: Any) -> Any:
        if read_request_header(payload)[0].api_key != self._api:
            return answer
        self.asked += 1
        return Answer(self._hurt(frame), answer.at_ns)


HURT = {
    "negative size": lambda frame: b"\xff\xff\xff\xff" + frame[4:],
    "huge size": lambda frame: b"\x7f\xff\xff\xff" + frame[4:],
    "size that never fills": lambda frame: b"\x06\x00\x00\x00" + frame[4:],
    "empty": lambda frame: b"\0\0\0\0",
    "wrong correlation id": lambda frame: frame[:4] + b"\x7f\x00\x00\x00" + frame[8:],
    "garbage": lambda frame: frame[:8] + b"\xff" * (len(frame) - 8),
    "cut": lambda frame: frame[:-1],
    "twice": lambda frame: frame * 2,
    "trickle": lambda frame: next(trickle(frame)),
}


@pytest.mark.parametrize("hurt", HURT)
@pytest.mark.parametrize("api", [Api.API_VERSIONS, Api.METADATA, Api.INIT_PRODUCER_ID, Api.PRODUCE])
def test_permanently_damaged_responses_fail_only_the_record(api: Api, hurt: str) -> None:
    bench = Simulation(Components(), IMPATIENT)
    brokers = Stubborn(bench, api, HURT[hurt])
    sent = bench.send()
    assert bench.run_until(lambda: sent.is_done, RESULT_LIMIT_MS)
    assert brokers.asked
    if hurt != "twice":  # the first response is then undamaged
        assert sent.error is not None
    assert bench.close(0, 1_000)


def frames_to_a_new_channel(dice: Dice) -> Iterator[bytes]:
    for _ in range(200):
        yield real_frame(dice, kind="response").data


@pytest.mark.long("thousands of hostile frames")
def test_channel_returns_one_frame_per_poll_and_closes_on_invalid_size() -> None:
    channel = Channel(1)
    channel.established()
    channel.report(Polled())
    good = list(frames_to_a_new_channel(Dice(1, "channel")))
    channel.feed(b"".join(good) + b"\xff\xff\xff\xff" + b"more" * 1_000)
    seen: list[bytes] = []
    polled = Polled()
    while not polled.disconnected:
        polled = Polled()
        channel.report(polled)
        assert len(polled.received) <= 1
        seen += [payload for _, payload in polled.received]
    assert seen == [frame[4:] for frame in good]
    assert polled.disconnected[1].state is ChannelState.INVALID_RECEIVE
    assert not channel.wants_to_read


@pytest.mark.parametrize("number", range(300))
def test_sasl_response_is_success_or_closes_the_connection(number: int) -> None:
    authenticate(Dice(number, "sasl"))
