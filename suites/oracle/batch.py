"""A batch, from Sender and RecordAccumulator until it ends, and from ProducerBatch for its end."""

from __future__ import annotations

from suites.oracle.machine import LeftOut, MachineOracle, Move

_EXPIRED = "Sender#sendProducerData, #failBatch after RecordAccumulator#expiredBatches; KIP-91, PRD-EXP-02"
_ABORTED = (
    "RecordAccumulator#abortBatches (Sender#run when closed by force, Sender#maybeAbortBatches), "
    "#abortUndrainedBatches; ProducerBatch#abort"
)
_LATE_SUCCESS = "ProducerBatch#done logs a success after FAILED or ABORTED and keeps the state; PRD-FIN-02"
_LATE_FAILURE = "ProducerBatch#done ignores FAILED after FAILED or ABORTED; PRD-FIN-02"
_FINAL = frozenset({"SUCCEEDED", "FAILED", "ABORTED"})
_EVENTS = ("close", "drain", "reenqueue", "split", "succeed", "fail", "abort")
_LATE = {(state, event): "PRD-FIN-02" for state in ("FAILED", "ABORTED") for event in ("succeed", "fail")}
_ENDED = {(state, event): "PRD-FIN-03" for state in sorted(_FINAL) for event in _EVENTS}

BATCH = MachineOracle(
    name="batch",
    about=(
        "One machine per batch. SUCCEEDED, FAILED and ABORTED are ProducerBatch.FinalState. Java keeps the other "
        "states as places: the queue of the partition, the list of batches in flight, and the parts of a split."
    ),
    initial="OPEN",
    requirement="PRD-FIN-01",
    final=_FINAL,
    special={**_ENDED, **_LATE},
    moves=(
        Move(
            "OPEN",
            "close",
            "CLOSED",
            "RecordAccumulator#tryAppend without room, #drainBatchesForOneNode: "
            "ProducerBatch#closeForRecordAppends, #close",
        ),
        Move(
            "OPEN",
            "fail",
            "FAILED",
            _EXPIRED,
        ),
        Move("OPEN", "abort", "ABORTED", _ABORTED),
        Move(
            "CLOSED",
            "drain",
            "IN_FLIGHT",
            "RecordAccumulator#drainBatchesForOneNode: ProducerBatch#drained; Sender#addToInflightBatches",
        ),
        Move("CLOSED", "fail", "FAILED", _EXPIRED),
        Move("CLOSED", "abort", "ABORTED", _ABORTED),
        Move(
            "IN_FLIGHT",
            "reenqueue",
            "CLOSED",
            "Sender#completeBatch, #canRetry, #reenqueueBatch: RecordAccumulator#reenqueue",
        ),
        Move(
            "IN_FLIGHT",
            "split",
            "SPLIT",
            "Sender#completeBatch on MESSAGE_TOO_LARGE: RecordAccumulator#splitAndReenqueue; PRD-SPL-01",
        ),
        Move(
            "IN_FLIGHT",
            "succeed",
            "SUCCEEDED",
            "Sender#completeBatch on NONE or DUPLICATE_SEQUENCE_NUMBER: ProducerBatch#complete",
        ),
        Move(
            "IN_FLIGHT",
            "fail",
            "FAILED",
            "Sender#failBatch on a final error; Sender#getExpiredInflightBatches: ProducerBatch#completeExceptionally",
        ),
        Move("IN_FLIGHT", "abort", "ABORTED", _ABORTED),
        Move("FAILED", "succeed", "FAILED", _LATE_SUCCESS),
        Move("FAILED", "fail", "FAILED", _LATE_FAILURE),
        Move("ABORTED", "succeed", "ABORTED", _LATE_SUCCESS),
        Move("ABORTED", "fail", "ABORTED", _LATE_FAILURE),
    ),
    left_out=(
        LeftOut(
            "OPEN, CLOSED",
            "succeed",
            "SUCCEEDED",
            "ProducerBatch#done looks only at the final state",
            "Only a response completes a batch, and only a batch in flight has one. Another caller is a defect.",
        ),
        LeftOut(
            "SPLIT",
            "succeed, fail, abort",
            "SUCCEEDED, FAILED, ABORTED",
            "ProducerBatch#split leaves the final state empty, so a later #done would be accepted",
            "The records belong to the parts. A result of the whole would be a second one for each of them.",
        ),
    ),
)
