"""The public API: each name with the module that defines it and the first paragraph of its docstring."""

from __future__ import annotations

from inspect import getdoc
from typing import Any

from harness import api
from pages.markdown import NOTE, code, table

ABOUT = """\
What a package with parts of its own imports: `from kafka_trial.api import Check, Scenario`. A change to a name on this
page has an entry in the changelog. `kafka_trial.capture.dissected` is public too; it needs the extra `capture`.
Everything else in `harness` may change without notice.
[Extend the harness](../how-to/extend.md) shows how a package registers its parts.
"""


def pages() -> dict[str, str]:
    """Return the text of ``api.md``, by that name."""
    parts = ["# Public API\n", NOTE, ABOUT]
    for part, names in api.PARTS.items():
        rows = ((code(name), _module(getattr(api, name)), _about(name)) for name in names)
        parts += [f"## {part}\n", table(("name", "defined in", "what it is"), rows)]
    return {"api.md": "\n".join(parts)}


def _module(thing: Any) -> str:
    module = getattr(thing, "__module__", "")
    return code(module) if str(module).startswith("harness.") else ""


def _about(name: str) -> str:
    said = api.NOTES.get(name) or getdoc(getattr(api, name)) or ""
    return " ".join(said.split("\n\n")[0].split()).replace("``", "`").replace("|", "\\|")
