"""The effect of ``kill -9`` on a campaign that is killed at random times and resumed, compared with an undisturbed one.

    .venv/bin/python -m benchmarks.killed [--kills 10] [--seed 1] [--jobs 6] [--json]

A finished trial must be neither lost nor run again: its verdict file keeps its bytes and its time. The final verdicts
must be those of the undisturbed campaign, in which one of three clients breaks its promises.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from harness.model.dice import Dice
from harness.storage.run_store import RunStore
from harness.system.processes import OWNER

CAMPAIGN = """
clients = ["reference", "confluent-kafka", "mutant-retries_with_new_sequence"]
scenarios = ["produce/calm", "produce/dropped-response"]
seeds = { first = 1, count = 8 }
"""
#: The range of times at which to kill: from before the first broker runs until many trials are in progress.
EARLIEST_MS, LATEST_MS = 3_000, 40_000
#: How long the warden has to stop the processes of a killed run.
SWEPT_S = 10.0

Finished = dict[str, tuple[int, bytes]]
"""Trial -> when its verdict was written (ns), and the bytes of its file."""


def started(*words: str | Path) -> subprocess.Popen[bytes]:
    """Start the command line as a user does, without output."""
    argv = (Path(sys.executable).with_name("kafka-trial"), *map(str, words), "-q")
    return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def finished(run: Path) -> Finished:
    """Return the finished trials of a run."""
    return {
        path.parent.name: (path.stat().st_mtime_ns, path.read_bytes())
        for path in run.glob("trials/*/verdict.json")
    }


def left_of(pid: int) -> list[int]:
    """Return the processes of a killed run that still exist after the warden had its time."""
    until = time.monotonic() + SWEPT_S
    while (alive := [each.pid for each in psutil.process_iter() if _is_of(each, pid)]) and (
        time.monotonic() < until
    ):
        time.sleep(0.1)
    return alive


def _is_of(process: psutil.Process, pid: int) -> bool:
    try:
        return process.environ().get(OWNER, "").startswith(f"{pid}:")
    except psutil.Error:
        return False


def killed(file: Path, out: Path, kills: int, dice: Dice, jobs: int) -> tuple[Path, int, int]:
    """Kill a campaign ``kills`` times, then let it finish.

    Return its run, the number of finished trials that were lost or changed, and the number of processes left.
    """
    seen: Finished = {}
    changed = left = 0
    run: Path | None = None
    for _ in range(kills):
        words = ["run", "--resume", run] if run else ["campaign", file, "--out-dir", out, "-j", str(jobs)]
        process = started(*words)
        try:
            process.wait(dice.between(EARLIEST_MS, LATEST_MS) / 1_000)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        left += len(left_of(process.pid))
        run = next(out.glob("2*"), None)
        now = finished(run) if run else {}
        changed += sum(now.get(trial) != was for trial, was in seen.items())
        seen = now
    if run is None:
        raise SystemExit("it was killed each time before it had a folder")
    started("run", "--resume", run).wait()
    now = finished(run)
    return run, changed + sum(now.get(trial) != was for trial, was in seen.items()), left


def main() -> int:
    """Run both campaigns, and print how they compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with TemporaryDirectory(prefix="killed-") as folder:
        file = Path(folder) / "campaign.toml"
        file.write_text(CAMPAIGN)
        calm = Path(folder) / "calm"
        started("campaign", file, "--out-dir", calm, "-j", str(args.jobs)).wait()
        wanted = _verdicts(next(calm.glob("2*")))
        run, changed, left = killed(
            file, Path(folder) / "killed", args.kills, Dice(args.seed, "kills"), args.jobs
        )
        same = _verdicts(run) == wanted
    told = {
        "trials": len(wanted),
        "kills": args.kills,
        "lost_or_changed": changed,
        "left": left,
        "same": same,
    }
    lines = json.dumps(told) if args.json else "\n".join(f"{name}: {value}" for name, value in told.items())
    sys.stdout.write(f"{lines}\n")
    return 0 if same and not changed and not left else 1


def _verdicts(run: Path) -> dict[str, str]:
    return {verdict.trial: verdict.verdict for verdict in RunStore.open(run).verdicts()}


if __name__ == "__main__":
    raise SystemExit(main())
