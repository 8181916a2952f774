"""The hooks that change the repository's Markdown for the site."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return scripts/site_hooks.py as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("site_hooks")


@pytest.mark.parametrize(
    ("page", "text", "wanted"),
    [
        ("README.md", "[x](tutorial.md)", "[x](tutorial.md)"),
        ("README.md", "[x](../DESIGN.md#1-words)", "[x](project/DESIGN.md#1-words)"),
        ("how-to/ci.md", "[x](../reference/checks.md#lost)", "[x](../reference/checks.md#lost)"),
        ("how-to/ci.md", "[x](../../README.md)", "[x](../README.md)"),
        ("how-to/ci.md", "[x](../../harness/model/plan.py)", "x"),
        ("reference/faults.md", "[`a[0]`](../../faults/latency.py), [b](b.md)", "`a[0]`, [b](b.md)"),
        ("project/DESIGN.md", "[x](docs/tutorial.md)", "[x](../tutorial.md)"),
        ("project/DESIGN.md", "[x](docs/reference/machines/)", "[x](../reference/machines/README.md)"),
        ("project/DESIGN.md", "[x](docs/)", "[x](../README.md)"),
        ("project/DESIGN.md", "[x](SECURITY.md)", "[x](SECURITY.md)"),
        ("project/DESIGN.md", "[x](LICENSE)", "x"),
        ("tutorial.md", "[x](#here) [y](https://example.org)", "[x](#here) [y](https://example.org)"),
        ("tutorial.md", "```\n[x](../Makefile)\n```\n[x](../Makefile)", "```\n[x](../Makefile)\n```\nx"),
        (
            "tutorial.md",
            "1. a\n\n    ```\n    [x](../Makefile)\n    ```\n",
            "1. a\n\n    ```\n    [x](../Makefile)\n    ```\n",
        ),
        ("tutorial.md", "a\n```mermaid\ngraph\n```\nb", "a\nb"),
        ("tutorial.md", "| `a\\|b` | c \\| d |", "| `a|b` | c \\| d |"),
    ],
)
def test_page_is_changed_for_the_site(hooks: Any, page: str, text: str, wanted: str) -> None:
    assert hooks.for_site(text, page) == wanted


def test_theme_loads_nothing_from_other_hosts(hooks: Any, tmp_path: Path) -> None:
    folder = tmp_path / "assets" / "javascripts"
    folder.mkdir(parents=True)
    (folder / "bundle.js").write_text(
        'load("https://unpkg.com/mermaid")\n//# sourceMappingURL=bundle.js.map\n'
    )
    (folder / "bundle.js.map").write_text("{}")
    hooks.on_post_build(SimpleNamespace(site_dir=str(tmp_path)))
    assert [path.name for path in folder.iterdir()] == ["bundle.js"]
    assert (folder / "bundle.js").read_text() == 'load("data:text/javascript,mermaid")\n'
