"""Write the report: its pages, the files for other programs, and the result tables. It works from ``file://``.

A page fetches no data: its data is embedded, and plotly's script is in the same folder. Links to evidence are relative,
so a run's folder can be moved or zipped as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import jinja2
import pyarrow.parquet as pq
from markupsafe import Markup

from harness import exports, files
from harness.judging.availability import share_told
from harness.model.evidence import Evidence
from harness.model.rows import SCHEMA_VERSION, TrialVerdict
from harness.model.units import some
from harness.storage import unreadable
from harness.storage.run_store import RunStore
from harness.text.escaping import safe_line
from harness.workloads.produce.tables import MEANING
from reports.doubts import contested, doubts
from reports.pages import overview
from reports.pages.trial_page import TrialPage, TrialRows, trial_page
from reports.pages.words import BADGES, GUARANTEES, PHASES
from reports.place import Place, report_place
from reports.published import published
from reports.spark.analysis import Analysis, Row

ASSETS = ("style.css", "report.js")


@dataclass(frozen=True)
class Texts:
    """Texts of the registered parts: requirement id -> what it forbids, check and scenario -> summary."""

    requirements: Mapping[str, str]
    checks: Mapping[str, str]
    scenarios: Mapping[str, str]


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
        return fill(place, store, analysis, texts, spoilt)


def fill(
    place: Place,
    store: RunStore,
    analysis: Analysis,
    texts: Texts,
    spoilt: Mapping[str, str] = MappingProxyType({}),
) -> Path:
    """Write the whole report and return the path of its first page. Raises OSError and EnvironmentProblem."""
    return _Site(store, analysis, texts, place, spoilt).write()


class _Site:
    def __init__(
        self, store: RunStore, analysis: Analysis, texts: Texts, place: Place, spoilt: Mapping[str, str]
    ) -> None:
        self._store, self._analysis, self._texts, self._place = store, analysis, texts, place
        self._record, self._run = store.record, os.path.realpath(store.folder)
        self._doubts = doubts(analysis)
        self._spoilt = spoilt
        self._specs = {spec.trial: spec for spec in self._record.plan.trials}
        self._verdicts = [
            unreadable.verdict(self._specs[verdict.trial], spoilt[verdict.trial])
            if verdict.trial in spoilt
            else published(verdict, self._doubts)
            for verdict in store.verdicts()
        ]
        self._templates = _templates()

    def write(self) -> Path:
        for folder in ("assets", "trials", "tables"):
            self._place.folder(folder)
        self._assets()
        for verdict, page in self._pages():
            self._render(
                "trial.html", f"trials/{verdict.trial}.html", page=page, siblings=self._siblings(verdict)
            )
        for name, table in self._analysis.tables.items():
            with files.create(self._place.building / "tables" / f"{name}.parquet") as file:
                pq.write_table(table, file)
        agreement = agreement_sentence(self._analysis)
        exports.write(self._store, self._verdicts, self._place.building, agreement)
        return self._index(agreement)

    def _index(self, agreement: str) -> Path:
        return self._render(
            "index.html",
            "index.html",
            record=self._record,
            strip=overview.strip(self._record, self._analysis),
            counts=overview.counts(self._verdicts),
            matrices=overview.matrices(self._analysis, self._verdicts),
            requirements=overview.requirements(self._analysis),
            measured=overview.measured(self._analysis),
            clients=sorted({verdict.client for verdict in self._verdicts}, key=overview.by_version),
            wrong=overview.wrong(self._verdicts),
            agreement=agreement,
            doubts=self._doubts,
            second=overview.second_judgement(self._analysis),
            contested=contested(self._analysis),
            command=overview.command_line(self._record.command),
        )

    def _pages(self) -> Iterator[tuple[TrialVerdict, TrialPage]]:
        """Yield each verdict with its page. Only one trial's evidence is in memory at a time."""
        tables = {
            name: self._analysis.by_trial(name)
            for name in (
                "delivery",
                "latency",
                "latency_windows",
                "recovery",
                "resent",
                "traffic",
                "explanations",
            )
        }
        for verdict in self._verdicts:
            rows = TrialRows(
                delivery=_only(tables["delivery"], verdict.trial),
                doubts=self._doubts.get(verdict.trial, []),
                explanations=_only(tables["explanations"], verdict.trial),
                latency=_in_order(tables["latency"].get(verdict.trial, [])),
                windows=tables["latency_windows"].get(verdict.trial, []),
                recovery=tables["recovery"].get(verdict.trial, []),
                resent=tables["resent"].get(verdict.trial, []),
                traffic=_only(tables["traffic"], verdict.trial),
            )
            folder = self._store.trial_folder(verdict.trial)
            yield verdict, trial_page(self._evidence(verdict.trial), verdict, rows, folder)

    def _evidence(self, trial: str) -> Evidence:
        if (why := self._spoilt.get(trial)) is not None:
            return unreadable.evidence(self._specs[trial], self._record.run_id, why)
        return self._store.read_evidence(trial)

    def _siblings(self, verdict: TrialVerdict) -> list[TrialVerdict]:
        """Return the trials with exactly the same faults."""
        same = (verdict.broker, verdict.scenario, verdict.seed)
        return [other for other in self._verdicts if (other.broker, other.scenario, other.seed) == same]

    def _render(self, template: str, path: str, **values: Any) -> Path:
        up = "../" * path.count("/")
        text = self._templates.get_template(template).render(
            up=up,
            run_folder=_url(os.path.relpath(self._run, (self._place.final / path).parent)),
            texts=self._texts,
            schema_version=SCHEMA_VERSION,
            **values,
        )
        return self._place.write(path, text.encode())

    def _assets(self) -> None:
        static = resources(__package__) / "static"
        for name in ASSETS:
            self._place.write(f"assets/{name}", (static / name).read_bytes())
        plotly = resources("plotly") / "package_data" / "plotly.min.js"
        self._place.write("assets/plotly.min.js", plotly.read_bytes())


def agreement_sentence(analysis: Analysis) -> str:
    """Return the sentence on PySpark's agreement with the online checks' counts and identities."""
    trials = analysis.compared
    disagreeing = len(doubts(analysis))
    identities = analysis.compared_identities
    named = f"{identities:,} {'identity' if identities == 1 else 'identities'}"
    counted = f"PySpark recomputed the delivery of {some(trials, 'trial')} ({named})"
    if disagreeing:
        verb = "disagrees" if disagreeing == 1 else "disagree"
        return f"{counted}: {disagreeing} {verb} with the online checks, so this run proves nothing."
    return (
        f"{counted}: all agree with the online checks." if trials else "No trial had delivery to recompute."
    )


def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(str(__package__)),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["url"] = _url
    environment.filters["ms"] = _ms
    environment.filters["share"] = lambda availability: share_told([availability])
    environment.filters["thousands"] = lambda number: "–" if number is None else f"{number:,}"
    environment.globals.update(badges=BADGES, guarantees=GUARANTEES, counts_meaning=MEANING, phases=PHASES)
    return environment


def _url(path: str) -> str:
    # As bytes, because a file may have any name; colons are escaped, because a folder may be named javascript:.
    return quote(os.fsencode(path), safe="/@+,=")


def _shown(value: Any) -> Any:
    """Return the text for an expression in a template, before it is escaped."""
    return safe_line(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _ms(value: float | None) -> str:
    """Return milliseconds with three significant digits."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _only(rows: Mapping[str, list[Row]], trial: str) -> Row | None:
    return next(iter(rows.get(trial, [])), None)


def _in_order(rows: list[Row]) -> list[Row]:
    order = list(PHASES)
    return sorted(rows, key=lambda row: order.index(row["phase"]))
