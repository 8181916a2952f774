"""The CI workflow of ``kafka-trial init ci``: a template with the choices filled in as words of a shell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from string import Template

from clients.skeletons.files import template
from clients.skeletons.install_source import installs
from harness import baseline
from harness.model.errors import UsageError
from harness.planning import selection
from harness.planning.plan import make_plan

CLIENTS = ("confluent-kafka",)
SCENARIOS = ("produce/*", "network/*")
#: The most jobs that GitHub makes of one matrix.
MAX_SHARDS = 256


@dataclass(frozen=True)
class Choices:
    """What the user chose, checked by :func:`checked`."""

    clients: Sequence[str] = ()
    scenarios: Sequence[str] = SCENARIOS
    command: Sequence[str] = ()
    build: str | None = None
    shards: int = 1
    baseline: str | None = None
    install_from: str | None = None
    comments: bool = False


def checked(choices: Choices) -> Choices:
    """Return the choices. Raise UsageError, with a suggestion where possible, for what would fail there."""
    words = (*choices.clients, *choices.scenarios, *choices.command)
    for word in (*words, choices.build or "", choices.baseline or "", choices.install_from or ""):
        if not word.isprintable() or "${{" in word:
            raise UsageError(
                "not-for-workflow",
                "{word!r} cannot be written into a workflow: it has a control character or an expression",
                word=word,
            )
    own = [selection.clients(("reference",), ())[0]] if choices.command else []
    refs = [*(selection.clients(choices.clients, ()) if choices.clients else ()), *own]
    plan = make_plan(selection.scenarios(choices.scenarios, ()), refs, selection.brokers(()), range(1, 2))
    if len(plan.trials) < choices.shards:
        raise UsageError(
            "too-many-shards",
            "--shards {shards} is more than the plan has trials ({trials})",
            shards=choices.shards,
            trials=len(plan.trials),
        )
    if choices.baseline not in (None, "known") and Path(str(choices.baseline)).is_absolute():
        raise UsageError(
            "baseline-outside",
            "{path} is outside of the project, and a checkout would not have it",
            path=choices.baseline,
        )
    if choices.baseline is not None:
        baseline.load(choices.baseline)
    return choices


def workflow(choices: Choices) -> bytes:
    """Return the workflow for these choices."""
    install = installs(choices.install_from)
    options = [word for name in choices.clients for word in ("-c", name)]
    options += ["--baseline", choices.baseline] if choices.baseline is not None else []
    run = shlex.join([*choices.scenarios, *options])
    words = {
        "shards": str(choices.shards),
        "numbers": ", ".join(map(str, range(1, choices.shards + 1))),
        "install": shlex.quote(install("")),
        "install_report": shlex.quote(install("[report]")),
        "run": run,
        "command": f" -- {shlex.join(choices.command)}" if choices.command else "",
        "digest": sha256(f"{install('')} {run}".encode()).hexdigest()[:12],
        "permissions": "  pull-requests: write\n" if choices.comments else "",
        "build": _filled("kafka-trial-build.yml", {"build": choices.build}) if choices.build else "",
        "comment": _filled("kafka-trial-comment.yml", {}) if choices.comments else "",
    }
    return _filled("kafka-trial.yml", words).encode()


def _filled(name: str, words: dict[str, str]) -> str:
    return Template(template(name).decode()).substitute(words)
