"""A retry gets new sequence numbers, so the broker cannot detect the duplicate and appends it again."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant
from clients.seeding.renumbering import Renumbering
from harness.model.verdicts import Guarantee

MUTANT = Mutant(
    "gives a batch new sequence numbers whenever it retries it",
    Components(transaction_manager=Renumbering),
    caught_by=(
        "duplicate",
        "sequence",
        "sequence-chain",
        "state_transitions/EachRecordIsStoredOnceAndInOrder",
        "delivery/idempotent",
        "delivery/what_was_stored_and_refused_is_stored_once",
    ),
    breaks=("PRD-IDM-03", "E2E-DEL-02"),
    scenario="produce/dropped-response",
    guarantee=Guarantee.IDEMPOTENT,
)
