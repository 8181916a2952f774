"""The sentence on the two judgements: what PySpark recomputed, and which trials it did not judge."""

from __future__ import annotations

import pyarrow as pa
import pytest

from reports.pages.site import agreement_sentence
from reports.spark.analysis import Analysis
from reports.spark.derived import SCHEMAS

ALL_AGREE = "PySpark recomputed the delivery of 2 trials (3 identities): all agree with the online checks."
ONE = "PySpark recomputed the delivery of 1 trial (3 identities): all agree with the online checks."


@pytest.mark.parametrize(
    ("trials", "sentence"),
    [
        ([("produce", True), ("produce", True)], ALL_AGREE),
        ([("consume", False)], "PySpark recomputed no trial. 1 trial has no second judgement (1 consume)."),
        (
            [("produce", True), ("produce", False), ("consume", False), ("consume", False)],
            f"{ONE} 3 trials have no second judgement (2 consume, 1 produce).",
        ),
    ],
)
def test_trials_without_a_second_judgement_are_counted(trials: list[tuple[str, bool]], sentence: str) -> None:
    rows = [
        {"trial": f"t{at}", "workload": kind, "counted": counted} for at, (kind, counted) in enumerate(trials)
    ]
    identities = [{"trial": "t0", "compared": 3 * trials[0][1], "differing": 0}]
    tables = {
        "trials": pa.Table.from_pylist(rows),
        "identities": pa.Table.from_pylist(identities),
        "disagreements": SCHEMAS["disagreements"].empty_table(),
    }
    assert agreement_sentence(Analysis(tables)) == sentence
