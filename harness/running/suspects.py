"""Find the client that ended a broker shared by several trials: each trial runs alone once more.

A broker that dies ends all trials on its cluster and does not show which client was the cause, if any. None of their
verdicts counts. If a broker dies again while a client's trial runs alone, that client is left out of the rest of the
run. The others continue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from harness.model.rows import TrialVerdict
from harness.model.spec import ClientRef, TrialSpec

#: The codes of the verdicts of trials that a broker's death has ended, and of those that were not run because of one.
DIED: Final = frozenset({"broker-died", "broker-not-ready"})
LEFT_OUT: Final = "ends-brokers"

Numbered = tuple[int, TrialSpec]


@dataclass
class Suspects:
    """The trials ended by a broker's death since the last ``take``, and the clients known to cause one."""

    say: Callable[[str], None]
    culprits: dict[ClientRef, str] = field(default_factory=dict)
    _waiting: list[Numbered] = field(default_factory=list)

    def took(self, trial: Numbered, verdict: TrialVerdict) -> bool:
        """Return True if the verdict is that of a shared death: the trial must run again, alone."""
        if verdict.code in DIED:
            self._waiting.append(trial)
        return verdict.code in DIED

    def take(self) -> list[Numbered]:
        """Return the trials to run alone now, and forget them."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            names = ", ".join(sorted({str(spec.client) for _, spec in waiting}))
            self.say(f"a broker died while these had trials on it: {names}; each is run once more, alone")
        return waiting

    def heard(self, trial: Numbered, verdict: TrialVerdict) -> bool:
        """Record the verdict of a trial that ran alone. Return True if its client caused a broker's death."""
        _, spec = trial
        if verdict.code not in DIED:
            return False
        self.culprits[spec.client] = f"a broker died in {spec.trial}, and again when that ran alone"
        self.say(f"{spec.client} is left out from here on: {self.culprits[spec.client]}")
        return True
