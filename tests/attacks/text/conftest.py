"""Texts that attack the program that displays them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import strategies as st

from harness.files import zstd
from harness.model.rows import Availability, FaultVerdict, Finding, RequirementVerdict, TrialVerdict
from harness.model.spec import Plan
from harness.planning import typed_settings
from harness.storage.run_store import RunRecord
from harness.text import redaction

#: One text of each kind that a terminal, a CI server, a page, a document or an issue would interpret.
HOSTILE = (
    "\x1b]0;owned\x07",
    "\x1b]52;c;cm0gLXJm\x07",
    "\x1b[2J\x1b[31m",
    "\x9b2J\x90q\x9d0;x\x9c",
    "a\r\nb\nc\x0bd\x0ce\x85f\u2028g\u2029h",
    "\n::error file=a.py,line=1::b",
    "::set-output name=a::b",
    "\n  ::add-mask::b",
    "##[error]b",
    "##vso[task.setvariable variable=a]b",
    "##teamcity[buildStatus status='SUCCESS']",
    "\u202edesrever\u2066x\u2069",
    "a\u200bb\u200dc\ufeffd\u2060e\xad",
    "half \ud800 of it",
    "\x00\x08\x08\x7f\ufffe\uffff",
    "[red]x[/] x[/] [link=https://a.example]y[/link] [/nothing]",
    "| a | b `c` | d\\| e \\",
    "``` <b onclick=alert(1)>x</b> <script>alert(1)</script> <!-- ]]> &amp; &#x1b;",
    "![i](https://a.example/i.png) [l](javascript:alert(1)) https://a.example www.a.example me@a.example",
    "@everyone #1 GH-1 :tada: ~~x~~ **y** _z_ $$x$$",
    "# h\n- [ ] t\n---\n> q",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }} {% include 'x' %} %{x} ${x} $(x)",
    "\u3164\u115f\u2800\U000e0041",
    "e" + "\u0301" * 50,
    "=HYPERLINK(1)",
    "password=",
    "--token x https://u:p@h ",
)


@pytest.fixture(scope="session")
def hostile() -> tuple[str, ...]:
    return HOSTILE


@pytest.fixture(scope="session")
def hostile_texts() -> st.SearchStrategy[str]:
    """Return a strategy of any text, and of any mixture of hostile texts."""
    parts = st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=()), max_size=12)
    return st.lists(parts, min_size=1, max_size=5).map("".join)


@pytest.fixture(autouse=True)
def secrets_forgotten() -> Iterator[None]:
    """Forget the secrets of each test, so that the next one does not redact them."""
    redaction.forget()
    yield
    redaction.forget()
    typed_settings.forget()


def hostile_verdict(text: str, verdict: str = "fail") -> TrialVerdict:
    """Return a trial in which every free string is ``text``, without what JSON cannot store."""
    text = text.encode(errors="replace").decode()
    finding = Finding(text, text, 2, ({text: text, "n": 1},), text, {"told": text, "names": (text, text)})
    return TrialVerdict(
        trial=text.replace("/", "_").replace("\0", "_")[:60] or "t",
        client=text,
        broker=text,
        scenario=text,
        guarantee=text,
        seed=1,
        verdict=verdict,
        reason=text,
        requirements=(RequirementVerdict(text, "MUST", verdict, (finding,), (text,)),),
        faults=(FaultVerdict(text, (1, 2), (1, 2), 3),),
        variant=text,
        code=text,
        params={"told": text},
        availability=Availability(offered=3, acked=2),
    )


@pytest.fixture(scope="session")
def verdict_of() -> Callable[..., TrialVerdict]:
    return hostile_verdict


@pytest.fixture(scope="session")
def record_of() -> Callable[[str], RunRecord]:
    """Return a function that returns a run in which every free string is the given text."""
    return lambda text: RunRecord(text, text, Plan(1, ()), 1, {text: text}, [text], text)


@pytest.fixture(scope="session")
def files_with() -> Callable[[Path, str], list[Path]]:
    """Return a function that returns the files below a folder that contain a word, also in compressed files."""

    def bytes_of(path: Path) -> bytes:
        data = path.read_bytes()
        return zstd.unpacked(data) if path.suffix == zstd.SUFFIX else data

    def found(folder: Path, word: str) -> list[Path]:
        return [path for path in folder.rglob("*") if path.is_file() and word.encode() in bytes_of(path)]

    return found
