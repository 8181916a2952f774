"""The changes of outcomes as text, Markdown and JSON: what is clear, and what too few trials show."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from harness.exports.markdown import head, row
from harness.judging.outcome_changes import OutcomeChanges
from harness.outcomes import words
from harness.outcomes.metrics import Metric, Unit, metrics
from harness.outcomes.pairs import Change, Direction
from harness.text.counting import some
from harness.text.escaping import for_markdown

MAX_ROWS = 60
COLUMNS = ("change", "outcome", "where", "old", "new", "difference", "pairs")
CLEAR, UNCLEAR = "clearly {}", "perhaps {}"


def lines(found: OutcomeChanges) -> Iterator[str]:
    """Yield the changes as lines, the clear ones first, and then how many outcomes are equal."""
    told, common = notable(found), common_names(found)
    if common:
        yield f"outcomes of {', '.join(common)}:"
    for each in told[:MAX_ROWS]:
        how, outcome, where, old, new, difference, pairs = cells(each, common)
        yield f"{how}: {outcome}: {where}: {old} -> {new}{f' ({difference})' if difference else ''}, {pairs}"
    yield summary(found, len(told))


def markdown(found: OutcomeChanges) -> list[str]:
    """Return the changes as a table."""
    told = notable(found)
    table = head(COLUMNS) if told else []
    common = common_names(found)
    table += [row(map(for_markdown, cells(each, common))) for each in told[:MAX_ROWS]]
    of = [f"Of {', '.join(map(for_markdown, common))}:", ""] if common and told else []
    return ["## Outcomes", "", *of, *table, *([""] if told else []), summary(found, len(told))]


def document(found: OutcomeChanges) -> dict[str, Any]:
    """Return all comparisons for JSON."""
    return {
        "pairs": found.pairs,
        "by_client": [_row(each) for each in found.by_client],
        "by_cell": [_row(each) for each in found.by_cell],
    }


def summary(found: OutcomeChanges, told: int) -> str:
    """Return how much was compared, as a sentence."""
    more = f"; the first {MAX_ROWS} of {told} changes are shown" if told > MAX_ROWS else ""
    clear = sum(each.clear for each in found.by_client)
    few = "; six pairs are the fewest that can show a clear change" if found.pairs and not clear else ""
    compared = some(found.pairs, "pair")
    return f"outcomes: {compared} of trials compared, {some(clear, 'clear change')}{more}{few}"


def cells(each: Change, common: Collection[str] = ()) -> tuple[str, ...]:
    """Return one change in the columns of a table, without the names that are ``common`` to all."""
    metric, cell = metrics()[each.metric], each.cell
    scenario = f"{cell.scenario or 'all scenarios'}[{cell.guarantee}]"
    moved = each.worse if each.direction is Direction.WORSE else each.better
    return (
        (CLEAR if each.clear else UNCLEAR).format(each.direction.value),
        metric.heading,
        " ".join(
            name for name in (cell.client, scenario, cell.variant, cell.broker) if name and name not in common
        ),
        words.told(metric, each.old),
        words.told(metric, each.new),
        _difference(metric, each),
        f"{each.direction.value} in {moved} of {some(each.pairs, 'pair')}",
    )


def common_names(found: OutcomeChanges) -> list[str]:
    """Return the client, configuration and broker that all rows have."""
    rows = [each.cell for each in found.by_cell]
    fields = [{getattr(cell, name) for cell in rows} for name in ("client", "variant", "broker")]
    return [name for names in fields if len(names) == 1 for name in names if name]


def notable(found: OutcomeChanges) -> list[Change]:
    """Return the changes to tell: of each client, then of those scenarios in which it changed."""
    several = len({each.cell for each in found.by_cell}) > len({each.cell for each in found.by_client})
    both = [each for each in (*found.by_client, *(found.by_cell if several else ())) if _is_told(each)]
    return sorted(
        both, key=lambda each: (not each.clear, bool(each.cell.scenario), each.direction is Direction.BETTER)
    )


def _is_told(each: Change) -> bool:
    """Return True for a clear change, and for one in at least half of the pairs that none contradicts."""
    moved = each.worse + each.better
    return each.clear or (moved > 0 and 0 in (each.worse, each.better) and 2 * moved >= each.pairs)


def _difference(metric: Metric, each: Change) -> str:
    if each.difference is None:
        return ""
    if each.interval is not None:
        return f"{_signed(metric, each.difference)}, 95% interval {_ends(metric, *each.interval)}"
    return f"{_signed(metric, each.difference)}, from {_ends(metric, each.low, each.high)}"


def _ends(metric: Metric, low: float | None, high: float | None) -> str:
    return f"{_signed(metric, low).removesuffix(' points')} to {_signed(metric, high)}"


def _signed(metric: Metric, value: float | None) -> str:
    if value is None:
        return ""
    sign, size = "-" if value < 0 else "+", words.told(metric, abs(value))
    # A difference of shares in percent could be read as relative.
    return f"{sign}{size.removesuffix('%')} points" if metric.unit is Unit.SHARE else f"{sign}{size}"


def _row(each: Change) -> dict[str, Any]:
    return {
        **each.cell._asdict(),
        **{name: getattr(each, name) for name in each.__struct_fields__ if name != "cell"},
    }
