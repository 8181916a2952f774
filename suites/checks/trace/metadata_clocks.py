"""The clocks of metadata: its age, and the spacing of its requests. Part of the check ``deadlines``."""

from __future__ import annotations

from clients.reference.telemetry.trace import MetadataFailed, MetadataUpdated, RequestSent, SendBlocked
from suites.checks.trace.clocks import Clocks, Limits, growing_ms


class MetadataClocks(Clocks):
    """When the next metadata request may be sent, and by when it must be sent.

    A new topic may be requested at once; it shows as a send that waits for metadata. A topic that returns
    after metadata.max.idle.ms need not show, so from then on no request is too early.
    """

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._failures = self._equivalent = 0
        self._updated_ms: int | None = None
        self._full_ms: int | None = None
        self._not_before = (0, "MET-02")
        self._due_by_ms = 0
        self._is_asking = False
        self._has_new_topic = self._asks_for_new = False
        self._idle_from_ms: int | None = None
        self.handlers = {
            MetadataFailed: self._failed,
            MetadataUpdated: self._updated,
            SendBlocked: self._blocked,
            RequestSent: self._sent,
        }

    def _growing_ms(self, earlier: int) -> tuple[int, int]:
        return growing_ms(self.limits.retry_ms, self.limits.retry_max_ms, earlier)

    def _failed(self, event: MetadataFailed) -> None:
        least_ms, most_ms = self._growing_ms(self._failures)
        self._failures += 1
        self._equivalent = 0
        self._is_asking = False
        self._not_before = event.at_ms + least_ms, "MET-02"
        self._due_by_ms = event.at_ms + most_ms

    def _updated(self, event: MetadataUpdated) -> None:
        at_ms, is_full = event.at_ms, not self._asks_for_new
        self._failures, self._is_asking = 0, False
        self._updated_ms = at_ms
        if is_full or self._full_ms is None:
            self._full_ms = at_ms
        self._equivalent = 0 if event.leaders_changed else self._equivalent + 1
        least_ms, most_ms = self._growing_ms(0)
        self._due_by_ms = at_ms + most_ms
        if self._has_new_topic:  # the topic became new during the request, and is requested at once
            self._not_before = 0, "MET-02"
            return
        same_ms = at_ms + self._growing_ms(self._equivalent - 1)[0] if self._equivalent else 0
        same_ms = min(same_ms, self._full_ms + self.limits.metadata_max_age_ms)
        self._not_before = max(at_ms + least_ms, same_ms), "MET-03"

    def _blocked(self, event: SendBlocked) -> None:
        if event.waiting_for == "metadata":
            self._has_new_topic = True
            self._equivalent = 0
            self._not_before = 0, "MET-02"

    def _sent(self, event: RequestSent) -> None:
        if self._idle_from_ms is None:
            self._idle_from_ms = event.at_ms + self.limits.metadata_max_idle_ms
        if event.api == "Metadata":
            self._asked(event)
        elif event.api == "Produce" and not self._is_asking and self._updated_ms is not None:
            aged_ms = max(self._updated_ms + self.limits.metadata_max_age_ms, self._due_by_ms)
            if event.at_ms > aged_ms + self.limits.slack_ms:
                what = f"sent Produce with metadata of {event.at_ms - self._updated_ms} ms ago"
                self.too_late("MET-01", event.at_ms, "", what)

    def _asked(self, event: RequestSent) -> None:
        not_before_ms, rule = self._not_before
        assert self._idle_from_ms is not None
        if event.at_ms < min(not_before_ms, self._idle_from_ms):
            self.accuse(rule, event, "", f"asked for metadata {not_before_ms - event.at_ms} ms too early")
        self._asks_for_new, self._has_new_topic = self._has_new_topic, False
        self._is_asking = True
