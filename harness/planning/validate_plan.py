"""Check what a plan demands from the harness before anything runs: names, records, and the settings that it reads.

:mod:`harness.planning.validate_faults` checks the faults. A plan may come from an untrusted file. Everything that would
end as a defect of the harness, or would never end, is refused here with one sentence.
"""

from __future__ import annotations

from collections import Counter

from harness.limits import memory
from harness.limits.meter import evidence_limit
from harness.model.errors import UsageError
from harness.model.mode import Mode
from harness.model.path_names import folder_name
from harness.model.payload import SHORT_BYTES
from harness.model.spec import Plan, TrialSpec
from harness.planning import own_commands, own_load, typed_settings, validate_faults, validate_group
from harness.plugins.registry import scenario, workload

#: Kafka's own bound for an ``int`` setting.
MOST = 2**31 - 1
#: The bounds of the numbers of a workload. Values are lines of text that a client is given.
BOUNDS = {
    "records": (1, 10_000_000),
    "records_per_command": (1, 1_000_000),
    "interval_ms": (0, validate_faults.LONGEST_MS),
    "partitions": (1, 10_000),
    "keys": (0, 1_000_000),
    "value_bytes": (0, 2**24),
}
#: Kafka's default for the largest request of a producer; brokers accept a batch of about the same size.
MAX_REQUEST_SIZE = 1_048_576
#: The fastest load that the harness hands over. What a client or a broker can take is less.
MOST_BYTES_PER_S = 100 * 2**20
#: Kafka's default for ``batch.size``.
BATCH_BYTES = 16_384
#: What a batch with one record adds to its value.
OVERHEAD_BYTES = 256
#: The evidence of a successful record besides its value: a row of the log, and its place in the history.
A_RECORD = 25 * memory.A_VALUE + 300 * memory.A_BYTE
#: The evidence of a batch: its part of the frames of its request, and of the client's trace.
A_BATCH = 24 * memory.A_VALUE + 600 * memory.A_BYTE
A_TRACED_BATCH = 60 * memory.A_VALUE + 1_300 * memory.A_BYTE


def check(plan: Plan, mode: Mode) -> None:
    """Raise UsageError for the first demand that ``mode`` cannot meet."""
    twice = [name for name, times in Counter(spec.trial for spec in plan.trials).items() if times > 1]
    if twice:
        raise UsageError(
            "trial-named-twice",
            "the plan has two trials with the name {trial!r}",
            trial=twice[0],
        )
    own_commands.check(spec.client for spec in plan.trials)
    for spec in plan.trials:
        folder_name(spec.trial, "trial")
        scenario(spec.scenario)
        check_numbers(spec)
        _check_guarantee(spec)
        _check_distinct(spec)
    typed_settings.assert_known(plan.trials)
    validate_faults.check(plan.trials, mode)


def check_numbers(spec: TrialSpec) -> None:
    """Raise UsageError for a workload or a setting with unusable numbers, in a plan or in a stored trial."""
    check_workload(spec)
    _check_settings(spec)


def check_workload(spec: TrialSpec) -> None:
    """Raise UsageError for a workload of impossible size: readers of the evidence count up to its numbers."""
    load, trial = spec.workload, spec.trial
    for name, (low, high) in BOUNDS.items():
        if not low <= (value := getattr(load, name)) <= high:
            raise UsageError(
                "workload-value-range",
                "{name} of the workload of trial {trial!r} must be {low} to {high}, not {value}",
                name=name,
                trial=trial,
                low=low,
                high=high,
                value=value,
            )
    workload(load.kind).values(load.params)
    _check_load(spec)
    validate_group.check(spec)
    most = evidence_limit(load).base
    if (needed := _evidence_bytes(spec)) > most:
        raise UsageError(
            "evidence-too-large",
            "the evidence of trial {trial!r} would take {needed:,} bytes of memory; the limit is {most:,}: use fewer "
            "or smaller elements",
            trial=trial,
            needed=needed,
            most=most,
        )
    if load.load_ms > validate_faults.LONGEST_MS:
        raise UsageError(
            "load-too-long",
            "the load of trial {trial!r} would last {load_ms} ms; the limit is {most_ms} ms, "
            "so use fewer elements, larger commands or a shorter interval",
            trial=trial,
            load_ms=load.load_ms,
            most_ms=validate_faults.LONGEST_MS,
        )


def _evidence_bytes(spec: TrialSpec) -> int:
    """Return the memory for the evidence of a trial without faults, of a client that fills its batches."""
    load = spec.workload
    batch_bytes = spec.config.get("batch.size", BATCH_BYTES)
    full = (
        load.records * load.mean_bytes // max(1, batch_bytes if isinstance(batch_bytes, int) else BATCH_BYTES)
    )
    commands = load.records // load.records_per_command
    batches = min(load.records, max(full, commands * min(load.partitions, load.records_per_command)))
    a_batch = A_BATCH + A_TRACED_BATCH * load.is_traced
    return load.records * (A_RECORD + memory.A_BYTE * min(load.mean_bytes, SHORT_BYTES)) + batches * a_batch


def _check_load(spec: TrialSpec) -> None:
    """Raise UsageError for a load that no client could send, in a plan or in a stored trial."""
    load = spec.workload.load
    if load is None:
        return
    numbers = {
        "rate": (load.rate, 0, own_load.MOST_RATE),
        "burst_every_ms": (load.burst_every_ms, 1, validate_faults.LONGEST_MS),
        "burst": (load.burst, 0, load.rate * load.burst_every_ms // 1_000),
        "skew_percent": (load.skew_percent, 0, int(own_load.MOST_SKEW * 100)),
        "producers": (load.producers, 1, own_load.MOST_PRODUCERS),
        "topics": (load.topics, 1, own_load.MOST_TOPICS),
    }
    for name, (value, low, high) in numbers.items():
        if not low <= value <= high:
            raise UsageError(
                "workload-value-range",
                "{name} of the workload of trial {trial!r} must be {low} to {high}, not {value}",
                name=name,
                trial=spec.trial,
                low=low,
                high=high,
                value=value,
            )
    own_load.check_sizes(load, spec.trial)
    if (bytes_per_s := load.rate * spec.workload.mean_bytes) > MOST_BYTES_PER_S:
        raise UsageError(
            "load-too-fast",
            "the load of trial {trial!r} has {rate:,} bytes a second on average; the limit is {most:,}",
            trial=spec.trial,
            rate=bytes_per_s,
            most=MOST_BYTES_PER_S,
        )
    most = int(spec.config.get("max.request.size", MAX_REQUEST_SIZE))
    if (largest := spec.workload.largest_bytes + OVERHEAD_BYTES) > most:
        raise UsageError(
            "load-larger-than-request",
            "the load of trial {trial!r} has records of up to {largest:,} bytes with their overhead, and "
            "max.request.size and message.max.bytes allow {most:,}",
            trial=spec.trial,
            largest=largest,
            most=most,
        )


def _check_settings(spec: TrialSpec) -> None:
    needed = workload(spec.workload.kind).needed
    for name in needed:
        if name not in spec.config:
            raise UsageError(
                "config-setting-missing",
                "the config of trial {trial!r} lacks {name}; every plan needs {needed}",
                trial=spec.trial,
                name=name,
                needed=tuple(needed),
            )
        value = spec.config[name]
        if not _is_whole(value) or not 0 <= int(value) <= MOST:
            raise UsageError(
                "config-setting-range",
                "{name} in the config of trial {trial!r} must be a whole number from 0 to "
                "{most}, not {value!r}",
                name=name,
                trial=spec.trial,
                most=MOST,
                value=value,
            )


def _check_guarantee(spec: TrialSpec) -> None:
    """Raise UsageError for a guarantee that the trial's workload does not have."""
    if spec.guarantee not in (features := workload(spec.workload.kind).features):
        raise UsageError(
            "guarantee-not-of-workload",
            "trial {trial!r} asks for {guarantee}; the workload {workload!r} has {features}",
            trial=spec.trial,
            guarantee=spec.guarantee,
            workload=spec.workload.kind,
            features=tuple(features),
        )


def _is_whole(value: str | int | bool) -> bool:
    return value.isascii() and value.isdecimal() if isinstance(value, str) else not isinstance(value, bool)


def _check_distinct(spec: TrialSpec) -> None:
    """Raise UsageError for two equal faults: neither their effects nor their rows could be told apart."""
    for index, fault in enumerate(spec.faults):
        if fault in spec.faults[:index]:
            raise UsageError(
                "fault-twice",
                "trial {trial!r} has the same fault {fault!r} twice; remove one, or make them different",
                trial=spec.trial,
                fault=fault.kind,
            )
