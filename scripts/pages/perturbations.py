"""Perturbations: the defects that ``kafka-trial perturb`` puts into evidence, and those that no check finds."""

from __future__ import annotations

from harness.plugins.perturbation import Perturbation
from pages.markdown import NOTE, code, table
from suites.perturbations.limits.table import LIMITS, OPEN
from suites.perturbations.table import NOT_JUDGED, PERTURBATIONS

OPENING = """\
A check is useful only if it finds defects. `kafka-trial perturb RUN` takes the evidence of every passed trial of
a run, changes it as a defective client would have left it, consistently in all channels, and judges it again. A change
without a finding has escaped. Each perturbation below names the codes of the findings that must catch it. It counts as
caught if the verdict is the expected one or worse. If another finding caught it, the report says so.
"""

UNJUDGED = """\
No check can find these defects yet, for the given reason. Every report lists them.
"""

EXCUSES = """\
A check makes an exception where a defect cannot be told apart from bad luck. Each such rule has a name in the
code, and perturbations with a defect just outside of it.
"""


def pages() -> dict[str, str]:
    """Return the text of each page by its path below ``docs/reference/``."""
    rows = [_row(each) for each in PERTURBATIONS]
    head = ("perturbation", "a client that ...", "changes", "under", "at least", "caught by")
    parts = [
        "# Perturbations\n",
        NOTE,
        OPENING,
        f"## What is tried\n\n{len(rows)} kinds.\n",
        table(head, rows),
        "## Where excuses end\n",
        EXCUSES,
        table(("excuse", "shown by"), _limits()),
        "## What is not judged\n",
        UNJUDGED,
        table(("defect", "why"), ((code(name), reason) for name, reason in NOT_JUDGED.items())),
    ]
    return {"perturbations.md": "\n".join(parts)}


def _row(each: Perturbation) -> tuple[str, ...]:
    return (
        code(each.name),
        each.defect,
        ", ".join(sorted(each.channels)),
        ", ".join(sorted(each.guarantees)) if len(each.guarantees) < 4 else "all",
        each.verdict.value,
        ", ".join(map(code, each.caught_by)),
    )


def _limits() -> list[tuple[str, str]]:
    shown = [(code(excuse), ", ".join(map(code, names))) for excuse, names in LIMITS.items()]
    return shown + [(code(excuse), f"not yet: {reason}") for excuse, reason in OPEN.items()]
