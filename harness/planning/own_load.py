"""The user's own load: ``--load`` and a campaign file's ``[load]`` table become a workload, or an error says why not.

Both have the same keys. What is not given stays as the scenario has it, except that a rate replaces the interval.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace as changed

from harness.model.dice import Dice
from harness.model.errors import UsageError, unknown
from harness.model.load import Load, SizeChoices, SizeLognormal, SizeRange, Sizes
from harness.model.spec import Workload
from harness.model.units import duration_s
from harness.plugins.scenario import Scenario

#: A command is one line on a client's stdin. It carries at most about this much.
COMMAND_BYTES: Final = 256 * 1_024
#: With a rate, commands are at least this far apart on average.
COMMAND_MS: Final = 50
#: The largest file of payloads. Its lines are part of the plan.
PAYLOAD_BYTES: Final = 64 * 1_024
MOST_PRODUCERS, MOST_TOPICS, MOST_RATE = 16, 16, 100_000
MOST_BYTES: Final = 2**24
#: The widest Zipf exponent.
MOST_SKEW: Final = 10.0

Amount = int | str


class OwnLoad(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the client sends. Everything is optional."""

    records: Annotated[int | None, Meta(description="The number of records, over all producers.")] = None
    size: Annotated[
        Amount | None,
        Meta(
            description="The size of values in bytes: 1000, 20..20000, lognormal:500:1.2 (median and sigma), or "
            "100:8/20000:1 (sizes with weights)."
        ),
    ] = None
    rate: Annotated[int | None, Meta(description="Records per second, over all producers.")] = None
    burst: Annotated[
        str | None,
        Meta(description="COUNT/PERIOD, such as 1000/1s: of the records of each period, COUNT come at once."),
    ] = None
    duration: Annotated[
        str | None, Meta(description="How long the load lasts, such as 20s; instead of records, with a rate.")
    ] = None
    keys: Annotated[int | None, Meta(description="The number of keys; 0 means records without a key.")] = None
    skew: Annotated[
        float | None, Meta(description="The exponent of the keys' Zipf distribution; 0 means in turn.")
    ] = None
    partitions: Annotated[int | None, Meta(description="The partitions of each topic.")] = None
    topics: Annotated[int | None, Meta(description="The number of topics.")] = None
    producers: Annotated[int | None, Meta(description="The number of producers, each a process.")] = None
    payloads: Annotated[
        str | None, Meta(description="A file whose lines are the bodies of the values, in turn.")
    ] = None


_NUMBERS: Final = {"records", "rate", "keys", "partitions", "topics", "producers"}


def parsed(texts: Iterable[str]) -> OwnLoad | None:
    """Return the load of ``--load`` options such as ``records=1000,size=20..20000``, or None without any."""
    given: dict[str, Any] = {}
    for pair in (pair.strip() for text in texts for pair in text.split(",") if pair.strip()):
        name, equals, value = pair.partition("=")
        if name not in OwnLoad.__struct_fields__:
            raise unknown("key of --load", name, OwnLoad.__struct_fields__)
        if not equals or not value:
            raise _wrong(name, value, "a value, such as records=100000")
        given[name] = _typed(name, value)
    return OwnLoad(**given) if given else None


def _typed(name: str, value: str) -> int | float | str:
    if name in _NUMBERS:
        return _whole(name, value)
    if name == "skew":
        try:
            return float(value)
        except ValueError:
            raise _wrong(name, value, "a number, such as 1.1") from None
    return value


def applied(own: OwnLoad, scenario: Scenario, folder: Path = Path()) -> Scenario:
    """Return the scenario with this load. Paths in it are relative to ``folder``.

    Raises UsageError for a load that is impossible.
    """
    lines = lines_of(own, folder)
    workload = loaded(own, scenario.workload, lines)
    if scenario.draw_workload is None:
        return replace(scenario, workload=workload)
    draw: Callable[[Dice], Workload] = scenario.draw_workload
    return replace(scenario, workload=workload, draw_workload=lambda dice: loaded(own, draw(dice), lines))


def lines_of(own: OwnLoad, folder: Path = Path()) -> tuple[str, ...]:
    """Return the payloads of a load, from its file. Raises UsageError if it cannot be read."""
    return () if own.payloads is None else _lines(folder / own.payloads)


def loaded(own: OwnLoad, base: Workload, lines: tuple[str, ...] = ()) -> Workload:
    """Return ``base`` with what the user chose."""
    sizes = None if own.size is None else sizes_of(own.size)
    rate = _given("rate", own.rate, 0, 1, MOST_RATE)
    burst, every_ms = (0, 1_000) if own.burst is None else _burst(own.burst, rate)
    load = Load(
        sizes=sizes,
        rate=rate,
        burst=burst,
        burst_every_ms=every_ms,
        skew_percent=_skew(own.skew),
        producers=_given("producers", own.producers, 1, 1, MOST_PRODUCERS),
        topics=_given("topics", own.topics, 1, 1, MOST_TOPICS),
        payloads=lines,
    )
    wanted = changed(
        base,
        records=_records(own, rate, base.records),
        partitions=_given("partitions", own.partitions, base.partitions, 1, 10_000),
        keys=_given("keys", own.keys, base.keys, 0, 1_000_000),
        load=load,
    )
    if sizes is not None:
        wanted = changed(wanted, value_bytes=wanted.largest_bytes)
    return _in_commands(wanted)


def _in_commands(load: Workload) -> Workload:
    """Return the load with commands that fit into a line and are not more frequent than needed."""
    most = max(1, COMMAND_BYTES // max(1, load.mean_bytes + 32))
    if not load.shape.rate:
        chunk = min(load.records_per_command, most)
        interval_ms = load.interval_ms * chunk // load.records_per_command
        return changed(load, records_per_command=chunk, interval_ms=interval_ms)
    due = max(1, load.shape.rate * COMMAND_MS // 1_000)
    fair = max(1, load.records // (2 * load.shape.producers * load.shape.topics))
    return changed(load, records_per_command=min(due, most, fair))


def sizes_of(text: Amount) -> Sizes:
    """Return the sizes that a text describes. Raises UsageError if it describes none."""
    given = str(text)
    if given.startswith("lognormal:"):
        return _lognormal(given)
    if ".." in given:
        low, high = (_size(part, given) for part in given.split("..", 1))
        if low > high:
            raise _wrong("size", given, "a range whose first size is not the larger one")
        return SizeRange(low, high)
    if ":" in given:
        pairs = [pair.partition(":") for pair in given.split("/")]
        choices = tuple((_size(size, given), _whole("size", weight)) for size, _, weight in pairs)
        if not sum(weight for _, weight in choices):
            raise _wrong("size", given, "at least one size with a weight above 0")
        return SizeChoices(choices)
    size = _size(given, given)
    return SizeRange(size, size)


def _lognormal(given: str) -> SizeLognormal:
    found = re.fullmatch(r"lognormal:(\d+):(\d+(?:\.\d+)?)(?::(\d+)\.\.(\d+))?", given, re.ASCII)
    if found is None:
        raise _wrong("size", given, "lognormal:MEDIAN:SIGMA or lognormal:MEDIAN:SIGMA:LOW..HIGH")
    median, sigma = _size(found[1], given), float(found[2])
    if sigma > 5:
        raise _wrong("size", given, "a sigma of at most 5")
    low, high = (_size(found[3], given), _size(found[4], given)) if found[3] else (1, 1_000_000)
    if not low <= median <= high:
        raise _wrong("size", given, "a median within its bounds")
    return SizeLognormal(median, round(sigma * 100), low, high)


def _burst(given: str, rate: int) -> tuple[int, int]:
    count, slash, every = given.partition("/")
    if not slash:
        raise _wrong("burst", given, "COUNT/PERIOD, such as 1000/1s")
    every_ms = round(duration_s(every) * 1_000)
    number = _whole("burst", count)
    if not rate:
        raise UsageError("load-burst-without-rate", "a load with bursts needs a rate, such as rate=5000")
    if every_ms < 1 or not 1 <= number <= rate * every_ms // 1_000:
        raise UsageError(
            "load-burst-too-large",
            "a rate of {rate} a second has {most:record} in each {every}, so a burst has 1 to {most} of them, not "
            "{count}",
            rate=rate,
            most=rate * every_ms // 1_000,
            every=every,
            count=number,
        )
    return number, every_ms


def _records(own: OwnLoad, rate: int, usual: int) -> int:
    if own.duration is None:
        return _given("records", own.records, usual, 1, 10_000_000)
    if not rate or own.records is not None:
        raise UsageError(
            "load-duration",
            "a load has a duration together with a rate and without records: records divided by rate is its duration",
        )
    return _given("duration", int(duration_s(own.duration) * rate), usual, 1, 10_000_000)


def _skew(given: float | None) -> int:
    if given is None:
        return 0
    if not 0 <= given <= MOST_SKEW:
        raise _wrong("skew", str(given), f"a number from 0 to {MOST_SKEW:g}")
    return round(given * 100)


def _lines(path: Path) -> tuple[str, ...]:
    try:
        with path.open("rb") as file:
            data = file.read(PAYLOAD_BYTES + 1)
    except OSError as error:
        raise UsageError(
            "payloads-unreadable", "{path} cannot be read: {why}", path=path, why=error.strerror or error
        ) from None
    try:
        lines = tuple(line for line in data.decode().splitlines() if line)
    except UnicodeDecodeError:
        raise UsageError("payloads-not-text", "{path} is not UTF-8 text", path=path) from None
    if not lines or len(data) > PAYLOAD_BYTES:
        raise UsageError(
            "payloads-size",
            "{path} must have at least one line and at most {most:,} bytes, because its lines are part of the plan",
            path=path,
            most=PAYLOAD_BYTES,
        )
    return lines


def _given(name: str, value: int | None, usual: int, low: int, high: int) -> int:
    if value is None:
        return usual
    if not low <= value <= high:
        raise UsageError(
            "load-value-range",
            "{name} of a load must be {low:,} to {high:,}, not {value:,}",
            name=name,
            low=low,
            high=high,
            value=value,
        )
    return value


def _size(text: str, given: str) -> int:
    size = _whole("size", text)
    if not 1 <= size <= MOST_BYTES:
        raise _wrong("size", given, f"sizes from 1 to {MOST_BYTES} bytes")
    return size


def _whole(name: str, text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise _wrong(name, text, "a whole number")
    return int(text)


def _wrong(name: str, value: str, wanted: str) -> UsageError:
    return UsageError(
        "load-value", "{name}={value} of a load: expected {wanted}", name=name, value=value, wanted=wanted
    )


def check_sizes(load: Load, trial: str) -> None:
    """Raise UsageError for sizes in a stored plan from which nothing could be drawn."""
    match load.sizes:
        case None:
            return
        case SizeRange(low, high):
            possible = 0 <= low <= high <= MOST_BYTES
        case SizeLognormal(median, sigma, low, high):
            possible = 0 <= low <= median <= high <= MOST_BYTES and 0 <= sigma <= 500
        case SizeChoices(choices):
            possible = any(weight > 0 for _, weight in choices) and all(
                0 <= size <= MOST_BYTES and weight >= 0 for size, weight in choices
            )
    if not possible:
        raise UsageError("load-sizes-impossible", "the sizes of trial {trial!r} are impossible", trial=trial)


def with_draw(workload: Workload, seed: int) -> Workload:
    """Return the workload with the seed of its trial, from which its sizes and keys are drawn."""
    return workload if workload.load is None else changed(workload, load=changed(workload.load, draw=seed))


def keys() -> Mapping[str, str]:
    """Return the keys of a load, each with its description."""
    hints = msgspec.inspect.type_info(OwnLoad)
    assert isinstance(hints, msgspec.inspect.StructType)
    return {field.name: _described(field.type) for field in hints.fields}


def _described(type_: msgspec.inspect.Type) -> str:
    extra = getattr(type_, "extra_json_schema", None) or {}
    return str(extra.get("description", ""))
