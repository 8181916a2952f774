"""``kafka-trial doctor``: each prerequisite with its state, and the one command that mends what is missing."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from harness.capture.tap import lacking
from harness.cli.output import print_json
from harness.cli.screen import answer, say
from harness.provision.prerequisites import Prerequisite, State, check_all, mend_all
from harness.safe_text import safe_line

GLYPHS = {
    State.OK: "[green]✔ ok[/]",
    State.MISSING: "[yellow]○ missing[/]",
    State.BROKEN: "[bold red]✗ broken[/]",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(
    mend: Annotated[
        bool, typer.Option("--mend", help="Get what is missing, where that is possible.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="An array of objects on stdout.")] = False,
) -> int:
    """Say what this machine has and lacks; exit 3 if a run could not work."""
    if mend:
        mend_all(say)
    found = [*check_all(), _capture()]
    if as_json:
        print_json(found)
    else:
        for one in found:
            answer(Text.from_markup(GLYPHS[one.state]).append(safe_line(f" {one.name}: {one.detail}")))
            if one.state is not State.OK and one.mend:
                answer(f"    mend: {one.mend}")
    return 3 if any(one.required and one.state is not State.OK for one in found) else 0


def _capture() -> Prerequisite:
    lacks = lacking()
    if lacks is None:
        return Prerequisite("capture", State.OK, "packets on loopback can be captured", required=False)
    detail = f"{lacks}; a run works without"
    mend = f"sudo setcap cap_net_raw+ep {shlex.quote(str(Path(sys.executable).resolve()))}"
    return Prerequisite("capture", State.MISSING, detail, mend, required=False)
