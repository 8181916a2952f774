"""Known failures (a baseline): which disagreements are accepted, each with its reason, until when.

``known`` is one entry and what it speaks of, ``applied`` what entries make of a verdict, ``upkeep`` how they are kept
true, ``file`` how they are written down. All but ``file`` is pure.
"""

from harness.baseline.applied import apply, bare
from harness.baseline.file import load
from harness.baseline.known import Known

__all__ = ["Known", "apply", "bare", "load"]
