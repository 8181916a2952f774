"""A conversation with a real process: what the harness reports when a client breaks the contract."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from harness.adapter import ConfigRefused, Conversation
from harness.adapter.session import LINES_AT_A_TIME
from harness.model.contract import StartupComplete
from harness.model.errors import ClientBroken, ClientCrashed, EnvironmentProblem
from harness.plugins.client import Launch
from harness.workloads.produce.commands import Produce
from testkit.children import children
from testkit.codes import raises_code


@pytest.fixture
def talk(program, tmp_path):
    """Return ``talk(name, story)``, which runs the coroutine function ``story(conversation, events)`` on a client."""

    def run(name, story, **options):
        async def whole():
            events = []
            async with Conversation(
                program(name), tmp_path / "client.log", events.append, **options
            ) as client:
                return await story(client, events)

        return asyncio.run(whole())

    return run


def records(count: int) -> Produce:
    return Produce(0, "t", 0, [None] * count, [f"v{n}" for n in range(count)])


def test_a_faithful_client_goes_through_all_phases(talk):
    async def story(client, events):
        startup = await client.startup()
        configured = await client.configure("r", "p1", {"linger.ms": 5})
        await client.load(records(3))
        assert (client.outstanding, client.settled.is_set()) == (3, False)
        flush = await client.flush(5_000)
        await client.settled.wait()
        close = await client.close(5_000)
        assert startup.client == "polite"
        assert configured.applied == {"linger.ms": ("linger.ms", 5)}
        assert (flush.outcome, close.outcome) == (["ok"], ["ok"])
        assert client.error is None
        return [event.__struct_config__.tag for event in events if event.__struct_config__.tag != "stats"]

    assert talk("polite", story) == [
        "startup_complete",
        "configured",
        "op_invoke",
        "op_invoke",
        "op_complete",
        "op_complete",
        "op_invoke",
        "op_complete",
        "shutdown_complete",
    ]


def test_a_slow_client_gets_every_record(talk):
    async def story(client, events):
        await client.startup()
        await client.configure("r", "p1", {})
        for first in range(0, 30_000, 1_000):
            values = ["x" * 200] * 1_000
            await client.load(Produce(0, "t", first, [None] * 1_000, values))
        await client.flush(30_000)
        return client.outstanding

    assert talk("polite", story) == 0


def test_a_refused_configuration_does_not_break_the_contract(talk):
    async def story(client, events):
        await client.startup()
        await client.configure("r", "p1", {"acks": "banana"})

    with raises_code(ConfigRefused, "config-refused", name="polite@1.0", message="acks must be all"):
        talk("polite", story)


def test_an_adapter_defect_in_configure_is_not_a_refusal(talk):
    async def story(client, events):
        await client.startup()
        await client.configure("r", "p1", {"linger.ms": 5})

    with raises_code(ClientBroken, "answer-missing", expected="configured", event="fatal"):
        talk("trips_in_configure", story)


def test_an_endless_line_breaks_the_contract(talk):
    async def story(client, events):
        await client.startup()

    with raises_code(ClientBroken, "line-too-long", most=8388608):
        talk("never_ends_its_line", story)


def test_a_waiting_call_fails_when_the_client_ends(talk):
    async def story(client, events):
        await client.startup()
        await client.configure("r", "p1", {})
        await client.load(records(1))
        await client.flush(3_600_000)

    with raises_code(ClientBroken, "shutdown-missing", exit_code=3):
        talk("crashes_in_mid_run", story)


def test_later_calls_fail_with_the_same_error(talk):
    async def story(client, events):
        await client.startup()
        with raises_code(ClientBroken, "not-an-event", number=2):
            await client.configure("r", "p1", {})
        with raises_code(ClientBroken, "not-an-event", number=2):
            await client.load(records(1))
        return [type(event) for event in events]

    assert talk("says_garbage", story) == [StartupComplete]


@pytest.mark.long("a client that does not answer is waited for")
def test_an_unanswered_flush_or_close_has_no_result(talk):
    async def story(client, events):
        await client.startup()
        await client.configure("r", "p1", {})
        await client.load(records(1))
        flush = await client.flush(1)
        return flush, await client.close(1), client.outstanding

    assert talk("answers_no_flush", story, grace_s=1.0) == (None, None, 1)


def test_a_command_before_configure_is_answered_with_a_fatal_event(talk):
    async def story(client, events):
        await client.startup()
        await client.flush(1_000)

    with raises_code(ClientBroken, "client-gave-up", error="RuntimeError", message="flush before configure"):
        talk("polite", story)


def test_a_silent_client_is_killed(talk):
    async def story(client, events):
        await client.startup(0.5)

    with raises_code(ClientBroken, "answer-missing", expected="startup_complete", timeout_s=0.5):
        talk("says_nothing", story)
    assert children("says_nothing.py") == []


FLOODS = """
import json, sys, time
about = {"client": "c", "client_version": "1", "language": "python", "features": [], "contract_version": 2}
lines = [{"name": "startup_complete", **about}, *[{"name": "stats", "sent": 0, "completed": 0}] * 20_000]
for seq, line in enumerate(lines):
    now = {"mono_ns": time.monotonic_ns(), "wall_ns": time.time_ns()}
    sys.stdout.write(json.dumps({**line, "seq": seq, **now}) + "\\n")
"""


def test_a_flood_of_events_leaves_room_for_other_tasks(tmp_path):
    heard, in_a_row, longest = 0, 0, 0

    def hear(_):
        nonlocal heard, in_a_row, longest
        heard, in_a_row = heard + 1, in_a_row + 1
        longest = max(longest, in_a_row)

    async def whole():
        nonlocal in_a_row
        async with Conversation(
            Launch((sys.executable, "-c", FLOODS), {}), tmp_path / "client.log", hear
        ) as client:
            while client.error is None:
                in_a_row = 0
                await asyncio.sleep(0)

    asyncio.run(whole())
    assert heard > 10_000 and longest <= LINES_AT_A_TIME


FLOODS_ON = (
    FLOODS
    + """
sys.stdout.write("garbage\\n")
while True:
    sys.stdout.write("x" * 100_000)
"""
)


def open_files():
    return {file.name for file in Path("/proc/self/fd").iterdir()}


def test_a_client_that_floods_on_leaves_no_pipe_open(tmp_path):
    async def whole():
        rounds, before = 0, open_files()
        launch = Launch((sys.executable, "-c", FLOODS_ON), {})
        async with Conversation(launch, tmp_path / "client.log", lambda event: None) as client:
            # Only then does the output wait in the pipe. asyncio has no public name for it.
            while client.error is None or not client._child.stdout._paused:
                rounds += 1
                await asyncio.sleep(0)
        await asyncio.sleep(0)
        return open_files() - before

    assert asyncio.run(whole()) == set()


def test_an_end_in_the_middle_of_a_line_is_reported_as_an_end(tmp_path):
    code = 'import os; os.write(1, b\'{"name": "startup_co\'); os._exit(9)'

    async def whole():
        launch = Launch((sys.executable, "-c", code), {})
        async with Conversation(launch, tmp_path / "client.log", lambda event: None) as client:
            await client.startup()

    with raises_code(ClientBroken, "shutdown-missing", exit_code=9):
        asyncio.run(whole())


def test_a_missing_program_is_an_environment_problem(tmp_path):
    async def whole():
        async with Conversation(Launch(("/no/such/client",), {}), tmp_path / "log", lambda event: None):
            pass

    with raises_code(EnvironmentProblem, "program-missing", program="/no/such/client"):
        asyncio.run(whole())


def test_a_crash_of_the_client_library_does_not_break_the_contract(talk):
    async def story(client, events):
        await client.startup()
        await client.configure("r", "p1", {"acks": "all"})
        await client.load(records(2))
        with raises_code(ClientCrashed, "client-crashed", message="out of bounds"):
            await client.flush(1_000)
        with pytest.raises(ClientCrashed):
            await client.close(1_000)
        return [type(event).__name__ for event in events]

    assert talk("crashes_over_a_client", story)[-1] == "Fatal"
