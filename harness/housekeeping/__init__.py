"""What ``kafka-trial prune`` removes: runs, installations, caches.

``runs`` and ``installed`` find what there is; ``plan``, a pure function, decides what goes; ``removal`` removes each
thing under the lock of those who would use it. What lacks the marks that we leave stays, and no link is followed.
"""

from __future__ import annotations

from harness.housekeeping.plan import Decision, Found, Kind, Wanted, plan

__all__ = ["Decision", "Found", "Kind", "Wanted", "plan"]
