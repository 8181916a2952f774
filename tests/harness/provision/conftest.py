"""A machine that has only the tools that a test puts on its PATH, and an empty cache."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.model.errors import EnvironmentProblem
from harness.provision import go, jars, kafka, node, pypi

JARS = {"kafka_2.13-4.3.1.jar": b"broker", "kafka-clients-4.3.1.jar": b"clients"}


class Machine:
    """A machine where ``has(tool, script)`` puts a script on the PATH; ``jars`` are delivered by Ivy and pinned."""

    jars = JARS

    def __init__(self, root: Path) -> None:
        self.bin, self.cache = root / "bin", root / "cache"
        self.bin.mkdir()

    def has(self, tool: str, script: str, folder: Path | None = None) -> Path:
        path = (folder or self.bin) / tool
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
        path.chmod(0o755)
        return path

    def has_java(self, version: str, folder: Path | None = None) -> Path:
        """Install a Java whose Ivy delivers ``JARS`` into the folder of the retrieve pattern."""
        deliver = "\n".join(
            f'printf %s {content.decode()} > "$folder/{name}"' for name, content in JARS.items()
        )
        script = f"""
            [ "$1" = -version ] && {{ echo 'openjdk version "{version}" 2025-04-15' >&2; exit; }}
            while [ "$1" != -retrieve ]; do shift; done
            folder=$(dirname "$2")
            {deliver}"""
        return self.has("java", script, folder)

    def has_go(self, version: str) -> Path:
        """Install a Go whose ``build`` makes a server that prints its version."""
        server = "printf '#!/bin/sh\\necho toxiproxy-server version 2.12.0\\n'"
        script = f"""
            [ "$1" = version ] && {{ echo go version go{version} linux/amd64; exit; }}
            [ "$1" = build ] || exit 0
            while [ "$1" != -o ]; do shift; done
            {server} > "$2"
            chmod +x "$2" """
        return self.has("go", script)


@pytest.fixture
def lend(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path | EnvironmentProblem], None]:
    """``lend(python)``: what PyPI lends is beside that interpreter, or it lends nothing, for that reason.

    Which files an environment has is uv's doing, and tests have no network: here alone the function that asks it for
    pinned ones is replaced, wherever it is used.
    """

    def lent(python: Path | EnvironmentProblem) -> None:
        def pinned(name: str, pins: Path) -> Path:
            if isinstance(python, EnvironmentProblem):
                raise python
            return python

        for module in (go, node, pypi):
            monkeypatch.setattr(module, "pinned_env", pinned)

    return lent


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path)
    monkeypatch.setenv("PATH", str(machine.bin))
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(machine.cache))
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo"))
    for name in ("JAVA_HOME", "TOXIPROXY_URL"):
        monkeypatch.delenv(name, raising=False)
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in JARS.items()}
    # The jars of this machine are made up, so that neither the committed sums nor the real Ivy apply.
    monkeypatch.setattr(kafka, "read_sums", lambda version: sums)
    monkeypatch.setattr(jars, "ivy_classpath", lambda: "ivy.jar")
    return machine
