"""aiokafka under load."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from aiokafka import AIOKafkaProducer  # type: ignore[import-not-found]
from load import WARM_UP, Load, Results, report
from values import values


async def main() -> None:
    load, results = Load.from_argv(), Results()
    producer = AIOKafkaProducer(
        bootstrap_servers=load.bootstrap,
        acks="all",
        enable_idempotence=True,
        linger_ms=load.linger_ms,
        max_batch_size=load.batch_bytes,
        compression_type=None if load.codec == "none" else load.codec,
    )
    await producer.start()

    def delivered(future: Any) -> None:
        if future.exception() is None:
            results.stored += 1
        else:
            results.failed += 1

    async def send_all(contents: list[bytes], count: int) -> None:
        topic, send, distinct = load.topic, producer.send, len(contents)
        for number in range(count):
            future = await send(topic, contents[number % distinct])
            future.add_done_callback(delivered)
        await producer.flush()

    contents = values(load.size_bytes)
    await send_all(contents, WARM_UP)
    await asyncio.sleep(0)
    began, began_cpu = time.perf_counter(), time.process_time()
    await send_all(contents, load.records)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu
    await asyncio.sleep(0)
    report(load, results, seconds, cpu_seconds)
    await producer.stop()


if __name__ == "__main__":
    asyncio.run(main())
