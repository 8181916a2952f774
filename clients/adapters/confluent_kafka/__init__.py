"""confluent-kafka for Python, which wraps librdkafka: any published version, in an environment of its own."""

from __future__ import annotations

import re
from pathlib import Path

from harness.errors import UsageError
from harness.ports import Launch
from harness.provision.python_env import python_env

HERE = Path(__file__).parent


class ConfluentKafka:
    """The client kind ``confluent-kafka``; its program is ``main.py`` beside this file."""

    name = "confluent-kafka"
    summary = "confluent-kafka for Python, on librdkafka"
    language = "python/c"
    default_version = "2.16.1"

    def install(self, version: str) -> Launch:
        """The program in a cached environment that holds that version; see :class:`harness.ports.ClientKind`."""
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)*([a-z]+[0-9]+)?", version):
            raise UsageError(
                f"{version!r} is not a version of {self.name}; an example is {self.default_version}"
            )
        python = python_env(f"{self.name}=={version}")
        # No user site, and nobody's PYTHONPATH but the contract's library.
        return Launch(
            argv=(str(python), "-s", str(HERE / "main.py")),
            env={"PYTHONPATH": str(HERE.parent / "python_lib")},
        )


CLIENT = ConfluentKafka()
