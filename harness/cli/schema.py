"""``kafka-trial schema``: the JSON Schema of every row that a run leaves behind."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from harness.capture.rows import TcpFact
from harness.cli.output import print_json
from harness.contract import AnyEvent, Command
from harness.rows import SCHEMA_VERSION, FaultRow, Frame, LogRecord, TrialRecord, TrialVerdict
from harness.store import FAULTS, FRAMES, HISTORY, LOG, RUN, TCP, TRIAL, VERDICT, RunRecord

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


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(
    as_json: Annotated[
        bool, typer.Option("--json", help="As always: the schema is one JSON document.")
    ] = True,
) -> int:
    """Print the JSON Schema of every file of a run, one schema version for all."""
    schemas, components = msgspec.json.schema_components(FILES.values(), ref_template="#/components/{name}")
    print_json(
        {
            "schema_version": SCHEMA_VERSION,
            "files": dict(zip(FILES, schemas, strict=True)),
            "components": components,
        }
    )
    return 0
