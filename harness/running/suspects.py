"""Who ended a broker that several trials shared: each is run alone once more, and who does it again is left out.

A broker that dies takes all trials on its cluster with it, and says nothing of which of their clients it was, if any.
So none of their verdicts counts. A client in whose trial a broker dies twice, the second time with nobody else on it,
is not run any more; the others go on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from harness.model.rows import TrialVerdict
from harness.model.spec import ClientRef, TrialSpec

#: The codes of verdicts of trials that a broker's death has ended, and of those that are not run for it.
DIED: Final = frozenset({"broker-died", "broker-not-ready"})
LEFT_OUT: Final = "ends-brokers"

Numbered = tuple[int, TrialSpec]


@dataclass
class Suspects:
    """The trials that a broker's death has ended since the last time somebody asked, and the clients that did it."""

    say: Callable[[str], None]
    culprits: dict[ClientRef, str] = field(default_factory=dict)
    _waiting: list[Numbered] = field(default_factory=list)

    def took(self, trial: Numbered, verdict: TrialVerdict) -> bool:
        """True if the verdict is that of a shared death: the trial is to be run again, alone."""
        if verdict.code in DIED:
            self._waiting.append(trial)
        return verdict.code in DIED

    def take(self) -> list[Numbered]:
        """Those who are to be run alone now, whose clients are not known for it yet."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            names = ", ".join(sorted({str(spec.client) for _, spec in waiting}))
            self.say(f"a broker died while these had trials on it: {names}; each is run once more, alone")
        return waiting

    def heard(self, trial: Numbered, verdict: TrialVerdict) -> bool:
        """The verdict of a trial that had its cluster to itself; True if it is its client's doing."""
        _, spec = trial
        if verdict.code not in DIED:
            return False
        self.culprits[spec.client] = f"a broker died in {spec.trial}, and again when that ran alone"
        self.say(f"{spec.client} is left out from here on: {self.culprits[spec.client]}")
        return True
