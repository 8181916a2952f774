"""The outcome metrics, and how thresholds are written."""

from __future__ import annotations

from harness.outcomes.cells import Cell
from harness.outcomes.metrics import Better, Metric, Unit, metrics
from harness.outcomes.pairs import TIMES_ALIKE
from harness.outcomes.statistics import CONFIDENCE, FEWEST
from harness.outcomes.thresholds import EXAMPLE, UNITS
from harness.outcomes.words import told
from pages.markdown import NOTE, code, table

ABOUT = """\
A verdict says whether a client kept its promises. Outcomes say what happened to the data. They are in the terminal
(`kafka-trial outcomes RUN`), in `summary.md`, in the JUnit properties `outcome.*`, and with confidence intervals in
`outcomes.json`. `kafka-trial report` computes those of trials that produce a second time, with PySpark. If the two
differ for a trial, it is a harness-error.

Each row of the table is a client, broker, scenario, configuration and guarantee, over all seeds. Trials that were
disturbed, or whose faults had no effect, are left out and counted.
"""

WHAT_OF = """\
A share is of the elements that were offered. Over several trials, a share is that of all their elements, and any other
metric is the median of the trials. In parentheses are the lowest and the highest trial.
"""

INTERVALS = """\
`outcomes.json` has two intervals of 95 % confidence for each share:

- `interval` is for the share itself, by Wilson's formula. Records of one trial fail together, so the formula gets the
  *effective* number of records: so many independent ones would vary as the trials did. It is null for one trial, and
  for a share of 0 or 1.
- `occurred_interval` is for the share of trials in which it happened at all.
"""

CHANGES = """\
`kafka-trial diff` and the comparisons of a report pair trials that have the same scenario, guarantee, broker and seed,
so both sides met the same faults. The attempts at one trial count as one, by their median.

- A pair is *better* or *worse* if the metric changed by at least the smallest difference in the table below. For times
  it must also be {alike:.0%} of the larger value, since they depend on the machine as well. Other pairs are equal.
- A row is better or worse if most of its changed pairs are. If that is not clear and the difference over all pairs
  points the other way, it is the same.
- A change is *clear* if the split into better and worse pairs is not chance: the exact sign test, with at most
  {rate:.0%} false discoveries over all rows. With fewer than {fewest} changed pairs nothing is clear. Other changes are
  called *perhaps* better or worse.
- The difference is the median over the pairs for times and the mean for anything else. From {fewest} pairs on, it has
  an interval of {confidence:.0%} confidence; before that, its range.
"""

THRESHOLDS = """\
A threshold is `METRIC[_STATISTIC][{{FIELD=GLOB,...}}] COMPARISON VALUE`, such as `{example}`,
`recovery_p95 < 5s` or `lost{{scenario=network/*}} == 0`. It is evaluated in each row of the table that its globs
select. A missed threshold is exit code 1, and one that no row has a value for is exit code 4.

- COMPARISON is `<`, `<=`, `>`, `>=` or `==`.
- STATISTIC is over the trials of a row: `median`, `min`, `max`, or `p1` to `p99` (nearest rank). Without one, a share
  is over all records of the row, and any other metric must meet the threshold in every trial.
- FIELD is {fields}.

Give thresholds with `--threshold` to `run`, `campaign` or `outcomes`, or as `thresholds = [...]` in a campaign file.
Times depend on the machine as well as on the client: leave them room.
"""

UNITS_OF = {
    Unit.SHARE: "share",
    Unit.MS: "time",
    Unit.BYTES: "bytes",
    Unit.RATIO: "number",
    Unit.COUNT: "number",
}
BETTER = {Better.LOWER: "lower", Better.HIGHER: "higher", Better.NEITHER: "–"}


def pages() -> dict[str, str]:
    """Return the text of ``outcomes.md``, by that name."""
    rows = (_row(each) for each in metrics().values())
    units = {UNITS_OF[unit]: ", ".join(map(_unit, names)) for unit, names in UNITS.items()}
    fields = ", ".join(code(name) for name in Cell._fields)
    compared = (each for each in metrics().values() if each.better is not Better.NEITHER)
    parts = ["# Outcomes and thresholds\n", NOTE, ABOUT, "## Metrics\n"]
    parts += [table(("metric", "in tables", "measured as", "better", "meaning"), rows), WHAT_OF]
    parts += [
        "## Confidence\n",
        INTERVALS,
        "## Changes\n",
        CHANGES.format(alike=TIMES_ALIKE, rate=1 - CONFIDENCE, fewest=FEWEST, confidence=CONFIDENCE),
        table(("metric", "smallest difference"), map(_least, compared)),
        "## Thresholds\n",
        THRESHOLDS.format(example=EXAMPLE, fields=fields),
    ]
    parts += [table(("measured as", "units of VALUE"), units.items())]
    return {"outcomes.md": "\n".join(parts)}


def _least(each: Metric) -> tuple[str, str]:
    return code(each.name), "any" if each.least == 0 else told(each, each.least)


def _unit(name: str) -> str:
    return code(name) if name else "none"


def _row(each: Metric) -> tuple[str, ...]:
    return code(each.name), each.heading, UNITS_OF[each.unit], BETTER[each.better], each.what
