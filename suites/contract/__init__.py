"""The contract test suite: whether a client program behaves well enough for its verdicts to count.

``check_contract(launch)`` runs every case in a fresh process. No Kafka is needed: the only address that a
client gets refuses connections.
"""

from __future__ import annotations

from suites.contract.cases import CASES
from suites.contract.runner import CaseResult, check_contract

__all__ = ["CASES", "CaseResult", "check_contract"]
