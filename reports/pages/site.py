"""Write the report: its pages, the files for other programs, and the result tables. It works from ``file://``.

A page fetches no data: its data is embedded, and plotly's script is in the same folder. Links to evidence are relative,
so a run's folder can be moved or zipped as a whole.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import files as resources
from pathlib import Path
from types import MappingProxyType

import msgspec
import pyarrow.parquet as pq

from harness import exports, files
from harness.cli.outcome_changes import COLUMNS
from harness.judging.fingerprint import causes
from harness.model.rows import TrialVerdict
from harness.outcomes import words
from harness.storage import unreadable
from harness.storage.parquet_writer import Packed
from harness.storage.run_store import RunStore
from harness.system.workers import Work, in_this_process
from harness.text.counting import some
from harness.text.escaping import safe_line
from harness.text.version_order import by_version
from reports.doubts import contested, doubts
from reports.earlier import Digests, Earlier
from reports.earlier import write as write_kept
from reports.pages import outcomes, overview
from reports.pages.clients import client_page
from reports.pages.comparisons import Comparison, comparisons
from reports.pages.rendering import Shared, Texts, render, with_siblings
from reports.pages.trial_page import TrialRows
from reports.pages.words import PHASES
from reports.pages.writing import AskedPage, Sibling, write_pages
from reports.place import Place, report_place
from reports.published import published
from reports.spark.analysis import STATED, Analysis, Row

ASSETS = ("style.css", "report.js")
PAGES_AT_A_TIME = 20


def write_site(
    store: RunStore,
    analysis: Analysis,
    texts: Texts,
    out: Path,
    spoilt: Mapping[str, str] = MappingProxyType({}),
) -> Path:
    """Write the report of ``store`` into ``out`` and return its first page. Errors are those of :func:`report_place`.

    ``spoilt``: trials whose evidence cannot be read, and the reason.
    """
    with report_place(store, out) as place:
        return fill(place, store, analysis, texts, Packed(store.folder, spoilt, (), [*store.verdicts()]))


def fill(
    place: Place,
    store: RunStore,
    analysis: Analysis,
    texts: Texts,
    tables: Packed,
    earlier: Earlier | None = None,
    work: Work = in_this_process,
) -> Path:
    """Write the whole report and return the path of its first page. Raises OSError and EnvironmentProblem.

    ``earlier``: the report whose pages may be kept. ``work`` calls a function for each group of pages.
    """
    return _Site(store, analysis, texts, place, tables).write(earlier, work)


class _Site:
    def __init__(
        self, store: RunStore, analysis: Analysis, texts: Texts, place: Place, tables: Packed
    ) -> None:
        self._store, self._analysis, self._texts, self._place = store, analysis, texts, place
        self._record, self._run = store.record, os.path.realpath(store.folder)
        self._doubts = doubts(analysis)
        self._tables, spoilt = tables, tables.spoiled
        self._specs = {spec.trial: spec for spec in self._record.plan.trials}
        self._verdicts = [
            unreadable.verdict(self._specs[verdict.trial], spoilt[verdict.trial])
            if verdict.trial in spoilt
            else published(verdict, self._doubts)
            for verdict in tables.verdicts
        ]
        self._causes = causes(self._verdicts)
        self._shared = Shared(place, store.folder, self._run, texts)

    def write(self, earlier: Earlier | None, work: Work) -> Path:
        for folder in ("assets", "trials", "tables", "clients", "comparisons"):
            self._place.folder(folder)
        self._assets()
        pages, being_written = self._trials(earlier, work)
        for name, table in self._analysis.tables.items():
            with files.create(self._place.building / "tables" / f"{name}.parquet") as file:
                pq.write_table(table, file, compression="zstd")
        agreement = agreement_sentence(self._analysis)
        exports.write(self._store, self._verdicts, self._place.building, agreement)
        found = self._comparisons()
        self._clients(found)
        index = self._index(agreement, found)
        deque(being_written, maxlen=0)
        write_kept(self._place, self._tables.parts, pages, STATED & self._analysis.tables.keys())
        return index

    def _comparisons(self) -> list[Comparison]:
        """Write the page of each comparison."""
        found = comparisons(self._specs, self._verdicts)
        for each in found:
            render(self._shared, "comparison.html", f"comparisons/{each.file}", page=each, heads=COLUMNS)
        return found

    def _clients(self, compared: Sequence[Comparison]) -> None:
        """Write the page of each client."""
        mine: dict[str, list[TrialVerdict]] = {}
        for verdict in self._verdicts:
            mine.setdefault(verdict.client, []).append(verdict)
        windows = self._analysis.by_trial("latency_windows")
        loads_ns = {row["trial"]: row["load_ns"] for row in self._analysis.rows("trials")}
        for client, verdicts in mine.items():
            page = client_page(client, verdicts, windows, loads_ns, self._causes)
            about = [each for each in compared if client in each.clients]
            render(self._shared, "client.html", f"clients/{page.file}", page=page, comparisons=about)

    def _trials(self, earlier: Earlier | None, work: Work) -> tuple[dict[str, Digests], Iterable[object]]:
        """Keep the page of each trial, or begin to write it.

        Return page -> the digests of everything that it shows, and one result for each group of pages, when it is
        written.
        """
        digests = {trial: digest for part in self._tables.parts for trial, digest in part.trials.items()}
        shared = self._shared
        found, left = dict[str, Digests](), list[AskedPage]()
        for asked in self._asked():
            path = f"trials/{asked.verdict.trial}.html"
            found[path] = asked.digests(digests.get(asked.verdict.trial, "") + shared.digest)
            page, is_same = earlier.page(path, found[path]) if earlier else (None, False)
            if page is None:
                left.append(asked)
            else:
                trial = asked.verdict.trial
                self._place.write(path, page if is_same else with_siblings(page, trial, asked.siblings))
        groups = [left[at : at + PAGES_AT_A_TIME] for at in range(0, len(left), PAGES_AT_A_TIME)]
        return found, work(partial(write_pages, shared), groups)

    def _index(self, agreement: str, compared: Sequence[Comparison]) -> Path:
        clients = sorted({verdict.client for verdict in self._verdicts}, key=by_version)
        overviews = outcomes.clients(self._verdicts, self._causes)
        return render(
            self._shared,
            "index.html",
            "index.html",
            record=self._record,
            strip=overview.strip(self._record, self._analysis),
            counts=outcomes.by_verdict(self._verdicts),
            left_out=outcomes.left_out(self._record, self._verdicts),
            demanded=outcomes.demanded(self._record, self._verdicts),
            causes=self._causes,
            overviews=overviews,
            metrics=words.columns([row.outcomes for row in overviews]),
            comparisons=compared,
            varied=any(row.variant for row in overviews),
            ids={client: f"client-{number}" for number, client in enumerate(clients)},
            matrices=overview.matrices(self._analysis, self._verdicts),
            requirements=overview.requirements(self._analysis),
            measured=overview.measurements(self._analysis),
            clients=clients,
            wrong=overview.wrong(self._verdicts),
            agreement=agreement,
            doubts=self._doubts,
            second=overview.second_judgement(self._analysis),
            contested=contested(self._analysis),
            command=overview.command_line(self._record.command),
        )

    def _asked(self) -> Iterator[AskedPage]:
        """Yield what the page of each trial is made from, apart from its evidence."""
        tables = {
            name: self._analysis.by_trial(name)
            for name in (
                "delivery",
                "consumption",
                "latency",
                "latency_windows",
                "recovery",
                "resent",
                "traffic",
                "explanations",
            )
        }
        same: dict[tuple[str, str, int], list[Sibling]] = {}
        for verdict in self._verdicts:
            faults = (verdict.broker, verdict.scenario, verdict.seed)
            same.setdefault(faults, []).append(Sibling.of(verdict))
        for verdict in self._verdicts:
            rows = TrialRows(
                delivery=_only(tables["consumption"], verdict.trial)
                or _only(tables["delivery"], verdict.trial),
                doubts=self._doubts.get(verdict.trial, []),
                explanations=_only(tables["explanations"], verdict.trial),
                latency=_in_order(tables["latency"].get(verdict.trial, [])),
                windows=tables["latency_windows"].get(verdict.trial, []),
                recovery=tables["recovery"].get(verdict.trial, []),
                resent=tables["resent"].get(verdict.trial, []),
                traffic=_only(tables["traffic"], verdict.trial),
            )
            why = self._tables.spoiled.get(verdict.trial)
            left = (
                None
                if why is None
                else unreadable.evidence(self._specs[verdict.trial], self._record.run_id, why)
            )
            yield AskedPage(verdict, rows, same[verdict.broker, verdict.scenario, verdict.seed], left)

    def _assets(self) -> None:
        static = resources(__package__) / "static"
        for name in ASSETS:
            self._place.write(f"assets/{name}", (static / name).read_bytes())
        checks = {name: safe_line(text) for name, text in self._texts.checks.items()}
        texts = msgspec.json.encode({"checks": checks, "phases": PHASES})
        self._place.write("assets/texts.js", b"window.TEXTS = " + texts + b";\n")
        plotly = resources("plotly") / "package_data" / "plotly.min.js"
        self._place.write("assets/plotly.min.js", plotly.read_bytes())


def agreement_sentence(analysis: Analysis) -> str:
    """Return what PySpark recomputed, whether it agrees with the online checks, and what has no second judgement."""
    trials = analysis.compared
    disagreeing = len(doubts(analysis))
    identities = analysis.compared_identities
    named = f"{identities:,} {'identity' if identities == 1 else 'identities'}"
    counted = f"PySpark recomputed the delivery of {some(trials, 'trial')} ({named})"
    if disagreeing:
        verb = "disagrees" if disagreeing == 1 else "disagree"
        agreement = f"{counted}: {disagreeing} {verb} with the online checks, so this run proves nothing."
    else:
        agreement = (
            f"{counted}: all agree with the online checks." if trials else "PySpark recomputed no trial."
        )
    return f"{agreement}{_judged_once(analysis)}"


def _judged_once(analysis: Analysis) -> str:
    """Return a further sentence on the trials without a second judgement, by workload, if there are any."""
    kinds = Counter(row["workload"] for row in analysis.rows("trials") if not row["counted"])
    if not (trials := kinds.total()):
        return ""
    named = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
    return f" {some(trials, 'trial')} {'has' if trials == 1 else 'have'} no second judgement ({named})."


def _only(rows: Mapping[str, list[Row]], trial: str) -> Row | None:
    return next(iter(rows.get(trial, [])), None)


def _in_order(rows: list[Row]) -> list[Row]:
    order = list(PHASES)
    return sorted(rows, key=lambda row: order.index(row["phase"]))
