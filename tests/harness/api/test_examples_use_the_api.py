"""Examples import public names only:

of the API, of the libraries for adapters, and of other distributions.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from kafka_trial import api, reference

ROOT = Path(__file__).parents[3]
#: The packages of this project, of which examples may import public names only.
OURS = (
    "kafka_trial",
    "harness",
    "clients",
    "faults",
    "suites",
    "reports",
    "testkit",
    "tests",
    "scripts",
    "benchmarks",
)
#: The names of each public module: those that parts, applications and mutants of the reference client use.
PUBLIC = {
    "kafka_trial.api": frozenset(api.__all__),
    "kafka_trial.capture": frozenset({"dissected"}),
    "kafka_trial.reference": frozenset(reference.__all__),
    "kafka_trial.mutant": frozenset({"Mutant"}),
}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = sorted((ROOT / "examples").rglob("*.py"))


def blocks(page: Path) -> Iterator[str]:
    """Yield the Python code blocks of a page."""
    for indent, code in re.findall(
        r"^( *)```python\n(.*?)^\1```", page.read_text(), re.DOTALL | re.MULTILINE
    ):
        assert indent is not None
        yield dedent(code)


def imported(source: str) -> Iterator[tuple[str, str | None]]:
    """Yield the module of each import and the imported name, which is None if the module itself is imported."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((each.name, None) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level and node.module, "a relative import"
            yield from ((node.module, each.name) for each in node.names)


def internal(source: str) -> list[str]:
    """Return the imports of parts of this project that are not public."""
    return [
        f"{module}:{name}"
        for module, name in imported(source)
        if module.split(".")[0] in OURS and name not in PUBLIC.get(module, ())
    ]


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_an_example_imports_public_names_only(path):
    assert internal(path.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_imports_public_names_only(page):
    assert [each for block in blocks(page) for each in internal(block)] == []


def test_examples_and_code_blocks_are_found():
    assert len(CODE) > 15
    assert sum(len(list(blocks(page))) for page in PAGES) >= 4


@pytest.mark.parametrize(
    "source",
    [
        "from harness.model.units import NS_PER_MS",
        "from harness.api import Check",
        "import kafka_trial.api",
        "from kafka_trial.api import InstalledClient",
        "from clients.reference import errors",
        "from kafka_trial import api",
        "if True:\n    from suites.simulate.command import simulate",
    ],
)
def test_an_internal_import_is_detected(source):
    assert internal(source)
