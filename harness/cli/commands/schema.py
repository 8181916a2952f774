"""``kafka-trial schema``: print the JSON Schema of the files of a run, or of a campaign file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import typer

from harness.cli.examples import examples
from harness.cli.output import print_json
from harness.model.contract import AnyEvent, Command
from harness.model.errors import unknown
from harness.model.rows import SCHEMA_VERSION, FaultRow, Frame, LogRecord, TrialRecord, TrialVerdict
from harness.model.run_files import FAULTS, FRAMES, HISTORY, LOG, RUN, TCP, TRIAL, VERDICT
from harness.model.tcp_facts import TcpFact
from harness.planning import campaign_schema
from harness.storage.run_store import RunRecord

FILES = {
    RUN: RunRecord,
    TRIAL: TrialRecord,
    HISTORY: AnyEvent,
    FRAMES: Frame,
    FAULTS: FaultRow,
    LOG: LogRecord,
    TCP: TcpFact,
    VERDICT: TrialVerdict,
    "commands (stdin of a client)": Command,
}


def _run_files() -> dict[str, Any]:
    schemas, components = msgspec.json.schema_components(FILES.values(), ref_template="#/components/{name}")
    return {
        "schema_version": SCHEMA_VERSION,
        "files": dict(zip(FILES, schemas, strict=True)),
        "components": components,
    }


RUN_FILES = "run"
WHAT: dict[str, Callable[[], dict[str, Any]]] = {RUN_FILES: _run_files, "campaign": campaign_schema.schema}

EXAMPLES = examples(
    "kafka-trial schema campaign",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema", epilog=EXAMPLES)(schema)


def schema(
    what: Annotated[str, typer.Argument(help=", ".join(WHAT))] = RUN_FILES,
    as_json: Annotated[
        bool, typer.Option("--json", help="No effect: the schema is always one JSON document.")
    ] = True,
) -> int:
    """Print the JSON Schema of every file of a run (with one schema version), or of a campaign file."""
    if what not in WHAT:
        raise unknown("schema", what, WHAT)
    print_json(WHAT[what]())
    return 0
