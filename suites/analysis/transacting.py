"""The calls by which an application ends its transactions, and the requests that end them. Pure views."""

from __future__ import annotations

from typing import Final

from harness.judging.availability import Span
from harness.model.contract import OpComplete
from harness.model.evidence import Evidence, view
from harness.model.exchanges import Exchange, connections

END_TXN: Final = "EndTxn"
COMMIT_CALL: Final = "commit_transaction"


def calls(evidence: Evidence, op: str) -> list[Span]:
    """Return the calls of this name that ended, from their begin to their end."""
    return [
        Span(event.invoke_ns[0], event.complete_ns[0])
        for event in evidence.history
        if isinstance(event, OpComplete) and event.op == op
    ]


@view
def commits(evidence: Evidence) -> list[tuple[Span, Exchange]]:
    """Return the EndTxn requests that arrived during a call to commit, with that call, in the order of arrival."""
    spans = calls(evidence, COMMIT_CALL)
    found = [
        (span, exchange)
        for connection in connections(evidence).values()
        for exchange in connection.exchanges
        for span in spans
        if exchange.request.api == END_TXN and span.begin_ns <= exchange.request.arrived_ns <= span.end_ns
    ]
    return sorted(found, key=lambda each: each[1].request.arrived_ns)
