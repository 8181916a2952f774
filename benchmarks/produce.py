"""Throughput of the reference producer compared with other clients, on one broker in one run.

    .venv/bin/python -m benchmarks.produce [--records 200000] [--rounds 3] [--json]

The settings are acks=all, idempotence, linger 5 ms and batches of 64 KiB, with records of 100 bytes and 1 KiB, without
compression and with lz4. Every client runs in a separate process and environment. The rounds are interleaved, so that
other load on the machine affects all clients. A figure is the median of the rounds. Memory is the peak of the whole
process (all processes have the same list of values), and for the reference client also the peak of its buffer.
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

LINGER_MS = 5
BATCH_BYTES = 65_536
BUFFER_BYTES = 33_554_432
PEERS = ("kafka-python", "aiokafka")


async def write_one(argv: tuple[str, ...], load: Mapping[str, Any]) -> Figures:
    """Fill a topic once. Raise KafkaTrialError if records are missing."""
    figures = await run_one(argv, load)
    if figures["stored"] != load["records"] or figures["failed"]:
        raise KafkaTrialError(
            "records-not-stored",
            "{program}: {stored} of {records} stored",
            program=argv[1],
            stored=figures["stored"],
            records=load["records"],
        )
    return figures


async def measure(
    cluster: LocalCluster, clients: tuple[Client, ...], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return a row per kind of load, with the figures of every client in every round."""
    programs = {client.name: client.argv("producers") for client in clients}
    host, port = cluster.internal_addresses[min(cluster.node_ids)]
    rows = []
    for size_bytes, codec in product(options.sizes, options.codecs):
        measured: dict[str, list[Figures]] = {name: [] for name in programs}
        for number in range(options.rounds):
            for name, argv in programs.items():
                topic = f"{name}-{size_bytes}-{codec}-{number}"
                await cluster.create_topic(topic, PARTITIONS)
                load = {
                    "bootstrap": f"{host}:{port}",
                    "topic": topic,
                    "records": options.records,
                    "size_bytes": size_bytes,
                    "codec": codec,
                    "linger_ms": LINGER_MS,
                    "batch_bytes": BATCH_BYTES,
                    "buffer_bytes": BUFFER_BYTES,
                }
                measured[name].append(await write_one(argv, load))
        rows.append(row(size_bytes, codec, options.records, measured))
        if not options.json:
            show(rows[-1])
    return rows


def row(size_bytes: int, codec: str, records: int, measured: Mapping[str, list[Figures]]) -> dict[str, Any]:
    """Return the medians, and the reference client's ratio to each other client (2.0 means twice as fast)."""
    clients = {
        name: {
            "records_per_s": median(records / each["seconds"] for each in rounds),
            "cpu_us_per_record": median(each["cpu_seconds"] / records * 1e6 for each in rounds),
            "peak_rss_bytes": max(each["peak_rss_bytes"] for each in rounds),
            "buffer_peak_bytes": max((each.get("buffer_peak_bytes", 0) for each in rounds), default=0),
        }
        for name, rounds in measured.items()
    }
    own = clients.get(REFERENCE.name, {}).get("records_per_s", 0)
    ratios = {name: own / each["records_per_s"] for name, each in clients.items() if name != REFERENCE.name}
    peers = [ratios[name] for name in PEERS if name in ratios]
    return {
        "size_bytes": size_bytes,
        "codec": codec,
        "records": records,
        "buffer_memory": BUFFER_BYTES,
        "clients": clients,
        "ratio_to": ratios,
        "ratio_to_faster_peer": min(peers, default=None),
    }


def show(measured: Mapping[str, Any]) -> None:
    print(f"{measured['size_bytes']} bytes, {measured['codec']}, {measured['records']} records")  # noqa: T201
    for name, each in measured["clients"].items():
        ratio = measured["ratio_to"].get(name)
        print(  # noqa: T201
            f"  {name:16}{each['records_per_s']:>12,.0f} records/s"
            f"{each['cpu_us_per_record']:>8.1f} us CPU a record"
            f"{each['peak_rss_bytes'] / 2**20:>8.0f} MiB peak"
            + (f"   reference is {ratio:.2f} times as fast" if ratio else "")
            + (
                f"   buffer at most {each['buffer_peak_bytes']:,.0f} of {BUFFER_BYTES:,} bytes"
                if not ratio
                else ""
            )
        )
    peer = measured["ratio_to_faster_peer"]
    if peer:
        print(f"  reference / faster of {' and '.join(PEERS)}: {peer:.2f}", flush=True)  # noqa: T201


def parse(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES_BYTES, help="record sizes in bytes")
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
