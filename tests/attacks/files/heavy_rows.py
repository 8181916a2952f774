"""Judges and packs a run with heavy rows in a separate process, one attack after the other.

``python -m tests.attacks.files.heavy_rows RUN`` prints one JSON line per attack: its name, the reason of the verdict,
why it could not be packed, and the peak memory of the process meanwhile.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from harness.files import zstd
from harness.limits import memory
from harness.limits.meter import EVIDENCE
from harness.model.run_files import FAULTS, FRAMES, HISTORY, LOG, TRACE, TRIAL
from harness.plugins import registry
from harness.running.trial_runner import rejudge
from harness.storage.parquet_writer import pack
from harness.storage.run_store import RunStore
from reports.pages.trial_page import TrialRows, trial_page

MIB = 2**20
BOMB_BYTES = 512 * MIB
MANY = 10_000
INTS = b",".join([b"300"] * MANY)
TEXTS = b",".join([b'"a"'] * MANY)
PAIRS = b",".join(b'"%x":"%x"' % (n, n % 16) for n in range(MANY))
NUMBERS = b",".join(b'"%x":%d' % (n, n + 300) for n in range(MANY))
PARTS = b",".join([b'{"topic":"","partition":0}'] * MANY)

_EVENT = b'"seq":0,"mono_ns":0,"wall_ns":0,"id":0'
_FAULT = b'{"index":0,"spec":{"kind":"","start":{"on":"elapsed","ms":0},"duration_ms":0,"params":{'
_FRAME = b'{"t_ns":999,"lane":0,"broker":0,"conn":0,"kind":"request"'
_LOG = (
    b'{"topic":"","partition":0,"offset":0,"base_offset":0,"timestamp_ms":0,"producer_id":0,"producer_epoch":0,'
    b'"sequence":0,"control":false,"crc_ok":true,"key":null,"value":"'
)
#: Name -> the file, and the row that is repeated in it.
ROWS: dict[str, tuple[str, bytes]] = {
    "objects": (TRACE, b"{}\n"),
    "lists": (TRACE, b'{"":[' + b",".join([b"[]"] * MANY) + b"]}\n"),
    "texts": (TRACE, b"{" + PAIRS + b"}\n"),
    "settings": (HISTORY, b'{"name":"configured",' + _EVENT + b',"applied":{},"not_set":{' + PAIRS + b"}}\n"),
    "outcomes": (
        HISTORY,
        b'{"name":"op_complete","op":"flush",' + _EVENT + b',"error":[],"invoke_ns":[],"complete_ns":[],"outcome":['
        + TEXTS + b"]}\n",
    ),
    "parameters": (FAULTS, _FAULT + NUMBERS + b'}},"requested_ns":null,"effective_ns":null}\n'),
    "frames": (FRAMES, _FRAME + b',"api":"a","client_id":"b","closed_by":"c","note":"n","fault":"f"}\n'),
    "codes": (FRAMES, _FRAME + b',"error_codes":[' + INTS + b"]}\n"),
    "parts": (FRAMES, _FRAME + b',"api_key":0,"acks":1,"produce":[' + PARTS + b"]}\n"),
    "records": (LOG, _LOG + b'"}\n'),
    "wide text": (LOG, _LOG + "\N{PILE OF POO}".encode() + b"a" * 100_000 + b'"}\n'),
}  # fmt: skip


def repeated(row: bytes, most_bytes: int) -> bytes:
    """Return one frame that unpacks to at most ``most_bytes`` of this row, without creating all of them in memory."""
    at_a_time = max(1, MIB // len(row))
    times = most_bytes // (len(row) * at_a_time)
    packer = zstd.zstandard.ZstdCompressor(level=1).compressobj()
    return b"".join([*(packer.compress(row * at_a_time) for _ in range(times)), packer.flush()])


def attacks(folder: Path) -> Iterator[str]:
    """Yield the name of each attack after it was applied to a trial's folder."""
    for name, (file, row) in ROWS.items():
        place = zstd.at_rest(folder / file)
        place.write_bytes(repeated(row, BOMB_BYTES))
        yield f"a bomb of {name}"
        # Leave room for what the other files of the trial need.
        place.write_bytes(repeated(row, len(row) * ((EVIDENCE.base - 16 * MIB) // memory.needed(row))))
        yield f"as many {name} as may be"
    change_load(folder, 0, 10_000_000, records=10_000_000)
    yield "a load without end"
    change_load(folder, 0, 70_000, records=70_000, records_per_command=1_000)
    yield "as much load as may be"
    change_load(folder, -(2**29), 2**28, records=70_000, records_per_command=1_000)
    yield "records below the first"
    change_load(folder, 0, 1, keys=2**40)
    yield "keys without end"
    os.truncate(folder / TRIAL, BOMB_BYTES)
    yield "a long record"


def change_load(folder: Path, first: int, count: int, **workload: int) -> None:
    """Change the workload, and append 200 sends of ``count`` records each."""
    record = json.loads((folder / TRIAL).read_bytes())
    record["spec"]["workload"] |= workload
    (folder / TRIAL).write_text(json.dumps(record))
    rows = zstd.unpacked(zstd.at_rest(folder / HISTORY).read_bytes()).splitlines()
    last = json.loads(rows[-1])
    for n in range(1, 201):
        span = {"op": "send", "id": 1_000 + n, "first": first + n * count, "count": count}
        row = {**last, "name": "op_invoke", "seq": last["seq"] + n, **span}
        rows.append(json.dumps(row).encode())
    zstd.at_rest(folder / HISTORY).write_bytes(zstd.packed(b"\n".join(rows) + b"\n"))


def main(run: RunStore) -> None:
    """Judge, pack and render the first trial under each attack."""
    trial = run.record.plan.trials[0].trial
    folder = run.trial_folder(trial)
    valid = {path: path.read_bytes() for path in folder.iterdir()}
    finders = registry.table("anomalies")
    rejudge(run)
    for name in attacks(folder):
        Path("/proc/self/clear_refs").write_text("5")
        verdict = rejudge(run)[0]
        problem = pack(run, finders).spoiled.get(trial, "")
        if not problem:
            rows = TrialRows(None, [], None, [], [], [], [], None)
            trial_page(run.read_evidence(trial), verdict, rows, folder)
        sys.stdout.write(json.dumps([name, verdict.reason, problem, peak_mib()]) + "\n")
        for path, data in valid.items():
            path.write_bytes(data)


def peak_mib() -> int:
    """Return the peak memory since the counter was reset."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    main(RunStore.open(Path(sys.argv[1])))
