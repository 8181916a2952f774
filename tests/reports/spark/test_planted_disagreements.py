"""Changes of the packed tables of trials that consume: the second judgement names each one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from harness.simulated.judged import simulate
from harness.workloads.consume import accounting
from harness.workloads.consume.tables import GROUP_ANOMALIES
from tests.reports.spark.second_judgement import BROKER, BROKERS, judged, packed, strays
from tests.suites.checks.consume.group_stories import calm

Bend = Callable[[pl.DataFrame], pl.DataFrame]


def without(**values: object) -> Bend:
    return lambda rows: rows.filter(
        ~pl.all_horizontal(pl.col(name) == value for name, value in values.items())
    )


def setting(column: str, new: object, **values: object) -> Bend:
    is_it = pl.all_horizontal(pl.col(name) == value for name, value in values.items())
    return lambda rows: rows.with_columns(
        pl.when(is_it).then(pl.lit(new)).otherwise(pl.col(column)).alias(column)
    )


def twice(**values: object) -> Bend:
    is_it = pl.all_horizontal(pl.col(name) == value for name, value in values.items())
    return lambda rows: pl.concat((rows, rows.filter(is_it)))


#: A change: its table, the change itself, and what only the second judgement then finds.
BENT: dict[str, tuple[str, Bend, set[tuple[Any, ...]]]] = {
    "not delivered": ("deliveries", without(partition=0, offset=4), {
        ("missed", 0, 4, None), ("skipped", 0, 4, None), ("gap", 0, 4, "m1"),
    }),
    "delivered twice": ("deliveries", twice(partition=1, offset=5), {
        ("redelivered", 1, 5, "m2"), ("backwards", 1, 5, "m2"),
    }),
    "of another record": ("deliveries", setting("identity_n", 99, partition=0, offset=1), {("foreign", 0, 1, "m1")}),
    "not in the log": ("log_records", without(partition=0, offset=5), {("foreign", 0, 5, "m1")}),
    "committed beyond": ("commits", setting("offset", 9, partition=1, offset=6), {("committed-early", 1, 9, "m2")}),
    "committed back": ("commits", setting("offset", 1, partition=1, offset=6), {("commit-regress", 1, 1, "m2")}),
    "stored beyond": ("stored_offsets", setting("offset", 99, partition=1), set()),
    "another owner": ("ownership_events", setting("partition", 0, member="m2", what="assigned"), {
        ("two-owners", 0, None, "m1 m2 2"),
    }),
}  # fmt: skip


@pytest.mark.parametrize("change", sorted(BENT))
def test_a_planted_disagreement_is_found(change: str) -> None:
    table, bend, expected = BENT[change]
    tables = packed(calm().evidence())
    assert strays(judged(tables)) == {}
    tables[table] = bend(tables[table])
    assert strays(judged(tables)) == {(*row,): (0, 1) for row in expected}


def test_what_the_harness_wrote_decides_what_members_must_be_given() -> None:
    evidence, verdict = simulate("consume/transactions-committed", "reference", 3, BROKER)
    tables = packed(evidence, verdict)
    aborted = tables["transaction_records"].filter(~pl.col("committed"))
    places = {("missed", row["partition"], row["offset"], None) for row in aborted.iter_rows(named=True)}
    assert places and strays(judged(tables)) == {}
    changes = {"transaction_records": {"committed": True}, "readers": {"isolation": "read_uncommitted"}}
    for table, values in changes.items():
        bent = tables[table].with_columns(**{name: pl.lit(value) for name, value in values.items()})
        found = judged({**tables, table: bent})
        named = {key for key, counts in strays(found).items() if key[0] == "missed" and counts == (0, 1)}
        assert named and named <= places
        assert found["consumption"]["missed"].to_list() == [len(places)]


def test_a_delivery_of_a_lost_record_counts_only_as_what_the_harness_wrote_there() -> None:
    evidence, verdict = simulate(
        "consume/unclean-election", "reference", 3, BROKERS["consume/unclean-election"]
    )
    tables = packed(evidence, verdict)
    lost = {(each.partition, each.offset) for each in accounting.deliveries(evidence)} & set(
        accounting.written_aside(evidence)
    )
    assert lost and strays(judged(tables)) == {}
    tables["aside_records"] = tables["aside_records"].clear()
    assert "foreign" in {kind for kind, *_ in strays(judged(tables))}


@pytest.mark.parametrize("kind", GROUP_ANOMALIES)
def test_an_anomaly_that_only_the_checks_claim_is_found(kind: str) -> None:
    tables = packed(calm().evidence())
    claimed = {
        "trial": tables["trials"]["trial"][0],
        "kind": kind,
        "n": None,
        "partition": 0,
        "offset": 3,
        "detail": "m1",
    }
    extra = pl.DataFrame([claimed], schema=tables["group_anomalies"].schema)
    tables["group_anomalies"] = pl.concat((tables["group_anomalies"], extra))
    assert strays(judged(tables)) == {(kind, 0, 3, "m1"): (1, 0)}
