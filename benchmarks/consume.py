"""Throughput of the reference consumer compared with other clients, on one broker in one run, and its memory.

    .venv/bin/python -m benchmarks.consume [--records 1000000 300000] [--rounds 5] [--json]

A topic of four partitions for each kind of load: records of 100 bytes and of 1 KiB, without compression and with lz4,
in batches of 64 KiB. Every client reads the whole topic in a process of its own, with the same settings: Java's
defaults, CRCs checked, no group. The clock runs from the assignment to the last record, so it includes connecting.
The rounds are interleaved, so that other load on the machine affects all clients. A ratio is one of records per second
within a round: the figures are the lowest, the median and the highest of all rounds.

Then the reference consumer reads with several limits of fetch.max.bytes, which a partition may use up alone. Its
memory is the growth of the whole process from the assignment to its peak.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.consumers.filling import fill
from benchmarks.side_by_side import (
    BROKER,
    CLIENTS,
    CODECS,
    PARTITIONS,
    REFERENCE,
    SIZES_BYTES,
    Client,
    Figures,
    run_one,
)
from harness.brokers.local import LOCAL, LocalCluster
from harness.model.errors import KafkaTrialError

RECORDS = (1_000_000, 300_000)
MIB = 1024 * 1024
FETCH_BYTES, PARTITION_BYTES, POLL_RECORDS = 50 * MIB, MIB, 500
#: The limits of the measurement of memory.
LIMITS_BYTES = (MIB, 8 * MIB, 50 * MIB)


async def read_one(argv: tuple[str, ...], load: Mapping[str, Any], size_bytes: int) -> Figures:
    """Read a topic once. Raise KafkaTrialError if records are missing, or too many."""
    figures = await run_one(argv, load)
    expected = load["records"], load["records"] * size_bytes
    if (figures["records"], figures["value_bytes"]) != expected:
        raise KafkaTrialError(
            "records-not-read",
            "{program}: {count} of {records} records read, in {value_bytes} bytes",
            program=argv[1],
            count=figures["records"],
            records=load["records"],
            value_bytes=figures["value_bytes"],
        )
    return figures


def load_of(
    bootstrap: str, topic: str, records: int, fetch_bytes: int, partition_bytes: int
) -> dict[str, Any]:
    """Return what the programs take."""
    return {
        "bootstrap": bootstrap,
        "topic": topic,
        "partitions": PARTITIONS,
        "records": records,
        "fetch_max_bytes": fetch_bytes,
        "partition_max_bytes": partition_bytes,
        "max_poll_records": POLL_RECORDS,
    }


async def measure(
    cluster: LocalCluster, clients: tuple[Client, ...], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return a row per kind of load."""
    programs = {client.name: client.argv("consumers") for client in clients}
    host, port = cluster.internal_addresses[min(cluster.node_ids)]
    bootstrap = f"{host}:{port}"
    rows = []
    for (size_bytes, records), codec in product(
        zip(options.sizes, options.records, strict=True), options.codecs
    ):
        topic = f"{size_bytes}-{codec}"
        await cluster.create_topic(topic, PARTITIONS)
        await asyncio.to_thread(fill, bootstrap, topic, records, size_bytes, codec)
        load = load_of(bootstrap, topic, records, FETCH_BYTES, PARTITION_BYTES)
        measured: dict[str, list[Figures]] = {name: [] for name in programs}
        for _ in range(options.rounds):
            for name, argv in programs.items():
                measured[name].append(await read_one(argv, load, size_bytes))
        rows.append(row(size_bytes, codec, records, measured))
        rows[-1]["memory"] = await memory(bootstrap, topic, records, size_bytes)
        if not options.json:
            show(rows[-1])
    return rows


async def memory(bootstrap: str, topic: str, records: int, size_bytes: int) -> list[dict[str, int]]:
    """Return the growth of the reference client's memory under each limit."""
    grown = []
    for limit_bytes in LIMITS_BYTES:
        load = load_of(bootstrap, topic, records, limit_bytes, limit_bytes)
        figures = await read_one(REFERENCE.argv("consumers"), load, size_bytes)
        grown.append({"fetch_max_bytes": limit_bytes, "peak_growth_bytes": figures["peak_growth_bytes"]})
    return grown


def row(size_bytes: int, codec: str, records: int, measured: Mapping[str, list[Figures]]) -> dict[str, Any]:
    """Return the figures of each client, and the reference client's ratios to the others (2.0: twice as fast)."""
    clients = {
        name: {
            "records_per_s": median(records / each["seconds"] for each in rounds),
            "cpu_us_per_record": median(each["cpu_seconds"] / records * 1e6 for each in rounds),
            "peak_growth_bytes": max(each["peak_growth_bytes"] for each in rounds),
        }
        for name, rounds in measured.items()
    }
    own = measured.get(REFERENCE.name, ())
    ratios = {
        name: [theirs["seconds"] / ours["seconds"] for ours, theirs in zip(own, rounds, strict=False)]
        for name, rounds in measured.items()
        if name != REFERENCE.name and own
    }
    return {
        "size_bytes": size_bytes,
        "codec": codec,
        "records": records,
        "clients": clients,
        "ratio_to": {name: [min(each), median(each), max(each)] for name, each in ratios.items()},
    }


def show(measured: Mapping[str, Any]) -> None:
    print(f"{measured['size_bytes']} bytes, {measured['codec']}, {measured['records']:,} records")  # noqa: T201
    for name, each in measured["clients"].items():
        ratio = measured["ratio_to"].get(name)
        print(  # noqa: T201
            f"  {name:16}{each['records_per_s']:>12,.0f} records/s"
            f"{each['cpu_us_per_record']:>8.2f} us CPU a record"
            f"{each['peak_growth_bytes'] / MIB:>8.1f} MiB more at the peak"
            + ("   reference is {:.2f} / {:.2f} / {:.2f} times as fast".format(*ratio) if ratio else "")
        )
    for each in measured["memory"]:
        limit, growth = each["fetch_max_bytes"] / MIB, each["peak_growth_bytes"] / MIB
        print(f"  reference, fetch.max.bytes {limit:.0f} MiB: {growth:.1f} MiB more at the peak", flush=True)  # noqa: T201


def parse(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES_BYTES, help="record sizes in bytes")
    parser.add_argument("--records", type=int, nargs="+", default=RECORDS, help="records, for each size")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--codecs", nargs="+", default=CODECS)
    parser.add_argument("--clients", nargs="+", default=[each.name for each in CLIENTS])
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(words)


async def main() -> None:
    options = parse()
    clients = tuple(each for each in CLIENTS if each.name in options.clients)
    with TemporaryDirectory() as logs:
        async with LOCAL.cluster(BROKER, lanes=1, log_dir=Path(logs), is_guarded=False) as cluster:
            rows = await measure(cluster, clients, options)
    if options.json:
        print(json.dumps(rows, indent=2))  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main())
