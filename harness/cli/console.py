"""What a person sees, on stderr: sentences and the matrix. Nothing here decides anything."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path
from typing import IO, Any, cast

from rich.console import Console, RenderableType
from rich.table import Column, Table
from rich.text import Text

from harness.cli.output import put
from harness.judging.availability import share_told
from harness.judging.cells import counted
from harness.judging.fingerprint import causes, line, replay
from harness.model.rows import TrialVerdict
from harness.model.verdicts import GLYPHS, Verdict
from harness.text.escaping import for_logs, safe_line


class _Stderr:
    """Whatever stderr is at the moment, without what a CI server would take for a command.

    Where it cannot be written (a closed terminal, a pipe that nobody reads, a full disk), a run goes on without it.
    """

    def write(self, text: str) -> int:
        with _unread():
            return int(self._file.write(for_logs(text)))
        return len(text)

    def flush(self) -> None:
        with _unread():
            self._file.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    @property
    def _file(self) -> Any:
        # What rich puts in its place while a table is drawn would end here again.
        return getattr(sys.stderr, "rich_proxied_file", sys.stderr)


@contextmanager
def _unread() -> Iterator[None]:
    """After an error nothing more goes to stderr: what is in its buffer would fail again, at the latest at exit."""
    try:
        yield
    except OSError:
        with suppress(OSError, ValueError):
            nobody = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nobody, sys.stderr.fileno())
            os.close(nobody)


_stderr = cast(IO[str], _Stderr())
console = Console(file=_stderr, highlight=False)
if not console.is_terminal:
    # A log file or a pipe has no width of its own; 80 columns would cut names in two.
    console = Console(file=_stderr, highlight=False, width=200)

#: No name is longer in a table.
CELL_CHARS = 200

#: More than these nobody reads on a screen; all of them are in the run's summary.md.
MAX_CAUSES = 40


def answer(thing: str | RenderableType) -> None:
    """What was asked for, for a person: on stdout, unlike everything else here. A string is one line."""
    is_seen = sys.stdout.isatty()
    # Not rich's own way to stdout, on which an error would be none that is known.
    page = Console(
        file=StringIO(),
        force_terminal=is_seen or None,
        highlight=False,
        width=None if is_seen else 200,
    )
    with page.capture() as captured:
        page.print(Text(safe_line(thing)) if isinstance(thing, str) else thing, soft_wrap=True)
    put(for_logs(captured.get()).encode())


def say(sentence: str) -> None:
    """One line for a person, whole however narrow the terminal."""
    console.print(Text(safe_line(sentence)), soft_wrap=True)


def cell(text: str) -> Text:
    """Text in a table: rich takes a mere string for markup."""
    return Text(safe_line(text, CELL_CHARS))


def shown(verdict: str) -> str:
    """A verdict as glyph and word, in rich's markup."""
    glyph, style = GLYPHS[Verdict(verdict)]
    return f"[{style}]{glyph} {verdict}[/]"


def matrix(verdicts: Sequence[TrialVerdict]) -> Table:
    """Cells (scenario x guarantee) against clients, each with the share of records that were acknowledged.

    Several seeds or brokers in a cell are counted; their share is the median, with the range where they differ.
    """
    clients = sorted({verdict.client for verdict in verdicts})
    # Clients whose names begin alike must not be cut to the same few letters.
    columns = (Column(_in_two_lines(client), overflow="fold") for client in clients)
    table = Table("scenario", "guarantee", *columns, box=None, pad_edge=False)
    cells = sorted({(verdict.scenario, verdict.guarantee) for verdict in verdicts})
    for scenario, guarantee in cells:
        row = []
        for client in clients:
            here = [
                v for v in verdicts if (v.scenario, v.guarantee, v.client) == (scenario, guarantee, client)
            ]
            row.append(counted(here, shown))
        table.add_row(cell(scenario), cell(guarantee), *row)
    return table


def _in_two_lines(client: str) -> Text:
    name, at, version = client.partition("@")
    return Text("\n").join([cell(name), cell(at + version)]) if at else cell(name)


def summary(verdicts: Iterable[TrialVerdict], run: Path | None = None) -> None:
    """The matrix, then why trials did not pass, by cause; with the replay of the smallest where ``run`` is known."""
    verdicts = list(verdicts)
    console.print(matrix(verdicts))
    if share_told(verdict.availability for verdict in verdicts):
        console.print(f"all: {counted(verdicts, shown)} of records acknowledged")
    found = causes(verdicts)
    for cause in found[:MAX_CAUSES]:
        console.print(shown(cause.verdict), end=" ")
        say(line(cause))
        say(f"    smallest: {replay(run, cause.smallest) if run else cause.smallest}")
    if len(found) > MAX_CAUSES:
        say(f"and {len(found) - MAX_CAUSES} more causes")
