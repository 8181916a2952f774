"""Known failures: which disagreements are accepted, each with its reason, and what that makes of a verdict."""

from __future__ import annotations

from datetime import date

import msgspec


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One known failure: ``client`` fails so in ``scenario`` (globs), by this ``anomaly``, ``requirement``, or both.

    ``guarantee`` and ``level`` narrow it down. After ``expires`` it excuses nothing; where it is ``flaky`` a pass is
    allowed too.
    """

    client: str
    reason: str
    anomaly: str | None = None
    requirement: str | None = None
    scenario: str = "*"
    guarantee: str | None = None
    level: str | None = None
    url: str | None = None
    expires: date | None = None
    flaky: bool = False
