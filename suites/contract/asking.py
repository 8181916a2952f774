"""What a client says of itself: who it is, what it offers, and which of Java's settings it takes under which name.

Asked of the program and not written down by hand, so that the published table of clients cannot be wrong by hope. What
is asked are the settings that every trial gives (:data:`harness.workloads.produce.profile.PROFILE`), each codec,
idempotence on and off.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from harness.adapter import ConfigRefused, Conversation
from harness.model.contract import Configured, Setting, StartupComplete
from harness.planning.plan import CODECS
from harness.plugins.client import Launch
from harness.workloads.produce.profile import PROFILE
from suites.contract.cases import refusing_port

CLOSE_TIMEOUT_MS = 1_000
AT_ONCE = 4
CODEC, IDEMPOTENCE = "compression.type", "enable.idempotence"


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of one client at one version, in the Java names.

    ``applied``: name -> (its own name, value); ``not_set``: name -> why. ``idempotent_not_set``: what cannot be set
    beside idempotence, though it can without; null if there is none to be had. ``codecs``: those that can be set.
    """

    client_version: str
    library_version: str | None
    language: str
    features: tuple[str, ...]
    applied: dict[str, tuple[str, Setting]]
    not_set: dict[str, str]
    idempotent_not_set: dict[str, str] | None
    codecs: tuple[str, ...]


async def ask(launch: Launch, logs: Path) -> Told:
    """Ask one client, in a process for each question. ClientBroken, ConfigRefused if it has no manners."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def configured(name: str, **settings: Setting) -> tuple[StartupComplete, Configured]:
        async with turn:
            wanted = {key.replace("_", "."): value for key, value in settings.items()}
            return await _configured(launch, logs / f"{name}.log", PROFILE | wanted)

    (startup, plain), *packed = await asyncio.gather(
        *(configured(codec, enable_idempotence=False, compression_type=codec) for codec in CODECS)
    )
    idempotent = None
    if "idempotence" in startup.features:
        _, with_it = await configured("idempotent", enable_idempotence=True, compression_type=CODECS[0])
        idempotent = {name: why for name, why in with_it.not_set.items() if name not in plain.not_set}
    answers = dict(zip(CODECS, (plain, *(answer for _, answer in packed)), strict=True))
    return Told(
        client_version=startup.client_version,
        library_version=startup.library_version,
        language=startup.language,
        features=tuple(startup.features),
        applied={name: _steady(name, *took) for name, took in sorted(plain.applied.items()) if name != CODEC},
        not_set=dict(sorted(plain.not_set.items())),
        idempotent_not_set=idempotent,
        codecs=tuple(codec for codec, answer in answers.items() if CODEC not in answer.not_set),
    )


def _steady(name: str, own: str, value: Setting) -> tuple[str, Setting]:
    """The port of the address that nobody answers at is another one each time."""
    return (own, "...") if name == "bootstrap.servers" else (own, value)


async def _configured(
    launch: Launch, log: Path, config: dict[str, Any]
) -> tuple[StartupComplete, Configured]:
    with refusing_port() as port:
        async with Conversation(launch, log, lambda _: None) as client:
            startup = await client.startup()
            try:
                address = {"bootstrap.servers": f"127.0.0.1:{port}", "client.id": "asked"}
                answer = await client.configure("asked", "p1", config | address)
            except ConfigRefused as refused:
                # A codec that cannot be loaded may be refused instead of left out: it says the same.
                return startup, _refused(str(refused))
            await client.close(CLOSE_TIMEOUT_MS)
            return startup, answer


def _refused(why: str) -> Configured:
    return Configured(seq=0, mono_ns=0, wall_ns=0, id=0, applied={}, not_set={CODEC: why})
