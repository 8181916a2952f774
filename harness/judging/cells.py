"""A cell of a table of verdicts, as words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from harness.model.rows import TrialVerdict
from harness.model.verdicts import SEVERITY
from harness.outcomes.words import acknowledged


def counted(verdicts: Sequence[TrialVerdict], shown: Callable[[str], str]) -> str:
    """Return the text of a cell: its verdicts, the worst first, with counts if there are several, and the share."""
    counts = Counter(verdict.verdict for verdict in verdicts)
    many = counts.total() > 1
    words = [f"{shown(each)}{f' {counts[each]}' if many else ''}" for each in SEVERITY if each in counts]
    share = acknowledged(verdicts)
    return (" · " if many else " ").join(filter(None, (", ".join(words), share)))
