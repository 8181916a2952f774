"""The cases of the contract. Each requires one thing of a client, and returns if the client did it.

The conversation checks in all of them what every line must obey: numbers without a gap, the right clock, one
result per record, and answers to the commands that were sent.
"""

from __future__ import annotations

from harness.adapter import ConfigRefused
from harness.model.contract import Fatal, OpComplete, OpInvoke, Stats
from harness.model.verdicts import Outcome
from harness.text.counting import some
from suites.contract.client_process import (
    CLOSE_TIMEOUT_MS,
    ELEMENTS,
    LIMIT_MS,
    Case,
    ClientProcess,
    ContractViolation,
)
from suites.contract.consumer_cases import CONSUMER_CASES

UNKNOWN_COMMAND = "recite_a_poem"


async def startup(client: ClientProcess) -> None:
    """The client introduces itself: its name, the version that really runs, and its language."""
    event = await client.says.startup(client.patience_s)
    for name in ("client", "client_version", "language"):
        if not getattr(event, name):
            raise ContractViolation(
                "startup-text-missing", "expected a text in {name} of startup_complete, got none", name=name
            )


async def unknown_command(client: ClientProcess) -> None:
    """The client answers an unknown command with unsupported, and continues."""
    await client.says.startup(client.patience_s)
    await client.says.ask_unknown(UNKNOWN_COMMAND, client.patience_s)
    await client.says.close(CLOSE_TIMEOUT_MS)


async def garbage_line(client: ClientProcess) -> None:
    """The client gives up with fatal and a non-zero exit on a line that is not a command."""
    await client.says.startup(client.patience_s)
    await client.says.say(b"this is no command")
    code = await client.says.ended(client.patience_s)
    if code == 0 or not isinstance(client.heard[-1], Fatal):
        raise ContractViolation(
            "garbage-accepted",
            "expected fatal and a non-zero exit after a garbage line, got exit {code}",
            code=code,
        )


async def sigterm(client: ClientProcess) -> None:
    """The client closes and exits with 0 on SIGTERM."""
    await client.says.startup(client.patience_s)
    client.says.terminate()
    await client.must_leave("SIGTERM")


async def end_of_input(client: ClientProcess) -> None:
    """The client closes and exits with 0 at the end of its stdin."""
    await client.configure(client.config())
    client.says.hang_up()
    await client.must_leave("the end of stdin")


async def heartbeat(client: ClientProcess) -> None:
    """The client sends stats each second, also while nothing happens."""
    await client.says.startup(client.patience_s)

    def beats_twice() -> bool:
        return sum(isinstance(event, Stats) for event in client.heard) >= 2

    if not await client.says.until(beats_twice, client.patience_s):
        raise ContractViolation(
            "stats-missing",
            "expected stats each second, got not two in {patience_s:g} s",
            patience_s=client.patience_s,
        )


async def configuration(client: ClientProcess) -> None:
    """The client accounts for every setting: applied under which name, or not set and why."""
    await client.configure(client.config())


async def bad_setting(client: ClientProcess) -> None:
    """The client does not accept a value that makes no sense."""
    config = client.config()
    name = next((name for name in config if name in client.workload.settings), None)
    if name is None:
        return
    try:
        answer = await client.configure(config | {name: "banana"})
    except ConfigRefused:
        return
    if name not in answer.not_set:
        raise ContractViolation(
            "invalid-setting-applied",
            "expected {setting}=banana to be refused or not set, it was applied",
            setting=name,
        )


async def dead_address(client: ClientProcess) -> None:
    """The client reports no success without a broker, and still answers a flush."""
    await client.configure(client.config())
    await client.load()
    element, ops = client.workload.element, {command.op for command in client.workload.commands}
    answer = await client.says.flush(2 * LIMIT_MS)
    if answer is None:
        raise ContractViolation(
            "flush-not-answered", "expected an answer to flush within its timeout, got nothing"
        )
    if sum(event.count for event in client.heard if isinstance(event, OpInvoke)) != ELEMENTS:
        raise ContractViolation(
            "not-all-invoked",
            "expected op_invoke for {count} {element}s before the answer to flush",
            count=ELEMENTS,
            element=element,
        )
    results = [event for event in client.heard if isinstance(event, OpComplete) and event.op in ops]
    if any(outcome == Outcome.OK for event in results for outcome in event.outcome):
        raise ContractViolation(
            "acknowledged-without-broker",
            "a {element} is {done} although no broker was there",
            element=element,
            done=client.workload.done,
        )
    if answer.outcome == [Outcome.OK] and client.says.outstanding:
        raise ContractViolation(
            "flush-ok-too-early",
            "flush is ok although {outstanding} have no result",
            outstanding=some(client.says.outstanding, element),
        )
    await client.says.close(CLOSE_TIMEOUT_MS)


async def close_in_time(client: ClientProcess) -> None:
    """The client closes within its timeout, whatever it still has to send."""
    await client.configure(client.config(limit_ms=300_000))
    await client.load()
    if await client.says.close(CLOSE_TIMEOUT_MS) is None:
        raise ContractViolation(
            "close-not-answered", "expected an answer to close within its timeout, got nothing"
        )


CASES: dict[str, Case] = {
    "startup": startup,
    "unknown-command": unknown_command,
    "garbage-line": garbage_line,
    "sigterm": sigterm,
    "end-of-input": end_of_input,
    "heartbeat": heartbeat,
    "configuration": configuration,
    "bad-setting": bad_setting,
    "dead-address": dead_address,
    "close-in-time": close_in_time,
    **CONSUMER_CASES,
}
