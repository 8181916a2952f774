"""The program for kafka-python. It runs in an environment with that client and its codecs.

The constructor of KafkaProducer already connects to a broker, and raises if none answers. The next record then calls
it again. The program reports a definite failure for exceptions from the constructor, and from ``send()`` before the
record is in a batch. An error from the future is ``info``, whatever it is: it belongs to the last attempt, and says
nothing about earlier ones.

Its calls of transactions are those of Java's producer. Most of their errors are a bare KafkaError, whether the
transaction can be aborted or not, so the application tries to abort it. The abort fails if the error was a fatal one.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import kafka  # type: ignore[import-not-found]
from kafka import codec, errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clients.adapters.kafka_python.consumer import KafkaPythonConsumer, features
    from clients.adapters.kafka_python.settings import WHY_NOT, give_way, names
    from clients.adapters.python_lib.verifiable import Adapter, ConfigRefused, Result, java, run
    from clients.adapters.python_lib.verifiable.adapter import ABORT, CLOSE, REPEAT, Applied, NotSet
else:
    from consumer import KafkaPythonConsumer, features
    from settings import WHY_NOT, give_way, names
    from verifiable import Adapter, ConfigRefused, java, run
    from verifiable.adapter import ABORT, CLOSE, REPEAT

DEFAULTS = kafka.KafkaProducer.DEFAULT_CONFIG
UNKNOWN_OFFSET = -1
#: How long the sender of a closed producer may need to end: one round, which waits for a connection.
SENDER_S = 5.0


def codecs() -> list[str]:
    """Return the codecs that this version supports and whose packages are installed. zstd was added in 2.0.0."""
    has = {name: getattr(codec, f"has_{name}", None) for name in ("gzip", "snappy", "lz4", "zstd")}
    return ["none", *(name for name, there in has.items() if there is not None and there())]


def never_in_a_batch(error: Exception) -> bool:
    """Return whether ``send()`` raised the error before the record was in a batch.

    Afterwards, send() only wakes the sender's thread, which can fail with an OSError or a bare KafkaTimeoutError.
    """
    if isinstance(error, errors.KafkaTimeoutError):
        return "Failed to" in str(error)  # update metadata, allocate memory, assign a partition
    return refused_its_size(error) or isinstance(error, (AssertionError, TypeError, ValueError))


def refused_its_size(error: Exception) -> bool:
    """Return whether the client itself rejected the record's size. A broker's rejection has the same class.

    Older versions set this error on the future.
    """
    return isinstance(error, errors.MessageSizeTooLargeError) and "max_request_size" in str(error)


class KafkaPython(Adapter):
    """An adapter for :class:`kafka.KafkaProducer`."""

    client = "kafka-python"
    client_version = kafka.__version__
    features = (
        "producer",
        *(["idempotence"] if "enable_idempotence" in DEFAULTS else []),
        *(["transactions"] if "transactional_id" in DEFAULTS else []),
        "client_config",
        *features(),
    )

    def configure(self, config: Mapping[str, Any]) -> tuple[Applied, NotSet]:
        own, not_set = java.translate(config, names(DEFAULTS), codecs(), WHY_NOT)
        give_way(own, not_set, self.client_version)
        more = java.own_arguments(self.own, DEFAULTS, own, self.own_not_set)
        self._arguments = more | java.arguments(own)
        self._knows_offsets = self._arguments.get("acks", DEFAULTS["acks"]) != 0
        self._producer: Any = None
        try:
            self._start()
        except errors.KafkaConfigurationError as error:
            raise ConfigRefused(str(error)) from error
        except errors.KafkaError as error:
            logging.warning("no producer yet: %r", error)
        except (AssertionError, TypeError, ValueError, RuntimeError) as error:
            raise ConfigRefused(str(error)) from error
        return java.applied(own, not_set), not_set

    def _start(self) -> None:
        if self._producer is None:
            self._producer = kafka.KafkaProducer(**self._arguments)

    def send(self, topic: str, key: str | None, value: str, partition: int | None, result: Result) -> None:
        def stored(metadata: Any) -> None:
            result.ok(metadata.partition, metadata.offset if self._knows_offsets else UNKNOWN_OFFSET)

        def given_up(error: Exception) -> None:
            (result.fail if refused_its_size(error) else result.info)(type(error).__name__)

        try:
            self._start()
        except errors.KafkaError as error:
            result.fail(type(error).__name__)
            return
        encoded = None if key is None else key.encode()
        try:
            future = self._producer.send(topic, value=value.encode(), key=encoded, partition=partition)
        except Exception as error:
            (result.fail if never_in_a_batch(error) else result.info)(type(error).__name__)
            return
        future.add_callback(stored)
        future.add_errback(given_up)

    def init_transactions(self) -> None:
        self._start()
        self._producer.init_transactions()

    def begin_transaction(self) -> None:
        self._producer.begin_transaction()

    def commit_transaction(self) -> None:
        self._producer.commit_transaction()

    def abort_transaction(self) -> None:
        self._producer.abort_transaction()

    def way_out(self, error: Exception) -> str:
        if isinstance(error, errors.KafkaTimeoutError):
            return REPEAT
        is_kafkas = isinstance(error, errors.KafkaError) and not isinstance(error, errors.ProducerFencedError)
        return ABORT if is_kafkas else CLOSE

    def renew(self) -> None:
        # close() first waits for all records, and leaves its thread alive if that takes too long. The next call of
        # init_transactions() builds another producer.
        if self._producer is not None:
            sender = self._producer._sender
            sender.force_close()
            sender.join(SENDER_S)
            self.close(SENDER_S)
        self._producer = None

    def flush(self, timeout_s: float) -> bool:
        try:
            if self._producer is not None:
                self._producer.flush(timeout_s)
        except errors.KafkaError as error:
            logging.info("flush: %r", error)
            return False
        return True

    def close(self, timeout_s: float) -> bool:
        # It waits for its timeout more than once, and then gives up the rest. It is done only if it returned in time.
        deadline = time.monotonic() + timeout_s
        done = threading.Event()
        closing = threading.Thread(target=self._close, args=(timeout_s, done), daemon=True)
        closing.start()
        closing.join(timeout_s)
        return done.is_set() and time.monotonic() < deadline

    def _close(self, timeout_s: float, done: threading.Event) -> None:
        try:
            if self._producer is not None:
                self._producer.close(timeout=timeout_s)
            done.set()
        except errors.KafkaError as error:
            logging.warning("close: %r", error)


if __name__ == "__main__":
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        run(KafkaPython, KafkaPythonConsumer)
    except SystemExit as end:
        # At interpreter exit, an unclosed producer would wait again, for threads that have ended.
        sys.stderr.flush()
        os._exit(int(end.code or 0))
