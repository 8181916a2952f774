"""What ``kill -9`` costs a campaign: killed at random moments, resumed each time, and compared with an undisturbed one.

    .venv/bin/python -m benchmarks.killed [--kills 10] [--seed 1] [--jobs 6] [--json]

A finished trial may be neither lost nor run again: its verdict keeps its bytes and its time. In the end the verdicts
are those of the undisturbed campaign, one of whose three clients breaks its promises.
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
#: From before the first broker is there until many trials are under way.
EARLIEST_MS, LATEST_MS = 3_000, 40_000
#: How long the warden has to stop what a killed run has started.
SWEPT_S = 10.0

Finished = dict[str, tuple[int, bytes]]
"""The trials that have a verdict: when it was written (ns), and its bytes."""


def started(*words: str | Path) -> subprocess.Popen[bytes]:
    """The command line as its users start it, in silence."""
    argv = (Path(sys.executable).with_name("kafka-trial"), *map(str, words), "-q")
    return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def finished(run: Path) -> Finished:
    """What a run has finished."""
    return {
        path.parent.name: (path.stat().st_mtime_ns, path.read_bytes())
        for path in run.glob("trials/*/verdict.json")
    }


def left_of(pid: int) -> list[int]:
    """Processes that a killed run has started and that are still there, after the warden had its time."""
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
    """A campaign that is killed so often: its run, how many finished trials were lost or changed, processes left."""
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
    """Both campaigns, and how they compare."""
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
