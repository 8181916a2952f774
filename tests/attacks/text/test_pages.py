"""Pages of a run with hostile strings have the same elements as with harmless ones, and no unexpected links."""

from __future__ import annotations

import os
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from harness.model.contract import Configured, OpComplete, OpInvoke
from harness.model.evidence import Evidence
from harness.model.rows import (
    SCHEMA_VERSION,
    Ending,
    FaultRow,
    Frame,
    FrameKind,
    Phases,
    ProducePart,
    TrialRecord,
)
from harness.model.spec import AtTime, ClientRef, FaultSpec, TrialSpec, Workload
from harness.model.verdicts import Guarantee
from harness.text.version_order import by_version
from reports.pages import overview
from reports.pages.payload import unpacked
from reports.pages.rendering import Texts, templates
from reports.pages.rendering import url as link_to
from reports.pages.trial_page import TrialRows, trial_page

INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
NO_ROWS = TrialRows(None, [], None, [], [], [], [], None)


class Page(HTMLParser):
    """The elements, links and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.figures: list[str] = []
        self._in = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._in = tag
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        self.links += [value for name, value in attrs if name in ("href", "src")]
        self.words += [value or "" for _, value in attrs]

    def handle_data(self, data: str) -> None:
        (self.figures if self._in == "script" else self.words).append(data)

    def handle_endtag(self, tag: str) -> None:
        self._in = ""


def evidence_of(text: str) -> Evidence:
    fault = FaultSpec(text, AtTime(1), 5, {text: 1})
    spec = TrialSpec(
        "t",
        ClientRef(text, "own", (text,)),
        text,
        text,
        Guarantee.IDEMPOTENT,
        1,
        Workload(),
        (fault,),
        {"compression.type": text},
    )
    record = TrialRecord(
        spec,
        text,
        text,
        1,
        Phases(10, 20, 30, 40),
        Ending.HARNESS_ERROR,
        text,
        text,
        client={"client": text, "features": [text], "language": text},
        not_set={text: text},
    )
    times: dict[str, Any] = {"seq": 0, "mono_ns": 1, "wall_ns": 1}
    done = {
        "outcome": ["info", "fail"],
        "error": [text, text],
        "invoke_ns": [11, 12],
        "complete_ns": [15, 16],
    }
    columns = {"records": [0, 1], "partition": [0, 0], "offset": [0, 1]}
    history = (
        Configured(**times, id=1, applied={text: (f"{text} ", text)}, not_set={}),
        OpInvoke(**times, op="send", id=2, first=0, count=2),
        OpComplete(**times, op="send", id=2, **done, **columns),
    )
    part = ProducePart(text, 0, compression=text)
    frames = tuple(
        Frame(n, 1, 1, 1, kind, 10, 0, text, 9, 1, text, (), (part,), text, text, text)
        for n, kind in enumerate(FrameKind, 11)
    )
    return Evidence(record, history, frames, (FaultRow(0, fault, (11, 12), (11, 12), 1),), ())


def rendered(text: str, folder: Path, verdict_of: Any) -> Page:
    verdict = verdict_of(text)
    page = trial_page(evidence_of(text), verdict, NO_ROWS, folder)
    html = templates().get_template("trial.html")
    texts = Texts({text: text}, {text: text}, {text: text})
    up, run = "../", link_to("../..")
    source = html.render(
        up=up, run_folder=run, texts=texts, schema_version=SCHEMA_VERSION, page=page, siblings=[verdict] * 2
    )
    source.encode()
    return Page(source)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "trial.json").touch()
    (tmp_path / "<b>javascript:x[1].txt").touch()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n.txt")).touch()
    return tmp_path


def test_hostile_text_adds_no_element_and_no_link(hostile_texts, folder, verdict_of):
    innocent = rendered("word", folder, verdict_of)

    @settings(suppress_health_check=list(HealthCheck))
    @given(hostile_texts)
    def holds(text: str) -> None:
        text = text.encode(errors="replace").decode().strip() or "word"
        page = rendered(text, folder, verdict_of)
        assert page.elements == innocent.elements
        assert all(link.startswith("../") for link in page.links), page.links
        for words in page.words:
            assert not {unicodedata.category(each) for each in words if each != "\n"} & INVISIBLE
        for figure in page.figures:
            document = unpacked(figure)
            # Plotly draws markup. The table of frames is filled in as text: tests/reports/pages/test_browser.py.
            is_drawn = document.keys() != {"columns", "rows"}
            for string in strings(document):
                if is_drawn and not string.startswith(("p95 ", "%{text}<br>", "record %{y}")):
                    assert "<" not in string
                assert not {unicodedata.category(each) for each in string} & INVISIBLE

    holds()


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [string for each in inner for string in strings(each)]


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("javascript:alert(1)", "javascript%3Aalert%281%29"),
        ('"><x>', "%22%3E%3Cx%3E"),
        ("\udcff", "%FF"),
        ("../../run 1", "../../run%201"),
        ("data:text/html,x", "data%3Atext/html,x"),
    ],
)
def test_special_characters_in_links_are_escaped(path, url):
    assert link_to(path) == url


def test_long_version_numbers_are_sorted_as_numbers():
    many = f"c@{'9' * 10_000}"
    assert sorted(["c@10", many, "c@9"], key=by_version) == ["c@9", "c@10", many]


def test_command_is_shown_on_one_line():
    assert overview.command_line(["kafka-trial", "a b"]) == "kafka-trial 'a b'"
