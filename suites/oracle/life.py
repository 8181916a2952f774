"""The life of a producer, from KafkaProducer#close and Sender#run."""

from __future__ import annotations

from suites.oracle.machine import LeftOut, MachineOracle, Move

LIFE = MachineOracle(
    name="life",
    about=(
        "One machine per producer. Java has the flags Sender.running and Sender.forceClose, and CLOSED is the end of "
        "the I/O thread."
    ),
    initial="OPEN",
    requirement="PRD-CLS-03",
    moves=(
        Move(
            "OPEN",
            "close",
            "CLOSING",
            "KafkaProducer#close: Sender#initiateClose closes the accumulator first",
        ),
        Move(
            "CLOSING",
            "close",
            "CLOSING",
            "KafkaProducer#close may be called again: Sender#initiateClose, #forceClose only set flags; PRD-CLS-05",
        ),
        Move(
            "CLOSED",
            "close",
            "CLOSED",
            "KafkaProducer#close does not force a thread that has ended; "
            "KafkaProducerTest#closeShouldBeIdempotent, PRD-CLS-05",
        ),
        Move(
            "CLOSING",
            "drained",
            "CLOSED",
            "Sender#run leaves its second loop when nothing is undrained or in flight; PRD-CLS-03",
        ),
        Move(
            "CLOSING",
            "force",
            "CLOSED",
            "Sender#forceClose; Sender#run: RecordAccumulator#abortIncompleteBatches; PRD-CLS-04",
        ),
    ),
    left_out=(
        LeftOut(
            "OPEN",
            "force",
            "CLOSED",
            "KafkaProducer#close with a timeout of 0 or in a callback: Sender#forceClose sets both flags",
            "The reference client makes two moves in its place, close and force, so that records are refused first.",
        ),
    ),
)
