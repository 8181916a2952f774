"""When time cannot be trusted: a client process that was starved of the processor is not to blame for being late.

The heartbeat (``stats``, once a second) tells. A gap of several seconds means that the process did not run, or that
the client held it up; nobody can tell which from outside, so a judgement about time is then no judgement.
"""

from __future__ import annotations

from itertools import pairwise

from harness.check import Inconclusive
from harness.contract import Stats
from harness.evidence import Evidence

NS_PER_MS = 1_000_000
#: Three missed heartbeats.
STARVED_MS = 4_000


def longest_silence_ms(evidence: Evidence) -> int:
    """The longest time between two heartbeats; 0 for a client that sends none."""
    beats = [event.mono_ns for event in evidence.history if isinstance(event, Stats)]
    return max(((later - earlier) // NS_PER_MS for earlier, later in pairwise(beats)), default=0)


def doubt_if_starved(evidence: Evidence, what: str) -> None:
    """Raise Inconclusive, saying that ``what`` may be the machine's fault, if the client process stood still."""
    silence_ms = longest_silence_ms(evidence)
    if silence_ms > STARVED_MS:
        raise Inconclusive(f"{what}, but the client's process stood still for {silence_ms} ms meanwhile")
