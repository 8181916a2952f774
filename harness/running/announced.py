"""The version that the user's own program announces when it starts, so that every output has it from the plan on.

The program is started once before the plan is made, and ended. If it announces no usable version in time, the client
keeps the version OWN; the trials then say what is wrong with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from harness.adapter import Conversation
from harness.model.errors import KafkaTrialError
from harness.model.spec import ClientRef, is_version
from harness.running.install import installed
from harness.system.processes import scratch_dir

PATIENCE_S = 15.0


def with_versions(
    refs: Iterable[ClientRef],
    env: Mapping[str, str] = MappingProxyType({}),
    patience_s: float = PATIENCE_S,
) -> list[ClientRef]:
    """Return these clients, commands with the versions that they announce. ``env`` is added to their environment."""
    return [
        asyncio.run(_with_version(ref, env, patience_s)) if ref.command else ref
        for ref in dict.fromkeys(refs)
    ]


async def _with_version(ref: ClientRef, env: Mapping[str, str], patience_s: float) -> ClientRef:
    launch = installed(ref, env).launch
    try:
        async with Conversation(launch, scratch_dir() / "announced.log", lambda _: None) as conversation:
            version = (await conversation.startup(patience_s)).client_version
    except (KafkaTrialError, OSError):
        return ref
    return replace(ref, version=version) if is_version(version) else ref
