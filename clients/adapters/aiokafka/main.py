"""The program for aiokafka. It runs in an environment with that client and its codecs.

``start()`` connects to a broker, and raises if none answers. The next record then starts the producer again. The
program reports a definite failure for exceptions from ``start()`` or ``send()``, because the record is in no batch
then. An error from the future is ``info``: it belongs to the last attempt, and says nothing about earlier ones.

``start()`` also prepares for transactions. A call that ends one waits without limit, and cannot be made a second time.
So if it takes longer than max.block.ms, the application closes the producer. After any other error of Kafka's it tries
to abort, as the client's own ``transaction()`` does. The abort fails if the error was a fatal one.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from typing import TYPE_CHECKING, Any

import aiokafka  # type: ignore[import-not-found]
from aiokafka import errors

try:
    from aiokafka import codec
except ImportError:  # before 0.9
    from kafka import codec  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clients.adapters.aiokafka.consumer import FEATURES, AiokafkaConsumer
    from clients.adapters.aiokafka.settings import NAMES, WHY_NOT, give_way
    from clients.adapters.python_lib.verifiable import ConfigRefused, Result, java, run
    from clients.adapters.python_lib.verifiable.adapter import ABORT, CLOSE, Applied, NotSet
    from clients.adapters.python_lib.verifiable.asynchronous import AsyncAdapter
else:
    from consumer import FEATURES, AiokafkaConsumer
    from settings import NAMES, WHY_NOT, give_way
    from verifiable import ConfigRefused, java, run
    from verifiable.adapter import ABORT, CLOSE
    from verifiable.asynchronous import AsyncAdapter

UNKNOWN = -1
MAX_BLOCK_MS = 60_000  # Java's default
#: How long the tasks of a closed producer may need to end, each of the two times that they are cancelled.
CANCELLED_S = 1.0


def codecs() -> list[str]:
    """Return the codecs that this version supports and whose packages are installed."""
    return ["none", *(name for name in ("gzip", "snappy", "lz4", "zstd") if getattr(codec, f"has_{name}")())]


class Aiokafka(AsyncAdapter):
    """An adapter for :class:`aiokafka.AIOKafkaProducer`."""

    client = "aiokafka"
    client_version = aiokafka.__version__
    features = ("producer", "idempotence", "transactions", "client_config", *FEATURES)

    async def on_configure(self, config: Mapping[str, Any]) -> tuple[Applied, NotSet]:
        own, not_set = java.translate(config, NAMES, codecs(), WHY_NOT)
        give_way(own, not_set, self.client_version)
        self._max_block_s = int(config.get("max.block.ms", MAX_BLOCK_MS)) / 1000
        known = inspect.signature(aiokafka.AIOKafkaProducer).parameters
        more = java.own_arguments(self.own, known, own, self.own_not_set)
        self._arguments = more | java.arguments(own)
        try:
            self._build()
        except (ValueError, TypeError, RuntimeError) as error:
            raise ConfigRefused(str(error)) from error
        try:
            await self._started()
        except Exception as error:
            logging.warning("not started yet: %r", error)
        return java.applied(own, not_set), not_set

    def _build(self) -> None:
        self._producer = aiokafka.AIOKafkaProducer(**self._arguments)
        self._starting: asyncio.Task[None] | None = None

    async def _started(self) -> None:
        """Wait until the producer is started. Start it again if that failed before."""
        if self._starting is None or (self._starting.done() and self._starting.exception()):
            self._starting = asyncio.ensure_future(self._producer.start())
        # start() waits for a producer id without a timeout
        await asyncio.wait_for(asyncio.shield(self._starting), self._max_block_s)

    async def on_send(
        self, topic: str, key: str | None, value: str, partition: int | None, result: Result
    ) -> None:
        def settled(future: asyncio.Future[Any]) -> None:
            if (error := future.exception()) is not None:
                result.info(type(error).__name__)
            elif (metadata := future.result()) is None:  # acks=0
                result.ok(UNKNOWN if partition is None else partition, UNKNOWN)
            else:
                result.ok(metadata.partition, metadata.offset)

        encoded = None if key is None else key.encode()
        try:
            await self._started()
            future = await self._producer.send(topic, value.encode(), encoded, partition)
        except Exception as error:
            result.fail(type(error).__name__)
        else:
            future.add_done_callback(settled)

    async def on_init_transactions(self) -> None:
        await self._started()

    async def on_begin_transaction(self) -> None:
        await self._producer.begin_transaction()

    async def on_commit_transaction(self) -> None:
        await asyncio.wait_for(self._producer.commit_transaction(), self._max_block_s)

    async def on_abort_transaction(self) -> None:
        await asyncio.wait_for(self._producer.abort_transaction(), self._max_block_s)

    def way_out(self, error: Exception) -> str:
        is_kafkas = isinstance(error, errors.KafkaError) and not isinstance(error, errors.ProducerFenced)
        return ABORT if is_kafkas else CLOSE

    async def on_renew(self) -> None:
        # stop() alone would wait for all records. Every other task of this loop is the old producer's, and its sender
        # waits for requests in flight when it is cancelled the first time.
        for _ in range(2):
            if tasks := asyncio.all_tasks() - {asyncio.current_task()}:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks, timeout=CANCELLED_S)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._producer.stop(), CANCELLED_S)
        self._build()

    async def on_flush(self) -> None:
        await self._producer.flush()

    async def on_close(self) -> None:
        await self._producer.stop()


if __name__ == "__main__":
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    run(Aiokafka, AiokafkaConsumer)
