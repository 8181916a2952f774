"""The clocks of application calls, send() and close(). Part of the check ``deadlines``."""

from __future__ import annotations

from clients.reference.telemetry.trace import SendBlocked, SendUnblocked, StateChanged
from suites.checks.trace.clocks import Clocks, Limits

_TIMED_OUT = "REQUEST_TIMED_OUT"


class ApplicationClocks(Clocks):
    """The clocks of the calls that an application waits for: send() and close()."""

    machines = ("life",)

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._since_ms: dict[int, int] = {}
        self._closing_ms: int | None = None
        self._closes = 0
        self._is_closed = False
        self.handlers = {SendBlocked: self._blocked, SendUnblocked: self._unblocked}

    def _blocked(self, event: SendBlocked) -> None:
        """The single limit counts from the start of the first wait (MET-14)."""
        self._since_ms.setdefault(event.send, event.at_ms)

    def _unblocked(self, event: SendUnblocked) -> None:
        since_ms = self._since_ms.get(event.send)
        if not event.send or since_ms is None:
            return
        waited_ms, limit_ms = event.at_ms - since_ms, self.limits.max_block_ms
        rule = "PRD-ACC-09" if event.waited_for == "memory" else "MET-11"
        if event.error == _TIMED_OUT and waited_ms < limit_ms:
            what = f"gave up after {waited_ms} of {limit_ms} ms"
            self.accuse(rule, event, f"send {event.send}", what)
        self._late(event.send, rule, event.at_ms)
        if self._closing_ms is not None and event.at_ms > self._closing_ms + self.limits.slack_ms:
            what = f"was held up for {event.at_ms - self._closing_ms} ms after close()"
            self.too_late("PRD-CLS-07", event.at_ms, f"send {event.send}", what)

    def _late(self, send: int, rule: str, at_ms: int) -> None:
        waited_ms = at_ms - self._since_ms[send]
        if waited_ms > self.limits.max_block_ms + self.limits.slack_ms:
            what = f"was held up for {waited_ms} ms, {self.limits.max_block_ms} are allowed"
            self.too_late(rule, at_ms, f"send {send}", what)

    def moved(self, event: StateChanged) -> None:
        if event.cause == "close":
            self._closes += 1
            self._closing_ms = event.at_ms if self._closing_ms is None else self._closing_ms
            return
        self._is_closed = True
        if self._closing_ms is None or self._closes > 1:
            return
        took_ms = event.at_ms - self._closing_ms
        if event.cause == "force" and took_ms < self.limits.close_ms:
            what = f"gave up after {took_ms} of {self.limits.close_ms} ms"
            self.accuse("PRD-CLS-04", event, "close()", what)
        self._closing_late(event.at_ms)

    def _closing_late(self, at_ms: int) -> None:
        took_ms = at_ms - (self._closing_ms or 0)
        if took_ms > self.limits.close_ms + self.limits.slack_ms:
            what = f"took {took_ms} ms, {self.limits.close_ms} are allowed"
            self.too_late("PRD-CLS-04", at_ms, "close()", what)

    def overdue(self, now_ms: int) -> None:
        if self._closing_ms is not None and not self._is_closed:
            self._closing_late(now_ms)
