"""The pages: complete, self-contained, and safe against any text of a client."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import plotly.graph_objects as go
import pyarrow as pa
import pytest
from msgspec import structs

from harness.files import zstd
from harness.model.contract import Configured
from harness.model.errors import UsageError
from harness.model.rows import CaptureRecord, Finding, RequirementVerdict, TrialVerdict
from harness.model.spec import ClientRef
from harness.model.tcp_facts import By, TcpFact, What
from harness.planning import selection
from harness.planning.plan import make_plan
from harness.storage.run_store import RunStore
from reports.pages.payload import unpacked
from reports.pages.rendering import Texts
from reports.pages.site import write_site
from reports.pages.trial_page import reproduce
from reports.spark.analysis import Analysis, Row
from reports.spark.derived import CELL
from testkit.codes import raises_code

pytestmark = pytest.mark.long("writes a whole site for each test")

Stories = Callable[..., Any]
Runs = Callable[..., RunStore]
Analyses = Callable[..., Analysis]

TEXTS = Texts(
    {"E2E-DEL-01": "lost: acknowledged and gone."},
    {"lost": "Acknowledged and gone.", "deadlines": "Too late."},
    {"produce/calm": "No fault at all."},
)
HOSTILE = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>\"&"


class Page(HTMLParser):
    """The tags, links and figures of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.figures: dict[str, str] = {}
        self._figure: str | None = None
        self._drawn: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.tags.append(tag)
        self.attributes.update(named)
        self.links += [value for name in ("href", "src") if (value := named.get(name))]
        if drawn := named.get("data-figure"):
            self._drawn.add(drawn)
        is_figure = named.get("type") == "text/plain" and named.get("id") in self._drawn
        self._figure = named.get("id") if is_figure else None

    def handle_data(self, data: str) -> None:
        if self._figure:
            self.figures[self._figure] = json.dumps(unpacked(data))
        self.text += data

    def handle_endtag(self, tag: str) -> None:
        self._figure = None


def pages(out: Path) -> dict[str, Page]:
    return {str(path.relative_to(out)): Page(path) for path in out.rglob("*.html")}


PRODUCE_COUNTS = ("produce_requests", "produce_responses", "produce_errors", "resent_parts")


#: The other measurements of each cell.
NOTHING_MEASURED = {"duplicated": 0, "resent_parts": 0, "slowest_recovery_ms": None}

#: The latency of each trial.
TOOK = {"acked": 2, "failed": 0, "unknown": 1, "p50_ms": 4.0, "p95_ms": 40.5, "p99_ms": 400.0, "max_ms": 4e3}


def coverage_of(verdict: TrialVerdict) -> Iterator[Row]:
    """Return a row for each requirement that the trial judged."""
    for requirement in verdict.requirements:
        yield {
            "id": requirement.id,
            "level": requirement.level,
            "client": verdict.client,
            "verdict": requirement.verdict,
            "trials": 1,
            "findings": 2,
        }


def analysis_of_store(
    store: RunStore,
    disagreements: Iterable[Row] = (),
    identities: Iterable[Row] = (),
    explanations: Iterable[Row] = (),
    *,
    is_bare: bool = False,
) -> Analysis:
    """Return the result tables that Spark would compute for sends that were all acknowledged.

    ``is_bare``: the trials have no evidence.
    """
    verdicts = list(store.verdicts())
    evidence = {v.trial: store.read_evidence(v.trial) for v in verdicts if not is_bare}
    cells = [{name: getattr(verdict, name) for name in CELL} for verdict in verdicts]
    rows: dict[str, list[Row]] = {
        "trials": [
            {"trial": v.trial, "counted": True, "load_ns": 0, "end_ns": 90_000_000_000} for v in verdicts
        ],
        "judged_outcomes": [{"trial": verdict.trial, "requests": 1} for verdict in verdicts],
        "delivery": [{"trial": verdict.trial} | verdict.counts for verdict in verdicts],
        "consumption": [],
        "disagreements": list(disagreements),
        "identities": [*identities],
        "explanations": [*explanations],
        "matrix": [
            {
                **cell,
                "verdict": v.verdict,
                "trials": [{"seed": v.seed, "verdict": v.verdict, "trial": v.trial}],
            }
            for cell, v in zip(cells, verdicts, strict=True)
        ],
        "coverage": [row for verdict in verdicts for row in coverage_of(verdict)],
        "latency": [{"trial": verdict.trial, "phase": "during", **TOOK} for verdict in verdicts],
        "latency_cells": [{**cell, "phase": "during", **TOOK} for cell in cells],
        "latency_windows": [
            {
                "trial": v.trial,
                "from_ms": 0,
                "offered": 3,
                "acked": 2,
                "p50_ms": 4.0,
                "p95_ms": 40.5,
                "max_ms": 4e3,
            }
            for v in verdicts
        ],
        "recovery": [
            {"trial": trial, "index": fault.index, "recovered_ms": 12.5}
            for trial, of_trial in evidence.items()
            for fault in of_trial.faults
        ],
        "resent": [{"trial": verdict.trial, "frame": 3, "partition": 0} for verdict in verdicts],
        "traffic": [
            {"trial": v.trial, "connections": 1} | dict.fromkeys(PRODUCE_COUNTS, 2) for v in verdicts
        ],
        "measurements": [{**cell, "trials": 1, "connections": 1, **NOTHING_MEASURED} for cell in cells],
    }
    return Analysis({name: pa.Table.from_pylist(table) for name, table in rows.items()})


@pytest.fixture
def analysis_of() -> Analyses:
    return analysis_of_store


@pytest.fixture
def small(whole_story: Stories) -> Stories:
    return lambda trial, **choices: whole_story(trial, records=120, **choices)


def as_older_versions_left_them(store: RunStore) -> None:
    """Return the rows as plain objects."""
    for path in store.folder.rglob("*.zst"):
        path.with_suffix("").write_bytes(zstd.unpacked(path.read_bytes()))
        path.unlink()


@pytest.mark.parametrize("is_old", [False, True])
def test_every_link_leads_to_a_local_file(
    small: Stories, run_of: Runs, analysis_of: Analyses, is_old: bool
) -> None:
    store = run_of(small("calm", scenario="produce/calm"), small("odd #name?50%"))
    if is_old:
        as_older_versions_left_them(store)
    out = store.folder / "report"
    write_site(store, analysis_of(store), TEXTS, out)
    (store.folder / "tables").mkdir()
    for name, page in pages(out).items():
        for link in page.links:
            parts = urlsplit(link)
            assert not parts.scheme and not parts.netloc, link
            target = (out / name).parent / unquote(parts.path)
            assert target.exists(), f"{name}: {link}"
    assert "fetch(" not in (out / "assets" / "report.js").read_text()
    assert {"summary.md", "junit.xml", "results.jsonl", "findings.json"} <= {
        path.name for path in out.iterdir()
    }


def test_report_can_be_in_another_folder(
    small: Stories, run_of: Runs, analysis_of: Analyses, tmp_path: Path
) -> None:
    store = run_of(small("calm", scenario="produce/calm"))
    index = write_site(store, analysis_of(store), TEXTS, tmp_path / "else" / "where")
    (link,) = {link for link in Page(index).links if link.endswith("run.json")}
    assert (index.parent / unquote(link)).samefile(store.folder / "run.json")


def test_page_links_the_capture_if_it_exists(small: Stories, run_of: Runs, analysis_of: Analyses) -> None:
    captured = small("captured")
    captured.capture = CaptureRecord(packets=3, frames=0, dropped=1)
    captured.tcp = [
        TcpFact(1, 1, 40_001, What.SYN, By.CLIENT, 1),
        TcpFact(2, 1, 40_001, What.REFUSED, By.PROXY, 1),
    ]
    store = run_of(captured, small("not"))
    write_site(store, analysis_of(store), TEXTS, store.folder / "report")
    found = pages(store.folder / "report" / "trials")
    assert "The capture has 3 packets of 1 connection." in found["captured.html"].text
    assert "refused by proxy" in found["captured.html"].text
    assert any(link.endswith("/tcp.jsonl.zst") for link in found["captured.html"].links)
    assert not any(link.endswith("/capture.pcapng") for link in found["captured.html"].links)
    # The folder in the replay command has the name of this test.
    assert "capture" not in found["not.html"].text.replace(str(store.folder), "")


def test_page_lists_only_the_checks_that_ran(small: Stories, run_of: Runs, analysis_of: Analyses) -> None:
    story = small("one")
    story.requirements = (RequirementVerdict("E2E-DEL-01", "MUST", "pass", (), ("lost",)),)
    store = run_of(story)
    write_site(store, analysis_of(store), TEXTS, store.folder / "report")
    text = pages(store.folder / "report" / "trials")["one.html"].text
    assert "E2E-DEL-01lost\n" in text and "deadlines" not in text
    assert "Acknowledged and gone." in (store.folder / "report" / "assets" / "texts.js").read_text()


def test_text_of_a_client_never_becomes_markup(small: Stories, run_of: Runs, analysis_of: Analyses) -> None:
    def harmless(bad: str) -> dict[str, Any]:
        story = small("one", client=ClientRef("mine", bad))
        finding = Finding(bad, bad, 1, ({bad: bad, "n": 3},))
        story.requirements = (RequirementVerdict(bad, bad, "fail", (finding,), (bad,)),)
        story.verdict, story.reason = "fail", bad
        story.history = [
            structs.replace(event, applied={bad: (bad, bad)}) if isinstance(event, Configured) else event
            for event in story.history
        ]
        story.frames = [structs.replace(frame, note=bad, api=bad, client_id=bad) for frame in story.frames]
        store = run_of(story)
        write_site(
            store,
            analysis_of(store),
            Texts({bad: bad}, {bad: bad}, {story.spec.scenario: bad}),
            store.folder / "report",
        )
        # The name of a client's page depends on the client.
        return {
            name if "clients/" not in name else "clients/": page
            for name, page in pages(store.folder / "report").items()
        }

    plain, hostile = harmless("plain"), harmless(HOSTILE)
    assert hostile.keys() == plain.keys()
    assert any(page.figures for page in plain.values())
    for name, page in hostile.items():
        assert HOSTILE in page.text
        assert page.tags == plain[name].tags
        assert page.attributes == plain[name].attributes
        assert page.figures.keys() == plain[name].figures.keys()
        assert all(json.loads(figure) for figure in page.figures.values())


def test_figures_are_valid_for_plotly(small: Stories, run_of: Runs, analysis_of: Analyses) -> None:
    store = run_of(small("calm", scenario="produce/calm"), small("dropped"))
    write_site(store, analysis_of(store), TEXTS, store.folder / "report")
    for name, page in pages(store.folder / "report" / "trials").items():
        assert page.figures.keys() == {"timeline", "log-order"}, name
        for figure in page.figures.values():
            assert go.Figure(json.loads(figure)).data


def test_withdrawn_verdict_is_shown_as_harness_error_everywhere(
    small: Stories, run_of: Runs, analysis_of: Analyses
) -> None:
    store = run_of(small("calm", scenario="produce/calm"), small("doubtful"))
    row = {"trial": "doubtful", "count": "lost", "judged": 0, "recomputed": 4}
    out = store.folder / "report"
    write_site(store, analysis_of(store, [row]), TEXTS, out)
    shown = pages(out)
    assert "1 disagrees with the online checks" in shown["index.html"].text
    assert "its verdict is withdrawn" in shown["trials/doubtful.html"].text
    assert "its verdict is withdrawn" not in shown["trials/calm.html"].text
    results = {row["trial"]: row for row in map(json.loads, (out / "results.jsonl").read_text().splitlines())}
    assert (results["doubtful"]["verdict"], results["calm"]["verdict"]) == ("harness-error", "pass")
    assert {row["verdict"] for row in results["doubtful"]["requirements"]} == {"harness-error"}
    assert results["doubtful"]["reason"].startswith("the online checks and PySpark disagree: lost 0 but 4")
    assert '<error message="harness-error:' in (out / "junit.xml").read_text()
    summary = (out / "summary.md").read_text()
    assert "- ⚠ harness-error `" in summary and "/trials/doubtful`" in summary


def test_planned_trials_that_did_not_run_are_counted(
    small: Stories, run_of: Runs, analysis_of: Analyses
) -> None:
    run, other = small("one", scenario="produce/calm"), small("two", client=ClientRef("other", "1"))
    store = run_of(run, small("three"), planned=[other.spec])
    index = Page(write_site(store, analysis_of(store), TEXTS, store.folder / "report"))
    assert "2 of 3 planned trials" in index.text
    text = " ".join(index.text.split())
    assert "No fault at all." in text
    assert (
        reproduce(run.spec, store.trial_folder("one"))
        in Page(store.folder / "report" / "trials" / "one.html").text
    )


def test_verdicts_have_a_glyph_a_letter_and_a_word(
    small: Stories, run_of: Runs, analysis_of: Analyses
) -> None:
    stories = []
    for number, verdict in enumerate(("pass", "fail", "not-exercised", "inconclusive", "harness-error")):
        story = small(f"t{number}", client=ClientRef("c", str(number)))
        story.verdict = verdict
        stories.append(story)
    store = run_of(*stories)
    text = " ".join(Page(write_site(store, analysis_of(store), TEXTS, store.folder / "report")).text.split())
    for shown in ("✔ P pass", "✗ F fail", "○ N not-exercised", "? I inconclusive", "⚠ H harness-error"):
        assert shown in text


def test_trial_that_never_began_has_a_page(story: Stories, run_of: Runs, analysis_of: Analyses) -> None:
    empty = story("empty")
    empty.verdict, empty.reason = "harness-error", "the broker died"
    store = run_of(empty)
    write_site(store, analysis_of(store), TEXTS, store.folder / "report")
    text = Page(store.folder / "report" / "trials" / "empty.html").text
    assert "the broker died" in text
    assert "The client never answered." in text


def test_reproduction_command_can_be_pasted(story: Stories) -> None:
    [scenario] = selection.scenarios(["produce/dropped-response"], ["at-least-once"])
    clients = [ClientRef("reference", "0.1.0"), ClientRef("mine", "own", ("./my client", "--fast"))]
    spec, own = make_plan([scenario], clients, ["local:4.3.1x1"], [7]).trials
    folder = Path("my runs/one")
    assert reproduce(spec, folder) == (
        "kafka-trial run produce/dropped-response -c reference@0.1.0 -b local:4.3.1x1 "
        "--seed 7 --guarantee at-least-once"
    )
    # A command is replayed, because a run line records the folder in which it is typed.
    assert reproduce(own, folder) == "kafka-trial replay 'my runs/one' --allow-command"
    # A trial whose plan no such line would make is replayed from its folder.
    other = story("one", client=clients[0]).spec
    assert reproduce(other, folder) == "kafka-trial replay 'my runs/one'"


def test_unwritable_folder_is_reported(
    small: Stories, run_of: Runs, analysis_of: Analyses, tmp_path: Path
) -> None:
    store = run_of(small("one"))
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "report"
    with raises_code(UsageError, "report-place-unusable", path=out, why="Not a directory"):
        write_site(store, analysis_of(store), TEXTS, out)
