"""Implementation of ``kafka-trial prune``, which removes runs, installations and caches.

``runs`` and ``installed`` find what exists. ``plan``, a pure function, decides what to remove. ``removal`` removes each
item under the lock of its users. Anything without the project's marks is kept, and links are not followed.
"""

from __future__ import annotations

from harness.housekeeping.plan import Decision, Found, Kind, Wanted, plan

__all__ = ["Decision", "Found", "Kind", "Wanted", "plan"]
