"""The program of the reference client, with or without one seeded defect."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from clients.adapters.python_lib.verifiable import Adapter, ConfigRefused, Result, run
from clients.adapters.reference import MUTANT, project_version
from clients.adapters.reference.consumer import ReferenceConsumer
from clients.adapters.reference.consumer_features import FEATURES
from clients.adapters.reference.transaction_errors import name_of, way_out
from clients.reference import KafkaProducer
from clients.reference.config.producer_config import KEYS
from clients.reference.errors import IllegalStateError, SendError, TransactionError
from clients.reference.producer.producer_batch import RecordMetadata
from clients.reference.telemetry.trace import Trace, TraceEvent, no_trace
from clients.seeding.table import components_of, consumer_components_of
from harness.model.contract import TRACE_ENV
from harness.model.errors import UsageError

if TYPE_CHECKING:
    from clients.adapters.python_lib.verifiable.adapter import Applied, NotSet

#: The exit code if the trace cannot be written.
UNTOLD = 74


class ReferenceClient(Adapter):
    """An adapter for :class:`clients.reference.KafkaProducer`."""

    client_version = project_version()
    features = ("producer", "idempotence", "transactions", "trace", *FEATURES)

    def __init__(self, mutant: str, trace: Trace) -> None:
        self.client = f"mutant-{mutant}" if mutant else "reference"
        self._trace = trace
        self._components = components_of(mutant) if mutant else None

    def configure(self, config: Mapping[str, Any]) -> tuple[Applied, NotSet]:
        known = {name: value for name, value in config.items() if name in KEYS}
        self._make = partial(KafkaProducer, known, components=self._components, trace=self._trace)
        try:
            self._producer = self._make()
        except UsageError as error:
            raise ConfigRefused(str(error)) from error
        not_set = {name: "the reference client has no such setting" for name in config if name not in KEYS}
        return {name: (name, value) for name, value in known.items()}, not_set

    def send(self, topic: str, key: str | None, value: str, partition: int | None, result: Result) -> None:
        def delivered(metadata: RecordMetadata, error: SendError | None) -> None:
            if error is None:
                result.ok(metadata.partition, metadata.offset)
            elif error is not None:
                (result.fail if error.outcome == "fail" else result.info)(error.name)

        encoded = None if key is None else key.encode()
        try:
            self._producer.send(topic, value.encode(), encoded, partition=partition, callback=delivered)
        except (TransactionError, IllegalStateError) as error:
            result.fail(self.name_of(error))

    def init_transactions(self) -> None:
        self._producer.init_transactions()

    def begin_transaction(self) -> None:
        self._producer.begin_transaction()

    def commit_transaction(self) -> None:
        self._producer.commit_transaction()

    def abort_transaction(self) -> None:
        self._producer.abort_transaction()

    def way_out(self, error: Exception) -> str:
        return way_out(error)

    def name_of(self, error: Exception) -> str:
        return name_of(error)

    def renew(self) -> None:
        self._producer.close(0)
        self._producer = self._make()

    def flush(self, timeout_s: float) -> bool:
        try:
            self._producer.flush(timeout_s)
        except TimeoutError:
            return False
        return True

    def close(self, timeout_s: float) -> bool:
        self._producer.close(timeout_s)
        return True


def main(mutant: str, trace_file: str | None) -> None:
    """Run the program of that client, and write its decisions to ``trace_file``, if there is one.

    Each decision is written at once, before it takes effect. The trace of a killed process is therefore complete for
    everything that the witness saw.
    """
    consumer = partial(ReferenceConsumer, consumer_components_of(mutant) if mutant else None)
    if trace_file is None:
        run(lambda: ReferenceClient(mutant, no_trace), consumer)
        return
    with Path(trace_file).open("wb", buffering=0) as file:
        run(lambda: ReferenceClient(mutant, lambda event: _write(file, event)), consumer)


def _write(file: FileIO, event: TraceEvent) -> None:
    """Write one event. If that fails, exit at once, before the client does something that the trace lacks."""
    line = msgspec.json.encode(event) + b"\n"
    try:
        told = file.write(line)
    except OSError:
        told = 0
    if told != len(line):
        with suppress(OSError):
            os.write(2, b"the trace cannot be written\n")
        os._exit(UNTOLD)


if __name__ == "__main__":
    main(os.environ.get(MUTANT, ""), os.environ.get(TRACE_ENV))
