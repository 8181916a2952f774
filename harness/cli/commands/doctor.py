"""``kafka-trial doctor``: the state of each prerequisite, and the command that fixes a missing or damaged one."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from harness.adapter.kept_process import has_namespaces
from harness.capture.tap import lacking
from harness.cli.console import answer, say
from harness.cli.examples import examples
from harness.cli.options import AsJson
from harness.cli.output import print_json
from harness.model.errors import KafkaTrialError
from harness.plugins import registry
from harness.provision.prerequisites import Prerequisite, ToolState, check_all, fix_all
from harness.text.escaping import safe_line

GLYPHS = {
    ToolState.OK: "[green]✔ ok[/]",
    ToolState.MISSING: "[yellow]○ missing[/]",
    ToolState.BROKEN: "[bold red]✗ broken[/]",
}

EXAMPLES = examples(
    "kafka-trial doctor",
    "kafka-trial doctor --fix",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor", epilog=EXAMPLES)(doctor)


def doctor(
    fix: Annotated[
        bool, typer.Option("--fix", help="Install what is missing, and reinstall what is damaged.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Check what this machine has and what it lacks; exit 3 if a run could not work."""
    if fix:
        for name, version in fix_all(say):
            _install_again(name, version)
    found = [*check_all(), _capture(), _namespaces()]
    if as_json:
        print_json(found)
    else:
        for one in found:
            answer(Text.from_markup(GLYPHS[one.state]).append(safe_line(f" {one.name}: {one.detail}")))
            if one.state is not ToolState.OK and one.fix:
                answer(Text(safe_line(f"    fix: {one.fix}")))
    return 3 if any(one.required and one.state is not ToolState.OK for one in found) else 0


def _install_again(name: str, version: str) -> None:
    """Reinstall a client whose installation was removed, if it is still registered."""
    if name in registry.names("clients"):
        say(f"installing {name}@{version} again")
        try:
            registry.client(name).install(version)
        except KafkaTrialError as error:
            say(f"{name}@{version} no longer exists: {error}")


def _namespaces() -> Prerequisite:
    if has_namespaces():
        return Prerequisite("namespaces", ToolState.OK, "each client has a PID namespace", required=False)
    detail = (
        "clients have no PID namespaces here; a run works without, and a fork bomb may outlive its client"
    )
    return Prerequisite(
        "namespaces", ToolState.MISSING, detail, "sysctl kernel.unprivileged_userns_clone=1", False
    )


def _capture() -> Prerequisite:
    lacks = lacking()
    if lacks is None:
        return Prerequisite("capture", ToolState.OK, "packets on loopback can be captured", required=False)
    detail = f"{lacks}; a run works without"
    fix = f"sudo setcap cap_net_raw+ep {shlex.quote(str(Path(sys.executable).resolve()))}"
    return Prerequisite("capture", ToolState.MISSING, detail, fix, required=False)
