from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import Awaitable, Callable
from itertools import product
from pathlib import Path
from typing import TypeVar

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.brokers.connection import NotYet
from harness.brokers.deadline import insist
from harness.brokers.node import TRANSITIONS, BrokerNode, NodeState
from harness.model.errors import BrokerDied, KafkaTrialError
from testkit.codes import raises_code

T = TypeVar("T")

#: Reports that it is ready, then waits for a signal.
WAITS = (sys.executable, "-c", "import signal; print('ready', flush=True); signal.pause()")
ACTIONS = ("start", "stop", "kill", "pause", "resume")


def run(node: BrokerNode, steps: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        try:
            await steps()
        finally:
            await node.remove()

    asyncio.run(whole())


async def until(condition: Callable[[], T | None]) -> T:
    """Wait until ``condition`` returns a true value, and return it."""

    async def attempt() -> T:
        if value := condition():
            return value
        raise NotYet("made-up", "it is not so yet")

    return await insist("waiting for the process", 30, attempt)


async def act(node: BrokerNode, action: str) -> None:
    done = getattr(node, action)()
    if done is not None:
        await done


@pytest.fixture
def node(tmp_path: Path) -> BrokerNode:
    return BrokerNode(7, WAITS, tmp_path / "node-7.log")


def test_each_action_follows_or_is_refused_by_the_state_table(node: BrokerNode) -> None:
    async def bring(state: NodeState) -> None:
        if state is not NodeState.DOWN:
            await node.start()
        if state is NodeState.PAUSED:
            node.pause()

    async def steps() -> None:
        for state, action in product(NodeState, ACTIONS):
            await bring(state)
            try:
                await act(node, action)
            except KafkaTrialError as error:
                assert (state, action) not in TRANSITIONS
                assert str(error) == f"broker 7 is {state}: it cannot {action}"
                assert node.state is state
            else:
                assert node.state is TRANSITIONS[state, action]
            assert (node.pid is not None) == (node.state is not NodeState.DOWN)
            assert node.died() is None
            await node.remove()

    run(node, steps)


@given(st.lists(st.sampled_from(["stop", "kill", "pause", "resume"])))
def test_only_start_brings_a_node_up(actions: list[str]) -> None:
    state = NodeState.DOWN
    for action in actions:
        state = TRANSITIONS.get((state, action), state)
    assert state is NodeState.DOWN


def test_a_paused_node_is_stopped_until_it_is_resumed(node: BrokerNode) -> None:
    async def steps() -> None:
        await node.start()
        assert node.pid is not None
        process = psutil.Process(node.pid)
        node.pause()
        await until(lambda: process.status() == psutil.STATUS_STOPPED)
        node.resume()
        await until(lambda: process.status() != psutil.STATUS_STOPPED)

    run(node, steps)


@pytest.mark.parametrize("action", ["stop", "kill"])
@pytest.mark.parametrize("paused", [False, True])
def test_a_requested_end_is_not_a_death(node: BrokerNode, action: str, paused: bool) -> None:
    async def steps() -> None:
        await node.start()
        pid = node.pid
        assert pid is not None
        if paused:
            node.pause()
        await act(node, action)
        assert not psutil.pid_exists(pid)
        assert node.died() is None
        await node.start()
        assert node.pid not in (None, pid)

    run(node, steps)


def test_a_death_is_reported_with_its_cause_and_the_end_of_the_log(node: BrokerNode) -> None:
    async def steps() -> None:
        await node.start()
        assert node.pid is not None
        os.kill(node.pid, signal.SIGKILL)
        reason = await until(node.died)
        assert reason.startswith(f"broker 7 ended by itself (SIGKILL); the end of {node.log}:")
        for action in ACTIONS:
            with raises_code(BrokerDied, "broker-died", how=re.compile(r"SIGKILL")):
                await act(node, action)

    run(node, steps)


def test_an_exit_is_reported_with_its_code_and_last_output(tmp_path: Path) -> None:
    said = "import sys; [print('line', n) for n in range(100)]; print('fatal: disk', file=sys.stderr); sys.exit(3)"
    node = BrokerNode(2, (sys.executable, "-c", said), tmp_path / "node-2.log")

    async def steps() -> None:
        await node.start()
        reason = await until(node.died)
        assert re.search(r"\(.*\b3\);", reason)
        assert "fatal: disk" in reason
        assert "line 99" in reason
        assert "line 50" not in reason

    run(node, steps)


def test_the_log_is_kept_across_restarts(node: BrokerNode) -> None:
    async def steps() -> None:
        for times in (1, 2):
            await node.start()
            await until(lambda times=times: node.log.read_text().count("ready") == times)
            await node.stop()

    run(node, steps)
    assert node.log.read_text().splitlines() == ["ready", "ready"]
