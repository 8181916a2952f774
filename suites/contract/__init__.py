"""The contract test-suite: whether a client program has the manners without which its verdicts do not count.

``check_contract(launch)`` runs every case against a fresh process each. No Kafka is needed: the only address that a
client is given refuses connections.
"""

from __future__ import annotations

from suites.contract.cases import CASES
from suites.contract.runner import CaseResult, check_contract

__all__ = ["CASES", "CaseResult", "check_contract"]
