"""An asynchronous commit that failed is sent again seconds later, and sets back what was committed meanwhile."""

from __future__ import annotations

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_commits import Commit, OffsetCommits
from clients.seeding.mutant import Mutant

PAUSE_MS = 2_000


class Repeating(OffsetCommits):
    """Keeps failed commits until their pause is over. ``failed`` has (time in ms, commit)."""

    failed: tuple[tuple[int, Commit], ...] = ()

    def _ended(self, commit: Commit, error: Exception | None) -> None:
        if getattr(error, "retriable", False):
            due_ms = self._clock.now_ms + PAUSE_MS
            self._commits.remove(commit)
            self.failed = (*self.failed, (due_ms, commit))
        else:
            super()._ended(commit, error)

    def run_callbacks(self) -> Call[None]:
        now_ms, failed = self._clock.now_ms, self.failed
        self.failed = tuple(each for each in failed if each[0] > now_ms)
        for due_ms, commit in failed:
            if due_ms <= now_ms:
                self._commits.append(commit)
                self._send_async(commit)
        yield from super().run_callbacks()


class Member(ConsumerCoordinator):
    """A member that does not give up commits."""

    commit_component = Repeating


MUTANT = Mutant(
    "repeats a failed asynchronous commit after later ones",
    Components(coordinator=Member),
    caught_by=("commit-regress",),
    breaks=("CSM-OFC-06",),
    scenarios=("consume/disconnect-async-commit",),
)
