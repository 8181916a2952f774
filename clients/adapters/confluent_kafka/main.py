"""The program for confluent-kafka. It runs in an environment with only that client.

The program reports a definite failure only if ``produce()`` itself rejects the record, which then never entered
librdkafka's queue. A delivery report with an error is ``info``, whatever the error: ``rd_kafka_message_status()`` is
not available in Python, and a rejection of the last attempt (or a purge from the queue, or a deleted topic) says
nothing about an earlier attempt whose response was lost.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import confluent_kafka  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clients.adapters.confluent_kafka.building import LIBRARY_VERSION, build, first_text
    from clients.adapters.confluent_kafka.consumer import FEATURES, ConfluentKafkaConsumer
    from clients.adapters.confluent_kafka.settings import translate
    from clients.adapters.python_lib.verifiable import Adapter, Result, run
    from clients.adapters.python_lib.verifiable.adapter import ABORT, CLOSE, REPEAT, Applied, NotSet
else:
    from building import LIBRARY_VERSION, build, first_text
    from consumer import FEATURES, ConfluentKafkaConsumer
    from settings import translate
    from verifiable import Adapter, run
    from verifiable.adapter import ABORT, CLOSE, REPEAT

UNKNOWN_OFFSET = -1
MAX_BLOCK_MS = 60_000  # Java's default
FULL_QUEUE_POLL_S = 0.01
FLUSH_POLL_S = 0.1


class ConfluentKafka(Adapter):
    """An adapter for :class:`confluent_kafka.Producer`."""

    client = "confluent-kafka"
    client_version = first_text(confluent_kafka.version())
    library_version = LIBRARY_VERSION
    language = "python/c"
    features = ("producer", "idempotence", "transactions", "client_config", *FEATURES)
    polls = True

    def configure(self, config: Mapping[str, Any]) -> tuple[Applied, NotSet]:
        wanted, not_set = translate(config)
        self._max_block_s = int(config.get("max.block.ms", MAX_BLOCK_MS)) / 1000

        def made(properties: dict[str, Any]) -> Any:
            producer = confluent_kafka.Producer(dict(properties))
            self._properties = properties
            return producer

        self._producer, applied = build(made, wanted, not_set, self.own, self.own_not_set)
        return applied, not_set

    def send(self, topic: str, key: str | None, value: str, partition: int | None, result: Result) -> None:
        def delivered(error: Any, message: Any) -> None:
            if error is None:
                offset = message.offset()
                result.ok(message.partition(), UNKNOWN_OFFSET if offset is None or offset < 0 else offset)
            else:
                result.info(error.name())

        where = {} if partition is None else {"partition": partition}
        deadline = time.monotonic() + self._max_block_s
        while True:
            try:
                self._producer.produce(topic, value=value, key=key, on_delivery=delivered, **where)
                return
            except BufferError:
                if time.monotonic() >= deadline:
                    result.fail("_QUEUE_FULL")
                    return
                self.poll(FULL_QUEUE_POLL_S)
            except confluent_kafka.KafkaException as error:
                result.fail(error.args[0].name())
                return

    def init_transactions(self) -> None:
        self._producer.init_transactions(self._max_block_s)

    def begin_transaction(self) -> None:
        self._producer.begin_transaction()

    def commit_transaction(self) -> None:
        self._producer.commit_transaction(self._max_block_s)

    def abort_transaction(self) -> None:
        self._producer.abort_transaction(self._max_block_s)

    def way_out(self, error: Exception) -> str:
        told = error.args[0] if isinstance(error, confluent_kafka.KafkaException) else None
        if told is None or told.fatal():
            return CLOSE
        if told.txn_requires_abort():
            return ABORT
        return REPEAT if told.retriable() else CLOSE

    def name_of(self, error: Exception) -> str:
        if isinstance(error, confluent_kafka.KafkaException):
            return str(error.args[0].name())
        return super().name_of(error)

    def renew(self) -> None:
        old, self._producer = self._producer, confluent_kafka.Producer(dict(self._properties))
        old.purge()
        old.poll(0)

    def poll(self, timeout_s: float) -> None:
        # librdkafka reports a fatal error once, as an exception from any call that serves callbacks. The producer
        # is unusable then, but the results of its records still arrive, and they are the evidence.
        try:
            self._producer.poll(timeout_s)
        except confluent_kafka.KafkaException as error:
            print(f"librdkafka: {error}", file=sys.stderr)  # noqa: T201

    def flush(self, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while len(self._producer) and (left_s := deadline - time.monotonic()) > 0:
            self.poll(min(left_s, FLUSH_POLL_S))
        return not len(self._producer)

    def close(self, timeout_s: float) -> bool:
        # No purge(): a record without a result must remain visible as such.
        return self.flush(timeout_s)


if __name__ == "__main__":
    run(ConfluentKafka, ConfluentKafkaConsumer)
