"""Known failures (a baseline): which disagreements are accepted, each with its reason and its expiry.

``known`` is one entry and the trials and findings that it matches. ``applied`` applies entries to a verdict. ``upkeep``
keeps the entries up to date. ``file`` reads and writes them. All modules but ``file`` are pure.
"""

from harness.baseline.applied import apply, bare
from harness.baseline.file import load
from harness.baseline.known import KnownFailure

__all__ = ["KnownFailure", "apply", "bare", "load"]
