"""Java's assignors, asked through the program in ``java``: one process answers all questions."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final

from clients.adapters.java import CLIENT, COMPANIONS, JVM_OPTIONS, LOCK, MODULE, ORGANISATION
from clients.reference.consumer.assignors.assignor import PartitionsPerTopic
from harness.provision.java_programs import java_program
from harness.provision.locks import lock_of

SOURCES: Final = (Path(__file__).with_name("java"),)
NONE: Final = "-"


@dataclass(frozen=True, slots=True)
class JavaAnswer:
    """Java's assignment, encoded for each member, or the class of its exception.

    ``topics`` and ``members`` have the order in which Java's hash maps iterate.
    """

    topics: tuple[str, ...]
    members: tuple[str, ...]
    assignment: dict[str, bytes]
    failed: str | None


class JavaAssignors:
    """The process. ``version`` is that of kafka-clients."""

    def __init__(self, version: str = CLIENT.default_version) -> None:
        self.version = version
        program = java_program(
            ((ORGANISATION, MODULE, version), *COMPANIONS),
            SOURCES,
            name=f"assignors@{version}",
            lock=lock_of(CLIENT.locks, version, LOCK),
        )
        argv = [str(program.java), *JVM_OPTIONS, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"]
        argv += ["-cp", program.classpath, "assignors.Assignors"]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> JavaAssignors:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def make(self, assignor: str) -> None:
        """Let Java make a new instance of an assignor."""
        self._ask("new", assignor)

    def assign(
        self, partitions: PartitionsPerTopic, members: Mapping[str, tuple[str | None, bytes]]
    ) -> JavaAnswer:
        """Return Java's assignment. ``members`` are instance ids and encoded subscriptions by member id."""
        for topic, infos in partitions.items():
            racks = (",".join(sorted(info.racks)) or NONE for info in infos)
            self._ask("topic", topic, "|".join(racks))
        for member, (instance, subscription) in members.items():
            self._ask("member", member, instance or NONE, subscription.hex())
        self._ask("assign")
        return self._answer()

    def told(self, generation: int, assignment: bytes) -> bytes | None:
        """Tell Java's assignor what it was assigned, and return the user data of its next subscription."""
        self._ask("told", str(generation), assignment.hex())
        said = self._read()
        return None if said == NONE else bytes.fromhex(said)

    def encoded(self, kind: str, version: int, data: bytes) -> bytes:
        """Return how Java encodes a decoded ``subscription`` or ``assignment``."""
        self._ask(kind, str(version), data.hex())
        return bytes.fromhex(self._read())

    def _answer(self) -> JavaAnswer:
        topics, members = (tuple(self._read().split()[1:]) for _ in range(2))
        assignment: dict[str, bytes] = {}
        failed = None
        while (said := self._read()) != "end":
            what, *words = said.split(" ")
            if what == "failed":
                failed = words[0]
            else:
                assignment[words[0]] = bytes.fromhex(words[1])
        return JavaAnswer(topics, members, assignment, failed)

    def _ask(self, *words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(words) + "\n")
        self._process.stdin.flush()

    def _read(self) -> str:
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if not said:
            raise RuntimeError(f"Java's assignors ended with {self._process.wait()}")
        return said.rstrip("\n")
