"""Install the clients of a plan: each once, several at a time.

One that cannot be installed does not stop the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from harness.model.errors import EnvironmentProblem
from harness.model.spec import ClientRef
from harness.planning import typed_settings
from harness.plugins import registry
from harness.plugins.client import InstalledClient, Launch

#: An installation waits for its registry more than it computes.
AT_ONCE = 3


@dataclass(frozen=True)
class Installed:
    """The clients that are ready to run, and the others with the reason, such as an unreachable registry."""

    clients: Mapping[ClientRef, InstalledClient]
    lacking: Mapping[ClientRef, EnvironmentProblem]


def installed(ref: ClientRef, env: Mapping[str, str] = MappingProxyType({})) -> InstalledClient:
    """Return one client, ready to run: by its kind, or by the user's own command. ``env`` is added to its environment.

    Raise UsageError for a command that was stored without its secrets.
    """
    launch = (
        Launch(typed_settings.command(ref), {}, ref.folder or None)
        if ref.command
        else registry.client(ref.name).install(ref.version)
    )
    return InstalledClient(ref, replace(launch, env={**env, **launch.env}))


def install(
    refs: Iterable[ClientRef], env: Mapping[str, str] = MappingProxyType({})
) -> dict[ClientRef, InstalledClient]:
    """Install every client. Raise what :meth:`ports.ClientKind.install` raises for the first one that fails."""
    done = install_what_can_be(refs, env)
    for problem in done.lacking.values():
        raise problem
    return dict(done.clients)


def install_what_can_be(
    refs: Iterable[ClientRef], env: Mapping[str, str] = MappingProxyType({})
) -> Installed:
    """Install every client for which that is possible. ``env`` is added to the environment of their processes.

    Raise UsageError for a version that does not exist, which is the user's error.
    """
    wanted = list(dict.fromkeys(refs))
    ready: dict[ClientRef, InstalledClient] = {}
    lacking: dict[ClientRef, EnvironmentProblem] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for ref, result in zip(wanted, pool.map(partial(_tried, env), wanted), strict=True):
            if isinstance(result, InstalledClient):
                ready[ref] = result
            else:
                lacking[ref] = result
    return Installed(ready, lacking)


def _tried(env: Mapping[str, str], ref: ClientRef) -> InstalledClient | EnvironmentProblem:
    try:
        return installed(ref, env)
    except EnvironmentProblem as problem:
        return problem
