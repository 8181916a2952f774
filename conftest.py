"""Hypothesis in all tests: no deadlines, because a busy machine is not a defect. ``--durations`` shows slow tests.

The profile sets the number of examples: ``--hypothesis-profile=quick`` for the fast tier, ``thorough`` for a night.
With four processes (``-n 4``), three run the tests with brokers, which mostly wait, and one runs the others.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from harness.system.interpreter import freeze_loaded

_ANY_MACHINE: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile("quick", max_examples=10, **_ANY_MACHINE)
settings.register_profile("usual", max_examples=40, **_ANY_MACHINE)
settings.register_profile("thorough", max_examples=2_000, **_ANY_MACHINE)
settings.load_profile("usual")


#: Folders whose JVM is Spark's, which a file starts once, and not a broker's.
SPARK = "tests/reports/"
#: The tests with brokers in three parts of about the same length: whole runs, clients, and all others.
PARTS = {
    "tests/end_to_end/": "end_to_end",
    "tests/clients/": "clients",
    "tests/testkit/": "clients",
    "": "brokers",
}
#: Folders whose tests share simulated trials, which every process would make again.
SHARED_TRIALS = ("tests/suites/perturbations/", "tests/suites/checks/consume_wire/")


class Indexed(list[str]):
    """A list of different texts that finds each at once. With thousands of tests a search takes longer than a test."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__(texts)
        self._places = {text: place for place, text in enumerate(texts)}

    def index(self, text: str, *_: Any) -> int:
        """Return the place of a text. Raise KeyError if there is none."""
        return self._places[text]


class BrokersApart(LoadScopeScheduling):
    """Assign files with a test that starts brokers to three processes. More clusters would slow each other down.

    The groups of xdist do the same with a mark, but not with this version of pytest, which ignores changed test names.
    """

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        super().add_node_collection(node, collection)
        if node in self.registered_collections:
            self.registered_collections[node] = Indexed(self.registered_collections[node])

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Forget each unit of which all tests have run, which would be counted again after each later test."""
        scope = self._split_scope(self.registered_collections[node][item_index])
        super().mark_test_complete(node, item_index, duration)
        if all(self.assigned_work[node][scope].values()):
            del self.assigned_work[node][scope]

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        if path.startswith(SHARED_TRIALS):
            return "shared_trials"
        if not _starts_jvm(path):
            return nodeid
        if path.startswith(SPARK):
            return path
        return next(part for folder, part in PARTS.items() if path.startswith(folder))


@cache
def _starts_jvm(path: str) -> bool:
    return "mark.jvm" in Path(path).read_text()


def pytest_configure() -> None:
    """Let SIGINT end the programs that tests start.

    A shell starts a command in the background with SIGINT ignored, and child processes inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection: a million objects that stay until the end."""
    freeze_loaded()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> BrokersApart:
    """Use this scheduler instead of the one that ``--dist`` names."""
    return BrokersApart(config, log)
