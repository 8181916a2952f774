"""The errors of a send, and what is known about the record afterwards.

Names are Kafka's: ``error.name`` is the name in the protocol's error table, even if the client itself gave up (a
delivery timeout is REQUEST_TIMED_OUT, as in org.apache.kafka.common.protocol.Errors). ``error.outcome`` is the outcome
of a failed send: FAIL if the record is certainly not in the log, INFO if that is unknown.
"""

from __future__ import annotations

from harness.model.errors import KafkaTrialError, UsageError
from harness.model.verdicts import Outcome
from harness.wire.error_table import KafkaError


class ConfigException(UsageError):
    """The configuration is invalid for a producer (CLI-CFG-01, -02, -07, PRD-EXP-04)."""


class IllegalStateError(KafkaTrialError):
    """The application called a method that the producer's state forbids, such as send() after close()."""


class PluginError(KafkaTrialError):
    """A plug-in could not be found, created or configured, so the client was not created (PRD-ISP-03)."""


class SerializationError(KafkaTrialError):
    """The serializer rejected a key or value. No part of the record was buffered (PRD-ISP-04)."""


class InvalidGroupIdError(KafkaTrialError):
    """A consumer without group.id was asked for an operation that needs group membership (CLI-CFG-05)."""

    name = "INVALID_GROUP_ID"


class SendError(KafkaTrialError):
    """A record was not acknowledged. ``outcome`` is FAIL (certainly not stored) or INFO (unknown)."""

    name = "UNKNOWN_SERVER_ERROR"

    def __init__(
        self, code: str, template: str, /, *, outcome: Outcome = Outcome.FAIL, **params: object
    ) -> None:
        super().__init__(code, template, hint=None, **params)
        self.outcome = outcome


class BrokerError(SendError):
    """The broker rejected the batch with an error code, after all retries if the error allowed any (PRD-SND-03)."""

    def __init__(
        self, error: KafkaError, code: str, template: str, /, *, outcome: Outcome, **params: object
    ) -> None:
        super().__init__(code, template, outcome=outcome, **params)
        self.name = error.name


class TimeoutError(SendError):
    """A timeout expired: delivery.timeout.ms for a batch, max.block.ms for metadata (PRD-EXP-02, MET-11)."""

    name = "REQUEST_TIMED_OUT"


class BufferExhaustedError(TimeoutError):
    """buffer.memory stayed full for the whole of max.block.ms (PRD-ACC-09)."""


class AuthenticationError(SendError):
    """A broker refused the credentials or their mechanism. Retrying with the same ones does not help (NET-CON-11)."""

    name = "SASL_AUTHENTICATION_FAILED"


class RecordTooLargeError(SendError):
    """The record alone exceeds max.request.size or buffer.memory (PRD-ACC-10)."""

    name = "MESSAGE_TOO_LARGE"


class TransactionAbortedError(SendError):
    """The record was never sent, because its transaction was aborted or must be (PRD-TXN-18)."""

    name = "TRANSACTION_ABORTABLE"


class ProducerClosedError(SendError):
    """The producer was closed before the record had a result (PRD-CLS-04, PRD-CLS-07)."""

    name = "NETWORK_EXCEPTION"


class TransactionError(KafkaTrialError):
    """A transaction failed. ``name`` is Kafka's name of the error.

    If it ``is_fatal``, only close() is left (PRD-TXN-19). Otherwise abort_transaction() makes the producer usable again
    (PRD-TXN-07).
    """

    is_fatal = False

    def __init__(self, error: KafkaError, code: str, template: str, /, **params: object) -> None:
        super().__init__(code, template, hint=None, **params)
        self.error = error
        self.name = error.name

    def again(self) -> TransactionError:
        """Return an equal error, for another call that fails for the same reason."""
        return type(self)(self.error, self.code, self.template, **self.params)


class FatalTransactionError(TransactionError):
    """The producer cannot have another transaction (PRD-TXN-09, -19)."""

    is_fatal = True


class ProducerFencedError(FatalTransactionError):
    """Another producer with the same transactional.id has taken over (PRD-TXN-01, -08)."""
