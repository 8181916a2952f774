"""``kafka-trial merge``: make one run of the runs of a plan's shards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness import exports
from harness.cli.console import answer, say
from harness.cli.examples import examples
from harness.cli.options import AsJson, JUnit, Strict, Summary
from harness.cli.results import exit_code_of, publish
from harness.storage import merging
from harness.text.commands import path_word
from harness.text.counting import some

EXAMPLES = examples(
    "kafka-trial merge shard-1 shard-2 --out runs/merged",
    "kafka-trial merge shard-1 shard-2 --out runs/merged --junit junit.xml --summary summary.md",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("merge", epilog=EXAMPLES)(merge)


def merge(
    run: Annotated[
        list[Path],
        typer.Argument(help="The run of each shard: its folder, or a folder of runs (its latest)."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="RUN", help="The folder of the merged run.")],
    junit: JUnit = None,
    summary: Summary = None,
    as_json: AsJson = False,
    strict: Strict = False,
) -> int:
    """Merge the runs of a plan's shards (`run --shard K/N`) into one run, with its own results and exit code.

    The evidence of each trial is copied. A missing shard is named, and the exit code is then 4 at best.
    """
    exports.must_be_files(junit, summary)
    store = merging.merge(run, out)
    record, verdicts = store.record, list(store.verdicts())
    publish(store, verdicts, junit=junit, summary=summary, as_json=as_json)
    if not as_json:
        answer(str(store.folder))
    lacks = 0
    if record.left_out:
        lacks = 3
    elif not verdicts or record.stop_reason != merging.COMPLETED or len(verdicts) < len(record.plan.trials):
        lacks = 4
        known = some(len(record.plan.trials), "known trial")
        say(f"finished: {len(verdicts)} of {known} ({record.stop_reason})")
    code = exit_code_of(store, verdicts, strict=strict, lacks=lacks)
    say(
        f"merged {some(len(record.merged), 'run')} into {store.folder}; "
        f"report: kafka-trial report {path_word(store.folder)}; exit {code}"
    )
    return code
