"""A failed asynchronous commit that may be repeated is reported like one that may not."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.commit_responses import Offsets
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_commits import OffsetCommitCallback, OffsetCommits
from clients.reference.consumer.errors import CommitFailedError
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant


class Final(OffsetCommits):
    """Reports each failure as final."""

    def _ended(
        self,
        offsets: Offsets,
        callback: OffsetCommitCallback | None,
        result: RequestFuture[None],
        error: Exception | None,
    ) -> None:
        told = CommitFailedError("commit-refused", "the commit failed") if error is not None else None
        super()._ended(offsets, callback, result, told)


class Member(ConsumerCoordinator):
    """A member that knows only one error."""

    commit_component = Final


MUTANT = Mutant(
    "does not say that a failed asynchronous commit may be repeated",
    Components(coordinator=Member),
    caught_by=("delivery/an_asynchronous_commit_reports_what_could_be_repeated",),
    breaks=("CSM-OFC-01",),
)
