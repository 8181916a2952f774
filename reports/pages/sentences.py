"""What happened to a client's data, in sentences with numbers, made from its outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.judging.availability import words as load_words
from harness.outcomes import words
from harness.outcomes.cells import Row, Summary
from harness.outcomes.metrics import Better, Metric, Unit, metrics
from harness.text.counting import some
from reports.pages.outcomes import shown

#: What happened to some elements, and to none, in words.
HAPPENED = {
    "given_up": ("{some} given up: reported as certainly not {done}", "No {element} was given up."),
    "unknown": ("{some} left without a known result", "The result of every {element} is known."),
    "lost": ("{some} lost after they had been {done}", "No {element} that was {done} was lost."),
    "duplicated": ("{some} stored once more than sent", "No {element} was stored twice."),
    "reordered": ("{some} stored in another order than sent", "No {element} was stored out of order."),
}
OTHER = ("{some} counted as {name}", "No {element} was counted as {name}.")


@dataclass(frozen=True)
class Story:
    """The sentences about one row of the outcome table. ``ok`` is False if something bad happened to the data."""

    row: Row
    sentences: Sequence[str]


def story(row: Row, cells: Sequence[Row]) -> Story:
    """Return the story of ``row``. ``cells`` are the rows of its scenarios, for where it was worst."""
    return Story(row, list(_sentences(row, cells)))


def _sentences(row: Row, cells: Sequence[Row]) -> Iterator[str]:
    if not row.trials:
        yield f"None of {some(row.left_out, 'trial')} counts: each was disturbed, or its faults had no effect."
        return
    element, done = load_words({each.cell.scenario for each in cells})
    left = (
        f" {row.left_out} more {'does' if row.left_out == 1 else 'do'} not count: disturbed, or without an effective "
        "fault."
        if row.left_out
        else ""
    )
    offered, acknowledged = row.outcomes["offered"], row.outcomes["acknowledged"]
    yield (
        f"In {some(row.trials, 'trial')} it was given {offered.value:,.0f} {element}s, and {acknowledged.count:,} "
        f"({_share(acknowledged)}) were {done}.{left}"
    )
    for name, metric in metrics().items():
        summary = row.outcomes.get(name)
        if metric.unit is Unit.SHARE and metric.better is Better.LOWER and summary is not None:
            yield _happened(metric, summary, element, done, cells)
    yield from _times(row, element, done)
    yield from _amplified(row, element)


def _share(of: Summary) -> str:
    """Return a share with its interval, and the range of single trials."""
    told = shown(metrics()["acknowledged"], of)
    interval = f", 95% interval {told.interval}" if told.interval else ""
    return told.value + interval + (f", single trials {told.spread}" if told.spread else "")


def _happened(metric: Metric, of: Summary, element: str, done: str, cells: Sequence[Row]) -> str:
    verb = "was" if of.count == 1 else "were"
    some_of_them = f"{some(of.count or 0, element)} ({_share(of)}) {verb}"
    happened, never = (
        text.format(element=element, done=done, name=metric.name, some=some_of_them)
        for text in HAPPENED.get(metric.name, OTHER)
    )
    if not of.count:
        return never
    having = [cell for cell in cells if cell.outcomes.get(metric.name) and cell.outcomes[metric.name].count]
    worst = max(having, key=lambda cell: cell.outcomes[metric.name].value or 0, default=None)
    place = ""
    if worst is not None and len(cells) > 1:
        place = f"; most in {worst.cell.scenario}: {words.told(metric, worst.outcomes[metric.name].value)}"
    return f"{happened}, in {of.occurred} of {some(of.trials, 'trial')}{place}."


def _times(row: Row, element: str, done: str) -> Iterator[str]:
    known = metrics()
    if (gap := row.outcomes.get("longest_gap")) is not None:
        yield (
            f"The longest time in which {element}s waited and none was {done}: "
            f"{words.told(known['longest_gap'], gap.median)} in the median trial, at most "
            f"{words.told(known['longest_gap'], gap.high)}."
        )
    if (recovery := row.outcomes.get("recovery")) is not None:
        never = (
            f"; in {recovery.never} of {some(recovery.trials, 'trial')} it never did"
            if recovery.never
            else ""
        )
        middle = words.told(known["recovery"], recovery.median)
        yield (
            "In the median trial it never recovered after the last fault"
            if recovery.median is None
            else f"After the last fault it worked steadily again after {middle} in the median trial"
        ) + f"{_at_most(recovery)}{never}."
    p50, p99 = row.outcomes.get("latency_p50"), row.outcomes.get("latency_p99")
    if p50 is not None and p99 is not None:
        yield (
            f"Half of the {element}s had a result within {words.told(known['latency_p50'], p50.median)}, and 99% "
            f"within {words.told(known['latency_p99'], p99.median)} in the median trial."
        )


def _at_most(recovery: Summary) -> str:
    if recovery.never or recovery.high is None or recovery.high == recovery.median:
        return ""
    return f", at most after {words.told(metrics()['recovery'], recovery.high)}"


def _amplified(row: Row, element: str) -> Iterator[str]:
    known = metrics()
    requests, sizes = row.outcomes.get("requests_per_record"), row.outcomes.get("bytes_per_record")
    if requests is not None and sizes is not None:
        yield (
            f"Per {element} it sent {words.told(known['requests_per_record'], requests.median)} requests and "
            f"{words.told(known['bytes_per_record'], sizes.median)} bytes (median trial)."
        )
