"""A failed asynchronous commit that may be repeated is reported like one that may not."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_commits import Commit, OffsetCommits
from clients.reference.consumer.errors import CommitFailedError
from clients.seeding.mutant import Mutant


class Final(OffsetCommits):
    """Reports each failure as final."""

    def _ended(self, commit: Commit, error: Exception | None) -> None:
        told = CommitFailedError("commit-refused", "the commit failed") if error is not None else None
        super()._ended(commit, told)


class Member(ConsumerCoordinator):
    """A member that knows only one error."""

    commit_component = Final


MUTANT = Mutant(
    "does not say that a failed asynchronous commit may be repeated",
    Components(coordinator=Member),
    caught_by=("delivery/an_asynchronous_commit_reports_what_could_be_repeated",),
    breaks=("CSM-OFC-01",),
)
