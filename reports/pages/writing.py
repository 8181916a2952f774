"""Write the pages of trials, in whichever process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from harness.model.evidence import Evidence
from harness.model.rows import TrialVerdict
from harness.storage import kept
from harness.storage.run_store import RunStore
from reports.earlier import Digests
from reports.pages.rendering import Shared, render
from reports.pages.trial_page import TrialRows, trial_page


@dataclass(frozen=True)
class Sibling:
    """A trial with the same faults, as the others link to it."""

    trial: str
    verdict: str
    guarantee: str
    variant: str
    client: str

    @classmethod
    def of(cls, verdict: TrialVerdict) -> Sibling:
        return cls(verdict.trial, verdict.verdict, verdict.guarantee, verdict.variant, verdict.client)


@dataclass(frozen=True)
class AskedPage:
    """What the page of a trial shows besides its evidence. ``left``: what is left of evidence that cannot be read."""

    verdict: TrialVerdict
    rows: TrialRows
    siblings: Sequence[Sibling]
    left: Evidence | None = None

    def digests(self, evidence: str) -> Digests:
        """Return the digests of everything that the page shows. ``evidence``: that of the trial's files."""
        shown = (evidence, self.verdict, self.rows, self.left is None)
        return Digests(*(kept.digest(msgspec.json.encode(each)) for each in (shown, self.siblings)))


def write_pages(shared: Shared, asked: Sequence[AskedPage]) -> None:
    """Write the pages of some trials. Only one trial's evidence is in memory at a time. Raises OSError."""
    store = RunStore(shared.folder)
    for each in asked:
        trial = each.verdict.trial
        evidence = each.left or store.read_evidence(trial, with_trace=False)
        page = trial_page(evidence, each.verdict, each.rows, store.trial_folder(trial))
        render(shared, "trial.html", f"trials/{trial}.html", page=page, siblings=each.siblings)
