"""What a report keeps of the earlier one at its place: pages that would be the same, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.storage.parquet_writer import pack
from harness.storage.run_store import RunStore
from reports.earlier import Earlier
from reports.pages.site import fill
from reports.place import report_place
from reports.spark.analysis import Analysis
from tests.reports.pages.test_site import TEXTS, analysis_of_store

Stories = Callable[..., Any]
Runs = Callable[..., RunStore]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(tmp_path / "cache"))


def reported(store: RunStore, analysis: Analysis, *, keep: bool = True) -> tuple[dict[str, bytes], list[str]]:
    """Write the report at its place. Return its pages, and the trials whose pages were made, not kept."""
    made: list[str] = []

    def work(function: Callable[[Any], Any], groups: Sequence[Any]) -> Iterable[Any]:
        made.extend(asked.verdict.trial for group in groups for asked in group)
        return [function(group) for group in groups]

    with report_place(store) as place:
        fill(place, store, analysis, TEXTS, pack(store), Earlier(place) if keep else None, work)
    pages = (store.folder / "report").rglob("*.html")
    return {str(page.relative_to(store.folder)): page.read_bytes() for page in pages}, sorted(made)


def test_a_new_trial_changes_only_the_links_of_those_with_the_same_faults(
    whole_story: Stories, run_of: Runs
) -> None:
    stories = [whole_story(name, records=60) for name in ("first", "second")]
    new = whole_story("<nav>", records=60)
    store = run_of(*stories, planned=[new.spec])
    assert reported(store, analysis_of_store(store))[1] == ["first", "second"]
    assert reported(store, analysis_of_store(store))[1] == []
    store.write_evidence(new.evidence())
    store.write_verdict(new.judgement())

    analysis = analysis_of_store(store)
    pages, made = reported(store, analysis)

    assert made == ["<nav>"]
    assert pages == reported(store, analysis, keep=False)[0]
    assert b"%3Cnav%3E" in pages["report/trials/first.html"]


def test_a_page_with_other_results_is_made_again(whole_story: Stories, run_of: Runs) -> None:
    store = run_of(*(whole_story(name, records=60) for name in ("first", "second")))
    reported(store, analysis_of_store(store))
    doubt = {"trial": "first", "count": "lost", "judged": 1, "recomputed": 0}
    analysis = analysis_of_store(store, [doubt])
    pages, made = reported(store, analysis)
    assert made == ["first"]
    assert pages == reported(store, analysis, keep=False)[0]


def test_a_changed_page_is_made_again(whole_story: Stories, run_of: Runs) -> None:
    store = run_of(*(whole_story(name, records=60) for name in ("first", "second")))
    analysis = analysis_of_store(store)
    pages, _ = reported(store, analysis)
    (store.folder / "report" / "trials" / "second.html").write_bytes(b"<nav></nav><script>")
    assert reported(store, analysis) == (pages, ["second"])
