"""Running a plan for the command line: install, run, conclude. Used by ``run``, ``campaign`` and ``replay``."""

from __future__ import annotations

import asyncio
import platform
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version

import msgspec

from harness import baseline
from harness.adapter import environment
from harness.cli import results
from harness.cli.console import answer, say
from harness.cli.interrupts import until_signal
from harness.cli.live_table import LiveTable
from harness.cli.options import Options
from harness.cli.output import print_json
from harness.cli.results import More, exit_code_of, nothing_more
from harness.judging import repeats
from harness.model.errors import NothingSelected
from harness.model.mode import Mode
from harness.model.rows import TrialVerdict
from harness.model.spec import Plan, TrialSpec
from harness.planning import (
    companions,
    estimate,
    own_commands,
    selection,
    setting_warnings,
    typed_settings,
    unavailable,
    validate_plan,
)
from harness.running.budget import FAILURES, Budget
from harness.running.campaign import Campaign
from harness.running.install import Installed, install_what_can_be
from harness.running.packing import Packer, while_trials_end
from harness.storage import shards
from harness.storage.run_store import LeftOut, RunRecord, RunStore
from harness.text import redaction
from harness.text.commands import path_word
from harness.text.counting import some
from harness.text.escaping import safe_line, visible


def start(plan: Plan, options: Options, about: Sequence[str] = ()) -> int:
    """Start a run with this plan and return the exit code. ``about`` are sentences on how the plan was made.

    Raises UsageError for an invalid plan, NothingSelected for an empty one, and EnvironmentProblem if no trial of it
    can run here.
    """
    whole = plan = own_commands.with_env(repeats.repeated(plan, options.repeat), options.client_env)
    if options.shard is not None:
        plan = repeats.shard(whole, *options.shard)
    if not plan.trials:
        raise NothingSelected("empty-plan", "the plan is empty")
    validate_plan.check(plan, Mode.LIVE)
    about = [*about, *setting_warnings.drawn(plan.trials), *setting_warnings.known_before(plan.trials)]
    about += companions.told(plan.trials)
    for sentence in about:
        say(sentence)
    known = baseline.load(options.baseline) if options.baseline else ()
    if options.dry_run:
        return tell_plan(plan, options, about)
    # Install before the folder is created: an unknown version should leave nothing on disk.
    installed = _install(plan.trials, options)
    record = new_record(plan, options, known)
    if options.shard is not None:
        record = msgspec.structs.replace(record, shard=shards.of(whole, *options.shard))
    store = RunStore.create(options.out_dir, record)
    return carry_out(store, installed, options)


def go_on(store: RunStore, options: Options) -> int:
    """Run the trials of a stopped run that have no verdict yet, and return the exit code."""
    plan = store.record.plan
    validate_plan.check(plan, Mode.LIVE)
    selection.brokers([spec.broker for spec in plan.trials])
    missing = [spec for spec in plan.trials if not store.finished(spec.trial)]
    return carry_out(store, _install(missing, options), options)


def new_record(plan: Plan, options: Options, known: tuple[baseline.KnownFailure, ...] = ()) -> RunRecord:
    """Return the record of a run that begins now."""
    now = datetime.now(UTC)
    fraction = now.microsecond * 2**16 // 10**6  # sorted by name, runs are in the order in which they began
    return RunRecord(
        run_id=f"{now:%Y%m%d-%H%M%S}-{fraction:04x}",
        started_utc=now.isoformat(timespec="seconds"),
        plan=plan,
        jobs=options.jobs,
        environment={
            "kafka-trial": version("kafka-trial"),
            "python": platform.python_version(),
            "system": platform.platform(),
        },
        command=["kafka-trial", *map(visible, redaction.argv(sys.argv[1:]))],
        capture=options.capture,
        baseline=known,
        deflake=options.deflake,
        thresholds=options.thresholds,
        level=options.level,
    )


def carry_out(store: RunStore, installed: Installed, options: Options, more: More = nothing_more) -> int:
    """Run the store's plan, report the results and return the exit code. ``more`` is that of :func:`publish`.

    Raise UsageError if another process runs it.
    """
    with store.claimed():
        store.leave_out(
            tuple(
                LeftOut(str(ref), problem.code, safe_line(str(problem)))
                for ref, problem in installed.lacking.items()
            )
        )
        try:
            stopped_by, reason = _run(store, installed, options)
        except Exception as error:
            with suppress(Exception):  # the first error is the one to report; a full disk causes both
                publish(store, f"failed: {error}", options, more)
            raise
        verdicts = publish(store, reason, options, more)
        return _conclude(store, verdicts, installed, options, stopped_by, reason)


def publish(store: RunStore, reason: str, options: Options, more: More = nothing_more) -> list[TrialVerdict]:
    """End the run for this reason, report and export the results, and return the verdicts.

    ``more`` returns what a command adds to the JSON document.
    """
    verdicts = list(store.verdicts())
    store.stop(reason)
    results.publish(
        store, verdicts, junit=options.junit, summary=options.summary, as_json=options.as_json, more=more
    )
    return verdicts


def _install(trials: Iterable[TrialSpec], options: Options) -> Installed:
    seen = environment.named(options.client_env)
    installed = install_what_can_be((ref for spec in trials for ref in spec.clients), seen)
    if not installed.clients:
        for problem in installed.lacking.values():
            raise problem
    for ref, problem in installed.lacking.items():
        say(f"warning: {ref} is left out: {problem}")
    return installed


def _run(store: RunStore, installed: Installed, options: Options) -> tuple[int | None, str]:
    """Return the signal that ended the run, if any, and the reason why it ended."""
    plan = store.record.plan
    say(f"run {store.folder}: {some(len(plan.trials), 'trial')}, seed {plan.seed}, {options.jobs} at a time")
    budget, done = Budget(options.max_time_s, options.max_failures), list(store.verdicts())
    packer = Packer(store, len(done))
    with LiveTable(plan, done, options.jobs, options.quiet) as table:

        def ended(verdict: TrialVerdict) -> None:
            table.ended(verdict)
            packer.ended()

        campaign = Campaign(store, installed.clients, options.jobs, table.began, ended, say, budget)
        table.watch(campaign)
        stopped_by = asyncio.run(until_signal(_with_attempts(campaign, packer)))
    if stopped_by is not None:
        return stopped_by, "interrupted"
    return None, budget.used_up() or "completed"


async def _with_attempts(campaign: Campaign, packer: Packer) -> None:
    """Run the plan, then repeat its failed trials as often as requested."""
    async with while_trials_end(packer):
        await campaign.run()
        store = campaign.store
        record = store.record
        more = repeats.deflaked(record.plan, store.verdicts(), record.deflake)
        if more != record.plan and campaign.budget.used_up() is None:
            store.replace_plan(more)
            await campaign.run()


def _conclude(
    store: RunStore,
    verdicts: list[TrialVerdict],
    installed: Installed,
    options: Options,
    stopped_by: int | None,
    reason: str,
) -> int:
    planned = len(store.record.plan.trials)
    if len(verdicts) < planned:
        allowing = own_commands.option(spec.client for spec in store.record.plan.trials)
        missing = planned - len(verdicts)
        verb = "was" if missing == 1 else "were"
        say(f"{missing} of {some(planned, 'trial')} {verb} not run ({_why(installed, reason)})")
        say(f"hint: continue with: kafka-trial run --resume {path_word(store.folder)}{allowing}")
    if stopped_by is not None:
        return 128 + stopped_by
    lacks = 0
    if installed.lacking:
        lacks = 3
    elif not verdicts or (len(verdicts) < planned and not (options.partial or reason == FAILURES)):
        lacks = 4
    code = exit_code_of(store, verdicts, strict=options.strict, lacks=lacks)
    say(f"seed {store.record.plan.seed}; report: kafka-trial report {path_word(store.folder)}; exit {code}")
    return code


def _why(installed: Installed, reason: str) -> str:
    names = ", ".join(str(ref) for ref in installed.lacking)
    return f"{names} could not be installed" if names and reason == "completed" else reason


def tell_plan(plan: Plan, options: Options, about: Sequence[str] = ()) -> int:
    """Print the plan instead of running it: its trials, its size, how long it takes, and what is unsupported in it."""
    lacking = {spec.trial: lack for spec in plan.trials if (lack := unavailable.by_plan(spec)) is not None}
    told = estimate.of(
        Plan(plan.seed, tuple(spec for spec in plan.trials if spec.trial not in lacking)), options.jobs
    )
    if options.as_json:
        print_json(
            {
                "seed": plan.seed,
                "jobs": options.jobs,
                "estimate_s": told.seconds,
                "about": list(about),
                "trials": typed_settings.stored_plan(plan).trials,
                "unsupported": {
                    trial: {"code": lack.code, "reason": str(lack)} for trial, lack in lacking.items()
                },
            }
        )
        return 0
    for spec in plan.trials:
        faults = ", ".join(f"{fault.kind} {fault.duration_ms} ms" for fault in spec.faults) or "no fault"
        why = f" (unsupported: {lacking[spec.trial]})" if spec.trial in lacking else ""
        answer(f"{spec.trial}: {faults}{why}")
    unsupported = f", {len(lacking)} of them unsupported" if lacking else ""
    answer(f"{some(len(plan.trials), 'trial')}{unsupported}, seed {plan.seed}, {told.sentence}")
    return 0
