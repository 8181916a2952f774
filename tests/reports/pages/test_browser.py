"""The pages in a real browser: drawn, filtered, within the window, and deaf to what a client's name says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec
import pytest
from msgspec import structs

import testkit.browser
from harness.judging.availability import availability
from harness.model.run_files import RUN
from harness.model.spec import ClientRef
from harness.simulated.judged import RUN_ID, simulate
from harness.storage.run_store import LeftOut, RunStore
from reports.pages import site
from reports.pages.payload import unpacked
from reports.pages.rendering import Shared
from reports.pages.site import write_site
from reports.pages.writing import AskedPage
from testkit.browser import Browser, browser, found
from tests.reports.conftest import write_run
from tests.reports.full_story import full_story
from tests.reports.pages.test_site import HOSTILE, TEXTS, analysis_of_store
from tests.reports.story import new_story

WIDTHS = (1_400, 800)
CLIENTS = 12
SCENARIOS = 5
ROWS = 60
CONTRAST = (Path(testkit.browser.__file__).with_name("contrast.js")).read_text()

GROUP = "[data-figure=group]"
GROUP_LABEL = f"document.querySelector('{GROUP}').getAttribute('aria-label')"

pytestmark = [
    pytest.mark.long("starts a browser"),
    pytest.mark.skipif(found() is None, reason="no Chromium is installed"),
]


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Browser]:
    with browser(str(found()), tmp_path / "profile") as shown:
        yield shown


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of twelve clients, in some scenarios and two configurations. Some names are hostile.

    Two of the clients are versions of one.
    """
    stories = []
    for client in range(CLIENTS):
        for scenario in range(SCENARIOS):
            name = f"a-client-named-{max(1, client)}"
            ref = ClientRef(name, "1.2.3" if client else HOSTILE)
            story = full_story(
                f"t-{client}-{scenario}",
                client=ref,
                scenario=f"produce/scenario-number-{scenario}",
                records=2_400 if client == 1 and not scenario else 60,
            )
            story.spec = structs.replace(story.spec, variant="+patient" if scenario % 2 else "")
            story.requirements = tuple(
                structs.replace(each, checks=("lost", "deadlines")) for each in story.requirements
            )
            if client == scenario == 0:
                story.verdict, story.reason = "fail", HOSTILE
                story.frames = [structs.replace(frame, note=HOSTILE, api=HOSTILE) for frame in story.frames]
            stories.append(story)
    store = write_run(tmp_path_factory.mktemp("run"), stories)
    record = structs.replace(
        store.record,
        thresholds=("given_up < 1%", "longest_gap < 1ms"),
        left_out=(LeftOut("sarama@1.16", "tool-missing", "Go is not installed"),),
    )
    (store.folder / RUN).write_bytes(msgspec.json.encode(record))
    store = RunStore.open(store.folder)
    for story in stories:
        verdict = story.judgement()
        variant = story.spec.variant + (HOSTILE if verdict.trial == "t-0-0" else "")
        told = availability(story.evidence())
        store.write_verdict(structs.replace(verdict, variant=variant, availability=told))
    return write_site(store, analysis_of_store(store), TEXTS, store.folder / "report")


@pytest.fixture(scope="module")
def group_pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The pages of two groups: one in which a process was killed, and one of a defective client."""
    found = [
        simulate(scenario, client, 5, "scripted:4.3.1x1")
        for scenario, client in (("group/kill", "reference"), ("group/join", "mutant-leader_assigns_twice"))
    ]
    specs = [evidence.record.spec for evidence, _ in found]
    store = write_run(tmp_path_factory.mktemp("groups"), [], planned=specs, run_id=RUN_ID)
    for evidence, verdict in found:
        store.write_evidence(evidence)
        store.write_verdict(verdict)
    write_site(store, analysis_of_store(store, is_bare=True), TEXTS, store.folder / "report")
    return [store.folder / "report" / "trials" / f"{spec.trial}.html" for spec in specs]


def kinds_of_pages(report: Path) -> list[Path]:
    """Return a page of each kind, with the hostile names where there are any."""
    clients = sorted((report.parent / "clients").iterdir())
    compared = sorted((report.parent / "comparisons").iterdir())
    trials = [report.parent / "trials" / name for name in ("t-0-0.html", "t-1-1.html")]
    return [report, clients[0], clients[-1], compared[0], compared[-1], *trials]


def rows_shown(page: Browser) -> int:
    shown: int = page.value(
        "[...document.querySelectorAll('table.cells tbody tr')].filter((row) => !row.hidden).length"
    )
    return shown


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_the_window_or_complains(report: Path, page: Browser, width: int) -> None:
    for path in kinds_of_pages(report):
        page.open(path, width)
        assert page.value("document.documentElement.scrollWidth") <= width, path
        assert page.said == [], path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(report: Path, page: Browser, scheme: str) -> None:
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    for path in kinds_of_pages(report):
        page.open(path, 1_400)
        assert page.value(CONTRAST) == [], path


def test_a_pale_text_is_noticed(report: Path, page: Browser) -> None:
    page.open(report, 1_400)
    page.value("document.querySelector('h1').style.color = '#999'")
    assert len(page.value(CONTRAST)) == 1


def test_every_link_of_every_kind_of_page_resolves(report: Path, page: Browser) -> None:
    (report.parents[1] / "tables").mkdir(exist_ok=True)
    for path in kinds_of_pages(report):
        page.open(path, 1_400)
        links = page.value(
            "[...document.querySelectorAll('[href], script[src]')].map((each) => each.href || each.src)"
        )
        assert len(links) > 2
        for link in map(urlsplit, links):
            assert link.scheme == "file", link
            assert Path(unquote(link.path)).exists(), (path, link)
            if link.fragment and link.path == urlsplit(path.as_uri()).path:
                assert page.value(f"!!document.getElementById({link.fragment!r})"), link


def test_the_four_plots_of_a_client_are_drawn_and_have_tables(report: Path, page: Browser) -> None:
    page.open(report.parent / "clients" / "a-client-named-1@1.2.3.html", 1_400)
    plots = page.value(
        "[...document.querySelectorAll('.plot')].map((plot) => [!!plot.querySelector('svg'), plot.getAttribute('role'),"
        " document.getElementById(plot.getAttribute('aria-labelledby')).textContent,"
        " document.getElementById(plot.getAttribute('aria-describedby')).rows.length])"
    )
    assert [plot[:3] for plot in plots] == [
        [True, "img", title]
        for title in (
            "Availability over the fault",
            "Recovery",
            "Latency",
            "Duplicates and amplification",
        )
    ]
    assert all(rows > 1 for *_, rows in plots)


def test_the_browser_reads_the_same_data_as_was_packed(report: Path, page: Browser) -> None:
    page.open(report.parent / "trials" / "t-1-1.html", 1_400)
    text = page.value("document.getElementById('timeline').textContent")
    read = page.value(
        "figureOf('timeline').then((figure) => figure.data.map(({x, y, text}) => [x, y, text || null]))"
    )
    packed = [[trace["x"], trace["y"], trace.get("text")] for trace in unpacked(text)["data"]]
    assert read == packed and packed


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_group_is_drawn_and_fits(
    group_pages: list[Path], page: Browser, width: int, scheme: str
) -> None:
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    for path in group_pages:
        page.open(path, width)
        assert page.value("document.documentElement.scrollWidth") <= width
        assert page.value(f"!!document.querySelector('{GROUP} svg') && {GROUP_LABEL}.length > 9")
        assert page.value(CONTRAST) == []
        assert page.said == []


def test_the_axes_of_time_of_a_page_lie_below_each_other(group_pages: list[Path], page: Browser) -> None:
    page.open(group_pages[0], WIDTHS[0])
    axes = page.value(
        "['timeline', 'group'].map((id) => document.querySelector(`[data-figure=${id}]`)._fullLayout)"
        ".map((each) => [...each.xaxis.range, each._size.l, each._size.w])"
    )
    assert axes[0] == axes[1]


@pytest.mark.parametrize(("trial", "is_hostile"), [("t-0-0", True), ("t-1-1", False)])
def test_the_frames_of_a_trial_are_written_as_text(
    report: Path, page: Browser, trial: str, is_hostile: bool
) -> None:
    page.open(report.parent / "trials" / f"{trial}.html", 1_400)
    wire = unpacked(page.value("document.getElementById('wire').textContent"))
    rows = page.value(
        "[...document.querySelector('table.wire').tBodies[0].rows]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    assert rows == [row[1:] for row in wire["rows"]] and rows
    assert any("<img src=x" in cell for row in rows for cell in row) is is_hostile
    assert page.value("document.querySelectorAll('table.wire td *').length") == 0
    assert page.said == []


def test_a_matrix_of_sixty_rows_and_twelve_clients_fits(
    tmp_path: Path, page: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def empty_pages(shared: Shared, asked: Sequence[AskedPage]) -> None:
        for each in asked:
            shared.place.write(f"trials/{each.verdict.trial}.html", b"")

    monkeypatch.setattr(site, "write_pages", empty_pages)
    stories = [
        new_story(
            f"t-{client}-{row}",
            client=ClientRef(f"client-{client}", "10.20.30"),
            scenario=f"network/row-{row}",
        )
        for client in range(CLIENTS)
        for row in range(ROWS)
    ]
    store = write_run(tmp_path / "runs", [], planned=[story.spec for story in stories])
    for story in stories:
        store.write_verdict(story.judgement())
    index = write_site(store, analysis_of_store(store, is_bare=True), TEXTS, store.folder / "report")
    for width in WIDTHS:
        page.open(index, width)
        assert rows_shown(page) == ROWS
        assert page.value("document.querySelectorAll('table.cells tbody td.cell').length") == ROWS * CLIENTS
        assert page.value("document.documentElement.scrollWidth") <= width
    page.open(index, WIDTHS[0])
    box = "document.querySelector('.tall')"
    assert page.value(f"{box}.scrollWidth - {box}.clientWidth") <= 0


def test_the_first_page_names_a_client_that_was_left_out_with_the_reason(report: Path, page: Browser) -> None:
    page.open(report, 1_400)
    text = page.value("document.body.innerText")
    assert 0 < text.index("sarama@1.16") < text.index("Go is not installed") < text.index("Verdicts")


def test_twelve_clients_fit_beside_their_scenarios(report: Path, page: Browser) -> None:
    page.open(report, 1_400)
    assert page.value("document.querySelectorAll('table.cells thead th.cell').length") == CLIENTS
    box = "document.querySelector('.tall')"
    assert page.value(f"{box}.scrollWidth - {box}.clientWidth") <= 0


def test_the_figures_of_a_trial_are_drawn(report: Path, page: Browser) -> None:
    page.open(report.parent / "trials" / "t-1-1.html", 1_400)
    assert page.value("[...document.querySelectorAll('.plot')].every((plot) => plot.querySelector('svg'))")
    assert page.value("document.querySelectorAll('.plot').length") == 2


def test_checks_without_a_finding_are_explained(report: Path, page: Browser) -> None:
    page.open(report.parent / "trials" / "t-1-1.html", 1_400)
    lines = page.value(
        "[...document.querySelectorAll('[data-checks] > span')].map((line) => line.textContent)"
    )
    assert f"lost: {TEXTS.checks['lost']}" in lines
    assert page.value("[...document.querySelectorAll('[data-phase]')].every((name) => name.title.length > 9)")


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


def press(page: Browser, key: str, code: int) -> None:
    for kind in ("rawKeyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)


def test_the_keyboard_reaches_the_filters_and_moves_the_matrix(report: Path, page: Browser) -> None:
    page.open(report, 800, height=300)
    page.value("document.getElementById('filters').elements.cell.focus()")
    names = []
    for _ in range(8):
        names.append(page.value("document.activeElement.name || document.activeElement.className"))
        outline = page.value("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", names[-1]
        if "tall" in names[-1]:
            break
        press(page, "Tab", 9)
    assert names[:2] == ["cell", "client"] and "tall" in names[-1]
    page.value("void (window.moved = new Promise((done) => (document.activeElement.onscroll = done)))")
    press(page, "End", 35)
    assert page.value("window.moved.then(() => document.activeElement.scrollTop)") > 0
    press(page, "Tab", 9)
    assert page.value("!!document.activeElement.closest('.tall') && document.activeElement.tagName") in (
        "A",
        "SUMMARY",
    )
