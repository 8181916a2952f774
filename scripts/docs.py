"""Generate the docs that come from tables. With ``--check``, list those that have drifted (exit 1)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from pages import (
    adapters,
    api,
    campaign,
    clients,
    commands,
    faults,
    fidelity,
    limits,
    machines,
    messages,
    outcomes,
    perturbations,
    registered,
    requirements,
    supply_chain,
    verdicts,
)
from pages.markdown import NOTE

from harness.files import write_named

DOCS = Path(__file__).resolve().parent.parent / "docs" / "reference"


def pages() -> dict[str, str]:
    """Return the text of each page by its path below ``docs/reference/``."""
    made = (
        api,
        adapters,
        campaign,
        clients,
        commands,
        fidelity,
        faults,
        limits,
        registered,
        machines,
        messages,
        outcomes,
        perturbations,
        requirements,
        supply_chain,
        verdicts,
    )
    return {name: text for page in made for name, text in page.pages().items()}


def drift(docs: Path, wanted: Mapping[str, str]) -> dict[str, str | None]:
    """Return the due text of each file below ``docs``, or None for a generated page that is obsolete."""
    files = sorted((*docs.rglob("*.md"), *docs.rglob("*.json")))
    there = {str(path.relative_to(docs)): path.read_text() for path in files}
    stale = {name: None for name, text in there.items() if NOTE in text and name not in wanted}
    return {name: text for name, text in wanted.items() if there.get(name) != text} | stale


def main(argv: list[str]) -> int:
    """Write the pages, or compare them."""
    due = drift(DOCS, pages())
    if "--check" in argv:
        if due:
            sys.stderr.write(f"docs have drifted: {', '.join(due)}; run: make docs\n")
        return 1 if due else 0
    for name, text in due.items():
        path = DOCS / name
        if text is None:
            path.unlink()
        else:
            write_named(path, text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
