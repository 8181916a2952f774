"""What a client reports about itself: its identity, its features, and its names for Java's settings.

The published table of clients comes from these answers of the program itself. The questions cover the settings
that every trial gives (:data:`harness.workloads.produce.profile.PROFILE`), each codec, and idempotence on and off. A
client that consumes is asked about its consumer too, with each assignor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from harness.adapter import ConfigRefused, Conversation
from harness.model.contract import Configured, Setting, StartupComplete
from harness.plugins.client import Launch
from harness.workloads.consume import profile as consuming
from harness.workloads.produce.profile import CODECS, PROFILE
from suites.contract.client_process import refusing_port
from suites.contract.consumer_settings import ASSIGNORS, FURTHER

CLOSE_TIMEOUT_MS = 1_000
AT_ONCE = 4
CODEC, IDEMPOTENCE = "compression.type", "enable.idempotence"
STRATEGY = "partition.assignment.strategy"


class ConsumerCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of a consumer: as those of a producer, and the ``assignors`` that can be set."""

    applied: dict[str, tuple[str, Setting]]
    not_set: dict[str, str]
    assignors: tuple[str, ...]


class Capabilities(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answers of one client at one version, in the Java names.

    ``applied`` maps a name to (its own name, value). ``not_set`` maps a name to the reason.
    ``idempotent_not_set`` holds settings that cannot be set together with idempotence, although they can
    without it. It is null if the client has no idempotence. ``codecs`` are those that can be set.
    These are answers of the producer. ``consumer`` has those of the consumer, if there is one.
    """

    client_version: str
    library_version: str | None
    language: str
    features: tuple[str, ...]
    applied: dict[str, tuple[str, Setting]]
    not_set: dict[str, str]
    idempotent_not_set: dict[str, str] | None
    codecs: tuple[str, ...]
    consumer: ConsumerCapabilities | None = None


async def ask(launch: Launch, logs: Path) -> Capabilities:
    """Ask one client, in one process per question. Raise ClientBroken or ConfigRefused if it breaks the contract."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def configured(name: str, **settings: Setting) -> tuple[StartupComplete, Configured]:
        async with turn:
            wanted = {key.replace("_", "."): value for key, value in settings.items()}
            return await _configured(launch, logs / f"{name}.log", PROFILE | wanted, CODEC)

    async def consumer(assignor: str) -> Configured:
        async with turn:
            config = consuming.PROFILE | FURTHER | {"group.id": "asked", STRATEGY: assignor}
            log = logs / f"consumer-{assignor}.log"
            _, answer = await _configured(launch, log, config, STRATEGY, role="consumer")
            return answer

    (startup, plain), *packed = await asyncio.gather(
        *(configured(codec, enable_idempotence=False, compression_type=codec) for codec in CODECS)
    )
    idempotent = None
    if "idempotence" in startup.features:
        _, with_it = await configured("idempotent", enable_idempotence=True, compression_type=CODECS[0])
        idempotent = {name: why for name, why in with_it.not_set.items() if name not in plain.not_set}
    answers = dict(zip(CODECS, (plain, *(answer for _, answer in packed)), strict=True))
    consumes = None
    if "consumer" in startup.features:
        told = dict(zip(ASSIGNORS, await asyncio.gather(*map(consumer, ASSIGNORS)), strict=True))
        consumes = _consumer(told)
    return Capabilities(
        client_version=startup.client_version,
        library_version=startup.library_version,
        language=startup.language,
        features=tuple(startup.features),
        applied={name: _steady(name, *took) for name, took in sorted(plain.applied.items()) if name != CODEC},
        not_set=dict(sorted(plain.not_set.items())),
        idempotent_not_set=idempotent,
        codecs=tuple(codec for codec, answer in answers.items() if CODEC not in answer.not_set),
        consumer=consumes,
    )


def _consumer(told: Mapping[str, Configured]) -> ConsumerCapabilities:
    """Return the answers of a consumer. ``told``: assignor -> what it could apply with it."""
    assignors = tuple(assignor for assignor, answer in told.items() if STRATEGY not in answer.not_set)
    usual = told[assignors[0]] if assignors else told[ASSIGNORS[0]]
    return ConsumerCapabilities(
        applied={name: _steady(name, *took) for name, took in sorted(usual.applied.items())},
        not_set=dict(sorted(usual.not_set.items())),
        assignors=assignors,
    )


def _steady(name: str, own: str, value: Setting) -> tuple[str, Setting]:
    """Replace the address, whose port differs each time."""
    return (own, "...") if name == "bootstrap.servers" else (own, value)


async def _configured(
    launch: Launch, log: Path, config: dict[str, Any], questioned: str, *, role: str = "producer"
) -> tuple[StartupComplete, Configured]:
    with refusing_port() as port:
        async with Conversation(launch, log, lambda _: None) as client:
            startup = await client.startup()
            try:
                address = {"bootstrap.servers": f"127.0.0.1:{port}", "client.id": "asked"}
                answer = await client.configure("asked", "p1", config | address, role=role)
            except ConfigRefused as refused:
                # A client may refuse a codec that cannot be loaded instead of leaving it out. Both mean the same.
                return startup, _refused(questioned, str(refused))
            await client.close(CLOSE_TIMEOUT_MS)
            return startup, answer


def _refused(name: str, why: str) -> Configured:
    return Configured(seq=0, mono_ns=0, wall_ns=0, id=0, applied={}, not_set={name: why})
