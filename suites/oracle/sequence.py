"""The sequence numbers of a partition, from TransactionManager, TxnPartitionMap and RecordAccumulator.

Java has no enum for it. A partition is UNRESOLVED while it is in ``partitionsWithUnresolvedSequences``, BUMPED while it
is in ``partitionsToRewriteSequences``, STALE_EPOCH while ``hasStaleProducerIdAndEpoch`` is true, and RETRYING while a
batch in its queue has a sequence. Where several hold, the one that restricts most counts: BUMPED before STALE_EPOCH
before UNRESOLVED before RETRYING.
"""

from __future__ import annotations

from suites.oracle.machine import LeftOut, MachineOracle, Move

_BUMP = "TransactionManager#requestIdempotentEpochBumpForPartition"
_REJECTED = f"{_BUMP} in #canRetry (OUT_OF_ORDER_SEQUENCE_NUMBER, UNKNOWN_PRODUCER_ID)"
_FAILED = f"{_BUMP} in #handleFailedBatch"
_KIP = "KIP-360, PRD-IDM-09"
_UNKNOWN = "Sender#sendProducerData: TransactionManager#markSequenceUnresolved; PRD-EXP-06"
_EVERY_UNKNOWN_END = (
    "Java marks only a batch that expires while it is retried (ProducerBatch#inRetry). The reference client marks "
    "every batch with a sequence that ends with an unknown outcome, since its numbers may be in the log (PRD-IDM-13)."
)
_RAISED = (
    "TransactionManager#setProducerIdAndEpoch for another partition, #hasStaleProducerIdAndEpoch; "
    "KAFKA-12152, PRD-IDM-10"
)

SEQUENCE = MachineOracle(
    name="sequence",
    about=(
        "One machine per partition of an idempotent producer. Java has sets and flags in its place: the next batch "
        "may be sent if the partition is in none of them."
    ),
    initial="CLEAN",
    requirement="PRD-IDM-07",
    moves=(
        Move(
            "CLEAN",
            "goes-again",
            "RETRYING",
            "Sender#reenqueueBatch: RecordAccumulator#insertInSequenceOrder, #shouldStopDrainBatchesForPartition",
        ),
        Move(
            "RETRYING",
            "settled",
            "CLEAN",
            "RecordAccumulator#shouldStopDrainBatchesForPartition: TransactionManager#firstInFlightSequence",
            "Java sends new batches as soon as the retried ones are sent again. The reference client waits until they "
            "have their results.",
        ),
        Move("CLEAN", "unknown-end", "UNRESOLVED", _UNKNOWN, _EVERY_UNKNOWN_END),
        Move("RETRYING", "unknown-end", "UNRESOLVED", _UNKNOWN, _EVERY_UNKNOWN_END),
        Move(
            "UNRESOLVED",
            "continued",
            "CLEAN",
            "TransactionManager#maybeResolveSequences, #isNextSequence once nothing is in flight",
        ),
        Move("CLEAN", "broken", "BUMPED", f"{_REJECTED}; {_FAILED}; {_KIP}"),
        Move("RETRYING", "broken", "BUMPED", f"{_REJECTED}; {_FAILED}; {_KIP}"),
        Move(
            "UNRESOLVED",
            "broken",
            "BUMPED",
            f"{_BUMP} in #maybeResolveSequences; #canRetry with #isNextSequenceForUnresolvedPartition",
        ),
        Move("STALE_EPOCH", "broken", "BUMPED", f"{_REJECTED}; {_FAILED}"),
        Move(
            "BUMPED",
            "restarted",
            "CLEAN",
            "TransactionManager#bumpIdempotentProducerEpoch: TxnPartitionMap#startSequencesAtBeginning",
            "Java rewrites the batches in flight at once. The reference client first asks for the outcome of a batch "
            "that may be stored, since the broker would store it again under new numbers.",
        ),
        Move(
            "STALE_EPOCH",
            "restarted",
            "CLEAN",
            "TransactionManager#maybeUpdateProducerIdAndEpoch once nothing is in flight; PRD-IDM-10",
        ),
        Move("CLEAN", "epoch-raised", "STALE_EPOCH", _RAISED),
        Move("RETRYING", "epoch-raised", "STALE_EPOCH", _RAISED),
        Move(
            "UNRESOLVED",
            "epoch-raised",
            "STALE_EPOCH",
            _RAISED,
            "Java also keeps the mark and raises the epoch a second time if the sequence is broken. The next batch "
            "starts at 0 in a new epoch anyway, so the reference client forgets the mark.",
        ),
    ),
    left_out=(
        LeftOut(
            "STALE_EPOCH",
            "unknown-end",
            "STALE_EPOCH and UNRESOLVED",
            "TransactionManager#markSequenceUnresolved does not look at the epoch",
            "The next batch starts at 0 in a new epoch, in which the unknown numbers mean nothing.",
        ),
        LeftOut(
            "BUMPED",
            "unknown-end",
            "BUMPED and UNRESOLVED",
            "TransactionManager#markSequenceUnresolved; #bumpIdempotentProducerEpoch removes the mark",
            "The mark has no effect before the epoch is raised, and none after it.",
        ),
        LeftOut(
            "CLEAN, RETRYING",
            "failed",
            "CLEAN",
            "TxnPartitionMap#adjustSequencesDueToFailedBatch",
            "Only a transactional producer gives the numbers of a failed batch away. The reference client has no "
            "transactions.",
        ),
        LeftOut(
            "any state",
            "failed with UNKNOWN_PRODUCER_ID",
            "CLEAN",
            "TransactionManager#handleFailedBatch: #resetSequenceForPartition starts at 0 in the same epoch",
            "Numbers that may be in the log are not given to other records in the same epoch (PRD-IDM-13).",
        ),
    ),
)
