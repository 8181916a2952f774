"""Run trials with hostile clients among them, and compare them with the same run without hostile clients.

    .venv/bin/python -m benchmarks.besieged [--seed N] [--clients reference confluent-kafka]

Of 60 trials, 20 have one of 20 hostile programs each (``tests/attacks/hostile_client``: they flood, nest, fork, block,
lie, fill the disk, end the broker). Half of the other trials produce and half consume. The benchmark passes if the
honest clients' verdicts are those of the undisturbed run, summary.md reports what each hostile program did, the exit
code is 3, the harness and its workers stay below their memory limit, and no process is left. Whether a fault has an
effect depends on timing, so a trial with another verdict is repeated alone: it varies if that verdict comes again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random, SystemRandom
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
import psutil

from harness.exports import JUNIT, RESULTS, SUMMARY
from harness.model.spec import ClientRef, Plan, TrialSpec
from harness.model.verdicts import Verdict, exit_code
from harness.planning import own_commands
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.plugins.scenario import Scenario
from harness.storage.run_store import RunStore

ATTACKS = Path(__file__).parents[1] / "tests" / "attacks" / "hostile_client"
BROKER, HONEST = "local:4.3.1x1", 40
MEMORY_MIB, ATTEMPTS = 700, 5
#: What the command lines of the harness's own worker processes have.
WORKER = "harness.running.packing.program"
HOSTILE = (
    "floods_lines",
    "floods_stderr",
    "never_ends_its_line",
    "nests_deep",
    "names_many_events",
    "says_thirty_megabytes",
    "speaks_to_the_terminal",
    "offsets_beyond_any",
    "traces_into_a_pipe",
    "traces_a_hole",
    "fills_the_disk",
    "removes_its_folder",
    "stops_itself",
    "ignores_signals",
    "leaves_a_daemon",
    "doubles",
    "kills_everybody",
    "announces_large_frames",
    "opens_connections",
    "asks_for_millions_of_topics",
)


class Ran(NamedTuple):
    """The result of a run: verdict and reason of each trial, and the peak memory of the harness.

    ``accused`` contains the lines of summary.md that report a defect of a client.
    """

    code: int
    verdicts: dict[str, tuple[str, str]]
    accused: str
    peak_mib: float
    seconds: float
    exports: list[str]


def plans(clients: Sequence[str], seed: int) -> tuple[Plan, Plan]:
    """Return the plan of the honest trials, and the same plan with a hostile trial before every two of them."""
    refs = [ClientRef(name, registry.client(name).default_version) for name in clients]
    dice = Random(seed)
    producing, consuming = (
        dice.sample(
            make_plan(_scenarios(*folders), refs, [BROKER], range(seed, seed + HONEST)).trials, HONEST // 2
        )
        for folders in (("produce",), ("consume", "delivery"))
    )
    honest = tuple(each for pair in zip(producing, consuming, strict=True) for each in pair)
    calm = registry.scenario("produce/calm")
    hostile: list[TrialSpec] = []
    for name in HOSTILE:
        argv = (sys.executable, "-I", "-S", str(ATTACKS), name, f"besieged-{seed}")
        hostile += make_plan([calm], [own_commands.client(argv, name)], [BROKER], [seed]).trials[-1:]
    mixed = [trial for at, attack in enumerate(hostile) for trial in (attack, *honest[2 * at : 2 * at + 2])]
    return Plan(seed, honest), Plan(seed, tuple(mixed))


def _scenarios(*folders: str) -> list[Scenario]:
    names = [name for name in registry.names("scenarios") if name.partition("/")[0] in folders]
    return [registry.scenario(name) for name in names if not registry.scenario(name).opt_in]


def taken_mib(harness: psutil.Process) -> float:
    """Return the memory of the harness and of its workers, as far as they do not share it."""
    taken = 0
    with suppress(psutil.Error):
        for process in (harness, *harness.children()):
            with suppress(psutil.Error):
                if process == harness or any(WORKER in word for word in process.cmdline()):
                    taken += process.memory_full_info().pss
    return taken / 2**20


def run(plan: Plan, folder: Path) -> Ran:
    """Run a plan with the command line, as a user does."""
    file = folder / "plan.json"
    file.write_bytes(msgspec.json.encode(plan))
    argv: list[str | Path] = [
        Path(sys.executable).with_name("kafka-trial"),
        "replay",
        file,
        "--out-dir",
        folder,
        "--allow-command",
    ]
    began = time.monotonic()
    with (folder / "told").open("wb") as told:
        process = subprocess.Popen(argv, stdout=told, stderr=told)
        peak_mib, harness = 0.0, psutil.Process(process.pid)
        while process.poll() is None:
            peak_mib = max(peak_mib, taken_mib(harness))
            time.sleep(0.2)
    store = RunStore.open(folder)
    verdicts = {each.trial: (str(each.verdict), each.reason) for each in store.verdicts()}
    summary = (store.folder / SUMMARY).read_text()
    exports = [path.name for path in store.folder.iterdir() if path.suffix in (".jsonl", ".xml", ".md")]
    return Ran(
        process.returncode,
        verdicts,
        "\n".join(line for line in summary.splitlines() if line.startswith("- ")),
        peak_mib,
        time.monotonic() - began,
        sorted(exports),
    )


def left(seed: int) -> list[int]:
    """Return the processes of hostile programs that still exist."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if f"besieged-{seed}" in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


def comes_again(plan: Plan, trial: str, verdict: str) -> bool:
    """Return whether a trial of the plan has this verdict also when it is repeated alone, without hostile clients."""
    [spec] = [each for each in plan.trials if each.trial == trial]
    for _ in range(ATTEMPTS):
        with TemporaryDirectory(prefix="besieged-") as folder:
            ran = run(Plan(plan.seed, (spec,)), Path(folder))
        if ran.verdicts[trial][0] == verdict:
            return True
    return False


def compared(plan: Plan, alone: Ran, besieged: Ran) -> dict[str, Any]:
    """Return the differences between the two runs of a plan, and the other figures to print."""
    hostile = {trial: each for trial, each in besieged.verdicts.items() if trial not in alone.verdicts}
    other = {
        trial: (verdict, besieged.verdicts.get(trial, ("no verdict", "")))
        for trial, (verdict, _) in alone.verdicts.items()
        if besieged.verdicts.get(trial, ("no verdict", ""))[0] != verdict
    }
    varies = [trial for trial, (_, (verdict, _)) in other.items() if comes_again(plan, trial, verdict)]
    unnamed = [name for name in HOSTILE if f"`{name}@own: " not in besieged.accused]
    return {
        "seed": plan.seed,
        "trials": len(besieged.verdicts),
        "honest": len(alone.verdicts),
        "changed": {trial: told for trial, told in other.items() if trial not in varies},
        "varies": {trial: other[trial] for trial in varies},
        "hostile": {trial: f"{verdict}: {reason}"[:300] for trial, (verdict, reason) in hostile.items()},
        "unnamed": unnamed,
        "exit": [alone.code, besieged.code],
        "exports": besieged.exports,
        "peak_mib": [round(alone.peak_mib), round(besieged.peak_mib)],
        "seconds": [round(alone.seconds), round(besieged.seconds)],
        "left": left(plan.seed),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(2**30))
    parser.add_argument("--clients", nargs="+", default=["reference", "confluent-kafka"])
    options = parser.parse_args()
    ran = []
    honest, mixed = plans(options.clients, options.seed)
    for plan in (honest, mixed):
        with TemporaryDirectory(prefix="besieged-") as folder:
            ran.append(run(plan, Path(folder)))
    found = compared(honest, *ran)
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    held = (
        not (found["changed"] or found["unnamed"] or found["left"])
        and max(found["peak_mib"]) < MEMORY_MIB
        and found["exit"][1] == exit_code([Verdict.HARNESS_ERROR])
        and set(found["exports"]) >= {RESULTS, JUNIT, SUMMARY}
    )
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
