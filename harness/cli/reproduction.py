"""What ``replay`` says about the stored verdict: whether it was reproduced, how often, and what differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.judging.reproduction import Compared, Finding, compared
from harness.model.rows import TrialVerdict
from harness.text.counting import some


@dataclass
class Reproduction:
    """The stored verdict, and the attempts at its trial. Without a stored verdict there is nothing to say."""

    stored: TrialVerdict | None
    attempts: list[Compared] = field(default_factory=list)

    @property
    def times(self) -> int:
        """In how many attempts the stored verdict was reproduced."""
        return sum(each.reproduced for each in self.attempts)

    def document(self, verdicts: Sequence[TrialVerdict]) -> dict[str, Any]:
        """Compare these attempts with the stored verdict, and return the result for the JSON document."""
        if self.stored is None:
            return {"reproduction": None}
        stored = self.stored
        self.attempts = [compared(stored, verdict) for verdict in verdicts]
        told = {
            "stored": {"trial": stored.trial, "verdict": stored.verdict, "reason": stored.reason},
            "reproduced": self.times,
            "attempts": self.attempts,
        }
        return {"reproduction": told}

    @property
    def sentences(self) -> Iterator[str]:
        """Whether the stored verdict was reproduced, then what differs in each attempt."""
        if self.stored is None or not self.attempts:
            return
        if len(self.attempts) > 1:
            yield f"{self._verdict} was reproduced in {self.times} of {some(len(self.attempts), 'attempt')}"
        elif self.times:
            yield f"{self._verdict} was reproduced"
        else:
            yield f"{self._verdict} was not reproduced"
        for each in self.attempts:
            name = f"{each.trial}: " if len(self.attempts) > 1 else ""
            if told := "; ".join(self._differences(each)):
                yield f"    {name}{told}"

    @property
    def _verdict(self) -> str:
        assert self.stored is not None
        return f"the stored verdict {self.stored.verdict}"

    def _differences(self, each: Compared) -> Iterator[str]:
        assert self.stored is not None
        if each.verdict != self.stored.verdict:
            yield f"{each.verdict} instead of {self.stored.verdict}"
        if each.missing:
            yield f"missing: {_listed(each.missing)}"
        if each.new:
            yield f"new: {_listed(each.new)}"
        if each.counts:
            counts = (f"{name} {new:,} instead of {old:,}" for name, (old, new) in each.counts.items())
            yield ", ".join(counts)


def _listed(found: Sequence[Finding]) -> str:
    return ", ".join(map(str, found))
