"""``kafka-trial explain``: what a part, a requirement, a guarantee, a setting, a verdict or an error code means."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill
from typing import Annotated, Any

import typer

from harness.cli import completion, error_codes, explained
from harness.cli.examples import examples
from harness.cli.explained import Page
from harness.cli.options import AsJson
from harness.cli.output import print_json, put
from harness.model.errors import unknown
from harness.text.escaping import for_logs, safe_lines

WIDTH = 120
EXAMPLES = examples(
    "kafka-trial explain network/reset",
    "kafka-trial explain confluent-kafka@2.3.0",
    "kafka-trial explain PRD-IDM-13",
    "kafka-trial explain linger.ms --json",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain", epilog=EXAMPLES)(explain)


def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="A name from `list`, a client's NAME@VERSION, a requirement id, a setting, a guarantee, a verdict, "
            "or the code of an error.",
            autocompletion=completion.explained,
        ),
    ],
    as_json: AsJson = False,
) -> int:
    """Explain a fault, check, scenario, client, broker, workload, requirement, guarantee, setting, verdict or error."""
    page = explained.page(name) or _error(name)
    if page is None:
        raise unknown("id", name, explained.names())
    if as_json:
        print_json(page.document())
    else:
        put(for_logs(safe_lines(text_of(page))).encode() + b"\n")
    return 0


def _error(code: str) -> Page | None:
    """Return the sentences of the errors with a code, and where each is raised; None if there is no such code."""
    found = [call for call in error_codes.calls(error_codes.sources(f'"{code}"')) if call.code == code]
    if not found:
        return None
    lines = [f"{call.template}\n  {call.maker}, {call.place}" for call in found]
    return Page(code, "error", "", {"sentences": [call.template for call in found]}, "\n".join(lines))


def text_of(page: Page) -> str:
    """Return a page for a person: its title, its summary, its facts, and its text."""
    facts = "" if page.kind == "error" else "\n".join(_lines(page))
    title = f"{page.name} ({page.kind})"
    return "\n\n".join(filter(None, (title, page.summary, facts, page.text)))


def _lines(page: Page) -> Iterator[str]:
    for name, value in page.facts.items():
        if isinstance(value, dict) and value:
            yield f"{name}:"
            yield from (f"  {key}: {text}" for key, text in value.items())
        elif isinstance(value, list) and len(", ".join(value)) > WIDTH - len(name):
            yield f"{name}:"
            yield _wrapped(value)
        else:
            yield f"{name}: {_words(value)}"


def _words(value: Any) -> str:
    return (", ".join(value) if isinstance(value, list | dict) else str(value)) or "none"


def _wrapped(names: list[str]) -> str:
    return fill(", ".join(names), WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
