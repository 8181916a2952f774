"""Clients that are measured side by side: each is a program, which runs in a process and an environment of its own.

A program takes its load as JSON, in its first argument, and prints its figures as one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.model.errors import KafkaTrialError
from harness.provision.python_env import python_env
from harness.system import processes

FOLDER = Path(__file__).parent
BROKER = "4.3.1x1"
PARTITIONS = 4
SIZES_BYTES = (100, 1_024)
CODECS = ("none", "lz4")
TIMEOUT_S = 300.0
Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Client:
    """The name of a client's programs, and the packages that they need. None means the current environment."""

    name: str
    program: str
    requirements: tuple[str, ...] = ()

    def argv(self, kind: str) -> tuple[str, ...]:
        """Return the command of its program among those in a folder, such as "producers"."""
        python = str(python_env(*self.requirements)) if self.requirements else sys.executable
        return (python, str(FOLDER / kind / self.program))


REFERENCE = Client("reference", "reference.py")
CLIENTS = (
    REFERENCE,
    Client("kafka-python", "kafka_python.py", ("kafka-python[lz4,crc32c]==3.0.12",)),
    Client("aiokafka", "aiokafka_client.py", ("aiokafka[lz4]==0.14.0",)),
    Client("confluent-kafka", "confluent.py", ("confluent-kafka==2.16.1",)),
)


async def run_one(argv: tuple[str, ...], load: Mapping[str, Any]) -> Figures:
    """Run one process for one measurement. Raise KafkaTrialError if the program fails."""
    common = str(FOLDER / "common")
    path = os.pathsep.join((common, str(FOLDER.parent))) if argv[0] == sys.executable else common
    child = await asyncio.create_subprocess_exec(
        *argv,
        json.dumps(load),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path, **processes.owner_env()},
    )
    try:
        output, _ = await asyncio.wait_for(child.communicate(), TIMEOUT_S)
    finally:
        if child.returncode is None:
            child.kill()
    if child.returncode:
        raise KafkaTrialError(
            "program-failed", "{program} exited with {code}", program=argv[1], code=child.returncode
        )
    figures: Figures = json.loads(output)
    return figures
