"""The cases of the contract for a client that declares the feature ``consumer``. They are left out for any other."""

from __future__ import annotations

from harness.adapter import ConfigRefused
from harness.adapter.member import CommandNotOffered
from harness.model.consumer_contract import (
    Assign,
    Attempt,
    Commit,
    ConsumerCommand,
    OffsetsCommitted,
    PartitionsAssigned,
    Pause,
    Place,
    Position,
    Process,
    RecordsConsumed,
    Resume,
    Seek,
    Subscribe,
    Throw,
    Wakeup,
)
from harness.model.contract import OpComplete, Setting, Stats
from harness.workloads.consume.profile import PROFILE
from suites.contract.client_process import (
    CLOSE_TIMEOUT_MS,
    Case,
    ClientProcess,
    ContractViolation,
    NotConcerned,
)

TOPIC = "contract"
PLACE, POSITION = Place(TOPIC, 0), Position(TOPIC, 0, 0)
#: A command of each kind that a feature permits. The id is that of the conversation.
OF_FEATURES: dict[str, tuple[ConsumerCommand, ...]] = {
    "assign": (Assign(0, [POSITION]),),
    "pattern": (Subscribe(0, pattern="^contract$"),),
    "pause": (Pause(0, [PLACE]), Resume(0, [PLACE])),
    "seek": (Seek(0, POSITION),),
    "wakeup": (Wakeup(0),),
    "attempt": (
        Attempt(0, "poll"),
        Attempt(0, "assign", [POSITION]),
    ),
}
BAD = "session.timeout.ms"


async def consumer_configuration(client: ClientProcess) -> None:
    """A consumer accounts for every setting: applied under which name, or not set and why."""
    await _begin(client)


async def consumer_bad_setting(client: ClientProcess) -> None:
    """A consumer does not accept a value that makes no sense."""
    await _features(client)
    try:
        answer = await client.says.configure(
            "contract", "m1", _config(client) | {BAD: "banana"}, role="consumer", timeout_s=client.patience_s
        )
    except ConfigRefused:
        return
    if BAD not in answer.not_set:
        raise ContractViolation(
            "invalid-setting-applied",
            "expected {setting}=banana to be refused or not set, it was applied",
            setting=BAD,
        )


async def consumer_dead_address(client: ClientProcess) -> None:
    """A consumer reports no partitions, records or commits without a broker, and sends stats while it polls."""
    await _begin(client)
    await _asked(client, Subscribe(0, topics=[TOPIC], commit="sync"))
    before = sum(isinstance(event, Stats) for event in client.heard)

    def beats_twice() -> bool:
        return sum(isinstance(event, Stats) for event in client.heard) >= before + 2

    if not await client.says.until(beats_twice, client.patience_s):
        raise ContractViolation(
            "stats-missing-while-polling",
            "expected stats each second while it polls, got not two in {patience_s:g} s",
            patience_s=client.patience_s,
        )
    for event in client.heard:
        if isinstance(event, PartitionsAssigned | RecordsConsumed) or (
            isinstance(event, OffsetsCommitted) and event.success
        ):
            raise ContractViolation(
                "consumed-without-broker",
                "it reports {event} although no broker was there",
                event=event.__struct_config__.tag,
            )


async def consumer_features(client: ClientProcess) -> None:
    """A consumer answers unsupported to the commands whose features it does not declare."""
    features = await _begin(client)
    for feature, commands in OF_FEATURES.items():
        for command in commands if feature not in features else ():
            try:
                await client.says.call(command, client.patience_s)
            except CommandNotOffered:
                continue
            raise ContractViolation(
                "feature-not-declared",
                "expected unsupported for {command}, since it does not declare {feature}",
                command=command.__struct_config__.tag,
                feature=feature,
            )


async def consumer_commands(client: ClientProcess) -> None:
    """A consumer answers each command, also before it has a subscription."""
    await _begin(client)
    for command in (Process(0, 1), Throw(0, "assigned"), Commit(0), Subscribe(0, topics=[TOPIC])):
        await _asked(client, command)


async def consumer_close_in_time(client: ClientProcess) -> None:
    """A consumer without an assignment closes within its timeout."""
    await _begin(client)
    await _asked(client, Subscribe(0, topics=[TOPIC], processing_ms=60_000))
    if await client.says.close(CLOSE_TIMEOUT_MS) is None:
        raise ContractViolation(
            "close-not-answered", "expected an answer to close within its timeout, got nothing"
        )


async def consumer_sigterm(client: ClientProcess) -> None:
    """A consumer that polls closes and exits with 0 on SIGTERM."""
    await _begin(client)
    await _asked(client, Subscribe(0, topics=[TOPIC]))
    client.says.terminate()
    await client.must_leave("SIGTERM")


async def consumer_end_of_input(client: ClientProcess) -> None:
    """A consumer that polls closes and exits with 0 at the end of its stdin."""
    await _begin(client)
    await _asked(client, Subscribe(0, topics=[TOPIC]))
    client.says.hang_up()
    await client.must_leave("the end of stdin")


CONSUMER_CASES: dict[str, Case] = {
    "consumer-configuration": consumer_configuration,
    "consumer-bad-setting": consumer_bad_setting,
    "consumer-dead-address": consumer_dead_address,
    "consumer-features": consumer_features,
    "consumer-commands": consumer_commands,
    "consumer-close-in-time": consumer_close_in_time,
    "consumer-sigterm": consumer_sigterm,
    "consumer-end-of-input": consumer_end_of_input,
}


async def _features(client: ClientProcess) -> list[str]:
    features = (await client.says.startup(client.patience_s)).features
    if "consumer" not in features:
        raise NotConcerned
    return features


def _config(client: ClientProcess) -> dict[str, Setting]:
    return PROFILE | {"bootstrap.servers": client.nowhere, "client.id": "contract", "group.id": "contract"}


async def _begin(client: ClientProcess) -> list[str]:
    """Configure a consumer, and return the client's features. Raises NotConcerned."""
    features = await _features(client)
    await client.says.configure(
        "contract", "m1", _config(client), role="consumer", timeout_s=client.patience_s
    )
    return features


async def _asked(client: ClientProcess, command: ConsumerCommand) -> OpComplete | None:
    """Return the answer to a command. None: it is not offered."""
    try:
        answer = await client.says.call(command, client.patience_s)
    except CommandNotOffered:
        return None
    if answer is None:
        raise ContractViolation(
            "command-not-answered",
            "expected an answer to {command}, got nothing",
            command=command.__struct_config__.tag,
        )
    return answer
