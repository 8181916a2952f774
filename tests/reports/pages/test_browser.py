"""The pages in a real browser: drawn, filtered, within the window, and deaf to what a client's name says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from harness.model.spec import ClientRef
from harness.storage.run_store import RunStore
from reports.pages.site import write_site
from testkit.browser import Browser, browser, found
from tests.reports.pages.test_site import HOSTILE, TEXTS, analysis_of_store

WIDTHS = (1_400, 800)
CLIENTS = 12
SCENARIOS = 5

pytestmark = [
    pytest.mark.long("starts a browser"),
    pytest.mark.skipif(found() is None, reason="no Chromium is installed"),
]


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Browser]:
    with browser(str(found()), tmp_path / "profile") as shown:
        yield shown


@pytest.fixture
def report(whole_story: Callable[..., Any], run_of: Callable[..., RunStore]) -> Path:
    """A report of twelve clients, one with a hostile name, in some scenarios and two variants."""
    stories = []
    for client in range(CLIENTS):
        for scenario in range(SCENARIOS):
            name = f"a-client-named-{client}"
            story = whole_story(
                f"t-{client}-{scenario}",
                client=ClientRef(name, "1.2.3"),
                scenario=f"produce/scenario-number-{scenario}",
                records=60,
            )
            story.spec = structs.replace(story.spec, variant="+patient" if scenario % 2 else "")
            if client == scenario == 0:
                story.verdict, story.reason = "fail", HOSTILE
            stories.append(story)
    store = run_of(*stories)
    for spec in store.record.plan.trials:
        verdict = store.verdict(spec.trial)
        variant = spec.variant + (HOSTILE if spec.trial == "t-0-0" else "")
        store.write_verdict(structs.replace(verdict, variant=variant))
    return write_site(store, analysis_of_store(store), TEXTS, store.folder / "report")


def rows_shown(page: Browser) -> int:
    shown: int = page.value(
        "[...document.querySelectorAll('table.cells tbody tr')].filter((row) => !row.hidden).length"
    )
    return shown


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_the_window_or_complains(report: Path, page: Browser, width: int) -> None:
    for path in (report, report.parent / "trials" / "t-0-0.html", report.parent / "trials" / "t-1-1.html"):
        page.open(path, width)
        assert page.value("document.documentElement.scrollWidth") <= width, path
        assert page.said == [], path


def test_twelve_clients_fit_beside_their_scenarios(report: Path, page: Browser) -> None:
    page.open(report, 1_400)
    assert page.value("document.querySelectorAll('table.cells thead th.cell').length") == CLIENTS
    box = "document.querySelector('.tall')"
    assert page.value(f"{box}.scrollWidth - {box}.clientWidth") <= 0


def test_the_figures_of_a_trial_are_drawn(report: Path, page: Browser) -> None:
    page.open(report.parent / "trials" / "t-1-1.html", 1_400)
    assert page.value("[...document.querySelectorAll('.plot')].every((plot) => plot.querySelector('svg'))")
    assert page.value("document.querySelectorAll('.plot').length") == 2


def test_the_address_keeps_the_filters(report: Path, page: Browser) -> None:
    page.open(report, 1_400)
    everything = rows_shown(page)
    page.value(
        "(() => { const form = document.getElementById('filters'); form.elements.cell.value = 'patient';"
        " form.elements.client.value = 'named-3'; form.dispatchEvent(new Event('input')); })()"
    )
    filtered, address = rows_shown(page), page.value("location.hash")
    assert 0 < filtered < everything
    assert page.value("document.getElementById('shown').textContent") == f"{filtered} of {everything} rows"
    page.open(report, 1_400, fragment=address)
    assert rows_shown(page) == filtered
    assert page.value("document.getElementById('filters').elements.client.value") == "named-3"
    assert page.value("[...document.querySelectorAll('th[data-client]')].filter((th) => !th.hidden).length")


def test_hostile_texts_are_shown_and_never_run(report: Path, page: Browser) -> None:
    page.open(report, 1_400)
    assert "alert(1)" in page.value("document.body.textContent")
    assert page.value("document.querySelectorAll('img').length") == 0
    assert page.said == []


def test_headers_stay_while_the_matrix_scrolls(report: Path, page: Browser) -> None:
    page.open(report, 800, height=300)
    moved = page.value(
        "(() => { const box = document.querySelector('.tall'); box.scrollTop = 100; box.scrollLeft = 50;"
        " const head = box.querySelector('thead th.first').getBoundingClientRect();"
        " const out = box.getBoundingClientRect();"
        " return [box.scrollTop, Math.round(head.top - out.top), Math.round(head.left - out.left)]; })()"
    )
    assert moved[0] > 0 and moved[1:] == [0, 0]
